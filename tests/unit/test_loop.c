/* test_loop.c -- what runs when: timers, posted and deferred functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ev/log.h"
#include "ev/loop.h"

struct fixture {
    struct loop *loop;
    struct loop_timer *timer, *other;
    char order[64]; /* a letter for everything that ran */
    unsigned left;
    uv_thread_t threads[4];
};

static void note(struct fixture *f, const char *letter)
{
    (void)strncat(f->order, letter, sizeof(f->order) - strlen(f->order) - 1);
}

static int setup(void **state)
{
    static struct fixture f;

    f = (struct fixture){.loop = loop_new(NULL)};
    *state = &f;
    return f.loop == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    loop_timer_free(f->timer);
    loop_timer_free(f->other);
    loop_free(f->loop);
    return 0;
}

static void stop(void *arg)
{
    struct fixture *f = arg;

    note(f, "s");
    loop_stop(f->loop);
}

static void deferred_again(void *arg)
{
    struct fixture *f = arg;

    note(f, "d");
    if (--f->left > 0)
        assert_true(loop_defer(f->loop, deferred_again, f));
    else
        loop_stop(f->loop);
}

static void defer_from_timer(void *arg)
{
    struct fixture *f = arg;

    note(f, "t");
    assert_true(loop_defer(f->loop, deferred_again, f));
    note(f, "t");
}

static void deferred_functions_run_after_the_caller_without_any_socket_event(void **state)
{
    struct fixture *f = *state;

    f->left = 3;
    f->timer = loop_timer_new(f->loop, defer_from_timer, f);
    loop_timer_start(f->timer, 0);
    loop_run(f->loop);
    assert_string_equal(f->order, "ttddd");
}

static void note_deferred(void *arg)
{
    note(arg, "d");
}

static void what_is_deferred_at_the_end_still_runs(void **state)
{
    struct fixture *f = *state;

    assert_true(loop_defer(f->loop, note_deferred, f));
    loop_free(f->loop);
    f->loop = loop_new(NULL);
    assert_string_equal(f->order, "d");
}

static void restart_itself(void *arg)
{
    struct fixture *f = arg;

    note(f, "t");
    if (--f->left > 0)
        loop_timer_start(f->timer, 1);
    else
        loop_stop(f->loop);
}

static void a_timer_fires_once_and_may_start_itself_again(void **state)
{
    struct fixture *f = *state;

    f->left = 3;
    f->timer = loop_timer_new(f->loop, restart_itself, f);
    loop_timer_start(f->timer, 60000);
    loop_timer_start(f->timer, 1);
    loop_run(f->loop);
    assert_string_equal(f->order, "ttt");
}

static void note_timer(void *arg)
{
    note(arg, "x");
}

static void a_stopped_timer_does_not_fire(void **state)
{
    struct fixture *f = *state;

    f->timer = loop_timer_new(f->loop, note_timer, f);
    f->other = loop_timer_new(f->loop, stop, f);
    loop_timer_start(f->timer, 1);
    loop_timer_stop(f->timer);
    loop_timer_start(f->other, 5);
    loop_run(f->loop);
    assert_string_equal(f->order, "s");
}

enum { POSTS = 1000 };

static void count(void *arg)
{
    struct fixture *f = arg;

    if (--f->left == 0)
        loop_stop(f->loop);
}

static void post_many(void *arg)
{
    struct fixture *f = arg;

    for (int i = 0; i < POSTS; i++)
        assert_true(loop_post(f->loop, count, f));
}

static void every_message_of_every_thread_arrives_once(void **state)
{
    struct fixture *f = *state;

    f->left = 4 * POSTS;
    for (int i = 0; i < 4; i++)
        assert_int_equal(uv_thread_create(&f->threads[i], post_many, f), 0);
    loop_run(f->loop);
    for (int i = 0; i < 4; i++)
        (void)uv_thread_join(&f->threads[i]);
    assert_int_equal(f->left, 0);
}

static void messages_keep_their_order(void **state)
{
    struct fixture *f = *state;

    assert_true(loop_post(f->loop, note_deferred, f));
    assert_true(loop_post(f->loop, note_timer, f));
    assert_true(loop_post(f->loop, stop, f));
    loop_run(f->loop);
    assert_string_equal(f->order, "dxs");
}

static void random_bytes_do_not_repeat(void **state)
{
    unsigned char a[300] = {0}, b[300] = {0};
    unsigned same = 0;

    (void)state;
    random_fill(NULL, a, sizeof(a));
    random_fill(NULL, b, sizeof(b));
    for (size_t i = 0; i < sizeof(a); i++)
        same += a[i] == b[i];
    assert_in_range(same, 0, 20);
}

/* Runs log_line() with stderr in a file and returns what was written. */
static const char *logged(const struct log_field *fields)
{
    static char text[8192];
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    size_t n;

    assert_non_null(file);
    (void)dup2(fileno(file), STDERR_FILENO);
    log_line(LOG_INFO, "turn", fields);
    (void)dup2(saved, STDERR_FILENO);
    (void)close(saved);
    rewind(file);
    n = fread(text, 1, sizeof(text) - 1, file);
    text[n] = '\0';
    (void)fclose(file);
    return text;
}

#define ODD_FIELDS                                                                                 \
    ((struct log_field[]){LOG_STR("id", STR("resp_1")), LOG_STR("text", STR("a \"b\"\n\xff")),     \
                          LOG_INT("n", -3), LOG_END})

static void a_text_line_quotes_only_what_needs_it(void **state)
{
    const char *line;

    (void)state;
    log_setup(LOG_INFO, LOG_TEXT);
    line = logged(ODD_FIELDS);
    assert_string_equal(line + strlen("2026-01-02T03:04:05.678Z"),
                        " info turn id=resp_1 text=\"a \\\"b\\\"\\n?\" n=-3\n");
}

/* Collectors and viewers begin a line at U+2028, and U+202E makes a name look like another one. */
static void a_line_has_nothing_that_breaks_it_or_turns_it_round(void **state)
{
    const struct log_field fields[] = {
        LOG_STR("text", STR("a\xe2\x80\xa8z\xe2\x80\xa9z\xe2\x80\xaez\xe2\x81\xa6")), LOG_END};
    static const char text[] = "\"a\\u2028z\\u2029z\\u202ez\\u2066\"";

    (void)state;
    log_setup(LOG_INFO, LOG_TEXT);
    assert_non_null(strstr(logged(fields), text));
    log_setup(LOG_INFO, LOG_JSON);
    assert_non_null(strstr(logged(fields), text));
    log_setup(LOG_INFO, LOG_TEXT);
}

static void what_clients_choose_is_cut_between_characters(void **state)
{
    char name[LOG_NAME_BYTES + 40], expected[LOG_NAME_BYTES + 20];
    const struct log_field fields[] = {LOG_NAME("model", str_from(name, sizeof(name))),
                                       LOG_NAME("short", STR("m")), LOG_END};

    (void)state;
    for (size_t i = 0; i < sizeof(name); i++)
        name[i] = "a\xc3\xa9"[i % 3];
    (void)snprintf(expected, sizeof(expected), " model=\"%.*s\" short=m\n",
                   LOG_NAME_BYTES / 3 * 3 + 1, name);
    log_setup(LOG_INFO, LOG_TEXT);
    assert_non_null(strstr(logged(fields), expected));
}

/* U+009B does for a terminal what ESC [ does. */
static void a_line_has_no_control_characters(void **state)
{
    const struct log_field fields[] = {
        LOG_STR("text", STR("\x01\x1b[1m\x7f\xc2\x80\xc2\x9b\xc2\xa0\xc3\x9b\xc2")), LOG_END};
    static const char expected[] = "\"\\u0001\\u001b[1m\\u007f\\u0080\\u009b\xc2\xa0\xc3\x9b?\"";
    const char *line;

    (void)state;
    log_setup(LOG_INFO, LOG_TEXT);
    line = logged(fields);
    assert_non_null(strstr(line, expected));
    log_setup(LOG_INFO, LOG_JSON);
    line = logged(fields);
    assert_non_null(strstr(line, expected));
}

static void a_json_line_is_json_even_when_it_is_cut(void **state)
{
    static char long_text[6000];
    const char *line;

    (void)state;
    log_setup(LOG_INFO, LOG_JSON);
    line = logged(ODD_FIELDS);
    assert_string_equal(strstr(line, ",\"level\""),
                        ",\"level\":\"info\",\"event\":\"turn\",\"id\":\"resp_1\","
                        "\"text\":\"a \\\"b\\\"\\n?\",\"n\":-3}\n");
    memset(long_text, '"', sizeof(long_text));
    line = logged((struct log_field[]){LOG_STR("long", str_from(long_text, sizeof(long_text))),
                                       LOG_STR("id", STR("x")), LOG_END});
    assert_in_range(strlen(line), 4000, 4096);
    assert_string_equal(line + strlen(line) - 5, "\\\"\"}\n");
}

static void a_quiet_level_writes_nothing(void **state)
{
    (void)state;
    log_setup(LOG_WARN, LOG_TEXT);
    assert_string_equal(logged(ODD_FIELDS), "");
}

#define WITH_LOOP(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_LOOP(deferred_functions_run_after_the_caller_without_any_socket_event),
        WITH_LOOP(what_is_deferred_at_the_end_still_runs),
        WITH_LOOP(a_timer_fires_once_and_may_start_itself_again),
        WITH_LOOP(a_stopped_timer_does_not_fire),
        WITH_LOOP(every_message_of_every_thread_arrives_once),
        WITH_LOOP(messages_keep_their_order),
        cmocka_unit_test(random_bytes_do_not_repeat),
        cmocka_unit_test(a_text_line_quotes_only_what_needs_it),
        cmocka_unit_test(a_line_has_nothing_that_breaks_it_or_turns_it_round),
        cmocka_unit_test(what_clients_choose_is_cut_between_characters),
        cmocka_unit_test(a_line_has_no_control_characters),
        cmocka_unit_test(a_json_line_is_json_even_when_it_is_cut),
        cmocka_unit_test(a_quiet_level_writes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
