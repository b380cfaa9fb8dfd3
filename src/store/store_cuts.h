/* store_cuts.h -- cuts of responses that have ended. Internal to the store; within a transaction.
 *
 * Cuts have a table of their own, and are in pieces of a quarter of a SQLite page. In the row of its
 * response, or whole, much of what a stream leaves would be the unused rest of a page: SQLite puts no
 * row where it does not fit, and what is longer than a quarter of a page begins a page of its own. */
#ifndef ANTIPHON_STORE_STORE_CUTS_H
#define ANTIPHON_STORE_STORE_CUTS_H

#include "store/store_session.h"

/* STR_NONE: there are none. */
int cuts_add(struct store_session *s, int64_t response, str cuts, struct err *reterr);

/* All pieces as one; STR_NONE: there are none. */
int cuts_load(struct store_session *s, int64_t response, struct arena *a, str *ret,
              struct err *reterr);

/* *ret_bytes: how many there were. */
int cuts_remove(struct store_session *s, int64_t response, uint64_t *ret_bytes, struct err *reterr);

#endif
