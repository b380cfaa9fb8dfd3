/* test_json_write.c -- writing JSON, and copying it compactly. */
#include "lib/test.h"

#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_write.h"

static void commas_stand_where_they_belong(void **state)
{
    struct buf out = {.limit = 0};
    struct jw w = jw_to(&out);

    (void)state;
    jw_object(&w);
    jw_key(&w, "empty");
    jw_array(&w);
    jw_array_end(&w);
    jw_key(&w, "list");
    jw_array(&w);
    jw_int(&w, INT64_MIN);
    jw_object(&w);
    jw_object_end(&w);
    jw_bool(&w, true);
    jw_null(&w);
    jw_raw(&w, STR("1.0"));
    jw_array_end(&w);
    jw_key_bool(&w, "b", false);
    jw_key_int(&w, "n", 7);
    jw_object_end(&w);
    assert_str_c(buf_str(&out), "{\"empty\":[],\"list\":[-9223372036854775808,{},true,null,1.0],"
                                "\"b\":false,\"n\":7}");
    assert_true(jr_is_valid(buf_str(&out)));
    buf_fini(&out);
}

static void strings_are_escaped_once(void **state)
{
    struct buf out = {.limit = 0};
    struct jw w = jw_to(&out);

    (void)state;
    jw_object(&w);
    jw_key_string(&w, "plain", STR("a\"\n"));
    jw_key_escaped(&w, "escaped", STR("a\\\"\\n"));
    jw_key_raw(&w, "raw", STR("\"a\""));
    jw_key(&w, "pieces");
    jw_open_string(&w);
    buf_c(w.out, "a");
    buf_c(w.out, "b");
    jw_close_string(&w);
    jw_key_string(&w, "last", STR(""));
    jw_object_end(&w);
    assert_str_c(buf_str(&out), "{\"plain\":\"a\\\"\\n\",\"escaped\":\"a\\\"\\n\",\"raw\":\"a\","
                                "\"pieces\":\"ab\",\"last\":\"\"}");
    buf_fini(&out);
}

static void what_is_absent_is_null(void **state)
{
    struct buf out = {.limit = 0};
    struct jw w = jw_to(&out);

    (void)state;
    jw_array(&w);
    jw_string(&w, STR_NONE);
    jw_escaped(&w, STR_NONE);
    jw_raw(&w, STR_NONE);
    jw_array_end(&w);
    assert_str_c(buf_str(&out), "[null,null,null]");
    buf_fini(&out);
}

static void compact_json_has_no_space_outside_strings(void **state)
{
    struct buf out = {.limit = 0};

    (void)state;
    json_copy_value(
        STR(" {\r\n \"a b\" : [ 1 , \"x \\\" , y\" , { } ] ,\t\"\xE2\x80\xA8\":\"\xC2\x85\"} "),
        &out);
    assert_str_c(buf_str(&out), "{\"a b\":[1,\"x \\\" , y\",{}],\"\\u2028\":\"\\u0085\"}");
    buf_reset(&out);
    json_copy_value(STR("\"a\\\\\""), &out);
    assert_str_c(buf_str(&out), "\"a\\\\\"");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_stand_where_they_belong),
        cmocka_unit_test(strings_are_escaped_once),
        cmocka_unit_test(what_is_absent_is_null),
        cmocka_unit_test(compact_json_has_no_space_outside_strings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
