/* test_chat_turn.c -- what the stages of a chat turn come to (front/chat_turn.c): it is relayed, goes
 * through rounds and calls, fails or is refused, and how the answer ends. */
#include "chat_turn_fixture.h"

static const struct err broken = {.code = ERR_UPSTREAM_ERROR, .msg = "It broke off."};
static const struct err unreachable = {.code = ERR_UPSTREAM_UNAVAILABLE, .msg = "Nobody there."};

static void open_with(const char *flag, const char *value)
{
    const char *const flags[] = {flag, value, NULL};

    stage_open(flags);
}

static void assert_stage(const char *name)
{
    assert_string_equal(stage_name(), name);
}

static void assert_asked(const char *words)
{
    if (strstr(buf_cstr(&stage.asked), words) == NULL)
        fail_msg("no %s in %s", words, buf_cstr(&stage.asked));
}

/* It is over, with these words. */
static void assert_over(int status, const char *words)
{
    assert_stage("over");
    assert_true(stage.x.is_over);
    assert_false(stage.x.is_aborted);
    assert_int_equal(stage.x.status, status);
    if (!client_was_told(words))
        fail_msg("not %s: %s", words, buf_cstr(&stage.x.said));
    stage_close();
}

/* The round that follows the calls says the rest. */
static void end_with_answer(void)
{
    assert_stage("round");
    upstream_begins(200);
    upstream_says(SAYS("done") STOPS("stop"));
    upstream_ends(NULL);
    assert_over(200, "done");
}

/* ---- READ */

static void test_nothing_to_offer(void **state)
{
    (void)state;
    open_turn_stage();
    stage_begin_at(chat_turn_start, STREAM);
    assert_int_equal(stage.n_relayed, 1);
    stage_close();
}

static void test_tools_are_not_wanted(void **state)
{
    (void)state;
    open_turn_stage();
    begin_chat(STREAM ",\"tool_choice\":\"none\"");
    assert_int_equal(stage.n_relayed, 1);
    stage_close();
}

static void test_tool_needs_approval(void **state)
{
    (void)state;
    open_turn_stage();
    offer_tool();
    stage.server.approval.mode = MCP_APPROVAL_ALWAYS;
    stage_begin_at(chat_turn_start, STREAM);
    assert_int_equal(stage.n_relayed, 1);
    stage_close();
}

static void test_large_request_is_read_elsewhere(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_read();
    assert_int_equal(stage.n_calls, 0);
    stage_settle();
    assert_asked("mcp__s__t");
    end_with_answer();
}

/* ---- ASK */

static void test_call_cannot_be_started(void **state)
{
    (void)state;
    open_turn_stage();
    stage.no_call = unreachable;
    reach_chat_round();
    assert_over(502, "Nobody there.");
}

static void test_forced_choice_is_for_one_round(void **state)
{
    (void)state;
    open_turn_stage();
    begin_chat(STREAM ",\"tool_choice\":\"required\"");
    assert_asked("\"required\"");
    upstream_begins(200);
    upstream_says(CALLS("mcp__s__t") STOPS("tool_calls"));
    upstream_ends(NULL);
    server_answers(0, "42");
    assert_asked("\"tool_choice\":\"auto\"");
    end_with_answer();
}

/* ---- ROUND */

static void test_answer_comes(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_speech();
    assert_true(client_was_told("hello"));
    upstream_says(STOPS("stop"));
    assert_stage("done");
    upstream_ends(NULL);
    assert_int_equal(stage.n_cancelled, 0);
    assert_over(200, "data: [DONE]");
}

static void test_body_does_not_end(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_done();
    fake_loop_pass(stage.worker.loop, 60 * 1000);
    assert_int_equal(stage.n_cancelled, 1);
    assert_over(200, "data: [DONE]");
}

static void test_object_is_answered(void **state)
{
    (void)state;
    open_turn_stage();
    begin_chat(MESSAGES);
    upstream_begins(200);
    upstream_says(
        "{\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"hi\"},"
        "\"finish_reason\":\"stop\"}]}");
    assert_int_equal(stage.x.status, 0);
    upstream_ends(NULL);
    assert_over(200, "\"hi\"");
}

static void test_client_reads_slowly(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_speech();
    stage.x.handler->on_blocked(stage.x.arg, true);
    assert_true(stage.call.is_paused);
    stage.x.handler->on_blocked(stage.x.arg, false);
    assert_false(stage.call.is_paused);
    client_leaves();
    stage_close();
}

/* ---- CLOSE */

static void test_upstream_is_away(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_round();
    upstream_ends(&unreachable);
    assert_over(502, "Nobody there.");
}

static void test_first_refusal_passes_as_it_is(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_refusal();
    upstream_says("1}");
    upstream_ends(NULL);
    assert_over(400, "{\"error\":1}");
}

static void test_refusal_breaks_off(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_refusal();
    upstream_ends(&broken);
    assert_stage("over");
    assert_true(stage.x.is_aborted);
    stage_close();
}

static void test_later_refusal_ends_the_stream(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_calls();
    server_answers(0, "42");
    upstream_begins(400);
    upstream_says("{\"error\":{\"message\":\"no more\"}}");
    upstream_ends(NULL);
    assert_over(200, "no more");
}

/* It may have no end. */
static void test_endless_refusal_is_not_waited_for(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_calls();
    server_answers(0, "42");
    upstream_begins(500);
    while (stage.has_call)
        upstream_says(
            "{\"error\":{\"message\":\"and so on and so on and so on and so on and so on");
    assert_over(200, "data: [DONE]");
}

static void test_stream_breaks_off(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_speech();
    upstream_ends(&broken);
    assert_over(200, "It broke off.");
}

static void test_rounds_are_limited(void **state)
{
    (void)state;
    open_with("--max-tool-rounds", "1");
    reach_chat_calls();
    assert_int_equal(stage.n_tasks, 0);
    assert_over(200, "tool_iteration_limit");
}

/* ---- CALLS */

static void test_call_is_run(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_calls();
    assert_stage("calls");
    server_answers(0, "4\"2");
    assert_asked("\"tool_call_id\":\"c1\",\"content\":\"4\\\"2\"");
    end_with_answer();
}

static void test_failed_call_is_told_to_the_model(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_calls();
    server_answers(0, NULL);
    assert_asked("\"content\":\"Error: no\"");
    end_with_answer();
}

static void test_result_of_nothing(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_calls();
    server_answers(0, "");
    assert_asked("\"content\":\"[no content]\"");
    end_with_answer();
}

static void test_two_calls_are_waited_for(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_round();
    upstream_begins(200);
    upstream_says(CALLS("mcp__s__t") CHUNK(
        "\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"c2\",\"type\":"
        "\"function\",\"function\":{\"name\":\"mcp__s__t\",\"arguments\":\"\"}}]}")
                      STOPS("tool_calls"));
    assert_int_equal(stage.n_tasks, 2);
    server_answers(1, "second");
    assert_stage("calls");
    assert_int_equal(stage.n_calls, 1);
    server_answers(0, "first");
    assert_true(strstr(buf_cstr(&stage.asked), "first") < strstr(buf_cstr(&stage.asked), "second"));
    end_with_answer();
}

/* The body of the round that has called may end while its tools run. */
static void test_body_ends_during_calls(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_round();
    upstream_begins(200);
    upstream_says(CALLS("mcp__s__t") STOPS("tool_calls"));
    assert_stage("calls");
    upstream_ends(NULL);
    assert_stage("calls");
    server_answers(0, "42");
    end_with_answer();
}

static void test_broken_arguments_are_no_call(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_round();
    upstream_begins(200);
    upstream_says(
        CHUNK("\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\","
              "\"function\":{\"name\":\"mcp__s__t\",\"arguments\":\"{\"}}]}") STOPS("tool_calls"));
    assert_int_equal(stage.n_tasks, 0);
    assert_asked("\"arguments\":\"{}\"");
    assert_asked("Error: Invalid arguments");
    end_with_answer();
}

static void test_clients_call_ends_the_answer(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_round();
    upstream_begins(200);
    upstream_says(CALLS("mcp__s__t")
                      CHUNK("\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"c2\",\"type\":"
                            "\"function\",\"function\":{\"name\":\"mine\",\"arguments\":\"{}\"}}]}")
                          STOPS("tool_calls"));
    upstream_ends(NULL);
    assert_stage("calls");
    server_answers(0, "42");
    assert_int_equal(stage.n_calls, 1);
    assert_over(200, "\"name\":\"mine\"");
}

static void test_unknown_tool_is_answered(void **state)
{
    (void)state;
    open_with("--chat-unknown-tools", "error");
    reach_chat_round();
    upstream_begins(200);
    upstream_says(CALLS("mine") STOPS("tool_calls"));
    assert_int_equal(stage.n_tasks, 0);
    assert_asked("{\\\"error\\\":\\\"Tool 'mine' is not a registered MCP tool.\\\"}");
    end_with_answer();
}

static void test_call_that_was_not_forced(void **state)
{
    (void)state;
    open_turn_stage();
    begin_chat(STREAM ",\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"other\"}}");
    upstream_begins(200);
    upstream_says(CALLS("mcp__s__t") STOPS("tool_calls"));
    assert_int_equal(stage.n_tasks, 0);
    assert_asked("Error: Not run: the tool to call is other.");
    end_with_answer();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_offer),
        cmocka_unit_test(test_tools_are_not_wanted),
        cmocka_unit_test(test_tool_needs_approval),
        cmocka_unit_test(test_large_request_is_read_elsewhere),
        cmocka_unit_test(test_call_cannot_be_started),
        cmocka_unit_test(test_forced_choice_is_for_one_round),
        cmocka_unit_test(test_answer_comes),
        cmocka_unit_test(test_body_does_not_end),
        cmocka_unit_test(test_object_is_answered),
        cmocka_unit_test(test_client_reads_slowly),
        cmocka_unit_test(test_upstream_is_away),
        cmocka_unit_test(test_first_refusal_passes_as_it_is),
        cmocka_unit_test(test_refusal_breaks_off),
        cmocka_unit_test(test_later_refusal_ends_the_stream),
        cmocka_unit_test(test_endless_refusal_is_not_waited_for),
        cmocka_unit_test(test_stream_breaks_off),
        cmocka_unit_test(test_rounds_are_limited),
        cmocka_unit_test(test_call_is_run),
        cmocka_unit_test(test_failed_call_is_told_to_the_model),
        cmocka_unit_test(test_result_of_nothing),
        cmocka_unit_test(test_two_calls_are_waited_for),
        cmocka_unit_test(test_body_ends_during_calls),
        cmocka_unit_test(test_broken_arguments_are_no_call),
        cmocka_unit_test(test_clients_call_ends_the_answer),
        cmocka_unit_test(test_unknown_tool_is_answered),
        cmocka_unit_test(test_call_that_was_not_forced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
