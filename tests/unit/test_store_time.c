/* test_store_time.c -- the store's own time: what it goes on by, and what not. */
#include <time.h>

#include "store/store_session.h"
#include "store/store_time.h"
#include "store_fixture.h"

enum { HOUR_MS = 3600 * 1000 };

static const int64_t FAR_MS = INT64_C(40) * 24 * HOUR_MS; /* 40 days */

/* What another gateway would have written down, or a machine that has been started anew. */
static void write_clock(struct fixture *f, const char *what)
{
    assert_ok(f->s->driver->script(f->s->db, what, &f->err));
}

static int64_t now_after_reading(struct fixture *f)
{
    assert_ok(store_time_read(f->s, &f->err));
    return store_now_ms(f->s);
}

static void it_goes_on_by_itself(void **state)
{
    struct fixture *f = *state;
    int64_t before_ms = store_now_ms(f->s);

    while (store_now_ms(f->s) == before_ms)
        continue;
    assert_true(store_now_ms(f->s) - before_ms < HOUR_MS);
}

static void it_takes_the_largest_that_was_written_down(void **state)
{
    struct fixture *f = *state;
    int64_t before_ms = store_now_ms(f->s);

    write_clock(f, "UPDATE clock SET time_ms = time_ms + 3600000");
    assert_true(now_after_reading(f) >= before_ms + HOUR_MS - 60000);
}

static void it_never_goes_back(void **state)
{
    struct fixture *f = *state;
    int64_t before_ms = store_now_ms(f->s);

    write_clock(f, "UPDATE clock SET time_ms = 1");
    assert_true(now_after_reading(f) >= before_ms);
}

/* What the newest use says is believed after a sudden end, an hour at most. */
static void the_newest_use_moves_it_by_an_hour(void **state)
{
    struct fixture *f = *state;
    int64_t before_ms = store_now_ms(f->s);

    save(f, "r1", NULL, "<a");
    write_clock(f, "UPDATE history SET used_at = used_at + 3456000000");
    assert_true(now_after_reading(f) - before_ms < 60000);
    f->s->time->time_ms = 0; /* as when the store is opened */
    assert_true(now_after_reading(f) - before_ms <= HOUR_MS + 60000);
}

static void sleep_counts_a_day_at_most(void **state)
{
    struct fixture *f = *state;
    int64_t before_ms = store_now_ms(f->s);

    f->s->time->uptime_ms = 0;
    f->s->time->time_ms -= 1;
    assert_true(now_after_reading(f) - before_ms <= 24 * HOUR_MS + 60000);
}

/* Between two looks at the machine the monotonic clock is believed for a minute. */
static void a_monotonic_clock_that_jumps_moves_it_by_a_minute(void **state)
{
    struct fixture *f = *state;
    int64_t before_ms = store_now_ms(f->s);

    f->s->time->looked_at_ms -= HOUR_MS;
    assert_true(store_now_ms(f->s) - before_ms <= 60000);
    assert_true(now_after_reading(f) - before_ms <= 61000);
}

static void trusting_the_clock_goes_to_it_and_no_further(void **state)
{
    struct fixture *f = *state;
    int64_t by_s;

    f->s->time->time_ms = f->s->time->last_ms = store_clock_ms() - FAR_MS;
    write_clock(f, "UPDATE clock SET time_ms = 1");
    assert_ok(store_trust_clock(f->s, &by_s, &f->err));
    assert_in_range(by_s, FAR_MS / 1000 - 60, FAR_MS / 1000 + 60);
    assert_true(llabs(store_now_ms(f->s) - store_clock_ms()) < 60000);
    write_clock(f, "UPDATE clock SET time_ms = time_ms + 86400000");
    assert_ok(store_trust_clock(f->s, &by_s, &f->err));
    assert_int_equal(by_s, 0);
}

static int group(const char *name)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(it_goes_on_by_itself),
        ON_STORE(it_takes_the_largest_that_was_written_down),
        ON_STORE(it_never_goes_back),
        ON_STORE(the_newest_use_moves_it_by_an_hour),
        ON_STORE(sleep_counts_a_day_at_most),
        ON_STORE(a_monotonic_clock_that_jumps_moves_it_by_a_minute),
        ON_STORE(trusting_the_clock_goes_to_it_and_no_further),
    };

    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
    return backends_run(group);
}
