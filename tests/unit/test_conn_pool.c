/* test_conn_pool.c -- which idle connections are kept and used, over pairs of sockets. */
#include <sys/socket.h>
#include <unistd.h>

#include "http/conn_pool.h"
#include "lib/http_fixture.h"
#include "lib/test.h"

static const struct http_url url = {.host = STR_INIT("h"), .port = 80};

static void on_bytes(void *arg, char *p, size_t n)
{
    (void)arg;
    (void)p;
    (void)n;
}

static void on_gone(void *arg, int error)
{
    (void)arg;
    (void)error;
}

static const struct pool_user user = {on_bytes, on_gone};

/* A connection that has been given back; *ret_far is its other end. */
static struct pool_conn *open_idle(struct conn_pool *pool, struct origin *origin, int *ret_far)
{
    struct pool_conn *c;
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    c = conn_pool_open(pool, origin, fds[0], &user, NULL, NULL);
    assert_non_null(c);
    conn_pool_release(c);
    *ret_far = fds[1];
    return c;
}

static bool is_closed(int far)
{
    char c;

    return recv(far, &c, 1, MSG_DONTWAIT) == 0;
}

static void a_connection_that_was_idle_for_too_long_is_not_used(void **state)
{
    struct conn_pool *pool = conn_pool_new(fx.loop, 8, 20);
    struct origin *origin = conn_pool_origin(pool, &url);
    struct pool_conn *c;
    int far[2];

    (void)state;
    c = open_idle(pool, origin, &far[0]);
    assert_ptr_equal(conn_pool_take(pool, origin, &user, NULL), c);
    assert_true(c->is_reused);
    conn_pool_release(c);
    let_pass(40);
    assert_null(conn_pool_take(pool, origin, &user, NULL));
    assert_true(is_closed(far[0]));
    (void)open_idle(pool, origin, &far[1]);
    assert_false(is_closed(far[1]));
    origin_unref(origin);
    conn_pool_free(pool);
    assert_true(is_closed(far[1]));
    (void)close(far[0]);
    (void)close(far[1]);
}

static void the_oldest_makes_room_for_the_newest(void **state)
{
    struct conn_pool *pool = conn_pool_new(fx.loop, 2, 10000);
    struct origin *origin = conn_pool_origin(pool, &url);
    struct pool_conn *c[3];
    int far[3];

    (void)state;
    for (size_t i = 0; i < 3; i++)
        c[i] = open_idle(pool, origin, &far[i]);
    assert_true(is_closed(far[0]));
    assert_ptr_equal(conn_pool_take(pool, origin, &user, NULL), c[2]);
    assert_ptr_equal(conn_pool_take(pool, origin, &user, NULL), c[1]);
    assert_null(conn_pool_take(pool, origin, &user, NULL));
    conn_pool_close(c[1]);
    conn_pool_close(c[2]);
    origin_unref(origin);
    conn_pool_free(pool);
    for (size_t i = 0; i < 3; i++)
        (void)close(far[i]);
}

/* The loop does not run between what the other end does and the next use. */
static void a_connection_with_something_to_read_is_not_used(void **state)
{
    struct conn_pool *pool = conn_pool_new(fx.loop, 8, 10000);
    struct origin *origin = conn_pool_origin(pool, &url);
    struct pool_conn *quiet;
    int far[3];

    (void)state;
    quiet = open_idle(pool, origin, &far[0]);
    (void)open_idle(pool, origin, &far[1]);
    (void)open_idle(pool, origin, &far[2]);
    assert_int_equal(send(far[1], "HTTP/1.1 408 \r\n\r\n", 17, 0), 17);
    (void)close(far[2]);
    assert_ptr_equal(conn_pool_take(pool, origin, &user, NULL), quiet);
    assert_null(conn_pool_take(pool, origin, &user, NULL));
    conn_pool_close(quiet);
    origin_unref(origin);
    conn_pool_free(pool);
    (void)close(far[0]);
    (void)close(far[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(a_connection_that_was_idle_for_too_long_is_not_used),
        HTTP_TEST(the_oldest_makes_room_for_the_newest),
        HTTP_TEST(a_connection_with_something_to_read_is_not_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
