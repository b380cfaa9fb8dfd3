/* test_mcp_link_http.c -- messages to Streamable HTTP servers and what may answer them. */
#include <unistd.h>

#include "lib/link_fixture.h"

#define RESULT(n) "{\"jsonrpc\":\"2.0\",\"id\":" #n ",\"result\":{}}"
#define ERROR(id)                                                                                  \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":-32000,\"message\":\"No.\"}}"
#define NOTICE(m) "{\"jsonrpc\":\"2.0\",\"method\":\"" m "\"}"
#define SESSION   "Mcp-Session-Id: s-1234\r\n"
#define LEGACY    MCP_2025_11_25
#define MODERN    MCP_2026_07_28
#define EVENT(m)  "data: " m "\n\n"

/* Initializes a session, which takes the first step. */
static void begin_session(void)
{
    link_up(mcp_link_http_new);
    assert_true(link_send(1, MCP_INITIALIZE, MCP_VERSION_NONE));
    UNTIL(link_told("message 1 200 id=1 {}"));
}

/* ---- requests */

static void a_session_is_named_in_every_request_after_the_first(void **state)
{
    static const struct link_step steps[] = {{.json = RESULT(1), .headers = SESSION},
                                             {.json = RESULT(2)}};

    (void)state;
    link_serve(steps);
    begin_session();
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
    begin_session();
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
    begin_session();
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
    static const struct link_step steps[] = {{.json = ERROR("null"), .status = "400 Bad Request"},
                                             {.json = ERROR("99"), .status = "500 Oops"},
                                             {.json = ERROR("\"x\""), .status = "404 Not Found"},
                                             {.events = EVENT(ERROR("4")), .status = "406 No"},
                                             {.json = ERROR("null")}};

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
        {.json = ERROR("null"), .status = "400 Bad Request"}};

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
#define LOST(words)                                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"" words "\"}}"
    static const struct link_step steps[] = {
        {.json = RESULT(1), .headers = SESSION},
        {.status = "404 Not Found"},
        {.json = ERROR("null"), .status = "404 Not Found"},
        {.json = LOST("Bad Request: No valid session ID provided"), .status = "400 Bad Request"},
        {.json = LOST("Bad Request: Server not initialized"), .status = "400 Bad Request"},
        {.status = "404 Not Found"}};

    (void)state;
    link_serve(steps);
    begin_session();
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
        {.json = LOST("Server not initialized"), .status = "400 Bad Request"},
        {.json = LOST("Server not initialized"), .status = "400 Bad Request"}};

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
         .json = ERROR("1")},
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
    begin_session();
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
    begin_session();
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
    begin_session();
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
    begin_session();
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
