/* test_mcp_link_stdio.c -- child processes as links. */
#include <signal.h>
#include <unistd.h>

#include "lib/link_fixture.h"

static const char *const gateway_env[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                          "HOME=/h",
                                          "LOGNAME=logname",
                                          "GIVEN_KEY=given-key",
                                          "OTHER_KEY=other-key",
                                          "ANTIPHON_API_KEY=key-1",
                                          "OPENAI_API_KEY=key-2",
                                          "OTHER=o",
                                          NULL};

/* The server is a script of sh, which answers with what it finds. */
static void run(const char *script)
{
    static const char *argv[] = {"sh", "-c", NULL, NULL};

    argv[2] = script;
    lfx.server.argv = argv;
    lfx.conf.env = gateway_env;
    (void)signal(SIGPIPE, SIG_IGN);
    link_start(mcp_link_stdio_new);
}

/* A notification whose method is this shell expression. */
#define SAY(expression) "echo '{\"jsonrpc\":\"2.0\",\"method\":\"'" expression "'\"}'\n"

static void lines_are_messages(void **state)
{
    (void)state;
    run("read line; echo \"$line\" >&2; echo 'starting up'; echo 3;\n"
        "echo '[{\"jsonrpc\":\"2.0\",\"method\":\"a\"},{\"jsonrpc\":\"2.0\",\"id\":1,"
        "\"result\":{}}]'; cat >&2");
    UNTIL(link_told("up"));
    assert_true(link_send(1, MCP_INITIALIZE, MCP_VERSION_NONE));
    UNTIL(link_told("message 0 0 id=1 {}"));
    mcp_link_listen(lfx.link, MCP_2025_11_25);
    mcp_link_reset_session(lfx.link);
    mcp_link_forget(lfx.link, 1);
    link_stop();
    assert_string_equal(buf_cstr(&lfx.told), "up\nmessage 0 0 id=-1 a\nmessage 0 0 id=1 {}\n"
                                             "down closed 0\nclosed\n");
}

static void a_server_sees_what_it_is_meant_to(void **state)
{
    static const struct mcp_pair pairs[] = {{STR_INIT("OWN"), {STR_INIT("w")}},
                                            {STR_INIT("FILE"), {STR_INIT("later")}}};
    static const str inherited[] = {STR_INIT("OTHER"), STR_INIT("OPENAI_API_KEY")};
    char path[] = "/tmp/test_mcp_env.XXXXXX";
    static const char text[] = "FILE=first\nMORE='m'\n";
    int fd = mkstemp(path);

    (void)state;
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    lfx.server.env = (struct mcp_pairs){pairs, COUNT_OF(pairs)};
    lfx.server.env_file = path;
    lfx.server.inherit_env.items = inherited;
    lfx.server.inherit_env.n = COUNT_OF(inherited);
    lfx.server.cwd = "/";
    run(SAY("$HOME,$OTHER,$OWN,$FILE,$MORE,$ANTIPHON_API_KEY,$OPENAI_API_KEY,$PWD") "cat");
    UNTIL(link_told("message 0 0 id=-1 /h,o,w,later,m,,,/"));
    (void)unlink(path);
}

static void what_a_server_is_given_besides_is_secret_as_well(void **state)
{
    static const str inherited[] = {STR_INIT("GIVEN_KEY"), STR_INIT("LOGNAME"),
                                    STR_INIT("NOTHING")};
    char path[] = "/tmp/test_mcp_env.XXXXXX";
    static const char text[] = "FILE_KEY='file-key'\n";
    int fd = mkstemp(path);
    struct buf shown = {0};

    (void)state;
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    lfx.server.env_file = path;
    lfx.server.inherit_env.items = inherited;
    lfx.server.inherit_env.n = COUNT_OF(inherited);
    run("cat");
    (void)unlink(path);
    secrets_hide(&lfx.secrets, STR("file-key given-key other-key logname"), &shown);
    assert_string_equal(buf_cstr(&shown), "[redacted] [redacted] other-key logname");
    buf_fini(&shown);
}

static void a_bad_env_file_is_told_at_once(void **state)
{
    static const char *const argv[] = {"true", NULL};
    static const struct mcp_link_handler none = {.on_up = NULL};
    struct err e;

    (void)state;
    lfx.server.argv = argv;
    lfx.server.env_file = "/nowhere/x.env";
    assert_null(mcp_link_stdio_new(fx.loop, &lfx.conf, &none, NULL, &e));
    assert_non_null(strstr(e.msg, "/nowhere/x.env"));
}

static void the_end_of_a_server_says_why(void **state)
{
    (void)state;
    run("echo 'no such file: x' >&2; exit 3");
    UNTIL(link_told("down closed 0 The MCP server exited with status 3.\n"));
    assert_false(link_send(1, MCP_INITIALIZE, MCP_VERSION_NONE));
    assert_non_null(lfx.link); /* until it is stopped */
    link_stop();
    assert_true(link_told("closed"));
}

static void a_program_that_does_not_exist_is_hopeless(void **state)
{
    static const char *const argv[] = {"no-such-program-secret", NULL};
    static const str secrets[] = {STR_INIT("-secret")};

    (void)state;
    lfx.server.argv = argv;
    lfx.server.secrets = secrets;
    lfx.server.n_secrets = 1;
    lfx.conf.env = gateway_env;
    link_start(mcp_link_stdio_new);
    UNTIL(link_told("down unreachable 0 hopeless The MCP server "));
    assert_null(strstr(buf_cstr(&lfx.told), "-secret"));
}

static void too_long_a_line_is_the_end(void **state)
{
    (void)state;
    lfx.server.max_message_bytes = 10;
    run("echo 12345678901; cat");
    UNTIL(link_told("down closed 0 The MCP server sent a line of more than 10 bytes.\n"));
}

static void stop_it(int64_t id)
{
    (void)id;
    lfx.on_message = NULL;
    mcp_link_stop(lfx.link);
}

static void a_link_may_be_stopped_inside_a_message(void **state)
{
    (void)state;
    lfx.on_message = stop_it;
    run(SAY("a") SAY("b") "cat");
    UNTIL(lfx.link == NULL);
    assert_false(link_told("message 0 0 id=-1 b"));
    assert_true(link_told("down closed 0\nclosed\n"));
}

static void a_link_may_be_stopped_before_it_is_up(void **state)
{
    (void)state;
    run("cat");
    link_stop();
    assert_string_equal(buf_cstr(&lfx.told), "down closed 0\nclosed\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LINK_TEST(lines_are_messages),
        LINK_TEST(a_server_sees_what_it_is_meant_to),
        LINK_TEST(what_a_server_is_given_besides_is_secret_as_well),
        LINK_TEST(a_bad_env_file_is_told_at_once),
        LINK_TEST(the_end_of_a_server_says_why),
        LINK_TEST(a_program_that_does_not_exist_is_hopeless),
        LINK_TEST(too_long_a_line_is_the_end),
        LINK_TEST(a_link_may_be_stopped_inside_a_message),
        LINK_TEST(a_link_may_be_stopped_before_it_is_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
