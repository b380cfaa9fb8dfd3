/* test_turn_round.c -- what the stages from the first question to the last byte come to
 * (turn_stages.h): rounds that follow each other, fail, are cut or sent again, and how the answer
 * ends. */
#include "turn_fixture.h"

static const struct err broken = {.code = ERR_UPSTREAM_ERROR, .msg = "It broke off."};
static const struct err unreachable = {.code = ERR_UPSTREAM_UNAVAILABLE, .msg = "Nobody there."};

static void assert_state(enum turn_state state)
{
    assert_non_null(stage_turn());
    assert_int_equal(stage_turn()->flight.stage, state);
}

/* The stream has ended so, and nothing is left. */
static void assert_ended(const char *event)
{
    assert_null(stage_turn());
    assert_true(stage.x.is_over);
    assert_false(stage.x.is_aborted);
    assert_int_equal(stage.x.status, 200);
    if (!client_was_told(event))
        fail_msg("not %s: %s", event, buf_cstr(&stage.x.said));
    stage_close();
}

static void assert_refused(int status)
{
    assert_null(stage_turn());
    assert_int_equal(stage.x.status, status);
    stage_close();
}

static void assert_asked(const char *words)
{
    if (strstr(buf_cstr(&stage.asked), words) == NULL)
        fail_msg("no %s in %s", words, buf_cstr(&stage.asked));
}

/* ---- ASK */

static void test_call_cannot_be_started(void **state)
{
    (void)state;
    open_turn_stage();
    stage.no_call = unreachable;
    reach_round();
    assert_refused(502);
}

/* Nobody reads what the client has not taken yet. */
static void test_client_reads_slowly(void **state)
{
    (void)state;
    open_turn_stage();
    reach_round();
    stage.x.handler->on_blocked(stage.x.arg, true);
    assert_true(stage.call.is_paused);
    stage.x.handler->on_blocked(stage.x.arg, false);
    assert_false(stage.call.is_paused);
    client_leaves();
    stage_close();

    open_turn_stage();
    reach_recognise();
    stage.x.handler->on_blocked(stage.x.arg, true);
    flight_upstream_known(&stage.worker, stage.worker.reaches);
    assert_true(stage.call.is_paused);
    client_leaves();
    stage_close();
}

/* ---- ROUND */

static void test_answer_comes(void **state)
{
    (void)state;
    open_turn_stage();
    reach_speech();
    assert_true(client_was_told("hello"));
    upstream_says(STOPS("stop"));
    assert_state(TURN_DONE);
    upstream_ends(NULL);
    assert_int_equal(stage.n_cancelled, 0);
    assert_ended("event: response.completed");
}

/* An end of the body that does not come is not waited for. */
static void test_body_does_not_end(void **state)
{
    (void)state;
    open_turn_stage();
    reach_done();
    fake_loop_pass(stage.worker.loop, 60 * 1000);
    assert_int_equal(stage.n_cancelled, 1);
    assert_ended("event: response.completed");
}

/* Nothing has been shown: it is an HTTP error, which can be tried again. */
static void test_upstream_is_away(void **state)
{
    (void)state;
    open_turn_stage();
    reach_round();
    upstream_ends(&unreachable);
    assert_refused(502);
}

static void test_upstream_refuses(void **state)
{
    (void)state;
    open_turn_stage();
    reach_round();
    upstream_begins(400);
    upstream_says("{\"error\":{\"message\":\"too hot\"}}");
    assert_state(TURN_ROUND);
    upstream_ends(NULL);
    assert_true(client_was_told("too hot"));
    assert_refused(400);
}

/* The stream has begun, since the first round was good or took its time: its end says why. */
static void test_later_round_is_refused(void **state)
{
    (void)state;
    open_turn_stage();
    reach_calls();
    server_answers(1, "x");
    upstream_begins(500);
    upstream_says("{\"error\":{\"message\":\"too hot\"}}");
    upstream_ends(NULL);
    assert_ended("event: response.failed");

    open_turn_stage();
    reach_round();
    fake_loop_pass(stage.worker.loop, stage.load.config.early_error_window_ms);
    upstream_begins(500);
    upstream_says("{\"error\":{\"message\":\"too hot\"}}");
    upstream_ends(NULL);
    assert_ended("event: response.failed");
}

/* A refusal without an end is not waited for. */
static void test_upstream_refuses_at_length(void **state)
{
    struct buf words = {.limit = 0};

    (void)state;
    for (size_t i = 0; i < WORKER_LARGE_BYTES; i++)
        buf_char(&words, 'a');
    open_turn_stage();
    reach_round();
    upstream_begins(500);
    upstream_says(buf_cstr(&words));
    assert_int_equal(stage.n_cancelled, 1);
    assert_refused(502);
    buf_fini(&words);
}

static void test_upstream_breaks_off(void **state)
{
    (void)state;
    open_turn_stage();
    reach_speech();
    upstream_ends(&broken);
    assert_ended("event: response.failed");
}

/* Silence is shown as a stream that has begun, and then by signs of life. */
static void test_model_is_silent(void **state)
{
    (void)state;
    open_turn_stage();
    reach_round();
    assert_int_equal(stage.x.status, 0);
    fake_loop_pass(stage.worker.loop, stage.load.config.early_error_window_ms);
    assert_true(client_was_told("event: response.created"));
    fake_loop_pass(stage.worker.loop, stage.load.config.heartbeat_interval_ms);
    assert_true(client_was_told(": heartbeat"));
    upstream_ends(&unreachable);
    assert_ended("event: response.failed");
}

/* ---- HEAR, CLOSE: what is large is read and written on the pool */

static void test_large_event(void **state)
{
    (void)state;
    open_turn_stage();
    reach_hear();
    assert_true(stage.call.is_paused);
    stage_settle();
    assert_state(TURN_ROUND);
    assert_false(stage.call.is_paused);
    assert_true(client_was_told("aaaa"));
    upstream_says(STOPS("stop"));
    assert_state(TURN_CLOSE);
    stage_settle();
    assert_ended("event: response.completed");
}

/* ---- CALLS, DECIDE: another round */

static void test_call_is_answered(void **state)
{
    (void)state;
    open_turn_stage();
    reach_calls();
    server_answers(1, "forty-two");
    assert_state(TURN_ROUND);
    assert_int_equal(stage.n_calls, 2);
    assert_asked("forty-two");
    upstream_begins(200);
    upstream_says(SAYS("so it is") STOPS("stop"));
    upstream_ends(NULL);
    assert_ended("event: response.completed");
}

/* That is for the model to deal with. */
static void test_call_fails(void **state)
{
    (void)state;
    open_turn_stage();
    reach_calls();
    server_answers(1, NULL);
    assert_true(client_was_told("event: response.mcp_call.failed"));
    assert_state(TURN_ROUND);
    assert_int_equal(stage.n_calls, 2);
    client_leaves();
    stage_close();
}

#define TWO_CALLS                                                                                  \
    CHUNK("\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\","           \
          "\"function\":{\"name\":\"mcp__s__t\",\"arguments\":\"{}\"}},{\"index\":1,"              \
          "\"id\":\"c2\",\"type\":\"function\",\"function\":{\"name\":\"mcp__s__t\","              \
          "\"arguments\":\"{}\"}}]}")

/* Side by side; the model is asked when all have ended. */
static void test_calls_run_together(void **state)
{
    (void)state;
    open_turn_stage();
    reach_list();
    server_lists(0, TOOLS);
    upstream_begins(200);
    upstream_says(TWO_CALLS STOPS("tool_calls"));
    upstream_ends(NULL);
    assert_int_equal(stage.n_tasks, 3);
    server_answers(2, "second");
    assert_state(TURN_CALLS);
    server_answers(1, "first");
    assert_true(client_was_told("event: response.mcp_call.completed"));
    assert_state(TURN_ROUND);
    assert_asked("first");
    assert_asked("second");
    client_leaves();
    stage_close();
}

static void test_second_call_is_left(void **state)
{
    (void)state;
    open_turn_stage();
    reach_list();
    server_lists(0, TOOLS);
    upstream_begins(200);
    upstream_says(TWO_CALLS STOPS("tool_calls"));
    upstream_ends(NULL);
    server_answers(2, "second");
    client_leaves();
    assert_int_equal(stage.n_tasks_cancelled, 1);
    stage_close();
}

static void test_no_tokens_are_left(void **state)
{
    (void)state;
    open_turn_stage();
    (void)stage_begin(UNKEPT ",\"max_output_tokens\":16" REMOTE);
    server_lists(0, TOOLS);
    upstream_begins(200);
    upstream_says(CALLS("mcp__s__t") CHUNK(
        "\"delta\":{},\"finish_reason\":\"tool_calls\"") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":16,"
                                                         "\"total_tokens\":17}}\n\ndata: [DONE]\n\n");
    upstream_ends(NULL);
    server_answers(1, "forty-two");
    assert_int_equal(stage.n_calls, 1);
    assert_ended("event: response.incomplete");
}

/* ---- SHORTEN */

#define TOO_LONG                                                                                   \
    "{\"error\":{\"message\":\"This model's maximum context length is 10 tokens.\","               \
    "\"code\":\"context_length_exceeded\"}}"
#define LONG                                                                                       \
    "\"stream\":true,\"store\":false,\"input\":[{\"role\":\"user\",\"content\":\"first\"},"        \
    "{\"role\":\"assistant\",\"content\":\"second\"},{\"role\":\"user\",\"content\":\"third\"}]"

static void refuse_length(void)
{
    upstream_begins(400);
    upstream_says(TOO_LONG);
    upstream_ends(NULL);
}

static void test_conversation_is_shortened(void **state)
{
    (void)state;
    open_turn_stage();
    (void)stage_begin(LONG ",\"truncation\":\"auto\"");
    assert_asked("first");
    refuse_length();
    assert_state(TURN_ROUND);
    assert_int_equal(stage.n_calls, 2);
    assert_null(strstr(buf_cstr(&stage.asked), "first"));
    assert_asked("third");
    upstream_begins(200);
    upstream_says(STOPS("stop"));
    upstream_ends(NULL);
    assert_ended("event: response.completed");
}

/* Only when that is asked for, and as long as there is something to leave out. */
static void test_conversation_is_too_long(void **state)
{
    (void)state;
    open_turn_stage();
    (void)stage_begin(LONG);
    refuse_length();
    assert_refused(400);

    open_turn_stage();
    (void)stage_begin(UNKEPT ",\"truncation\":\"auto\"");
    refuse_length();
    assert_true(client_was_told("maximum context length"));
    assert_refused(400);
}

/* ---- COUNT, FIT */

static void count_as(const char *answer)
{
    assert_state(TURN_COUNT);
    upstream_begins(200);
    upstream_says(answer);
    upstream_ends(NULL);
}

static void test_measured_conversation_is_shortened(void **state)
{
    (void)state;
    open_turn_stage();
    (void)stage_begin(LONG MEASURED);
    assert_asked("first");
    count_as("{\"input_tokens\":17}");
    assert_state(TURN_ROUND);
    assert_int_equal(stage.n_calls, 2);
    assert_null(strstr(buf_cstr(&stage.asked), "first"));
    assert_asked("third");
    upstream_begins(200);
    upstream_says(STOPS("stop"));
    upstream_ends(NULL);
    assert_ended("event: response.completed");
}

static void test_measured_conversation_is_sent_or_refused(void **state)
{
    (void)state;
    open_turn_stage();
    reach_measure();
    count_as("{\"input_tokens\":16}"); /* just fits */
    assert_state(TURN_ROUND);
    client_leaves();
    stage_close();

    open_turn_stage();
    reach_measure();
    count_as("{\"input_tokens\":17}"); /* and has nothing to leave out */
    assert_true(client_was_told("length is 16 tokens, but the request has 17"));
    assert_int_equal(stage.n_calls, 1);
    assert_refused(400);

    open_turn_stage();
    reach_measure();
    for (unsigned way = 0; way < 3; way++) {
        upstream_begins(404);
        upstream_ends(NULL);
    }
    assert_state(TURN_ROUND); /* nobody can count it */
    assert_int_equal(stage.n_calls, 4);
    client_leaves();
    stage_close();
}

/* ---- RECORD, SAVE, CONCLUDE */

static void test_response_is_saved(void **state)
{
    (void)state;
    open_turn_stage();
    reach_save();
    assert_false(client_was_told("event: response.completed"));
    store_reports(NULL);
    assert_int_equal(stage.n_saved, 1);
    upstream_ends(NULL);
    assert_ended("event: response.completed");
}

static void test_response_is_not_saved(void **state)
{
    static const char *const goes_on[] = {"--store-failure", "continue", NULL};
    const struct err away = {.code = ERR_STORE, .msg = "The store is away."};

    (void)state;
    open_turn_stage();
    reach_save();
    store_reports(&away);
    upstream_ends(NULL);
    assert_ended("event: response.failed");

    stage_open(goes_on);
    reach_save();
    store_reports(&away);
    upstream_ends(NULL);
    assert_ended("event: response.completed");
}

/* The upstream ends its body while the store is at work. */
static void test_body_ends_first(void **state)
{
    (void)state;
    open_turn_stage();
    reach_save();
    upstream_ends(NULL);
    assert_state(TURN_SAVE);
    store_reports(NULL);
    assert_ended("event: response.completed");
}

static void test_large_response_is_saved(void **state)
{
    (void)state;
    open_turn_stage();
    reach_record();
    stage_settle();
    assert_int_equal(stage.n_saved, 1);
    assert_ended("event: response.completed");
}

static void test_object_is_answered(void **state)
{
    (void)state;
    open_turn_stage();
    (void)stage_begin("\"input\":\"x\",\"store\":false");
    upstream_begins(200);
    upstream_says(SAYS("hello"));
    assert_int_equal(stage.x.status, 0);
    upstream_says(STOPS("stop"));
    upstream_ends(NULL);
    assert_ended("\"status\":\"completed\"");

    open_turn_stage();
    (void)stage_begin("\"input\":\"x\",\"store\":false");
    upstream_begins(200);
    upstream_says(SAYS("hello"));
    upstream_ends(&broken);
    assert_refused(502);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_cannot_be_started),
        cmocka_unit_test(test_client_reads_slowly),
        cmocka_unit_test(test_answer_comes),
        cmocka_unit_test(test_body_does_not_end),
        cmocka_unit_test(test_upstream_is_away),
        cmocka_unit_test(test_upstream_refuses),
        cmocka_unit_test(test_later_round_is_refused),
        cmocka_unit_test(test_upstream_refuses_at_length),
        cmocka_unit_test(test_upstream_breaks_off),
        cmocka_unit_test(test_model_is_silent),
        cmocka_unit_test(test_large_event),
        cmocka_unit_test(test_call_is_answered),
        cmocka_unit_test(test_call_fails),
        cmocka_unit_test(test_calls_run_together),
        cmocka_unit_test(test_second_call_is_left),
        cmocka_unit_test(test_no_tokens_are_left),
        cmocka_unit_test(test_conversation_is_shortened),
        cmocka_unit_test(test_conversation_is_too_long),
        cmocka_unit_test(test_measured_conversation_is_shortened),
        cmocka_unit_test(test_measured_conversation_is_sent_or_refused),
        cmocka_unit_test(test_response_is_saved),
        cmocka_unit_test(test_response_is_not_saved),
        cmocka_unit_test(test_body_ends_first),
        cmocka_unit_test(test_large_response_is_saved),
        cmocka_unit_test(test_object_is_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
