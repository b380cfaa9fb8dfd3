/* test_mcp_session_fault.c -- a session, with each allocation failing in turn.
 *
 * Whatever is missing, every call ends once, and the session can be stopped and freed. As
 * in test_fault.c, the files that allocate are compiled once more here. */
#include "ev/loop.h"
#include "lib/test.h"

static long allocations_left = -1; /* below 0: no limit */

static bool must_fail(void)
{
    return allocations_left >= 0 && allocations_left-- == 0;
}

static void *malloc_or_fail(size_t n)
{
    return must_fail() ? NULL : malloc(n);
}

static void *calloc_or_fail(size_t n, size_t size)
{
    return must_fail() ? NULL : calloc(n, size);
}

static void *realloc_or_fail(void *p, size_t n)
{
    return must_fail() ? NULL : realloc(p, n);
}

static struct loop_timer *timer_or_fail(struct loop *loop, void (*fn)(void *arg), void *arg)
{
    return must_fail() ? NULL : loop_timer_new(loop, fn, arg);
}

/* clang-format off: the order is part of it */
#define loop_timer_new  timer_or_fail
#define malloc(n)       malloc_or_fail(n)
#define calloc(n, size) calloc_or_fail((n), (size))
#define realloc(p, n)   realloc_or_fail((p), (n))
#include "base/arena.c"
#include "base/buf.c"
#include "base/secrets.c"
#include "mcp/mcp_session.c"
#include "mcp/mcp_session_list.c"
#include "mcp/mcp_session_queue.c"
#undef malloc
#undef calloc
#undef realloc
#undef loop_timer_new

#include "mcp_session_fixture.h"
/* clang-format on */

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
        allocations_left = n;
        (void)session_setup(state);
        live(transport);
        has_failed = allocations_left < 0;
        allocations_left = -1;
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
