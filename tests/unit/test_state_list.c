/* test_state_list.c -- the options of lists, and how lists are written. */
#include "front/state_list.h"
#include "json/json_read.h"
#include "lib/test.h"

static struct arena memory;

static int teardown(void **state)
{
    (void)state;
    arena_fini(&memory);
    return 0;
}

static struct query query_of(const char *text)
{
    struct query q;

    assert_true(query_read(str_from_c(text), &memory, &q));
    return q;
}

static void a_page_is_what_the_query_says(void **state)
{
    static const struct {
        const char *query, *after;
        size_t limit;
        bool ascending;
    } cases[] = {
        {"", NULL, 20, false},
        {"limit=1", NULL, 1, false},
        {"limit=100&order=asc", NULL, 100, true},
        {"order=desc&after=msg_1", "msg_1", 20, false},
        {"after=a%26b&limit=007", "a&b", 7, false},
        {"after=", NULL, 20, false},
        {"limit=5&limit=6", NULL, 6, false},
        {"unknown=1&limit=3", NULL, 3, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct query q = query_of(cases[i].query);
        struct store_page page = {.limit = 0};

        assert_int_equal(state_page_read(&q, &page, NULL), 0);
        assert_int_equal(page.limit, cases[i].limit);
        assert_int_equal(page.ascending, cases[i].ascending);
        assert_str_c(page.after, cases[i].after);
        assert_true(str_is_none(page.after) == (cases[i].after == NULL));
    }
}

static void wrong_options_are_told_like_wrong_members(void **state)
{
    static const struct {
        const char *query, *param, *message;
        enum err_code code;
    } cases[] = {
        {"limit=0", "limit",
         "Invalid 'limit': integer below minimum value. Expected a value >= 1, but got 0 instead.",
         ERR_INTEGER_BELOW_MIN},
        {"limit=-3", "limit",
         "Invalid 'limit': integer below minimum value. Expected a value >= 1, but got -3 instead.",
         ERR_INTEGER_BELOW_MIN},
        {"limit=101", "limit",
         "Invalid 'limit': integer above maximum value. Expected a value <= 100, but got 101 "
         "instead.",
         ERR_INTEGER_ABOVE_MAX},
        {"limit=99999999999999999999", "limit", NULL, ERR_INTEGER_ABOVE_MAX},
        {"limit=", "limit", NULL, ERR_INVALID_TYPE},
        {"limit=-", "limit", NULL, ERR_INVALID_TYPE},
        {"limit=2x", "limit",
         "Invalid type for 'limit': expected an integer, but got a string instead.",
         ERR_INVALID_TYPE},
        {"limit=1.5", "limit", NULL, ERR_INVALID_TYPE},
        {"order=up%22", "order", "Invalid value: 'up\"'. Supported values are: 'asc' and 'desc'.",
         ERR_INVALID_VALUE},
        {"order=", "order", NULL, ERR_INVALID_VALUE},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct query q = query_of(cases[i].query);
        struct store_page page;
        struct err e;

        assert_int_equal(state_page_read(&q, &page, &e), -1);
        assert_int_equal(e.code, cases[i].code);
        assert_string_equal(e.param, cases[i].param);
        if (cases[i].message != NULL)
            assert_string_equal(e.msg, cases[i].message);
    }
}

static void include_takes_the_values_of_requests(void **state)
{
    const struct query good =
        query_of("include[]=reasoning.encrypted_content&include%5B%5D=web_search_call.results"
                 "&include=message.output_text.logprobs&includes=x");
    static const char *const bad[] = {
        "include[]=x", "include=", "include=web_search_call.results&include[]=output"};

    (void)state;
    assert_int_equal(state_include_check(&good, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        const struct query q = query_of(bad[i]);
        struct err e;

        assert_int_equal(state_include_check(&q, &e), -1);
        assert_int_equal(e.code, ERR_INVALID_VALUE);
        assert_string_equal(e.param, "include");
    }
}

static void a_flag_is_true_or_false(void **state)
{
    static const struct {
        const char *query;
        int rc;
        bool value;
    } cases[] = {{"", 0, false},        {"f=true", 0, true}, {"f=false", 0, false},
                 {"f=True", -1, false}, {"f=", -1, false},   {"f=true&f=false", 0, false}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct query q = query_of(cases[i].query);
        struct err e;
        bool value;

        assert_int_equal(state_flag_read(&q, STR("f"), &value, &e), cases[i].rc);
        if (cases[i].rc == 0)
            assert_int_equal(value, cases[i].value);
        else
            assert_int_equal(e.code, ERR_INVALID_VALUE);
    }
}

static void assert_written(const struct store_list *list, const char *expected)
{
    struct buf out = {.limit = 0};

    state_list_write(list, &out);
    assert_str_c(buf_str(&out), expected);
    assert_true(jr_is_valid(buf_str(&out)));
    buf_fini(&out);
}

static void lists_name_their_first_and_last_item(void **state)
{
    struct store_item items[] = {
        {.id = STR("a\"b"), .body = STR("{\"id\":\"a\\\"b\"}")},
        {.id = STR("c"), .body = STR("{\"id\":\"c\"}")},
    };

    (void)state;
    assert_written(&(struct store_list){.items = {items, 2}, .has_more = true},
                   "{\"object\":\"list\",\"data\":[{\"id\":\"a\\\"b\"},{\"id\":\"c\"}],"
                   "\"first_id\":\"a\\\"b\",\"last_id\":\"c\",\"has_more\":true}");
    assert_written(&(struct store_list){.items = {items + 1, 1}},
                   "{\"object\":\"list\",\"data\":[{\"id\":\"c\"}],"
                   "\"first_id\":\"c\",\"last_id\":\"c\",\"has_more\":false}");
}

static void an_empty_list_names_none(void **state)
{
    (void)state;
    assert_written(&(struct store_list){.has_more = false},
                   "{\"object\":\"list\",\"data\":[],\"first_id\":null,\"last_id\":null,"
                   "\"has_more\":false}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_page_is_what_the_query_says, teardown),
        cmocka_unit_test_teardown(wrong_options_are_told_like_wrong_members, teardown),
        cmocka_unit_test_teardown(include_takes_the_values_of_requests, teardown),
        cmocka_unit_test_teardown(a_flag_is_true_or_false, teardown),
        cmocka_unit_test(lists_name_their_first_and_last_item),
        cmocka_unit_test(an_empty_list_names_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
