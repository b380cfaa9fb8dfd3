/* reply.h -- one streamed answer of the gateway, read strictly: the head, the
 * HTTP chunks, and the judgement over the whole stream. */
#ifndef ANTIPHON_TESTS_LOAD_REPLY_H
#define ANTIPHON_TESTS_LOAD_REPLY_H

#include "load/load.h"

struct reply {
    struct buf raw; /* not yet understood: less than a head or a chunk */
    struct buf body;
    size_t received; /* bytes from the socket */
    bool has_head, is_whole;
};

/* The next bytes of the connection. NULL, or what is wrong with them. */
const char *reply_feed(struct reply *r, str bytes);

/* Is the body a faultless stream that says exactly this text? NULL, or what is
 * wrong with it; valid until the next call. Adds the number of its delta events
 * to *n_deltas. */
const char *reply_check(const struct reply *r, const struct load_stream *asked, size_t *n_deltas);

void reply_free(struct reply *r);

#endif
