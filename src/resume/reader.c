/* reader.c -- a reader's client, and where its next events come from.
 *
 *                    +--> ask the turn ----+                    it waits for one of these
 *     go on, when    |                     |
 *     the client  ---+--> load, and read --+--> write events --> go on
 *     takes more     |                     |
 *                    +--> what is loaded --+
 *
 * What is loaded is written in steps, one in each turn of the loop, so that a long response holds up
 * nobody. When it has no more, and the response is not over, there are two who may know more: a turn that
 * begins here, and the store, which is asked again after a while. */
#include "resume/reader_internal.h"

#include "ev/log.h"
#include "flight/flight_spans.h"
#include "flight/worker.h"

static uint64_t now_ms(const struct reader *r)
{
    return loop_now_ms(r->flight.worker->loop);
}

static void go_on(struct reader *r);

/* ---- the end */

/* failure: NULL: none. What is worth a warning are those of ours. An id that nobody knows is a client's text,
 * and not logged. */
static void log_end(const struct reader *r, const char *outcome, const struct err *failure)
{
    str ours = STR_NONE; /* what the gateway could not do */

    if (failure != NULL && err_http_status(failure) >= 500)
        ours = str_from_c(failure->msg);
    log_line(str_is_none(ours) ? LOG_INFO : LOG_WARN, "reader",
             (struct log_field[]){
                 LOG_STR("request_id", r->flight.request_id), LOG_STR("client", r->flight.client),
                 LOG_STR("response_id", r->is_begun ? r->want.id : STR_NONE),
                 LOG_STR("outcome", str_from_c(outcome)), LOG_STR("message", ours),
                 LOG_INT("bytes", r->n_bytes), LOG_INT("total_ms", now_ms(r) - r->flight.start_ms),
                 LOG_STR("owner", r->flight.caller.name), LOG_END});
}

/* An answer that has begun is broken off: the client may come back with its last number. */
static void fail_reader(void *arg, const struct err *e)
{
    struct reader *r = arg;

    log_end(r, err_wire_code(e), e);
    if (r->is_begun)
        peer_abort(r->flight.peer);
    else
        peer_respond_error(r->flight.peer, e);
    flight_answered(&r->flight, false);
}

static void fail_replay(struct reader *r)
{
    struct err e;

    err_set(&e, ERR_INTERNAL, "The events of this response cannot be made from what is stored.");
    if (buf_failed(&r->ask.out))
        err_set_no_memory(&e);
    fail_reader(r, &e);
}

static void end_stream(struct reader *r)
{
    buf_c(&r->ask.out, "data: [DONE]\n\n");
    if (buf_failed(&r->ask.out)) {
        fail_replay(r);
        return;
    }
    r->n_bytes += r->ask.out.len;
    log_end(r, "completed", NULL);
    peer_end(r->flight.peer, buf_str(&r->ask.out));
    flight_answered(&r->flight, false);
}

/* ---- the stream */

/* The turn was given up, and with it the key of the request, before anything of it was seen. */
static void begin_again(struct reader *r)
{
    const struct reader_want want = r->want;
    const struct http_request *http = r->flight.http;
    const struct caller caller = r->flight.caller;

    log_end(r, "again", NULL);
    flight_spans_forget(&r->flight);
    flight_answered(&r->flight, false); /* by another flight */
    want.again(r->flight.worker, want.exchange, http, &caller);
}

/* There is such a response, and its events are kept. */
static void begin_stream(struct reader *r)
{
    if (r->is_begun)
        return;
    r->is_begun = true;
    peer_start(r->flight.peer, 200, r->want.headers, r->want.n_headers);
    peer_flush(r->flight.peer);
    r->flight.last_write_ms = now_ms(r);
    flight_keep_alive(&r->flight, 0);
    if (!r->is_head)
        return;
    log_end(r, "completed", NULL);
    peer_end(r->flight.peer, STR(""));
    flight_answered(&r->flight, false);
}

static void write_some(struct reader *r)
{
    struct buf *out = &r->ask.out;

    r->n_bytes += out->len;
    r->flight.last_write_ms = now_ms(r);
    peer_write(r->flight.peer, buf_str(out));
    if (out->cap > 2 * RUNNING_FILL_BYTES)
        buf_fini(out); /* it held one large event */
}

/* ---- the turn that makes the response */

static void load_events(struct reader *r);

static void take_report(struct reader *r, enum running_outcome outcome)
{
    r->poll_at_ms = 0;
    switch (outcome) {
    case RUNNING_SOME:
        reader_forget(r); /* it has begun here */
        begin_stream(r);
        write_some(r);
        go_on(r);
        break;
    case RUNNING_LAST:
        begin_stream(r);
        end_stream(r);
        break;
    case RUNNING_NOTHING:
    case RUNNING_ENDED:
        load_events(r);
        break;
    case RUNNING_FAILED:
        fail_replay(r);
        break;
    }
}

static void on_report(void *arg, enum running_outcome outcome)
{
    struct reader *r = arg;

    r->is_asked = false;
    r->flight.n_tasks--;
    if (flight_has_client(&r->flight))
        take_report(r, outcome);
    flight_free_if_over(&r->flight);
}

/* False: nobody makes it here. */
static bool ask_turn(struct reader *r, bool awaits_begin)
{
    r->ask.awaits_begin = awaits_begin;
    if (!running_ask(r->flight.worker->running, &r->ask, r->flight.worker->loop))
        return false;
    r->is_asked = true;
    r->flight.n_tasks++;
    return true;
}

/* False: its report comes in a moment. */
static bool drop_ask(struct reader *r)
{
    if (!r->is_asked)
        return true;
    if (!running_drop(&r->ask))
        return false;
    r->is_asked = false;
    r->flight.n_tasks--;
    return true;
}

/* ---- the store */

static void load_events(struct reader *r)
{
    struct err e;

    r->poll_at_ms = 0;
    if (reader_load(r, &e) == -1)
        fail_reader(r, &e);
}

/* All that the store had is written, and the response is not over. */
static void await_more(struct reader *r)
{
    const uint64_t wait_ms = r->flight.worker->config->resume_poll_ms;

    if (reader_has_more(r)) {
        load_events(r);
        return;
    }
    r->poll_at_ms = now_ms(r) + wait_ms;
    (void)ask_turn(r, true);
    flight_keep_alive(&r->flight, wait_ms);
}

/* A step, of which one turn of the loop makes one. */
static void write_loaded(struct reader *r)
{
    switch (reader_fill(r)) {
    case RUNNING_SOME:
        write_some(r);
        loop_timer_start(r->flight.timer, 0);
        break;
    case RUNNING_LAST:
        end_stream(r);
        break;
    case RUNNING_NOTHING:
        await_more(r);
        break;
    case RUNNING_ENDED:
    case RUNNING_FAILED:
        fail_replay(r);
        break;
    }
}

void reader_on_loaded(struct reader *r, const struct err *failure)
{
    if (!flight_has_client(&r->flight))
        return;
    if (failure == NULL) {
        begin_stream(r);
        go_on(r);
    } else if (failure->code == ERR_NOT_FOUND && !r->is_begun && r->want.again != NULL) {
        begin_again(r);
    } else {
        fail_reader(r, failure);
    }
}

/* ---- going on */

static bool is_waiting(const struct reader *r)
{
    return !flight_has_client(&r->flight) || r->flight.is_on_pool || r->flight.is_blocked ||
           r->is_asked || r->is_loading || r->poll_at_ms != 0;
}

static void go_on(struct reader *r)
{
    if (is_waiting(r))
        return;
    if (r->loaded != LOADED_NOTHING)
        write_loaded(r);
    else if (!ask_turn(r, false))
        load_events(r);
    else if (r->want.again == NULL)
        begin_stream(r);
}

/* ---- what a flight asks of its owner */

static void log_gone(void *arg)
{
    log_end(arg, "client_gone", NULL);
}

/* The next step, or look at the store, may start the timer anew. */
static void on_timer(void *arg)
{
    struct reader *r = arg;
    const uint64_t now = now_ms(r);

    if (!r->is_begun)
        return;
    flight_keep_alive(&r->flight, r->poll_at_ms > now ? r->poll_at_ms - now : 0);
    if (r->poll_at_ms == 0)
        go_on(r);
    else if (r->poll_at_ms <= now && drop_ask(r))
        load_events(r);
}

static void on_unblocked(void *arg)
{
    go_on(arg);
}

static void cancel_reader(void *arg)
{
    struct reader *r = arg;

    running_leave(&r->place, now_ms(r));
    (void)drop_ask(r);
}

static void finish_reader(void *arg)
{
    struct reader *r = arg;

    reader_forget(r);
    buf_fini(&r->ask.out);
}

static const struct flight_ops ops = {
    .size = sizeof(struct reader),
    .log_gone = log_gone,
    .on_timer = on_timer,
    .on_unblocked = on_unblocked,
    .fail = fail_reader,
    .cancel = cancel_reader,
    .fini = finish_reader,
};

/* ---- the beginning */

/* What every stream has, then the reader's own. */
static const struct http_header stream_headers[] = {
    {STR_INIT("content-type"), STR_INIT("text/event-stream; charset=utf-8")},
    {STR_INIT("cache-control"), STR_INIT("no-cache")},
    {STR_INIT("x-accel-buffering"), STR_INIT("no")},
};

static int copy_want(struct reader *r, const struct reader_want *want, struct err *reterr)
{
    const size_t n = COUNT_OF(stream_headers) + want->n_headers;
    struct arena *a = &r->flight.arena;
    struct http_header *headers = arena_array(a, n, sizeof(*headers));
    bool is_copied = headers != NULL;

    r->want = *want;
    r->want.id = arena_dup(a, want->id);
    r->want.headers = headers;
    r->want.n_headers = n;
    for (size_t i = 0; is_copied && i < n; i++) {
        const bool is_own = i >= COUNT_OF(stream_headers);

        headers[i] = is_own ? want->headers[i - COUNT_OF(stream_headers)] : stream_headers[i];
        headers[i].name = arena_dup(a, headers[i].name);
        headers[i].value = arena_dup(a, headers[i].value);
        is_copied = !str_is_none(headers[i].name) && !str_is_none(headers[i].value);
    }
    if (is_copied && !str_is_none(r->want.id))
        return 0;
    return err_set_no_memory(reterr);
}

static int open_reader(struct reader *r, const struct reader_want *want, struct err *reterr)
{
    const struct worker *w = r->flight.worker;

    if (copy_want(r, want, reterr) == -1)
        return -1;
    r->is_head = str_eq(r->flight.http->method, STR("HEAD"));
    r->ask = (struct running_ask){.wish = RUNNING_EVENTS,
                                  .owner = r->flight.caller.owner,
                                  .id = r->want.id,
                                  .after = want->after,
                                  .obfuscate = want->obfuscate,
                                  .report = on_report,
                                  .arg = r};
    replay_init(&r->ask.replay);
    r->place.repeats = want->again != NULL;
    return running_join(w->running, &r->place, r->flight.caller.owner, r->want.id,
                        (unsigned)w->config->resume_readers, reterr);
}

void reader_start(struct worker *w, struct peer client, const struct http_request *r,
                  const struct caller *caller, const struct reader_want *want)
{
    struct reader *reader = flight_new(&ops, w, client, r, caller);
    struct err e;

    if (reader == NULL) {
        err_set_no_memory(&e);
        peer_respond_error(client, &e);
        return;
    }
    if (open_reader(reader, want, &e) == -1)
        fail_reader(reader, &e);
    else
        go_on(reader);
    flight_free_if_over(&reader->flight);
}
