/* mcp_message.c -- results and notifications, member by member. */
#include "mcp/proto/mcp_message.h"

#include "json/json_text.h"

static int refuse_result(struct err *reterr, const char *what)
{
    err_set(reterr, ERR_UPSTREAM_ERROR, "The server sent %s.", what);
    return -1;
}

/* ---- members */

static str object_member(str raw, str name)
{
    str value = jr_member(raw, name);

    return jr_type_of(value) == JR_OBJECT ? value : STR_NONE;
}

static bool is_true(str raw, str name)
{
    return jr_type_of(jr_member(raw, name)) == JR_TRUE;
}

static struct mcp_cache read_cache(str result)
{
    struct jr j;
    int64_t ttl_ms;

    jr_init(&j, jr_member(result, STR("ttlMs")));
    ttl_ms = jr_int(&j, -1);
    return (struct mcp_cache){
        .ttl_ms = ttl_ms < 0 ? -1 : ttl_ms,
        .is_public = json_text_eq(jr_member_string(result, STR("cacheScope")), STR("public")),
    };
}

/* A result without resultType is complete: servers before 2026-07-28 write none. */
static int require_complete(str result, struct err *reterr)
{
    str type = jr_member(result, STR("resultType"));

    if (jr_type_of(result) != JR_OBJECT)
        return refuse_result(reterr, "a result that is not an object");
    if (str_is_none(type) ||
        json_text_eq(jr_member_string(result, STR("resultType")), STR("complete")))
        return 0;
    return refuse_result(reterr, "a result of a type that is unknown here");
}

/* ---- initialize, server/discover */

static void read_capabilities(str result, struct mcp_server_info *s)
{
    str tools = object_member(jr_member(result, STR("capabilities")), STR("tools"));

    s->has_tools = !str_is_none(tools);
    s->has_tools_changed = is_true(tools, STR("listChanged"));
}

int mcp_read_initialize(str result, struct mcp_server_info *ret, struct err *reterr)
{
    str offered = jr_member_string(result, STR("protocolVersion"));
    struct mcp_server_info s = {.version = mcp_version_find(offered)};

    if (require_complete(result, reterr) == -1)
        return -1;
    if (str_is_none(offered))
        return refuse_result(reterr, "a result of initialize without a protocolVersion");
    /* A handshake cannot lead to a revision that has none. */
    if (s.version == MCP_VERSION_NONE || mcp_version_is_modern(s.version)) {
        err_set(reterr, ERR_UPSTREAM_ERROR,
                "The server answered protocol version %.*s with %.*s, which we do not speak.",
                STR_ARG(mcp_version_name(MCP_NEWEST_LEGACY)), STR_ARG(offered));
        return -1;
    }
    read_capabilities(result, &s);
    *ret = s;
    return 0;
}

int mcp_read_discover(str result, struct mcp_server_info *ret, struct err *reterr)
{
    str versions = jr_member(result, STR("supportedVersions"));
    struct mcp_server_info s = {.version = mcp_version_newest(versions)};

    if (require_complete(result, reterr) == -1)
        return -1;
    if (jr_type_of(versions) != JR_ARRAY)
        return refuse_result(reterr, "a result of server/discover without supportedVersions");
    read_capabilities(result, &s);
    *ret = s;
    return 0;
}

/* ---- tools/list */

static struct mcp_tool read_tool(str raw)
{
    struct mcp_tool t = {
        .name = jr_member_string(raw, STR("name")),
        .title = jr_member_string(raw, STR("title")),
        .description = jr_member_string(raw, STR("description")),
        .schema = jr_member(raw, STR("inputSchema")),
        .annotations = object_member(raw, STR("annotations")),
    };
    str execution = jr_member(raw, STR("execution"));

    t.needs_task = json_text_eq(jr_member_string(execution, STR("taskSupport")), STR("required"));
    t.is_read_only = is_true(t.annotations, STR("readOnlyHint"));
    return t;
}

static void read_tool_array(str array, struct mcp_tool_page *page)
{
    struct jr j;

    jr_init(&j, array);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        struct mcp_tool t = read_tool(jr_raw(&j));

        if (t.name.len > 0)
            page->tools[page->n++] = t;
        else
            page->n_nameless++;
    }
}

/* Only a missing or null cursor ends the list; an empty one is a cursor. */
static int read_cursor(str result, str *ret, struct err *reterr)
{
    enum jr_type type = jr_type_of(jr_member(result, STR("nextCursor")));

    if (type != JR_NONE && type != JR_NULL && type != JR_STRING)
        return refuse_result(reterr, "a nextCursor that is not a string");
    *ret = jr_member_string(result, STR("nextCursor"));
    return 0;
}

int mcp_read_tools(str result, struct arena *a, struct mcp_tool_page *ret, struct err *reterr)
{
    struct mcp_tool_page page = {.cache = read_cache(result)};
    str array = jr_member(result, STR("tools"));

    if (require_complete(result, reterr) == -1 ||
        read_cursor(result, &page.next_cursor, reterr) == -1)
        return -1;
    if (jr_type_of(array) != JR_ARRAY)
        return refuse_result(reterr, "a result of tools/list without an array of tools");
    page.tools = arena_array(a, jr_count(array) + 1, sizeof(*page.tools));
    if (page.tools == NULL)
        return err_set_no_memory(reterr);
    read_tool_array(array, &page);
    *ret = page;
    return 0;
}

/* ---- tools/call */

static int read_input_required(str result, struct mcp_call_result *ret, struct err *reterr)
{
    str requests = jr_member(result, STR("inputRequests"));
    str state = jr_member(result, STR("requestState"));
    enum jr_type type = jr_type_of(state);

    if (type != JR_NONE && type != JR_NULL && type != JR_STRING)
        return refuse_result(reterr, "a requestState that is not a string");
    ret->needs_input = true;
    ret->input_requests = jr_type_of(requests) == JR_NULL ? STR_NONE : requests;
    ret->request_state = type == JR_STRING ? state : STR_NONE;
    return 0;
}

int mcp_read_call(str result, struct mcp_call_result *ret, struct err *reterr)
{
    struct mcp_call_result r = {.needs_input = false};
    str content = jr_member(result, STR("content"));

    if (json_text_eq(jr_member_string(result, STR("resultType")), STR("input_required"))) {
        if (read_input_required(result, &r, reterr) == -1)
            return -1;
        *ret = r;
        return 0;
    }
    if (require_complete(result, reterr) == -1)
        return -1;
    r.is_error = is_true(result, STR("isError"));
    r.content = jr_type_of(content) == JR_ARRAY ? content : STR_NONE;
    r.structured = jr_member(result, STR("structuredContent"));
    if (jr_type_of(r.structured) == JR_NULL) /* how some write "none" */
        r.structured = STR_NONE;
    if (str_is_none(r.content) && str_is_none(r.structured))
        return refuse_result(reterr, "a result of tools/call without content");
    *ret = r;
    return 0;
}

/* ---- notifications */

static const struct {
    str method;
    enum mcp_notice_kind kind;
    str id; /* the member of params that becomes the notice's id */
} notices[] = {
    {STR_INIT("notifications/progress"), MCP_NOTICE_PROGRESS, STR_INIT("progressToken")},
    {STR_INIT("notifications/cancelled"), MCP_NOTICE_CANCELLED, STR_INIT("requestId")},
    {STR_INIT("notifications/tools/list_changed"), MCP_NOTICE_TOOLS_CHANGED, STR_INIT("")},
    {STR_INIT("notifications/subscriptions/acknowledged"), MCP_NOTICE_ACKNOWLEDGED, STR_INIT("")},
    {STR_INIT("notifications/message"), MCP_NOTICE_LOG, STR_INIT("")},
};

struct mcp_notice mcp_read_notification(const struct jsonrpc_message *m)
{
    struct mcp_notice n = {.kind = MCP_NOTICE_OTHER};
    str meta = jr_member(m->params, STR("_meta"));

    n.subscription = jsonrpc_id_of(jr_member(meta, STR(MCP_META "subscriptionId")));
    for (size_t i = 0; i < COUNT_OF(notices); i++) {
        if (!jsonrpc_is(m, notices[i].method))
            continue;
        n.kind = notices[i].kind;
        if (notices[i].id.len > 0)
            n.id = jsonrpc_id_of(jr_member(m->params, notices[i].id));
    }
    if (n.kind == MCP_NOTICE_LOG) {
        n.level = jr_member_string(m->params, STR("level"));
        n.text = jr_member(m->params, STR("data"));
    }
    return n;
}

bool mcp_is_lost_session(int http_status, bool had_session, str message)
{
    if (http_status == 404)
        return had_session;
    return http_status == 400 && (str_has_nocase(message, STR("session")) ||
                                  str_has_nocase(message, STR("not initialized")));
}
