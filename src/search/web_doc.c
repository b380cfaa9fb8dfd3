/* web_doc.c -- docs are in a list, the oldest first: a session has few. */
#include "search/web_doc.h"

#include <stdlib.h>

/* A page and who holds it: its doc, and searches in it. */
struct held_page {
    struct page page; /* must be first */
    unsigned n_references;
};

static struct held_page *held_page(struct page *page)
{
    return (struct held_page *)page;
}

void web_page_ref(struct page *page)
{
    held_page(page)->n_references++;
}

void web_page_unref(struct page *page)
{
    if (--held_page(page)->n_references > 0)
        return;
    page_fini(page);
    free(held_page(page));
}

static void forget_page(struct web_docs *d, struct web_doc *doc)
{
    d->held_bytes -= doc->page->arena.used;
    web_page_unref(doc->page);
    doc->page = NULL;
}

void web_docs_fini(struct web_docs *d)
{
    for (struct web_doc *doc = d->first; doc != NULL; doc = doc->next) {
        if (doc->page != NULL)
            forget_page(d, doc);
    }
    arena_fini(&d->arena);
    *d = (struct web_docs){.first = NULL};
}

/* The analyzer of gcc does not see that the document holds the page that is a part of held. */
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

static void append_doc(struct web_docs *d, struct web_doc *doc)
{
    if (d->last == NULL)
        d->first = doc;
    else
        d->last->next = doc;
    d->last = doc;
    d->held_bytes += doc->page->arena.used;
}

struct web_doc *web_docs_add(struct web_docs *d, str asked, const struct web_list *list,
                             struct page *page)
{
    struct web_doc *doc = arena_alloc(&d->arena, sizeof(*doc));
    struct held_page *held = malloc(sizeof(*held));

    if (doc != NULL && held != NULL) {
        doc->url = arena_dup(&d->arena, page->url);
        doc->asked = arena_dup(&d->arena, asked);
        doc->title = arena_dup(&d->arena, page->title);
    }
    if (doc == NULL || held == NULL || str_is_none(doc->url) || str_is_none(doc->asked) ||
        str_is_none(doc->title)) {
        free(held);
        page_fini(page);
        return NULL;
    }
    if (list != NULL)
        doc->list = *list;
    *held = (struct held_page){*page, 1};
    doc->page = &held->page;
    append_doc(d, doc);
    return doc;
}

#ifndef __clang__
#pragma GCC diagnostic pop
#endif

struct web_doc *web_docs_find(const struct web_docs *d, str url)
{
    for (struct web_doc *doc = d->first; doc != NULL; doc = doc->next) {
        if (doc->page != NULL && (str_eq(doc->asked, url) || str_eq(doc->url, url)))
            return doc;
    }
    return NULL;
}

void web_docs_limit(struct web_docs *d, size_t max_bytes, const struct web_doc *kept)
{
    for (struct web_doc *doc = d->first; doc != NULL && d->held_bytes > max_bytes;
         doc = doc->next) {
        if (doc->page != NULL && doc != kept)
            forget_page(d, doc);
    }
}
