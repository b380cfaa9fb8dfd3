/* test_running.c -- asks on their way to the turn that makes a response, and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/test.h"
#include "resume/running.h"

/* A turn whose response has so many events, each a letter, from "a" on. */
struct fake_turn {
    struct running_entry entry; /* first */
    atomic_uint n_events;
    bool is_over, is_removed_when_cancelled;
    unsigned n_fills, n_cancels;
    struct running_ask *dropped; /* while it is being filled */
    bool was_dropped;
};

static enum running_outcome fill(struct running_entry *entry, struct running_ask *ask)
{
    struct fake_turn *t = (struct fake_turn *)entry;
    const unsigned n = atomic_load(&t->n_events);

    t->n_fills++;
    if (t->dropped == ask)
        t->was_dropped = running_drop(ask);
    if (ask->replay.next == n && !t->is_over)
        return RUNNING_NOTHING;
    while (ask->replay.next < n)
        buf_char(&ask->out, (char)('a' + ask->replay.next++ % 26));
    return t->is_over ? RUNNING_LAST : RUNNING_SOME;
}

static void cancel(struct running_entry *entry)
{
    struct fake_turn *t = (struct fake_turn *)entry;

    t->n_cancels++;
    if (t->is_removed_when_cancelled)
        running_remove(entry);
}

static const struct running_ops ops = {fill, cancel};

/* Both loops are run by the test, a turn at a time. */
struct fixture {
    struct running *table;
    struct loop *home, *there;
    struct fake_turn turn;
    struct running_ask ask;
    char heard[32]; /* of the ask: what it was told, and what it got */
};

static const char *const outcomes[] = {"nothing", "+", ".", "ended", "failed"};

static void on_report(void *arg, enum running_outcome outcome)
{
    struct fixture *f = arg;

    (void)strncat(f->heard, buf_cstr(&f->ask.out), sizeof(f->heard) - strlen(f->heard) - 1);
    (void)strncat(f->heard, outcomes[outcome], sizeof(f->heard) - strlen(f->heard) - 1);
    buf_reset(&f->ask.out);
}

static void pass(struct loop *loop)
{
    (void)uv_run(loop_uv(loop), UV_RUN_NOWAIT);
}

/* Runs the loops until nothing more happens on either. */
static void settle(struct fixture *f)
{
    for (int i = 0; i < 3; i++) {
        pass(f->there);
        pass(f->home);
    }
}

static void assert_heard(struct fixture *f, const char *text)
{
    settle(f);
    assert_string_equal(f->heard, text);
    f->heard[0] = '\0';
}

static int setup(void **state)
{
    static struct fixture f;

    f = (struct fixture){
        .table = running_new(1), .home = loop_new(NULL), .there = loop_new(NULL), .heard = ""};
    if (f.table == NULL || f.home == NULL || f.there == NULL)
        return -1;
    running_open(f.table, f.there);
    f.ask = (struct running_ask){
        .owner = STR("me"), .id = STR("resp_1"), .after = -1, .report = on_report, .arg = &f};
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    running_remove(&f->turn.entry);
    settle(f);
    assert_int_equal(loop_n_expected(f->home), 0);
    buf_fini(&f->ask.out);
    running_free(f->table);
    loop_free(f->there);
    loop_free(f->home);
    return 0;
}

static void begin_turn(struct fixture *f)
{
    running_add(f->table, &f->turn.entry, &ops, STR("me"), STR("resp_1"), f->there);
}

static void add_events(struct fixture *f, unsigned n)
{
    atomic_fetch_add(&f->turn.n_events, n);
    running_notify(&f->turn.entry);
}

static bool ask_for(struct fixture *f, enum running_wish wish)
{
    f->ask.wish = wish;
    return running_ask(f->table, &f->ask, f->home);
}

static bool has_turn(const struct fixture *f)
{
    return running_has(f->table, STR("me"), STR("resp_1"));
}

/* ---- events */

static void an_ask_gets_the_events_that_there_are(void **state)
{
    struct fixture *f = *state;

    begin_turn(f);
    add_events(f, 3);
    assert_true(ask_for(f, RUNNING_EVENTS));
    assert_int_equal(loop_n_expected(f->home), 1);
    pass(f->home);
    assert_string_equal(f->heard, "");
    assert_heard(f, "abc+");
    assert_int_equal(loop_n_expected(f->home), 0);
}

static void an_ask_waits_for_events(void **state)
{
    struct fixture *f = *state;

    begin_turn(f);
    assert_true(ask_for(f, RUNNING_EVENTS));
    assert_heard(f, "");
    add_events(f, 0);
    assert_heard(f, "");
    add_events(f, 2);
    assert_heard(f, "ab+");
    assert_true(ask_for(f, RUNNING_EVENTS));
    add_events(f, 1);
    assert_heard(f, "c+");
}

static void nobody_is_filled_who_has_not_asked(void **state)
{
    struct fixture *f = *state;

    begin_turn(f);
    add_events(f, 2);
    assert_int_equal(f->turn.n_fills, 0);
    assert_true(ask_for(f, RUNNING_END));
    settle(f);
    add_events(f, 2);
    running_serve(&f->turn.entry);
    assert_int_equal(f->turn.n_fills, 0);
}

static void the_last_event_is_told(void **state)
{
    struct fixture *f = *state;

    begin_turn(f);
    assert_true(ask_for(f, RUNNING_EVENTS));
    settle(f);
    f->turn.is_over = true;
    add_events(f, 1);
    running_remove(&f->turn.entry);
    assert_heard(f, "a.");
}

/* ---- who is there */

static void an_id_that_nobody_makes_is_unknown(void **state)
{
    struct fixture *f = *state;

    assert_false(ask_for(f, RUNNING_EVENTS));
    begin_turn(f);
    f->ask.id = STR("resp_2");
    assert_false(ask_for(f, RUNNING_EVENTS));
    assert_int_equal(loop_n_expected(f->home), 0);
}

static void an_id_of_another_owner_is_unknown(void **state)
{
    struct fixture *f = *state;

    begin_turn(f);
    f->ask.owner = STR("you");
    assert_false(ask_for(f, RUNNING_CANCEL));
    settle(f);
    assert_int_equal(f->turn.n_cancels, 0);
}

static void a_hidden_turn_is_unknown_to_those_who_ask_later(void **state)
{
    struct fixture *f = *state;

    begin_turn(f);
    running_hide(f->table, STR("me"), STR("resp_2"));
    assert_true(has_turn(f));
    running_hide(f->table, STR("me"), STR("resp_1"));
    assert_false(has_turn(f));
    for (enum running_wish wish = RUNNING_EVENTS; wish <= RUNNING_CANCEL; wish++)
        assert_false(ask_for(f, wish));
    running_hide(f->table, STR("me"), STR("resp_1"));
    assert_heard(f, "");
}

static void what_was_asked_of_a_turn_before_it_is_hidden_goes_on(void **state)
{
    struct fixture *f = *state;

    begin_turn(f);
    assert_true(ask_for(f, RUNNING_CANCEL));
    running_hide(f->table, STR("me"), STR("resp_1"));
    settle(f);
    assert_int_equal(f->turn.n_cancels, 1);
    running_remove(&f->turn.entry);
    assert_heard(f, "ended");
}

static void an_ask_may_wait_for_the_turn_to_begin(void **state)
{
    struct fixture *f = *state;

    f->ask.awaits_begin = true;
    assert_true(ask_for(f, RUNNING_EVENTS));
    assert_heard(f, "");
    begin_turn(f);
    add_events(f, 1);
    assert_heard(f, "a+");
}

static void a_wait_for_another_turn_goes_on(void **state)
{
    struct fixture *f = *state;

    f->ask.awaits_begin = true;
    f->ask.owner = STR("you");
    assert_true(ask_for(f, RUNNING_EVENTS));
    begin_turn(f);
    add_events(f, 1);
    assert_heard(f, "");
    assert_true(running_drop(&f->ask));
}

static void many_turns_are_told_apart(void **state)
{
    enum { N = 1000 };
    struct fixture *f = *state;
    struct fake_turn *turns = calloc(N, sizeof(*turns));
    char ids[N][32];

    for (int i = 0; i < N; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "resp_%d", i);
        running_add(f->table, &turns[i].entry, &ops, STR("me"), str_from_c(ids[i]), f->there);
        atomic_init(&turns[i].n_events, (unsigned)(i % 26 + 1));
    }
    f->ask.id = STR("resp_701");
    assert_true(ask_for(f, RUNNING_EVENTS));
    settle(f);
    assert_int_equal(strlen(f->heard), 701 % 26 + 2);
    for (int i = 0; i < N; i++)
        running_remove(&turns[i].entry);
    assert_false(ask_for(f, RUNNING_EVENTS));
    free(turns);
}

/* ---- the end of a turn */

static void those_who_wait_hear_that_the_turn_is_gone(void **state)
{
    static const enum running_wish wishes[] = {RUNNING_EVENTS, RUNNING_END, RUNNING_CANCEL};
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT_OF(wishes); i++) {
        begin_turn(f);
        assert_true(ask_for(f, wishes[i]));
        assert_heard(f, "");
        running_remove(&f->turn.entry);
        assert_heard(f, "ended");
    }
}

static void an_ask_that_crosses_the_end_hears_of_it(void **state)
{
    struct fixture *f = *state;

    begin_turn(f);
    add_events(f, 1);
    assert_true(ask_for(f, RUNNING_EVENTS));
    running_remove(&f->turn.entry);
    assert_heard(f, "ended");
    assert_int_equal(f->turn.n_fills, 0);
}

static void a_turn_may_be_removed_twice(void **state)
{
    struct fixture *f = *state;

    running_remove(&f->turn.entry);
    begin_turn(f);
    running_remove(&f->turn.entry);
    running_remove(&f->turn.entry);
}

static void a_loop_that_has_ended_keeps_nobody_waiting(void **state)
{
    struct fixture *f = *state;

    begin_turn(f);
    assert_true(ask_for(f, RUNNING_END));
    settle(f);
    assert_true(has_turn(f));
    running_close(f->table, f->there);
    assert_false(has_turn(f));
    pass(f->home);
    assert_string_equal(f->heard, "ended");
    f->heard[0] = '\0';
    assert_false(ask_for(f, RUNNING_EVENTS));
}

static void a_loop_that_has_ended_has_no_ask_on_its_way(void **state)
{
    struct fixture *f = *state;

    begin_turn(f);
    assert_true(ask_for(f, RUNNING_EVENTS));
    running_close(f->table, f->there);
    pass(f->home);
    assert_string_equal(f->heard, "ended");
    f->heard[0] = '\0';
    assert_heard(f, "");
    assert_int_equal(f->turn.n_fills, 0);
}

/* ---- cancelled */

static void a_wish_to_cancel_is_told_to_the_turn(void **state)
{
    struct fixture *f = *state;

    begin_turn(f);
    assert_true(ask_for(f, RUNNING_CANCEL));
    assert_int_equal(f->turn.n_cancels, 0);
    assert_heard(f, "");
    assert_int_equal(f->turn.n_cancels, 1);
    running_remove(&f->turn.entry);
    assert_heard(f, "ended");
}

static void a_turn_may_be_gone_when_it_is_cancelled(void **state)
{
    struct fixture *f = *state;

    begin_turn(f);
    f->turn.is_removed_when_cancelled = true;
    assert_true(ask_for(f, RUNNING_CANCEL));
    assert_heard(f, "ended");
}

/* ---- called off */

static void an_ask_is_called_off_at_once(void **state)
{
    struct fixture *f = *state;

    begin_turn(f);
    assert_true(ask_for(f, RUNNING_CANCEL)); /* on its way */
    assert_true(running_drop(&f->ask));
    assert_int_equal(loop_n_expected(f->home), 0);
    assert_true(ask_for(f, RUNNING_EVENTS)); /* parked */
    settle(f);
    assert_true(running_drop(&f->ask));
    add_events(f, 1);
    assert_heard(f, "");
    assert_int_equal(f->turn.n_cancels, 0);
}

static void an_ask_that_is_being_filled_is_reported_first(void **state)
{
    struct fixture *f = *state;

    begin_turn(f);
    f->turn.dropped = &f->ask;
    f->turn.was_dropped = true;
    assert_true(ask_for(f, RUNNING_EVENTS));
    settle(f);
    assert_false(f->turn.was_dropped);
    assert_heard(f, "+");
    assert_int_equal(loop_n_expected(f->home), 0);
}

static void an_ask_whose_report_is_on_its_way_is_not_called_off(void **state)
{
    struct fixture *f = *state;

    begin_turn(f);
    add_events(f, 1);
    assert_true(ask_for(f, RUNNING_EVENTS));
    pass(f->there);
    assert_false(running_drop(&f->ask));
    assert_heard(f, "a+");
}

/* ---- readers */

static void a_response_has_no_more_readers_than_it_may(void **state)
{
    struct fixture *f = *state;
    struct running_reader readers[3] = {0};
    struct err e;

    assert_int_equal(running_join(f->table, &readers[0], STR("me"), STR("resp_1"), 2, &e), 0);
    assert_int_equal(running_join(f->table, &readers[1], STR("me"), STR("resp_1"), 2, &e), 0);
    assert_int_equal(running_join(f->table, &readers[2], STR("me"), STR("resp_1"), 2, &e), -1);
    assert_int_equal(e.code, ERR_RATE_LIMIT);
    assert_non_null(strstr(e.msg, "resume_readers"));
    running_leave(&readers[2], 1);
    assert_int_equal(running_join(f->table, &readers[2], STR("you"), STR("resp_1"), 2, &e), 0);
    running_leave(&readers[0], 1);
    running_leave(&readers[2], 1);
    assert_int_equal(running_join(f->table, &readers[2], STR("me"), STR("resp_1"), 2, &e), 0);
    running_leave(&readers[1], 1);
    running_leave(&readers[2], 1);
}

static void it_is_known_for_how_long_nobody_reads(void **state)
{
    struct fixture *f = *state;
    struct running_reader reader = {0};
    struct err e;

    begin_turn(f);
    assert_int_equal(running_unread_ms(&f->turn.entry, false, 100, 150), 50);
    assert_int_equal(running_join(f->table, &reader, STR("me"), STR("resp_1"), 2, &e), 0);
    assert_int_equal(running_unread_ms(&f->turn.entry, false, 100, 150), 0);
    running_leave(&reader, 160);
    assert_int_equal(running_unread_ms(&f->turn.entry, false, 100, 170), 10);
    assert_int_equal(running_unread_ms(&f->turn.entry, false, 165, 170), 5);
    assert_int_equal(running_unread_ms(&f->turn.entry, false, 165, 150), 0);
}

static void those_who_repeat_the_request_are_known_from_others(void **state)
{
    struct fixture *f = *state;
    struct running_reader other = {0}, repeating = {.repeats = true};
    struct err e;

    begin_turn(f);
    assert_int_equal(running_join(f->table, &other, STR("me"), STR("resp_1"), 2, &e), 0);
    assert_int_equal(running_unread_ms(&f->turn.entry, true, 100, 150), 50);
    assert_int_equal(running_join(f->table, &repeating, STR("me"), STR("resp_1"), 2, &e), 0);
    assert_int_equal(running_unread_ms(&f->turn.entry, true, 100, 150), 0);
    running_leave(&other, 160);
    assert_int_equal(running_unread_ms(&f->turn.entry, true, 100, 170), 0);
    running_leave(&repeating, 180);
    assert_int_equal(running_unread_ms(&f->turn.entry, true, 100, 190), 10);
    assert_int_equal(running_join(f->table, &other, STR("me"), STR("resp_1"), 2, &e), 0);
    running_leave(&other, 200);
    assert_int_equal(running_unread_ms(&f->turn.entry, true, 100, 210), 30);
    assert_int_equal(running_unread_ms(&f->turn.entry, false, 100, 210), 10);
}

/* ---- several threads, up to the end of the loops */

enum { N_READERS = 4, N_TURNS = 200, N_EVENTS = 26 };

struct reading {
    struct running *table;
    struct loop *home;
    uv_thread_t thread;
    struct running_ask ask;
    char id[32];
    unsigned n_heard, n_dropped, number;
    bool is_heard;
};

struct making {
    struct running *table;
    struct loop *loop;
    uv_thread_t thread;
    struct fake_turn turn;
    struct loop_message next, stop;
    char id[32];
    unsigned n_turns;
};

/* A piece of the work: a turn begins, has one more event, or ends. */
static void make_next(void *arg)
{
    struct making *m = arg;
    const unsigned n = atomic_load(&m->turn.n_events);

    if (m->turn.entry.place.table == NULL) {
        (void)snprintf(m->id, sizeof(m->id), "resp_%u", m->n_turns++);
        m->turn.is_over = false;
        atomic_store(&m->turn.n_events, 0);
        running_add(m->table, &m->turn.entry, &ops, STR("me"), str_from_c(m->id), m->loop);
    } else if (n < N_EVENTS) {
        atomic_store(&m->turn.n_events, n + 1);
        m->turn.is_over = n + 1 == N_EVENTS;
        running_notify(&m->turn.entry);
    } else {
        running_remove(&m->turn.entry);
        if (m->n_turns == N_TURNS) {
            loop_stop(m->loop);
            return;
        }
    }
    loop_post(m->loop, &m->next);
}

static void make_all(void *arg)
{
    struct making *m = arg;

    loop_run(m->loop);
    running_close(m->table, m->loop);
}

static void on_reading(void *arg, enum running_outcome outcome)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    struct reading *r = arg;
    const bool has_events = outcome == RUNNING_SOME || outcome == RUNNING_LAST;
    const str out = has_events ? buf_str(&r->ask.out) : STR("");

    r->is_heard = true;
    if (outcome == RUNNING_FAILED || r->ask.replay.next > N_EVENTS)
        abort();
    if (out.len > 0 && !str_eq(out, str_from(letters + r->ask.replay.next - out.len, out.len)))
        abort();
    r->n_heard++;
    if (outcome == RUNNING_LAST || outcome == RUNNING_ENDED)
        r->ask.replay.next = 0;
}

/* Every third ask is called off, and every seventh wants no events. */
static void read_once(struct reading *r, unsigned turn)
{
    (void)snprintf(r->id, sizeof(r->id), "resp_%u", turn);
    r->ask.id = str_from_c(r->id);
    r->ask.wish = ++r->number % 7 == 0 ? RUNNING_END : RUNNING_EVENTS;
    r->is_heard = false;
    if (!running_ask(r->table, &r->ask, r->home))
        return;
    if (r->number % 3 == 0 && running_drop(&r->ask)) {
        r->n_dropped++;
        return;
    }
    while (!r->is_heard)
        (void)uv_run(loop_uv(r->home), UV_RUN_ONCE);
}

static void read_all(void *arg)
{
    struct reading *r = arg;

    for (unsigned turn = 0; turn < N_TURNS; turn++) {
        r->ask.replay.next = 0;
        for (unsigned i = 0; i < 12; i++)
            read_once(r, turn);
    }
}

static void asks_of_every_thread_end_once(void **state)
{
    struct fixture *f = *state;
    struct making m = {.table = f->table, .loop = f->there};
    struct reading readers[N_READERS];

    m.next = (struct loop_message){.fn = make_next, .arg = &m};
    loop_post(m.loop, &m.next);
    for (unsigned i = 0; i < N_READERS; i++) {
        readers[i] = (struct reading){.table = f->table, .home = loop_new(NULL)};
        readers[i].ask = (struct running_ask){
            .owner = STR("me"), .after = -1, .report = on_reading, .arg = &readers[i]};
        assert_int_equal(uv_thread_create(&readers[i].thread, read_all, &readers[i]), 0);
    }
    assert_int_equal(uv_thread_create(&m.thread, make_all, &m), 0);
    for (unsigned i = 0; i < N_READERS; i++) {
        (void)uv_thread_join(&readers[i].thread);
        assert_int_equal(loop_n_expected(readers[i].home), 0);
        loop_free(readers[i].home);
        buf_fini(&readers[i].ask.out);
    }
    (void)uv_thread_join(&m.thread);
}

#define WITH_LOOPS(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_LOOPS(an_ask_gets_the_events_that_there_are),
        WITH_LOOPS(an_ask_waits_for_events),
        WITH_LOOPS(nobody_is_filled_who_has_not_asked),
        WITH_LOOPS(the_last_event_is_told),
        WITH_LOOPS(an_id_that_nobody_makes_is_unknown),
        WITH_LOOPS(an_id_of_another_owner_is_unknown),
        WITH_LOOPS(a_hidden_turn_is_unknown_to_those_who_ask_later),
        WITH_LOOPS(what_was_asked_of_a_turn_before_it_is_hidden_goes_on),
        WITH_LOOPS(an_ask_may_wait_for_the_turn_to_begin),
        WITH_LOOPS(a_wait_for_another_turn_goes_on),
        WITH_LOOPS(many_turns_are_told_apart),
        WITH_LOOPS(those_who_wait_hear_that_the_turn_is_gone),
        WITH_LOOPS(an_ask_that_crosses_the_end_hears_of_it),
        WITH_LOOPS(a_turn_may_be_removed_twice),
        WITH_LOOPS(a_loop_that_has_ended_keeps_nobody_waiting),
        WITH_LOOPS(a_loop_that_has_ended_has_no_ask_on_its_way),
        WITH_LOOPS(a_wish_to_cancel_is_told_to_the_turn),
        WITH_LOOPS(a_turn_may_be_gone_when_it_is_cancelled),
        WITH_LOOPS(an_ask_is_called_off_at_once),
        WITH_LOOPS(an_ask_that_is_being_filled_is_reported_first),
        WITH_LOOPS(an_ask_whose_report_is_on_its_way_is_not_called_off),
        WITH_LOOPS(a_response_has_no_more_readers_than_it_may),
        WITH_LOOPS(it_is_known_for_how_long_nobody_reads),
        WITH_LOOPS(those_who_repeat_the_request_are_known_from_others),
        WITH_LOOPS(asks_of_every_thread_end_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
