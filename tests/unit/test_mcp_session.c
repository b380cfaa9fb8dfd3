/* test_mcp_session.c -- eras and versions; starting, ending and starting again. */
#include "mcp_session_fixture.h"

static void a_session_starts_agrees_lists_and_is_ready(void **state)
{
    (void)state;
    session_start();
    assert_states(" ready");
    assert_tools(" [echo]");
    assert_sent(" initialize tools/list");
    assert_int_equal(count_sent(MCP_INITIALIZED), 1);
    assert_int_equal(mcp_session_version(fx.session), MCP_2025_11_25);
    assert_true(mcp_session_is_available(fx.session));
    assert_str_c(mcp_session_error(fx.session), "");
}

/* ---- versions (MCP 2.3) */

static void play_handshake(str result)
{
    str named = jr_member_string(result, STR("protocolVersion"));
    enum mcp_version version = mcp_version_find(named);
    struct buf members = {.limit = 0};

    buf_c(&members, "\"result\":");
    buf_append(&members, result);
    say(MCP_INITIALIZE, (struct reply){.members = buf_cstr(&members)});
    session_start();
    buf_fini(&members);
    assert_states(version == MCP_VERSION_NONE ? " failed" : " ready");
    assert_int_equal(mcp_session_version(fx.session), version);
    if (version != MCP_VERSION_NONE)
        assert_int_equal(last_sent(MCP_LIST_TOOLS)->version, version);
}

/* A real server was offered seven versions; one of its answers is older than all of ours. */
static void every_recorded_answer_is_taken_by_its_version(void **state)
{
    struct buf file = fixture_read("mcp/stdio-version-negotiation.jsonl");
    str rest = buf_str(&file);
    unsigned n_ready = 0, n_failed = 0;

    (void)state;
    while (rest.len > 0) {
        str line = str_from(rest.p, str_find_char(rest, '\n'));
        str result = jr_member(jr_member(line, STR("msg")), STR("result"));

        rest = str_skip(rest, line.len + 1);
        if (str_is_none(jr_member(result, STR("protocolVersion"))))
            continue;
        play_handshake(result);
        n_ready += mcp_session_state(fx.session) == MCP_READY;
        n_failed += mcp_session_state(fx.session) == MCP_FAILED;
        (void)session_teardown(state);
        (void)session_setup(state);
    }
    assert_int_equal(n_ready, 6);
    assert_int_equal(n_failed, 1);
    buf_fini(&file);
}

static void an_answer_with_an_unknown_version_fails_and_names_both(void **state)
{
    (void)state;
    say(MCP_INITIALIZE, RESULT("{\"protocolVersion\":\"2031-01-01\",\"capabilities\":{}}"));
    session_start();
    assert_states(" failed");
    assert_str_c(mcp_session_error(fx.session),
                 "The server answered protocol version 2025-11-25 with 2031-01-01, which we do not "
                 "speak.");
    assert_sent(" initialize");
}

/* ---- eras (MCP 2.5, 2.6) */

#define UNSUPPORTED(list)                                                                          \
    ((struct reply){.members = "\"error\":{\"code\":-32022,\"message\":\"Unsupported\","           \
                               "\"data\":{\"supported\":" list "}}"})
#define WITH_STATUS(n, code)                                                                       \
    ((struct reply){.members = "\"error\":{\"code\":" #code ",\"message\":\"no\"}", .status = (n)})
#define REFUSED ERROR_REPLY(-32601, "Method not found")

#define DISCOVER_AND   " server/discover"
#define INITIALIZE_AND " initialize"
#define LISTING        " tools/list"
#define MODERN_READY   DISCOVER_AND LISTING
#define BOTH_READY     DISCOVER_AND INITIALIZE_AND LISTING

static const struct era_case {
    const char *name;
    enum mcp_transport transport;
    enum mcp_protocol protocol;
    bool is_sse_guess;
    struct reply discover[2], initialize[2], sse;
    const char *state, *sent;
    bool changes_transport; /* between HTTP and SSE */
    enum mcp_version version;
} era_cases[] = {
#define HTTP   .transport = MCP_TRANSPORT_HTTP
#define STDIO  .transport = MCP_TRANSPORT_STDIO
#define SSE    .transport = MCP_TRANSPORT_SSE
#define MODERN .state = "ready", .version = MCP_2026_07_28
#define LEGACY .state = "ready", .version = MCP_2025_11_25
    {"http (a) discover", HTTP, MODERN, .sent = MODERN_READY},
    {"http (b) version named again", HTTP, MODERN,
     .discover = {UNSUPPORTED("[\"2026-07-28\"]"), RESULT(MODERN_LISTS)},
     .sent = DISCOVER_AND DISCOVER_AND LISTING},
    {"http (b) named again and refused again", HTTP, .state = "failed",
     .discover = {UNSUPPORTED("[\"2026-07-28\"]"), UNSUPPORTED("[\"2026-07-28\"]")},
     .sent = DISCOVER_AND DISCOVER_AND},
    {"http (b) only unknown versions", HTTP, .state = "failed",
     .discover = {UNSUPPORTED("[\"2031-01-01\"]")}, .sent = DISCOVER_AND},
    {"http (b) a legacy version", HTTP, LEGACY, .discover = {UNSUPPORTED("[\"2025-06-18\"]")},
     .sent = BOTH_READY},
    {"http (c) header mismatch", HTTP, .state = "failed", .discover = {WITH_STATUS(400, -32020)},
     .sent = DISCOVER_AND},
    {"http (c) capability missing", HTTP, .state = "failed", .discover = {WITH_STATUS(400, -32021)},
     .sent = DISCOVER_AND},
    {"http (d) error", HTTP, LEGACY, .discover = {WITH_STATUS(400, -32000)}, .sent = BOTH_READY},
    {"http (d) method not found", HTTP, LEGACY, .discover = {REFUSED}, .sent = BOTH_READY},
    {"http (d) 404", HTTP, LEGACY, .discover = {HTTP_STATUS(404)}, .sent = BOTH_READY},
    {"http (d) 500", HTTP, LEGACY, .discover = {HTTP_STATUS(500)}, .sent = BOTH_READY},
    {"http (d) 200 {}", HTTP, LEGACY,
     .discover = {{.fails = true, .cause = MCP_FAILED_UNREACHABLE, .status = 200}},
     .sent = BOTH_READY},
    {"http (d) a result of something else", HTTP, LEGACY, .discover = {RESULT("{}")},
     .sent = BOTH_READY},
    {"http (d) lists legacy versions only", HTTP, LEGACY,
     .discover = {RESULT("{\"supportedVersions\":[\"2025-11-25\"]}")}, .sent = BOTH_READY},
    {"http lists unknown versions only", HTTP, .state = "failed",
     .discover = {RESULT("{\"supportedVersions\":[\"2031-01-01\"]}")}, .sent = DISCOVER_AND},
    {"http (e) 404 and 405: HTTP+SSE", HTTP, LEGACY, .discover = {HTTP_STATUS(404)},
     .initialize = {HTTP_STATUS(405), RESULT(LEGACY_INIT)},
     .sent = DISCOVER_AND INITIALIZE_AND INITIALIZE_AND LISTING, .changes_transport = true},
    {"http (e) 400 with an error: HTTP+SSE", HTTP, LEGACY, .discover = {HTTP_STATUS(400)},
     .initialize = {WITH_STATUS(400, -32000), RESULT(LEGACY_INIT)},
     .sent = DISCOVER_AND INITIALIZE_AND INITIALIZE_AND LISTING, .changes_transport = true},
    {"http (e) but it is not HTTP+SSE either", HTTP, .state = "failed",
     .discover = {HTTP_STATUS(404)}, .initialize = {HTTP_STATUS(404)}, .sse = HTTP_STATUS(405),
     .sent = DISCOVER_AND INITIALIZE_AND},
    {"http (e) a modern error", HTTP, .state = "failed", .discover = {HTTP_STATUS(404)},
     .initialize = {WITH_STATUS(400, -32022)}, .sent = DISCOVER_AND INITIALIZE_AND},
    {"http 401 from both", HTTP, .state = "failed", .discover = {HTTP_STATUS(401)},
     .initialize = {HTTP_STATUS(401)}, .sent = DISCOVER_AND INITIALIZE_AND},
    {"http 503 from both is no verdict", HTTP, .state = "backoff", .discover = {HTTP_STATUS(503)},
     .initialize = {HTTP_STATUS(503)}, .sent = DISCOVER_AND INITIALIZE_AND},
    {"http outage is no verdict", HTTP, .state = "backoff", .discover = {UNREACHABLE},
     .sent = DISCOVER_AND},
    {"http legacy", HTTP, LEGACY, .protocol = MCP_PROTOCOL_LEGACY, .sent = INITIALIZE_AND LISTING},
    {"http modern refused", HTTP, .state = "failed", .protocol = MCP_PROTOCOL_2026_07_28,
     .discover = {HTTP_STATUS(404)}, .sent = DISCOVER_AND},
    {"stdio", STDIO, LEGACY, .sent = INITIALIZE_AND LISTING},
    {"stdio modern only", STDIO, MODERN, .initialize = {UNSUPPORTED("[\"2026-07-28\"]")},
     .sent = INITIALIZE_AND DISCOVER_AND LISTING},
    {"stdio refuses initialize otherwise", STDIO, MODERN, .initialize = {REFUSED},
     .sent = INITIALIZE_AND DISCOVER_AND LISTING},
    {"stdio refuses both", STDIO, .state = "failed", .initialize = {REFUSED}, .discover = {REFUSED},
     .sent = INITIALIZE_AND DISCOVER_AND},
    {"stdio legacy", STDIO, .state = "failed", .protocol = MCP_PROTOCOL_LEGACY,
     .initialize = {REFUSED}, .sent = INITIALIZE_AND},
    {"stdio modern", STDIO, MODERN, .protocol = MCP_PROTOCOL_2026_07_28, .sent = MODERN_READY},
    {"sse", SSE, LEGACY, .sent = INITIALIZE_AND LISTING},
    {"sse that is none", SSE, .sse = HTTP_STATUS(405), .state = "failed", .sent = ""},
    {"sse and a protocol that it has not", SSE, .protocol = MCP_PROTOCOL_2026_07_28,
     .state = "failed", .sent = ""},
    {"sse by its URL, but HTTP", SSE, .is_sse_guess = true, .sse = HTTP_STATUS(405), MODERN,
     .sent = MODERN_READY, .changes_transport = true},
    {"sse by its URL, not reached", SSE, .is_sse_guess = true, .sse = UNREACHABLE,
     .state = "backoff", .sent = ""},
    {"sse by its URL, but neither", SSE, .is_sse_guess = true, .sse = HTTP_STATUS(404),
     .discover = {HTTP_STATUS(404)}, .initialize = {HTTP_STATUS(404)}, .state = "failed",
     .sent = DISCOVER_AND INITIALIZE_AND},
#undef HTTP
#undef STDIO
#undef SSE
#undef MODERN
#undef LEGACY
};

static bool is_given(const struct reply *r)
{
    return r->members != NULL || r->fails;
}

static enum mcp_transport last_transport(const struct era_case *c)
{
    if (!c->changes_transport)
        return c->transport;
    return c->transport == MCP_TRANSPORT_HTTP ? MCP_TRANSPORT_SSE : MCP_TRANSPORT_HTTP;
}

static void play_era(const struct era_case *c)
{
    fx.server.transport = c->transport;
    fx.server.protocol = c->protocol;
    fx.server.is_sse_guess = c->is_sse_guess;
    fx.up[MCP_TRANSPORT_SSE] = c->sse;
    for (size_t i = 0; i < 2; i++) {
        if (is_given(&c->discover[i]))
            say_next(MCP_DISCOVER, c->discover[i]);
        if (is_given(&c->initialize[i]))
            say_next(MCP_INITIALIZE, c->initialize[i]);
    }
    session_start();
    assert_sent(c->sent);
    assert_string_equal(mcp_state_name(mcp_session_state(fx.session)), c->state);
    assert_int_equal(mcp_session_version(fx.session), c->version);
    assert_int_equal(mcp_session_transport(fx.session), last_transport(c));
    assert_int_equal(mcp_session_error(fx.session).len > 0, strcmp(c->state, "ready") != 0);
}

static void an_era_is_found_by_the_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(era_cases); i++) {
        print_message("           %s\n", era_cases[i].name);
        play_era(&era_cases[i]);
        (void)session_teardown(state);
        (void)session_setup(state);
    }
}

static void nothing_but_the_question_is_sent_before_the_answer(void **state)
{
    (void)state;
    say(MCP_INITIALIZE, SILENCE);
    session_start();
    call();
    pass(0);
    hear("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    assert_sent(" initialize");
    assert_string_equal(fx.sent[1].json, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    answer(1, &RESULT(LEGACY_INIT));
    pass(0);
    assert_int_equal(fx.sent[2].method, MCP_INITIALIZED);
    assert_result(&fx.called[0], OK_CONTENT);
}

static void a_known_era_is_not_asked_for_again(void **state)
{
    (void)state;
    fx.server.transport = MCP_TRANSPORT_HTTP;
    say(MCP_DISCOVER, REFUSED);
    session_start();
    assert_sent(BOTH_READY);
    crash("");
    pass(2000);
    assert_sent(BOTH_READY INITIALIZE_AND LISTING);
    assert_states(" ready backoff starting ready");
}

static void a_known_era_that_is_refused_is_asked_for_anew(void **state)
{
    (void)state;
    fx.server.transport = MCP_TRANSPORT_HTTP;
    say_next(MCP_DISCOVER, REFUSED);
    session_start();
    say(MCP_INITIALIZE, WITH_STATUS(404, -32601)); /* it has become modern */
    crash("");
    pass(2000);
    assert_sent(BOTH_READY INITIALIZE_AND DISCOVER_AND LISTING);
    assert_int_equal(mcp_session_version(fx.session), MCP_2026_07_28);
}

static void a_transport_that_was_found_is_taken_again(void **state)
{
    (void)state;
    fx.server.transport = MCP_TRANSPORT_HTTP;
    say_next(MCP_DISCOVER, HTTP_STATUS(404));
    say_next(MCP_INITIALIZE, HTTP_STATUS(404));
    session_start();
    assert_int_equal(mcp_session_transport(fx.session), MCP_TRANSPORT_SSE);
    crash("The MCP server closed the stream.");
    pass(2000);
    assert_int_equal(fx.n_opened, 3);
    assert_int_equal(fx.opened[2], MCP_TRANSPORT_SSE);
    assert_states(" ready backoff starting ready");
}

/* ---- ending and starting again (MCP 4.6) */

static void a_silent_server_is_left_when_its_time_is_over(void **state)
{
    (void)state;
    say(MCP_INITIALIZE, SILENCE);
    session_start();
    pass(9999);
    assert_states("");
    pass(1);
    assert_states(" backoff");
    assert_str_c(mcp_session_error(fx.session), "The server did not answer within 10 s.");
    assert_int_equal(count_sent(MCP_CANCELLED), 0);
}

static void a_crash_fails_calls_and_tools_come_back_after_a_second(void **state)
{
    struct called *c;

    (void)state;
    session_start();
    say(MCP_CALL_TOOL, SILENCE);
    c = call();
    pass(0);
    crash("exited with status 3");
    assert_failure(c, MCP_FAILED_CLOSED, "MCP server docs closed the connection");
    assert_states(" ready backoff");
    assert_str_c(mcp_session_error(fx.session), "exited with status 3");
    assert_false(mcp_session_is_available(fx.session));
    pass(1200);
    assert_states(" ready backoff starting ready");
    assert_true(mcp_session_is_available(fx.session));
    assert_tools(" [echo] [echo]");
    assert_int_equal(count_sent(MCP_CALL_TOOL), 1); /* never replayed */
}

static void a_call_while_the_server_is_away_fails_at_once(void **state)
{
    struct called *c;

    (void)state;
    session_start();
    crash("");
    c = call();
    pass(0);
    assert_failure(c, MCP_FAILED_CLOSED, "MCP server docs closed the connection");
}

static void delays_grow_until_the_server_is_healthy(void **state)
{
    unsigned n;

    (void)state;
    say(MCP_INITIALIZE, (struct reply){.downs = true, .cause = MCP_FAILED_CLOSED});
    session_start();
    pass(100 * 1000); /* 1 + 2 + 4 + 8 + 16 + 32 = 63 s, then 60 */
    assert_in_range(fx.n_opened, 7, 8);
    say(MCP_INITIALIZE, RESULT(LEGACY_INIT));
    pass(HEALTHY_MS + HEALTHY_MS);
    assert_int_equal(mcp_session_state(fx.session), MCP_READY);
    n = fx.n_opened;
    crash("");
    pass(1200);
    assert_int_equal(fx.n_opened, n + 1);
}

static void what_is_hopeless_is_tried_every_minute(void **state)
{
    (void)state;
    fx.up[MCP_TRANSPORT_STDIO] = (struct reply){.fails = true,
                                                .cause = MCP_FAILED_CLOSED,
                                                .is_hopeless = true,
                                                .message = "no such program"};
    session_start();
    assert_states(" failed");
    assert_str_c(mcp_session_error(fx.session), "no such program");
    pass(59 * 1000);
    assert_int_equal(fx.n_opened, 1);
    pass(2 * 1000);
    assert_int_equal(fx.n_opened, 2);
}

static void a_session_that_starts_once_fails_for_good(void **state)
{
    (void)state;
    fx.conf.starts_once = true;
    session_start();
    crash("");
    assert_states(" ready failed");
    pass(3600 * 1000);
    assert_int_equal(fx.n_opened, 1);
}

static void stopping_fails_calls_before_it_is_done(void **state)
{
    struct called *sent, *waiting;

    (void)state;
    fx.server.max_concurrency = 1;
    session_start();
    say(MCP_CALL_TOOL, SILENCE);
    sent = call();
    waiting = call();
    pass(0);
    mcp_session_stop(fx.session);
    assert_int_equal(sent->n_done, 0);
    pass(0);
    assert_failure(sent, MCP_FAILED_CLOSED, "MCP server docs closed the connection");
    assert_failure(waiting, MCP_FAILED_CLOSED, "MCP server docs closed the connection");
    assert_int_equal(fx.n_stopped, 1);
    assert_states(" ready"); /* the owner knows */
}

static void stopping_is_possible_at_any_moment(void **state)
{
    (void)state;
    for (unsigned steps = 0; steps < 40; steps++) {
        session_new();
        mcp_session_start(fx.session);
        for (unsigned i = 0; i < steps; i++)
            (void)fake_loop_step(fx.loop, fx.loop->now_ms);
        (void)session_teardown(state);
        (void)session_setup(state);
    }
    session_new();
    mcp_session_stop(fx.session); /* before it was started */
    pass(0);
    assert_int_equal(fx.n_stopped, 1);
}

static void secrets_are_not_in_errors(void **state)
{
    (void)state;
    say(MCP_INITIALIZE, ERROR_REPLY(-32000, "bad token s3cret-token"));
    fx.server.protocol = MCP_PROTOCOL_LEGACY;
    session_start();
    assert_str_c(mcp_session_error(fx.session),
                 "The server refused to start a session: bad token [redacted] (-32000).");
}

static void a_stranger_s_server_is_not_described(void **state)
{
    (void)state;
    fx.conf.is_remote = true;
    fx.server.transport = MCP_TRANSPORT_HTTP;
    say(MCP_DISCOVER, (struct reply){.fails = true,
                                     .cause = MCP_FAILED_UNREACHABLE,
                                     .message = "10.0.0.1:443 refused the connection"});
    session_start();
    assert_str_c(mcp_session_error(fx.session), "MCP server docs is unreachable");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SESSION_TEST(a_session_starts_agrees_lists_and_is_ready),
        SESSION_TEST(every_recorded_answer_is_taken_by_its_version),
        SESSION_TEST(an_answer_with_an_unknown_version_fails_and_names_both),
        SESSION_TEST(an_era_is_found_by_the_rules),
        SESSION_TEST(nothing_but_the_question_is_sent_before_the_answer),
        SESSION_TEST(a_known_era_is_not_asked_for_again),
        SESSION_TEST(a_known_era_that_is_refused_is_asked_for_anew),
        SESSION_TEST(a_transport_that_was_found_is_taken_again),
        SESSION_TEST(a_silent_server_is_left_when_its_time_is_over),
        SESSION_TEST(a_crash_fails_calls_and_tools_come_back_after_a_second),
        SESSION_TEST(a_call_while_the_server_is_away_fails_at_once),
        SESSION_TEST(delays_grow_until_the_server_is_healthy),
        SESSION_TEST(what_is_hopeless_is_tried_every_minute),
        SESSION_TEST(a_session_that_starts_once_fails_for_good),
        SESSION_TEST(stopping_fails_calls_before_it_is_done),
        SESSION_TEST(stopping_is_possible_at_any_moment),
        SESSION_TEST(secrets_are_not_in_errors),
        SESSION_TEST(a_stranger_s_server_is_not_described),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
