/* signals.h -- what signals have the gateway do (OPERATIONS 7.2). */
#ifndef ANTIPHON_DAEMON_SIGNALS_H
#define ANTIPHON_DAEMON_SIGNALS_H

#include "base/err.h"

struct server;
struct signals;

/* Ignores the signals of what is an error where it happens: a peer that has left, a store that may
 * not grow; and those that are watched later and would end the process now. First of all. */
void signals_ignore(void);

/* Watches them on the main loop from now on; s->signals is set. Returns 0, or -1 with *reterr filled. */
int signals_watch(struct server *s, struct err *reterr);

/* The workers have ended: the next SIGINT or SIGTERM ends the process as it does any other. */
void signals_release(struct signals *s);

/* When the loop has stopped; its handles are closed with it. NULL is fine. */
void signals_free(struct signals *s);

#endif
