/* test_text_file.c -- which files are text, and their base64. */
#include "lib/test.h"

#include "conv/text_file.h"
#include "lib/fixture.h"

static const struct {
    const char *filename, *file_data; /* escaped */
    bool is_text;
} kinds[] = {
    {"a.txt", "YQ==", true},
    {"a.TXT", "YQ==", true},
    {"a.pdf", "YQ==", false},
    {"txt", "YQ==", false},
    {NULL, "YQ==", false},
    {"a.txt", NULL, false},
    {NULL, "data:text/plain;base64,YQ==", true},
    {"a.pdf", "DATA:Text/Plain;Base64,YQ==", true},
    {NULL, "data:text\\/plain;base64,YQ==", true},
    {NULL, "data:application/json;charset=utf-8;base64,YQ==", true},
    {NULL, "data:application/ld+json;base64,YQ==", true},
    {NULL, "data:image/svg+xml;base64,YQ==", true},
    {"a.txt", "data:image/png;base64,YQ==", false},
    {"a.txt", "data:;base64,YQ==", true},
    {"a.txt", "data:application/octet-stream;base64,YQ==", true},
    {"a.bin", "data:application/octet-stream;base64,YQ==", false},
    {"a.txt", "data:text/plain,YQ", false}, /* not base64: stays a file */
};

static void the_type_decides_and_then_the_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (text_file_is_text(str_from_c(kinds[i].filename), str_from_c(kinds[i].file_data)) !=
            kinds[i].is_text)
            fail_msg("%s, %s", kinds[i].filename, kinds[i].file_data);
    }
}

static const struct {
    const char *file_data, *text; /* NULL: refused */
} codes[] = {
    {"", ""},
    {"YQ==", "a"},
    {"YWI=", "ab"},
    {"YWJj", "abc"},
    {"YWJjZA", "abcd"},
    {"YW\\nJj\\r\\nZA==\\n", "abcd"},
    {"+\\/+\\/", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"w6kiCgA=", "\xC3\xA9\\\"\\n\\u0000"},
    {"data:text/plain;base64,YQ==", "a"},
    {"data:text/plain;base64,", ""},
    {"Y", NULL},
    {"YWJjZ", NULL},
    {"YQ=", NULL},
    {"YQ===", NULL},
    {"Y=Q=", NULL},
    {"YQ==YQ==", NULL},
    {"Y-==", NULL},
    {"\\u0000\\u00e9", NULL},
    {"=", NULL},
};

static void base64_becomes_text_or_is_refused(void **state)
{
    const struct path at = path_member(NULL, STR("file_data"));

    (void)state;
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        char *exact = exact_copy(str_from_c(codes[i].file_data));
        struct arena arena = {.limit = 0};
        str text = STR_NONE;
        struct err e;
        int rc =
            text_file_decode(str_from(exact, strlen(codes[i].file_data)), &at, &arena, &text, &e);

        if (rc == -1 && codes[i].text != NULL)
            fail_msg("%s was refused", codes[i].file_data);
        if (rc == 0 && (codes[i].text == NULL || !str_eq(text, str_from_c(codes[i].text))))
            fail_msg("%s became \"%.*s\"", codes[i].file_data, STR_ARG(text));
        if (rc == -1)
            assert_string_equal(e.param, "file_data");
        arena_fini(&arena);
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_type_decides_and_then_the_name),
        cmocka_unit_test(base64_becomes_text_or_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
