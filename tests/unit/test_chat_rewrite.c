/* test_chat_rewrite.c -- what bodies of Chat Completions lose before they are passed on. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "wire/chat/chat_rewrite.h"

static const char *const rows[] = {"small=up/s"};
static const struct name_list aliases = {rows, COUNT_OF(rows)};
static const struct name_list no_alias = {NULL, 0};

/* The result is NULL when the body is to be sent as it is. */
static void check_body(struct name_list list, const char *body, const char *expected)
{
    char *exact = exact_copy(str_from_c(body));
    struct buf out = {.limit = 0};
    bool rewritten = chat_rewrite(list, str_from(exact, strlen(body)), &out);

    assert_int_equal(rewritten, expected != NULL);
    assert_str_c(buf_str(&out), expected == NULL ? "" : expected);
    buf_fini(&out);
    free(exact);
}

static void reasoning_of_nulls_goes_with_one_comma(void **state)
{
    static const struct {
        const char *body, *rest;
    } cases[] = {
        {"{\"a\":1,\"reasoning\":{\"effort\":null,\"summary\":null},\"b\":[1.50]}",
         "{\"a\":1,\"b\":[1.50]}"},
        {" {\n \"reasoning\" : { \"effort\" : null } ,\n \"b\": 2 }\n", " {\n \"b\": 2 }\n"},
        {"{\"a\":1 , \"reasoning\":{}\n}", "{\"a\":1\n}"},
        {"{\"reasoning\":{}}", "{}"},
        {"{\"reasoning\":{\"effort\":\"low\"},\"a\":1,\"reasoning\":{},\"b\":2}",
         "{\"a\":1,\"b\":2}"},
        {"{\"reasoning\":{},\"reasoning\":{},\"b\":2}", "{\"b\":2}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_body(no_alias, cases[i].body, cases[i].rest);
}

static void other_bodies_are_left_alone(void **state)
{
    static const char *const bodies[] = {
        "",
        "{}",
        "[\"reasoning\"]",
        "{\"reasoning\":null}",
        "{\"reasoning\":[]}",
        "{\"reasoning\":{\"effort\":\"low\",\"summary\":null}}",
        "{\"reasoning\":{\"summary\":null,\"exclude\":false}}",
        "{\"reasoning\":{},\"reasoning\":{\"effort\":\"low\"}}",
        "{\"messages\":[{\"reasoning\":{}}]}",
        "{\"a\":{\"reasoning\":{\"effort\":null}}}",
        "{\"reasoning\":{}",
        "{\"reasoning\":{}} x",
        "{\"reasoning\":{},\"a\":nope}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++)
        check_body(no_alias, bodies[i], NULL);
}

static void alias_and_reasoning_change_together(void **state)
{
    (void)state;
    check_body(aliases, "{\"reasoning\":{\"effort\":null}, \"model\":\"small\"}",
               "{ \"model\":\"up/s\"}");
    check_body(aliases, "{\"model\":\"small\",\"reasoning\":{\"effort\":\"low\"}}",
               "{\"model\":\"up/s\",\"reasoning\":{\"effort\":\"low\"}}");
    check_body(aliases, "{\"model\":\"m\",\"reasoning\":{}}", "{\"model\":\"m\"}");
    check_body(aliases, "{\"model\":\"m\"}", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasoning_of_nulls_goes_with_one_comma),
        cmocka_unit_test(other_bodies_are_left_alone),
        cmocka_unit_test(alias_and_reasoning_change_together),
    };

    return cmocka_run_group_tests_name("chat rewrite", tests, NULL, NULL);
}
