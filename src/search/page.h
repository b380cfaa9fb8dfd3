/* page.h -- a web page as text: fetched, made readable, cut into lines (CONTRACT 1.2).
 *
 * page_fetch_start() goes through the URL policy with every redirect, and takes no more than its
 * limits; page_read() is pure. What pages hold is a stranger's. */
#ifndef ANTIPHON_SEARCH_PAGE_H
#define ANTIPHON_SEARCH_PAGE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "http/http_client.h"
#include "http/url_policy.h"

/* ---- text */

struct page_link {
    str text, url; /* plain; url absolute, http or https */
};

/* A page has everything in its arena. Lines are at most PAGE_LINE_CHARS characters, broken between
 * words. */
enum { PAGE_LINE_CHARS = 120 };

struct page {
    struct arena arena;
    str url, title; /* plain; the URL it came from in the end */
    str *lines; /* without line ends; a link in them reads as 【3†its text】, by its number */
    size_t n_lines;
    struct page_link *links;
    size_t n_links;
    bool is_cut; /* it was longer than the limit */
};

struct page_source {
    str url;
    str content_type; /* of the head, or STR_NONE */
    str bytes;
    bool is_cut;
    size_t max_text_bytes; /* of the lines together */
};

/* Reads HTML, XHTML, JSON and plain text, in the charset that the head, a byte order mark or the
 * page itself names; anything else is refused. Returns 0 with *ret to be freed by page_fini(), or
 * -1 with *reterr filled: a message for the model. Any thread. */
int page_read(const struct page_source *source, struct page *ret, struct err *reterr);
void page_fini(struct page *page); /* a zeroed one is fine */

/* ---- fetching */

struct page_fetch_conf {
    struct url_policy policy; /* of the operator; its lists outlive the fetch */
    uint64_t timeout_ms;      /* of all together */
    size_t max_bytes;         /* after decompression */
    unsigned max_redirects;
};

struct page_fetch;

struct page_fetch_handler {
    /* Called once, never from inside start, with either failure, for the model, or the page. What
     * is in the page is the handler's, which copies the struct and finishes the copy. The fetch is
     * gone when it returns. */
    void (*on_page)(void *arg, const char *failure, struct page *page);
    /* True when the page at this URL may be opened. Asked for the first, from inside start, and for
     * each that a redirect leads to. NULL: all may. */
    bool (*allows)(void *arg, str url);
};

/* Starts a fetch on the loop of the client, which is a guarded one unless the policy is URL_ANY;
 * the page is read by a job of the loop (loop_offload()), and loop_free() waits for one that is
 * being read. The URL is as a model writes it: it may have a fragment, spaces and letters that are
 * not ASCII. NULL with *reterr filled, a message for the model: a URL that the policy or the
 * handler refuses, or out of memory. What is cut at max_bytes, or breaks off, is a page that is
 * cut; other statuses than 2xx, other types than text, timeout_ms and too many redirects are
 * failures. */
struct page_fetch *page_fetch_start(struct http_client *client, const struct page_fetch_conf *conf,
                                    str url, const struct page_fetch_handler *handler, void *arg,
                                    struct err *reterr);
void page_fetch_cancel(struct page_fetch *f); /* NULL is fine */

#endif
