/* turn_admit.c -- which upstream is asked, and when it has a place for that (OPERATIONS 4, 5.4).
 *
 * Who may serve a request depends on its model, which is looked for in the body before that is read, since
 * what the upstream is decides how. The place is asked for when the request is written. It may be at another
 * upstream than the likely one, which then gets the request as it wants it. */
#include "flight/flight_admission.h"
#include "flight/reach.h"
#include "flight/request_body.h"
#include "json/json_text.h"
#include "turn/turn_stages.h"
#include "turn/turn_summary.h"
#include "upstream/upstream_options.h"
#include "wire/request/request_model.h"

/* ---- ROUTE */

/* True when the name of a model decides which upstream may serve it. */
static bool has_names(const struct turn *t)
{
    return t->flight.worker->upstreams->is_from_file;
}

size_t turn_route_weight(const void *arg)
{
    const struct turn *t = arg;

    return has_names(t) ? request_body_weight(t->flight.http) : 0;
}

/* A body that cannot be read is told so when it is. */
int turn_look_for_model(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    const char *fallback = t->flight.worker->config->model;
    str body;

    (void)reterr;
    t->route_model = STR_NONE;
    if (!has_names(t) || peer_body(t->flight.peer, &body, NULL) == -1)
        return 0;
    t->route_model = request_model_find(body, &t->flight.arena);
    if (str_is_none(t->route_model) && fallback != NULL)
        t->route_model = str_from_c(fallback);
    return 0;
}

enum turn_next turn_find_route(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    enum turn_next next;

    if (t->awaits_upstream)
        return TURN_WAIT;
    next = flight_find_route(&t->flight, t->route_model, reterr);
    t->awaits_upstream = next == TURN_WAIT;
    t->no_route = next == TURN_FAIL ? turn_keep_failure(&t->kept, reterr) : NULL;
    return next == TURN_FAIL ? TURN_GO : next;
}

/* ---- ADMIT */

void turn_open_window(struct turn *t)
{
    if (!t->request.stream || t->is_begun || t->is_window_open)
        return;
    t->is_window_open = true;
    loop_timer_start(t->flight.timer, t->flight.worker->config->early_error_window_ms);
}

/* May the next request name this response, or another round of it be asked? Whoever sends all of it again is known by
 * its prompt. */
static bool may_go_on(const struct turn *t)
{
    return t->request.store || t->request.tools.first != NULL ||
           peer_keeps_contexts(t->flight.peer);
}

/* What the request goes on with has one of these names: the client's own word, a conversation, the response
 * before. A response that has none of them is known by its own id to what goes on with it. */
static void name_session(struct turn *t, struct flight_round *round)
{
    const struct responses_request *r = &t->request;

    round->session_next = STR_NONE;
    if (!str_is_none(r->prompt_cache_key)) {
        round->session = r->prompt_cache_key;
    } else if (!str_is_none(t->conversation_id)) {
        round->session = t->conversation_id;
    } else {
        round->session = str_is_none(t->previous_id) ? STR("") : t->previous_id;
        round->session_next = id_str(&t->response.id);
        round->is_last = !may_go_on(t);
    }
}

/* Behind the first round of a turn, the turn itself is what goes on. */
static struct flight_round describe_round(struct turn *t)
{
    struct flight_round round = {
        .body = buf_str(&t->chat_body),
        .marks = t->counting.marks,
        .is_later = t->n_rounds > 0,
        .takes_slot = str_is_none(extra_fields_get(&t->request.extra, STR("id_slot")))};

    name_session(t, &round);
    if (round.is_later && !str_is_none(round.session_next))
        round.session = round.session_next;
    return round;
}

/* What decides how a request is written. */
struct manner {
    const struct upstream_profile *kind;
    const struct config_list *passed; /* pass_fields */
    struct model_profile profile;
    str model;
};

/* As it is wanted by an upstream that calls the model so; sent: see flight_sent_model(). */
static struct manner manner_of(struct turn *t, const struct upstream_entry *u, str sent)
{
    return (struct manner){
        upstream_kind_profile(u->config, t->facts), &u->config->pass_fields, t->profile,
        !str_is_none(sent) ? sent : upstream_model_name(u->config, &t->request, &t->flight.arena)};
}

static bool is_same_list(const struct config_list *a, const struct config_list *b)
{
    bool is_same = a->n == b->n;

    for (size_t i = 0; is_same && i < a->n; i++)
        is_same = strcmp(a->items[i], b->items[i]) == 0;
    return is_same;
}

static bool is_same_manner(const struct manner *a, const struct manner *b)
{
    return a->kind == b->kind && is_same_list(a->passed, b->passed) && str_eq(a->model, b->model) &&
           model_profile_is_same(&a->profile, &b->profile);
}

/* The turn goes on as one of the upstream that it has now. */
static void adopt_upstream(struct turn *t)
{
    str model;

    upstream_facts_unref(t->facts);
    t->facts = upstream_watch_facts(turn_watch(t));
    model = turn_upstream_model(t);
    t->profile = reach_profile(&t->flight, t->facts, model);
    t->window = upstream_window_profiled(&t->profile, t->facts, model);
}

/* A client whose stream has begun is told to try again in words that it heeds (OPERATIONS 5.4). */
static enum turn_next fail_waiting(const struct turn *t, struct err *reterr)
{
    if (t->retried != NULL)
        *reterr = *t->retried; /* what the last upstream has said */
    else if (t->is_begun && reterr->code == ERR_OVERLOADED)
        reterr->code = ERR_RATE_LIMIT;
    return TURN_FAIL;
}

static enum turn_next admit_round(struct turn *t, struct err *reterr)
{
    const struct upstream_entry *written_for = t->flight.upstream;
    const struct flight_round round = describe_round(t);
    const str written_name = flight_sent_model(&t->flight);
    const enum turn_next next = flight_admit(&t->flight, &round, reterr);
    struct manner written, wanted;

    if (next == TURN_WAIT)
        turn_open_window(t);
    if (next != TURN_GO || t->flight.upstream == written_for)
        return next;
    written = manner_of(t, written_for, written_name);
    adopt_upstream(t);
    wanted = manner_of(t, t->flight.upstream, flight_sent_model(&t->flight));
    return is_same_manner(&written, &wanted) ? TURN_GO : TURN_ELSE;
}

enum turn_next turn_admit(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    const enum turn_next next = admit_round(t, reterr);

    if (next == TURN_GO || next == TURN_ELSE) {
        /* Of a round that is asked again the marks are those of its first attempt. */
        t->is_rewritten = next == TURN_ELSE || (t->retried != NULL && t->is_rewritten);
        t->retried = NULL; /* another attempt begins */
    }
    return next == TURN_FAIL ? fail_waiting(t, reterr) : next;
}

/* A summary that finds no place has failed. */
enum turn_next turn_admit_summary(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    struct turn_summary_call *s = t->compaction.summary;
    enum turn_next next = TURN_GO;

    (void)reterr;
    if (s->has_failed)
        return TURN_GO;
    next = admit_round(t, &s->why_not);
    s->has_failed = next == TURN_FAIL;
    if (s->has_failed && s->retried != NULL)
        s->why_not = *s->retried; /* what the last upstream has said */
    if (next != TURN_WAIT)
        s->retried = NULL;
    if (next == TURN_ELSE)
        turn_plan_chat(t);
    return next == TURN_FAIL ? TURN_GO : next;
}

/* ---- ROUTE_SUMMARY */

/* Lists of models that are not known yet are not waited for. */
static enum turn_next find_summary_route(struct turn *t, str model, struct err *reterr)
{
    enum turn_next next;

    do {
        next = flight_find_route(&t->flight, model, reterr);
    } while (next == TURN_WAIT);
    return next;
}

/* A model that nobody serves makes no summary. */
enum turn_next turn_route_summary(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    struct turn_summary_call *s = t->compaction.summary;
    const char *model = turn_compaction_model(t);

    (void)reterr;
    if (model == NULL || !has_names(t))
        return TURN_GO;
    s->former = flight_keep_route(&t->flight);
    s->has_route = true;
    if (find_summary_route(t, str_from_c(model), &s->why_not) == TURN_GO) {
        adopt_upstream(t);
    } else {
        turn_leave_summary_route(t);
        s->has_failed = true;
    }
    return TURN_GO;
}

void turn_leave_summary_route(struct turn *t)
{
    struct turn_summary_call *s = t->compaction.summary;

    if (!s->has_route)
        return;
    s->has_route = false;
    flight_return_to_route(&t->flight, &s->former);
    adopt_upstream(t);
}

/* ---- RETRY */

bool turn_plans_retry(struct turn *t, struct err *failure)
{
    const bool is_shown = t->has_response && t->response.end != t->round_start;

    t->is_retried = flight_may_retry(&t->flight, failure, is_shown);
    if (t->is_retried)
        t->retried = turn_keep_failure(&t->kept, failure);
    else
        flight_tell_retry(&t->flight, failure);
    return t->is_retried;
}

enum turn_next turn_retries(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    (void)reterr;
    if (!t->is_retried) {
        flight_end_attempt(&t->flight, &t->result.error);
        return TURN_ELSE;
    }
    t->is_retried = false;
    return TURN_GO;
}
