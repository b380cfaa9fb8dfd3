/* socket_tls.h -- how a socket sends what has to be sealed (socket.c). */
#ifndef ANTIPHON_NET_SOCKET_TLS_H
#define ANTIPHON_NET_SOCKET_TLS_H

#include <sys/types.h>

#include "net/socket.h"

/* Sends what the channel owes to the peer, then the pieces, in as few calls as their size allows.
 * Returns how many bytes of the pieces were sealed, some of which may be owed now; -1 when the peer
 * will never take anything again. Sets s->moved when the kernel took any bytes. */
ssize_t socket_tls_send(struct socket *s, const struct iovec *pieces, size_t n_pieces);

/* True when sealed bytes wait for the kernel. */
bool socket_tls_owes(const struct socket *s);

#endif
