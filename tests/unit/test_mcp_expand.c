/* test_mcp_expand.c -- references in texts: forms, mistakes, one pass. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "mcp/conf/mcp_expand.h"

static const char *const env[] = {
    "A=alpha", "AB=both", "EMPTY=", "REF=${A}", "HOME=/home-of-a", "_x9=low", "A=later", NULL,
};

/* expected begins with "!" when it is a piece of the complaint. */
static void expands_to(const char *text, const char *expected)
{
    struct mcp_expansion x = {.env = env};
    struct buf out = {0}, why = {0};
    char *copy = exact_copy(str_from_c(text));
    int rc = mcp_expand(&x, str_from(copy, strlen(text)), &out, &why);

    if (*expected != '!') {
        assert_str_c(buf_str(&why), "");
        assert_str_c(buf_str(&out), expected);
        assert_int_equal(rc, 0);
    } else {
        assert_int_equal(rc, -1);
        if (strstr(buf_cstr(&why), expected + 1) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", buf_cstr(&why), expected + 1);
    }
    free(copy);
    buf_fini(&out);
    buf_fini(&why);
}

static void every_form_is_replaced(void **state)
{
    (void)state;
    expands_to("", "");
    expands_to("plain", "plain");
    expands_to("${A}", "alpha");
    expands_to("<${A}${AB}>", "<alphaboth>");
    expands_to("${env:A}", "alpha");
    expands_to("${_x9}", "low");
    expands_to("${EMPTY}", "");
    expands_to("${userHome}/x", "/home-of-a/x");
    expands_to("${NONE:-default}", "default");
    expands_to("${NONE:-}", "");
    expands_to("${env:NONE:-a:-b}", "a:-b");
    expands_to("${A:-default}", "alpha");
    expands_to("${EMPTY:-default}", "default");
}

static void everything_is_looked_at_once(void **state)
{
    (void)state;
    expands_to("${REF}", "${A}");
    expands_to("$A $$A $ {A} } {A}", "$A $$A $ {A} } {A}");
    expands_to("$${A}", "$alpha");
    expands_to("${NONE:-$}{A}", "${A}");
    expands_to("${A}}", "alpha}");
}

static void what_cannot_be_replaced_is_named(void **state)
{
    (void)state;
    expands_to("x${NONE}", "!${NONE}: the environment variable NONE is not set");
    expands_to("${env:NONE}", "!${env:NONE}: the environment variable NONE is not set");
    expands_to("${workspaceFolder}", "!workspaceFolder is not set");
    expands_to("${input:key}", "!${input:key} asks a person");
    expands_to("${command:x}", "!${command:x} is not known");
    expands_to("${}", "!${} is not known");
    expands_to("${9}", "!${9} is not known");
    expands_to("${A B}", "!${A B} is not known");
    expands_to("${A:+x}", "!${A:+x} is not known");
    expands_to("${NONE:-${A}}", "!NONE: its default has a reference");
    expands_to("a ${A", "!${ is not closed");
    expands_to("${", "!${ is not closed");
}

static void complaint_shows_no_value(void **state)
{
    struct mcp_expansion x = {.env = env};
    struct buf out = {0}, why = {0};

    (void)state;
    assert_int_equal(mcp_expand(&x, STR("${A}${NONE}"), &out, &why), -1);
    assert_null(strstr(buf_cstr(&why), "alpha"));
    buf_fini(&out);
    buf_fini(&why);
}

static void note_value(void *arg, str variable, str value)
{
    struct buf *notes = arg;

    buf_append(notes, variable);
    buf_char(notes, '=');
    buf_append(notes, value);
    buf_char(notes, ' ');
}

static void caller_is_told_of_each_value(void **state)
{
    struct buf out = {0}, why = {0}, notes = {0};
    struct mcp_expansion x = {.env = env, .on_value = note_value, .arg = &notes};

    (void)state;
    assert_int_equal(mcp_expand(&x, STR("${A}${NONE:-d}${userHome}"), &out, &why), 0);
    assert_str_c(buf_str(&notes), "A=alpha HOME=/home-of-a ");
    buf_fini(&out);
    buf_fini(&why);
    buf_fini(&notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_replaced),
        cmocka_unit_test(everything_is_looked_at_once),
        cmocka_unit_test(what_cannot_be_replaced_is_named),
        cmocka_unit_test(complaint_shows_no_value),
        cmocka_unit_test(caller_is_told_of_each_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
