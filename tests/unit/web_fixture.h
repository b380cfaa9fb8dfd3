/* web_fixture.h -- a session of the web whose searcher and pages are the test's.
 *
 * page_fetch_start(), page_fetch_cancel() and search_allows() are defined here: the linker looks
 * into the library only for what is missing. A fetch reports when the test says so. */
#ifndef ANTIPHON_TESTS_UNIT_WEB_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_WEB_FIXTURE_H

#include "unit/fake_loop.h"

#include "search/web_session.h"

/* ---- pages */

struct page_fetch {
    char url[200];
    struct page_fetch_handler handler;
    void *arg;
    struct page_fetch *next;
};

static struct page_fetch *fetches; /* under way, the newest first */
static unsigned n_fetches;         /* ever started */

struct page_fetch *page_fetch_start(struct http_client *client, const struct page_fetch_conf *conf,
                                    str url, const struct page_fetch_handler *handler, void *arg,
                                    struct err *reterr)
{
    struct page_fetch *f;

    assert_non_null(client);
    assert_non_null(conf);
    if (str_find(url, STR("refused")) < url.len) {
        err_set(reterr, ERR_BAD_REQUEST, "This URL is refused.");
        return NULL;
    }
    f = calloc(1, sizeof(*f));
    (void)snprintf(f->url, sizeof(f->url), "%.*s", STR_ARG(url));
    f->handler = *handler;
    f->arg = arg;
    f->next = fetches;
    fetches = f;
    n_fetches++;
    return f;
}

static inline void fetch_remove(struct page_fetch *f)
{
    struct page_fetch **at = &fetches;

    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
}

void page_fetch_cancel(struct page_fetch *f)
{
    fetch_remove(f);
    free(f);
}

bool search_allows(const struct search_query *query, str url)
{
    (void)query;
    return str_find(url, STR("blocked")) == url.len;
}

/* Ends the fetch of this URL: with a page that came from final_url, or a failure. */
static inline void fetch_end(const char *url, const char *final_url, const char *html,
                             const char *failure)
{
    struct page_source source = {.url = str_from_c(final_url),
                                 .content_type = STR("text/html; charset=utf-8"),
                                 .bytes = str_from_c(html)};
    struct page_fetch *f = fetches;
    struct page page;

    while (f != NULL && strcmp(f->url, url) != 0)
        f = f->next;
    assert_non_null(f);
    fetch_remove(f);
    if (failure == NULL)
        assert_int_equal(page_read(&source, &page, NULL), 0);
    f->handler.on_page(f->arg, failure, failure == NULL ? &page : NULL);
    free(f);
}

static inline void fetch_page(const char *url, const char *html)
{
    fetch_end(url, url, html, NULL);
}

/* ---- searches */

struct fake_search {
    struct search_handler handler;
    void *arg; /* NULL: none is under way */
    char query[100];
    unsigned max_results;
};

static struct fake_search last_search;

static inline void *fake_search_start(void *self, const struct search_query *query,
                                      const struct search_handler *handler, void *arg,
                                      struct err *reterr)
{
    assert_ptr_equal(self, &last_search);
    if (str_eq(query->query, STR("refused"))) {
        err_set(reterr, ERR_BAD_REQUEST, "This query is refused.");
        return NULL;
    }
    last_search =
        (struct fake_search){.handler = *handler, .arg = arg, .max_results = query->max_results};
    (void)snprintf(last_search.query, sizeof(last_search.query), "%.*s", STR_ARG(query->query));
    return &last_search;
}

static inline void fake_search_cancel(void *self, void *call)
{
    assert_ptr_equal(self, call);
    last_search.arg = NULL;
}

static inline void search_end(const char *failure, const struct search_results *results)
{
    void *arg = last_search.arg;

    assert_non_null(arg);
    last_search.arg = NULL;
    last_search.handler.on_results(arg, failure, results);
}

/* ---- the session, and what it has reported last */

struct stage {
    struct loop *loop;
    struct web_session *session;
    unsigned n_reports;
    bool is_failed;
    struct buf output, url;
    size_t n_sources;
};

static inline struct web_session_conf fake_conf(struct stage *g)
{
    return (struct web_session_conf){
        .loop = g->loop,
        .searcher = {&last_search, fake_search_start, fake_search_cancel},
        .pages = (struct http_client *)g, /* never looked into */
    };
}

static inline int stage_open(void **state)
{
    struct stage *g = calloc(1, sizeof(*g));
    struct web_session_conf conf;

    g->loop = loop_new(NULL);
    conf = fake_conf(g);
    g->session = web_session_new(&conf);
    n_fetches = 0;
    *state = g;
    return 0;
}

static inline int stage_close(void **state)
{
    struct stage *g = *state;

    assert_null(fetches);
    web_session_free(g->session);
    loop_free(g->loop);
    buf_fini(&g->output);
    buf_fini(&g->url);
    free(g);
    return 0;
}

/* Another session in place of the first. */
static inline void stage_restart(struct stage *g, const struct web_session_conf *conf)
{
    web_session_free(g->session);
    g->session = web_session_new(conf);
}

static inline void on_done(void *arg, const struct web_outcome *outcome)
{
    struct stage *g = arg;

    g->n_reports++;
    g->is_failed = outcome->is_failed;
    g->n_sources = outcome->n_sources;
    buf_reset(&g->output);
    buf_append(&g->output, outcome->output);
    buf_reset(&g->url);
    buf_append(&g->url, str_is_none(outcome->url) ? STR("none") : outcome->url);
}

/* Starts what the arguments of a call say. */
static inline struct web_call *begin(struct stage *g, const char *json)
{
    static const struct web_handler handler = {on_done};
    struct arena arena = {.limit = 0};
    struct web_action action;
    struct web_call *call;
    unsigned n = g->n_reports;

    assert_int_equal(web_action_read(str_from_c(json), &arena, &action, NULL), 0);
    call = web_session_start(g->session, &action, &handler, g, NULL);
    assert_non_null(call);
    assert_int_equal(g->n_reports, n);
    arena_fini(&arena);
    return call;
}

/* The same, and lets it end, which it does without help. */
static inline void run(struct stage *g, const char *json)
{
    unsigned n = g->n_reports;

    (void)begin(g, json);
    fake_loop_pass(g->loop, 0);
    assert_int_equal(g->n_reports, n + 1);
}

#define assert_output(g, text)                                                                     \
    do {                                                                                           \
        assert_str_c(buf_str(&(g)->output), text);                                                 \
        assert_false((g)->is_failed);                                                              \
    } while (0)

/* It has failed, in words that have these among them. */
static inline void check_failed(const struct stage *g, const char *words)
{
    assert_true(g->is_failed);
    if (str_find(buf_str(&g->output), str_from_c(words)) == g->output.len)
        fail_msg("\"%.*s\" without \"%s\"", STR_ARG(buf_str(&g->output)), words);
}

static inline bool has_output(const struct stage *g, const char *words)
{
    return str_find(buf_str(&g->output), str_from_c(words)) < g->output.len;
}

#endif
