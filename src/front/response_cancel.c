/* response_cancel.c -- a wish goes to the store first, so that it outlives this gateway, and then to whoever
 * makes the response.
 *
 *     store --> it has ended, or was queued: the answer
 *           --> it runs here: its turn is asked, which answers when the end is stored
 *           --> it runs on another gateway, which looks for wishes every second: the store is asked
 *               until it has ended
 *
 * However long that takes, the client gets what is stored after a while. */
#include "access/api_key.h"
#include "background/background.h"
#include "background/unfinished.h"
#include "front/response_stop_internal.h"
#include "front/state_list.h"
#include "json/json_read.h"

enum {
    HERE_MS = 1000,      /* for a turn of this gateway to end, and */
    ELSEWHERE_MS = 5000, /* for one of another, which may look a second later */
};

static void write_object(struct stop *s, const struct store_response *r)
{
    buf_reset(&s->object);
    buf_append(&s->object, r->head);
    state_items_write(&r->items, &s->object);
    buf_append(&s->object, r->tail);
    s->is_over = store_status_is_terminal(r->status);
    s->created_at = r->created_at;
}

static int read_object(struct store_session *session, void *arg, struct err *reterr)
{
    struct stop *s = arg;
    struct store_response r;

    if (store_get_response(session, s->flight.caller.owner, s->id, &s->flight.arena, &r, reterr) ==
        -1)
        return -1;
    write_object(s, &r);
    return 0;
}

static void look_again(struct stop *s);

static void on_read(void *arg, const struct err *failure)
{
    struct stop *s = arg;

    s->flight.n_tasks--;
    if (s->is_over)
        stop_forget_polls(s);
    if (failure != NULL)
        stop_answer_error(s, failure);
    else if (s->is_over || s->is_last_look || stop_now_ms(s) >= s->deadline_ms)
        stop_answer(s);
    else
        look_again(s);
    flight_free_if_over(&s->flight);
}

static void look_again(struct stop *s)
{
    if (flight_has_client(&s->flight))
        loop_timer_start(s->flight.timer, stop_worker(s)->config->resume_poll_ms);
}

static void read_now(struct stop *s)
{
    if (flight_has_client(&s->flight))
        stop_start_task(s, STORE_READ, read_object, on_read);
}

static void on_turn_ended(void *arg, enum running_outcome outcome)
{
    struct stop *s = arg;

    (void)outcome;
    s->flight.n_tasks--;
    s->is_asking = false;
    read_now(s);
    flight_free_if_over(&s->flight);
}

/* The turn has not ended in time, or it is time to look at what another gateway has made of it. */
void stop_on_timer(void *arg)
{
    struct stop *s = arg;

    if (s->is_asking && !running_drop(&s->ask))
        return; /* its report is on the way */
    s->flight.n_tasks -= s->is_asking;
    s->is_last_look = s->is_asking;
    s->is_asking = false;
    read_now(s);
}

static void await_end(struct stop *s)
{
    s->deadline_ms = stop_now_ms(s) + ELSEWHERE_MS;
    if (!stop_ask_turn(s, RUNNING_CANCEL, on_turn_ended))
        look_again(s);
    else if (flight_has_client(&s->flight))
        loop_timer_start(s->flight.timer, HERE_MS);
}

static void set_foreground(struct err *reterr)
{
    err_set(
        reterr, ERR_INVALID_VALUE,
        "Only responses that were created with background set to true can be cancelled. One that is "
        "streamed ends when its client closes the connection.");
}

/* The members that repeat the request stand in the tail. */
static bool is_background(const struct store_response *r, struct err *reterr)
{
    struct buf object = {.limit = 0};
    bool is_so;

    buf_append(&object, r->head);
    buf_append(&object, r->tail);
    is_so = str_eq(jr_member(buf_str(&object), STR("background")), STR("true"));
    buf_fini(&object);
    if (!is_so)
        set_foreground(reterr);
    return is_so;
}

/* How the response ends if nobody has begun it. */
static int make_end(const struct stop *s, const struct store_response *r, struct arena *a,
                    struct store_response *ret, struct err *reterr)
{
    const struct unfinished queued = {.head = r->head, .tail = r->tail};
    struct err why;

    *ret = *r;
    ret->status = STORE_CANCELLED;
    if (r->status != STORE_QUEUED)
        return 0; /* somebody has, and will say it */
    err_set(&why, ERR_RESPONSE_CANCELLED, "The response was cancelled.");
    if (unfinished_end(&queued, &why, stop_worker(s)->config, a, ret, reterr) == -1)
        return -1;
    ret->id = r->id;
    ret->created_at = r->created_at;
    return 0;
}

static int cancel_under_way(struct stop *s, struct store_session *session,
                            const struct store_response *r, struct err *reterr)
{
    const str owner = s->flight.caller.owner;
    struct store_response end;
    enum store_cancelled outcome;

    if (make_end(s, r, &s->flight.arena, &end, reterr) == -1 ||
        store_cancel_work(session, owner, &end, &outcome, reterr) == -1)
        return -1;
    if (outcome == STORE_CANCEL_LATE)
        return read_object(session, s, reterr);
    write_object(s, outcome == STORE_CANCEL_STORED ? &end : r);
    return 0;
}

static int cancel_stored(struct store_session *session, void *arg, struct err *reterr)
{
    struct stop *s = arg;
    struct store_response r;

    if (store_get_response(session, s->flight.caller.owner, s->id, &s->flight.arena, &r, reterr) ==
            -1 ||
        !is_background(&r, reterr))
        return -1;
    if (!store_status_is_terminal(r.status))
        return cancel_under_way(s, session, &r, reterr);
    write_object(s, &r);
    return 0;
}

static void refuse_foreground(struct stop *s)
{
    struct err e;

    set_foreground(&e);
    stop_answer_error(s, &e);
}

static void on_foreground_ended(void *arg, enum running_outcome outcome)
{
    struct stop *s = arg;

    (void)outcome;
    s->flight.n_tasks--;
    refuse_foreground(s);
    flight_free_if_over(&s->flight);
}

/* A response of the background that is not in the store any more was deleted, though its turn may still
 * end. */
static bool is_deleted(const struct stop *s)
{
    struct background *b = stop_worker(s)->background;

    return b != NULL && background_is_making(b, s->id);
}

/* A response of the foreground is in the store when it has ended, and known before to who is making it. */
static void explain_unknown(struct stop *s, const struct err *unknown)
{
    if (is_deleted(s) || !stop_ask_turn(s, RUNNING_END, on_foreground_ended)) {
        stop_answer_error(s, unknown);
    } else if (running_drop(&s->ask)) {
        s->flight.n_tasks--;
        refuse_foreground(s);
    }
}

static void on_cancelled(void *arg, const struct err *failure)
{
    struct stop *s = arg;

    s->flight.n_tasks--;
    stop_forget_polls(s);
    if (failure != NULL && failure->code == ERR_NOT_FOUND)
        explain_unknown(s, failure);
    else if (failure != NULL)
        stop_answer_error(s, failure);
    else if (s->is_over)
        stop_answer(s);
    else
        await_end(s);
    flight_free_if_over(&s->flight);
}

void stop_begin_cancel(struct stop *s)
{
    stop_start_task(s, STORE_WRITE, cancel_stored, on_cancelled);
}
