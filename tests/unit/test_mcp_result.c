/* test_mcp_result.c -- results to text: exact strings (MCP 13). */
#include "lib/test.h"

#include "json/json_read.h"
#include "lib/fixture.h"
#include "mcp/proto/mcp_result.h"

static struct buf write(const char *result, const struct mcp_result_options *o)
{
    struct mcp_call_result r;
    struct buf out = {0};

    assert_true(jr_is_valid(str_from_c(result)));
    assert_int_equal(mcp_read_call(str_from_c(result), &r, NULL), 0);
    mcp_result_write(&r, o, &out);
    assert_false(buf_failed(&out));
    return out;
}

static void check(const char *result, const struct mcp_result_options *o, const char *text)
{
    struct buf out = write(result, o);

    assert_str_c(buf_str(&out), text);
    buf_fini(&out);
}

#define TEXT(t) "{\"type\":\"text\",\"text\":\"" t "\"}"

static const struct {
    const char *result, *text;
} texts[] = {
    {"{\"content\":[" TEXT("one") "]}", "one"},
    {"{\"content\":[" TEXT("one") "," TEXT("two") "]}", "one\ntwo"},
    {"{\"content\":[" TEXT("") "," TEXT("two\\n") "]}", "\ntwo\n"},
    {"{\"content\":[" TEXT("caf\\u00e9 \\ud83d\\ude00") "]}", "caf\xC3\xA9 \xF0\x9F\x98\x80"},
    {"{\"content\":[" TEXT("a\\u0000b\\ud83d") "]}", "ab\xEF\xBF\xBD"},
    {"{\"content\":[]}", ""},
    {"{\"content\":[{\"type\":\"image\",\"data\":\"iVBORw0KGgo=\",\"mimeType\":\"image/png\"}]}",
     "[image image/png, 8 bytes]"},
    {"{\"content\":[{\"type\":\"audio\",\"data\":\"UklGRiQAAABXQVZF\",\"mimeType\":\"audio/"
     "wav\"}]}",
     "[audio audio/wav, 12 bytes]"},
    {"{\"content\":[{\"type\":\"image\",\"data\":\"iV\\nBO\\/w\\u003d\\u003d\"}]}",
     "[image, 4 bytes]"},
    {"{\"content\":[{\"type\":\"image\"}]}", "[image, 0 bytes]"},
    {"{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"demo://t/1\",\"text\":\"its "
     "text\"}}]}",
     "its text"},
    {"{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"demo://b/2\",\"mimeType\":"
     "\"text/plain\",\"blob\":\"UmVzb3VyY2U=\"}}]}",
     "[blob text/plain, 8 bytes] demo://b/2"},
    {"{\"content\":[{\"type\":\"resource_link\",\"name\":\"readme.md\",\"uri\":\"file:///r.md\","
     "\"mimeType\":\"text/markdown\"}]}",
     "[resource] readme.md file:///r.md text/markdown"},
    {"{\"content\":[{\"type\":\"resource_link\",\"uri\":\"file:///r.md\"}]}",
     "[resource] file:///r.md"},
    {"{\"content\":[{\"type\":\"hologram\"}," TEXT("x") ",{},7]}",
     "[hologram]\nx\n[unknown]\n[unknown]"},
    {"{\"content\":[{\"type\":\"text\"}]}", ""},
    {"{\"structuredContent\":{\"a\" : [1, 2]}}", "{\"a\":[1,2]}"},
    {"{\"content\":[],\"structuredContent\":[1, 2]}", "[1,2]"},
    {"{\"content\":[],\"structuredContent\":\"s\"}", "\"s\""},
    {"{\"content\":[],\"structuredContent\":null}", ""},
    {"{\"content\":[" TEXT("both") "],\"structuredContent\":{\"a\":1}}", "both"},
    {"{\"content\":[{\"type\":\"image\",\"data\":\"AAAA\"}],\"structuredContent\":{\"a\":1}}",
     "[image, 3 bytes]\n{\"a\":1}"},
};

static void each_part_becomes_exactly_this_text(void **state)
{
    const struct mcp_result_options options = {.form = MCP_RESULT_TEXT};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        check(texts[i].result, &options, texts[i].text);
}

#define MIXED                                                                                      \
    "{\"content\":[" TEXT("one") "," TEXT(                                                         \
        "t\\\"wo\\u0000") ",{\"type\":\"image\",\"data\":"                                         \
                          "\"iVBORw0KGgo=\", \"mimeType\":\"image/png\"}]}"

static void a_json_array_holds_the_text_parts_alone(void **state)
{
    const struct mcp_result_options options = {.form = MCP_RESULT_JSON_ARRAY};

    (void)state;
    check(MIXED, &options, "[\"one\",\"t\\\"wo\"]");
    check("{\"content\":[]}", &options, "[]");
    check("{\"content\":[],\"structuredContent\":{\"a\":1}}", &options, "[\"{\\\"a\\\":1}\"]");
}

static void parts_of_an_error_are_texts(void **state)
{
    const struct mcp_result_options options = {.form = MCP_RESULT_PARTS};

    (void)state;
    check(MIXED, &options,
          "[" TEXT("one") "," TEXT("t\\\"wo") "," TEXT("[image image/png, 8 bytes]") "]");
    check("{\"content\":[]}", &options, "[]");
}

static void what_passes_the_limit_is_counted_in_a_note(void **state)
{
    static const struct {
        const char *result;
        enum mcp_result_form form;
        size_t limit_bytes;
        const char *text;
    } cases[] = {
        {"{\"content\":[" TEXT("12345") "]}", MCP_RESULT_TEXT, 5, "12345"},
        {"{\"content\":[" TEXT("12345") "]}", MCP_RESULT_TEXT, 4, "1234\n[1 bytes dropped]"},
        {"{\"content\":[" TEXT("12\xC3\xA9") "]}", MCP_RESULT_TEXT, 3, "12\n[2 bytes dropped]"},
        {"{\"content\":[" TEXT("12345") "," TEXT("") "," TEXT("67") "]}", MCP_RESULT_TEXT, 4,
         "1234\n[3 bytes dropped]"},
        {"{\"content\":[" TEXT("1234") "," TEXT("56") "]}", MCP_RESULT_TEXT, 4,
         "1234\n[2 bytes dropped]"},
        {"{\"content\":[" TEXT("1234") "," TEXT("56") "]}", MCP_RESULT_TEXT, 6,
         "1234\n5\n[1 bytes dropped]"},
        {"{\"content\":[" TEXT("12345") "," TEXT("6") "]}", MCP_RESULT_JSON_ARRAY, 4,
         "[\"1234\\n[2 bytes dropped]\"]"},
        {"{\"content\":[" TEXT("12345") "]}", MCP_RESULT_PARTS, 4,
         "[" TEXT("1234\\n[1 bytes dropped]") "]"},
        {"{\"content\":[" TEXT("") "," TEXT("") "," TEXT("") "," TEXT("ab") "]}", MCP_RESULT_TEXT,
         1, "\n\n[2 bytes dropped]"},
        {"{\"structuredContent\":[1,2,3]}", MCP_RESULT_TEXT, 4, "[1,2\n[3 bytes dropped]"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct mcp_result_options options = {.form = cases[i].form,
                                                   .limit_bytes = cases[i].limit_bytes};

        check(cases[i].result, &options, cases[i].text);
    }
}

static void the_usual_limit_is_256_kib(void **state)
{
    const struct mcp_result_options options = {.form = MCP_RESULT_TEXT};
    struct buf json = {0}, out;
    struct mcp_call_result r;

    (void)state;
    buf_c(&json, "{\"content\":[{\"type\":\"text\",\"text\":\"");
    for (size_t i = 0; i < MCP_RESULT_LIMIT_BYTES + 7; i++)
        buf_char(&json, 'x');
    buf_c(&json, "\"}]}");
    assert_int_equal(mcp_read_call(buf_str(&json), &r, NULL), 0);
    out = (struct buf){0};
    mcp_result_write(&r, &options, &out);
    assert_str_c(str_skip(buf_str(&out), MCP_RESULT_LIMIT_BYTES), "\n[7 bytes dropped]");
    buf_fini(&json);
    buf_fini(&out);
}

static void a_model_never_gets_an_empty_message(void **state)
{
    (void)state;
    assert_str_c(mcp_result_for_model(STR("")), "[no content]");
    assert_str_c(mcp_result_for_model(STR("x")), "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_becomes_exactly_this_text),
        cmocka_unit_test(a_json_array_holds_the_text_parts_alone),
        cmocka_unit_test(parts_of_an_error_are_texts),
        cmocka_unit_test(what_passes_the_limit_is_counted_in_a_note),
        cmocka_unit_test(the_usual_limit_is_256_kib),
        cmocka_unit_test(a_model_never_gets_an_empty_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
