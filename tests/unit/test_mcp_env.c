/* test_mcp_env.c -- what of the gateway's environment reaches a server, and how
 * env files are read. */
#include "base/buf.h"
#include "child/child_spawn.h"
#include "lib/fixture.h"
#include "lib/test.h"
#include "mcp/conf/mcp_env.h"
#include "mcp/conf/mcp_env_file.h"

static const char *const parent[] = {"HOME=/h",
                                     "LOGNAME=l",
                                     "PATH=/bin",
                                     "SHELL=/bin/sh",
                                     "TERM=dumb",
                                     "USER=u",
                                     "LANG=C",
                                     "LC_ALL=C",
                                     "TZ=UTC",
                                     "TMPDIR=/t",
                                     "PATH=/other",
                                     "LC_CTYPE=C",
                                     "HOMEPAGE=x",
                                     "NODE_OPTIONS=o",
                                     "PROXY=p",
                                     "SECRET_KEY=s3cr",
                                     "SECRET_OTHER=s4",
                                     "BASH_FUNC_f%%=() { :; }",
                                     "ODD",
                                     "=odd",
                                     NULL};

#define ALLOWED                                                                                    \
    "HOME=/h LOGNAME=l PATH=/bin SHELL=/bin/sh TERM=dumb USER=u LANG=C LC_ALL=C TZ=UTC TMPDIR=/t"

/* The variables, with blanks between. */
static void check(const struct mcp_env_source *source, const char *expected)
{
    struct arena a = {.limit = 0};
    struct err err = {.code = ERR_NONE};
    struct buf out = {.limit = 0};
    const char *const *env = mcp_env_build(source, &a, &err);

    if (env == NULL)
        print_error("%s\n", err.msg);
    assert_non_null(env);
    for (const char *const *p = env; *p != NULL; p++) {
        buf_c(&out, p == env ? "" : " ");
        buf_c(&out, *p);
    }
    assert_str_c(buf_str(&out), expected);
    buf_fini(&out);
    arena_fini(&a);
}

static void check_error(const struct mcp_env_source *source, const char *expected)
{
    struct arena a = {.limit = 0};
    struct err err = {.code = ERR_NONE};

    assert_null(mcp_env_build(source, &a, &err));
    assert_string_equal(err.msg, expected);
    arena_fini(&a);
}

static void only_the_list_is_inherited(void **state)
{
    (void)state;
    check(&(struct mcp_env_source){.parent = parent}, ALLOWED);
    check(&(struct mcp_env_source){.parent = NULL}, "");
}

static void named_variables_are_inherited_as_well(void **state)
{
    const str names[] = {STR("PROXY"), STR("NOT_SET"), STR("HOME")};

    (void)state;
    check(&(struct mcp_env_source){.parent = parent, .inherit = names, .n_inherit = 3},
          ALLOWED " PROXY=p");
}

static void shell_functions_are_never_inherited(void **state)
{
    const char *const odd[] = {"HOME=() { :; }", "F=()", "G=x()", NULL};

    (void)state;
    check(&(struct mcp_env_source){.parent = odd, .inherits_all = true}, "G=x()");
}

static void secrets_stay_whoever_asks_for_them(void **state)
{
    const str names[] = {STR("SECRET_KEY")};
    const str withheld[] = {STR("SECRET_*"), STR("PROXY")};

    (void)state;
    check(&(struct mcp_env_source){.parent = parent,
                                   .inherit = names,
                                   .n_inherit = 1,
                                   .withheld = withheld,
                                   .n_withheld = 2},
          ALLOWED);
    check(
        &(struct mcp_env_source){
            .parent = parent, .inherits_all = true, .withheld = withheld, .n_withheld = 2},
        ALLOWED " LC_CTYPE=C HOMEPAGE=x NODE_OPTIONS=o");
}

static void the_file_wins_over_the_parent_and_env_over_the_file(void **state)
{
    const struct mcp_env_var vars[] = {{STR("B"), STR("env")}, {STR("EMPTY"), STR("")}};

    (void)state;
    check(&(struct mcp_env_source){.parent = (const char *const[]){"HOME=/h", "TZ=UTC", NULL},
                                   .file = STR("A=file\nB=file\nHOME=file\n"),
                                   .vars = vars,
                                   .n_vars = 2},
          "HOME=file TZ=UTC A=file B=env EMPTY=");
}

static void a_gateways_secret_may_be_given_by_name(void **state)
{
    const struct mcp_env_var var = {STR("SECRET_KEY"), STR("own")};
    const str withheld[] = {STR("SECRET_*")};

    (void)state;
    check(
        &(struct mcp_env_source){.withheld = withheld, .n_withheld = 1, .vars = &var, .n_vars = 1},
        "SECRET_KEY=own");
}

static void many_variables_fit(void **state)
{
    struct buf text = {.limit = 0}, expected = {.limit = 0};

    (void)state;
    for (uint64_t i = 0; i < 500; i++) {
        buf_c(&text, "V");
        buf_uint(&text, i);
        buf_c(&text, "=1\n");
        buf_c(&expected, i == 0 ? "V" : " V");
        buf_uint(&expected, i);
        buf_c(&expected, "=1");
    }
    check(&(struct mcp_env_source){.file = buf_str(&text)}, buf_cstr(&expected));
    buf_fini(&text);
    buf_fini(&expected);
}

static void what_no_environment_can_hold_is_an_error_that_shows_no_value(void **state)
{
    const struct mcp_env_var nul = {STR("KEY"), STR("s3\0cret")};
    const struct mcp_env_var names[] = {
        {STR(""), STR("")}, {STR("A=B"), STR("")}, {STR("A\0B"), STR("")}};

    (void)state;
    check_error(&(struct mcp_env_source){.vars = &nul, .n_vars = 1},
                "env: there is a NUL in the value of KEY");
    for (size_t i = 0; i < COUNT_OF(names); i++)
        check_error(&(struct mcp_env_source){.vars = &names[i], .n_vars = 1},
                    "env: a name may not be empty or hold \"=\" or NUL");
}

static void every_allocation_may_fail(void **state)
{
    const struct mcp_env_source source = {.parent = parent, .file = STR("A=\"1\"\n")};
    const char *const *env = NULL;

    (void)state;
    for (size_t limit = 1; env == NULL; limit += 16) {
        struct arena a;
        struct err err = {.code = ERR_NONE};

        arena_init(&a, limit);
        env = mcp_env_build(&source, &a, &err);
        assert_true((env == NULL) == (err.code != ERR_NONE));
        arena_fini(&a);
    }
}

/* --- files -------------------------------------------------------------------- */

static bool on_var(void *arg, str name, str value)
{
    struct buf *out = arg;

    buf_append(out, name);
    buf_c(out, "=");
    buf_append(out, value);
    buf_c(out, "|");
    return true;
}

static void check_file(const char *text, const char *expected)
{
    struct buf out = {.limit = 0};
    struct err err = {.code = ERR_NONE};
    char *exact = exact_copy(str_from_c(text));

    if (mcp_env_file_read(str_from(exact, strlen(text)), on_var, &out, &err) == -1)
        buf_c(&out, err.msg);
    assert_str_c(buf_str(&out), expected);
    buf_fini(&out);
    free(exact);
}

static void a_file_is_read_as_people_write_them(void **state)
{
    (void)state;
    check_file("", "");
    check_file("\xEF\xBB\xBF"
               "A=1\r\n\n# comment\n  # another\n B = 2 \n",
               "A=1|B=2|");
    check_file("export A=1\nexport  B=2\nEXPORT=3", "A=1|B=2|EXPORT=3|");
    check_file("A=\nB=''\nC=\"\"", "A=|B=|C=|");
    check_file("URL=https://host/a?b=c#d\nA=x # note\nB=x#y\nC=# note\nD= #",
               "URL=https://host/a?b=c#d|A=x|B=x#y|C=|D=|");
}

static void quotes_keep_blanks_and_only_double_ones_have_escapes(void **state)
{
    (void)state;
    check_file("A=' a \\n # ' # note", "A= a \\n # |");
    check_file("A=\" a # \\n\\t\\r\\\\\\\"\\$ \" # note", "A= a # \n\t\r\\\"$ |");
    check_file("A=\"C:\\dir\"", "A=C:\\dir|");
    check_file("A=it's\nB=say \"hi\"", "A=it's|B=say \"hi\"|");
}

static void nothing_is_expanded(void **state)
{
    (void)state;
    check_file("A=1\nB=$A\nC=${A}\nD=\"$A\"\nE=`id`", "A=1|B=$A|C=${A}|D=$A|E=`id`|");
}

static void a_bad_line_is_named_and_not_shown(void **state)
{
    static const char *const no_names[] = {"A=1\nsecret", "A=1\n=secret", "A=1\nA B=secret",
                                           "A=1\nA\"=secret"};
    static const char *const open_quotes[] = {"A=1\nB=\"secret", "A=1\nB='secret",
                                              "A=1\nB=\"secret\\\"", "A=1\nB=\"secret\" x",
                                              "A=1\nB='secret'x"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(no_names); i++)
        check_file(no_names[i], "A=1|envFile line 2: expected NAME=value");
    for (size_t i = 0; i < COUNT_OF(open_quotes); i++)
        check_file(open_quotes[i], "A=1|envFile line 2: the value does not end with its quote");
}

static void a_nul_byte_is_an_error(void **state)
{
    struct buf out = {.limit = 0};
    struct err err;

    (void)state;
    assert_int_equal(mcp_env_file_read(STR("A=1\0002"), on_var, &out, &err), -1);
    assert_string_equal(err.msg, "envFile line 1: there is a NUL byte in it");
    assert_int_equal(out.len, 0);
}

static void a_variable_is_found_by_its_whole_name(void **state)
{
    static const char *const env[] = {"HOME=/home", "EMPTY=", NULL};

    (void)state;
    assert_str_c(child_env_get(env, STR("HOME")), "/home");
    assert_str_c(child_env_get(env, STR("EMPTY")), "");
    assert_true(str_is_none(child_env_get(env, STR("HOM"))));
    assert_true(str_is_none(child_env_get(env, STR("B"))));
    assert_true(str_is_none(child_env_get(NULL, STR("HOME"))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_list_is_inherited),
        cmocka_unit_test(named_variables_are_inherited_as_well),
        cmocka_unit_test(shell_functions_are_never_inherited),
        cmocka_unit_test(secrets_stay_whoever_asks_for_them),
        cmocka_unit_test(the_file_wins_over_the_parent_and_env_over_the_file),
        cmocka_unit_test(a_gateways_secret_may_be_given_by_name),
        cmocka_unit_test(many_variables_fit),
        cmocka_unit_test(what_no_environment_can_hold_is_an_error_that_shows_no_value),
        cmocka_unit_test(a_variable_is_found_by_its_whole_name),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_file_is_read_as_people_write_them),
        cmocka_unit_test(quotes_keep_blanks_and_only_double_ones_have_escapes),
        cmocka_unit_test(nothing_is_expanded),
        cmocka_unit_test(a_bad_line_is_named_and_not_shown),
        cmocka_unit_test(a_nul_byte_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
