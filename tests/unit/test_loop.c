/* test_loop.c -- what runs when: timers, posted and deferred functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ev/log.h"
#include "ev/loop.h"
#include "ev/loop_hold.h"
#include "lib/send_once.h"

struct fixture {
    struct loop *loop;
    struct loop_timer *timer, *other;
    struct loop_message message, next, last; /* with other functions in each test */
    char order[64];                          /* a letter for everything that ran */
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
        loop_defer(f->loop, &f->message);
    else
        loop_stop(f->loop);
}

static void defer_from_timer(void *arg)
{
    struct fixture *f = arg;

    note(f, "t");
    f->message = (struct loop_message){.fn = deferred_again, .arg = f};
    loop_defer(f->loop, &f->message);
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

    f->message = (struct loop_message){.fn = note_deferred, .arg = f};
    loop_defer(f->loop, &f->message);
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
        post_once(f->loop, count, f);
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

static void post_noted(struct fixture *f)
{
    f->message = (struct loop_message){.fn = note_deferred, .arg = f};
    f->next = (struct loop_message){.fn = note_timer, .arg = f};
    f->last = (struct loop_message){.fn = stop, .arg = f};
    loop_post(f->loop, &f->message);
    loop_post(f->loop, &f->next);
    loop_post(f->loop, &f->last);
}

static void messages_keep_their_order(void **state)
{
    struct fixture *f = *state;

    post_noted(f);
    loop_run(f->loop);
    assert_string_equal(f->order, "dxs");
}

static void a_message_that_is_under_way_is_not_sent_again(void **state)
{
    struct fixture *f = *state;

    post_noted(f);
    assert_true(loop_message_is_under_way(&f->message));
    loop_post(f->loop, &f->message);
    loop_defer(f->loop, &f->message);
    loop_run(f->loop);
    assert_string_equal(f->order, "dxs");
    assert_false(loop_message_is_under_way(&f->message));
}

static void post_itself(void *arg)
{
    struct fixture *f = arg;

    assert_false(loop_message_is_under_way(&f->message));
    note(f, "d");
    if (--f->left > 0)
        loop_post(f->loop, &f->message);
    else
        loop_post(f->loop, &f->last);
}

static void a_message_may_be_sent_again_by_its_function(void **state)
{
    struct fixture *f = *state;

    f->left = 3;
    f->message = (struct loop_message){.fn = post_itself, .arg = f};
    f->last = (struct loop_message){.fn = stop, .arg = f};
    loop_post(f->loop, &f->message);
    loop_run(f->loop);
    assert_string_equal(f->order, "ddds");
}

static struct loop_message *message_that_frees_itself(void)
{
    struct loop_message *m = calloc(1, sizeof(*m));

    assert_non_null(m);
    *m = (struct loop_message){.fn = free, .arg = m};
    return m;
}

static void a_message_may_be_freed_by_its_function(void **state)
{
    struct fixture *f = *state;

    f->last = (struct loop_message){.fn = stop, .arg = f};
    loop_post(f->loop, message_that_frees_itself());
    loop_defer(f->loop, message_that_frees_itself());
    loop_post(f->loop, &f->last);
    loop_run(f->loop);
    assert_string_equal(f->order, "s");
}

/* What has come to a loop that ends is forgotten, also if its owner has gone before. */
static void a_message_may_be_gone_before_a_loop_that_never_ran(void **state)
{
    struct fixture *f = *state;
    struct loop_message *m = message_that_frees_itself();

    loop_post(f->loop, m);
    free(m);
}

/* ---- one message of several threads */

struct shared {
    struct fixture *f;
    atomic_uint n_said;
    unsigned heard; /* of n_said, at the last run */
    struct loop_message message;
};

static void hear(void *arg)
{
    struct shared *s = arg;

    s->heard = atomic_load_explicit(&s->n_said, memory_order_relaxed);
    if (s->heard == 4 * POSTS)
        loop_stop(s->f->loop);
}

static void say_often(void *arg)
{
    struct shared *s = arg;

    for (int i = 0; i < POSTS; i++) {
        atomic_fetch_add_explicit(&s->n_said, 1, memory_order_relaxed);
        loop_post(s->f->loop, &s->message);
    }
}

static void what_was_done_before_a_message_is_sent_is_seen_by_its_next_run(void **state)
{
    struct fixture *f = *state;
    struct shared s = {.f = f, .message = {.fn = hear, .arg = &s}};

    for (int i = 0; i < 4; i++)
        assert_int_equal(uv_thread_create(&f->threads[i], say_often, &s), 0);
    loop_run(f->loop);
    for (int i = 0; i < 4; i++)
        (void)uv_thread_join(&f->threads[i]);
    assert_int_equal(s.heard, 4 * POSTS);
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

/* ---- work for the pool */

enum { JOBS = 20 };

struct job {
    struct fixture *f;
    struct loop_job on_pool;
    unsigned number;
    uv_thread_t thread;
    atomic_uint *n_working;
    bool was_alone;
};

static unsigned n_done;

static void work(void *arg)
{
    struct job *j = arg;

    j->thread = uv_thread_self();
    j->was_alone = atomic_fetch_add(j->n_working, 1) == 0;
    (void)usleep(200); /* long enough for another thread to begin the next */
    atomic_fetch_sub(j->n_working, 1);
}

static void on_work_done(void *arg)
{
    const struct job *j = arg;
    const uv_thread_t self = uv_thread_self();

    assert_int_equal(j->number, n_done);
    assert_true(j->was_alone);
    assert_false(uv_thread_equal(&j->thread, &self));
    n_done++;
    assert_int_equal(loop_n_expected(j->f->loop), JOBS - n_done);
    if (n_done == JOBS)
        loop_stop(j->f->loop);
}

static void work_is_done_elsewhere_one_after_the_other(void **state)
{
    struct fixture *f = *state;
    atomic_uint n_working;
    struct job jobs[JOBS];

    atomic_init(&n_working, 0);
    n_done = 0;
    for (unsigned i = 0; i < JOBS; i++) {
        jobs[i] = (struct job){.f = f,
                               .on_pool = {.work = work, .done = on_work_done, .arg = &jobs[i]},
                               .number = i,
                               .n_working = &n_working};
        loop_offload(f->loop, &jobs[i].on_pool);
    }
    assert_int_equal(loop_n_expected(f->loop), JOBS);
    loop_run(f->loop);
    assert_int_equal(n_done, JOBS);
}

static void begin_another(void *arg)
{
    struct job *j = arg;

    if (++n_done == JOBS)
        loop_stop(j->f->loop);
    else
        loop_offload(j->f->loop, &j->on_pool);
}

static void a_job_may_be_followed_by_another(void **state)
{
    struct fixture *f = *state;
    atomic_uint n_working;
    struct job j = {.f = f,
                    .on_pool = {.work = work, .done = begin_another, .arg = &j},
                    .n_working = &n_working};

    atomic_init(&n_working, 0);
    n_done = 0;
    loop_offload(f->loop, &j.on_pool);
    loop_run(f->loop);
    assert_int_equal(loop_n_expected(f->loop), 0);
}

/* ---- loops that are held */

static char *held_lines(enum log_level level, uint64_t held_ms)
{
    static char text[4096];
    const uint64_t now_ms = 100000;
    struct loop_hold h = {.woken_ms = 0};
    int saved = dup(STDERR_FILENO), ends[2];
    ssize_t n;

    assert_int_equal(pipe(ends), 0);
    (void)dup2(ends[1], STDERR_FILENO);
    log_setup(level, LOG_TEXT);
    for (int i = 0; i < 3; i++) {
        loop_hold_begin(&h, now_ms - held_ms);
        loop_hold_by("something");
        loop_hold_end(&h, now_ms);
    }
    loop_hold_end(&h, now_ms); /* nothing was begun */
    (void)dup2(saved, STDERR_FILENO);
    (void)close(saved);
    (void)close(ends[1]);
    n = read(ends[0], text, sizeof(text) - 1);
    (void)close(ends[0]);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static unsigned count_held(const char *text)
{
    unsigned n = 0;

    while ((text = strstr(text, " loop_held ms=")) != NULL) {
        text++;
        n++;
    }
    return n;
}

static void a_loop_that_was_held_long_says_so_once_in_a_while(void **state)
{
    (void)state;
    assert_int_equal(count_held(held_lines(LOG_WARN, 60000)), 1);
    assert_non_null(strstr(held_lines(LOG_WARN, 60000), "by=something"));
    assert_int_equal(count_held(held_lines(LOG_INFO, LOOP_HOLD_SHOW_MS + 1)), 0);
    assert_int_equal(count_held(held_lines(LOG_DEBUG, LOOP_HOLD_SHOW_MS + 1)), 3);
    assert_int_equal(count_held(held_lines(LOG_DEBUG, 0)), 0);
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
        WITH_LOOP(a_message_that_is_under_way_is_not_sent_again),
        WITH_LOOP(a_message_may_be_sent_again_by_its_function),
        WITH_LOOP(a_message_may_be_freed_by_its_function),
        WITH_LOOP(a_message_may_be_gone_before_a_loop_that_never_ran),
        WITH_LOOP(what_was_done_before_a_message_is_sent_is_seen_by_its_next_run),
        WITH_LOOP(work_is_done_elsewhere_one_after_the_other),
        WITH_LOOP(a_job_may_be_followed_by_another),
        cmocka_unit_test(a_loop_that_was_held_long_says_so_once_in_a_while),
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
