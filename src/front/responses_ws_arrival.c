/* responses_ws_arrival.c -- messages as they come: each is read for its type and lane, and given to whoever
 * it is for.
 *
 * To read a large one takes milliseconds, in which nothing else of the worker would happen: it is read on
 * the pool of threads. What comes meanwhile waits behind it, since the order of messages is that of
 * lanes. */
#include "front/responses_ws_internal.h"

enum { MALFORMED_IN_A_ROW = 8 };

struct ws_arrival {
    struct responses_ws *of;
    struct ws_arrival *next;
    struct buf text;
    size_t bytes; /* with those of the text, which a create takes */
    struct ws_message message;
    bool is_good;
    struct err e; /* unless it is */
    struct loop_job job;
};

/* ---- whom it is for */

static void refuse_steering(struct responses_ws *of, const struct ws_message *m)
{
    const struct path at = path_member(NULL, STR("previous_response_id"));
    struct buf message = {.limit = 0};
    struct err e;

    if (str_is_none(m->previous_response_id)) {
        (void)reject_missing(&at, &e);
        responses_ws_refuse(of, m->stream_id, &e);
        return;
    }
    ws_message_steer_failed(m, ws_lane_knows(of, m->previous_response_id), &message);
    responses_ws_send(of, &message);
}

static void refuse_message(struct responses_ws *of, const struct ws_message *m, const struct err *e)
{
    responses_ws_refuse(of, m->stream_id, e);
    if (m->is_malformed && ++of->n_malformed >= MALFORMED_IN_A_ROW)
        responses_ws_end(of, WS_ENDING_NONSENSE);
}

/* text: its bytes, which a create takes; NULL: they are the connection's, where it takes them. */
static void handle_message(struct responses_ws *of, const struct ws_message *m, const struct err *e,
                           struct buf *text)
{
    if (!m->is_malformed)
        of->n_malformed = 0;
    if (e != NULL)
        refuse_message(of, m, e);
    else if (m->type == WS_MESSAGE_CREATE)
        ws_lane_create(of, m, text);
    else if (m->type == WS_MESSAGE_STEER)
        refuse_steering(of, m);
}

static void read_now(struct responses_ws *of, str text)
{
    struct ws_message m;
    struct err e;
    const bool is_good = ws_message_read(text, &m, &e) == 0;

    handle_message(of, &m, is_good ? NULL : &e, NULL);
}

/* ---- what is read elsewhere, and what waits for that */

static void free_arrival(struct ws_arrival *a)
{
    struct responses_ws *const of = a->of;

    of->arrival_bytes -= a->bytes;
    buf_fini(&a->text);
    budget_free(a, sizeof(*a));
    of->n_parts--;
    if (of->ws == NULL)
        responses_ws_settle(of);
}

static void read_elsewhere(void *arg)
{
    struct ws_arrival *a = arg;

    a->is_good = ws_message_read(buf_str(&a->text), &a->message, &a->e) == 0;
}

static void on_read(void *arg);

/* The first is always being read. */
static void read_first(struct responses_ws *of)
{
    struct ws_arrival *const a = of->arrivals;

    a->job = (struct loop_job){.work = read_elsewhere, .done = on_read, .arg = a};
    loop_offload(of->worker->loop, &a->job);
}

static void on_read(void *arg)
{
    struct ws_arrival *a = arg;
    struct responses_ws *const of = a->of;

    of->arrivals = a->next;
    if (of->arrivals == NULL)
        of->arrivals_end = &of->arrivals;
    if (of->ws != NULL && !responses_ws_is_over(of))
        handle_message(of, &a->message, a->is_good ? NULL : &a->e, &a->text);
    free_arrival(a);
    if (of->arrivals != NULL)
        read_first(of);
    else
        responses_ws_settle(of); /* it may have waited to close */
}

static struct ws_arrival *new_arrival(struct responses_ws *of)
{
    struct ws_arrival *a = budget_alloc(sizeof(*a), sizeof(*a));

    if (a == NULL)
        return NULL;
    a->of = of;
    of->n_parts++;
    websocket_take_text(of->ws, &a->text);
    a->bytes = sizeof(*a) + a->text.len;
    of->arrival_bytes += a->bytes;
    return a;
}

/* More may not wait here than for lanes: what is too much is read at once after all, and refused. A short
 * message counts with what it is kept in, which takes many times as much. */
static bool has_room(const struct responses_ws *of, str text)
{
    const size_t limit = of->worker->config->websocket_max_waiting_size_bytes;
    const size_t bytes = sizeof(struct ws_arrival) + text.len;

    return of->arrivals == NULL ||
           (of->arrival_bytes <= limit && bytes <= limit - of->arrival_bytes);
}

/* It is answered on its own lane all the same, unless it is one that has no answer. */
static void refuse_arrival(struct responses_ws *of, str text, const struct err *why)
{
    struct ws_message m;
    struct err e;
    const bool is_good = ws_message_read(text, &m, &e) == 0;

    if (!is_good || m.type != WS_MESSAGE_PROCESSED)
        refuse_message(of, &m, is_good ? why : &e);
}

static int add_arrival(struct responses_ws *of, str text, struct err *reterr)
{
    struct ws_arrival *a;

    if (!has_room(of, text)) {
        err_set(reterr, ERR_RATE_LIMIT,
                "The messages of this connection that wait to be read come to %zu bytes "
                "(websocket_max_waiting_size).",
                of->arrival_bytes);
        return -1;
    }
    a = new_arrival(of);
    if (a == NULL) {
        err_set_no_memory(reterr);
        return -1; /* which clang-tidy does not see in there */
    }
    *of->arrivals_end = a;
    of->arrivals_end = &a->next;
    return 0;
}

static void read_later(struct responses_ws *of, str text)
{
    const bool is_first = of->arrivals == NULL;
    struct err e;

    if (add_arrival(of, text, &e) == -1)
        refuse_arrival(of, text, &e);
    else if (is_first)
        read_first(of);
}

void ws_arrival_take(struct responses_ws *of, str text)
{
    if (of->arrivals == NULL && text.len < WORKER_LARGE_BYTES)
        read_now(of, text);
    else
        read_later(of, text);
}

void ws_arrival_drop_all(struct responses_ws *of)
{
    struct ws_arrival *const first = of->arrivals; /* it is on the pool, and ends by itself */

    if (first == NULL)
        return;
    for (struct ws_arrival *a = first->next, *next; a != NULL; a = next) {
        next = a->next;
        free_arrival(a);
    }
    first->next = NULL;
    of->arrivals_end = &first->next;
}
