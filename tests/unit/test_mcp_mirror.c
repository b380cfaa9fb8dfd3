/* test_mcp_mirror.c -- arguments in headers (MCP 6.2, 6.3). */
#include "lib/test.h"

#include "mcp/proto/mcp_mirror.h"

static struct mcp_mirror *mirrors(const char *schema, struct arena *a)
{
    struct mcp_mirror *first;
    struct err e;

    if (mcp_mirrors_read(str_from_c(schema), a, &first, &e) == -1)
        fail_msg("%s", e.msg);
    return first;
}

#define SCHEMA(properties) "{\"type\":\"object\",\"properties\":{" properties "}}"
#define REGION             "\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"}"

static const struct {
    const char *arguments, *value; /* NULL: no header */
} values[] = {
    {"{\"region\":\"us-west1\"}", "us-west1"},
    {"{\"r\\u0065gion\":\"us\\u002dwest1\"}", "us-west1"},
    {"{\"region\":\"a, b;c=\\\"d\\\"\"}", "a, b;c=\"d\""},
    {"{\"region\":\"\"}", ""},
    {"{\"region\":\"caf\xC3\xA9\"}", "=?base64?Y2Fmw6k=?="},
    {"{\"region\":\" a\"}", "=?base64?IGE=?="},
    {"{\"region\":\"a \"}", "=?base64?YSA=?="},
    {"{\"region\":\" \"}", "=?base64?IA==?="},
    {"{\"region\":\"a\\tb\"}", "=?base64?YQli?="},
    {"{\"region\":\"a\\r\\nX: y\"}", "=?base64?YQ0KWDogeQ==?="},
    {"{\"region\":\"a\\u0000\"}", "=?base64?YQA=?="},
    {"{\"region\":\"=?base64?YQ==?=\"}", "=?base64?PT9iYXNlNjQ/WVE9PT89?="},
    {"{\"region\":\"=?base64?YQ==\"}", "=?base64?YQ=="},
    {"{\"region\":42}", "42"},
    {"{\"region\":-7}", "-7"},
    {"{\"region\":42.0}", "42"},
    {"{\"region\":1e3}", "1000"},
    {"{\"region\":9223372036854775807}", "9223372036854775807"},
    {"{\"region\":true}", "true"},
    {"{\"region\":false}", "false"},
    {"{\"region\":null}", NULL},
    {"{\"region\":{}}", NULL},
    {"{\"region\":[\"a\"]}", NULL},
    {"{}", NULL},
};

static void an_argument_is_mirrored_as_a_header_can_carry_it(void **state)
{
    struct arena a = {0};
    const struct mcp_mirror *m = mirrors(SCHEMA(REGION), &a);

    (void)state;
    assert_str_c(m->header, "Mcp-Param-Region");
    assert_null(m->next);
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        struct buf value = {0};

        assert_int_equal(mcp_mirror_value(m, str_from_c(values[i].arguments), &value),
                         values[i].value != NULL);
        assert_str_c(buf_str(&value), values[i].value == NULL ? "" : values[i].value);
        buf_fini(&value);
    }
    arena_fini(&a);
}

static void a_nested_property_is_found_by_its_path(void **state)
{
    struct arena a = {0};
    const struct mcp_mirror *m = mirrors(
        SCHEMA("\"to\":{\"type\":\"object\",\"properties\":{\"n\\u00e9\":{\"x-mcp-header\":\"A\","
               "\"type\":\"integer\"}}},\"b\":{\"type\":\"boolean\",\"x-mcp-header\":\"B\"}"),
        &a);
    struct buf value = {0};

    (void)state;
    assert_str_c(m->header, "Mcp-Param-A");
    assert_true(mcp_mirror_value(m, STR("{\"b\":true,\"to\":{\"n\xC3\xA9\":5}}"), &value));
    assert_str_c(buf_str(&value), "5");
    assert_false(mcp_mirror_value(m, STR("{\"to\":7}"), &value));
    assert_str_c(m->next->header, "Mcp-Param-B");
    assert_true(mcp_mirror_value(m->next, STR("{\"b\":true}"), &value));
    assert_null(m->next->next);
    buf_fini(&value);
    arena_fini(&a);
}

static void what_only_looks_like_an_annotation_is_none(void **state)
{
    static const char *const schemas[] = {
        "{}",
        SCHEMA("\"a\":{\"type\":\"string\"}"),
        SCHEMA("\"x-mcp-header\":{\"type\":\"string\"}"),
        SCHEMA("\"a\":{\"default\":{\"x-mcp-header\":7},\"enum\":[{\"x-mcp-header\":7}]}"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(schemas); i++) {
        struct arena a = {0};

        assert_null(mirrors(schemas[i], &a));
        arena_fini(&a);
    }
}

#define ANNOTATION(member) "{\"type\":\"string\",\"x-mcp-header\":" member "}"

static const struct {
    const char *schema, *why;
} bad_schemas[] = {
    {SCHEMA("\"a\":" ANNOTATION("\"\"")), "is not the name of a header"},
    {SCHEMA("\"a\":" ANNOTATION("\"a b\"")), "is not the name of a header"},
    {SCHEMA("\"a\":" ANNOTATION("\"a:\"")), "is not the name of a header"},
    {SCHEMA("\"a\":" ANNOTATION("\"a\\r\\nb\"")), "is not the name of a header"},
    {SCHEMA("\"a\":" ANNOTATION("\"a\\u0000\"")), "is not the name of a header"},
    {SCHEMA("\"a\":" ANNOTATION("\"\xC3\xA9\"")), "is not the name of a header"},
    {SCHEMA("\"a\":" ANNOTATION("7")), "is not a string"},
    {SCHEMA("\"a\":" ANNOTATION("null")), "is not a string"},
    {SCHEMA("\"a\":" ANNOTATION("\"R\"") ",\"b\":" ANNOTATION("\"r\"")), "occurs twice"},
    {SCHEMA("\"a\":{\"type\":\"number\",\"x-mcp-header\":\"R\"}"),
     "is on a type that has no place in a header"},
    {SCHEMA("\"a\":{\"type\":[\"string\"],\"x-mcp-header\":\"R\"}"),
     "is on a type that has no place in a header"},
    {SCHEMA("\"a\":{\"x-mcp-header\":\"R\"}"), "is on a type that has no place in a header"},
    {SCHEMA("\"a\":{\"type\":\"array\",\"items\":" ANNOTATION("\"R\"") "}"),
     "is not on a property"},
    {SCHEMA("\"a\":{\"anyOf\":[" ANNOTATION("\"R\"") "]}"), "is not on a property"},
    {"{\"$defs\":{\"properties\":" ANNOTATION("\"R\"") "}}", "is not on a property"},
    {"{\"additionalProperties\":" ANNOTATION("\"R\"") "}", "is not on a property"},
    {"{\"if\":{\"properties\":{\"a\":" ANNOTATION("\"R\"") "}}}", "is not on a property"},
    {ANNOTATION("\"R\""), "is not on a property"},
};

static void a_bad_annotation_drops_its_tool(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad_schemas); i++) {
        struct arena a = {0};
        struct mcp_mirror *first;
        struct err e = {.msg = ""};

        assert_int_equal(mcp_mirrors_read(str_from_c(bad_schemas[i].schema), &a, &first, &e), -1);
        if (strstr(e.msg, bad_schemas[i].why) == NULL)
            fail_msg("%s: %s", bad_schemas[i].schema, e.msg);
        arena_fini(&a);
    }
}

static void no_tool_may_fill_the_head_of_a_request(void **state)
{
    struct arena a = {0};
    struct buf schema = {0};
    struct mcp_mirror *first;
    struct err e;

    (void)state;
    buf_c(&schema, "{\"properties\":{\"a\":{}");
    for (unsigned i = 0; i < 65; i++) {
        buf_c(&schema, ",\"");
        buf_uint(&schema, i);
        buf_c(&schema, "\":{\"type\":\"string\",\"x-mcp-header\":\"H");
        buf_uint(&schema, i);
        buf_c(&schema, "\"}");
    }
    buf_c(&schema, "}}");
    assert_int_equal(mcp_mirrors_read(buf_str(&schema), &a, &first, &e), -1);
    buf_fini(&schema);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_argument_is_mirrored_as_a_header_can_carry_it),
        cmocka_unit_test(a_nested_property_is_found_by_its_path),
        cmocka_unit_test(what_only_looks_like_an_annotation_is_none),
        cmocka_unit_test(a_bad_annotation_drops_its_tool),
        cmocka_unit_test(no_tool_may_fill_the_head_of_a_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
