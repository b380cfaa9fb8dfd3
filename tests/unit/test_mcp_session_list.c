/* test_mcp_session_list.c -- listing tools, and when it happens again (MCP 9). */
#include "mcp_session_fixture.h"

#define TOOL(name)     "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"}}"
#define PAGE(tools)    RESULT("{\"tools\":[" tools "]}")
#define PAGE_TO(t, to) RESULT("{\"tools\":[" t "],\"nextCursor\":\"" to "\"}")
#define INIT_TELLS                                                                                 \
    RESULT("{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{\"listChanged\":"     \
           "true}}}")
#define DISCOVER_TELLS                                                                             \
    RESULT("{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{"                 \
           "\"listChanged\":true}}}")

static size_t n_listings(void)
{
    return count_sent(MCP_LIST_TOOLS);
}

/* ---- pages (MCP 9.1, 9.2) */

static void a_server_without_tools_is_available_and_not_asked(void **state)
{
    (void)state;
    say(MCP_INITIALIZE, RESULT("{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}"));
    session_start();
    assert_states(" ready");
    assert_tools(" []");
    assert_true(mcp_session_is_available(fx.session));
    assert_sent(" initialize");
}

static void pages_are_asked_for_until_there_is_no_cursor(void **state)
{
    (void)state;
    say_next(MCP_LIST_TOOLS, PAGE_TO(TOOL("a"), "p2"));
    say_next(MCP_LIST_TOOLS, PAGE_TO(TOOL("b"), ""));
    say_next(MCP_LIST_TOOLS, PAGE_TO(TOOL("c"), "p\\u00344"));
    say_next(MCP_LIST_TOOLS, RESULT("{\"tools\":[" TOOL("d") "],\"nextCursor\":null}"));
    session_start();
    assert_tools(" [a b c d]");
    assert_true(str_is_none(sent_param(nth_sent(MCP_LIST_TOOLS, 0), "cursor")));
    assert_str_c(sent_param(nth_sent(MCP_LIST_TOOLS, 1), "cursor"), "\"p2\"");
    assert_str_c(sent_param(nth_sent(MCP_LIST_TOOLS, 2), "cursor"), "\"\"");
    assert_str_c(sent_param(nth_sent(MCP_LIST_TOOLS, 3), "cursor"), "\"p\\u00344\"");
}

static void a_cursor_that_comes_again_ends_the_listing(void **state)
{
    (void)state;
    say(MCP_LIST_TOOLS, PAGE_TO(TOOL("a"), "same"));
    session_start();
    assert_states(" degraded");
    assert_int_equal(n_listings(), 2);
    assert_str_c(mcp_session_error(fx.session), "The server repeats a cursor of tools/list.");
    assert_tools("");
    assert_false(mcp_session_is_available(fx.session));
}

static void a_forgotten_cursor_restarts_the_listing_once(void **state)
{
    (void)state;
    say_next(MCP_LIST_TOOLS, PAGE_TO(TOOL("a"), "p2"));
    say_next(MCP_LIST_TOOLS, ERROR_REPLY(-32602, "Invalid cursor"));
    say_next(MCP_LIST_TOOLS, PAGE_TO(TOOL("a"), "p2"));
    say_next(MCP_LIST_TOOLS, PAGE(TOOL("b")));
    session_start();
    assert_tools(" [a b]");
    assert_true(str_is_none(sent_param(nth_sent(MCP_LIST_TOOLS, 2), "cursor")));
    assert_int_equal(n_listings(), 4);
}

static void a_listing_that_takes_too_long_is_cancelled(void **state)
{
    (void)state;
    say(MCP_LIST_TOOLS, SILENCE);
    session_start();
    pass(9999);
    assert_states("");
    pass(1);
    assert_states(" degraded");
    assert_str_c(sent_param(last_sent(MCP_CANCELLED), "requestId"), "2");
    assert_true(is_forgotten(2));
}

/* ---- what makes it list again (MCP 9.4) */

static void a_change_before_the_first_page_is_in_it_already(void **state)
{
    (void)state;
    say(MCP_INITIALIZE, INIT_TELLS);
    say(MCP_LIST_TOOLS, SILENCE);
    session_start();
    hear(TOOLS_CHANGED);
    answer(last_sent(MCP_LIST_TOOLS)->id, &RESULT(ONE_TOOL));
    pass(10 * 1000);
    assert_int_equal(n_listings(), 1);
    assert_int_equal(fx.n_listens, 1);
    hear(TOOLS_CHANGED);
    pass(MCP_LIST_DEBOUNCE_MS);
    hear(TOOLS_CHANGED); /* the same for every listing */
    answer(last_sent(MCP_LIST_TOOLS)->id, &RESULT(ONE_TOOL));
    pass(10 * 1000);
    assert_int_equal(n_listings(), 2);
}

static void over_http_nobody_knows_whether_it_is(void **state)
{
    (void)state;
    fx.server.transport = MCP_TRANSPORT_HTTP;
    fx.server.protocol = MCP_PROTOCOL_LEGACY;
    say(MCP_LIST_TOOLS, SILENCE);
    session_start();
    hear(TOOLS_CHANGED);
    answer(last_sent(MCP_LIST_TOOLS)->id, &RESULT(ONE_TOOL));
    pass(1000);
    assert_int_equal(n_listings(), 2);
    answer(last_sent(MCP_LIST_TOOLS)->id, &RESULT(ONE_TOOL));
}

static void changes_between_pages_make_another_listing_follow(void **state)
{
    (void)state;
    say_next(MCP_LIST_TOOLS, PAGE_TO(TOOL("a"), "p2"));
    say_next(MCP_LIST_TOOLS, SILENCE);
    session_start();
    hear(TOOLS_CHANGED);
    hear(TOOLS_CHANGED);
    answer(last_sent(MCP_LIST_TOOLS)->id, &PAGE(TOOL("b")));
    pass(MCP_LIST_DEBOUNCE_MS);
    assert_int_equal(n_listings(), 3);
    assert_tools(" [a b] [echo]");
}

static void a_burst_of_changes_is_one_listing(void **state)
{
    (void)state;
    session_start();
    say(MCP_LIST_TOOLS, PAGE(TOOL("echo") "," TOOL("new")));
    for (unsigned i = 0; i < 10; i++) {
        hear(TOOLS_CHANGED);
        pass(MCP_LIST_DEBOUNCE_MS / 11);
    }
    assert_int_equal(n_listings(), 1);
    pass(MCP_LIST_DEBOUNCE_MS);
    assert_int_equal(n_listings(), 2);
    assert_tools(" [echo] [echo new]");
    assert_states(" ready");
}

static void tools_that_are_the_same_are_not_reported(void **state)
{
    (void)state;
    session_start();
    hear(TOOLS_CHANGED);
    pass(1000);
    assert_int_equal(n_listings(), 2);
    assert_tools(" [echo]");
}

static void a_call_of_an_unknown_tool_lists_at_most_every_five_seconds(void **state)
{
    (void)state;
    session_start();
    say(MCP_CALL_TOOL, ERROR_REPLY(-32602, "Unknown tool: gone"));
    call();
    call();
    pass(MCP_LIST_PAUSE_MS - 1);
    assert_int_equal(n_listings(), 1); /* it has just listed */
    pass(1);
    assert_int_equal(n_listings(), 2);
    pass(MCP_LIST_PAUSE_MS);
    assert_int_equal(n_listings(), 2);
    call();
    pass(0);
    assert_int_equal(n_listings(), 3);
    assert_failure(&fx.called[0], MCP_FAILED_RPC, "Unknown tool: gone (-32602)");
}

static const struct {
    uint64_t own_ms, operators_ms;
    const char *tools; /* the result of tools/list */
    bool is_modern, tells;
    uint64_t about_ms;
} intervals[] = {
    {0, 0, ONE_TOOL, false, false, 60000},
    {0, 0, ONE_TOOL, false, true, 300000},
    {0, 10000, ONE_TOOL, false, true, 10000},
    {20000, 10000, ONE_TOOL, false, true, 20000},
    {0, 0, "{\"tools\":[],\"ttlMs\":30000}", true, false, 30000},
    {0, 0, "{\"tools\":[],\"ttlMs\":30000}", false, false, 60000},
    {0, 0, "{\"tools\":[],\"ttlMs\":1}", true, false, 5000},
    {0, 0, "{\"tools\":[],\"ttlMs\":0}", true, true, 300000},
    {0, 0, "{\"tools\":[],\"ttlMs\":9007199254740991}", true, true, 86400000},
};

static void time_makes_it_list_again(void **state)
{
    for (size_t i = 0; i < COUNT_OF(intervals); i++) {
        uint64_t ms = intervals[i].about_ms;
        struct buf members = {.limit = 0};

        buf_c(&members, "\"result\":");
        buf_c(&members, intervals[i].tools);
        fx.server.refresh_interval_ms = intervals[i].own_ms;
        fx.conf.refresh_interval_ms = intervals[i].operators_ms;
        fx.server.protocol = intervals[i].is_modern ? MCP_PROTOCOL_2026_07_28 : MCP_PROTOCOL_LEGACY;
        if (intervals[i].tells) {
            say(MCP_INITIALIZE, INIT_TELLS);
            say(MCP_DISCOVER, DISCOVER_TELLS);
        }
        say(MCP_LIST_TOOLS, (struct reply){.members = buf_cstr(&members)});
        session_start();
        pass(ms - ms / 10 - 1);
        assert_int_equal(n_listings(), 1);
        pass(2 * (ms / 10) + 1);
        assert_int_equal(n_listings(), 2);
        (void)session_teardown(state);
        (void)session_setup(state);
        buf_fini(&members);
    }
}

/* ---- when it fails (MCP 9.5) */

static void a_failed_refresh_keeps_tools_and_is_tried_again(void **state)
{
    (void)state;
    session_start();
    say_next(MCP_LIST_TOOLS, ERROR_REPLY(-32603, "database is down"));
    say_next(MCP_LIST_TOOLS, ERROR_REPLY(-32603, "database is down"));
    hear(TOOLS_CHANGED);
    pass(MCP_LIST_DEBOUNCE_MS);
    assert_states(" ready degraded");
    assert_true(mcp_session_is_available(fx.session));
    assert_str_c(mcp_session_error(fx.session),
                 "The server does not list its tools: database is down (-32603).");
    call();
    pass(0);
    assert_result(&fx.called[0], OK_CONTENT);
}

static void tools_return_when_listing_works_again(void **state)
{
    (void)state;
    session_start();
    say_next(MCP_LIST_TOOLS, ERROR_REPLY(-32603, "no"));
    say_next(MCP_LIST_TOOLS, ERROR_REPLY(-32603, "no"));
    hear(TOOLS_CHANGED);
    pass(1500);
    assert_int_equal(n_listings(), 3); /* after 0.8 to 1.2 s */
    pass(1000);
    assert_int_equal(n_listings(), 3);
    pass(1500);
    assert_int_equal(n_listings(), 4); /* after 1.6 to 2.4 s more */
    assert_states(" ready degraded ready");
    assert_str_c(mcp_session_error(fx.session), "");
}

static void a_server_that_is_gone_over_http_is_connected_to_again(void **state)
{
    (void)state;
    fx.server.transport = MCP_TRANSPORT_HTTP;
    session_start();
    say_next(MCP_LIST_TOOLS, UNREACHABLE);
    hear(TOOLS_CHANGED);
    pass(MCP_LIST_DEBOUNCE_MS);
    assert_states(" ready backoff");
    assert_false(mcp_session_is_available(fx.session));
    pass(1200);
    assert_states(" ready backoff starting ready");
    assert_int_equal(count_sent(MCP_DISCOVER), 2);
}

static void calls_that_are_under_way_outlive_such_a_listing(void **state)
{
    struct called *c;

    (void)state;
    fx.server.transport = MCP_TRANSPORT_HTTP;
    session_start();
    say(MCP_CALL_TOOL, SILENCE);
    c = call();
    say_next(MCP_LIST_TOOLS, UNREACHABLE);
    hear(TOOLS_CHANGED);
    pass(MCP_LIST_DEBOUNCE_MS);
    assert_states(" ready degraded");
    answer(last_sent(MCP_CALL_TOOL)->id, &RESULT(TEXT("ok")));
    assert_result(c, OK_CONTENT);
}

/* ---- subscriptions of modern servers (MCP 6.6) */

#define ACKNOWLEDGED                                                                               \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{}}"

static void start_modern(struct reply discovered)
{
    fx.server.transport = MCP_TRANSPORT_HTTP;
    say(MCP_DISCOVER, discovered);
    session_start();
}

static void a_modern_server_that_tells_is_listened_to(void **state)
{
    (void)state;
    start_modern(DISCOVER_TELLS);
    assert_int_equal(count_sent(MCP_LISTEN), 1);
    assert_int_equal(fx.n_listens, 0); /* which is the legacy way */
    hear(ACKNOWLEDGED);
    hear(TOOLS_CHANGED);
    pass(MCP_LIST_DEBOUNCE_MS);
    assert_int_equal(n_listings(), 2);
    pass(60 * 1000);
    assert_int_equal(count_sent(MCP_LISTEN), 1); /* it may last */
}

static void one_that_does_not_is_not(void **state)
{
    (void)state;
    start_modern(RESULT(MODERN_LISTS));
    assert_int_equal(count_sent(MCP_LISTEN), 0);
}

static void a_subscription_that_ends_is_opened_again_and_tools_are_listed(void **state)
{
    static const struct reply ends[] = {
        {.members = "\"result\":{}"}, {.fails = true, .cause = MCP_FAILED_CLOSED}, {.status = 0}};

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        struct buf notice = {.limit = 0};

        start_modern(DISCOVER_TELLS);
        hear(ACKNOWLEDGED);
        if (i < 2) {
            answer(last_sent(MCP_LISTEN)->id, &ends[i]);
        } else {
            buf_c(&notice, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
                           "{\"requestId\":");
            buf_int(&notice, last_sent(MCP_LISTEN)->id);
            buf_c(&notice, "}}");
            hear(buf_cstr(&notice));
        }
        buf_fini(&notice);
        assert_int_equal(count_sent(MCP_LISTEN), 1);
        pass(1200);
        assert_int_equal(count_sent(MCP_LISTEN), 2);
        assert_int_equal(n_listings(), 1);
        hear(ACKNOWLEDGED);
        pass(MCP_LIST_DEBOUNCE_MS);
        assert_int_equal(n_listings(), 2);
        (void)session_teardown(state);
        (void)session_setup(state);
    }
}

static void a_subscription_that_is_refused_stays_so(void **state)
{
    (void)state;
    say(MCP_LISTEN, ERROR_REPLY(-32601, "Method not found"));
    start_modern(DISCOVER_TELLS);
    pass(120 * 1000);
    assert_int_equal(count_sent(MCP_LISTEN), 1);
    assert_states(" ready");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SESSION_TEST(a_server_without_tools_is_available_and_not_asked),
        SESSION_TEST(pages_are_asked_for_until_there_is_no_cursor),
        SESSION_TEST(a_cursor_that_comes_again_ends_the_listing),
        SESSION_TEST(a_forgotten_cursor_restarts_the_listing_once),
        SESSION_TEST(a_listing_that_takes_too_long_is_cancelled),
        SESSION_TEST(a_change_before_the_first_page_is_in_it_already),
        SESSION_TEST(over_http_nobody_knows_whether_it_is),
        SESSION_TEST(changes_between_pages_make_another_listing_follow),
        SESSION_TEST(a_burst_of_changes_is_one_listing),
        SESSION_TEST(tools_that_are_the_same_are_not_reported),
        SESSION_TEST(a_call_of_an_unknown_tool_lists_at_most_every_five_seconds),
        SESSION_TEST(time_makes_it_list_again),
        SESSION_TEST(a_failed_refresh_keeps_tools_and_is_tried_again),
        SESSION_TEST(tools_return_when_listing_works_again),
        SESSION_TEST(a_server_that_is_gone_over_http_is_connected_to_again),
        SESSION_TEST(calls_that_are_under_way_outlive_such_a_listing),
        SESSION_TEST(a_modern_server_that_tells_is_listened_to),
        SESSION_TEST(one_that_does_not_is_not),
        SESSION_TEST(a_subscription_that_ends_is_opened_again_and_tools_are_listed),
        SESSION_TEST(a_subscription_that_is_refused_stays_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
