/* test_search_http.c -- a search over a socket: what goes out, and every way to fail. */
#include "ev/log.h"
#include "lib/http_fixture.h"
#include "lib/test.h"
#include "search/search.h"

#define KEY "key-that-nobody-may-see"

static struct {
    struct search_http *search;
    struct searcher searcher;
    struct search_http_conf conf;
    char url[80];
    void *call;
    unsigned n_reports;
    char failure[512]; /* "": there was none */
    struct buf found;  /* "title url" of each result */
} sx;

static const struct search_query any = {.query = STR_INIT("two words")};

static void on_results(void *arg, const char *failure, const struct search_results *results)
{
    assert_ptr_equal(arg, &sx);
    assert_true((failure == NULL) != (results == NULL));
    sx.n_reports++;
    sx.call = NULL;
    if (failure != NULL) {
        (void)snprintf(sx.failure, sizeof(sx.failure), "%s", failure);
        return;
    }
    for (size_t i = 0; i < results->n; i++) {
        buf_append(&sx.found, results->v[i].title);
        buf_char(&sx.found, ' ');
        buf_append(&sx.found, results->v[i].url);
        buf_char(&sx.found, '\n');
    }
}

static const struct search_handler handler = {on_results};

static int setup(void **state)
{
    memset(&sx, 0, sizeof(sx));
    sx.conf = (struct search_http_conf){.service = SEARCH_SEARXNG,
                                        .url = sx.url,
                                        .key = KEY,
                                        .timeout_ms = 20000,
                                        .max_answer_bytes = 10000};
    return http_fixture_setup(state);
}

static int teardown(void **state)
{
    int rc;

    if (sx.call != NULL)
        sx.searcher.cancel(sx.searcher.self, sx.call);
    rc = http_fixture_teardown(state);
    search_http_free(sx.search);
    buf_fini(&sx.found);
    return rc;
}

static void start(const struct search_query *query)
{
    struct err e;

    search_http_free(sx.search);
    sx.search = search_http_new(fx.client, &sx.conf);
    assert_non_null(sx.search);
    sx.searcher = search_http_searcher(sx.search);
    sx.call = sx.searcher.start(sx.searcher.self, query, &handler, &sx, &e);
    if (sx.call == NULL)
        fail_msg("%s", e.msg);
    assert_int_equal(sx.n_reports, 0);
}

/* The address of whichever server is open. */
static void at_listener(void)
{
    (void)snprintf(sx.url, sizeof(sx.url), "http://127.0.0.1:%d", listener_port(fx.listener));
}

/* One search that the script answers so. */
static void search_answered(const char *answer)
{
    const struct script_step script[] = {{answer, true}, {NULL, false}};

    script_play(script);
    at_listener();
    fx.n_steps = 0;
    sx.n_reports = 0;
    sx.failure[0] = '\0';
    buf_reset(&sx.found);
    start(&any);
    UNTIL(sx.n_reports == 1);
    listener_close(fx.listener);
    fx.listener = NULL;
}

static void check_failure(const char *answer, const char *expected)
{
    search_answered(answer);
    assert_string_equal(sx.failure, expected);
}

#define ANSWER(head, body) "HTTP/1.1 " head "\r\nConnection: close\r\n\r\n" body
#define LIST(url)          "{\"results\":[{\"url\":\"" url "\",\"title\":\"T\"}]}"

static void results_come_back(void **state)
{
    (void)state;
    search_answered(ANSWER("200 OK", LIST("https://x.example/")));
    assert_string_equal(sx.failure, "");
    assert_str_c(buf_str(&sx.found), "T https://x.example/\n");
}

static void the_request_goes_out_as_the_service_wants_it(void **state)
{
    struct peer *p = gather("127.0.0.1:0", true);

    (void)state;
    at_listener();
    start(&any);
    UNTIL(peer_heard(p, "\r\n\r\n"));
    assert_true(peer_heard(p, "GET /search?q=two%20words&format=json HTTP/1.1\r\n"));
    assert_true(peer_heard(p, "Authorization: Bearer " KEY "\r\n"));
    peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{\"results\":[]}");
    UNTIL(sx.n_reports == 1);
    assert_string_equal(sx.failure, "");
}

static void a_body_goes_out_as_json(void **state)
{
    struct peer *p = gather("127.0.0.1:0", true);

    (void)state;
    at_listener();
    sx.conf.service = SEARCH_TAVILY;
    start(&any);
    UNTIL(peer_heard(p, "}"));
    assert_true(peer_heard(p, "POST / HTTP/1.1\r\n"));
    assert_true(peer_heard(p, "Content-Type: application/json\r\n"));
    assert_true(peer_heard(p, "\r\n\r\n{\"query\":\"two words\",\"max_results\":8}"));
}

/* The lists that filter them may be gone by then. */
static void results_are_filtered_when_they_come(void **state)
{
    char name[] = "y.example";
    str domain[] = {str_from(name, strlen(name))};
    const struct search_query q = {
        .query = STR_INIT("x"), .allowed_domains = domain, .n_allowed = 1};
    static const struct script_step script[] = {
        {ANSWER("200 OK", "{\"results\":[{\"url\":\"https://x.example/\"},"
                          "{\"url\":\"https://y.example/\"}]}"),
         true}};

    (void)state;
    script_play(script);
    at_listener();
    start(&q);
    memset(name, 'z', strlen(name));
    domain[0] = STR_NONE;
    UNTIL(sx.n_reports == 1);
    assert_str_c(buf_str(&sx.found), " https://y.example/\n");
}

static void statuses_are_told_in_words(void **state)
{
    static const struct {
        enum search_service service;
        const char *answer, *expected;
    } cases[] = {
        {SEARCH_SEARXNG, ANSWER("403 Forbidden", "no"),
         "The web search has failed: SearXNG does not answer in JSON: add json to search.formats in "
         "its settings.yml (HTTP status 403)."},
        {SEARCH_TAVILY, ANSWER("401 Unauthorized", "{\"detail\":\"" KEY "\"}"),
         "The web search has failed: Tavily does not accept the API key (HTTP status 401)."},
        {SEARCH_BRAVE, ANSWER("403 Forbidden", ""),
         "The web search has failed: Brave Search does not accept the API key (HTTP status 403)."},
        {SEARCH_EXA, ANSWER("429 Too Many Requests", ""),
         "The web search has failed: Exa has had too many requests, or the quota is used up (HTTP "
         "status 429)."},
        {SEARCH_TAVILY, ANSWER("432 Limit", ""),
         "The web search has failed: Tavily says that the quota is used up (HTTP status 432)."},
        {SEARCH_SEARXNG, ANSWER("502 Bad Gateway", ""),
         "The web search has failed: SearXNG has failed (HTTP status 502)."},
        {SEARCH_SEARXNG, ANSWER("204 No Content", ""),
         "The web search has failed: SearXNG has failed (HTTP status 204)."},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        sx.conf.service = cases[i].service;
        check_failure(cases[i].answer, cases[i].expected);
    }
}

static void redirects_are_not_followed(void **state)
{
    (void)state;
    check_failure("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
                  "The web search has failed: SearXNG redirects, which is not followed (HTTP "
                  "status 302).");
    assert_int_equal(fx.n_steps, 1);
}

static void answers_that_cannot_be_read_are_failures(void **state)
{
    (void)state;
    check_failure(ANSWER("200 OK", "<html>"),
                  "The web search has failed: SearXNG gave no results: it is not JSON.");
    check_failure(ANSWER("200 OK", ""),
                  "The web search has failed: SearXNG gave no results: it is not JSON.");
    check_failure(ANSWER("200 OK", "{}"), "The web search has failed: SearXNG gave no results: it "
                                          "holds no list of results.");
    check_failure("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"results\":[]}",
                  "The web search has failed: SearXNG did not finish its answer.");
    check_failure("HTTP/1.0\r\n\r\n", "The web search has failed: SearXNG is not reachable.");
    check_failure("", "The web search has failed: SearXNG is not reachable.");
}

/* As much is read as fits, and then the connection goes. */
static void an_answer_without_end_is_left(void **state)
{
    struct peer *p = gather("127.0.0.1:0", true);
    char block[1001];

    (void)state;
    at_listener();
    start(&any);
    UNTIL(peer_heard(p, "\r\n\r\n"));
    peer_say(p, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    memset(block, 'x', sizeof(block) - 1);
    block[sizeof(block) - 1] = '\0';
    for (int i = 0; i < 11; i++) {
        peer_say(p, "3e8\r\n");
        peer_say(p, block);
        peer_say(p, "\r\n");
    }
    UNTIL(sx.n_reports == 1);
    assert_string_equal(sx.failure, "The web search has failed: SearXNG gave an answer that is too "
                                    "large.");
    UNTIL(p->gone);
}

static void silence_ends_in_a_failure(void **state)
{
    struct peer *p = gather("127.0.0.1:0", true);

    (void)state;
    at_listener();
    sx.conf.timeout_ms = 50;
    start(&any);
    UNTIL(sx.n_reports == 1);
    assert_string_equal(sx.failure, "The web search has failed: SearXNG did not answer in time.");
    UNTIL(p->gone);
}

static void a_service_that_is_not_there_is_a_failure_without_its_address(void **state)
{
    (void)state;
    assert_non_null(gather("127.0.0.1:0", true));
    at_listener();
    listener_close(fx.listener);
    fx.listener = NULL;
    start(&any);
    UNTIL(sx.n_reports == 1);
    assert_string_equal(sx.failure, "The web search has failed: SearXNG is not reachable.");
}

static void a_cancelled_search_reports_nothing(void **state)
{
    struct peer *p = gather("127.0.0.1:0", true);

    (void)state;
    at_listener();
    start(&any);
    UNTIL(peer_heard(p, "\r\n\r\n"));
    sx.searcher.cancel(sx.searcher.self, sx.call);
    sx.call = NULL;
    UNTIL(p->gone);
    assert_int_equal(sx.n_reports, 0);
}

static void what_cannot_be_asked_does_not_start(void **state)
{
    const struct search_query blank = {.query = STR_INIT("")};
    struct err e;

    (void)state;
    sx.conf.url = NULL;
    sx.search = search_http_new(fx.client, &sx.conf);
    sx.searcher = search_http_searcher(sx.search);
    assert_null(sx.searcher.start(sx.searcher.self, &any, &handler, &sx, &e));
    assert_null(sx.searcher.start(sx.searcher.self, &blank, &handler, &sx, &e));
    assert_null(strstr(e.msg, KEY));
}

#define SEARCH_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SEARCH_TEST(results_come_back),
        SEARCH_TEST(the_request_goes_out_as_the_service_wants_it),
        SEARCH_TEST(a_body_goes_out_as_json),
        SEARCH_TEST(results_are_filtered_when_they_come),
        SEARCH_TEST(statuses_are_told_in_words),
        SEARCH_TEST(redirects_are_not_followed),
        SEARCH_TEST(answers_that_cannot_be_read_are_failures),
        SEARCH_TEST(an_answer_without_end_is_left),
        SEARCH_TEST(silence_ends_in_a_failure),
        SEARCH_TEST(a_service_that_is_not_there_is_a_failure_without_its_address),
        SEARCH_TEST(a_cancelled_search_reports_nothing),
        SEARCH_TEST(what_cannot_be_asked_does_not_start),
    };

    log_setup(LOG_ERROR, LOG_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
