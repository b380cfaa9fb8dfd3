/* test_mcp_name.c -- names that models see (MCP 10.1 to 10.4). */
#include "lib/test.h"

#include "conv/tool_name.h"
#include "ev/sha256.h"
#include "lib/fixture.h"
#include "mcp/hub/mcp_name.h"

#define A40 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define T55 "ttttttttttttttttttttttttttttttttttttttttttttttttttttttt"

/* The digits are those of `printf 'LABEL\0TOOL' | sha256sum`. */
static const struct {
    const char *label, *tool, *name;
} names[] = {
    {"docs", "search", "mcp__docs__search"},
    {"docs", "read-file_2", "mcp__docs__read-file_2"},
    {"docs", "admin.tools.list", "mcp__docs__admin_tools_list__d7fe5382b1"},
    {"docs", "admin_tools_list", "mcp__docs__admin_tools_list"},
    {"docs", "admin/tools/list", "mcp__docs__admin_tools_list__1eeda73bc2"},
    {"docs", "caf\xC3\xA9", "mcp__docs__caf___2421c78bda"},
    {"a__b", "c", "mcp__a__b__c"},
    {"a", "b__c", "mcp__a__b__c"},
    {"x", T55 "t", "mcp__x__" T55 "t"},
    {"x", T55 "tt", "mcp__x__tttttttttttttttttttttttttttttttttttttttttttt__e198432ac7"},
    {"x", A40 A40 A40 "12345678",
     "mcp__x__aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa__7517d54d11"},
};

static str digits(const char *label, const char *tool, char text[11])
{
    unsigned char hash[SHA256_BYTES];
    struct buf both = {0};

    buf_c(&both, label);
    buf_char(&both, '\0');
    buf_c(&both, tool);
    assert_true(sha256(buf_str(&both), hash));
    for (size_t i = 0; i < 5; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", hash[i]);
    buf_fini(&both);
    return str_from(text, 10);
}

static void names_are_exactly_these(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct arena a = {0};
        str name = mcp_name(str_from_c(names[i].label), str_from_c(names[i].tool), &a);

        assert_str_c(name, names[i].name);
        assert_true(name.len <= TOOL_NAME_MAX);
        arena_fini(&a);
    }
}

struct fixture {
    struct arena arena;
    struct test_ids ids;
    struct mcp_names names;
};

static void begin(struct fixture *f, bool bare)
{
    *f = (struct fixture){.arena = {0}};
    test_ids_reset(&f->ids);
    mcp_names_init(&f->names, &f->arena, &f->ids.source, bare);
}

static str add(struct fixture *f, const char *label, const char *tool)
{
    str name;

    assert_int_equal(mcp_names_add(&f->names, str_from_c(label), str_from_c(tool), &name), 0);
    return name;
}

static void a_function_of_the_client_keeps_its_name(void **state)
{
    struct fixture f;
    str name;
    char text[11];

    (void)state;
    begin(&f, false);
    assert_int_equal(mcp_names_reserve(&f.names, STR("mcp__a__b")), 0);
    name = add(&f, "a", "b");
    assert_true(str_starts_with(name, STR("mcp__a__b__")));
    assert_str_eq(str_skip(name, 11), digits("a", "b", text));
    arena_fini(&f.arena);
}

static void of_two_tools_with_one_name_the_second_gets_the_hashed_form(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, false);
    assert_str_c(add(&f, "a__b", "c"), "mcp__a__b__c");
    assert_true(str_starts_with(add(&f, "a", "b__c"), STR("mcp__a__b__c__")));
    arena_fini(&f.arena);
}

static void a_tool_whose_every_form_is_taken_has_no_name(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, false);
    assert_int_equal(mcp_names_reserve(&f.names, mcp_name(STR("a"), STR("b"), &f.arena)), 0);
    assert_int_equal(mcp_names_reserve(&f.names, mcp_name_hashed(STR("a"), STR("b"), &f.arena)), 0);
    assert_true(str_is_none(add(&f, "a", "b")));
    arena_fini(&f.arena);
}

static void bare_names_are_the_servers_own_where_that_is_possible(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, true);
    assert_int_equal(mcp_names_reserve(&f.names, STR("fetch")), 0);
    assert_str_c(add(&f, "a", "search"), "search");
    assert_str_c(add(&f, "b", "search"), "mcp__b__search");
    assert_str_c(add(&f, "a", "fetch"), "mcp__a__fetch");
    assert_true(str_starts_with(add(&f, "a", "x.y"), STR("mcp__a__x_y__")));
    arena_fini(&f.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_exactly_these),
        cmocka_unit_test(a_function_of_the_client_keeps_its_name),
        cmocka_unit_test(of_two_tools_with_one_name_the_second_gets_the_hashed_form),
        cmocka_unit_test(a_tool_whose_every_form_is_taken_has_no_name),
        cmocka_unit_test(bare_names_are_the_servers_own_where_that_is_possible),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
