/* test_turn_summary.c -- what the stages of a summary come to (turn_summary.h): one that the client asks
 * for, one that takes the place of a context which has grown too long, and what of it may fail. */
#include "turn_fixture.h"

#include "lib/failing_malloc.h"

static const struct err broken = {.code = ERR_UPSTREAM_ERROR, .msg = "It broke off."};
static const struct err unreachable = {.code = ERR_UPSTREAM_UNAVAILABLE, .msg = "Nobody there."};

#define STREAM    "\"stream\":true,\"store\":false"
#define WHOLE     "\"store\":false"
#define AUTOMATIC ",\"context_management\":[{\"type\":\"compaction\",\"compact_threshold\":1000}]"
#define QUESTION  "Everything above is about to be replaced"
#define TOO_LONG                                                                                   \
    "{\"error\":{\"message\":\"This model's maximum context length is 1000 tokens.\","             \
    "\"code\":\"context_length_exceeded\"}}"

/* Tokens are estimated: nobody asks the upstream for them. */
static void open_uncounted_stage(void)
{
    open_turn_stage();
    token_memory_free(stage.live.counts);
    stage.live.counts = NULL;
}

static void assert_state(enum turn_state state)
{
    assert_non_null(stage_turn());
    assert_int_equal(stage_turn()->flight.stage, state);
}

static bool is_asked(const char *words)
{
    return strstr(buf_cstr(&stage.asked), words) != NULL;
}

/* The end of the body is not waited for when the model is asked again at once. */
static void answer(const char *chunks)
{
    const unsigned n_calls = stage.n_calls;

    upstream_begins(200);
    upstream_says(chunks);
    if (stage.n_calls == n_calls)
        upstream_ends(NULL);
}

static void refuse(int status, const char *body)
{
    upstream_begins(status);
    upstream_says(body);
    upstream_ends(NULL);
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

/* ---- it is what the client has asked for */

static void test_client_asks_by_an_item(void **state)
{
    (void)state;
    open_uncounted_stage();
    reach_summary_speech();
    assert_true(is_asked(QUESTION));
    assert_true(client_was_told("event: response.in_progress"));
    assert_false(client_was_told("compaction"));
    upstream_says(SAYS("tea.") STOPS("stop"));
    assert_true(client_was_told("\"encrypted_content\":\"\""));
    assert_true(client_was_told("event: response.compaction.compacting"));
    assert_true(client_was_told("\"encrypted_content\":\"gw1."));
    upstream_ends(NULL);
    assert_int_equal(stage.n_calls, 1);
    assert_ended("event: response.completed");
}

static void test_answer_is_no_stream(void **state)
{
    (void)state;
    open_uncounted_stage();
    begin_long(10, TRIGGER, WHOLE);
    answer(SAYS("Goal: tea.") STOPS("stop"));
    assert_true(client_was_told("\"output\":[{\"id\":\"cmp_"));
    assert_true(client_was_told("\"status\":\"completed\""));
    assert_refused(200);
}

static void test_client_asks_the_endpoint(void **state)
{
    (void)state;
    open_uncounted_stage();
    stage_begin_at(turn_start_compact, "\"input\":\"I want tea.\",\"stream\":true");
    assert_true(is_asked(QUESTION));
    answer(SAYS("Goal: tea.") STOPS("stop"));
    assert_true(client_was_told("\"object\":\"response.compaction\""));
    assert_true(client_was_told("\"text\":\"I want tea.\""));
    assert_true(client_was_told("\"encrypted_content\":\"gw1."));
    assert_int_equal(stage.n_saved, 0);
    assert_refused(200);
}

/* Cut for its length, it is what there is. */
static void test_summary_is_cut(void **state)
{
    (void)state;
    open_uncounted_stage();
    reach_summary();
    answer(SAYS("Goal: te") STOPS("length"));
    assert_ended("event: response.completed");
}

static void test_model_thinks_first(void **state)
{
    (void)state;
    open_uncounted_stage();
    reach_summary();
    answer(CHUNK("\"delta\":{\"reasoning_content\":\"Hm.\"}") SAYS("Goal: tea.") STOPS("stop"));
    assert_false(client_was_told("Hm."));
    assert_false(client_was_told("reasoning_text"));
    assert_ended("event: response.completed");
}

/* Silence is shown as a stream that has begun, and then by signs of life. */
static void test_model_takes_its_time(void **state)
{
    (void)state;
    open_uncounted_stage();
    reach_summary();
    assert_int_equal(stage.x.status, 0);
    fake_loop_pass(stage.worker.loop, stage.load.config.early_error_window_ms);
    assert_true(client_was_told("event: response.created"));
    fake_loop_pass(stage.worker.loop, stage.load.config.heartbeat_interval_ms);
    assert_true(client_was_told(": heartbeat"));
    upstream_ends(&unreachable);
    assert_ended("event: response.failed");
}

static void test_context_is_large(void **state)
{
    (void)state;
    open_uncounted_stage();
    reach_compacted();
    stage_settle();
    assert_true(client_was_told("event: response.compaction.compacting"));
    assert_ended("event: response.completed");
}

static void test_response_is_saved(void **state)
{
    (void)state;
    open_uncounted_stage();
    begin_long(10, TRIGGER, "\"stream\":true");
    upstream_begins(200);
    upstream_says(SAYS("Goal: tea.") STOPS("stop"));
    assert_state(TURN_SAVE);
    stage_settle();
    upstream_ends(NULL);
    assert_int_equal(stage.n_saved, 1);
    assert_ended("event: response.completed");
}

/* ---- it is not to be had */

static void test_upstream_is_away(void **state)
{
    (void)state;
    open_uncounted_stage();
    reach_summary();
    upstream_ends(&unreachable);
    assert_refused(502);

    open_uncounted_stage();
    stage.no_call = unreachable;
    reach_summary();
    assert_refused(502);
}

static void test_upstream_refuses(void **state)
{
    (void)state;
    open_uncounted_stage();
    reach_summary();
    refuse(400, "{\"error\":{\"message\":\"too hot\"}}");
    assert_true(client_was_told("too hot"));
    assert_refused(400);
}

static void test_upstream_breaks_off(void **state)
{
    (void)state;
    open_uncounted_stage();
    reach_summary_speech();
    upstream_ends(&broken);
    assert_false(client_was_told("compaction"));
    assert_ended("event: response.failed");
}

static void test_model_writes_nothing(void **state)
{
    static const char *const answers[] = {
        STOPS("stop"),
        SAYS(" \\n\\t") STOPS("stop"),
        CHUNK("\"delta\":{\"reasoning_content\":\"Hm.\"}") STOPS("length"),
        CHUNK("\"delta\":{\"refusal\":\"No.\"}") STOPS("stop"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        open_uncounted_stage();
        reach_summary();
        answer(answers[i]);
        assert_true(client_was_told("The model wrote no summary."));
        assert_false(client_was_told("compaction"));
        assert_ended("event: response.failed");
    }
    open_uncounted_stage();
    stage_begin_at(turn_start_compact, "\"input\":\"x\"");
    answer(STOPS("stop"));
    assert_refused(502);
}

static void test_filter_stops_it(void **state)
{
    (void)state;
    open_uncounted_stage();
    reach_summary();
    answer(SAYS("Goal: te") STOPS("content_filter"));
    assert_false(client_was_told("compaction"));
    assert_ended("event: response.failed");
}

/* ---- it is asked for again */

#define FUNCTION                                                                                   \
    ",\"tools\":[{\"type\":\"function\",\"name\":\"run\",\"parameters\":{\"type\":\"object\"}}]"

static void test_answer_is_a_call(void **state)
{
    (void)state;
    open_uncounted_stage();
    begin_long(10, TRIGGER, STREAM FUNCTION);
    assert_true(is_asked("\"tools\":["));
    assert_false(is_asked("tool_choice"));
    answer(CALLS("run") STOPS("tool_calls"));
    assert_state(TURN_SUMMARY);
    assert_false(is_asked("\"tools\":["));
    assert_true(is_asked(QUESTION));
    answer(SAYS("Goal: tea.") STOPS("stop"));
    assert_int_equal(stage.n_calls, 2);
    assert_ended("event: response.completed");

    open_uncounted_stage();
    begin_long(10, TRIGGER, STREAM FUNCTION);
    answer(CALLS("run") STOPS("tool_calls"));
    answer(CALLS("run") STOPS("tool_calls"));
    assert_true(client_was_told("The model wrote no summary."));
    assert_ended("event: response.failed");
}

static void begin_with_output(size_t n_bytes)
{
    struct buf items = {.limit = 0};

    buf_c(&items, ",{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"run\",\"arguments\":"
                  "\"{}\"},{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"");
    for (size_t i = 0; i < n_bytes; i++)
        buf_char(&items, 'o');
    buf_c(&items, "\"},{\"role\":\"user\",\"content\":\"last\"}" TRIGGER);
    begin_long(10, buf_cstr(&items), STREAM);
    buf_fini(&items);
}

/* First outputs of tools are cut, then turns are left out; the question stays. */
static void test_context_is_too_long(void **state)
{
    size_t n_before;

    (void)state;
    open_uncounted_stage();
    begin_with_output(5000);
    n_before = stage.asked.len;
    refuse(400, TOO_LONG);
    assert_state(TURN_SUMMARY);
    assert_true(stage.asked.len + 3000 < n_before);
    assert_true(is_asked("first"));
    assert_true(is_asked(QUESTION));
    refuse(400, TOO_LONG);
    assert_state(TURN_SUMMARY);
    assert_false(is_asked("first"));
    assert_true(is_asked("last"));
    assert_true(is_asked(QUESTION));
    answer(SAYS("Goal: tea.") STOPS("stop"));
    assert_int_equal(stage.n_calls, 3);
    assert_ended("event: response.completed");
}

static void test_context_stays_too_long(void **state)
{
    (void)state;
    open_uncounted_stage();
    begin_with_output(5000);
    refuse(400, TOO_LONG);
    refuse(400, TOO_LONG);
    refuse(400, TOO_LONG);
    assert_int_equal(stage.n_calls, 3);
    assert_int_equal(stage.x.why, ERR_CONTEXT_LENGTH);
    assert_refused(400);
}

/* ---- it takes the place of a context that has grown too long */

static void test_context_is_replaced(void **state)
{
    (void)state;
    open_uncounted_stage();
    begin_long(LONG_TEXT_BYTES, "", STREAM AUTOMATIC);
    assert_true(is_asked(QUESTION));
    assert_true(is_asked("bbbb"));
    assert_state(TURN_SUMMARY);
    answer(SAYS("Goal: tea.") STOPS("stop"));
    assert_state(TURN_ROUND);
    assert_int_equal(stage.n_calls, 2);
    assert_true(is_asked("Goal: tea."));
    assert_true(is_asked("first"));
    assert_true(is_asked("third"));
    assert_false(is_asked("bbbb"));
    assert_false(is_asked(QUESTION));
    assert_true(client_was_told("event: response.compaction.compacting"));
    assert_false(client_was_told("Goal"));
    answer(SAYS("so it is") STOPS("stop"));
    assert_true(client_was_told("so it is"));
    assert_ended("event: response.completed");
}

static void test_context_is_short(void **state)
{
    (void)state;
    open_uncounted_stage();
    begin_long(1000, "", STREAM AUTOMATIC);
    assert_state(TURN_ROUND);
    assert_false(is_asked(QUESTION));
    client_leaves();
    stage_close();
}

/* What the user says stays as it is. */
static void test_nothing_is_to_be_summarized(void **state)
{
    struct buf members = {.limit = 0};

    (void)state;
    open_uncounted_stage();
    buf_c(&members, STREAM AUTOMATIC ",\"input\":\"");
    for (size_t i = 0; i < LONG_TEXT_BYTES; i++)
        buf_char(&members, 'u');
    buf_char(&members, '"');
    (void)stage_begin(buf_cstr(&members));
    assert_state(TURN_ROUND);
    assert_false(is_asked(QUESTION));
    client_leaves();
    stage_close();
    buf_fini(&members);
}

/* Whatever becomes of it, the model is asked with the context as it was. */
static void assert_context_stays(void)
{
    assert_state(TURN_ROUND);
    assert_int_equal(stage.n_calls, 2);
    assert_true(is_asked("bbbb"));
    assert_false(is_asked(QUESTION));
    answer(SAYS("so it is") STOPS("stop"));
    assert_false(client_was_told("compaction"));
    assert_ended("event: response.completed");
}

static void test_automatic_summary_fails(void **state)
{
    (void)state;
    open_uncounted_stage();
    begin_long(LONG_TEXT_BYTES, "", STREAM AUTOMATIC);
    refuse(500, "{\"error\":{\"message\":\"too hot\"}}");
    assert_context_stays();

    open_uncounted_stage();
    begin_long(LONG_TEXT_BYTES, "", STREAM AUTOMATIC);
    upstream_begins(200);
    upstream_says(SAYS("Goal"));
    upstream_ends(&broken);
    assert_context_stays();

    open_uncounted_stage();
    begin_long(LONG_TEXT_BYTES, "", STREAM AUTOMATIC);
    answer(STOPS("stop"));
    assert_context_stays();
}

static void test_summary_is_no_smaller(void **state)
{
    struct buf text = {.limit = 0};

    (void)state;
    open_uncounted_stage();
    begin_long(LONG_TEXT_BYTES, "", STREAM AUTOMATIC);
    buf_c(&text, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"");
    for (size_t i = 0; i < LONG_TEXT_BYTES; i++)
        buf_char(&text, 's');
    buf_c(&text, "\"}}]}\n\n" STOPS("stop"));
    answer(buf_cstr(&text));
    assert_context_stays();
    buf_fini(&text);
}

/* The upstream cannot be reached for the summary: the round finds that out for itself. */
static void test_upstream_is_away_for_both(void **state)
{
    (void)state;
    open_uncounted_stage();
    stage.no_call = unreachable;
    begin_long(LONG_TEXT_BYTES, "", STREAM AUTOMATIC);
    assert_refused(502);
}

/* A tool has given too much: the next round goes on from a summary, and its item stands between. */
static void test_tool_gives_much(void **state)
{
    struct buf output = {.limit = 0};

    (void)state;
    open_uncounted_stage();
    (void)stage_begin(UNKEPT REMOTE AUTOMATIC);
    server_lists(0, TOOLS);
    answer(CALLS("mcp__s__t") STOPS("tool_calls"));
    for (size_t i = 0; i < 2 * LONG_TEXT_BYTES; i++)
        buf_char(&output, 'o');
    server_answers(1, buf_cstr(&output));
    assert_state(TURN_SUMMARY);
    assert_true(is_asked(QUESTION));
    assert_true(is_asked("oooo"));
    answer(SAYS("Goal: tea.") STOPS("stop"));
    assert_state(TURN_ROUND);
    assert_int_equal(stage.n_calls, 3);
    assert_true(is_asked("Goal: tea."));
    answer(SAYS("so it is") STOPS("stop"));
    assert_ended("event: response.completed");
    buf_fini(&output);
}

/* ---- memory runs out */

/* The upstream says the same whatever it is asked. */
static void answer_all(void)
{
    while (stage.has_call) {
        const unsigned n_calls = stage.n_calls;

        upstream_begins(200);
        if (stage.has_call)
            upstream_says(SAYS("Goal: tea.") STOPS("stop"));
        if (stage.has_call && stage.n_calls == n_calls)
            upstream_ends(NULL);
    }
}

static void begin_automatic(void)
{
    begin_long(LONG_TEXT_BYTES, "", STREAM AUTOMATIC);
}

static void begin_endpoint(void)
{
    stage_begin_at(turn_start_compact, "\"input\":\"I want tea.\"");
}

/* Whatever cannot be had, the turn ends, and nothing is left. */
static void test_each_allocation_fails(void **state)
{
    static void (*const begin[])(void) = {reach_summary, begin_automatic, begin_endpoint};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(begin); i++) {
        for (long n = 0, has_failed = 1; has_failed; n++) {
            open_uncounted_stage();
            failing_malloc_begin(n, FAILS_ONCE);
            begin[i]();
            answer_all();
            has_failed = failing_malloc_end();
            stage_settle();
            assert_true(stage.x.is_over);
            stage_close();
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_client_asks_by_an_item),
        cmocka_unit_test(test_answer_is_no_stream),
        cmocka_unit_test(test_client_asks_the_endpoint),
        cmocka_unit_test(test_summary_is_cut),
        cmocka_unit_test(test_model_thinks_first),
        cmocka_unit_test(test_model_takes_its_time),
        cmocka_unit_test(test_context_is_large),
        cmocka_unit_test(test_response_is_saved),
        cmocka_unit_test(test_upstream_is_away),
        cmocka_unit_test(test_upstream_refuses),
        cmocka_unit_test(test_upstream_breaks_off),
        cmocka_unit_test(test_model_writes_nothing),
        cmocka_unit_test(test_filter_stops_it),
        cmocka_unit_test(test_answer_is_a_call),
        cmocka_unit_test(test_context_is_too_long),
        cmocka_unit_test(test_context_stays_too_long),
        cmocka_unit_test(test_context_is_replaced),
        cmocka_unit_test(test_context_is_short),
        cmocka_unit_test(test_nothing_is_to_be_summarized),
        cmocka_unit_test(test_automatic_summary_fails),
        cmocka_unit_test(test_summary_is_no_smaller),
        cmocka_unit_test(test_upstream_is_away_for_both),
        cmocka_unit_test(test_tool_gives_much),
        cmocka_unit_test(test_each_allocation_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
