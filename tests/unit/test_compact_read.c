/* test_compact_read.c -- compaction items among all that a request may have (CONTRACT 13.8). */
#include "compact_fixture.h"

#include "resolve_fixture.h"

#define ITEM(sealed) "{\"type\":\"compaction\",\"encrypted_content\":\"" sealed "\"}"
#define FRAME                                                                                      \
    "[The conversation up to here was replaced by this summary, which you wrote. The user's "      \
    "messages above it are\\ntheirs. Go on from it without mentioning it.]\\n\\n"
#define NOTE                                                                                       \
    "[An earlier part of this conversation was summarized by another service and cannot be read "  \
    "here.]"
#define REQUEST(items) "{\"model\":\"m\"," INPUT(items) "}"

/* What is inside of items, by encrypted_content. */
static const char inside[] =
    "{\"S\":{\"v\":1,\"k\":\"s\",\"t\":\"sum\"},"
    "\"T\":{\"v\":1,\"k\":\"s\",\"t\":\"sum2\"},"
    "\"ENDPOINT\":{\"v\":1,\"k\":\"s\",\"t\":\"sum\",\"b\":[" USER(
        "kept") "]},"
                "\"W\":{\"v\":1,\"k\":\"w\",\"t\":\"all\",\"b\":[" USER("kept") "],\"a\":[" USER(
                    "open") "," CALL "," OUTPUT "]},"
                            "\"EMPTY\":{\"v\":1,\"k\":\"w\",\"t\":\"\"},"
                            "\"NESTED\":{\"v\":1,\"k\":\"w\",\"t\":\"n\",\"b\":[" ITEM("S") "," REFERENCE(
                                "x") ",{\"type\":\"compaction_trigger\"},{\"type\":\"of_the_future\"}],"
                                     "\"a\":[" ITEM("NESTED") "," USER(
                                         "y") "]},"
                                              "\"BROKEN\":{\"v\":1,\"k\":\"w\",\"t\":\"n\",\"b\":[{\"type\":\"message\"}]},"
                                              "\"LIST\":{\"v\":1,\"k\":\"w\",\"t\":\"n\",\"b\":{}},"
                                              "\"LATER\":{\"v\":2,\"k\":\"s\",\"t\":\"n\"},"
                                              "\"KIND\":{\"v\":1,\"k\":\"x\",\"t\":\"n\"},"
                                              "\"TEXT\":{\"v\":1,\"k\":\"s\",\"t\":5},"
                                              "\"ARRAY\":[1],"
                                              "\"SEARCH\":{\"v\":1,\"k\":\"w\",\"t\":\"n\",\"a\":["
                                              "{\"id\":\"ws_1\",\"type\":\"web_search_call\",\"status\":\"completed\"},"
                                              "{\"id\":\"ws_1_result\",\"type\":\"hosted_call_result\",\"call_id\":"
                                              "\"ws_1\",\"name\":\"web_search\",\"arguments\":\"{}\",\"output\":\"o\"},"
                                              "{\"id\":\"ws_2_result\",\"type\":\"hosted_call_result\",\"call_id\":"
                                              "\"ws_2\",\"name\":\"web_search\",\"arguments\":\"{}\",\"output\":\"p\"}]}}";

static json_t *the_inside(void)
{
    static json_t *tree; /* until the process ends */

    if (tree == NULL)
        tree = json_loads(inside, 0, NULL);
    assert_non_null(tree);
    return tree;
}

struct read_case {
    const char *claim, *body;
    struct stored history[MAX_STORED], found[MAX_STORED];
    const char *messages; /* expected, without the brackets; NULL: refused with the following */
    const char *error, *param;
    struct compact_reading how;
};

static int complete(struct fixture *f, const struct read_case *c,
                    const struct responses_request_options *options)
{
    struct request_history_item items[MAX_STORED], found[MAX_STORED];
    struct request_history history = {.items = items, .found = found, .previous_tail = STR_NONE};

    history.n = fill(items, c->history);
    (void)fill(found, c->found);
    return fixture_complete(f, options, str_from_c(c->body), &history, 0);
}

static void check_read(const struct read_case *c)
{
    const struct text_seal seal = {plain_close, opened_find, the_inside()};
    struct responses_request_options options = {.default_model = STR_NONE, .compaction = c->how};
    const struct chat_request_options chat_options = {0};
    struct buf expected = {0};
    struct fixture f;
    json_t *chat;

    options.compaction.seal = &seal;
    if (options.compaction.keep_tokens == 0)
        options.compaction.keep_tokens = 1000;
    chat = complete(&f, c, &options) == 0 ? fixture_chat(&f, &chat_options) : NULL;
    if (c->messages == NULL) {
        if (chat != NULL)
            fail_msg("%s: accepted", c->claim);
        assert_non_null(strstr(f.err.msg, c->error));
        assert_string_equal(f.err.param, c->param);
    } else {
        if (chat == NULL)
            fail_msg("%s: %s", c->claim, f.err.msg);
        buf_c(&expected, "[");
        buf_c(&expected, c->messages);
        buf_c(&expected, "]");
        assert_json(c->claim, json_object_get(chat, "messages"), buf_cstr(&expected));
    }
    json_decref(chat);
    buf_fini(&expected);
    fixture_fini(&f);
}

#define CHECK_READ(cases)                                                                          \
    for (size_t i = 0; i < COUNT_OF(cases); i++)                                                   \
    check_read(&(cases)[i])

static void a_summary_reads_as_its_message_wherever_it_is_kept(void **state)
{
    static const struct read_case cases[] = {
        {.claim = "in the history",
         .body = CONTINUES(INPUT(USER("b"))),
         .history = {{USER("a"), false}, {ITEM("S"), false}},
         .messages = USER("a") "," USER(FRAME "sum") "," USER("b")},
        {.claim = "a whole context of the history",
         .body = CONTINUES(INPUT(USER("b"))),
         .history = {{USER("a"), false}, {ITEM("W"), true}, {ASSISTANT("done"), true}},
         .messages = USER("kept") "," USER(FRAME "all") "," USER("open") "," CALLED "," ASSISTANT(
             "done") "," USER("b")},
        {.claim = "a whole context of the input replaces the history",
         .body = CONTINUES(INPUT(USER("x") "," ITEM("W") "," USER("b"))),
         .history = {{USER("a"), false}, {ASSISTANT("a"), true}},
         .messages = USER("kept") "," USER(FRAME "all") "," USER("open") "," CALLED "," USER("b")},
        {.claim = "a whole context of a conversation",
         .body = IN_CONVERSATION(INPUT(USER("b"))),
         .history = {{USER("a"), false}, {ITEM("W"), true}},
         .messages = USER("kept") "," USER(FRAME "all") "," USER("open") "," CALLED "," USER("b")},
        {.claim = "a reference to one",
         .body = REQUEST(USER("a") "," REFERENCE("cmp_1") "," USER("b")),
         .found = {{"{\"id\":\"cmp_1\",\"type\":\"compaction\",\"encrypted_content\":\"S\"}",
                    true}},
         .messages = USER("a") "," USER(FRAME "sum") "," USER("b")},
        {.claim = "the endpoint's, with the messages that it came with",
         .body = REQUEST(USER("kept") "," ITEM("ENDPOINT") "," USER("b")),
         .messages = USER("kept") "," USER(FRAME "sum") "," USER("b")},
        {.claim = "the endpoint's alone: the client has dropped them",
         .body = REQUEST(SYSTEM("s") "," ITEM("ENDPOINT") "," USER("b")),
         .messages = SYSTEM("s") "," USER("kept") "," USER(FRAME "sum") "," USER("b")},
        {.claim = "an empty summary",
         .body = REQUEST(USER("a") "," ITEM("EMPTY") "," USER("b")),
         .messages = USER(FRAME) "," USER("b")},
        {.claim = "as the assistant's",
         .body = REQUEST(ITEM("S") "," USER("b")),
         .how = {.has_role = true, .role = ROLE_ASSISTANT},
         .messages = ASSISTANT(FRAME "sum") "," USER("b")},
        {.claim = "as the system's",
         .body = REQUEST(ITEM("S") "," USER("b")),
         .how = {.has_role = true, .role = ROLE_SYSTEM},
         .messages = SYSTEM(FRAME "sum") "," USER("b")},
    };

    (void)state;
    CHECK_READ(cases);
}

/* The response was asked for a summary: the chain goes on from what the endpoint would have said. */
static void a_chain_goes_on_from_the_summary_it_asked_for(void **state)
{
    static const struct read_case cases[] = {
        {.claim = "the user's messages stay",
         .body = CONTINUES(INPUT(USER("b"))),
         .history = {{USER("a"), false}, {ASSISTANT("x"), true}, {ITEM("S"), true}},
         .messages = USER("a") "," USER(FRAME "sum") "," USER("b")},
        {.claim = "as many as there is room for",
         .body = CONTINUES(INPUT(USER("b"))),
         .history = {{USER("12345678"), false}, {USER("12345678"), false}, {ITEM("S"), true}},
         .how = {.keep_tokens = 2},
         .messages = USER("12345678") "," USER(FRAME "sum") "," USER("b")},
        {.claim = "twice",
         .body = CONTINUES(INPUT(USER("c"))),
         .history = {{USER("a"), false}, {ITEM("S"), true}, {USER("b"), false}, {ITEM("T"), true}},
         .messages = USER("a") "," USER("b") "," USER(FRAME "sum2") "," USER("c")},
        {.claim = "behind a whole context",
         .body = CONTINUES(INPUT(USER("c"))),
         .history = {{USER("a"), false}, {ITEM("W"), true}, {USER("b"), false}, {ITEM("T"), true}},
         .messages =
             USER("kept") "," USER("open") "," USER("b") "," USER(FRAME "sum2") "," USER("c")},
        {.claim = "one that the client had brought changes nothing before it",
         .body = CONTINUES(INPUT(USER("c"))),
         .history = {{USER("a"), false}, {ASSISTANT("x"), true}, {ITEM("S"), false}},
         .messages = USER("a") "," ASSISTANT("x") "," USER(FRAME "sum") "," USER("c")},
    };

    (void)state;
    CHECK_READ(cases);
}

static void what_cannot_be_opened_is_told_dropped_or_refused(void **state)
{
    static const struct compact_reading drop = {.foreign = COMPACT_FOREIGN_DROP};
    static const struct compact_reading reject = {.foreign = COMPACT_FOREIGN_REJECT};
    const struct read_case cases[] = {
        {.claim = "told",
         .body = REQUEST(ITEM("?") "," USER("b")),
         .messages = USER(NOTE) "," USER("b")},
        {.claim = "dropped",
         .body = REQUEST(ITEM("?") "," USER("b")),
         .how = drop,
         .messages = USER("b")},
        {.claim = "refused",
         .body = REQUEST(USER("b") "," ITEM("?")),
         .how = reject,
         .error = "cannot be opened here",
         .param = "input[1].encrypted_content"},
        {.claim = "refused behind a history",
         .body = CONTINUES(INPUT(USER("b") "," USER("c") "," ITEM("?"))),
         .history = {{USER("a"), false}},
         .how = reject,
         .error = "cannot be opened here",
         .param = "input[2].encrypted_content"},
        {.claim = "not refused where it does not count",
         .body = REQUEST(ITEM("?") "," ITEM("EMPTY") "," USER("b")),
         .how = reject,
         .messages = USER(FRAME) "," USER("b")},
        {.claim = "not refused in what is stored",
         .body = CONTINUES(INPUT(USER("b"))),
         .history = {{ITEM("?"), false}},
         .how = reject,
         .messages = USER(NOTE) "," USER("b")},
        {.claim = "without encrypted_content",
         .body = REQUEST("{\"type\":\"compaction\"},{\"type\":\"compaction_summary\","
                         "\"encrypted_content\":\"\"},{\"type\":\"context_compaction\","
                         "\"encrypted_content\":7}," USER("b")),
         .how = reject,
         .messages = USER("b")},
    };

    (void)state;
    CHECK_READ(cases);
}

/* Nobody but the gateway can write it, so it is read as if anybody could. */
static void what_is_wrong_inside_is_no_error(void **state)
{
    static const char *const damaged[] = {"BROKEN", "LIST", "LATER", "KIND", "TEXT", "ARRAY"};
    static const struct read_case nested = {
        .claim = "items that mean nothing there",
        .body = REQUEST(USER("a") "," ITEM("NESTED") "," USER("b")),
        .messages = USER(FRAME "n") "," USER("y") "," USER("b"),
    };

    (void)state;
    check_read(&nested);
    for (size_t i = 0; i < COUNT_OF(damaged); i++) {
        struct buf body = {0};
        struct read_case c = {.claim = damaged[i],
                              .messages = USER("a") "," USER(NOTE) "," USER("b")};

        buf_c(&body, "{\"model\":\"m\",\"input\":[" USER("a") ",{\"type\":\"compaction\","
                                                              "\"encrypted_content\":\"");
        buf_c(&body, damaged[i]);
        buf_c(&body, "\"}," USER("b") "]}");
        c.body = buf_cstr(&body);
        check_read(&c);
        buf_fini(&body);
    }
}

static void what_a_hosted_tool_has_said_is_in_a_whole_context(void **state)
{
    static const struct read_case c = {
        .claim = "with the item that clients see, and without",
        .body = REQUEST(ITEM("SEARCH") "," USER("b")),
        .messages = USER(
            FRAME "n") ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["
                       "{\"id\":\"ws_1\",\"type\":\"function\",\"function\":{\"name\":"
                       "\"web_search\",\"arguments\":\"{}\"}},"
                       "{\"id\":\"ws_2\",\"type\":\"function\",\"function\":{\"name\":"
                       "\"web_search\",\"arguments\":\"{}\"}}]},"
                       "{\"role\":\"tool\",\"tool_call_id\":\"ws_1\",\"content\":\"o\"},"
                       "{\"role\":\"tool\",\"tool_call_id\":\"ws_2\",\"content\":\"p\"}," USER("b"),
    };

    (void)state;
    check_read(&c);
}

/* ---- what else depends on where history ends */

static void tools_before_a_whole_context_are_still_those_of_the_history(void **state)
{
    const struct text_seal seal = {plain_close, opened_find, the_inside()};
    const struct responses_request_options options = {.default_model = STR_NONE,
                                                      .compaction = {.seal = &seal}};
    static const struct read_case c = {
        .body = CONTINUES(INPUT(ADDITIONAL(FUNCTION("new")) "," USER("x") "," ITEM("W"))),
        .history = {{ADDITIONAL(FUNCTION("old")), false}, {USER("a"), false}},
    };
    struct fixture f;

    (void)state;
    if (complete(&f, &c, &options) == -1)
        fail_msg("%s", f.err.msg);
    assert_int_equal(f.request.n_before, 1);
    assert_int_equal(f.request.items.n, 2 + 5);
    assert_int_equal(f.request.tools.n, 2);
    fixture_fini(&f);
}

/* The output of the search stands in the tail once more, or not. */
static void tools_that_a_search_has_found_stay_loaded(void **state)
{
    const struct text_seal seal = {plain_close, opened_find, the_inside()};
    const struct responses_request_options options = {.default_model = STR_NONE,
                                                      .compaction = {.seal = &seal}};
    static const struct read_case c = {
        .body = REQUEST(
            USER("x") ",{\"type\":\"tool_search_call\",\"call_id\":\"s\",\"arguments\":"
                      "{}},{\"type\":\"tool_search_output\",\"call_id\":\"s\",\"tools\":[" FUNCTION(
                          "found") "]}," ITEM("W") "," USER("y")),
    };
    const struct chat_request_options chat_options = {0};
    struct fixture f;
    json_t *chat;

    (void)state;
    if (complete(&f, &c, &options) == -1)
        fail_msg("%s", f.err.msg);
    assert_int_equal(f.request.tools.n, 1);
    assert_true(f.request.tools.first->is_loaded);
    chat = fixture_chat(&f, &chat_options);
    assert_int_equal(json_array_size(json_object_get(chat, "messages")), 6);
    json_decref(chat);
    fixture_fini(&f);
}

static void a_trigger_is_no_item(void **state)
{
    static const struct resolve_case cases[] = {
        {.claim = "nothing before it in an empty conversation",
         .body = IN_CONVERSATION(INPUT("{\"type\":\"compaction_trigger\"}")),
         .error = "There is nothing to compact.",
         .param = "input"},
        {.claim = "a conversation alone before it",
         .body = IN_CONVERSATION(INPUT("{\"type\":\"compaction_trigger\"}")),
         .history = {{USER("a"), false}},
         .messages = USER("a")},
    };
    const char body[] = REQUEST(USER("a") ",{\"type\":\"compaction_trigger\",\"id\":\"ct_1\"}");
    struct kept_items kept;
    struct fixture f;

    (void)state;
    CHECK(cases);
    assert_int_equal(fixture_parse(&f, str_from_c(body), 0), 0);
    assert_true(f.request.has_trigger);
    assert_int_equal(f.request.items.n, 1);
    assert_int_equal(kept_items_make(f.request.input, &f.ids, &f.arena, &kept, &f.err), 0);
    assert_int_equal(kept.n, 1);
    fixture_fini(&f);
}

/* What is stored and listed is what came. */
static void items_are_kept_as_they_came(void **state)
{
    static const char *const items[] = {
        "{\"id\":\"cmp_1\",\"type\":\"compaction\",\"encrypted_content\":\"?\",\"x\":{\"y\":1}}",
        "{\"id\":\"cmp_2\",\"type\":\"compaction_summary\",\"encrypted_content\":\"W\"}",
        "{\"id\":\"cmp_3\",\"type\":\"context_compaction\"}",
    };
    const struct input_options options = {0};
    struct path at = path_member(NULL, STR("items"));
    struct kept_items kept;
    struct buf list = {0};
    struct fixture f = {.ids = {.fill = fixture_fill}};

    (void)state;
    f.ids.arg = &f.next_id;
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        buf_c(&list, i == 0 ? "[" : ",");
        buf_c(&list, items[i]);
    }
    buf_c(&list, "]");
    assert_int_equal(
        kept_items_read(buf_str(&list), &at, &options, &f.ids, &f.arena, &kept, &f.err), 0);
    assert_int_equal(kept.n, COUNT_OF(items));
    for (size_t i = 0; i < kept.n; i++)
        assert_true(str_eq(kept.v[i].body, str_from_c(items[i])));
    assert_int_equal(kept_items_read(STR("[" USER("a") ",{\"type\":\"compaction_trigger\"}]"), &at,
                                     &options, &f.ids, &f.arena, &kept, &f.err),
                     -1);
    assert_string_equal(f.err.param, "items[1].type");
    buf_fini(&list);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_summary_reads_as_its_message_wherever_it_is_kept),
        cmocka_unit_test(a_chain_goes_on_from_the_summary_it_asked_for),
        cmocka_unit_test(what_cannot_be_opened_is_told_dropped_or_refused),
        cmocka_unit_test(what_is_wrong_inside_is_no_error),
        cmocka_unit_test(what_a_hosted_tool_has_said_is_in_a_whole_context),
        cmocka_unit_test(tools_before_a_whole_context_are_still_those_of_the_history),
        cmocka_unit_test(tools_that_a_search_has_found_stay_loaded),
        cmocka_unit_test(a_trigger_is_no_item),
        cmocka_unit_test(items_are_kept_as_they_came),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
