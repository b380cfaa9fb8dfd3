/* test_output_result.c -- what the gateway's own tools told the model, as the store keeps it. */
#include "lib/test.h"

#include "conv/item.h"
#include "lib/fixture.h"
#include "response/output_result.h"

struct fixture {
    struct test_ids ids;
    struct arena arena;
    struct output_item *item;
    struct buf out;
};

static void begin(struct fixture *f, enum output_kind kind)
{
    *f = (struct fixture){.out = {.limit = 0}};
    test_ids_reset(&f->ids);
    f->item = output_item_new(&f->arena, kind, 0, &f->ids.source);
    assert_non_null(f->item);
    f->item->status = OUTPUT_COMPLETED;
}

static void end(struct fixture *f)
{
    output_item_fini(f->item);
    buf_fini(&f->out);
    arena_fini(&f->arena);
}

/* Writes it, with ID where the id of the item stands. */
static void check_written(struct fixture *f, const char *expected)
{
    const str id = id_str(&f->item->id);
    struct buf wanted = {.limit = 0};

    for (str rest = str_from_c(expected); rest.len > 0;) {
        if (str_starts_with(rest, STR("ID"))) {
            buf_append(&wanted, id);
            rest = str_skip(rest, 2);
        } else {
            buf_char(&wanted, rest.p[0]);
            rest = str_skip(rest, 1);
        }
    }
    output_result_write(f->item, &f->out);
    assert_str_c(buf_str(&f->out), buf_cstr(&wanted));
    buf_fini(&wanted);
}

static void the_result_of_code_has_code_output_and_container(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, OUTPUT_CODE_INTERPRETER_CALL);
    buf_c(&f.item->text, "print(\\\"\\u00e4\\\")\\n");
    f.item->output = STR("\\u00e4\\n");
    f.item->container_id = STR("cntr_1");
    check_written(&f, "{\"id\":\"ID_result\",\"type\":\"hosted_call_result\",\"call_id\":\"ID\","
                      "\"name\":\"code_interpreter\",\"arguments\":\"{\\\"code\\\":\\\"print("
                      "\\\\\\\"\\\\u00e4\\\\\\\")\\\\n\\\"}\",\"container_id\":\"cntr_1\","
                      "\"output\":\"\\u00e4\\n\"}");
    end(&f);
}

static void the_result_of_a_search_has_the_arguments_of_the_model(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, OUTPUT_WEB_SEARCH_CALL);
    buf_c(&f.item->text, "{\"type\":\"search\",\"query\":\"q\"}");
    buf_c(&f.item->arguments, "{\\\"action\\\":\\\"search\\\",\\\"query\\\":\\\"q\\\"}");
    f.item->output = STR("[0] q");
    check_written(&f, "{\"id\":\"ID_result\",\"type\":\"hosted_call_result\",\"call_id\":\"ID\","
                      "\"name\":\"web_search\",\"arguments\":\"{\\\"action\\\":\\\"search\\\","
                      "\\\"query\\\":\\\"q\\\"}\",\"output\":\"[0] q\"}");
    end(&f);
}

static void a_result_has_what_the_upstream_wrote_if_that_is_another_text(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, OUTPUT_WEB_SEARCH_CALL);
    buf_c(&f.item->arguments, "{\\\"query\\\":\\\"q\\\"}");
    buf_c(&f.item->upstream_arguments, "{ \\\"query\\\":\\\"q\\\"}");
    f.item->output = STR("[0] q");
    f.item->upstream_id = STR("eHN4F");
    f.item->ends_round = true;
    check_written(&f, "{\"id\":\"ID_result\",\"type\":\"hosted_call_result\",\"call_id\":\"ID\","
                      "\"upstream_id\":\"eHN4F\",\"ends_round\":true,"
                      "\"name\":\"web_search\",\"arguments\":\"{\\\"query\\\":\\\"q\\\"}\","
                      "\"upstream_arguments\":\"{ \\\"query\\\":\\\"q\\\"}\","
                      "\"output\":\"[0] q\"}");
    end(&f);
}

static void beside_a_call_of_an_mcp_tool_stands_its_origin(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, OUTPUT_MCP_CALL);
    buf_c(&f.item->text, "{}");
    f.item->output = STR("shown");
    f.item->upstream_id = STR("eHN4F");
    check_written(&f, "{\"id\":\"ID_result\",\"type\":\"hosted_call_result\",\"call_id\":\"ID\","
                      "\"upstream_id\":\"eHN4F\"}");
    end(&f);
}

static void what_is_written_is_read_as_the_call(void **state)
{
    const struct input_options options = {.own_items = true};
    struct item it = {.kind = ITEM_IGNORED};
    struct fixture f;
    struct err e;
    struct json_walk w;

    (void)state;
    begin(&f, OUTPUT_CODE_INTERPRETER_CALL);
    buf_c(&f.item->text, "\\\"\\\\n\\\"\\ud83d\\ude00");
    f.item->output = STR("Error: \\\"x\\\"");
    output_result_write(f.item, &f.out);
    w = json_walk_of(buf_str(&f.out));
    assert_int_equal(item_read(&w, NULL, &options, &f.ids.source, &f.arena, &it, &e), 0);
    assert_true(it.is_result && it.hosted_kind == HOSTED_CODE_INTERPRETER);
    assert_true(str_eq(it.call_id, id_str(&f.item->id)));
    assert_str_c(it.arguments,
                 "{\\\"code\\\":\\\"\\\\\\\"\\\\\\\\n\\\\\\\"\\\\ud83d\\\\ude00\\\"}");
    assert_str_c(it.content.first->text, "Error: \\\"x\\\"");
    assert_true(str_is_none(it.container_id));
    end(&f);
}

static void only_calls_that_have_ended_have_results(void **state)
{
    static const struct {
        enum output_kind kind;
        enum output_status status;
        bool is_told, is_hidden, exists, has_origin;
    } cases[] = {
        {OUTPUT_CODE_INTERPRETER_CALL, OUTPUT_COMPLETED, true, false, true, false},
        {OUTPUT_CODE_INTERPRETER_CALL, OUTPUT_FAILED, true, true, true, false},
        {OUTPUT_CODE_INTERPRETER_CALL, OUTPUT_INCOMPLETE, true, false, false, false},
        {OUTPUT_CODE_INTERPRETER_CALL, OUTPUT_IN_PROGRESS, true, false, false, false},
        {OUTPUT_WEB_SEARCH_CALL, OUTPUT_COMPLETED, true, false, true, false},
        {OUTPUT_WEB_SEARCH_CALL, OUTPUT_COMPLETED, false, false, false, false},
        {OUTPUT_MCP_CALL, OUTPUT_COMPLETED, true, false, false, false},
        {OUTPUT_MCP_CALL, OUTPUT_COMPLETED, true, false, true, true},
        {OUTPUT_MCP_CALL, OUTPUT_FAILED, false, false, true, true},
        {OUTPUT_MCP_CALL, OUTPUT_INCOMPLETE, false, false, false, true},
        {OUTPUT_FUNCTION_CALL, OUTPUT_COMPLETED, false, false, false, false},
        {OUTPUT_MESSAGE, OUTPUT_COMPLETED, false, false, false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct output_item item = {.kind = cases[i].kind,
                                         .status = cases[i].status,
                                         .output = cases[i].is_told ? STR("") : STR_NONE,
                                         .upstream_id = cases[i].has_origin ? STR("c1") : STR_NONE,
                                         .is_hidden = cases[i].is_hidden};

        assert_int_equal(output_result_exists(&item), cases[i].exists);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_result_of_code_has_code_output_and_container),
        cmocka_unit_test(the_result_of_a_search_has_the_arguments_of_the_model),
        cmocka_unit_test(a_result_has_what_the_upstream_wrote_if_that_is_another_text),
        cmocka_unit_test(beside_a_call_of_an_mcp_tool_stands_its_origin),
        cmocka_unit_test(what_is_written_is_read_as_the_call),
        cmocka_unit_test(only_calls_that_have_ended_have_results),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
