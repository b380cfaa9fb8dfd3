/* compact_tail.h -- the end of a context that stays as it is (CONTRACT 13.6).
 *
 * For the files of this folder. */
#ifndef ANTIPHON_COMPACT_COMPACT_TAIL_H
#define ANTIPHON_COMPACT_COMPACT_TAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "conv/item.h"
#include "conv/kept_item.h"

/* The items of a context by their places. */
struct compact_context {
    const struct item **v; /* in the arena */
    size_t *answers;       /* of each call of the client's: where its output stands; else n */
    size_t n;
};

int compact_context_init(struct compact_context *c, const struct item_list *items,
                         const struct id_source *ids, struct arena *a, struct err *reterr);

/* Is it what a user has said, and no summary? */
bool compact_is_users(const struct item *it);

struct compact_tail {
    size_t start;  /* the tail begins with this item, or is empty */
    bool is_whole; /* it is the open turn; else the last round of calls, whose outputs are cut */
};

struct compact_tail compact_tail_find(const struct compact_context *c, int64_t threshold);

/* The tail in the stored form. Returns 0, or -1 when out of memory. */
int compact_tail_write(const struct compact_context *c, const struct compact_tail *tail,
                       int64_t threshold, const struct id_source *ids, struct arena *a,
                       struct kept_items *ret, struct err *reterr);

/* The messages that it comes to. */
size_t compact_tail_messages(const struct compact_context *c, const struct compact_tail *tail);

/* About the tokens of an item. */
int64_t compact_item_tokens(const struct item *it);

#endif
