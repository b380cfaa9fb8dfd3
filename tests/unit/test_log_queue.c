/* test_log_queue.c -- a queue in front of a pipe that nobody reads, and behind it. */
#include "ev/log_queue.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ev/log.h"
#include "lib/test.h"

enum { QUEUE_BYTES = 64 * 1024, THREADS = 4, LINES = 5000 };

/* Standard error of one process, which runs a test's other half. */
struct half {
    int fd; /* we read from here */
    pid_t pid;
};

/* There is one queue in a process, so each test has one of its own. */
static struct half start_half(void (*run)(void))
{
    struct half h;
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    h.fd = fds[0];
    h.pid = fork();
    assert_true(h.pid != -1);
    if (h.pid == 0) {
        (void)dup2(fds[1], STDERR_FILENO);
        (void)close(fds[0]);
        (void)close(fds[1]);
        run();
        _exit(0);
    }
    (void)close(fds[1]);
    return h;
}

static int status_of(pid_t pid)
{
    int status = -1;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* All that the other half writes; its status goes to ret_status. */
static char *read_half(struct half h, int *ret_status)
{
    size_t size = 1024 * 1024 * 16, len = 0;
    char *text = malloc(size);
    ssize_t n;

    assert_non_null(text);
    while ((n = read(h.fd, text + len, size - 1 - len)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    (void)close(h.fd);
    *ret_status = status_of(h.pid);
    return text;
}

static long number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);

    assert_non_null(at);
    return strtol(at + strlen(word), NULL, 10);
}

/* ---- everything arrives, in order */

static void *log_many(void *arg)
{
    for (int i = 0; i < LINES; i++)
        log_line(LOG_INFO, "line",
                 (struct log_field[]){LOG_INT("thread", *(int *)arg), LOG_INT("i", i), LOG_END});
    return NULL;
}

static void many_threads(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];

    log_setup(LOG_INFO, LOG_TEXT);
    log_start(64 * 1024 * 1024);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        (void)pthread_create(&threads[i], NULL, log_many, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    log_stop();
    log_msg(LOG_INFO, "behind");
}

static void every_line_arrives_whole_and_in_order(void **state)
{
    int status;
    char *text = read_half(start_half(many_threads), &status), *rest = text, *line;
    long next[THREADS] = {0};

    (void)state;
    assert_int_equal(status, 0);
    while ((line = strsep(&rest, "\n")) != NULL && strstr(line, " info line ") != NULL) {
        long thread = number_after(line, " thread=");

        assert_in_range(thread, 0, THREADS - 1);
        assert_int_equal(number_after(line, " i="), next[thread]++);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(next[i], LINES);
    assert_non_null(strstr(line, "info behind"));
    free(text);
}

/* ---- nobody reads */

static void log_text(enum log_level level, int i)
{
    log_line(
        level, "line",
        (struct log_field[]){
            LOG_INT("i", i),
            LOG_STR("text",
                    STR("0123456789012345678901234567890123456789012345678901234567890123456789")),
            LOG_END});
}

/* Says on the way when it has logged all; goes on when it is told by SIGUSR1. */
static void log_to_nobody(void)
{
    sigset_t usr1;
    int signal;

    (void)sigemptyset(&usr1);
    (void)sigaddset(&usr1, SIGUSR1);
    (void)sigprocmask(SIG_BLOCK, &usr1, NULL);
    log_setup(LOG_INFO, LOG_JSON);
    log_start(QUEUE_BYTES);
    for (int i = 0; i < LINES; i++)
        log_text(i % 10 == 0 ? LOG_ERROR : i % 10 == 1 ? LOG_WARN : LOG_INFO, i);
    (void)raise(SIGSTOP); /* seen by the test */
    (void)sigwait(&usr1, &signal);
    log_text(LOG_INFO, LINES);
    log_stop();
}

static void await_stop(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    (void)kill(pid, SIGCONT);
}

static void what_has_no_room_is_dropped_and_counted(void **state)
{
    struct half h = start_half(log_to_nobody);
    long n_seen = 0, n_dropped = 0, n_errors = 0, n_warnings = 0;
    char *text, *rest, *line;
    int status;

    (void)state;
    await_stop(h.pid); /* which is where it would hang */
    (void)kill(h.pid, SIGUSR1);
    rest = text = read_half(h, &status);
    assert_int_equal(status, 0);
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
        assert_int_equal(line[0], '{');
        assert_int_equal(line[strlen(line) - 1], '}');
        if (strstr(line, "\"event\":\"log_dropped\"") != NULL) {
            n_dropped += number_after(line, "\"lines\":");
            n_errors += number_after(line, "\"errors\":");
            n_warnings += number_after(line, "\"warnings\":");
        } else {
            long i = number_after(line, "\"i\":");

            assert_int_equal(i, n_seen + n_dropped); /* they are told of where they are missing */
            n_seen++;
            n_errors += i % 10 == 0 && i < LINES;
            n_warnings += i % 10 == 1;
        }
    }
    assert_true(n_dropped > 0);
    assert_int_equal(n_seen + n_dropped, LINES + 1);
    assert_int_equal(n_errors, LINES / 10);
    assert_int_equal(n_warnings, LINES / 10);
    free(text);
}

static void log_and_end(void)
{
    log_setup(LOG_INFO, LOG_TEXT);
    log_start(QUEUE_BYTES);
    for (int i = 0; i < LINES; i++)
        log_text(LOG_INFO, i);
    log_stop();
    _exit(7);
}

static void the_end_does_not_wait_for_who_never_reads(void **state)
{
    struct half h = start_half(log_and_end);

    (void)state;
    assert_int_equal(WEXITSTATUS(status_of(h.pid)), 7);
    (void)close(h.fd);
}

/* ---- ends that nobody has planned */

static void log_and_abort(void)
{
    log_setup(LOG_INFO, LOG_TEXT);
    log_start(QUEUE_BYTES);
    for (int i = 0; i < 100; i++)
        log_text(LOG_INFO, i);
    log_msg(LOG_ERROR, "the last words");
    abort();
}

static void a_crash_leaves_time_for_the_last_line(void **state)
{
    int status;
    char *text = read_half(start_half(log_and_abort), &status);

    (void)state;
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(text, "the last words\n"));
    free(text);
}

static void log_in_a_fork(void)
{
    pid_t pid;

    log_setup(LOG_INFO, LOG_TEXT);
    log_start(QUEUE_BYTES);
    log_msg(LOG_INFO, "parent");
    pid = fork();
    if (pid == 0) {
        log_msg(LOG_INFO, "child");
        _exit(0);
    }
    (void)waitpid(pid, NULL, 0);
    log_stop();
}

static void a_forked_process_writes_by_itself(void **state)
{
    int status;
    char *text = read_half(start_half(log_in_a_fork), &status);

    (void)state;
    assert_int_equal(status, 0);
    assert_non_null(strstr(text, "info parent\n"));
    assert_non_null(strstr(text, "info child\n"));
    free(text);
}

/* ---- a full disk */

/* What the file has may grow to so many bytes. */
static void limit_files(rlim_t n_bytes)
{
    struct rlimit limit;

    (void)getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = n_bytes;
    (void)setrlimit(RLIMIT_FSIZE, &limit);
}

/* The thread writes in order: behind the mark all lines before have been tried. */
static void await_writer(void)
{
    int fds[2];
    char mark;

    if (pipe(fds) == -1 || !log_queue_put(fds[1], LOG_INFO, STR("m")) ||
        read(fds[0], &mark, 1) != 1)
        _exit(1);
}

static void log_to_a_full_disk(void)
{
    enum { ROOM_BYTES = 60 };
    const int out = dup(STDERR_FILENO), file = memfd_create("log", 0);
    char text[4096];
    ssize_t n;

    (void)dup2(file, STDERR_FILENO);
    (void)signal(SIGXFSZ, SIG_IGN);
    log_setup(LOG_INFO, LOG_TEXT);
    log_start(QUEUE_BYTES);
    limit_files(ROOM_BYTES);
    for (int i = 0; i < 3; i++)
        log_msg(LOG_INFO, "the line %d of 0 to 2", i);
    await_writer();
    limit_files(RLIM_INFINITY);
    log_msg(LOG_INFO, "there is room again");
    log_stop();
    n = pread(file, text, sizeof(text), 0);
    if (n <= 0 || write(out, text, (size_t)n) != n)
        _exit(1);
}

static void behind_a_torn_line_the_next_begins_a_line_of_its_own(void **state)
{
    int status;
    char *text = read_half(start_half(log_to_a_full_disk), &status), *rest = text;
    const char *whole, *torn, *loss, *last;

    (void)state;
    assert_int_equal(status, 0);
    whole = strsep(&rest, "\n");
    torn = strsep(&rest, "\n");
    loss = strsep(&rest, "\n");
    last = strsep(&rest, "\n");
    assert_non_null(strstr(whole, " info the line 0 of 0 to 2"));
    assert_null(strstr(torn, "log_dropped"));
    assert_non_null(loss);
    assert_non_null(strstr(loss, "Z warn log_dropped lines=2 errors=0 warnings=0"));
    assert_non_null(last);
    assert_non_null(strstr(last, "Z info there is room again"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_arrives_whole_and_in_order),
        cmocka_unit_test(what_has_no_room_is_dropped_and_counted),
        cmocka_unit_test(the_end_does_not_wait_for_who_never_reads),
        cmocka_unit_test(a_crash_leaves_time_for_the_last_line),
        cmocka_unit_test(a_forked_process_writes_by_itself),
        cmocka_unit_test(behind_a_torn_line_the_next_begins_a_line_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
