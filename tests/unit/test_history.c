/* test_history.c -- histories that servers and their chat templates refuse, and what becomes of them. */
#include "request_fixture.h"

#define USER(text)      "{\"role\":\"user\",\"content\":\"" text "\"}"
#define SYSTEM(text)    "{\"role\":\"system\",\"content\":\"" text "\"}"
#define ASSISTANT(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define THOUGHT(text)   "{\"type\":\"reasoning\",\"content\":[{\"text\":\"" text "\"}]}"
#define IMAGE           "{\"type\":\"input_image\",\"image_url\":\"i\"}"
#define CALL_OF(id, arguments, more)                                                               \
    "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"f\",\"arguments\":\"" arguments \
    "\"" more "}"
#define CUT      ",\"status\":\"incomplete\""
#define CALL(id) CALL_OF(id, "{}", "")
#define OUTPUT(id, value)                                                                          \
    "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":" value "}"

#define SENT(id, arguments)                                                                        \
    "{\"id\":\"" id                                                                                \
    "\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"" arguments "\"}}"
#define CALLS(calls)   "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" calls "]}"
#define TOOL(id, text) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" text "\"}"
#define PART(text)     "{\"type\":\"text\",\"text\":\"" text "\"}"
#define PICTURE        "{\"type\":\"image_url\",\"image_url\":{\"url\":\"i\"}}"
#define PARTS(parts)   "{\"role\":\"user\",\"content\":[" parts "]}"
#define NOTE                                                                                       \
    "[The arguments of this call were cut off or no valid JSON object. They are left out here.]"

struct history {
    const char *claim, *items, *messages;
    unsigned n_repairs;
};

/* The messages that a request with these items and instructions becomes. */
static void check_history(const struct history *h, const char *instructions,
                          struct chat_request_options options)
{
    struct history_repairs repairs = {.n = 0};
    struct buf body = {0}, expected = {0};
    struct fixture f;
    json_t *chat;

    buf_c(&body, "{\"model\":\"m\",");
    buf_c(&body, instructions);
    buf_c(&body, "\"input\":[");
    buf_c(&body, h->items);
    buf_c(&body, "]}");
    buf_c(&expected, "[");
    buf_c(&expected, h->messages);
    buf_c(&expected, "]");
    assert_int_equal(fixture_parse(&f, buf_str(&body), 0), 0);
    options.repairs = &repairs;
    chat = fixture_chat(&f, &options);
    assert_json(h->claim, json_object_get(chat, "messages"), buf_cstr(&expected));
    if (repairs.n != h->n_repairs || (repairs.last == NULL) != (repairs.n == 0))
        fail_msg("%s: %u repairs", h->claim, repairs.n);
    json_decref(chat);
    fixture_fini(&f);
    buf_fini(&body);
    buf_fini(&expected);
}

static void check_histories(const struct history *list, size_t n, const char *instructions,
                            const struct chat_request_options *options)
{
    for (size_t i = 0; i < n; i++)
        check_history(&list[i], instructions, *options);
}

#define CHECK(list, instructions, ...)                                                             \
    check_histories(list, sizeof(list) / sizeof(*(list)), instructions,                            \
                    &(const struct chat_request_options){__VA_ARGS__})

/* ---- calls that no server takes back */

static void a_broken_call_is_left_out_or_explained(void **state)
{
    static const struct history list[] = {
        {"a call that was cut off and not answered is left out",
         USER("u") "," CALL_OF("1", "{\\\"a", CUT) "," USER("v"), USER("u") "," USER("v"), 1},
        {"one whose arguments are complete as well",
         USER("u") "," CALL_OF("1", "{}", CUT) "," USER("v"), USER("u") "," USER("v"), 1},
        {"one that says nothing of being cut off as well",
         USER("u") "," CALL_OF("1", "{\\\"a", "") "," USER("v"), USER("u") "," USER("v"), 1},
        {"a custom call is cut off by its status alone",
         USER(
             "u") ",{\"type\":\"custom_tool_call\",\"call_id\":\"1\",\"name\":\"f\",\"input\":\"x\"" CUT
                  "}," USER("v"),
         USER("u") "," USER("v"), 1},
        {"at the end it is left out, too", USER("u") "," CALL_OF("1", "{\\\"a", CUT), USER("u"), 1},
        {"and when it was all there was", CALL_OF("1", "{\\\"a", CUT), USER(""), 1},
        {"what was said before stays",
         USER("u") "," ASSISTANT("t") "," CALL_OF("1", "{\\\"a", CUT) "," USER("v"),
         USER("u") "," ASSISTANT("t") "," USER("v"), 1},
        {"what was thought before goes with it",
         USER("u") "," THOUGHT("r") "," CALL_OF("1", "{\\\"a", CUT) "," USER("v"),
         USER("u") "," USER("v"), 1},
        {"a call beside it stays, and keeps its output",
         USER("u") "," CALL("1") "," CALL_OF("2", "{\\\"a", CUT) "," OUTPUT("1", "\"o\""),
         USER("u") "," CALLS(SENT("1", "{}")) "," TOOL("1", "o"), 1},
        {"a call beside it stays open", USER("u") "," CALL_OF("1", "{\\\"a", CUT) "," CALL("2"),
         USER("u") "," CALLS(SENT("2", "{}")), 1},
        {"an answered one has no arguments, and its output says why",
         USER("u") "," CALL_OF("1", "not json", "") "," OUTPUT("1", "\"o\""),
         USER("u") "," CALLS(SENT("1", "{}")) "," TOOL("1", NOTE "\\no"), 1},
        {"so has one that was cut off",
         USER("u") "," CALL_OF("1", "{\\\"a", CUT) "," OUTPUT("1", "\"o\""),
         USER("u") "," CALLS(SENT("1", "{}")) "," TOOL("1", NOTE "\\no"), 1},
        {"an output without text is explained", CALL_OF("1", "[1]", "") "," OUTPUT("1", "\"\""),
         CALLS(SENT("1", "{}")) "," TOOL("1", NOTE "\\n"), 1},
        {"an image of an output stays",
         CALL_OF("1", "\\\"x\\\"", "") "," OUTPUT("1", "[" IMAGE "]"),
         CALLS(SENT("1", "{}")) "," TOOL("1", NOTE) "," PARTS(PICTURE), 1},
        {"arguments of an orphan are looked at as well",
         "{\"type\":\"function_call_output\",\"call_id\":\"1\",\"name\":\"f\",\"arguments\":\"{\","
         "\"output\":\"o\"}",
         CALLS(SENT("1", "{}")) "," TOOL("1", NOTE "\\no"), 1},
        {"a hosted call that failed for its arguments is explained",
         "{\"type\":\"mcp_call\",\"id\":\"1\",\"name\":\"f\",\"arguments\":\"{\\\"a\",\"error\":\"e\"}," USER(
             "u"),
         CALLS(SENT("1", "{}")) "," TOOL("1", NOTE "\\nError: e") "," USER("u"), 1},
        {"a hosted call without output is left out",
         "{\"type\":\"mcp_call\",\"id\":\"1\",\"name\":\"f\",\"arguments\":\"{\\\"a\"}," USER("u"),
         USER("u"), 1},
        {"a call that nobody answered has an output", USER("u") "," CALL("1") "," USER("v"),
         USER("u") "," CALLS(SENT("1", "{}")) "," TOOL("1", "[no output]") "," USER("v"), 1},
        {"of two outputs the first counts",
         CALL("1") "," OUTPUT("1", "\"a\"") "," OUTPUT("1", "\"b\""),
         CALLS(SENT("1", "{}")) "," TOOL("1", "a"), 1},
        {"an output that says which call it is of lacks nothing",
         "{\"type\":\"function_call_output\",\"call_id\":\"1\",\"name\":\"f\",\"output\":\"o\"}",
         CALLS(SENT("1", "{}")) "," TOOL("1", "o"), 0},
        {"nothing is no mistake",
         CALL_OF("1", "", "") "," OUTPUT("1", "\"a\"") "," CALL_OF("2", " null\\n",
                                                                   "") "," OUTPUT("2", "\"b\""),
         CALLS(SENT("1", "{}")) "," TOOL("1", "a") "," CALLS(SENT("2", "{}")) "," TOOL("2", "b"),
         0},
        {"an object stays as it is written",
         CALL_OF("1", " {\\\"a\\\" : \\\"\\\\u00e4\\\"}", "") "," OUTPUT("1", "\"a\""),
         CALLS(SENT("1", " {\\\"a\\\" : \\\"\\\\u00e4\\\"}")) "," TOOL("1", "a"), 0},
    };

    (void)state;
    CHECK(list, "", .short_call_ids = false);
}

static void an_open_call_that_is_answered_later_changes_nothing_before_it(void **state)
{
    static const struct history list[] = {
        {"before", USER("u") "," CALL_OF("1", "{", CUT) "," USER("v"), USER("u") "," USER("v"), 1},
        {"after",
         USER("u") "," CALL_OF("1", "{", CUT) "," USER("v") "," CALL("2") "," OUTPUT("2", "\"o\""),
         USER("u") "," USER("v") "," CALLS(SENT("2", "{}")) "," TOOL("2", "o"), 1},
    };

    (void)state;
    CHECK(list, "", .short_call_ids = false);
}

/* ---- roles in turn */

static void user_and_assistant_take_turns(void **state)
{
    static const struct history list[] = {
        {"what is in turn stays as it is", USER("u") "," ASSISTANT("a") "," USER("v"),
         USER("u") "," ASSISTANT("a") "," USER("v"), 0},
        {"neighbours become one", USER("a") "," USER("b") "," USER("c"), USER("a\\n\\nb\\n\\nc"),
         2},
        {"an image keeps its place",
         USER(
             "a") ",{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"b\"}," IMAGE
                  "]}," USER("c"),
         PARTS(PART("a") "," PART("\\n\\nb") "," PICTURE "," PART("c")), 2},
        {"texts stay with their images",
         USER("a") ",{\"role\":\"user\",\"content\":[" IMAGE
                   ",{\"type\":\"input_text\",\"text\":\"b\"}," IMAGE
                   ",{\"type\":\"input_text\",\"text\":\"c\"}]}",
         PARTS(PART("a") "," PICTURE "," PART("b") "," PICTURE "," PART("c")), 1},
        {"nothing needs no line", USER("") "," USER("a") "," USER(""), USER("a"), 2},
        {"an empty answer is none", USER("u") "," ASSISTANT("") "," USER("v"), USER("u\\n\\nv"), 2},
        {"of system messages alone there is an empty one", SYSTEM("s"), SYSTEM("s") "," USER(""),
         0},
        {"a name may be written with escapes", "{\"ro\\u006ce\":\"user\",\"content\":\"a\"}",
         USER("a"), 0},
        {"when all answers are empty there is a question all the same", ASSISTANT(""),
         USER("[no question]"), 2},
        {"who speaks first is the user", ASSISTANT("a") "," USER("u"),
         USER("[no question]") "," ASSISTANT("a") "," USER("u"), 1},
        {"after calls the user does not go on",
         USER("u") "," CALL("1") "," OUTPUT("1", "\"o\"") "," USER("v"),
         USER("u") "," CALLS(SENT("1", "{}")) "," TOOL("1", "o") "," ASSISTANT(
             "[no answer]") "," USER("v"),
         1},
        {"nor after one without output", USER("u") "," CALL("1") "," USER("v"),
         USER("u") "," CALLS(SENT("1", "{}")) "," TOOL("1", "[no output]") "," ASSISTANT(
             "[no answer]") "," USER("v"),
         2},
        {"nor do images of an output", USER("u") "," CALL("1") "," OUTPUT("1", "[" IMAGE "]"),
         USER("u") "," CALLS(SENT("1", "{}")) "," TOOL("1", "") "," ASSISTANT(
             "[no answer]") "," PARTS(PICTURE),
         1},
        {"an assistant that answers after calls is in turn",
         USER("u") "," CALL("1") "," OUTPUT("1", "\"o\"") "," ASSISTANT("a") "," USER("v"),
         USER("u") "," CALLS(SENT("1", "{}")) "," TOOL("1", "o") "," ASSISTANT("a") "," USER("v"),
         0},
        {"two answers have a question between them",
         USER("u") "," ASSISTANT("a") "," OUTPUT("1", "\"o\"") "," ASSISTANT("b"),
         USER("u") "," ASSISTANT(
             "a") ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{"
                  "\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"unknown_tool\","
                  "\"arguments\":\"{}\"}}]}," TOOL("1", "o") "," USER(
                      "[no question]") "," ASSISTANT("b"),
         2},
        {"a late system message is said by the user", USER("u") "," SYSTEM("s") "," USER("v"),
         USER("u\\n\\ns\\n\\nv"), 3},
    };

    (void)state;
    CHECK(list, "", .role_order = CHAT_ALTERNATE, .late_system_as_user = true);
}

static void the_user_may_only_have_to_be_first(void **state)
{
    static const struct history list[] = {
        {"an assistant", ASSISTANT("a") "," USER("u") "," USER("v"),
         USER("[no question]") "," ASSISTANT("a") "," USER("u") "," USER("v"), 1},
        {"a call", CALL("1") "," OUTPUT("1", "\"o\""),
         USER("[no question]") "," CALLS(SENT("1", "{}")) "," TOOL("1", "o"), 1},
        {"the user", USER("u") "," CALL("1"), USER("u") "," CALLS(SENT("1", "{}")), 0},
    };

    (void)state;
    CHECK(list, "", .role_order = CHAT_USER_FIRST);
}

static void images_that_a_tool_message_takes_are_not_the_users(void **state)
{
    static const struct history list[] = {
        {"images in tool messages",
         USER("u") "," CALL("1") "," OUTPUT("1", "[" IMAGE "]") "," ASSISTANT("a") "," USER("v"),
         USER("u") "," CALLS(
             SENT("1", "{}")) ",{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":[" PICTURE
                              "]}," ASSISTANT("a") "," USER("v"),
         0},
    };

    (void)state;
    CHECK(list, "", .role_order = CHAT_ALTERNATE, .images_in_tool = true);
}

/* A conversation that grows keeps its beginning, byte by byte, and with it the server's cache. */
static void the_beginning_stays_when_a_conversation_grows(void **state)
{
    static const char *const items[] = {
        USER("a"),
        USER("b"),
        CALL("1"),
        OUTPUT("1", "\"o\""),
        USER("c"),
        SYSTEM("s"),
        ASSISTANT("x"),
        CALL("2"),
        OUTPUT("2", "[" IMAGE "]"),
        ASSISTANT("y"),
        USER("d"),
        CALL_OF("3", "{", CUT),
        USER("e"),
        ASSISTANT("z"),
    };
    /* Where an item belongs to the message of the one before, that message grows. */
    static const bool joins[] = {false, true,  false, false, false, true, false,
                                 true,  false, false, false, false, true, false};
    struct chat_request_options options = {.role_order = CHAT_ALTERNATE,
                                           .late_system_as_user = true};
    struct buf input = {0}, last = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++) {
        struct buf body = {0}, out = {0};
        struct conversation c;
        struct fixture f;
        str text;

        if (i > 0)
            buf_c(&input, ",");
        buf_c(&input, items[i]);
        buf_c(&body, "{\"model\":\"m\",\"input\":[");
        buf_append(&body, buf_str(&input));
        buf_c(&body, "]}");
        assert_int_equal(fixture_parse(&f, buf_str(&body), 0), 0);
        assert_int_equal(
            chat_request_conversation(&f.request, &options, &f.ids, &f.arena, &c, &f.err), 0);
        assert_int_equal(chat_request_write(&f.request, &c, &options, &out, &f.err), 0);
        text = buf_str(&out);
        text.len = str_find(text, STR("],\"stream\""));
        if (i > 0 && !joins[i] && !str_starts_with(text, buf_str(&last)))
            fail_msg("item %zu changes what was before: %.*s", i, STR_ARG(text));
        buf_reset(&last);
        buf_append(&last, text);
        fixture_fini(&f);
        buf_fini(&body);
        buf_fini(&out);
    }
    buf_fini(&input);
    buf_fini(&last);
}

/* ---- templates that know two roles */

#define TEXT_CALL         "<tool_call>\\n{\\\"name\\\": \\\"f\\\", \\\"arguments\\\": {}}\\n</tool_call>"
#define TEXT_OUTPUT(text) "<tool_response>\\n" text "\\n</tool_response>"

static void calls_and_outputs_may_be_text(void **state)
{
    static const struct history in_turn[] = {
        {"a call and what came back",
         USER("u") "," ASSISTANT("t") "," CALL("1") "," OUTPUT("1", "\"o\"") "," ASSISTANT("a"),
         USER("u") "," ASSISTANT("t\\n" TEXT_CALL) "," USER(TEXT_OUTPUT("o")) "," ASSISTANT("a"),
         0},
        {"calls at once",
         USER("u") "," CALL("1") "," CALL("2") "," OUTPUT("2", "\"p\"") "," OUTPUT("1", "\"o\""),
         USER("u") "," ASSISTANT(TEXT_CALL "\\n" TEXT_CALL) "," USER(
             TEXT_OUTPUT("o") "\\n\\n" TEXT_OUTPUT("p")),
         0},
        {"the user goes on in the same message",
         USER("u") "," CALL("1") "," OUTPUT("1", "\"o\"") "," USER("v"),
         USER("u") "," ASSISTANT(TEXT_CALL) "," USER(TEXT_OUTPUT("o") "\\n\\nv"), 0},
        {"without an output", USER("u") "," CALL("1") "," USER("v"),
         USER("u") "," ASSISTANT(TEXT_CALL) "," USER(TEXT_OUTPUT("[no output]") "\\n\\nv"), 1},
        {"images of an output", CALL("1") "," OUTPUT("1", "[" IMAGE "]"),
         USER("[no question]") "," ASSISTANT(TEXT_CALL) "," PARTS(
             PART(TEXT_OUTPUT("")) "," PICTURE),
         1},
        {"an open call", USER("u") "," CALL("1"), USER("u") "," ASSISTANT(TEXT_CALL), 0},
        {"a broken call", USER("u") "," CALL_OF("1", "{", "") "," OUTPUT("1", "\"o\""),
         USER("u") "," ASSISTANT(TEXT_CALL) "," USER(TEXT_OUTPUT(NOTE "\\no")), 1},
    };
    static const struct history any_order[] = {
        {"the user's message is another one",
         USER("u") "," CALL("1") "," OUTPUT("1", "\"o\"") "," USER("v"),
         USER("u") "," ASSISTANT(TEXT_CALL) "," USER(TEXT_OUTPUT("o")) "," USER("v"), 0},
    };

    (void)state;
    CHECK(in_turn, "", .call_messages = CHAT_CALLS_TEXT, .role_order = CHAT_ALTERNATE);
    CHECK(in_turn, "", .call_messages = CHAT_CALLS_TEXT, .role_order = CHAT_ALTERNATE,
          .images_in_tool = true);
    CHECK(any_order, "", .call_messages = CHAT_CALLS_TEXT);
}

static void instructions_may_be_said_by_the_user(void **state)
{
    static const struct history list[] = {
        {"in front of what is said first", SYSTEM("s") "," USER("u") "," ASSISTANT("a"),
         USER("i\\n\\ns\\n\\nu") "," ASSISTANT("a"), 0},
        {"of parts", "{\"role\":\"user\",\"content\":[" IMAGE "]}", PARTS(PART("i") "," PICTURE),
         0},
        {"alone, if the assistant begins", ASSISTANT("a") "," USER("u"),
         USER("i") "," ASSISTANT("a") "," USER("u"), 0},
        {"and so are late system messages", USER("u") "," ASSISTANT("a") "," SYSTEM("s"),
         USER("i\\n\\nu") "," ASSISTANT("a") "," USER("s"), 1},
    };

    (void)state;
    CHECK(list, "\"instructions\":\"i\",", .system_role = CHAT_USER_ROLE,
          .role_order = CHAT_ALTERNATE);
    CHECK(list, "\"instructions\":\"i\",", .system_role = CHAT_USER_ROLE);
}

/* ---- tools */

static void what_is_not_described_may_be_described_as_nothing(void **state)
{
    struct chat_request_options options = {.describes_all_tools = true};
    struct fixture f;
    json_t *chat;

    (void)state;
    assert_int_equal(
        fixture_parse(
            &f,
            STR("{\"model\":\"m\",\"input\":\"u\",\"tools\":[{\"type\":\"function\",\"name\":"
                "\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":"
                "{\"type\":\"object\",\"properties\":{\"c\":{}}},\"d\":{\"description\":\"x\"},"
                "\"e\":true},\"required\":[\"a\"]}},{\"type\":\"function\",\"name\":\"g\"}]}"),
            0),
        0);
    chat = fixture_chat(&f, &options);
    assert_json(
        "described", json_object_get(chat, "tools"),
        "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":\"\",\"parameters\":"
        "{\"type\":\"object\",\"properties\":{\"a\":{\"description\":\"\"},\"b\":{\"type\":"
        "\"object\",\"properties\":{\"c\":{}},\"description\":\"\"},\"d\":{\"description\":\"x\"},"
        "\"e\":true},\"required\":[\"a\"]}}},{\"type\":\"function\",\"function\":{\"name\":\"g\","
        "\"description\":\"\",\"parameters\":{\"type\":\"object\",\"properties\":{}}}}]");
    json_decref(chat);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_call_is_left_out_or_explained),
        cmocka_unit_test(an_open_call_that_is_answered_later_changes_nothing_before_it),
        cmocka_unit_test(user_and_assistant_take_turns),
        cmocka_unit_test(the_user_may_only_have_to_be_first),
        cmocka_unit_test(images_that_a_tool_message_takes_are_not_the_users),
        cmocka_unit_test(the_beginning_stays_when_a_conversation_grows),
        cmocka_unit_test(calls_and_outputs_may_be_text),
        cmocka_unit_test(instructions_may_be_said_by_the_user),
        cmocka_unit_test(what_is_not_described_may_be_described_as_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
