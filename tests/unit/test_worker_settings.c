/* test_worker_settings.c -- when a worker takes other settings, and how long those of before stay. */
#include "unit/fake_loop.h"

#include "flight/flight.h"
#include "flight/settings.h"
#include "flight/worker.h"
#include "flight/worker_settings.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND };

static unsigned n_applied;

/* In place of worker.c. */
void worker_apply_config(struct worker *w)
{
    assert_non_null(w->config);
    n_applied++;
}

static int open_worker(void **state)
{
    struct worker *w = calloc(1, sizeof(*w));

    w->loop = loop_new(NULL);
    n_applied = 0;
    assert_int_equal(worker_settings_open(w), 0);
    *state = w;
    return 0;
}

static void end_settings(struct worker *w)
{
    if (w->at_end.fn != NULL)
        w->at_end.fn(w->at_end.arg);
    w->at_end.fn = NULL;
}

static int close_worker(void **state)
{
    struct worker *w = *state;

    end_settings(w);
    loop_free(w->loop);
    free(w);
    return 0;
}

/* The test has a reference of its own, by which it sees the others. */
static struct settings *give(struct worker *w)
{
    struct settings *s = settings_new();

    assert_non_null(s);
    worker_give_settings(w, s);
    return s;
}

static bool is_kept(const struct settings *s)
{
    return atomic_load(&s->n_references) > 1;
}

static void settings_are_taken_in_the_next_turn_of_the_loop(void **state)
{
    struct worker *w = *state;
    struct settings *s = give(w);

    assert_null(w->config);
    fake_loop_pass(w->loop, 0);
    assert_ptr_equal(w->config, &s->config);
    assert_ptr_equal(w->origins, &s->origins);
    assert_ptr_equal(w->trusted, &s->trusted);
    assert_ptr_equal(w->upstreams, s->upstreams);
    assert_int_equal(n_applied, 1);
    settings_unref(s);
}

static void only_the_newest_are_taken(void **state)
{
    struct worker *w = *state;
    struct settings *first = give(w), *second = give(w);

    assert_false(is_kept(first));
    fake_loop_pass(w->loop, 0);
    assert_ptr_equal(w->config, &second->config);
    assert_int_equal(n_applied, 1);
    settings_unref(first);
    settings_unref(second);
}

static void those_of_before_stay_for_work_that_is_short(void **state)
{
    struct worker *w = *state;
    struct settings *first = give(w), *second;

    fake_loop_pass(w->loop, 0);
    second = give(w);
    fake_loop_pass(w->loop, 4 * MINUTE);
    assert_true(is_kept(first));
    fake_loop_pass(w->loop, 2 * MINUTE);
    assert_false(is_kept(first));
    assert_true(is_kept(second));
    settings_unref(first);
    settings_unref(second);
}

static void those_of_before_stay_while_a_flight_may_have_seen_them(void **state)
{
    struct worker *w = *state;
    struct flight *old = calloc(1, sizeof(*old)), *later = calloc(1, sizeof(*later));
    struct settings *first = give(w), *second, *third;

    fake_loop_pass(w->loop, 0);
    old->serial = w->n_begun++;
    w->flights = old;
    second = give(w);
    fake_loop_pass(w->loop, 0);
    later->serial = w->n_begun++;
    later->next = old;
    w->flights = later;
    third = give(w);
    fake_loop_pass(w->loop, 60 * MINUTE);
    assert_true(is_kept(first));
    assert_true(is_kept(second));
    later->next = NULL; /* the old one is over */
    fake_loop_pass(w->loop, MINUTE);
    assert_false(is_kept(first));
    assert_true(is_kept(second));
    w->flights = NULL;
    fake_loop_pass(w->loop, MINUTE);
    assert_false(is_kept(second));
    assert_true(is_kept(third));
    settings_unref(first);
    settings_unref(second);
    settings_unref(third);
    free(old);
    free(later);
}

static void what_is_exchanged_all_the_time_does_not_pile_up(void **state)
{
    enum { N = 20 * 60, KEPT = 6 * 60 };
    struct worker *w = *state;
    struct settings *all[N];
    unsigned n_kept = 0;

    for (unsigned i = 0; i < N; i++) {
        all[i] = give(w);
        fake_loop_pass(w->loop, SECOND);
    }
    for (unsigned i = 0; i < N; i++)
        n_kept += is_kept(all[i]);
    assert_in_range(n_kept, 1, KEPT);
    for (unsigned i = 0; i < N; i++)
        settings_unref(all[i]);
}

static void all_go_with_the_worker(void **state)
{
    struct worker *w = *state;
    struct settings *former = give(w), *now, *given;

    fake_loop_pass(w->loop, 0);
    now = give(w);
    fake_loop_pass(w->loop, 0);
    given = give(w);
    end_settings(w);
    assert_false(is_kept(former));
    assert_false(is_kept(now));
    assert_false(is_kept(given));
    settings_unref(former);
    settings_unref(now);
    settings_unref(given);
    STAILQ_INIT(&w->loop->messages); /* the message went with them */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_worker, close_worker)
    const struct CMUnitTest tests[] = {
        TEST(settings_are_taken_in_the_next_turn_of_the_loop),
        TEST(only_the_newest_are_taken),
        TEST(those_of_before_stay_for_work_that_is_short),
        TEST(those_of_before_stay_while_a_flight_may_have_seen_them),
        TEST(what_is_exchanged_all_the_time_does_not_pile_up),
        TEST(all_go_with_the_worker),
    };

    return cmocka_run_group_tests_name("worker settings", tests, NULL, NULL);
}
