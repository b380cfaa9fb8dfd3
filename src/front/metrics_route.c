/* metrics_route.c -- a scrape: waits for its turn, asks the store, is written on the pool, answers.
 *
 *     on the loop: take the desk -> ask the store -> on the pool: write, compress -> on the loop: give the
 *                    |                |             desk back, answer
 *                    |                `-> it says nothing for half a second: go on with what it said last
 *                    `-> taken: look again, at most for a second
 *
 * The loop expects it to the end, so that a worker does not end before. What the store says too late is
 * awaited before the scrape is freed. */
#include "front/metrics_route.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/listen_spec.h"
#include "flight/worker.h"
#include "front/refuse.h"
#include "metrics/metrics_desk.h"
#include "store/store_work.h"

enum { LOOK_AGAIN_MS = 10, WAIT_MS = 1000, STORE_MS = 500, SMALLEST_PACKED_BYTES = 1024 };

struct scrape {
    struct worker *worker;
    struct http_exchange *x; /* NULL: whoever asked has left */
    enum metrics_format format;
    bool takes_gzip, has_failed;
    bool is_asking;             /* the store has not said anything yet */
    bool is_written, has_ended; /* the page is being, or was */
    struct store_task task;
    uint64_t n_queued, n_running;
    uint64_t since_ms;
    struct loop_timer *timer;
    struct loop_job job;
    struct buf page, packed; /* packed is empty when it is sent as it is */
};

/* ---- who may */

bool metrics_route_is_there(const struct worker *w, const struct http_request *r)
{
    bool is_for_this = (http_request_marks(r) & (LISTEN_METRICS | LISTEN_ADMIN)) != 0;

    if (w->desk == NULL || w->config->metrics == CONFIG_METRICS_OFF)
        return false;
    return is_for_this || w->config->metrics != CONFIG_METRICS_AUTO ||
           (http_request_is_local(r) && w->keys->n == 0);
}

/* Answers those who may not. */
static bool may_read(const struct worker *w, struct http_exchange *x, const struct http_request *r)
{
    struct caller caller;
    struct err e;

    if (w->config->metrics != CONFIG_METRICS_KEY ||
        (http_request_marks(r) & (LISTEN_METRICS | LISTEN_ADMIN)) != 0 ||
        api_keys_identify_admin(w->keys, r->certificate,
                                http_request_header(r, STR("authorization")), &caller, &e) == 0)
        return true;
    refuse_for_admin(x, r, &e);
    return false;
}

/* ---- the page */

static bool pack(str text, struct buf *out)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)text.p, .avail_in = (unsigned)text.len};
    size_t most;
    char *to;
    int rc;

    if (text.len > UINT32_MAX || deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + 16,
                                              MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    most = deflateBound(&z, text.len);
    to = buf_reserve(out, most);
    z.next_out = (unsigned char *)to;
    z.avail_out = to == NULL ? 0 : (unsigned)most;
    rc = to == NULL ? Z_MEM_ERROR : deflate(&z, Z_FINISH);
    if (rc == Z_STREAM_END)
        out->len += z.total_out;
    (void)deflateEnd(&z);
    return rc == Z_STREAM_END;
}

/* On the pool. */
static void write_page(void *arg)
{
    struct scrape *s = arg;
    const struct metrics_desk *desk = s->worker->desk;

    s->has_failed = metrics_page_write(s->format, desk->sources, desk->n_sources, &s->page) == -1;
    if (!s->has_failed && s->takes_gzip && s->page.len > SMALLEST_PACKED_BYTES &&
        !pack(buf_str(&s->page), &s->packed))
        buf_fini(&s->packed);
}

/* ---- the end */

static void end_scrape(struct scrape *s)
{
    loop_receive(s->worker->loop);
    loop_timer_free(s->timer);
    buf_fini(&s->page);
    buf_fini(&s->packed);
    s->has_ended = true;
    if (!s->is_asking)
        free(s);
}

static void fail_scrape(struct scrape *s, const struct err *e)
{
    if (s->x != NULL)
        http_exchange_respond_error(s->x, e, NULL, 0);
    end_scrape(s);
}

static void answer_scrape(struct scrape *s)
{
    const struct http_header headers[] = {{STR("content-type"), metrics_format_type(s->format)},
                                          {STR("vary"), STR("Accept, Accept-Encoding")},
                                          {STR("content-encoding"), STR("gzip")}};

    if (s->x != NULL && s->packed.len > 0)
        http_exchange_respond_taken(s->x, 200, headers, 3, &s->packed);
    else if (s->x != NULL)
        http_exchange_respond_taken(s->x, 200, headers, 2, &s->page);
    end_scrape(s);
}

static void on_written(void *arg)
{
    struct scrape *s = arg;
    struct err e;

    atomic_flag_clear(&s->worker->desk->is_taken);
    if (!s->has_failed) {
        answer_scrape(s);
        return;
    }
    err_set_no_memory(&e);
    fail_scrape(s, &e);
}

/* ---- the store */

static void begin_page(struct scrape *s)
{
    s->is_written = true;
    loop_timer_stop(s->timer);
    loop_offload(s->worker->loop, &s->job);
}

static int count_work(struct store_session *session, void *arg, struct err *reterr)
{
    struct scrape *s = arg;

    return store_count_work(session, &s->n_queued, &s->n_running, reterr);
}

static void on_counted(void *arg, const struct err *failure)
{
    struct scrape *s = arg;

    s->is_asking = false;
    if (failure == NULL) {
        atomic_store(&s->worker->desk->n_queued, s->n_queued);
        atomic_store(&s->worker->desk->n_running, s->n_running);
    }
    if (s->has_ended)
        free(s);
    else if (!s->is_written)
        begin_page(s);
}

static void ask_store(struct scrape *s)
{
    struct worker *w = s->worker;
    struct err e;

    if (store_refuses(w->store, STORE_READ, &e)) {
        begin_page(s);
        return;
    }
    s->is_asking = true;
    s->task = (struct store_task){.access = STORE_READ,
                                  .purpose = STORE_FOR_SCRAPE,
                                  .work = count_work,
                                  .done = on_counted,
                                  .arg = s,
                                  .loop = w->loop};
    loop_timer_start(s->timer, STORE_MS);
    store_start(w->store, &s->task);
}

/* ---- the beginning */

static void take_desk(struct scrape *s)
{
    struct err e;

    if (s->x == NULL) {
        end_scrape(s);
    } else if (!atomic_flag_test_and_set(&s->worker->desk->is_taken)) {
        ask_store(s);
    } else if (loop_now_ms(s->worker->loop) < s->since_ms + WAIT_MS) {
        loop_timer_start(s->timer, LOOK_AGAIN_MS);
    } else {
        err_set(&e, ERR_OVERLOADED, "Another scrape is being answered. Please try again.");
        fail_scrape(s, &e);
    }
}

static void on_timer(void *arg)
{
    struct scrape *s = arg;

    if (s->is_asking)
        begin_page(s);
    else
        take_desk(s);
}

static void on_gone(void *arg)
{
    struct scrape *s = arg;

    s->x = NULL;
}

static void on_blocked(void *arg, bool blocked)
{
    (void)arg;
    (void)blocked;
}

static const struct http_exchange_handler handler = {on_gone, on_blocked};

void metrics_route_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                         const struct caller *caller)
{
    struct scrape *s = NULL;
    struct err e;

    (void)caller;
    if (!may_read(w, x, r))
        return;
    s = calloc(1, sizeof(*s));
    if (s == NULL || (s->timer = loop_timer_new(w->loop, on_timer, s)) == NULL) {
        free(s);
        err_set_no_memory(&e);
        http_exchange_respond_error(x, &e, NULL, 0);
        return;
    }
    s->worker = w;
    s->x = x;
    s->format = metrics_accept(http_request_header(r, STR("accept")));
    s->takes_gzip = metrics_accept_gzip(http_request_header(r, STR("accept-encoding")));
    s->since_ms = loop_now_ms(w->loop);
    s->job = (struct loop_job){.work = write_page, .done = on_written, .arg = s};
    http_exchange_watch(x, &handler, s);
    loop_expect(w->loop);
    take_desk(s);
}
