/* test_upgrade_pipe.c -- what is the end of a report, and what is not. */
#include "daemon/upgrade_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include "lib/test.h"

struct report {
    int ends[2];
    char text[8];
    size_t len;
};

static int open_report(void **state)
{
    static struct report r;

    r.len = 0;
    *state = &r;
    return pipe2(r.ends, O_CLOEXEC | O_NONBLOCK);
}

static void end_writing(struct report *r)
{
    if (r->ends[1] != -1)
        (void)close(r->ends[1]);
    r->ends[1] = -1;
}

static int close_report(void **state)
{
    struct report *r = *state;

    end_writing(r);
    return close(r->ends[0]);
}

static void say(const struct report *r, const char *text)
{
    assert_int_equal(write(r->ends[1], text, strlen(text)), strlen(text));
}

static bool hear(struct report *r)
{
    return upgrade_pipe_read(r->ends[0], r->text, sizeof(r->text), &r->len);
}

static void silence_is_no_end(void **state)
{
    struct report *r = *state;

    assert_true(hear(r));
    assert_string_equal(r->text, "");
    say(r, "rea");
    assert_true(hear(r));
    assert_true(hear(r));
    say(r, "dy\n");
    assert_true(hear(r));
    assert_string_equal(r->text, "ready\n");
}

static void who_is_gone_says_nothing_more(void **state)
{
    struct report *r = *state;

    say(r, "no\n");
    end_writing(r);
    assert_false(hear(r));
    assert_string_equal(r->text, "no\n");
    assert_false(hear(r));
}

static void what_cannot_be_kept_is_not_waited_for(void **state)
{
    struct report *r = *state;

    say(r, "too long a reason");
    assert_false(hear(r));
    assert_string_equal(r->text, "too lon");
    assert_false(hear(r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(silence_is_no_end, open_report, close_report),
        cmocka_unit_test_setup_teardown(who_is_gone_says_nothing_more, open_report, close_report),
        cmocka_unit_test_setup_teardown(what_cannot_be_kept_is_not_waited_for, open_report,
                                        close_report),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
