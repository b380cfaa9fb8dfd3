/* test_log.c -- lines: which are made, what they look like, and where they go. */
#include "ev/log_reject.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "log_capture.h"
#include "metrics/metrics.h"

static char *logged(enum log_format format, enum log_level level, const struct log_field *fields)
{
    const struct log_capture c = log_capture_begin();

    log_setup(LOG_INFO, format);
    log_line(level, "word", fields);
    return log_capture_end(c);
}

static void assert_line(enum log_format format, const struct log_field *fields, const char *behind)
{
    char *text = logged(format, LOG_INFO, fields);

    assert_string_equal(text + strlen("2026-01-02T03:04:05.678Z") +
                            (format == LOG_JSON ? strlen("{\"time\":\"") : 0),
                        behind);
    free(text);
}

static void a_line_holds_the_same_fields_in_both_forms(void **state)
{
    const struct log_field fields[] = {LOG_STR("word", STR("a=b")),
                                       LOG_STR("none", STR_NONE),
                                       LOG_INT("n", 0),
                                       LOG_COUNT("nothing", 0),
                                       LOG_COUNT("some", 7),
                                       LOG_FLAG("is", true),
                                       LOG_FLAG("is_not", false),
                                       LOG_END};

    (void)state;
    assert_line(LOG_TEXT, fields, " info word word=\"a=b\" n=0 some=7 is=true\n");
    assert_line(LOG_JSON, fields,
                "\",\"level\":\"info\",\"event\":\"word\",\"word\":\"a=b\",\"n\":0,\"some\":7,"
                "\"is\":true}\n");
}

static void a_line_has_an_end(void **state)
{
    static char long_text[10000];
    char *text;

    (void)state;
    memset(long_text, '\x01', sizeof(long_text) - 1);
    text = logged(LOG_JSON, LOG_INFO,
                  (struct log_field[]){LOG_STR("long", str_from_c(long_text)),
                                       LOG_STR("behind", STR("x")), LOG_END});
    assert_in_range(strlen(text), 4000, 4096);
    assert_string_equal(text + strlen(text) - 4, "1\"}\n");
    free(text);
}

static void lines_are_counted_by_level(void **state)
{
    metric_cell *info, *debug;

    (void)state;
    assert_true(metrics_open(&(struct metrics_conf){.max_models = 1}));
    info = metrics_at(METRIC_LOG_LINES, METRIC_LOG_LEVEL_INFO);
    debug = metrics_at(METRIC_LOG_LINES, METRIC_LOG_LEVEL_DEBUG);
    free(logged(LOG_TEXT, LOG_INFO, (struct log_field[]){LOG_END}));
    free(logged(LOG_TEXT, LOG_DEBUG, (struct log_field[]){LOG_END}));
    assert_int_equal(*info, 1);
    assert_int_equal(*debug, 0);
    metrics_close();
}

/* ---- levels */

static void a_level_is_set_for_good(void **state)
{
    const struct log_capture c = log_capture_begin();
    enum log_level level;
    char *text;

    (void)state;
    log_setup(LOG_ERROR, LOG_TEXT);
    assert_false(log_is_on(LOG_WARN));
    log_set_level(LOG_DEBUG, 0);
    assert_true(log_is_on(LOG_DEBUG));
    log_set_level(LOG_DEBUG, 0);
    assert_int_equal(log_level(), LOG_DEBUG);
    assert_true(log_level_read(STR("warn"), &level));
    assert_int_equal(level, LOG_WARN);
    assert_false(log_level_read(STR("warning"), &level));
    text = log_capture_end(c);
    assert_non_null(strstr(text, " info log_level level=debug former=error\n"));
    assert_null(strstr(strstr(text, "log_level") + 1, "log_level"));
    free(text);
}

static void a_level_that_is_set_for_a_while_goes_back(void **state)
{
    const struct log_capture c = log_capture_begin();
    char *text;

    (void)state;
    log_setup(LOG_WARN, LOG_TEXT);
    log_set_level(LOG_DEBUG, 60 * 60 * 1000);
    assert_true(log_is_on(LOG_DEBUG));
    log_set_level(LOG_INFO, 1); /* goes back to what was set for good */
    while (log_is_on(LOG_INFO))
        (void)usleep(1000); /* a millisecond has to pass */
    assert_int_equal(log_level(), LOG_WARN);
    log_set_level(LOG_DEBUG, UINT64_MAX);
    assert_true(log_is_on(LOG_DEBUG));
    log_set_level(LOG_ERROR, 0); /* for good ends it */
    assert_false(log_is_on(LOG_WARN));
    text = log_capture_end(c);
    assert_non_null(strstr(text, " log_level level=debug for_ms=3600000 former=warn\n"));
    assert_non_null(strstr(text, " log_level level=info for_ms=1 former=debug\n"));
    assert_non_null(strstr(text, " log_level level=warn former=info\n"));
    free(text);
}

/* ---- threads */

enum { THREADS = 4, ROUNDS = 2000 };

static void *log_and_change(void *arg)
{
    const int i = *(const int *)arg;

    for (int n = 0; n < ROUNDS; n++) {
        log_set_level(n % 2 == 0 ? LOG_WARN : LOG_ERROR, n % 3 == 0 ? 0 : (uint64_t)(n % 5));
        log_line(LOG_INFO, "word", (struct log_field[]){LOG_INT("i", i), LOG_END});
        log_rejected(REJECT_KEY, (struct log_field[]){LOG_END});
    }
    return NULL;
}

static void levels_change_while_others_log(void **state)
{
    const struct log_capture c = log_capture_begin();
    pthread_t threads[THREADS];
    int numbers[THREADS];
    char *text;

    (void)state;
    log_setup(LOG_ERROR, LOG_TEXT);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, log_and_change, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(log_level() == LOG_WARN || log_level() == LOG_ERROR);
    text = log_capture_end(c);
    assert_null(strstr(text, " info word ")); /* nobody has let that through */
    free(text);
}

/* ---- what anybody can cause */

static void refusals_are_told_ten_times_a_second(void **state)
{
    uint64_t left_out = 99;

    (void)state;
    for (int i = 0; i < LOG_REJECTS_PER_S; i++)
        assert_true(log_reject_take(REJECT_KEY, 7, &left_out));
    assert_int_equal(left_out, 0);
    for (int i = 0; i < 1000; i++)
        assert_false(log_reject_take(REJECT_KEY, 7, &left_out));
    assert_true(log_reject_take(REJECT_ORIGIN, 7, &left_out)); /* each reason by itself */
    assert_int_equal(left_out, 0);
    assert_true(log_reject_take(REJECT_KEY, 8, &left_out));
    assert_int_equal(left_out, 1000);
    assert_true(log_reject_take(REJECT_KEY, 8, &left_out));
    assert_int_equal(left_out, 0);
}

static void a_refusal_has_its_reason_first(void **state)
{
    const struct log_capture c = log_capture_begin();
    char *text;

    (void)state;
    log_setup(LOG_INFO, LOG_TEXT);
    log_rejected(REJECT_MEMORY, (struct log_field[]){LOG_STR("client", STR("unix")), LOG_END});
    text = log_capture_end(c);
    assert_non_null(strstr(text, " info rejected reason=memory client=unix\n"));
    free(text);
}

/* ---- files; each in a process of its own, as there is one log in a process */

static char dir[] = "/tmp/antiphon-log-XXXXXX";
static char path[64], moved[64], audit[64];

static char *content(const char *of)
{
    char *text = calloc(1, 65536);
    int fd = open(of, O_RDONLY);

    assert_non_null(text);
    if (fd == -1)
        return text;
    assert_true(read(fd, text, 65535) >= 0);
    (void)close(fd);
    return text;
}

static void assert_content(const char *of, const char *words, bool is_there)
{
    char *text = content(of);

    assert_int_equal(strstr(text, words) != NULL, is_there);
    free(text);
}

static void in_a_process(void (*run)(void))
{
    int status = -1;
    pid_t pid = fork();

    assert_true(pid != -1);
    if (pid == 0) {
        run();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void rotate(void)
{
    const struct log_capture c = log_capture_begin();
    struct err e;
    char *text;

    log_setup(LOG_INFO, LOG_TEXT);
    if (log_file_open(LOG_TARGET_MAIN, path, &e) == -1 ||
        log_file_open(LOG_TARGET_AUDIT, audit, &e) == -1)
        _exit(1);
    log_msg(LOG_INFO, "the first"); /* a queue would write it in the first or the second */
    log_audit((struct log_field[]){LOG_STR("what", STR("key.refused")), LOG_END});
    (void)rename(path, moved);
    log_msg(LOG_INFO, "the second");
    log_reopen();
    log_msg(LOG_INFO, "the third");
    (void)unlink(path);
    (void)mkdir(path, 0700); /* which cannot be opened */
    log_reopen();
    log_msg(LOG_INFO, "the fourth");
    text = log_capture_end(c);
    /* Errors are told where we were started, too, and nothing else. */
    if (strstr(text, "the first") != NULL || strstr(text, "the old one stays open") == NULL)
        _exit(2);
    free(text);
}

static void files_are_opened_again(void **state)
{
    struct stat st;
    mode_t before = umask(022);

    (void)state;
    in_a_process(rotate);
    (void)umask(before);
    assert_content(moved, "the first", true);
    assert_content(moved, "the second", true);
    assert_content(moved, "the third", false);
    assert_content(moved, "audit", false);
    assert_content(audit, " info audit what=key.refused\n", true);
    assert_content(audit, "the first", false);
    assert_int_equal(stat(audit, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    (void)rmdir(path);
}

static void without_a_path(void)
{
    struct err e;

    _exit(log_file_open(LOG_TARGET_MAIN, "/nowhere/log", &e) == -1 &&
                  strstr(e.msg, "/nowhere/log: cannot be opened for the log: ") != NULL &&
                  log_file_fd(LOG_TARGET_AUDIT) == STDERR_FILENO
              ? 0
              : 1);
}

static void a_file_that_cannot_be_opened_is_told(void **state)
{
    (void)state;
    in_a_process(without_a_path);
}

/* ---- nobody reads */

/* The queue has a test of its own: this is what comes before its start. */
static void a_pipe_that_is_full_is_not_waited_for(void **state)
{
    int fds[2], keep = dup(STDERR_FILENO);
    static char text[1024 * 1024];
    size_t len = 0;
    ssize_t n;

    (void)state;
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
    assert_int_equal(fcntl(fds[1], F_SETPIPE_SZ, 4096), 4096);
    log_setup(LOG_INFO, LOG_TEXT);
    log_msg(LOG_INFO, "the first");
    log_msg(LOG_INFO, "is dropped, for a pipe is ready when a page is free");
    log_msg(LOG_ERROR, "as well");
    assert_true(read(fds[0], text, sizeof(text)) > 0);
    log_msg(LOG_INFO, "the last");
    assert_int_equal(dup2(keep, STDERR_FILENO), STDERR_FILENO);
    (void)close(fds[1]);
    (void)close(keep);
    while ((n = read(fds[0], text + len, sizeof(text) - 1 - len)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    (void)close(fds[0]);
    assert_non_null(strstr(text, " warn log_dropped lines=2 errors=1 warnings=0\n"));
    assert_null(strstr(text, "as well"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_holds_the_same_fields_in_both_forms),
        cmocka_unit_test(a_line_has_an_end),
        cmocka_unit_test(lines_are_counted_by_level),
        cmocka_unit_test(a_level_is_set_for_good),
        cmocka_unit_test(a_level_that_is_set_for_a_while_goes_back),
        cmocka_unit_test(levels_change_while_others_log),
        cmocka_unit_test(refusals_are_told_ten_times_a_second),
        cmocka_unit_test(a_refusal_has_its_reason_first),
        cmocka_unit_test(files_are_opened_again),
        cmocka_unit_test(a_file_that_cannot_be_opened_is_told),
        cmocka_unit_test(a_pipe_that_is_full_is_not_waited_for),
    };
    int rc;

    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/log", dir);
    (void)snprintf(moved, sizeof(moved), "%s/log.1", dir);
    (void)snprintf(audit, sizeof(audit), "%s/audit", dir);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    (void)unlink(moved);
    (void)unlink(audit);
    (void)rmdir(dir);
    return rc;
}
