/* test_mcp_message.c -- what MCP servers say, recorded and made up. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "mcp/proto/mcp_message.h"

/* ---- recordings */

struct recording {
    struct buf file;
    str rest;
};

/* The next message of the server in the recording; STR_NONE at its end. */
static str next_message(struct recording *r)
{
    while (r->rest.len > 0) {
        str line = str_from(r->rest.p, str_find_char(r->rest, '\n'));
        str message = jr_member(line, STR("msg"));

        r->rest = str_skip(r->rest, line.len + 1);
        if (!str_is_none(message) && str_eq(jr_member_string(line, STR("dir")), STR("s2c")))
            return message;
    }
    return STR_NONE;
}

static struct recording recording(const char *name)
{
    struct recording r = {.file = fixture_read(name)};

    r.rest = buf_str(&r.file);
    return r;
}

/* The result of the server's answer to request id. */
static str result_of(struct recording *r, int64_t id)
{
    str message;

    while (!str_is_none(message = next_message(r))) {
        struct jsonrpc_reader reader;
        struct jsonrpc_message m;

        jsonrpc_reader_init(&reader, message);
        (void)jsonrpc_next(&reader, &m);
        jsonrpc_reader_fini(&reader); /* nothing of a recording is repaired */
        if (m.kind == JSONRPC_RESULT && jsonrpc_id_is(&m.id, id))
            return m.result;
    }
    return STR_NONE;
}

static void a_handshake_tells_what_the_server_can(void **state)
{
    struct recording r = recording("mcp/stdio-everything.jsonl");
    struct mcp_server_info s;

    (void)state;
    assert_int_equal(mcp_read_initialize(result_of(&r, 0), &s, NULL), 0);
    assert_int_equal(s.version, MCP_2025_11_25);
    assert_true(s.has_tools && s.has_tools_changed);
    buf_fini(&r.file);
}

/* The recorded client offered seven versions; the server's answer to each. */
static void a_version_we_do_not_speak_is_refused_by_name(void **state)
{
    static const enum mcp_version expected[] = {MCP_2025_11_25,
                                                MCP_2025_06_18,
                                                MCP_2025_03_26,
                                                MCP_2024_11_05,
                                                MCP_VERSION_NONE /* 2024-10-07 */,
                                                MCP_2025_11_25,
                                                MCP_2025_11_25};
    struct recording r = recording("mcp/stdio-version-negotiation.jsonl");

    (void)state;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        struct mcp_server_info s = {.version = MCP_VERSION_NONE};
        struct err e;
        int rc = mcp_read_initialize(result_of(&r, 0), &s, &e);

        assert_int_equal(rc, expected[i] == MCP_VERSION_NONE ? -1 : 0);
        assert_int_equal(s.version, expected[i]);
        if (rc == -1)
            assert_string_equal(e.msg, "The server answered protocol version 2025-11-25 with "
                                       "2024-10-07, which we do not speak.");
    }
    buf_fini(&r.file);
}

static void a_modern_server_is_discovered(void **state)
{
    struct recording r = recording("mcp/modern-stdio.jsonl");
    str message = next_message(&r); /* its id is a text */
    struct mcp_server_info s;

    (void)state;
    assert_int_equal(mcp_read_discover(jr_member(message, STR("result")), &s, NULL), 0);
    assert_int_equal(s.version, MCP_2026_07_28);
    assert_true(s.has_tools_changed);
    buf_fini(&r.file);
}

static void tools_have_what_their_server_gave_them(void **state)
{
    struct recording r = recording("mcp/stdio-everything.jsonl");
    struct arena a = {0};
    struct mcp_tool_page page;

    (void)state;
    assert_int_equal(mcp_read_tools(result_of(&r, 2), &a, &page, NULL), 0);
    assert_true(page.n > 10);
    assert_true(str_is_none(page.next_cursor));
    assert_int_equal(page.n_nameless, 0);
    assert_str_c(page.tools[0].name, "echo");
    assert_str_c(page.tools[0].title, "Echo Tool");
    assert_str_c(page.tools[0].description, "Echoes back the input string");
    assert_true(page.tools[0].is_read_only);
    assert_false(page.tools[0].needs_task);
    assert_true(str_starts_with(page.tools[0].schema, STR("{\"$schema\": \"http://json-schema")));
    assert_true(str_starts_with(page.tools[0].annotations, STR("{\"readOnlyHint\": true")));
    arena_fini(&a);
    buf_fini(&r.file);
}

static void a_tool_that_needs_a_task_is_marked(void **state)
{
    struct recording r = recording("mcp/stdio-everything-server-requests.jsonl");
    struct arena a = {0};
    struct mcp_tool_page page;
    size_t n_marked = 0;

    (void)state;
    assert_int_equal(mcp_read_tools(result_of(&r, 1), &a, &page, NULL), 0);
    for (size_t i = 0; i < page.n; i++) {
        bool is_it = str_eq(page.tools[i].name, STR("simulate-research-query"));

        assert_int_equal(page.tools[i].needs_task, is_it);
        n_marked += is_it;
    }
    assert_int_equal(n_marked, 1);
    arena_fini(&a);
    buf_fini(&r.file);
}

static void only_a_missing_or_null_cursor_ends_the_list(void **state)
{
    static const struct {
        const char *result, *cursor; /* NULL: none */
        int rc;
    } cases[] = {
        {"{\"tools\":[]}", NULL, 0},
        {"{\"tools\":[],\"nextCursor\":null}", NULL, 0},
        {"{\"tools\":[],\"nextCursor\":\"\"}", "", 0},
        {"{\"tools\":[],\"nextCursor\":\"NA==\"}", "NA==", 0},
        {"{\"tools\":[],\"nextCursor\":5}", NULL, -1},
        {"{\"tools\":{}}", NULL, -1},
        {"{}", NULL, -1},
        {"[]", NULL, -1},
        {"null", NULL, -1},
        {"{\"tools\":[],\"resultType\":\"complete\"}", NULL, 0},
        {"{\"tools\":[],\"resultType\":\"input_required\"}", NULL, -1},
        {"{\"tools\":[],\"resultType\":7}", NULL, -1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct mcp_tool_page page;
        struct err e;

        assert_int_equal(mcp_read_tools(str_from_c(cases[i].result), &a, &page, &e), cases[i].rc);
        if (cases[i].rc == 0 && cases[i].cursor == NULL)
            assert_true(str_is_none(page.next_cursor));
        else if (cases[i].rc == 0)
            assert_str_c(page.next_cursor, cases[i].cursor);
        arena_fini(&a);
    }
}

static void a_tool_without_a_name_is_left_out(void **state)
{
    struct arena a = {0};
    struct mcp_tool_page page;

    (void)state;
    assert_int_equal(
        mcp_read_tools(STR("{\"ttlMs\":60000,\"cacheScope\":\"public\",\"tools\":[{\"name\":\"\"},"
                           "{\"name\":7},{},null,{\"name\":\"a\"}]}"),
                       &a, &page, NULL),
        0);
    assert_int_equal(page.n, 1);
    assert_int_equal(page.n_nameless, 4);
    assert_str_c(page.tools[0].name, "a");
    assert_true(str_is_none(page.tools[0].schema) && str_is_none(page.tools[0].description));
    assert_int_equal(page.cache.ttl_ms, 60000);
    assert_true(page.cache.is_public);
    arena_fini(&a);
}

static void results_of_calls_are_what_the_server_said(void **state)
{
    struct recording r = recording("mcp/stdio-everything.jsonl");
    struct mcp_call_result c;

    (void)state;
    assert_int_equal(mcp_read_call(result_of(&r, 3), &c, NULL), 0);
    assert_false(c.is_error);
    assert_str_c(c.content, "[{\"type\": \"text\", \"text\": \"Echo: hello\"}]");
    assert_true(str_is_none(c.structured));
    assert_int_equal(mcp_read_call(result_of(&r, 4), &c, NULL), 0);
    assert_true(c.is_error);
    assert_int_equal(mcp_read_call(result_of(&r, 6), &c, NULL), 0);
    assert_str_c(c.structured,
                 "{\"temperature\": 33, \"conditions\": \"Cloudy\", \"humidity\": 82}");
    buf_fini(&r.file);
}

static void a_server_may_ask_for_input(void **state)
{
    struct recording r = recording("mcp/modern-stdio.jsonl");
    struct mcp_call_result c;

    (void)state;
    assert_int_equal(mcp_read_call(result_of(&r, 6), &c, NULL), 0);
    assert_true(c.needs_input);
    assert_str_c(c.request_state, "\"opaque-123\"");
    assert_true(str_starts_with(c.input_requests, STR("{\"who\": {\"method\": \"elicitation")));
    buf_fini(&r.file);
}

static void a_result_that_says_nothing_is_refused(void **state)
{
    static const struct {
        const char *result;
        int rc;
    } cases[] = {
        {"{\"content\":[]}", 0},
        {"{\"structuredContent\":[1]}", 0},
        {"{\"structuredContent\":0}", 0},
        {"{\"structuredContent\":null}", -1},
        {"{\"content\":null}", -1},
        {"{\"content\":\"text\"}", -1},
        {"{\"isError\":true}", -1},
        {"{}", -1},
        {"[]", -1},
        {"null", -1},
        {"{\"content\":[],\"resultType\":\"task\"}", -1},
        {"{\"resultType\":\"input_required\"}", 0},
        {"{\"resultType\":\"input_required\",\"requestState\":{}}", -1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct mcp_call_result c;
        struct err e;

        if (mcp_read_call(str_from_c(cases[i].result), &c, &e) != cases[i].rc)
            fail_msg("%s", cases[i].result);
    }
}

/* ---- notifications */

static struct mcp_notice notice(const char *method, const char *params)
{
    const struct jsonrpc_message m = {
        .kind = JSONRPC_NOTIFICATION, .method = str_from_c(method), .params = str_from_c(params)};

    return mcp_read_notification(&m);
}

static void notifications_are_told_apart(void **state)
{
    struct mcp_notice n = notice("notifications/progress", "{\"progressToken\":12,\"progress\":1}");

    (void)state;
    assert_int_equal(n.kind, MCP_NOTICE_PROGRESS);
    assert_true(jsonrpc_id_is(&n.id, 12));
    assert_int_equal(n.subscription.kind, JSONRPC_ID_ABSENT);
    n = notice("notifications\\/tools\\/list_changed",
               "{\"_meta\":{\"io.modelcontextprotocol\\/subscriptionId\":7}}");
    assert_int_equal(n.kind, MCP_NOTICE_TOOLS_CHANGED);
    assert_true(jsonrpc_id_is(&n.subscription, 7));
    n = notice("notifications/tools/list_changed", NULL);
    assert_int_equal(n.kind, MCP_NOTICE_TOOLS_CHANGED);
    n = notice("notifications/cancelled", "{\"requestId\":\"x\"}");
    assert_int_equal(n.kind, MCP_NOTICE_CANCELLED);
    assert_int_equal(n.id.kind, JSONRPC_ID_STRING);
    n = notice("notifications/message", "{\"level\":\"info\",\"data\":{\"a\":1}}");
    assert_int_equal(n.kind, MCP_NOTICE_LOG);
    assert_str_c(n.level, "info");
    assert_str_c(n.text, "{\"a\":1}");
    assert_int_equal(notice("notifications/subscriptions/acknowledged", "{}").kind,
                     MCP_NOTICE_ACKNOWLEDGED);
    assert_int_equal(notice("notifications/resources/list_changed", "[]").kind, MCP_NOTICE_OTHER);
}

static void a_forgotten_session_is_told_from_other_refusals(void **state)
{
    static const struct {
        int status;
        bool had_session, is_lost;
        const char *message;
    } cases[] = {
        {404, true, true, "Session not found"},
        {404, true, true, NULL},
        {404, false, false, NULL},
        {400, true, true, "Bad Request: No valid session ID provided"},
        {400, true, true, "Bad Request: Server not initialized"},
        {400, true, false, "Bad Request: Unsupported protocol version: 1999-01-01"},
        {400, true, false, NULL},
        {500, true, false, "session"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(mcp_is_lost_session(cases[i].status, cases[i].had_session,
                                             str_from_c(cases[i].message)),
                         cases[i].is_lost);
}

static void the_newest_common_version_is_chosen(void **state)
{
    (void)state;
    assert_int_equal(mcp_version_newest(STR("[\"2024-11-05\",\"2025-11-25\",\"2099-01-01\"]")),
                     MCP_2025_11_25);
    assert_int_equal(mcp_version_newest(STR("[\"1999-01-01\",7,null]")), MCP_VERSION_NONE);
    assert_int_equal(mcp_version_newest(STR("\"2026-07-28\"")), MCP_VERSION_NONE);
    assert_int_equal(mcp_version_newest(STR_NONE), MCP_VERSION_NONE);
    for (int v = MCP_2024_11_05; v < MCP_VERSION_COUNT; v++)
        assert_int_equal(mcp_version_find(mcp_version_name((enum mcp_version)v)), v);
    assert_int_equal(mcp_version_find(STR("")), MCP_VERSION_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handshake_tells_what_the_server_can),
        cmocka_unit_test(a_version_we_do_not_speak_is_refused_by_name),
        cmocka_unit_test(a_modern_server_is_discovered),
        cmocka_unit_test(tools_have_what_their_server_gave_them),
        cmocka_unit_test(a_tool_that_needs_a_task_is_marked),
        cmocka_unit_test(only_a_missing_or_null_cursor_ends_the_list),
        cmocka_unit_test(a_tool_without_a_name_is_left_out),
        cmocka_unit_test(results_of_calls_are_what_the_server_said),
        cmocka_unit_test(a_server_may_ask_for_input),
        cmocka_unit_test(a_result_that_says_nothing_is_refused),
        cmocka_unit_test(notifications_are_told_apart),
        cmocka_unit_test(a_forgotten_session_is_told_from_other_refusals),
        cmocka_unit_test(the_newest_common_version_is_chosen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
