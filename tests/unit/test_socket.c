/* test_socket.c -- what a socket waits for when its peer has gone; the rest of
 * socket.c is met by the tests of the server and of the client above it. */
#include <stdlib.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "lib/http_fixture.h"
#include "lib/test.h"

static void on_bytes(void *arg, str bytes)
{
    (void)arg;
    (void)bytes;
}

static void on_gone(void *arg)
{
    *(bool *)arg = true;
}

static void nothing(void *arg)
{
    (void)arg;
}

static const struct socket_handler handler = {on_bytes, on_gone, nothing, nothing};

static void dial_peer(struct socket *s, bool *gone)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)listener_port(fx.listener)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(socket_open(s, fx.loop, fd, &handler, gone, NULL), 0);
    socket_keep_end(s);
}

/* An active handle would report the reset again in each turn of the loop. */
static void a_reset_that_is_kept_is_not_waited_for_again(void **state)
{
    struct peer *p = gather("127.0.0.1:0", false);
    char *body = calloc(1, 24 * MIB);
    struct iovec piece = socket_piece(str_from(body, 24 * MIB));
    static struct socket s; /* the loop has it also after a failure */
    bool gone = false;

    (void)state;
    assert_non_null(body);
    dial_peer(&s, &gone);
    socket_lend(&s, &piece, 1);
    socket_read(&s, false);
    UNTIL(fx.n_accepted == 1);
    assert_true(socket_pending(&s) > 0);
    socket_reset(&p->socket);
    p->open = false;
    UNTIL(s.ended);
    assert_false(uv_is_active((uv_handle_t *)&s.poll));
    assert_false(gone);
    socket_read(&s, true);
    UNTIL(gone);
    assert_true(s.error != 0);
    socket_close(&s);
    let_pass(1);
    free(body);
}

static struct buf filled(char c, size_t n)
{
    struct buf b = {.limit = 0};

    memset(buf_reserve(&b, n), c, n);
    b.len = n;
    return b;
}

static void send_text(struct socket *s, const char *text)
{
    struct iovec piece = socket_piece(str_from_c(text));

    socket_send(s, &piece, 1);
}

/* What is given away, copied and sent leaves in the order in which it came, whether the peer reads
 * or not. */
static void bytes_that_are_taken_keep_their_place(void **state)
{
    static const char letters[] = "abcdefgh";
    static struct socket s;
    struct peer *p = gather("127.0.0.1:0", false);
    struct buf expected = {.limit = 0};
    bool gone = false;

    (void)state;
    dial_peer(&s, &gone);
    UNTIL(fx.n_accepted == 1);
    for (const char *c = letters; *c != '\0'; c++) {
        struct buf large = filled(*c, 2 * MIB + 1);

        buf_append(&expected, buf_str(&large));
        socket_take(&s, &large);
        assert_int_equal(large.len, 0);
        buf_fini(&large);
        socket_queue(&s, STR("queued"));
        buf_c(&expected, "queued");
        if (*c != 'a') {
            send_text(&s, "sent");
            buf_c(&expected, "sent");
        }
    }
    assert_true(socket_pending(&s) > 0);
    socket_read(&p->socket, true);
    UNTIL(p->in.len == expected.len || gone);
    assert_true(str_eq(buf_str(&p->in), buf_str(&expected)));
    assert_int_equal(socket_pending(&s), 0);
    buf_fini(&expected);
    socket_close(&s);
    let_pass(1);
}

/* Nothing of it is left behind: a sanitizer would tell. */
static void bytes_that_are_taken_go_with_the_socket(void **state)
{
    static struct socket s;
    bool gone = false;

    (void)state;
    (void)gather("127.0.0.1:0", false);
    dial_peer(&s, &gone);
    UNTIL(fx.n_accepted == 1);
    for (int i = 0; i < 6; i++) {
        struct buf large = filled('x', 2 * MIB);

        socket_take(&s, &large);
        send_text(&s, "sent");
    }
    assert_true(socket_pending(&s) > 0);
    socket_close(&s);
    let_pass(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(a_reset_that_is_kept_is_not_waited_for_again),
        HTTP_TEST(bytes_that_are_taken_keep_their_place),
        HTTP_TEST(bytes_that_are_taken_go_with_the_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
