/* watchdog.h -- the regular words to the service manager: how it goes, that it goes, that the end takes
 * longer (OPERATIONS 7.4). */
#ifndef ANTIPHON_DAEMON_WATCHDOG_H
#define ANTIPHON_DAEMON_WATCHDOG_H

#include "base/err.h"

struct loop;
struct server;
struct watchdog;

/* Begins when nobody listens, too, and says nothing then. NULL with *reterr filled. The workers are
 * there, and the main loop does not run yet. */
struct watchdog *watchdog_new(struct server *s, struct err *reterr);

/* The loop of a worker has ended. On that worker's thread. */
void watchdog_end_loop(struct watchdog *w, const struct loop *loop);

void watchdog_free(struct watchdog *w); /* NULL is fine */

#endif
