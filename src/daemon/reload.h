/* reload.h -- SIGHUP: what is written in files is read again (OPERATIONS 7.2).
 *
 * One reload runs at a time, until all workers go by what was read. Who asks meanwhile has it done once
 * more, for all that have asked by then. */
#ifndef ANTIPHON_DAEMON_RELOAD_H
#define ANTIPHON_DAEMON_RELOAD_H

#include <stdbool.h>

#include "base/err.h"

struct life_reload;
struct reload;
struct server;

/* NULL with *reterr filled. The workers are there. */
struct reload *reload_new(struct server *s, struct err *reterr);
void reload_free(struct reload *r); /* NULL is fine */

/* Is there a file to read again? Without one SIGHUP keeps its meaning: the terminal has been closed. */
bool reload_is_possible(const struct server *s);

/* Reads all parts again. Each succeeds or stays as it was, and has a line `reload` in the log. Main
 * thread. */
void reload_start(struct reload *r);

/* Reads all parts again for an admin's request (flight/life.h). Any thread. */
void reload_ask(struct reload *r, struct life_reload *ask);

#endif
