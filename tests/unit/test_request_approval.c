/* test_request_approval.c -- calls that wait for the client, and what it says about them. */
#include "request_fixture.h"

#define ITEM(type, members)  "{\"type\":\"" type "\"," members "}"
#define USER(text)           "{\"role\":\"user\",\"content\":\"" text "\"}"
#define REQUEST_OF(id, tool) ITEM("mcp_approval_request", "\"id\":\"" id "\"," tool)
#define SEARCH                                                                                     \
    "\"server_label\":\"docs\",\"name\":\"search\",\"arguments\":\"{\\\"q\\\":\\\"\\u00e9\\\"}\""
#define REQUEST(id) REQUEST_OF(id, SEARCH)
#define RESPONSE(id, members)                                                                      \
    ITEM("mcp_approval_response", "\"approval_request_id\":\"" id "\"," members)
#define YES(id) RESPONSE(id, "\"approve\":true")
#define NO(id)  RESPONSE(id, "\"approve\":false")
#define EXECUTED(id, members)                                                                      \
    ITEM("mcp_call", "\"id\":\"mcp_1\",\"approval_request_id\":\"" id "\"," SEARCH "," members)

#define DOCS          "\"tools\":[{\"type\":\"mcp\",\"server_label\":\"docs\"}],"
#define BODY(members) "{\"model\":\"m\"," members "}"
#define INPUT(items)  "\"input\":[" items "]"
#define CONTINUES     "\"previous_response_id\":\"resp_1\","

#define CALLED(id, name, text)                                                                     \
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"" id                       \
    "\",\"type\":\"function\",\"function\":{\"name\":\"" name                                      \
    "\",\"arguments\":\"{\\\"q\\\":\\\"\\u00e9\\\"}\"}}]},"                                        \
    "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" text "\"}"
#define DECLINED "The tool call was not approved."

enum { MAX_HISTORY = 4 };

struct approval_case {
    const char *claim, *body;
    const char *history[MAX_HISTORY]; /* up to the first NULL */
    const char *messages;             /* expected, without the brackets; NULL: refused */
    const char *approved;             /* ids of requests whose call is to be run, each with a ' ' */
    const char *error, *param;
};

static int complete(struct fixture *f, const struct approval_case *c, size_t arena_limit)
{
    const struct responses_request_options options = {.default_model = STR_NONE};
    struct request_history_item items[MAX_HISTORY];
    struct request_history history = {.items = items};

    for (; history.n < MAX_HISTORY && c->history[history.n] != NULL; history.n++)
        items[history.n] = (struct request_history_item){.body = str_from_c(c->history[history.n])};
    return fixture_complete(f, &options, str_from_c(c->body), &history, arena_limit);
}

static void check_refusal(const struct approval_case *c, const struct err *e)
{
    if (c->error == NULL)
        fail_msg("%s: %s (%s)", c->claim, e->msg, e->param);
    assert_int_equal(e->code, ERR_INVALID_VALUE);
    assert_string_equal(e->msg, c->error);
    assert_string_equal(e->param, c->param);
}

static void check_approved(const struct approval_case *c, const struct fixture *f)
{
    struct buf ids = {0};

    for (const struct approved_call *call = f->request.approved; call != NULL; call = call->next) {
        buf_append(&ids, call->request->id);
        buf_char(&ids, ' ');
        assert_true(str_eq(call->tool->name, call->request->tool_name));
    }
    if (strcmp(buf_cstr(&ids), c->approved == NULL ? "" : c->approved) != 0)
        fail_msg("%s: to be run: %s", c->claim, buf_cstr(&ids));
    buf_fini(&ids);
}

static void check_messages(const struct approval_case *c, struct fixture *f)
{
    const struct chat_request_options options = {0};
    json_t *chat = fixture_chat(f, &options);
    struct buf expected = {0};

    assert_non_null(chat);
    buf_char(&expected, '[');
    buf_c(&expected, c->messages);
    buf_char(&expected, ']');
    assert_json(c->claim, json_object_get(chat, "messages"), buf_cstr(&expected));
    buf_fini(&expected);
    json_decref(chat);
}

static void check_case(const struct approval_case *c)
{
    struct fixture f;

    if (complete(&f, c, 0) == -1) {
        check_refusal(c, &f.err);
    } else {
        if (c->messages == NULL)
            fail_msg("%s: accepted", c->claim);
        check_approved(c, &f);
        check_messages(c, &f);
    }
    fixture_fini(&f);
}

#define CHECK(cases)                                                                               \
    for (size_t i = 0; i < sizeof(cases) / sizeof(*(cases)); i++)                                  \
    check_case(&(cases)[i])

static void an_approved_call_is_to_be_run(void **state)
{
    static const struct approval_case cases[] = {
        {"its request in the input", BODY(DOCS INPUT(USER("a") "," REQUEST("r1") "," YES("r1"))),
         .messages = USER("a"), .approved = "r1 "},
        {"its request in the history", BODY(DOCS CONTINUES INPUT(YES("r1"))),
         .history = {USER("a"), REQUEST("r1")}, .messages = USER("a"), .approved = "r1 "},
        {"several, in the order of the answers",
         BODY(DOCS CONTINUES INPUT(YES("r2") "," NO("r3") "," YES("r1"))),
         .history = {USER("a"), REQUEST("r1"), REQUEST("r2"), REQUEST("r3")},
         .messages = USER("a") "," CALLED("r3", "mcp__docs__search", DECLINED),
         .approved = "r2 r1 "},
        {"ids are compared by what they mean",
         BODY(DOCS INPUT(USER("a") "," REQUEST("r\\u0031") "," YES("\\u00721"))),
         .messages = USER("a"), .approved = "r\\u0031 "},
        {"a tool whose name has other characters",
         BODY(DOCS INPUT(USER("a") "," REQUEST_OF("r1", "\"server_label\":\"d\\u006fcs\",\"name\":"
                                                        "\"a.b\"") "," YES("r1"))),
         .messages = USER("a"), .approved = "r1 "},
        {"without an answer nothing is run", BODY(DOCS INPUT(USER("a") "," REQUEST("r1"))),
         .messages = USER("a")},
    };

    (void)state;
    CHECK(cases);
}

static void a_declined_call_is_one_that_says_so(void **state)
{
    static const struct approval_case cases[] = {
        {"in the place of the answer",
         BODY(DOCS INPUT(USER("a") "," REQUEST("r1") "," NO("r1") "," USER("b"))),
         .messages = USER("a") "," CALLED("r1", "mcp__docs__search", DECLINED) "," USER("b")},
        {"with the reason",
         BODY(DOCS CONTINUES INPUT(RESPONSE("r1", "\"approve\":false,\"reason\":\"n\\\"o\""))),
         .history = {REQUEST("r1")},
         .messages = CALLED("r1", "mcp__docs__search", DECLINED " Reason: n\\\"o")},
        {"an empty reason is none",
         BODY(DOCS CONTINUES INPUT(RESPONSE("r1", "\"approve\":false,\"reason\":\"\""))),
         .history = {REQUEST("r1")}, .messages = CALLED("r1", "mcp__docs__search", DECLINED)},
        {"its tool may be gone", BODY(DOCS CONTINUES INPUT(NO("r1"))),
         .history = {REQUEST_OF("r1", "\"server_label\":\"docs\",\"name\":\"gone\",\"arguments\":"
                                      "\"{\\\"q\\\":\\\"\\u00e9\\\"}\"")},
         .messages = CALLED("r1", "mcp__docs__gone", DECLINED)},
        {"so may be all tools", BODY(CONTINUES INPUT(NO("r1"))), .history = {REQUEST("r1")},
         .messages = CALLED("r1", "search", DECLINED)},
        {"in the history, too", BODY(CONTINUES INPUT(USER("b"))),
         .history = {USER("a"), REQUEST("r1"), NO("r1")},
         .messages = USER("a") "," CALLED("r1", "search", DECLINED) "," USER("b")},
    };

    (void)state;
    CHECK(cases);
}

static void a_call_is_never_run_twice(void **state)
{
    static const struct approval_case cases[] = {
        {"the input has it",
         BODY(DOCS INPUT(
             REQUEST("r1") "," YES("r1") "," EXECUTED("r1", "\"output\":\"o\"") "," USER("b"))),
         .messages = CALLED("mcp_1", "mcp__docs__search", "o") "," USER("b")},
        {"the history has it", BODY(DOCS CONTINUES INPUT(YES("r1") "," USER("b"))),
         .history = {REQUEST("r1"), YES("r1"), EXECUTED("r1", "\"output\":\"o\"")},
         .messages = CALLED("mcp_1", "mcp__docs__search", "o") "," USER("b")},
        {"it was cut short", BODY(DOCS CONTINUES INPUT(YES("r1") "," USER("b"))),
         .history = {REQUEST("r1"), EXECUTED("r1", "\"status\":\"incomplete\"")},
         .messages = USER("b")},
        {"what was approved before is not run now", BODY(DOCS CONTINUES INPUT(USER("b"))),
         .history = {REQUEST("r1"), YES("r1")}, .messages = USER("b")},
        {"nor does it need its server", BODY(CONTINUES INPUT(USER("b"))),
         .history = {REQUEST("r1"), YES("r1")}, .messages = USER("b")},
        {"an old answer may have lost its request", BODY(CONTINUES INPUT(USER("b"))),
         .history = {YES("r1"), NO("r2"), NO("r2")}, .messages = USER("b")},
    };

    (void)state;
    CHECK(cases);
}

#define AT(i)       "Invalid 'input[" i "].approval_request_id': "
#define PARAM(i)    .param = "input[" i "].approval_request_id"
#define UNKNOWN(i)  .error = AT(i) "no approval request with id 'r1' is waiting.", PARAM(i)
#define ANSWERED(i) .error = AT(i) "the approval request 'r1' has already been answered.", PARAM(i)

static void what_does_not_fit_together_is_refused(void **state)
{
    static const struct approval_case cases[] = {
        {"an answer to nothing", BODY(DOCS INPUT(USER("a") "," YES("r1"))), UNKNOWN("1")},
        {"a refusal of nothing", BODY(INPUT(NO("r1"))), UNKNOWN("0")},
        {"the history has another", BODY(DOCS CONTINUES INPUT(USER("a") "," NO("r1"))),
         .history = {REQUEST("r2"), USER("r1")}, UNKNOWN("1")},
        {"two answers", BODY(DOCS INPUT(REQUEST("r1") "," YES("r1") "," YES("r1"))), ANSWERED("2")},
        {"two different answers", BODY(DOCS INPUT(REQUEST("r1") "," NO("r1") "," YES("r1"))),
         ANSWERED("2")},
        {"a second answer after one in the history", BODY(DOCS CONTINUES INPUT(YES("r1"))),
         .history = {REQUEST("r1"), NO("r1")}, ANSWERED("0")},
        {"a request of the history again",
         BODY(DOCS CONTINUES INPUT(USER("a") "," REQUEST("r1") "," YES("r1"))),
         .history = {REQUEST("r1")},
         .error =
             "Invalid 'input[1].id': the approval request 'r1' is already part of the context.",
         .param = "input[1].id"},
        {"no tools", BODY(CONTINUES INPUT(YES("r1"))), .history = {REQUEST("r1")},
         .error = AT("0") "the approved call of 'search' needs the MCP server 'docs' in 'tools'.",
         PARAM("0")},
        {"another server",
         BODY(
             "\"tools\":[{\"type\":\"mcp\",\"server_label\":\"web\"}]," CONTINUES INPUT(YES("r1"))),
         .history = {REQUEST_OF("r1", "\"server_label\":\"files\",\"name\":\"search\"")},
         .error = AT("0") "the approved call of 'search' needs the MCP server 'files' in 'tools'.",
         PARAM("0")},
        {"another tool", BODY(DOCS CONTINUES INPUT(USER("a") "," YES("r1"))),
         .history = {REQUEST_OF("r1", "\"server_label\":\"docs\",\"name\":\"gone\"")},
         .error = AT("1") "the MCP server 'docs' has no tool 'gone'.", PARAM("1")},
    };

    (void)state;
    CHECK(cases);
}

/* Nothing of this needs the servers, so it is not found out only after they were asked. */
static void mistakes_are_found_before_tools_are_known(void **state)
{
    const struct responses_request_options options = {.default_model = STR_NONE,
                                                      .has_injected_tools = true};
    struct fixture f;

    (void)state;
    assert_int_equal(fixture_parse_with(&f, &options, STR(BODY(INPUT(YES("r1")))), 0), -1);
    assert_string_equal(f.err.param, "input[0].approval_request_id");
    fixture_fini(&f);
}

static void memory_may_run_out_anywhere(void **state)
{
    static const struct approval_case c = {
        "",
        BODY(DOCS CONTINUES INPUT(YES("r\\u0031") "," RESPONSE("r2", "\"approve\":false,"
                                                                     "\"reason\":\"n\""))),
        .history = {REQUEST("r1"), REQUEST("r2"), EXECUTED("r3", "\"output\":\"\"")}};
    size_t limit = 1;
    struct fixture f;

    (void)state;
    for (; complete(&f, &c, limit) == -1; limit += 16) {
        assert_int_equal(f.err.code, ERR_INTERNAL);
        fixture_fini(&f);
    }
    check_approved(&(struct approval_case){.approved = "r1 "}, &f);
    fixture_fini(&f);
    assert_true(limit > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_approved_call_is_to_be_run),
        cmocka_unit_test(a_declined_call_is_one_that_says_so),
        cmocka_unit_test(a_call_is_never_run_twice),
        cmocka_unit_test(what_does_not_fit_together_is_refused),
        cmocka_unit_test(mistakes_are_found_before_tools_are_known),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
