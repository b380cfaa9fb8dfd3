/* test_session_names.c -- what a session was called first. */
#include "lib/test.h"

#include "affinity/session_names.h"
#include "lib/failing_malloc.h"

static struct session_names *make_names(void)
{
    struct session_names *s = session_names_new();

    assert_non_null(s);
    return s;
}

/* As the pool does: `next` goes on with `session`. */
static void go_on(struct session_names *s, uint64_t session, uint64_t next)
{
    session_names_note(s, next, session_names_first(s, session));
}

static void a_chain_has_the_name_of_its_first_response(void **state)
{
    struct session_names *s = make_names();

    (void)state;
    for (uint64_t i = 1; i < 100; i++)
        go_on(s, i, i + 1);
    for (uint64_t i = 1; i <= 100; i++)
        assert_int_equal(session_names_first(s, i), 1);
    session_names_free(s);
}

static void branches_of_a_chain_share_its_name(void **state)
{
    struct session_names *s = make_names();

    (void)state;
    go_on(s, 1, 2);
    go_on(s, 2, 3);
    go_on(s, 2, 4);
    assert_int_equal(session_names_first(s, 3), 1);
    assert_int_equal(session_names_first(s, 4), 1);
    session_names_free(s);
}

static void what_nobody_noted_is_called_as_it_is(void **state)
{
    struct session_names *s = make_names();

    (void)state;
    assert_int_equal(session_names_first(s, 7), 7);
    assert_int_equal(session_names_first(NULL, 7), 7);
    session_names_free(s);
    session_names_free(NULL);
}

static void a_name_that_is_noted_again_takes_no_second_place(void **state)
{
    struct session_names *s = make_names();

    (void)state;
    session_names_note(s, 5, 1);
    for (uint64_t i = 0; i < 3; i++)
        session_names_note(s, 6, i + 1);
    assert_int_equal(session_names_first(s, 6), 3);
    assert_int_equal(session_names_first(s, 5), 1);
    session_names_free(s);
}

/* Four have room where their hashes meet. */
static void of_names_that_share_a_place_the_oldest_is_lost(void **state)
{
    const uint64_t step = SESSION_NAMES / 4;
    struct session_names *s = make_names();

    (void)state;
    for (uint64_t i = 1; i <= 5; i++)
        session_names_note(s, i * step, i);
    assert_int_equal(session_names_first(s, step), step);
    for (uint64_t i = 2; i <= 5; i++)
        assert_int_equal(session_names_first(s, i * step), i);
    session_names_free(s);
}

static void without_memory_there_are_none(void **state)
{
    (void)state;
    failing_malloc_begin(0, FAILS_ONCE);
    assert_null(session_names_new());
    assert_true(failing_malloc_end());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_has_the_name_of_its_first_response),
        cmocka_unit_test(branches_of_a_chain_share_its_name),
        cmocka_unit_test(what_nobody_noted_is_called_as_it_is),
        cmocka_unit_test(a_name_that_is_noted_again_takes_no_second_place),
        cmocka_unit_test(of_names_that_share_a_place_the_oldest_is_lost),
        cmocka_unit_test(without_memory_there_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
