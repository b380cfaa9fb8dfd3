/* test_socket_tls.c -- a socket with a channel, and a client that reads as it likes.
 *
 * The client's end is a descriptor of a Unix socket pair, whose buffers are small, so that a test says
 * when the socket is blocked and how much it gets rid of. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/http_fixture.h"
#include "lib/test.h"
#include "lib/tls_peer.h"

static struct {
    struct socket socket;
    struct buf heard;
    unsigned n_progress, n_secured;
    bool is_gone, is_closed;
    int fd; /* the client's end */
    struct tls_peer client;
    struct tls_context *context;
    struct tls_tickets *tickets;
} at;

static void on_bytes(void *arg, str bytes)
{
    (void)arg;
    buf_append(&at.heard, bytes);
}

static void on_gone(void *arg)
{
    (void)arg;
    at.is_gone = true;
}

static void on_progress(void *arg)
{
    (void)arg;
    at.n_progress++;
}

static void on_closed(void *arg)
{
    (void)arg;
    at.is_closed = true;
}

static void on_secured(void *arg)
{
    (void)arg;
    at.n_secured++;
}

static const struct socket_handler handler = {on_bytes, on_gone, on_progress, on_closed};

static int begin(void **state)
{
    struct made_cert own;
    const char *cert, *key;
    struct err e;

    (void)state;
    certs_begin();
    own = cert_make(&(struct cert_wish){.cn = "own"});
    cert = certs_write("own.crt", &own);
    key = certs_write_key("own.key", &own, NULL);
    at.tickets = tls_tickets_new(&e);
    at.context = tls_context_new(&(struct tls_conf){.certs = &cert, .keys = &key, .n_pairs = 1},
                                 at.tickets, &e);
    certs_forget();
    cert_free(&own);
    return at.context == NULL ? -1 : 0;
}

static int end(void **state)
{
    (void)state;
    tls_context_unref(at.context);
    tls_tickets_free(at.tickets);
    return 0;
}

/* ---- the client */

/* Carries what there is between the client and its descriptor; reads no more than `most` bytes. Returns
 * how many it has read. */
static size_t carry(size_t most)
{
    char bytes[TLS_RECORD_BYTES], *out;
    size_t total = 0;
    ssize_t n = 1;
    long left = BIO_get_mem_data(at.client.out, &out);

    if (left > 0 && send(at.fd, out, (size_t)left, MSG_NOSIGNAL) == left)
        (void)BIO_reset(at.client.out);
    while (total < most && n > 0) {
        size_t room = most - total < sizeof(bytes) ? most - total : sizeof(bytes);

        n = recv(at.fd, bytes, room, 0);
        if (n > 0) {
            assert_int_equal(BIO_write(at.client.in, bytes, (int)n), n);
            total += (size_t)n;
        }
    }
    return total;
}

static void read_plain(void)
{
    char bytes[TLS_RECORD_BYTES];
    int n;

    while ((n = SSL_read(at.client.ssl, bytes, sizeof(bytes))) > 0)
        buf_append(&at.client.heard, str_from(bytes, (size_t)n));
    at.client.is_ended = SSL_get_error(at.client.ssl, n) == SSL_ERROR_ZERO_RETURN;
}

/* Turns the loop and lets the client read all that comes until the condition holds. */
#define TALK_UNTIL(condition)                                                                      \
    while (!(condition)) {                                                                         \
        (void)uv_run(loop_uv(fx.loop), UV_RUN_NOWAIT);                                             \
        (void)carry(SIZE_MAX);                                                                     \
        read_plain();                                                                              \
    }

static void connect_client(void)
{
    int fds[2], small = 1;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    assert_int_equal(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
    at.fd = fds[1];
    at.n_progress = at.n_secured = 0;
    at.is_gone = at.is_closed = false;
    assert_int_equal(socket_open(&at.socket, fx.loop, fds[0], &handler, NULL, NULL), 0);
    socket_secure(&at.socket, tls_channel_new(at.context), on_secured);
    tls_peer_open(&at.client, &(struct tls_peer_wish){.host = NULL});
}

static void shake_hands(void)
{
    connect_client();
    TALK_UNTIL(at.n_secured == 1 && SSL_is_init_finished(at.client.ssl) == 1);
}

/* Leaves nothing for the next test. */
static void disconnect_client(void)
{
    socket_close(&at.socket);
    while (!at.is_closed)
        (void)uv_run(loop_uv(fx.loop), UV_RUN_ONCE);
    (void)close(at.fd);
    tls_peer_close(&at.client);
    buf_fini(&at.heard);
}

static void send_large(size_t bytes)
{
    struct buf large = {.limit = 0};

    memset(buf_reserve(&large, bytes), 'x', bytes);
    large.len = bytes;
    socket_take(&at.socket, &large);
    socket_send(&at.socket, NULL, 0);
}

/* ---- claims */

static void a_handshake_is_reported_once_and_bytes_come_as_without_tls(void **state)
{
    struct iovec piece = socket_piece(STR("answer"));

    (void)state;
    shake_hands();
    tls_peer_say(&at.client, STR("question"));
    TALK_UNTIL(at.heard.len == 8);
    assert_str_c(buf_str(&at.heard), "question");
    socket_queue(&at.socket, STR("an "));
    socket_send(&at.socket, &piece, 1);
    TALK_UNTIL(at.client.heard.len == 9);
    assert_str_c(buf_str(&at.client.heard), "an answer");
    assert_int_equal(at.n_secured, 1);
    assert_int_equal(socket_pending(&at.socket), 0);
    disconnect_client();
}

/* A timer of a send has to see that the client reads, long before a large answer is out. */
static void each_bit_that_a_slow_client_reads_is_progress(void **state)
{
    enum { BYTES = MIB, BIT = 3000 };
    size_t before, n_bits = 0;

    (void)state;
    shake_hands();
    send_large(BYTES);
    assert_true(at.socket.blocked);
    before = socket_pending(&at.socket);
    at.n_progress = 0;
    while (socket_pending(&at.socket) > 0) {
        assert_true(carry(BIT) > 0);
        read_plain();
        for (int i = 0; i < 3; i++)
            (void)uv_run(loop_uv(fx.loop), UV_RUN_NOWAIT);
        n_bits++;
        assert_true(socket_pending(&at.socket) <= before);
        before = socket_pending(&at.socket);
    }
    assert_true(at.n_progress >= BYTES / (64 * 1024) && at.n_progress <= n_bits);
    TALK_UNTIL(at.client.heard.len == BYTES);
    disconnect_client();
}

static void what_waits_is_sealed_no_more_than_two_records_ahead(void **state)
{
    (void)state;
    shake_hands();
    send_large(4 * MIB);
    assert_true(at.socket.blocked);
    assert_true(tls_channel_wire(at.socket.tls).len <= 3 * TLS_RECORD_BYTES);
    disconnect_client();
}

static void a_client_that_reads_nothing_is_no_progress(void **state)
{
    (void)state;
    shake_hands();
    send_large(MIB);
    at.n_progress = 0;
    let_pass(20);
    assert_int_equal(at.n_progress, 0);
    assert_false(at.is_gone);
    disconnect_client();
}

/* With reading off, bytes stay with the kernel, and none are lost. */
static void bytes_wait_while_nothing_is_read(void **state)
{
    (void)state;
    shake_hands();
    socket_read(&at.socket, false);
    tls_peer_say(&at.client, STR("later"));
    (void)carry(0);
    let_pass(20);
    assert_int_equal(at.heard.len, 0);
    socket_read(&at.socket, true);
    TALK_UNTIL(at.heard.len == 5);
    disconnect_client();
}

static void the_end_follows_the_last_bytes_that_wait(void **state)
{
    (void)state;
    shake_hands();
    send_large(MIB);
    while (socket_pending(&at.socket) > 64 * 1024) {
        (void)carry(SIZE_MAX);
        read_plain();
        (void)uv_run(loop_uv(fx.loop), UV_RUN_NOWAIT);
    }
    TALK_UNTIL(socket_pending(&at.socket) == 0);
    socket_shutdown(&at.socket);
    TALK_UNTIL(at.client.is_ended);
    assert_int_equal(at.client.heard.len, MIB);
    assert_int_equal(recv(at.fd, &(char){0}, 1, 0), 0);
    disconnect_client();
}

static void closing_says_so_when_all_is_said(void **state)
{
    (void)state;
    shake_hands();
    socket_close(&at.socket);
    TALK_UNTIL(at.client.is_ended);
    (void)close(at.fd);
    tls_peer_close(&at.client);
}

/* What is cut off must not look whole. */
static void closing_says_nothing_when_bytes_are_lost(void **state)
{
    (void)state;
    shake_hands();
    send_large(MIB);
    socket_close(&at.socket);
    TALK_UNTIL(at.is_closed);
    while (carry(SIZE_MAX) > 0)
        read_plain();
    assert_false(at.client.is_ended);
    (void)close(at.fd);
    tls_peer_close(&at.client);
}

static void a_client_that_ends_has_gone_behind_its_last_bytes(void **state)
{
    (void)state;
    shake_hands();
    tls_peer_say(&at.client, STR("last"));
    (void)SSL_shutdown(at.client.ssl);
    TALK_UNTIL(at.is_gone);
    assert_str_c(buf_str(&at.heard), "last");
    disconnect_client();
}

static void a_handshake_that_fails_leaves_an_alert(void **state)
{
    static const char no_tls[] = "\x80 this is no TLS at all";
    char alert[64];

    (void)state;
    connect_client();
    assert_int_equal(send(at.fd, no_tls, sizeof(no_tls), 0), sizeof(no_tls));
    UNTIL(at.n_secured == 1);
    assert_int_equal(tls_channel_state(at.socket.tls), TLS_FAILED);
    assert_false(at.is_gone);
    socket_shutdown(&at.socket);
    while (recv(at.fd, alert, sizeof(alert), 0) > 0)
        ;
    assert_int_equal(errno == EAGAIN, 0);
    disconnect_client();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(a_handshake_is_reported_once_and_bytes_come_as_without_tls),
        HTTP_TEST(each_bit_that_a_slow_client_reads_is_progress),
        HTTP_TEST(what_waits_is_sealed_no_more_than_two_records_ahead),
        HTTP_TEST(a_client_that_reads_nothing_is_no_progress),
        HTTP_TEST(bytes_wait_while_nothing_is_read),
        HTTP_TEST(the_end_follows_the_last_bytes_that_wait),
        HTTP_TEST(closing_says_so_when_all_is_said),
        HTTP_TEST(closing_says_nothing_when_bytes_are_lost),
        HTTP_TEST(a_client_that_ends_has_gone_behind_its_last_bytes),
        HTTP_TEST(a_handshake_that_fails_leaves_an_alert),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
