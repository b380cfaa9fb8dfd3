/* flight.c -- beginning, reports and end of what is on its way. */
#include "flight/flight.h"

#include <stdlib.h>

#include "base/budget.h"
#include "ev/loop.h"
#include "flight/flight_spans.h"
#include "flight/life.h"
#include "flight/reach.h"
#include "flight/worker.h"
#include "http/http_client.h"
#include "http/http_server.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_table.h"
#include "upstream/upstream_watch.h"

enum {
    POOL_LOOK_AGAIN_MS = 20,
    LINGER_MS = 1000, /* for the end of a body after its [DONE] */
    FEW_HEADERS = 24, /* of a call */
};

static uint64_t now_ms(const struct flight *f)
{
    return loop_now_ms(f->worker->loop);
}

/* ---- the end */

/* Where no upstream was asked, or the only one has refused, nothing was used. */
void flight_give_back(struct flight *f)
{
    const bool costs_nothing =
        f->n_attempts == 0 || (f->n_attempts == 1 && f->answer.status >= 400);

    flight_taken_end(&f->taken, costs_nothing, f->worker->rates, now_ms(f));
}

static void free_flight(struct flight *f)
{
    const size_t size = f->ops->size;

    flight_leave_upstream(f);
    *f->link = f->next;
    if (f->next != NULL)
        f->next->link = f->link;
    life_forget_flight(f->worker->life);
    flight_give_back(f);
    f->ops->fini(f);
    loop_timer_free(f->timer);
    upstream_answer_fini(&f->answer);
    arena_fini(&f->arena);
    budget_free(f, size);
}

void flight_free_if_over(struct flight *f)
{
    if (flight_has_client(f) || f->call != NULL || f->n_tasks > 0)
        return;
    if (f->ops->on_over != NULL)
        f->ops->on_over(f);
    flight_spans_end(f, STR_NONE);
    free_flight(f);
}

void flight_cancel_call(struct flight *f)
{
    if (f->call != NULL)
        http_call_cancel(f->call);
    f->call = NULL;
    if (f->admission.is_done)
        flight_give_place_back(f);
    flight_metrics_cancel(f);
    flight_spans_attempt_end(f, STR_NONE);
}

static void cancel_all(struct flight *f)
{
    flight_cancel_call(f);
    flight_leave_upstream(f);
    if (f->ops->cancel != NULL)
        f->ops->cancel(f);
}

void flight_answered(struct flight *f, bool has_upstream_said_all)
{
    f->peer = (struct peer){.ops = NULL};
    f->counted.is_said = has_upstream_said_all;
    flight_leave_upstream(f);
    flight_give_back(f);
    if (f->ops->cancel != NULL)
        f->ops->cancel(f);
    flight_spans_end(f, STR_NONE);
    if (f->call != NULL && has_upstream_said_all)
        loop_timer_start(f->timer, LINGER_MS);
    else
        flight_cancel_call(f);
}

/* ---- reports of the client, and time */

static bool may_go_on(const struct flight *f)
{
    return f->ops->may_go_on != NULL && f->ops->may_go_on(f);
}

static void leave_flight(struct flight *f)
{
    f->peer = (struct peer){.ops = NULL};
    f->has_left = false;
    if (may_go_on(f) && f->ops->go_on(f))
        return;
    f->ops->log_gone(f);
    flight_give_back(f);
    flight_spans_attempt_end(f, STR("cancelled"));
    cancel_all(f);
    flight_spans_end(f, STR("client_gone"));
}

static void on_gone(void *arg)
{
    struct flight *f = arg;

    if (may_go_on(f))
        f->has_left = true; /* what is done elsewhere is done for others too */
    else
        atomic_store(&f->is_gone, true);
    if (f->is_on_pool)
        return; /* which reads of the request; end_job() heeds it */
    leave_flight(f);
    flight_free_if_over(f);
}

/* A slow client: what it has not read yet is not read from the upstream either. */
static void on_blocked(void *arg, bool blocked)
{
    struct flight *f = arg;

    f->is_blocked = blocked;
    if (f->is_on_pool)
        return;
    if (f->call != NULL)
        flight_metrics_pause(f, blocked);
    if (f->call != NULL && blocked)
        http_call_pause(f->call);
    else if (f->call != NULL)
        http_call_resume(f->call);
    if (blocked || f->ops->on_unblocked == NULL)
        return;
    f->ops->on_unblocked(f);
    flight_free_if_over(f);
}

static const struct http_exchange_handler client_handler = {on_gone, on_blocked};

void flight_take_peer(struct flight *f, struct peer peer, const struct http_request *r)
{
    f->peer = peer;
    f->traffic = peer_traffic(peer);
    f->http = r;
    peer_watch(peer, &client_handler, f);
    if (f->is_blocked)
        on_blocked(f, false);
}

static void on_timer(void *arg)
{
    struct flight *f = arg;

    if (f->is_on_pool) {
        loop_timer_start(f->timer, POOL_LOOK_AGAIN_MS);
        return;
    }
    if (!flight_has_client(f))
        flight_cancel_call(f); /* it has lingered */
    else
        f->ops->on_timer(f);
    flight_free_if_over(f);
}

bool flight_is_due(const struct flight *f, uint64_t *last_ms, uint64_t interval_ms,
                   uint64_t *next_ms)
{
    uint64_t passed_ms = now_ms(f) - *last_ms;
    bool due = interval_ms != 0 && passed_ms >= interval_ms;
    uint64_t left_ms = due ? interval_ms : interval_ms - passed_ms;

    if (interval_ms == 0)
        return false;
    if (due)
        *last_ms = now_ms(f);
    if (*next_ms == 0 || left_ms < *next_ms)
        *next_ms = left_ms;
    return due && !f->is_blocked;
}

void flight_keep_alive(struct flight *f, uint64_t next_ms)
{
    const uint64_t interval_ms = f->worker->config->heartbeat_interval_ms;

    if (f->peer.ops->manners.has_comments &&
        flight_is_due(f, &f->last_write_ms, interval_ms, &next_ms)) {
        peer_write(f->peer, STR(": heartbeat\n\n"));
        metrics_count(METRIC_HEARTBEATS, METRIC_HEARTBEAT_COMMENT);
    }
    if (next_ms != 0)
        loop_timer_start(f->timer, next_ms);
}

/* ---- the beginning */

/* What the flight needs of memory. */
static bool take_memory(struct flight *f, struct peer peer, const struct http_request *r)
{
    if (!flight_take_upstream(f, &f->worker->upstreams->entries[0]))
        return false;
    arena_init(&f->arena, f->worker->config->max_request_memory_bytes);
    f->request_id = arena_dup(&f->arena, peer_request_id(peer));
    f->client = arena_dup(&f->arena, r->peer);
    if (f->ops->on_timer != NULL)
        f->timer = loop_timer_new(f->worker->loop, on_timer, f);
    return !str_is_none(f->request_id) && !str_is_none(f->client) &&
           (f->timer != NULL || f->ops->on_timer == NULL);
}

bool flight_take_upstream(struct flight *f, const struct upstream_entry *u)
{
    struct reach *reach = reach_find(f->worker, u);

    if (reach == NULL)
        return false;
    if (reach != f->reach)
        f->counted.series = NULL;
    f->upstream = u;
    f->reach = reach;
    return true;
}

void *flight_new(const struct flight_ops *ops, struct worker *w, struct peer peer,
                 const struct http_request *r, const struct caller *caller)
{
    struct flight *f = budget_alloc(ops->size, ops->size);

    if (f == NULL)
        return NULL;
    f->ops = ops;
    f->worker = w;
    if (!take_memory(f, peer, r)) {
        loop_timer_free(f->timer);
        arena_fini(&f->arena);
        budget_free(f, ops->size);
        return NULL;
    }
    f->peer = peer;
    f->traffic = peer_traffic(peer);
    f->traffic->has_line = f->traffic->has_line || ops->leaves_line;
    f->http = r;
    f->caller = *caller;
    f->listener = r->listener == NULL ? STR_NONE : str_from_c(r->listener->text);
    f->start_ms = f->last_write_ms = now_ms(f);
    upstream_answer_init(&f->answer);
    f->next = w->flights;
    f->link = &w->flights;
    if (f->next != NULL)
        f->next->link = &f->next;
    w->flights = f;
    f->serial = w->n_begun++;
    life_count_flight(w->life);
    peer_watch(peer, &client_handler, f);
    flight_spans_begin(f);
    return f;
}

/* ---- the call of the upstream */

size_t flight_add_headers(const struct flight *f, struct http_header *headers, size_t n)
{
    const str key = reach_authorization(f);

    headers[n++] = (struct http_header){STR("x-request-id"), f->request_id};
    if (!str_is_none(key))
        headers[n++] = (struct http_header){STR("authorization"), key};
    if (f->admission.has_asked && f->admission.session[0] != '\0')
        headers[n++] = (struct http_header){STR("x-session-id"), str_from_c(f->admission.session)};
    return n;
}

/* What the upstream says is counted before its owner hears it, who may have it cancelled. */
static void on_call_head(void *arg, int status, const struct http_header *headers, size_t n)
{
    struct flight *f = arg;

    flight_metrics_head(f, status);
    f->handler->on_head(f, status, headers, n);
}

static void on_call_end(void *arg, const struct err *failure)
{
    struct flight *f = arg;

    flight_metrics_end(f, failure);
    if (f->admission.is_done)
        flight_give_place_back(f);
    f->handler->on_end(f, failure);
}

/* Gives a call the headers of traces, or takes them away; false when out of memory. */
static bool add_context(struct flight *f, const struct flight_call *call,
                        struct http_header few[FEW_HEADERS], struct http_call_conf *conf)
{
    struct http_header *headers = few;

    if (f->worker->tracer == NULL && f->upstream->is_traced)
        return true;
    if (call->n_headers + 2 > FEW_HEADERS)
        headers = arena_array(&f->arena, call->n_headers + 2, sizeof(*headers));
    if (headers == NULL)
        return false;
    for (size_t i = 0; i < call->n_headers; i++)
        headers[i] = call->headers[i];
    conf->headers = headers;
    conf->n_headers = flight_spans_attempt(f, call->method, headers, call->n_headers);
    return true;
}

int flight_start_call(struct flight *f, const struct flight_call *call,
                      const struct http_call_handler *handler, struct err *reterr)
{
    struct http_call_conf conf = reach_call_conf(f);
    struct http_header few[FEW_HEADERS];
    struct buf url = {.limit = 0};

    flight_cancel_call(f);
    upstream_answer_reset(&f->answer);
    f->n_attempts++;
    f->has_call_ended = false;
    f->handler = handler;
    f->counting = (struct http_call_handler){on_call_head, handler->on_body, on_call_end};
    buf_append(&url, f->upstream->base);
    buf_append(&url, call->path);
    if (call->query.len > 0) {
        buf_char(&url, '?');
        buf_append(&url, call->query);
    }
    conf.url = buf_cstr(&url);
    conf.method = call->method;
    conf.headers = call->headers;
    conf.n_headers = call->n_headers;
    conf.body = call->body;
    if (!add_context(f, call, few, &conf) || buf_failed(&url))
        err_set_no_memory(reterr);
    else
        f->call = http_client_start(f->reach->client, &conf, &f->counting, f, reterr);
    buf_fini(&url);
    if (f->call != NULL) {
        flight_metrics_begin(f, call->path);
        upstream_watch_hear_call(f->upstream->live->watch);
    }
    if (f->call != NULL && f->is_blocked)
        http_call_pause(f->call);
    if (f->call == NULL)
        flight_spans_attempt_end(f, STR("internal_error"));
    return f->call == NULL ? -1 : 0;
}

/* ---- what takes long */

static struct err no_memory = {.code = ERR_INTERNAL, .msg = "The gateway ran out of memory."};

/* Errors are large, and rare: there is no room for one in each flight. */
static void run_job(void *arg)
{
    struct flight *f = arg;
    struct err e, *copy;

    f->job.failure = NULL;
    if (f->job.work(f, &e) == 0)
        return;
    copy = malloc(sizeof(*copy));
    if (copy != NULL)
        *copy = e;
    f->job.failure = copy != NULL ? copy : &no_memory;
} // cppcheck-suppress memleak; end_job() frees it

/* What the log shows of the request of a client that has left goes with the peer, which is released
 * last then. The next job of the flight may begin in `then`. */
static void end_job(void *arg)
{
    struct flight *f = arg;
    const struct flight_job job = f->job;
    const struct peer held = f->peer;
    const bool is_gone = flight_is_gone(f) || f->has_left;

    f->is_on_pool = false;
    f->n_tasks--;
    if (is_gone)
        leave_flight(f);
    else
        peer_release(held);
    if (f->call != NULL && !f->is_blocked)
        http_call_resume(f->call);
    job.then(f, job.failure);
    if (is_gone)
        peer_release(held);
    if (job.failure != &no_memory)
        free(job.failure);
    flight_free_if_over(f);
}

void flight_offload(struct flight *f, int (*work)(void *arg, struct err *reterr),
                    void (*then)(void *arg, const struct err *failure))
{
    f->job.of_loop = (struct loop_job){.work = run_job, .done = end_job, .arg = f};
    f->job.work = work;
    f->job.then = then;
    f->is_on_pool = true;
    f->n_tasks++;
    peer_hold(f->peer);
    if (f->call != NULL)
        http_call_pause(f->call);
    loop_offload(f->worker->loop, &f->job.of_loop);
}

bool flight_is_gone(const struct flight *f)
{
    return atomic_load(&f->is_gone);
}

void flight_work(struct flight *f, size_t weight, int (*work)(void *arg, struct err *reterr),
                 void (*then)(void *arg, const struct err *failure))
{
    struct err e;
    int rc;

    if (weight >= WORKER_LARGE_BYTES) {
        flight_offload(f, work, then);
        return;
    }
    rc = work(f, &e);
    then(f, rc == -1 ? &e : NULL);
}

/* ---- all of a worker */

void flight_end_all(struct worker *w, const struct err *e)
{
    for (struct flight *f = w->flights, *next; f != NULL; f = next) {
        next = f->next;
        if (flight_has_client(f) && !f->is_on_pool)
            f->ops->fail(f, e);
        flight_free_if_over(f);
    }
}

static bool is_asked_by_client(const struct flight *f)
{
    return flight_has_client(f) &&
           (f->peer.ops->manners.has_comments || f->peer.ops->manners.sends_messages);
}

void flight_end_waiting(struct worker *w, const struct err *e)
{
    for (struct flight *f = w->flights, *next; f != NULL; f = next) {
        next = f->next;
        if (is_asked_by_client(f) && f->admission.is_waiting && f->traffic->status == 0 &&
            !f->is_on_pool)
            f->ops->fail(f, e);
        flight_free_if_over(f);
    }
}

void flight_end_of(struct worker *w, const void *client, const struct err *e)
{
    for (struct flight *f = w->flights; f != NULL; f = f->next) {
        if (!flight_has_client(f) || f->peer.of != client)
            continue;
        if (!f->is_on_pool)
            f->ops->fail(f, e);
        flight_free_if_over(f);
        return;
    }
}

bool flight_stop(struct flight *f)
{
    struct err e;

    if (f->is_on_pool)
        return false;
    err_set(&e, ERR_RESPONSE_CANCELLED, "The response was cancelled.");
    if (f->ops->stop != NULL) {
        f->ops->stop(f, &e);
        return true;
    }
    f->ops->fail(f, &e);
    flight_free_if_over(f);
    return true;
}

void flight_drop_all(struct worker *w)
{
    for (struct flight *f = w->flights, *next; f != NULL; f = next) {
        next = f->next;
        flight_spans_forget(f);
        cancel_all(f);
        free_flight(f);
    }
}

void flight_upstream_known(struct worker *w, const struct reach *of)
{
    for (struct flight *f = w->flights, *next; f != NULL; f = next) {
        next = f->next;
        if (f->ops->on_upstream_known == NULL || f->reach != of || !flight_has_client(f))
            continue;
        f->ops->on_upstream_known(f);
        flight_free_if_over(f);
    }
}
