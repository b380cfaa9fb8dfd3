/* test_sandbox_session.c -- one process and its answers: a shell that plays the runner, well or
 * badly. */
#include <signal.h>

#include "lib/child_fixture.h"
#include "sandbox/sandbox_session.h"

#define READY   "echo '{\"ready\":{\"python\":\"3.11.2\"}}';"
#define ASKED   "read -r question;"
#define REST    "cat >/dev/null"
#define SAYS(s) "echo '" s "';"
#define DONE_RUN(id, logs)                                                                         \
    SAYS("{\"id\":" #id ",\"logs\":\"" logs "\",\"value\":null,\"raised\":false,\"images\":[],"    \
         "\"files\":[]}")
#define DONE_FILES(id, path)                                                                       \
    SAYS("{\"id\":" #id ",\"files\":[{\"path\":\"" path "\",\"bytes\":1}]}")

/* A session and what became of it. */
struct played {
    struct sandbox_session_conf conf;
    struct sandbox_session *session; /* NULL once closed */
    unsigned n_ends, n_closed;
    enum sandbox_failure failure;
    struct buf detail;
};

static struct played play;

/* A call and what came of it. */
struct told {
    struct arena memory;
    unsigned n;
    enum sandbox_failure failure;
    bool is_alive;
    struct buf message, logs, paths;
};

static void on_end(void *arg, enum sandbox_failure failure, str detail)
{
    const struct sandbox_call_conf another = {.op = SANDBOX_LIST_FILES};

    (void)arg;
    assert_null(sandbox_session_call(play.session, &another, NULL));
    play.n_ends++;
    play.failure = failure;
    buf_append(&play.detail, detail);
}

static void on_closed(void *arg)
{
    (void)arg;
    play.n_closed++;
    play.session = NULL;
}

static int setup(void **state)
{
    static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", NULL};

    play = (struct played){.conf = {.label = "test",
                                    .command.env = env,
                                    .container_id = STR("c"),
                                    .limits = {100, 100, 100},
                                    .run_timeout_ms = 60000}};
    return child_fixture_setup(state);
}

/* Whatever it does, it ends when it is killed. */
static int teardown(void **state)
{
    if (play.session != NULL)
        sandbox_session_kill(play.session, SANDBOX_NOT_FOUND, STR("over"));
    STDIO_UNTIL(play.session == NULL);
    assert_int_equal(play.n_closed, 1);
    assert_in_range(play.n_ends, 0, 1);
    buf_fini(&play.detail);
    return child_fixture_teardown(state);
}

static void start(const char *script)
{
    static const struct sandbox_session_handler handler = {on_end, on_closed, NULL};
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct err e = {.msg = ""};

    play.conf.command.argv = argv;
    play.session = sandbox_session_new(sfx.loop, &play.conf, &handler, NULL, &e);
    if (play.session == NULL)
        fail_msg("%s", e.msg);
    play.conf.command.argv = NULL;
}

static void on_done(void *arg, const struct sandbox_outcome *o)
{
    struct told *t = arg;

    t->n++;
    t->failure = o->failure;
    t->is_alive = o->is_alive;
    buf_append(&t->message, o->message);
    buf_append(&t->logs, o->logs);
    for (size_t i = 0; i < o->n_files; i++)
        buf_append(&t->paths, o->files[i].path);
}

static void told_fini(struct told *t)
{
    arena_fini(&t->memory);
    buf_fini(&t->message);
    buf_fini(&t->logs);
    buf_fini(&t->paths);
}

static struct sandbox_call *try_call(enum sandbox_op op, struct told *t)
{
    const struct sandbox_call_conf conf = {.op = op,
                                           .code = STR("1"),
                                           .path = STR("a"),
                                           .memory = &t->memory,
                                           .on_done = on_done,
                                           .arg = t};
    struct err e;

    return sandbox_session_call(play.session, &conf, &e);
}

static struct sandbox_call *call(enum sandbox_op op, struct told *t)
{
    struct sandbox_call *c = try_call(op, t);

    assert_non_null(c);
    return c;
}

/* ---- answers */

static void a_call_made_before_it_is_ready_is_answered(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    start(READY ASKED DONE_RUN(1, "hello") REST);
    (void)call(SANDBOX_RUN, &t);
    assert_str_c(sandbox_session_python(play.session), "");
    STDIO_UNTIL(t.n > 0);
    assert_int_equal(t.failure, SANDBOX_OK);
    assert_true(t.is_alive);
    assert_str_c(buf_str(&t.logs), "hello");
    assert_str_c(sandbox_session_python(play.session), "3.11.2");
    told_fini(&t);
}

static void files_are_listed_while_code_runs(void **state)
{
    struct told run = {.n = 0}, files = {.n = 0};

    (void)state;
    start(READY ASKED ASKED DONE_FILES(2, "f") ASKED DONE_RUN(1, "") REST);
    (void)call(SANDBOX_RUN, &run);
    (void)call(SANDBOX_LIST_FILES, &files);
    STDIO_UNTIL(files.n > 0);
    assert_str_c(buf_str(&files.paths), "/mnt/data/f");
    assert_true(sandbox_session_is_running(play.session));
    (void)call(SANDBOX_LIST_FILES, &files);
    STDIO_UNTIL(run.n > 0);
    assert_false(sandbox_session_is_running(play.session));
    sandbox_session_kill(play.session, SANDBOX_NOT_FOUND, STR("over"));
    told_fini(&run);
    told_fini(&files);
}

/* ---- what no runner says */

static void assert_breaks(const char *script)
{
    struct told t = {.n = 0};

    start(script);
    (void)call(SANDBOX_RUN, &t);
    STDIO_UNTIL(t.n > 0);
    if (t.failure != SANDBOX_BROKEN)
        fail_msg("failure %d of %s", (int)t.failure, script);
    assert_false(t.is_alive);
    assert_true(t.message.len > 0);
    assert_int_equal(play.n_ends, 1);
    assert_int_equal(play.failure, SANDBOX_BROKEN);
    STDIO_UNTIL(play.session == NULL);
    told_fini(&t);
}

static void what_is_no_answer_ends_it(void **state)
{
    static const char *const scripts[] = {
        (READY ASKED "echo hello;" REST),
        (READY ASKED READY REST),
        (DONE_RUN(1, "early") READY REST),
        (READY ASKED DONE_RUN(2, "") REST),
        (READY ASKED DONE_FILES(1, "f") REST),
        (READY ASKED SAYS("{\"id\":1,\"error\":\"busy\"}") REST),
        (READY ASKED "printf '{\"id\":1,\"logs\":\"\\377\"}\\n';" REST),
        "echo error >&2; exit 3",
        ("exec 1>&-; " REST),
    };

    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        if (i > 0) {
            assert_int_equal(teardown(state), 0);
            assert_int_equal(setup(state), 0);
        }
        assert_breaks(scripts[i]);
    }
}

static void an_answer_comes_once(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    start(READY ASKED DONE_RUN(1, "") DONE_RUN(1, "") REST);
    (void)call(SANDBOX_RUN, &t);
    STDIO_UNTIL(play.n_ends > 0);
    assert_int_equal(t.n, 1);
    assert_int_equal(play.failure, SANDBOX_BROKEN);
    told_fini(&t);
}

static void a_line_without_end_ends_it(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    start(READY "head -c 8000000 /dev/zero | tr '\\0' x;" REST);
    (void)call(SANDBOX_RUN, &t);
    STDIO_UNTIL(t.n > 0);
    assert_int_equal(t.failure, SANDBOX_DIED);
    assert_str_c(buf_str(&play.detail), "sent a line of more than 4196104 bytes");
    told_fini(&t);
}

/* Nobody waits for an answer, so there is nothing to keep. */
static void a_long_line_that_nobody_asked_for_ends_it(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    start(READY ASKED DONE_RUN(1, "") "head -c 2000 /dev/zero | tr '\\0' x;" REST);
    (void)call(SANDBOX_RUN, &t);
    STDIO_UNTIL(play.n_ends > 0);
    assert_int_equal(t.failure, SANDBOX_OK);
    assert_str_c(buf_str(&play.detail), "sent a line of more than 1024 bytes");
    told_fini(&t);
}

static void what_a_start_complains_of_is_told(void **state)
{
    (void)state;
    start("echo bwrap: no permissions >&2; exit 1");
    STDIO_UNTIL(play.n_ends > 0);
    assert_str_c(buf_str(&play.detail), "exited with status 1: bwrap: no permissions");
}

static void a_program_that_is_not_there_is_told(void **state)
{
    static const struct sandbox_session_handler handler = {on_end, on_closed, NULL};

    (void)state;
    play.conf.command.argv = (const char *const[]){"/no/such/program", NULL};
    play.session = sandbox_session_new(sfx.loop, &play.conf, &handler, NULL, NULL);
    assert_non_null(play.session);
    STDIO_UNTIL(play.n_ends > 0);
    assert_int_equal(play.failure, SANDBOX_BROKEN);
    assert_true(str_starts_with(buf_str(&play.detail), STR("cannot start \"/no/such/program\"")));
}

/* Code of a stranger may have written it. */
static void what_it_complains_of_later_is_not_logged(void **state)
{
    struct told t = {.n = 0};
    struct buf log = {.limit = 0};

    (void)state;
    stdio_log_start();
    start(READY ASKED "echo secret >&2; exit 1");
    (void)call(SANDBOX_RUN, &t);
    STDIO_UNTIL(play.session == NULL);
    stdio_log_read(&log);
    assert_false(str_has_nocase(buf_str(&log), STR("secret")));
    assert_str_c(buf_str(&play.detail), "exited with status 1");
    buf_fini(&log);
    told_fini(&t);
}

/* ---- death */

static void assert_died(const char *script, const char *message)
{
    struct told run = {.n = 0}, files = {.n = 0};

    start(script);
    (void)call(SANDBOX_RUN, &run);
    (void)call(SANDBOX_LIST_FILES, &files);
    STDIO_UNTIL(run.n > 0);
    assert_int_equal(files.n, 1);
    assert_int_equal(run.failure, SANDBOX_DIED);
    assert_int_equal(files.failure, SANDBOX_DIED);
    assert_str_c(buf_str(&run.message), message);
    told_fini(&run);
    told_fini(&files);
}

static void its_death_fails_all_calls(void **state)
{
    (void)state;
    assert_died(READY ASKED ASKED "exit 3", "The sandbox has ended: exited with status 3. Its "
                                            "variables and files are gone.");
}

static void its_last_words_say_why(void **state)
{
    (void)state;
    assert_died(READY ASKED ASKED "echo 'the Python process ended: Aborted' >&2; exit 1",
                "The sandbox has ended: the Python process ended: Aborted. Its variables and files "
                "are gone.");
}

static void one_that_was_killed_had_no_memory(void **state)
{
    (void)state;
    assert_died(
        READY ASKED ASKED "echo 'the Python process ended: Killed' >&2; exit 1",
        "The sandbox has ended: the Python process ended: Killed, perhaps since it used too "
        "much memory. Its variables and files are gone.");
}

static void status_137_is_the_same(void **state)
{
    (void)state;
    assert_died(READY ASKED ASKED "exit 137",
                "The sandbox has ended: exited with status 137, perhaps since it used too much "
                "memory. Its variables and files are gone.");
}

static void killing_it_fails_its_calls_at_once(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    start(READY "trap '' TERM; while :; do sleep 1000; done");
    (void)call(SANDBOX_RUN, &t);
    sandbox_session_kill(play.session, SANDBOX_NOT_FOUND, STR("over"));
    assert_int_equal(t.n, 1);
    assert_int_equal(t.failure, SANDBOX_NOT_FOUND);
    assert_str_c(buf_str(&t.message), "over");
    STDIO_UNTIL(play.session == NULL);
    assert_int_equal(play.n_ends, 0);
    told_fini(&t);
}

/* ---- time */

static void code_that_takes_too_long_is_interrupted(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    play.conf.run_timeout_ms = 10;
    start(READY ASKED ASKED
          "[ \"$question\" = '{\"op\":\"interrupt\"}' ] || exit 1;" DONE_RUN(1, "so far") REST);
    (void)call(SANDBOX_RUN, &t);
    STDIO_UNTIL(t.n > 0);
    assert_int_equal(t.failure, SANDBOX_TIMED_OUT);
    assert_true(t.is_alive);
    assert_str_c(buf_str(&t.logs), "so far");
    assert_str_c(buf_str(&t.message), "The code ran for too long and was interrupted.");
    told_fini(&t);
}

static void code_that_does_not_heed_the_interrupt_is_killed(void **state)
{
    struct told run = {.n = 0}, files = {.n = 0};

    (void)state;
    play.conf.run_timeout_ms = 10;
    start(READY "while :; do sleep 1000; done");
    (void)call(SANDBOX_RUN, &run);
    (void)call(SANDBOX_LIST_FILES, &files);
    STDIO_UNTIL(run.n > 0);
    assert_int_equal(run.failure, SANDBOX_TIMED_OUT);
    assert_false(run.is_alive);
    assert_int_equal(files.failure, SANDBOX_DIED);
    told_fini(&run);
    told_fini(&files);
}

/* ---- cancelled calls */

static void cancelled_code_is_interrupted_and_the_session_goes_on(void **state)
{
    struct told t = {.n = 0}, next = {.n = 0};
    struct sandbox_call *c;

    (void)state;
    start(READY ASKED ASKED DONE_RUN(1, "") ASKED DONE_RUN(2, "next") REST);
    STDIO_UNTIL(sandbox_session_python(play.session).len > 0);
    c = call(SANDBOX_RUN, &t);
    sandbox_call_cancel(c);
    STDIO_UNTIL(t.n > 0);
    assert_int_equal(t.logs.len, 0);
    (void)call(SANDBOX_RUN, &next);
    STDIO_UNTIL(next.n > 0);
    assert_str_c(buf_str(&next.logs), "next");
    told_fini(&t);
    told_fini(&next);
}

static void what_is_cancelled_before_it_is_ready_is_not_asked(void **state)
{
    struct told run = {.n = 0}, files = {.n = 0}, next = {.n = 0};

    (void)state;
    start(READY ASKED DONE_FILES(3, "f") REST);
    sandbox_call_cancel(call(SANDBOX_RUN, &run));
    sandbox_call_cancel(call(SANDBOX_LIST_FILES, &files));
    (void)call(SANDBOX_LIST_FILES, &next);
    STDIO_UNTIL(next.n > 0);
    assert_str_c(buf_str(&next.paths), "/mnt/data/f");
    assert_int_equal(run.n, 1);
    assert_int_equal(files.n, 0);
    assert_false(sandbox_session_is_running(play.session));
    told_fini(&run);
    told_fini(&files);
    told_fini(&next);
}

static void the_answer_to_a_cancelled_question_is_dropped(void **state)
{
    struct told t = {.n = 0}, next = {.n = 0};

    (void)state;
    start(READY ASKED ASKED DONE_FILES(1, "f") DONE_FILES(2, "g") REST);
    STDIO_UNTIL(sandbox_session_python(play.session).len > 0);
    sandbox_call_cancel(call(SANDBOX_LIST_FILES, &t));
    (void)call(SANDBOX_LIST_FILES, &next);
    STDIO_UNTIL(next.n > 0);
    assert_int_equal(t.n, 0);
    assert_str_c(buf_str(&next.paths), "/mnt/data/g");
    told_fini(&t);
    told_fini(&next);
}

static void questions_without_answer_have_a_limit(void **state)
{
    struct told t = {.n = 0};
    unsigned n = 0;

    (void)state;
    start(READY REST);
    while (n < 1000 && try_call(SANDBOX_LIST_FILES, &t) != NULL)
        n++;
    assert_int_equal(n, 64);
    sandbox_session_kill(play.session, SANDBOX_NOT_FOUND, STR("over"));
    assert_int_equal(t.n, n);
    told_fini(&t);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_call_made_before_it_is_ready_is_answered),
        TEST(files_are_listed_while_code_runs),
        TEST(what_is_no_answer_ends_it),
        TEST(an_answer_comes_once),
        TEST(a_line_without_end_ends_it),
        TEST(a_long_line_that_nobody_asked_for_ends_it),
        TEST(what_a_start_complains_of_is_told),
        TEST(a_program_that_is_not_there_is_told),
        TEST(what_it_complains_of_later_is_not_logged),
        TEST(its_death_fails_all_calls),
        TEST(its_last_words_say_why),
        TEST(one_that_was_killed_had_no_memory),
        TEST(status_137_is_the_same),
        TEST(killing_it_fails_its_calls_at_once),
        TEST(code_that_takes_too_long_is_interrupted),
        TEST(code_that_does_not_heed_the_interrupt_is_killed),
        TEST(cancelled_code_is_interrupted_and_the_session_goes_on),
        TEST(what_is_cancelled_before_it_is_ready_is_not_asked),
        TEST(the_answer_to_a_cancelled_question_is_dropped),
        TEST(questions_without_answer_have_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
