/* compact_item.h -- what a compaction item holds, sealed (CONTRACT 13.7).
 *
 *     {"v":1,"k":"w","t":"Goal: ...","b":[...],"a":[...],"n":81234,"at":1767225600}
 *
 * k: "s" is a summary, "w" the whole context, with the items before (b) and behind (a) it; n: the
 * tokens before; at: when. A summary may have items before it, too, for clients that drop whatever
 * stands before it. */
#ifndef ANTIPHON_COMPACT_COMPACT_ITEM_H
#define ANTIPHON_COMPACT_COMPACT_ITEM_H

#include <stdint.h>

#include "compact/compact_keep.h"
#include "conv/text_seal.h"

/* The longest encrypted_content that is made or opened. */
enum { COMPACT_MAX_SEALED_BYTES = 20 << 20 };

struct compact_item {
    bool is_window; /* "w"; else there is nothing after */
    str summary;    /* plain */
    struct kept_items before, after;
    int64_t n_tokens; /* of the context that it replaces */
    int64_t at;       /* seconds */
};

/* Makes encrypted_content, in the arena: characters that need no escape. Of what is too long the
 * oldest items before the summary go. Returns 0, or -1 with *reterr filled: out of memory, or too
 * long without them. */
int compact_item_seal(const struct compact_item *item, const struct text_seal *seal,
                      struct arena *a, str *ret, struct err *reterr);

/* What was sealed, for who reads it back. */
struct compact_opened {
    bool is_window;
    str summary;       /* escaped */
    str before, after; /* raw arrays; STR_NONE: none */
};

/* Opens encrypted_content (escaped) into the arena. False for what is not ours, of another owner,
 * damaged, too long, or when memory is out. */
bool compact_item_open(str sealed, const struct text_seal *seal, struct arena *a,
                       struct compact_opened *ret);

#endif
