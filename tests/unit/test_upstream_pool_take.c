/* test_upstream_pool_take.c -- a table that cannot be taken, for want of memory, leaves nothing behind (OPERATIONS 4.1).
 *
 * With the watches of the gateway itself, which the fixture of the pool's other tests has none of. */
#include "ev/log.h"
#include "ev/loop.h"
#include "lib/failing_malloc.h"
#include "lib/fixture.h"
#include "unit/upstream_table_fixture.h"
#include "upstream/upstream_pool.h"

#define UPSTREAM   "{\"url\": \"http://127.0.0.1:9/v1\"}"
#define FIRST_FILE "{\"upstreams\": {\"x\": " UPSTREAM "}}"
#define NEXT_FILE  "{\"upstreams\": {\"a\": " UPSTREAM ", \"b\": " UPSTREAM "}}"

static void stop(void *arg)
{
    loop_stop(arg);
}

/* What was posted by then is done. */
static void run_a_moment(struct loop *loop)
{
    struct loop_timer *t = loop_timer_new(loop, stop, loop);

    assert_non_null(t);
    loop_timer_start(t, 2);
    loop_run(loop);
    loop_timer_free(t);
}

/* Returns whether an allocation has failed. */
static bool take_with_failure(long at)
{
    struct err e;
    struct loop *loop = loop_new(&e);
    struct upstream_pool *p = upstream_pool_new(loop, &e);
    struct tabled one = {.file = FIRST_FILE}, others = {.file = NEXT_FILE};
    bool has_failed;
    int rc;

    tabled_fine(&one);
    tabled_fine(&others);
    assert_int_equal(upstream_pool_take(p, one.table, &e), 0);
    run_a_moment(loop);
    failing_malloc_begin(at, FAILS_ONCE);
    rc = upstream_pool_take(p, others.table, &e);
    has_failed = failing_malloc_end();
    assert_true(rc == 0 || has_failed);
    run_a_moment(loop);
    upstream_pool_free(p);
    loop_free(loop);
    tabled_end(&one);
    tabled_end(&others);
    return has_failed;
}

static void a_table_that_cannot_be_taken_leaves_nothing_behind(void **state)
{
    long at = 0;

    (void)state;
    log_setup(LOG_ERROR, LOG_TEXT);
    while (take_with_failure(at))
        at++;
    assert_true(at > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_that_cannot_be_taken_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
