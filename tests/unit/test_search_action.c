/* test_search_action.c -- arguments of searches as actions, and as arguments of one form. */
#include "lib/test.h"

#include "json/json_read.h"
#include "lib/fixture.h"
#include "wire/tools/search_action.h"

static const struct {
    enum builtin_tool tool;
    const char *arguments; /* escaped */
    const char *action;
    const char *canonical; /* escaped */
    enum { WORKS, FAILS } outcome;
} cases[] = {
    /* as asked for */
    {BUILTIN_NONE, "{\\\"action\\\":\\\"search\\\",\\\"query\\\":\\\"a \\\\u00e4\\\"}",
     "{\"type\":\"search\",\"query\":\"a \\u00e4\"}",
     "{\\\"action\\\":\\\"search\\\",\\\"query\\\":\\\"a \\\\u00e4\\\"}", WORKS},
    {BUILTIN_NONE, "{\\\"action\\\":\\\"open_page\\\",\\\"url\\\":\\\"https://a.org/\\\"}",
     "{\"type\":\"open_page\",\"url\":\"https://a.org/\"}",
     "{\\\"action\\\":\\\"open_page\\\",\\\"url\\\":\\\"https://a.org/\\\"}", WORKS},
    {BUILTIN_NONE,
     "{\\\"action\\\":\\\"find_in_page\\\",\\\"url\\\":\\\"https://a.org/\\\",\\\"pattern\\\":\\\"x\\\"}",
     "{\"type\":\"find_in_page\",\"pattern\":\"x\",\"url\":\"https://a.org/\"}",
     "{\\\"action\\\":\\\"find_in_page\\\",\\\"url\\\":\\\"https://a.org/\\\",\\\"pattern\\\":\\\"x\\\"}",
     WORKS},
    /* members in any order, more of them, and empty ones */
    {BUILTIN_NONE,
     " { \\\"topn\\\" : 3 , \\\"query\\\":\\\"q\\\", \\\"url\\\":\\\"\\\", \\\"pattern\\\":null, \\\"action\\\":\\\"search\\\" } ",
     "{\"type\":\"search\",\"query\":\"q\"}",
     "{\\\"action\\\":\\\"search\\\",\\\"topn\\\":3,\\\"query\\\":\\\"q\\\"}", WORKS},
    {BUILTIN_NONE, "{\\\"action\\\":\\\"find_in_page\\\",\\\"pattern\\\":\\\"x\\\"}",
     "{\"type\":\"find_in_page\",\"pattern\":\"x\",\"url\":\"cursor:-1\"}",
     "{\\\"action\\\":\\\"find_in_page\\\",\\\"pattern\\\":\\\"x\\\"}", WORKS},
    {BUILTIN_NONE,
     "{\\\"action\\\":\\\"open_page\\\",\\\"id\\\":7,\\\"cursor\\\":3,\\\"loc\\\":40}",
     "{\"type\":\"open_page\",\"url\":\"cursor:3\"}",
     "{\\\"action\\\":\\\"open_page\\\",\\\"id\\\":7,\\\"cursor\\\":3,\\\"loc\\\":40}", WORKS},
    {BUILTIN_NONE, "{\\\"action\\\":\\\"open_page\\\",\\\"cursor\\\":2}",
     "{\"type\":\"open_page\",\"url\":\"cursor:2\"}",
     "{\\\"action\\\":\\\"open_page\\\",\\\"cursor\\\":2}", WORKS},
    {BUILTIN_NONE, "{\\\"action\\\":\\\"open_page\\\",\\\"id\\\":\\\"https://a.org/\\\"}",
     "{\"type\":\"open_page\",\"url\":\"https://a.org/\"}",
     "{\\\"action\\\":\\\"open_page\\\",\\\"id\\\":\\\"https://a.org/\\\"}", WORKS},
    /* what can be made of it is made of it */
    {BUILTIN_NONE, "{\\\"action\\\":\\\"open\\\",\\\"url\\\":\\\"https://a.org/\\\"}",
     "{\"type\":\"open_page\",\"url\":\"https://a.org/\"}",
     "{\\\"action\\\":\\\"open_page\\\",\\\"url\\\":\\\"https://a.org/\\\"}", WORKS},
    {BUILTIN_NONE, "{\\\"action\\\":\\\"find\\\",\\\"pattern\\\":\\\"x\\\"}",
     "{\"type\":\"find_in_page\",\"pattern\":\"x\",\"url\":\"cursor:-1\"}",
     "{\\\"action\\\":\\\"find_in_page\\\",\\\"pattern\\\":\\\"x\\\"}", WORKS},
    {BUILTIN_NONE, "{\\\"query\\\":\\\"q\\\"}", "{\"type\":\"search\",\"query\":\"q\"}",
     "{\\\"action\\\":\\\"search\\\",\\\"query\\\":\\\"q\\\"}", WORKS},
    {BUILTIN_NONE, "{\\\"url\\\":\\\"https://a.org/\\\"}",
     "{\"type\":\"open_page\",\"url\":\"https://a.org/\"}",
     "{\\\"action\\\":\\\"open_page\\\",\\\"url\\\":\\\"https://a.org/\\\"}", WORKS},
    {BUILTIN_NONE, "{\\\"url\\\":\\\"https://a.org/\\\",\\\"pattern\\\":\\\"x\\\"}",
     "{\"type\":\"find_in_page\",\"pattern\":\"x\",\"url\":\"https://a.org/\"}",
     "{\\\"action\\\":\\\"find_in_page\\\",\\\"url\\\":\\\"https://a.org/\\\",\\\"pattern\\\":\\\"x\\\"}",
     WORKS},
    {BUILTIN_NONE, "{\\\"action\\\":\\\"browse\\\",\\\"query\\\":\\\"q\\\"}",
     "{\"type\":\"search\",\"query\":\"q\"}",
     "{\\\"action\\\":\\\"search\\\",\\\"query\\\":\\\"q\\\"}", WORKS},
    {BUILTIN_NONE, "{\\\"action\\\":\\\"open_page\\\",\\\"query\\\":\\\"q\\\"}",
     "{\"type\":\"search\",\"query\":\"q\"}",
     "{\\\"action\\\":\\\"search\\\",\\\"query\\\":\\\"q\\\"}", WORKS},
    {BUILTIN_NONE, "{\\\"action\\\":\\\"find_in_page\\\",\\\"url\\\":\\\"https://a.org/\\\"}",
     "{\"type\":\"open_page\",\"url\":\"https://a.org/\"}",
     "{\\\"action\\\":\\\"open_page\\\",\\\"url\\\":\\\"https://a.org/\\\"}", WORKS},
    {BUILTIN_NONE, "{\\\"action\\\":5,\\\"action\\\":\\\"search\\\",\\\"query\\\":\\\"q\\\"}",
     "{\"type\":\"search\",\"query\":\"q\"}",
     "{\\\"action\\\":\\\"search\\\",\\\"query\\\":\\\"q\\\"}", WORKS},
    /* nothing can */
    {BUILTIN_NONE, "{}", "{\"type\":\"search\",\"query\":\"\"}", "{\\\"action\\\":\\\"search\\\"}",
     FAILS},
    {BUILTIN_NONE, "{\\\"action\\\":\\\"open_page\\\",\\\"url\\\":5,\\\"q\\\":\\\"x\\\"}",
     "{\"type\":\"search\",\"query\":\"\"}",
     "{\\\"action\\\":\\\"search\\\",\\\"url\\\":5,\\\"q\\\":\\\"x\\\"}", FAILS},
    {BUILTIN_NONE, "{\\\"action\\\":\\\"search\\\",\\\"query\\\":[\\\"a\\\"]}",
     "{\"type\":\"search\",\"query\":\"\"}",
     "{\\\"action\\\":\\\"search\\\",\\\"query\\\":[\\\"a\\\"]}", FAILS},
    {BUILTIN_NONE, "weather", "{\"type\":\"search\",\"query\":\"\"}",
     "{\\\"action\\\":\\\"search\\\"}", FAILS},
    {BUILTIN_NONE, "{\\\"query\\\":\\\"q\\\"", "{\"type\":\"search\",\"query\":\"\"}",
     "{\\\"action\\\":\\\"search\\\"}", FAILS},
    {BUILTIN_NONE, "", "{\"type\":\"search\",\"query\":\"\"}", "{\\\"action\\\":\\\"search\\\"}",
     FAILS},
    /* a browser of the model names the action itself */
    {BUILTIN_BROWSER_SEARCH, "{\\\"query\\\":\\\"q\\\",\\\"topn\\\":3,\\\"action\\\":\\\"open\\\"}",
     "{\"type\":\"search\",\"query\":\"q\"}",
     "{\\\"action\\\":\\\"search\\\",\\\"query\\\":\\\"q\\\",\\\"topn\\\":3}", WORKS},
    {BUILTIN_BROWSER_OPEN, "{}", "{\"type\":\"open_page\",\"url\":\"cursor:-1\"}",
     "{\\\"action\\\":\\\"open_page\\\"}", WORKS},
    {BUILTIN_BROWSER_OPEN, "{\\\"id\\\":\\\"https://a.org/\\\",\\\"cursor\\\":1}",
     "{\"type\":\"open_page\",\"url\":\"https://a.org/\"}",
     "{\\\"action\\\":\\\"open_page\\\",\\\"id\\\":\\\"https://a.org/\\\",\\\"cursor\\\":1}",
     WORKS},
    {BUILTIN_BROWSER_FIND, "{\\\"pattern\\\":\\\"x\\\",\\\"cursor\\\":4}",
     "{\"type\":\"find_in_page\",\"pattern\":\"x\",\"url\":\"cursor:4\"}",
     "{\\\"action\\\":\\\"find_in_page\\\",\\\"pattern\\\":\\\"x\\\",\\\"cursor\\\":4}", WORKS},
    {BUILTIN_BROWSER_SEARCH, "{\\\"query\\\":1}", "{\"type\":\"search\",\"query\":\"\"}",
     "{\\\"action\\\":\\\"search\\\",\\\"query\\\":1}", FAILS},
    {BUILTIN_BROWSER_FIND, "{}",
     "{\"type\":\"find_in_page\",\"pattern\":\"\",\"url\":\"cursor:-1\"}",
     "{\\\"action\\\":\\\"find_in_page\\\"}", FAILS},
    {BUILTIN_BROWSER_OPEN, "{", "{\"type\":\"open_page\",\"url\":\"\"}",
     "{\\\"action\\\":\\\"open_page\\\"}", FAILS},
};

static void arguments_become_an_action_and_arguments_of_one_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        str arguments = str_from_c(cases[i].arguments), why;
        char *exact = exact_copy(arguments);
        struct buf action = {.limit = 0}, canonical = {.limit = 0};

        why = search_action(cases[i].tool, str_from(exact, arguments.len), &action, &canonical);
        assert_str_c(buf_str(&action), cases[i].action);
        assert_str_c(buf_str(&canonical), cases[i].canonical);
        assert_int_equal(str_is_none(why) ? WORKS : FAILS, cases[i].outcome);
        assert_true(jr_is_string_content(why));
        buf_fini(&action);
        buf_fini(&canonical);
        free(exact);
    }
}

/* What is canonical stays what it is. */
static void canonical_arguments_are_their_own_canonical_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf action = {.limit = 0}, canonical = {.limit = 0};

        if (cases[i].outcome == WORKS && cases[i].tool == BUILTIN_NONE) {
            (void)search_action(BUILTIN_NONE, str_from_c(cases[i].canonical), &action, &canonical);
            assert_str_c(buf_str(&action), cases[i].action);
            assert_str_c(buf_str(&canonical), cases[i].canonical);
        }
        buf_fini(&action);
        buf_fini(&canonical);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_become_an_action_and_arguments_of_one_form),
        cmocka_unit_test(canonical_arguments_are_their_own_canonical_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
