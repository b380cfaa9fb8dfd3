/* test_turn_waits.c -- a turn of either front in each stage that waits, when it is not waited for
 * any more: the client leaves, or the worker ends. What was under way is called off or waited for,
 * and nothing is left. */
#include "admission_fixture.h"

/* A stage, and the way there. */
struct wait {
    const char *name;
    const char *stage;
    void (*reach)(void);
    unsigned n_calls_off, n_tasks_off; /* of the upstream and of MCP servers, when it is left */
    bool is_saved;                     /* all the same */
    bool is_answered;                  /* already */
};

static const struct wait waits[] = {
    {"the upstream is asked what it is", "recognise", reach_recognise, 0, 0, false, false},
    {"a large request is read", "parse", reach_parse, 0, 0, false, false},
    {"the store fetches", "load", reach_load, 0, 0, false, false},
    {"a response is accepted for the background", "accept", reach_accept, 0, 0, false, false},
    {"a configured server starts", "tools", reach_tools, 0, 0, false, false},
    {"a server that nobody named starts", "tools", reach_tools_injected, 0, 0, false, false},
    {"a server is listed", "list", reach_list, 0, 1, false, false},
    {"a tool is called", "calls", reach_calls, 0, 1, false, false},
    {"a conversation is measured", "count", reach_measure, 1, 0, false, false},
    {"the upstream counts", "count", reach_count, 1, 0, false, false},
    {"a large count is read", "count", reach_large_count, 0, 0, false, false},
    {"many tools are searched", "calls", reach_search, 1, 0, false, false},
    {"the upstream is asked", "round", reach_round, 1, 0, false, false},
    {"the model speaks", "round", reach_speech, 1, 0, false, false},
    {"a large question for a summary is written", "compact", reach_compact, 0, 0, false, false},
    {"a summary is asked for", "summary", reach_summary, 1, 0, false, false},
    {"a summary is written", "summary", reach_summary_speech, 1, 0, false, false},
    {"a summary takes the place of a large context", "compacted", reach_compacted, 1, 0, false,
     false},
    {"a large event is read", "hear", reach_hear, 1, 0, false, false},
    {"a large answer is closed", "close", reach_close, 1, 0, false, false},
    {"a large response is written down", "record", reach_record, 1, 0, true, false},
    {"the store saves", "save", reach_save, 1, 0, true, false},
    {"the upstream may end its body", "done", reach_done, 1, 0, false, true},
    {"a server starts, in a chat", "tools", reach_chat_tools, 0, 0, false, false},
    {"a large chat is read", "read", reach_chat_read, 0, 0, false, false},
    {"a large chat is written", "write", reach_chat_ask, 0, 0, false, false},
    {"the upstream is asked, in a chat", "round", reach_chat_round, 1, 0, false, false},
    {"the model speaks, in a chat", "round", reach_chat_speech, 1, 0, false, false},
    {"a refusal is passed on", "round", reach_chat_refusal, 1, 0, false, false},
    {"a tool is called, in a chat", "calls", reach_chat_calls, 0, 1, false, false},
    {"the upstream may end its body, in a chat", "done", reach_chat_done, 1, 0, false, true},
    {"a place is waited for", "admit", reach_admit, 0, 0, false, false},
    {"a place for a summary is waited for", "admit_summary", reach_admit_summary, 0, 0, false,
     false},
    {"a large request is written again", "rewrite", reach_rewrite, 0, 0, false, false},
    {"an upstream is to be asked again", "admit", reach_retry, 0, 0, false, false},
    {"a place is waited for, in a chat", "admit", reach_chat_admit, 0, 0, false, false},
};

static const struct wait *reach(size_t i)
{
    const struct wait *wait = &waits[i];

    open_turn_stage();
    stage_limits(0, 0, 1);
    wait->reach();
    if (strcmp(stage_name(), wait->stage) != 0)
        fail_msg("%s: it is %s", wait->name, stage_name());
    return wait;
}

/* What the turn had taken of the one place of its client was given back, and once. */
static void check_place(const struct wait *wait)
{
    if (stage_take().verdict != RATE_TAKEN || stage_take().verdict != RATE_TOO_MANY_AT_ONCE)
        fail_msg("%s: its place is not free, or was freed twice", wait->name);
}

static void close_stage(const struct wait *wait)
{
    if (stage.worker.flights != NULL)
        fail_msg("%s: the turn is left", wait->name);
    check_place(wait);
    if (stage.worker.pool != NULL)
        stage_end_places();
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

/* The worker asks again until all are over, as worker.c does. */
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
        if (stage.worker.flights != NULL)
            fail_msg("%s: the turn is left", wait->name);
        check_place(wait);
        if (stage.worker.pool != NULL)
            stage_end_places();
        stage_close();
    }
}

/* The worker has ended and everything that it expected has come: it only frees what is left. */
static void test_turn_is_dropped(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        const struct wait *wait = reach(i);

        if (stage.worker.flights->n_tasks == 0)
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

        turn_wake(stage.worker.flights);
        assert_string_equal(stage_name(), wait->stage);
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
