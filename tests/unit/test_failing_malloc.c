/* test_failing_malloc.c -- memory runs out where a test of faults says so, for each way to ask. */
#include <string.h>
#include <uv.h>

#include "lib/failing_malloc.h"
#include "lib/test.h"

static void *ask_malloc(void)
{
    return malloc(8);
}

static void *ask_calloc(void)
{
    return calloc(2, 4);
}

static void *ask_realloc(void)
{
    return realloc(NULL, 8);
}

static void *ask_strdup(void)
{
    return strdup("seven b");
}

static void *ask_strndup(void)
{
    return strndup("seven bytes", 7);
}

typedef void *ask_fn(void);

static ask_fn *const ways[] = {ask_malloc, ask_calloc, ask_realloc, ask_strdup, ask_strndup};

/* '.' for each of three that got what it asked for, '!' for one that did not. */
static void check(ask_fn *ask, long n, enum failing_malloc how, const char *expected)
{
    char got[4] = "...";

    failing_malloc_begin(n, how);
    for (int i = 0; i < 3; i++) {
        void *p = ask();

        if (p == NULL)
            got[i] = '!';
        free(p);
    }
    assert_int_equal(failing_malloc_end(), strchr(expected, '!') != NULL);
    assert_string_equal(got, expected);
}

static void each_way_to_ask_fails_when_it_shall(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        check(ways[i], 0, FAILS_ONCE, "!..");
        check(ways[i], 1, FAILS_ONCE, ".!.");
        check(ways[i], 0, FAILS_FOR_GOOD, "!!!");
        check(ways[i], 2, FAILS_FOR_GOOD, "..!");
        check(ways[i], 3, FAILS_FOR_GOOD, "...");
        check(ways[i], -1, FAILS_FOR_GOOD, "...");
    }
}

static void after_the_end_none_fails(void **state)
{
    void *p;

    (void)state;
    failing_malloc_begin(0, FAILS_FOR_GOOD);
    assert_false(failing_malloc_end());
    p = ask_malloc();
    assert_non_null(p);
    free(p);
}

static void what_a_stage_is_made_of_never_fails(void **state)
{
    unsigned char *p;

    (void)state;
    failing_malloc_begin(0, FAILS_FOR_GOOD);
    p = sure_malloc(1);
    assert_false(failing_malloc_end());
    assert_int_equal(*p, 0);
    free(p);
}

static void bytes_are_counted(void **state)
{
    const size_t before = failing_malloc_bytes();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(ways); i++)
        free(ways[i]());
    assert_int_equal(failing_malloc_bytes() - before, 8 * COUNT_OF(ways));
}

static void ask_elsewhere(void *arg)
{
    *(void **)arg = ask_malloc();
}

static void other_threads_are_left_alone(void **state)
{
    void *theirs = NULL;
    uv_thread_t thread;

    (void)state;
    failing_malloc_begin(0, FAILS_FOR_GOOD);
    assert_int_equal(uv_thread_create(&thread, ask_elsewhere, &theirs), 0);
    uv_thread_join(&thread);
    assert_false(failing_malloc_end());
    assert_non_null(theirs);
    free(theirs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_to_ask_fails_when_it_shall),
        cmocka_unit_test(after_the_end_none_fails),
        cmocka_unit_test(what_a_stage_is_made_of_never_fails),
        cmocka_unit_test(bytes_are_counted),
        cmocka_unit_test(other_threads_are_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
