/* test_search_read.c -- answers of services and tools as results.
 *
 * The answers are made by hand after the documentation of the services, with members that they
 * have and we do not need. */
#include "search/search_read.h"

#include "lib/fixture.h"
#include "lib/test.h"

static const struct search_query any = {.query = STR_INIT("x")};

static const char searxng[] =
    "{\"query\":\"x\",\"number_of_results\":0,\"results\":["
    "{\"url\":\"https://en.example.org/wiki/X\",\"title\":\"X &amp; Y\",\"content\":\"The letter "
    "<b>X</b>.\",\"publishedDate\":\"2025-01-02T03:04:05\",\"engine\":\"w\",\"template\":\"d\","
    "\"parsed_url\":[\"https\",\"en.example.org\",\"/wiki/X\",\"\",\"\",\"\"],\"score\":1.5,"
    "\"engines\":[\"w\"],\"category\":\"general\"},"
    "{\"url\":\"http://other.example/\",\"title\":\"Other\",\"content\":\"\",\"publishedDate\":"
    "null}],\"answers\":[],\"corrections\":[],\"infoboxes\":[],\"suggestions\":[\"xx\"],"
    "\"unresponsive_engines\":[[\"g\",\"timeout\"]]}";

static const char brave[] =
    "{\"query\":{\"original\":\"x\",\"more_results_available\":true},\"mixed\":{\"type\":\"mixed\","
    "\"main\":[{\"type\":\"web\",\"index\":0,\"all\":false}]},\"type\":\"search\",\"web\":{\"type\":"
    "\"search\",\"results\":[{\"title\":\"X\",\"url\":\"https://x.example/\",\"is_source_local\":"
    "false,\"description\":\"About <strong>X</strong>, it&#x27;s\",\"page_age\":"
    "\"2024-05-06T00:00:00\",\"age\":\"May 6, 2024\",\"profile\":{\"name\":\"Profile\",\"url\":"
    "\"https://profile.example\"},\"meta_url\":{\"hostname\":\"x.example\"}}],"
    "\"family_friendly\":true}}";

static const char tavily[] =
    "{\"query\":\"x\",\"follow_up_questions\":null,\"answer\":null,\"images\":[],\"results\":[{"
    "\"url\":\"https://t.example/a\",\"title\":\"T\",\"content\":\"if a < b, \\u003cstdio.h>\","
    "\"score\":0.98,\"raw_content\":null}],\"response_time\":1.2,\"request_id\":\"1\"}";

static const char exa[] =
    "{\"requestId\":\"1\",\"resolvedSearchType\":\"neural\",\"results\":[{\"id\":\"https://e.example/"
    "\",\"title\":null,\"url\":\"https://e.example/\",\"publishedDate\":\"2023-11-16T01:36:32.547Z\","
    "\"author\":null,\"highlights\":[\"One.\",\"Two.\"],\"highlightScores\":[0.4,0.3],\"image\":"
    "\"https://e.example/i.png\"}],\"costDollars\":{\"total\":0.005}}";

static struct arena arena;
static struct search_results got;

static int teardown(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

/* From a block of exactly its size, which is gone when the results are looked at. */
static int read_service(str answer, const struct search_query *query, struct err *reterr)
{
    char *copy = exact_copy(answer);
    int rc = search_list_read(str_from(copy, answer.len), query, &arena, &got, reterr);

    free(copy);
    return rc;
}

static void read_list(const char *answer, const struct search_query *query)
{
    struct err e;

    if (read_service(str_from_c(answer), query, &e) == -1)
        fail_msg("%s", e.msg);
    assert_true(str_is_none(got.text));
}

static void read_any(const char *answer)
{
    char *copy = exact_copy(str_from_c(answer));

    assert_int_equal(search_results_read(str_from(copy, strlen(answer)), &any, &arena, &got), 0);
    free(copy);
}

static void check(size_t i, const char *title, const char *url, const char *snippet,
                  const char *date)
{
    assert_true(i < got.n);
    assert_str_c(got.v[i].title, title);
    assert_str_c(got.v[i].url, url);
    assert_str_c(got.v[i].snippet, snippet);
    assert_str_c(got.v[i].date, date);
}

/* ---- services */

static void each_service_is_understood(void **state)
{
    (void)state;
    read_list(searxng, &any);
    assert_int_equal(got.n, 2);
    check(0, "X & Y", "https://en.example.org/wiki/X", "The letter X.", "2025-01-02T03:04:05");
    check(1, "Other", "http://other.example/", "", "");
    read_list(brave, &any);
    assert_int_equal(got.n, 1);
    check(0, "X", "https://x.example/", "About X, it's", "2024-05-06T00:00:00");
    read_list(tavily, &any);
    assert_int_equal(got.n, 1);
    check(0, "T", "https://t.example/a", "if a < b, <stdio.h>", "");
    read_list(exa, &any);
    assert_int_equal(got.n, 1);
    check(0, "", "https://e.example/", "One. ... Two.", "2023-11-16T01:36:32.547Z");
}

static void results_of_other_domains_are_left_out(void **state)
{
    static const str domain[] = {STR_INIT("example.org")};
    const struct search_query only = {.allowed_domains = domain, .n_allowed = 1},
                              without = {.blocked_domains = domain, .n_blocked = 1};

    (void)state;
    read_list(searxng, &only);
    assert_int_equal(got.n, 1);
    assert_str_c(got.v[0].url, "https://en.example.org/wiki/X");
    read_list(searxng, &without);
    assert_int_equal(got.n, 1);
    assert_str_c(got.v[0].url, "http://other.example/");
    read_list(tavily, &only);
    assert_int_equal(got.n, 0);
}

static void no_more_results_come_than_were_asked_for(void **state)
{
    const struct search_query one = {.max_results = 1};

    (void)state;
    read_list(searxng, &one);
    assert_int_equal(got.n, 1);
}

static void empty_lists_are_no_failures(void **state)
{
    (void)state;
    read_list("{\"results\":[]}", &any);
    assert_int_equal(got.n, 0);
    read_list("{\"query\":{\"original\":\"x\"},\"type\":\"search\"}", &any);
    assert_int_equal(got.n, 0);
    read_list(" {\"results\":[],\"unresponsive_engines\":[]} ", &any);
    assert_int_equal(got.n, 0);
}

static void what_is_no_list_is_a_failure(void **state)
{
    static const char *const answers[][2] = {
        {"", "it is not JSON"},
        {"<html>", "it is not JSON"},
        {"{\"results\":[{\"url\":\"https://x.example/\"", "it is not JSON"},
        {"{\"results\":[]} x", "it is not JSON"},
        {"{\"results\":[\"\xff\"]}", "it is not JSON"},
        {"{\"detail\":{\"error\":\"secret-key is bad\"}}", "it holds no list of results"},
        {"{\"results\":{}}", "it holds no list of results"},
        {"{\"results\":\"x\"}", "it holds no list of results"},
        {"{\"web\":[]", "it is not JSON"},
        {"null", "it holds no list of results"},
        {"7", "it holds no list of results"},
        {"\"x\"", "it holds no list of results"},
        {"{\"results\":[],\"unresponsive_engines\":[[\"google\",\"CAPTCHA\"]]}",
         "none of its engines has answered"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        struct err e;

        if (read_service(str_from_c(answers[i][0]), &any, &e) == 0)
            fail_msg("%s", answers[i][0]);
        assert_int_equal(e.code, ERR_UPSTREAM_ERROR);
        assert_string_equal(e.msg, answers[i][1]);
    }
}

static void members_of_wrong_types_are_as_if_absent(void **state)
{
    (void)state;
    read_list("{\"results\":[1,null,\"x\",[],{},{\"url\":7},{\"url\":{}},{\"url\":null,\"title\":"
              "\"t\"},{\"url\":\"https://x.example/\",\"title\":[1,{}],\"content\":{\"a\":1},"
              "\"publishedDate\":5}]}",
              &any);
    assert_int_equal(got.n, 1);
    check(0, "", "https://x.example/", "", "");
}

static void urls_are_of_web_pages_and_can_be_sent(void **state)
{
    static const char *const bad[] = {
        "javascript:alert(1)",   "ftp://x.example/",
        "//x.example/",          "x.example",
        "https://u@x.example/",  "data:text/html,x",
        "https://x.example/a b", "https://x\\n.example/",
    };
    char answer[200];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        (void)snprintf(answer, sizeof(answer), "{\"results\":[{\"url\":\"%s\"}]}", bad[i]);
        read_list(answer, &any);
        if (got.n != 0)
            fail_msg("%s", bad[i]);
    }
    read_list("{\"results\":[{\"url\":\" https://x.example/caf\xc3\xa9?\\u00fc=1 \"}]}", &any);
    assert_int_equal(got.n, 1);
    assert_str_c(got.v[0].url, "https://x.example/caf%c3%a9?%c3%bc=1");
}

static void texts_are_bounded(void **state)
{
    enum { LONG = 10000 };
    static char answer[4 * LONG];
    int n = snprintf(answer, sizeof(answer),
                     "{\"results\":[{\"url\":\"https://x.example/%0*d\"},"
                     "{\"url\":\"https://x.example/\",\"title\":\"%0*d\",\"content\":\"%0*d\","
                     "\"date\":\"%0100d\"}]}",
                     LONG, 0, LONG, 0, LONG, 0, 0);

    (void)state;
    assert_true(n > 0 && n < (int)sizeof(answer));
    read_list(answer, &any);
    assert_int_equal(got.n, 1);
    assert_int_equal(got.v[0].title.len, 300);
    assert_int_equal(got.v[0].snippet.len, 2000);
    assert_int_equal(got.v[0].date.len, 40);
}

/* ---- tools */

static void lists_of_tools_are_read_in_the_usual_forms(void **state)
{
    static const char *const answers[] = {
        "[{\"link\":\"https://x.example/\",\"name\":\"X\",\"snippet\":\"s\"}]",
        "{\"results\":[{\"href\":\"https://x.example/\",\"title\":\"X\",\"text\":\"s\"}]}",
        "{\"organic\":[{\"link\":\"https://x.example/\",\"title\":\"X\",\"snippet\":\"s\"}]}",
        "{\"data\":{\"web\":[{\"url\":\"https://x.example/\",\"title\":\"X\",\"description\":\"s\"}]}}",
        "{\"url\":\"https://x.example/\",\"title\":\"X\",\"summary\":\"s\"}",
        ("\n{\"url\":\"https://x.example/\",\"title\":\"X\",\"content\":\"s\"}\n"
         "{\"url\":\"https://y.example/\"}\n"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        read_any(answers[i]);
        assert_true(str_is_none(got.text));
        check(0, "X", "https://x.example/", "s", "");
    }
    assert_int_equal(got.n, 2);
    assert_str_c(got.v[1].url, "https://y.example/");
    read_any("[]");
    assert_true(str_is_none(got.text));
    assert_int_equal(got.n, 0);
}

static void all_else_is_text_as_it_is(void **state)
{
    static const char *const answers[] = {
        "",
        "1. X - https://x.example/\n   about x",
        "{\"answer\":42}",
        "[1,2,3]",
        "[\"https://x.example/\"]",
        "{\"results\":[{\"title\":\"no URL\"}]}",
        "{\"url\":\"https://x.example/\"} and more",
        "[{\"url\":\"https://x.example/\"}",
        "true",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        read_any(answers[i]);
        assert_int_equal(got.n, 0);
        assert_str_c(got.text, answers[i]);
    }
}

static void a_list_that_is_filtered_away_is_an_empty_list(void **state)
{
    static const str domain[] = {STR_INIT("example.org")};
    const struct search_query only = {.allowed_domains = domain, .n_allowed = 1};

    (void)state;
    assert_int_equal(
        search_results_read(STR("[{\"url\":\"https://x.example/\"}]"), &only, &arena, &got), 0);
    assert_true(str_is_none(got.text));
    assert_int_equal(got.n, 0);
}

static void no_memory_is_told(void **state)
{
    struct arena small;
    struct err e;

    (void)state;
    for (size_t limit = 1; limit < 2000; limit += 50) {
        arena_init(&small, limit);
        if (search_list_read(str_from_c(searxng), &any, &small, &got, &e) == -1)
            assert_int_equal(e.code, ERR_INTERNAL);
        else
            assert_false(small.is_full);
        (void)search_results_read(str_from_c(searxng), &any, &small, &got);
        arena_fini(&small);
    }
    arena_init(&small, 8);
    assert_int_equal(search_results_read(STR("text"), &any, &small, &got), -1);
    arena_fini(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_service_is_understood, teardown),
        cmocka_unit_test_teardown(results_of_other_domains_are_left_out, teardown),
        cmocka_unit_test_teardown(no_more_results_come_than_were_asked_for, teardown),
        cmocka_unit_test_teardown(empty_lists_are_no_failures, teardown),
        cmocka_unit_test_teardown(what_is_no_list_is_a_failure, teardown),
        cmocka_unit_test_teardown(members_of_wrong_types_are_as_if_absent, teardown),
        cmocka_unit_test_teardown(urls_are_of_web_pages_and_can_be_sent, teardown),
        cmocka_unit_test_teardown(texts_are_bounded, teardown),
        cmocka_unit_test_teardown(lists_of_tools_are_read_in_the_usual_forms, teardown),
        cmocka_unit_test_teardown(all_else_is_text_as_it_is, teardown),
        cmocka_unit_test_teardown(a_list_that_is_filtered_away_is_an_empty_list, teardown),
        cmocka_unit_test_teardown(no_memory_is_told, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
