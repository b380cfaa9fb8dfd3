/* test_buf.c -- bytes on their way out. */
#include "lib/test.h"

#include "base/budget.h"
#include "base/buf.h"

enum { MIB = 1024 * 1024 };

static void appends_are_put_one_after_the_other(void **state)
{
    struct buf b = {.limit = 0};

    (void)state;
    buf_append(&b, STR("a\0b"));
    buf_char(&b, '-');
    buf_c(&b, "c");
    buf_append(&b, STR_NONE);
    buf_c(&b, NULL);
    buf_uint(&b, UINT64_MAX);
    buf_char(&b, ' ');
    buf_int(&b, INT64_MIN);
    buf_int(&b, 0);
    assert_str_eq(buf_str(&b), STR("a\0b-c18446744073709551615 -92233720368547758080"));
    assert_false(buf_failed(&b));
    buf_fini(&b);
}

static void the_limit_is_reached_but_not_passed(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 4);
    buf_append(&b, STR("abcd"));
    assert_false(buf_failed(&b));
    buf_char(&b, 'e');
    assert_true(buf_failed(&b));
    assert_str_c(buf_str(&b), "abcd");
    buf_fini(&b);
}

static void a_failed_buf_ignores_appends_until_reset(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 4);
    buf_append(&b, STR("too long"));
    assert_true(buf_failed(&b));
    buf_append(&b, STR("a"));
    assert_int_equal(b.len, 0);
    assert_string_equal(buf_cstr(&b), "");
    buf_reset(&b);
    buf_append(&b, STR("a"));
    assert_string_equal(buf_cstr(&b), "a");
    buf_fini(&b);
    assert_int_equal(b.limit, 4);
}

static void reserved_room_is_the_callers_to_fill(void **state)
{
    struct buf b = {.limit = 0};
    char *p;

    (void)state;
    buf_append(&b, STR("ab"));
    p = buf_reserve(&b, 1000);
    assert_non_null(p);
    memset(p, 'x', 1000);
    b.len += 3;
    assert_str_c(buf_str(&b), "abxxx");
    buf_fini(&b);
}

static void consumed_bytes_are_gone_from_the_front(void **state)
{
    struct buf b = {.limit = 0};

    (void)state;
    buf_append(&b, STR("abcdef"));
    buf_consume(&b, 2);
    assert_str_c(buf_str(&b), "cdef");
    buf_consume(&b, 99);
    assert_str_c(buf_str(&b), "");
    buf_fini(&b);
}

static void cstr_ends_in_nul_whatever_the_length(void **state)
{
    struct buf b = {.limit = 0};

    (void)state;
    assert_string_equal(buf_cstr(&b), "");
    for (size_t n = 0; n < 1100; n++) {
        assert_int_equal(strlen(buf_cstr(&b)), n);
        buf_char(&b, 'x');
    }
    buf_fini(&b);
}

static void what_is_taken_of_the_budget_is_given_back(void **state)
{
    struct buf b = {.limit = 0};
    size_t before = budget_used();

    (void)state;
    while (b.len < (size_t)10 * MIB)
        buf_append(&b, STR("0123456789"));
    assert_true(budget_used() - before >= b.len);
    assert_true(budget_used() - before <= b.len + b.len / 4 + 128 * 1024);
    buf_fini(&b);
    assert_true(budget_used() <= before + 128 * 1024);
}

static void the_budget_ends_it(void **state)
{
    struct buf b = {.limit = 0};

    (void)state;
    budget_set_limit(budget_used() + MIB);
    while (!buf_failed(&b) && b.len < (size_t)10 * MIB)
        buf_append(&b, STR("0123456789"));
    assert_true(buf_failed(&b));
    assert_false(b.is_full); /* no limit of its own */
    assert_true(b.len >= MIB / 2 && b.len <= MIB + 128 * 1024);
    budget_set_limit(0);
    buf_fini(&b);
}

static void an_unreachable_size_fails(void **state)
{
    struct buf b = {.limit = 0};

    (void)state;
    buf_char(&b, 'x');
    assert_null(buf_reserve(&b, SIZE_MAX - 1));
    assert_true(buf_failed(&b));
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_are_put_one_after_the_other),
        cmocka_unit_test(the_limit_is_reached_but_not_passed),
        cmocka_unit_test(a_failed_buf_ignores_appends_until_reset),
        cmocka_unit_test(reserved_room_is_the_callers_to_fill),
        cmocka_unit_test(consumed_bytes_are_gone_from_the_front),
        cmocka_unit_test(cstr_ends_in_nul_whatever_the_length),
        cmocka_unit_test(what_is_taken_of_the_budget_is_given_back),
        cmocka_unit_test(the_budget_ends_it),
        cmocka_unit_test(an_unreachable_size_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
