/* test_search_request.c -- a query as each of the services is asked it. */
#include "search/search_request.h"

#include "base/version.h"
#include "json/json_read.h"
#include "lib/test.h"
#include "search/search_read.h"

static const str sites[] = {STR_INIT("example.org"), STR_INIT("https://docs.example.com/")};
static const str ads[] = {STR_INIT("ads.example"), STR_INIT("*.spam.example")};

/* A query that uses everything. */
static const struct search_query full = {.query = STR_INIT(" caf\xc3\xa9 & \"tea\"\n1+1=2% "),
                                         .max_results = 7,
                                         .allowed_domains = sites,
                                         .n_allowed = 2,
                                         .blocked_domains = ads,
                                         .n_blocked = 2,
                                         .country = STR_INIT("de"),
                                         .region = STR_INIT("Bavaria"),
                                         .city = STR_INIT("Munich"),
                                         .timezone = STR_INIT("Europe/Berlin")};
static const struct search_query simple = {
    .query = STR_INIT("x"), .country = STR_INIT("xx"), .city = STR_INIT("M\xc3\xbcnchen")};

static struct search_request request;

static int setup(void **state)
{
    (void)state;
    memset(&request, 0, sizeof(request));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    search_request_fini(&request);
    return 0;
}

static void write_request(enum search_service service, const char *url, const char *key,
                          const struct search_query *query)
{
    const struct search_http_conf conf = {.service = service, .url = url, .key = key};
    struct err e;

    search_request_fini(&request);
    memset(&request, 0, sizeof(request));
    if (search_request_write(&conf, query, &request, &e) == -1)
        fail_msg("%s", e.msg);
}

static void check_headers(const char *expected)
{
    struct buf all = {.limit = 0};

    for (size_t i = 0; i < request.n_headers; i++) {
        buf_append(&all, request.headers[i].name);
        buf_c(&all, ": ");
        buf_append(&all, request.headers[i].value);
        buf_c(&all, "\n");
    }
    assert_str_c(buf_str(&all), expected);
    buf_fini(&all);
}

#define OWN "User-Agent: Antiphon/" ANTIPHON_VERSION "\nAccept-Encoding: identity\n"

#define WORDS "caf%c3%a9%20%26%20%22tea%22%201%2b1%3d2%25"

static void searxng_is_asked_for_json(void **state)
{
    (void)state;
    write_request(SEARCH_SEARXNG, "http://searx.example:8080/", NULL, &simple);
    assert_string_equal(request.method, "GET");
    assert_str_c(buf_str(&request.url), "http://searx.example:8080/search?q=x&format=json");
    assert_int_equal(request.body.len, 0);
    check_headers("Accept: application/json\n" OWN);
}

static void domains_are_operators_where_there_is_no_field(void **state)
{
    struct search_query blocked = full;

    (void)state;
    write_request(SEARCH_SEARXNG, "http://s.example", NULL, &full);
    assert_str_c(buf_str(&request.url),
                 "http://s.example/search?q=" WORDS "%20%28site%3aexample.org%20OR%20site"
                 "%3adocs.example.com%29&format=json");
    blocked.n_allowed = 0;
    write_request(SEARCH_SEARXNG, "http://s.example", NULL, &blocked);
    assert_str_c(buf_str(&request.url),
                 "http://s.example/search?q=" WORDS
                 "%20-site%3aads.example%20-site%3aspam.example&format=json");
}

static void the_address_of_an_instance_may_be_written_in_many_ways(void **state)
{
    static const char *const addresses[][2] = {
        {"http://s.example", "http://s.example/search?q=x&format=json"},
        {"http://s.example//", "http://s.example/search?q=x&format=json"},
        {"http://s.example/search", "http://s.example/search?q=x&format=json"},
        {"http://s.example/search/", "http://s.example/search/?q=x&format=json"},
        {"http://s.example/sub/?language=de&categories=news",
         "http://s.example/sub/search?language=de&categories=news&q=x&format=json"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(addresses); i++) {
        write_request(SEARCH_SEARXNG, addresses[i][0], NULL, &simple);
        assert_str_c(buf_str(&request.url), addresses[i][1]);
    }
}

static void brave_gets_the_place_of_the_user(void **state)
{
    (void)state;
    write_request(SEARCH_BRAVE, NULL, "key-1234", &full);
    assert_string_equal(request.method, "GET");
    assert_str_c(buf_str(&request.url), "https://api.search.brave.com/res/v1/web/search?q=" WORDS
                                        "%20%28site%3aexample.org%20OR%20site%3adocs.example.com%29"
                                        "&count=20&country=DE&result_filter=web");
    check_headers("Accept: application/json\nX-Loc-Country: DE\nX-Loc-State-Name: Bavaria\n"
                  "X-Loc-City: Munich\nX-Loc-Timezone: Europe/Berlin\n" OWN
                  "X-Subscription-Token: key-1234\n");
}

static void places_that_a_service_does_not_take_are_left_out(void **state)
{
    struct search_query greek = simple;

    (void)state;
    write_request(SEARCH_BRAVE, NULL, NULL, &simple);
    assert_str_c(buf_str(&request.url), "https://api.search.brave.com/res/v1/web/search?q=x&count=8"
                                        "&result_filter=web");
    check_headers("Accept: application/json\nX-Loc-Country: XX\n" OWN);
    greek.country = STR("GR");
    write_request(SEARCH_BRAVE, NULL, NULL, &greek);
    assert_int_equal(str_find(buf_str(&request.url), STR("country")), request.url.len);
    greek.country = STR("Greece");
    write_request(SEARCH_BRAVE, NULL, NULL, &greek);
    check_headers("Accept: application/json\n" OWN);
}

static void tavily_gets_domains_and_the_name_of_the_country(void **state)
{
    struct search_query blocked = full;

    (void)state;
    write_request(SEARCH_TAVILY, NULL, "tvly-1", &full);
    assert_string_equal(request.method, "POST");
    assert_str_c(buf_str(&request.url), "https://api.tavily.com/search");
    assert_str_c(buf_str(&request.body),
                 "{\"query\":\"caf\xc3\xa9 & \\\"tea\\\" 1+1=2%\",\"max_results\":7,"
                 "\"include_domains\":[\"example.org\",\"docs.example.com\"],"
                 "\"country\":\"germany\"}");
    check_headers("Content-Type: application/json\n" OWN "Authorization: Bearer tvly-1\n");
    blocked.n_allowed = 0;
    write_request(SEARCH_TAVILY, NULL, "tvly-1", &blocked);
    assert_str_eq(jr_member(buf_str(&request.body), STR("exclude_domains")),
                  STR("[\"ads.example\",\"spam.example\"]"));
}

static void exa_is_asked_for_highlights(void **state)
{
    (void)state;
    write_request(SEARCH_EXA, NULL, "exa-1", &full);
    assert_str_c(buf_str(&request.url), "https://api.exa.ai/search");
    assert_str_c(buf_str(&request.body),
                 "{\"query\":\"caf\xc3\xa9 & \\\"tea\\\" 1+1=2%\",\"numResults\":7,"
                 "\"includeDomains\":[\"example.org\",\"docs.example.com\"],"
                 "\"userLocation\":\"DE\",\"contents\":{\"highlights\":true}}");
    check_headers("Content-Type: application/json\n" OWN "x-api-key: exa-1\n");
    write_request(SEARCH_EXA, NULL, NULL, &simple);
    assert_str_c(buf_str(&request.body),
                 "{\"query\":\"x\",\"numResults\":8,\"userLocation\":\"XX\","
                 "\"contents\":{\"highlights\":true}}");
}

static void an_own_address_replaces_that_of_the_service(void **state)
{
    (void)state;
    write_request(SEARCH_TAVILY, "http://proxy.example/tavily", NULL, &simple);
    assert_str_c(buf_str(&request.url), "http://proxy.example/tavily");
    write_request(SEARCH_BRAVE, "http://proxy.example/b?x=y", NULL, &simple);
    assert_str_c(buf_str(&request.url), "http://proxy.example/b?x=y&q=x&count=8&result_filter=web");
}

static void a_key_of_an_instance_is_a_bearer_token(void **state)
{
    (void)state;
    write_request(SEARCH_SEARXNG, "http://s.example", "k", &simple);
    check_headers("Accept: application/json\n" OWN "Authorization: Bearer k\n");
    assert_int_equal(str_find(buf_str(&request.url), STR("k=")), request.url.len);
}

static void the_size_says_how_many_results_unless_a_number_does(void **state)
{
    struct search_query q = {.query = STR("x")};

    (void)state;
    assert_int_equal(search_max_results(&q), 8);
    q.size = SEARCH_LOW;
    assert_int_equal(search_max_results(&q), 5);
    q.size = SEARCH_HIGH;
    assert_int_equal(search_max_results(&q), 15);
    q.max_results = 3;
    assert_int_equal(search_max_results(&q), 3);
    q.max_results = 100000;
    assert_int_equal(search_max_results(&q), SEARCH_MAX_RESULTS);
    write_request(SEARCH_TAVILY, NULL, NULL, &q);
    assert_str_c(buf_str(&request.body), "{\"query\":\"x\",\"max_results\":20}");
}

static void a_long_query_is_cut_and_keeps_its_sites(void **state)
{
    char text[2001];
    struct search_query q = {
        .query = str_from(text, 2000), .allowed_domains = sites, .n_allowed = 1};
    struct buf words = {.limit = 0};

    (void)state;
    for (size_t i = 0; i < 1000; i++)
        memcpy(text + 2 * i, "\xc3\xa9", 2);
    search_words_write(&q, 100, true, &words);
    assert_int_equal(words.len, 2 * (100 - strlen(" (site:example.org)")) + 19);
    assert_true(str_ends_with(buf_str(&words), STR("\xc3\xa9 (site:example.org)")));
    buf_reset(&words);
    search_words_write(&q, 20, true, &words); /* more sites than words would be of no use */
    assert_int_equal(words.len, 40);
    buf_fini(&words);
}

/* Part of the allowed domains would hide the others; part of the blocked does not hurt. */
static void too_many_domains_are_no_operators(void **state)
{
    str many[11];
    struct search_query q = {.query = STR("x"), .allowed_domains = many, .n_allowed = 11};
    struct buf words = {.limit = 0};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(many); i++)
        many[i] = STR("a.example");
    search_words_write(&q, 1000, true, &words);
    assert_str_c(buf_str(&words), "x");
    buf_reset(&words);
    q = (struct search_query){.query = STR("x"), .blocked_domains = many, .n_blocked = 11};
    search_words_write(&q, 1000, true, &words);
    assert_int_equal(words.len, 1 + 10 * strlen(" -site:a.example"));
    buf_fini(&words);
}

static void domains_cannot_bring_operators_of_their_own(void **state)
{
    static const str evil[] = {STR_INIT("x) OR (secret"), STR_INIT("ok.example"),
                               STR_INIT("\"quoted\"")};
    struct search_query q = {.query = STR("x"), .allowed_domains = evil, .n_allowed = 3};
    struct buf words = {.limit = 0};

    (void)state;
    search_words_write(&q, 1000, true, &words);
    assert_str_c(buf_str(&words), "x (site:ok.example)");
    buf_fini(&words);
}

static void what_cannot_be_asked_is_refused(void **state)
{
    const struct search_http_conf searxng = {.service = SEARCH_SEARXNG, .url = ""},
                                  tavily = {.service = SEARCH_TAVILY};
    const struct search_query blank = {.query = STR_INIT(" \n ")};
    struct err e;

    (void)state;
    assert_int_equal(search_request_write(&searxng, &simple, &request, &e), -1);
    assert_string_equal(e.msg, "search_url is not set.");
    assert_int_equal(search_request_write(&tavily, &blank, &request, &e), -1);
    assert_string_equal(e.msg, "The query is empty.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(searxng_is_asked_for_json),
        cmocka_unit_test(domains_are_operators_where_there_is_no_field),
        cmocka_unit_test(the_address_of_an_instance_may_be_written_in_many_ways),
        cmocka_unit_test(brave_gets_the_place_of_the_user),
        cmocka_unit_test(places_that_a_service_does_not_take_are_left_out),
        cmocka_unit_test(tavily_gets_domains_and_the_name_of_the_country),
        cmocka_unit_test(exa_is_asked_for_highlights),
        cmocka_unit_test(an_own_address_replaces_that_of_the_service),
        cmocka_unit_test(a_key_of_an_instance_is_a_bearer_token),
        cmocka_unit_test(the_size_says_how_many_results_unless_a_number_does),
        cmocka_unit_test(a_long_query_is_cut_and_keeps_its_sites),
        cmocka_unit_test(too_many_domains_are_no_operators),
        cmocka_unit_test(domains_cannot_bring_operators_of_their_own),
        cmocka_unit_test(what_cannot_be_asked_is_refused),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
