/* web_session.c -- actions: what they are about is found, fetched if need be, and shown.
 *
 *     start -> searcher --------------------------> list -> view
 *           -> held page, or the loop's next turn -------> view
 *           -> fetch, which other calls may share -> page -> view
 *
 * A call ends with its report, exactly once. Queries and URLs are in no log. */
#include <stdlib.h>

#include "ev/loop.h"
#include "search/web_session_internal.h"
#include "search/web_url.h"

enum { MAX_RESULTS = 20 };

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

/* ---- reports at once, but not from inside start */

static void on_deferred(void *arg)
{
    struct web_call *c = arg;

    if (c->is_cancelled)
        web_call_free(c);
    else if (c->doc != NULL)
        web_report_doc(c, c->doc);
    else
        web_report_failure(c, c->failure);
}

/* Shows the doc, or fails with why. Returns 0, or -1 when out of memory. */
static int defer_report(struct web_call *c, struct web_doc *doc, const char *why)
{
    c->doc = doc;
    c->failure = arena_dup(&c->arena, str_from_c(why));
    if (doc == NULL && str_is_none(c->failure))
        return -1;
    c->is_deferred = true;
    c->next_turn = (struct loop_message){.fn = on_deferred, .arg = c};
    loop_defer(c->session->conf.loop, &c->next_turn);
    return 0;
}

static int open_url(struct web_call *c, str given)
{
    struct web_session *s = c->session;
    str url = web_url_read(given, &c->arena);
    struct web_doc *held;
    struct err e;

    if (str_is_none(url))
        return defer_report(c, NULL, "Only pages with an http:// or https:// URL can be opened.");
    c->action.url = url;
    held = web_docs_find(&s->docs, url);
    if (held != NULL)
        return defer_report(c, held, NULL);
    if (s->conf.pages == NULL)
        return defer_report(c, NULL,
                            "Pages cannot be opened here: use what the search results say.");
    if (!search_allows(&s->conf.query, url))
        return defer_report(c, NULL,
                            "Pages of this site may not be opened here: use other results.");
    return web_fetch_wait(c, url, &e) == 0 ? 0 : defer_report(c, NULL, e.msg);
}

/* ---- pages that are there */

static int open_link(struct web_call *c, struct web_doc *doc)
{
    const struct page *page = doc->page;

    if (page == NULL)
        return defer_report(c, doc, NULL);
    if ((uint64_t)c->action.link >= page->n_links)
        return defer_report(c, NULL,
                            "That page has no link with this number: links are shown as "
                            "\xE3\x80\x90number\xE2\x80\xA0text\xE3\x80\x91.");
    return open_url(c, page->links[c->action.link].url);
}

static int open_cursor(struct web_call *c)
{
    const struct web_session *s = c->session;
    uint64_t first = s->conf.first_cursor, cursor = first + s->n_views - 1;
    struct web_doc *doc;

    if (s->n_views == 0 && c->action.cursor < 0)
        return defer_report(c, NULL, "No page is open yet: search first, or give a url.");
    if (c->action.cursor >= 0)
        cursor = (uint64_t)c->action.cursor;
    if (cursor < first)
        return defer_report(c, NULL, WEB_FORGOTTEN);
    if (cursor >= first + s->n_views)
        return defer_report(c, NULL,
                            "There is no page with this cursor: a cursor is the number in "
                            "brackets at the top of a page.");
    doc = s->views[cursor - first];
    return c->action.link >= 0 ? open_link(c, doc) : defer_report(c, doc, NULL);
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
        web_report_failure(c, str_from_c(failure));
        return;
    }
    if (web_list_make(c->action.query, results, &docs->arena, &list, &page) == 0)
        doc = web_docs_add(docs, STR(""), &list, &page);
    if (doc == NULL)
        web_report_no_memory(c);
    else
        web_report_doc(c, doc);
}

static int start_search(struct web_call *c)
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
    return c->search != NULL ? 0 : defer_report(c, NULL, e.msg);
}

/* ---- calls */

static bool copy_text(struct arena *a, str *text)
{
    bool is_none = str_is_none(*text);

    *text = arena_dup(a, *text);
    return is_none || !str_is_none(*text);
}

static int start_action(struct web_call *c)
{
    struct web_action *a = &c->action;

    if (!copy_text(&c->arena, &a->query) || !copy_text(&c->arena, &a->url) ||
        !copy_text(&c->arena, &a->pattern))
        return -1;
    if (a->op == WEB_SEARCH)
        return start_search(c);
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
    if (start_action(c) == -1) {
        web_call_free(c);
        err_set_no_memory(reterr);
        return NULL;
    }
    return c;
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
        web_fetch_leave(c);
    web_call_free(c);
}

/* ---- citations */

bool web_session_source(const struct web_session *s, unsigned cursor, int64_t line,
                        struct web_source *ret)
{
    size_t first = s->conf.first_cursor;
    const struct web_source *result;
    const struct web_doc *doc;

    if (cursor < first || cursor - first >= s->n_views)
        return false;
    doc = s->views[cursor - first];
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
