/* mock_upstream.c -- a Chat Completions server that says what it is told to.
 *
 *     mock_upstream          prints its port, serves until it is killed
 *
 * The model of a request is its script: "bench-N-RATE-BURST" is a stream of N
 * content chunks, RATE of them a second, BURST to a write. RATE 0 is as fast as
 * the socket takes them. Thus one mock serves every scenario, through whatever
 * passes the model on.
 *
 * The first burst leaves at once together with the head. The second follows
 * after a random part of two periods, the others at their pace: every stream
 * has a phase of its own, and a proxy finds the events one at a time. Writes
 * that follow each other without a pause are marked MSG_MORE, so what arrives
 * in one segment does not depend on who is faster.
 *
 * One thread, no copy of the content: cheap enough to share a core with the
 * load tool. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench_sys.h"
#include "script.h"
#include "timers.h"

enum { READ_BYTES = 16 * 1024, EVENTS_PER_WAKEUP = 256 };

#define NS_PER_S 1000000000ULL

enum part { PART_NONE, PART_HEAD, PART_CONTENT };

struct plan {
    uint64_t n, rate, burst;
};

/* A connection, which serves one request after another. */
struct stream {
    struct plan plan;
    struct buf in;      /* the request so far */
    struct buf whole;   /* an answer that is no stream */
    uint64_t sent, due; /* content chunks handed to the socket, and due by now */
    str pending;        /* rest of a piece the socket did not take yet */
    int fd;
    enum part part; /* what comes after pending */
    bool blocked, is_timed, is_closed;
};

static struct script script;
static struct timers timers;
static int epoll = -1;

static void watch(struct stream *s, int op)
{
    struct epoll_event e = {.events = EPOLLIN | (s->blocked ? EPOLLOUT : 0u), .data.ptr = s};

    if (epoll_ctl(epoll, op, s->fd, &e) == -1)
        bench_fail("epoll_ctl: %s", strerror(errno));
}

static void stream_free(struct stream *s)
{
    buf_fini(&s->in);
    buf_fini(&s->whole);
    free(s);
}

/* One that is in the heap is freed when its time comes. */
static void stream_close(struct stream *s)
{
    (void)close(s->fd);
    s->is_closed = true;
    if (!s->is_timed)
        stream_free(s);
}

/* The next piece that may leave now; false when there is none. */
static bool next_piece(struct stream *s)
{
    uint64_t n = s->due - s->sent;

    if (s->part == PART_HEAD) {
        s->pending = buf_str(&script.head);
        s->part = PART_CONTENT;
        return true;
    }
    if (s->part == PART_NONE)
        return false;
    if (s->sent == s->plan.n) {
        s->pending = buf_str(&script.tail);
        s->part = PART_NONE;
        return true;
    }
    if (n == 0)
        return false;
    n = n < s->plan.burst ? n : s->plan.burst;
    s->pending = script_content(&script, s->sent, n);
    s->sent += n;
    return true;
}

static bool has_more(const struct stream *s)
{
    return s->part != PART_NONE && (s->sent < s->due || s->sent == s->plan.n);
}

static void set_blocked(struct stream *s, bool blocked)
{
    if (s->blocked == blocked)
        return;
    s->blocked = blocked;
    watch(s, EPOLL_CTL_MOD);
}

/* Sends what may leave. Returns false when the client has gone. */
static bool stream_write(struct stream *s)
{
    while (s->pending.len > 0 || next_piece(s)) {
        int more = has_more(s) ? MSG_MORE : 0;
        ssize_t n = send(s->fd, s->pending.p, s->pending.len, MSG_NOSIGNAL | more);

        if (n == -1 && errno != EAGAIN)
            return false;
        if (n > 0)
            s->pending = str_skip(s->pending, (size_t)n);
        if (s->pending.len > 0)
            break;
    }
    set_blocked(s, s->pending.len > 0);
    return true;
}

static uint64_t random_below(uint64_t n)
{
    static uint64_t x = 88172645463325252; /* the same phases in every run */

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x % n;
}

static uint64_t period_ns(const struct stream *s)
{
    return s->plan.burst * NS_PER_S / s->plan.rate;
}

static void set_timer(struct stream *s, uint64_t due_ns)
{
    s->is_timed = true;
    timers_add(&timers, (struct timer){.due_ns = due_ns, .owner = s});
}

static void let_go(struct stream *s, uint64_t n)
{
    uint64_t left = s->plan.n - s->due;

    s->due += n < left ? n : left;
}

static void stream_begin(struct stream *s)
{
    s->part = PART_HEAD;
    s->sent = s->due = 0;
    let_go(s, s->plan.rate == 0 ? s->plan.n : s->plan.burst);
    if (s->due < s->plan.n)
        set_timer(s, bench_now_ns() + random_below(2 * period_ns(s)));
}

static void whole_begin(struct stream *s)
{
    buf_reset(&s->whole);
    script_whole(s->plan.n, &s->whole);
    s->pending = buf_str(&s->whole);
}

static bool find(str in, const char *needle, str *ret_after)
{
    size_t len = strlen(needle);
    const char *at = memmem(in.p, in.len, needle, len);

    if (at == NULL)
        return false;
    *ret_after = str_skip(in, (size_t)(at - in.p) + len);
    return true;
}

/* The digits at the start of *s, which then begins after them and one more byte. */
static uint64_t take_number(str *s)
{
    uint64_t n = 0;
    size_t i = 0;

    for (; i < s->len && s->p[i] >= '0' && s->p[i] <= '9'; i++)
        n = 10 * n + (uint64_t)(s->p[i] - '0');
    *s = str_skip(*s, i + 1);
    return n;
}

static struct plan plan_from(str body)
{
    struct plan plan;
    str at;

    if (!find(body, "\"bench-", &at))
        bench_fail("a request whose model is not bench-N-RATE-BURST: %.200s", body.p);
    plan.n = take_number(&at);
    plan.rate = take_number(&at);
    plan.burst = take_number(&at);
    if (plan.n == 0 || plan.burst == 0 || plan.burst > SCRIPT_MAX_BURST)
        bench_fail("model bench-N-RATE-BURST needs N and BURST, up to %d", SCRIPT_MAX_BURST);
    return plan;
}

static bool find_length(str head, size_t *ret)
{
    static const char *const spellings[] = {"\r\nContent-Length: ", "\r\ncontent-length: "};
    str at;

    for (size_t i = 0; i < 2; i++) {
        if (find(head, spellings[i], &at)) {
            *ret = take_number(&at);
            return true;
        }
    }
    return false;
}

/* Answers the request if it is complete. */
static void take_request(struct stream *s)
{
    str in = buf_str(&s->in);
    size_t length;
    str body, after;

    if (!find(in, "\r\n\r\n", &body))
        return;
    if (!find_length(str_from(in.p, (size_t)(body.p - in.p)), &length))
        bench_fail("a request without Content-Length: %.*s", STR_ARG(in));
    if (body.len < length)
        return;
    body.len = length;
    s->plan = plan_from(body);
    if (find(body, "\"stream\":true", &after))
        stream_begin(s);
    else
        whole_begin(s);
    s->in.len = 0; /* our clients do not send a second request before the answer */
}

static bool stream_read(struct stream *s)
{
    char *to = buf_reserve(&s->in, READ_BYTES);
    ssize_t n;

    if (to == NULL)
        bench_fail("out of memory");
    n = recv(s->fd, to, READ_BYTES, 0);
    if (n <= 0)
        return n == -1 && errno == EAGAIN;
    s->in.len += (size_t)n;
    take_request(s);
    return stream_write(s);
}

static void on_ready(struct stream *s, uint32_t events)
{
    bool ok = true;

    if ((events & EPOLLOUT) != 0)
        ok = stream_write(s);
    if (ok && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
        ok = stream_read(s);
    if (!ok)
        stream_close(s);
}

static void on_due(struct stream *s, uint64_t due_ns)
{
    s->is_timed = false;
    if (s->is_closed) {
        stream_free(s);
        return;
    }
    let_go(s, s->plan.burst);
    if (s->due < s->plan.n)
        set_timer(s, due_ns + period_ns(s)); /* late or not: the pace is kept */
    if (!stream_write(s))
        stream_close(s);
}

static void run_timers(void)
{
    const struct timer *first;

    while ((first = timers_first(&timers)) != NULL && first->due_ns <= bench_now_ns()) {
        struct timer t = timers_take_first(&timers);

        on_due(t.owner, t.due_ns);
    }
}

static void stream_open(int fd)
{
    struct stream *s = calloc(1, sizeof(*s));

    if (s == NULL)
        bench_fail("out of memory");
    bench_send_at_once(fd);
    s->fd = fd;
    watch(s, EPOLL_CTL_ADD);
} // NOLINT(clang-analyzer-unix.Malloc): epoll keeps it

static void accept_all(int listener)
{
    int fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) != -1)
        stream_open(fd);
    if (errno != EAGAIN)
        bench_fail("accept: %s", strerror(errno));
}

/* epoll_wait() counts in milliseconds: twenty streams would wake together. */
static int wait_for_events(struct epoll_event *events)
{
    const struct timer *first = timers_first(&timers);
    uint64_t now = first == NULL ? 0 : bench_now_ns();
    uint64_t ns = first == NULL || first->due_ns <= now ? 0 : first->due_ns - now;
    struct timespec timeout = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
    int n = epoll_pwait2(epoll, events, EVENTS_PER_WAKEUP, first == NULL ? NULL : &timeout, NULL);

    if (n == -1 && errno != EINTR)
        bench_fail("epoll_pwait2: %s", strerror(errno));
    return n;
}

int main(int argc, char **argv)
{
    struct epoll_event events[EVENTS_PER_WAKEUP], e = {.events = EPOLLIN, .data.ptr = NULL};
    uint16_t port = 0;
    int listener;

    if (argc > 1)
        bench_fail("takes no %s; the models of requests tell what to say", argv[1]);
    listener = bench_listen(&port);
    script_init(&script);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    (void)prctl(PR_SET_TIMERSLACK, 1);
    if (epoll == -1 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &e) == -1)
        bench_fail("epoll: %s", strerror(errno));
    (void)printf("%u\n", port);
    (void)fflush(stdout);
    for (;;) {
        int n = wait_for_events(events);

        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr == NULL)
                accept_all(listener);
            else
                on_ready(events[i].data.ptr, events[i].events);
        }
        run_timers();
    }
}
