/* test_mcp_session_fault.c -- a session, with each allocation failing in turn.
 *
 * Whatever is missing, every call ends once, and the session can be stopped and freed. */
#include "lib/failing_malloc.h"
#include "mcp_session_fixture.h"

static struct called *try_call(const char *tool)
{
    struct called *c = &fx.called[fx.n_called];

    c->call = mcp_session_call(fx.session,
                               &(struct mcp_session_call_conf){.tool = str_from_c(tool),
                                                               .arguments = STR("{\"a\":1}"),
                                                               .idle_timeout_ms = 2000,
                                                               .total_timeout_ms = 8000},
                               &call_handler, c, NULL);
    if (c->call == NULL)
        return NULL;
    fx.n_called++;
    return c;
}

/* Two servers' worth of trouble: pages, input, wrong headers, an error, a crash. */
static void live(enum mcp_transport transport)
{
    fx.server.transport = transport;
    say_next(MCP_LIST_TOOLS,
             RESULT("{\"tools\":[{\"name\":\"\\u00e9\",\"inputSchema\":{\"type\":\"array\"}},"
                    "{\"name\":\"echo\",\"inputSchema\":{}}],\"nextCursor\":\"\\u0032\"}"));
    if (!session_try_new())
        return;
    mcp_session_start(fx.session);
    pass(11 * 1000);
    say_next(MCP_CALL_TOOL, RESULT("{\"resultType\":\"input_required\",\"requestState\":\"s\"}"));
    say_next(MCP_CALL_TOOL, ERROR_REPLY(-32020, "mismatch"));
    say_next(MCP_CALL_TOOL, RESULT("{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":"
                                   "\"s3cret-token\"}]}"));
    (void)try_call("echo");
    pass(9 * 1000);
    say_next(MCP_CALL_TOOL, ERROR_REPLY(-32602, "no \\u00e9"));
    (void)try_call("\"quoted\"");
    pass(9 * 1000);
    say_next(MCP_CALL_TOOL, (struct reply){.downs = true, .message = "died"});
    (void)try_call("echo");
    pass(9 * 1000);
    for (size_t i = 0; i < fx.n_called; i++)
        assert_int_equal(fx.called[i].n_done, 1);
}

/* How often an allocation was allowed to fail until none did. */
static long live_without_memory(void **state, enum mcp_transport transport)
{
    long n = 0;
    bool has_failed = true;

    for (; has_failed; n++) {
        (void)session_setup(state);
        failing_malloc_begin(n, FAILS_ONCE);
        live(transport);
        has_failed = failing_malloc_end();
        (void)session_teardown(state);
    }
    return n;
}

static void a_session_survives_each_allocation_that_fails(void **state)
{
    assert_in_range(live_without_memory(state, MCP_TRANSPORT_STDIO), 30, 5000);
    assert_in_range(live_without_memory(state, MCP_TRANSPORT_HTTP), 30, 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_survives_each_allocation_that_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
