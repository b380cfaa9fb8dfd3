/* responses_ws.c -- one connection: its messages, its age, its end.
 *
 *     OPEN ---- drain, age ----> ENDING_OLD --------.
 *       |`----- key removed ---> ENDING_KEYLESS -----+- when nothing runs any more --> closed
 *       `------ nonsense, unread refusals, a broken answer --------- at once --------> closed
 *
 * What ends takes no more requests, and what waits is refused. */
#include "front/responses_ws_internal.h"

#include "ev/log.h"
#include "flight/flight_spans.h"

enum {
    GRACE_MS = 5 * 60 * 1000, /* for responses that run when the connection is too old */
    LOOK_AGAIN_MS = 20,
    LEAST_REFUSED_BYTES =
        1024 * 1024, /* that may be unsent, however small websocket_max_pending is */
};

/* ---- messages */

/* What a client asks in vain is answered at once, however slowly it reads: unless it does not read at
 * all. */
static bool has_room_to_refuse(struct responses_ws *of, size_t n)
{
    const size_t limit = of->worker->config->websocket_max_pending_bytes;

    if (websocket_pending(of->ws) == 0)
        of->refused_bytes = 0;
    if (of->refused_bytes > (limit > LEAST_REFUSED_BYTES ? limit : LEAST_REFUSED_BYTES))
        return false;
    of->refused_bytes += n;
    return true;
}

void responses_ws_send(struct responses_ws *of, struct buf *message)
{
    const str text = buf_str(message);

    if (buf_failed(message))
        responses_ws_end(of, WS_ENDING_BROKEN);
    else if (!has_room_to_refuse(of, text.len))
        responses_ws_end(of, WS_ENDING_UNREAD);
    else
        websocket_write(of->ws, &text, 1);
    buf_fini(message);
}

void responses_ws_refuse(struct responses_ws *of, str stream_id, const struct err *e)
{
    const enum budget_use before = budget_use_for(BUDGET_UNDER_WAY);
    struct buf message = {.limit = 0};

    ws_message_error(e, stream_id, &message);
    responses_ws_send(of, &message);
    (void)budget_use_for(before);
}

static void on_message(void *arg, str text)
{
    struct responses_ws *of = arg;

    if (!responses_ws_is_over(of))
        ws_arrival_take(of, text);
}

static void on_blocked(void *arg, bool is_blocked)
{
    struct responses_ws *of = arg;

    of->is_blocked = is_blocked;
    for (struct ws_lane *l = of->lanes; l != NULL; l = l->next) {
        if (l->running != NULL)
            l->running->handler->on_blocked(l->running->arg, is_blocked);
    }
    responses_ws_settle(of); /* what may not run while it is blocked */
}

/* ---- the end */

static void free_connection(struct responses_ws *of)
{
    loop_timer_free(of->timer);
    peer_account_close(of->account);
    arena_fini(&of->memory);
    budget_free(of, sizeof(*of));
}

/* The client is not sent anything from now on; whoever still answers hears that the client is gone. */
static void leave_connection(struct responses_ws *of)
{
    of->ws = NULL;
    loop_timer_stop(of->timer);
    worker_unwatch(&of->watcher);
    ws_arrival_drop_all(of);
    ws_lane_drop_all(of);
    ws_lane_free_ended(of);
    responses_ws_settle(of);
}

static void on_gone(void *arg)
{
    leave_connection(arg);
}

bool responses_ws_is_over(const struct responses_ws *of)
{
    return of->ending >= WS_ENDING_NONSENSE;
}

static void close_connection(struct responses_ws *of)
{
    static const struct {
        enum ws_code code;
        str reason;
    } words[] = {
        [WS_ENDING_OLD] = {WS_GOING_AWAY, STR_INIT("Connect again to go on.")},
        [WS_ENDING_KEYLESS] = {WS_POLICY_VIOLATION, STR_INIT("The API key is not valid any more.")},
        [WS_ENDING_NONSENSE] = {WS_POLICY_VIOLATION,
                                STR_INIT("Too many messages in a row are no JSON objects with a "
                                         "type.")},
        [WS_ENDING_UNREAD] = {WS_POLICY_VIOLATION, STR_INIT("Refusals are not read.")},
        [WS_ENDING_BROKEN] = {WS_INTERNAL_ERROR, STR_INIT("The gateway ran out of memory.")},
    };

    websocket_close(of->ws, words[of->ending].code, words[of->ending].reason);
    leave_connection(of);
}

static bool has_come_to_rest(const struct responses_ws *of)
{
    return of->n_running == 0 && of->arrivals == NULL;
}

static void settle_connection(void *arg)
{
    struct responses_ws *of = arg;

    ws_lane_free_ended(of);
    if (of->ws != NULL && of->ending == WS_OPEN)
        ws_lane_start_waiting(of);
    else if (of->ws != NULL && (has_come_to_rest(of) || responses_ws_is_over(of)))
        close_connection(of);
    if (of->ws == NULL && of->n_parts == 0 && !loop_message_is_under_way(&of->settle))
        free_connection(of);
}

void responses_ws_settle(struct responses_ws *of)
{
    loop_defer(of->worker->loop, &of->settle);
}

void responses_ws_end(struct responses_ws *of, enum ws_ending why)
{
    if (of->ending >= why)
        return;
    of->ending = why;
    if (!responses_ws_is_over(of))
        ws_lane_refuse_waiting(of);
    responses_ws_settle(of);
}

static void on_drain(void *arg)
{
    responses_ws_end(arg, WS_ENDING_OLD);
}

static const struct websocket_handler handler = {on_message, on_blocked, on_drain, on_gone};

/* ---- age and key */

static void end_running(struct responses_ws *of)
{
    struct err e;

    err_set(&e, ERR_INTERNAL, "The connection is too old (websocket_max_age). Connect again.");
    for (struct ws_lane *l = of->lanes; l != NULL; l = l->next) {
        if (l->running != NULL)
            flight_end_of(of->worker, l->running, &e);
    }
}

/* A turn on the pool of threads is asked again. */
static void on_timer(void *arg)
{
    struct responses_ws *of = arg;

    if (of->ending == WS_OPEN) {
        responses_ws_end(of, WS_ENDING_OLD);
        loop_timer_start(of->timer, GRACE_MS);
    } else if (of->n_running > 0) {
        end_running(of);
        loop_timer_start(of->timer, LOOK_AGAIN_MS);
    }
}

/* The key of the handshake is good as long as it stands for the same owner, and has not expired. */
void responses_ws_check_key(struct responses_ws *of)
{
    struct caller caller;
    struct err e;

    if (api_keys_identify_client(of->worker->keys, of->certificate, of->authorization, &caller,
                                 &e) == -1 ||
        !str_eq(caller.owner, of->caller.owner))
        responses_ws_end(of, WS_ENDING_KEYLESS);
    else
        of->caller = caller; /* its name may something else by now */
}

static void on_keys(void *arg)
{
    responses_ws_check_key(arg);
}

/* ---- the beginning */

static void add_header(struct responses_ws *of, str name, str value)
{
    if (!str_is_none(value))
        of->headers[of->n_headers++] = (struct http_header){name, value};
}

/* The connection may be gone before its last create. */
static bool keep_handshake(struct responses_ws *of)
{
    const struct http_request *r = websocket_request(of->ws);
    const str key = http_request_header(r, STR("authorization"));
    struct trace_context context;

    of->request_id = arena_dup(&of->memory, websocket_request_id(of->ws));
    of->client = arena_dup(&of->memory, r->peer);
    of->listener = r->listener;
    of->authorization = arena_dup(&of->memory, key);
    of->certificate = r->certificate;
    add_header(of, STR("authorization"), of->authorization);
    if (flight_spans_upgrade(of->worker, r, &context)) {
        trace_context_write(&context, of->traceparent);
        add_header(of, STR("traceparent"), str_from_c(of->traceparent));
    }
    return !str_is_none(of->request_id) && !str_is_none(of->client) &&
           str_is_none(of->authorization) == str_is_none(key);
}

static struct responses_ws *new_connection(struct worker *w, struct websocket *ws,
                                           const struct caller *caller)
{
    struct responses_ws *of = budget_alloc(sizeof(*of), sizeof(*of));

    if (of == NULL)
        return NULL;
    of->worker = w;
    of->ws = ws;
    of->caller = *caller;
    of->waiting_end = &of->waiting;
    of->arrivals_end = &of->arrivals;
    of->settle = (struct loop_message){.fn = settle_connection, .arg = of};
    of->watcher = (struct worker_watcher){.on_keys = on_keys, .on_end = on_gone, .arg = of};
    of->account = peer_account_new();
    of->timer = loop_timer_new(w->loop, on_timer, of);
    if (of->account != NULL && of->timer != NULL && keep_handshake(of))
        return of;
    free_connection(of);
    return NULL;
}

void responses_ws_open(struct worker *w, struct websocket *ws, const struct caller *caller)
{
    struct responses_ws *of = new_connection(w, ws, caller);

    if (of == NULL) {
        websocket_close(ws, WS_INTERNAL_ERROR, STR("The gateway ran out of memory."));
        return;
    }
    worker_watch(w, &of->watcher);
    websocket_watch(ws, &handler, of);
    if (w->config->websocket_max_age_ms != 0)
        loop_timer_start(of->timer, w->config->websocket_max_age_ms);
    if (websocket_is_draining(ws))
        on_drain(of);
}
