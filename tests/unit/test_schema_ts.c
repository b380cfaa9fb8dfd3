/* test_schema_ts.c -- the contract's vectors, and schemas that nobody should write. */
#include "lib/test.h"

#include <jansson.h>

#include "text/schema_ts.h"

static void check(const char *name, str schema, str expected)
{
    struct buf out = {0};

    schema_ts_write(schema, &out);
    if (!str_eq(buf_str(&out), expected))
        fail_msg("%s:\n got      %.*s\n expected %.*s", name, STR_ARG(buf_str(&out)),
                 STR_ARG(expected));
    buf_fini(&out);
}

#define CHECK(schema, expected) check(__func__, STR(schema), STR(expected))

static void check_vector(const json_t *vector)
{
    char *schema = json_dumps(json_object_get(vector, "schema"), JSON_COMPACT | JSON_ENCODE_ANY);
    const json_t *expected = json_object_get(vector, "typescript");

    assert_non_null(schema);
    check(json_string_value(json_object_get(vector, "id")), str_from_c(schema),
          str_from(json_string_value(expected), json_string_length(expected)));
    free(schema);
}

static void every_vector_gives_its_text(void **state)
{
    json_t *file = json_load_file("tests/data/harmony/schema_ts.json", 0, NULL);
    const json_t *vectors = json_object_get(file, "vectors"), *vector;
    size_t i;

    (void)state;
    assert_int_equal(json_array_size(vectors), 62);
    json_array_foreach(vectors, i, vector)
    {
        check_vector(vector);
    }
    json_decref(file);
}

static void what_is_no_schema_is_any(void **state)
{
    (void)state;
    CHECK("true", "any");
    CHECK("[1]", "any");
    CHECK("{\"type\":7}", "any");
    CHECK("{\"type\":[]}", "any");
    CHECK("{\"type\":[1,\"\"]}", "any");
    CHECK("{\"oneOf\":[]}", "any");
    CHECK("{\"oneOf\":[],\"type\":\"string\"}", "string");
    CHECK("{\"type\":\"object\",\"properties\":{\"a\":true,\"b\":null}}",
          "{\na?: any,\nb?: any,\n}");
    CHECK("{\"type\":\"object\",\"properties\":[],\"required\":{}}", "{\n}");
    CHECK("{\"type\":\"array\",\"items\":7}", "any[]");
}

static void names_and_texts_are_decoded(void **state)
{
    (void)state;
    CHECK("{\"type\":\"obj\\u0065ct\",\"properties\":{\"\\u0061\\n\":{\"type\":\"string\","
          "\"description\":\"\\u00e9\",\"enum\":[\"\\t\"]}},\"required\":[\"a\\u000a\"]}",
          "{\n// \xc3\xa9\na\n: \"\t\",\n}");
}

static void the_last_of_two_members_counts(void **state)
{
    (void)state;
    CHECK("{\"type\":\"string\",\"type\":\"number\"}", "number");
}

static void a_variant_may_be_null_as_well(void **state)
{
    (void)state;
    CHECK("{\"oneOf\":[{\"type\":\"number\",\"nullable\":true}]}", "\n | number | null");
}

/* A thousand names, required in the opposite order. */
static void many_required_names_are_all_found(void **state)
{
    enum { N = 1000 };
    struct buf schema = {0}, expected = {0};
    char name[64];

    (void)state;
    buf_c(&schema, "{\"type\":\"object\",\"properties\":{");
    buf_c(&expected, "{\n");
    for (int i = 0; i < N; i++) {
        (void)snprintf(name, sizeof(name), "%s\"n%d\":{\"type\":\"number\"}", i == 0 ? "" : ",", i);
        buf_c(&schema, name);
        (void)snprintf(name, sizeof(name), "n%d%s: number,\n", i, i % 2 == 0 ? "" : "?");
        buf_c(&expected, name);
    }
    buf_c(&schema, "},\"required\":[7");
    for (int i = N - 2; i >= 0; i -= 2) {
        (void)snprintf(name, sizeof(name), ",\"n%d\"", i);
        buf_c(&schema, name);
    }
    buf_c(&schema, "]}");
    buf_c(&expected, "}");
    check(__func__, buf_str(&schema), buf_str(&expected));
    buf_fini(&schema);
    buf_fini(&expected);
}

static void nest(struct buf *schema, const char *before, const char *after, int depth)
{
    for (int i = 0; i < depth; i++)
        buf_c(schema, before);
    buf_c(schema, "{\"type\":\"string\"}");
    for (int i = 0; i < depth; i++)
        buf_c(schema, after);
}

static void deep_schemas_end_in_any(void **state)
{
    struct buf schema = {0}, expected = {0};

    (void)state;
    nest(&schema, "{\"type\":\"array\",\"items\":", "}", 400);
    buf_c(&expected, "any");
    for (int i = 0; i < SCHEMA_TS_MAX_DEPTH; i++)
        buf_c(&expected, "[]");
    check(__func__, buf_str(&schema), buf_str(&expected));
    buf_reset(&schema);
    buf_reset(&expected);
    nest(&schema, "{\"type\":\"array\",\"items\":", "}", SCHEMA_TS_MAX_DEPTH - 1);
    buf_c(&expected, "string");
    for (int i = 0; i < SCHEMA_TS_MAX_DEPTH - 1; i++)
        buf_c(&expected, "[]");
    check(__func__, buf_str(&schema), buf_str(&expected));
    buf_fini(&schema);
    buf_fini(&expected);
}

static void a_full_buffer_is_no_crash(void **state)
{
    json_t *file = json_load_file("tests/data/harmony/schema_ts.json", 0, NULL);
    const json_t *vectors = json_object_get(file, "vectors"), *vector;
    size_t i;

    (void)state;
    json_array_foreach(vectors, i, vector)
    {
        char *schema = json_dumps(json_object_get(vector, "schema"), JSON_ENCODE_ANY);
        size_t len = json_string_length(json_object_get(vector, "typescript"));

        for (size_t limit = 1; limit < len; limit++) {
            struct buf out;

            buf_init(&out, limit);
            schema_ts_write(str_from_c(schema), &out);
            assert_true(out.is_full);
            buf_fini(&out);
        }
        free(schema);
    }
    json_decref(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vector_gives_its_text),
        cmocka_unit_test(what_is_no_schema_is_any),
        cmocka_unit_test(names_and_texts_are_decoded),
        cmocka_unit_test(the_last_of_two_members_counts),
        cmocka_unit_test(a_variant_may_be_null_as_well),
        cmocka_unit_test(many_required_names_are_all_found),
        cmocka_unit_test(deep_schemas_end_in_any),
        cmocka_unit_test(a_full_buffer_is_no_crash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
