/* test_jail.c -- a program in a sandbox, and what is said when there can be none. */
#include <signal.h>
#include <unistd.h>

#include "lib/child_fixture.h"
#include "sandbox/jail.h"

static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};

static struct jail_conf usual(void)
{
    return (struct jail_conf){
        .python = "python3",
        .env = env,
        .user = "nobody",
        .cgroup = JAIL_CGROUP_OFF,
        .disk_bytes = 1024 * 1024,
        .max_processes = 16,
        .cpu_percent = 100,
    };
}

static struct jail *make(const struct jail_conf *conf)
{
    struct err e = {.msg = ""};
    struct jail *jail = jail_new(conf, &e);

    if (jail == NULL)
        fail_msg("%s", e.msg);
    return jail;
}

static void assert_refused(const struct jail_conf *conf, const char *message)
{
    struct err e = {.msg = ""};

    assert_null(jail_new(conf, &e));
    assert_string_equal(e.msg, message);
}

/* Runs a script in a sandbox of its own until it ends by itself. */
static void run_with(const struct jail_conf *conf, const char *script, const char *const *args)
{
    const struct jail_cell_conf cell_conf = {
        .name = "test", .memory_bytes = 256 << 20, .script = script, .args = args};
    struct jail *jail = make(conf);
    struct jail_cell cell;

    assert_int_equal(jail_cell_open(jail, &cell_conf, &cell, NULL), 0);
    sfx.conf.kind = "sandbox";
    sfx.conf.command = cell.command;
    assert_true(served_start(&sfx.server, sfx.loop, cell.command.argv, NULL));
    jail_cell_started(&cell);
    served_until_closed(&sfx.server);
    jail_cell_close(&cell);
    jail_free(jail);
}

static void run(const char *script)
{
    const struct jail_conf conf = usual();

    run_with(&conf, script, NULL);
}

static void assert_printed(const char *expected)
{
    if (sfx.server.last.len > 0)
        print_message("standard error: %.*s\n", STR_ARG(buf_str(&sfx.server.last)));
    assert_str_c(buf_str(&sfx.server.lines), expected);
}

/* --- what a program finds ------------------------------------------------------- */

static void a_script_runs_with_its_arguments(void **state)
{
    static const char *const args[] = {"a b", "", NULL};
    const struct jail_conf conf = usual();

    (void)state;
    run_with(&conf, "import sys; print(sys.argv)", args);
    assert_printed("['/run/main.py', 'a b', '']|");
    assert_reason(&sfx.server, "exited with status 0");
}

static void the_environment_is_a_short_list(void **state)
{
    (void)state;
    (void)setenv("ANTIPHON_SECRET", "s3cret", 1);
    run("import os; print(*sorted(os.environ))");
    assert_printed("HOME LANG LOGNAME MPLBACKEND MPLCONFIGDIR PATH PWD TERM TMPDIR USER "
                   "XDG_CACHE_HOME XDG_CONFIG_HOME|");
}

static void the_user_is_an_ordinary_one_without_rights(void **state)
{
    (void)state;
    run("import os, pwd, grp\n"
        "print(os.getuid(), pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name)\n"
        "print(os.getgroups(), os.uname().nodename, os.getcwd())\n"
        "s = dict(l.split(':\\t') for l in open('/proc/self/status').read().splitlines())\n"
        "print(s['CapPrm'], s['CapBnd'], s['NoNewPrivs'])\n");
    assert_printed(
        "1000 sandbox sandbox|[] sandbox /mnt/data|0000000000000000 0000000000000000 1|");
}

static void the_kernel_ends_it_first_when_memory_is_out(void **state)
{
    (void)state;
    run("print(int(open('/proc/self/oom_score_adj').read()))");
    assert_printed("1000|");
}

static void only_the_standard_streams_are_open(void **state)
{
    (void)state;
    run("import os; print(*sorted(f for f in os.listdir('/proc/self/fd') "
        "if os.path.exists('/proc/self/fd/' + f)))");
    assert_printed("0 1 2|");
}

static void the_work_directory_has_the_size_that_was_asked_for(void **state)
{
    (void)state;
    run("import os\n"
        "for d in '/mnt/data', '/tmp':\n"
        "    s = os.statvfs(d); print(d, s.f_blocks * s.f_frsize, os.listdir(d))\n");
    assert_printed("/mnt/data 1048576 []|/tmp 1048576 []|");
}

static void nothing_else_can_be_written(void **state)
{
    (void)state;
    run("mounts = [l.split()[1:4] for l in open('/proc/mounts')]\n"
        "print(*sorted(at for at, _, how in mounts if 'rw' in how.split(',')))\n");
    assert_printed("/dev/full /dev/null /dev/pts /dev/random /dev/shm /dev/tty /dev/urandom "
                   "/dev/zero /mnt/data /tmp|");
}

static void a_directory_of_the_configuration_is_seen_and_read_only(void **state)
{
    static const char *const paths[] = {"/etc/init.d"};
    struct jail_conf conf = usual();

    (void)state;
    conf.paths = paths;
    conf.n_paths = 1;
    run_with(&conf,
             "import os; print(len(os.listdir('/etc/init.d')) > 0, os.access('/etc/init.d', "
             "os.W_OK))",
             NULL);
    assert_printed("True False|");
}

static void nothing_is_left_of_a_sandbox(void **state)
{
    size_t before = count_descriptors();

    (void)state;
    run("import os\nif os.fork() == 0:\n    import time; time.sleep(1000)");
    assert_reason(&sfx.server, "exited with status 0");
    assert_int_equal(count_descriptors(), before);
}

/* Only the first process inside is killed, by its descriptor: the rest goes with it. */
static void a_cell_is_killed_by_its_first_process(void **state)
{
    static const char script[] = "import os, signal, time\n"
                                 "for _ in range(2):\n    if os.fork(): break\n    os.setsid()\n"
                                 "else:\n    print('ready', flush=True)\n"
                                 "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"
                                 "time.sleep(1000)\n";
    const struct jail_cell_conf cell_conf = {
        .name = "test", .memory_bytes = 256 << 20, .script = script};
    const struct jail_conf conf = usual();
    size_t before = count_descriptors();
    struct jail *jail = make(&conf);
    struct jail_cell cell;

    (void)state;
    assert_int_equal(jail_cell_open(jail, &cell_conf, &cell, NULL), 0);
    sfx.conf.kind = "sandbox";
    sfx.conf.command = cell.command;
    assert_true(served_start(&sfx.server, sfx.loop, cell.command.argv, NULL));
    jail_cell_started(&cell);
    STDIO_UNTIL(sfx.server.lines.len > 0);
    jail_cell_ready(&cell, sfx.server.pid);
    assert_int_not_equal(cell.init_fd, -1);
    jail_cell_kill(&cell);
    served_until_closed(&sfx.server);
    assert_reason(&sfx.server, "exited with status 137");
    jail_cell_close(&cell);
    jail_free(jail);
    assert_int_equal(count_descriptors(), before);
}

/* --- what is said when there can be none ------------------------------------------ */

static void a_missing_python_is_named(void **state)
{
    struct jail_conf conf = usual();

    (void)state;
    conf.python = "python99";
    assert_refused(&conf, "there is no python99 that sandboxes can use on the PATH: install the "
                          "package python3, or name one with --code-python");
    conf.python = "/usr/bin/python99";
    assert_refused(&conf, "--code-python: /usr/bin/python99 is not a program");
    conf.python = "bin/python";
    assert_refused(&conf, "--code-python: bin/python is not an absolute path");
    conf.python = "/usr/bin/ldd";
    assert_refused(&conf, "--code-python: /usr/bin/ldd is a script, not an interpreter: give the "
                          "path of the one it starts");
}

static void a_path_that_would_undo_the_sandbox_is_refused(void **state)
{
    static const struct {
        const char *path, *message;
    } cases[] = {
        {"/", "--code-paths: / would hide the sandbox's own /mnt/data"},
        {"/tmp", "--code-paths: /tmp would hide the sandbox's own /tmp"},
        {"/mnt/", "--code-paths: /mnt/ would hide the sandbox's own /mnt/data"},
        {"data", "--code-paths: data is not an absolute path"},
        {"/nowhere", "--code-paths: /nowhere does not exist, or the user that sandboxes run as may "
                     "not read it"},
    };
    struct jail_conf conf = usual();

    (void)state;
    conf.n_paths = 1;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        conf.paths = &cases[i].path;
        assert_refused(&conf, cases[i].message);
    }
}

static void root_needs_another_user_for_it(void **state)
{
    struct jail_conf conf = usual();

    (void)state;
    if (geteuid() != 0)
        skip();
    conf.user = "root";
    assert_refused(&conf, "--code-user: sandboxes do not run as root");
    conf.user = "no-such-user";
    assert_refused(&conf, "--code-user: there is no user no-such-user");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STDIO_TEST(a_script_runs_with_its_arguments),
        STDIO_TEST(the_environment_is_a_short_list),
        STDIO_TEST(the_user_is_an_ordinary_one_without_rights),
        STDIO_TEST(the_kernel_ends_it_first_when_memory_is_out),
        STDIO_TEST(only_the_standard_streams_are_open),
        STDIO_TEST(the_work_directory_has_the_size_that_was_asked_for),
        STDIO_TEST(nothing_else_can_be_written),
        STDIO_TEST(a_directory_of_the_configuration_is_seen_and_read_only),
        STDIO_TEST(nothing_is_left_of_a_sandbox),
        STDIO_TEST(a_cell_is_killed_by_its_first_process),
        STDIO_TEST(a_missing_python_is_named),
        STDIO_TEST(a_path_that_would_undo_the_sandbox_is_refused),
        STDIO_TEST(root_needs_another_user_for_it),
    };

    return cmocka_run_group_tests_name("jail", tests, NULL, NULL);
}
