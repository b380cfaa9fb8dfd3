/* test_dial.c -- what is told of several attempts; the attempts themselves are
 * met by the tests of the client above them. */
#include <arpa/inet.h>
#include <errno.h>
#include <unistd.h>

#include "lib/http_fixture.h"
#include "lib/test.h"
#include "net/dial.h"
#include "net/listen_address.h"

struct outcome {
    bool is_known;
    int fd, error;
};

static void on_done(void *arg, int fd, int error)
{
    *(struct outcome *)arg = (struct outcome){true, fd, error};
}

static struct outcome dial(const struct address_list *list)
{
    struct outcome o = {.is_known = false};

    assert_non_null(dial_start(fx.loop, list, on_done, &o));
    UNTIL(o.is_known);
    return o;
}

/* A port of 127.0.0.1 that was free a moment ago. */
static uint16_t closed_port(void)
{
    int fd = listen_tcp("127.0.0.1:0", NULL);
    int port = listen_port(fd);

    assert_int_equal(close(fd), 0);
    return (uint16_t)port;
}

/* Like ::1 on a machine without IPv6, which localhost is as well. */
static const struct address no_such_network = {.len = sizeof(struct sockaddr),
                                               .to.any.sa_family = AF_UNSPEC};

static void a_refusal_is_told_also_when_another_network_is_missing(void **state)
{
    struct address_list list;
    struct outcome o;

    (void)state;
    assert_true(address_of_literal("127.0.0.1", &list));
    address_set_port(&list, closed_port());
    list.at[list.n++] = no_such_network;
    o = dial(&list);
    assert_int_equal(o.fd, -1);
    assert_int_equal(o.error, ECONNREFUSED);
}

static void a_missing_network_is_told_when_that_is_all(void **state)
{
    const struct address_list list = {.at = {no_such_network}, .n = 1};
    struct outcome o;

    (void)state;
    o = dial(&list);
    assert_int_equal(o.fd, -1);
    assert_int_equal(o.error, EAFNOSUPPORT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(a_refusal_is_told_also_when_another_network_is_missing),
        HTTP_TEST(a_missing_network_is_told_when_that_is_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
