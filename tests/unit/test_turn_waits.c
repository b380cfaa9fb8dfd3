/* test_turn_waits.c -- a turn in each state that waits, when it is not waited for any more: the client
 * leaves, or the worker ends. What was under way is called off or waited for, and nothing is left. */
#include "turn_fixture.h"

/* A state, and the way there. */
struct wait {
    const char *name;
    enum turn_state state;
    void (*reach)(void);
    unsigned n_calls_off, n_tasks_off; /* of the upstream and of MCP servers, when it is left */
    bool is_saved;                     /* all the same */
    bool is_answered;                  /* already */
};

static const struct wait waits[] = {
    {"the upstream is asked what it is", TURN_RECOGNISE, reach_recognise, 0, 0, false, false},
    {"a large request is read", TURN_PARSE, reach_parse, 0, 0, false, false},
    {"the store fetches", TURN_LOAD, reach_load, 0, 0, false, false},
    {"a configured server starts", TURN_TOOLS, reach_tools, 0, 0, false, false},
    {"a server is listed", TURN_LIST, reach_list, 0, 1, false, false},
    {"a tool is called", TURN_CALLS, reach_calls, 0, 1, false, false},
    {"the upstream is asked", TURN_ROUND, reach_round, 1, 0, false, false},
    {"the model speaks", TURN_ROUND, reach_speech, 1, 0, false, false},
    {"a large event is read", TURN_HEAR, reach_hear, 1, 0, false, false},
    {"a large answer is closed", TURN_CLOSE, reach_close, 1, 0, false, false},
    {"a large response is written down", TURN_RECORD, reach_record, 1, 0, true, false},
    {"the store saves", TURN_SAVE, reach_save, 1, 0, true, false},
    {"the upstream may end its body", TURN_DONE, reach_done, 1, 0, false, true},
};

static const struct wait *reach(size_t i)
{
    const struct wait *wait = &waits[i];
    const struct turn *t;

    open_turn_stage();
    wait->reach();
    t = stage_turn();
    if (t == NULL || t->flight.stage != wait->state)
        fail_msg("%s: it is %s", wait->name, t == NULL ? "over" : "elsewhere");
    return wait;
}

static void close_stage(const struct wait *wait)
{
    if (stage_turn() != NULL)
        fail_msg("%s: the turn is left", wait->name);
    assert_int_equal(stage.n_cancelled, wait->n_calls_off);
    assert_int_equal(stage.n_tasks_cancelled, wait->n_tasks_off);
    stage_close();
}

static void test_client_leaves(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        const struct wait *wait = reach(i);

        if (!wait->is_answered)
            client_leaves();
        stage_settle();
        fake_loop_pass(stage.worker.loop, 60 * 1000);
        assert_int_equal(stage.n_saved, wait->is_saved);
        close_stage(wait);
    }
}

/* What the pool has not begun is left out, unless it is needed without a client. */
static void test_work_is_left_out(void **state)
{
    (void)state;
    open_turn_stage();
    reach_parse();
    client_leaves();
    stage_settle();
    assert_int_equal(stage.n_read, 0);
    stage_close();

    open_turn_stage();
    reach_parse();
    stage_settle();
    assert_int_equal(stage.n_read, 1);
    client_leaves();
    stage_close();
}

/* It asks again until all are over, as worker.c does. */
static void test_worker_ends(void **state)
{
    const struct err e = {.code = ERR_OVERLOADED, .msg = "It ends."};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        const struct wait *wait = reach(i);

        for (int again = 0; again < 3; again++) {
            flight_end_all(&stage.worker, &e);
            stage_settle();
        }
        assert_true(stage.x.is_over);
        fake_loop_pass(stage.worker.loop, 60 * 1000);
        if (stage_turn() != NULL)
            fail_msg("%s: the turn is left", wait->name);
        stage_close();
    }
}

/* The worker has ended and everything that it expected has come: it only frees what is left. */
static void test_turn_is_dropped(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        const struct wait *wait = reach(i);

        if (stage_turn()->flight.n_tasks == 0)
            flight_drop_all(&stage.worker);
        else
            client_leaves();
        stage_settle();
        close_stage(wait);
    }
}

/* Whatever wakes a turn for nothing changes nothing. */
static void test_turn_is_woken_for_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        const struct wait *wait = reach(i);

        turn_wake(&stage_turn()->flight);
        assert_non_null(stage_turn());
        assert_int_equal(stage_turn()->flight.stage, wait->state);
        if (!wait->is_answered)
            client_leaves();
        stage_settle();
        fake_loop_pass(stage.worker.loop, 60 * 1000);
        close_stage(wait);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_client_leaves),
        cmocka_unit_test(test_work_is_left_out),
        cmocka_unit_test(test_worker_ends),
        cmocka_unit_test(test_turn_is_dropped),
        cmocka_unit_test(test_turn_is_woken_for_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
