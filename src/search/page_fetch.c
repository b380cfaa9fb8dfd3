/* page_fetch.c -- from one call of the HTTP client to the next, until a page has come.
 *
 *     start -> call -> head: a redirect -> call ...
 *                      head: a page -> body -> whole, cut, or broken off -> read -> report
 *
 * Every hop is judged by its URL before anything is sent; where its host leads is judged by the
 * client, for every connection. Nothing goes along but what is asked for: no cookies, no referrer.
 * A page that was asked for in secret is not read in the open, so https leads to https only.
 *
 * A body is taken as it is sent, up to the limit, and decoded at the end, up to the same limit: so
 * two limits' worth of memory is the most that a page can cost, however it swells.
 *
 * What has come is decoded and read by a job of the loop: that takes a good part of a second for
 * the largest pages, and the loop has other streams to serve. A fetch that is cancelled meanwhile
 * stays until the pool gives it back, and tells nobody.
 *
 * Failures never say where a host leads or why it does not answer, which would tell about the
 * operator's network. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "base/version.h"
#include "ev/loop.h"
#include "http/body_decode.h"
#include "search/page.h"
#include "search/page_fetch_url.h"

enum {
    NS_PER_MS = 1000 * 1000,
    DECODE_PIECE_BYTES = 16 * 1024,
    FAILURE_BYTES = 512,
    MAX_SHOWN_BYTES = 100
};

struct page_fetch {
    struct http_client *client;
    struct page_fetch_conf conf;
    struct page_fetch_handler handler;
    void *arg;
    struct http_call *call;
    struct arena arena; /* of the URLs */
    struct allowed_url url;
    uint64_t deadline_ms;
    unsigned n_redirects;
    struct buf content_type, coding; /* of the head; empty when it has none */
    struct buf body;                 /* as it was sent */
    bool is_cut;

    struct loop_job reading; /* under way, it has all above, and writes what follows: */
    struct page page;
    struct err unreadable;
    bool is_read;

    bool is_reading; /* the loop's */
    atomic_bool is_cancelled;
};

static uint64_t now_ms(void)
{
    return uv_hrtime() / NS_PER_MS;
}

static void fetch_free(struct page_fetch *f)
{
    buf_fini(&f->content_type);
    buf_fini(&f->coding);
    buf_fini(&f->body);
    arena_fini(&f->arena);
    free(f);
}

/* ---- the end */

static void end_fetch(struct page_fetch *f, const char *failure, struct page *page)
{
    http_call_cancel(f->call);
    f->handler.on_page(f->arg, failure, page);
    fetch_free(f);
}

static void fail_fetch(struct page_fetch *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void fail_fetch(struct page_fetch *f, const char *format, ...)
{
    char why[FAILURE_BYTES], failure[FAILURE_BYTES + 40];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    (void)snprintf(failure, sizeof(failure), "The page cannot be opened: %s", why);
    end_fetch(f, failure, NULL);
}

/* ---- reading, on a thread of the pool */

/* A body that was cut may end anywhere. */
static int decode_body(struct page_fetch *f, struct buf *out, struct err *reterr)
{
    struct err e;

    if (body_decode(buf_str(&f->coding), buf_str(&f->body), out, &e) == 0)
        return 0;
    if (!out->is_full && !(f->is_cut && e.code == ERR_BAD_REQUEST)) {
        err_set(reterr, ERR_BAD_REQUEST,
                "its content coding is damaged, or not one that was asked for.");
        return -1;
    }
    f->is_cut = true;
    return 0;
}

static int read_page(struct page_fetch *f, str bytes, struct err *reterr)
{
    size_t limit = f->conf.max_bytes;
    struct page_source source = {.url = str_from_c(f->url.text),
                                 .content_type = buf_str(&f->content_type),
                                 .bytes = str_from(bytes.p, bytes.len < limit ? bytes.len : limit),
                                 .is_cut = f->is_cut || bytes.len > limit,
                                 .max_text_bytes = limit};

    if (f->content_type.len == 0)
        source.content_type = STR_NONE;
    return page_read(&source, &f->page, reterr);
}

/* Bytes that do not fill a whole piece are lost when the limit is met, so there is room for one
 * piece more. */
static int read_coded(struct page_fetch *f, struct err *reterr)
{
    struct buf decoded;
    int rc;

    buf_init(&decoded, f->conf.max_bytes + DECODE_PIECE_BYTES);
    rc = decode_body(f, &decoded, reterr);
    if (rc == 0)
        rc = read_page(f, buf_str(&decoded), reterr);
    buf_fini(&decoded);
    return rc;
}

static void read_body(void *arg)
{
    struct page_fetch *f = arg;
    int rc;

    if (atomic_load(&f->is_cancelled))
        return;
    rc = body_is_plain(buf_str(&f->coding)) ? read_page(f, buf_str(&f->body), &f->unreadable)
                                            : read_coded(f, &f->unreadable);
    f->is_read = rc == 0;
}

static void on_read(void *arg)
{
    struct page_fetch *f = arg;

    if (atomic_load(&f->is_cancelled)) {
        page_fini(&f->page);
        fetch_free(f);
    } else if (f->is_read) {
        end_fetch(f, NULL, &f->page);
    } else {
        fail_fetch(f, "%s", f->unreadable.msg);
    }
}

static void start_reading(struct page_fetch *f)
{
    http_call_cancel(f->call);
    f->call = NULL;
    f->is_reading = true;
    f->reading = (struct loop_job){.work = read_body, .done = on_read, .arg = f};
    loop_offload(http_client_loop(f->client), &f->reading);
}

/* ---- one hop */

static bool is_https(const struct allowed_url *url)
{
    return str_starts_with(str_from_c(url->text), STR("https:"));
}

/* Fills f->url; the reason of a refusal is the model's to read. */
static int judge_url(struct page_fetch *f, str url, struct err *reterr)
{
    const char *param = f->n_redirects > 0 ? "Location" : "url";
    struct allowed_url to;

    if (url_policy_check(&f->conf.policy, url, param, &f->arena, &to, reterr) == -1)
        return -1;
    if (f->n_redirects > 0 && is_https(&f->url) && !is_https(&to)) {
        err_set_param(reterr, ERR_INVALID_VALUE, param, "It leads from https to http.");
        return -1;
    }
    if (f->handler.allows != NULL && !f->handler.allows(f->arg, str_from_c(to.text))) {
        err_set_param(reterr, ERR_INVALID_VALUE, param, "Its domain is not allowed here.");
        return -1;
    }
    f->url = to;
    return 0;
}

static const struct http_call_handler call_handler;

static int open_url(struct page_fetch *f, str url, struct err *reterr)
{
    static const struct http_header headers[] = {
        {STR_INIT("User-Agent"),
         STR_INIT("Mozilla/5.0 (compatible; Antiphon/" ANTIPHON_VERSION ")")},
        {STR_INIT("Accept"), STR_INIT("text/html, application/xhtml+xml, text/*;q=0.9, */*;q=0.1")},
        {STR_INIT("Accept-Encoding"), STR_INIT("gzip")},
    };
    uint64_t now = now_ms();
    struct http_call_conf conf = {.method = "GET",
                                  .headers = headers,
                                  .n_headers = COUNT_OF(headers),
                                  .peer = "web server",
                                  .total_timeout_ms = 1};

    if (judge_url(f, url, reterr) == -1)
        return -1;
    if (f->deadline_ms > now)
        conf.total_timeout_ms = f->deadline_ms - now;
    conf.url = f->url.text;
    f->call = http_client_start(f->client, &conf, &call_handler, f, reterr);
    return f->call == NULL ? -1 : 0;
}

/* ---- the answer */

static bool is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static void follow_redirect(struct page_fetch *f, str location)
{
    str url = page_fetch_url(str_from_c(f->url.text), location, &f->arena);
    struct err e;

    if (f->n_redirects == f->conf.max_redirects) {
        fail_fetch(f, "it redirects more than %u times.", f->conf.max_redirects);
        return;
    }
    http_call_cancel(f->call);
    f->call = NULL;
    f->n_redirects++;
    if (str_is_none(url))
        fail_fetch(f, "it redirects to what is no URL.");
    else if (open_url(f, url, &e) == -1)
        fail_fetch(f, "it redirects to where we do not go. %s", e.msg);
}

/* True for types that text can be made of; page_read() looks closer. A page without a type may be
 * text as well. */
static bool is_readable(str content_type)
{
    static const str types[] = {STR_INIT("application/xhtml+xml"), STR_INIT("application/json"),
                                STR_INIT("application/xml")};
    str type = str_trim(str_from(content_type.p, str_find_char(content_type, ';')));

    return type.len == 0 || str_starts_with_nocase(type, STR("text/")) ||
           str_is_one_of_nocase(type, LIST_OF(types));
}

static str find_header(const struct http_header *headers, size_t n, str name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(headers[i].name, name))
            return headers[i].value;
    }
    return STR("");
}

static void refuse_type(struct page_fetch *f, str type)
{
    str shown = header_is_value(type) ? type : STR("that has no name");

    shown.len = shown.len < MAX_SHOWN_BYTES ? shown.len : MAX_SHOWN_BYTES;
    fail_fetch(f, "it is no text, but of the type %.*s.", STR_ARG(shown));
}

static void on_head(void *arg, int status, const struct http_header *headers, size_t n)
{
    struct page_fetch *f = arg;
    str type = find_header(headers, n, STR("content-type"));

    if (is_redirect(status)) {
        follow_redirect(f, find_header(headers, n, STR("location")));
    } else if (status < 200 || status > 299) {
        fail_fetch(f, "its server answers with HTTP status %d.", status);
    } else if (!is_readable(type)) {
        refuse_type(f, type);
    } else {
        buf_append(&f->content_type, type);
        buf_append(&f->coding, find_header(headers, n, STR("content-encoding")));
    }
}

static void on_body(void *arg, str bytes)
{
    struct page_fetch *f = arg;
    size_t room = f->conf.max_bytes - f->body.len;

    f->is_cut = bytes.len > room;
    buf_append(&f->body, str_from(bytes.p, f->is_cut ? room : bytes.len));
    if (buf_failed(&f->body))
        fail_fetch(f, "memory ran out.");
    else if (f->is_cut)
        start_reading(f);
}

/* Servers that close too early are not rare, and what has come can be read. */
static void on_end(void *arg, const struct err *failure)
{
    struct page_fetch *f = arg;

    if (failure != NULL && failure->code == ERR_UPSTREAM_TIMEOUT) {
        fail_fetch(f, "it did not come within %llu ms.", (unsigned long long)f->conf.timeout_ms);
    } else if (failure != NULL && f->body.len == 0) {
        fail_fetch(f, "its server is not reachable.");
    } else {
        f->is_cut = failure != NULL;
        start_reading(f);
    }
}

static const struct http_call_handler call_handler = {on_head, on_body, on_end};

/* ---- start */

struct page_fetch *page_fetch_start(struct http_client *client, const struct page_fetch_conf *conf,
                                    str url, const struct page_fetch_handler *handler, void *arg,
                                    struct err *reterr)
{
    struct page_fetch *f = calloc(1, sizeof(*f));
    str plain;

    if (f == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    f->client = client;
    f->conf = *conf;
    f->handler = *handler;
    f->arg = arg;
    f->deadline_ms = now_ms() + conf->timeout_ms;
    plain = page_fetch_url(STR_NONE, url, &f->arena);
    if (open_url(f, str_is_none(plain) ? url : plain, reterr) == -1) {
        fetch_free(f);
        return NULL;
    }
    return f;
}

void page_fetch_cancel(struct page_fetch *f)
{
    if (f == NULL)
        return;
    if (f->is_reading) {
        atomic_store(&f->is_cancelled, true); /* on_read() frees it */
        return;
    }
    http_call_cancel(f->call);
    fetch_free(f);
}
