/* token_way.h -- the ways in which a server can be asked how many tokens a request is (CONTRACT 14),
 * and what each is sent.
 *
 * A way takes the body that chat completions take, or the one with a prompt of our own that completions
 * take: what it needs of that is copied member by member, so that what is counted is what would be
 * sent. What comes back is read by wire/chunk/token_answer.h. */
#ifndef ANTIPHON_WIRE_DIALECT_TOKEN_WAY_H
#define ANTIPHON_WIRE_DIALECT_TOKEN_WAY_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/dialect/chat_options.h"
#include "wire/dialect/upstream_kind.h"

enum token_way {
#define TOKEN_WAY(symbol, ...) TOKEN_WAY_##symbol,
#include "wire/dialect/token_way.def"
    TOKEN_WAYS
};

enum token_way_trait {
    TOKEN_WAY_COUNTS_MEDIA = 1 << 0, /* images, audio and files, too */
    TOKEN_WAY_TAKES_PROMPT = 1 << 1, /* a prompt of our own, too */
    TOKEN_WAY_ASKS_MODEL = 1 << 2,   /* at the price of reading the prompt */
};

bool token_way_has(enum token_way way, enum token_way_trait trait);
str token_way_word(enum token_way way);
const char *token_way_source(enum token_way way);

/* May a server of this kind know the way? */
bool token_way_is_of(enum token_way way, enum upstream_kind kind);

/* A member of a body: `"name":value` as it stands there. */
struct token_member {
    str name;  /* escaped */
    str text;  /* all of it */
    str value; /* raw */
    struct token_member *next;
};

/* The members of a request from which its prompt is made. Views of the body. */
struct token_request {
    struct token_member *first; /* in the arena */
    bool is_prompt;             /* its body is for completions */
    bool has_media;             /* images, audio or files are in it */
    enum chat_token_field token_field;
};

/* Finds them; all others of *ret are the caller's. body: valid JSON, as chat_request.h or
 * harmony_request.h write it. Returns 0, or -1 with *reterr filled. */
int token_request_read(str body, struct arena *a, struct token_request *ret, struct err *reterr);

/* Can it be counted in this way? */
bool token_way_takes(enum token_way way, const struct token_request *r);

/* A way of two steps: what is asked first is a prompt, and it is that which is counted. */
bool token_way_asks_prompt(enum token_way way, const struct token_request *r);

/* Where it is asked: below the base of the upstream, or else below its root (upstream_sign.h). */
struct token_path {
    str path;
    bool is_below_root;
};
struct token_path token_way_path(enum token_way way, const struct token_request *r,
                                 bool has_prompt);

/* Appends the body of the question. prompt: what the first step brought, raw; else STR_NONE. */
void token_way_write(enum token_way way, const struct token_request *r, str prompt,
                     struct buf *out);

#endif
