/* chat_loop_said.h -- what a model has said in one round, to be told to it again in the
 * next (CONTRACT 6.2), and whose its calls are.
 *
 * It becomes an assistant message with the members that the upstream used, its calls
 * with what else was in them: some servers want their own marks back. */
#ifndef ANTIPHON_WIRE_LOOP_CHAT_LOOP_SAID_H
#define ANTIPHON_WIRE_LOOP_CHAT_LOOP_SAID_H

#include "base/id.h"
#include "wire/chunk/chat_read.h"
#include "wire/dialect/chat_options.h"

/* The tools of the gateway, by the names that the model sees (plain, from [A-Za-z0-9_-]). */
struct chat_loop_tools {
    const str *names;
    size_t n;
    bool answers_all; /* calls of all other tools are answered here as well */
};

/* The place of an escaped name among them; n when it is not there. */
size_t chat_loop_tools_find(const struct chat_loop_tools *tools, str name);

enum chat_loop_owner {
    CHAT_CALL_UNDECIDED, /* its name may still become one of ours */
    CHAT_CALL_OURS,
    CHAT_CALL_CLIENTS,
};

enum chat_loop_kind {
    CHAT_LOOP_CONTENT,
    CHAT_LOOP_THINKING, /* parts of the content */
    CHAT_LOOP_REASONING_CONTENT,
    CHAT_LOOP_REASONING,
    CHAT_LOOP_KINDS,
};

/* A text that comes in pieces; escaped. */
struct chat_loop_text {
    struct buf text;
    struct json_splice splice;
};

/* Goes with the chat_call of the same place. */
struct chat_loop_call {
    struct buf arguments;   /* escaped; not of the client's: nobody asks for them */
    struct buf extra;       /* members we do not know: `,"name":value` of each */
    struct buf held;        /* pieces as they came, while undecided: `[a,b` */
    size_t held_name_bytes; /* of its name, in those */
    enum chat_loop_owner owner;
    size_t shown_index; /* of the client's: its number there */
    bool is_broken;     /* its arguments are no JSON object: the model gets it back with none */
};

struct chat_loop_said {
    struct chat_calls table; /* ids and names */
    struct chat_loop_call *calls;
    size_t n, cap;
    struct chat_loop_text texts[CHAT_LOOP_KINDS];
    struct buf reasoning_details; /* elements with commas between */
    size_t limit_bytes;           /* of each text */
    bool failed;                  /* too many calls, out of memory, or over the limit */
};

/* limit_bytes of any text in it. */
void chat_loop_said_init(struct chat_loop_said *s, size_t limit_bytes);
void chat_loop_said_fini(struct chat_loop_said *s);

/* How much that is, texts and arguments together. */
size_t chat_loop_said_bytes(const struct chat_loop_said *s);

/* Takes the texts of a delta or message; its calls are for the next function. */
void chat_loop_said_texts(struct chat_loop_said *s, const struct chat_delta *d);

/* The call that a piece belongs to, with the piece, which was read from raw, taken in; NULL when s
 * has failed. Dies with the next call of this function. */
struct chat_loop_call *chat_loop_said_piece(struct chat_loop_said *s,
                                            const struct chat_call_piece *piece, str raw);

/* Whose is an undecided call? Its name is complete when arguments have begun or the
 * answer has ended. Afterwards it may still be undecided only if it was not complete. */
void chat_loop_said_decide(struct chat_loop_said *s, struct chat_loop_call *c,
                           const struct chat_loop_tools *tools, bool is_complete);

size_t chat_loop_said_count(const struct chat_loop_said *s, enum chat_loop_owner owner);

/* All of it has come: texts are closed, and calls of ours without an id get one.
 * Once, and before what follows. */
void chat_loop_said_end(struct chat_loop_said *s, const struct id_source *ids);

/* The i-th call; arguments are escaped text, "{}" when none have come. */
struct chat_loop_call_view {
    str id, name, arguments;
};

struct chat_loop_call_view chat_loop_said_call(const struct chat_loop_said *s, size_t i);

struct chat_loop_message_conf {
    enum chat_empty_content empty_content;
    bool omits_reasoning;
};

/* Appends the assistant message, with the calls that are ours. Servers parse the arguments of
 * those, and refuse what does not parse (CONTRACT 2.5 rule 9): a broken one has {}. */
void chat_loop_said_write(const struct chat_loop_said *s, const struct chat_loop_message_conf *conf,
                          struct buf *out);

/* Appends the tool message with the result of a call; both escaped. */
void chat_loop_result_write(str id, str text, struct buf *out);

#endif
