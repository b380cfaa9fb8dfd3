/* test_response_memory.c -- a client that sends back the calls of a response
 * without its reasoning: the model gets it all the same. */
#include "request_fixture.h"

#include "response/response_hosted.h"
#include "response/response_memory.h"

#define TOOLS                                                                                      \
    "[{\"type\":\"function\",\"name\":\"f\"},{\"type\":\"custom\",\"name\":\"patch\"},"            \
    "{\"type\":\"local_shell\"},{\"type\":\"namespace\",\"name\":\"n\",\"tools\":["                \
    "{\"type\":\"function\",\"name\":\"g\"}]}]"
#define CALL(number, tool, text_of_arguments)                                                      \
    {                                                                                              \
        .kind = DELTA_CALL, .call = number, .call_id = STR_INIT("c" #number),                      \
        .name = STR_INIT(tool), .text = STR_INIT(text_of_arguments)                                \
    }
#define CODE(text_of_code)                                                                         \
    {                                                                                              \
        .kind = DELTA_CALL, .builtin = BUILTIN_PYTHON, .text = STR_INIT(text_of_code)              \
    }
#define THOUGHT(words)                                                                             \
    {                                                                                              \
        .kind = DELTA_REASONING, .text = STR_INIT(words)                                           \
    }

enum { MAX_DELTAS = 4 };

static const struct memory_case {
    const char *claim;
    struct delta deltas[MAX_DELTAS]; /* up to the first without text */
    const char *reasoning;           /* of the message that comes back, or NULL */
} cases[] = {
    {"a function", {THOUGHT("why"), CALL(0, "f", "{\\\"a\\\": 1}")}, "\"why\""},
    {"one of a namespace", {THOUGHT("why"), CALL(0, "n__g", "{}")}, "\"why\""},
    {"a custom tool",
     {THOUGHT("why"), CALL(0, "patch", "{\\\"input\\\":\\\"a\\\\nb\\\"}")},
     "\"why\""},
    {"a shell",
     {THOUGHT("why"), CALL(0, "local_shell", "{\\\"command\\\":[\\\"ls\\\"]}")},
     "\"why\""},
    {"a tool that is not declared", {THOUGHT("why"), CALL(0, "made_up", "{}")}, "\"why\""},
    {"a tool of the model's own", {THOUGHT("why"), CODE("print(1)")}, "\"why\""},
    {"all of it, wherever it stood",
     {THOUGHT("a"), CALL(0, "f", "{}"), THOUGHT("b"), CALL(1, "f", "{}")},
     "\"ab\""},
    {"none when there was none", {CALL(0, "f", "{}")}, NULL},
    {"none without a call", {THOUGHT("why")}, NULL},
};

static bool find(void *arg, const struct call *c, struct arena *a, str *ret)
{
    const struct call_key key = {STR("owner"), call_shown_id(c), c->arguments, c->name};

    return call_cache_find(arg, &key, a, ret);
}

/* The items of the output that are no reasoning, with a message behind them. */
static json_t *sent_back(const struct response *r)
{
    json_t *request = json_pack("{s:s,s:[]}", "model", "m", "input"), *object, *item;
    struct buf json = {0};
    size_t i;

    response_object(r, &json);
    object = json_loadb(json.p, json.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(object);
    json_array_foreach(json_object_get(object, "output"), i, item)
    {
        if (strcmp(json_string_value(json_object_get(item, "type")), "reasoning") != 0)
            json_array_append(json_object_get(request, "input"), item);
    }
    json_array_append_new(json_object_get(request, "input"),
                          json_pack("{s:s,s:s}", "role", "user", "content", "next"));
    json_decref(object);
    buf_fini(&json);
    return request;
}

static void check_sent_back(const struct memory_case *c, json_t *request, struct call_cache *cache)
{
    const struct reasoning_source source = {find, cache};
    const struct chat_request_options options = {.reasoning_source = &source};
    char *body = json_dumps(request, 0);
    const json_t *reasoning;
    struct fixture f;
    json_t *chat;

    assert_int_equal(fixture_parse(&f, str_from_c(body), 0), 0);
    chat = fixture_chat(&f, &options);
    reasoning =
        json_object_get(json_array_get(json_object_get(chat, "messages"), 0), "reasoning_content");
    if (c->reasoning != NULL)
        assert_json(c->claim, reasoning, c->reasoning);
    else
        assert_null(reasoning);
    json_decref(chat);
    fixture_fini(&f);
    free(body);
}

static void run_calls(struct response *r)
{
    static const struct hosted_outcome outcome = {.outputs = STR_INIT("[]")};
    struct output_item *item;

    while ((item = response_next_call(r, NULL)) != NULL)
        assert_true(response_call_ended(r, item, &outcome, NULL));
}

static void check_case(const struct memory_case *c, enum reasoning_mode mode)
{
    struct response_conf conf = {.reasoning = mode, .echo = STR("\"echo\":1")};
    struct call_cache *cache;
    struct response r;
    struct fixture f;
    json_t *request;

    assert_int_equal(
        fixture_parse(&f, STR("{\"model\":\"m\",\"input\":\"x\",\"tools\":" TOOLS "}"), 0), 0);
    conf.ids = &f.ids;
    conf.tools = &f.request.tools;
    cache = call_cache_new(8, 65536, &f.ids);
    assert_non_null(cache);
    response_init(&r, &conf);
    for (size_t i = 0; i < MAX_DELTAS && c->deltas[i].text.len > 0; i++)
        assert_true(response_delta(&r, &c->deltas[i], NULL));
    response_end_round(&r, FINISH_TOOL_CALLS, NULL);
    run_calls(&r);
    response_finish(&r, FINISH_TOOL_CALLS, 5, NULL);
    assert_int_equal(response_is_to_remember(&r), c->reasoning != NULL);
    response_remember(&r, STR("owner"), cache);
    request = sent_back(&r);
    check_sent_back(c, request, cache);
    json_decref(request);
    response_fini(&r);
    call_cache_free(cache);
    fixture_fini(&f);
}

static void calls_bring_their_reasoning_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        check_case(&cases[i], REASONING_TEXT);
        check_case(&cases[i], REASONING_SUMMARY);
        check_case(&cases[i], REASONING_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_bring_their_reasoning_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
