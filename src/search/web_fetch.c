/* web_fetch.c -- pages under way, each for all calls that want it. */
#include <stdlib.h>

#include "search/web_session_internal.h"

struct web_fetch {
    struct web_session *session;
    char *url;
    struct page_fetch *fetch;
    struct web_call *waiting; /* at least one until it reports */
    bool is_reporting;
    struct web_fetch *next;
};

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
        if (doc != NULL)
            web_report_doc(c, doc);
        else if (failure != NULL)
            web_report_failure(c, str_from_c(failure));
        else
            web_report_no_memory(c);
    }
    fetch_free(f);
}

static bool page_is_allowed(void *arg, str url)
{
    const struct web_fetch *f = arg;

    return search_allows(&f->session->conf.query, url);
}

static const struct page_fetch_handler fetch_handler = {on_page, page_is_allowed};

/* Starts a fetch, or returns NULL with *reterr filled. */
static struct web_fetch *fetch_new(struct web_session *s, str url, struct err *reterr)
{
    struct web_fetch *f = calloc(1, sizeof(*f));

    if (f == NULL || (f->url = strndup(url.p, url.len)) == NULL) {
        free(f);
        err_set_no_memory(reterr);
        return NULL;
    }
    f->session = s;
    f->fetch = page_fetch_start(s->conf.pages, &s->conf.fetch, url, &fetch_handler, f, reterr);
    if (f->fetch == NULL) {
        fetch_free(f);
        return NULL;
    }
    f->next = s->fetches;
    s->fetches = f;
    return f;
}

int web_fetch_wait(struct web_call *c, str url, struct err *reterr)
{
    struct web_fetch *f = c->session->fetches;

    while (f != NULL && !str_eq(str_from_c(f->url), url))
        f = f->next;
    if (f == NULL)
        f = fetch_new(c->session, url, reterr);
    if (f == NULL)
        return -1;
    c->fetch = f;
    c->next = f->waiting;
    f->waiting = c;
    return 0;
}

void web_fetch_leave(struct web_call *c)
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
