/* test_mcp_link_http.c -- messages to Streamable HTTP servers and what may answer them. */
#include "lib/link_fixture.h"

/* ---- requests */

static void a_session_is_named_in_every_request_after_the_first(void **state)
{
    static const struct link_step steps[] = {{.json = RESULT(1), .headers = SESSION},
                                             {.json = RESULT(2)}};

    (void)state;
    link_serve(steps);
    link_begin_session();
    assert_true(link_asked(0, "POST /mcp HTTP/1.1\r\n"));
    assert_true(link_asked(0, "\r\nContent-Type: application/json\r\n"));
    assert_true(link_asked(0, "\r\nAccept: application/json, text/event-stream\r\n"));
    assert_true(link_asked(0, "\r\nAccept-Encoding: identity\r\n"));
    assert_true(link_asked(0, "\r\n\r\n{\"id\":1}"));
    assert_false(link_asked(0, "Mcp-"));
    assert_true(link_send(2, MCP_LIST_TOOLS, LEGACY));
    UNTIL(link_told("message 2 200 id=2 {}"));
    assert_true(link_asked(1, "\r\nMcp-Session-Id: s-1234\r\n"));
    assert_true(link_asked(1, "\r\nMCP-Protocol-Version: 2025-11-25\r\n"));
    assert_false(link_asked(1, "Mcp-Method"));
}

static void a_new_session_begins_without_the_old_one(void **state)
{
    static const struct link_step steps[] = {
        {.json = RESULT(1), .headers = SESSION}, {.json = RESULT(2)}, {.json = RESULT(3)}};

    (void)state;
    link_serve(steps);
    link_begin_session();
    mcp_link_reset_session(lfx.link);
    assert_true(link_send(2, MCP_INITIALIZE, MCP_VERSION_NONE));
    UNTIL(link_told("message 2"));
    assert_true(link_send(3, MCP_LIST_TOOLS, LEGACY));
    UNTIL(link_told("message 3"));
    assert_false(link_asked(1, "Mcp-Session-Id"));
    assert_false(link_asked(2, "Mcp-Session-Id"));
    link_stop();
    assert_int_equal(lfx.n_requests, 3); /* no session, no DELETE */
}

static void a_session_id_that_is_none_is_refused(void **state)
{
    static const struct link_step steps[] = {
        {.json = RESULT(1), .headers = "Mcp-Session-Id: a b\r\n"},
        {.json = RESULT(2), .headers = "Mcp-Session-Id: \xC3\xA4\r\n"},
        {.json = RESULT(3), .headers = "Mcp-Session-Id:\r\n"}};

    (void)state;
    link_serve(steps);
    link_up(mcp_link_http_new);
    for (int64_t id = 1; id <= 3; id++)
        assert_true(link_send(id, MCP_INITIALIZE, MCP_VERSION_NONE));
    UNTIL(link_told("failed 1 unreachable 200 The MCP server sent a session id that is none."));
    UNTIL(link_told("failed 2"));
    UNTIL(link_told("failed 3"));
}

static void modern_requests_say_what_they_are(void **state)
{
    static const struct link_step steps[] = {{.json = RESULT(1), .headers = SESSION},
                                             {.json = RESULT(2)}};
    struct mcp_link_message m = {.json = STR("{}"),
                                 .id = 2,
                                 .method = MCP_CALL_TOOL,
                                 .version = MODERN,
                                 .tool = STR("gr\xC3\xBC\xC3\x9F"),
                                 .arguments = STR("{\"region\":\"eu \",\"n\":null}")};
    struct mcp_mirror *mirrors;
    struct arena a = {.limit = 0};

    (void)state;
    assert_int_equal(mcp_mirrors_read(STR("{\"properties\":{\"region\":{\"type\":\"string\","
                                          "\"x-mcp-header\":\"Region\"},\"n\":{\"type\":"
                                          "\"integer\",\"x-mcp-header\":\"N\"}}}"),
                                      &a, &mirrors, NULL),
                     0);
    m.mirrors = mirrors;
    link_serve(steps);
    link_up(mcp_link_http_new);
    assert_true(link_send(1, MCP_LIST_TOOLS, MODERN));
    UNTIL(link_told("message 1"));
    assert_true(mcp_link_send(lfx.link, &m, NULL));
    UNTIL(link_told("message 2"));
    assert_true(link_asked(0, "\r\nMCP-Protocol-Version: 2026-07-28\r\n"));
    assert_true(link_asked(0, "\r\nMcp-Method: tools/list\r\n"));
    assert_false(link_asked(0, "Mcp-Name"));
    assert_true(link_asked(1, "\r\nMcp-Method: tools/call\r\n"));
    assert_true(link_asked(1, "\r\nMcp-Name: =?base64?Z3LDvMOf?=\r\n"));
    assert_true(link_asked(1, "\r\nMcp-Param-Region: =?base64?ZXUg?=\r\n"));
    assert_false(link_asked(1, "Mcp-Param-N:"));
    assert_false(link_asked(1, "Mcp-Session-Id"));
    link_stop();
    assert_int_equal(lfx.n_requests, 2);
    arena_fini(&a);
}

static void configured_fields_and_the_token_go_with_everything(void **state)
{
    static const struct link_step steps[] = {{.json = RESULT(1), .headers = SESSION},
                                             {.status = "204 No Content"}};
    static const struct mcp_pair pairs[] = {{STR_INIT("X-Key"), {STR_INIT("key-value")}},
                                            {STR_INIT("authorization"), {STR_INIT("not sent")}}};

    (void)state;
    lfx.server.headers = (struct mcp_pairs){pairs, COUNT_OF(pairs)};
    lfx.server.bearer_token.hidden = STR("token");
    link_serve(steps);
    link_begin_session();
    link_stop();
    for (size_t i = 0; i < 2; i++) {
        assert_true(link_asked(i, "\r\nX-Key: key-value\r\n"));
        assert_true(link_asked(i, "\r\nAuthorization: Bearer token\r\n"));
        assert_false(link_asked(i, "not sent"));
    }
}

/* Else it would be sent again when the server has closed that connection. */
static void calls_take_no_kept_connection(void **state)
{
    static const struct link_step steps[] = {
        {.json = RESULT(1)}, {.json = RESULT(2)}, {.json = RESULT(3)}};

    (void)state;
    link_serve(steps);
    link_up(mcp_link_http_new);
    assert_true(link_send(1, MCP_LIST_TOOLS, LEGACY));
    UNTIL(link_told("message 1"));
    assert_true(link_send(2, MCP_LIST_TOOLS, LEGACY));
    UNTIL(link_told("message 2"));
    assert_ptr_equal(lfx.askers[0], lfx.askers[1]);
    assert_true(link_send(3, MCP_CALL_TOOL, LEGACY));
    UNTIL(link_told("message 3"));
    assert_ptr_not_equal(lfx.askers[0], lfx.askers[2]);
}

/* ---- answers */

static void an_answer_may_be_json_or_events_of_any_framing(void **state)
{
    static const struct link_step steps[] = {
        {.json = RESULT(1)},
        {.json = "[" NOTICE("a") "," RESULT(2) "]"},
        {.events = EVENT(NOTICE("b")) EVENT(RESULT(3))},
        {.raw = "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream;x=y\r\n"
                "Content-Length: 44\r\n\r\n" EVENT(RESULT(4))},
        {.raw = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" EVENT(RESULT(5)),
         .closes = true},
        {.raw = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" RESULT(6),
         .closes = true},
    };

    (void)state;
    link_serve(steps);
    link_up(mcp_link_http_new);
    for (int64_t id = 1; id <= 6; id++) {
        char expected[40];

        assert_true(link_send(id, MCP_LIST_TOOLS, LEGACY));
        (void)snprintf(expected, sizeof(expected), "message %d 200 id=%d {}", (int)id, (int)id);
        UNTIL(link_told(expected));
    }
    assert_true(link_told("message 2 200 id=-1 a"));
    assert_true(link_told("message 3 200 id=-1 b"));
    link_stop();
    assert_false(link_told("failed"));
}

static void messages_of_an_open_stream_come_at_once(void **state)
{
    static const struct link_step steps[] = {{.events = EVENT(NOTICE("a")), .stays_open = true}};

    (void)state;
    link_serve(steps);
    link_up(mcp_link_http_new);
    assert_true(link_send(1, MCP_LIST_TOOLS, LEGACY));
    UNTIL(link_told("message 1 200 id=-1 a"));
    link_say(0, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    link_say(0, "\n");
    UNTIL(link_told("message 1 200 id=1 ping")); /* the server's request, no answer to ours */
    link_say(0, EVENT(RESULT(1)));
    UNTIL(link_told("message 1 200 id=1 {}"));
}

static void an_answer_may_come_on_another_stream(void **state)
{
    static const struct link_step steps[] = {{.events = "", .stays_open = true},
                                             {.events = EVENT(RESULT(1)), .stays_open = true}};

    (void)state;
    link_serve(steps);
    link_up(mcp_link_http_new);
    assert_true(link_send(1, MCP_LIST_TOOLS, LEGACY));
    UNTIL(lfx.n_requests == 1);
    assert_true(link_send(2, MCP_LIST_TOOLS, LEGACY));
    UNTIL(link_told("message 2 200 id=1 {}"));
    UNTIL(lfx.askers[0]->gone); /* nobody waits for it any more */
    link_stop();
    assert_false(link_told("failed"));
}

static void an_error_with_a_bad_status_is_about_what_was_posted(void **state)
{
    static const struct link_step steps[] = {
        {.json = REFUSAL("null", "No."), .status = "400 Bad Request"},
        {.json = REFUSAL("99", "No."), .status = "500 Oops"},
        {.json = REFUSAL("\"x\"", "No."), .status = "404 Not Found"},
        {.events = EVENT(REFUSAL("4", "No.")), .status = "406 No"},
        {.json = REFUSAL("null", "No.")}};

    (void)state;
    link_serve(steps);
    link_up(mcp_link_http_new);
    for (int64_t id = 1; id <= 5; id++) {
        static const int statuses[] = {400, 500, 404, 406, 200};
        char expected[40];

        assert_true(link_send(id, MCP_LIST_TOOLS, id == 3 ? MODERN : LEGACY));
        (void)snprintf(expected, sizeof(expected), "message %d %d id=%d No.", (int)id,
                       statuses[id - 1], (int)id);
        UNTIL(link_told(expected));
    }
    link_stop();
    assert_false(link_told("failed"));
}

static void what_cannot_be_used_is_a_failure(void **state)
{
    static const struct link_step steps[] = {
        {.status = "503 Later"},
        {.json = "{\"error\":\"x\"}", .status = "400 Bad Request"},
        {.json = "{}"},
        {.raw = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi"},
        {.status = "202 Accepted"},
        {.events = EVENT(NOTICE("a"))},
        {.raw = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9\r\n\r\nda",
         .closes = true},
        {.raw = "", .closes = true},
    };
    static const char *const failures[] = {
        "failed 1 http 503\n",
        "failed 2 http 400\n",
        "failed 3 unreachable 200 The MCP server answered with what is no answer.\n",
        "failed 4 unreachable 200 The MCP server answered with neither JSON nor events.\n",
        "failed 5 unreachable 202 The MCP server took the message and answered nothing.\n",
        "failed 6 closed 0 The MCP server ended the stream before its answer.\n",
        "failed 7 closed 0 The answer of the MCP server at 127.0.0.1:",
        "failed 8 unreachable 0 The MCP server at 127.0.0.1:",
    };

    (void)state;
    link_serve(steps);
    link_up(mcp_link_http_new);
    for (int i = 0; i < 8; i++) {
        assert_true(link_send(i + 1, MCP_LIST_TOOLS, LEGACY));
        UNTIL(link_told(failures[i]));
    }
}

static void strangers_are_told_no_addresses(void **state)
{
    static const struct link_step steps[] = {{.raw = "", .closes = true}};

    (void)state;
    lfx.conf.is_remote = true;
    link_serve(steps);
    link_up(mcp_link_http_new);
    assert_true(link_send(1, MCP_LIST_TOOLS, LEGACY));
    UNTIL(link_told("failed 1 unreachable 0 The MCP server is not reachable.\n"));
}

static void a_message_beyond_the_limit_fails_its_request(void **state)
{
    static const struct link_step steps[] = {
        {.json = RESULT(1)}, {.json = RESULT(2)}, {.events = EVENT(RESULT(3)), .stays_open = true}};

    (void)state;
    lfx.server.max_message_bytes = 20;
    link_serve(steps);
    link_up(mcp_link_http_new);
    for (int64_t id = 1; id <= 3; id++)
        assert_true(link_send(id, MCP_LIST_TOOLS, LEGACY));
    UNTIL(link_told("failed 1 limit 200 The MCP server sent a message that is larger"));
    UNTIL(link_told("failed 2 limit"));
    UNTIL(link_told("failed 3 limit"));
}

/* ---- notifications */

static void any_good_status_takes_a_notification(void **state)
{
    static const struct link_step steps[] = {
        {.status = "202 Accepted"},
        {.status = "204 No Content"},
        {.json = "{}"},
        {.raw = "HTTP/1.1 202 Accepted\r\nContent-Length: 8\r\n\r\nAccepted"},
        {.events = "", .stays_open = true},
        {.status = "500 Oops"},
        {.json = REFUSAL("null", "No."), .status = "400 Bad Request"}};

    (void)state;
    link_serve(steps);
    link_up(mcp_link_http_new);
    for (size_t i = 0; i < 6; i++) {
        assert_true(link_send(0, MCP_INITIALIZED, LEGACY));
        UNTIL(lfx.n_requests == i + 1);
    }
    UNTIL(link_told("failed 0 http 500\n"));
    assert_true(link_send(0, MCP_METHOD_COUNT, LEGACY)); /* the link lives on */
    UNTIL(link_told("failed 0 http 400\n"));
    assert_false(link_told("message"));
}

/* ---- lost sessions */

static void a_session_is_lost_by_404_and_by_words(void **state)
{
    static const struct link_step steps[] = {
        {.json = RESULT(1), .headers = SESSION},
        {.status = "404 Not Found"},
        {.json = REFUSAL("null", "No."), .status = "404 Not Found"},
        {.json = REFUSAL("null", "Bad Request: No valid session ID provided"),
         .status = "400 Bad Request"},
        {.json = REFUSAL("null", "Bad Request: Server not initialized"),
         .status = "400 Bad Request"},
        {.status = "404 Not Found"}};

    (void)state;
    link_serve(steps);
    link_begin_session();
    for (int64_t id = 2; id <= 5; id++) {
        char expected[40];

        assert_true(link_send(id, MCP_CALL_TOOL, LEGACY));
        (void)snprintf(expected, sizeof(expected), "failed %d http %d lost\n", (int)id,
                       id <= 3 ? 404 : 400);
        UNTIL(link_told(expected));
    }
    assert_true(link_send(0, MCP_INITIALIZED, LEGACY));
    UNTIL(link_told("failed 0 http 404 lost\n"));
    mcp_link_reset_session(lfx.link);
    link_stop();
}

static void without_a_session_404_loses_none(void **state)
{
    static const struct link_step steps[] = {
        {.status = "404 Not Found"},
        {.json = REFUSAL("null", "Server not initialized"), .status = "400 Bad Request"},
        {.json = REFUSAL("null", "Server not initialized"), .status = "400 Bad Request"}};

    (void)state;
    link_serve(steps);
    link_up(mcp_link_http_new);
    assert_true(link_send(1, MCP_LIST_TOOLS, LEGACY));
    UNTIL(link_told("failed 1 http 404\n"));
    assert_true(link_send(2, MCP_INITIALIZE, MCP_VERSION_NONE));
    UNTIL(link_told("message 2 400 id=2 Server not initialized"));
    assert_true(link_send(3, MCP_DISCOVER, MODERN));
    UNTIL(link_told("message 3 400 id=3 Server not initialized"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LINK_TEST_BOTH(a_session_is_named_in_every_request_after_the_first),
        LINK_TEST_BOTH(a_new_session_begins_without_the_old_one),
        LINK_TEST_BOTH(a_session_id_that_is_none_is_refused),
        LINK_TEST_BOTH(modern_requests_say_what_they_are),
        LINK_TEST_BOTH(configured_fields_and_the_token_go_with_everything),
        LINK_TEST_BOTH(calls_take_no_kept_connection),
        LINK_TEST_BOTH(an_answer_may_be_json_or_events_of_any_framing),
        LINK_TEST_BOTH(messages_of_an_open_stream_come_at_once),
        LINK_TEST_BOTH(an_answer_may_come_on_another_stream),
        LINK_TEST_BOTH(an_error_with_a_bad_status_is_about_what_was_posted),
        LINK_TEST_BOTH(what_cannot_be_used_is_a_failure),
        LINK_TEST_BOTH(strangers_are_told_no_addresses),
        LINK_TEST_BOTH(a_message_beyond_the_limit_fails_its_request),
        LINK_TEST_BOTH(any_good_status_takes_a_notification),
        LINK_TEST_BOTH(a_session_is_lost_by_404_and_by_words),
        LINK_TEST_BOTH(without_a_session_404_loses_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
