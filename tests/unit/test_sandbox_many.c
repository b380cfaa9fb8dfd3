/* test_sandbox_many.c -- many sandboxes at once, and what is left when the gateway has gone. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>

#include "base/num.h"
#include "unit/sandbox_fixture.h"

enum { MANY = 50 };

/* ---- processes below ours */

static pid_t parent_of(const char *pid)
{
    char path[64], text[512];
    FILE *f;
    size_t n;
    const char *after_name;
    uint64_t parent = 0;
    str number;

    (void)snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    f = fopen(path, "re");
    if (f == NULL)
        return -1;
    n = fread(text, 1, sizeof(text) - 1, f);
    (void)fclose(f);
    text[n] = '\0';
    after_name = strrchr(text, ')'); /* "pid (name) state parent ..." */
    if (after_name == NULL || strlen(after_name) < 5)
        return -1;
    number = str_from_c(after_name + 4);
    number.len = str_find_char(number, ' ');
    return num_uint(number, &parent) ? (pid_t)parent : -1;
}

static bool is_below(pid_t pid, pid_t ancestor)
{
    char name[32];

    while (pid > 1 && pid != ancestor) {
        (void)snprintf(name, sizeof(name), "%d", (int)pid);
        pid = parent_of(name);
    }
    return pid == ancestor;
}

static size_t count_below(pid_t ancestor)
{
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    size_t n = 0;
    uint64_t pid;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        if (num_uint(str_from_c(entry->d_name), &pid) && (pid_t)pid != ancestor)
            n += is_below((pid_t)pid, ancestor);
    }
    (void)closedir(dir);
    return n;
}

/* ---- many at once */

static void fifty_sandboxes_work_at_once(void **state)
{
    static struct told t[MANY];
    char names[MANY][8], code[128], expected[16];

    (void)state;
    bfx.conf.max_containers = bfx.conf.max_per_owner = MANY;
    hub_open();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            struct sandbox_request request;

            (void)snprintf(names[i], sizeof(names[i]), "c%d", i);
            (void)snprintf(code, sizeof(code), "x = globals().get('x', %d) + 1000\nx", i);
            request = code_in(names[i], code);
            (void)ask(&request, &t[i]);
        }
        SANDBOX_UNTIL(loop_n_expected(bfx.loop) == 0);
        for (int i = 0; i < MANY; i++) {
            (void)snprintf(expected, sizeof(expected), "%d", i + 1000 * (round + 1));
            assert_failure(t[i].failure, SANDBOX_OK, &t[i]);
            assert_str_c(buf_str(&t[i].value), expected);
            told_fini(&t[i]);
        }
    }
    assert_true(count_below(getpid()) >= MANY); /* all of them are there */
}

/* ---- after the gateway */

/* A gateway with code that runs. Tells when it does, and does not end by itself. */
_Noreturn static void be_a_gateway(int tell)
{
    const struct sandbox_request request =
        code_in("a", "import os, time\n"
                     "for i in range(3):\n"
                     "    if os.fork() == 0: os.setsid(); break\n"
                     "open('begun%d' % os.getpid(), 'w')\n"
                     "while True: time.sleep(1)");
    struct sandbox_request list = {
        .op = SANDBOX_LIST_FILES, .owner = STR("me"), .container_id = STR("a")};
    struct told t = {.n = 0}, files = {.n = 0};

    hub_open();
    (void)ask(&request, &t);
    while (files.n_files < 4)
        (void)answer(&list, &files);
    if (write(tell, "x", 1) != 1)
        _exit(1);
    for (;;)
        (void)pause();
}

/* Those that its death leaves behind come to us, so none is missed. */
static void nothing_is_left_when_the_gateway_is_killed(void **state)
{
    int told[2];
    char byte;
    pid_t gateway;

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    gateway = fork();
    if (gateway == 0)
        be_a_gateway(told[1]);
    assert_int_equal(close(told[1]), 0);
    assert_int_equal(read(told[0], &byte, 1), 1);
    assert_int_equal(close(told[0]), 0);
    assert_true(count_below(gateway) >= 4);
    assert_int_equal(kill(gateway, SIGKILL), 0);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    assert_int_equal(errno, ECHILD);
    assert_int_equal(count_below(getpid()), 0);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

static int teardown_without_hub(void **state)
{
    (void)state;
    loop_free(bfx.loop);
    (void)alarm(0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SANDBOX_TEST(fifty_sandboxes_work_at_once),
        cmocka_unit_test_setup_teardown(nothing_is_left_when_the_gateway_is_killed, sandbox_setup,
                                        teardown_without_hub),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
