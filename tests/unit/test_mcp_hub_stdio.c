/* test_mcp_hub_stdio.c -- the hub with real sessions and real processes.
 *
 * ANTIPHON_TEST_RESTARTS sets how often a server is started anew. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "child/child_keeper.h"
#include "lib/child_fixture.h"
#include "unit/mcp_hub_fixture.h"

static const char *const usual_env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", NULL};

static size_t n_descriptors; /* before the hub was there */

static int setup(void **state)
{
    (void)signal(SIGPIPE, SIG_IGN);
    if (hub_setup(state) == -1)
        return -1;
    hfx.conf.env = usual_env;
    assert_true(child_keeper_fd() != -1); /* stays open */
    n_descriptors = count_descriptors();
    return 0;
}

/* No process, no zombie and no descriptor may be left. */
static int teardown(void **state)
{
    size_t n_left;

    assert_true(mcp_hub_free(hfx.hub));
    hfx.hub = NULL;
    n_left = count_descriptors();
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(n_left, n_descriptors);
    return hub_teardown(state);
}

/* The entry of a server of that name, required so that a hub starts with it. */
static const char *entry(const char *name)
{
    static char text[4096];

    (void)snprintf(text, sizeof(text),
                   "\"s\":{\"command\":\"sh\",\"args\":[\"%s\",\"%s\"],\"required\":true}",
                   fixture_path("mcp/tiny-server.sh"), name);
    return text;
}

/* Until the server in the file is the one of that name, and may be used. */
static struct mcp_catalogue *until_available(const char *name)
{
    struct mcp_catalogue *tools = NULL;

    while (tools == NULL) {
        struct mcp_snapshot *s = mcp_hub_snapshot(hfx.hub);
        const struct mcp_server_view *view = mcp_snapshot_find(s, STR("s"));

        if (view->is_available && strcmp(view->conf->argv[2], name) == 0)
            tools = mcp_catalogue_ref(view->tools);
        mcp_snapshot_unref(s);
        (void)sched_yield();
    }
    return tools;
}

static void call_it(struct mcp_catalogue *tools, const char *tool, const char *arguments,
                    struct told *t)
{
    static const struct mcp_done_handler handler = {on_told};
    const struct mcp_hub_call call = {.label = STR("s"),
                                      .catalogue = tools,
                                      .tool = mcp_catalogue_find(tools, str_from_c(tool)),
                                      .arguments = str_from_c(arguments)};
    struct err e;

    assert_non_null(call.tool);
    assert_non_null(mcp_hub_call(hfx.hub, hfx.loop, &call, &handler, t, &e));
}

/* The name and the process that answered; the name must be this. */
static long until_answered_by(struct told *t, const char *name)
{
    char *end;

    HUB_UNTIL(t->n > 0);
    if (t->is_failed)
        fail_msg("%s", buf_cstr(&t->error));
    assert_true(str_starts_with(buf_str(&t->output), str_from_c(name)));
    assert_int_equal(t->output.p[strlen(name)], ' ');
    return strtol(buf_cstr(&t->output) + strlen(name), &end, 10);
}

static long who(const char *name)
{
    struct mcp_catalogue *tools = until_available(name);
    struct told t = {0};
    long pid;

    call_it(tools, "who", "{}", &t);
    pid = until_answered_by(&t, name);
    told_fini(&t);
    mcp_catalogue_unref(tools);
    return pid;
}

static void look_who_leaves(void *arg)
{
    *(bool *)arg = hfx.hub->leaving != NULL;
}

static void until_nobody_leaves(void)
{
    bool somebody_leaves = true;

    while (somebody_leaves) {
        play(look_who_leaves, &somebody_leaves);
        (void)sched_yield();
    }
}

/* ---- tests */

static void calls_reach_a_process(void **state)
{
    long pid;

    (void)state;
    hub_open(entry("one"));
    pid = who("one");
    assert_true(pid > 0);
    assert_int_equal(who("one"), pid);
}

static void restarts_leave_no_process_and_no_descriptor(void **state)
{
    const char *wanted = getenv("ANTIPHON_TEST_RESTARTS");
    const unsigned n_restarts = wanted == NULL ? 200 : (unsigned)atoi(wanted);
    size_t n_before = 0;
    long last = 0;

    (void)state;
    hub_open(entry("n0"));
    for (unsigned i = 0; i < n_restarts; i++) {
        char name[16];
        long pid;

        (void)snprintf(name, sizeof(name), "n%u", i);
        hub_reload(entry(name));
        pid = who(name);
        assert_true(pid != last);
        last = pid;
        if (i == 0) {
            until_nobody_leaves();
            n_before = count_descriptors();
        }
    }
    until_nobody_leaves();
    assert_int_equal(count_descriptors(), n_before);
}

static void unchanged_entry_keeps_its_process(void **state)
{
    long pid;

    (void)state;
    hub_open(entry("one"));
    pid = who("one");
    for (unsigned i = 0; i < 10; i++)
        hub_reload(entry("one"));
    assert_int_equal(who("one"), pid);
}

static void call_finishes_on_the_process_that_it_began_on(void **state)
{
    char fifo[] = "/tmp/antiphon-hub-XXXXXX", arguments[64];
    struct mcp_catalogue *tools;
    struct told t = {0};
    int fd;

    (void)state;
    assert_non_null(mkdtemp(fifo));
    assert_int_equal(rmdir(fifo), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    (void)snprintf(arguments, sizeof(arguments), "{\"fifo\":\"%s\"}", fifo);
    hub_open(entry("old"));
    tools = until_available("old");
    call_it(tools, "wait", arguments, &t);
    hub_reload(entry("new"));
    (void)who("new");
    assert_int_equal(t.n, 0);
    fd = open(fifo, O_WRONLY | O_CLOEXEC); /* waits for the reader */
    (void)until_answered_by(&t, "old");
    assert_int_equal(close(fd) + unlink(fifo), 0);
    until_nobody_leaves();
    told_fini(&t);
    mcp_catalogue_unref(tools);
}

static void crash_fails_the_call_and_the_server_comes_back(void **state)
{
    struct mcp_catalogue *tools;
    struct told t = {0};
    long pid;

    (void)state;
    hub_open(entry("one"));
    tools = until_available("one");
    pid = who("one");
    call_it(tools, "exit", "{}", &t);
    until_failed(&t, "MCP server s closed the connection");
    assert_true(who("one") != pid);
    told_fini(&t);
    mcp_catalogue_unref(tools);
}

/* Each takes 4 s to be ended, so together they would take too long. */
static void deaf_servers_are_ended_together(void **state)
{
#define DEAF(label)                                                                                \
    "\"" label "\":{\"command\":\"sh\",\"args\":[\"-c\",\"trap '' TERM; sleep 1000 & "             \
    "while :; do wait; done\"]}"
    (void)state;
    hub_open(DEAF("a") "," DEAF("b") "," DEAF("c"));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(calls_reach_a_process),
        TEST(restarts_leave_no_process_and_no_descriptor),
        TEST(unchanged_entry_keeps_its_process),
        TEST(call_finishes_on_the_process_that_it_began_on),
        TEST(crash_fails_the_call_and_the_server_comes_back),
        TEST(deaf_servers_are_ended_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
