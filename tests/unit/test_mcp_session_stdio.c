/* test_mcp_session_stdio.c -- sessions with real processes, on a real loop. */
#include "lib/child_fixture.h"
#include "mcp/session/mcp_session.h"

/* A server in a few lines of shell. Called with "crash" it dies, with "nothing" it is silent. */
static const char server_script[] =
    "while read -r line; do\n"
    "  id=${line#*'\"id\":'}; id=${id%%,*}\n"
    "  case $line in\n"
    "  *'\"initialize\"'*) result='{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":"
    "{}}}' ;;\n"
    "  *'\"tools/list\"'*) result='{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":"
    "\"object\"}}]}' ;;\n"
    "  *'\"crash\"'*) exit 3 ;;\n"
    "  *'\"nothing\"'*) continue ;;\n"
    "  *'\"tools/call\"'*) result='{\"content\":[{\"type\":\"text\",\"text\":\"ok\"}]}' ;;\n"
    "  *) echo \"$line\" >&2; continue ;;\n"
    "  esac\n"
    "  echo '{\"jsonrpc\":\"2.0\",\"id\":'$id',\"result\":'$result'}'\n"
    "done\n";

static struct {
    struct mcp_server_conf server;
    struct mcp_session *session;
    const char *argv[4];
    unsigned n_listings, n_stopped;
    unsigned n_seen[MCP_FAILED + 1]; /* of each state */
    unsigned n_done;
    bool is_failed;
    struct buf text;
} f;

/* Every report ends the loop's turn, so that the condition is looked at. */
#define UNTIL(condition)                                                                           \
    while (!(condition))                                                                           \
    loop_run(sfx.loop)

static void on_state(void *arg)
{
    (void)arg;
    f.n_seen[mcp_session_state(f.session)]++;
    loop_stop(sfx.loop);
}

static void on_tools(void *arg, const struct mcp_listing *listing)
{
    (void)arg;
    assert_int_equal(listing->n, 1);
    f.n_listings++;
    loop_stop(sfx.loop);
}

static void on_stopped(void *arg)
{
    (void)arg;
    f.n_stopped++;
    loop_stop(sfx.loop);
}

static void on_done(void *arg, const struct mcp_failure *failure,
                    const struct mcp_call_result *result)
{
    (void)arg;
    f.n_done++;
    loop_stop(sfx.loop);
    f.is_failed = failure != NULL;
    buf_reset(&f.text);
    if (failure != NULL)
        mcp_failure_text(failure, &f.text);
    else
        buf_append(&f.text, result->content);
}

static void start(const char *program)
{
    static const struct mcp_session_handler handler = {on_state, on_tools, on_stopped};
    static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};
    struct mcp_session_conf conf = {.server = &f.server, .env = env};

    memset(&f, 0, sizeof(f));
    f.argv[0] = program;
    f.argv[1] = "-c";
    f.argv[2] = server_script;
    f.server = (struct mcp_server_conf){.label = STR("docs"),
                                        .transport = MCP_TRANSPORT_STDIO,
                                        .argv = f.argv,
                                        .startup_timeout_ms = 60000,
                                        .max_concurrency = 8,
                                        .max_message_bytes = 65536};
    f.session = mcp_session_new(sfx.loop, &conf, &handler, NULL, NULL);
    assert_non_null(f.session);
    mcp_session_start(f.session);
}

static void stop(void)
{
    mcp_session_stop(f.session);
    UNTIL(f.n_stopped > 0);
    mcp_session_free(f.session);
    buf_fini(&f.text);
}

static void call(const char *tool)
{
    static const struct mcp_session_call_handler handler = {.on_done = on_done};
    struct mcp_session_call_conf conf = {.tool = str_from_c(tool),
                                         .arguments = STR("{}"),
                                         .idle_timeout_ms = 60000,
                                         .total_timeout_ms = 60000};

    if (strcmp(tool, "nothing") == 0)
        conf.idle_timeout_ms = 30;
    assert_non_null(mcp_session_call(f.session, &conf, &handler, NULL, NULL));
}

static void a_process_is_started_listed_called_and_ended(void **state)
{
    (void)state;
    start("sh");
    UNTIL(f.n_seen[MCP_READY] > 0);
    assert_int_equal(mcp_session_version(f.session), MCP_2025_06_18);
    call("echo");
    UNTIL(f.n_done > 0);
    assert_false(f.is_failed);
    assert_str_c(buf_str(&f.text), "[{\"type\":\"text\",\"text\":\"ok\"}]");
    stop();
}

static void a_crash_fails_the_call_and_the_next_one_finds_a_new_process(void **state)
{
    (void)state;
    start("sh");
    UNTIL(f.n_seen[MCP_READY] == 1);
    call("crash");
    UNTIL(f.n_done > 0);
    assert_str_c(buf_str(&f.text), "MCP server docs closed the connection");
    assert_str_c(mcp_session_error(f.session), "The MCP server exited with status 3.");
    assert_false(mcp_session_is_available(f.session));
    UNTIL(f.n_seen[MCP_READY] == 2);
    assert_int_equal(f.n_listings, 2);
    call("echo");
    UNTIL(f.n_done > 1);
    assert_false(f.is_failed);
    stop();
}

static void a_call_that_times_out_leaves_the_process_alone(void **state)
{
    (void)state;
    start("sh");
    UNTIL(f.n_seen[MCP_READY] == 1);
    call("nothing");
    UNTIL(f.n_done == 1);
    assert_true(f.is_failed);
    call("echo");
    UNTIL(f.n_done == 2);
    assert_false(f.is_failed);
    assert_int_equal(f.n_seen[MCP_BACKOFF], 0);
    stop();
}

static void a_program_that_does_not_exist_is_a_failed_server(void **state)
{
    (void)state;
    start("no-such-program-at-all");
    UNTIL(f.n_seen[MCP_FAILED] > 0);
    assert_true(mcp_session_error(f.session).len > 0);
    call("echo");
    UNTIL(f.n_done > 0);
    assert_true(f.is_failed);
    stop();
}

static void a_session_can_be_stopped_while_it_starts(void **state)
{
    (void)state;
    start("sh");
    stop();
    start("sh");
    UNTIL(f.n_listings > 0);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STDIO_TEST(a_process_is_started_listed_called_and_ended),
        STDIO_TEST(a_crash_fails_the_call_and_the_next_one_finds_a_new_process),
        STDIO_TEST(a_call_that_times_out_leaves_the_process_alone),
        STDIO_TEST(a_program_that_does_not_exist_is_a_failed_server),
        STDIO_TEST(a_session_can_be_stopped_while_it_starts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
