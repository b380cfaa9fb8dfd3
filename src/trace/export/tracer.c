/* tracer.c -- the exporter.
 *
 * The queue is a stack that any thread pushes to with one exchange, and that the exporter takes as a whole
 * and turns around. Its length counts what waits, also what has been taken and is in no batch yet, so it
 * bounds both. */
#include "trace/export/tracer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>
#include <zlib.h>

#include "base/version.h"
#include "ev/log.h"
#include "ev/loop.h"
#include "trace/export/otlp_post.h"
#include "trace/otlp.h"
#include "trace/span_content.h"

enum { MAX_ATTEMPTS = 5, WARN_EVERY_MS = 60 * 1000 };

static struct {
    atomic_uint_least64_t exported, dropped_queue, dropped_export, dropped_shutdown;
    atomic_size_t length, bytes;
} counts;

struct tracer {
    const struct trace_conf *conf;
    _Atomic(struct span *) newest;
    struct otlp_post *post;
    struct span *resource;
    uv_thread_t thread;
    atomic_uint_least64_t stop_ms; /* when it has to have ended; 0: it runs */

    /* the exporter's own */
    struct span *first, *last;      /* that wait, in order */
    uint64_t warned_ms, n_reported; /* of dropped ones, in the log */
    bool has_warned;
    const char *why; /* the last ones were dropped, for the log */
    char why_text[320];
};

static uint64_t now_ms(void)
{
    return uv_hrtime() / 1000000;
}

struct trace_counts trace_counts(void)
{
    return (struct trace_counts){
        .exported = atomic_load(&counts.exported),
        .dropped_queue = atomic_load(&counts.dropped_queue),
        .dropped_export = atomic_load(&counts.dropped_export),
        .dropped_shutdown = atomic_load(&counts.dropped_shutdown),
        .queue_length = atomic_load(&counts.length),
        .queue_bytes = atomic_load(&counts.bytes),
    };
}

static uint64_t count_dropped(void)
{
    const struct trace_counts c = trace_counts();

    return c.dropped_queue + c.dropped_export + c.dropped_shutdown;
}

const struct trace_conf *tracer_conf(const struct tracer *t)
{
    return t->conf;
}

/* ---- the queue */

void tracer_take(struct tracer *t, struct span *s)
{
    const size_t bytes = s == NULL ? 0 : span_bytes(s);
    size_t length;

    if (s == NULL || t == NULL) {
        span_free(s);
        return;
    }
    length = atomic_fetch_add(&counts.length, 1) + 1;
    if (atomic_fetch_add(&counts.bytes, bytes) + bytes > TRACER_QUEUE_BYTES ||
        length > t->conf->max_queue) {
        atomic_fetch_sub(&counts.length, 1);
        atomic_fetch_sub(&counts.bytes, bytes);
        atomic_fetch_add(&counts.dropped_queue, 1);
        span_free(s);
        return;
    }
    s->next = atomic_load_explicit(&t->newest, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&t->newest, &s->next, s))
        ;
    if (length == t->conf->max_batch)
        otlp_post_wake(t->post);
}

/* Moves all that was given to the end of what waits. */
static void gather_spans(struct tracer *t)
{
    struct span *s = atomic_exchange(&t->newest, NULL), *oldest = NULL, *const newest = s;

    while (s != NULL) {
        struct span *before = s->next;

        s->next = oldest;
        oldest = s;
        s = before;
    }
    if (oldest == NULL)
        return;
    if (t->last == NULL)
        t->first = oldest;
    else
        t->last->next = oldest;
    t->last = newest;
}

struct batch {
    struct span *first;
    size_t n;
};

static struct batch take_batch(struct tracer *t)
{
    struct batch b = {.first = t->first};
    struct span *last = NULL;
    size_t bytes = 0;

    for (struct span *s = t->first; s != NULL && b.n < t->conf->max_batch; s = s->next) {
        bytes += span_bytes(s);
        b.n++;
        last = s;
    }
    if (last == NULL)
        return b;
    t->first = last->next;
    if (t->first == NULL)
        t->last = NULL;
    last->next = NULL;
    atomic_fetch_sub(&counts.length, b.n);
    atomic_fetch_sub(&counts.bytes, bytes);
    return b;
}

static void free_batch(struct batch *b)
{
    while (b->first != NULL) {
        struct span *s = b->first;

        b->first = s->next;
        span_free(s);
    }
}

/* ---- what it looks like */

static bool compress_body(struct buf *body)
{
    enum { GZIP = 15 + 16, LEVEL = 6, MEMORY = 8 };
    z_stream z = {.next_in = (Bytef *)body->p, .avail_in = (uInt)body->len};
    struct buf out = {.limit = 0};
    char *to;
    bool ok;

    if (deflateInit2(&z, LEVEL, Z_DEFLATED, GZIP, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    z.avail_out = (uInt)deflateBound(&z, body->len);
    to = buf_reserve(&out, z.avail_out);
    z.next_out = (Bytef *)to;
    ok = to != NULL && deflate(&z, Z_FINISH) == Z_STREAM_END;
    out.len = ok ? z.total_out : 0;
    (void)deflateEnd(&z);
    buf_fini(ok ? body : &out);
    if (ok)
        *body = out;
    return ok;
}

static bool write_body(const struct tracer *t, const struct batch *b, struct buf *out)
{
    for (struct span *s = b->first; s != NULL; s = s->next)
        span_content_read(s);
    if (t->conf->is_json)
        otlp_json_write(t->resource, b->first, out);
    else
        otlp_protobuf_write(t->resource, b->first, out);
    return !buf_failed(out) && (!t->conf->is_gzip || compress_body(out));
}

/* ---- sending */

static uint64_t stop_ms(struct tracer *t)
{
    return atomic_load(&t->stop_ms);
}

/* A receiver is not waited for longer than the process may. */
static uint64_t left_ms(void *arg)
{
    const uint64_t until_ms = stop_ms(arg), at_ms = now_ms();

    if (until_ms == 0)
        return UINT64_MAX;
    return at_ms < until_ms ? until_ms - at_ms : 0;
}

static bool is_worth_another_try(int status)
{
    return status == 0 || status == 429 || (status >= 502 && status <= 504);
}

/* Waits before the next attempt: false when there is no time for one. Who has to stop tries at once. */
static bool await_attempt(struct tracer *t, uint64_t pause_ms, uint64_t until_ms)
{
    const uint64_t then_ms = now_ms() + pause_ms;

    if (then_ms >= until_ms && stop_ms(t) == 0)
        return false;
    while (stop_ms(t) == 0 && now_ms() < then_ms)
        otlp_post_wait(t->post, then_ms - now_ms());
    return left_ms(t) > 0;
}

static void note_why(struct tracer *t, const struct otlp_answer *a)
{
    if (a->status == 0)
        (void)snprintf(t->why_text, sizeof(t->why_text), "the receiver is not reachable: %s",
                       a->why);
    else
        (void)snprintf(t->why_text, sizeof(t->why_text), "the receiver answered with status %d",
                       a->status);
    t->why = t->why_text;
}

static uint64_t count_refused(struct tracer *t, const struct batch *b, const struct otlp_answer *a)
{
    const str body = buf_str(&a->body);
    uint64_t n = t->conf->is_json ? otlp_json_rejected(body) : otlp_protobuf_rejected(body);

    if (n > 0)
        t->why = "the receiver refused some of them";
    return n < b->n ? n : b->n;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Returns how many of the spans the receiver has taken. */
static uint64_t send_body(struct tracer *t, const struct batch *b, str body)
{
    const uint64_t until_ms = now_ms() + t->conf->export_timeout_ms;
    uint64_t pause_ms = 1000, n_taken = 0;

    for (unsigned n = 1;; n++) {
        struct otlp_answer answer;
        bool is_final;

        otlp_post_send(t->post, body, least(t->conf->timeout_ms, until_ms - now_ms() + 1), left_ms,
                       t, &answer);
        is_final = !is_worth_another_try(answer.status) || n == MAX_ATTEMPTS;
        if (answer.status >= 200 && answer.status < 300)
            n_taken = b->n - count_refused(t, b, &answer);
        else
            note_why(t, &answer);
        if (answer.retry_after_s > 0)
            pause_ms = least(answer.retry_after_s, UINT32_MAX) * 1000;
        buf_fini(&answer.body);
        if (is_final || (stop_ms(t) != 0 && n > 1) || !await_attempt(t, pause_ms, until_ms))
            return n_taken;
        pause_ms = 1000 * (UINT64_C(1) << n);
    }
}

static void export_batch(struct tracer *t)
{
    struct batch b = take_batch(t);
    struct buf body = {.limit = 0};
    uint64_t n_taken = 0;

    if (b.n == 0)
        return;
    if (write_body(t, &b, &body))
        n_taken = send_body(t, &b, buf_str(&body));
    else
        t->why = "the gateway ran out of memory";
    atomic_fetch_add(&counts.exported, n_taken);
    atomic_fetch_add(stop_ms(t) != 0 ? &counts.dropped_shutdown : &counts.dropped_export,
                     b.n - n_taken);
    buf_fini(&body);
    free_batch(&b);
}

/* ---- the thread */

/* One line a minute says what is lost. */
static void log_dropped(struct tracer *t)
{
    const uint64_t n = count_dropped();
    const uint64_t at_ms = now_ms();

    if (n == t->n_reported || (t->has_warned && at_ms - t->warned_ms < WARN_EVERY_MS))
        return;
    log_line(LOG_WARN, "traces",
             (struct log_field[]){
                 LOG_INT("dropped_spans", n - t->n_reported),
                 LOG_STR("message", t->why == NULL ? STR("the queue is full") : str_from_c(t->why)),
                 LOG_END});
    t->n_reported = n;
    t->warned_ms = at_ms;
    t->has_warned = true;
    t->why = NULL;
}

/* Until there are enough for a batch, or it is time. */
static void await_spans(struct tracer *t, uint64_t until_ms)
{
    while (stop_ms(t) == 0 && atomic_load(&counts.length) < t->conf->max_batch &&
           now_ms() < until_ms)
        otlp_post_wait(t->post, until_ms - now_ms());
}

static void run_exporter(void *arg)
{
    struct tracer *t = arg;

    while (stop_ms(t) == 0) {
        await_spans(t, now_ms() + t->conf->schedule_delay_ms);
        do { /* what came during an export counts as well, so it is gathered before the next one */
            gather_spans(t);
            export_batch(t);
        } while (stop_ms(t) == 0 && atomic_load(&counts.length) >= t->conf->max_batch);
        log_dropped(t);
    }
    gather_spans(t);
    while (t->first != NULL && left_ms(t) > 0)
        export_batch(t);
}

/* ---- begin and end */

static bool has_attribute(const struct trace_conf *conf, str key)
{
    for (size_t i = 0; i < conf->resource.n; i++) {
        if (str_eq(conf->resource.list[i].key, key))
            return true;
    }
    return false;
}

/* What the operator says wins. */
static void add_own(const struct trace_conf *conf, struct span *r, const char *key, str value)
{
    if (!has_attribute(conf, str_from_c(key)))
        span_text(r, key, value);
}

static void add_host(const struct trace_conf *conf, struct span *r)
{
    char host[256];

    if (gethostname(host, sizeof(host)) == -1)
        return;
    host[sizeof(host) - 1] = '\0';
    add_own(conf, r, "host.name", str_from_c(host));
}

static void add_instance(const struct trace_conf *conf, struct span *r)
{
    unsigned char random[16];
    struct buf text = {.limit = 0};

    random_fill(NULL, random, sizeof(random));
    buf_hex(&text, random, sizeof(random));
    add_own(conf, r, "service.instance.id", buf_str(&text));
    buf_fini(&text);
}

static struct span *make_resource(const struct trace_conf *conf)
{
    const struct span_limits limits = {.value_bytes = conf->limits.value_bytes};
    struct span *r = span_new(&limits, SPAN_INTERNAL, STR(""), STR_NONE);
    const bool is_named = conf->service_name != NULL;

    if (is_named || !has_attribute(conf, STR("service.name")))
        span_text(r, "service.name", str_from_c(is_named ? conf->service_name : "antiphon"));
    add_own(conf, r, "service.version", STR(ANTIPHON_VERSION));
    add_instance(conf, r);
    add_host(conf, r);
    if (!has_attribute(conf, STR("process.pid")))
        span_int(r, "process.pid", getpid());
    add_own(conf, r, "telemetry.sdk.name", STR("antiphon"));
    for (size_t i = 0; i < conf->resource.n; i++) {
        if (!is_named || !str_eq(conf->resource.list[i].key, STR("service.name")))
            span_text(r, conf->resource.list[i].key.p, conf->resource.list[i].value);
    }
    return r;
}

static void free_tracer(struct tracer *t)
{
    otlp_post_free(t->post);
    span_free(t->resource);
    free(t);
}

struct tracer *tracer_open(const struct trace_conf *conf, struct err *reterr)
{
    struct tracer *t = calloc(1, sizeof(*t));

    if (t == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    t->conf = conf;
    t->n_reported = count_dropped();
    t->post = otlp_post_new(conf);
    t->resource = make_resource(conf);
    if (t->post != NULL && t->resource != NULL &&
        uv_thread_create(&t->thread, run_exporter, t) == 0)
        return t;
    err_set(reterr, ERR_INTERNAL, "The exporter of traces could not be started.");
    free_tracer(t);
    return NULL;
}

void tracer_close(struct tracer *t, uint64_t within_ms)
{
    struct batch rest;

    if (t == NULL)
        return;
    atomic_store(&t->stop_ms, now_ms() + within_ms + 1);
    otlp_post_wake(t->post);
    (void)uv_thread_join(&t->thread);
    gather_spans(t);
    for (rest = take_batch(t); rest.n > 0; rest = take_batch(t)) {
        atomic_fetch_add(&counts.dropped_shutdown, rest.n);
        free_batch(&rest);
    }
    t->has_warned = false;
    log_dropped(t);
    free_tracer(t);
}
