/* test_listen_spec.c -- addresses and the marks behind them. */
#include "base/listen_spec.h"
#include "lib/fixture.h"
#include "lib/test.h"

static void marks_are_cut_off_in_any_order(void **state)
{
    static const struct {
        const char *text, *address;
        unsigned marks;
    } cases[] = {
        {"127.0.0.1:80", "127.0.0.1:80", 0},
        {":8443+tls", ":8443", LISTEN_TLS},
        {":1+tls+proxy", ":1", LISTEN_TLS | LISTEN_PROXY},
        {":1+proxy+tls", ":1", LISTEN_TLS | LISTEN_PROXY},
        {"[::1]:1+admin+metrics", "[::1]:1", LISTEN_ADMIN | LISTEN_METRICS},
        {"unix:/c++/s", "unix:/c++/s", 0},
        {"unix:/a+admin/s+proxy", "unix:/a+admin/s", LISTEN_PROXY},
        {"fd:api+tls", "fd:api", LISTEN_TLS},
        {"", "", 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *exact = exact_copy(str_from_c(cases[i].text));
        struct listen_spec s;
        str wrong;

        assert_true(listen_spec_read(str_from(exact, strlen(cases[i].text)), &s, &wrong));
        assert_true(str_eq(s.address, str_from_c(cases[i].address)));
        assert_int_equal(s.marks, cases[i].marks);
        free(exact);
    }
}

static void an_unknown_or_repeated_mark_is_named(void **state)
{
    static const struct {
        const char *text, *wrong;
    } cases[] = {
        {":1+", ""},           {":1+tsl", "tsl"},
        {":1+tls+tls", "tls"}, {":1+TLS", "TLS"},
        {":1++tls", ""},       {"unix:/a/s+b", "b"},
        {":1+tls+ad", "ad"},   {"fd:a+metrics+metric", "metric"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct listen_spec s;
        str wrong = STR_NONE;

        assert_false(listen_spec_read(str_from_c(cases[i].text), &s, &wrong));
        assert_true(str_eq(wrong, str_from_c(cases[i].wrong)));
    }
}

static void marks_are_written_as_they_are_read(void **state)
{
    (void)state;
    for (unsigned marks = 0; marks < 1U << LISTEN_MARKS; marks++) {
        struct buf text = {.limit = 0};
        struct listen_spec s;

        buf_c(&text, "h:1");
        listen_spec_write_marks(marks, &text);
        s = listen_spec_of(buf_cstr(&text));
        assert_int_equal(s.marks, marks);
        assert_int_equal(s.address.len, 3);
        buf_fini(&text);
    }
}

static void a_prefix_tells_the_kind(void **state)
{
    const struct listen_spec socket = listen_spec_of("unix:/s+admin");
    const struct listen_spec passed = listen_spec_of("fd:a+tls"), tcp = listen_spec_of(":1");

    (void)state;
    assert_true(listen_spec_is_unix(&socket) && !listen_spec_is_descriptor(&socket));
    assert_true(listen_spec_is_descriptor(&passed) && !listen_spec_is_unix(&passed));
    assert_false(listen_spec_is_unix(&tcp) || listen_spec_is_descriptor(&tcp));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_cut_off_in_any_order),
        cmocka_unit_test(an_unknown_or_repeated_mark_is_named),
        cmocka_unit_test(marks_are_written_as_they_are_read),
        cmocka_unit_test(a_prefix_tells_the_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
