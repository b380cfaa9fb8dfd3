/* addresses.h -- where the gateway listens: what `listen` says, and what was passed to the process. */
#ifndef ANTIPHON_DAEMON_ADDRESSES_H
#define ANTIPHON_DAEMON_ADDRESSES_H

#include "base/buf.h"
#include "base/err.h"

struct server;

/* Reads what a service manager or the gateway that is replaced has passed. Returns 0, or -1 with *reterr
 * filled. First of all: the variables are this process's. */
int addresses_receive(struct server *s, struct err *reterr);

/* Opens the addresses that were not passed, and closes them again, so that one that is taken is reported
 * before the store is waited for. Clients are refused as long as that takes, since nobody would answer
 * them. */
int addresses_check(struct server *s, struct err *reterr);

int addresses_open(struct server *s, struct err *reterr);

/* Stops listening: no new client can connect, unless somebody else keeps the sockets. */
void addresses_close(struct server *s);

/* Another process listens on the addresses from now on: files of Unix sockets stay. */
void addresses_leave(struct server *s);

/* Appends the addresses for the log. */
void addresses_show(const struct server *s, struct buf *out);

#endif
