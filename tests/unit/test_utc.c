/* test_utc.c -- days and times as people write them. */
#include "lib/test.h"

#include "base/utc.h"
#include "lib/fixture.h"

/* The time of a text that is copied to where one byte too many would be noticed; -1: it is none. */
static int64_t time_of(const char *text)
{
    const str s = str_from_c(text);
    char *exact = exact_copy(s);
    int64_t time = -2;

    if (!utc_read(str_from(exact, s.len), &time)) {
        assert_int_equal(time, -2);
        time = -1;
    }
    free(exact);
    return time;
}

static void a_day_lasts_until_its_end(void **state)
{
    (void)state;
    assert_int_equal(time_of("1970-01-01"), 86400);
    assert_int_equal(time_of("2027-03-31"), 1806537600);
    assert_int_equal(time_of("2024-02-29"), 1709251200);
    assert_int_equal(time_of("2000-02-29"), 951868800);
    assert_int_equal(time_of("9999-12-31"), 253402300800);
}

static void a_time_is_that_moment(void **state)
{
    (void)state;
    assert_int_equal(time_of("1970-01-01T00:00:00Z"), 0);
    assert_int_equal(time_of("2027-03-31T18:30:05Z"), 1806517805);
    assert_int_equal(time_of("2027-03-31T18:30:05+02:00"), 1806510605);
    assert_int_equal(time_of("2027-03-31T18:30:05-00:30"), 1806519605);
}

static void what_is_neither_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "2027",
        "2027-3-31",
        "2027-03-32",
        "2027-02-29",
        "2100-02-29",
        "2027-00-01",
        "2027-13-01",
        "2027-01-00",
        "1969-12-31",
        "27-01-01",
        "2027/01/01",
        "2027-01-01 ",
        "2027-01-01T",
        "2027-01-01Z",
        "2027-01-01T24:00:00Z",
        "2027-01-01T00:60:00Z",
        "2027-01-01T00:00:60Z",
        "2027-01-01T00:00:00",
        "2027-01-01T00:00Z",
        "2027-01-01T00:00:00z",
        "2027-01-01T00:00:00Z ",
        "2027-01-01T00:00:00+2:00",
        "2027-01-01T00:00:00+24:00",
        "2027-01-01T00:00:00+0200",
        "2027-01-01 00:00:00Z",
        "+027-01-01",
        "2027-01-01T00:00:00+02:00Z",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (time_of(texts[i]) != -1)
            fail_msg("%s is no time", texts[i]);
    }
}

static void moments_are_in_utc(void **state)
{
    struct buf out = {.limit = 0};

    (void)state;
    utc_write(1795538353, &out);
    buf_c(&out, ", ");
    utc_write(951827696, &out);
    buf_c(&out, ", ");
    utc_write(253402300799, &out);
    buf_c(&out, ", ");
    utc_write(0, &out);
    assert_string_equal(buf_cstr(&out), "2026-11-24 16:39:13 UTC, 2000-02-29 12:34:56 UTC, "
                                        "9999-12-31 23:59:59 UTC, 1970-01-01 00:00:00 UTC");
    buf_reset(&out);
    utc_write(253402300800, &out);
    utc_write(INT64_MAX, &out);
    utc_write(-1, &out);
    assert_string_equal(buf_cstr(&out), "???");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_day_lasts_until_its_end),
        cmocka_unit_test(a_time_is_that_moment),
        cmocka_unit_test(what_is_neither_is_refused),
        cmocka_unit_test(moments_are_in_utc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
