/* test_turn_run.c -- background work: it is stored as begun before anything is done, its events as they
 * come, and its end; whatever comes between, its owner hears once that the claim is over (turn.h). */
#include "turn_fixture.h"

#include "lib/failing_malloc.h"
#include "log_capture.h"
#include "turn/turn_run.h"

static const struct err away = {.code = ERR_STORE_AWAY, .msg = "The store is away."};

static void begin(const char *members)
{
    open_turn_stage();
    stage_begin_work(members, false);
}

static void pass_ms(uint64_t ms)
{
    fake_loop_pass(stage.worker.loop, ms);
}

/* The turn is over, and its owner knows. */
static void close_ended(enum err_code why)
{
    assert_int_equal(stage.n_ended, 1);
    pass_ms(1000); /* in which the upstream may end its body */
    assert_null(stage_turn());
    assert_int_equal(stage.why_ended.code, why);
    assert_int_equal(stage.worker.n_runs, 0);
    assert_int_equal(stage.n_saved + stage.n_unlocked + stage.n_released, 0);
    stage_close();
}

static void close_stored(enum store_status status)
{
    assert_int_equal(stage.n_finished, 1);
    assert_int_equal(stage.finished, status);
    close_ended(ERR_NONE);
}

/* ---- the ways to where it waits */

static void reach_work_recognise(void)
{
    open_turn_stage();
    stage.awaits_upstream = true;
    stage_begin_work(BACKGROUND, false);
}

static void reach_work_load(void)
{
    begin(BACKGROUND ",\"previous_response_id\":\"resp_0\"");
}

static void reach_work_accept(void)
{
    begin(BACKGROUND);
}

static void reach_work_round(void)
{
    reach_work_accept();
    store_reports(NULL);
}

static void reach_work_speech(void)
{
    reach_work_round();
    upstream_begins(200);
    upstream_says(SAYS("hello"));
}

/* A row is on its way. */
static void reach_work_row(void)
{
    reach_work_speech();
    pass_ms(100);
    assert_non_null(stage.store_task);
}

static void reach_work_list(void)
{
    begin(BACKGROUND REMOTE);
    store_reports(NULL);
}

static void reach_work_calls(void)
{
    reach_work_list();
    server_lists(0, TOOLS);
    upstream_begins(200);
    upstream_says(CALLS("mcp__s__t") STOPS("tool_calls"));
    upstream_ends(NULL);
}

/* The response has ended, and a row is on its way. */
static void reach_work_record(void)
{
    reach_work_row();
    upstream_says(STOPS("stop"));
}

static void reach_work_save(void)
{
    reach_work_speech();
    upstream_says(STOPS("stop"));
}

static void reach_work_save_again(void)
{
    reach_work_save();
    store_reports(&away);
}

struct wait {
    const char *stage;
    void (*reach)(void);
    bool is_open;   /* there is a response, whose end is stored */
    bool has_ended; /* it is on its way there */
};

static const struct wait waits[] = {
    {"recognise", reach_work_recognise, false, false},
    {"load", reach_work_load, false, false},
    {"accept", reach_work_accept, true, false},
    {"list", reach_work_list, true, false},
    {"round", reach_work_round, true, false},
    {"round", reach_work_speech, true, false},
    {"round", reach_work_row, true, false},
    {"calls", reach_work_calls, true, false},
    {"record", reach_work_record, true, true},
    {"save", reach_work_save, true, true},
    {"save", reach_work_save_again, true, true},
};

static const struct wait *reach(size_t i)
{
    waits[i].reach();
    assert_string_equal(stage_name(), waits[i].stage);
    return &waits[i];
}

/* Long enough for whatever is tried again. */
static void settle(void)
{
    for (int i = 0; i < 3; i++) {
        stage_settle();
        pass_ms(1000);
    }
    stage_settle();
}

/* ---- what is stored */

static void nothing_is_done_before_its_begin_is_stored(void **state)
{
    (void)state;
    reach_work_accept();
    assert_int_equal(stage.n_calls, 0);
    store_reports(&away);
    assert_string_equal(stage_name(), "accept");
    pass_ms(999);
    assert_null(stage.store_task);
    pass_ms(1);
    store_reports(NULL);
    assert_int_equal(stage.n_started, 1);
    assert_int_equal(stage.n_rows, 1);
    assert_int_equal(stage.n_calls, 1);
    upstream_begins(200);
    upstream_says(SAYS("hello") STOPS("stop"));
    settle();
    close_stored(STORE_COMPLETED);
}

static void events_are_stored_as_they_come(void **state)
{
    (void)state;
    reach_work_speech();
    assert_int_equal(stage.n_rows, 1);
    assert_null(stage.store_task);
    pass_ms(99);
    upstream_says(SAYS(" again"));
    assert_null(stage.store_task);
    pass_ms(1);
    upstream_says(SAYS(" and again"));
    store_reports(NULL);
    assert_int_equal(stage.n_rows, 2);
    pass_ms(100);
    store_reports(NULL);
    assert_int_equal(stage.n_rows, 3);
    pass_ms(1000);
    assert_null(stage.store_task); /* there is nothing new */
    upstream_says(STOPS("stop"));
    store_reports(NULL);
    close_stored(STORE_COMPLETED);
}

/* What is shown of servers is a part of the response that has begun. */
static void a_listing_follows_its_begin(void **state)
{
    struct id id;

    (void)state;
    begin(BACKGROUND REMOTE);
    id = stage_turn()->response.id;
    store_reports(NULL);
    assert_string_equal(stage_name(), "list");
    assert_string_equal(stage_turn()->response.id.text, id.text);
    assert_true(stage_turn()->response.cuts.n > 3);
    server_lists(0, TOOLS);
    upstream_begins(200);
    upstream_says(SAYS("hello") STOPS("stop"));
    stage_settle();
    close_stored(STORE_COMPLETED);
}

static void a_large_request_is_made_as_well(void **state)
{
    struct buf large = {.limit = 0};

    (void)state;
    open_turn_stage();
    write_large(BACKGROUND, &large);
    stage_begin_work(buf_cstr(&large), false);
    buf_fini(&large);
    stage_settle();
    assert_string_equal(stage_name(), "round");
    upstream_begins(200);
    say_large("\"}}]}\n\n");
    settle();
    upstream_says(STOPS("stop"));
    settle();
    close_stored(STORE_COMPLETED);
}

/* For readers that do not count comments; as seldom as a client would get it. */
static void a_silent_one_is_kept_alive(void **state)
{
    enum { INTERVAL_MS = 240 * 1000 };

    (void)state;
    reach_work_speech();
    pass_ms(100);
    store_reports(NULL);
    assert_int_equal(stage.n_rows, 2);
    for (unsigned n = 3; n < 6; n++) {
        pass_ms(INTERVAL_MS - 3000);
        assert_null(stage.store_task);
        pass_ms(4000); /* with the time until a row is written */
        assert_non_null(stage.store_task);
        store_reports(NULL);
        assert_int_equal(stage.n_rows, n);
    }
    pass_ms(INTERVAL_MS / 2);
    upstream_says(SAYS(" again"));
    settle();
    pass_ms(INTERVAL_MS - 10 * 1000);
    assert_null(stage.store_task); /* it has spoken in between */
    assert_int_equal(stage.n_rows, 6);
    upstream_says(STOPS("stop"));
    settle();
    close_stored(STORE_COMPLETED);
}

/* What comes while the store is away is stored when it is back. */
static void rows_wait_for_the_store(void **state)
{
    (void)state;
    reach_work_row();
    store_reports(&away);
    upstream_says(SAYS(" again"));
    for (int i = 0; i < 3; i++) {
        pass_ms(999);
        assert_null(stage.store_task);
        pass_ms(1);
        store_reports(i < 2 ? &away : NULL);
    }
    assert_int_equal(stage.n_rows, 2);
    pass_ms(100);
    store_reports(NULL);
    assert_int_equal(stage.n_rows, 3);
    upstream_says(STOPS("stop"));
    settle();
    close_stored(STORE_COMPLETED);
}

static void its_end_waits_for_the_store(void **state)
{
    (void)state;
    reach_work_save_again();
    assert_int_equal(stage.n_finished, 0);
    assert_int_equal(stage.n_ended, 0);
    pass_ms(1000);
    store_reports(NULL);
    close_stored(STORE_COMPLETED);
}

static void an_end_that_cannot_be_stored_is_told(void **state)
{
    static const struct err gone = {.code = ERR_INTERNAL};

    (void)state;
    reach_work_save();
    store_reports(&gone);
    close_ended(ERR_INTERNAL);
}

/* ---- readers */

static unsigned n_told;

static void on_told(void *arg, enum running_outcome outcome)
{
    (void)arg;
    assert_int_equal(outcome, RUNNING_SOME);
    n_told++;
}

/* The asker cannot wait for another event: there may be none for long. */
static void who_asks_while_it_is_on_the_pool_gets_events_afterwards(void **state)
{
    struct running_ask ask = {.wish = RUNNING_EVENTS, .after = -1, .report = on_told};
    struct running *table = running_new(1);

    (void)state;
    n_told = 0;
    open_turn_stage();
    running_open(table, stage.worker.loop);
    stage.worker.running = table;
    stage_begin_work(BACKGROUND, false);
    store_reports(NULL);
    upstream_begins(200);
    ask.owner = STR("");
    ask.id = id_str(&stage_turn()->response.id);
    replay_init(&ask.replay);
    assert_true(running_ask(table, &ask, stage.worker.loop)); /* it is heard by the way */
    say_large("\"}}]}\n\n");
    assert_true(stage_turn()->flight.is_on_pool);
    pass_ms(0);
    assert_int_equal(stage.n_rows, 1);
    assert_int_equal(n_told, 1);
    assert_true(str_find(buf_str(&ask.out), STR("response.in_progress")) < ask.out.len);
    buf_fini(&ask.out);
    settle();
    upstream_says(STOPS("stop"));
    settle();
    close_stored(STORE_COMPLETED);
    running_free(table);
}

/* ---- it cannot be done */

static void what_cannot_be_begun_is_told(void **state)
{
    static const struct turn_work damaged = {.id = STR_INIT("resp_1"),
                                             .owner = STR_INIT(""),
                                             .request = STR_INIT("{}"),
                                             .on_end = on_work_end};

    (void)state;
    begin("\"input\":7");
    close_ended(ERR_INVALID_TYPE);

    open_turn_stage();
    turn_begin_work(&stage.worker, &damaged);
    close_ended(ERR_INTERNAL);

    open_turn_stage();
    stage.not_found = (struct err){.code = ERR_PREVIOUS_NOT_FOUND};
    stage_begin_work(BACKGROUND ",\"previous_response_id\":\"resp_0\"", false);
    store_reports(NULL);
    close_ended(ERR_PREVIOUS_NOT_FOUND);

    begin(BACKGROUND SERVER("")); /* which is configured no more */
    close_ended(ERR_INVALID_VALUE);
}

static void a_failure_behind_its_begin_is_stored(void **state)
{
    static const struct err gone = {.code = ERR_UPSTREAM_UNAVAILABLE, .msg = "Nobody there."};

    (void)state;
    reach_work_round();
    upstream_ends(&gone);
    settle();
    close_stored(STORE_FAILED);

    reach_work_list();
    server_lists(0, NULL);
    settle();
    close_stored(STORE_FAILED);
}

/* The deadline includes the time in which the end cannot be stored. */
static void the_store_is_away_for_good(void **state)
{
    (void)state;
    reach_work_save_again();
    for (int i = 0; i < 60 * 60; i++) {
        pass_ms(1000);
        if (stage.store_task != NULL)
            store_reports(&away);
    }
    assert_int_equal(stage.n_finished, 0);
    close_ended(ERR_STORE_AWAY);
}

static void it_has_a_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        const struct wait *wait = reach(i);

        pass_ms(60 * 60 * 1000);
        settle();
        if (!wait->is_open)
            close_ended(ERR_INTERNAL);
        else
            close_stored(wait->has_ended ? STORE_COMPLETED : STORE_FAILED);
    }
}

/* ---- somebody wishes otherwise */

static void it_is_cancelled(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        const struct wait *wait = reach(i);

        turn_run_cancel(stage_turn());
        assert_false(stage.has_call && !wait->has_ended);
        settle();
        if (!wait->is_open)
            close_ended(ERR_RESPONSE_CANCELLED);
        else
            close_stored(wait->has_ended ? STORE_COMPLETED : STORE_CANCELLED);
    }
}

static void it_is_cancelled_on_the_pool(void **state)
{
    (void)state;
    reach_work_round();
    upstream_begins(200);
    say_large("\"}}]}\n\n");
    assert_true(stage_turn()->flight.is_on_pool);
    turn_run_cancel(stage_turn());
    assert_true(stage.has_call);
    settle();
    assert_false(stage.has_call);
    close_stored(STORE_CANCELLED);
}

static void a_wish_comes_with_a_row(void **state)
{
    (void)state;
    reach_work_row();
    stage.wish = STORE_CANCEL;
    store_reports(NULL);
    assert_false(stage.has_call);
    stage.wish = STORE_GO_ON;
    settle();
    close_stored(STORE_CANCELLED);
}

static void it_is_cancelled_before_it_begins(void **state)
{
    (void)state;
    open_turn_stage();
    stage_begin_work(BACKGROUND, true);
    settle();
    assert_int_equal(stage.n_calls, 0);
    assert_int_equal(stage.finished, STORE_CANCELLED);
    close_ended(ERR_NONE);
}

/* The store says so, and the log does. */
static void nobody_wants(enum store_wish wish)
{
    const struct log_capture capture = log_capture_begin();
    char *log;

    log_setup(LOG_INFO, LOG_TEXT);
    stage.wish = wish;
    settle();
    log_setup(LOG_ERROR, LOG_TEXT);
    log = log_capture_end(capture);
    assert_non_null(strstr(log, " turn id=resp_1 "));
    assert_non_null(strstr(log, wish == STORE_TAKEN ? " status=taken " : " status=deleted "));
    assert_null(strstr(strstr(log, " turn ") + 1, " turn ")); /* there is one line of it */
    free(log);
}

/* Deleted, or another gateway's: nothing of it is stored any more. */
static void nobody_wants_it(void **state)
{
    static const enum store_wish wishes[] = {STORE_TAKEN, STORE_DELETED};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wishes); i++) {
        reach_work_accept();
        nobody_wants(wishes[i]);
        assert_int_equal(stage.n_calls, 0);
        close_ended(ERR_NONE);

        reach_work_row();
        nobody_wants(wishes[i]);
        assert_int_equal(stage.n_finished, 0);
        assert_int_equal(stage.n_cancelled, 1);
        close_ended(ERR_NONE);

        reach_work_record();
        nobody_wants(wishes[i]);
        close_ended(ERR_NONE);

        reach_work_save();
        nobody_wants(wishes[i]);
        assert_int_equal(stage.n_finished, 1);
        close_ended(ERR_NONE);
    }
}

static void it_is_given_up_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        const struct wait *wait = reach(i);

        peer_nobody_leave(&stage_turn()->run->nobody);
        settle();
        assert_int_equal(stage.n_ended, 1);
        if (!wait->has_ended)
            assert_int_equal(stage.n_finished, 0);
        assert_null(stage_turn());
        stage_close();
    }
}

/* ---- the worker ends */

/* What was begun has failed; what was not is given back, and so is what the store does not take: somebody may
 * have asked for its end, and the worker waits for the answer. */
static void it_ends_with_its_worker(void **state)
{
    const struct err e = {.code = ERR_OVERLOADED, .msg = "It ends."};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        const struct wait *wait = reach(i);

        flight_end_all(&stage.worker, &e);
        settle();
        if (wait->reach == reach_work_save_again)
            close_ended(ERR_STORE_AWAY);
        else if (!wait->is_open)
            close_ended(ERR_OVERLOADED);
        else
            close_stored(wait->has_ended ? STORE_COMPLETED : STORE_FAILED);
    }
}

static void it_is_dropped(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        reach(i);
        if (stage_turn()->flight.n_tasks > 0) {
            settle();
            if (stage_turn() == NULL) {
                stage_close();
                continue;
            }
        }
        flight_drop_all(&stage.worker);
        assert_int_equal(stage.worker.n_runs, 0);
        assert_int_equal(stage.n_ended, 0); /* whoever would hear is going as well */
        stage_close();
    }
}

static void it_is_woken_for_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        const struct wait *wait = reach(i);

        turn_wake(stage.worker.flights);
        assert_string_equal(stage_name(), wait->stage);
        peer_nobody_leave(&stage_turn()->run->nobody);
        settle();
        assert_null(stage_turn());
        stage_close();
    }
}

/* ---- memory runs out */

/* The n-th allocation fails, and if how says so all after it, until the store is asked next. Returns whether
 * one has. */
static bool run_without_memory(long n, enum failing_malloc how)
{
    bool has_failed;

    open_turn_stage();
    stage.lacks_memory = true;
    failing_malloc_begin(n, how);
    stage_begin_work(BACKGROUND, false);
    has_failed = failing_malloc_end();
    settle();
    if (stage.has_call) {
        failing_malloc_begin(has_failed ? -1 : n, how);
        upstream_begins(200);
        upstream_says(SAYS("hello"));
        pass_ms(100);
        has_failed = failing_malloc_end() || has_failed;
        settle();
    }
    if (stage.has_call) {
        failing_malloc_begin(has_failed ? -1 : n, how);
        upstream_says(STOPS("stop"));
        has_failed = failing_malloc_end() || has_failed;
    }
    settle();
    assert_int_equal(stage.n_ended, 1);
    assert_true(stage.n_finished == 1 || stage.why_ended.code != ERR_NONE);
    pass_ms(1000);
    assert_null(stage_turn());
    assert_int_equal(stage.worker.n_runs, 0);
    stage_close();
    return has_failed;
}

static void it_ends_when_memory_runs_out(void **state)
{
    static const enum failing_malloc hows[] = {FAILS_ONCE, FAILS_FOR_GOOD};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(hows); i++) {
        long n = 0;

        while (run_without_memory(n, hows[i]))
            n++;
        assert_in_range(n, 10, 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_done_before_its_begin_is_stored),
        cmocka_unit_test(events_are_stored_as_they_come),
        cmocka_unit_test(a_listing_follows_its_begin),
        cmocka_unit_test(a_large_request_is_made_as_well),
        cmocka_unit_test(a_silent_one_is_kept_alive),
        cmocka_unit_test(rows_wait_for_the_store),
        cmocka_unit_test(its_end_waits_for_the_store),
        cmocka_unit_test(an_end_that_cannot_be_stored_is_told),
        cmocka_unit_test(who_asks_while_it_is_on_the_pool_gets_events_afterwards),
        cmocka_unit_test(what_cannot_be_begun_is_told),
        cmocka_unit_test(a_failure_behind_its_begin_is_stored),
        cmocka_unit_test(the_store_is_away_for_good),
        cmocka_unit_test(it_has_a_time),
        cmocka_unit_test(it_is_cancelled),
        cmocka_unit_test(it_is_cancelled_on_the_pool),
        cmocka_unit_test(a_wish_comes_with_a_row),
        cmocka_unit_test(it_is_cancelled_before_it_begins),
        cmocka_unit_test(nobody_wants_it),
        cmocka_unit_test(it_is_given_up_anywhere),
        cmocka_unit_test(it_ends_with_its_worker),
        cmocka_unit_test(it_is_dropped),
        cmocka_unit_test(it_ends_when_memory_runs_out),
        cmocka_unit_test(it_is_woken_for_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
