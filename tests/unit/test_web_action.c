/* test_web_action.c -- what models write when they want to search, open and find. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "search/web_session.h"

/* The action in short: its kind and what is given. */
static void write_short(const struct web_action *a, struct buf *out)
{
    static const char *const names[] = {
        [WEB_SEARCH] = "search", [WEB_OPEN] = "open", [WEB_FIND] = "find"};
    const struct {
        const char *name;
        str text;
        int64_t number;
    } members[] = {
        {"query", a->query, -1},         {"url", a->url, -1},
        {"pattern", a->pattern, -1},     {"link", STR_NONE, a->link},
        {"cursor", STR_NONE, a->cursor}, {"loc", STR_NONE, a->first_line},
        {"lines", STR_NONE, a->n_lines}, {"max", STR_NONE, a->max_results},
    };

    buf_c(out, names[a->op]);
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        if (str_is_none(members[i].text) && members[i].number == -1)
            continue;
        buf_char(out, ' ');
        buf_c(out, members[i].name);
        buf_char(out, '=');
        if (members[i].number != -1)
            buf_int(out, members[i].number);
        buf_append(out, members[i].text);
    }
}

static void check(int rc, const struct web_action *a, const char *expected)
{
    struct buf text = {.limit = 0};

    assert_int_equal(rc, 0);
    write_short(a, &text);
    assert_str_c(buf_str(&text), expected);
    buf_fini(&text);
}

static const struct {
    const char *json, *action;
} of_function[] = {
    {"{\"action\":\"search\",\"query\":\"caf\\u00e9 opening\"}", "search query=café opening"},
    {"{\"action\":\"open_page\",\"url\":\"https://e.org/\"}", "open url=https://e.org/"},
    {"{\"action\":\"find_in_page\",\"url\":\"https://e.org\",\"pattern\":\" x \"}",
     "find url=https://e.org pattern=x"},
    {"{\"action\":\"search\",\"query\":\"q\",\"url\":\"\",\"pattern\":null}", "search query=q"},
    {"{\"action\":\"OPEN\",\"query\":\"q\",\"url\":\"u\"}", "open query=q url=u"},
    {"{\"query\":\"q\"}", "search query=q"},
    {"{\"url\":\"u\"}", "open url=u"},
    {"{\"url\":\"u\",\"pattern\":\"p\"}", "find url=u pattern=p"},
    {"{\"action\":\"browse\",\"url\":\"u\"}", "open url=u"},
    {"{\"query\":[\"a\",\"b\"],\"topn\":5}", "search query=a max=5"},
    {"{\"query\":2026}", "search query=2026"},
    {"{\"action\":{\"type\":\"search\",\"query\":\"q\"}}", "search query=q"},
    {"{\"type\":\"open_page\",\"url\":\"u\"}", "open url=u"},
    {"{\"action\":\"open_page\",\"url\":\"cursor:3\"}", "open cursor=3"},
    {"{\"action\":\"open_page\",\"url\":\"4\",\"cursor\":\"2\"}", "open link=4 cursor=2"},
    {"{\"action\":\"open_page\",\"loc\":\"40\",\"num_lines\":10.0}", "open loc=40 lines=10"},
    {"{\"action\":\"open_page\",\"cursor\":true,\"loc\":1.5,\"num_lines\":0}", "open"},
    {"{}", "open"},
};

static void arguments_of_the_function_are_read_as_they_are_meant(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(of_function); i++) {
        str json = str_from_c(of_function[i].json);
        char *copy = exact_copy(json);
        struct arena arena = {.limit = 0};
        struct web_action a;
        int rc = web_action_read(str_from(copy, json.len), &arena, &a, NULL);

        check(rc, &a, of_function[i].action);
        arena_fini(&arena);
        free(copy);
    }
}

static const struct {
    const char *json, *action;
} of_browser[] = {
    {"{\"action\":\"search\",\"query\":\"q\",\"topn\":10,\"source\":\"web\"}",
     "search query=q max=10"},
    {"{\"action\":\"open_page\",\"id\":3,\"cursor\":1}", "open link=3 cursor=1"},
    {"{\"action\":\"open_page\",\"id\":\"3\"}", "open link=3"},
    {"{\"action\":\"open_page\",\"id\":\"https://e.org/\",\"loc\":7}",
     "open url=https://e.org/ loc=7"},
    {"{\"action\":\"open_page\",\"id\":-1,\"cursor\":-1,\"loc\":-1,\"num_lines\":-1}", "open"},
    {"{\"action\":\"open_page\",\"cursor\":2,\"loc\":0,\"num_lines\":5,\"view_source\":false}",
     "open cursor=2 loc=0 lines=5"},
    {"{\"action\":\"open_page\",\"id\":1e300,\"cursor\":-5}", "open url=1e300"},
    {"{\"action\":\"find_in_page\",\"pattern\":\"p\",\"cursor\":0}", "find pattern=p cursor=0"},
};

static void arguments_of_the_browser_are_read_as_they_are_meant(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(of_browser); i++) {
        struct arena arena = {.limit = 0};
        struct web_action a;
        int rc = web_action_read(str_from_c(of_browser[i].json), &arena, &a, NULL);

        check(rc, &a, of_browser[i].action);
        arena_fini(&arena);
    }
}

static void what_cannot_be_done_says_what_is_missing(void **state)
{
    static const struct {
        const char *json, *word;
    } bad[] = {
        {"{\"action\":\"search\"}", "query"},
        {"{\"action\":\"search\",\"query\":\" \"}", "query"},
        {"{\"action\":\"find_in_page\",\"url\":\"u\"}", "pattern"},
        {"{\"query\":\"q\"", "JSON"},
        {"[\"q\"]", "JSON"},
        {"q", "JSON"},
        {"", "JSON"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct arena arena = {.limit = 0};
        struct web_action a;
        struct err e;

        assert_int_equal(web_action_read(str_from_c(bad[i].json), &arena, &a, &e), -1);
        assert_non_null(strstr(e.msg, bad[i].word));
        arena_fini(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_of_the_function_are_read_as_they_are_meant),
        cmocka_unit_test(arguments_of_the_browser_are_read_as_they_are_meant),
        cmocka_unit_test(what_cannot_be_done_says_what_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
