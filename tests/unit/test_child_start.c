/* test_child_start.c -- what a child process is given at its start, what is told
 * when there is none, and that a thousand of them leave nothing behind. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "lib/child_fixture.h"
#include "mcp/conf/mcp_env.h"

static void start(const char *const *argv)
{
    assert_true(served_start(&sfx.server, sfx.loop, argv, NULL));
    served_until_closed(&sfx.server);
}

static void assert_lines(const char *expected)
{
    assert_str_c(buf_str(&sfx.server.lines), expected);
}

/* --- what it is given --------------------------------------------------------- */

static void it_sees_the_environment_it_was_given_and_nothing_else(void **state)
{
    const char *const parent[] = {"PATH=/usr/bin:/bin", "LANG=C", "API_KEY=s3cret", NULL};
    const struct mcp_env_var var = {STR("TOKEN"), STR("own")};
    struct arena a = {.limit = 0};

    (void)state;
    assert_int_equal(setenv("ANTIPHON_TEST_LEAK", "s3cret", 1), 0);
    sfx.conf.command.env = mcp_env_build(
        &(struct mcp_env_source){.parent = parent, .vars = &var, .n_vars = 1}, &a, NULL);
    start((const char *const[]){"env", NULL});
    assert_lines("PATH=/usr/bin:/bin|LANG=C|TOKEN=own|");
    arena_fini(&a);
}

/* Descriptors that a library forgot to mark, one of them far away. */
static void it_has_descriptors_0_1_2_only(void **state)
{
    int near = open("/dev/null", O_RDONLY); // NOLINT(android-cloexec-open): the point of the test
    int far = fcntl(near, F_DUPFD, 200);

    (void)state;
    stdio_serve("for f in /proc/$$/fd/*; do [ -e \"$f\" ] && echo ${f##*/}; done");
    served_until_closed(&sfx.server);
    assert_lines("0|1|2|");
    assert_int_equal(close(near) + close(far), 0);
}

static void it_has_no_blocked_and_no_ignored_signals(void **state)
{
    sigset_t some;

    (void)state;
    (void)signal(SIGUSR1, SIG_IGN);
    (void)signal(SIGRTMIN + 1, SIG_IGN);
    (void)sigemptyset(&some);
    (void)sigaddset(&some, SIGUSR2);
    (void)pthread_sigmask(SIG_BLOCK, &some, NULL);
    start((const char *const[]){"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status", NULL});
    (void)pthread_sigmask(SIG_UNBLOCK, &some, NULL);
    (void)signal(SIGUSR1, SIG_DFL);
    (void)signal(SIGRTMIN + 1, SIG_DFL);
    assert_lines("SigBlk:\t0000000000000000|SigIgn:\t0000000000000000|");
}

static void a_broken_pipe_ends_it_as_usual(void **state)
{
    (void)state;
    stdio_serve("kill -PIPE $$");
    served_until_closed(&sfx.server);
    assert_reason(&sfx.server, "was ended by signal 13 (Broken pipe)");
}

static void it_leads_a_session_of_its_own(void **state)
{
    char expected[64];

    (void)state;
    stdio_serve("set -- $(cat /proc/$$/stat); echo $5 $6");
    served_until_closed(&sfx.server);
    (void)snprintf(expected, sizeof(expected), "%d %d|", (int)sfx.server.pid, (int)sfx.server.pid);
    assert_lines(expected);
}

static void it_runs_in_its_directory(void **state)
{
    (void)state;
    sfx.conf.command.cwd = "/proc";
    start((const char *const[]){"pwd", "-P", NULL});
    assert_lines("/proc|");
}

static void arguments_reach_it_as_they_are(void **state)
{
    (void)state;
    start((const char *const[]){"printf", "%s\\n", "$HOME `id`", "a\"b'c", "*", "", "end", NULL});
    assert_lines("$HOME `id`|a\"b'c|*|end|");
}

/* The gateway's own may be closed: then their numbers go to the pipes. */
static void it_has_standard_streams_when_the_gateway_has_none(void **state)
{
    int saved[3];

    (void)state;
    for (int fd = 0; fd < 3; fd++) {
        saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 50);
        (void)close(fd);
    }
    stdio_serve("read line; echo \"$line\"; [ -p /dev/stderr ] && echo pipe");
    (void)child_send(sfx.server.stdio, STR("{}"));
    STDIO_UNTIL(sfx.server.n_closed > 0);
    for (int fd = 0; fd < 3; fd++) {
        (void)dup2(saved[fd], fd);
        (void)close(saved[fd]);
    }
    assert_lines("{}|pipe|");
}

/* --- what is not there ---------------------------------------------------------- */

static void assert_not_started(int error, const char *reason)
{
    assert_int_equal(sfx.server.start_errno, error);
    assert_reason(&sfx.server, reason);
    assert_int_equal(sfx.server.lines.len, 0);
}

static void a_command_that_is_not_on_the_path_is_told(void **state)
{
    (void)state;
    start((const char *const[]){"no-such-server", NULL});
    assert_not_started(ENOENT,
                       "cannot start \"no-such-server\": No such file or directory: is it on the "
                       "PATH the server gets, and the program its first line names?");
}

static void a_program_that_does_not_exist_is_told(void **state)
{
    (void)state;
    start((const char *const[]){"/no/such/server", NULL});
    assert_not_started(ENOENT, "cannot start \"/no/such/server\": No such file or directory: is it "
                               "there, and the program its first line names?");
}

static void an_empty_command_is_told(void **state)
{
    (void)state;
    start((const char *const[]){"", NULL});
    assert_int_equal(sfx.server.start_errno, ENOENT);
}

static void a_directory_that_does_not_exist_is_told_apart(void **state)
{
    (void)state;
    sfx.conf.command.cwd = "/no/such/directory";
    start((const char *const[]){"true", NULL});
    assert_not_started(
        ENOENT, "cannot enter the directory \"/no/such/directory\": No such file or directory");
}

static void a_file_that_may_not_be_executed_is_told(void **state)
{
    (void)state;
    start((const char *const[]){"/etc/passwd", NULL});
    assert_not_started(EACCES, "cannot start \"/etc/passwd\": Permission denied: is it a file that "
                               "may be executed?");
}

/* Runs `name` from a folder of its own that holds a file of that name. */
static void start_file(const char *text, mode_t mode)
{
    char dir[] = "/tmp/antiphon-test-XXXXXX", path[64], env_path[128];
    int fd;

    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/true", dir);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode) + close(fd), 0);
    (void)snprintf(env_path, sizeof(env_path), "PATH=/no/such:%s:/usr/bin:/bin", dir);
    sfx.conf.command.env = (const char *const[]){env_path, NULL};
    start((const char *const[]){"true", NULL});
    assert_int_equal(unlink(path) + rmdir(dir), 0);
}

static void a_file_without_an_interpreter_is_not_given_to_a_shell(void **state)
{
    (void)state;
    start_file("echo shell\n", 0700);
    assert_not_started(ENOEXEC, "cannot start \"true\": Exec format error: a script has to start "
                                "with a #! line");
}

static void the_path_of_the_server_is_searched_in_order(void **state)
{
    (void)state;
    start_file("#!/bin/sh\necho mine\n", 0700);
    assert_lines("mine|");
}

static void what_may_not_be_executed_is_passed_over(void **state)
{
    (void)state;
    start_file("#!/bin/sh\necho mine\n", 0600);
    assert_lines("");
    assert_reason(&sfx.server, "exited with status 0");
}

static void without_a_path_the_usual_places_are_searched(void **state)
{
    (void)state;
    sfx.conf.command.env = (const char *const[]){NULL};
    start((const char *const[]){"echo", "{}", NULL});
    assert_lines("{}|");
}

/* --- nothing stays --------------------------------------------------------------- */

enum { STARTS = 1000, AT_ONCE = 20, THREADS = 3 };

/* Servers that come and go, a number of them at any time, on a loop of their own. */
struct crowd {
    struct loop *loop;
    struct served servers[AT_ONCE];
    unsigned n_to_start, n_open, n_failed;
};

static void start_next(struct crowd *c, struct served *s);

static void on_one_closed(struct served *s)
{
    struct crowd *c = s->arg;

    c->n_open--;
    c->n_failed += s->start_errno != 0;
    start_next(c, s);
    if (c->n_open == 0)
        loop_stop(c->loop);
}

/* Every fifth is a command that does not exist, every other one is stopped. */
static void start_next(struct crowd *c, struct served *s)
{
    static const char *const commands[][2] = {{"true", NULL}, {"no-such-server", NULL}};

    served_fini(s);
    *s = (struct served){.arg = c, .on_closed = on_one_closed};
    if (c->n_to_start == 0)
        return;
    c->n_to_start--;
    if (!served_start(s, c->loop, commands[c->n_to_start % 5 == 0], NULL))
        abort(); /* perhaps not the thread of the test */
    c->n_open++;
    if (c->n_to_start % 2 == 0)
        child_stop(s->stdio);
}

static void crowd_run(void *arg)
{
    struct crowd *c = arg;

    for (size_t i = 0; i < AT_ONCE; i++)
        start_next(c, &c->servers[i]);
    loop_run(c->loop);
}

static void a_thousand_servers_leave_nothing(void **state)
{
    struct crowd c = {.loop = sfx.loop, .n_to_start = 2 * AT_ONCE};
    size_t n_descriptors, n_bytes;

    (void)state;
    crowd_run(&c); /* whatever is made once is made now */
    n_descriptors = count_descriptors();
    n_bytes = mallinfo2().uordblks;
    c.n_to_start = STARTS;
    c.n_failed = 0;
    crowd_run(&c);
    assert_int_equal(c.n_failed, STARTS / 5);
    assert_int_equal(count_descriptors(), n_descriptors);
    assert_true(mallinfo2().uordblks <= n_bytes + (size_t)16 * 1024);
}

static void loops_of_several_threads_have_servers_of_their_own(void **state)
{
    static struct crowd crowds[THREADS];
    uv_thread_t threads[THREADS];

    (void)state;
    for (size_t i = 0; i < THREADS; i++) {
        crowds[i] = (struct crowd){.loop = loop_new(NULL), .n_to_start = STARTS / 10};
        assert_int_equal(uv_thread_create(&threads[i], crowd_run, &crowds[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(uv_thread_join(&threads[i]), 0);
        assert_int_equal(crowds[i].n_open, 0);
        assert_int_equal(crowds[i].n_failed, STARTS / 10 / 5);
        loop_free(crowds[i].loop);
    }
}

/* With one descriptor more each time, until there are enough. */
static void a_start_without_descriptors_is_an_error_and_leaves_nothing(void **state)
{
    struct rlimit usual, few;
    struct err err;
    bool started = false;
    size_t n_descriptors = count_descriptors();

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    few = usual;
    for (few.rlim_cur = 0; !started; few.rlim_cur++) {
        err = (struct err){.code = ERR_NONE};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        started = served_start(&sfx.server, sfx.loop, (const char *const[]){"true", NULL}, &err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
        assert_true(started == (err.code == ERR_NONE));
        (void)uv_run(loop_uv(sfx.loop), UV_RUN_NOWAIT); /* handles close */
    }
    served_until_closed(&sfx.server);
    assert_int_equal(count_descriptors(), n_descriptors);
}

/* --- a start that is cut short ------------------------------------------------- */

static int listen_anywhere(struct sockaddr_in *ret)
{
    socklen_t len = sizeof(*ret);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *ret = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    assert_int_equal(bind(fd, (struct sockaddr *)ret, len), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)ret, &len), 0);
    return fd;
}

/* A pipe without room: who writes to it waits. */
static void open_full_pipe(int ends[2])
{
    static const char zeros[4096];

    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    while (write(ends[1], zeros, sizeof(zeros)) > 0)
        continue;
    assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
}

/* A process that starts another and is killed; the other waits for its control group. */
_Noreturn static void start_and_wait(int group_fd, int told_fd)
{
    const struct child_command command = {
        .argv = (const char *const[]){"true", NULL}, .join_fds = &group_fd, .n_join_fds = 1};
    struct child_pipes pipes;
    pid_t pid;

    if (child_spawn_open_pipes(&pipes, NULL) == -1)
        _exit(1);
    pid = child_spawn_fork(&command, &pipes, NULL);
    if (write(told_fd, &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
        _exit(1);
    for (;;)
        (void)pause();
}

static void a_port_is_free_when_its_owner_is_killed_during_a_start(void **state)
{
    enum { MANY_TIMES = 1000 };
    int group[2], told[2], fd, n = 0;
    struct sockaddr_in at;
    int listener = listen_anywhere(&at);
    pid_t owner, child = 0;

    (void)state;
    open_full_pipe(group);
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    owner = fork();
    if (owner == 0)
        start_and_wait(group[1], told[1]);
    assert_int_equal(read(told[0], &child, sizeof(child)), sizeof(child));
    (void)close(listener);
    (void)kill(owner, SIGKILL);
    assert_int_equal(waitpid(owner, NULL, 0), owner);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    while (bind(fd, (struct sockaddr *)&at, sizeof(at)) == -1 && ++n < MANY_TIMES)
        (void)usleep(5000);
    (void)kill(child, SIGKILL);
    assert_true(n < MANY_TIMES);
    (void)close(fd);
    for (int i = 0; i < 2; i++)
        (void)(close(group[i]) + close(told[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STDIO_TEST(it_sees_the_environment_it_was_given_and_nothing_else),
        STDIO_TEST(it_has_descriptors_0_1_2_only),
        STDIO_TEST(it_has_no_blocked_and_no_ignored_signals),
        STDIO_TEST(a_broken_pipe_ends_it_as_usual),
        STDIO_TEST(it_leads_a_session_of_its_own),
        cmocka_unit_test(a_port_is_free_when_its_owner_is_killed_during_a_start),
        STDIO_TEST(it_runs_in_its_directory),
        STDIO_TEST(arguments_reach_it_as_they_are),
        STDIO_TEST(it_has_standard_streams_when_the_gateway_has_none),
        STDIO_TEST(a_command_that_is_not_on_the_path_is_told),
        STDIO_TEST(a_program_that_does_not_exist_is_told),
        STDIO_TEST(an_empty_command_is_told),
        STDIO_TEST(a_directory_that_does_not_exist_is_told_apart),
        STDIO_TEST(a_file_that_may_not_be_executed_is_told),
        STDIO_TEST(a_file_without_an_interpreter_is_not_given_to_a_shell),
        STDIO_TEST(the_path_of_the_server_is_searched_in_order),
        STDIO_TEST(what_may_not_be_executed_is_passed_over),
        STDIO_TEST(without_a_path_the_usual_places_are_searched),
        STDIO_TEST(a_thousand_servers_leave_nothing),
        STDIO_TEST(loops_of_several_threads_have_servers_of_their_own),
        STDIO_TEST(a_start_without_descriptors_is_an_error_and_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
