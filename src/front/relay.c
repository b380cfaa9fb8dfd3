/* relay.c -- bytes through, unchanged but for what chat_rewrite.h names.
 *
 * Status, end-to-end headers and body of the upstream reach the client as they
 * came; what concerns one connection only does not. A failure before the
 * upstream's head is an error answer of ours, one after it breaks the
 * connection, because a short answer must not look like a whole one. */
#include "front/relay_internal.h"

#include "ev/log.h"
#include "flight/flight_admission.h"
#include "flight/flight_spans.h"
#include "flight/reach.h"
#include "flight/request_body.h"
#include "front/relay_headers.h"
#include "front/relay_metrics.h"
#include "front/relay_spans.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_table.h"
#include "upstream/upstream_watch.h"
#include "wire/chat/chat_rewrite.h"

/* Of what went well the line `request` says enough. */
static bool is_usual(const char *outcome)
{
    return strcmp(outcome, "relayed") == 0 || strcmp(outcome, "answered") == 0;
}

/* As for the line `turn`: failures of the gateway and of the upstream are warnings. */
static enum log_level level_of_end(const char *outcome, const struct err *e)
{
    if (e != NULL)
        return err_http_status(e) >= 500 ? LOG_WARN : LOG_INFO;
    return is_usual(outcome) ? LOG_DEBUG : LOG_INFO;
}

static void log_end(struct relay *relay, const char *outcome, const struct err *e)
{
    str phase = str_from_c(relay->phase);
    /* Only the message of a failed call is of the upstream and not of the request. */
    str message = e == NULL || str_is_none(phase) ? STR_NONE : str_from_c(e->msg);

    log_line(
        level_of_end(outcome, e), "relay",
        (struct log_field[]){
            LOG_STR("request_id", relay->flight.request_id),
            LOG_STR("method", relay->flight.http->method),
            LOG_PATH("path", relay->flight.http->path), LOG_STR("outcome", str_from_c(outcome)),
            LOG_INT("status", relay->status), LOG_STR("phase", phase), LOG_STR("message", message),
            LOG_INT("total_ms", loop_now_ms(relay->flight.worker->loop) - relay->flight.start_ms),
            LOG_STR("owner", relay->flight.caller.name), LOG_END});
    relay_spans_end(relay, outcome, e);
}

void relay_fail(struct relay *relay, const struct err *e)
{
    bool is_begun = relay->status != 0;

    if (!is_begun)
        relay->status = err_http_status(e);
    log_end(relay, err_wire_code(e), e);
    flight_give_back(&relay->flight);
    if (is_begun)
        peer_abort(relay->flight.peer);
    else
        peer_respond_error(relay->flight.peer, e);
    flight_answered(&relay->flight, false);
}

void relay_respond(struct relay *relay, str json)
{
    const struct http_header type = {STR("content-type"), STR("application/json")};

    relay->status = 200;
    log_end(relay, "answered", NULL);
    peer_respond(relay->flight.peer, relay->status, &type, 1, json);
    flight_answered(&relay->flight, false);
}

void relay_respond_held(struct relay *relay, str body)
{
    const size_t n = relay_headers_back(relay->held, relay->n_held,
                                        relay_headers_own(&relay->flight), relay->held);

    relay->status = 200;
    log_end(relay, "relayed", NULL);
    peer_respond(relay->flight.peer, relay->status, relay->held, n, body);
    flight_answered(&relay->flight, true);
}

void relay_complete(struct relay *relay)
{
    relay_metrics_end(relay);
    log_end(relay, "relayed", NULL);
    flight_give_back(&relay->flight);
    peer_end(relay->flight.peer, STR(""));
    flight_answered(&relay->flight, true);
}

/* ---- headers */

/* Room for FLIGHT_HEADERS more than the client has sent is in out. */
static size_t upstream_headers(const struct relay *relay, const struct http_request *r,
                               struct http_header *out)
{
    /* The coding was taken off to read the body. */
    size_t n =
        relay_headers_on(r, relay->body.len > 0 ? RELAY_WITHOUT_CODING : RELAY_WITH_CODING, out);

    return flight_add_headers(&relay->flight, out, n);
}

/* ---- reports of the upstream call */

void relay_pass_head(struct relay *relay, int status, const struct http_header *headers,
                     size_t n_headers)
{
    const unsigned own = relay_headers_own(&relay->flight);
    struct http_header *passed = arena_array(&relay->flight.arena, n_headers, sizeof(*passed));
    size_t n = passed == NULL ? 0 : relay_headers_back(headers, n_headers, own, passed);

    relay->status = status;
    peer_start(relay->flight.peer, status, passed, n);
    peer_flush(relay->flight.peer);
}

bool relay_hold_head(struct relay *relay, const struct http_header *headers, size_t n_headers,
                     bool (*is_left_out)(str name))
{
    struct arena *a = &relay->flight.arena;

    relay->held = arena_array(a, n_headers + 1, sizeof(*relay->held));
    relay->n_held = 0;
    for (size_t i = 0; relay->held != NULL && i < n_headers; i++) {
        const struct http_header h = {arena_dup(a, headers[i].name),
                                      arena_dup(a, headers[i].value)};

        if (str_is_none(h.name) || str_is_none(h.value))
            relay->held = NULL;
        else if (is_left_out == NULL || !is_left_out(h.name))
            relay->held[relay->n_held++] = h;
    }
    return relay->held != NULL;
}

/* An answer about models that cannot be gone through: there is no room for it, or no memory. Whoever may see
 * but a part of it sees nothing then. */
static void pass_unheld(struct relay *relay, int status, const struct http_header *headers,
                        size_t n_headers)
{
    struct err e;

    relay->held = NULL;
    if (!relay_limits_hide_models(&relay->flight)) {
        relay_pass_head(relay, status, headers, n_headers);
        return;
    }
    models_view_refuse(&e);
    relay_fail(relay, &e);
}

static void on_head(void *arg, int status, const struct http_header *headers, size_t n_headers)
{
    struct relay *relay = arg;

    flight_spans_head(&relay->flight, status);
    upstream_answer_head(&relay->flight.answer, status, headers, n_headers);
    if (relay_upstream_holds(relay, status, headers, n_headers))
        return;
    if (!model_lookup_is_needed(relay, status, headers, n_headers)) {
        if (!models_view_is_due(relay, status, headers, n_headers))
            relay_pass_head(relay, status, headers, n_headers);
        else if (!models_view_hold(relay, headers, n_headers))
            pass_unheld(relay, status, headers, n_headers);
    } else {
        flight_cancel_call(&relay->flight);
        model_lookup_start(relay);
    }
    flight_free_if_over(&relay->flight);
}

static void on_body(void *arg, str bytes)
{
    struct relay *relay = arg;

    if (relay->flight.answer.n_bytes == 0)
        flight_spans_first_bytes(&relay->flight, bytes);
    relay->flight.answer.n_bytes += bytes.len;
    relay_metrics_heard(relay, bytes);
    if (relay_upstream_keeps(relay, bytes))
        return;
    relay->has_begun = true;
    if (relay->held != NULL) {
        if (models_view_take(relay, bytes))
            return;
        pass_unheld(relay, 200, relay->held, relay->n_held);
        if (flight_has_client(&relay->flight))
            peer_write(relay->flight.peer, buf_str(&relay->list));
    }
    if (flight_has_client(&relay->flight))
        peer_write(relay->flight.peer, bytes);
    else
        flight_free_if_over(&relay->flight);
}

static void on_end(void *arg, const struct err *failure)
{
    struct relay *relay = arg;

    if (failure != NULL) {
        relay->phase = http_call_phase(relay->flight.call);
        upstream_answer_failed(&relay->flight.answer, relay->flight.call);
    }
    relay->flight.call = NULL;
    flight_spans_call_ended(&relay->flight, failure);
    upstream_watch_hear_end(relay->flight.upstream->live->watch, failure);
    if (!relay_upstream_ends(relay, failure)) {
        if (failure != NULL)
            relay_fail(relay, failure);
        else if (relay->held != NULL)
            models_view_answer(relay);
        else
            relay_complete(relay);
    }
    flight_free_if_over(&relay->flight);
}

static const struct http_call_handler call_handler = {on_head, on_body, on_end};

/* ---- the beginning */

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
    return str_eq(relay_path(relay->flight.http->path), STR("/chat/completions"));
}

/* A body that cannot be decoded is the upstream's to judge. */
static int rewrite_body(void *arg, struct err *reterr)
{
    struct relay *relay = arg;
    const struct name_list names = flight_names(&relay->flight);
    str plain;

    if (peer_body(relay->flight.peer, &plain, NULL) == -1)
        return 0;
    if (is_chat(relay))
        (void)chat_rewrite(names, plain, &relay->body);
    else
        (void)model_alias_rewrite(names, plain, &relay->body);
    if (!buf_failed(&relay->body))
        return 0;
    return err_set_no_memory(reterr);
}

static int start_call(struct relay *relay, struct err *reterr)
{
    const struct http_request *r = relay->flight.http;
    struct arena *a = &relay->flight.arena;
    struct http_header *headers = arena_array(a, r->n_headers + FLIGHT_HEADERS, sizeof(*headers));
    struct flight_call call = {
        .method = arena_dup(a, upstream_method(r)).p,
        .path = relay_path(r->path),
        .query = r->query,
        .headers = headers,
        .body = relay->body.len > 0 ? buf_str(&relay->body) : r->body,
    };

    if (headers == NULL || call.method == NULL)
        return err_set_no_memory(reterr);
    call.n_headers = upstream_headers(relay, r, headers);
    relay_spans_ask(relay, call.body);
    relay_metrics_ask(relay, call.body);
    return flight_start_call(&relay->flight, &call, &call_handler, reterr);
}

static void ask_upstream(void *arg, const struct err *failure)
{
    struct relay *relay = arg;
    struct err e;

    if (!flight_has_client(&relay->flight))
        return;
    if (failure == NULL && start_call(relay, &e) == -1)
        failure = &e;
    if (failure != NULL)
        relay_fail(relay, failure);
}

/* ---- what a flight asks of its owner */

static void log_gone(void *arg)
{
    log_end(arg, "client_gone", NULL);
}

static void fail_relay(void *arg, const struct err *e)
{
    relay_fail(arg, e);
}

void relay_begin_call(struct relay *relay)
{
    const struct http_request *r = relay->flight.http;

    relay->phase = NULL;
    buf_reset(&relay->body);
    if (may_need_rewriting(r, is_chat(relay), flight_names(&relay->flight).n > 0))
        flight_work(&relay->flight, request_body_weight(r), rewrite_body, ask_upstream);
    else
        ask_upstream(relay, NULL);
}

/* Models are asked for once it is known what the upstream is, or that it is not to be found out. */
static void begin_call(struct relay *relay)
{
    relay->awaits_upstream = false;
    if (model_lookup_is_due(relay))
        model_lookup_start(relay);
    else
        relay_route(relay);
}

static void on_upstream_known(void *arg)
{
    struct relay *relay = arg;

    if (relay->awaits_union)
        models_union_go_on(relay);
    else if (relay->awaits_upstream)
        begin_call(relay);
    else
        relay_route_on(relay);
}

static void finish_relay(void *arg)
{
    struct relay *relay = arg;

    buf_fini(&relay->body);
    buf_fini(&relay->list);
}

/* What was passed on was not read. */
static void describe_relay(const void *arg, struct flight_view *ret)
{
    const struct relay *relay = arg;

    ret->is_stream = relay->status != 0;
}

static const struct flight_ops ops = {
    .size = sizeof(struct relay),
    .log_gone = log_gone,
    .on_upstream_known = on_upstream_known,
    .on_admitted = relay_on_admitted,
    .fail = fail_relay,
    .describe = describe_relay,
    .fini = finish_relay,
};

void relay_begin(struct worker *w, struct peer client, const struct http_request *r,
                 const struct caller *caller)
{
    struct relay *relay = flight_new(&ops, w, client, r, caller);
    struct err e;

    if (relay == NULL) {
        err_set_no_memory(&e);
        peer_respond_error(client, &e);
        return;
    }
    relay->flight.traffic->has_line = false; /* a chat turn may have been here */
    relay->table = w->upstreams;
    relay->model = model_lookup_id(r, &relay->flight.arena);
    if (relay_limits_check_path(&relay->flight, relay->model, &e) == -1) {
        relay_fail(relay, &e);
    } else if (models_union_is_due(relay)) {
        models_union_go_on(relay);
    } else {
        relay->awaits_upstream =
            models_view_is_wanted(relay) && reach_must_be_known(&relay->flight);
        if (!relay->awaits_upstream)
            begin_call(relay);
    }
    flight_free_if_over(&relay->flight);
}

void relay_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                 const struct caller *caller)
{
    relay_begin(w, peer_of_exchange(x), r, caller);
}
