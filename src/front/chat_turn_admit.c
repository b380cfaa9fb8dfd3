/* chat_turn_admit.c -- which upstream a chat turn asks, when, and whether another (OPERATIONS 4). */
#include "flight/flight_admission.h"
#include "flight/request_body.h"
#include "front/chat_turn_internal.h"
#include "upstream/upstream_table.h"
#include "wire/request/request_model.h"

/* ---- ROUTE */

static bool has_names(const struct chat_turn *t)
{
    return t->flight.worker->upstreams->is_from_file;
}

size_t chat_turn_route_weight(const void *arg)
{
    const struct chat_turn *t = arg;

    return has_names(t) ? request_body_weight(t->flight.http) : 0;
}

int chat_turn_look_for_model(void *arg, struct err *reterr)
{
    struct chat_turn *t = arg;
    str body;

    (void)reterr;
    t->route_model = STR_NONE;
    if (has_names(t) && peer_body(t->flight.peer, &body, NULL) == 0)
        t->route_model = request_model_find(body, &t->flight.arena);
    return 0;
}

enum turn_next chat_turn_find_route(void *arg, struct err *reterr)
{
    struct chat_turn *t = arg;
    enum turn_next next;

    if (t->awaits_list)
        return TURN_WAIT;
    next = flight_find_route(&t->flight, t->route_model, reterr);
    t->awaits_list = next == TURN_WAIT;
    t->no_route = next == TURN_FAIL ? turn_keep_failure(&t->flight.arena, reterr) : NULL;
    return next == TURN_FAIL ? TURN_GO : next;
}

void chat_turn_on_known(void *arg)
{
    struct chat_turn *t = arg;

    if (!t->awaits_list)
        return;
    t->awaits_list = false;
    buf_reset(chat_turn_out(t));
    turn_drive(&t->flight);
}

/* ---- ADMIT */

enum turn_next chat_turn_admit(void *arg, struct err *reterr)
{
    struct chat_turn *t = arg;
    const struct flight_round round = {.body = buf_str(&t->body),
                                       .session = STR(""),
                                       .session_next = STR_NONE,
                                       .is_later = t->n_rounds > 0};
    const enum turn_next next = flight_admit(&t->flight, &round, reterr);

    if (next == TURN_GO)
        t->retried = NULL; /* another attempt begins */
    else if (next == TURN_FAIL && t->retried != NULL)
        *reterr = *t->retried;
    else if (next == TURN_FAIL && t->is_begun && reterr->code == ERR_OVERLOADED)
        reterr->code = ERR_RATE_LIMIT;
    return next;
}

/* ---- another attempt */

bool chat_turn_holds(struct chat_turn *t, const struct http_header *headers, size_t n_headers)
{
    t->is_held = flight_could_retry(&t->flight, t->flight.answer.status) &&
                 chat_turn_keep_head(t, headers, n_headers);
    return t->is_held;
}

/* What the upstream has said of its failure is not sent then. */
bool chat_turn_plans_retry(struct chat_turn *t, struct err *e)
{
    t->is_retried = flight_may_retry(&t->flight, e, t->has_shown);
    if (!t->is_retried) {
        flight_tell_retry(&t->flight, e);
        return false;
    }
    t->retried = turn_keep_failure(&t->flight.arena, e);
    buf_reset(chat_turn_out(t));
    return true;
}

void chat_turn_release(struct chat_turn *t)
{
    t->is_held = false;
    flight_tell_retry_in_head(&t->flight, t->flight.answer.status, t->headers, t->n_headers);
    chat_turn_relay_head(t, t->headers, t->n_headers);
    peer_write(t->flight.peer, buf_str(&t->flight.answer.error_body));
}
