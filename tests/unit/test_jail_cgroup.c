/* test_jail_cgroup.c -- control groups of sandboxes, where this machine lets us make them.
 *
 * Where it does not, what a jail says of it is all that can be looked at. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/child_fixture.h"
#include "sandbox/jail.h"
#include "sandbox/jail_cgroup.h"
#include "sandbox/jail_group.h"

enum { MEMORY_BYTES = 64 << 20 };

static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};

static struct jail_conf usual(void)
{
    return (struct jail_conf){
        .python = "python3",
        .env = env,
        .user = "nobody",
        .cgroup = JAIL_CGROUP_REQUIRE,
        .disk_bytes = 1024 * 1024,
        .max_processes = 8,
        .cpu_percent = 100,
    };
}

static struct jail *make(void)
{
    const struct jail_conf conf = usual();
    struct err e = {.msg = ""};
    struct jail *jail = jail_new(&conf, &e);

    if (jail == NULL) {
        print_message("%s\n", e.msg);
        skip();
    }
    return jail;
}

static void start(struct jail *jail, struct jail_cell *cell, const char *script)
{
    const struct jail_cell_conf conf = {
        .name = "test", .memory_bytes = MEMORY_BYTES, .script = script};

    assert_int_equal(jail_cell_open(jail, &conf, cell, NULL), 0);
    sfx.conf.kind = "sandbox";
    sfx.conf.command = cell->command;
    assert_true(served_start(&sfx.server, sfx.loop, cell->command.argv, NULL));
    jail_cell_started(cell);
}

static void run(const char *script)
{
    struct jail *jail = make();
    struct jail_cell cell;

    start(jail, &cell, script);
    served_until_closed(&sfx.server);
    jail_cell_close(&cell);
    jail_free(jail);
}

/* ---- what is left */

/* The directory that groups are made in; found before a jail is made, which may move us. */
static struct jail_tree tree;
static bool is_v2;

static void read_file(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "r");

    for (int c = f == NULL ? EOF : getc(f); c != EOF; c = getc(f))
        buf_char(out, (char)c);
    if (f != NULL)
        (void)fclose(f);
}

static int find_tree(void **state)
{
    struct buf cgroup = {.limit = 0}, mounts = {.limit = 0};

    read_file("/proc/self/cgroup", &cgroup);
    read_file("/proc/self/mountinfo", &mounts);
    is_v2 = !jail_tree_find_v1(buf_str(&cgroup), buf_str(&mounts), JAIL_MEMORY, &tree);
    if (is_v2)
        (void)jail_tree_find_v2(buf_str(&cgroup), buf_str(&mounts), &tree);
    buf_fini(&cgroup);
    buf_fini(&mounts);
    return child_fixture_setup(state);
}

static bool exists(const char *group)
{
    char path[JAIL_GROUP_PATH_BYTES];

    return jail_group_path(tree.path, group, "", path) && access(path, F_OK) == 0;
}

/* Somebody else removes it, who has nothing to tell us by. */
static void until_removed(const char *group)
{
    while (exists(group))
        (void)usleep(1000);
}

/* How many groups there are whose name begins so. */
static size_t count_groups(const char *prefix)
{
    DIR *dir = opendir(tree.path);
    const struct dirent *entry;
    size_t n = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    if (dir != NULL)
        (void)closedir(dir);
    return n;
}

static size_t count_ours(void)
{
    char owner[JAIL_OWNER_BYTES];

    assert_true(jail_group_owner(getpid(), owner));
    return count_groups(owner);
}

/* Version 2 kills bwrap as well, which otherwise tells how its child has ended. */
static void assert_killed(void)
{
    if (!str_eq(buf_str(&sfx.server.reason), STR("was ended by signal 9 (Killed)")))
        assert_reason(&sfx.server, "exited with status 137");
}

/* --- what it limits ---------------------------------------------------------------- */

static void memory_of_a_sandbox_is_limited(void **state)
{
    (void)state;
    run("bytearray(48 << 20); print('fits', flush=True); bytearray(80 << 20); print('escaped')");
    assert_str_c(buf_str(&sfx.server.lines), "fits|");
    assert_killed();
}

/* One process is killed, or all at once; no single one has too much. */
static void memory_of_all_processes_counts_together(void **state)
{
    (void)state;
    run("import os\n"
        "for i in range(4):\n"
        "    if os.fork() == 0: b = bytearray(24 << 20); os.read(0, 1); os._exit(0)\n"
        "print('killed by', os.wait()[1])\n");
    if (sfx.server.lines.len > 0)
        assert_str_c(buf_str(&sfx.server.lines), "killed by 9|");
    else
        assert_killed();
}

static void files_and_memory_without_a_name_count_as_well(void **state)
{
    (void)state;
    run("import os\n"
        "print('starts', flush=True)\n"
        "f = os.memfd_create('x')\n"
        "for i in range(80):\n"
        "    os.write(f, bytes(1 << 20))\n"
        "print('escaped')\n");
    assert_str_c(buf_str(&sfx.server.lines), "starts|");
    assert_killed();
}

static void the_number_of_processes_is_limited(void **state)
{
    (void)state;
    run("import os\n"
        "n = 1\n"
        "try:\n"
        "    while n < 100:\n"
        "        if os.fork() == 0: os.read(0, 1); os._exit(0)\n"
        "        n += 1\n"
        "except BlockingIOError: print(n, flush=True)\n"
        "os._exit(0)\n");
    assert_str_c(buf_str(&sfx.server.lines), "8|");
}

/* --- what is left ------------------------------------------------------------------ */

static void a_group_ends_with_its_sandbox(void **state)
{
    struct jail *jail = make();
    struct jail_cell cell;
    char group[JAIL_GROUP_BYTES];

    (void)state;
    start(jail, &cell, "print(1)");
    (void)strcpy(group, cell.group);
    assert_true(exists(group));
    served_until_closed(&sfx.server);
    jail_cell_close(&cell);
    until_removed(group);
    jail_free(jail);
}

static void a_cell_that_never_started_leaves_no_group(void **state)
{
    const struct jail_cell_conf conf = {.name = "test", .memory_bytes = MEMORY_BYTES, .script = ""};
    struct jail *jail = make();
    struct jail_cell cell;

    (void)state;
    assert_int_equal(jail_cell_open(jail, &conf, &cell, NULL), 0);
    jail_cell_close(&cell);
    jail_free(jail);
    assert_int_equal(count_ours(), 0);
}

static void two_cells_of_one_name_are_refused(void **state)
{
    const struct jail_cell_conf conf = {.name = "test", .memory_bytes = MEMORY_BYTES, .script = ""};
    struct jail *jail = make();
    struct jail_cell first, second;

    (void)state;
    assert_int_equal(jail_cell_open(jail, &conf, &first, NULL), 0);
    assert_int_equal(jail_cell_open(jail, &conf, &second, NULL), -1);
    assert_true(exists(first.group));
    jail_cell_close(&first);
    jail_free(jail);
    assert_int_equal(count_ours(), 0);
}

static void nothing_is_left_of_a_jail(void **state)
{
    size_t before = count_descriptors();

    (void)state;
    run("import os\nos.fork() or os.read(0, 1)");
    assert_int_equal(count_ours(), 0);
    assert_int_equal(count_descriptors(), before);
}

/* Tells the name of the group and waits for its end. */
_Noreturn static void be_a_gateway(int out)
{
    const struct jail_conf jail_conf = usual();
    const struct jail_cell_conf conf = {
        .name = "left", .memory_bytes = MEMORY_BYTES, .script = "import os; os.read(0, 1)"};
    struct jail *jail = jail_new(&jail_conf, NULL);
    struct jail_cell cell;

    if (jail == NULL || jail_cell_open(jail, &conf, &cell, NULL) == -1)
        _exit(1);
    sfx.loop = loop_new(NULL);
    sfx.conf.kind = "sandbox";
    sfx.conf.command = cell.command;
    if (!served_start(&sfx.server, sfx.loop, cell.command.argv, NULL) ||
        write(out, cell.group, sizeof(cell.group)) != (ssize_t)sizeof(cell.group))
        _exit(1);
    for (;;)
        (void)pause();
}

/* Not in version 2, where this process and the one that is killed are in each other's way. */
static void a_killed_gateway_leaves_no_group(void **state)
{
    char group[JAIL_GROUP_BYTES];
    int fds[2];
    pid_t pid;

    (void)state;
    jail_free(make()); /* or skip */
    if (is_v2)
        skip();
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0)
        be_a_gateway(fds[1]);
    (void)close(fds[1]);
    assert_int_equal(read(fds[0], group, sizeof(group)), sizeof(group));
    assert_true(exists(group));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    until_removed(group);
    (void)close(fds[0]);
}

static void groups_of_gateways_that_are_no_more_are_removed(void **state)
{
    char path[JAIL_GROUP_PATH_BYTES], alive[JAIL_OWNER_BYTES];
    const char *const dead = JAIL_OWNER_START "1.0.0.dead"; /* no process is that old */

    (void)state;
    jail_free(make()); /* or skip */
    assert_true(jail_group_path(tree.path, dead, "", path));
    assert_int_equal(mkdir(path, 0755), 0);
    assert_true(jail_group_owner(getppid(), alive));
    assert_true(jail_group_path(tree.path, alive, "", path));
    assert_int_equal(mkdir(path, 0755), 0);
    jail_free(make());
    assert_false(exists(dead));
    assert_true(exists(alive));
    assert_int_equal(rmdir(path), 0);
}

static void a_jail_says_what_limits_its_sandboxes(void **state)
{
    struct jail_conf conf = usual();
    struct buf text = {.limit = 0};
    struct jail *jail;

    (void)state;
    conf.cgroup = JAIL_CGROUP_OFF;
    jail = jail_new(&conf, NULL);
    jail_describe(jail, &text);
    assert_true(str_find(buf_str(&text), STR(", no control groups (off), Python /")) < text.len);
    assert_false(jail_counts_memory(jail));
    jail_free(jail);
    jail = make();
    buf_reset(&text);
    jail_describe(jail, &text);
    assert_true(str_find(buf_str(&text), STR(", control groups v")) < text.len);
    assert_true(jail_counts_memory(jail));
    jail_free(jail);
    buf_fini(&text);
}

static void on_interrupt(int signal)
{
    (void)signal;
}

/* Until it waits for something, or has ended. */
static void until_asleep(pid_t pid)
{
    char path[64], state = 'R';

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    while (state == 'R' || state == 'D') {
        FILE *f = fopen(path, "re");

        if (f == NULL || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
            state = '\0';
        if (f != NULL)
            (void)fclose(f);
    }
}

/* A FIFO stands for the file: its opening waits, and a signal interrupts what waits. */
static void a_signal_does_not_keep_a_file_from_being_written(void **state)
{
    enum { SIGNALS = 5 };
    char directory[] = "/tmp/antiphon-test-XXXXXX", path[64], text[8] = "";
    const struct sigaction interrupt = {.sa_handler = on_interrupt};
    pid_t writer;
    int status, fd;

    (void)state;
    assert_non_null(mkdtemp(directory));
    (void)snprintf(path, sizeof(path), "%s/file", directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(sigaction(SIGUSR1, &interrupt, NULL), 0);
    writer = fork();
    if (writer == 0)
        _exit(jail_group_write(directory, "", "file", "text") ? 0 : 1);
    for (int i = 0; i < SIGNALS; i++) {
        until_asleep(writer);
        (void)kill(writer, SIGUSR1);
    }
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_int_equal(status, 0);
    assert_int_equal(read(fd, text, sizeof(text)), 4);
    (void)(close(fd) + unlink(path) + rmdir(directory));
}

#define GROUP_TEST(test) cmocka_unit_test_setup_teardown(test, find_tree, child_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUP_TEST(memory_of_a_sandbox_is_limited),
        GROUP_TEST(memory_of_all_processes_counts_together),
        GROUP_TEST(files_and_memory_without_a_name_count_as_well),
        GROUP_TEST(the_number_of_processes_is_limited),
        GROUP_TEST(a_group_ends_with_its_sandbox),
        GROUP_TEST(a_cell_that_never_started_leaves_no_group),
        GROUP_TEST(two_cells_of_one_name_are_refused),
        GROUP_TEST(nothing_is_left_of_a_jail),
        GROUP_TEST(a_killed_gateway_leaves_no_group),
        GROUP_TEST(groups_of_gateways_that_are_no_more_are_removed),
        GROUP_TEST(a_jail_says_what_limits_its_sandboxes),
        cmocka_unit_test(a_signal_does_not_keep_a_file_from_being_written),
    };

    return cmocka_run_group_tests_name("jail_cgroup", tests, NULL, NULL);
}
