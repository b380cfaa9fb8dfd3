/* test_websocket.c -- connections that become WebSockets: the handshake, messages both ways, pings,
 * closing by either side, slow and silent clients, draining, and memory that runs out.
 *
 * The owner answers a message by what it says:
 *
 *     many N     N messages "1", "2", ...
 *     large N    one of N bytes
 *     close      websocket_close(), 1001
 *     take       nothing; its bytes are kept in ws.taken
 *     others     the same, in two parts */
#include <string.h>

#include "base/budget.h"
#include "base/num.h"
#include "http/websocket.h"
#include "http/ws_handshake.h"
#include "lib/failing_malloc.h"
#include "lib/http_fixture.h"
#include "lib/test.h"
#include "lib/ws_bytes.h"

#define HANDSHAKE                                                                                  \
    "GET /ws?a=b HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"     \
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

static struct {
    struct websocket_conf conf;
    struct websocket *last; /* the connection that was made last; NULL when it is gone */
    struct buf heard;       /* all messages, in brackets */
    struct buf taken;
    unsigned n_gone, n_blocked, n_unblocked, n_drains;
    bool closes_on_drain;
} ws;

static void answer_many(str n_text)
{
    uint64_t n = 0;

    (void)num_uint(n_text, &n);
    for (uint64_t i = 1; i <= n; i++) {
        struct buf text = {.limit = 0};

        buf_uint(&text, i);
        websocket_write(ws.last, (const str[]){buf_str(&text)}, 1);
        buf_fini(&text);
    }
}

static void answer_large(str n_text)
{
    struct buf text = {.limit = 0};
    uint64_t n = 0;

    (void)num_uint(n_text, &n);
    memset(buf_reserve(&text, n), 'x', n);
    text.len = n;
    websocket_write(ws.last, (const str[]){buf_str(&text)}, 1);
    buf_fini(&text);
}

static void on_message(void *arg, str text)
{
    struct websocket *of = arg;

    buf_char(&ws.heard, '[');
    ws_show(text, &ws.heard);
    buf_char(&ws.heard, ']');
    if (str_starts_with(text, STR("many "))) {
        answer_many(str_skip(text, 5));
    } else if (str_starts_with(text, STR("large "))) {
        answer_large(str_skip(text, 6));
    } else if (str_eq(text, STR("close"))) {
        websocket_close(of, WS_GOING_AWAY, STR("as you wish"));
        ws.last = NULL;
    } else if (str_eq(text, STR("take"))) {
        websocket_take_text(of, &ws.taken);
    } else {
        size_t half = text.len / 2;

        websocket_write(of, (const str[]){str_from(text.p, half), str_skip(text, half)}, 2);
    }
}

static void on_blocked(void *arg, bool blocked)
{
    (void)arg;
    ws.n_blocked += blocked;
    ws.n_unblocked += !blocked;
}

static void on_drain(void *arg)
{
    ws.n_drains++;
    assert_true(websocket_is_draining(arg));
    if (!ws.closes_on_drain)
        return;
    websocket_close(arg, WS_GOING_AWAY, STR("drained"));
    ws.last = NULL;
}

static void on_gone(void *arg)
{
    if (ws.last == arg)
        ws.last = NULL;
    ws.n_gone++;
}

static const struct websocket_handler handler = {on_message, on_blocked, on_drain, on_gone};

static bool on_head(void *arg, struct http_exchange *x, const struct http_request *head)
{
    struct err e;

    (void)arg;
    if (!ws_handshake_is_meant(head))
        return true;
    if (ws_handshake_check(head, &e) == -1) {
        http_exchange_respond_error(x, &e, NULL, 0);
        return false;
    }
    ws.last = http_exchange_upgrade(x, &ws.conf);
    if (ws.last != NULL)
        websocket_watch(ws.last, &handler, ws.last);
    return false;
}

static int setup(void **state)
{
    memset(&ws, 0, sizeof(ws));
    ws.conf.max_pending_bytes = MIB;
    return http_fixture_setup(state);
}

static int teardown(void **state)
{
    int rc = http_fixture_teardown(state);

    buf_fini(&ws.heard);
    buf_fini(&ws.taken);
    return rc;
}

static void serve_websockets(void)
{
    serve();
    http_server_judge_heads(fx.server, on_head);
}

/* ---- the client's end */

static void say_frames(struct peer *p, const char *frames)
{
    struct buf bytes = {.limit = 0};
    struct iovec piece;

    ws_bytes(frames, &bytes);
    piece = (struct iovec){bytes.p, bytes.len};
    socket_send(&p->socket, &piece, 1);
    buf_fini(&bytes);
}

static uint64_t number_at(str bytes, size_t n)
{
    uint64_t value = 0;

    for (size_t i = 0; i < n; i++)
        value = value << 8 | (unsigned char)bytes.p[i];
    return value;
}

/* Writes a frame of the server; they are whole, final and without a mask. Returns what is left. */
static str show_frame(str bytes, struct buf *out)
{
    unsigned char first = (unsigned char)bytes.p[0], second = (unsigned char)bytes.p[1];
    size_t length = second < 126 ? 0 : second == 126 ? 2 : 8;
    uint64_t n = length == 0 ? second : number_at(str_skip(bytes, 2), length);
    str payload = str_skip(bytes, 2 + length);

    if (payload.len < n)
        return STR("");
    payload.len = n;
    buf_c(out, first == 0x81   ? "["
               : first == 0x88 ? "close("
               : first == 0x89 ? "ping("
               : first == 0x8a ? "pong("
                               : "WRONG(");
    if (first == 0x88) {
        buf_uint(out, number_at(payload, 2));
        buf_char(out, ' ');
        buf_append(out, str_skip(payload, 2));
    } else {
        ws_show(payload, out);
    }
    buf_char(out, first == 0x81 ? ']' : ')');
    return str_skip(bytes, 2 + length + n);
}

/* What came behind the handshake; frames that are not whole are left out. Good until the next
 * call. */
static const char *frames_of(struct peer *p)
{
    static struct buf shown;
    str bytes = buf_str(&p->in);
    size_t head = str_find(bytes, STR("\r\n\r\n"));

    buf_fini(&shown);
    bytes = str_skip(bytes, head + 4);
    while (bytes.len >= 2)
        bytes = show_frame(bytes, &shown);
    return buf_cstr(&shown);
}

static bool has_frames(struct peer *p, const char *expected)
{
    return strcmp(frames_of(p), expected) == 0;
}

static struct peer *dial_websocket(size_t i)
{
    struct peer *p = peer_dial(i);

    peer_say(p, HANDSHAKE "\r\n");
    UNTIL(peer_heard(p, "\r\n\r\n"));
    return p;
}

/* ---- the handshake */

static void a_handshake_is_answered_with_101(void **state)
{
    struct peer *p;

    (void)state;
    serve_websockets();
    p = peer_dial(0);
    peer_say(p, HANDSHAKE "x-request-id: mine\r\nSec-WebSocket-Protocol: a, b\r\n\r\n");
    UNTIL(peer_heard(p, "\r\n\r\n"));
    assert_true(peer_heard(p, "HTTP/1.1 101 Switching Protocols\r\n"));
    assert_true(peer_heard(p, "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"));
    assert_true(peer_heard(p, "\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    assert_true(peer_heard(p, "\r\nSec-WebSocket-Protocol: a\r\n"));
    assert_true(peer_heard(p, "\r\nx-request-id: mine\r\n"));
    assert_false(peer_heard(p, "Content-Length"));
    assert_false(peer_heard(p, "Extensions"));
    assert_str_c(websocket_request_id(ws.last), "mine");
    assert_int_equal(http_server_exchanges(fx.server), 1);
    assert_int_equal(http_server_connections(fx.server), 1);
}

static void the_request_stays_as_long_as_the_connection(void **state)
{
    const struct http_request *r;
    struct peer *p;

    (void)state;
    serve_websockets();
    p = peer_dial(0);
    peer_say(p, HANDSHAKE "X-Gateway-Dialect: ors\r\nSession-Id: s1\r\n"
                          "Sec-WebSocket-Protocol: openai-insecure-api-key.sk-1, realtime\r\n\r\n");
    UNTIL(peer_heard(p, "\r\n\r\n"));
    assert_true(peer_heard(p, "\r\nSec-WebSocket-Protocol: realtime\r\n"));
    say_frames(p, "T:hello");
    UNTIL(has_frames(p, "[hello]"));
    r = websocket_request(ws.last);
    assert_str_c(r->method, "GET");
    assert_str_c(r->path, "/ws");
    assert_str_c(r->query, "a=b");
    assert_str_c(http_request_header(r, STR("x-gateway-dialect")), "ors");
    assert_str_c(http_request_header(r, STR("session-id")), "s1");
    assert_str_c(http_request_header(r, STR("host")), "localhost");
    assert_str_c(http_request_header(r, STR("authorization")), "Bearer sk-1");
    assert_true(str_is_none(http_request_header(r, STR("sec-websocket-protocol"))));
    assert_str_c(r->peer, "127.0.0.1");
}

static void bytes_behind_the_handshake_are_the_first_frames(void **state)
{
    struct buf bytes = {.limit = 0};
    struct iovec piece;
    struct peer *p;

    (void)state;
    serve_websockets();
    p = peer_dial(0);
    buf_c(&bytes, HANDSHAKE "\r\n");
    ws_bytes("T:one t:tw P:x C:o", &bytes);
    piece = (struct iovec){bytes.p, bytes.len};
    socket_send(&p->socket, &piece, 1);
    UNTIL(has_frames(p, "[one]pong(x)[two]"));
    buf_fini(&bytes);
}

static void a_handshake_may_follow_requests_that_wait(void **state)
{
    struct buf bytes = {.limit = 0};
    struct iovec piece;
    struct peer *p;

    (void)state;
    serve_websockets();
    p = peer_dial(0);
    buf_c(&bytes, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n" HANDSHAKE "\r\n");
    ws_bytes("T:one", &bytes);
    piece = (struct iovec){bytes.p, bytes.len};
    socket_send(&p->socket, &piece, 1);
    UNTIL(fx.x != NULL);
    http_exchange_respond(fx.x, 204, NULL, 0, STR(""));
    fx.x = NULL;
    UNTIL(ws.last != NULL && ws.heard.len > 0);
    say_frames(p, "T:two");
    UNTIL(strcmp(buf_cstr(&ws.heard), "[one][two]") == 0);
    assert_true(peer_heard(p, "HTTP/1.1 101"));
    buf_fini(&bytes);
}

static void a_handshake_that_is_wrong_leaves_http(void **state)
{
    struct peer *p;

    (void)state;
    serve_websockets();
    p = peer_dial(0);
    peer_say(p, "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    UNTIL(peer_heard(p, "400 Bad Request"));
    peer_say(p, HANDSHAKE "\r\n");
    UNTIL(peer_heard(p, "101 Switching"));
    assert_non_null(ws.last);
}

static void a_draining_server_takes_no_handshake(void **state)
{
    struct peer *p;

    (void)state;
    serve_websockets();
    p = peer_dial(0);
    peer_say(p, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    UNTIL(fx.x != NULL);
    peer_say(peer_dial(1), HANDSHAKE);
    let_pass(20);
    http_server_drain(fx.server);
    peer_say(&fx.peers[1], "\r\n");
    UNTIL(peer_heard(&fx.peers[1], "503 Service Unavailable"));
    assert_null(ws.last);
}

/* ---- messages */

static void messages_come_whole_and_go_whole(void **state)
{
    struct peer *p;

    (void)state;
    serve_websockets();
    p = dial_websocket(0);
    say_frames(p, "T:a t:b c:c C:d T T:*126 T:*70000");
    UNTIL(has_frames(p, "[a][bcd][][126][70000]"));
    assert_string_equal(buf_cstr(&ws.heard), "[a][bcd][][126][70000]");
    say_frames(p, "T:many%205");
    UNTIL(has_frames(p, "[a][bcd][][126][70000][1][2][3][4][5]"));
    say_frames(p, "T:large%203000000");
    UNTIL(has_frames(p, "[a][bcd][][126][70000][1][2][3][4][5][3000000]"));
}

static void a_message_can_be_kept_without_a_copy(void **state)
{
    struct peer *p;

    (void)state;
    serve_websockets();
    p = dial_websocket(0);
    say_frames(p, "T:take T:next");
    UNTIL(has_frames(p, "[next]"));
    assert_str_c(buf_str(&ws.taken), "take");
}

static void a_message_may_be_as_long_as_a_body(void **state)
{
    struct peer *p;

    (void)state;
    fx.conf.max_body_bytes = 1000;
    serve_websockets();
    p = dial_websocket(0);
    say_frames(p, "T:*1000 T:*1001");
    UNTIL(p->gone);
    assert_true(has_frames(p, "[1000]close(1009 The message is longer than max_body allows.)"));
    assert_int_equal(ws.n_gone, 1);
}

/* ---- pings */

static void pings_are_answered_within_a_message(void **state)
{
    struct peer *p;

    (void)state;
    serve_websockets();
    p = dial_websocket(0);
    say_frames(p, "t:a P:x c:b");
    UNTIL(has_frames(p, "pong(x)"));
    say_frames(p, "P:*125 C:c P");
    UNTIL(has_frames(p, "pong(x)pong(125)[abc]pong()"));
}

static void a_client_that_answers_pings_stays(void **state)
{
    struct peer *p;

    (void)state;
    ws.conf.ping_interval_ms = 10;
    serve_websockets();
    p = dial_websocket(0);
    for (size_t n = 1; n <= 6; n++) {
        UNTIL(strlen(frames_of(p)) >= n * strlen("ping()"));
        say_frames(p, "O");
    }
    assert_int_equal(ws.n_gone, 0);
    assert_non_null(ws.last);
}

static void a_client_that_leaves_two_pings_unanswered_is_dropped(void **state)
{
    struct peer *p;

    (void)state;
    ws.conf.ping_interval_ms = 10;
    serve_websockets();
    p = dial_websocket(0);
    UNTIL(p->gone);
    assert_true(has_frames(p, "ping()ping()"));
    assert_int_equal(ws.n_gone, 1);
    UNTIL(http_server_connections(fx.server) == 0);
    assert_int_equal(http_server_exchanges(fx.server), 0);
}

/* Of pings whose answers nobody takes no more than a bounded number is answered, and of the others
 * the last. */
static void a_flood_of_pings_that_is_not_read_is_bounded(void **state)
{
    enum { ROUNDS = 2000 };
    struct peer *p;

    (void)state;
    serve_websockets();
    p = dial_websocket(0);
    socket_read(&p->socket, false);
    for (unsigned i = 0; i < ROUNDS; i++) {
        say_frames(p, "P:*125 P:*125 P:*125 P:*125 P:*125 P:*125 P:*125 P:*125 P:*125 P:*125");
        (void)uv_run(loop_uv(fx.loop), UV_RUN_NOWAIT);
        assert_true(websocket_pending(ws.last) < 256UL * 1024);
    }
    say_frames(p, "P:last");
    UNTIL(socket_pending(&p->socket) == 0);
    socket_read(&p->socket, true);
    UNTIL(strstr(frames_of(p), "pong(last)") != NULL);
    assert_int_equal(ws.n_gone, 0);
}

/* ---- the end */

static void a_close_frame_of_the_client_is_answered_with_1000(void **state)
{
    struct peer *p;

    (void)state;
    serve_websockets();
    p = dial_websocket(0);
    say_frames(p, "T:a X:1001,bye T:b");
    UNTIL(p->gone);
    assert_true(has_frames(p, "[a]close(1000 )"));
    assert_int_equal(ws.n_gone, 1);
    UNTIL(http_server_connections(fx.server) == 0);
    assert_int_equal(http_server_exchanges(fx.server), 0);
}

static void a_broken_rule_closes_with_its_code_and_words(void **state)
{
    static const struct {
        const char *frames, *answer;
    } rows[] = {
        {"T-:a", "close(1002 Frames of a client must be masked.)"},
        {"B:a", "close(1003 Messages are JSON in text frames, not binary.)"},
        {"T:%ff", "close(1007 A message is not valid UTF-8.)"},
        {"T4:x", "close(1002 A reserved bit is set, but no extension was agreed on.)"},
    };

    (void)state;
    serve_websockets();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct peer *p = dial_websocket(i);

        say_frames(p, rows[i].frames);
        UNTIL(p->gone);
        assert_string_equal(frames_of(p), rows[i].answer);
        assert_int_equal(ws.n_gone, i + 1);
    }
}

static void the_owner_closes_behind_what_it_has_written(void **state)
{
    struct peer *p;

    (void)state;
    serve_websockets();
    p = dial_websocket(0);
    say_frames(p, "T:a T:close T:b P:x");
    UNTIL(has_frames(p, "[a]close(1001 as you wish)"));
    let_pass(20);
    assert_false(p->gone);
    assert_int_equal(http_server_exchanges(fx.server), 1);
    say_frames(p, "X:1001,");
    UNTIL(p->gone);
    assert_true(has_frames(p, "[a]close(1001 as you wish)"));
    assert_int_equal(ws.n_gone, 0);
    UNTIL(http_server_connections(fx.server) == 0);
    assert_int_equal(http_server_exchanges(fx.server), 0);
}

static void a_client_that_leaves_without_a_word_is_gone(void **state)
{
    struct peer *p;

    (void)state;
    serve_websockets();
    p = dial_websocket(0);
    say_frames(p, "t:half");
    let_pass(10);
    peer_close(p);
    UNTIL(ws.n_gone == 1);
    UNTIL(http_server_connections(fx.server) == 0);
    assert_int_equal(http_server_exchanges(fx.server), 0);
}

static void draining_is_reported_and_leaves_time_to_close(void **state)
{
    struct peer *p, *q;

    (void)state;
    serve_websockets();
    p = dial_websocket(0);
    q = dial_websocket(1);
    http_server_drain(fx.server);
    assert_int_equal(ws.n_drains, 2);
    say_frames(p, "T:a");
    UNTIL(has_frames(p, "[a]"));
    say_frames(p, "T:close");
    say_frames(q, "T:close");
    UNTIL(p->gone && q->gone); /* without waiting for the answers to the close frames */
    assert_true(has_frames(p, "[a]close(1001 as you wish)"));
    assert_int_equal(http_server_exchanges(fx.server), 0);
}

static void an_owner_may_close_when_it_hears_of_the_drain(void **state)
{
    struct peer *p;

    (void)state;
    ws.closes_on_drain = true;
    serve_websockets();
    p = dial_websocket(0);
    http_server_drain(fx.server);
    UNTIL(p->gone);
    assert_true(has_frames(p, "close(1001 drained)"));
    assert_int_equal(ws.n_gone, 0);
}

static void a_server_that_ends_says_so(void **state)
{
    struct peer *p;

    (void)state;
    serve_websockets();
    p = dial_websocket(0);
    websocket_write(ws.last, (const str[]){STR("last")}, 1);
    http_server_close(fx.server);
    fx.server = NULL;
    UNTIL(p->gone);
    assert_true(has_frames(p, "[last]close(1001 The gateway ends.)"));
    assert_int_equal(ws.n_gone, 0);
}

/* ---- slow and silent clients */

static void a_client_that_does_not_read_blocks_its_owner(void **state)
{
    struct peer *p;

    (void)state;
    serve_websockets();
    p = dial_websocket(0);
    socket_read(&p->socket, false);
    say_frames(p, "T:large%2020000000");
    UNTIL(ws.n_blocked == 1);
    assert_true(websocket_pending(ws.last) > MIB);
    assert_int_equal(ws.n_unblocked, 0);
    socket_read(&p->socket, true);
    UNTIL(ws.n_unblocked == 1);
    assert_int_equal(websocket_pending(ws.last), 0);
    UNTIL(has_frames(p, "[20000000]"));
    assert_int_equal(ws.n_blocked, 1);
}

static void a_client_that_takes_nothing_is_dropped(void **state)
{
    struct peer *p;

    (void)state;
    fx.conf.send_timeout_ms = 50;
    serve_websockets();
    p = dial_websocket(0);
    socket_read(&p->socket, false);
    say_frames(p, "T:large%2020000000");
    UNTIL(ws.n_gone == 1);
    UNTIL(http_server_connections(fx.server) == 0);
}

static void a_message_that_does_not_arrive_is_late(void **state)
{
    static const char *const beginnings[] = {"t:a", "T<5:hell", "raw:%81", "T<4000000:"};

    (void)state;
    fx.conf.body_timeout_ms = 30;
    serve_websockets();
    for (size_t i = 0; i < COUNT_OF(beginnings); i++) {
        struct peer *p = dial_websocket(i);

        say_frames(p, beginnings[i]);
        UNTIL(p->gone);
        assert_string_equal(frames_of(p), "close(1008 The message did not arrive in time.)");
        assert_int_equal(ws.n_gone, i + 1);
    }
}

/* Each message arrives at once, though every read ends within the next. */
static void messages_without_a_pause_are_not_late(void **state)
{
    struct peer *p;
    uint64_t begin;

    (void)state;
    fx.conf.body_timeout_ms = 300;
    fx.conf.body_min_rate = 1000000;
    serve_websockets();
    p = dial_websocket(0);
    say_frames(p, "raw:%81%81%00%00");
    begin = loop_now_ms(fx.loop);
    while (loop_now_ms(fx.loop) < begin + 800) {
        say_frames(p, "raw:%00%00a%81%81%00%00");
        let_pass(5);
    }
    assert_false(p->gone);
    assert_int_equal(ws.n_gone, 0);
}

static void a_silent_connection_has_all_the_time(void **state)
{
    struct peer *p;

    (void)state;
    fx.conf.body_timeout_ms = 10;
    fx.conf.keep_alive_ms = 10;
    fx.conf.send_timeout_ms = 10;
    serve_websockets();
    p = dial_websocket(0);
    say_frames(p, "t:a C:b P:x");
    let_pass(60);
    assert_true(has_frames(p, "[ab]pong(x)"));
    assert_int_equal(ws.n_gone, 0);
}

/* ---- memory */

/* An idle connection holds its own objects and the request of its handshake. */
static void an_idle_connection_takes_little(void **state)
{
    size_t before, after;

    (void)state;
    serve_websockets();
    before = budget_used();
    for (size_t i = 0; i < MAX_PEERS; i++)
        say_frames(dial_websocket(i), "T:hello");
    UNTIL(has_frames(&fx.peers[MAX_PEERS - 1], "[hello]"));
    after = budget_used();
    assert_true(after - before < MAX_PEERS * 8192UL + 128 * 1024UL); /* steps of a thread */
}

/* Whichever allocation fails, on either side: the connection works or ends, and nothing leaks. */
static void memory_may_run_out_at_every_place(void **state)
{
    enum { ALLOCATIONS = 16, TURNS = 20 };

    (void)state;
    serve_websockets();
    for (long n = 0; n < ALLOCATIONS; n++) {
        struct peer *p = &fx.peers[0];
        struct buf bytes = {.limit = 0};
        struct iovec piece;

        memset(p, 0, sizeof(*p));
        p = peer_dial(0);
        UNTIL(http_server_connections(fx.server) == 1);
        buf_c(&bytes, HANDSHAKE "\r\n");
        ws_bytes("t:a P:x C:*3000 T:take", &bytes);
        piece = (struct iovec){bytes.p, bytes.len};
        socket_send(&p->socket, &piece, 1);
        buf_fini(&bytes);
        failing_malloc_begin(n, FAILS_ONCE);
        for (int i = 0; i < TURNS; i++)
            (void)uv_run(loop_uv(fx.loop), UV_RUN_NOWAIT);
        (void)failing_malloc_end();
        peer_close(p);
        UNTIL(http_server_connections(fx.server) == 0);
        let_pass(1); /* the peer's descriptor is closed at the end of a turn */
        assert_int_equal(http_server_exchanges(fx.server), 0);
        buf_fini(&p->in);
        buf_fini(&ws.taken);
    }
}

#define TEST(test)                                                                                 \
    {                                                                                              \
#test, test, setup, teardown, NULL                                                         \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_handshake_is_answered_with_101),
        TEST(the_request_stays_as_long_as_the_connection),
        TEST(bytes_behind_the_handshake_are_the_first_frames),
        TEST(a_handshake_may_follow_requests_that_wait),
        TEST(a_handshake_that_is_wrong_leaves_http),
        TEST(a_draining_server_takes_no_handshake),
        TEST(messages_come_whole_and_go_whole),
        TEST(a_message_can_be_kept_without_a_copy),
        TEST(a_message_may_be_as_long_as_a_body),
        TEST(pings_are_answered_within_a_message),
        TEST(a_client_that_answers_pings_stays),
        TEST(a_client_that_leaves_two_pings_unanswered_is_dropped),
        TEST(a_flood_of_pings_that_is_not_read_is_bounded),
        TEST(a_close_frame_of_the_client_is_answered_with_1000),
        TEST(a_broken_rule_closes_with_its_code_and_words),
        TEST(the_owner_closes_behind_what_it_has_written),
        TEST(a_client_that_leaves_without_a_word_is_gone),
        TEST(draining_is_reported_and_leaves_time_to_close),
        TEST(an_owner_may_close_when_it_hears_of_the_drain),
        TEST(a_server_that_ends_says_so),
        TEST(a_client_that_does_not_read_blocks_its_owner),
        TEST(a_client_that_takes_nothing_is_dropped),
        TEST(a_message_that_does_not_arrive_is_late),
        TEST(messages_without_a_pause_are_not_late),
        TEST(a_silent_connection_has_all_the_time),
        TEST(an_idle_connection_takes_little),
        TEST(memory_may_run_out_at_every_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
