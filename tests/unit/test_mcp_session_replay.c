/* test_mcp_session_replay.c -- recorded servers say again what they said. */
#include "mcp_session_fixture.h"

static void expect_recorded(const struct called *c, str answer_text)
{
    str result = jr_member(answer_text, STR("result"));
    bool is_error = jr_type_of(jr_member(result, STR("isError"))) == JR_TRUE;

    assert_int_equal(c->n_done, 1);
    assert_int_equal(c->is_failed, str_is_none(result) || is_error);
    if (!c->is_failed)
        assert_str_eq(buf_str(&c->text), jr_member(result, STR("content")));
    else
        assert_int_equal(c->cause, str_is_none(result) ? MCP_FAILED_RPC : MCP_FAILED_TOOL);
}

/* The recorded answer to request id, raw; STR_NONE when the server gave none. */
static str recorded_answer(str file, str id)
{
    while (file.len > 0) {
        str line = str_from(file.p, str_find_char(file, '\n'));
        str msg = jr_member(line, STR("msg"));

        file = str_skip(file, line.len + 1);
        if (str_is_none(jr_member(msg, STR("method"))) && str_eq(jr_member(msg, STR("id")), id) &&
            !str_is_none(id))
            return msg;
    }
    return STR_NONE;
}

/* Members of an answer without its id. */
static void members_of(str msg, struct buf *out)
{
    str result = jr_member(msg, STR("result"));

    buf_c(out, str_is_none(result) ? "\"error\":" : "\"result\":");
    buf_append(out, str_is_none(result) ? jr_member(msg, STR("error")) : result);
}

static void replay_call(str file, str request)
{
    str params = jr_member(request, STR("params"));
    str reply = recorded_answer(file, jr_member(request, STR("id")));
    struct buf name = {.limit = 0}, members = {.limit = 0}, arguments = {.limit = 0};

    if (str_is_none(reply))
        return; /* it was cancelled */
    json_text_decode(jr_member_string(params, STR("name")), &name);
    buf_append(&arguments, jr_member(params, STR("arguments")));
    members_of(reply, &members);
    say_next(MCP_CALL_TOOL, (struct reply){.members = buf_cstr(&members)});
    call_tool(buf_cstr(&name), buf_cstr(&arguments));
    pass(0);
    expect_recorded(&fx.called[fx.n_called - 1], reply);
    buf_fini(&name);
    buf_fini(&members);
    buf_fini(&arguments);
}

/* Requests and notifications of the server are heard when they came. */
static void replay(const char *name, unsigned n_calls, size_t n_answers)
{
    struct buf file = fixture_read(name), members = {.limit = 0};
    str rest = buf_str(&file);

    members_of(recorded_answer(rest, STR("0")), &members);
    say(MCP_INITIALIZE, (struct reply){.members = buf_cstr(&members)});
    session_start();
    buf_fini(&members);
    while (rest.len > 0) {
        str line = str_from(rest.p, str_find_char(rest, '\n'));
        str msg = jr_member(line, STR("msg"));
        bool is_call = str_eq(jr_member_string(msg, STR("method")), STR("tools/call"));
        bool is_servers = str_eq(jr_member_string(line, STR("dir")), STR("s2c"));
        struct buf heard = {.limit = 0};

        rest = str_skip(rest, line.len + 1);
        buf_append(&heard, msg);
        if (is_call && !is_servers)
            replay_call(buf_str(&file), msg);
        else if (is_servers && !str_is_none(jr_member(msg, STR("method"))))
            hear(buf_cstr(&heard));
        buf_fini(&heard);
    }
    assert_int_equal(fx.n_called, n_calls);
    assert_int_equal(count_sent(MCP_METHOD_COUNT), n_answers);
    assert_states(" ready");
    buf_fini(&file);
}

static void a_recorded_conversation_gives_the_same_results(void **state)
{
    (void)state;
    replay("mcp/stdio-everything.jsonl", 14, 0);
}

static void a_recorded_server_that_asks_back_does_not_confuse_us(void **state)
{
    (void)state;
    replay("mcp/stdio-everything-server-requests.jsonl", 4, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SESSION_TEST(a_recorded_conversation_gives_the_same_results),
        SESSION_TEST(a_recorded_server_that_asks_back_does_not_confuse_us),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
