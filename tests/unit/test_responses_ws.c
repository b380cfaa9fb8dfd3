/* test_responses_ws.c -- lanes and contexts of a WebSocket, between a client and turns that are fakes. */
#include "responses_ws_fixture.h"

#define CREATED(id)                                                                                \
    "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"" id     \
    "\"}}\n\n"
#define ERROR(status, type, code, message, param)                                                  \
    "{\"type\":\"error\",\"status\":" status ",\"error\":{\"message\":\"" message                  \
    "\",\"type\":\"" type "\",\"param\":" param ",\"code\":\"" code "\"}"
#define INVALID "invalid_request_error"

/* ---- messages */

static void test_events_are_messages_of_their_lane(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    say_create("a.1", ",\"input\":\"x\"");
    assert_int_equal(ws_stage.n_turns, 1);
    assert_str_c(turn(0)->body,
                 "{\"type\":\"response.create\",\"stream_id\":\"a.1\",\"input\":\"x\"}");
    assert_str_c(http_request_header(turn(0)->request, STR("authorization")), "Bearer key");
    assert_str_c(peer_request_id(turn(0)->peer), "req_1-1");
    say_create("", "");
    peer_start(turn(0)->peer, 200, NULL, 0);
    turn_says(0, ": no event\n\n" CREATED("resp_1") "event: x\ndata: {\"type\":\"x\"}\n\n");
    turn_says(1, CREATED("resp_2"));
    expect_said("{\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\"},\"stream_id\":"
                "\"a.1\"}\n{\"type\":\"x\",\"stream_id\":\"a.1\"}\n"
                "{\"type\":\"response.created\",\"response\":{\"id\":\"resp_2\"}}\n");
    turn_ends(0);
    turn_ends(1);
    expect_said("");
    ws_stage_close();
}

static void test_wrong_messages_get_errors(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    say("{\"type\":\"session.update\",\"stream_id\":\"a\"}");
    expect_said(
        ERROR("400", INVALID, "invalid_value",
              "Invalid value: 'session.update'. Supported values are: 'response.create' and "
              "'response.steer'.",
              "\"type\"") ",\"stream_id\":\"a\"}\n");
    say_create("a b", "");
    expect_said(ERROR("400", INVALID, "invalid_stream_id",
                      "'stream_id' must have 1 to 256 letters, digits, '_', '-' or '.'.",
                      "\"stream_id\"") "}\n");
    say("{\"type\":\"response.create\",\"stream_id\":7}");
    expect_says("\"invalid_stream_id\"");
    say("{}");
    expect_says("\"param\":\"type\",\"code\":\"missing_required_parameter\"");
    say("[]");
    expect_says("\"status\":400");
    say("{\"type\":\"response.processed\",\"response_id\":\"resp_1\"}");
    expect_said("");
    assert_int_equal(ws_stage.n_turns, 0);
    ws_stage_close();
}

static void test_nonsense_in_a_row_closes(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    for (int i = 0; i < 7; i++)
        say("{");
    say("{\"type\":\"response.processed\"}");
    for (int i = 0; i < 7; i++)
        say("\"x\"");
    ws_settle();
    assert_false(ws_stage.ws.is_closed);
    say("{");
    ws_settle();
    assert_true(ws_stage.ws.is_closed);
    assert_int_equal(ws_stage.ws.code, WS_POLICY_VIOLATION);
    ws_stage_close();
}

static void test_steering_fails(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    say("{\"type\":\"response.steer\",\"previous_response_id\":\"resp_1\",\"input\":\"x\","
        "\"stream_id\":\"a\"}");
    expect_said("{\"type\":\"response.steer.failed\",\"sequence_number\":0,\"steer\":{"
                "\"previous_response_id\":\"resp_1\",\"input\":\"x\"},\"error\":{\"type\":"
                "\"invalid_request_error\",\"code\":\"response_not_found\",\"message\":\"No "
                "response 'resp_1' on this connection.\"},\"stream_id\":\"a\"}\n");
    say_create("", "");
    turn_begins(0, "resp_1");
    say("{\"type\":\"response.steer\",\"previous_response_id\":\"resp_1\",\"input\":[{\"role\":"
        "\"system\"}]}");
    expect_says("\"code\":\"invalid_input\"");
    say("{\"type\":\"response.steer\",\"previous_response_id\":\"resp_1\",\"input\":[{\"role\":"
        "\"user\",\"content\":\"x\"}]}");
    expect_says("\"code\":\"steering_not_supported\"");
    say("{\"type\":\"response.steer\",\"input\":\"x\"}");
    expect_says("\"code\":\"missing_required_parameter\"");
    turn_keeps(0, "resp_1", make_context(NULL, 1, 1));
    say_create("", "");
    turn_begins(1, "resp_2");
    turn_ends(1);
    say("{\"type\":\"response.steer\",\"previous_response_id\":\"resp_1\",\"input\":\"x\"}");
    expect_says("\"code\":\"steering_not_supported\""); /* it can be continued still */
    ws_stage_close();
}

/* Clients end their turn for good when the server is overloaded. */
static void test_overload_is_said_as_a_rate(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    say_create("", "");
    turn_fails(0, ERR_OVERLOADED);
    expect_said(ERROR("429", "rate_limit_error", "rate_limit_exceeded", "It is so.",
                      "null") ",\"headers\":{\"retry-after\":\"1\"}}\n");
    ws_stage_close();
}

/* ---- lanes */

static void test_a_lane_runs_in_order(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    say_create("q", ",\"input\":\"1\"");
    say_create("q", ",\"input\":\"2\"");
    say_create("", ",\"input\":\"3\"");
    say_create("q", ",\"input\":\"4\"");
    assert_int_equal(ws_stage.n_turns, 2);
    turn_ends(0);
    assert_int_equal(ws_stage.n_turns, 3);
    assert_non_null(strstr(turn(2)->body.p, "\"input\":\"2\""));
    turn_fails(2, ERR_INVALID_VALUE);
    assert_int_equal(ws_stage.n_turns, 4);
    assert_non_null(strstr(turn(3)->body.p, "\"input\":\"4\""));
    ws_stage_close();
    assert_true(turn(1)->is_gone);
    assert_true(turn(3)->is_gone);
    assert_false(turn(0)->is_gone);
}

/* Each of many that are refused at once is answered, one after the other, and none inside another. */
static void test_refused_at_once(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    say_create("", "");
    for (int i = 0; i < 10; i++)
        say_create("", "");
    ws_stage.refuses = true;
    turn_ends(0);
    assert_int_equal(ws_stage.n_turns, 11);
    ws_stage_close();
}

static void test_limits(void **state)
{
    static const char *const args[] = {"--websocket-max-running",
                                       "2",
                                       "--websocket-max-waiting",
                                       "2",
                                       "--websocket-max-streams",
                                       "3",
                                       NULL};

    (void)state;
    ws_stage_open(args);
    say_create("a", "");
    say_create("b", "");
    say_create("c", "");
    say_create("", "");
    expect_said("");
    say_create("a", "");
    expect_says("\"code\":\"rate_limit_exceeded\"},\"stream_id\":\"a\"}");
    say_create("d", "");
    expect_says("\"websocket_stream_limit_reached\"},\"stream_id\":\"d\"");
    assert_int_equal(ws_stage.n_turns, 2);
    turn_ends(1);
    assert_int_equal(ws_stage.n_turns, 3);
    assert_non_null(strstr(turn(2)->body.p, "\"c\""));
    ws_stage_close();
}

static void test_waiting_bytes(void **state)
{
    static const char *const args[] = {"--websocket-max-waiting-size", "1KiB", NULL};
    struct buf more = {.limit = 0};

    (void)state;
    ws_stage_open(args);
    buf_c(&more, ",\"input\":\"");
    for (int i = 0; i < 600; i++)
        buf_char(&more, 'x');
    buf_char(&more, '"');
    say_create("", "");
    say_create("", buf_cstr(&more));
    expect_said("");
    say_create("", buf_cstr(&more));
    expect_says("websocket_max_waiting_size");
    turn_ends(0);
    say_create("", buf_cstr(&more));
    expect_said("");
    buf_fini(&more);
    ws_stage_close();
}

static void test_a_slow_client_blocks_all_lanes(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    say_create("a", "");
    ws_stage.ws.handler->on_blocked(ws_stage.ws.arg, true);
    say_create("b", "");
    assert_true(turn(0)->is_blocked);
    turn_ends(0);
    say_create("a", "");
    assert_int_equal(ws_stage.n_turns, 1); /* its answer would have no room */
    ws_stage.ws.handler->on_blocked(ws_stage.ws.arg, false);
    ws_settle();
    assert_int_equal(ws_stage.n_turns, 3);
    assert_false(turn(1)->is_blocked);
    ws_stage.ws.handler->on_blocked(ws_stage.ws.arg, true);
    assert_true(turn(1)->is_blocked);
    assert_true(turn(2)->is_blocked);
    ws_stage.ws.handler->on_blocked(ws_stage.ws.arg, false);
    assert_false(turn(2)->is_blocked);
    ws_stage_close();
}

/* A message of one byte that is refused has an answer of some hundred. */
static void test_refusals_that_are_not_read(void **state)
{
    static const char *const args[] = {"--websocket-max-pending", "1KiB", NULL};
    const char *const unknown = "{\"type\":\"x\"}";

    (void)state;
    ws_stage_open(args);
    for (size_t i = 0; i < 10000; i++)
        say(unknown);
    assert_false(ws_stage.ws.is_closed); /* it reads them */
    buf_reset(&ws_stage.said);
    ws_stage.ws.pending = 1;
    say_create("a", "");
    for (size_t i = 0; i < 10000; i++)
        say(unknown);
    assert_true(ws_stage.said.len < (size_t)2 * 1024 * 1024);
    assert_false(turn(0)->is_gone);
    ws_settle();
    assert_true(turn(0)->is_gone);
    assert_true(ws_stage.ws.is_closed);
    assert_int_equal(ws_stage.ws.code, WS_POLICY_VIOLATION);
    ws_stage_close();
}

/* ---- large messages */

static void say_large(const char *lane, char mark)
{
    struct buf more = {.limit = 0};

    buf_c(&more, ",\"input\":\"");
    for (size_t i = 0; i < WORKER_LARGE_BYTES; i++)
        buf_char(&more, mark);
    buf_char(&more, '"');
    say_create(lane, buf_cstr(&more));
    buf_fini(&more);
}

/* A large message is read on the pool; what comes behind it is not answered before. */
static void test_a_large_message_is_not_overtaken(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    say_large("a", 'x');
    say_create("a", "");
    say("{");
    assert_int_equal(ws_stage.n_turns, 0);
    expect_said("");
    ws_settle();
    expect_says("invalid_json");
    assert_int_equal(ws_stage.n_turns, 1);
    assert_true(turn(0)->body.len > WORKER_LARGE_BYTES);
    turn_ends(0);
    assert_int_equal(ws_stage.n_turns, 2);
    ws_stage_close();

    ws_stage_open(NULL); /* the client leaves meanwhile */
    say_large("a", 'x');
    say_create("a", "");
    ws_stage_close();
    assert_int_equal(ws_stage.n_turns, 0);

    ws_stage_open(NULL); /* or the gateway ends */
    say_large("a", 'x');
    ws_stage.ws.handler->on_drain(ws_stage.ws.arg);
    ws_settle();
    expect_says("websocket_connection_limit_reached");
    assert_int_equal(ws_stage.ws.code, WS_GOING_AWAY);
    ws_stage_close();
}

static void test_too_many_large_messages(void **state)
{
    static const char *const args[] = {"--websocket-max-waiting-size", "600KiB", NULL};

    (void)state;
    ws_stage_open(args);
    say_large("a", 'x');
    say_large("b", 'x');
    expect_said("");
    say_large("c", 'x');
    expect_says("\"rate_limit_exceeded\"},\"stream_id\":\"c\"");
    ws_settle();
    assert_int_equal(ws_stage.n_turns, 2);
    ws_stage_close();
}

/* Short messages take more than their bytes while they wait for a large one. */
static void test_short_messages_behind_a_large_one(void **state)
{
    static const char *const args[] = {"--websocket-max-waiting-size", "600KiB", NULL};
    size_t n = 0;

    (void)state;
    ws_stage_open(args);
    say_large("a", 'x');
    while (n < 10000 && ws_stage.said.len == 0) {
        say("{\"type\":\"response.steer\",\"previous_response_id\":\"resp_1\"}");
        n++;
    }
    assert_true(n > 50 && n < 1000);
    expect_says("\"rate_limit_exceeded\"");
    say("{\"type\":\"response.processed\"}");
    expect_said(""); /* whoever says this does not wait for an answer */
    ws_settle();
    assert_int_equal(ws_stage.n_turns, 1);
    expect_says("\"response.steer.failed\"");
    ws_stage_close();
}

/* ---- ends */

/* What the pool of threads reads stays until it is released. */
static void test_the_client_goes(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    say_create("a", "");
    say_create("b", "");
    say_create("b", "");
    peer_hold(turn(1)->peer);
    ws_stage.ws.handler->on_gone(ws_stage.ws.arg);
    ws_stage.ws.is_closed = true;
    ws_settle();
    assert_true(turn(0)->is_gone);
    assert_true(turn(1)->is_gone);
    assert_int_equal(ws_stage.n_turns, 2);
    assert_non_null(strstr(turn(1)->request->body.p, "\"b\""));
    peer_release(turn(1)->peer);
    ws_stage_close();
}

static void test_drain(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    ws_stage.ws.handler->on_drain(ws_stage.ws.arg);
    ws_settle();
    assert_int_equal(ws_stage.ws.code, WS_GOING_AWAY);
    ws_stage_close();

    ws_stage_open(NULL);
    say_create("a", "");
    say_create("a", "");
    ws_stage.ws.handler->on_drain(ws_stage.ws.arg);
    expect_said(ERROR("400", INVALID, "websocket_connection_limit_reached",
                      "Create a new websocket connection to continue.",
                      "null") ",\"stream_id\":\"a\"}\n");
    say_create("", "");
    expect_says("\"websocket_connection_limit_reached\"");
    ws_settle();
    assert_false(ws_stage.ws.is_closed);
    turn_ends(0);
    assert_true(ws_stage.ws.is_closed);
    assert_int_equal(ws_stage.ws.code, WS_GOING_AWAY);
    assert_int_equal(ws_stage.n_turns, 1);
    ws_stage_close();
}

static void test_age(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    say_create("", "");
    fake_loop_pass(ws_stage.worker.loop, 60 * 60 * 1000);
    say_create("", "");
    expect_says("\"websocket_connection_limit_reached\"");
    assert_false(ws_stage.ws.is_closed);
    fake_loop_pass(ws_stage.worker.loop, 5 * 60 * 1000);
    ws_settle();
    assert_int_equal(ws_stage.n_failed, 1);
    assert_int_equal(ws_stage.ws.code, WS_GOING_AWAY);
    ws_stage_close();
}

static void test_the_key_goes(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    say_create("", "");
    ws_stage.worker.watchers->on_keys(ws_stage.worker.watchers->arg);
    say_create("", "");
    expect_said("");
    ws_stage.key = "Bearer other";
    ws_stage.worker.watchers->on_keys(ws_stage.worker.watchers->arg);
    expect_says("\"status\":401");
    ws_settle();
    assert_false(ws_stage.ws.is_closed);
    turn_ends(0);
    assert_int_equal(ws_stage.ws.code, WS_POLICY_VIOLATION);
    ws_stage_close();
}

/* Nobody tells of that: it is found out when there is more to do. */
static void test_the_key_expires(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    say_create("", "");
    ws_stage.key = "Bearer other";
    ws_settle();
    assert_false(ws_stage.ws.is_closed);
    say_create("", "");
    expect_says("\"status\":401");
    ws_settle();
    assert_false(ws_stage.ws.is_closed);
    turn_ends(0);
    assert_int_equal(ws_stage.ws.code, WS_POLICY_VIOLATION);
    ws_stage_close();
}

static void test_an_answer_is_broken_off(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    say_create("a", "");
    say_create("b", "");
    turn(0)->is_over = true;
    peer_abort(turn(0)->peer);
    ws_settle();
    assert_int_equal(ws_stage.ws.code, WS_INTERNAL_ERROR);
    assert_true(turn(1)->is_gone);
    ws_stage_close();
}

static void test_the_worker_ends(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    say_create("", "");
    ws_stage.worker.watchers->on_end(ws_stage.worker.watchers->arg);
    assert_true(turn(0)->is_gone);
    ws_stage.ws.is_closed = true;
    ws_stage_close();
}

/* ---- chains */

static void test_a_response_is_continued(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    say_create("a", "");
    turn_keeps(0, "resp_1", make_context(NULL, 2, 100));
    say_create("b", ",\"previous_response_id\":\"resp_1\"");
    assert_true(turn_finds(1, "resp_1"));
    assert_false(turn_finds(1, "resp_2"));
    turn_keeps(1, "resp_2", make_context(NULL, 2, 100));
    say_create("a", ",\"previous_response_id\":\"resp_1\"");
    assert_true(turn_finds(2, "resp_1"));
    assert_true(turn_finds(2, "resp_2"));
    turn_keeps(2, "resp_3", make_context(NULL, 2, 100));
    say_create("a", "");
    assert_false(turn_finds(3, "resp_1"));
    assert_true(turn_finds(3, "resp_3"));
    peer_keep_context(turn(3)->peer, STR("resp_4"), NULL); /* it is stored */
    turn_ends(3);
    say_create("a", "");
    assert_false(turn_finds(4, "resp_3"));
    assert_false(turn_finds(4, "resp_4"));
    ws_stage_close();
}

/* Continues resp_1 of lane a in a lane by a field of this name, in vain; is it still there? */
static bool is_left_by(const char *field, const char *lane, enum err_code code, bool has_begun)
{
    struct buf more = {.limit = 0};
    bool found;

    ws_stage_open(NULL);
    say_create("a", "");
    turn_keeps(0, "resp_1", make_context(NULL, 1, 1));
    buf_c(&more, ",\"");
    buf_c(&more, field);
    buf_c(&more, "\":\"resp_1\"");
    say_create(lane, buf_cstr(&more));
    buf_fini(&more);
    if (has_begun) {
        turn_begins(1, "resp_2");
        turn_ends(1);
    } else {
        turn_fails(1, code);
    }
    say_create("c", "");
    found = turn_finds(2, "resp_1");
    ws_stage_close();
    return found;
}

static bool is_left(const char *lane, enum err_code code, bool has_begun)
{
    return is_left_by("previous_response_id", lane, code, has_begun);
}

static void test_a_parent_is_taken_away(void **state)
{
    (void)state;
    assert_false(is_left("a", ERR_INVALID_VALUE, false));
    assert_false(is_left_by("previous_responses_id", "a", ERR_INVALID_VALUE, false));
    assert_false(is_left("a", ERR_UPSTREAM_ERROR, false));
    assert_false(is_left("a", ERR_NONE, true));
    assert_true(is_left("b", ERR_INVALID_VALUE, false));
    assert_true(is_left("b", ERR_NONE, true));
    assert_true(is_left("a", ERR_RATE_LIMIT, false));
    assert_true(is_left("a", ERR_OVERLOADED, false));
}

static void test_failing_without_a_parent_takes_nothing(void **state)
{
    (void)state;
    ws_stage_open(NULL);
    say_create("a", "");
    turn_keeps(0, "resp_1", make_context(NULL, 1, 1));
    say_create("a", "");
    turn_fails(1, ERR_INVALID_VALUE);
    say_create("a", "");
    assert_true(turn_finds(2, "resp_1"));
    ws_stage_close();
}

static void test_context_limits(void **state)
{
    static const char *const args[] = {"--websocket-context",
                                       "64KiB",
                                       "--websocket-context-items",
                                       "9",
                                       "--websocket-contexts",
                                       "100KiB",
                                       NULL};

    (void)state;
    ws_stage_open(args);
    say_create("a", "");
    turn_keeps(0, "resp_1", make_context(NULL, 9, 60000));
    say_create("b", "");
    assert_true(turn_finds(1, "resp_1"));
    turn_keeps(1, "resp_2", make_context(NULL, 10, 1));
    say_create("b", "");
    assert_false(turn_finds(2, "resp_2"));
    turn_keeps(2, "resp_3", make_context(NULL, 1, 65536));
    say_create("b", "");
    assert_false(turn_finds(3, "resp_3"));
    turn_keeps(3, "resp_4", make_context(NULL, 1, 60000)); /* with resp_1 too much */
    say_create("b", "");
    assert_false(turn_finds(4, "resp_4"));
    assert_true(turn_finds(4, "resp_1"));
    turn_keeps(4, "resp_5", make_context(NULL, 1, 20000));
    say_create("b", "");
    assert_true(turn_finds(5, "resp_5"));
    ws_stage_close();
}

/* ---- memory runs out */

static void run_connection(void)
{
    ws_connect();
    if (ws_stage.ws.is_closed)
        return;
    say_create("a", "");
    say_create("a", "");
    say_large("", 'x');
    ws_settle();
    for (size_t i = 0; i < ws_stage.n_turns; i++) {
        if (ws_stage.ws.is_closed || turn(i)->is_over)
            continue;
        turn_says(i, CREATED("resp_1"));
        turn_ends(i);
    }
    say("{\"type\":\"response.steer\",\"previous_response_id\":\"resp_1\",\"input\":\"x\"}");
    ws_settle();
}

static void test_each_allocation_fails(void **state)
{
    (void)state;
    for (long n = 0, has_failed = 1; has_failed; n++) {
        ws_stage_prepare(NULL);
        failing_malloc_begin(n, FAILS_ONCE);
        run_connection();
        has_failed = failing_malloc_end();
        ws_stage_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_are_messages_of_their_lane),
        cmocka_unit_test(test_wrong_messages_get_errors),
        cmocka_unit_test(test_nonsense_in_a_row_closes),
        cmocka_unit_test(test_steering_fails),
        cmocka_unit_test(test_overload_is_said_as_a_rate),
        cmocka_unit_test(test_a_lane_runs_in_order),
        cmocka_unit_test(test_refused_at_once),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_waiting_bytes),
        cmocka_unit_test(test_a_slow_client_blocks_all_lanes),
        cmocka_unit_test(test_refusals_that_are_not_read),
        cmocka_unit_test(test_a_large_message_is_not_overtaken),
        cmocka_unit_test(test_too_many_large_messages),
        cmocka_unit_test(test_short_messages_behind_a_large_one),
        cmocka_unit_test(test_the_client_goes),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_the_key_goes),
        cmocka_unit_test(test_the_key_expires),
        cmocka_unit_test(test_an_answer_is_broken_off),
        cmocka_unit_test(test_the_worker_ends),
        cmocka_unit_test(test_a_response_is_continued),
        cmocka_unit_test(test_a_parent_is_taken_away),
        cmocka_unit_test(test_failing_without_a_parent_takes_nothing),
        cmocka_unit_test(test_context_limits),
        cmocka_unit_test(test_each_allocation_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
