/* relay_upstream.c -- a relay's upstream: chosen by the model, waited for, and asked again elsewhere when it
 * fails before a byte of its answer was passed on (OPERATIONS 4.2, 4.7).
 *
 *     the body is looked at -> limits -> route -> a place -> the call -> passed on
 *                   lists of models are waited for   ^       |
 *                                                    +-------+  another attempt
 *
 * A request by another method than POST, as GET /v1/files, makes no model work: it goes to the first upstream without
 * waiting for a place, and GET and HEAD to the next when that cannot be reached. A POST that names no model goes to the
 * first as well, and has a place there. */
#include "flight/flight_admission.h"
#include "flight/request_body.h"
#include "front/relay_internal.h"
#include "front/relay_model.h"
#include "upstream/upstream_outcome.h"
#include "upstream/upstream_table.h"
#include "wire/request/request_model.h"

static bool needs_place(const struct relay *relay)
{
    return str_eq(relay->flight.http->method, STR("POST"));
}

/* Asked twice, it costs no more than tokens. What else is posted may be done twice. */
static bool may_be_repeated(const struct relay *relay)
{
    return needs_place(relay) && relay_operation(relay->flight.http->path) != NULL;
}

bool relay_only_reads(const struct relay *relay)
{
    const str method = relay->flight.http->method;

    return str_eq(method, STR("GET")) || str_eq(method, STR("HEAD"));
}

/* ---- what was held of an answer */

/* Passes on what was held. */
static void release_answer(struct relay *relay)
{
    relay->is_judged = false;
    flight_tell_retry_in_head(&relay->flight, relay->held_status, relay->held, relay->n_held);
    relay_pass_head(relay, relay->held_status, relay->held, relay->n_held);
    relay->held = NULL;
    peer_write(relay->flight.peer, buf_str(&relay->flight.answer.error_body));
}

/* The same, and that is all of it. */
static void answer_held(struct relay *relay)
{
    release_answer(relay);
    relay_complete(relay);
}

/* ---- which upstream */

/* A round that finds no place after all ends as its last attempt did (OPERATIONS 4.7). */
static void fail_waiting(struct relay *relay, const struct err *e)
{
    if (relay->retried == NULL && relay->is_judged)
        answer_held(relay);
    else
        relay_fail(relay, relay->retried != NULL ? relay->retried : e);
}

static void admit_relay(struct relay *relay)
{
    const struct flight_round round = {
        .body = relay->plain, .session = STR(""), .session_next = STR_NONE};
    struct err e;

    switch (flight_admit(&relay->flight, &round, &e)) {
    case TURN_GO:
        relay->is_judged = false; /* another attempt begins */
        relay->held = NULL;
        relay->retried = NULL;
        relay_begin_call(relay);
        return;
    case TURN_WAIT:
        return;
    default:
        fail_waiting(relay, &e);
    }
}

void relay_on_admitted(void *arg)
{
    admit_relay(arg);
}

void relay_route_on(struct relay *relay)
{
    struct flight *f = &relay->flight;
    struct err e;
    enum turn_next next;

    if (!relay->awaits_route)
        return;
    next = flight_find_route(f, relay->asked_model, &e);
    relay->awaits_route = next == TURN_WAIT;
    if (next == TURN_GO)
        admit_relay(relay);
    else if (next == TURN_FAIL)
        relay_fail(relay, &e);
}

/* A body that cannot be decoded is the upstream's to judge. */
static int look_at_body(void *arg, struct err *reterr)
{
    struct relay *relay = arg;
    struct flight *f = &relay->flight;

    (void)reterr;
    if (peer_body(f->peer, &relay->plain, NULL) == -1) {
        relay->plain = STR("");
        relay_limits_read(&relay->limits, f, STR_NONE);
        return 0;
    }
    relay_limits_read(&relay->limits, f, relay->plain);
    relay->asked_model = request_model_find(relay->plain, &f->arena);
    return 0;
}

static void on_looked(void *arg, const struct err *failure)
{
    struct relay *relay = arg;
    struct err e;

    (void)failure;
    if (!flight_has_client(&relay->flight))
        return;
    if (relay_limits_admit(&relay->limits, &relay->flight, &e) == -1) {
        relay_fail(relay, &e);
    } else if (!needs_place(relay)) {
        relay_begin_call(relay);
    } else {
        relay->awaits_route = true;
        relay_route_on(relay);
    }
}

void relay_route(struct relay *relay)
{
    struct flight *f = &relay->flight;

    relay->plain = STR("");
    relay->asked_model = STR_NONE;
    if ((needs_place(relay) && f->worker->upstreams->is_from_file) || relay_limits_need_body(f))
        flight_work(f, request_body_weight(f->http), look_at_body, on_looked);
    else
        on_looked(relay, NULL);
}

/* ---- what becomes of its answer */

bool relay_upstream_holds(struct relay *relay, int status, const struct http_header *headers,
                          size_t n_headers)
{
    if (!may_be_repeated(relay) || !flight_could_retry(&relay->flight, status) ||
        !relay_hold_head(relay, headers, n_headers, NULL))
        return false;
    relay->held_status = status;
    relay->is_judged = true;
    return true;
}

/* A good answer is passed on with its first byte; another when it is too long to be judged. What is passed on
 * at once says as well why it is no good. */
bool relay_upstream_keeps(struct relay *relay, str bytes)
{
    struct upstream_answer *a = &relay->flight.answer;
    const bool is_kept = !upstream_answer_is_good(a) && upstream_answer_keep(a, bytes);

    if (!relay->is_judged || is_kept)
        return relay->is_judged;
    release_answer(relay);
    return false;
}

/* The next upstream of the file is asked when this one could not be reached; false: it is not. */
static bool ask_next(struct relay *relay, const struct err *failure)
{
    struct flight *f = &relay->flight;
    const struct upstream_table *t = relay->table;
    const enum upstream_outcome outcome = upstream_outcome_of(&f->answer, failure);

    if (!relay_only_reads(relay) || upstream_outcome_row(outcome)->retry != METRIC_RETRY_CONNECT ||
        ++relay->n_unreached >= t->n || !flight_take_upstream(f, &t->entries[relay->n_unreached]))
        return false;
    relay_begin_call(relay);
    return true;
}

bool relay_upstream_ends(struct relay *relay, const struct err *failure)
{
    struct flight *f = &relay->flight;
    const bool is_shown = relay->has_begun || (relay->status != 0 && !relay->is_judged);

    if (!needs_place(relay))
        return failure != NULL && ask_next(relay, failure);
    if (!may_be_repeated(relay)) {
        flight_end_attempt(f, failure);
        return false;
    }
    if (failure == NULL && upstream_answer_is_good(&f->answer)) {
        flight_end_attempt(f, NULL);
    } else if (flight_may_retry(f, failure, is_shown)) {
        relay->retried = turn_keep_failure(&f->arena, failure);
        admit_relay(relay);
        return true;
    }
    if (!relay->is_judged || failure != NULL)
        return false;
    answer_held(relay);
    return true;
}
