/* test_item_own.c -- calls of the gateway's own tools as items, and what is kept beside them. */
#include "lib/test.h"

#include "conv/item.h"
#include "lib/fixture.h"

struct fixture {
    struct test_ids ids;
    struct arena arena;
    struct item item;
    struct err err;
};

static int read(struct fixture *f, const struct input_options *options, const char *json)
{
    const struct path at = path_member(NULL, STR("input"));
    struct json_walk w = json_walk_of(str_from_c(json));

    *f = (struct fixture){.item = {.kind = ITEM_IGNORED}};
    test_ids_reset(&f->ids);
    return item_read(&w, &at, options, &f->ids.source, &f->arena, &f->item, &f->err);
}

static const struct input_options of_a_client = {.text_files = false};
static const struct input_options lenient = {.ignore_unknown_items = true};
static const struct input_options own = {.own_items = true};

#define RESULT(members)                                                                            \
    "{\"id\":\"ci_1_result\",\"type\":\"hosted_call_result\",\"call_id\":\"ci_1\"," members "}"
#define OF_CODE                                                                                    \
    RESULT("\"name\":\"code_interpreter\",\"arguments\":\"{\\\"code\\\":\\\"1\\\"}\","             \
           "\"output\":\"told\",\"container_id\":\"cntr_1\"")

static void a_result_is_the_call_it_belongs_to(void **state)
{
    struct fixture f;

    (void)state;
    assert_int_equal(read(&f, &own, OF_CODE), 0);
    assert_int_equal(f.item.kind, ITEM_HOSTED_CALL);
    assert_int_equal(f.item.hosted_kind, HOSTED_CODE_INTERPRETER);
    assert_str_c(f.item.id, "ci_1");
    assert_str_c(f.item.call_id, "ci_1");
    assert_str_c(f.item.name, "code_interpreter");
    assert_str_c(f.item.arguments, "{\\\"code\\\":\\\"1\\\"}");
    assert_str_c(f.item.container_id, "cntr_1");
    assert_true(f.item.has_output && f.item.is_result);
    assert_str_c(f.item.content.first->text, "told");
    assert_null(f.item.content.first->next);
    arena_fini(&f.arena);
}

static void no_client_writes_a_result(void **state)
{
    struct fixture f;

    (void)state;
    assert_int_equal(read(&f, &of_a_client, OF_CODE), -1);
    assert_int_equal(f.err.code, ERR_INVALID_VALUE);
    assert_string_equal(f.err.param, "input.type");
    arena_fini(&f.arena);
    assert_int_equal(read(&f, &lenient, OF_CODE), 0);
    assert_int_equal(f.item.kind, ITEM_IGNORED);
    arena_fini(&f.arena);
}

static void a_result_without_a_name_is_an_origin(void **state)
{
    struct item call = {.kind = ITEM_HOSTED_CALL, .call_id = STR("mcp_1"), .has_output = true};
    struct fixture f;

    (void)state;
    assert_int_equal(read(&f, &own,
                          "{\"type\":\"hosted_call_result\",\"call_id\":\"mcp_1\","
                          "\"upstream_id\":\"c1\",\"ends_round\":true}"),
                     0);
    assert_true(f.item.is_result && f.item.is_origin);
    item_take_result(&call, &f.item);
    assert_str_c(call.call_id, "c1");
    assert_true(call.ends_round && call.has_output && !call.is_result);
    arena_fini(&f.arena);
}

static void a_result_may_have_what_the_upstream_wrote(void **state)
{
    struct item call = {.kind = ITEM_IGNORED, .index = 7};
    struct fixture f;

    (void)state;
    assert_int_equal(read(&f, &own,
                          RESULT("\"name\":\"code_interpreter\",\"arguments\":\"{}\","
                                 "\"upstream_arguments\":\"{ }\",\"upstream_id\":\"c1\","
                                 "\"output\":\"x\"")),
                     0);
    item_take_result(&call, &f.item);
    assert_true(call.kind == ITEM_HOSTED_CALL && call.index == 7 && !call.ends_round);
    assert_str_c(call.call_id, "c1");
    assert_str_c(call.arguments, "{}");
    assert_str_c(call.upstream_arguments, "{ }");
    arena_fini(&f.arena);
}

static void a_result_has_a_call(void **state)
{
    struct fixture f;

    (void)state;
    assert_int_equal(read(&f, &own, "{\"type\":\"hosted_call_result\",\"name\":\"web_search\"}"),
                     -1);
    assert_string_equal(f.err.param, "input.call_id");
    arena_fini(&f.arena);
}

#define CODE(members)   "{\"type\":\"code_interpreter_call\",\"code\":\"1\"" members "}"
#define SEARCH(members) "{\"type\":\"web_search_call\",\"id\":\"ws\"" members "}"
#define LOGS            ",\"outputs\":[{\"type\":\"logs\",\"logs\":\"l\"}]"

static void the_store_may_know_more_of_what_lacks_its_output(void **state)
{
    static const struct {
        const char *json;
        enum item_kind kind;
        bool is_partial;
    } cases[] = {
        {CODE(",\"id\":\"ci\""), ITEM_HOSTED_CALL, true},
        {CODE(",\"id\":\"ci\",\"outputs\":null,\"status\":\"failed\""), ITEM_HOSTED_CALL, true},
        {CODE(",\"id\":\"ci\"" LOGS), ITEM_HOSTED_CALL, false},
        {CODE(",\"id\":\"ci\",\"outputs\":[]"), ITEM_HOSTED_CALL, true},
        {CODE(""), ITEM_HOSTED_CALL, false},
        {CODE(",\"id\":\"ci\",\"status\":\"in_progress\""), ITEM_IGNORED, false},
        {CODE(",\"id\":\"ci\",\"status\":\"incomplete\"" LOGS), ITEM_IGNORED, false},
        {SEARCH(""), ITEM_IGNORED, true},
        {SEARCH(",\"status\":\"completed\",\"action\":{}"), ITEM_IGNORED, true},
        {SEARCH(",\"status\":\"failed\""), ITEM_IGNORED, true},
        {SEARCH(",\"status\":\"searching\""), ITEM_IGNORED, false},
        {SEARCH(",\"status\":\"incomplete\""), ITEM_IGNORED, false},
        {SEARCH(",\"action\":\"of a wrong type\""), ITEM_IGNORED, false},
        {"{\"type\":\"web_search_call\"}", ITEM_IGNORED, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;

        if (read(&f, &of_a_client, cases[i].json) == -1)
            fail_msg("%s: %s", cases[i].json, f.err.msg);
        if (f.item.kind != cases[i].kind || f.item.is_partial != cases[i].is_partial)
            fail_msg("%s: kind %d, partial %d", cases[i].json, f.item.kind, f.item.is_partial);
        arena_fini(&f.arena);
    }
}

static void the_last_container_of_code_is_known(void **state)
{
    static const struct {
        const char *input, *container;
    } cases[] = {
        {"[" CODE(",\"container_id\":\"a\"" LOGS) "," CODE(",\"container_id\":\"b\"" LOGS) "]",
         "b"},
        {"[" CODE(",\"container_id\":\"a\"") "," CODE(",\"container_id\":null") "," SEARCH("") "]",
         "a"},
        {"[" CODE(",\"container_id\":\"a\"") "," CODE(",\"container_id\":\"auto\"") "]", "a"},
        {"[" CODE(",\"container_id\":\"a\"") "," CODE(",\"container_id\":7") "]", "a"},
        {"[" CODE(",\"container_id\":\"a\",\"status\":\"incomplete\"") "]", "a"},
        {"[" CODE("") "]", NULL},
        {"[]", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct item_list list;
        struct fixture f = {.item = {.kind = ITEM_IGNORED}};
        str container;

        test_ids_reset(&f.ids);
        assert_int_equal(item_list_parse(str_from_c(cases[i].input), NULL, &of_a_client,
                                         &f.ids.source, &f.arena, &list, &f.err),
                         0);
        container = item_list_container(&list);
        if (!str_eq(container, str_from_c(cases[i].container)))
            fail_msg("%s: %.*s", cases[i].input, STR_ARG(container));
        arena_fini(&f.arena);
    }
}

static void only_hosted_calls_have_results(void **state)
{
    struct arena a = {0};

    (void)state;
    assert_true(item_has_result(STR(CODE(""))));
    assert_true(item_has_result(STR(SEARCH(""))));
    assert_true(item_has_result(STR("{\"type\":\"mcp_call\"}")));
    assert_false(item_has_result(STR("{\"type\":\"function_call\"}")));
    assert_false(item_has_result(STR("{\"role\":\"user\",\"content\":\"web_search_call\"}")));
    assert_false(item_has_result(STR(OF_CODE)));
    assert_str_c(item_result_id(STR("ws_1"), &a), "ws_1_result");
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_is_the_call_it_belongs_to),
        cmocka_unit_test(no_client_writes_a_result),
        cmocka_unit_test(a_result_without_a_name_is_an_origin),
        cmocka_unit_test(a_result_may_have_what_the_upstream_wrote),
        cmocka_unit_test(a_result_has_a_call),
        cmocka_unit_test(the_store_may_know_more_of_what_lacks_its_output),
        cmocka_unit_test(the_last_container_of_code_is_known),
        cmocka_unit_test(only_hosted_calls_have_results),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
