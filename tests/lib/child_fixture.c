/* child_fixture.c -- server processes for tests of child. */
#include "lib/child_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/num.h"

enum { WATCHDOG_MS = 120000 };

struct child_fixture sfx;

static const char *const usual_env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", NULL};

static void on_watchdog(void *arg)
{
    (void)arg;
    (void)fputs("the test waits in vain\n", stderr);
    abort();
}

int child_fixture_setup(void **state)
{
    (void)state;
    memset(&sfx, 0, sizeof(sfx));
    sfx.stderr_fd = -1;
    (void)signal(SIGPIPE, SIG_IGN);
    sfx.loop = loop_new(NULL);
    sfx.conf = (struct child_conf){.kind = "mcp",
                                   .label = "docs",
                                   .command.env = usual_env,
                                   .line_bytes = 4096,
                                   .grace_ms = WATCHDOG_MS};
    sfx.watchdog = loop_timer_new(sfx.loop, on_watchdog, NULL);
    loop_timer_start(sfx.watchdog, WATCHDOG_MS);
    return 0;
}

void served_fini(struct served *s)
{
    buf_fini(&s->lines);
    buf_fini(&s->last);
    buf_fini(&s->reason);
}

int child_fixture_teardown(void **state)
{
    (void)state;
    if (sfx.stderr_fd != -1) {
        (void)dup2(sfx.stderr_fd, STDERR_FILENO);
        (void)close(sfx.stderr_fd);
        (void)close(sfx.log_fd);
    }
    assert_null(sfx.server.stdio);
    served_fini(&sfx.server);
    loop_timer_free(sfx.watchdog);
    loop_free(sfx.loop);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    return 0;
}

static bool on_line(void *arg, str line)
{
    struct served *s = arg;

    assert_int_equal(s->n_exits, 0);
    if (s->on_line != NULL)
        return s->on_line(s, line);
    buf_append(&s->lines, line);
    buf_char(&s->lines, '|');
    return true;
}

static void on_exit_told(void *arg, const struct child_end *end)
{
    struct served *s = arg;

    s->n_exits++;
    s->was_asked = end->was_asked;
    s->start_errno = end->start_errno;
    s->signal = end->signal;
    buf_c(&s->reason, end->reason);
    child_last_stderr(s->stdio, &s->last);
    assert_false(child_send(s->stdio, STR("{}")));
}

static void on_closed(void *arg)
{
    struct served *s = arg;

    s->n_closed++;
    s->stdio = NULL;
    assert_int_equal(s->n_exits, s->n_closed);
    if (s->on_closed != NULL)
        s->on_closed(s);
}

bool served_start(struct served *s, struct loop *loop, const char *const *argv, struct err *reterr)
{
    static const struct child_handler handler = {on_line, on_exit_told, on_closed};
    struct child_conf conf = sfx.conf;

    conf.command.argv = argv;
    s->stdio = child_start(loop, &conf, &handler, s, reterr);
    if (s->stdio == NULL)
        return false;
    s->pid = child_pid(s->stdio);
    return true;
}

void stdio_serve(const char *script)
{
    static const char *argv[] = {"sh", "-c", NULL, NULL};

    argv[2] = script;
    assert_true(served_start(&sfx.server, sfx.loop, argv, NULL));
}

void served_until_closed(struct served *s)
{
    STDIO_UNTIL(s->n_closed > 0);
    assert_int_equal(s->n_exits, 1);
    assert_int_equal(s->n_closed, 1);
}

void assert_reason(const struct served *s, const char *expected)
{
    assert_int_equal(s->n_exits, 1);
    assert_str_c(buf_str(&s->reason), expected);
}

pid_t served_number(const struct served *s)
{
    str digits = buf_str(&s->lines);
    uint64_t n = 0;

    digits.len = str_find_char(digits, '|');
    assert_true(num_uint(digits, &n));
    return (pid_t)n;
}

bool process_runs(pid_t pid)
{
    char path[64], text[512];
    FILE *f;
    size_t n;
    const char *state;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    f = fopen(path, "r");
    if (f == NULL)
        return false;
    n = fread(text, 1, sizeof(text) - 1, f);
    (void)fclose(f);
    text[n] = '\0';
    state = strrchr(text, ')'); /* "pid (name) state ..." */
    return state != NULL && state[2] != 'Z' && state[2] != 'X';
}

void stdio_log_start(void)
{
    sfx.log_fd = memfd_create("log", MFD_CLOEXEC);
    sfx.stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    assert_int_equal(dup2(sfx.log_fd, STDERR_FILENO), STDERR_FILENO);
}

void stdio_log_read(struct buf *out)
{
    char piece[4096];
    ssize_t n;
    off_t at = 0;

    while ((n = pread(sfx.log_fd, piece, sizeof(piece), at)) > 0) {
        buf_append(out, str_from(piece, (size_t)n));
        at += n;
    }
}

size_t count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t n = 0;

    while (readdir(dir) != NULL)
        n++;
    (void)closedir(dir);
    return n;
}
