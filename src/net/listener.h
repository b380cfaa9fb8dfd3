/* listener.h -- accepts connections on a socket that listens.
 *
 * Several loops may have listeners on the same Unix socket: all of them wake for
 * a connection and one gets it. The kernel could wake a single one
 * (EPOLLEXCLUSIVE), but uv_poll does not hand that on; a refused accept() is
 * cheap beside what follows a taken one. Runs on the loop's thread. */
#ifndef ANTIPHON_NET_LISTENER_H
#define ANTIPHON_NET_LISTENER_H

#include <stdbool.h>

#include "base/err.h"
#include "net/peer_text.h"

struct listener;
struct loop;

/* Room for a numeric address. */
enum { PEER_BYTES = PEER_TEXT_BYTES };

/* A new connection: fd, non-blocking, belongs to the callee; peer is the
 * client's address without port, or "unix". May close the listener. */
typedef void listener_on_accept(void *arg, int fd, const char *peer);

/* Takes fd (listen_address.h), also if it fails. Returns NULL with *reterr filled. */
struct listener *listener_open(struct loop *loop, int fd, listener_on_accept *on_accept, void *arg,
                               struct err *reterr);

/* The port of a TCP socket. */
int listener_port(const struct listener *l);

/* Leaves new connections in the kernel's backlog, or takes them again. May be called from
 * within on_accept. */
void listener_pause(struct listener *l, bool paused);

/* Takes what waits in the kernel's backlog, up to now: listener_close() resets that when nobody else has
 * the socket. Not within on_accept. */
void listener_take_waiting(struct listener *l);

/* Stops accepting; the memory goes after the batch of events. NULL is fine. */
void listener_close(struct listener *l);

#endif
