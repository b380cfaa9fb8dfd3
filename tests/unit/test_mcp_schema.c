/* test_mcp_schema.c -- schemas and descriptions for models (MCP 10.5 to 10.7). */
#include "lib/test.h"

#include "mcp/proto/mcp_schema.h"

#define CONFORMANCE                                                                                \
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\",\"$defs\":" \
    "{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\"}},\"properties\":{\"name\":{"    \
    "\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"}},\"allOf\":[{\"anyOf\":[{"    \
    "\"required\":[\"name\"]}]}],\"if\":{\"properties\":{\"name\":{\"const\":\"x\"}}},\"then\":{"  \
    "\"required\":[\"address\"]},\"else\":{},\"additionalProperties\":false}"

static const struct {
    const char *schema, *written;
} schemas[] = {
    {"{}", "{\"type\":\"object\",\"properties\":{}}"},
    {"{\"type\":\"object\"}", "{\"type\":\"object\",\"properties\":{}}"},
    {"{\"properties\":{}}", "{\"properties\":{},\"type\":\"object\"}"},
    /* Only the root's $schema goes; everything else stays in its order. */
    {CONFORMANCE,
     "{\"type\":\"object\",\"$defs\":"
     "{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\"}},\"properties\":{\"name\":{"
     "\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"}},\"allOf\":[{\"anyOf\":[{"
     "\"required\":[\"name\"]}]}],\"if\":{\"properties\":{\"name\":{\"const\":\"x\"}}},\"then\":{"
     "\"required\":[\"address\"]},\"else\":{},\"additionalProperties\":false}"},
    {"{\"type\":\"object\",\"properties\":{\"$schema\":{\"$schema\":\"x\"}}}",
     "{\"type\":\"object\",\"properties\":{\"$schema\":{\"$schema\":\"x\"}}}"},
    /* A reference is passed on, whatever it points to. */
    {"{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"http://localhost:9/canary\"}}}",
     "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"http://localhost:9/canary\"}}}"},
    /* The annotation is a keyword of schemas, but also a good name for a property. */
    {"{\"type\":\"object\",\"properties\":{\"r\":{\"type\":\"string\",\"x-mcp-header\":\"R\"},"
     "\"x-mcp-header\":{\"type\":\"string\"}}}",
     "{\"type\":\"object\",\"properties\":{\"r\":{\"type\":\"string\"},"
     "\"x-mcp-header\":{\"type\":\"string\"}}}"},
    {"{\"type\":\"object\",\"properties\":{\"a\":{\"items\":[{\"x-mcp-header\":1}],\"enum\":[{"
     "\"x-mcp-header\":1}],\"default\":{\"x-mcp-header\":1}}},\"x\\u002dmcp-header\":\"R\"}",
     "{\"type\":\"object\",\"properties\":{\"a\":{\"items\":[{}],\"enum\":[{"
     "\"x-mcp-header\":1}],\"default\":{\"x-mcp-header\":1}}}}"},
    {"{ \"type\" : \"object\",\n \"properties\" : { \"a b\" : { \"description\" : \" \\u00e9 \" } "
     "} }",
     "{\"type\":\"object\",\"properties\":{\"a b\":{\"description\":\" \\u00e9 \"}}}"},
};

static void the_models_copy_differs_in_what_is_needed_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(schemas); i++) {
        struct buf out = {0}, again = {0};

        assert_int_equal(mcp_schema_check(str_from_c(schemas[i].schema), NULL), 0);
        mcp_schema_write(str_from_c(schemas[i].schema), &out);
        assert_str_c(buf_str(&out), schemas[i].written);
        mcp_schema_write(buf_str(&out), &again);
        assert_str_eq(buf_str(&again), buf_str(&out));
        buf_fini(&out);
        buf_fini(&again);
    }
}

static void a_schema_that_no_model_could_use_drops_its_tool(void **state)
{
    static const struct {
        const char *schema, *why;
    } cases[] = {
        {NULL, "its inputSchema is not an object"},
        {"true", "its inputSchema is not an object"},
        {"[]", "its inputSchema is not an object"},
        {"{\"type\":\"string\"}", "its inputSchema has another type than \"object\""},
        {"{\"type\":[\"object\"]}", "its inputSchema has another type than \"object\""},
        {"{\"type\":null}", "its inputSchema has another type than \"object\""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e;

        assert_int_equal(mcp_schema_check(str_from_c(cases[i].schema), &e), -1);
        assert_string_equal(e.msg, cases[i].why);
    }
}

/* depth containers inside each other, the last an empty one; pad blanks. */
static struct buf nested(size_t depth, size_t pad)
{
    struct buf b = {0};

    for (size_t i = 1; i < depth; i++)
        buf_c(&b, "{\"not\":");
    buf_c(&b, "{}");
    for (size_t i = 0; i < pad; i++)
        buf_char(&b, ' ');
    for (size_t i = 1; i < depth; i++)
        buf_char(&b, '}');
    return b;
}

static void size_and_depth_have_limits(void **state)
{
    struct buf fits = nested(MCP_SCHEMA_MAX_DEPTH, 0), deep = nested(MCP_SCHEMA_MAX_DEPTH + 1, 0);
    struct buf full = nested(2, MCP_SCHEMA_MAX_BYTES - 10),
               large = nested(2, MCP_SCHEMA_MAX_BYTES - 9);
    struct err e;

    (void)state;
    assert_int_equal(mcp_schema_check(buf_str(&fits), &e), 0);
    assert_int_equal(mcp_schema_check(buf_str(&deep), &e), -1);
    assert_string_equal(e.msg, "its inputSchema is nested more than 64 levels deep");
    assert_int_equal(full.len, MCP_SCHEMA_MAX_BYTES);
    assert_int_equal(mcp_schema_check(buf_str(&full), &e), 0);
    assert_int_equal(mcp_schema_check(buf_str(&large), &e), -1);
    assert_string_equal(e.msg, "its inputSchema is larger than 256 KiB");
    buf_fini(&fits);
    buf_fini(&deep);
    buf_fini(&full);
    buf_fini(&large);
    assert_int_equal(mcp_schema_check(STR("{\"title\":\"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
                                          "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"}"),
                                      &e),
                     0);
}

static void descriptions_fall_back_and_lose_their_controls(void **state)
{
    static const struct {
        const char *title, *description, *server, *text;
    } cases[] = {
        {"T", "D", NULL, "D"},
        {"T", NULL, NULL, "T"},
        {"T", "", NULL, "T"},
        {NULL, NULL, NULL, ""},
        {NULL, "D", "S", "S\nD"},
        {NULL, NULL, "S", "S"},
        {NULL, "a\\u0000\\u001b[1m\\r\\n\\tb\\u007f\\u009bc\\u00e9", "S\x01",
         "S\na[1m\n\tbc\xC3\xA9"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct mcp_tool tool = {.title = str_from_c(cases[i].title),
                                      .description = str_from_c(cases[i].description)};
        struct buf out = {0};

        mcp_description_write(&tool, str_from_c(cases[i].server), &out);
        assert_str_c(buf_str(&out), cases[i].text);
        buf_fini(&out);
    }
}

static void a_long_description_is_cut_between_characters(void **state)
{
    struct buf text = {0}, out = {0};
    struct mcp_tool tool = {.title = STR_NONE};

    (void)state;
    buf_char(&text, 'x');
    for (size_t i = 0; i < MCP_DESCRIPTION_MAX_BYTES; i++)
        buf_c(&text, "\xC3\xA9");
    tool.description = buf_str(&text);
    buf_c(&out, "before");
    mcp_description_write(&tool, STR_NONE, &out);
    assert_int_equal(out.len, 6 + MCP_DESCRIPTION_MAX_BYTES - 1);
    buf_fini(&text);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_models_copy_differs_in_what_is_needed_only),
        cmocka_unit_test(a_schema_that_no_model_could_use_drops_its_tool),
        cmocka_unit_test(size_and_depth_have_limits),
        cmocka_unit_test(descriptions_fall_back_and_lose_their_controls),
        cmocka_unit_test(a_long_description_is_cut_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
