/* compact_keep.h -- what of a context stays beside its summary (CONTRACT 13.6).
 *
 * The items are those of a complete request: read back (compact_read.h), what was stored before
 * them. What stays is written in the form in which items are stored and listed (conv/kept_item.h):
 * with id, status and content as parts; read again it says the same to the model. */
#ifndef ANTIPHON_COMPACT_COMPACT_KEEP_H
#define ANTIPHON_COMPACT_COMPACT_KEEP_H

#include <stdint.h>

#include "conv/item.h"
#include "conv/kept_item.h"

/* In their order. All of it is in the arena. */
struct compact_kept {
    struct kept_items before; /* stand before the summary */
    struct kept_items after;  /* the tail: stand behind it; none of the endpoint's */
    size_t n_user;            /* messages of the user before the summary */
    size_t n_tail;            /* messages that the tail comes to */
    bool has_all;             /* no message of the user was dropped or cut */
};

/* What the endpoint answers before its item, and what stays of a chain when its last response was
 * asked for a summary: the user's messages, the newest first until their tokens are spent. Ids that
 * are missing come from ids. Returns 0, or -1 when out of memory. */
int compact_keep_messages(const struct item_list *items, int64_t tokens,
                          const struct id_source *ids, struct arena *a, struct compact_kept *ret,
                          struct err *reterr);

/* What the item of an automatic compaction holds: before the summary the same with messages of the
 * system, lists of MCP servers and what waits for approval; behind it the tail, of half of the
 * threshold at most. */
int compact_keep_window(const struct item_list *items, int64_t tokens, int64_t threshold,
                        const struct id_source *ids, struct arena *a, struct compact_kept *ret,
                        struct err *reterr);

/* About the tokens of the items. */
int64_t compact_items_tokens(const struct item_list *items);

#endif
