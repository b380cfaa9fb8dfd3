/* token_memory.h -- what has been found out of counting tokens (CONTRACT 14): which ways the upstream
 * knows, and how many tokens requests were. Shared by all workers; any thread.
 *
 * A way that the upstream does not know is not tried for an hour. Counts are kept by a hash of what was
 * counted, for a while, since a client that asks is likely to send just that. The upstream's own word of
 * what was sent, its usage, is kept as well; a way that has told another number is not believed for an
 * hour either. */
#ifndef ANTIPHON_UPSTREAM_TOKEN_MEMORY_H
#define ANTIPHON_UPSTREAM_TOKEN_MEMORY_H

#include "affinity/prefix_marks.h"
#include "base/err.h"
#include "wire/dialect/token_way.h"

struct token_memory;

struct token_memory_conf {
    size_t max_entries;   /* 0: no counts are kept */
    uint64_t lifetime_ms; /* of a count */
};

/* NULL with *reterr filled. */
struct token_memory *token_memory_new(const struct token_memory_conf *conf, struct err *reterr);

/* NULL is fine. */
void token_memory_free(struct token_memory *m);

/* ---- ways; now_ms here and below: of the loop's clock */

/* Has the upstream not said that it does not know this way, for requests like this one? */
bool token_memory_may_try(struct token_memory *m, enum token_way way, uint64_t now_ms);

/* It has. Returns whether that is news. */
bool token_memory_rule_out(struct token_memory *m, enum token_way way, uint64_t now_ms);

/* Has it ever counted so? */
bool token_memory_has_worked(struct token_memory *m, enum token_way way);
void token_memory_note_worked(struct token_memory *m, enum token_way way);

/* ---- counts */

struct token_key {
    uint64_t hash[2];
};

/* Of a request by the marks of its body, of which there are some. is_prompt keeps a chat and a prompt of our
 * own apart. owner: whose request it is. */
struct token_key token_key_make(str owner, const struct prefix_marks *marks, bool is_prompt);

/* The tokens of a request; 0: not known. */
int64_t token_memory_find(struct token_memory *m, const struct token_key *key, uint64_t now_ms);

/* Keeps what a way has counted. */
void token_memory_keep(struct token_memory *m, const struct token_key *key, enum token_way way,
                       int64_t tokens, uint64_t now_ms);

/* Keeps what the upstream says of a request that was sent. A way that has counted it otherwise is ruled
 * out: returns that way then, else TOKEN_WAYS. */
enum token_way token_memory_keep_usage(struct token_memory *m, const struct token_key *key,
                                       int64_t tokens, uint64_t now_ms);

#endif
