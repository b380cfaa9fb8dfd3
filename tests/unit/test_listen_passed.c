/* test_listen_passed.c -- what variables say of sockets that were passed, and whether it is true. */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/test.h"
#include "net/listen_address.h"
#include "net/listen_passed.h"

static void assert_written(const char *text, const struct listen_passed_list *list)
{
    struct buf out = {.limit = 0};

    listen_passed_write(list, &out);
    assert_string_equal(buf_cstr(&out), text);
    buf_fini(&out);
}

static void names_stand_for_descriptors_from_three_on(void **state)
{
    struct arena a = {.limit = 0};
    struct listen_passed_list list;
    struct err e;

    (void)state;
    assert_int_equal(listen_passed_read_manager("4", "api:watch-admin::api", &a, &list, &e), 0);
    assert_written("-1\n3=fd:api\n4=fd:watch-admin\n5=fd:unknown\n6=fd:api", &list);
    assert_int_equal(listen_passed_read_manager("2", NULL, &a, &list, &e), 0);
    assert_written("-1\n3,4=fd:unknown", &list);
    assert_int_equal(listen_passed_read_manager("0", "a", &a, &list, &e), 0);
    assert_int_equal(list.n, 0);
    arena_fini(&a);
}

static void a_count_that_is_none_is_refused(void **state)
{
    static const char *const wrong[] = {"", "x", "-1", "1 ", "1025", "99999999999999999999"};
    struct arena a = {.limit = 0};
    struct listen_passed_list list;
    struct err e;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(listen_passed_read_manager(wrong[i], "a", &a, &list, &e), -1);
    arena_fini(&a);
}

static void what_is_written_is_read_as_the_same(void **state)
{
    static const char text[] = "3\n4,5=127.0.0.1:8080\n6=fd:api\n7=unix:/a=b,c/s";
    struct arena a = {.limit = 0};
    struct listen_passed_list list;
    struct err e;

    (void)state;
    assert_int_equal(listen_passed_read_upgrade(text, &a, &list, &e), 0);
    assert_int_equal(list.report_fd, 3);
    assert_int_equal(list.n, 4);
    assert_string_equal(list.v[3].address, "unix:/a=b,c/s");
    assert_written(text, &list);
    arena_fini(&a);
}

/* Every beginning of a text is read as what it says, or refused. */
static void text_that_is_cut_or_wrong_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",        "x",       "2\n",      "3\n=a",   "3\n4=",
        "3\n4",    "3\n4,=a", "3\n,4=a",  "3\n2=a",  "3\n4=a\n\n5=b",
        "3\n-4=a", "3\n4 =a", "3\n4,x=a", "3 \n4=a", "3\n1000001=a"};
    struct arena a = {.limit = 0};
    struct listen_passed_list list;
    struct err e;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        if (listen_passed_read_upgrade(wrong[i], &a, &list, &e) == 0)
            fail_msg("\"%s\" is taken", wrong[i]);
        assert_non_null(strstr(e.msg, LISTEN_PASSED_VARIABLE));
    }
    arena_fini(&a);
}

static void descriptors_that_do_not_listen_are_refused(void **state)
{
    struct listen_passed p = {.address = "fd:a"};
    const struct listen_passed_list list = {.v = &p, .n = 1, .report_fd = -1};
    int pair[2], fd;
    struct err e;

    (void)state;
    p.fd = 1000;
    assert_int_equal(listen_passed_check(&list, &e), -1);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    p.fd = pair[0];
    assert_int_equal(listen_passed_check(&list, &e), -1);
    assert_non_null(strstr(e.msg, "(fd:a) was passed, but does not listen"));
    (void)close(pair[0]);
    (void)close(pair[1]);
    fd = listen_tcp("127.0.0.1:0", &e);
    (void)fcntl(fd, F_SETFD, 0);
    (void)fcntl(fd, F_SETFL, 0);
    p.fd = fd;
    assert_int_equal(listen_passed_check(&list, &e), 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    (void)close(fd);
}

/* Sockets of one address for each worker are spread, so that each is served; a queue that is one is
 * for all. */
static void every_socket_that_was_passed_is_somebodys(void **state)
{
    struct listen_passed v[3];
    const struct listen_passed_list list = {.v = v, .n = 3, .report_fd = -1};
    struct listen_address *a;
    struct err e;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        v[i] = (struct listen_passed){"127.0.0.1:0", listen_tcp("127.0.0.1:0", &e)};
    a = listen_address_take("127.0.0.1:0", &list, &e);
    assert_non_null(a);
    assert_int_equal(listen_address_per_worker(a, 1), 3);
    assert_int_equal(listen_address_per_worker(a, 2), 2);
    assert_int_equal(listen_address_per_worker(a, 3), 1);
    assert_int_equal(listen_address_per_worker(a, 8), 1);
    listen_address_close(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stand_for_descriptors_from_three_on),
        cmocka_unit_test(a_count_that_is_none_is_refused),
        cmocka_unit_test(what_is_written_is_read_as_the_same),
        cmocka_unit_test(text_that_is_cut_or_wrong_is_refused),
        cmocka_unit_test(descriptors_that_do_not_listen_are_refused),
        cmocka_unit_test(every_socket_that_was_passed_is_somebodys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
