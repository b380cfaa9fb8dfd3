/* test_mcp_session_call.c -- calls: told apart, timed, cancelled, asked again (MCP 8). */
#include "mcp_session_fixture.h"

enum { MANY = 50 };

static int64_t id_of(size_t nth_call)
{
    return nth_sent(MCP_CALL_TOOL, nth_call)->id;
}

static void start_silent(void)
{
    session_start();
    say(MCP_CALL_TOOL, SILENCE);
}

static void start_modern_http(void)
{
    fx.server.transport = MCP_TRANSPORT_HTTP;
    session_start();
}

/* ---- told apart */

static void fifty_calls_answered_in_reverse_get_their_own_results(void **state)
{
    (void)state;
    fx.server.max_concurrency = MANY;
    start_silent();
    for (size_t i = 0; i < MANY; i++)
        call();
    pass(0);
    for (size_t i = MANY; i-- > 0;) {
        char members[128];

        (void)snprintf(members, sizeof(members),
                       "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"%zu\"}]}", i);
        answer(id_of(i), &(struct reply){.members = members});
    }
    for (size_t i = 0; i < MANY; i++) {
        char content[64];

        (void)snprintf(content, sizeof(content), "[{\"type\":\"text\",\"text\":\"%zu\"}]", i);
        assert_result(&fx.called[i], content);
    }
}

static void the_request_is_what_was_asked(void **state)
{
    const struct sent *s;

    (void)state;
    session_start();
    call_tool("say \"hi\"", "{\"a\":[1,2]}");
    pass(0);
    s = last_sent(MCP_CALL_TOOL);
    assert_str_c(sent_param(s, "name"), "\"say \\\"hi\\\"\"");
    assert_str_c(sent_param(s, "arguments"), "{\"a\":[1,2]}");
    assert_int_equal(s->version, MCP_2025_11_25);
}

static void late_double_and_unknown_answers_are_dropped(void **state)
{
    struct called *first, *second;

    (void)state;
    start_silent();
    first = call();
    second = call();
    pass(0);
    hear("{\"jsonrpc\":\"2.0\",\"id\":9999,\"result\":{}}");
    hear("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":1,\"message\":\"m\"}}");
    hear("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"); /* initialize, once more */
    answer(id_of(0), &RESULT(TEXT("ok")));
    answer(id_of(0), &RESULT(TEXT("again")));
    assert_result(first, OK_CONTENT);
    assert_int_equal(second->n_done, 0);
    answer(id_of(1), &RESULT(TEXT("ok")));
    assert_result(second, OK_CONTENT);
}

static void an_error_without_an_id_belongs_to_the_exchange_that_brought_it(void **state)
{
    struct called *first, *second;

    (void)state;
    fx.server.transport = MCP_TRANSPORT_HTTP;
    start_silent();
    first = call();
    second = call();
    pass(0);
    answer(id_of(1), &(struct reply){.members = "\"id\":null,\"error\":{\"code\":-32000,"
                                                "\"message\":\"no\"}",
                                     .has_no_id = true,
                                     .status = 400});
    assert_int_equal(first->n_done, 0);
    assert_failure(second, MCP_FAILED_RPC, "no (-32000)");
    answer(id_of(0), &RESULT(TEXT("ok")));
}

static void requests_of_the_server_do_not_answer_ours(void **state)
{
    struct called *c;
    char request[128];

    (void)state;
    start_silent();
    c = call();
    pass(0);
    (void)snprintf(request, sizeof(request),
                   "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"roots/list\"}", (int)id_of(0));
    hear(request);
    assert_int_equal(c->n_done, 0);
    assert_non_null(strstr(fx.sent[fx.n_sent - 1].json, "-32601"));
    (void)snprintf(request, sizeof(request), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}",
                   (int)id_of(0));
    hear(request);
    assert_non_null(strstr(fx.sent[fx.n_sent - 1].json, "\"result\":{}"));
    answer(id_of(0), &RESULT(TEXT("ok")));
    assert_result(c, OK_CONTENT);
}

/* ---- the queue (MCP 8.3) */

static void no_more_calls_are_under_way_than_may_be(void **state)
{
    (void)state;
    fx.server.max_concurrency = 2;
    start_silent();
    for (unsigned i = 0; i < 4; i++)
        call();
    pass(0);
    assert_int_equal(count_sent(MCP_CALL_TOOL), 2);
    answer(id_of(1), &RESULT(TEXT("ok")));
    pass(0);
    assert_int_equal(count_sent(MCP_CALL_TOOL), 3);
    mcp_session_cancel(fx.called[0].call, "gone");
    fx.called[0].call = NULL;
    pass(0);
    assert_int_equal(count_sent(MCP_CALL_TOOL), 4);
    answer(id_of(2), &RESULT(TEXT("ok")));
    answer(id_of(3), &RESULT(TEXT("ok")));
    assert_result(&fx.called[2], OK_CONTENT);
    assert_result(&fx.called[3], OK_CONTENT);
}

static void a_full_queue_refuses_and_the_rest_goes_on(void **state)
{
    (void)state;
    fx.server.max_concurrency = 2;
    start_silent();
    for (unsigned i = 0; i < 2 + MCP_MAX_QUEUED + 1; i++)
        call();
    pass(0);
    assert_failure(&fx.called[2 + MCP_MAX_QUEUED], MCP_FAILED_LIMIT,
                   "Too many calls wait for this MCP server.");
    assert_int_equal(fx.called[1 + MCP_MAX_QUEUED].n_done, 0);
    say(MCP_CALL_TOOL, RESULT(TEXT("ok")));
    answer(id_of(0), &RESULT(TEXT("ok")));
    answer(id_of(1), &RESULT(TEXT("ok")));
    pass(0);
    assert_result(&fx.called[1 + MCP_MAX_QUEUED], OK_CONTENT);
}

static void a_message_that_cannot_be_sent_fails_its_call(void **state)
{
    (void)state;
    session_start();
    fx.refuses_to_send = true;
    call();
    pass(0);
    assert_failure(&fx.called[0], MCP_FAILED_LIMIT, "The server does not read.");
    fx.refuses_to_send = false;
}

/* ---- deadlines (MCP 8.4, 8.5) */

static struct called *call_within(uint64_t idle_ms, uint64_t total_ms)
{
    return call_with(&(struct mcp_session_call_conf){.tool = STR("echo"),
                                                     .arguments = STR("{}"),
                                                     .idle_timeout_ms = idle_ms,
                                                     .total_timeout_ms = total_ms});
}

static void progress_of(size_t nth_call)
{
    char notice[200];

    (void)snprintf(notice, sizeof(notice),
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
                   "{\"progressToken\":%.*s,\"progress\":1,\"message\":\"still at it\"}}",
                   STR_ARG(jr_member(sent_param(nth_sent(MCP_CALL_TOOL, nth_call), "_meta"),
                                     STR("progressToken"))));
    hear(notice);
}

static void a_call_without_answer_times_out_and_is_cancelled_once(void **state)
{
    struct called *c;

    (void)state;
    start_silent();
    c = call_within(3000, 60000);
    pass(2999);
    assert_int_equal(c->n_done, 0);
    pass(1);
    assert_failure(c, MCP_FAILED_TIMEOUT, "tool echo timed out after 3 s");
    assert_int_equal(count_sent(MCP_CANCELLED), 1);
    assert_int_equal(jr_type_of(sent_param(last_sent(MCP_CANCELLED), "reason")), JR_STRING);
    assert_true(is_forgotten(id_of(0)));
    progress_of(0);
    answer(id_of(0), &RESULT(TEXT("late")));
    assert_int_equal(c->n_done, 1);
}

static void progress_keeps_a_call_alive_until_the_hard_limit(void **state)
{
    struct called *c;

    (void)state;
    start_silent();
    c = call_within(3000, 12000);
    for (unsigned i = 0; i < 4; i++) {
        pass(2900);
        progress_of(0);
        assert_int_equal(c->n_done, 0);
    }
    pass(400);
    assert_failure(c, MCP_FAILED_TIMEOUT, "tool echo timed out after 12 s");
}

static void other_traffic_does_not(void **state)
{
    struct called *slow, *other;

    (void)state;
    start_silent();
    slow = call_within(3000, 60000);
    other = call_within(30000, 60000);
    pass(2900);
    hear("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":1}}");
    progress_of(1);
    pass(100);
    assert_int_equal(slow->n_done, 1);
    assert_int_equal(other->n_done, 0);
    answer(id_of(1), &RESULT(TEXT("ok")));
}

static void waiting_for_others_is_limited_by_the_hard_limit_alone(void **state)
{
    struct called *c;

    (void)state;
    fx.server.max_concurrency = 1;
    start_silent();
    call_within(60000, 60000);
    c = call_within(1000, 5000);
    pass(4999);
    assert_int_equal(c->n_done, 0);
    pass(1);
    assert_failure(c, MCP_FAILED_TIMEOUT, "tool echo timed out after 5 s");
    assert_int_equal(count_sent(MCP_CANCELLED), 0);
    answer(id_of(0), &RESULT(TEXT("ok")));
}

static const struct {
    enum mcp_transport transport;
    enum mcp_protocol protocol;
    size_t n_cancelled;
} cancellations[] = {
    {MCP_TRANSPORT_STDIO, MCP_PROTOCOL_LEGACY, 1},
    {MCP_TRANSPORT_STDIO, MCP_PROTOCOL_2026_07_28, 1},
    {MCP_TRANSPORT_HTTP, MCP_PROTOCOL_LEGACY, 1},
    {MCP_TRANSPORT_HTTP, MCP_PROTOCOL_2026_07_28, 0}, /* its stream is closed */
    {MCP_TRANSPORT_SSE, MCP_PROTOCOL_LEGACY, 1},
};

static void the_server_hears_of_a_cancellation_in_the_way_of_its_era(void **state)
{
    for (size_t i = 0; i < COUNT_OF(cancellations); i++) {
        struct called *c;

        fx.server.transport = cancellations[i].transport;
        fx.server.protocol = cancellations[i].protocol;
        start_silent();
        c = call();
        pass(0);
        mcp_session_cancel(c->call, "the client has gone");
        c->call = NULL;
        assert_int_equal(count_sent(MCP_CANCELLED), cancellations[i].n_cancelled);
        assert_true(is_forgotten(id_of(0)));
        answer(id_of(0), &RESULT(TEXT("late")));
        assert_int_equal(c->n_done, 0);
        (void)session_teardown(state);
        (void)session_setup(state);
    }
}

static void a_call_that_was_not_sent_is_cancelled_without_a_word(void **state)
{
    struct called *c;

    (void)state;
    say(MCP_INITIALIZE, SILENCE);
    session_start();
    c = call();
    pass(0);
    mcp_session_cancel(c->call, "gone");
    c->call = NULL;
    answer(1, &RESULT(LEGACY_INIT));
    pass(0);
    assert_int_equal(count_sent(MCP_CALL_TOOL), 0);
    assert_int_equal(count_sent(MCP_CANCELLED), 0);
}

/* ---- is it alive? (MCP 8.7) */

static void a_silent_legacy_server_is_pinged_and_left_after_two_misses(void **state)
{
    struct called *c;

    (void)state;
    start_silent();
    say(MCP_PING, SILENCE);
    c = call_within(600000, 600000);
    pass(MCP_SILENCE_MS - 1);
    assert_int_equal(count_sent(MCP_PING), 0);
    pass(1);
    assert_int_equal(count_sent(MCP_PING), 1);
    pass(MCP_PING_MS);
    assert_int_equal(count_sent(MCP_PING), 2);
    assert_int_equal(c->n_done, 0);
    pass(MCP_PING_MS);
    assert_failure(c, MCP_FAILED_CLOSED, "MCP server docs closed the connection");
    assert_states(" ready backoff");
}

static void one_that_answers_is_left_in_peace(void **state)
{
    struct called *c;

    (void)state;
    start_silent();
    c = call_within(600000, 600000);
    pass(300 * 1000);
    assert_in_range(count_sent(MCP_PING), 5, 10);
    assert_int_equal(c->n_done, 0);
    answer(id_of(0), &RESULT(TEXT("ok")));
    assert_states(" ready");
}

static void without_calls_and_in_the_modern_era_nobody_pings(void **state)
{
    (void)state;
    session_start();
    pass(50 * 1000);
    assert_int_equal(count_sent(MCP_PING), 0);
    (void)session_teardown(state);
    (void)session_setup(state);
    start_modern_http();
    say(MCP_CALL_TOOL, SILENCE);
    call_within(600000, 600000);
    pass(100 * 1000);
    assert_int_equal(count_sent(MCP_PING), 0);
    answer(id_of(0), &RESULT(TEXT("ok")));
}

/* ---- outcomes (MCP 14) */

static const struct {
    struct reply reply;
    enum mcp_cause cause;
    const char *text;
} failures[] = {
    {RESULT("{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"no file\"}]}"),
     MCP_FAILED_TOOL, "no file"},
    {RESULT("{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"key s3cret-token\"}]}"),
     MCP_FAILED_TOOL, "key [redacted]"},
    {RESULT(
         "{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"key s3cret\\u002dtoken\"}]}"),
     MCP_FAILED_TOOL, "key [redacted]"},
    {RESULT("{\"isError\":true,\"structuredContent\":{\"s3cret-token\":[\"s3cret-token\",4]}}"),
     MCP_FAILED_TOOL, "{\"[redacted]\":[\"[redacted]\",4]}"},
    {ERROR_REPLY(-32000, "bad key s3cret-token"), MCP_FAILED_RPC, "bad key [redacted] (-32000)"},
    {ERROR_REPLY(-32021, "capability"), MCP_FAILED_RPC, "capability (-32021)"},
    {HTTP_STATUS(401), MCP_FAILED_HTTP, "MCP server docs: HTTP 401"},
    {UNREACHABLE, MCP_FAILED_UNREACHABLE, "MCP server docs is unreachable"},
    {{.fails = true, .cause = MCP_FAILED_CLOSED},
     MCP_FAILED_CLOSED,
     "MCP server docs closed the connection"},
    {{.fails = true, .cause = MCP_FAILED_LIMIT, .message = "It is too large."},
     MCP_FAILED_LIMIT,
     "It is too large."},
    {RESULT("{}"), MCP_FAILED_RESULT,
     "MCP server docs: The server sent a result of tools/call without content."},
    {RESULT("{\"resultType\":\"odd\",\"content\":[]}"), MCP_FAILED_RESULT,
     "MCP server docs: The server sent a result of a type that is unknown here."},
};

static void failures_are_told_by_their_cause(void **state)
{
    (void)state;
    fx.server.transport = MCP_TRANSPORT_HTTP;
    session_start();
    for (size_t i = 0; i < COUNT_OF(failures); i++) {
        say_next(MCP_CALL_TOOL, failures[i].reply);
        call();
        pass(0);
        assert_failure(&fx.called[i], failures[i].cause, failures[i].text);
    }
    assert_int_equal(count_sent(MCP_CALL_TOOL), COUNT_OF(failures)); /* none is repeated */
}

/* Whoever has the variable MODE=text in the environment of a server has a secret "text". */
static void words_of_the_protocol_may_be_secrets(void **state)
{
    (void)state;
    fx.secrets[0] = STR("text");
    session_start();
    say_next(
        MCP_CALL_TOOL,
        RESULT("{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"no text file\"}]}"));
    call();
    pass(0);
    assert_failure(&fx.called[0], MCP_FAILED_TOOL, "no [redacted] file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SESSION_TEST(fifty_calls_answered_in_reverse_get_their_own_results),
        SESSION_TEST(the_request_is_what_was_asked),
        SESSION_TEST(late_double_and_unknown_answers_are_dropped),
        SESSION_TEST(an_error_without_an_id_belongs_to_the_exchange_that_brought_it),
        SESSION_TEST(requests_of_the_server_do_not_answer_ours),
        SESSION_TEST(no_more_calls_are_under_way_than_may_be),
        SESSION_TEST(a_full_queue_refuses_and_the_rest_goes_on),
        SESSION_TEST(a_message_that_cannot_be_sent_fails_its_call),
        SESSION_TEST(a_call_without_answer_times_out_and_is_cancelled_once),
        SESSION_TEST(progress_keeps_a_call_alive_until_the_hard_limit),
        SESSION_TEST(other_traffic_does_not),
        SESSION_TEST(waiting_for_others_is_limited_by_the_hard_limit_alone),
        SESSION_TEST(the_server_hears_of_a_cancellation_in_the_way_of_its_era),
        SESSION_TEST(a_call_that_was_not_sent_is_cancelled_without_a_word),
        SESSION_TEST(a_silent_legacy_server_is_pinged_and_left_after_two_misses),
        SESSION_TEST(one_that_answers_is_left_in_peace),
        SESSION_TEST(without_calls_and_in_the_modern_era_nobody_pings),
        SESSION_TEST(failures_are_told_by_their_cause),
        SESSION_TEST(words_of_the_protocol_may_be_secrets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
