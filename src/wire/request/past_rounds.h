/* past_rounds.h -- the remembered rounds of one response, and where they belong in the items of a
 * request that lacks them (CONTRACT 2.5 rule 8; wire/request/call_rounds.h has the text).
 *
 *     request     user                          [text of a round]  call            output
 *     becomes     user  rounds that have ended                     the last: call  output
 *
 * The items between what was said before and the call are its *run*. What the client has kept of
 * the rounds in there gives way to what is remembered; what it has said otherwise stays, behind the
 * rounds that have ended. */
#ifndef ANTIPHON_WIRE_REQUEST_PAST_ROUNDS_H
#define ANTIPHON_WIRE_REQUEST_PAST_ROUNDS_H

#include <stdint.h>

#include "conv/item.h"

struct past_item {
    struct item *item;
    uint64_t arguments; /* of a hosted call: call_hash_arguments() */
    /* While it is compared with a run: */
    str text;              /* of a message or reasoning, plain */
    struct item *stand_in; /* of the run, says the same; or NULL */
    bool is_said;          /* as part of another text of the run */
    bool is_held;          /* the request has it */
};

struct past_items {
    struct past_item *v; /* in the arena */
    size_t n;
};

struct past_rounds {
    struct past_items rounds, last;
    str summary; /* the id of the compaction item that stands for some; STR_NONE: there is none */
    size_t n_covered; /* for so many of rounds, the first */
    bool is_back;     /* its items are part of the request's */
};

/* text lives as long as what is read of it. Returns 0, or -1 with *reterr filled. */
int past_rounds_read(str text, const struct input_options *o, const struct id_source *ids,
                     struct arena *a, struct past_rounds *ret, struct err *reterr);

/* What is not of the assistant, but said before or after; also when there is no item at all. */
bool past_rounds_end_run(const struct item *it);

/* The hosted call of this id, escaped, or NULL. */
const struct past_item *past_rounds_find(const struct past_rounds *p, str id);

/* Puts back what is missing before and beside call, an item of list. Its run begins behind the item
 * `behind`, or with the list when that is NULL; list->last and list->n are not kept. *ret: whether
 * anything was missing. Returns 0, or -1 when out of memory. */
int past_rounds_put_back(struct past_rounds *p, struct item_list *list, struct item *behind,
                         const struct item *call, bool *ret, struct err *reterr);

#endif
