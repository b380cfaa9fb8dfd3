/* web_report.c -- how calls end: with a view, which gets the next number, or with a failure, which
 * tells the model what to do. */
#include <stdio.h>
#include <stdlib.h>

#include "ev/loop.h"
#include "search/web_session_internal.h"
#include "search/web_view.h"

void web_call_free(struct web_call *c)
{
    arena_fini(&c->arena);
    free(c);
}

static void report_outcome(struct web_call *c, const struct web_outcome *outcome)
{
    c->is_done = true;
    c->handler.on_done(c->arg, outcome);
    web_call_free(c);
}

void web_report_failure(struct web_call *c, str message)
{
    report_outcome(
        c, &(struct web_outcome){.is_failed = true, .output = message, .url = c->action.url});
}

void web_report_no_memory(struct web_call *c)
{
    web_report_failure(c, STR("The gateway is out of memory."));
}

static size_t view_bytes(const struct web_session *s)
{
    static const size_t by_size[] = {
        [SEARCH_MEDIUM] = 8192, [SEARCH_LOW] = 4096, [SEARCH_HIGH] = 16384};

    return s->conf.max_view_bytes > 0 ? s->conf.max_view_bytes : by_size[s->conf.query.size];
}

/* Adds a view of doc under the next cursor, which the call gets. */
static bool add_view(struct web_call *c, struct web_doc *doc)
{
    struct web_session *s = c->session;

    if (s->n_views == s->cap_views) {
        size_t cap = s->cap_views == 0 ? 8 : s->cap_views * 2;
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): it is pointers that it holds */
        struct web_doc **views = realloc(s->views, cap * sizeof(*views));

        if (views == NULL)
            return false;
        s->views = views;
        s->cap_views = cap;
    }
    c->cursor = s->conf.first_cursor + s->n_views;
    s->views[s->n_views++] = doc;
    return true;
}

/* A list has no URL, but what is opened must have a name (HARMONY 3). */
static void report_view(struct web_call *c, const struct web_doc *doc, struct buf *output)
{
    struct web_outcome outcome = {.output = buf_str(output), .url = doc->url};
    char name[32];

    if (c->action.op == WEB_SEARCH) {
        outcome.url = STR_NONE;
        outcome.sources = doc->list.results;
        outcome.n_sources = doc->list.n;
    } else if (doc->url.len == 0) {
        (void)snprintf(name, sizeof(name), "cursor:%zu", c->cursor);
        outcome.url = str_from_c(name);
    }
    report_outcome(c, &outcome);
}

static void write_view(const struct web_call *c, const struct page *page, struct buf *out)
{
    const struct web_session *s = c->session;
    const struct web_action *a = &c->action;
    struct web_view view = {.cursor = c->cursor,
                            .page = page,
                            .first_line = a->first_line > 0 ? (size_t)a->first_line : 0,
                            .n_lines = a->n_lines > 0 ? (size_t)a->n_lines : 0,
                            .max_bytes = view_bytes(s)};

    if (a->op == WEB_FIND)
        web_find_write(&view, a->pattern, out);
    else
        web_view_write(&view, out);
}

/* True when the view is to begin behind the last line. */
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
    web_report_failure(c, str_from_c(text));
}

/* ---- a large page is searched on another thread, which has its own reference to it */

enum { LARGE_PAGE_BYTES = 256 * 1024 };

static void find_elsewhere(void *arg)
{
    struct web_call *c = arg; /* whose session may end meanwhile */
    const struct web_view view = {.cursor = c->cursor, .page = c->page};

    web_find_write(&view, c->action.pattern, &c->found);
}

static void on_found(void *arg)
{
    struct web_call *c = arg;
    struct buf found = c->found;

    c->is_deferred = false;
    web_page_unref(c->page);
    if (c->is_cancelled)
        web_call_free(c);
    else if (buf_failed(&found))
        web_report_no_memory(c);
    else
        report_view(c, c->doc, &found);
    buf_fini(&found);
}

/* Starts the search of a large page on the pool; false when it is to be done here. */
static bool start_find(struct web_call *c, struct web_doc *doc)
{
    if (c->action.op != WEB_FIND || doc->page->arena.used < LARGE_PAGE_BYTES)
        return false;
    c->doc = doc;
    c->page = doc->page;
    c->is_deferred = true;
    web_page_ref(c->page);
    c->find = (struct loop_job){.work = find_elsewhere, .done = on_found, .arg = c};
    loop_offload(c->session->conf.loop, &c->find);
    return true;
}

/* The analyzer of gcc does not see that the session keeps the views. */
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

void web_report_doc(struct web_call *c, struct web_doc *doc)
{
    struct web_session *s = c->session;
    struct buf out = {.limit = 0};

    if (doc->page == NULL) {
        web_report_failure(c, STR(WEB_FORGOTTEN));
        return;
    }
    if (s->conf.max_held_bytes > 0)
        web_docs_limit(&s->docs, s->conf.max_held_bytes, doc);
    if (is_beyond(&c->action, doc->page)) {
        fail_line(c, doc->page);
        return;
    }
    if (!add_view(c, doc)) {
        web_report_no_memory(c);
        return;
    }
    if (start_find(c, doc))
        return;
    write_view(c, doc->page, &out);
    if (buf_failed(&out))
        web_report_no_memory(c);
    else
        report_view(c, doc, &out);
    buf_fini(&out);
}

#ifndef __clang__
#pragma GCC diagnostic pop
#endif
