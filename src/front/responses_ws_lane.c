/* responses_ws_lane.c -- lanes: one response at a time in each, in the order of their requests, and side
 * by side. */
#include <inttypes.h>
#include <stdio.h>

#include "front/responses_ws_internal.h"
#include "json/json_text.h"
#include "turn/turn.h"

/* ---- lanes */

static void free_lane(struct ws_lane *l)
{
    ws_response_forget(&l->last);
    buf_fini(&l->name);
    buf_fini(&l->end);
    budget_free(l, sizeof(*l));
}

static struct ws_lane *new_lane(struct responses_ws *of, str name)
{
    struct ws_lane *l = budget_alloc(sizeof(*l), sizeof(*l));

    if (l == NULL)
        return NULL;
    l->of = of;
    buf_append(&l->name, name);
    ws_message_end(name, &l->end);
    if (buf_failed(&l->name) || buf_failed(&l->end)) {
        free_lane(l);
        return NULL;
    }
    return l;
}

static struct ws_lane *find_lane(struct responses_ws *of, str name)
{
    const str wanted = str_is_none(name) ? STR("") : name;

    for (struct ws_lane *l = of->lanes; l != NULL; l = l->next) {
        if (str_eq(buf_str(&l->name), wanted))
            return l;
    }
    return NULL;
}

/* The lane of a message; made when it is named first. NULL with *reterr filled. */
static struct ws_lane *lane_of(struct responses_ws *of, str name, struct err *reterr)
{
    struct ws_lane *l = find_lane(of, name);

    if (l != NULL)
        return l;
    if (!str_is_none(name) && of->n_lanes >= of->worker->config->websocket_max_streams) {
        err_set_param(reterr, ERR_WEBSOCKET_STREAM_LIMIT, "stream_id",
                      "This connection has %zu streams, the most that it may have "
                      "(websocket_max_streams). Use one of them, or a new connection.",
                      of->n_lanes);
        return NULL;
    }
    l = new_lane(of, name);
    if (l == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    of->n_lanes += !str_is_none(name);
    l->next = of->lanes;
    of->lanes = l;
    return l;
}

bool ws_lane_knows(const struct responses_ws *of, str response_id)
{
    for (const struct ws_lane *l = of->lanes; l != NULL; l = l->next) {
        if ((l->begun.len > 0 && json_text_eq(response_id, id_str(&l->begun))) ||
            (l->last.id.len > 0 && json_text_eq(response_id, id_str(&l->last.id))))
            return true;
    }
    return false;
}

/* ---- creates */

void ws_create_free(struct ws_create *c)
{
    struct responses_ws *const of = c->of;

    buf_fini(&c->text);
    buf_fini(&c->request_id);
    budget_free(c, sizeof(*c));
    of->n_parts--;
    if (of->ws == NULL)
        responses_ws_settle(of); /* which may have waited for it */
}

static void make_request(struct ws_create *c, str text)
{
    const struct responses_ws *of = c->of;

    c->request = (struct http_request){
        .method = STR("POST"),
        .path = STR("/v1/responses"),
        .query = STR(""),
        .headers = of->headers,
        .n_headers = of->n_headers,
        .body = text,
        .listener = of->listener,
        .peer = of->client,
    };
}

/* The request keeps the message, and is named after its connection and its place in there. */
static struct ws_create *new_create(struct ws_lane *lane, const struct ws_message *m,
                                    struct buf *text)
{
    struct responses_ws *const of = lane->of;
    struct ws_create *c = budget_alloc(sizeof(*c), sizeof(*c));

    if (c == NULL)
        return NULL;
    c->of = of;
    of->n_parts++;
    c->lane = lane;
    c->previous_id = m->previous_response_id;
    buf_append(&c->request_id, of->request_id);
    buf_char(&c->request_id, '-');
    buf_uint(&c->request_id, ++of->n_requests);
    if (buf_failed(&c->request_id)) {
        ws_create_free(c);
        return NULL;
    }
    make_request(c, m->text);
    c->traffic.bytes_in = m->text.len;
    if (text == NULL) {
        websocket_take_text(of->ws, &c->text);
    } else {
        c->text = *text;
        *text = (struct buf){.limit = 0};
    }
    return c;
}

/* ---- what runs */

static bool names_last(const struct ws_create *c)
{
    const struct ws_response *last = &c->lane->last;

    return last->context != NULL && !str_is_none(c->previous_id) &&
           json_text_eq(c->previous_id, id_str(&last->id));
}

static void start_create(struct ws_create *c)
{
    struct responses_ws *const of = c->of;

    c->lane->running = c;
    of->n_running++;
    c->names_last = names_last(c);
    turn_begin(of->worker, ws_create_peer(c), &c->request, &of->caller);
}

/* Also what needs no upstream, a warm-up, has an answer, for which a client that reads slowly has no room:
 * nothing begins then. */
static bool may_run(const struct ws_lane *lane)
{
    const struct responses_ws *of = lane->of;

    return lane->running == NULL && !of->is_blocked &&
           of->n_running < of->worker->config->websocket_max_running;
}

static void unlink_waiting(struct responses_ws *of, struct ws_create **link)
{
    struct ws_create *const c = *link;

    *link = c->next;
    if (of->waiting_end == &c->next)
        of->waiting_end = link;
    c->next = NULL;
    of->n_waiting--;
    of->waiting_bytes -= c->text.len;
}

void ws_lane_start_waiting(struct responses_ws *of)
{
    struct ws_create **link = &of->waiting;

    while (*link != NULL) {
        struct ws_create *const c = *link;

        if (!may_run(c->lane)) {
            link = &c->next;
            continue;
        }
        unlink_waiting(of, link);
        start_create(c);
    }
}

void ws_lane_free_ended(struct responses_ws *of)
{
    for (struct ws_create *c = of->ended, *next; c != NULL; c = next) {
        next = c->next;
        ws_create_free(c);
    }
    of->ended = NULL;
}

/* ---- what waits, and what is refused */

static int check_room(const struct responses_ws *of, str text, struct err *reterr)
{
    const struct config *config = of->worker->config;

    if (of->n_waiting >= config->websocket_max_waiting) {
        err_set(reterr, ERR_RATE_LIMIT,
                "This connection has %zu requests waiting (websocket_max_waiting).", of->n_waiting);
        return -1;
    }
    if (text.len <= config->websocket_max_waiting_size_bytes &&
        of->waiting_bytes <= config->websocket_max_waiting_size_bytes - text.len)
        return 0;
    err_set(
        reterr, ERR_RATE_LIMIT,
        "The requests of this connection that wait come to %zu bytes, and one more of %zu is too "
        "much (websocket_max_waiting_size).",
        of->waiting_bytes, text.len);
    return -1;
}

/* True when nothing of the lane waits: another lane may overtake. */
static bool is_next(const struct ws_lane *lane)
{
    for (const struct ws_create *c = lane->of->waiting; c != NULL; c = c->next) {
        if (c->lane == lane)
            return false;
    }
    return may_run(lane);
}

static int refuse_ending(const struct responses_ws *of, struct err *reterr)
{
    if (of->ending == WS_ENDING_KEYLESS)
        err_set(reterr, ERR_INVALID_API_KEY,
                "The API key of this connection is not valid any more.");
    else
        err_set(reterr, ERR_WEBSOCKET_CONNECTION_LIMIT,
                "Create a new websocket connection to continue.");
    return -1;
}

static int take_create(struct responses_ws *of, const struct ws_message *m, struct buf *text,
                       struct err *reterr)
{
    struct ws_lane *lane;
    struct ws_create *c;
    bool runs;

    responses_ws_check_key(of); /* it may have expired */
    if (of->ending != WS_OPEN)
        return refuse_ending(of, reterr);
    lane = lane_of(of, m->stream_id, reterr);
    if (lane == NULL)
        return -1;
    runs = is_next(lane);
    if (!runs && check_room(of, m->text, reterr) == -1)
        return -1;
    c = new_create(lane, m, text);
    if (c == NULL)
        return err_set_no_memory(reterr);
    if (runs) {
        start_create(c);
        return 0;
    }
    of->n_waiting++;
    of->waiting_bytes += c->text.len;
    *of->waiting_end = c;
    of->waiting_end = &c->next;
    return 0;
}

void ws_lane_create(struct responses_ws *of, const struct ws_message *m, struct buf *text)
{
    struct err e;

    if (take_create(of, m, text, &e) == -1)
        responses_ws_refuse(of, m->stream_id, &e);
}

static str stream_id(const struct ws_lane *l)
{
    return l->name.len == 0 ? STR_NONE : buf_str(&l->name);
}

void ws_lane_refuse_waiting(struct responses_ws *of)
{
    struct err e;

    (void)refuse_ending(of, &e);
    while (of->waiting != NULL) {
        struct ws_create *const c = of->waiting;

        unlink_waiting(of, &of->waiting);
        responses_ws_refuse(of, stream_id(c->lane), &e);
        ws_create_free(c);
    }
}

/* ---- the end */

static void drop_running(struct ws_lane *l)
{
    struct ws_create *const c = l->running;

    if (c == NULL)
        return;
    l->running = NULL;
    l->of->n_running--;
    c->is_over = true;
    c->handler->on_gone(c->arg);
    if (!c->is_held)
        ws_create_free(c);
}

void ws_lane_drop_all(struct responses_ws *of)
{
    while (of->waiting != NULL) {
        struct ws_create *const c = of->waiting;

        unlink_waiting(of, &of->waiting);
        ws_create_free(c);
    }
    for (struct ws_lane *l = of->lanes, *next; l != NULL; l = next) {
        next = l->next;
        drop_running(l);
        free_lane(l);
    }
    of->lanes = NULL;
}
