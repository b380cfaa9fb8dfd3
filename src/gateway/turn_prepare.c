/* turn_prepare.c -- the beginning of a turn: the client's request is read, the
 * upstream's is written and sent. */
#include "gateway/turn_internal.h"
#include "gateway/upstream_options.h"
#include "wire/chat_request.h"
#include "wire/response_echo.h"

static enum reasoning_mode reasoning_mode(const struct config *c, const struct responses_request *r)
{
    if (c->reasoning == CONFIG_REASONING_NONE)
        return REASONING_NONE;
    if (c->reasoning == CONFIG_REASONING_SUMMARY)
        return REASONING_SUMMARY;
    return c->summary_when_requested && r->reasoning_summary_requested ? REASONING_SUMMARY
                                                                       : REASONING_TEXT;
}

static void init_round(struct turn *t)
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
    const struct chat_stream_conf stream = upstream_stream_conf(c, &t->request);

    response_init(&t->response, &response);
    round_init(&t->round, &stream, &t->response);
    t->has_round = true;
}

/* The gateway's own key, else what the client sent. */
static str authorization(struct turn *t, const struct http_request *r)
{
    if (!str_is_none(t->worker->authorization))
        return t->worker->authorization;
    t->is_clients_key = !str_is_none(http_request_header(r, STR("authorization")));
    return http_request_header(r, STR("authorization"));
}

static int start_call(struct turn *t, const struct http_request *r, struct err *reterr)
{
    const struct http_header headers[] = {
        {STR("content-type"), STR("application/json")},
        {STR("accept"), STR("text/event-stream")},
        {STR("x-request-id"), t->request_id},
        {STR("authorization"), authorization(t, r)},
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

static int check_media_type(const struct http_request *r, struct err *reterr)
{
    str type = http_request_header(r, STR("content-type"));
    str essence = str_trim(str_from(type.p, str_find_char(type, ';')));

    if (!str_is_none(http_request_header(r, STR("content-encoding")))) {
        err_set(reterr, ERR_UNSUPPORTED_MEDIA_TYPE,
                "Content-Encoding is not supported. Send the body uncompressed.");
        return -1;
    }
    if (str_is_none(type) || str_eq_nocase(essence, STR("application/json")))
        return 0;
    err_set(reterr, ERR_UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json.");
    return -1;
}

/* Reads the request and writes the upstream's. */
static int convert(struct turn *t, str body, struct err *reterr)
{
    const struct config *c = t->worker->config;
    const struct responses_request_options options = upstream_request_options(c);
    struct chat_request_options chat;

    if (responses_request_parse(body, &options, &t->worker->ids, &t->arena, &t->request, reterr) ==
        -1)
        return -1;
    chat = upstream_chat_options(c, &t->request, &t->arena);
    return chat_request_build(&t->request, &chat, &t->worker->ids, &t->arena, &t->chat_body,
                              reterr);
}

int turn_prepare(struct turn *t, const struct http_request *r, struct err *reterr)
{
    const struct config *c = t->worker->config;

    if (check_media_type(r, reterr) == -1 || convert(t, r->body, reterr) == -1) {
        if (t->arena.is_full || t->chat_body.is_full)
            err_set(reterr, ERR_REQUEST_TOO_LARGE,
                    "The request needs more than %zu bytes of memory (max_request_memory).",
                    c->max_request_memory_bytes);
        return -1;
    }
    responses_request_echo(&t->request, &t->echo);
    if (buf_failed(&t->echo)) {
        err_set_no_memory(reterr);
        return -1;
    }
    init_round(t);
    return start_call(t, r, reterr);
}
