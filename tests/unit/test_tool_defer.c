/* test_tool_defer.c -- tools that wait for a search: which do, what the history has found of them, what is
 * written of those that were found, and searches as messages. */
#include "request_fixture.h"

#include "lib/test.h"
#include "wire/tools/tool_defer.h"
#include "wire/tools/tool_found.h"

#define BODY(tools, more)  "{\"model\":\"m\",\"input\":\"x\",\"tools\":[" tools "]" more "}"
#define WITH(tools, input) "{\"model\":\"m\",\"input\":[" input "],\"tools\":[" tools "]}"
#define SEARCH             "{\"type\":\"tool_search\"}"
#define PLAIN(name)                                                                                \
    "{\"type\":\"function\",\"name\":\"" name "\",\"description\":\"Does " name ".\"}"
#define LATER(name)                                                                                \
    "{\"type\":\"function\",\"name\":\"" name "\",\"description\":\"Does " name                    \
    ".\",\"defer_loading\":true}"
#define SPACE(name, tools)                                                                         \
    "{\"type\":\"namespace\",\"name\":\"" name "\",\"description\":\"All of " name                 \
    "\",\"tools\":[" tools "]}"
#define SERVER(more) "{\"type\":\"mcp\",\"server_label\":\"docs\"" more "}"
#define TOOLS                                                                                      \
    PLAIN("p") "," SEARCH "," LATER("a") "," LATER("b") "," SPACE("s", LATER("c") "," PLAIN("q"))
#define CALL(id, query)                                                                            \
    "{\"type\":\"tool_search_call\",\"id\":\"" id "\",\"call_id\":null,\"execution\":\"server\","  \
    "\"status\":\"completed\",\"arguments\":{\"query\":\"" query "\"}}"
#define FOUND(tools)                                                                               \
    "{\"type\":\"tool_search_output\",\"call_id\":null,\"execution\":\"server\",\"status\":"       \
    "\"completed\",\"tools\":[" tools "]}"
#define BROUGHT(tools)                                                                              \
    "{\"type\":\"tool_search_output\",\"call_id\":\"c\",\"execution\":\"client\",\"tools\":[" tools \
    "]}"
#define USER           "{\"role\":\"user\",\"content\":\"u\"}"
#define CHOICE(choice) ",\"tool_choice\":" choice
#define ALLOWED(tools)                                                                             \
    CHOICE("{\"type\":\"allowed_tools\",\"mode\":\"auto\",\"tools\":[" tools "]}")
#define NAMED(name) "{\"type\":\"function\",\"name\":\"" name "\"}"

static const struct responses_request_options serving = {
    .tools = {.serves[HOSTED_TOOL_SEARCH] = true}};
static const struct request_history nothing = {.n = 0};

/* The names of the tools that are sent, with a space before each. */
static void write_sent(const struct tool_set *set, struct buf *out)
{
    size_t n = 0;

    for (const struct tool *t = set->first; t != NULL; t = t->next) {
        if (!t->sent)
            continue;
        n++;
        buf_char(out, ' ');
        buf_append(out, t->upstream_name);
    }
    assert_int_equal(n, set->n_sent);
}

static void complete(struct fixture *f, const char *body)
{
    if (fixture_complete(f, &serving, str_from_c(body), &nothing, 0) == -1)
        fail_msg("%s (%s) for %s", f->err.msg, f->err.param, body);
}

static void expect_sent(const char *body, const char *names)
{
    struct buf sent = {0};
    struct fixture f;

    complete(&f, body);
    write_sent(&f.request.tools, &sent);
    if (strcmp(buf_cstr(&sent), names) != 0)
        fail_msg("%s: \"%s\" and not \"%s\"", body, buf_cstr(&sent), names);
    buf_fini(&sent);
    fixture_fini(&f);
}

static void tools_wait_where_there_is_a_search(void **state)
{
    static const struct {
        const char *body, *names;
    } cases[] = {
        {BODY(TOOLS, ""), " p tool_search s__q"},
        {BODY(PLAIN("p") "," LATER("a"), ""), " p a"},
        {BODY(PLAIN("p") "," SEARCH, ""), " p"},
        {BODY(SEARCH, ""), ""},
        {BODY(SEARCH "," LATER("tool_search"), ""), " tool_search_2"},
        {BODY(SEARCH "," SERVER(",\"defer_loading\":true"), ""), " tool_search mcp__web__search"},
        {BODY(SEARCH "," SERVER(""), ""),
         " mcp__docs__search mcp__docs__a_b__0123456789 mcp__web__search"},
        {BODY("{\"type\":\"tool_search\",\"execution\":\"client\"}," LATER("a"), ""),
         " tool_search a"},
        {BODY(TOOLS, CHOICE("\"required\"")), " p tool_search s__q"},
        {BODY(TOOLS, CHOICE("{\"type\":\"function\",\"name\":\"b\"}")), " p tool_search b s__q"},
        {BODY(SEARCH "," SERVER(",\"defer_loading\":true"),
              CHOICE("{\"type\":\"mcp\",\"server_label\":\"docs\"}")),
         " tool_search mcp__docs__search mcp__docs__a_b__0123456789 mcp__web__search"},
        {BODY(TOOLS, ALLOWED(NAMED("p") "," NAMED("a") "," SEARCH)), " p tool_search"},
        {BODY(TOOLS, ALLOWED(NAMED("p") "," NAMED("a"))), " p a"},
        {BODY(PLAIN("p") "," SEARCH, CHOICE(SEARCH)), " p tool_search"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        expect_sent(cases[i].body, cases[i].names);
}

static void history_says_what_was_found(void **state)
{
    static const struct {
        const char *body, *names;
    } cases[] = {
        {WITH(TOOLS,
              CALL("tsc_1", "b") "," FOUND(LATER("b")) "," CALL("tsc_2", "x") "," FOUND(
                  SPACE("s", LATER("c"))) "," CALL("tsc_3", "b") "," FOUND(LATER("b")) "," USER),
         " p tool_search s__q b s__c"},
        {WITH(TOOLS, CALL("tsc_1", "x") "," FOUND("") "," USER), " p tool_search s__q"},
        /* What the request does not have any more comes with what was found. */
        {WITH(TOOLS, CALL("tsc_1", "x") "," FOUND(LATER("gone") "," LATER("a")) "," USER),
         " p tool_search s__q gone a"},
        {WITH(SEARCH "," SERVER(",\"defer_loading\":true") "," LATER("a"),
              FOUND(SERVER(",\"allowed_tools\":[\"a.b\",\"no\"]")) "," FOUND(LATER("a")) "," USER),
         " tool_search mcp__web__search mcp__docs__a_b__0123456789 a"},
        /* A server that the request does not have is not brought back by it. */
        {WITH(TOOLS, FOUND(SERVER(",\"allowed_tools\":[\"a.b\"]")) "," USER),
         " p tool_search s__q"},
        {WITH(TOOLS, "{\"type\":\"function_call\",\"call_id\":\"1\",\"name\":\"b\",\"arguments\":"
                     "\"{}\"},{\"type\":\"function_call_output\",\"call_id\":\"1\",\"output\":"
                     "\"o\"}"),
         " p tool_search s__q b"},
        {WITH(TOOLS, "{\"type\":\"function_call\",\"call_id\":\"1\",\"namespace\":\"s\",\"name\":"
                     "\"c\",\"arguments\":\"{}\"}," USER),
         " p tool_search s__q s__c"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        expect_sent(cases[i].body, cases[i].names);
}

static void what_was_found_does_not_define_anew(void **state)
{
    struct fixture f;

    (void)state;
    complete(
        &f,
        WITH(TOOLS,
             FOUND("{\"type\":\"function\",\"name\":\"a\",\"description\":\"Other\"},"
                   "{\"type\":\"function\",\"name\":\"p\",\"description\":\"Other\"}") "," USER));
    assert_str_c(tool_set_find(&f.request.tools, STR("a"))->description, "Does a.");
    assert_str_c(tool_set_find(&f.request.tools, STR("p"))->description, "Does p.");
    assert_str_c(f.request.tools.last->upstream_name, "a");
    fixture_fini(&f);
}

static void model_is_told_what_waits(void **state)
{
    struct fixture f;

    (void)state;
    complete(&f, BODY(TOOLS "," SPACE("t", LATER("c") "," LATER("d")) "," SERVER(
                          ",\"defer_loading\":true,\"server_description\":\"A \\\"b\\\"\""),
                      ""));
    assert_str_c(tool_set_find_hosted(&f.request.tools, HOSTED_TOOL_SEARCH)->description,
                 "Searches further tools, 7 in all, which cannot be called before they are found. "
                 "What is found can be called from then on. They belong to:\\n- s: All of s\\n- t: "
                 "All of t\\n- docs: A \\\"b\\\"");
    fixture_fini(&f);
}

/* ---- what is found */

static const struct tool *named(const struct fixture *f, const char *name)
{
    return tool_set_find(&f->request.tools, str_from_c(name));
}

static void found_tools_are_grouped_loaded_and_written(void **state)
{
    static const char custom[] =
        "{\"type\":\"custom\",\"name\":\"g\",\"defer_loading\":true,\"format\":{\"type\":\"grammar\","
        "\"syntax\":\"lark\",\"definition\":\"x\"}}";
    struct buf json = {0}, list = {0}, sent = {0};
    struct fixture f;
    str text;

    (void)state;
    complete(&f,
             BODY(SEARCH "," SERVER(",\"defer_loading\":true") "," LATER(
                      "a") ","
                           "{\"type\":\"custom\",\"name\":\"g\",\"defer_loading\":true,\"format\":{"
                           "\"type\":\"grammar\",\"syntax\":\"lark\",\"definition\":\"x\"}}," SPACE(
                               "s", LATER("c") "," LATER("d")),
                  ""));
    const struct tool *tools[] = {named(&f, "s__d"), named(&f, "mcp__docs__a_b__0123456789"),
                                  named(&f, "a"),    named(&f, "s__c"),
                                  named(&f, "g"),    named(&f, "mcp__docs__search")};

    tool_found_group(tools, COUNT_OF(tools));
    for (size_t i = 0; i < COUNT_OF(tools); i++)
        tool_defer_load(&f.request.tools, tools[i]);
    tool_defer_load(&f.request.tools, tools[0]); /* again: it stays where it is */
    write_sent(&f.request.tools, &sent);
    assert_string_equal(buf_cstr(&sent), " tool_search mcp__web__search s__d s__c "
                                         "mcp__docs__a_b__0123456789 mcp__docs__search a g");
    tool_found_write(tools, COUNT_OF(tools), &json);
    buf_char(&list, '[');
    buf_append(&list, buf_str(&json));
    buf_char(&list, ']');
    text = tool_found_text(&f.request.tools, buf_str(&list), &f.arena);
    assert_str_c(text, "Found, and can be called now:\\ns__d: Does d.\\ns__c: Does c.\\n"
                       "mcp__docs__a_b__0123456789\\nmcp__docs__search: Finds \\\"it\\\".\\n"
                       "a: Does a.\\ng");
    {
        json_t *tree = json_loads(buf_cstr(&list), 0, NULL);

        assert_json(
            "found", json_array_get(tree, 0),
            "{\"type\":\"namespace\",\"name\":\"s\",\"description\":\"All of s\",\"tools\":[{"
            "\"type\":\"function\",\"name\":\"d\",\"description\":\"Does d.\",\"parameters\":"
            "null,\"strict\":null,\"defer_loading\":true},{\"type\":\"function\",\"name\":"
            "\"c\",\"description\":\"Does c.\",\"parameters\":null,\"strict\":null,"
            "\"defer_loading\":true}]}");
        assert_json("found", json_array_get(tree, 1),
                    "{\"type\":\"mcp\",\"server_label\":\"docs\",\"defer_loading\":true,"
                    "\"allowed_tools\":[\"a.b\",\"search\"]}");
        assert_json("found", json_array_get(tree, 3), custom);
        assert_int_equal(json_array_size(tree), 4);
        json_decref(tree);
    }
    buf_fini(&json);
    buf_fini(&list);
    buf_fini(&sent);
    fixture_fini(&f);
}

/* ---- searches as messages */

#define ASKED(id)                                                                                  \
    "{\"id\":\"" id                                                                                \
    "\",\"type\":\"function\",\"function\":{\"name\":\"tool_search\",\"arguments\":"               \
    "\"{\\\"query\\\":\\\"" id "\\\"}\"}}"
#define SAID(calls)    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" calls "]}"
#define TOLD(id, text) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" text "\"}"
#define HAVE(name)     "Found, and can be called now:\\n" name ": Does " name "."
#define FUNCTION_CALL(n)                                                                           \
    "{\"type\":\"function_call\",\"call_id\":\"" n "\",\"name\":\"f\",\"arguments\":\"{}\"}"
#define OUTPUT(n) "{\"type\":\"function_call_output\",\"call_id\":\"" n "\",\"output\":\"o\"}"
#define CALLED(n)                                                                                  \
    "{\"id\":\"" n "\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}"

static void searches_and_what_they_found_belong_together(void **state)
{
    static const struct {
        const char *claim, *input, *messages;
    } cases[] = {
        {"one after the other",
         CALL("1", "1") "," FOUND(LATER("a")) "," CALL("2", "2") "," FOUND(LATER("b")),
         SAID(ASKED("1")) "," TOLD("1", HAVE("a")) "," SAID(ASKED("2")) "," TOLD("2", HAVE("b"))},
        {"side by side", CALL("1", "1") "," CALL("2", "2") "," FOUND(LATER("a")) "," FOUND(""),
         SAID(ASKED("1") "," ASKED("2")) "," TOLD("1", HAVE("a")) "," TOLD("2", "No tools found.")},
        {"beside a call of the client",
         CALL("1", "1") "," FUNCTION_CALL("f") "," FOUND(LATER("a")) "," OUTPUT("f"),
         SAID(ASKED("1") "," CALLED("f")) "," TOLD("1", HAVE("a")) "," TOLD("f", "o")},
        {"before a call of the client",
         CALL("1", "1") "," FOUND(LATER("a")) "," FUNCTION_CALL("f") "," OUTPUT("f"),
         SAID(ASKED("1")) "," TOLD("1", HAVE("a")) "," SAID(CALLED("f")) "," TOLD("f", "o")},
        {"what the first did not get the second does not miss",
         CALL("1", "1") "," USER "," CALL("2", "2") "," FOUND(LATER("a")),
         SAID(ASKED("1")) "," TOLD("1", "[no output]") "," USER "," SAID(ASKED("2")) "," TOLD(
             "2", HAVE("a"))},
        {"nothing that was not asked for", FOUND(LATER("a")) "," USER, USER},
        {"nothing of a search that was cut off",
         "{\"type\":\"tool_search_call\",\"id\":\"1\",\"status\":\"incomplete\",\"arguments\":{}}," USER,
         USER},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf body = {0}, expected = {0};
        json_t *chat;

        buf_c(&body, "{\"model\":\"m\",\"input\":[");
        buf_c(&body, cases[i].input);
        buf_c(&body, "]}");
        buf_c(&expected, "[");
        buf_c(&expected, cases[i].messages);
        buf_c(&expected, "]");
        chat = chat_of(buf_cstr(&body));
        assert_json(cases[i].claim, json_object_get(chat, "messages"), buf_cstr(&expected));
        json_decref(chat);
        buf_fini(&body);
        buf_fini(&expected);
    }
}

/* They were dropped unread when they were stored, or the request has had other tools then. */
static void stored_searches_cannot_spoil_a_request(void **state)
{
#define BROUGHT(tools)                                                                              \
    "{\"type\":\"tool_search_output\",\"call_id\":\"c\",\"execution\":\"client\",\"tools\":[" tools \
    "]}"
    static const struct request_history_item items[] = {
        {.body = STR("{\"type\":\"tool_search_call\",\"call_id\":5,\"arguments\":{}}")},
        {.body = STR("{\"type\":\"tool_search_output\",\"call_id\":\"c\"}")},
        {.body = STR("{\"type\":\"configuration_update\",\"reasoning\":\"low\"}")},
        {.body = STR(BROUGHT("5," PLAIN("") "," PLAIN("shell") "," PLAIN("late")))},
        {.body = STR(FOUND(SPACE("s", LATER("c")))), .is_output = true},
    };
    static const struct request_history history = {.items = items, .n = COUNT_OF(items)};
    static const char body[] =
        "{\"model\":\"m\",\"input\":\"x\",\"conversation\":\"conv_1\",\"tools\":["
        "{\"type\":\"shell\"}," PLAIN("s__c") "]}";
    struct buf sent = {0};
    struct fixture f;

    (void)state;
    if (fixture_complete(&f, &serving, str_from_c(body), &history, 0) == -1)
        fail_msg("%s (%s)", f.err.msg, f.err.param);
    write_sent(&f.request.tools, &sent);
    assert_string_equal(buf_cstr(&sent), " shell s__c late");
    buf_fini(&sent);
    fixture_fini(&f);
}

/* The same function, in a namespace then and without one now. */
static void what_was_found_gives_way_to_what_is_declared(void **state)
{
    (void)state;
    expect_sent(
        WITH(SEARCH "," PLAIN("s__c") "," LATER("a"), FOUND(SPACE("s", LATER("c"))) "," USER),
        " tool_search s__c");
}

static void memory_may_run_out_anywhere(void **state)
{
    static const char body[] =
        WITH(TOOLS "," SERVER(",\"defer_loading\":true"),
             CALL("1", "1") "," FOUND(
                 SERVER(",\"allowed_tools\":[\"a.b\"]") "," SPACE("s", LATER("c"))));
    size_t limit = 1;
    struct fixture f;

    (void)state;
    for (; fixture_complete(&f, &serving, str_from_c(body), &nothing, limit) == -1; limit += 16) {
        assert_int_equal(f.err.code, ERR_INTERNAL);
        fixture_fini(&f);
    }
    assert_str_c(f.request.tools.last->upstream_name, "s__c");
    fixture_fini(&f);
    assert_true(limit > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools_wait_where_there_is_a_search),
        cmocka_unit_test(history_says_what_was_found),
        cmocka_unit_test(what_was_found_does_not_define_anew),
        cmocka_unit_test(model_is_told_what_waits),
        cmocka_unit_test(found_tools_are_grouped_loaded_and_written),
        cmocka_unit_test(searches_and_what_they_found_belong_together),
        cmocka_unit_test(stored_searches_cannot_spoil_a_request),
        cmocka_unit_test(what_was_found_gives_way_to_what_is_declared),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
