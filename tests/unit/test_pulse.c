/* test_pulse.c -- loops that turn, and one that does not. */
#include "ev/loop.h"
#include "flight/pulse.h"
#include "lib/send_once.h"
#include "lib/test.h"

enum { LOOPS = 2 };

struct setting {
    struct loop *loops[LOOPS];
    struct pulses *pulses;
};

static int setting_setup(void **state)
{
    struct setting *s = calloc(1, sizeof(*s));

    *state = s;
    s->pulses = pulses_new(LOOPS);
    for (int i = 0; i < LOOPS; i++) {
        s->loops[i] = loop_new(NULL);
        pulses_add(s->pulses, s->loops[i]);
    }
    return s->pulses == NULL || s->loops[0] == NULL || s->loops[1] == NULL ? -1 : 0;
}

static int setting_teardown(void **state)
{
    struct setting *s = *state;

    for (int i = 0; i < LOOPS; i++)
        loop_free(s->loops[i]);
    pulses_free(s->pulses);
    free(s);
    return 0;
}

static void stop(void *arg)
{
    loop_stop(arg);
}

static void turn(struct loop *loop)
{
    post_once(loop, stop, loop);
    loop_run(loop);
}

static void loops_that_turn_are_not_stalled(void **state)
{
    struct setting *s = *state;

    for (uint64_t now_ms = 1000; now_ms < 100000; now_ms += 10000) {
        assert_false(pulses_are_stalled(s->pulses, now_ms));
        turn(s->loops[0]);
        turn(s->loops[1]);
    }
}

static void a_loop_that_does_not_turn_for_five_seconds_is_stalled_until_it_does(void **state)
{
    struct setting *s = *state;

    assert_false(pulses_are_stalled(s->pulses, 1000));
    turn(s->loops[0]);
    assert_false(pulses_are_stalled(s->pulses, 6000));
    turn(s->loops[0]);
    assert_true(pulses_are_stalled(s->pulses, 6001));
    assert_true(pulses_are_stalled(s->pulses, 60000));
    turn(s->loops[0]);
    turn(s->loops[1]);
    assert_false(pulses_are_stalled(s->pulses, 60001));
}

static void all_have_answered_when_each_loop_has_turned_since_it_was_asked(void **state)
{
    struct setting *s = *state;

    assert_true(pulses_have_answered(s->pulses));
    pulses_ask(s->pulses, 1000);
    assert_false(pulses_have_answered(s->pulses));
    turn(s->loops[0]);
    assert_false(pulses_have_answered(s->pulses));
    turn(s->loops[1]);
    assert_true(pulses_have_answered(s->pulses));
}

static void without_pulses_nothing_is_known(void **state)
{
    (void)state;
    assert_false(pulses_are_stalled(NULL, 1));
    pulses_free(NULL);
}

static void a_loop_that_has_ended_is_asked_nothing(void **state)
{
    struct setting *s = *state;

    pulses_ask(s->pulses, 1000);
    turn(s->loops[0]);
    assert_false(pulses_have_answered(s->pulses));
    pulses_end(s->pulses, s->loops[1]);
    assert_true(pulses_have_answered(s->pulses));
    pulses_ask(s->pulses, 2000);
    turn(s->loops[0]);
    assert_true(pulses_have_answered(s->pulses));
    assert_false(pulses_are_stalled(s->pulses, 60000));
    assert_true(pulses_are_stalled(s->pulses, 70000)); /* the other one */
    pulses_end(NULL, s->loops[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(loops_that_turn_are_not_stalled, setting_setup,
                                        setting_teardown),
        cmocka_unit_test_setup_teardown(
            a_loop_that_does_not_turn_for_five_seconds_is_stalled_until_it_does, setting_setup,
            setting_teardown),
        cmocka_unit_test_setup_teardown(
            all_have_answered_when_each_loop_has_turned_since_it_was_asked, setting_setup,
            setting_teardown),
        cmocka_unit_test_setup_teardown(a_loop_that_has_ended_is_asked_nothing, setting_setup,
                                        setting_teardown),
        cmocka_unit_test(without_pulses_nothing_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
