/* test_reasoning_passback.c -- which reasoning goes back to the model, and in which form
 * (CONTRACT 2.4, HARMONY 2.1). */
#include "request_fixture.h"

#define VECTORS "tests/data/harmony/render.json"

#define USER(text)        "{\"role\":\"user\",\"content\":\"" text "\"}"
#define ASSISTANT(text)   "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define SAID(phase, text) "{\"role\":\"assistant\",\"phase\":" phase ",\"content\":\"" text "\"}"
#define COMMENTARY(text)  SAID("\"commentary\"", text)
#define ANSWER(text)      SAID("\"final_answer\"", text)
#define THOUGHT(text)     "{\"type\":\"reasoning\",\"content\":[{\"text\":\"" text "\"}]}"
#define CALL(id)          "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"f\"}"
#define OUTPUT(id)                                                                                 \
    "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":\"o" id "\"}"
#define MCP_CALL(id)                                                                               \
    "{\"type\":\"mcp_call\",\"id\":\"" id "\",\"server_label\":\"d\\u006fcs\",\"name\":\"q\","     \
    "\"output\":\"o\"}"

static void parse_items(struct fixture *f, const struct input_options *input, const char *items)
{
    const struct responses_request_options options = {.input = *input};
    struct buf body = {0};

    buf_c(&body, "{\"model\":\"m\",\"input\":[");
    buf_c(&body, items);
    buf_c(&body, "]}");
    if (fixture_parse_with(f, &options, buf_str(&body), 0) == -1)
        fail_msg("%s for %s", f->err.msg, items);
    buf_fini(&body);
}

static json_t *messages_of(struct fixture *f, const struct chat_request_options *options)
{
    json_t *chat = fixture_chat(f, options);
    json_t *messages = chat == NULL ? NULL : json_incref(json_object_get(chat, "messages"));

    if (messages == NULL)
        fail_msg("%s", f->err.msg);
    json_decref(chat);
    return messages;
}

static void assert_messages(const char *items, const struct input_options *input,
                            const struct chat_request_options *options, const char *expected)
{
    struct buf wanted = {0};
    struct fixture f;
    json_t *messages;

    parse_items(&f, input, items);
    messages = messages_of(&f, options);
    buf_c(&wanted, "[");
    buf_c(&wanted, expected);
    buf_c(&wanted, "]");
    assert_json(items, messages, buf_cstr(&wanted));
    buf_fini(&wanted);
    json_decref(messages);
    fixture_fini(&f);
}

/* ---- the chain of tool calls that is open */

/* The reasoning that is sent, each message's in brackets. */
static void collect_reasoning(const json_t *messages, struct buf *out)
{
    const json_t *message;
    size_t i;

    json_array_foreach(messages, i, message)
    {
        const json_t *text = json_object_get(message, "reasoning_content");

        if (text == NULL)
            continue;
        buf_char(out, '[');
        buf_c(out, json_string_value(text));
        buf_char(out, ']');
    }
}

static void assert_reasoning(const char *items, enum chat_reasoning_history history,
                             const char *expected)
{
    const struct input_options input = {.text_files = false};
    const struct chat_request_options options = {.reasoning_history = history};
    struct buf got = {0};
    struct fixture f;
    json_t *messages;

    parse_items(&f, &input, items);
    messages = messages_of(&f, &options);
    collect_reasoning(messages, &got);
    if (!str_eq(buf_str(&got), str_from_c(expected)))
        fail_msg("%s:\n got      %s\n expected %s", items, buf_cstr(&got), expected);
    buf_fini(&got);
    json_decref(messages);
    fixture_fini(&f);
}

static void reasoning_up_to_the_last_answer_is_closed(void **state)
{
    static const struct {
        const char *items, *all, *open;
    } cases[] = {
        {USER("a"), "", ""},
        {THOUGHT("1") "," CALL("c") "," OUTPUT("c"), "[1]", "[1]"},
        {THOUGHT("1") "," ANSWER("x") "," USER("u"), "[1]", ""},
        {THOUGHT("1") "," ASSISTANT("x") "," USER("u"), "[1]", ""},
        {THOUGHT("1") "," COMMENTARY("x") "," USER("u"), "[1]", "[1]"},
        {THOUGHT("1") "," SAID("\"final\"", "x") "," USER("u"), "[1]", ""},
        {THOUGHT("1") "," SAID("7", "x") "," USER("u"), "[1]", ""},
        {THOUGHT("1") "," SAID("null", "x") "," USER("u"), "[1]", ""},
        {THOUGHT("1") "," ASSISTANT("x") "," CALL("c") "," OUTPUT("c"), "[1]", "[1]"},
        {THOUGHT("1") "," CALL("c") "," ASSISTANT("x") "," OUTPUT("c"), "[1]", "[1]"},
        {THOUGHT("1") "," COMMENTARY("x") "," CALL("c") "," OUTPUT("c"), "[1]", "[1]"},
        {THOUGHT("1") "," ANSWER("x") "," CALL("c") "," OUTPUT("c"), "[1]", ""},
        {THOUGHT("1") "," ANSWER("x") "," THOUGHT("2") "," CALL("c") "," OUTPUT("c"), "[1\n2]",
         "[2]"},
        {THOUGHT("1") "," CALL("c") "," ANSWER("x") "," THOUGHT("2") "," ANSWER("y") "," THOUGHT(
             "3") "," CALL("d") "," OUTPUT("c") "," OUTPUT("d"),
         "[1\n2\n3]", "[3]"},
        {THOUGHT("1") "," CALL("c") "," OUTPUT("c") "," THOUGHT("2") "," COMMENTARY("x") "," ANSWER(
             "y") "," USER("u") "," THOUGHT("3") "," CALL("d") "," OUTPUT("d"),
         "[1][2][3]", "[3]"},
        {THOUGHT("1") "," MCP_CALL("m") "," THOUGHT("2") "," CALL("c") "," OUTPUT("c"), "[1][2]",
         "[1][2]"},
        {THOUGHT("1") "," MCP_CALL("m") "," THOUGHT("2") "," ASSISTANT("x") "," USER("u"), "[1][2]",
         ""},
        {THOUGHT("1") "," CALL("c") "," OUTPUT("c") "," USER("u") "," THOUGHT("2") "," CALL(
             "d") "," OUTPUT("d"),
         "[1][2]", "[1][2]"},
        {"{\"role\":\"user\",\"phase\":\"final_answer\",\"content\":\"u\"}," THOUGHT("1") "," CALL(
             "c") "," OUTPUT("c"),
         "[1]", "[1]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_reasoning(cases[i].items, CHAT_ALL_REASONING, cases[i].all);
        assert_reasoning(cases[i].items, CHAT_OPEN_REASONING, cases[i].open);
    }
}

/* What the vector keeps for the channel `analysis`. */
static void collect_analysis(const json_t *messages, struct buf *out)
{
    const json_t *message;
    size_t i;

    json_array_foreach(messages, i, message)
    {
        const char *channel = json_string_value(json_object_get(message, "channel"));

        if (channel == NULL || strcmp(channel, "analysis") != 0)
            continue;
        buf_char(out, '[');
        buf_c(out, json_string_value(json_object_get(message, "content")));
        buf_char(out, ']');
    }
}

static bool check_vector(const json_t *vector)
{
    const json_t *input = json_object_get(json_object_get(vector, "request"), "input");
    const json_t *wanted = json_object_get(vector, "harmony_messages");
    char *items = json_is_array(input) ? json_dumps(input, 0) : NULL;
    struct buf expected = {0};
    bool has_reasoning = items != NULL && wanted != NULL && strstr(items, "reasoning") != NULL;

    collect_analysis(wanted, &expected);
    if (has_reasoning) {
        items[strlen(items) - 1] = '\0'; /* the list without its brackets */
        assert_reasoning(items + 1, CHAT_OPEN_REASONING, buf_cstr(&expected));
    }
    buf_fini(&expected);
    free(items);
    return has_reasoning;
}

static void the_vectors_keep_the_same_reasoning(void **state)
{
    json_t *file = load_json_file(VECTORS);
    size_t i, n_checked = 0;
    const json_t *vector;

    (void)state;
    json_array_foreach(json_object_get(file, "vectors"), i, vector)
    {
        n_checked += check_vector(vector);
    }
    assert_int_equal(n_checked, 8); /* G009 to G014, G017, G020 */
    json_decref(file);
}

static bool count_questions(void *arg, const struct call *c, struct arena *a, str *ret)
{
    (void)a;
    ++*(size_t *)arg;
    *ret = c->id;
    return true;
}

static void nobody_is_asked_about_reasoning_that_is_not_sent(void **state)
{
    size_t n_asked = 0;
    const struct reasoning_source source = {count_questions, &n_asked};
    const struct chat_request_options options = {.reasoning_source = &source,
                                                 .reasoning_history = CHAT_OPEN_REASONING};
    const struct input_options input = {.text_files = false};
    struct buf got = {0};
    struct fixture f;
    json_t *messages;

    (void)state;
    parse_items(&f, &input,
                CALL("old") "," OUTPUT("old") "," ASSISTANT("x") "," USER("u") "," CALL(
                    "new") "," OUTPUT("new"));
    messages = messages_of(&f, &options);
    collect_reasoning(messages, &got);
    assert_string_equal(buf_cstr(&got), "[new]");
    assert_int_equal(n_asked, 1);
    buf_fini(&got);
    json_decref(messages);
    fixture_fini(&f);
}

/* ---- where the text of an item comes from */

static bool never_close(void *arg, str text, struct buf *out)
{
    (void)arg;
    (void)text;
    (void)out;
    return false;
}

/* What is sealed for us begins with "gw1."; the rest is the text. */
static bool open_ours(void *arg, str sealed, struct arena *a, str *ret)
{
    (void)arg;
    (void)a;
    if (!str_starts_with(sealed, STR("gw1.")))
        return false;
    *ret = str_skip(sealed, 4);
    return true;
}

static bool know_all(void *arg, const struct call *c, struct arena *a, str *ret)
{
    (void)arg;
    (void)c;
    (void)a;
    *ret = STR("cached");
    return true;
}

#define REASONING(members) "{\"type\":\"reasoning\"," members "}," CALL("c") "," OUTPUT("c")
#define CONTENT            "\"content\":[{\"type\":\"reasoning_text\",\"text\":\"own\"}]"
#define SEALED(text)       "\"encrypted_content\":\"" text "\""
#define SUMMARY            "\"summary\":[{\"type\":\"summary_text\",\"text\":\"short\"}]"

static void the_best_known_text_of_an_item_is_sent(void **state)
{
    static const struct text_seal seal = {never_close, open_ours, NULL};
    static const struct reasoning_source cache = {know_all, NULL};
    static const struct {
        const char *items, *expected;
        bool has_seal, has_cache, takes_summary;
    } cases[] = {
        {REASONING(CONTENT "," SEALED("gw1.sealed") "," SUMMARY), "[own]", true, true, true},
        {REASONING("\"content\":[]," SEALED("gw1.sealed") "," SUMMARY), "[sealed]", true, true,
         true},
        {REASONING(
             "\"content\":[{\"type\":\"reasoning_text\",\"text\":\"\"}]," SEALED("gw1.sealed")),
         "[sealed]", true, false, false},
        {REASONING("\"content\":[{\"type\":\"reasoning_text\",\"text\":\"\"}]"), "", true, false,
         false},
        {REASONING("\"content\":null," SEALED("gw1.sea\\u006ced")), "[sealed]", true, false, false},
        {REASONING(SEALED("gw1.a\\\\nb")), "[a\nb]", true, false, false},
        {REASONING(SEALED("gw1.sealed") "," SUMMARY), "[cached]", false, true, true},
        {REASONING(SEALED("gAAAforeign") "," SUMMARY), "[cached]", true, true, true},
        {REASONING(SEALED("gAAAforeign") "," SUMMARY), "[short]", true, false, true},
        {REASONING(SEALED("gAAAforeign") "," SUMMARY), "", true, false, false},
        {REASONING("\"encrypted_content\":7"), "", true, false, false},
        {REASONING("\"encrypted_content\":{\"a\":1}"), "", true, false, false},
        {REASONING(SEALED("")), "", true, false, false},
        {REASONING("\"content\":[{\"type\":\"summary_text\",\"text\":\"short\"},{\"type\":"
                   "\"reasoning_text\",\"text\":\"own\"},{\"text\":\"ed\"}]"),
         "[owned]", false, false, true},
        {REASONING(CONTENT) "," REASONING(SUMMARY), "[own][short]", false, false, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct input_options input = {.seal = cases[i].has_seal ? &seal : NULL,
                                            .reasoning_from_summary = cases[i].takes_summary};
        const struct chat_request_options options = {.reasoning_source =
                                                         cases[i].has_cache ? &cache : NULL};
        struct buf got = {0};
        struct fixture f;
        json_t *messages;

        parse_items(&f, &input, cases[i].items);
        messages = messages_of(&f, &options);
        collect_reasoning(messages, &got);
        if (!str_eq(buf_str(&got), str_from_c(cases[i].expected)))
            fail_msg("%s: got %s, not %s", cases[i].items, buf_cstr(&got), cases[i].expected);
        buf_fini(&got);
        json_decref(messages);
        fixture_fini(&f);
    }
}

/* ---- its form */

#define TAGS                  .think_open = STR_INIT("<think>\n"), .think_close = STR_INIT("\n</think>\n\n")
#define SAYS(content, fields) "{\"role\":\"assistant\",\"content\":" content fields "}"
#define CALLS(calls)          ",\"tool_calls\":[" calls "]"
#define SENT(id)                                                                                   \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":"         \
    "\"{}\"}}"
#define TOOL(id)       "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"o" id "\"}"
#define FIELD_C(text)  ",\"reasoning_content\":\"" text "\""
#define FIELD_R(text)  ",\"reasoning\":\"" text "\""
#define TAGGED(t, say) "\"<think>\\n" t "\\n</think>\\n\\n" say "\""

/* An answer, then a chain of two rounds that is open; the first has two calls. */
#define HISTORY USER("q") "," THOUGHT("r0") "," ASSISTANT("x") "," USER("u")
#define CHAIN                                                                                      \
    THOUGHT("r1")                                                                                  \
    "," COMMENTARY("t") "," CALL("1") "," CALL("2") "," OUTPUT("1") "," OUTPUT("2") "," THOUGHT(   \
        "r2") "," CALL("3") "," OUTPUT("3")
#define BOTH_CALLS CALLS(SENT("1") "," SENT("2")) "}," TOOL("1") "," TOOL("2")

static void every_policy_has_its_field_and_no_other(void **state)
{
#define EXPECT(answer, first, second)                                                              \
    USER("q")                                                                                      \
    "," answer "," USER("u") ",{\"role\":\"assistant\",\"content\":" first BOTH_CALLS              \
                             ",{\"role\":\"assistant\",\"content\":" second                        \
                             CALLS(SENT("3")) "}," TOOL("3")
    static const struct {
        struct chat_request_options options;
        const char *expected;
    } cases[] = {
        {{.reasoning_field = CHAT_REASONING_CONTENT},
         EXPECT(SAYS("\"x\"", FIELD_C("r0")), "\"t\"" FIELD_C("r1"), "null" FIELD_C("r2"))},
        {{.reasoning_field = CHAT_REASONING},
         EXPECT(SAYS("\"x\"", FIELD_R("r0")), "\"t\"" FIELD_R("r1"), "null" FIELD_R("r2"))},
        {{.reasoning_field = CHAT_BOTH_REASONING_FIELDS},
         EXPECT(SAYS("\"x\"", FIELD_C("r0") FIELD_R("r0")), "\"t\"" FIELD_C("r1") FIELD_R("r1"),
                "null" FIELD_C("r2") FIELD_R("r2"))},
        {{.reasoning_field = CHAT_REASONING_IN_TAGS, TAGS},
         EXPECT(SAYS(TAGGED("r0", "x"), ""), TAGGED("r1", "t"), TAGGED("r2", ""))},
        {{.reasoning_field = CHAT_NO_REASONING}, EXPECT(SAYS("\"x\"", ""), "\"t\"", "null")},
        {{.reasoning_field = CHAT_REASONING_CONTENT, .reasoning_history = CHAT_OPEN_REASONING},
         EXPECT(SAYS("\"x\"", ""), "\"t\"" FIELD_C("r1"), "null" FIELD_C("r2"))},
        {{.reasoning_field = CHAT_REASONING, .reasoning_history = CHAT_OPEN_REASONING},
         EXPECT(SAYS("\"x\"", ""), "\"t\"" FIELD_R("r1"), "null" FIELD_R("r2"))},
        {{.reasoning_field = CHAT_BOTH_REASONING_FIELDS, .reasoning_history = CHAT_OPEN_REASONING},
         EXPECT(SAYS("\"x\"", ""), "\"t\"" FIELD_C("r1") FIELD_R("r1"),
                "null" FIELD_C("r2") FIELD_R("r2"))},
        {{.reasoning_field = CHAT_REASONING_IN_TAGS,
          .reasoning_history = CHAT_OPEN_REASONING,
          TAGS},
         EXPECT(SAYS("\"x\"", ""), TAGGED("r1", "t"), TAGGED("r2", ""))},
        {{.reasoning_field = CHAT_NO_REASONING, .reasoning_history = CHAT_OPEN_REASONING},
         EXPECT(SAYS("\"x\"", ""), "\"t\"", "null")},
    };
    const struct input_options input = {.text_files = false};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_messages(HISTORY "," CHAIN, &input, &cases[i].options, cases[i].expected);
#undef EXPECT
}

static void tags_stand_in_front_of_parts_too(void **state)
{
    const struct input_options input = {.text_files = false};
    const struct chat_request_options options = {.reasoning_field = CHAT_REASONING_IN_TAGS, TAGS};

    (void)state;
    assert_messages(
        THOUGHT("a") "," THOUGHT("\\\"b") ",{\"role\":\"assistant\",\"content\":[{"
                                          "\"type\":\"input_image\",\"image_url\":"
                                          "\"i\"}]}," USER("u"),
        &input, &options,
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"<think>"
        "\\na\\n\\\"b\\n</think>\\n\\n\"},{\"type\":\"image_url\",\"image_url\":{\"url\":"
        "\"i\"}}]}," USER("u"));
}

static void a_single_call_is_followed_by_its_output(void **state)
{
    static const struct {
        const char *items, *expected;
        struct chat_request_options options;
    } cases[] = {
        {CHAIN,
         SAYS("null", FIELD_C("r1") CALLS(SENT("1"))) "," TOOL("1") "," SAYS(
             "null", CALLS(SENT("2"))) "," TOOL("2") "," SAYS("null",
                                                              FIELD_C("r2")
                                                                  CALLS(SENT("3"))) "," TOOL("3"),
         {.call_messages = CHAT_CALLS_SINGLE}},
        {CHAIN,
         SAYS("\"t\"", CALLS(SENT("1"))) "," TOOL("1") "," SAYS("null", CALLS(SENT("2"))) "," TOOL(
             "2") "," SAYS("null", CALLS(SENT("3"))) "," TOOL("3"),
         {.call_messages = CHAT_CALLS_SINGLE, .reasoning_field = CHAT_NO_REASONING}},
        {CHAIN,
         SAYS(TAGGED("r1", ""), CALLS(SENT("1"))) "," TOOL("1") "," SAYS(
             "\"\"", CALLS(SENT("2"))) "," TOOL("2") "," SAYS(TAGGED("r2", ""),
                                                              CALLS(SENT("3"))) "," TOOL("3"),
         {.call_messages = CHAT_CALLS_SINGLE,
          .reasoning_field = CHAT_REASONING_IN_TAGS,
          .empty_content = CHAT_CONTENT_EMPTY,
          TAGS}},
        {THOUGHT("r") "," ASSISTANT("x") "," USER("u"),
         SAYS("\"x\"", FIELD_C("r")) "," USER("u"),
         {.call_messages = CHAT_CALLS_SINGLE}},
        {THOUGHT("r") "," ANSWER("x") "," THOUGHT("s") "," CALL("1"),
         SAYS("\"x\"", "") "," SAYS("null", FIELD_C("s") CALLS(SENT("1"))),
         {.call_messages = CHAT_CALLS_SINGLE, .reasoning_history = CHAT_OPEN_REASONING}},
        {USER("u") "," ASSISTANT("x") "," CALL("1") "," CALL("2"),
         USER("u") "," SAYS("\"x\"", CALLS(SENT("1"))) "," SAYS("null", CALLS(SENT("2"))),
         {.call_messages = CHAT_CALLS_SINGLE}},
    };
    const struct input_options input = {.text_files = false};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_messages(cases[i].items, &input, &cases[i].options, cases[i].expected);
}

/* ---- what the conversation tells who writes a prompt of its own */

static void texts_keep_their_phase_and_calls_their_server(void **state)
{
    const struct input_options input = {.text_files = false};
    const struct chat_request_options options = {.short_call_ids = false};
    const struct message *m;
    struct conversation c;
    struct fixture f;

    (void)state;
    parse_items(
        &f, &input,
        COMMENTARY("a") "," SAID("\"other\"", "b") "," ANSWER("c") "," MCP_CALL("m") "," CALL("n"));
    assert_int_equal(chat_request_conversation(&f.request, &options, &f.ids, &f.arena, &c, &f.err),
                     0);
    m = c.body;
    assert_int_equal(m->texts.first->phase, PHASE_COMMENTARY);
    assert_int_equal(m->texts.first->next->phase, PHASE_NONE);
    assert_int_equal(m->texts.last->phase, PHASE_FINAL_ANSWER);
    assert_true(str_eq(m->first_call->server_label, STR("d\\u006fcs")));
    assert_true(str_eq(m->first_call->tool_name, STR("q")));
    assert_true(str_is_none(m->last_call->server_label));
    assert_true(str_is_none(m->last_call->tool_name));
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasoning_up_to_the_last_answer_is_closed),
        cmocka_unit_test(the_vectors_keep_the_same_reasoning),
        cmocka_unit_test(nobody_is_asked_about_reasoning_that_is_not_sent),
        cmocka_unit_test(the_best_known_text_of_an_item_is_sent),
        cmocka_unit_test(every_policy_has_its_field_and_no_other),
        cmocka_unit_test(tags_stand_in_front_of_parts_too),
        cmocka_unit_test(a_single_call_is_followed_by_its_output),
        cmocka_unit_test(texts_keep_their_phase_and_calls_their_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
