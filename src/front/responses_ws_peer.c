/* responses_ws_peer.c -- a create that runs, as its turn knows it: events become messages, contexts stay
 * on the connection. */
#include "front/responses_ws_internal.h"

/* ---- contexts */

void ws_response_forget(struct ws_response *r)
{
    peer_context_unref(r->context);
    *r = (struct ws_response){.context = NULL};
}

static struct id copy_id(str id)
{
    struct id copy = {.len = 0};

    if (id.len > ID_BYTES)
        return copy;
    memcpy(copy.text, id.p, id.len);
    copy.len = (unsigned char)id.len;
    return copy;
}

static struct peer_context *find_context(void *of, str response_id)
{
    const struct ws_create *c = of;

    for (struct ws_lane *l = c->of->lanes; l != NULL; l = l->next) {
        if (l->last.context != NULL && str_eq(id_str(&l->last.id), response_id))
            return peer_context_ref(l->last.context);
    }
    return NULL;
}

static bool has_room(const struct responses_ws *of, struct peer_context *context)
{
    const struct config *config = of->worker->config;

    return peer_context_items(context) <= config->websocket_context_items &&
           peer_context_bytes(context) <= config->websocket_context_bytes &&
           peer_account_add(of->account, context, config->websocket_contexts_bytes);
}

/* What does not fit is not kept: its continuation finds nothing. */
static void keep_context(void *of, str response_id, struct peer_context *context)
{
    struct ws_create *c = of;
    struct ws_response *last = &c->lane->last;

    c->ended_well = true;
    ws_response_forget(last);
    if (context == NULL || !has_room(c->of, context))
        return;
    last->id = copy_id(response_id);
    last->context = peer_context_ref(context);
}

/* ---- the end of a create */

/* A lane whose last response was continued in vain has to begin anew: clients and gateway would not agree
 * any more on what came before (CONTRACT 6.3). What may be asked again as it was takes nothing away. */
static void end_create(struct ws_create *c, bool takes_away)
{
    struct ws_lane *const lane = c->lane;

    if (c->names_last && takes_away)
        ws_response_forget(&lane->last);
    c->is_over = true;
    lane->running = NULL;
    c->of->n_running--;
    c->next = c->of->ended;
    c->of->ended = c;
    responses_ws_settle(c->of);
}

/* ---- messages */

static void note_begin(struct ws_create *c, str event)
{
    c->is_begun = true;
    c->lane->begun = copy_id(ws_message_response_id(event));
}

static void write_events(void *of, str frames)
{
    struct ws_create *c = of;
    str parts[2] = {STR_NONE, buf_str(&c->lane->end)};

    while (ws_message_next_event(&frames, &parts[0])) {
        if (!c->is_begun)
            note_begin(c, parts[0]);
        c->traffic.bytes_out += parts[0].len + parts[1].len;
        websocket_write(c->of->ws, LIST_OF(parts));
    }
}

static void write_taken(void *of, struct buf *frames)
{
    write_events(of, buf_str(frames));
    buf_fini(frames);
}

static void end_stream(void *of, str frames)
{
    struct ws_create *c = of;

    write_events(c, frames);
    end_create(c, !c->ended_well);
}

/* The client would wait for the rest for ever. */
static void abort_answer(void *of)
{
    struct ws_create *c = of;

    responses_ws_end(c->of, WS_ENDING_BROKEN);
    end_create(c, true);
}

static void respond_error(void *of, const struct err *e)
{
    struct ws_create *c = of;
    const int status = err_http_status(e);
    const bool is_admission = status == 429 || status == 503 || status == 413;

    responses_ws_refuse(c->of, c->lane->name.len == 0 ? STR_NONE : buf_str(&c->lane->name), e);
    end_create(c, !is_admission);
}

/* ---- the rest */

static void watch_create(void *of, const struct http_exchange_handler *handler, void *arg)
{
    struct ws_create *c = of;

    c->handler = handler;
    c->arg = arg;
}

static str request_id(void *of)
{
    struct ws_create *c = of;

    return buf_str(&c->request_id);
}

static struct http_traffic *traffic(void *of)
{
    struct ws_create *c = of;

    return &c->traffic;
}

static int read_body(void *of, str *ret, struct err *reterr)
{
    struct ws_create *c = of;

    (void)reterr;
    *ret = c->request.body;
    return 0;
}

static void hold_create(void *of)
{
    struct ws_create *c = of;

    c->is_held = true;
}

static void release_create(void *of)
{
    struct ws_create *c = of;

    c->is_held = false;
    if (c->is_over)
        ws_create_free(c);
}

/* A message has no head, and says nothing of how it is carried. */
static void start_stream(void *of, int status, const struct http_header *headers, size_t n)
{
    (void)of;
    (void)status;
    (void)headers;
    (void)n;
}

/* Turns answer messages with events alone: no whole answers, no head that goes first. */
static const struct peer_ops ops = {
    .manners = {.sends_messages = true},
    .watch = watch_create,
    .request_id = request_id,
    .traffic = traffic,
    .body = read_body,
    .hold = hold_create,
    .release = release_create,
    .respond_error = respond_error,
    .start = start_stream,
    .write = write_events,
    .write_soon = write_events,
    .write_taken = write_taken,
    .end = end_stream,
    .abort = abort_answer,
    .find_context = find_context,
    .keep_context = keep_context,
};

struct peer ws_create_peer(struct ws_create *c)
{
    return (struct peer){&ops, c};
}
