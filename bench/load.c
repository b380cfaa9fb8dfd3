/* load.c -- sends requests, reads the answers, and reports what a process used.
 *
 *     load --port N --kind KIND --body FILE --deltas N --streams N
 *          [--requests N] [--pid N] [--tls 1]
 *
 * `streams` connections each send the same request, again and again, until
 * `requests` (default: one for each) have been sent. Every answer is checked;
 * the first wrong one ends the program with status 1. With --tls the connections
 * speak TLS, and believe any certificate.
 *
 * Starting and ending are not what is measured: the CPU time of process --pid,
 * the deltas and the requests are counted between two marks. With one request
 * for each connection, these are when the last stream has received its first
 * eighth and when the first one has only an eighth to go, so all streams are
 * open all the time. With more requests, the first and last eighth of them are
 * left out.
 *
 * Prints lines of "name value". Status 75 without a line: on a busy machine the
 * first stream was nearly over before the last one had begun. */
#include <errno.h>
#include <getopt.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/buf.h"
#include "bench_sys.h"
#include "reply.h"

enum {
    READ_BYTES = 64 * 1024,
    EVENTS_PER_WAKEUP = 256,
    OPENS_PER_WAKEUP = 16, /* fewer than any listener's backlog */
    STALL_MS = 30 * 1000
};

struct client {
    int fd;
    SSL *tls;    /* or NULL */
    bool waits;  /* for room in the socket */
    size_t sent; /* bytes of the request */
    uint64_t asked_ns;
    uint64_t deltas; /* of the answer before the last read */
    struct reply reply;
};

struct options {
    uint64_t port, deltas, streams, requests, pid, tls;
    enum reply_kind kind;
    const char *body;
};

/* What has happened by then. */
struct mark {
    bool is_set;
    uint64_t ns, cpu_ns, deltas, requests;
};

static struct options options;
static struct buf request;
static struct client *clients;
static SSL_CTX *tls;
static int epoll = -1;
static uint64_t n_open, n_asked, n_answered, n_deltas;
static uint64_t n_warm; /* streams that have received their first eighth */
static bool is_late;    /* one has had all but its last eighth */
static struct mark begin, end;
static uint64_t idle_rss_kb, busy_rss_kb;
static uint64_t *first_ns; /* between the marks: from sending to the first delta */
static size_t n_first;

static bool is_one_each(void)
{
    return options.requests == options.streams;
}

static struct mark mark_now(void)
{
    return (struct mark){.is_set = true,
                         .ns = bench_now_ns(),
                         .cpu_ns = options.pid == 0 ? 0 : bench_cpu_ns((pid_t)options.pid),
                         .deltas = n_deltas,
                         .requests = n_answered};
}

static uint64_t rss_kb(void)
{
    return options.pid == 0 ? 0 : bench_rss_kb((pid_t)options.pid);
}

static void set_marks(bool may_begin, bool must_end)
{
    if (!begin.is_set && may_begin)
        begin = mark_now();
    if (begin.is_set && !end.is_set && must_end) {
        end = mark_now();
        busy_rss_kb = rss_kb();
    }
}

/* Did the stream's count pass this limit just now? */
static bool passes(const struct client *c, uint64_t limit)
{
    return c->deltas < limit && c->reply.deltas >= limit;
}

static void mark_by_deltas(const struct client *c)
{
    uint64_t eighth = options.deltas / 8 + 1;

    if (passes(c, eighth))
        n_warm++;
    set_marks(n_warm == options.streams && !is_late, passes(c, options.deltas - eighth));
    if (passes(c, options.deltas - eighth))
        is_late = true;
}

static void mark_by_requests(void)
{
    uint64_t eighth = options.requests / 8;

    set_marks(n_answered >= eighth, n_answered >= options.requests - eighth);
}

static void watch(struct client *c, int op, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = c};

    if (epoll_ctl(epoll, op, c->fd, &e) == -1)
        bench_fail("epoll_ctl: %s", strerror(errno));
}

/* What OpenSSL's 0 means in terms of errno: whatever it is, it passes. */
static ssize_t tls_result(const struct client *c, int done, size_t n)
{
    int why = SSL_get_error(c->tls, done);

    if (done == 1)
        return (ssize_t)n;
    errno = EAGAIN;
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? -1 : 0;
}

static ssize_t client_send(struct client *c, str bytes)
{
    size_t n = 0;
    int done;

    if (c->tls == NULL)
        return send(c->fd, bytes.p, bytes.len, MSG_NOSIGNAL);
    done = SSL_write_ex(c->tls, bytes.p, bytes.len, &n);
    return tls_result(c, done, n);
}

static ssize_t client_receive(struct client *c, char *out, size_t room)
{
    size_t n = 0;
    int done;

    if (c->tls == NULL)
        return recv(c->fd, out, room, 0);
    done = SSL_read_ex(c->tls, out, room, &n);
    return tls_result(c, done, n);
}

/* Sends what the socket takes; waits for room only if it has to. */
static void client_write(struct client *c)
{
    ssize_t n = client_send(c, str_skip(buf_str(&request), c->sent));

    if (n == -1 && errno != EAGAIN)
        bench_fail("send: %s", strerror(errno));
    if (n > 0)
        c->sent += (size_t)n;
    if (c->waits == (c->sent < request.len))
        return;
    c->waits = !c->waits;
    watch(c, EPOLL_CTL_MOD, EPOLLIN | (c->waits ? EPOLLOUT : 0u));
}

static void client_ask(struct client *c)
{
    if (n_asked == options.requests)
        return;
    n_asked++;
    c->sent = 0;
    c->deltas = 0;
    reply_start(&c->reply, options.kind);
    c->asked_ns = bench_now_ns();
    client_write(c);
}

static void on_progress(struct client *c)
{
    if (c->deltas == 0 && c->reply.deltas > 0 && (begin.is_set || is_one_each()) && !end.is_set)
        first_ns[n_first++] = bench_now_ns() - c->asked_ns;
    n_deltas += c->reply.deltas - c->deltas;
    if (is_one_each())
        mark_by_deltas(c);
    c->deltas = c->reply.deltas;
}

static void on_answered(struct client *c)
{
    reply_check(&c->reply, options.deltas);
    n_answered++;
    if (!is_one_each())
        mark_by_requests();
    client_ask(c);
}

/* False when no more is there at once. */
static bool client_read(struct client *c)
{
    static char bytes[READ_BYTES];
    ssize_t n = client_receive(c, bytes, sizeof(bytes));

    if (n == -1 && errno == EAGAIN)
        return false;
    if (n <= 0)
        bench_fail("a connection broke off after %llu deltas", (unsigned long long)c->reply.deltas);
    reply_feed(&c->reply, str_from(bytes, (size_t)n));
    on_progress(c);
    if (reply_is_over(&c->reply))
        on_answered(c);
    return c->tls != NULL;
}

/* The handshake is made at once: it is not what is measured. */
static void client_secure(struct client *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};

    c->tls = SSL_new(tls);
    if (c->tls == NULL || SSL_set_fd(c->tls, c->fd) != 1)
        bench_fail("out of memory");
    SSL_set_connect_state(c->tls);
    while (SSL_do_handshake(c->tls) != 1) {
        if (poll(&p, 1, STALL_MS) != 1)
            bench_fail("no handshake");
    }
}

static void client_open(struct client *c)
{
    c->fd = bench_connect((uint16_t)options.port);
    if (c->fd == -1)
        bench_fail("port %u refuses connections", (unsigned)options.port);
    if (tls != NULL)
        client_secure(c);
    watch(c, EPOLL_CTL_ADD, EPOLLIN);
    client_ask(c);
}

static void open_some(void)
{
    for (int i = 0; i < OPENS_PER_WAKEUP && n_open < options.streams; i++)
        client_open(&clients[n_open++]);
}

static void run(void)
{
    struct epoll_event events[EVENTS_PER_WAKEUP];

    while (n_answered < options.requests) {
        bool opening = n_open < options.streams;
        int n;

        open_some();
        n = epoll_wait(epoll, events, EVENTS_PER_WAKEUP, opening ? 1 : STALL_MS);
        if (n == 0 && !opening)
            bench_fail("nothing came for %d s; %llu of %llu answers are complete", STALL_MS / 1000,
                       (unsigned long long)n_answered, (unsigned long long)options.requests);
        for (int i = 0; i < n; i++) {
            struct client *c = events[i].data.ptr;

            if ((events[i].events & EPOLLOUT) != 0)
                client_write(c);
            while ((events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && client_read(c))
                ;
        }
    }
}

static void print(const char *name, uint64_t value)
{
    (void)printf("%s %llu\n", name, (unsigned long long)value);
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void report(void)
{
    if (!end.is_set)
        exit(EX_TEMPFAIL);
    print("ns", end.ns - begin.ns);
    print("cpu_ns", end.cpu_ns - begin.cpu_ns);
    print("deltas", end.deltas - begin.deltas);
    print("requests", end.requests - begin.requests);
    print("idle_rss_kb", idle_rss_kb);
    print("busy_rss_kb", busy_rss_kb);
    if (n_first == 0)
        return;
    qsort(first_ns, n_first, sizeof(*first_ns), by_size);
    print("first_p50_ns", first_ns[n_first / 2]);
    print("first_p99_ns", first_ns[n_first * 99 / 100]);
}

static void read_body(struct buf *out)
{
    FILE *file = fopen(options.body, "re");
    size_t n;

    if (file == NULL)
        bench_fail("%s: %s", options.body, strerror(errno));
    do {
        char *to = buf_reserve(out, READ_BYTES);

        n = to == NULL ? 0 : fread(to, 1, READ_BYTES, file);
        out->len += n;
    } while (n > 0);
    if (ferror(file) != 0 || buf_failed(out))
        bench_fail("%s: cannot read it", options.body);
    (void)fclose(file);
}

static void make_request(void)
{
    static const char *const paths[] = {
        [REPLY_RESPONSES] = "/v1/responses",
        [REPLY_RESPONSES_WHOLE] = "/v1/responses",
        [REPLY_CHAT] = "/v1/chat/completions",
        [REPLY_CHAT_WHOLE] = "/v1/chat/completions",
    };
    struct buf body = {0};

    read_body(&body);
    buf_c(&request, "POST ");
    buf_c(&request, paths[options.kind]);
    buf_c(&request, " HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: antiphon-bench\r\n"
                    "Authorization: Bearer none\r\nContent-Type: application/json\r\n"
                    "Content-Length: ");
    buf_uint(&request, body.len);
    buf_c(&request, "\r\n\r\n");
    buf_append(&request, buf_str(&body));
    buf_fini(&body);
    if (buf_failed(&request))
        bench_fail("out of memory");
}

static void set_option(const char *name, const char *value)
{
    static const struct {
        const char *name;
        uint64_t *number;
    } numbers[] = {
        {"port", &options.port},         {"deltas", &options.deltas}, {"streams", &options.streams},
        {"requests", &options.requests}, {"pid", &options.pid},       {"tls", &options.tls},
    };

    if (strcmp(name, "body") == 0)
        options.body = value;
    else if (strcmp(name, "kind") == 0 && !reply_kind_find(value, &options.kind))
        bench_fail("--kind %s is not known", value);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        if (strcmp(name, numbers[i].name) == 0)
            *numbers[i].number = bench_number(value, name);
    }
}

static void parse_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"port", required_argument, NULL, 0},
        {"kind", required_argument, NULL, 0},
        {"body", required_argument, NULL, 0},
        {"deltas", required_argument, NULL, 0},
        {"streams", required_argument, NULL, 0},
        {"requests", required_argument, NULL, 0},
        {"pid", required_argument, NULL, 0},
        {"tls", required_argument, NULL, 0},
        {NULL, 0, NULL, 0},
    };
    int i, rc;

    while ((rc = getopt_long(argc, argv, "", known, &i)) == 0)
        set_option(known[i].name, optarg);
    if (options.requests < options.streams)
        options.requests = options.streams;
    if (rc != -1 || options.port == 0 || options.body == NULL || options.streams == 0)
        bench_fail("--port, --kind, --body, --deltas and --streams are needed");
}

int main(int argc, char **argv)
{
    parse_options(argc, argv);
    make_request();
    epoll = epoll_create1(EPOLL_CLOEXEC);
    clients = calloc(options.streams, sizeof(*clients));
    first_ns = calloc(options.requests, sizeof(*first_ns));
    if (epoll == -1 || clients == NULL || first_ns == NULL)
        bench_fail("cannot start: %s", strerror(errno));
    if (options.tls != 0 && (tls = SSL_CTX_new(TLS_client_method())) == NULL)
        bench_fail("cannot start TLS");
    idle_rss_kb = rss_kb();
    run();
    report();
    return 0;
}
