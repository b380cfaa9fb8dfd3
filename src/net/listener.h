/* listener.h -- accepts connections on one address.
 *
 * SO_REUSEPORT lets every worker have a listener of its own on the same
 * address; the kernel spreads the connections. Runs on the loop's thread. */
#ifndef ANTIPHON_NET_LISTENER_H
#define ANTIPHON_NET_LISTENER_H

#include <sys/socket.h>

#include "base/err.h"

struct listener;
struct loop;

/* Room for a numeric address, "2001:db8::1%eth0". */
enum { PEER_BYTES = 64 };

/* A new connection: fd, non-blocking, belongs to the callee; peer is the
 * client's address without port. May close the listener. */
typedef void listener_on_accept(void *arg, int fd, const char *peer);

/* address is "HOST:PORT", "[IPV6]:PORT", or ":PORT" for all addresses. A name
 * with several addresses gets the first that can be bound, IPv4 before IPv6;
 * localhost is 127.0.0.1.
 * Returns NULL with *reterr filled. */
struct listener *listener_open(struct loop *loop, const char *address,
                               listener_on_accept *on_accept, void *arg, struct err *reterr);

/* Is nobody listening on the address yet? Shared listeners do not notice each
 * other, so the first of a process asks. Returns 0, or -1 with *reterr filled. */
int listener_check_free(const char *address, struct err *reterr);

/* The port that was bound, for "...:0". */
int listener_port(const struct listener *l);

/* Stops accepting; the memory goes after the batch of events. NULL is fine. */
void listener_close(struct listener *l);

#endif
