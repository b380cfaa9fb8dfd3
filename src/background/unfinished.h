/* unfinished.h -- how a response ends that nobody goes on making (CONTRACT 4.8): its gateway stopped, it was
 * cancelled in the queue, or its request can no longer be run.
 *
 * The response is put together from what the store has, its open items are closed, and its last events
 * take the next numbers. */
#ifndef ANTIPHON_BACKGROUND_UNFINISHED_H
#define ANTIPHON_BACKGROUND_UNFINISHED_H

#include "store/store_events.h"

struct config;

/* What the store has of such a response. */
struct unfinished {
    str head, tail;
    const struct store_event_row *rows; /* none: it had not begun */
    size_t n_rows;
};

/* Loads all rows of the journal; items are not wanted. See store_get_events(). */
int unfinished_load(struct store_session *s, str owner, str id, struct arena *a,
                    struct store_events *ret, struct err *reterr);

/* Fills *ret but for id and lock, all in the arena: failed with this error, or cancelled if it is
 * ERR_RESPONSE_CANCELLED. What cannot be restored ends without its items and events: ret->cuts is STR_NONE
 * then. Returns 0, or -1 with *reterr filled. Any thread. */
int unfinished_end(const struct unfinished *u, const struct err *why, const struct config *config,
                   struct arena *a, struct store_response *ret, struct err *reterr);

#endif
