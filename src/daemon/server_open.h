/* server_open.h -- all that a gateway has before its threads begin. */
#ifndef ANTIPHON_DAEMON_SERVER_OPEN_H
#define ANTIPHON_DAEMON_SERVER_OPEN_H

#include "base/err.h"

struct server;

/* Fills in the server, whose loop and arrays for workers are there: sockets, store, memories, tools, the
 * upstream, and the workers, of which none runs yet. Returns 0, or -1 with *reterr filled; what is there by
 * then is the caller's to take down either way. s->is_abandoned says that a signal came meanwhile: then
 * *reterr is not filled. Waits for the store. Main thread. */
int server_open(struct server *s, struct err *reterr);

#endif
