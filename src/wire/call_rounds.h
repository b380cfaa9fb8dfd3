/* call_rounds.h -- how the rounds of a response are remembered (CONTRACT 2.5 rule 8).
 *
 * When a response has calls that the gateway ran, one text of a call_cache.h has all that the
 * model has said and was told, as items in the form of the store, each result behind its item:
 *
 *     the response's id              {"rounds":[those that have ended],"last":[that after them]}
 *
 * Entries of two kinds lead there:
 *
 *     the id of a hosted item        the response's id
 *     the call_id of a client's call, the id of an approval request
 *                                    marks, the newest last
 *
 * An upstream that counts its calls from zero uses one id in many responses. A mark says by what
 * its call is known among them: name and arguments, what the user said first, and what was said
 * directly before. Clients rewrite one of the last two now and then, hardly ever both. */
#ifndef ANTIPHON_WIRE_CALL_ROUNDS_H
#define ANTIPHON_WIRE_CALL_ROUNDS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/id.h"
#include "conv/item.h"

/* The names of their keys, which have no arguments. */
#define CALL_ROUNDS_OF_RESPONSE STR("response")
#define CALL_ROUNDS_OF_ITEM     STR("item")
#define CALL_ROUNDS_OF_CALL     STR("call")

/* Where in a conversation something stands. Zeroed: before its first item. */
struct call_place {
    const struct item *first, *before; /* what the user, or a tool of the client, has said */
};

/* On to the place behind the next item. */
void call_place_pass(struct call_place *p, const struct item *it);

/* Hashes; as good as equal only for the same. */
struct call_context {
    uint64_t first, before;
};

struct call_mark {
    uint64_t call; /* its name and arguments, however they are spaced */
    struct call_context context;
    struct id response;
};

enum { CALL_MARKS_MAX = 8 };

/* All false when out of memory. arguments are escaped. An approval request has no name here: what
 * the model calls its tool is not known yet when it comes back, and its id is its own. */
bool call_context_make(const struct call_place *p, struct call_context *ret);
bool call_hash(const struct item *call, uint64_t *ret);
bool call_hash_arguments(str arguments, uint64_t *ret);

size_t call_marks_count(str marks);
struct call_mark call_mark_at(str marks, size_t i);

/* Appends the marks with a new one at the end, without the oldest ones that are too many. marks
 * may be STR_NONE. */
void call_marks_write(str marks, const struct call_mark *mark, struct buf *out);

#endif
