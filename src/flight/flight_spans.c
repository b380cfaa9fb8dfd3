/* flight_spans.c -- where spans of a flight begin and end, and what all of them have. */
#include "flight/flight_spans.h"

#include <stdio.h>
#include <time.h>
#include <uv.h>

#include "base/url.h"
#include "json/json_read.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_table.h"
#include "upstream/upstream_watch.h"
#include "wire/dialect/upstream_kind.h"

/* ---- what attempts are told by */

str flight_routing(const struct flight *f)
{
    return f->admission.has_choice ? routing_word_text(f->admission.ticket.choice) : STR_NONE;
}

/* ---- time */

static uint64_t unix_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* By a clock that never goes back: a child lies within its parent. */
static uint64_t span_now_ns(const struct flight_spans *s)
{
    return s->unix_ns + (uv_hrtime() - s->steady_ns);
}

/* ---- what came with the request */

static bool is_context_header(str name)
{
    return str_eq(name, STR("traceparent")) || str_eq(name, STR("tracestate"));
}

/* More than one traceparent is as none: nobody can say which. */
static bool find_parent(const struct http_request *r, struct trace_context *ret)
{
    str value = STR_NONE;

    for (size_t i = 0; i < r->n_headers; i++) {
        if (!str_eq(r->headers[i].name, STR("traceparent")))
            continue;
        if (!str_is_none(value))
            return false;
        value = r->headers[i].value;
    }
    return !str_is_none(value) && trace_context_read(str_trim(value), ret);
}

static str find_state(const struct http_request *r)
{
    const str value = http_request_header(r, STR("tracestate"));

    return !str_is_none(value) && trace_state_is_valid(value) ? value : STR_NONE;
}

static bool propagates(const struct worker *w)
{
    return w->tracer != NULL && tracer_conf(w->tracer)->propagates;
}

static bool has_context(const struct trace_context *c)
{
    static const struct trace_context none = {.is_sampled = false};

    return memcmp(c->trace_id, none.trace_id, TRACE_ID_BYTES) != 0;
}

str flight_spans_state(const struct flight *f)
{
    struct trace_context unused;

    return f->has_parent && find_parent(f->http, &unused) ? find_state(f->http) : STR_NONE;
}

/* ---- the span of the flight */

/* Where a path holds an id, or is the upstream's, it is no route. */
static str route_of(const struct http_request *r)
{
    static const str routes[] = {
        STR_INIT("/v1/responses"),
        STR_INIT("/v1/responses/input_tokens"),
        STR_INIT("/v1/responses/compact"),
        STR_INIT("/v1/chat/completions"),
        STR_INIT("/v1/completions"),
        STR_INIT("/v1/embeddings"),
        STR_INIT("/v1/models"),
    };

    return str_is_one_of(r->path, LIST_OF(routes)) ? r->path : STR_NONE;
}

static void add_server_address(const struct http_request *r, struct span *s)
{
    const str host = http_request_header(r, STR("host"));
    const struct url u = url_split_authority(str_is_none(host) ? STR("") : host);
    uint16_t port;

    if (u.host.len == 0 || !str_is_none(u.userinfo))
        return;
    span_text(s, "server.address", url_bare_host(&u));
    if (!str_is_none(u.port) && url_port(&u, 80, &port))
        span_int(s, "server.port", port);
}

static void add_request(const struct worker *w, const struct http_request *r, struct span *s)
{
    span_text(s, "http.request.method", r->method);
    span_text(s, "http.route", route_of(r));
    span_text(s, "url.path", r->path);
    span_text(s, "url.scheme", r->is_https ? STR("https") : STR("http"));
    span_text(s, "network.protocol.version", r->is_http_1_0 ? STR("1.0") : STR("1.1"));
    add_server_address(r, s);
    if (w->config->trace_client_address)
        span_text(s, "client.address", r->peer);
}

static struct span *new_server_span(const struct worker *w, const struct http_request *r, str name,
                                    str state)
{
    const struct span_limits *limits = &tracer_conf(w->tracer)->limits;
    const bool is_inner = !str_is_none(name);
    struct buf text = {.limit = 0};
    struct span *s;

    if (!is_inner) {
        buf_append(&text, r->method);
        if (!str_is_none(route_of(r))) {
            buf_char(&text, ' ');
            buf_append(&text, route_of(r));
        }
        name = buf_str(&text);
    }
    s = span_new(limits, is_inner ? SPAN_INTERNAL : SPAN_SERVER, name, state);
    buf_fini(&text);
    if (s != NULL && !is_inner)
        add_request(w, r, s);
    return s;
}

static void tell_client(const struct flight *f)
{
    char text[TRACEPARENT_CHARS + 1];

    trace_context_write(&f->context, text);
    peer_tell_trace(f->peer, text);
}

/* The request of a WebSocket is a trace of its own: what its connection belongs to is linked. */
void flight_spans_begin(struct flight *f)
{
    const struct worker *w = f->worker;
    struct trace_context parent;
    struct span *server;
    bool has_link;

    if (w->tracer == NULL)
        return;
    f->has_parent = find_parent(f->http, &parent);
    has_link = f->has_parent && f->peer.ops->manners.sends_messages;
    f->has_parent = f->has_parent && !has_link;
    if (f->has_parent)
        memcpy(f->context.trace_id, parent.trace_id, TRACE_ID_BYTES);
    else
        trace_id_make(&w->ids, f->context.trace_id);
    span_id_make(&w->ids, f->context.span_id);
    f->context.is_sampled = trace_sampler_takes(
        &tracer_conf(w->tracer)->sampler, f->has_parent ? &parent : NULL, f->context.trace_id);
    if (w->config->trace_response)
        tell_client(f);
    if (!f->context.is_sampled)
        return;
    server = new_server_span(w, f->http, str_from_c(f->ops->span), flight_spans_state(f));
    f->spans = server == NULL ? NULL : arena_alloc(&f->arena, sizeof(*f->spans));
    if (f->spans == NULL) {
        span_free(server);
        return;
    }
    *f->spans =
        (struct flight_spans){.unix_ns = unix_now_ns(), .steady_ns = uv_hrtime(), .server = server};
    server->context = f->context;
    server->start_ns = f->spans->unix_ns;
    server->has_parent = server->has_remote_parent = f->has_parent;
    if (f->has_parent)
        memcpy(server->parent, parent.span_id, SPAN_ID_BYTES);
    server->has_link = has_link && parent.is_sampled;
    if (has_link)
        server->link = parent;
}

static void give_span(const struct flight *f, struct span **link)
{
    struct span *s = *link;

    *link = NULL;
    if (s == NULL)
        return;
    s->end_ns = span_now_ns(f->spans);
    tracer_take(f->worker->tracer, s);
}

void flight_spans_give(struct flight *f, struct span *s)
{
    if (f->spans == NULL)
        span_free(s); /* nothing is traced any more */
    else
        give_span(f, &s);
}

/* ---- below it */

/* A round of a stage is its child, anything else the flight's. */
static const unsigned char *parent_of_rounds(const struct flight_spans *s)
{
    return s->stage.name != NULL ? s->stage.id : s->server->context.span_id;
}

static struct span *new_child(const struct flight *f, enum span_kind kind, str name,
                              const unsigned char parent[SPAN_ID_BYTES])
{
    struct span *s =
        span_new(&tracer_conf(f->worker->tracer)->limits, kind, name, span_state(f->spans->server));

    if (s == NULL)
        return NULL;
    s->context = f->context;
    span_id_make(&f->worker->ids, s->context.span_id);
    s->has_parent = true;
    memcpy(s->parent, parent, SPAN_ID_BYTES);
    s->start_ns = span_now_ns(f->spans);
    return s;
}

struct span *flight_spans_child(struct flight *f, enum span_kind kind, str name)
{
    return f->spans == NULL ? NULL : new_child(f, kind, name, f->spans->server->context.span_id);
}

static void end_stage(struct flight *f)
{
    struct flight_spans *s = f->spans;
    struct span *stage;

    if (s->stage.name != NULL && s->stage.has_waited) {
        stage = new_child(f, SPAN_INTERNAL, str_from_c(s->stage.name), s->server->context.span_id);
        if (stage != NULL) {
            memcpy(stage->context.span_id, s->stage.id, SPAN_ID_BYTES);
            stage->start_ns = s->stage.start_ns;
        }
        give_span(f, &stage);
    }
    s->stage.name = NULL;
    s->stage.has_waited = false;
}

void flight_spans_stage(struct flight *f, const char *name)
{
    struct flight_spans *s = f->spans;

    if (s == NULL || (name == s->stage.name))
        return;
    if (name != NULL && s->stage.name != NULL && strcmp(name, s->stage.name) == 0)
        return;
    end_stage(f);
    if (name == NULL)
        return;
    s->stage.name = name;
    s->stage.start_ns = span_now_ns(s);
    span_id_make(&f->worker->ids, s->stage.id);
}

/* ---- questions to the upstream */

static void add_upstream_address(const struct flight *f, struct span *s)
{
    const struct url u = url_split(f->upstream->base);
    uint16_t port = 0;

    if (!url_is_http(&u)) {
        span_text(s, "server.address", u.path);
        return;
    }
    span_text(s, "server.address", url_bare_host(&u));
    if (url_port(&u, url_is_https(&u) ? 443 : 80, &port))
        span_int(s, "server.port", port);
}

static str provider_of(const struct flight *f)
{
    const struct upstream_entry *u = f->upstream;
    struct upstream_facts *facts = upstream_watch_facts(u->live->watch);
    const bool is_openai =
        upstream_has(upstream_kind_profile(u->config, facts), UPSTREAM_IS_OPENAI);

    upstream_facts_unref(facts);
    return upstream_table_provider(u, is_openai);
}

/* The upstream that was asked last: a round may have been asked of several. */
static void add_upstream(const struct flight *f, struct span *s)
{
    if (s == NULL)
        return;
    add_upstream_address(f, s);
    span_text(s, "gen_ai.provider.name", provider_of(f));
    span_text(s, "antiphon.upstream", f->upstream->name);
    span_text(s, "antiphon.routing", flight_routing(f));
}

struct span *flight_spans_round(struct flight *f, const char *operation, str model)
{
    struct buf name = {.limit = 0};
    struct span *s;

    if (f->spans == NULL)
        return NULL;
    flight_spans_round_end(f, STR_NONE);
    buf_c(&name, operation);
    if (!str_is_none(model)) {
        buf_char(&name, ' ');
        buf_append(&name, model);
    }
    s = new_child(f, SPAN_CLIENT, buf_str(&name), parent_of_rounds(f->spans));
    buf_fini(&name);
    span_text(s, "gen_ai.operation.name", str_from_c(operation));
    span_text(s, "gen_ai.request.model", model);
    f->spans->round = s;
    f->spans->n_attempts = 0;
    return s;
}

void flight_spans_round_end(struct flight *f, str why)
{
    if (f->spans == NULL)
        return;
    flight_spans_attempt_end(f, why);
    add_upstream(f, f->spans->round);
    if (!str_is_none(why))
        span_error(f->spans->round, why);
    give_span(f, &f->spans->round);
}

static void begin_attempt(struct flight *f, const char *method)
{
    struct flight_spans *s = f->spans;
    const unsigned char *parent =
        s->round == NULL ? parent_of_rounds(s) : s->round->context.span_id;

    s->attempt = new_child(f, SPAN_CLIENT, str_from_c(method), parent);
    span_text(s->attempt, "http.request.method", str_from_c(method));
    if (s->attempt != NULL)
        add_upstream_address(f, s->attempt);
    if (s->n_attempts > 0)
        span_int(s->attempt, "http.request.resend_count", s->n_attempts);
    s->n_attempts++;
}

/* Takes the context that came from a client out of n headers. Returns how many are left. */
static size_t drop_context(struct http_header *headers, size_t n)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (!is_context_header(headers[i].name))
            headers[n_kept++] = headers[i];
    }
    return n_kept;
}

size_t flight_spans_attempt(struct flight *f, const char *method, struct http_header *out, size_t n)
{
    struct trace_context context;
    str state;
    size_t n_kept;

    if (f->spans != NULL)
        begin_attempt(f, method);
    if (!f->upstream->is_traced)
        return drop_context(out, n);
    if (!flight_spans_context(f, f->spans == NULL ? NULL : f->spans->attempt, &context))
        return n;
    n_kept = drop_context(out, n);
    trace_context_write(&context, f->traceparent);
    out[n_kept++] = (struct http_header){STR("traceparent"), str_from_c(f->traceparent)};
    state = flight_spans_state(f);
    if (!str_is_none(state))
        out[n_kept++] = (struct http_header){STR("tracestate"), state};
    return n_kept;
}

void flight_spans_head(struct flight *f, int status)
{
    if (f->spans == NULL || f->spans->attempt == NULL)
        return;
    span_int(f->spans->attempt, "http.response.status_code", status);
    if (status >= 400) {
        char text[16];

        (void)snprintf(text, sizeof(text), "%d", status);
        span_error(f->spans->attempt, str_from_c(text));
    }
}

/* What the upstream calls itself stands in its first chunk: as far as that is there at once. */
static void add_names(struct span *round, str bytes)
{
    struct jr j;
    str key;

    jr_init(&j, str_skip(bytes, str_find_char(bytes, '{')));
    if (!jr_enter(&j, JR_OBJECT))
        return;
    while (jr_next_member(&j, &key)) {
        if (str_eq(key, STR("id")))
            span_escaped(round, "gen_ai.response.id", jr_string(&j));
        else if (str_eq(key, STR("model")))
            span_escaped(round, "gen_ai.response.model", jr_string(&j));
        else
            jr_skip(&j);
    }
}

void flight_spans_first_bytes(struct flight *f, str bytes)
{
    const struct flight_spans *s = f->spans;

    if (s == NULL || s->round == NULL || !upstream_answer_is_good(&f->answer))
        return;
    add_names(s->round, bytes);
    span_double(s->round, "gen_ai.response.time_to_first_chunk",
                (double)(span_now_ns(s) - s->round->start_ns) / 1e9);
}

void flight_spans_attempt_end(struct flight *f, str why)
{
    if (f->spans == NULL || f->spans->attempt == NULL)
        return;
    if (!str_is_none(why))
        span_error(f->spans->attempt, why);
    give_span(f, &f->spans->attempt);
}

/* ---- the end */

void flight_spans_outcome(struct flight *f, int status, str why)
{
    struct flight_spans *s = f->spans;

    if (s == NULL || s->has_outcome)
        return;
    s->has_outcome = true;
    if (status != 0)
        span_int(s->server, "http.response.status_code", status);
    if (!str_is_none(why))
        span_error(s->server, why);
}

/* Spans under way when nobody waits for them any more are cancelled. */
void flight_spans_end(struct flight *f, str why)
{
    if (f->spans == NULL)
        return;
    flight_spans_outcome(f, 0, why);
    flight_spans_round_end(f, STR("cancelled"));
    end_stage(f);
    give_span(f, &f->spans->server);
    f->spans = NULL;
}

void flight_spans_forget(struct flight *f)
{
    if (f->spans == NULL)
        return;
    span_free(f->spans->attempt);
    span_free(f->spans->round);
    span_free(f->spans->server);
    f->spans = NULL;
}

/* ---- for others */

bool flight_spans_context(const struct flight *f, const struct span *s, struct trace_context *ret)
{
    if (!propagates(f->worker) || !has_context(&f->context))
        return false;
    *ret = s == NULL ? f->context : s->context;
    return true;
}

bool flight_spans_upgrade(struct worker *w, const struct http_request *r, struct trace_context *ret)
{
    struct trace_context parent, own = {.is_sampled = false};
    const bool has_parent = w->tracer != NULL && find_parent(r, &parent);
    struct span *s;

    if (w->tracer == NULL)
        return false;
    if (has_parent)
        own = parent;
    else
        trace_id_make(&w->ids, own.trace_id);
    span_id_make(&w->ids, own.span_id);
    own.is_sampled = trace_sampler_takes(&tracer_conf(w->tracer)->sampler,
                                         has_parent ? &parent : NULL, own.trace_id);
    *ret = own;
    s = !own.is_sampled ? NULL
                        : new_server_span(w, r, STR_NONE, has_parent ? find_state(r) : STR_NONE);
    if (s == NULL)
        return true;
    s->context = own;
    s->has_parent = s->has_remote_parent = has_parent;
    if (has_parent)
        memcpy(s->parent, parent.span_id, SPAN_ID_BYTES);
    s->start_ns = s->end_ns = unix_now_ns();
    span_int(s, "http.response.status_code", 101);
    tracer_take(w->tracer, s);
    return true;
}
