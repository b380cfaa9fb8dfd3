/* listen_address.h -- an address of the process, and the sockets that listen there.
 *
 * The main thread opens an address once, before the workers start, and takes one
 * descriptor from it for each of them: a duplicate of one that it keeps itself.
 * Workers share a TCP address through SO_REUSEPORT: each has a socket of its
 * own, and the kernel spreads the connections. A Unix socket has one queue.
 *
 *     "HOST:PORT", "[IPV6]:PORT", or ":PORT" for all addresses. A name with
 *     several addresses gets the first that can be bound, IPv4 before IPv6;
 *     localhost is 127.0.0.1. Port 0 takes a free one, the same for all workers.
 *
 *     "unix:/PATH". The socket may be used by the owner and the group (mode
 *     0660). A file that a dead process has left there is replaced. */
#ifndef ANTIPHON_NET_LISTEN_ADDRESS_H
#define ANTIPHON_NET_LISTEN_ADDRESS_H

#include "base/err.h"
#include "net/listen_passed.h"

struct listen_address;

/* Fails when anybody listens there already: sockets that share an address do
 * not notice each other. Returns NULL with *reterr filled. */
struct listen_address *listen_address_open(const char *text, struct err *reterr);

/* Opens an address with all sockets that were passed for this text, of which there is one at least, and
 * which it takes. Those of "fd:NAME" belong to a service manager: they cannot be closed for others. */
struct listen_address *listen_address_take(const char *text, const struct listen_passed_list *list,
                                           struct err *reterr);

/* How many descriptors each of so many workers has to take, so that no queue is forgotten. */
size_t listen_address_per_worker(const struct listen_address *a, size_t n_workers);

/* The address's own descriptors: a view. */
const int *listen_address_sockets(const struct listen_address *a, size_t *ret_n);

/* Another process listens on its sockets from now on: a file stays. */
void listen_address_leave(struct listen_address *a);

/* Gives one more descriptor that listens, non-blocking; it is the caller's. Returns -1 with *reterr
 * filled. */
int listen_address_fd(struct listen_address *a, struct err *reterr);

/* The address with the port that was bound. */
const char *listen_address_text(const struct listen_address *a);

/* Closes its own descriptors; those handed out listen on. The file of a Unix socket goes as well,
 * when it is still the one that was made. NULL is fine. */
void listen_address_close(struct listen_address *a);

/* Does that for an address that may listen again, with listen_address_serve(): returns 0, or -1 with
 * *reterr filled, when it can be tried again. */
void listen_address_rest(struct listen_address *a);
int listen_address_serve(struct listen_address *a, struct err *reterr);

/* A TCP socket that listens on an address together with others (SO_REUSEPORT).
 * Returns it, or -1 with *reterr filled. */
int listen_tcp(const char *address, struct err *reterr);

/* Fails when somebody listens there. Takes no connection while it finds out. Returns 0, or -1 with
 * *reterr filled. */
int listen_tcp_check_free(const char *address, struct err *reterr);

/* The address that a socket is bound to, as one writes it in `listen`; from the heap, or NULL. */
char *listen_bound_text(int fd);

/* The port a TCP socket is bound to. */
int listen_port(int fd);

/* True when the socket is bound to an address that only this machine reaches; false for a Unix
 * socket. */
bool listen_is_loopback(int fd);

bool listen_is_unix(int fd);

/* A Unix socket at path. Returns it, or -1 with *reterr filled. */
int listen_unix(const char *path, struct err *reterr);

#endif
