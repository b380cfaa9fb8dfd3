/* test_mcp_session_again.c -- calls that are sent once more, and why (MCP 3.4, 5.7, 6.4). */
#include "mcp_session_fixture.h"

static int64_t id_of(size_t nth_call)
{
    return nth_sent(MCP_CALL_TOOL, nth_call)->id;
}

static void start_modern_http(void)
{
    fx.server.transport = MCP_TRANSPORT_HTTP;
    session_start();
}

static void start_legacy_http(void)
{
    fx.server.transport = MCP_TRANSPORT_HTTP;
    fx.server.protocol = MCP_PROTOCOL_LEGACY;
    session_start();
}

/* ---- lost sessions (MCP 5.7) */

static void ten_calls_that_lost_the_session_share_one_new_one(void **state)
{
    (void)state;
    fx.server.max_concurrency = 10;
    start_legacy_http();
    say(MCP_CALL_TOOL, SILENCE);
    for (unsigned i = 0; i < 10; i++)
        call();
    pass(0);
    say(MCP_CALL_TOOL, RESULT(TEXT("ok")));
    for (size_t i = 0; i < 5; i++)
        answer(id_of(i), &LOST_SESSION);
    pass(0); /* agreed again; five are still to find out */
    assert_int_equal(count_sent(MCP_INITIALIZE), 2);
    for (size_t i = 5; i < 10; i++)
        answer(id_of(i), &LOST_SESSION);
    pass(0);
    assert_int_equal(count_sent(MCP_INITIALIZE), 2);
    assert_int_equal(fx.n_resets, 1);
    assert_int_equal(count_sent(MCP_CALL_TOOL), 20);
    for (size_t i = 0; i < 10; i++)
        assert_result(&fx.called[i], OK_CONTENT);
    for (size_t i = 1; i < 20; i++)
        assert_true(id_of(i) > id_of(i - 1));
    assert_states(" ready"); /* tools stayed good all the time */
}

static void a_new_session_lists_the_tools_again(void **state)
{
    (void)state;
    start_legacy_http();
    say_next(MCP_CALL_TOOL, LOST_SESSION);
    call();
    pass(0);
    assert_sent(" initialize tools/list tools/call initialize tools/list tools/call");
}

static void a_session_that_is_lost_again_fails_the_call(void **state)
{
    (void)state;
    start_legacy_http();
    say(MCP_CALL_TOOL, LOST_SESSION);
    call();
    pass(0);
    assert_failure(&fx.called[0], MCP_FAILED_HTTP, "MCP server docs: HTTP 404");
    assert_int_equal(count_sent(MCP_CALL_TOOL), 2);
    assert_int_equal(count_sent(MCP_INITIALIZE), 2);
}

static void a_listing_that_loses_each_session_is_given_up(void **state)
{
    (void)state;
    fx.server.transport = MCP_TRANSPORT_HTTP;
    fx.server.protocol = MCP_PROTOCOL_LEGACY;
    say(MCP_LIST_TOOLS, LOST_SESSION);
    session_start();
    assert_states(" degraded");
    assert_int_equal(count_sent(MCP_INITIALIZE), 2);
}

static void no_new_session_means_that_waiting_calls_fail(void **state)
{
    (void)state;
    start_legacy_http();
    say_next(MCP_CALL_TOOL, LOST_SESSION);
    say(MCP_INITIALIZE, UNREACHABLE);
    call();
    pass(0);
    assert_failure(&fx.called[0], MCP_FAILED_UNREACHABLE, "MCP server docs is unreachable");
    assert_states(" ready backoff");
    assert_int_equal(count_sent(MCP_CALL_TOOL), 1);
}

static void a_version_that_is_not_known_any_more_is_found_anew(void **state)
{
    (void)state;
    start_modern_http();
    say_next(MCP_CALL_TOOL,
             ((struct reply){.members = "\"error\":{\"code\":-32022,\"message\":\"no\","
                                        "\"data\":{\"supported\":[\"2025-11-25\"]}}",
                             .status = 400}));
    say(MCP_DISCOVER, HTTP_STATUS(404));
    call();
    pass(0);
    assert_sent(" server/discover tools/list tools/call server/discover initialize tools/list "
                "tools/call");
    assert_result(&fx.called[0], OK_CONTENT);
    assert_int_equal(last_sent(MCP_CALL_TOOL)->version, MCP_2025_11_25);
}

/* ---- headers (MCP 6.4) */

#define MISMATCH ERROR_REPLY(-32020, "Header mismatch: Region")
#define MIRRORED                                                                                   \
    RESULT("{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"  \
           "\"r\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"}}}}]}")

static void wrong_headers_are_made_anew_from_the_next_listing(void **state)
{
    (void)state;
    start_modern_http();
    say(MCP_LIST_TOOLS, MIRRORED);
    say_next(MCP_CALL_TOOL, MISMATCH);
    call();
    pass(0);
    assert_sent(" server/discover tools/list tools/call tools/list tools/call");
    assert_int_equal(nth_sent(MCP_CALL_TOOL, 0)->n_mirrors, 0);
    assert_int_equal(nth_sent(MCP_CALL_TOOL, 1)->n_mirrors, 1);
    assert_result(&fx.called[0], OK_CONTENT);
    assert_tools(" [echo] [echo]");
}

static void a_second_mismatch_fails_the_call(void **state)
{
    (void)state;
    start_modern_http();
    say(MCP_CALL_TOOL, MISMATCH);
    call();
    pass(0);
    assert_failure(&fx.called[0], MCP_FAILED_RPC, "Header mismatch: Region (-32020)");
    assert_int_equal(count_sent(MCP_CALL_TOOL), 2);
    assert_int_equal(count_sent(MCP_LIST_TOOLS), 2);
}

static void a_mismatch_stands_when_the_tool_is_gone_or_not_listed(void **state)
{
    static const struct reply listings[] = {{.members = "\"result\":{\"tools\":[]}"},
                                            {.fails = true, .cause = MCP_FAILED_CLOSED}};

    for (size_t i = 0; i < COUNT_OF(listings); i++) {
        start_modern_http();
        say(MCP_LIST_TOOLS, listings[i]);
        say(MCP_CALL_TOOL, MISMATCH);
        call();
        pass(0);
        assert_failure(&fx.called[0], MCP_FAILED_RPC, "Header mismatch: Region (-32020)");
        (void)session_teardown(state);
        (void)session_setup(state);
    }
}

static void a_listing_that_already_runs_is_not_the_one(void **state)
{
    (void)state;
    start_modern_http();
    say_next(MCP_LIST_TOOLS, SILENCE);
    hear(TOOLS_CHANGED);
    pass(MCP_LIST_DEBOUNCE_MS);
    say_next(MCP_CALL_TOOL, MISMATCH);
    say(MCP_LIST_TOOLS, MIRRORED);
    call();
    pass(0);
    assert_int_equal(count_sent(MCP_CALL_TOOL), 1);
    answer(last_sent(MCP_LIST_TOOLS)->id, &RESULT(ONE_TOOL));
    pass(MCP_LIST_DEBOUNCE_MS);
    assert_int_equal(nth_sent(MCP_CALL_TOOL, 1)->n_mirrors, 1);
    assert_result(&fx.called[0], OK_CONTENT);
}

/* ---- input (MCP 3.4) */

#define WANTS(requests, state) RESULT("{\"resultType\":\"input_required\"" requests state "}")
#define WHO                    ",\"inputRequests\":{\"who\":{\"method\":\"elicitation/create\",\"params\":{}}}"

static void input_is_declined_and_the_state_goes_back_as_it_came(void **state)
{
    const struct sent *again;

    (void)state;
    start_modern_http();
    say_next(MCP_CALL_TOOL, WANTS(WHO, ",\"requestState\":\"o\\u0070aque \\\"1\\\"\""));
    call_tool("ask", "{\"a\":1}");
    pass(0);
    assert_result(&fx.called[0], OK_CONTENT);
    again = nth_sent(MCP_CALL_TOOL, 1);
    assert_str_c(sent_param(again, "inputResponses"), "{\"who\":{\"action\":\"decline\"}}");
    assert_str_c(sent_param(again, "requestState"), "\"o\\u0070aque \\\"1\\\"\"");
    assert_str_c(sent_param(again, "arguments"), "{\"a\":1}");
    assert_true(id_of(1) > id_of(0));
    call();
    pass(0);
    assert_true(str_is_none(sent_param(nth_sent(MCP_CALL_TOOL, 2), "requestState")));
    assert_true(str_is_none(sent_param(nth_sent(MCP_CALL_TOOL, 2), "inputResponses")));
}

static void without_requests_or_state_there_are_no_answers_or_state(void **state)
{
    (void)state;
    start_modern_http();
    say_next(MCP_CALL_TOOL, WANTS(WHO, ",\"requestState\":\"s\""));
    say_next(MCP_CALL_TOOL, WANTS("", ""));
    call();
    pass(0);
    assert_true(str_is_none(sent_param(nth_sent(MCP_CALL_TOOL, 2), "requestState")));
    assert_true(str_is_none(sent_param(nth_sent(MCP_CALL_TOOL, 2), "inputResponses")));
    assert_result(&fx.called[0], OK_CONTENT);
}

static void a_fourth_round_fails(void **state)
{
    (void)state;
    start_modern_http();
    say(MCP_CALL_TOOL, WANTS(WHO, ""));
    call();
    pass(0);
    assert_int_equal(count_sent(MCP_CALL_TOOL), 1 + MCP_INPUT_ROUNDS);
    assert_failure(&fx.called[0], MCP_FAILED_RESULT,
                   "MCP server docs: The tool asked for input again and again.");
}

static void input_that_nobody_has_fails_the_call(void **state)
{
    (void)state;
    start_modern_http();
    say(MCP_CALL_TOOL,
        WANTS(",\"inputRequests\":{\"x\":{\"method\":\"sampling/createMessage\"}}", ""));
    call();
    pass(0);
    assert_int_equal(fx.called[0].cause, MCP_FAILED_RESULT);
    assert_int_equal(count_sent(MCP_CALL_TOOL), 1);
}

static void rounds_do_not_move_the_hard_limit(void **state)
{
    struct called *c;

    (void)state;
    start_modern_http();
    say(MCP_CALL_TOOL, SILENCE);
    c = call_with(&(struct mcp_session_call_conf){.tool = STR("echo"),
                                                  .arguments = STR("{}"),
                                                  .idle_timeout_ms = 3000,
                                                  .total_timeout_ms = 4000});
    pass(2500);
    answer(id_of(0), &WANTS("", ""));
    pass(1499);
    assert_int_equal(c->n_done, 0);
    pass(1);
    assert_failure(c, MCP_FAILED_TIMEOUT, "tool echo timed out after 4 s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SESSION_TEST(ten_calls_that_lost_the_session_share_one_new_one),
        SESSION_TEST(a_new_session_lists_the_tools_again),
        SESSION_TEST(a_session_that_is_lost_again_fails_the_call),
        SESSION_TEST(a_listing_that_loses_each_session_is_given_up),
        SESSION_TEST(no_new_session_means_that_waiting_calls_fail),
        SESSION_TEST(a_version_that_is_not_known_any_more_is_found_anew),
        SESSION_TEST(wrong_headers_are_made_anew_from_the_next_listing),
        SESSION_TEST(a_second_mismatch_fails_the_call),
        SESSION_TEST(a_mismatch_stands_when_the_tool_is_gone_or_not_listed),
        SESSION_TEST(a_listing_that_already_runs_is_not_the_one),
        SESSION_TEST(input_is_declined_and_the_state_goes_back_as_it_came),
        SESSION_TEST(without_requests_or_state_there_are_no_answers_or_state),
        SESSION_TEST(a_fourth_round_fails),
        SESSION_TEST(input_that_nobody_has_fails_the_call),
        SESSION_TEST(rounds_do_not_move_the_hard_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
