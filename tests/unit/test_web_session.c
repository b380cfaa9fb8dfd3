/* test_web_session.c -- searching, opening, finding: what a model sees, and what it can cite. */
#include "unit/web_fixture.h"

static struct search_result results[] = {
    {STR_INIT("First \xE3\x80\x90page\xE3\x80\x91"), STR_INIT("https://one.example/a"),
     STR_INIT("What it\nsays."), STR_INIT("2026-01-02")},
    {STR_INIT(""), STR_INIT("https://two.example:8080/b?c"), STR_INIT(""), STR_INIT("")},
};

static const struct search_results two_results = {.v = results, .n = 2, .text = {NULL, 0}};

static void search_two(struct stage *g)
{
    (void)begin(g, "{\"query\":\"some words\"}");
    search_end(NULL, &two_results);
}

/* Opens a page that comes at once. */
static void open_page(struct stage *g, const char *url, const char *html)
{
    char json[300];

    (void)snprintf(json, sizeof(json), "{\"url\":\"%s\"}", url);
    (void)begin(g, json);
    fetch_page(url, html);
}

/* ---- searching */

static void results_are_a_page_of_links(void **state)
{
    struct stage *g = *state;

    search_two(g);
    assert_output(g, "[0] Search results for some words\n"
                     "**viewing lines [0 - 6] of 6**\n"
                     "\n"
                     "L0: 【0†First 〔page〕†one.example】\n"
                     "L1: https://one.example/a\n"
                     "L2: What it says.\n"
                     "L3: Date: 2026-01-02\n"
                     "L4: \n"
                     "L5: 【1†https://two.example:8080/b?c†two.example:8080】\n"
                     "L6: https://two.example:8080/b?c");
    assert_str_c(buf_str(&g->url), "none");
    assert_int_equal(g->n_sources, 2);
    assert_string_equal(last_search.query, "some words");
}

static void no_results_are_an_answer(void **state)
{
    static const struct search_results none = {.n = 0, .text = {NULL, 0}};
    struct stage *g = *state;

    (void)begin(g, "{\"query\":\"q\",\"topn\":100}");
    assert_int_equal(last_search.max_results, 20);
    search_end(NULL, &none);
    assert_false(g->is_failed);
    assert_true(has_output(g, "\nL0: No results."));
}

static void an_answer_that_is_no_list_is_shown_as_it_is(void **state)
{
    static const struct search_results text = {.text = STR_INIT("one\n  two \xE3\x80\x90"
                                                                "3")};
    struct stage *g = *state;
    struct web_source source;

    (void)begin(g, "{\"query\":\"q\"}");
    search_end(NULL, &text);
    assert_output(g, "[0] Search results for q\n**viewing lines [0 - 1] of 1**\n\n"
                     "L0: one\nL1:   two 〔3");
    assert_int_equal(g->n_sources, 0);
    assert_false(web_session_source(g->session, 0, 0, &source));
}

static void a_search_that_fails_takes_no_number(void **state)
{
    struct stage *g = *state;

    (void)begin(g, "{\"query\":\"q\"}");
    search_end("The search service is busy.", NULL);
    check_failed(g, "The search service is busy.");
    run(g, "{\"query\":\"refused\"}");
    check_failed(g, "This query is refused.");
    search_two(g);
    assert_true(has_output(g, "[0] "));
}

/* ---- opening */

static void a_page_is_opened_by_its_url(void **state)
{
    struct stage *g = *state;

    (void)begin(g, "{\"url\":\"https://e.example/a#part\"}");
    fetch_end("https://e.example/a", "https://e.example/b", "<title>T</title><p>x<p>y", NULL);
    assert_output(g, "[0] T (https://e.example/b)\n**viewing lines [0 - 2] of 2**\n\n"
                     "L0: x\nL1: \nL2: y");
    assert_str_c(buf_str(&g->url), "https://e.example/b");
    assert_int_equal(g->n_sources, 0);
}

static void a_page_is_fetched_once(void **state)
{
    struct stage *g = *state;

    (void)begin(g, "{\"url\":\"https://e.example/a\"}");
    fetch_end("https://e.example/a", "https://e.example/b", "x", NULL);
    run(g, "{\"url\":\"https://e.example/a\"}");
    assert_true(has_output(g, "[1] (https://e.example/b)\n"));
    run(g, "{\"url\":\"https://e.example/b#x\"}");
    assert_true(has_output(g, "[2] "));
    assert_int_equal(n_fetches, 1);
}

static void calls_for_one_page_share_a_fetch(void **state)
{
    struct stage *g = *state;
    struct web_call *second;

    (void)begin(g, "{\"url\":\"https://e.example/a\"}");
    second = begin(g, "{\"url\":\"https://e.example/a\"}");
    (void)begin(g, "{\"url\":\"https://e.example/a\",\"pattern\":\"x\"}");
    web_call_cancel(second);
    assert_int_equal(n_fetches, 1);
    fetch_page("https://e.example/a", "x");
    assert_int_equal(g->n_reports, 2);
}

static void a_link_is_opened_by_its_number(void **state)
{
    struct stage *g = *state;

    search_two(g);
    (void)begin(g, "{\"action\":\"open\",\"id\":1}");
    fetch_page("https://two.example:8080/b?c", "<a href=/next>next</a>");
    assert_true(has_output(g, "[1] (https://two.example:8080/b?c)\n"));
    assert_true(has_output(g, "L0: 【0†next】"));
    (void)begin(g, "{\"action\":\"open\",\"id\":0}");
    fetch_page("https://two.example:8080/next", "end");
    (void)begin(g, "{\"action\":\"open\",\"id\":0,\"cursor\":0}");
    fetch_page("https://one.example/a", "first");
    assert_true(has_output(g, "[3] (https://one.example/a)\n"));
}

static void a_page_is_scrolled(void **state)
{
    struct stage *g = *state;

    open_page(g, "https://e.example/a", "<p>a<p>b<p>c<p>d");
    run(g, "{\"action\":\"open\",\"loc\":2,\"num_lines\":3}");
    assert_output(g, "[1] (https://e.example/a)\n**viewing lines [2 - 4] of 6**\n\n"
                     "L2: b\nL3: \nL4: c\n\n"
                     "(There is more: open_page with cursor 1 and loc 5.)");
    run(g, "{\"action\":\"open\",\"cursor\":1,\"loc\":5,\"num_lines\":99}");
    assert_true(has_output(g, "viewing lines [5 - 6] of 6"));
    run(g, "{\"action\":\"open\",\"loc\":7}");
    check_failed(g, "There is no line 7: the page has the lines 0 to 6.");
    run(g, "{\"action\":\"open\",\"cursor\":0}");
    assert_true(has_output(g, "[3] (https://e.example/a)\n**viewing lines [0 - 6] of 6**"));
}

static void a_view_has_a_size(void **state)
{
    struct stage *g = *state;
    struct web_session_conf conf = fake_conf(g);
    struct buf html = {.limit = 0};
    static const size_t sizes[] = {
        [SEARCH_MEDIUM] = 8192, [SEARCH_LOW] = 4096, [SEARCH_HIGH] = 16384};

    for (int i = 0; i < 3000; i++)
        buf_c(&html, "some words ");
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        conf.query.size = (enum search_size)i;
        stage_restart(g, &conf);
        open_page(g, "https://e.example/a", buf_cstr(&html));
        assert_true(g->output.len <= sizes[i] + 200);
        assert_true(g->output.len > sizes[i] * 3 / 4);
        assert_true(has_output(g, "(There is more: "));
    }
    conf.max_view_bytes = 1;
    stage_restart(g, &conf);
    open_page(g, "https://e.example/a", "<p>a<p>b");
    assert_true(has_output(g, "viewing lines [0 - 0] of 2"));
    buf_fini(&html);
}

static void a_page_without_text_says_so(void **state)
{
    struct stage *g = *state;

    open_page(g, "https://e.example/a", "<title>T</title><script>x</script>");
    assert_output(g, "[0] T (https://e.example/a)\n**there is no text on this page**");
}

static void what_cannot_be_opened_says_why(void **state)
{
    static const struct {
        const char *json, *words;
    } bad[] = {
        {"{\"action\":\"open_page\"}", "No page is open yet"},
        {"{\"action\":\"open_page\",\"cursor\":3}", "no page with this cursor"},
        {"{\"url\":\"ftp://e.example/\"}", "http:// or https://"},
        {"{\"url\":\"javascript:alert(1)\"}", "http:// or https://"},
        {"{\"url\":\"file:///etc/passwd\"}", "http:// or https://"},
        {"{\"url\":\"some words\"}", "http:// or https://"},
        {"{\"url\":\"https://blocked.example/\"}", "may not be opened"},
        {"{\"url\":\"https://refused.example/\"}", "This URL is refused."},
    };
    struct stage *g = *state;

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        run(g, bad[i].json);
        check_failed(g, bad[i].words);
    }
    search_two(g);
    run(g, "{\"action\":\"open\",\"id\":2}");
    check_failed(g, "no link with this number");
    assert_int_equal(n_fetches, 0);
    (void)begin(g, "{\"url\":\"e.example/x\"}");
    fetch_end("https://e.example/x", "", "", "The page cannot be opened: it does not answer.");
    check_failed(g, "it does not answer");
    assert_str_c(buf_str(&g->url), "https://e.example/x");
}

static void pages_may_be_switched_off(void **state)
{
    struct stage *g = *state;
    struct web_session_conf conf = fake_conf(g);

    conf.pages = NULL;
    stage_restart(g, &conf);
    run(g, "{\"url\":\"https://e.example/\"}");
    check_failed(g, "Pages cannot be opened here");
}

static void redirects_are_asked_about(void **state)
{
    struct stage *g = *state;

    (void)begin(g, "{\"url\":\"https://e.example/a\"}");
    assert_true(fetches->handler.allows(fetches->arg, STR("https://other.example/")));
    assert_false(fetches->handler.allows(fetches->arg, STR("https://blocked.example/")));
    fetch_page("https://e.example/a", "x");
}

static void a_list_that_is_opened_again_is_named_by_its_number(void **state)
{
    struct stage *g = *state;

    search_two(g);
    run(g, "{\"action\":\"open\",\"cursor\":0,\"loc\":5}");
    assert_true(has_output(g, "[1] Search results for some words\n**viewing lines [5 - 6] of 6**"));
    assert_str_c(buf_str(&g->url), "cursor:1");
    assert_int_equal(g->n_sources, 0);
}

/* ---- finding */

static void matches_are_shown_with_their_lines(void **state)
{
    struct stage *g = *state;

    open_page(g, "https://e.example/a",
              "<title>T</title><p>A Needle here<p>and <a href=/x>a nee</a>dle there<p>none");
    run(g, "{\"pattern\":\"NEEDLE\"}");
    assert_output(g, "[1] T (https://e.example/a)\n**2 matches for NEEDLE**\n\n"
                     "L0: A Needle here and a needle there none\n"
                     "L2: A Needle here and a needle there none");
    assert_str_c(buf_str(&g->url), "https://e.example/a");
    run(g, "{\"pattern\":\"gone\",\"cursor\":0}");
    assert_output(g, "[2] T (https://e.example/a)\n**not found: gone**\n");
}

static void the_context_of_a_match_is_sixty_characters(void **state)
{
    struct stage *g = *state;
    struct buf html = {.limit = 0};

    for (int i = 0; i < 100; i++)
        buf_c(&html, "é");
    buf_c(&html, "X");
    for (int i = 0; i < 100; i++)
        buf_c(&html, "ü");
    open_page(g, "https://e.example/a", buf_cstr(&html));
    run(g, "{\"pattern\":\"x\"}");
    assert_true(has_output(g, "\nL0: ...é"));
    assert_true(has_output(g, "ü..."));
    assert_int_equal(
        str_find(buf_str(&g->output), STR("X")) - str_find(buf_str(&g->output), STR("é")), 2 * 60);
    buf_fini(&html);
}

static void a_match_may_stand_across_lines(void **state)
{
    struct stage *g = *state;
    struct buf html = {.limit = 0};

    for (int i = 0; i < 30; i++)
        buf_c(&html, "word ");
    open_page(g, "https://e.example/a", buf_cstr(&html));
    run(g, "{\"pattern\":\"word  word\"}");
    assert_true(has_output(g, "**15 matches for word word**"));
    assert_true(has_output(g, "\nL1: "));
    buf_fini(&html);
}

static void letters_of_other_alphabets_have_two_sizes_too(void **state)
{
    struct stage *g = *state;

    open_page(g, "https://e.example/a", "ÉTÉ привет Ёлка ΑΒΓ × ÷");
    run(g, "{\"pattern\":\"été ПРИВЕТ ёЛКА αβγ\"}");
    assert_true(has_output(g, "**1 match for "));
    run(g, "{\"pattern\":\"÷ ÷\"}");
    assert_true(has_output(g, "**not found: "));
}

static void many_matches_are_counted_and_some_shown(void **state)
{
    struct stage *g = *state;
    struct buf html = {.limit = 0};
    size_t n_lines = 0;

    for (int i = 0; i < 50; i++)
        buf_c(&html, "<p>needle");
    open_page(g, "https://e.example/a", buf_cstr(&html));
    run(g, "{\"pattern\":\"needle\"}");
    assert_true(has_output(g, "**50 matches for needle, the first 20**"));
    for (size_t i = 0; i + 1 < g->output.len; i++)
        n_lines += g->output.p[i] == '\n' && g->output.p[i + 1] == 'L';
    assert_int_equal(n_lines, 20);
    buf_fini(&html);
}

static void finding_opens_a_page_that_is_named(void **state)
{
    struct stage *g = *state;

    (void)begin(g, "{\"pattern\":\"q\",\"url\":\"https://e.example/a\"}");
    fetch_page("https://e.example/a", "text");
    assert_output(g, "[0] (https://e.example/a)\n**not found: q**\n");
    run(g, "{\"pattern\":\"TEXT\"}");
    assert_true(has_output(g, "L0: text"));
}

/* ---- citing */

static void check_source(const struct stage *g, unsigned cursor, int64_t line, const char *url,
                         const char *title)
{
    struct web_source source;

    assert_true(web_session_source(g->session, cursor, line, &source));
    assert_str_c(source.url, url);
    assert_str_c(source.title, title);
}

static void a_line_of_results_cites_its_result(void **state)
{
    struct stage *g = *state;
    struct web_source source;

    search_two(g);
    for (int64_t line = 0; line < 5; line++)
        check_source(g, 0, line, "https://one.example/a", "First 〔page〕");
    check_source(g, 0, 5, "https://two.example:8080/b?c", "https://two.example:8080/b?c");
    assert_false(web_session_source(g->session, 0, -1, &source));
    assert_false(web_session_source(g->session, 1, 0, &source));
}

static void every_view_of_a_page_cites_it(void **state)
{
    struct stage *g = *state;

    open_page(g, "https://e.example/a", "<title>T</title>x");
    run(g, "{\"pattern\":\"x\"}");
    open_page(g, "https://e.example/b", "y");
    check_source(g, 0, 0, "https://e.example/a", "T");
    check_source(g, 1, -1, "https://e.example/a", "T");
    check_source(g, 2, 99, "https://e.example/b", "https://e.example/b");
}

static void numbers_may_go_on_where_an_earlier_response_ended(void **state)
{
    struct stage *g = *state;
    struct web_session_conf conf = fake_conf(g);
    struct web_source source;

    conf.first_cursor = 7;
    stage_restart(g, &conf);
    run(g, "{\"action\":\"open\",\"cursor\":3}");
    check_failed(g, "no longer held");
    open_page(g, "https://e.example/a", "x");
    assert_true(has_output(g, "[7] "));
    run(g, "{\"action\":\"open\",\"cursor\":7}");
    assert_true(has_output(g, "[8] "));
    assert_false(web_session_source(g->session, 0, 0, &source));
    check_source(g, 8, 0, "https://e.example/a", "https://e.example/a");
    run(g, "{\"action\":\"open\",\"cursor\":9}");
    check_failed(g, "no page with this cursor");
}

/* ---- limits, and ends */

static void the_oldest_pages_are_forgotten_but_not_where_they_came_from(void **state)
{
    struct stage *g = *state;
    struct web_session_conf conf = fake_conf(g);

    conf.max_held_bytes = 1;
    stage_restart(g, &conf);
    open_page(g, "https://e.example/a", "<title>A</title><a href=/c>c</a>");
    open_page(g, "https://e.example/b", "<title>B</title>b");
    run(g, "{\"action\":\"open\",\"cursor\":0}");
    check_failed(g, "no longer held");
    run(g, "{\"action\":\"open\",\"cursor\":0,\"id\":0}");
    check_failed(g, "no longer held");
    check_source(g, 0, 0, "https://e.example/a", "A");
    run(g, "{\"action\":\"open\"}");
    assert_true(has_output(g, "[2] B "));
    open_page(g, "https://e.example/a", "<title>A again</title>a");
    assert_int_equal(n_fetches, 3);
}

static void pages_that_a_view_fails_for_count_as_held(void **state)
{
    struct stage *g = *state;
    struct web_session_conf conf = fake_conf(g);

    conf.max_held_bytes = 1;
    stage_restart(g, &conf);
    open_page(g, "https://e.example/a", "a");
    (void)begin(g, "{\"url\":\"https://e.example/b\",\"loc\":9}");
    fetch_page("https://e.example/b", "b");
    check_failed(g, "There is no line 9");
    run(g, "{\"action\":\"open\",\"cursor\":0}");
    check_failed(g, "no longer held");
}

static void a_call_that_was_cancelled_reports_nothing(void **state)
{
    struct stage *g = *state;

    web_call_cancel(begin(g, "{\"url\":\"https://e.example/a\"}"));
    assert_null(fetches);
    web_call_cancel(begin(g, "{\"query\":\"q\"}"));
    assert_null(last_search.arg);
    web_call_cancel(begin(g, "{\"action\":\"open\"}"));
    fake_loop_pass(g->loop, 0);
    assert_int_equal(g->n_reports, 0);
}

/* What a turn does that fails: its first report ends all other calls, and itself once more. */
static struct web_call *both[2];
static unsigned n_cancelled;

static void cancel_both(void *arg, const struct web_outcome *outcome)
{
    (void)arg;
    (void)outcome;
    n_cancelled++;
    web_call_cancel(both[0]);
    web_call_cancel(both[1]);
}

static void a_report_may_cancel_the_other_calls(void **state)
{
    static const struct web_handler handler = {cancel_both};
    const struct web_action action = {.op = WEB_OPEN,
                                      .url = STR("https://e.example/a"),
                                      .query = STR_NONE,
                                      .pattern = STR_NONE,
                                      .link = -1,
                                      .cursor = -1,
                                      .first_line = -1,
                                      .n_lines = -1,
                                      .max_results = -1};
    struct stage *g = *state;

    for (size_t i = 0; i < COUNT_OF(both); i++)
        both[i] = web_session_start(g->session, &action, &handler, NULL, NULL);
    fetch_page("https://e.example/a", "x");
    assert_int_equal(n_cancelled, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_open, stage_close)
    const struct CMUnitTest tests[] = {
        TEST(results_are_a_page_of_links),
        TEST(no_results_are_an_answer),
        TEST(an_answer_that_is_no_list_is_shown_as_it_is),
        TEST(a_search_that_fails_takes_no_number),
        TEST(a_page_is_opened_by_its_url),
        TEST(a_page_is_fetched_once),
        TEST(calls_for_one_page_share_a_fetch),
        TEST(a_link_is_opened_by_its_number),
        TEST(a_page_is_scrolled),
        TEST(a_view_has_a_size),
        TEST(a_page_without_text_says_so),
        TEST(what_cannot_be_opened_says_why),
        TEST(pages_may_be_switched_off),
        TEST(redirects_are_asked_about),
        TEST(a_list_that_is_opened_again_is_named_by_its_number),
        TEST(matches_are_shown_with_their_lines),
        TEST(the_context_of_a_match_is_sixty_characters),
        TEST(a_match_may_stand_across_lines),
        TEST(letters_of_other_alphabets_have_two_sizes_too),
        TEST(many_matches_are_counted_and_some_shown),
        TEST(finding_opens_a_page_that_is_named),
        TEST(a_line_of_results_cites_its_result),
        TEST(every_view_of_a_page_cites_it),
        TEST(numbers_may_go_on_where_an_earlier_response_ended),
        TEST(the_oldest_pages_are_forgotten_but_not_where_they_came_from),
        TEST(pages_that_a_view_fails_for_count_as_held),
        TEST(a_call_that_was_cancelled_reports_nothing),
        TEST(a_report_may_cancel_the_other_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
