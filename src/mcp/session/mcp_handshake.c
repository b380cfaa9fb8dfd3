/* mcp_handshake.c -- agree with a server on an era and a version (MCP 2.2 to 2.7).
 *
 *     auto, HTTP:    server/discover -> initialize -> the same over HTTP+SSE
 *     auto, stdio:   initialize -> server/discover
 *     HTTP+SSE:      initialize
 *
 * Each arrow is a refusal: an answer, though not the one asked for. No answer at all is an
 * outage, which says nothing about the era. What was found to work comes first the next
 * time, and when it is refused then, the other way is tried as if nothing were known. */
#include "base/buf.h"
#include "json/json_text.h"
#include "mcp/session/mcp_session_internal.h"

static bool try_next_way(struct mcp_session *s);

/* ---- verdicts */

static void forget_era(struct mcp_session *s)
{
    s->era = MCP_ERA_UNKNOWN;
    s->home = mcp_handshake_first_transport(s->conf.server);
}

static void fail_handshake(struct mcp_session *s, str text)
{
    forget_era(s);
    mcp_session_leave(
        s, &(struct mcp_end){.cause = MCP_FAILED_UNREACHABLE, .is_hopeless = true, .text = text});
}

static void finish_handshake(struct mcp_session *s, const struct mcp_server_info *info)
{
    s->version = info->version;
    s->has_tools = info->has_tools;
    s->has_tools_changed = info->has_tools && info->has_tools_changed;
    mcp_session_agreed(s);
}

/* The server has refused every way. By HTTP 5xx that may pass, else it stays. */
static void give_up_handshake(struct mcp_session *s, const struct mcp_reply *reply)
{
    struct mcp_end end = {.cause = MCP_FAILED_UNREACHABLE, .http_status = reply->http_status};
    struct buf text = {.limit = 0};

    end.is_hopeless = reply->http_status < 500;
    if (reply->http_status >= 400)
        end.cause = MCP_FAILED_HTTP;
    if (reply->m != NULL && reply->m->kind == JSONRPC_ERROR) {
        buf_c(&text, "The server refused to start a session: ");
        json_text_decode(reply->m->message, &text);
        buf_c(&text, " (");
        buf_int(&text, reply->m->code);
        buf_c(&text, ").");
    } else if (reply->failure != NULL && !s->conf.is_remote) {
        buf_append(&text, reply->failure->message);
    }
    end.text = buf_str(&text);
    forget_era(s);
    mcp_session_leave(s, &end);
    buf_fini(&text);
}

static void leave_for_outage(struct mcp_session *s, const struct mcp_link_failure *why)
{
    mcp_session_leave(s, &(struct mcp_end){.cause = why->cause,
                                           .is_hopeless = why->is_hopeless,
                                           .text = s->conf.is_remote ? STR("") : why->message});
}

/* True when no server has answered at all. */
static bool is_outage(const struct mcp_reply *reply)
{
    return reply->failure != NULL && reply->http_status == 0 && !reply->failure->has_lost_session;
}

/* ---- ways */

static bool may_be_legacy(const struct mcp_session *s)
{
    return s->conf.server->protocol != MCP_PROTOCOL_2026_07_28;
}

static bool may_be_modern(const struct mcp_session *s)
{
    return s->transport != MCP_TRANSPORT_SSE && s->conf.server->protocol != MCP_PROTOCOL_LEGACY;
}

/* A URL may be that of HTTP+SSE, whether it is said to be or not. */
static bool may_change_transport(const struct mcp_session *s, enum mcp_transport to)
{
    const struct mcp_server_conf *server = s->conf.server;

    if (s->has_tried[to])
        return false;
    if (to == MCP_TRANSPORT_HTTP)
        return server->transport == MCP_TRANSPORT_HTTP || server->is_sse_guess;
    return s->transport == MCP_TRANSPORT_HTTP && server->protocol != MCP_PROTOCOL_2026_07_28;
}

/* True after an answer that servers of HTTP+SSE give to a POST (MCP 2.5 (e)). */
static bool may_be_sse(const struct mcp_session *s)
{
    int status = s->handshake.initialize_status;

    return may_change_transport(s, MCP_TRANSPORT_SSE) &&
           (status == 400 || status == 404 || status == 405);
}

enum mcp_transport mcp_handshake_first_transport(const struct mcp_server_conf *server)
{
    if (server->is_sse_guess && server->protocol == MCP_PROTOCOL_2026_07_28)
        return MCP_TRANSPORT_HTTP;
    return server->transport;
}

bool mcp_handshake_link_down(struct mcp_session *s, const struct mcp_link_failure *why)
{
    if (s->transport != MCP_TRANSPORT_SSE || why->http_status == 0 ||
        !may_change_transport(s, MCP_TRANSPORT_HTTP))
        return false;
    mcp_session_change_transport(s, MCP_TRANSPORT_HTTP);
    return true;
}

static void try_after_refusal(struct mcp_session *s, const struct mcp_reply *reply)
{
    if (try_next_way(s))
        return;
    if (may_be_sse(s))
        mcp_session_change_transport(s, MCP_TRANSPORT_SSE);
    else
        give_up_handshake(s, reply);
}

/* ---- server/discover */

static void ask_discover(struct mcp_session *s, enum mcp_version version);

/* Error -32022: the server names what it speaks (MCP 2.5 (b)). Being offered what was just
 * refused is no reason not to try it, but only once. */
static void take_supported(struct mcp_session *s, const struct mcp_reply *reply)
{
    str supported = jr_member(reply->m->error_data, STR("supported"));
    enum mcp_version v = mcp_version_newest(supported);

    if (jr_type_of(supported) != JR_ARRAY) {
        try_after_refusal(s, reply);
    } else if (v == MCP_VERSION_NONE) {
        fail_handshake(s, STR("The server speaks no version of the protocol that we do."));
    } else if (!mcp_version_is_modern(v)) {
        try_after_refusal(s, reply);
    } else if (s->handshake.has_offered_again) {
        give_up_handshake(s, reply);
    } else {
        s->handshake.has_offered_again = true;
        ask_discover(s, v);
    }
}

static void take_discovered(struct mcp_session *s, const struct mcp_reply *reply)
{
    struct mcp_server_info info;

    if (mcp_read_discover(reply->m->result, &info, NULL) == -1)
        try_after_refusal(s, reply);
    else if (mcp_version_is_modern(info.version))
        finish_handshake(s, &info);
    else if (info.version == MCP_VERSION_NONE)
        fail_handshake(s, STR("The server speaks no version of the protocol that we do."));
    else
        try_after_refusal(s, reply);
}

static void on_discovered(void *arg, const struct mcp_reply *reply)
{
    struct mcp_session *s = arg;

    if (is_outage(reply))
        leave_for_outage(s, reply->failure);
    else if (reply->failure != NULL)
        try_after_refusal(s, reply);
    else if (reply->m->kind == JSONRPC_RESULT)
        take_discovered(s, reply);
    else if (mcp_reply_lost_version(reply))
        take_supported(s, reply);
    else if (reply->m->code == MCP_HEADER_MISMATCH || reply->m->code == MCP_CAPABILITY_MISSING)
        give_up_handshake(s, reply); /* a modern server that is not content with us */
    else
        try_after_refusal(s, reply);
}

static void send_handshake(struct mcp_session *s, struct mcp_request *r)
{
    struct err e;

    s->handshake.pending.arg = s;
    if (!mcp_session_ask(s, &s->handshake.pending, r, NULL, &e))
        mcp_session_leave(
            s, &(struct mcp_end){.cause = MCP_FAILED_UNREACHABLE, .text = str_from_c(e.msg)});
}

static void ask_discover(struct mcp_session *s, enum mcp_version version)
{
    s->handshake.has_discovered = true;
    s->handshake.pending.on_answer = on_discovered;
    send_handshake(s, &(struct mcp_request){.method = MCP_DISCOVER, .version = version});
}

/* ---- initialize */

static bool is_modern_error(const struct mcp_reply *reply)
{
    return reply->m != NULL && reply->m->kind == JSONRPC_ERROR &&
           (reply->m->code == MCP_HEADER_MISMATCH || reply->m->code == MCP_CAPABILITY_MISSING ||
            reply->m->code == MCP_VERSION_UNSUPPORTED);
}

/* An answer with another version is the end: the server was free to name any. */
static void take_initialized(struct mcp_session *s, const struct mcp_reply *reply)
{
    struct mcp_server_info info;
    struct err e;

    if (mcp_read_initialize(reply->m->result, &info, &e) == 0)
        finish_handshake(s, &info);
    else
        fail_handshake(s, str_from_c(e.msg));
}

static void on_initialized(void *arg, const struct mcp_reply *reply)
{
    struct mcp_session *s = arg;

    if (!is_modern_error(reply))
        s->handshake.initialize_status = reply->http_status;
    if (is_outage(reply))
        leave_for_outage(s, reply->failure);
    else if (reply->m != NULL && reply->m->kind == JSONRPC_RESULT)
        take_initialized(s, reply);
    else
        try_after_refusal(s, reply);
}

/* The request has no version: what is offered is in the message, and no header may say it. */
static void ask_initialize(struct mcp_session *s)
{
    s->handshake.has_initialized = true;
    s->handshake.pending.on_answer = on_initialized;
    send_handshake(s, &(struct mcp_request){.method = MCP_INITIALIZE});
}

/* ---- the order */

/* Some legacy servers exit on anything before initialize, but only processes can. */
static bool is_modern_first(const struct mcp_session *s)
{
    if (s->era != MCP_ERA_UNKNOWN)
        return s->era == MCP_ERA_MODERN;
    return s->transport == MCP_TRANSPORT_HTTP;
}

/* Tries the next way; false when all that may be tried over this transport has been. */
static bool try_next_way(struct mcp_session *s)
{
    const struct mcp_handshake *h = &s->handshake;
    bool can_discover = may_be_modern(s) && !h->has_discovered;
    bool can_initialize = may_be_legacy(s) && !h->has_initialized;

    if (can_discover && (is_modern_first(s) || !can_initialize))
        ask_discover(s, MCP_2026_07_28);
    else if (can_initialize)
        ask_initialize(s);
    return can_discover || can_initialize;
}

void mcp_handshake_begin(struct mcp_session *s)
{
    s->handshake = (struct mcp_handshake){.initialize_status = 0};
    if (!try_next_way(s))
        fail_handshake(s, STR("The server has no transport for the configured protocol."));
}

/* ---- once more */

void mcp_handshake_again(struct mcp_session *s, uint64_t epoch, bool forgets_era)
{
    if (epoch != s->epoch || !s->is_connected)
        return;
    s->is_connected = false;
    s->version = MCP_VERSION_NONE;
    if (forgets_era)
        s->era = MCP_ERA_UNKNOWN;
    mcp_list_abandon(s);
    mcp_subscription_end(s);
    mcp_link_reset_session(s->link);
    mcp_session_start_clock(s);
    mcp_handshake_begin(s);
}

bool mcp_reply_lost_version(const struct mcp_reply *reply)
{
    return reply->m != NULL && reply->m->kind == JSONRPC_ERROR &&
           reply->m->code == MCP_VERSION_UNSUPPORTED;
}
