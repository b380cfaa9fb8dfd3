/* response_stop.c -- a flight that tells the store, and whoever makes the response, that it is to end. */
#include "front/response_stop.h"

#include "access/api_key.h"
#include "background/background.h"
#include "background/poll_cache.h"
#include "ev/log.h"
#include "front/response_stop_internal.h"
#include "json/json_write.h"
#include "response/poll_after.h"

/* ---- answers */

static void log_stop_end(const struct stop *s, const char *outcome, str warning)
{
    log_line(str_is_none(warning) ? LOG_DEBUG : LOG_WARN, "state",
             (struct log_field[]){
                 LOG_STR("request_id", s->flight.request_id),
                 LOG_STR("method", s->flight.http->method), LOG_PATH("path", s->flight.http->path),
                 LOG_STR("outcome", str_from_c(outcome)), LOG_STR("message", warning),
                 LOG_INT("total_ms", stop_now_ms(s) - s->flight.start_ms),
                 LOG_STR("owner", s->flight.caller.name), LOG_END});
}

static void log_gone(void *arg)
{
    log_stop_end(arg, "client_gone", STR_NONE);
}

void stop_answer_error(void *arg, const struct err *e)
{
    struct stop *s = arg;

    if (!flight_has_client(&s->flight))
        return;
    log_stop_end(s, err_wire_code(e), err_http_status(e) >= 500 ? str_from_c(e->msg) : STR_NONE);
    peer_respond_error(s->flight.peer, e);
    flight_answered(&s->flight, false);
}

void stop_answer(struct stop *s)
{
    const str poll_after = s->is_over ? STR_NONE : poll_after_ms(clock_unix_s() - s->created_at);
    const struct http_header head[] = {{STR("content-type"), STR("application/json")},
                                       {STR(POLL_AFTER_HEADER), poll_after}};
    struct err e;

    if (!flight_has_client(&s->flight))
        return;
    if (buf_failed(&s->object)) {
        err_set_no_memory(&e);
        stop_answer_error(s, &e);
        return;
    }
    log_stop_end(s, "answered", STR_NONE);
    peer_respond(s->flight.peer, 200, head, str_is_none(poll_after) ? 1 : 2, buf_str(&s->object));
    flight_answered(&s->flight, false);
}

/* ---- tasks and asks */

void stop_start_task(struct stop *s, enum store_access access,
                     int (*work)(struct store_session *session, void *arg, struct err *reterr),
                     void (*done)(void *arg, const struct err *failure))
{
    s->flight.n_tasks++;
    s->task = (struct store_task){.access = access,
                                  .purpose = STORE_FOR_DELETE,
                                  .work = work,
                                  .done = done,
                                  .arg = s,
                                  .loop = stop_worker(s)->loop};
    store_start(stop_worker(s)->store, &s->task);
}

void stop_forget_polls(const struct stop *s)
{
    struct background *b = stop_worker(s)->background;

    if (b != NULL)
        poll_cache_drop(background_polls(b), s->flight.caller.owner, s->id);
}

bool stop_ask_turn(struct stop *s, enum running_wish wish,
                   void (*report)(void *arg, enum running_outcome outcome))
{
    struct worker *w = stop_worker(s);

    s->ask = (struct running_ask){
        .wish = wish, .owner = s->flight.caller.owner, .id = s->id, .report = report, .arg = s};
    s->is_asking = w->running != NULL && running_ask(w->running, &s->ask, w->loop);
    s->flight.n_tasks += s->is_asking;
    return s->is_asking;
}

/* ---- DELETE /v1/responses/{id} */

static int delete_stored(struct store_session *session, void *arg, struct err *reterr)
{
    struct stop *s = arg;

    return store_delete_response(session, s->flight.caller.owner, s->id, reterr);
}

static void write_deleted(struct stop *s)
{
    struct jw w = jw_to(&s->object);

    jw_object(&w);
    jw_key_string(&w, "id", s->id);
    jw_key_string(&w, "object", STR("response"));
    jw_key_bool(&w, "deleted", true);
    jw_object_end(&w);
    s->is_over = true;
}

static void on_deleted_turn_ended(void *arg, enum running_outcome outcome)
{
    struct stop *s = arg;

    (void)outcome;
    s->flight.n_tasks--;
    flight_free_if_over(&s->flight);
}

/* What has been deleted is not found any more, though its turn has yet to end. */
static void end_deleted_turn(struct stop *s)
{
    if (stop_ask_turn(s, RUNNING_CANCEL, on_deleted_turn_ended))
        running_hide(stop_worker(s)->running, s->flight.caller.owner, s->id);
}

static void on_deleted(void *arg, const struct err *failure)
{
    struct stop *s = arg;

    s->flight.n_tasks--;
    stop_forget_polls(s);
    if (failure != NULL) {
        stop_answer_error(s, failure);
    } else {
        end_deleted_turn(s);
        write_deleted(s);
        stop_answer(s);
    }
    flight_free_if_over(&s->flight);
}

/* ---- the beginning */

static void stop_fini(void *arg)
{
    struct stop *s = arg;

    buf_fini(&s->object);
    buf_fini(&s->ask.out);
}

static const struct flight_ops ops = {
    .size = sizeof(struct stop),
    .log_gone = log_gone,
    .on_timer = stop_on_timer,
    .fail = stop_answer_error,
    .fini = stop_fini,
};

/* A store that is full may still delete, which is how it gets space again. */
static int begin_work(struct stop *s, struct err *reterr)
{
    const enum store_access access = s->deletes ? STORE_READ : STORE_WRITE;

    if (str_is_none(s->id))
        return err_set_no_memory(reterr);
    if (store_refuses(stop_worker(s)->store, access, reterr))
        return -1;
    if (s->deletes)
        stop_start_task(s, STORE_WRITE, delete_stored, on_deleted);
    else
        stop_begin_cancel(s);
    return 0;
}

static void begin_stop(struct worker *w, struct http_exchange *x, const struct http_request *r,
                       const struct caller *caller, const struct path_ids *ids, bool deletes)
{
    struct stop *s = flight_new(&ops, w, peer_of_exchange(x), r, caller);
    str decoded[PATH_MAX_IDS];
    struct err e;

    if (s == NULL) {
        err_set_no_memory(&e);
        http_exchange_respond_error(x, &e, NULL, 0);
        return;
    }
    s->deletes = deletes;
    s->id = path_ids_decode(ids, &s->flight.arena, decoded) ? decoded[0] : STR_NONE;
    if (begin_work(s, &e) == 0)
        return;
    stop_answer_error(s, &e);
    flight_free_if_over(&s->flight);
}

void response_stop_cancel(struct worker *w, struct http_exchange *x, const struct http_request *r,
                          const struct caller *caller, const struct path_ids *ids)
{
    begin_stop(w, x, r, caller, ids, false);
}

void response_stop_delete(struct worker *w, struct http_exchange *x, const struct http_request *r,
                          const struct caller *caller, const struct path_ids *ids)
{
    begin_stop(w, x, r, caller, ids, true);
}
