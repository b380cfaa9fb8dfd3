/* test_client_call.c -- arguments of client tools as what their items show. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "response/client_call.h"

static const struct {
    enum output_kind kind;
    const char *arguments; /* escaped */
    const char *shown;
} cases[] = {
    {OUTPUT_LOCAL_SHELL_CALL, "{\\\"command\\\":[\\\"ls\\\"]}",
     "{\"type\":\"exec\",\"command\":[\"ls\"],\"env\":{}}"},
#define COMMANDS(list, rest) "{\"commands\":" list "," rest "}"
#define NO_LIMITS            "\"timeout_ms\":null,\"max_output_length\":null"
    {OUTPUT_SHELL_CALL,
     " {\\\"commands\\\" : [ \\\"ls\\\", \\\"pwd\\\" ],\\\"max_output_length\\\":3}\\n",
     COMMANDS("[\"ls\",\"pwd\"]", "\"timeout_ms\":null,\"max_output_length\":3")},
    {OUTPUT_SHELL_CALL, "{\\\"commands\\\":[],\\\"timeout_ms\\\":2.0}",
     COMMANDS("[]", "\"timeout_ms\":2,\"max_output_length\":null")},
    {OUTPUT_SHELL_CALL,
     "{\\\"commands\\\":\\\"ls \\\\\\\"a\\\\\\\"\\\",\\\"timeout_ms\\\":-1,\\\"max_output_length\\\":"
     "1.5}",
     COMMANDS("[\"ls \\\"a\\\"\"]", NO_LIMITS)},
    {OUTPUT_SHELL_CALL, "{\\\"command\\\":\\\"ls\\\"}", COMMANDS("[\"ls\"]", NO_LIMITS)},
    /* what names no command is one word, so that no shell reads into it */
    {OUTPUT_SHELL_CALL, "{\\\"commands\\\":[\\\"a\\\",1]}",
     COMMANDS("[\"'{\\\"commands\\\":[\\\"a\\\",1]}'\"]", NO_LIMITS)},
    {OUTPUT_SHELL_CALL, "a'b\\u0027$(c)", COMMANDS("[\"'a'\\\\''b'\\\\''$(c)'\"]", NO_LIMITS)},
    {OUTPUT_SHELL_CALL, "", COMMANDS("[\"''\"]", NO_LIMITS)},
#define OPERATION(type, path, rest) "{\"type\":\"" type "\",\"path\":\"" path "\"" rest "}"
    {OUTPUT_APPLY_PATCH_CALL,
     "{\\\"path\\\":\\\"a\\\",\\\"diff\\\":\\\"+\\\",\\\"type\\\":\\\"create_file\\\",\\\"x\\\":1}",
     OPERATION("create_file", "a", ",\"diff\":\"+\"")},
    {OUTPUT_APPLY_PATCH_CALL, "{\\\"path\\\":\\\"a\\\",\\\"type\\\":\\\"update_file\\\"}",
     OPERATION("update_file", "a", ",\"diff\":\"\"")},
    {OUTPUT_APPLY_PATCH_CALL,
     "{\\\"path\\\":\\\"a\\\",\\\"type\\\":\\\"delete_file\\\",\\\"diff\\\":1}",
     OPERATION("delete_file", "a", "")},
    {OUTPUT_APPLY_PATCH_CALL,
     "{\\\"operation\\\":{\\\"path\\\":\\\"a\\\",\\\"type\\\":\\\"delete_file\\\"}}",
     OPERATION("delete_file", "a", "")},
    {OUTPUT_APPLY_PATCH_CALL, "{\\\"path\\\":\\\"\\\",\\\"type\\\":\\\"delete_file\\\"}",
     OPERATION("update_file", ".",
               ",\"diff\":\"{\\\"path\\\":\\\"\\\",\\\"type\\\":\\\"delete_file\\\"}\"")},
    {OUTPUT_APPLY_PATCH_CALL, "*** Begin",
     OPERATION("update_file", ".", ",\"diff\":\"*** Begin\"")},
    {OUTPUT_CLIENT_SEARCH_CALL, " {\\\"query\\\" : 1}", "{\"query\":1}"},
    {OUTPUT_CLIENT_SEARCH_CALL, "dates", "\"dates\""},
    {OUTPUT_CLIENT_SEARCH_CALL, "", "{}"},
};

static void arguments_become_what_the_item_shows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        str arguments = str_from_c(cases[i].arguments);
        char *exact = exact_copy(arguments);
        struct buf out = {.limit = 0};

        assert_true(client_call_is(cases[i].kind));
        client_call_write(cases[i].kind, str_from(exact, arguments.len), &out);
        assert_str_c(buf_str(&out), cases[i].shown);
        buf_fini(&out);
        free(exact);
    }
}

static void other_items_are_none(void **state)
{
    (void)state;
    assert_false(client_call_is(OUTPUT_FUNCTION_CALL));
    assert_false(client_call_is(OUTPUT_WEB_SEARCH_CALL));
    assert_false(client_call_is(OUTPUT_MCP_CALL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(arguments_become_what_the_item_shows),
                                       cmocka_unit_test(other_items_are_none)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
