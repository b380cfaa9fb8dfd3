/* http_fixture.c -- what the tests of our HTTP server and of our client share.
 *
 * From the bottom up: time, raw peers, the owner of our server, the scripted server,
 * and the fixture that holds them all. The owner answers from inside the
 * report of a request where it can; what it cannot finish there is fx.x, and a
 * large answer goes out in turns of the loop, so that the server may report in
 * between that its client has stopped reading. */
#include "lib/http_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/send_once.h"
#include "lib/test.h"
#include "net/address.h"
#include "net/listen_address.h"

enum { WATCHDOG_MS = 20000 };

struct http_fixture fx;
char http_fixture_curl[] = "libcurl";

/* --- time --------------------------------------------------------------------- */

static void on_time(void *arg)
{
    *(bool *)arg = true;
}

void let_pass(uint64_t ms)
{
    bool passed = false;
    struct loop_timer *timer = loop_timer_new(fx.loop, on_time, &passed);

    uv_update_time(loop_uv(fx.loop));
    loop_timer_start(timer, ms);
    UNTIL(passed);
    loop_timer_free(timer);
}

/* --- raw peers ---------------------------------------------------------------- */

void peer_close(struct peer *p)
{
    if (p->open)
        socket_close(&p->socket);
    p->open = false;
}

static void peer_on_bytes(void *arg, str bytes)
{
    struct peer *p = arg;

    buf_append(&p->in, bytes);
}

static void peer_on_gone(void *arg)
{
    struct peer *p = arg;

    p->gone = true;
    peer_close(p);
}

static void nothing(void *arg)
{
    (void)arg;
}

static const struct socket_handler peer_handler = {peer_on_bytes, peer_on_gone, nothing, nothing};

static struct peer *peer_connect(size_t i, const struct sockaddr *to, socklen_t len)
{
    struct peer *p = &fx.peers[i];
    int fd = socket(to->sa_family, SOCK_STREAM, 0);

    assert_int_equal(connect(fd, to, len), 0);
    assert_int_equal(socket_open(&p->socket, fx.loop, fd, &peer_handler, p, NULL), 0);
    p->open = true;
    return p;
}

struct peer *peer_dial(size_t i)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)http_server_port(fx.server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    return peer_connect(i, (struct sockaddr *)&to, sizeof(to));
}

struct peer *peer_dial_path(size_t i, const char *path)
{
    struct address_list list;

    assert_true(address_of_path(str_from_c(path), &list));
    return peer_connect(i, &list.at[0].to.any, list.at[0].len);
}

void peer_say(struct peer *p, const char *text)
{
    char *copy = strdup(text);
    struct iovec piece = {copy, strlen(copy)};

    socket_send(&p->socket, &piece, 1);
    free(copy);
}

bool peer_heard(struct peer *p, const char *text)
{
    return strstr(buf_cstr(&p->in), text) != NULL;
}

unsigned peer_count(struct peer *p, const char *text)
{
    unsigned n = 0;

    for (const char *at = buf_cstr(&p->in); (at = strstr(at, text)) != NULL; at++)
        n++;
    return n;
}

/* --- our server's owner: the path says what to do ----------------------------- */

static void on_gone(void *arg)
{
    (void)arg;
    fx.n_gone++;
    fx.x = NULL;
}

static void write_on(void)
{
    char block[10000];

    memset(block, 'x', sizeof(block));
    for (int i = 0; i < 10 && fx.left_to_write > 0; i++) { /* then the loop may report */
        size_t n = fx.left_to_write < sizeof(block) ? fx.left_to_write : sizeof(block);

        http_exchange_write(fx.x, str_from(block, n));
        fx.left_to_write -= n;
    }
    if (fx.left_to_write == 0) {
        http_exchange_end(fx.x, STR(""));
        fx.x = NULL;
    }
}

static void write_more(void *arg)
{
    (void)arg;
    if (fx.x == NULL || fx.n_blocked != fx.n_unblocked)
        return;
    write_on();
    if (fx.x != NULL)
        defer_once(fx.loop, write_more, NULL);
}

static void on_blocked(void *arg, bool blocked)
{
    (void)arg;
    fx.n_blocked += blocked;
    fx.n_unblocked += !blocked;
    if (!blocked)
        defer_once(fx.loop, write_more, NULL);
}

static const struct http_exchange_handler exchange_handler = {on_gone, on_blocked};
static const struct http_header text_type[] = {{STR_INIT("Content-Type"), STR_INIT("text/plain")}};

static void hold(struct http_exchange *x)
{
    fx.x = x;
    http_exchange_watch(x, &exchange_handler, NULL);
}

static void answer_stream(struct http_exchange *x)
{
    http_exchange_start(x, 200, text_type, 1);
    http_exchange_write(x, STR("one "));
    http_exchange_write(x, STR("two"));
    http_exchange_end(x, STR(""));
}

static void answer_error(struct http_exchange *x)
{
    struct err e;

    err_set_param(&e, ERR_RATE_LIMIT, "tools[0]", "Say \"please\".");
    http_exchange_respond_error(x, &e, text_type, 0);
}

void serve_request(void *arg, struct http_exchange *x, const struct http_request *request)
{
    (void)arg;
    fx.n_requests++;
    buf_append(&fx.requests, request->method);
    buf_char(&fx.requests, ' ');
    buf_append(&fx.requests, request->path);
    buf_c(&fx.requests, request->query.len > 0 ? "?" : "");
    buf_append(&fx.requests, request->query);
    buf_char(&fx.requests, ' ');
    buf_append(&fx.requests,
               str_from(request->body.p, request->body.len < 40 ? request->body.len : 40));
    buf_char(&fx.requests, '\n');
    if (str_eq(request->path, STR("/stream"))) {
        answer_stream(x);
    } else if (str_eq(request->path, STR("/error"))) {
        answer_error(x);
    } else if (str_eq(request->path, STR("/hold"))) {
        hold(x);
    } else if (str_eq(request->path, STR("/half"))) {
        hold(x);
        http_exchange_start(x, 200, text_type, 1);
        http_exchange_write(x, STR("half"));
    } else if (str_eq(request->path, STR("/large"))) {
        hold(x);
        http_exchange_start(x, 200, text_type, 1);
        defer_once(fx.loop, write_more, NULL);
    } else {
        http_exchange_respond(x, 200, text_type, 1, STR("hello"));
    }
}

static bool judge_head(void *arg, struct http_exchange *x, const struct http_request *head)
{
    struct err e;

    (void)arg;
    fx.n_heads++;
    assert_int_equal(head->body.len, 0);
    if (!str_eq(head->path, STR("/stranger")))
        return true;
    err_set(&e, ERR_INVALID_API_KEY, "Who are you?");
    http_exchange_respond_error(x, &e, NULL, 0);
    return false;
}

void serve(void)
{
    struct err e;

    fx.server = http_server_open(fx.loop, "127.0.0.1:0", &fx.conf, serve_request, NULL, &e);
    assert_non_null(fx.server);
    http_server_judge_heads(fx.server, judge_head);
}

/* --- the scripted server ------------------------------------------------------ */

static void say_next_byte(void *arg)
{
    struct peer *p = arg;
    char byte[] = {*p->left, '\0'};

    if (!p->open || *p->left == '\0')
        return;
    p->left++;
    peer_say(p, byte);
    defer_once(fx.loop, say_next_byte, p);
}

static void scripted_on_bytes(void *arg, str bytes)
{
    struct peer *p = arg;
    const struct script_step *step;

    buf_append(&p->in, bytes);
    if (!peer_heard(p, "\r\n\r\n"))
        return;
    buf_reset(&p->in);
    p->n_requests++;
    step = &fx.script[fx.n_steps++];
    if (step->answer != NULL && fx.byte_by_byte) {
        p->left = step->answer;
        say_next_byte(p);
    } else if (step->answer != NULL) {
        peer_say(p, step->answer);
    }
    if (step->close_after)
        peer_close(p);
}

static const struct socket_handler scripted_handler = {scripted_on_bytes, peer_on_gone, nothing,
                                                       nothing};

static void scripted_on_accept(void *arg, int fd, const char *peer)
{
    struct peer *p = &fx.accepted[fx.n_accepted++];

    (void)arg;
    (void)peer;
    assert_true(fx.n_accepted <= MAX_ACCEPTED);
    assert_int_equal(socket_open(&p->socket, fx.loop, fd, &scripted_handler, p, NULL), 0);
    p->open = true;
}

void script_play(const struct script_step *script)
{
    fx.script = script;
    fx.listener =
        listener_open(fx.loop, listen_tcp("127.0.0.1:0", NULL), scripted_on_accept, NULL, NULL);
    assert_non_null(fx.listener);
}

static void on_unix_accept(uv_poll_t *poll, int status, int events)
{
    (void)poll;
    (void)status;
    (void)events;
    scripted_on_accept(NULL, accept(fx.unix_fd, NULL, NULL), "");
}

void script_play_at(const char *path, const struct script_step *script)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    assert_true(strlen(path) < sizeof(at.sun_path));
    memcpy(at.sun_path, path, strlen(path));
    fx.script = script;
    fx.unix_fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fx.unix_fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fx.unix_fd, 8), 0);
    assert_int_equal(uv_poll_init(loop_uv(fx.loop), &fx.unix_poll, fx.unix_fd), 0);
    assert_int_equal(uv_poll_start(&fx.unix_poll, UV_READABLE, on_unix_accept), 0);
}

/* --- a server in the test's own hands ------------------------------------------ */

static void gather_on_accept(void *arg, int fd, const char *from)
{
    struct peer *p = &fx.accepted[fx.n_accepted++];

    (void)from;
    assert_true(fx.n_accepted <= MAX_ACCEPTED);
    assert_int_equal(socket_open(&p->socket, fx.loop, fd, &peer_handler, p, NULL), 0);
    p->open = true;
    socket_read(&p->socket, arg != NULL);
}

struct peer *gather(const char *address, bool reads)
{
    int fd = listen_tcp(address, NULL);

    if (fd == -1)
        return NULL;
    fx.listener = listener_open(fx.loop, fd, gather_on_accept, reads ? &fx : NULL, NULL);
    assert_non_null(fx.listener);
    return &fx.accepted[0];
}

/* --- the fixture -------------------------------------------------------------- */

static void on_watchdog(void *arg)
{
    (void)arg;
    (void)fputs("the test waits in vain\n", stderr);
    abort();
}

int http_fixture_setup(void **state)
{
    const struct http_client_conf client_conf = {
        .max_idle_connections = 8, .verify_tls = true, .only_curl = *state == http_fixture_curl};

    memset(&fx, 0, sizeof(fx));
    fx.unix_fd = -1;
    fx.conf = (struct http_server_conf){.max_head_bytes = 4096,
                                        .max_headers = 20,
                                        .max_body_bytes = 4 * MIB,
                                        .max_connections = 100,
                                        .max_large_heads_bytes = MIB,
                                        .max_pending_bytes = 64 * 1024,
                                        .head_timeout_ms = 5000,
                                        .body_timeout_ms = 5000,
                                        .keep_alive_ms = 5000,
                                        .send_timeout_ms = 0};
    fx.loop = loop_new(NULL);
    fx.client = http_client_new(fx.loop, &client_conf);
    fx.watchdog = loop_timer_new(fx.loop, on_watchdog, NULL);
    loop_timer_start(fx.watchdog, WATCHDOG_MS);
    return 0;
}

int http_fixture_teardown(void **state)
{
    (void)state;
    http_client_free(fx.client);
    http_server_close(fx.server);
    listener_close(fx.listener);
    if (fx.unix_fd != -1) {
        uv_close((uv_handle_t *)&fx.unix_poll, NULL);
        (void)close(fx.unix_fd);
    }
    for (size_t i = 0; i < MAX_PEERS; i++)
        peer_close(&fx.peers[i]);
    for (size_t i = 0; i < fx.n_accepted; i++)
        peer_close(&fx.accepted[i]);
    loop_timer_free(fx.watchdog);
    loop_free(fx.loop);
    for (size_t i = 0; i < MAX_PEERS; i++)
        buf_fini(&fx.peers[i].in);
    for (size_t i = 0; i < MAX_ACCEPTED; i++)
        buf_fini(&fx.accepted[i].in);
    buf_fini(&fx.requests);
    return 0;
}
