/* socket.h -- a connected stream socket on a loop.
 *
 * We call recv and sendmsg ourselves and use libuv only to be woken. Reading is
 * registered once; writing only while the peer refuses bytes. That the peer has
 * gone is noticed in every state, also when nothing is read: an end of its
 * stream counts as going away, since HTTP has no use for half a connection.
 *
 * With a channel (tls_channel.h) the bytes are sealed on their way: for the owner everything stays
 * as it is, but that a handshake comes first. What waits for the peer to read waits unsealed.
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
    /* Reports views of the beginning of loop_scratch(); they die when it returns, and until then
     * may be changed there. */
    void (*on_bytes)(void *arg, str bytes);
    void (*on_gone)(void *arg);     /* end of stream, reset, out of memory: close it now */
    void (*on_progress)(void *arg); /* the peer took some of the pending bytes */
    void (*on_closed)(void *arg);   /* last word, after the batch of events: free it */
};

struct socket {
    uv_poll_t poll;
    struct loop *loop;
    const struct socket_handler *handler;
    void *arg;
    int fd;
    bool reading, blocked, gone;
    bool keeps_end;     /* see socket_keep_end() */
    bool ended;         /* an end has been seen and is kept; it is not waited for again */
    struct buf pending; /* accepted from the owner, not yet from the kernel */
    size_t sent;        /* how many of them are out already */
    struct socket_taken *first_taken, *last_taken; /* what follows them, see socket_take() */
    size_t taken_bytes;                            /* in the taken ones */
    struct iovec *lent;                            /* see socket_lend() */
    size_t n_lent;
    int error; /* errno of what broke it; 0 in on_gone: the stream has ended in order */
    struct tls_channel *tls;       /* see socket_secure(); NULL: bytes go as they are */
    void (*on_secured)(void *arg); /* with it */
    bool moved;                    /* the kernel took sealed bytes */
    bool ends;                     /* our stream ends behind the sealed bytes that wait */
};

/* Starts reading. Takes fd, also if it fails. */
int socket_open(struct socket *s, struct loop *loop, int fd, const struct socket_handler *handler,
                void *arg, struct err *reterr);

/* Has the bytes go through the channel, which is the socket's from now on; before any have come or gone.
 * on_secured is called when the handshake is over: the channel is then open, or has failed, which
 * leaves the owner no more than socket_shutdown() and socket_close(). */
void socket_secure(struct socket *s, struct tls_channel *take, void (*on_secured)(void *arg));

/* Bytes for the channel that the owner has had already: they came with what was in front of it. */
void socket_unseal(struct socket *s, str sealed);

/* Closes the descriptor at once; on_closed follows, nothing else does. Bytes
 * still pending are lost. */
void socket_close(struct socket *s);

/* Closes like socket_close(), but the peer sees a reset: it must not take what it has for whole. */
void socket_reset(struct socket *s);

/* Sends the queued bytes and these in one system call; what the kernel refuses
 * is copied and follows by itself. At most SOCKET_PIECES pieces. */
enum { SOCKET_PIECES = 4 };
void socket_send(struct socket *s, const struct iovec *pieces, size_t n_pieces);

/* Sends the pieces from where they are, however long that takes, without a copy:
 * they and their array belong to the socket until socket_pending() is 0 or it is
 * closed, and nothing else may be sent until then. None may be empty; on_progress
 * is not called for them. When the peer takes no more, the rest stays pending,
 * but what the peer has sent can still be read. */
void socket_lend(struct socket *s, struct iovec *pieces, size_t n_pieces);

/* Keeps bytes for the next socket_send(), so that both leave together. */
void socket_queue(struct socket *s, str bytes);

/* Keeps the bytes of a buf without a copy: they are the socket's, and the buf is empty afterwards. */
void socket_take(struct socket *s, struct buf *bytes);

/* Gives back memory that an idle socket need not keep: when nothing will be queued for a while. */
void socket_trim(struct socket *s);

/* Bytes as a piece: sending only reads them, but the type does not say so. */
static inline struct iovec socket_piece(str s)
{
    union {
        const char *in;
        void *out;
    } p = {.in = s.p};

    return (struct iovec){p.out, s.len};
}

/* Bytes the peer has not taken yet. */
size_t socket_pending_everywhere(const struct socket *s);

static inline size_t socket_pending(const struct socket *s)
{
    if (s->tls != NULL || s->n_lent > 0)
        return socket_pending_everywhere(s);
    return s->pending.len - s->sent + s->taken_bytes;
}

/* Treats the peer as lost: nothing more is sent, and on_gone follows. */
void socket_break(struct socket *s);

/* Reports the peer's end, from now on, behind its last bytes only, however long reading is off: for
 * a peer that may leave when it has said everything. */
void socket_keep_end(struct socket *s);

/* Reads on, or leaves the peer's bytes in the kernel. */
void socket_read(struct socket *s, bool on);

/* Ends our stream: no more bytes will be sent, and the peer sees its end. */
void socket_shutdown(struct socket *s);

#endif
