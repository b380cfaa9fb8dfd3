/* turn_prepare.c -- the beginning of a turn: the client's request is read, the
 * upstream's is written and sent. And sent again with less of the conversation,
 * when it was too long and the client allows that. */
#include "conv/trim.h"
#include "gateway/request_body.h"
#include "gateway/turn_internal.h"
#include "gateway/upstream_options.h"
#include "wire/chat_request.h"
#include "wire/response_echo.h"
#include "json/json_text.h"

static enum reasoning_mode reasoning_mode(const struct config *c, const struct responses_request *r)
{
    if (c->reasoning == CONFIG_REASONING_NONE)
        return REASONING_NONE;
    if (c->reasoning == CONFIG_REASONING_SUMMARY)
        return REASONING_SUMMARY;
    return c->summary_when_requested && r->reasoning_summary_requested ? REASONING_SUMMARY
                                                                       : REASONING_TEXT;
}

static void init_response(struct turn *t)
{
    const struct config *c = t->worker->config;
    const struct response_conf response = {
        .ids = &t->worker->ids,
        .tools = &t->request.tools,
        .echo = buf_str(&t->echo),
        .service_tier = t->request.service_tier,
        .created_at = clock_unix_s(),
        .reasoning = reasoning_mode(c, &t->request),
        .error_event = c->error_event,
        .obfuscation = t->request.include_obfuscation,
        .max_output_bytes = c->max_response_bytes,
    };

    response_init(&t->response, &response);
}

static void init_round(struct turn *t)
{
    const struct chat_stream_conf stream = upstream_stream_conf(t->worker->config, &t->request);

    round_init(&t->round, &stream, &t->response);
    t->has_round = true;
}

static str authorization(struct turn *t)
{
    str value = worker_authorization(t->worker, t->http);

    t->is_clients_key = str_is_none(t->worker->authorization) && !str_is_none(value);
    return value;
}

static int start_call(struct turn *t, struct err *reterr)
{
    const struct http_header headers[] = {
        {STR("content-type"), STR("application/json")},
        {STR("accept"), STR("text/event-stream")},
        {STR("x-request-id"), t->request_id},
        {STR("authorization"), authorization(t)},
    };
    const size_t n_headers = sizeof(headers) / sizeof(*headers);
    struct buf url = {.limit = 0};
    struct http_call_conf call = worker_call_conf(t->worker);

    buf_append(&url, t->worker->upstream);
    buf_append(&url, STR("/chat/completions"));
    call.url = buf_cstr(&url);
    call.method = "POST";
    call.headers = headers;
    call.n_headers = str_is_none(headers[n_headers - 1].value) ? n_headers - 1 : n_headers;
    call.body = buf_str(&t->chat_body);
    t->call = http_client_start(t->worker->client, &call, &turn_call_handler, t, reterr);
    buf_fini(&url);
    return t->call == NULL ? -1 : 0;
}

void turn_explain_size(const struct turn *t, struct err *e)
{
    if (t->arena.is_full || t->kept.is_full || t->chat_body.is_full)
        err_set(e, ERR_REQUEST_TOO_LARGE,
                "The request needs more than %zu bytes of memory (max_request_memory).",
                t->worker->config->max_request_memory_bytes);
}

static int read_request(struct turn *t, struct err *reterr)
{
    const struct responses_request_options options = upstream_request_options(t->worker->config);
    str body;

    if (request_body(t->x, t->http, &body, reterr) == -1)
        return -1;
    return responses_request_parse(body, &options, &t->worker->ids, &t->arena, &t->request, reterr);
}

/* The conversation is kept: it may have to be sent again, shorter. */
static int convert(struct turn *t, struct err *reterr)
{
    if (t->request.needs_store && turn_resolve(t, reterr) == -1)
        return -1;
    t->chat = upstream_chat_options(t->worker->config, &t->request, &t->arena);
    t->chat.reasoning_source = turn_reasoning(t);
    if (chat_request_conversation(&t->request, &t->chat, &t->worker->ids, &t->arena,
                                  &t->conversation, reterr) == -1)
        return -1;
    return chat_request_write(&t->request, &t->conversation, &t->chat, &t->chat_body, reterr);
}

int turn_connect(struct turn *t, struct err *reterr)
{
    if (convert(t, reterr) == -1) {
        turn_explain_size(t, reterr);
        return -1;
    }
    responses_request_echo(&t->request, &t->echo);
    if (buf_failed(&t->echo)) {
        err_set_no_memory(reterr);
        return -1;
    }
    init_response(t);
    init_round(t);
    if (start_call(t, reterr) == -1)
        return -1;
    turn_move(t, TURN_CONNECT);
    if (t->request.stream)
        loop_timer_start(t->timer, t->worker->config->early_error_window_ms);
    return 0;
}

int turn_prepare(struct turn *t, struct err *reterr)
{
    if (read_request(t, reterr) == -1) {
        turn_explain_size(t, reterr);
        return -1;
    }
    return t->request.needs_store ? turn_load(t, reterr) : turn_connect(t, reterr);
}

/* ---- truncation: auto */

/* Of the turns that may be dropped, each attempt leaves out so many percent. */
static const unsigned shorten_percent[] = {50, 50, 100};

static bool may_shorten(const struct turn *t, const struct err *e)
{
    return t->x != NULL && e->code == ERR_CONTEXT_LENGTH && t->response.first == NULL &&
           json_text_eq(t->request.truncation, STR("auto")) &&
           t->n_shortened < sizeof(shorten_percent) / sizeof(*shorten_percent);
}

bool turn_retry_shorter(struct turn *t, const struct err *e)
{
    if (!may_shorten(t, e) ||
        !conversation_trim(&t->conversation, shorten_percent[t->n_shortened++]))
        return false;
    turn_cancel_call(t);
    buf_reset(&t->chat_body);
    if (chat_request_write(&t->request, &t->conversation, &t->chat, &t->chat_body, NULL) == -1)
        return false;
    round_fini(&t->round);
    init_round(t);
    buf_reset(&t->error_body);
    t->upstream_status = 0;
    return start_call(t, NULL) == 0;
}
