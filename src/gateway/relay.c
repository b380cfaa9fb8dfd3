/* relay.c -- bytes through, unchanged but for what chat_rewrite.h names.
 *
 * Status, end-to-end headers and body of the upstream reach the client as they
 * came; what concerns one connection only does not. A failure before the
 * upstream's head is an error answer of ours, one after it breaks the
 * connection, because a short answer must not look like a whole one. */
#include "gateway/relay_internal.h"

#include <stdlib.h>

#include "ev/log.h"
#include "gateway/relay_headers.h"
#include "gateway/request_body.h"
#include "gateway/upstream_options.h"
#include "gateway/upstream_watch.h"
#include "wire/chat_rewrite.h"

static void relay_free(struct relay *relay)
{
    if (relay->call != NULL)
        http_call_cancel(relay->call);
    *relay->link = relay->next;
    if (relay->next != NULL)
        relay->next->link = relay->link;
    buf_fini(&relay->body);
    buf_fini(&relay->list);
    upstream_answer_fini(&relay->answer);
    free(relay);
}

static void log_end(const struct relay *relay, const char *outcome, const struct err *e)
{
    str phase = str_from_c(relay->phase);
    /* Only the message of a failed call is of the upstream and not of the request. */
    str message = e == NULL || str_is_none(phase) ? STR_NONE : str_from_c(e->msg);

    log_line(LOG_INFO, "relay",
             (struct log_field[]){
                 LOG_STR("request_id", relay->request_id), LOG_STR("method", relay->method),
                 LOG_PATH("path", relay->path), LOG_STR("outcome", str_from_c(outcome)),
                 LOG_INT("status", relay->status), LOG_STR("phase", phase),
                 LOG_STR("message", message),
                 LOG_INT("total_ms", loop_now_ms(relay->worker->loop) - relay->start_ms),
                 LOG_STR("owner", relay->caller.name), LOG_END});
}

void relay_fail(struct relay *relay, const struct err *e)
{
    bool is_begun = relay->status != 0;

    if (!is_begun)
        relay->status = err_http_status(e);
    log_end(relay, err_wire_code(e), e);
    if (is_begun)
        http_exchange_abort(relay->x);
    else
        http_exchange_respond_error(relay->x, e, NULL, 0);
    relay_free(relay);
}

void relay_respond(struct relay *relay, str json)
{
    const struct http_header type = {STR("content-type"), STR("application/json")};

    relay->status = 200;
    log_end(relay, "answered", NULL);
    http_exchange_respond(relay->x, relay->status, &type, 1, json);
    relay_free(relay);
}

void relay_end_all(struct worker *w, const struct err *e)
{
    for (struct relay *relay = w->relays, *next; relay != NULL; relay = next) {
        next = relay->next;
        if (relay->held == NULL) /* else it is asked again: the worker waits for that */
            relay_fail(relay, e);
    }
}

/* ---- headers */

size_t relay_add_headers(const struct relay *relay, size_t n, struct http_header *out)
{
    str key = worker_authorization(relay->worker, relay->http);

    out[n++] = (struct http_header){STR("x-request-id"), relay->request_id};
    if (!str_is_none(key))
        out[n++] = (struct http_header){STR("authorization"), key};
    return n;
}

/* Room for two more than the client has sent is in out. */
static size_t upstream_headers(const struct relay *relay, const struct http_request *r,
                               struct http_header *out)
{
    /* The coding was taken off to read the body. */
    size_t n =
        relay_headers_on(r, relay->body.len > 0 ? RELAY_WITHOUT_CODING : RELAY_WITH_CODING, out);

    return relay_add_headers(relay, n, out);
}

/* ---- reports of the upstream call */

static void pass_head(struct relay *relay, int status, const struct http_header *headers,
                      size_t n_headers)
{
    bool has_cors = relay->worker->config->cors_origins.n > 0; /* then only our word counts */
    struct http_header *passed =
        arena_array(http_exchange_arena(relay->x), n_headers, sizeof(*passed));
    size_t n = passed == NULL ? 0 : relay_headers_back(headers, n_headers, has_cors, passed);

    relay->status = status;
    http_exchange_start(relay->x, status, passed, n);
    http_exchange_flush(relay->x);
}

static void on_head(void *arg, int status, const struct http_header *headers, size_t n_headers)
{
    struct relay *relay = arg;

    if (!model_lookup_is_needed(relay, status, headers, n_headers)) {
        pass_head(relay, status, headers, n_headers);
        return;
    }
    http_call_cancel(relay->call);
    relay->call = NULL;
    model_lookup_start(relay);
}

static void on_body(void *arg, str bytes)
{
    struct relay *relay = arg;

    http_exchange_write(relay->x, bytes);
}

static void on_end(void *arg, const struct err *failure)
{
    struct relay *relay = arg;

    if (failure != NULL)
        relay->phase = http_call_phase(relay->call);
    relay->call = NULL;
    upstream_watch_hear_end(relay->worker->watch, failure);
    if (failure != NULL) {
        relay_fail(relay, failure);
        return;
    }
    log_end(relay, "relayed", NULL);
    http_exchange_end(relay->x, STR(""));
    relay_free(relay);
}

static const struct http_call_handler call_handler = {on_head, on_body, on_end};

/* ---- reports of the exchange */

static void on_gone(void *arg)
{
    struct relay *relay = arg;

    log_end(relay, "client_gone", NULL);
    relay->is_gone = true;
    if (relay->held == NULL)
        relay_free(relay);
}

static void on_blocked(void *arg, bool blocked)
{
    struct relay *relay = arg;

    if (relay->call == NULL)
        return;
    if (blocked)
        http_call_pause(relay->call);
    else
        http_call_resume(relay->call);
}

static const struct http_exchange_handler exchange_handler = {on_gone, on_blocked};

/* ---- the beginning */

str relay_path(str path)
{
    const str version = STR("/v1");

    while (str_starts_with(path, version) && (path.len == version.len || path.p[3] == '/'))
        path = str_skip(path, version.len);
    return path;
}

/* Is it the list of models, or one of them? Not every server knows HEAD there. */
static bool is_models(str path)
{
    return str_eq(path, STR("/models")) || str_starts_with(path, STR("/models/"));
}

static str upstream_method(const struct http_request *r)
{
    bool is_head = str_eq(r->method, STR("HEAD"));

    return is_head && is_models(relay_path(r->path)) ? STR("GET") : r->method;
}

static void write_url(const struct relay *relay, const struct http_request *r, struct buf *out)
{
    buf_append(out, relay->worker->upstream);
    buf_append(out, relay_path(r->path));
    if (r->query.len > 0) {
        buf_char(out, '?');
        buf_append(out, r->query);
    }
}

/* Most bodies have nothing to rewrite, which a look for one word tells. What a
 * coding hides has to be decoded first. */
static bool may_need_rewriting(const struct http_request *r, bool is_chat, bool has_aliases)
{
    bool is_coded = !str_is_none(http_request_header(r, STR("content-encoding")));

    return r->body.len > 0 &&
           (has_aliases || (is_chat && (is_coded || chat_may_hold_reasoning(r->body))));
}

static bool is_chat(const struct relay *relay)
{
    return str_eq(relay_path(relay->http->path), STR("/chat/completions"));
}

/* A body that cannot be decoded is the upstream's to judge. */
static void rewrite_body(struct relay *relay, struct http_exchange *x)
{
    const struct name_list aliases = upstream_model_aliases(relay->worker->config);
    str plain;

    if (http_exchange_body(x, &plain, NULL) == -1)
        return;
    if (is_chat(relay))
        (void)chat_rewrite(aliases, plain, &relay->body);
    else
        (void)model_alias_rewrite(aliases, plain, &relay->body);
    relay->is_out_of_memory = buf_failed(&relay->body);
}

static int start_call(struct relay *relay, const struct http_request *r, struct err *reterr)
{
    struct arena *a = http_exchange_arena(relay->x);
    struct http_header *headers = arena_array(a, r->n_headers + 2, sizeof(*headers));
    struct buf url = {.limit = 0};
    struct http_call_conf call = worker_call_conf(relay->worker);

    write_url(relay, r, &url);
    call.url = buf_cstr(&url);
    call.method = arena_dup(a, upstream_method(r)).p;
    if (relay->is_out_of_memory || headers == NULL || call.method == NULL || buf_failed(&url)) {
        err_set_no_memory(reterr);
    } else {
        call.body = relay->body.len > 0 ? buf_str(&relay->body) : r->body;
        call.headers = headers;
        call.n_headers = upstream_headers(relay, r, headers);
        relay->call = http_client_start(relay->worker->client, &call, &call_handler, relay, reterr);
    }
    buf_fini(&url);
    return relay->call == NULL ? -1 : 0;
}

static void ask_upstream(struct relay *relay)
{
    struct err e;

    if (start_call(relay, relay->http, &e) == -1)
        relay_fail(relay, &e);
}

/* ---- what is large is rewritten elsewhere */

static void rewrite_elsewhere(void *arg)
{
    struct relay *relay = arg;

    rewrite_body(relay, relay->held);
}

static void on_rewritten(void *arg)
{
    struct relay *relay = arg;

    http_exchange_release(relay->held);
    relay->held = NULL;
    if (relay->is_gone)
        relay_free(relay);
    else
        ask_upstream(relay);
}

static void rewrite_large(struct relay *relay)
{
    relay->held = relay->x;
    http_exchange_hold(relay->held);
    relay->rewriting =
        (struct loop_job){.work = rewrite_elsewhere, .done = on_rewritten, .arg = relay};
    loop_offload(relay->worker->loop, &relay->rewriting);
}

static void begin_relay(struct relay *relay)
{
    const struct http_request *r = relay->http;
    const bool has_aliases = upstream_model_aliases(relay->worker->config).n > 0;
    const bool is_rewritten = may_need_rewriting(r, is_chat(relay), has_aliases);

    if (is_rewritten && request_body_weight(r) >= WORKER_LARGE_BYTES) {
        rewrite_large(relay);
        return;
    }
    if (is_rewritten)
        rewrite_body(relay, relay->x);
    ask_upstream(relay);
}

void relay_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                 const struct caller *caller)
{
    struct relay *relay = calloc(1, sizeof(*relay));
    struct err e;

    if (relay == NULL) {
        err_set_no_memory(&e);
        http_exchange_respond_error(x, &e, NULL, 0);
        return;
    }
    /* The exchange's views live as long as the relay uses them. */
    *relay = (struct relay){.worker = w,
                            .x = x,
                            .http = r,
                            .request_id = http_exchange_request_id(x),
                            .method = r->method,
                            .path = r->path,
                            .caller = *caller,
                            .model = model_lookup_id(r, http_exchange_arena(x)),
                            .start_ms = loop_now_ms(w->loop),
                            .next = w->relays,
                            .link = &w->relays};
    if (relay->next != NULL)
        relay->next->link = &relay->next;
    w->relays = relay;
    http_exchange_watch(x, &exchange_handler, relay);
    if (model_lookup_is_due(relay))
        model_lookup_start(relay);
    else
        begin_relay(relay);
}
