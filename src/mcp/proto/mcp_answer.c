/* mcp_answer.c -- JSON at the end, events as they come. */
#include "mcp/proto/mcp_answer.h"

#include "base/num.h"

enum mcp_body mcp_body_of(str content_type)
{
    str type = str_trim(str_from(content_type.p, str_find_char(content_type, ';')));

    if (type.len == 0)
        return MCP_BODY_NONE;
    if (str_eq_nocase(type, STR("application/json")))
        return MCP_BODY_JSON;
    return str_eq_nocase(type, STR("text/event-stream")) ? MCP_BODY_EVENTS : MCP_BODY_OTHER;
}

/* ---- messages */

static void deliver_messages(struct mcp_answer *a, str text)
{
    struct jsonrpc_reader r;
    struct jsonrpc_message m;
    enum jsonrpc_kind kind;

    jsonrpc_reader_init(&r, text);
    while (!a->is_stopped && (kind = jsonrpc_next(&r, &m)) != JSONRPC_END) {
        if (kind == JSONRPC_INVALID)
            continue;
        a->has_progress = true;
        a->handler->on_message(a->arg, &m);
    }
    jsonrpc_reader_fini(&r);
}

/* ---- events */

static void on_event(void *arg, str data, str name)
{
    struct mcp_answer *a = arg;

    if (a->is_stopped)
        return;
    if (name.len > 0 && !str_eq(name, STR("message"))) {
        if (a->handler->on_event != NULL)
            a->handler->on_event(a->arg, name, data);
    } else if (data.len > 0) { /* else it only tells its id */
        deliver_messages(a, data);
    }
}

static void on_id(void *arg, str id)
{
    struct mcp_answer *a = arg;

    a->last_id.len = 0;
    buf_append(&a->last_id, id);
    a->has_id = !buf_failed(&a->last_id) && id.len > 0;
    a->has_progress = true;
}

static void on_retry(void *arg, str value)
{
    struct mcp_answer *a = arg;
    uint64_t ms;

    if (!num_uint(value, &ms))
        return;
    a->has_retry = true;
    a->retry_ms = ms < MCP_RETRY_LEAST_MS  ? MCP_RETRY_LEAST_MS
                  : ms > MCP_RETRY_MOST_MS ? MCP_RETRY_MOST_MS
                                           : ms;
}

static const struct sse_handler events = {
    .on_event = on_event, .on_id = on_id, .on_retry = on_retry};

/* ---- bodies */

void mcp_answer_init(struct mcp_answer *a, size_t max_bytes,
                     const struct mcp_answer_handler *handler, void *arg)
{
    *a = (struct mcp_answer){
        .handler = handler, .arg = arg, .max_bytes = max_bytes, .retry_ms = MCP_RETRY_MS};
    buf_init(&a->text, max_bytes);
    sse_parser_init(&a->events, max_bytes);
}

void mcp_answer_fini(struct mcp_answer *a)
{
    buf_fini(&a->text);
    buf_fini(&a->last_id);
    sse_parser_fini(&a->events);
}

void mcp_answer_begin(struct mcp_answer *a, enum mcp_body body)
{
    a->body = body;
    a->has_progress = false;
    buf_reset(&a->text);
    sse_parser_fini(&a->events);
    sse_parser_init(&a->events, a->max_bytes);
}

void mcp_answer_stop(struct mcp_answer *a)
{
    a->is_stopped = true;
    sse_parser_stop(&a->events);
}

int mcp_answer_feed(struct mcp_answer *a, str bytes)
{
    if (a->is_stopped)
        return 0;
    if (a->body == MCP_BODY_EVENTS)
        return sse_parser_feed(&a->events, bytes, &events, a, NULL);
    if (a->body == MCP_BODY_JSON)
        buf_append(&a->text, bytes);
    return buf_failed(&a->text) ? -1 : 0;
}

int mcp_answer_end(struct mcp_answer *a)
{
    if (a->is_stopped)
        return 0;
    if (a->body == MCP_BODY_EVENTS)
        return sse_parser_end(&a->events, &events, a, NULL);
    if (a->body == MCP_BODY_JSON && str_trim(buf_str(&a->text)).len > 0)
        deliver_messages(a, buf_str(&a->text));
    return 0;
}
