/* socket_tls.c -- sealed only as far as the kernel takes: what waits, waits unsealed.
 *
 * So a slow reader costs what it costs without TLS, and the progress that it makes is seen with each
 * call in which the kernel takes bytes, however large the answer is. */
#include "net/socket_tls.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "tls/tls_channel.h"

enum {
    AT_ONCE_BYTES = 2 * TLS_RECORD_BYTES, /* sealed for one call */
    MOST_PIECES = 2 * SOCKET_PIECES,
};

bool socket_tls_owes(const struct socket *s)
{
    return tls_channel_wire(s->tls).len > 0;
}

/* False when the peer will never take anything again. */
static bool send_owed(struct socket *s)
{
    str owed = tls_channel_wire(s->tls);

    while (owed.len > 0) {
        ssize_t taken = send(s->fd, owed.p, owed.len, MSG_NOSIGNAL);

        if (taken == -1)
            return errno == EAGAIN || errno == EINTR || errno == ENOBUFS;
        s->moved = true;
        tls_channel_sent(s->tls, (size_t)taken);
        owed = tls_channel_wire(s->tls);
    }
    return true;
}

/* Drops the first n bytes of the pieces that *at begins with. */
static void skip_pieces(struct iovec **at, size_t *n_pieces, size_t n)
{
    while (*n_pieces > 0 && n >= (*at)->iov_len) {
        n -= (*at)->iov_len;
        ++*at;
        --*n_pieces;
    }
    if (*n_pieces > 0) {
        (*at)->iov_base = (char *)(*at)->iov_base + n;
        (*at)->iov_len -= n;
    }
}

ssize_t socket_tls_send(struct socket *s, const struct iovec *pieces, size_t n_pieces)
{
    struct iovec rest[MOST_PIECES], *at = rest;
    size_t total = 0, taken;

    if (n_pieces > 0)
        memcpy(rest, pieces, n_pieces * sizeof(*pieces));
    skip_pieces(&at, &n_pieces, 0);
    for (;;) {
        if (!send_owed(s))
            return -1;
        if (socket_tls_owes(s) || n_pieces == 0)
            return (ssize_t)total;
        while (n_pieces > 0 && tls_channel_wire(s->tls).len < AT_ONCE_BYTES) {
            taken = tls_channel_seal(s->tls, at, n_pieces);
            if (taken == 0)
                return -1;
            skip_pieces(&at, &n_pieces, taken);
            total += taken;
        }
    }
}
