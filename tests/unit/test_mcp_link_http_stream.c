/* test_mcp_link_http_stream.c -- streams of Streamable HTTP that are opened again: answers
 * that break off, and the stream of the server's own messages. */
#include "lib/link_fixture.h"

/* ---- answers that break off */

static void send_first(enum mcp_version version)
{
    link_up(mcp_link_http_new);
    assert_true(link_send(1, MCP_CALL_TOOL, version));
}

static void an_answer_goes_on_behind_the_last_event(void **state)
{
    static const struct link_step steps[] = {
        {.json = RESULT(1), .headers = SESSION},
        {.events = "id: e-1\nretry: 60\ndata:\n\n"},
        {.events = "id: e-2\n" EVENT(NOTICE("a"))},
        {.raw = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: e-3\n\nid: e-4\nda",
         .closes = true},
        {.events = EVENT(RESULT(2))},
    };

    (void)state;
    link_serve(steps);
    link_begin_session();
    assert_true(link_send(2, MCP_CALL_TOOL, LEGACY));
    UNTIL(link_told("message 2 200 id=2 {}"));
    assert_true(link_told("message 2 200 id=-1 a"));
    assert_true(link_asked(2, "GET /mcp HTTP/1.1\r\n"));
    assert_true(link_asked(2, "\r\nAccept: text/event-stream\r\n"));
    assert_true(link_asked(2, "\r\nMcp-Session-Id: s-1234\r\n"));
    assert_true(link_asked(2, "\r\nMCP-Protocol-Version: 2025-11-25\r\n"));
    assert_true(link_asked(2, "\r\nLast-Event-ID: e-1\r\n"));
    assert_true(link_asked(3, "\r\nLast-Event-ID: e-2\r\n"));
    assert_true(link_asked(4, "\r\nLast-Event-ID: e-3\r\n"));
    assert_false(link_told("failed"));
}

#define PRIMING "id: 1\nretry: 50\ndata:\n\n"

static void resuming_is_tried_three_times(void **state)
{
    static const struct link_step steps[] = {{.events = PRIMING},
                                             {.status = "502 Oops"},
                                             {.raw = "", .closes = true},
                                             {.events = ""},
                                             {.events = EVENT(RESULT(1))}};

    (void)state;
    link_serve(steps);
    send_first(LEGACY);
    UNTIL(link_told("failed 1 closed 0 The MCP server ended the stream before its answer.\n"));
    assert_int_equal(lfx.n_requests, 4);
}

static void every_stream_that_brings_something_counts_anew(void **state)
{
    static const struct link_step steps[] = {{.events = PRIMING},         {.events = "id: 2\n\n"},
                                             {.events = "id: 3\n\n"},     {.events = "id: 4\n\n"},
                                             {.events = "id: 5\n\n"},     {.events = ""},
                                             {.events = EVENT(RESULT(1))}};

    (void)state;
    link_serve(steps);
    send_first(LEGACY);
    UNTIL(link_told("message 1 200 id=1 {}"));
    assert_true(link_asked(6, "Last-Event-ID: 5\r\n"));
}

static void what_cannot_be_resumed_has_failed(void **state)
{
    static const struct link_step steps[] = {{.events = EVENT(NOTICE("a"))},
                                             {.events = PRIMING},
                                             {.status = "405 Method Not Allowed"},
                                             {.events = PRIMING}};

    (void)state;
    link_serve(steps);
    send_first(LEGACY); /* no id */
    UNTIL(link_told("failed 1 closed 0"));
    assert_true(link_send(2, MCP_CALL_TOOL, LEGACY));
    UNTIL(link_told("failed 2 closed 0"));
    assert_int_equal(lfx.n_requests, 3);
    assert_true(link_send(3, MCP_CALL_TOOL, MODERN));
    UNTIL(link_told("failed 3 closed 0"));
    assert_int_equal(lfx.n_requests, 4);
}

static void a_request_may_be_forgotten_before_it_is_resumed(void **state)
{
    static const struct link_step steps[] = {{.events = PRIMING}, {.json = RESULT(2)}};

    (void)state;
    link_serve(steps);
    send_first(LEGACY);
    UNTIL(lfx.n_requests == 1);
    assert_true(link_send(2, MCP_LIST_TOOLS, LEGACY));
    UNTIL(link_told("message 2"));
    mcp_link_forget(lfx.link, 1);
    let_pass(100);
    assert_int_equal(lfx.n_requests, 2);
}

/* ---- what nobody asked for */

static void listen_up(void)
{
    link_begin_session();
    mcp_link_listen(lfx.link, LEGACY);
}

static void a_server_may_speak_unasked(void **state)
{
    static const struct link_step steps[] = {
        {.json = RESULT(1), .headers = SESSION},
        {.events = "id: 7\nretry: 50\n" EVENT(NOTICE("changed"))},
        {.events = EVENT(NOTICE("again")), .stays_open = true}};

    (void)state;
    link_serve(steps);
    listen_up();
    mcp_link_listen(lfx.link, LEGACY); /* one is enough */
    UNTIL(link_told("message 0 200 id=-1 again"));
    assert_true(link_told("message 0 200 id=-1 changed"));
    assert_true(link_asked(1, "GET /mcp"));
    assert_true(link_asked(1, "\r\nMcp-Session-Id: s-1234\r\n"));
    assert_true(link_asked(1, "\r\nMCP-Protocol-Version: 2025-11-25\r\n"));
    assert_false(link_asked(1, "Last-Event-ID"));
    assert_true(link_asked(2, "\r\nLast-Event-ID: 7\r\n"));
    link_stop();
    assert_true(link_asked(3, "DELETE"));
    assert_false(link_told("failed"));
}

static void a_server_without_such_a_stream_is_asked_once_a_session(void **state)
{
    static const char *const refusals[] = {
        "405 Method Not Allowed", "404 Not Found", "400 Bad Request", "406 Not Acceptable",
        "501 Not Implemented",    "200 OK",        "401 Unauthorized"};

    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        const struct link_step steps[] = {{.json = RESULT(1), .headers = SESSION},
                                          {.status = refusals[i]},
                                          {.json = RESULT(2)},
                                          {.json = RESULT(3), .headers = SESSION},
                                          {.events = EVENT(NOTICE("a")), .stays_open = true}};

        link_serve(steps);
        listen_up();
        UNTIL(lfx.n_requests == 2);
        assert_true(link_send(2, MCP_LIST_TOOLS, LEGACY));
        UNTIL(link_told("message 2"));
        mcp_link_listen(lfx.link, LEGACY);
        assert_true(link_send(3, MCP_INITIALIZE, MCP_VERSION_NONE));
        UNTIL(link_told("message 3"));
        assert_int_equal(lfx.n_requests, 4);
        mcp_link_listen(lfx.link, LEGACY); /* another session, another chance */
        UNTIL(link_told("message 0 200 id=-1 a"));
        assert_false(link_told("failed"));
        assert_int_equal(link_fixture_teardown(state), 0);
        assert_int_equal(link_fixture_setup(state), 0);
    }
}

static void trouble_passes(void **state)
{
    static const struct link_step steps[] = {{.json = RESULT(1), .headers = SESSION},
                                             {.status = "409 Conflict"},
                                             {.events = EVENT(NOTICE("a")), .stays_open = true}};

    (void)state;
    link_serve(steps);
    listen_up();
    UNTIL(link_told("message 0 200 id=-1 a"));
}

static void too_large_a_message_is_not_asked_for_again(void **state)
{
    static const struct link_step steps[] = {
        {.json = RESULT(1), .headers = SESSION},
        {.events = "id: 1\nretry: 50\n\n" EVENT(NOTICE("a long name, longer than it may be"))},
        {.events = EVENT(NOTICE("a")), .stays_open = true}};

    (void)state;
    lfx.server.max_message_bytes = 60;
    link_serve(steps);
    listen_up();
    UNTIL(link_told("message 0 200 id=-1 a\n"));
    assert_false(link_asked(2, "Last-Event-ID"));
}

/* Its own stream ended with 202; the answer comes where the server speaks unasked. */
static void an_answer_may_come_unasked(void **state)
{
    static const struct link_step steps[] = {{.json = RESULT(1), .headers = SESSION},
                                             {.events = EVENT(NOTICE("a")), .stays_open = true},
                                             {.status = "202 Accepted"},
                                             {.status = "202 Accepted"}};

    (void)state;
    link_serve(steps);
    listen_up();
    UNTIL(link_told("message 0 200 id=-1 a"));
    assert_true(link_send(2, MCP_LIST_TOOLS, LEGACY));
    UNTIL(lfx.n_requests == 3);
    assert_true(link_send(0, MCP_INITIALIZED, LEGACY));
    UNTIL(lfx.n_requests == 4);
    link_say(1, EVENT(RESULT(2)));
    UNTIL(link_told("message 0 200 id=2 {}"));
    link_stop();
    assert_false(link_told("failed"));
}

static void modern_servers_have_no_such_stream(void **state)
{
    static const struct link_step steps[] = {{.json = RESULT(1)}, {.json = RESULT(2)}};

    (void)state;
    link_serve(steps);
    send_first(MODERN);
    UNTIL(link_told("message 1"));
    mcp_link_listen(lfx.link, MODERN);
    assert_true(link_send(2, MCP_LIST_TOOLS, MODERN));
    UNTIL(link_told("message 2"));
    assert_true(link_asked(1, "POST"));
}

static void reset_it(int64_t id)
{
    (void)id;
    mcp_link_reset_session(lfx.link);
}

static void a_session_may_be_reset_inside_a_message_of_its_stream(void **state)
{
    static const struct link_step steps[] = {
        {.json = RESULT(1), .headers = SESSION},
        {.events = EVENT(NOTICE("a")) EVENT(NOTICE("b")), .stays_open = true}};

    (void)state;
    link_serve(steps);
    listen_up();
    lfx.on_message = reset_it;
    UNTIL(link_told("message 0 200 id=-1 a"));
    UNTIL(lfx.askers[1]->gone);
    assert_false(link_told("message 0 200 id=-1 b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LINK_TEST_BOTH(an_answer_goes_on_behind_the_last_event),
        LINK_TEST_BOTH(resuming_is_tried_three_times),
        LINK_TEST_BOTH(every_stream_that_brings_something_counts_anew),
        LINK_TEST_BOTH(what_cannot_be_resumed_has_failed),
        LINK_TEST_BOTH(a_request_may_be_forgotten_before_it_is_resumed),
        LINK_TEST_BOTH(a_server_may_speak_unasked),
        LINK_TEST_BOTH(a_server_without_such_a_stream_is_asked_once_a_session),
        LINK_TEST_BOTH(trouble_passes),
        LINK_TEST_BOTH(too_large_a_message_is_not_asked_for_again),
        LINK_TEST_BOTH(an_answer_may_come_unasked),
        LINK_TEST_BOTH(modern_servers_have_no_such_stream),
        LINK_TEST_BOTH(a_session_may_be_reset_inside_a_message_of_its_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
