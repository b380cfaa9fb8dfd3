/* socket.h -- a connected stream socket on a loop.
 *
 * We call recv and sendmsg ourselves and use libuv only to be woken. Reading is
 * registered once; writing only while the peer refuses bytes. That the peer has
 * gone is noticed in every state, also when nothing is read: an end of its
 * stream counts as going away, since HTTP has no use for half a connection.
 *
 * Everything runs on the loop's thread. Callbacks come from the loop only, never
 * from inside a socket_ function, and may call any of them. */
#ifndef ANTIPHON_NET_SOCKET_H
#define ANTIPHON_NET_SOCKET_H

#include <sys/uio.h>

#include "base/buf.h"
#include "base/err.h"
#include "ev/loop.h"

struct socket_handler {
    void (*on_bytes)(void *arg, str bytes); /* die when it returns */
    void (*on_gone)(void *arg);             /* end of stream, reset, out of memory: close it now */
    void (*on_progress)(void *arg);         /* the peer took some of the pending bytes */
    void (*on_closed)(void *arg);           /* last word, after the batch of events: free it */
};

struct socket {
    uv_poll_t poll;
    struct loop *loop;
    const struct socket_handler *handler;
    void *arg;
    int fd;
    bool reading, blocked, gone;
    struct buf pending; /* accepted from the owner, not yet from the kernel */
    size_t sent;        /* so many of them are out already */
};

/* Starts reading. Takes fd, also if it fails. */
int socket_open(struct socket *s, struct loop *loop, int fd, const struct socket_handler *handler,
                void *arg, struct err *reterr);

/* Closes the descriptor at once; on_closed follows, nothing else does. Bytes
 * still pending are lost. */
void socket_close(struct socket *s);

/* The same, but the peer sees a reset: it must not take what it has for whole. */
void socket_reset(struct socket *s);

/* Sends the queued bytes and these in one system call; what the kernel refuses
 * is copied and follows by itself. At most SOCKET_PIECES pieces. */
enum { SOCKET_PIECES = 4 };
void socket_send(struct socket *s, const struct iovec *pieces, size_t n_pieces);

/* Keeps bytes for the next socket_send(), so that both leave together. */
void socket_queue(struct socket *s, str bytes);

/* Bytes the peer has not taken yet. */
size_t socket_pending(const struct socket *s);

/* Treats the peer as lost: nothing more is sent, and on_gone follows. */
void socket_break(struct socket *s);

/* Reads on, or leaves the peer's bytes in the kernel. */
void socket_read(struct socket *s, bool on);

/* No more bytes will be sent; the peer sees the end of our stream. */
void socket_shutdown(struct socket *s);

#endif
