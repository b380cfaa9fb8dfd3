/* test_hosted.c -- the names of hosted tools, and that what their rows say fits together. */
#include "lib/test.h"

#include "conv/hosted.h"
#include "json/json_read.h"
#include "response/output_item.h"
#include "wire/tools/hosted_tool.h"

static const enum hosted_kind kinds[] = {
#define HOSTED_TOOL(symbol, ...) HOSTED_##symbol,
#include "conv/hosted.def"
};

static void types_and_items_lead_back_to_the_tool(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const str type = hosted_type(kinds[i]);
        char item[64];

        (void)snprintf(item, sizeof(item), "%.*s_call", STR_ARG(type));
        assert_int_equal(hosted_of_type(type), kinds[i]);
        assert_int_equal(hosted_of_item(str_from_c(item)), kinds[i]);
        assert_int_equal(hosted_of_item(type), HOSTED_NONE);
        assert_int_equal(hosted_of_type(str_from_c(item)), HOSTED_NONE);
    }
    assert_int_equal(hosted_of_item(STR("web\\u005fsearch_call")), HOSTED_WEB_SEARCH);
    assert_int_equal(hosted_of_type(STR("function")), HOSTED_NONE);
    assert_int_equal(hosted_of_type(STR("")), HOSTED_NONE);
}

static void calls_of_a_tool_are_items_of_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const enum output_kind kind = output_hosted_call(kinds[i]);
        const str item = str_from_c(output_kind_row(kind)->type);

        assert_int_equal(output_hosted_kind(kind), kinds[i]);
        assert_int_equal(hosted_of_item(item), kinds[i]);
        assert_true(output_is_hosted_call(kind));
    }
    assert_int_equal(output_hosted_kind(OUTPUT_MCP_CALL), HOSTED_NONE);
    assert_int_equal(output_hosted_kind(OUTPUT_FUNCTION_CALL), HOSTED_NONE);
}

/* A call that does not grow is made by the tool of all its arguments. */
static void each_tool_has_what_its_row_asks_for(void **state)
{
    static const struct search_declaration search = {.opens_pages = true};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const struct hosted_tool *hosted = hosted_tool(kinds[i]);
        const struct output_kind_row *row = output_kind_row(output_hosted_call(kinds[i]));
        const struct tool tool = {.kind = TOOL_HOSTED, .hosted_kind = kinds[i], .search = &search};

        assert_true(hosted->description.len > 0);
        assert_true(jr_is_valid(hosted->parameters(&tool)));
        assert_int_equal(hosted->show != NULL, row->delta == EVENT_NONE);
        assert_int_equal(row->done == EVENT_NONE, row->delta == EVENT_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_and_items_lead_back_to_the_tool),
        cmocka_unit_test(calls_of_a_tool_are_items_of_its_own),
        cmocka_unit_test(each_tool_has_what_its_row_asks_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
