/* test_errand.c -- the orders in which an errand begins, reports, is cancelled and comes to an end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ev/errand.h"
#include "lib/test.h"

/* Both loops are run by the test, a turn at a time, unless it has threads. */
struct fixture {
    struct loop *home, *there;
    struct errand errand;
    bool reports_at_once, begins_again;
    char order[16]; /* a letter for everything that was called */
};

static void note(struct fixture *f, const char *letter)
{
    (void)strncat(f->order, letter, sizeof(f->order) - strlen(f->order) - 1);
}

static void note_begin(void *task)
{
    struct fixture *f = task;

    note(f, "b");
    if (f->reports_at_once)
        errand_report(&f->errand);
}

static void note_abort(void *task)
{
    note(task, "a");
}

static void begin(struct fixture *f);

static void come_home(struct fixture *f, const char *letter)
{
    note(f, letter);
    assert_int_equal(loop_n_expected(f->home), 0);
    memset(&f->errand, 0xee, sizeof(f->errand)); /* it is the task's again */
    if (!f->begins_again)
        return;
    f->begins_again = false;
    begin(f);
}

static void note_report(void *task)
{
    come_home(task, "r");
}

static void note_release(void *task)
{
    come_home(task, "l");
}

static void begin(struct fixture *f)
{
    static const struct errand_kind kind = {note_begin, note_abort, note_report, note_release};

    errand_begin(&f->errand, &kind, f, f->home, f->there);
}

static void turn(struct loop *loop)
{
    (void)uv_run(loop_uv(loop), UV_RUN_NOWAIT);
}

/* Nothing more happens, wherever it is waited for. */
static void assert_ended(struct fixture *f, const char *order)
{
    for (int i = 0; i < 3; i++) {
        turn(f->there);
        turn(f->home);
    }
    assert_string_equal(f->order, order);
    assert_int_equal(loop_n_expected(f->home), 0);
}

static int setup(void **state)
{
    static struct fixture f;

    f = (struct fixture){.home = loop_new(NULL), .there = loop_new(NULL)};
    *state = &f;
    return f.home == NULL || f.there == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    loop_free(f->there);
    loop_free(f->home);
    return 0;
}

/* ---- reports */

static void an_errand_begins_there_and_is_reported_at_home(void **state)
{
    struct fixture *f = *state;

    begin(f);
    assert_int_equal(loop_n_expected(f->home), 1);
    turn(f->home);
    assert_string_equal(f->order, "");
    turn(f->there);
    assert_string_equal(f->order, "b");
    errand_report(&f->errand);
    turn(f->there);
    assert_string_equal(f->order, "b");
    turn(f->home);
    assert_ended(f, "br");
}

static void an_errand_may_report_at_once(void **state)
{
    struct fixture *f = *state;

    f->reports_at_once = true;
    begin(f);
    turn(f->there);
    turn(f->home);
    assert_ended(f, "br");
}

static void an_errand_may_begin_again_when_it_is_reported(void **state)
{
    struct fixture *f = *state;

    f->reports_at_once = f->begins_again = true;
    begin(f);
    assert_ended(f, "brbr");
}

static void what_is_handed_over_in_another_way_only_reports(void **state)
{
    struct fixture *f = *state;
    static const struct errand_kind kind = {.report = note_report};

    errand_begin(&f->errand, &kind, f, f->home, NULL);
    assert_int_equal(loop_n_expected(f->home), 1);
    turn(f->there);
    errand_report(&f->errand);
    assert_ended(f, "r");
}

/* ---- cancelled */

static void one_that_is_cancelled_is_aborted_and_then_released(void **state)
{
    struct fixture *f = *state;

    begin(f);
    turn(f->there);
    errand_cancel(&f->errand);
    turn(f->home);
    assert_string_equal(f->order, "b");
    turn(f->there);
    assert_string_equal(f->order, "ba");
    assert_int_equal(loop_n_expected(f->home), 1);
    turn(f->home);
    assert_ended(f, "bal");
}

static void one_that_is_cancelled_before_it_begins_begins_first(void **state)
{
    struct fixture *f = *state;

    begin(f);
    errand_cancel(&f->errand);
    assert_ended(f, "bal");
}

static void one_that_was_over_when_the_abort_came_is_only_released(void **state)
{
    struct fixture *f = *state;

    f->reports_at_once = true;
    begin(f);
    errand_cancel(&f->errand);
    assert_ended(f, "bl");
}

static void a_report_that_has_met_the_abort_is_dropped(void **state)
{
    struct fixture *f = *state;

    f->reports_at_once = true;
    begin(f);
    turn(f->there);
    errand_cancel(&f->errand);
    turn(f->home);
    assert_string_equal(f->order, "b");
    assert_int_equal(loop_n_expected(f->home), 1);
    turn(f->there);
    turn(f->home);
    assert_ended(f, "bl");
}

/* Both are in the queue of home at once. */
static void a_report_and_the_release_behind_it_are_one_end(void **state)
{
    struct fixture *f = *state;

    f->reports_at_once = true;
    begin(f);
    turn(f->there);
    errand_cancel(&f->errand);
    turn(f->there);
    assert_ended(f, "bl");
}

static void one_that_was_cancelled_may_begin_again(void **state)
{
    struct fixture *f = *state;

    f->begins_again = true;
    begin(f);
    errand_cancel(&f->errand);
    turn(f->there);
    turn(f->home);
    turn(f->there);
    errand_report(&f->errand);
    assert_ended(f, "balbr");
}

/* ---- several threads, up to the end of the loops */

enum { HOMES = 3, ROUNDS = 200, AT_ONCE = 8 };

struct home {
    uv_thread_t thread;
    struct loop *loop, *there;
    unsigned n_reported, n_released;
};

/* Those there keep every second task until the next one comes. */
struct task {
    struct errand errand;
    struct home *home;
    unsigned number;
};

static struct task *kept;
static struct loop_message stop_there;

static void begin_task(void *arg)
{
    struct task *task = arg;

    if (task->number % 2 == 0) {
        errand_report(&task->errand);
        return;
    }
    if (kept != NULL)
        errand_report(&kept->errand);
    kept = task;
}

static void abort_task(void *arg)
{
    if (arg != kept) /* the others have been reported */
        abort();
    kept = NULL;
}

static void report_task(void *arg)
{
    struct task *task = arg;

    task->home->n_reported++;
    free(task);
}

static void release_task(void *arg)
{
    struct task *task = arg;

    task->home->n_released++;
    free(task);
}

static struct task *task_start(struct home *h, unsigned number)
{
    static const struct errand_kind kind = {begin_task, abort_task, report_task, release_task};
    struct task *task = calloc(1, sizeof(*task));

    if (task == NULL)
        abort();
    task->home = h;
    task->number = number;
    errand_begin(&task->errand, &kind, task, h->loop, h->there);
    return task;
}

/* Nothing can have been heard of a task before the loop has run, so each may be cancelled. */
static void home_run(void *arg)
{
    struct home *h = arg;

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct task *tasks[AT_ONCE];

        for (unsigned i = 0; i < AT_ONCE; i++)
            tasks[i] = task_start(h, i);
        for (unsigned i = 1; i < AT_ONCE; i += 2)
            errand_cancel(&tasks[i]->errand);
        while (loop_n_expected(h->loop) > 0)
            (void)uv_run(loop_uv(h->loop), UV_RUN_ONCE);
    }
}

static void run_loop(void *loop)
{
    loop_run(loop);
}

static void stop_loop(void *loop)
{
    loop_stop(loop);
}

static void every_errand_of_every_thread_ends_once(void **state)
{
    struct fixture *f = *state;
    struct home homes[HOMES];
    uv_thread_t there;

    assert_int_equal(uv_thread_create(&there, run_loop, f->there), 0);
    for (unsigned i = 0; i < HOMES; i++) {
        homes[i] = (struct home){.loop = loop_new(NULL), .there = f->there};
        assert_int_equal(uv_thread_create(&homes[i].thread, home_run, &homes[i]), 0);
    }
    for (unsigned i = 0; i < HOMES; i++) {
        (void)uv_thread_join(&homes[i].thread);
        loop_free(homes[i].loop);
        assert_int_equal(homes[i].n_reported, ROUNDS * AT_ONCE / 2);
        assert_int_equal(homes[i].n_released, ROUNDS * AT_ONCE / 2);
    }
    stop_there = (struct loop_message){.fn = stop_loop, .arg = f->there};
    loop_post(f->there, &stop_there);
    (void)uv_thread_join(&there);
    assert_null(kept);
}

#define WITH_LOOPS(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_LOOPS(an_errand_begins_there_and_is_reported_at_home),
        WITH_LOOPS(an_errand_may_report_at_once),
        WITH_LOOPS(an_errand_may_begin_again_when_it_is_reported),
        WITH_LOOPS(what_is_handed_over_in_another_way_only_reports),
        WITH_LOOPS(one_that_is_cancelled_is_aborted_and_then_released),
        WITH_LOOPS(one_that_is_cancelled_before_it_begins_begins_first),
        WITH_LOOPS(one_that_was_over_when_the_abort_came_is_only_released),
        WITH_LOOPS(a_report_that_has_met_the_abort_is_dropped),
        WITH_LOOPS(a_report_and_the_release_behind_it_are_one_end),
        WITH_LOOPS(one_that_was_cancelled_may_begin_again),
        WITH_LOOPS(every_errand_of_every_thread_ends_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
