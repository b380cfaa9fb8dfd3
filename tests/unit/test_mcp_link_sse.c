/* test_mcp_link_sse.c -- servers that speak HTTP+SSE of 2024-11-05. */
#include "lib/link_fixture.h"

#define NAMED(m)    "event: message\n" EVENT(m)
#define ENDPOINT(u) "event: endpoint\ndata: " u "\n\n"
#define OPEN(u)                                                                                    \
    {                                                                                              \
        .events = ENDPOINT(u), .stays_open = true                                                  \
    }

static void answers_come_on_the_stream(void **state)
{
    static const struct mcp_pair pairs[] = {{STR_INIT("X-Key"), {STR_INIT("key-value")}}};
    static const struct link_step steps[] = {OPEN("/messages?id=5678"),
                                             {.status = "202 Accepted"},
                                             {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n"
                                                     "Accepted"}};

    (void)state;
    lfx.server.headers = (struct mcp_pairs){pairs, COUNT_OF(pairs)};
    link_serve(steps);
    link_up(mcp_link_sse_new);
    assert_true(link_asked(0, "GET /mcp HTTP/1.1\r\n"));
    assert_true(link_asked(0, "\r\nAccept: text/event-stream\r\n"));
    assert_true(link_send(1, MCP_INITIALIZE, MCP_VERSION_NONE));
    UNTIL(lfx.n_requests == 2);
    assert_true(link_asked(1, "POST /messages?id=5678 HTTP/1.1\r\n"));
    assert_true(link_asked(1, "\r\nContent-Type: application/json\r\n"));
    assert_true(link_asked(1, "\r\n\r\n{\"id\":1}"));
    for (size_t i = 0; i < 2; i++)
        assert_true(link_asked(i, "\r\nX-Key: key-value\r\n"));
    link_say(0, NAMED(NOTICE("a")));
    link_say(0, NAMED(RESULT(1)));
    UNTIL(link_told("message 0 200 id=1 {}"));
    assert_true(link_told("message 0 200 id=-1 a"));
    assert_true(link_send(0, MCP_INITIALIZED, MCP_2024_11_05));
    UNTIL(lfx.n_requests == 3);
    link_stop();
    assert_int_equal(lfx.n_requests, 3);
    assert_false(link_told("failed"));
}

static void an_endpoint_may_be_written_in_every_way(void **state)
{
    static const struct link_step relative[] = {OPEN("messages/"), {.status = "202 Accepted"}};
    static char endpoint[120];
    const struct link_step whole[] = {{.events = endpoint, .stays_open = true},
                                      {.status = "202 Accepted"}};

    link_serve(relative);
    link_up(mcp_link_sse_new);
    assert_true(link_send(1, MCP_INITIALIZE, MCP_VERSION_NONE));
    UNTIL(link_asked(1, "POST /messages/ HTTP"));
    assert_int_equal(link_fixture_teardown(state), 0);
    assert_int_equal(link_fixture_setup(state), 0);

    link_serve(whole);
    (void)snprintf(endpoint, sizeof(endpoint), ENDPOINT("http://127.0.0.1:%u/m"), lfx.port);
    link_up(mcp_link_sse_new);
    assert_true(link_send(1, MCP_INITIALIZE, MCP_VERSION_NONE));
    UNTIL(link_asked(1, "POST /m HTTP"));
}

static void another_origin_is_no_endpoint(void **state)
{
    static const struct link_step steps[] = {OPEN("http://127.0.0.1:1/m"),
                                             {.status = "202 Accepted"}};

    (void)state;
    link_serve(steps);
    link_start(mcp_link_sse_new);
    UNTIL(link_told("down unreachable 200 hopeless The MCP server wants messages sent to another "
                    "origin.\n"));
    assert_false(link_told("up"));
    assert_false(link_send(1, MCP_INITIALIZE, MCP_VERSION_NONE));
    UNTIL(lfx.askers[0]->gone);
    assert_non_null(lfx.link);
    link_stop();
    assert_int_equal(lfx.n_requests, 1);
}

static void what_is_no_such_stream_is_the_end(void **state)
{
    static const struct {
        struct link_step step;
        const char *down;
    } ends[] = {
        {OPEN("/a b"), "down unreachable 200 The MCP server sent an endpoint that is no URL.\n"},
        {{.status = "404 Not Found"}, "down http 404\n"},
        {{.status = "401 No", .headers = "WWW-Authenticate: Bearer\r\n"}, "down http 401 Bearer\n"},
        {{.json = "{}"}, "down unreachable 200 The MCP server answered with no events.\n"},
        {{.events = ""}, "down closed 200 The MCP server closed the stream.\n"},
        {{.raw = "", .closes = true}, "down unreachable 0 The MCP server at 127.0.0.1:"},
    };

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        link_serve_steps(&ends[i].step, 1);
        link_start(mcp_link_sse_new);
        UNTIL(link_told(ends[i].down));
        assert_int_equal(link_fixture_teardown(state), 0);
        assert_int_equal(link_fixture_setup(state), 0);
    }
}

static void an_endpoint_is_not_waited_for_for_ever(void **state)
{
    static const struct link_step steps[] = {{.events = ": hello\n", .stays_open = true}};

    (void)state;
    lfx.server.startup_timeout_ms = 1;
    link_serve(steps);
    link_start(mcp_link_sse_new);
    UNTIL(link_told("down unreachable 0 The MCP server did not say in time"));
}

static void the_end_of_the_stream_is_the_end(void **state)
{
    static const struct link_step steps[] = {OPEN("/m"), {.status = "202 Accepted"}};

    (void)state;
    link_serve(steps);
    link_up(mcp_link_sse_new);
    assert_true(link_send(1, MCP_INITIALIZE, MCP_VERSION_NONE));
    UNTIL(lfx.n_requests == 2);
    link_say(0, "");
    UNTIL(link_told("down closed 200 The MCP server closed the stream.\n"));
    assert_false(link_told("failed")); /* down says it all */
    assert_false(link_send(2, MCP_LIST_TOOLS, MCP_2024_11_05));
}

static void a_message_that_is_not_taken_has_failed(void **state)
{
    static const struct link_step steps[] = {OPEN("/m"),
                                             {.status = "500 Oops"},
                                             {.status = "400 No", .json = REFUSAL("null", "No.")},
                                             {.status = "403 Forbidden"},
                                             {.raw = "", .closes = true},
                                             {.status = "404 Not Found"}};

    (void)state;
    link_serve(steps);
    link_up(mcp_link_sse_new);
    assert_true(link_send(1, MCP_LIST_TOOLS, MCP_2024_11_05));
    UNTIL(link_told("failed 1 http 500\n"));
    assert_true(link_send(2, MCP_LIST_TOOLS, MCP_2024_11_05));
    UNTIL(link_told("message 2 400 id=2 No."));
    assert_true(link_send(3, MCP_LIST_TOOLS, MCP_2024_11_05));
    UNTIL(link_told("failed 3 http 403\n"));
    assert_true(link_send(4, MCP_CALL_TOOL, MCP_2024_11_05));
    UNTIL(link_told("failed 4 unreachable 0 The MCP server at "));
    assert_true(link_send(0, MCP_INITIALIZED, MCP_2024_11_05));
    UNTIL(link_told("failed 0 http 404\n"));
    assert_false(link_told("down"));
}

/* The answer was faster than the status of what it answers. */
static void what_is_answered_does_not_fail_any_more(void **state)
{
    static const struct link_step steps[] = {OPEN("/m"), {.raw = NULL}, {.status = "202 Accepted"}};

    (void)state;
    link_serve(steps);
    link_up(mcp_link_sse_new);
    assert_true(link_send(1, MCP_LIST_TOOLS, MCP_2024_11_05));
    UNTIL(lfx.n_requests == 2);
    link_say(0, NAMED(RESULT(1)));
    UNTIL(link_told("message 0 200 id=1 {}"));
    peer_close(lfx.askers[1]);
    assert_true(link_send(2, MCP_LIST_TOOLS, MCP_2024_11_05));
    UNTIL(lfx.n_requests == 3);
    link_say(0, NAMED(RESULT(2)));
    UNTIL(link_told("message 0 200 id=2 {}"));
    assert_false(link_told("failed"));
}

static void a_redirected_stream_has_its_endpoint_there(void **state)
{
    static const struct link_step steps[] = {
        {.status = "302 Found", .headers = "Location: /v2/sse\r\n"},
        OPEN("messages"),
        {.status = "202 Accepted"}};

    (void)state;
    link_serve(steps);
    link_up(mcp_link_sse_new);
    assert_true(link_send(1, MCP_INITIALIZE, MCP_VERSION_NONE));
    UNTIL(link_asked(2, "POST /v2/messages HTTP"));
}

static void the_endpoint_is_a_secret(void **state)
{
    static const struct link_step steps[] = {OPEN("/m?a=1234&session_id=abcd-ef")};
    struct buf shown = {.limit = 0};

    (void)state;
    link_serve(steps);
    link_up(mcp_link_sse_new);
    secrets_hide(&lfx.secrets, STR("abcd-ef and 1234"), &shown);
    assert_str_c(buf_str(&shown), "[redacted] and [redacted]");
    buf_fini(&shown);
}

static void stop_it(int64_t id)
{
    (void)id;
    mcp_link_stop(lfx.link);
}

static void a_link_may_be_stopped_inside_a_message(void **state)
{
    static const struct link_step steps[] = {
        {.events = ENDPOINT("/m") NAMED(NOTICE("a")) NAMED(NOTICE("b")), .stays_open = true}};

    (void)state;
    lfx.on_message = stop_it;
    link_serve(steps);
    link_start(mcp_link_sse_new);
    UNTIL(lfx.link == NULL);
    assert_string_equal(buf_cstr(&lfx.told), "up\nmessage 0 200 id=-1 a\ndown closed 0\nclosed\n");
}

static void a_link_may_be_stopped_before_it_is_up(void **state)
{
    static const struct link_step steps[] = {{.raw = NULL}};

    (void)state;
    link_serve(steps);
    link_start(mcp_link_sse_new);
    link_stop();
    assert_string_equal(buf_cstr(&lfx.told), "down closed 0\nclosed\n");
}

static void a_forgotten_message_is_not_reported(void **state)
{
    static const struct link_step steps[] = {OPEN("/m"), {.raw = NULL}};

    (void)state;
    link_serve(steps);
    link_up(mcp_link_sse_new);
    assert_true(link_send(1, MCP_CALL_TOOL, MCP_2024_11_05));
    UNTIL(lfx.n_requests == 2);
    mcp_link_listen(lfx.link, MCP_2024_11_05);
    mcp_link_reset_session(lfx.link);
    mcp_link_forget(lfx.link, 1);
    UNTIL(lfx.askers[1]->gone);
    assert_string_equal(buf_cstr(&lfx.told), "up\n");
}

static void a_server_that_takes_no_answers_gets_no_more(void **state)
{
    static const struct link_step steps[] = {OPEN("/m")};
    size_t n = 0;

    (void)state;
    link_serve(steps);
    link_up(mcp_link_sse_new);
    while (n < 1000 && link_send(0, MCP_METHOD_COUNT, MCP_2024_11_05))
        n++;
    assert_int_equal(n, 63); /* its stream is an exchange as well */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LINK_TEST_BOTH(answers_come_on_the_stream),
        LINK_TEST_BOTH(an_endpoint_may_be_written_in_every_way),
        LINK_TEST_BOTH(another_origin_is_no_endpoint),
        LINK_TEST_BOTH(what_is_no_such_stream_is_the_end),
        LINK_TEST_BOTH(an_endpoint_is_not_waited_for_for_ever),
        LINK_TEST_BOTH(the_end_of_the_stream_is_the_end),
        LINK_TEST_BOTH(a_message_that_is_not_taken_has_failed),
        LINK_TEST_BOTH(what_is_answered_does_not_fail_any_more),
        LINK_TEST_BOTH(a_redirected_stream_has_its_endpoint_there),
        LINK_TEST_BOTH(the_endpoint_is_a_secret),
        LINK_TEST_BOTH(a_link_may_be_stopped_inside_a_message),
        LINK_TEST_BOTH(a_link_may_be_stopped_before_it_is_up),
        LINK_TEST_BOTH(a_forgotten_message_is_not_reported),
        LINK_TEST(a_server_that_takes_no_answers_gets_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
