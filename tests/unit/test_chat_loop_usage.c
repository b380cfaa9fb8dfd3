/* test_chat_loop_usage.c -- usage objects are added up. */
#include "lib/test.h"

#include "wire/loop/chat_loop_usage.h"

static void check_sum(const char *before, const char *now, const char *expected)
{
    struct buf out = {.limit = 0};

    chat_loop_usage_write(str_from_c(before), str_from_c(now), &out);
    assert_str_c(buf_str(&out), expected);
    buf_fini(&out);
}

static void numbers_are_added_wherever_they_stand(void **state)
{
    (void)state;
    check_sum("{\"a\":1,\"d\":{\"x\":2,\"y\":null}}", "{\"d\":{\"y\":4,\"x\":3},\"a\":5}",
              "{\"d\":{\"y\":4,\"x\":5},\"a\":6}");
    check_sum("{\"cost\":0.25}", "{\"cost\":1.5}", "{\"cost\":1.75}");
    check_sum("{\"n\":9007199254740991}", "{\"n\":9007199254740991}", "{\"n\":18014398509481982}");
}

static void what_is_no_number_or_has_no_partner_stays(void **state)
{
    (void)state;
    check_sum("", "{ \"a\" : 1 }", "{ \"a\" : 1 }");
    check_sum("{\"a\":1,\"old\":[1]}", "{\"new\":\"s\",\"a\":null}",
              "{\"new\":\"s\",\"a\":1,\"old\":[1]}");
    check_sum("{\"a\":{\"b\":1}}", "{\"a\":2}", "{\"a\":2}");
    check_sum("{\"a\":1e308}", "{\"a\":1.5e308}", "{\"a\":1.5e308}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_added_wherever_they_stand),
        cmocka_unit_test(what_is_no_number_or_has_no_partner_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
