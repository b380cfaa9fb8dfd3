/* load_upstream.c -- the Chat Completions server of the load test.
 *
 *     load_upstream        prints {"port":N} and serves until its input ends
 *     a line of input      prints what has been read of every stream without a gate:
 *                          {"begun":N,"ended":N,"streams":[{"id":N,"read":N,"blocked":true},...]}
 *
 * One thread. Streams get one piece each in turn, so all of them advance side
 * by side; a stream whose reader takes nothing sits out until it does. "read"
 * is what the gateway's process has taken out of its socket, heads and chunk
 * sizes included: bytes written without those that wait in the kernel. */
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load/load.h"

enum {
    MAX_EVENTS = 256,
    BACKLOG = 4096,
    READ_BYTES = 16 * 1024,
    SEND_BUFFER_BYTES = 16 * 1024, /* small, so that little is hidden in the kernel */
};

struct conn {
    int fd;
    struct conn *next, **link;
    struct buf in, out;
    size_t sent;    /* of out */
    size_t written; /* to the kernel, in the life of the connection */
    struct load_stream stream;
    unsigned piece;
    bool is_begun;   /* stream is one that was asked for */
    bool is_running; /* and is not written whole yet */
    bool is_blocked; /* the kernel refused bytes and has not called yet */
};

static struct {
    int epoll, listener;
    struct conn *conns;
    size_t n_begun, n_ended;
    unsigned n_at_gate;
} up;

/* ---- what is said */

static void chunk_append(struct buf *out, str payload)
{
    char size[16];

    (void)snprintf(size, sizeof(size), "%zx\r\n", payload.len);
    buf_c(out, size);
    buf_append(out, payload);
    buf_append(out, STR("\r\n"));
}

static void say(struct conn *c, str delta, const char *finish_reason)
{
    struct buf frame = {0};

    buf_c(&frame,
          "data: {\"id\":\"chatcmpl-load\",\"object\":\"chat.completion.chunk\","
          "\"created\":1767225600,\"model\":\"load\",\"choices\":[{\"index\":0,\"delta\":{");
    buf_append(&frame, delta);
    buf_c(&frame, "},\"finish_reason\":");
    buf_c(&frame, finish_reason);
    buf_c(&frame, "}]}\n\n");
    chunk_append(&c->out, buf_str(&frame));
    buf_fini(&frame);
}

static void say_piece(struct conn *c)
{
    struct buf delta = {0};

    buf_c(&delta, "\"content\":\"");
    load_piece(&c->stream, c->piece, &delta);
    buf_char(&delta, '"');
    say(c, buf_str(&delta), "null");
    buf_fini(&delta);
    c->piece++;
}

static void say_end(struct conn *c)
{
    say(c, STR(""), "\"stop\"");
    chunk_append(&c->out, STR("data: [DONE]\n\n"));
    buf_c(&c->out, "0\r\n\r\n");
    c->is_running = false;
    up.n_ended++;
}

static void answer_begin(struct conn *c)
{
    if (!load_stream_read(buf_str(&c->in), &c->stream)) {
        buf_c(&c->out, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        return;
    }
    buf_c(&c->out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n");
    c->piece = 0;
    c->is_begun = c->is_running = true;
    up.n_begun++;
    up.n_at_gate += c->stream.gate > 0;
    say_piece(c);
}

/* ---- connections */

static void conn_close(struct conn *c)
{
    *c->link = c->next;
    if (c->next != NULL)
        c->next->link = c->link;
    (void)close(c->fd);
    buf_fini(&c->in);
    buf_fini(&c->out);
    free(c);
}

static void conn_open(int fd)
{
    struct conn *c = calloc(1, sizeof(*c));
    struct epoll_event events = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c};
    int on = 1;

    if (c == NULL)
        load_die("memory");
    c->fd = fd;
    c->next = up.conns;
    c->link = &up.conns;
    if (c->next != NULL)
        c->next->link = &c->next;
    up.conns = c;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (epoll_ctl(up.epoll, EPOLL_CTL_ADD, fd, &events) == -1)
        load_die("epoll_ctl");
}

static void accept_all(void)
{
    int fd;

    while ((fd = accept4(up.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) != -1)
        conn_open(fd);
    if (errno != EAGAIN)
        load_die("accept");
}

/* Is the request whole? The gateway sends Content-Length, as every client of
 * ours does. */
static bool request_is_whole(str in)
{
    static const str field = STR_INIT("Content-Length: ");
    size_t head = str_find(in, STR("\r\n\r\n")), at = str_find(in, field);

    if (head == in.len)
        return false;
    if (at > head)
        return true; /* a GET */
    return in.len >= head + 4 + strtoul(in.p + at + field.len, NULL, 10);
}

/* False when the connection has ended. */
static bool conn_read(struct conn *c)
{
    ssize_t n;

    do {
        char *to = buf_reserve(&c->in, READ_BYTES);

        if (to == NULL)
            load_die("memory");
        n = recv(c->fd, to, READ_BYTES, 0);
        if (n > 0)
            c->in.len += (size_t)n;
    } while (n > 0);
    if (n == 0 || errno != EAGAIN)
        return false;
    if (request_is_whole(buf_str(&c->in))) {
        answer_begin(c);
        buf_reset(&c->in);
    }
    return true;
}

static bool conn_send(struct conn *c)
{
    str rest = str_skip(buf_str(&c->out), c->sent);
    ssize_t n;

    if (rest.len == 0)
        return true;
    n = send(c->fd, rest.p, rest.len, MSG_NOSIGNAL);
    if (n == -1 && errno != EAGAIN)
        return false;
    c->is_blocked = n < (ssize_t)rest.len;
    c->sent += n > 0 ? (size_t)n : 0;
    c->written += n > 0 ? (size_t)n : 0;
    if (c->sent == c->out.len) {
        c->sent = 0;
        buf_reset(&c->out);
    }
    return true;
}

static bool may_go_on(const struct conn *c)
{
    return c->is_running && (c->stream.gate == 0 || up.n_at_gate >= c->stream.gate);
}

static void say_next(struct conn *c)
{
    if (c->piece < c->stream.n_pieces)
        say_piece(c);
    else
        say_end(c);
}

/* One piece for every stream that can take it. True when some can take more. */
static bool round_of_pieces(void)
{
    bool any = false;

    for (struct conn *c = up.conns, *next; c != NULL; c = next) {
        next = c->next;
        if (c->is_blocked)
            continue;
        if (may_go_on(c) && c->out.len == 0)
            say_next(c);
        if (!conn_send(c))
            conn_close(c);
        else
            any = any || (may_go_on(c) && !c->is_blocked);
    }
    return any;
}

static void on_event(struct conn *c, uint32_t events)
{
    if ((events & EPOLLOUT) != 0)
        c->is_blocked = false;
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !conn_read(c))
        conn_close(c);
}

/* ---- reports */

static size_t bytes_read(const struct conn *c, const struct load_queues *queues)
{
    struct load_queue theirs =
        load_queues_find(queues, load_remote_port(c->fd), load_local_port(c->fd));
    int not_arrived = 0;

    if (ioctl(c->fd, SIOCOUTQ, &not_arrived) == -1)
        load_die("SIOCOUTQ");
    return c->written - (size_t)not_arrived - theirs.unread;
}

static void report(void)
{
    struct load_queues queues;
    const char *comma = "";

    load_queues_read(&queues);
    (void)printf("{\"begun\":%zu,\"ended\":%zu,\"streams\":[", up.n_begun, up.n_ended);
    for (const struct conn *c = up.conns; c != NULL; c = c->next) {
        if (!c->is_begun || c->stream.gate > 0)
            continue;
        (void)printf("%s{\"id\":%u,\"read\":%zu,\"blocked\":%s}", comma, c->stream.id,
                     bytes_read(c, &queues), c->is_blocked ? "true" : "false");
        comma = ",";
    }
    (void)printf("]}\n");
    (void)fflush(stdout);
    load_queues_free(&queues);
}

/* False at the end of input. */
static bool on_input(void)
{
    char text[256];
    ssize_t n = read(STDIN_FILENO, text, sizeof(text));

    if (n > 0)
        report();
    return n > 0;
}

/* ---- the program */

static void listen_on_loopback(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int bytes = SEND_BUFFER_BYTES;

    up.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (up.listener == -1 ||
        setsockopt(up.listener, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) == -1 ||
        bind(up.listener, (struct sockaddr *)&at, sizeof(at)) == -1 ||
        listen(up.listener, BACKLOG) == -1)
        load_die("listen");
    (void)printf("{\"port\":%u}\n", load_local_port(up.listener));
    (void)fflush(stdout);
}

/* The listener and the input have no struct conn: their addresses serve as names. */
static void watch(int *fd)
{
    struct epoll_event events = {.events = EPOLLIN, .data.ptr = fd};

    if (epoll_ctl(up.epoll, EPOLL_CTL_ADD, *fd, &events) == -1)
        load_die("epoll_ctl");
}

int main(void)
{
    static int input = STDIN_FILENO;
    struct epoll_event events[MAX_EVENTS];
    bool is_busy = false;

    load_raise_limit();
    up.epoll = epoll_create1(EPOLL_CLOEXEC);
    listen_on_loopback();
    watch(&up.listener);
    watch(&input);
    for (;;) {
        int n = epoll_wait(up.epoll, events, MAX_EVENTS, is_busy ? 0 : -1);

        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr == &up.listener)
                accept_all();
            else if (events[i].data.ptr != &input)
                on_event(events[i].data.ptr, events[i].events);
            else if (!on_input())
                return 0;
        }
        is_busy = round_of_pieces();
    }
}
