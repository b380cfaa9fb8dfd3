/* compact_read.h -- compaction items of a context become what they stand for (CONTRACT 13.8).
 *
 * The items are those of the chain or conversation and of `input` together. They are walked from
 * the end to the last item that holds a whole context; what stands before that is not even opened. */
#ifndef ANTIPHON_COMPACT_COMPACT_READ_H
#define ANTIPHON_COMPACT_COMPACT_READ_H

#include "compact/compact_item.h"

/* What becomes of an item that cannot be opened. */
enum compact_foreign {
    COMPACT_FOREIGN_NOTE,  /* a message says that something is missing */
    COMPACT_FOREIGN_DROP,  /* nothing */
    COMPACT_FOREIGN_REJECT /* the request is refused, if it brought the item itself */
};

/* Zeroed: nobody opens anything, and the model is told so. */
struct compact_reading {
    const struct text_seal *seal; /* NULL: nobody opens */
    enum compact_foreign foreign;
    bool has_role; /* else that of the message is ROLE_USER */
    enum role role;
    int64_t keep_tokens; /* compact_keep_tokens(); of a chain through a compaction_trigger */
};

/* Replaces them in the list. *n_before, how many of the items are history, becomes true for what
 * is then in it. Returns 0, or -1 with *reterr filled. */
int compact_read_back(struct item_list *items, size_t *n_before, const struct compact_reading *how,
                      const struct input_options *o, const struct id_source *ids, struct arena *a,
                      struct err *reterr);

/* Is one of the messages an own summary? For compact_question.has_earlier. */
bool compact_has_summary(const struct item_list *items);

#endif
