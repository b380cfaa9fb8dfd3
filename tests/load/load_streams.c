/* load_streams.c -- many clients at once, the slow ones among them.
 *
 *     load_streams PORT STREAMS PIECES SLOW SLOW_PIECES SLOW_PIECE_BYTES
 *
 * SLOW clients ask for a long stream, take its beginning and then next to
 * nothing: every second one stops, the others read a little now and then. Only
 * when all of them are that far, STREAMS clients ask for a stream of PIECES
 * events each and read as fast as they can. Every stream is checked whole.
 *
 * One line of JSON is printed when the last of STREAMS has ended. The input is
 * a line at a time:
 *     report     prints what the kernel took from the gateway for each slow client
 *     release    lets the slow clients read; prints a line when the last has ended
 *
 * One thread. Released clients take turns, a few at a time, since every one
 * of them keeps its stream until it is checked. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "load/reply.h"

enum {
    MAX_EVENTS = 256,
    READ_BYTES = 64 * 1024,
    PIECE_BYTES = 32,
    SLOW_WINDOW_BYTES = 16 * 1024,
    RELEASED_WINDOW_BYTES = 1024 * 1024,
    SLOW_READ_BYTES = 256,
    SLOW_READ_EVERY_MS = 50,
    RELEASED_AT_ONCE = 8,
};

struct client {
    int fd;
    struct load_stream asked;
    struct reply reply;
    bool is_slow, is_held; /* held: not read from as its bytes arrive */
    bool is_over;
};

/* What came of the clients of one sort. */
struct tally {
    size_t n, n_over, n_valid, deltas;
};

static struct {
    int epoll, input, timer;
    unsigned port;
    struct client *clients; /* slow ones first */
    size_t n_settled;       /* slow clients that are held, or have failed before */
    size_t n_released;
    struct tally slow, fast;
    char first_fault[512];
    bool is_released;
} load;

/* ---- the end of a client */

static void release_next(void);
static void set_window(const struct client *c, int bytes);

static struct tally *tally_of(const struct client *c)
{
    return c->is_slow ? &load.slow : &load.fast;
}

/* As it can stand in a JSON string. */
static void note_fault(const struct client *c, const char *fault)
{
    (void)snprintf(load.first_fault, sizeof(load.first_fault), "stream %u: %s", c->asked.id, fault);
    for (char *p = load.first_fault; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\' || *p < ' ')
            *p = '?';
    }
}

static void client_end(struct client *c, const char *fault)
{
    if (fault == NULL)
        fault = reply_check(&c->reply, &c->asked, &tally_of(c)->deltas);
    tally_of(c)->n_valid += fault == NULL;
    tally_of(c)->n_over++;
    if (fault != NULL && load.first_fault[0] == '\0')
        note_fault(c, fault);
    (void)close(c->fd);
    reply_free(&c->reply);
    c->is_over = true;
    load.n_settled += c->is_slow && !c->is_held;
    if (c->is_slow && load.is_released)
        release_next();
}

/* ---- bytes */

static void watch(struct client *c, uint32_t events, int operation)
{
    struct epoll_event e = {.events = events, .data.ptr = c};

    if (epoll_ctl(load.epoll, operation, c->fd, &e) == -1)
        load_die("epoll_ctl");
}

/* A slow one has enough for now when its stream is seen to run. */
static void hold_if_running(struct client *c)
{
    str body = buf_str(&c->reply.body);

    if (!c->is_slow || load.is_released ||
        str_find(body, STR("response.output_text.delta")) == body.len)
        return;
    c->is_held = true;
    load.n_settled++;
    watch(c, 0, EPOLL_CTL_MOD);
}

static void client_read(struct client *c, size_t most)
{
    static char bytes[READ_BYTES];
    ssize_t n = recv(c->fd, bytes, most, 0);
    const char *fault;

    if (n == -1 && errno == EAGAIN)
        return;
    if (n <= 0) {
        client_end(c, n == 0 ? "closed before its end" : strerror(errno));
        return;
    }
    fault = reply_feed(&c->reply, str_from(bytes, (size_t)n));
    if (fault != NULL || c->reply.is_whole)
        client_end(c, fault);
    else if (!c->is_held)
        hold_if_running(c);
}

static void on_event(struct client *c)
{
    if (!c->is_over)
        client_read(c, c->is_slow && !load.is_released ? SLOW_READ_BYTES : READ_BYTES);
}

/* Every second slow client reads a little. */
static void nibble(void)
{
    uint64_t times;

    if (read(load.timer, &times, sizeof(times)) == -1)
        return;
    for (size_t i = 0; i < load.slow.n; i += 2) {
        struct client *c = &load.clients[i];

        if (c->is_held && !c->is_over)
            client_read(c, SLOW_READ_BYTES);
    }
}

/* ---- the beginning of a client */

static void request_write(const struct client *c, struct buf *out)
{
    struct buf body = {0};

    buf_c(&body, "{\"model\":\"load\",\"stream\":true,\"input\":\"");
    load_stream_write(&c->asked, &body);
    buf_c(&body, "\"}");
    buf_c(out, "POST /v1/responses HTTP/1.1\r\nHost: load\r\n"
               "Content-Type: application/json\r\nContent-Length: ");
    buf_uint(out, body.len);
    buf_c(out, "\r\n\r\n");
    buf_append(out, buf_str(&body));
    buf_fini(&body);
}

/* What the kernel may keep for a client that does not read. */
static void set_window(const struct client *c, int bytes)
{
    if (setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) == -1 ||
        setsockopt(c->fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &bytes, sizeof(bytes)) == -1)
        load_die("SO_RCVBUF");
}

/* The kernel takes a request of this size at once, connected or not yet: only
 * connecting may block, and on the loopback it does not take long. */
static void client_start(struct client *c)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)load.port)};
    struct buf request = {0};

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd == -1)
        load_die("socket");
    if (c->is_slow)
        set_window(c, SLOW_WINDOW_BYTES);
    if (connect(c->fd, (struct sockaddr *)&to, sizeof(to)) == -1)
        load_die("connect");
    request_write(c, &request);
    if (send(c->fd, request.p, request.len, MSG_NOSIGNAL) != (ssize_t)request.len)
        load_die("send");
    buf_fini(&request);
    watch(c, EPOLLIN, EPOLL_CTL_ADD);
}

/* ---- reports */

static void print_tally(const char *phase, const struct tally *t)
{
    (void)printf("{\"phase\":\"%s\",\"streams\":%zu,\"valid\":%zu,\"deltas\":%zu,"
                 "\"slow_open\":%zu,\"fault\":\"%s\"}\n",
                 phase, t->n_over, t->n_valid, t->deltas, load.slow.n - load.slow.n_over,
                 load.first_fault);
    (void)fflush(stdout);
}

/* Bytes that are in the kernel on their way, or have come out of it. */
static size_t bytes_taken(const struct client *c, const struct load_queues *queues)
{
    unsigned own = load_local_port(c->fd);
    struct load_queue ours = load_queues_find(queues, own, load.port);
    struct load_queue theirs = load_queues_find(queues, load.port, own);

    return c->reply.received + ours.unread + theirs.unsent;
}

static void report(void)
{
    struct load_queues queues;
    const char *comma = "";

    load_queues_read(&queues);
    (void)printf("{\"slow\":[");
    for (size_t i = 0; i < load.slow.n; i++) {
        const struct client *c = &load.clients[i];

        if (c->is_over)
            continue;
        (void)printf("%s{\"id\":%u,\"taken\":%zu}", comma, c->asked.id, bytes_taken(c, &queues));
        comma = ",";
    }
    (void)printf("]}\n");
    (void)fflush(stdout);
    load_queues_free(&queues);
}

static void release_next(void)
{
    while (load.n_released < load.slow.n && load.n_released < load.slow.n_over + RELEASED_AT_ONCE) {
        struct client *c = &load.clients[load.n_released++];

        c->is_held = false;
        if (c->is_over)
            continue;
        set_window(c, RELEASED_WINDOW_BYTES);
        watch(c, EPOLLIN, EPOLL_CTL_MOD);
    }
}

static void on_input(void)
{
    char line[64];
    ssize_t n = read(STDIN_FILENO, line, sizeof(line));
    str word = str_trim(str_from(line, n > 0 ? (size_t)n : 0));

    if (n <= 0)
        exit(0); /* nobody is interested any more */
    if (str_eq(word, STR("report")))
        report();
    if (!str_eq(word, STR("release")))
        return;
    load.is_released = true;
    release_next();
}

/* ---- the program */

/* The input and the timer have no struct client: their addresses serve as names. */
static void watch_own(int *fd)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = fd};

    if (epoll_ctl(load.epoll, EPOLL_CTL_ADD, *fd, &e) == -1)
        load_die("epoll_ctl");
}

static void set_up(void)
{
    static const struct timespec every = {.tv_nsec = SLOW_READ_EVERY_MS * 1000000L};
    const struct itimerspec times = {.it_interval = every, .it_value = every};

    load_raise_limit();
    load.epoll = epoll_create1(EPOLL_CLOEXEC);
    load.input = STDIN_FILENO;
    load.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (load.timer == -1 || timerfd_settime(load.timer, 0, &times, NULL) == -1)
        load_die("timerfd");
    watch_own(&load.input);
    watch_own(&load.timer);
    load.clients = calloc(load.slow.n + load.fast.n + 1, sizeof(*load.clients));
    if (load.clients == NULL)
        load_die("memory");
}

/* Turns the loop until so many are counted. */
static void turn_until(const size_t *counted, size_t enough)
{
    struct epoll_event events[MAX_EVENTS];

    while (*counted < enough) {
        int n = epoll_wait(load.epoll, events, MAX_EVENTS, -1);

        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr == &load.input)
                on_input();
            else if (events[i].data.ptr == &load.timer)
                nibble();
            else
                on_event(events[i].data.ptr);
        }
    }
}

static void start(struct client *clients, size_t n, const struct load_stream *asked, bool is_slow)
{
    for (size_t i = 0; i < n; i++) {
        struct client *c = &clients[i];

        c->fd = -1;
        c->is_slow = is_slow;
        c->asked = *asked;
        c->asked.id = (unsigned)(c - load.clients);
        client_start(c);
    }
}

static unsigned number(const char *text)
{
    return (unsigned)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
    struct load_stream fast = {.piece_bytes = PIECE_BYTES}, slow = {.gate = 0};

    if (argc != 7) {
        (void)fprintf(stderr, "usage: load_streams PORT STREAMS PIECES SLOW SLOW_PIECES "
                              "SLOW_PIECE_BYTES\n");
        return 2;
    }
    load.port = number(argv[1]);
    load.fast.n = fast.gate = number(argv[2]);
    fast.n_pieces = number(argv[3]);
    load.slow.n = number(argv[4]);
    slow.n_pieces = number(argv[5]);
    slow.piece_bytes = number(argv[6]);
    set_up();
    start(load.clients, load.slow.n, &slow, true);
    turn_until(&load.n_settled, load.slow.n);
    start(load.clients + load.slow.n, load.fast.n, &fast, false);
    turn_until(&load.fast.n_over, load.fast.n);
    print_tally("loaded", &load.fast);
    turn_until(&load.slow.n_over, load.slow.n);
    print_tally("released", &load.slow);
    return 0;
}
