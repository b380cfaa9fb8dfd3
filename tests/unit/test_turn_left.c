/* test_turn_left.c -- turns whose client leaves, and that go on for those who may read them again. */
#include "turn_fixture.h"

#include "resume/running.h"

enum { WINDOW_MS = 10 * 1000 };

#define KEPT       INPUT
#define KEPT_TOOLS KEPT REMOTE

/* A stage in which the client leaves a stream that it has begun to read, the way there, and the way from
 * there to the end. */
struct leaving {
    const char *name;
    const char *stage;
    void (*reach)(void);
    void (*go_on)(void);
};

static void reach_kept_speech(void)
{
    (void)stage_begin(KEPT);
    upstream_begins(200);
    upstream_says(SAYS("hello"));
}

static void stop_speech(void)
{
    upstream_says(SAYS(" again") STOPS("stop"));
}

static void reach_kept_calls(void)
{
    (void)stage_begin(KEPT_TOOLS);
    server_lists(0, TOOLS);
    upstream_begins(200);
    upstream_says(CALLS("mcp__s__t") STOPS("tool_calls"));
    upstream_ends(NULL);
}

/* The request is written once more, of texts that were the client's. */
static void answer_call(void)
{
    server_answers(1, "\"done\"");
    stage_settle();
    assert_non_null(strstr(buf_cstr(&stage.asked), "\"content\":\"x\""));
    upstream_begins(200);
    upstream_says(SAYS("hello") STOPS("stop"));
}

/* What the model has said is on the pool. */
static void reach_kept_hear(void)
{
    (void)stage_begin(KEPT);
    upstream_begins(200);
    upstream_says(SAYS("hello"));
    say_large("\"}}]}\n\n");
}

static void hear_and_stop(void)
{
    stage_settle();
    upstream_says(STOPS("stop"));
}

static const struct leaving leavings[] = {
    {"the model speaks", "round", reach_kept_speech, stop_speech},
    {"a tool is called", "calls", reach_kept_calls, answer_call},
    {"a large event is read", "hear", reach_kept_hear, hear_and_stop},
};

static struct running *table;

static void open_stage_with(const char *const *flags)
{
    stage_open(flags);
    table = running_new(1);
    running_open(table, stage.worker.loop);
    stage.worker.running = table;
}

static void open_stage(void)
{
    static const char *const flags[] = {"--mcp-remote", "public", "--resume-window", "10s", NULL};

    open_stage_with(flags);
}

/* What the exchange had is gone with it. */
static void leave_for_good(void)
{
    client_leaves();
    if (stage.x.n_held == 0)
        memset(stage.body.p, 'z', stage.body.len);
}

static void reach(const struct leaving *leaving)
{
    open_stage();
    leaving->reach();
    if (strcmp(stage_name(), leaving->stage) != 0)
        fail_msg("%s: it is %s", leaving->name, stage_name());
    leave_for_good();
    if (stage.worker.flights == NULL)
        fail_msg("%s: the turn has ended with its client", leaving->name);
}

static void close_stage(const char *name)
{
    if (stage.worker.flights != NULL)
        fail_msg("%s: the turn is left", name);
    assert_int_equal(stage.worker.n_runs, 0);
    running_free(table);
    stage_close();
}

static void the_response_is_stored_all_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(leavings); i++) {
        reach(&leavings[i]);
        leavings[i].go_on();
        stage_settle();
        fake_loop_pass(stage.worker.loop, WINDOW_MS);
        assert_int_equal(stage.n_saved, 1);
        close_stage(leavings[i].name);
    }
}

static void nobody_reads_it_for_too_long(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(leavings); i++) {
        reach(&leavings[i]);
        fake_loop_pass(stage.worker.loop, WINDOW_MS - 100);
        assert_non_null(stage.worker.flights);
        fake_loop_pass(stage.worker.loop, 200);
        assert_int_equal(stage.n_saved, 0);
        close_stage(leavings[i].name);
    }
}

static void a_reader_keeps_it_alive(void **state)
{
    struct running_reader reader = {0};
    const struct leaving *speech = &leavings[0];
    struct err e;
    str id;

    (void)state;
    reach(speech);
    id = id_str(&stage_turn()->response.id);
    assert_int_equal(running_join(table, &reader, STR(""), id, 16, &e), 0);
    fake_loop_pass(stage.worker.loop, 10 * WINDOW_MS);
    assert_non_null(stage.worker.flights);
    running_leave(&reader, stage.worker.loop->now_ms);
    fake_loop_pass(stage.worker.loop, WINDOW_MS - 100);
    assert_non_null(stage.worker.flights);
    fake_loop_pass(stage.worker.loop, WINDOW_MS);
    close_stage(speech->name);
}

static void the_worker_ends(void **state)
{
    const struct err e = {.code = ERR_OVERLOADED, .msg = "It ends."};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(leavings); i++) {
        reach(&leavings[i]);
        assert_int_equal(stage.worker.n_runs, stage.worker.flights->is_on_pool ? 0 : 1);
        for (int again = 0; again < 3; again++) {
            flight_end_all(&stage.worker, &e);
            stage_settle();
        }
        fake_loop_pass(stage.worker.loop, WINDOW_MS);
        assert_int_equal(stage.n_saved, 1);
        close_stage(leavings[i].name);
    }
}

static void the_turn_is_dropped(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(leavings); i++) {
        reach(&leavings[i]);
        if (stage.worker.flights->n_tasks > 0)
            stage_settle();
        flight_drop_all(&stage.worker);
        close_stage(leavings[i].name);
    }
}

/* [what, the members of its request] */
static void others_end_with_their_client(void **state)
{
    static const char *const requests[] = {UNKEPT, "\"input\":\"x\""};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        open_stage();
        (void)stage_begin(requests[i]);
        upstream_begins(200);
        upstream_says(SAYS("hello"));
        leave_for_good();
        close_stage(requests[i]);
    }
    open_stage(); /* nobody knows its id yet */
    (void)stage_begin(KEPT);
    leave_for_good();
    close_stage("before it is begun");
}

static void a_client_that_was_slow_holds_nothing_up(void **state)
{
    (void)state;
    open_stage();
    reach_kept_speech();
    stage.x.handler->on_blocked(stage.x.arg, true);
    assert_true(stage.call.is_paused);
    leave_for_good();
    stop_speech();
    stage_settle();
    fake_loop_pass(stage.worker.loop, WINDOW_MS);
    assert_int_equal(stage.n_saved, 1);
    close_stage("slow");
}

/* ---- without a window: who has joined by the key of the request */

enum { JOINED_MS = 1000 };

#define KEY "resp_0123456789abcdef0123456789abcdef0123456789abcdef"

static struct running_reader joined;

static void start_keyed(struct worker *w, struct http_exchange *x, const struct http_request *r,
                        const struct caller *caller)
{
    const bool is_stream = str_find(r->body, STR("\"stream\":true")) < r->body.len;

    turn_begin_keyed(w, peer_of_exchange(x), r, caller, STR(KEY), is_stream);
}

static void open_stage_without_window(void)
{
    static const char *const flags[] = {"--mcp-remote", "public", NULL};

    open_stage_with(flags);
}

static void reach_keyed(void)
{
    open_stage_without_window();
    stage_begin_at(start_keyed, KEPT);
    upstream_begins(200);
    upstream_says(SAYS("hello"));
    joined = (struct running_reader){.repeats = true};
}

static void join_turn(void)
{
    struct err e;

    assert_int_equal(running_join(table, &joined, STR(""), STR(KEY), 16, &e), 0);
}

static void leave_turn(void)
{
    running_leave(&joined, stage.worker.loop->now_ms);
}

/* It has ended, nothing is stored, and the key is free. */
static void close_given_up(const char *name)
{
    assert_false(running_has(table, STR(""), STR(KEY)));
    assert_int_equal(stage.n_saved, 0);
    assert_int_equal(stage.n_released, 1);
    close_stage(name);
}

static void a_turn_with_a_key_ends_with_its_client(void **state)
{
    (void)state;
    reach_keyed();
    leave_for_good();
    close_given_up("with its client");
}

static void what_nobody_can_join_keeps_no_body(void **state)
{
    (void)state;
    reach_keyed();
    assert_non_null(stage_turn()->left);
    leave_for_good();
    close_given_up("a stream");
    open_stage_without_window();
    stage_begin_at(start_keyed, "\"input\":\"x\"");
    assert_null(stage_turn()->left);
    leave_for_good();
    close_given_up("no stream");
}

static void and_so_it_does_when_somebody_reads_it_without_its_key(void **state)
{
    (void)state;
    reach_keyed();
    joined.repeats = false;
    join_turn();
    leave_for_good();
    leave_turn();
    close_given_up("without its key");
}

static void one_that_was_joined_goes_on_to_its_end(void **state)
{
    (void)state;
    reach_keyed();
    join_turn();
    leave_for_good();
    fake_loop_pass(stage.worker.loop, 60 * JOINED_MS);
    stop_speech();
    stage_settle();
    fake_loop_pass(stage.worker.loop, JOINED_MS);
    assert_int_equal(stage.n_saved, 1);
    assert_int_equal(stage.n_released, 0);
    leave_turn();
    close_stage("to its end");
}

static void one_that_was_joined_ends_a_while_after_the_last_has_left(void **state)
{
    (void)state;
    reach_keyed();
    join_turn();
    leave_for_good();
    fake_loop_pass(stage.worker.loop, 10 * JOINED_MS);
    leave_turn();
    fake_loop_pass(stage.worker.loop, JOINED_MS - 100);
    assert_true(running_has(table, STR(""), STR(KEY)));
    fake_loop_pass(stage.worker.loop, 2 * JOINED_MS);
    close_given_up("after the last");
}

static void who_joins_too_late_does_not_keep_what_was_left_out(void **state)
{
    (void)state;
    reach_keyed();
    say_large("\"}}]}\n\n");
    leave_for_good(); /* while the event is on the pool */
    join_turn();
    stage_settle();
    leave_turn();
    close_given_up("too late");
}

static void who_has_joined_may_leave_while_the_pool_works(void **state)
{
    (void)state;
    reach_keyed();
    join_turn();
    say_large("\"}}]}\n\n");
    leave_for_good();
    fake_loop_pass(stage.worker.loop, 0);
    assert_true(running_has(table, STR(""), STR(KEY)));
    leave_turn();
    fake_loop_pass(stage.worker.loop, 2 * JOINED_MS);
    close_given_up("while the pool works");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_response_is_stored_all_the_same),
        cmocka_unit_test(nobody_reads_it_for_too_long),
        cmocka_unit_test(a_reader_keeps_it_alive),
        cmocka_unit_test(the_worker_ends),
        cmocka_unit_test(the_turn_is_dropped),
        cmocka_unit_test(others_end_with_their_client),
        cmocka_unit_test(a_client_that_was_slow_holds_nothing_up),
        cmocka_unit_test(a_turn_with_a_key_ends_with_its_client),
        cmocka_unit_test(what_nobody_can_join_keeps_no_body),
        cmocka_unit_test(and_so_it_does_when_somebody_reads_it_without_its_key),
        cmocka_unit_test(one_that_was_joined_goes_on_to_its_end),
        cmocka_unit_test(one_that_was_joined_ends_a_while_after_the_last_has_left),
        cmocka_unit_test(who_joins_too_late_does_not_keep_what_was_left_out),
        cmocka_unit_test(who_has_joined_may_leave_while_the_pool_works),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
