/* fuzz_search.c -- any query and any answer: requests can be sent, and results are what a model may
 * see.
 *
 * The input is a domain, a query and a URL, each ended by a line end, then the answer. */
#include "fuzz/fuzz.h"

#include <arpa/inet.h>
#include <curl/curl.h>

#include "base/utf8.h"
#include "json/json_read.h"
#include "lib/fixture.h"
#include "search/page_fetch_url.h"
#include "search/search_domains.h"
#include "search/search_read.h"
#include "search/search_request.h"
#include "search/search_text.h"

/* Cuts the next line off rest. */
static str next_line(str *rest)
{
    size_t n = str_find_char(*rest, '\n');
    str line = str_from(rest->p, n);

    *rest = str_skip(*rest, n + 1);
    return line;
}

static void check_plain(str text, size_t limit)
{
    fuzz_promise(text.len <= limit && utf8_is_valid(text), "a text is bounded and well-formed");
    while (text.len > 0) {
        fuzz_promise(!utf8_is_control(text), "a text has no control characters");
        text = str_skip(text, utf8_char(text));
    }
}

static void check_sendable(str url)
{
    for (size_t i = 0; i < url.len; i++)
        fuzz_promise(url.p[i] > ' ' && url.p[i] <= '~', "a URL can be sent");
}

/* ---- URLs */

/* libcurl writes addresses in one way, whatever they were. */
static bool is_address(str host)
{
    char text[300];
    struct in_addr address;

    (void)snprintf(text, sizeof(text), "%.*s", STR_ARG(host));
    return host.p[0] == '[' || inet_aton(text, &address) != 0;
}

static void check_host(str url)
{
    CURLU *parsed = curl_url();
    struct buf text = {.limit = 0};
    char *host = NULL;
    str ours;

    if (search_url_host(url, &ours)) {
        buf_append(&text, url);
        fuzz_promise(!str_is_none(ours) && ours.len > 0, "a web page has a host");
        if (!is_address(ours) &&
            curl_url_set(parsed, CURLUPART_URL, buf_cstr(&text), CURLU_PATH_AS_IS) == CURLUE_OK &&
            curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK) {
            str theirs = str_from_c(host);

            theirs.len -= str_ends_with(theirs, STR(".")) ? 1 : 0;
            fuzz_promise(theirs.len >= ours.len &&
                             str_eq_nocase(str_from(theirs.p, ours.len), ours),
                         "libcurl connects to the host that was judged");
        }
    }
    curl_free(host);
    curl_url_cleanup(parsed);
    buf_fini(&text);
}

static void check_reference(str reference)
{
    struct arena a = {.limit = 0};
    str base = STR("https://h.example/a/b?c"), url = page_fetch_url(base, reference, &a);

    if (!str_is_none(url)) {
        fuzz_promise(str_find_char(url, '#') == url.len, "a URL has no fragment");
        fuzz_promise(str_eq(page_fetch_url(STR_NONE, url, &a), url), "what is resolved stays so");
    }
    arena_fini(&a);
}

/* ---- requests */

static void check_request(enum search_service service, const struct search_query *q)
{
    const struct search_http_conf conf = {
        .service = service, .url = service == SEARCH_SEARXNG ? "http://s.example" : NULL};
    struct search_request r = {.n_headers = 0};
    struct err e;

    if (search_request_write(&conf, q, &r, &e) == 0) {
        check_sendable(buf_str(&r.url));
        fuzz_promise(r.body.len == 0 || jr_is_valid(buf_str(&r.body)), "a body is JSON");
        fuzz_promise(utf8_count(buf_str(&r.words)) <= 1000, "a query is bounded");
    }
    search_request_fini(&r);
}

/* ---- answers */

static void check_results(const struct search_results *results, const struct search_query *q)
{
    fuzz_promise(results->n <= search_max_results(q), "there are as many as were asked for");
    for (size_t i = 0; i < results->n; i++) {
        const struct search_result *r = &results->v[i];

        check_sendable(r->url);
        fuzz_promise(search_allows(q, r->url), "a result is of a domain that is allowed");
        check_plain(r->title, 300);
        check_plain(r->snippet, 2000);
        check_plain(r->date, 40);
    }
}

static void check_answer(str answer, const struct search_query *q)
{
    struct arena a = {.limit = 0};
    struct search_results results;
    struct err e;

    if (search_list_read(answer, q, &a, &results, &e) == 0)
        check_results(&results, q);
    fuzz_promise(search_results_read(answer, q, &a, &results) == 0, "there is memory");
    check_results(&results, q);
    fuzz_promise(str_is_none(results.text) || (results.n == 0 && str_eq(results.text, answer)),
                 "a text is the answer as it was");
    check_plain(search_text_plain(answer, 100, &a), 100);
    arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str rest = fuzz_input(bytes, n), domain = next_line(&rest), query = next_line(&rest);
    str url = next_line(&rest);
    const struct search_query allowed = {.query = query,
                                         .allowed_domains = &domain,
                                         .n_allowed = 1},
                              blocked = {.query = query,
                                         .blocked_domains = &domain,
                                         .n_blocked = 1,
                                         .country = str_from(query.p, query.len < 2 ? 0 : 2)};
    char *answer = exact_copy(rest);

    for (int service = SEARCH_SEARXNG; service <= SEARCH_EXA; service++) {
        check_request((enum search_service)service, &allowed);
        check_request((enum search_service)service, &blocked);
    }
    check_host(url);
    check_reference(url);
    check_answer(str_from(answer, rest.len), &allowed);
    check_answer(str_from(answer, rest.len), &blocked);
    free(answer);
    return 0;
}
