/* mcp_request.c -- a table of methods, and a writer for the params of each.
 *
 * Modern servers keep no session, so every request repeats in _meta who asks
 * and in which revision. Legacy requests carry _meta for a progress token and the context of a trace
 * (OPERATIONS 2.2). */
#include "mcp/proto/mcp_request.h"

#include <assert.h>

#include "base/version.h"
#include "json/json_copy.h"
#include "json/json_text.h"

enum { LEGACY = 1, MODERN = 2 }; /* the eras a method exists in */

static void write_client_info(struct jw *w, const char *key)
{
    jw_key(w, key);
    jw_object(w);
    jw_key_string(w, "name", STR("antiphon"));
    jw_key_string(w, "version", STR(ANTIPHON_VERSION));
    jw_object_end(w);
}

/* We have no roots, no sampling, nobody to ask: nothing is declared (MCP 3.1). */
static void initialize_params(struct jw *w, const struct mcp_request *r)
{
    (void)r;
    jw_key_string(w, "protocolVersion", mcp_version_name(MCP_NEWEST_LEGACY));
    jw_key_raw(w, "capabilities", STR("{}"));
    write_client_info(w, "clientInfo");
}

static void list_params(struct jw *w, const struct mcp_request *r)
{
    if (!str_is_none(r->cursor))
        jw_key_escaped(w, "cursor", r->cursor);
}

static void call_params(struct jw *w, const struct mcp_request *r)
{
    jw_key_escaped(w, "name", r->tool);
    json_copy_key_value(w, "arguments", str_is_none(r->arguments) ? STR("{}") : r->arguments);
    if (!str_is_none(r->input_responses))
        json_copy_key_value(w, "inputResponses", r->input_responses);
    if (!str_is_none(r->request_state))
        jw_key_raw(w, "requestState", r->request_state);
}

static void listen_params(struct jw *w, const struct mcp_request *r)
{
    (void)r;
    jw_key_raw(w, "notifications", STR("{\"toolsListChanged\":true}"));
}

static void cancelled_params(struct jw *w, const struct mcp_request *r)
{
    jw_key_int(w, "requestId", r->cancelled_id);
    if (r->reason != NULL)
        jw_key_string(w, "reason", str_from_c(r->reason));
}

static const struct method {
    const char *name;
    unsigned eras;
    bool is_notification;
    void (*params)(struct jw *w, const struct mcp_request *r); /* NULL: none of its own */
} methods[MCP_METHOD_COUNT] = {
    [MCP_INITIALIZE] = {"initialize", LEGACY, false, initialize_params},
    [MCP_INITIALIZED] = {"notifications/initialized", LEGACY, true, NULL},
    [MCP_PING] = {"ping", LEGACY, false, NULL},
    [MCP_DISCOVER] = {"server/discover", MODERN, false, NULL},
    [MCP_LIST_TOOLS] = {"tools/list", LEGACY | MODERN, false, list_params},
    [MCP_CALL_TOOL] = {"tools/call", LEGACY | MODERN, false, call_params},
    [MCP_LISTEN] = {"subscriptions/listen", MODERN, false, listen_params},
    [MCP_CANCELLED] = {"notifications/cancelled", LEGACY | MODERN, true, cancelled_params},
};

const char *mcp_method_name(enum mcp_method method)
{
    return methods[method].name;
}

static void write_meta(struct jw *w, const struct mcp_request *r, bool is_modern)
{
    if (!is_modern && r->progress_token == 0 && str_is_none(r->traceparent))
        return;
    jw_key(w, "_meta");
    jw_object(w);
    if (is_modern) {
        jw_key_string(w, MCP_META "protocolVersion", mcp_version_name(r->version));
        write_client_info(w, MCP_META "clientInfo");
        jw_key_raw(w, MCP_META "clientCapabilities", STR("{}"));
    }
    if (r->progress_token != 0)
        jw_key_int(w, "progressToken", r->progress_token);
    if (!str_is_none(r->traceparent))
        jw_key_string(w, "traceparent", r->traceparent);
    if (!str_is_none(r->tracestate))
        jw_key_string(w, "tracestate", r->tracestate);
    jw_object_end(w);
}

void mcp_request_write(const struct mcp_request *r, struct buf *out)
{
    const struct method *m = &methods[r->method];
    bool is_modern = mcp_version_is_modern(r->version);
    struct jw w;

    assert((m->eras & (is_modern ? MODERN : LEGACY)) != 0);
    w = m->is_notification ? jsonrpc_begin_notification(out, m->name)
                           : jsonrpc_begin_request(out, r->id, m->name);
    if (m->params != NULL || is_modern) {
        jw_key(&w, "params");
        jw_object(&w);
        if (m->params != NULL)
            m->params(&w, r);
        if (!m->is_notification)
            write_meta(&w, r, is_modern);
        jw_object_end(&w);
    }
    jsonrpc_end(&w);
}

void mcp_request_answer(const struct jsonrpc_message *m, struct buf *out)
{
    if (jsonrpc_is(m, STR("ping")))
        jsonrpc_write_result(out, &m->id, STR("{}"));
    else
        jsonrpc_write_error(out, &m->id, JSONRPC_METHOD_NOT_FOUND, "Method not found");
}

int mcp_arguments(str text, str *ret, struct err *reterr)
{
    struct jr j;

    text = str_trim(text);
    if (text.len == 0) {
        *ret = STR("{}");
        return 0;
    }
    jr_init(&j, text);
    jr_skip(&j);
    if (!jr_end(&j)) {
        err_set(reterr, ERR_UPSTREAM_ERROR, "not valid JSON: %s at byte %zu.", j.error,
                jr_offset(&j));
        return -1;
    }
    if (jr_type_of(text) != JR_OBJECT) {
        err_set(reterr, ERR_UPSTREAM_ERROR, "must be a JSON object, not %s.",
                jr_type_name(jr_type_of(text)));
        return -1;
    }
    *ret = text;
    return 0;
}

int mcp_decline_inputs(str input_requests, struct buf *out, struct err *reterr)
{
    struct jw w = jw_to(out);
    struct jr j;
    str key;

    if (str_is_none(input_requests))
        return 0;
    jr_init(&j, input_requests);
    jw_object(&w);
    if (!jr_enter(&j, JR_OBJECT)) {
        err_set(reterr, ERR_UPSTREAM_ERROR, "The server sent malformed input requests.");
        return -1;
    }
    while (jr_next_member(&j, &key)) {
        str raw_key = j.raw_key;
        str method = jr_member_string(jr_raw(&j), STR("method"));

        if (!json_text_eq(method, STR("elicitation/create"))) {
            err_set(reterr, ERR_UPSTREAM_ERROR, "The tool needs input that we cannot give: %.*s.",
                    STR_ARG(str_is_none(method) ? STR("unknown") : method));
            return -1;
        }
        json_copy_key(&w, raw_key);
        jw_raw(&w, STR("{\"action\":\"decline\"}"));
    }
    jw_object_end(&w);
    return 0;
}
