/* test_mcp_link_http_ends.c -- links to Streamable HTTP servers that are sent elsewhere, turned
 * away, or not wanted any more. */
#include <unistd.h>

#include "lib/link_fixture.h"

/* ---- redirects */

static void redirects_are_followed_at_their_origin(void **state)
{
    static const struct link_step steps[] = {
        {.status = "307 Elsewhere", .headers = "Location: /a/b\r\n"},
        {.status = "308 Elsewhere", .headers = "Location: c?d=1\r\n"},
        {.json = RESULT(1)}};

    (void)state;
    link_serve(steps);
    link_up(mcp_link_http_new);
    assert_true(link_send(1, MCP_CALL_TOOL, LEGACY));
    UNTIL(link_told("message 1 200 id=1"));
    assert_true(link_asked(1, "POST /a/b HTTP"));
    assert_true(link_asked(2, "POST /a/c?d=1 HTTP"));
    assert_true(link_asked(2, "\r\n\r\n{\"id\":1}"));
}

static void other_redirects_are_failures(void **state)
{
    static const struct link_step steps[] = {
        {.status = "302 Found", .headers = "Location: /a\r\n"},
        {.status = "307 Elsewhere", .headers = "Location: http://127.0.0.1:1/mcp\r\n"},
        {.status = "307 Elsewhere"},
        {.status = "307 Elsewhere", .headers = "Location: /a b\r\n"},
        {.status = "307 1", .headers = "Location: /1\r\n"},
        {.status = "307 2", .headers = "Location: /2\r\n"},
        {.status = "307 3", .headers = "Location: /3\r\n"},
        {.status = "307 4", .headers = "Location: /4\r\n"}};
    static const char *const failures[] = {
        "failed 1 http 302\n",
        "failed 2 http 307 hopeless It redirects to another origin, which is not followed.\n",
        "failed 3 http 307\n",
        "failed 4 http 307 It redirects to what is no URL.\n",
        "failed 5 http 307 It redirects too often.\n",
    };

    (void)state;
    link_serve(steps);
    link_up(mcp_link_http_new);
    for (int i = 0; i < 5; i++) {
        assert_true(link_send(i + 1, MCP_LIST_TOOLS, LEGACY));
        UNTIL(link_told(failures[i]));
    }
    assert_int_equal(lfx.n_requests, 8);
}

static void strangers_redirect_nobody(void **state)
{
    static const struct link_step steps[] = {
        {.status = "307 Elsewhere", .headers = "Location: /a\r\n"}};

    (void)state;
    lfx.conf.is_remote = true;
    link_serve(steps);
    link_up(mcp_link_http_new);
    assert_true(link_send(1, MCP_LIST_TOOLS, LEGACY));
    UNTIL(link_told("failed 1 http 307\n"));
    assert_int_equal(lfx.n_requests, 1);
}

/* ---- authorization */

static void refused_credentials_come_with_the_challenge(void **state)
{
    static const struct link_step steps[] = {
        {.status = "401 Unauthorized",
         .headers = "WWW-Authenticate: Bearer scope=\"x\", error=\"token-1 is bad\"\r\n",
         .json = REFUSAL("1", "No.")},
        {.status = "403 Forbidden"}};

    (void)state;
    lfx.server.bearer_token.hidden = STR("token-1");
    link_serve(steps);
    link_up(mcp_link_http_new);
    assert_true(link_send(1, MCP_LIST_TOOLS, LEGACY));
    UNTIL(link_told("failed 1 http 401 Bearer scope=\"x\", error=\"[redacted] is bad\"\n"));
    assert_true(link_send(2, MCP_LIST_TOOLS, LEGACY));
    UNTIL(link_told("failed 2 http 403\n"));
}

static void write_token(const char *path, const char *token)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fprintf(f, "%s\n", token) > 0);
    assert_int_equal(fclose(f), 0);
}

static void a_token_that_has_changed_is_tried_once(void **state)
{
    static const struct link_step steps[] = {{.json = RESULT(1)},
                                             {.status = "401 Unauthorized"},
                                             {.json = RESULT(2)},
                                             {.status = "401 Unauthorized"},
                                             {.status = "401 Unauthorized"},
                                             {.status = "401 Unauthorized"}};
    char path[] = "/tmp/test_mcp_token.XXXXXX";
    struct buf shown = {.limit = 0};
    int fd = mkstemp(path);

    (void)state;
    assert_int_not_equal(fd, -1);
    (void)close(fd);
    lfx.server.bearer_token_file = path;
    write_token(path, "first");
    link_serve(steps);
    link_up(mcp_link_http_new);
    assert_true(link_send(1, MCP_LIST_TOOLS, LEGACY));
    UNTIL(link_told("message 1"));
    assert_true(link_asked(0, "\r\nAuthorization: Bearer first\r\n"));
    write_token(path, "second");
    assert_true(link_send(2, MCP_CALL_TOOL, LEGACY));
    UNTIL(link_told("message 2"));
    assert_true(link_asked(1, "Bearer first"));
    assert_true(link_asked(2, "Bearer second"));
    assert_true(link_send(3, MCP_LIST_TOOLS, LEGACY)); /* nothing has changed */
    UNTIL(link_told("failed 3 http 401\n"));
    assert_int_equal(lfx.n_requests, 4);
    write_token(path, "third");
    assert_true(link_send(4, MCP_LIST_TOOLS, LEGACY));
    UNTIL(link_told("failed 4 http 401\n"));
    assert_true(link_asked(5, "Bearer third"));
    (void)unlink(path);
    secrets_hide(&lfx.secrets, STR("first second third"), &shown);
    assert_str_c(buf_str(&shown), "[redacted] [redacted] [redacted]");
    buf_fini(&shown);
}

static void session_ids_are_secrets(void **state)
{
    static const struct link_step steps[] = {{.json = RESULT(1), .headers = SESSION},
                                             {.status = "405 No"}};
    struct buf shown = {.limit = 0};

    (void)state;
    lfx.server.bearer_token.hidden = STR("token");
    link_serve(steps);
    link_begin_session();
    secrets_hide(&lfx.secrets, STR("s-1234 of token"), &shown);
    assert_str_c(buf_str(&shown), "[redacted] of [redacted]");
    buf_fini(&shown);
}

/* ---- nobody waits any more */

static void a_forgotten_request_loses_its_exchange(void **state)
{
    static const struct link_step steps[] = {{.events = "", .stays_open = true}};

    (void)state;
    link_serve(steps);
    link_up(mcp_link_http_new);
    assert_true(link_send(1, MCP_CALL_TOOL, MODERN));
    UNTIL(lfx.n_requests == 1);
    mcp_link_forget(lfx.link, 1);
    mcp_link_forget(lfx.link, 1);
    mcp_link_forget(lfx.link, 7);
    UNTIL(lfx.askers[0]->gone);
    link_stop();
    assert_string_equal(buf_cstr(&lfx.told), "up\ndown closed 0\nclosed\n");
}

static void forget_it(int64_t id)
{
    (void)id;
    mcp_link_forget(lfx.link, 1);
}

static void stop_it(int64_t id)
{
    (void)id;
    mcp_link_stop(lfx.link);
    lfx.on_message = NULL;
}

static void a_request_may_be_forgotten_inside_its_own_message(void **state)
{
    static const struct link_step steps[] = {
        {.events = EVENT(NOTICE("a")) EVENT(NOTICE("b")) EVENT(RESULT(1))}};

    (void)state;
    lfx.on_message = forget_it;
    link_serve(steps);
    link_up(mcp_link_http_new);
    assert_true(link_send(1, MCP_LIST_TOOLS, LEGACY));
    UNTIL(link_told("message 1 200 id=-1 a"));
    link_stop();
    assert_string_equal(buf_cstr(&lfx.told), "up\nmessage 1 200 id=-1 a\ndown closed 0\nclosed\n");
}

static void a_link_may_be_stopped_inside_a_message(void **state)
{
    static const struct link_step steps[] = {
        {.json = RESULT(1), .headers = SESSION},
        {.events = EVENT(NOTICE("a")) EVENT(NOTICE("b")), .stays_open = true},
        {.status = "404 Not Found"}};

    (void)state;
    link_serve(steps);
    link_begin_session();
    lfx.on_message = stop_it;
    assert_true(link_send(2, MCP_LIST_TOOLS, LEGACY));
    UNTIL(lfx.link == NULL);
    assert_false(link_told("message 2 200 id=-1 b"));
    assert_true(link_asked(2, "DELETE /mcp"));
}

static void stopping_says_goodbye_to_the_session(void **state)
{
    static const struct link_step steps[] = {{.json = RESULT(1), .headers = SESSION},
                                             {.events = "", .stays_open = true},
                                             {.status = "405 Method Not Allowed"}};

    (void)state;
    link_serve(steps);
    link_begin_session();
    assert_true(link_send(2, MCP_CALL_TOOL, LEGACY));
    UNTIL(lfx.n_requests == 2);
    mcp_link_stop(lfx.link);
    assert_false(link_send(3, MCP_LIST_TOOLS, LEGACY));
    UNTIL(lfx.link == NULL);
    assert_true(link_asked(2, "DELETE /mcp HTTP/1.1\r\n"));
    assert_true(link_asked(2, "\r\nMcp-Session-Id: s-1234\r\n"));
    assert_true(link_asked(2, "\r\nMCP-Protocol-Version: 2025-11-25\r\n"));
    assert_false(link_told("failed"));
}

static void a_server_that_does_not_answer_is_left_all_the_same(void **state)
{
    static const struct link_step steps[] = {
        {.json = RESULT(1), .headers = SESSION}, {.raw = NULL}, {.raw = NULL}};

    (void)state;
    link_serve(steps);
    link_begin_session();
    assert_true(link_send(0, MCP_CANCELLED, LEGACY));
    link_stop();
    assert_true(link_told("closed"));
    assert_int_equal(lfx.n_requests, 3);
}

static void a_link_may_be_stopped_before_it_is_up(void **state)
{
    static const struct link_step steps[] = {{.raw = NULL}};

    (void)state;
    link_serve(steps);
    link_start(mcp_link_http_new);
    link_stop();
    assert_string_equal(buf_cstr(&lfx.told), "down closed 0\nclosed\n");
}

/* Each answer to a server is a request of its own: one that asks without end gets no more. */
static void a_server_that_takes_no_answers_gets_no_more(void **state)
{
    enum { MOST = 64 };

    (void)state;
    lfx.server.max_concurrency = 2;
    lfx.server.url.hidden = STR("http://127.0.0.1:1/mcp"); /* nobody is there */
    link_up(mcp_link_http_new);
    for (size_t i = 0; i < MOST; i++)
        assert_true(link_send(0, MCP_METHOD_COUNT, MCP_2025_11_25));
    assert_false(link_send(0, MCP_METHOD_COUNT, MCP_2025_11_25));
    for (size_t i = 0; i < 2; i++) /* both calls */
        assert_true(link_send(0, MCP_CANCELLED, MCP_2025_11_25));
    assert_false(link_send(0, MCP_CANCELLED, MCP_2025_11_25));
    assert_true(link_send(1, MCP_CALL_TOOL, MCP_2025_11_25)); /* a request of ours */
    UNTIL(link_told("failed 1 "));
    UNTIL(link_send(0, MCP_METHOD_COUNT, MCP_2025_11_25));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LINK_TEST_BOTH(redirects_are_followed_at_their_origin),
        LINK_TEST_BOTH(other_redirects_are_failures),
        LINK_TEST_BOTH(strangers_redirect_nobody),
        LINK_TEST_BOTH(refused_credentials_come_with_the_challenge),
        LINK_TEST_BOTH(a_token_that_has_changed_is_tried_once),
        LINK_TEST_BOTH(session_ids_are_secrets),
        LINK_TEST_BOTH(a_forgotten_request_loses_its_exchange),
        LINK_TEST_BOTH(a_request_may_be_forgotten_inside_its_own_message),
        LINK_TEST_BOTH(a_link_may_be_stopped_inside_a_message),
        LINK_TEST_BOTH(stopping_says_goodbye_to_the_session),
        LINK_TEST_BOTH(a_server_that_does_not_answer_is_left_all_the_same),
        LINK_TEST_BOTH(a_link_may_be_stopped_before_it_is_up),
        LINK_TEST(a_server_that_takes_no_answers_gets_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
