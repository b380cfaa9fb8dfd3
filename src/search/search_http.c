/* search_http.c -- one request to a service and its answer.
 *
 * What a failure tells a model names the service but not where it is: that may be an address of
 * the operator's network. The log has it. The key goes into a header and nowhere else. */
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "ev/log.h"
#include "ev/log_rate.h"
#include "search/search_read.h"
#include "search/search_request.h"

enum { CONNECT_TIMEOUT_MS = 10 * 1000, NS_PER_MS = 1000 * 1000, FAILURE_BYTES = 256 };

struct search_http {
    struct http_client *client;
    struct search_http_conf conf;
    const struct search_service_info *info;
    struct log_rate failures;
};

struct search_call {
    struct search_http *search;
    struct http_call *call;
    const struct search_handler *handler;
    void *arg;
    struct arena arena;
    struct search_query query; /* what filters the results */
    struct search_request request;
    struct buf answer;
};

static void call_free(struct search_call *c)
{
    search_request_fini(&c->request);
    buf_fini(&c->answer);
    arena_fini(&c->arena);
    free(c);
}

/* ---- the end */

static void log_failure(struct search_http *s, const char *what)
{
    uint64_t n_left_out;

    if (log_rate_take(&s->failures, uv_hrtime() / NS_PER_MS, &n_left_out))
        log_line(LOG_WARN, "search_failed",
                 (struct log_field[]){LOG_STR("service", str_from_c(s->info->name)),
                                      LOG_STR("reason", str_from_c(what)), LOG_END});
}

static void end_call(struct search_call *c, const char *failure,
                     const struct search_results *results)
{
    http_call_cancel(c->call);
    c->handler->on_results(c->arg, failure, results);
    call_free(c);
}

/* details are for the log, or NULL. */
static void fail_search(struct search_call *c, const char *what, const char *details)
{
    char failure[FAILURE_BYTES];

    (void)snprintf(failure, sizeof(failure), "The web search has failed: %s %s.",
                   c->search->info->name, what);
    log_failure(c->search, details == NULL ? what : details);
    end_call(c, failure, NULL);
}

static void fail_status(struct search_call *c, int status)
{
    char what[FAILURE_BYTES];

    (void)snprintf(what, sizeof(what), "%s (HTTP status %d)",
                   search_service_complaint(c->search->info, status), status);
    fail_search(c, what, NULL);
}

static void fail_call(struct search_call *c, const struct err *e)
{
    const char *what = "is not reachable";

    if (e->code == ERR_UPSTREAM_TIMEOUT)
        what = "did not answer in time";
    else if (e->code == ERR_UPSTREAM_ERROR)
        what = "did not finish its answer";
    fail_search(c, what, e->msg);
}

static void read_results(struct search_call *c)
{
    struct search_results results;
    char what[FAILURE_BYTES];
    struct err e;

    if (search_list_read(buf_str(&c->answer), &c->query, &c->arena, &results, &e) == 0) {
        end_call(c, NULL, &results);
        return;
    }
    (void)snprintf(what, sizeof(what), "gave no results: %.*s", FAILURE_BYTES / 2, e.msg);
    fail_search(c, what, NULL);
}

/* ---- the answer */

static void on_head(void *arg, int status, const struct http_header *headers, size_t n_headers)
{
    struct search_call *c = arg;

    (void)headers;
    (void)n_headers;
    if (status != 200)
        fail_status(c, status);
}

static void on_body(void *arg, str bytes)
{
    struct search_call *c = arg;

    buf_append(&c->answer, bytes);
    if (buf_failed(&c->answer))
        fail_search(c,
                    c->answer.is_full ? "gave an answer that is too large" : "cannot be used now",
                    c->answer.is_full ? NULL : "out of memory");
}

static void on_end(void *arg, const struct err *failure)
{
    struct search_call *c = arg;

    if (failure != NULL)
        fail_call(c, failure);
    else
        read_results(c);
}

/* ---- the request */

/* Copies a list of domains, since what it points to is the caller's. */
static bool copy_domains(struct arena *a, const str **domains, size_t n)
{
    str *copy;

    if (n == 0)
        return true;
    copy = arena_array(a, n, sizeof(*copy));
    for (size_t i = 0; copy != NULL && i < n; i++) {
        copy[i] = arena_dup(a, (*domains)[i]);
        if (str_is_none(copy[i]))
            return false;
    }
    *domains = copy;
    return copy != NULL;
}

static int start_call(struct search_call *c, const struct search_query *query, struct err *reterr)
{
    static const struct http_call_handler http_handler = {on_head, on_body, on_end};
    const struct search_http *s = c->search;
    struct http_call_conf conf;

    if (search_request_write(&s->conf, query, &c->request, reterr) == -1)
        return -1;
    c->query = (struct search_query){.max_results = query->max_results,
                                     .size = query->size,
                                     .allowed_domains = query->allowed_domains,
                                     .n_allowed = query->n_allowed,
                                     .blocked_domains = query->blocked_domains,
                                     .n_blocked = query->n_blocked};
    if (!copy_domains(&c->arena, &c->query.allowed_domains, query->n_allowed) ||
        !copy_domains(&c->arena, &c->query.blocked_domains, query->n_blocked))
        return err_set_no_memory(reterr);
    conf = (struct http_call_conf){.method = c->request.method,
                                   .url = buf_cstr(&c->request.url),
                                   .headers = c->request.headers,
                                   .n_headers = c->request.n_headers,
                                   .body = buf_str(&c->request.body),
                                   .peer = "search service",
                                   .connect_timeout_ms = CONNECT_TIMEOUT_MS,
                                   .total_timeout_ms = s->conf.timeout_ms};
    c->call = http_client_start(s->client, &conf, &http_handler, c, reterr);
    return c->call == NULL ? -1 : 0;
}

static void *search_start(void *self, const struct search_query *query,
                          const struct search_handler *handler, void *arg, struct err *reterr)
{
    struct search_call *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    c->search = self;
    c->handler = handler;
    c->arg = arg;
    buf_init(&c->answer, c->search->conf.max_answer_bytes);
    if (start_call(c, query, reterr) == -1) {
        call_free(c);
        return NULL;
    }
    return c;
}

static void search_cancel(void *self, void *call)
{
    struct search_call *c = call;

    (void)self;
    if (c == NULL)
        return;
    http_call_cancel(c->call);
    call_free(c);
}

/* ---- the searcher */

struct search_http *search_http_new(struct http_client *client, const struct search_http_conf *conf)
{
    struct search_http *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    s->client = client;
    s->conf = *conf;
    s->info = search_service_info(conf->service);
    return s;
}

void search_http_free(struct search_http *s)
{
    free(s);
}

struct searcher search_http_searcher(struct search_http *s)
{
    return (struct searcher){.self = s, .start = search_start, .cancel = search_cancel};
}
