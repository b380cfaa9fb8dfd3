/* peer_recorder.c -- each operation, first for the record and then for the client.
 *
 * What is complete is kept before the client hears of it: one that comes back at once finds it. A client
 * that leaves while its request is read on the pool is released afterwards; the recorder stays for
 * that. */
#include "front/peer_recorder.h"

#include "base/budget.h"
#include "flight/worker.h"
#include "memory/answer_memory.h"

struct recorder {
    struct peer client;
    struct answer *answer;
    struct worker *worker;
    struct worker_watcher watcher;               /* of its end, at which nobody says a word */
    const struct http_exchange_handler *handler; /* the flight's */
    void *arg;
    bool is_held, has_left;
    bool has_failed; /* the response in the stream, so the answer is not one to be kept */
};

static void free_recorder(struct recorder *r)
{
    worker_unwatch(&r->watcher);
    budget_free(r, sizeof(*r));
}

/* The answer is over. */
static struct peer end_recorder(struct recorder *r, bool is_kept)
{
    const struct peer client = r->client;

    if (is_kept && !r->has_failed)
        answer_keep(r->answer, loop_now_ms(r->worker->loop));
    else
        answer_drop(r->answer);
    free_recorder(r);
    return client;
}

/* ---- the client's reports */

static void on_gone(void *arg)
{
    struct recorder *r = arg;
    const bool is_held = r->is_held;

    answer_drop(r->answer);
    r->has_left = true;
    r->handler->on_gone(r->arg);
    if (!is_held) /* else release_client() does it */
        free_recorder(r);
}

static void on_blocked(void *arg, bool blocked)
{
    struct recorder *r = arg;

    r->handler->on_blocked(r->arg, blocked);
}

static const struct http_exchange_handler client_handler = {on_gone, on_blocked};

static void watch(void *of, const struct http_exchange_handler *handler, void *arg)
{
    struct recorder *r = of;

    r->handler = handler;
    r->arg = arg;
    peer_watch(r->client, &client_handler, r);
}

/* ---- the request */

static str request_id(void *of)
{
    const struct recorder *r = of;

    return peer_request_id(r->client);
}

static struct http_traffic *traffic(void *of)
{
    const struct recorder *r = of;

    return peer_traffic(r->client);
}

static void tell_trace(void *of, const char *traceparent)
{
    const struct recorder *r = of;

    peer_tell_trace(r->client, traceparent);
}

static void tell_headers(void *of, const struct http_header *headers, size_t n)
{
    const struct recorder *r = of;

    peer_tell_headers(r->client, headers, n);
}

static void count_model(void *of, uint16_t model)
{
    const struct recorder *r = of;

    peer_count_model(r->client, model);
}

static int read_body(void *of, str *ret, struct err *reterr)
{
    const struct recorder *r = of;

    return peer_body(r->client, ret, reterr);
}

static void hold_client(void *of)
{
    struct recorder *r = of;

    r->is_held = true;
    peer_hold(r->client);
}

static void release_client(void *of)
{
    struct recorder *r = of;

    r->is_held = false;
    peer_release(r->client);
    if (r->has_left)
        free_recorder(r);
}

/* ---- whole answers */

static bool is_good(int status)
{
    return status < 400;
}

static void respond(void *of, int status, const struct http_header *headers, size_t n, str body)
{
    struct recorder *r = of;

    answer_start(r->answer, status, headers, n);
    answer_add(r->answer, body);
    peer_respond(end_recorder(r, is_good(status)), status, headers, n, body);
}

static void respond_taken(void *of, int status, const struct http_header *headers, size_t n,
                          struct buf *body)
{
    struct recorder *r = of;

    answer_start(r->answer, status, headers, n);
    answer_add(r->answer, buf_str(body));
    peer_respond_taken(end_recorder(r, is_good(status)), status, headers, n, body);
}

static void respond_error(void *of, const struct err *e)
{
    peer_respond_error(end_recorder(of, false), e);
}

/* ---- streams */

static bool begins_failure(str line)
{
    return str_starts_with(line, STR("event: response.failed\n")) ||
           str_starts_with(line, STR("data: {\"type\":\"response.failed\""));
}

/* Does a line tell that the response has failed, in either dialect? Texts of a response have no line
 * ends in them, since events are JSON. */
static bool tells_failure(str events)
{
    while (events.len > 0) {
        if (begins_failure(events))
            return true;
        events = str_skip(events, str_find_char(events, '\n') + 1);
    }
    return false;
}

/* Comments are signs of life, and a write of their own. */
static void record_events(struct recorder *r, str events)
{
    if (str_starts_with(events, STR(":")))
        return;
    answer_add(r->answer, events);
    r->has_failed = r->has_failed || tells_failure(events);
}

static void start_stream(void *of, int status, const struct http_header *headers, size_t n)
{
    struct recorder *r = of;

    answer_start(r->answer, status, headers, n);
    peer_start(r->client, status, headers, n);
}

static void flush_head(void *of)
{
    const struct recorder *r = of;

    peer_flush(r->client);
}

static void write_bytes(void *of, str bytes)
{
    struct recorder *r = of;

    record_events(r, bytes);
    peer_write(r->client, bytes);
}

static void write_soon(void *of, str bytes)
{
    struct recorder *r = of;

    record_events(r, bytes);
    peer_write_soon(r->client, bytes);
}

static void write_taken(void *of, struct buf *bytes)
{
    struct recorder *r = of;

    record_events(r, buf_str(bytes));
    peer_write_taken(r->client, bytes);
}

static void end_stream(void *of, str bytes)
{
    struct recorder *r = of;

    record_events(r, bytes);
    peer_end(end_recorder(r, true), bytes);
}

static void abort_answer(void *of)
{
    peer_abort(end_recorder(of, false));
}

static void on_worker_end(void *arg)
{
    struct recorder *r = arg;

    if (!r->has_left)
        answer_drop(r->answer);
    free_recorder(r);
}

static void ignore_keys(void *arg)
{
    (void)arg;
}

/* The manners are those of an exchange: nothing else has answers that are kept. */
static const struct peer_ops ops = {
    .manners = {.has_comments = true, .has_error_events = true, .has_dialects = true},
    .watch = watch,
    .request_id = request_id,
    .traffic = traffic,
    .tell_trace = tell_trace,
    .tell_headers = tell_headers,
    .body = read_body,
    .hold = hold_client,
    .release = release_client,
    .count_model = count_model,
    .respond = respond,
    .respond_taken = respond_taken,
    .respond_error = respond_error,
    .start = start_stream,
    .flush = flush_head,
    .write = write_bytes,
    .write_soon = write_soon,
    .write_taken = write_taken,
    .end = end_stream,
    .abort = abort_answer,
};

int peer_recorder_new(struct worker *w, struct peer client, struct answer *answer, struct peer *ret,
                      struct err *reterr)
{
    struct recorder *r = budget_alloc(sizeof(*r), sizeof(*r));

    if (r == NULL) {
        answer_drop(answer);
        return err_set_no_memory(reterr);
    }
    *r = (struct recorder){.client = client,
                           .answer = answer,
                           .worker = w,
                           .watcher = {.on_keys = ignore_keys, .on_end = on_worker_end, .arg = r}};
    worker_watch(w, &r->watcher);
    *ret = (struct peer){&ops, r};
    return 0;
}
