/* test_harmony_events.c -- every vector of tests/data/harmony/events.json: what a model that speaks
 * Harmony says, as deltas, and the events that it leads to. */
#include "lib/test.h"

#include <jansson.h>

#include "lib/delta_run.h"
#include "lib/event_check.h"

#define TEXT(words, its_phase)                                                                     \
    {                                                                                              \
        .kind = DELTA_TEXT, .text = STR_INIT(words), .phase = its_phase                            \
    }
#define THOUGHT(words)                                                                             \
    {                                                                                              \
        .kind = DELTA_REASONING, .text = STR_INIT(words)                                           \
    }
#define CALL(words, ...)                                                                           \
    {                                                                                              \
        .kind = DELTA_CALL, .text = STR_INIT(words), __VA_ARGS__                                   \
    }
#define FUNCTION(function, words) CALL(words, .name = STR_INIT(function))
#define END                                                                                        \
    {                                                                                              \
        .kind = DELTA_ITEM_END                                                                     \
    }

enum { MAX_DELTAS = 6 };

static const struct vector {
    const char *id;
    enum finish finish;
    size_t n;
    struct delta deltas[MAX_DELTAS];
} vectors[] = {
    {"E001",
     FINISH_STOP,
     6,
     {THOUGHT("Thi"), THOUGHT("nk."), END, TEXT("Hello", PHASE_FINAL_ANSWER),
      TEXT(" world", PHASE_FINAL_ANSWER), END}},
    {"E002",
     FINISH_STOP,
     5,
     {TEXT("Checking.", PHASE_COMMENTARY), END, FUNCTION("get_weather", "{\\\"location\\\":"),
      FUNCTION("get_weather", "\\\"Oslo\\\"}"), END}},
    {"E003", FINISH_STOP, 2, {FUNCTION("get_time", ""), END}},
    {"E004", FINISH_STOP, 2, {CALL("print(1)", .builtin = BUILTIN_PYTHON), END}},
    {"E005",
     FINISH_STOP,
     2,
     {CALL("{\\\"query\\\":\\\"harmony\\\"}", .builtin = BUILTIN_BROWSER_SEARCH), END}},
    {"E006",
     FINISH_STOP,
     3,
     {CALL("{\\\"cursor\\\":3,", .builtin = BUILTIN_BROWSER_OPEN),
      CALL("\\\"id\\\":7}", .builtin = BUILTIN_BROWSER_OPEN), END}},
    {"E007",
     FINISH_STOP,
     2,
     {CALL("{\\\"pattern\\\":\\\"x\\\",\\\"cursor\\\":3}", .builtin = BUILTIN_BROWSER_FIND), END}},
    {"E008",
     FINISH_STOP,
     2,
     {CALL("{\\\"query\\\": \\\"x", .builtin = BUILTIN_BROWSER_SEARCH), END}},
    {"E009",
     FINISH_STOP,
     2,
     {CALL("{\\\"q\\\":\\\"x\\\"}", .name = STR_INIT("ask_question"),
           .server_label = STR_INIT("deepwiki")),
      END}},
    {"E010", FINISH_LENGTH, 1, {FUNCTION("get_weather", "{\\\"location\\\":\\\"Os")}},
};

/* Ids are those of the gateway. In the vectors nobody runs the MCP call, here somebody does; and
 * only one event of all repeats the name of a call (CONTRACT 4.2). */
static void forget(json_t *event)
{
    static const char *const ids[] = {"id", "item_id", "call_id"};
    json_t *item = json_object_get(event, "item");
    const char *type = json_string_value(json_object_get(event, "type"));

    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        json_object_del(event, ids[i]);
        json_object_del(item, ids[i]);
    }
    json_object_del(item, "output");
    if (strcmp(type, "response.mcp_call_arguments.done") == 0)
        json_object_del(event, "name");
}

static void compare(const char *id, json_t *got, json_t *expected)
{
    char *a, *b;

    forget(got);
    forget(expected);
    if (json_equal(got, expected))
        return;
    a = json_dumps(got, JSON_SORT_KEYS);
    b = json_dumps(expected, JSON_SORT_KEYS);
    fail_msg("%s\n     got %s\nexpected %s", id, a, b);
}

/* created and in_progress stand before what the vector tells, the end behind it. */
static void check_vector(const struct vector *v, json_t *expected)
{
    const struct delta_round round = {v->deltas, v->n, v->finish, false, false};
    const struct response_conf conf = {.reasoning = REASONING_TEXT, .shows_code_outputs = true};
    struct delta_result r;
    json_t *events, *event;
    const char *what;
    size_t i;

    delta_run(&conf, &round, 1, true, &r);
    what = event_check(buf_str(&r.events));
    if (what != NULL)
        fail_msg("%s: %s in\n%.*s", v->id, what, STR_ARG(buf_str(&r.events)));
    events = event_list(buf_str(&r.events));
    assert_int_equal(json_array_size(events), json_array_size(expected) + 3);
    json_array_foreach(expected, i, event) compare(v->id, json_array_get(events, i + 2), event);
    json_decref(events);
    delta_result_fini(&r);
}

static void deltas_of_harmony_lead_to_the_events_of_the_vectors(void **state)
{
    struct buf file = fixture_read("harmony/events.json");
    json_t *root = json_loadb(file.p, file.len, 0, NULL);
    json_t *cases = json_object_get(root, "vectors");

    (void)state;
    assert_int_equal(json_array_size(cases), COUNT_OF(vectors));
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        json_t *c = json_array_get(cases, i);

        assert_string_equal(json_string_value(json_object_get(c, "id")), vectors[i].id);
        check_vector(&vectors[i], json_object_get(c, "events"));
    }
    json_decref(root);
    buf_fini(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deltas_of_harmony_lead_to_the_events_of_the_vectors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
