/* web_session.c -- actions: what they are about is found, fetched if need be, and shown.
 *
 *     start -> searcher --------------------------> list -> view
 *           -> held page, or the loop's next turn -------> view
 *           -> fetch, which other calls may share -> page -> view
 *
 * A call ends with its report, exactly once. Queries and URLs are in no log. */
#include "search/web_session.h"

#include <stdio.h>
#include <stdlib.h>

#include "ev/loop.h"
#include "search/web_doc.h"
#include "search/web_url.h"
#include "search/web_view.h"

enum { MAX_RESULTS = 20 };

static const str forgotten = STR_INIT("That page is no longer held: open it again by its url.");

struct web_fetch {
    struct web_session *session;
    char *url;
    struct page_fetch *fetch;
    struct web_call *waiting; /* at least one until it reports */
    bool is_reporting;
    struct web_fetch *next;
};

struct web_call {
    struct web_session *session;
    struct arena arena; /* of the action's texts */
    struct web_action action;
    struct web_handler handler;
    void *arg;
    void *search;            /* the searcher's call */
    struct web_fetch *fetch; /* that it waits for ... */
    struct web_call *next;   /* ... with these */
    struct web_doc *doc;     /* what is to be shown, or why it cannot be, on the next turn */
    str failure;
    bool is_deferred, is_done, is_cancelled;
};

struct web_session {
    struct web_session_conf conf;
    struct web_docs docs;
    struct web_doc **views; /* by cursor */
    size_t n_views, cap_views;
    struct web_fetch *fetches;
};

struct web_session *web_session_new(const struct web_session_conf *conf)
{
    struct web_session *s = calloc(1, sizeof(*s));

    if (s != NULL)
        s->conf = *conf;
    return s;
}

void web_session_free(struct web_session *s)
{
    if (s == NULL)
        return;
    web_docs_fini(&s->docs);
    free(s->views);
    free(s);
}

/* ---- reports */

static void call_free(struct web_call *c)
{
    arena_fini(&c->arena);
    free(c);
}

static void report(struct web_call *c, const struct web_outcome *outcome)
{
    c->is_done = true;
    c->handler.on_done(c->arg, outcome);
    call_free(c);
}

static void fail(struct web_call *c, str message)
{
    report(c, &(struct web_outcome){.is_failed = true, .output = message, .url = c->action.url});
}

static void fail_no_memory(struct web_call *c)
{
    fail(c, STR("The gateway is out of memory."));
}

/* ---- views */

static size_t view_bytes(const struct web_session *s)
{
    static const size_t by_size[] = {
        [SEARCH_MEDIUM] = 8192, [SEARCH_LOW] = 4096, [SEARCH_HIGH] = 16384};

    return s->conf.max_view_bytes > 0 ? s->conf.max_view_bytes : by_size[s->conf.query.size];
}

static bool add_view(struct web_session *s, struct web_doc *doc)
{
    if (s->n_views == s->cap_views) {
        size_t cap = s->cap_views == 0 ? 8 : s->cap_views * 2;
        struct web_doc **views = realloc(s->views, cap * sizeof(*views));

        if (views == NULL)
            return false;
        s->views = views;
        s->cap_views = cap;
    }
    s->views[s->n_views++] = doc;
    return true;
}

static void report_view(struct web_call *c, const struct web_doc *doc, struct buf *output)
{
    struct web_outcome outcome = {.output = buf_str(output),
                                  .url = doc->url.len > 0 ? doc->url : STR_NONE,
                                  .sources = doc->list.results,
                                  .n_sources = doc->list.n};

    if (c->action.op != WEB_SEARCH) {
        outcome.sources = NULL;
        outcome.n_sources = 0;
    }
    report(c, &outcome);
}

static void write_view(const struct web_call *c, const struct page *page, struct buf *out)
{
    const struct web_session *s = c->session;
    const struct web_action *a = &c->action;
    struct web_view view = {.cursor = s->n_views,
                            .page = page,
                            .first_line = a->first_line > 0 ? (size_t)a->first_line : 0,
                            .n_lines = a->n_lines > 0 ? (size_t)a->n_lines : 0,
                            .max_bytes = view_bytes(s)};

    if (a->op == WEB_FIND)
        web_find_write(&view, a->pattern, out);
    else
        web_view_write(&view, out);
}

/* Is the line where the view is to begin behind the end? */
static bool is_beyond(const struct web_action *a, const struct page *page)
{
    return a->op == WEB_OPEN && a->first_line > 0 && page->n_lines > 0 &&
           (uint64_t)a->first_line >= page->n_lines;
}

static void fail_line(struct web_call *c, const struct page *page)
{
    char text[96];

    (void)snprintf(text, sizeof(text), "There is no line %lld: the page has the lines 0 to %zu.",
                   (long long)c->action.first_line, page->n_lines - 1);
    fail(c, str_from_c(text));
}

/* Ends the call with a view of the doc, whose page is held. */
static void show(struct web_call *c, struct web_doc *doc)
{
    struct web_session *s = c->session;
    struct buf out = {.limit = 0};

    if (is_beyond(&c->action, doc->page)) {
        fail_line(c, doc->page);
        return;
    }
    write_view(c, doc->page, &out);
    if (s->conf.max_held_bytes > 0)
        web_docs_limit(&s->docs, s->conf.max_held_bytes, doc);
    if (buf_failed(&out) || !add_view(s, doc))
        fail_no_memory(c);
    else
        report_view(c, doc, &out);
    buf_fini(&out);
}

/* ---- at once, but not from inside start */

static void on_deferred(void *arg)
{
    struct web_call *c = arg;

    if (c->is_cancelled)
        call_free(c);
    else if (c->doc != NULL && c->doc->page != NULL)
        show(c, c->doc);
    else
        fail(c, str_is_none(c->failure) ? forgotten : c->failure);
}

/* Shows the doc, or fails with why. Returns 0, or -1 when out of memory. */
static int defer(struct web_call *c, struct web_doc *doc, const char *why)
{
    c->doc = doc;
    c->failure = arena_dup(&c->arena, str_from_c(why));
    c->is_deferred = (doc != NULL || !str_is_none(c->failure)) &&
                     loop_defer(c->session->conf.loop, on_deferred, c);
    return c->is_deferred ? 0 : -1;
}

/* ---- fetching */

static void fetch_unlink(struct web_fetch *f)
{
    struct web_fetch **at = &f->session->fetches;

    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
}

static void fetch_free(struct web_fetch *f)
{
    free(f->url);
    free(f);
}

static struct web_call *next_waiting(struct web_fetch *f)
{
    struct web_call *c = f->waiting;

    if (c != NULL) {
        f->waiting = c->next;
        c->fetch = NULL;
    }
    return c;
}

/* A report may cancel other calls, so each is taken off before its own. */
static void on_page(void *arg, const char *failure, struct page *page)
{
    struct web_fetch *f = arg;
    struct web_doc *doc = NULL;
    struct web_call *c;

    fetch_unlink(f);
    f->is_reporting = true;
    if (failure == NULL)
        doc = web_docs_add(&f->session->docs, str_from_c(f->url), NULL, page);
    while ((c = next_waiting(f)) != NULL) {
        if (doc != NULL && doc->page != NULL)
            show(c, doc);
        else if (failure != NULL)
            fail(c, str_from_c(failure));
        else
            fail_no_memory(c);
    }
    fetch_free(f);
}

static bool page_is_allowed(void *arg, str url)
{
    const struct web_fetch *f = arg;

    return search_allows(&f->session->conf.query, url);
}

static const struct page_fetch_handler fetch_handler = {on_page, page_is_allowed};

static void wait_for(struct web_call *c, struct web_fetch *f)
{
    c->fetch = f;
    c->next = f->waiting;
    f->waiting = c;
}

static int fetch_start(struct web_call *c, str url)
{
    struct web_session *s = c->session;
    struct web_fetch *f = calloc(1, sizeof(*f));
    struct err e;

    if (f == NULL || (f->url = strndup(url.p, url.len)) == NULL) {
        free(f);
        return -1;
    }
    f->session = s;
    f->fetch = page_fetch_start(s->conf.pages, &s->conf.fetch, url, &fetch_handler, f, &e);
    if (f->fetch == NULL) {
        fetch_free(f);
        return defer(c, NULL, e.msg);
    }
    f->next = s->fetches;
    s->fetches = f;
    wait_for(c, f);
    return 0;
}

static int open_url(struct web_call *c, str given)
{
    struct web_session *s = c->session;
    str url = web_url_read(given, &c->arena);
    struct web_doc *held;

    if (str_is_none(url))
        return defer(c, NULL, "Only pages with an http:// or https:// URL can be opened.");
    c->action.url = url;
    held = web_docs_find(&s->docs, url);
    if (held != NULL)
        return defer(c, held, NULL);
    if (s->conf.pages == NULL)
        return defer(c, NULL, "Pages cannot be opened here: use what the search results say.");
    if (!search_allows(&s->conf.query, url))
        return defer(c, NULL, "Pages of this site may not be opened here: use other results.");
    for (struct web_fetch *f = s->fetches; f != NULL; f = f->next) {
        if (str_eq(str_from_c(f->url), url)) {
            wait_for(c, f);
            return 0;
        }
    }
    return fetch_start(c, url);
}

/* ---- pages that are there */

static int open_link(struct web_call *c, struct web_doc *doc)
{
    const struct page *page = doc->page;

    if (page == NULL)
        return defer(c, NULL, forgotten.p);
    if ((uint64_t)c->action.link >= page->n_links)
        return defer(c, NULL,
                     "That page has no link with this number: links are shown as "
                     "\xE3\x80\x90number\xE2\x80\xA0text\xE3\x80\x91.");
    return open_url(c, page->links[c->action.link].url);
}

static int open_cursor(struct web_call *c)
{
    const struct web_session *s = c->session;
    int64_t cursor = c->action.cursor < 0 ? (int64_t)s->n_views - 1 : c->action.cursor;

    if (s->n_views == 0)
        return defer(c, NULL, "No page is open yet: search first, or give a url.");
    if ((uint64_t)cursor >= s->n_views)
        return defer(c, NULL,
                     "There is no page with this cursor: a cursor is the number in "
                     "brackets at the top of a page.");
    if (c->action.link >= 0)
        return open_link(c, s->views[cursor]);
    return defer(c, s->views[cursor], NULL);
}

/* ---- searching */

static void on_results(void *arg, const char *failure, const struct search_results *results)
{
    struct web_call *c = arg;
    struct web_docs *docs = &c->session->docs;
    struct web_list list;
    struct page page;
    struct web_doc *doc = NULL;

    c->search = NULL;
    if (failure != NULL) {
        fail(c, str_from_c(failure));
        return;
    }
    if (web_list_make(c->action.query, results, &docs->arena, &list, &page) == 0)
        doc = web_docs_add(docs, STR(""), &list, &page);
    if (doc == NULL)
        fail_no_memory(c);
    else
        show(c, doc);
}

static int search(struct web_call *c)
{
    static const struct search_handler handler = {on_results};
    struct searcher *searcher = &c->session->conf.searcher;
    struct search_query query = c->session->conf.query;
    struct err e;

    query.query = c->action.query;
    if (c->action.max_results > 0)
        query.max_results =
            (unsigned)(c->action.max_results < MAX_RESULTS ? c->action.max_results : MAX_RESULTS);
    c->search = searcher->start(searcher->self, &query, &handler, c, &e);
    return c->search != NULL ? 0 : defer(c, NULL, e.msg);
}

/* ---- calls */

static bool copy_text(struct arena *a, str *text)
{
    bool is_none = str_is_none(*text);

    *text = arena_dup(a, *text);
    return is_none || !str_is_none(*text);
}

static int start(struct web_call *c)
{
    struct web_action *a = &c->action;

    if (!copy_text(&c->arena, &a->query) || !copy_text(&c->arena, &a->url) ||
        !copy_text(&c->arena, &a->pattern))
        return -1;
    if (a->op == WEB_SEARCH)
        return search(c);
    return str_is_none(a->url) ? open_cursor(c) : open_url(c, a->url);
}

struct web_call *web_session_start(struct web_session *s, const struct web_action *action,
                                   const struct web_handler *handler, void *arg, struct err *reterr)
{
    struct web_call *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    c->session = s;
    c->action = *action;
    c->handler = *handler;
    c->arg = arg;
    if (start(c) == -1) {
        call_free(c);
        err_set_no_memory(reterr);
        return NULL;
    }
    return c;
}

static void stop_waiting(struct web_call *c)
{
    struct web_fetch *f = c->fetch;
    struct web_call **at = &f->waiting;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    if (f->waiting != NULL || f->is_reporting)
        return;
    page_fetch_cancel(f->fetch);
    fetch_unlink(f);
    fetch_free(f);
}

void web_call_cancel(struct web_call *c)
{
    if (c->is_done)
        return;
    c->is_cancelled = true;
    if (c->is_deferred)
        return; /* the loop still has it */
    if (c->search != NULL)
        c->session->conf.searcher.cancel(c->session->conf.searcher.self, c->search);
    if (c->fetch != NULL)
        stop_waiting(c);
    call_free(c);
}

/* ---- citations */

bool web_session_source(const struct web_session *s, unsigned cursor, int64_t line,
                        struct web_source *ret)
{
    const struct web_doc *doc = cursor < s->n_views ? s->views[cursor] : NULL;
    const struct web_source *result;

    if (doc == NULL)
        return false;
    if (doc->url.len > 0) {
        *ret = (struct web_source){.url = doc->url,
                                   .title = doc->title.len > 0 ? doc->title : doc->url};
        return true;
    }
    result = web_list_at(&doc->list, line);
    if (result != NULL)
        *ret = *result;
    return result != NULL;
}
