/* socket.c -- recv, sendmsg and which events to wait for. */
#include "net/socket.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/socket_tls.h"
#include "tls/tls_channel.h"

enum {
    /* Where sealed bytes are received, in the loop's memory: they bring as many plain ones, and those
     * of a record that has begun before, which are put in front of them. */
    SEALED_AT = (LOOP_SCRATCH_BYTES + TLS_RECORD_BYTES) / 2,
    KEEP_PENDING_BYTES = 4096,       /* memory a socket may keep between two messages */
    KEEP_IDLE_BYTES = 1024,          /* and while it is idle */
    KERNEL_UNSENT_BYTES = 64 * 1024, /* beyond what is on its way to the peer */
};

/* Bytes that were given away instead of copied. */
struct socket_taken {
    struct buf bytes;
    struct socket_taken *next;
};

static void on_poll_event(uv_poll_t *poll, int status, int events);

/* Bytes that are pending and still as they came. */
static size_t unsealed_bytes(const struct socket *s)
{
    return s->pending.len - s->sent + s->taken_bytes;
}

/* UV_DISCONNECT is always asked for: a peer that leaves while we do not read is
 * noticed at once. Errors of the socket are reported without asking. */
static void watch_events(struct socket *s)
{
    int events = s->ended ? 0 : UV_DISCONNECT;

    if (s->reading)
        events |= UV_READABLE;
    if (s->blocked)
        events |= UV_WRITABLE;
    if (!uv_is_closing((uv_handle_t *)&s->poll))
        (void)uv_poll_start(&s->poll, events, on_poll_event);
}

/* Makes the first of the taken bytes pending. */
static void promote_taken(struct socket *s)
{
    struct socket_taken *t = s->first_taken;

    buf_fini(&s->pending);
    s->pending = t->bytes;
    s->sent = 0;
    s->taken_bytes -= t->bytes.len;
    s->first_taken = t->next;
    if (t->next == NULL)
        s->last_taken = NULL;
    free(t);
}

static void pending_drop(struct socket *s)
{
    while (s->first_taken != NULL)
        promote_taken(s);
    buf_fini(&s->pending);
    s->sent = 0;
}

/* Gives up sending. Shutting the socket down makes the loop report it, so that the owner hears of
 * it from the loop and not from inside a call. */
void socket_break(struct socket *s)
{
    s->gone = true;
    s->blocked = false;
    pending_drop(s);
    (void)shutdown(s->fd, SHUT_RDWR);
    watch_events(s);
}

static void report_gone(struct socket *s)
{
    s->gone = true;
    (void)uv_poll_stop(&s->poll);
    s->handler->on_gone(s->arg);
}

static bool is_transient(int error)
{
    return error == EAGAIN || error == EINTR || error == ENOBUFS;
}

/* Sends what the channel owes to the peer, when that can be: more follows by itself. */
static void send_answers(struct socket *s)
{
    if (s->gone || s->blocked || !socket_tls_owes(s))
        return;
    if (socket_tls_send(s, NULL, 0) == -1)
        socket_break(s);
    s->blocked = !s->gone && socket_tls_owes(s);
    if (s->blocked)
        watch_events(s);
}

/* A peer that fails within the handshake is the owner's to close, behind the alert that tells why. */
static void unseal_part(struct socket *s, str sealed)
{
    enum tls_state before = tls_channel_state(s->tls), now;
    char *plain = loop_scratch(s->loop);
    size_t n = tls_channel_feed(s->tls, sealed, plain);

    now = tls_channel_state(s->tls);
    send_answers(s);
    if (before == TLS_SHAKING && now != TLS_SHAKING)
        s->on_secured(s->arg);
    if (n > 0 && !s->gone)
        s->handler->on_bytes(s->arg, str_from(plain, n));
    if ((now == TLS_ENDED || (now == TLS_FAILED && before == TLS_OPEN)) && !s->gone)
        report_gone(s);
}

/* In parts, each of which has room in the loop's memory when it is plain. */
void socket_unseal(struct socket *s, str sealed)
{
    const size_t most = LOOP_SCRATCH_BYTES - TLS_RECORD_BYTES;

    for (; sealed.len > 0 && !s->gone; sealed = str_skip(sealed, most))
        unseal_part(s, str_from(sealed.p, sealed.len < most ? sealed.len : most));
}

static void receive_bytes(struct socket *s)
{
    char *scratch = loop_scratch(s->loop);
    size_t at = s->tls == NULL ? 0 : SEALED_AT;
    ssize_t n = recv(s->fd, scratch + at, LOOP_SCRATCH_BYTES - at, 0);

    if (n > 0 && s->tls != NULL)
        unseal_part(s, str_from(scratch + at, (size_t)n));
    else if (n > 0)
        s->handler->on_bytes(s->arg, str_from(scratch, (size_t)n));
    else if (n == 0 || !is_transient(errno)) {
        if (n != 0)
            s->error = errno;
        report_gone(s);
    }
}

/* Sends pieces; returns what the kernel took of them, 0 when it refuses, -1 when it never will. */
static ssize_t send_pieces(struct socket *s, struct iovec *pieces, size_t n)
{
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = n};
    ssize_t taken;

    if (s->tls != NULL)
        return socket_tls_send(s, pieces, n);
    taken = sendmsg(s->fd, &message, MSG_NOSIGNAL);
    if (taken >= 0)
        return taken;
    return is_transient(errno) ? 0 : -1;
}

static void pending_clear(struct socket *s)
{
    s->sent = 0;
    if (s->pending.cap > KEEP_PENDING_BYTES)
        buf_fini(&s->pending);
    else
        buf_reset(&s->pending);
}

/* Lists the beginning of what is pending; returns how many pieces it is, at most SOCKET_PIECES. */
static size_t pending_pieces(const struct socket *s, struct iovec out[SOCKET_PIECES])
{
    size_t n = 0;

    if (s->pending.len > s->sent)
        out[n++] = (struct iovec){s->pending.p + s->sent, s->pending.len - s->sent};
    for (const struct socket_taken *t = s->first_taken; t != NULL && n < SOCKET_PIECES; t = t->next)
        out[n++] = (struct iovec){t->bytes.p, t->bytes.len};
    return n;
}

/* Drops the first `taken` pending bytes, at most all of them: they are out. */
static void pending_advance(struct socket *s, size_t taken)
{
    while (taken >= s->pending.len - s->sent && s->first_taken != NULL) {
        taken -= s->pending.len - s->sent;
        promote_taken(s);
    }
    s->sent += taken;
    if (s->sent == s->pending.len)
        pending_clear(s);
}

/* Sends what is lent. After a failure the peer's last bytes are still to be read, so the socket is
 * not broken: its end will be found there. */
static void send_lent(struct socket *s)
{
    ssize_t taken = send_pieces(s, s->lent, s->n_lent);
    bool was_blocked = s->blocked;

    if (taken == -1)
        s->error = errno;
    s->blocked = taken != -1;
    while (taken > 0) {
        size_t n = (size_t)taken < s->lent->iov_len ? (size_t)taken : s->lent->iov_len;

        s->lent->iov_base = (char *)s->lent->iov_base + n;
        s->lent->iov_len -= n;
        taken -= (ssize_t)n;
        if (s->lent->iov_len > 0)
            continue;
        s->lent++;
        s->blocked = --s->n_lent > 0;
    }
    if (s->blocked != was_blocked)
        watch_events(s);
}

static void send_pending(struct socket *s)
{
    struct iovec pieces[SOCKET_PIECES];
    ssize_t taken;

    s->moved = false;
    taken = send_pieces(s, pieces, pending_pieces(s, pieces));
    if (taken == -1) {
        socket_break(s);
        return;
    }
    pending_advance(s, (size_t)taken);
    if (socket_pending(s) == 0) {
        s->blocked = false;
        watch_events(s);
        if (s->ends)
            (void)shutdown(s->fd, SHUT_WR);
    }
    if (taken > 0 || s->moved)
        s->handler->on_progress(s->arg);
}

/* The loop has reported an error and stopped watching; what came in before it
 * can still be read, and behind it recv() finds the error again. */
static void read_kept(struct socket *s)
{
    if (s->reading) {
        receive_bytes(s);
    } else {
        s->ended = true;
        s->blocked = false; /* whoever waits for room is only told of the error again */
    }
    if (!s->gone)
        watch_events(s);
}

/* The peer's last bytes are read before its end is believed: with reading on,
 * recv() finds the end by itself. */
static void on_poll_event(uv_poll_t *poll, int status, int events)
{
    struct socket *s = poll->data;

    if (status < 0 && s->keeps_end && !s->gone) {
        read_kept(s);
        return;
    }
    if (status < 0 || s->gone) {
        report_gone(s);
        return;
    }
    if ((events & UV_WRITABLE) != 0 && s->blocked) {
        if (s->n_lent > 0)
            send_lent(s);
        else
            send_pending(s);
    }
    if (uv_is_closing((uv_handle_t *)poll) || s->gone)
        return;
    if (s->reading && (events & (UV_READABLE | UV_DISCONNECT)) != 0) {
        receive_bytes(s);
    } else if ((events & UV_DISCONNECT) != 0 && s->keeps_end) {
        s->ended = true;
        watch_events(s);
    } else if ((events & UV_DISCONNECT) != 0) {
        report_gone(s);
    }
}

int socket_open(struct socket *s, struct loop *loop, int fd, const struct socket_handler *handler,
                void *arg, struct err *reterr)
{
    int on = 1, unsent_bytes = KERNEL_UNSENT_BYTES;
    int rc;

    *s = (struct socket){.loop = loop, .handler = handler, .arg = arg, .fd = fd, .reading = true};
    rc = uv_poll_init(loop_uv(loop), &s->poll, fd);
    if (rc != 0) {
        err_set(reterr, ERR_INTERNAL, "socket: %s", uv_strerror(rc));
        (void)close(fd);
        return -1;
    }
    s->poll.data = s;
    /* Events are small and must leave at once. Both fail on a unix socket, rightly. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    /* The kernel keeps megabytes for a slow reader otherwise, where no limit of ours counts. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_bytes, sizeof(unsent_bytes));
    watch_events(s);
    return 0;
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct socket *s = handle->data;

    s->handler->on_closed(s->arg);
}

void socket_secure(struct socket *s, struct tls_channel *take, void (*on_secured)(void *arg))
{
    s->tls = take;
    s->on_secured = on_secured;
}

/* Says good-bye, when everything else has been said and the kernel has room for it. */
static void close_channel(struct socket *s)
{
    if (unsealed_bytes(s) == 0 && !socket_tls_owes(s)) {
        tls_channel_end(s->tls);
        (void)socket_tls_send(s, NULL, 0);
    }
    tls_channel_free(s->tls);
    s->tls = NULL;
}

void socket_close(struct socket *s)
{
    if (s->tls != NULL)
        close_channel(s);
    s->gone = true;
    s->n_lent = 0;
    pending_drop(s);
    uv_close((uv_handle_t *)&s->poll, on_poll_closed);
    (void)close(s->fd);
}

void socket_reset(struct socket *s)
{
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    (void)setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    tls_channel_free(s->tls); /* without its last word */
    s->tls = NULL;
    socket_close(s);
}

void socket_queue(struct socket *s, str bytes)
{
    struct buf *last = s->last_taken == NULL ? &s->pending : &s->last_taken->bytes;

    if (s->gone)
        return;
    if (s->last_taken != NULL) {
        s->taken_bytes += bytes.len;
    } else if (s->sent > 0 && s->sent >= s->pending.len / 2) { /* keeps the copying linear */
        buf_consume(&s->pending, s->sent);
        s->sent = 0;
    }
    buf_append(last, bytes);
    if (buf_failed(last))
        socket_break(s);
}

void socket_take(struct socket *s, struct buf *bytes)
{
    struct socket_taken *t = s->gone || bytes->len == 0 ? NULL : malloc(sizeof(*t));

    if (t == NULL) {
        if (!s->gone && bytes->len > 0)
            socket_break(s); /* out of memory */
        buf_fini(bytes);
        return;
    }
    *t = (struct socket_taken){.bytes = *bytes};
    *bytes = (struct buf){.limit = bytes->limit};
    t->bytes.limit = 0; /* the limit was for what is in it, not for what follows */
    if (s->last_taken == NULL)
        s->first_taken = t;
    else
        s->last_taken->next = t;
    s->last_taken = t;
    s->taken_bytes += t->bytes.len;
}

void socket_trim(struct socket *s)
{
    if (s->pending.len == 0 && s->pending.cap > KEEP_IDLE_BYTES)
        buf_fini(&s->pending);
}

/* Queues what is left of the pieces after the first `taken` bytes. */
static void queue_rest(struct socket *s, const struct iovec *pieces, size_t n, size_t taken)
{
    for (; n > 0 && taken >= pieces->iov_len; pieces++, n--)
        taken -= pieces->iov_len;
    for (; n > 0; pieces++, n--) {
        socket_queue(s, str_skip(str_from(pieces->iov_base, pieces->iov_len), taken));
        taken = 0;
    }
}

void socket_send(struct socket *s, const struct iovec *pieces, size_t n_pieces)
{
    struct iovec all[2 * SOCKET_PIECES];
    size_t queued = unsealed_bytes(s), n, in_all;
    ssize_t taken;

    assert(n_pieces <= SOCKET_PIECES);
    if (s->gone || (n_pieces == 0 && queued == 0))
        return;
    if (s->blocked) {
        queue_rest(s, pieces, n_pieces, 0);
        return;
    }
    n = queued == 0 ? 0 : pending_pieces(s, all);
    in_all = n < SOCKET_PIECES ? n_pieces : 0; /* else there is more between them */
    for (size_t i = 0; i < in_all; i++)
        all[n++] = pieces[i];
    taken = send_pieces(s, all, n);
    if (taken == -1) {
        socket_break(s);
        return;
    }
    if ((size_t)taken >= queued) {
        if (queued > 0)
            pending_advance(s, queued);
        queue_rest(s, pieces, n_pieces, (size_t)taken - queued);
    } else {
        pending_advance(s, (size_t)taken);
        queue_rest(s, pieces, n_pieces, 0);
    }
    s->blocked = socket_pending(s) > 0;
    if (s->blocked)
        watch_events(s);
}

void socket_lend(struct socket *s, struct iovec *pieces, size_t n_pieces)
{
    assert(socket_pending(s) == 0 && s->tls == NULL);
    if (s->gone)
        return;
    s->lent = pieces;
    s->n_lent = n_pieces;
    send_lent(s);
}

size_t socket_pending_everywhere(const struct socket *s)
{
    size_t n = unsealed_bytes(s);

    if (s->tls != NULL && !s->gone)
        n += tls_channel_wire(s->tls).len;
    for (size_t i = 0; i < s->n_lent; i++)
        n += s->lent[i].iov_len;
    return n;
}

void socket_keep_end(struct socket *s)
{
    s->keeps_end = true;
}

void socket_read(struct socket *s, bool on)
{
    if (s->reading == on || s->gone)
        return;
    s->reading = on;
    watch_events(s);
}

void socket_shutdown(struct socket *s)
{
    if (s->tls != NULL) {
        tls_channel_end(s->tls);
        send_answers(s);
        s->ends = !s->gone && socket_pending(s) > 0;
        if (s->ends)
            return;
    }
    (void)shutdown(s->fd, SHUT_WR);
}
