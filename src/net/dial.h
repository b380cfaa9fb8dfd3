/* dial.h -- a connection to the first of several addresses that takes it.
 *
 * Everything runs on the loop's thread. on_done is never called from inside
 * dial_start(). */
#ifndef ANTIPHON_NET_DIAL_H
#define ANTIPHON_NET_DIAL_H

#include "ev/loop.h"
#include "net/address.h"

struct dial;

/* Reports a connected, non-blocking descriptor that is now the owner's, or -1 and the errno of the
 * last attempt that says something about the server. */
typedef void dial_on_done(void *arg, int fd, int error);

/* Tries the addresses one after the other, without a limit on the time; there
 * must be at least one. Ends with one on_done, unless cancelled. NULL when out
 * of memory. */
struct dial *dial_start(struct loop *loop, const struct address_list *list, dial_on_done *on_done,
                        void *arg);

/* Gives a dial up; before on_done only. NULL is fine. */
void dial_cancel(struct dial *dial);

#endif
