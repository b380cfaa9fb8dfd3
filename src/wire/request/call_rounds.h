/* call_rounds.h -- how the rounds of a response are remembered (CONTRACT 2.5 rule 8).
 *
 * When a response has calls that the gateway ran, one text of a call_cache.h has all that the
 * model has said and was told, as items in the form of the store, each result behind its item:
 *
 *     the response's id            {"rounds":[those that have ended],"last":[that after them],
 *                                  "summary":its id,"covers":the id of the last item it stands for}
 *
 * The last two are there when a summary has taken the place of some of the rounds (CONTRACT 13.4). A client
 * that sends its compaction item back has them in it; one that does not has no other trace of them.
 *
 * These lead there:
 *
 *     the id of a hosted item      the response's id
 *     a call of the client, or an approval request: its id, and what it says
 *                                  marks, the newest last
 *     its id alone                 "known": what it says is worth reading
 *
 * An upstream that counts its calls from zero uses one id in many responses, now and then with the
 * same arguments. A mark says by what its call is known among those: what the user said first, and
 * what was said directly before. Clients rewrite one of the two at times, hardly ever both. */
#ifndef ANTIPHON_WIRE_REQUEST_CALL_ROUNDS_H
#define ANTIPHON_WIRE_REQUEST_CALL_ROUNDS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/id.h"
#include "conv/item.h"
#include "wire/request/call_cache.h"

/* Their keys, but for the scope. Ids are escaped. */
static inline struct call_key call_rounds_of_response(str id)
{
    return (struct call_key){STR_NONE, id, STR(""), STR("response")};
}

static inline struct call_key call_rounds_of_item(str id)
{
    return (struct call_key){STR_NONE, id, STR(""), STR("item")};
}

static inline struct call_key call_rounds_of_id(str id)
{
    return (struct call_key){STR_NONE, id, STR(""), STR("id")};
}

/* call: an ITEM_CALL or an ITEM_APPROVAL_REQUEST; the key's texts are in the arena. An approval
 * request has no name here: what the model calls its tool is not known yet when it comes back.
 * False when out of memory. */
bool call_rounds_of_call(const struct item *call, struct arena *a, struct call_key *ret);

/* A call's id among those keys. */
static inline str call_rounds_id(const struct item *call)
{
    return call->kind == ITEM_CALL ? call->call_id : call->id;
}

#define CALL_ROUNDS_KNOWN STR("known")

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
    struct call_context context;
    struct id response;
};

enum { CALL_MARKS_MAX = 32 };

/* Makes the context of one place that of another; zeroed it is that of the zeroed place. What both
 * have is not read again: many calls stand behind one long text. False when out of memory. */
bool call_context_move(struct call_context *c, const struct call_place *from,
                       const struct call_place *to);

/* Of arguments, escaped, however they are spaced. False when out of memory. */
bool call_hash_arguments(str arguments, uint64_t *ret);

size_t call_marks_count(str marks);
struct call_mark call_mark_at(str marks, size_t i);

/* Appends the marks with a new one at the end, without the oldest ones that are too many. marks
 * may be STR_NONE. */
void call_marks_write(str marks, const struct call_mark *mark, struct buf *out);

#endif
