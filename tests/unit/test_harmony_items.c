/* test_harmony_items.c -- what a gpt-oss model writes, through the whole core: the items, the
 * events and the end of the response are those of the contract's vectors, however its text was
 * cut into chunks.
 *
 * A response with a call that the gateway runs goes on with another round; in that the model says
 * one word more, which is left out of the comparison. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json/json_text.h"
#include "lib/event_check.h"
#include "lib/round_run.h"

enum { MAX_FUNCTIONS = 4, MAX_CUTS = 64 };

static const char last_round[] =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"<|channel|>final<|message|>Done.\"}}]}"
    "\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
    "data: [DONE]\n\n";

static const char *text_of(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

/* ---- the vector as an answer of the upstream */

static void add_chunk(str text, struct buf *out)
{
    buf_c(out, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"");
    json_text_escape(text, out);
    buf_c(out, "\"}}]}\n\n");
}

static bool is_inside_character(str text, size_t at)
{
    return at < text.len && ((unsigned char)text.p[at] & 0xC0) == 0x80;
}

/* A chunk is JSON, which cannot end in half a character. */
static size_t next_cut(str text, size_t from, json_t *chunking)
{
    size_t at = text.len;

    if (json_is_string(chunking) && strcmp(json_string_value(chunking), "bytes") == 0)
        at = from + 1;
    for (size_t i = 0; i < json_array_size(json_object_get(chunking, "cuts")); i++) {
        size_t cut =
            (size_t)json_integer_value(json_array_get(json_object_get(chunking, "cuts"), i));

        if (cut > from && cut < at)
            at = cut;
    }
    while (is_inside_character(text, at))
        at++;
    return at;
}

static struct buf body_of(json_t *vector, json_t *chunking)
{
    str rest = str_from_c(text_of(vector, "input"));
    struct buf body = {.limit = 0};

    for (size_t from = 0; from < rest.len;) {
        size_t to = next_cut(rest, from, chunking);

        add_chunk(str_from(rest.p + from, to - from), &body);
        from = to;
    }
    buf_c(&body, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"");
    buf_c(&body, text_of(vector, "finish_reason"));
    buf_c(&body, "\"}]}\n\ndata: [DONE]\n\n");
    return body;
}

/* ---- running it */

struct functions {
    struct tool tools[MAX_FUNCTIONS];
    struct tool_set set;
};

static void declare(json_t *names, struct functions *f)
{
    *f = (struct functions){.set = {.n = 0}};
    for (size_t i = 0; i < json_array_size(names) && i < MAX_FUNCTIONS; i++) {
        str name = str_from_c(json_string_value(json_array_get(names, i)));

        f->tools[i] = (struct tool){
            .name = name, .upstream_name = name, .sent = true, .name_space = STR_NONE};
        if (i > 0)
            f->tools[i - 1].next = &f->tools[i];
        f->set.first = &f->tools[0];
        f->set.last = &f->tools[i];
        f->set.n = f->set.n_sent = i + 1;
    }
}

static bool has_word(json_t *array, const char *word)
{
    bool has = false;

    for (size_t i = 0; i < json_array_size(array); i++)
        has = has || strcmp(json_string_value(json_array_get(array, i)), word) == 0;
    return has;
}

static void run(json_t *vector, json_t *chunking, bool streamed, struct round_result *ret)
{
    json_t *enabled = json_object_get(vector, "enabled_tools");
    struct buf body = body_of(vector, chunking);
    struct hosted_script script = {.n_rounds = 2};
    struct functions functions;
    struct round_conf conf = {.text = {.harmony = MODEL_HARMONY_ON,
                                       .tools = &functions.set,
                                       .begun_call = STR(""),
                                       .has_python = has_word(enabled, "code_interpreter"),
                                       .has_browser = has_word(enabled, "web_search")},
                              .tools = &functions.set,
                              .script = &script};

    script.rounds[0].outcomes = STR("{\"call\":0,\"output\":\"\"}\n");
    script.rounds[1].upstream = str_from_c(last_round);
    declare(json_object_get(vector, "functions"), &functions);
    round_run(&conf, buf_str(&body), UNCUT, streamed, ret);
    buf_fini(&body);
}

/* ---- comparing */

/* Of an item in the form of the vectors: its texts joined. */
static char *item_text(json_t *item)
{
    struct buf text = {.limit = 0};
    json_t *parts = json_object_get(item, "content");
    char *copy;

    for (size_t i = 0; i < json_array_size(parts); i++)
        buf_c(&text, text_of(json_array_get(parts, i), "text"));
    copy = strdup(buf_cstr(&text));
    buf_fini(&text);
    return copy;
}

static bool is_same_item(json_t *got, json_t *want)
{
    static const char *const members[] = {"type",         "phase", "name",  "arguments",
                                          "server_label", "code",  "status"};
    json_t *action = json_object_get(want, "action");
    bool same = true;

    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        if (json_object_get(want, members[i]) != NULL)
            same = same && strcmp(text_of(got, members[i]), text_of(want, members[i])) == 0;
    }
    if (json_object_get(want, "text") != NULL) {
        char *text = item_text(got);

        same = same && strcmp(text, text_of(want, "text")) == 0;
        free(text);
    }
    return same && (action == NULL || json_equal(action, json_object_get(got, "action")));
}

static bool goes_on(json_t *response, json_t *vector)
{
    return json_array_size(json_object_get(response, "output")) ==
               json_array_size(json_object_get(vector, "items")) + 1 &&
           strcmp(text_of(json_array_get(json_object_get(response, "output"),
                                         json_array_size(json_object_get(vector, "items"))),
                          "type"),
                  "message") == 0;
}

static void check_items(json_t *vector, json_t *response)
{
    json_t *got = json_object_get(response, "output"), *want = json_object_get(vector, "items");
    bool ok = json_array_size(got) == json_array_size(want) || goes_on(response, vector);

    for (size_t i = 0; ok && i < json_array_size(want); i++)
        ok = is_same_item(json_array_get(got, i), json_array_get(want, i));
    if (!ok)
        fail_msg("%s: items are %s", text_of(vector, "id"), json_dumps(got, JSON_COMPACT));
}

/* "0:response.output_text.delta", once for deltas in a row. */
static json_t *collapse(json_t *events)
{
    json_t *lines = json_array();

    for (size_t i = 0; i < json_array_size(events); i++) {
        json_t *event = json_array_get(events, i), *index = json_object_get(event, "output_index"),
               *before = json_array_get(lines, json_array_size(lines) - 1);
        char line[128];

        if (index == NULL)
            continue;
        (void)snprintf(line, sizeof(line), "%d:%s", (int)json_integer_value(index),
                       text_of(event, "type"));
        if (strstr(line, ".delta") == NULL || before == NULL ||
            strcmp(json_string_value(before), line) != 0)
            json_array_append_new(lines, json_string(line));
    }
    return lines;
}

/* Those of the round after it come behind. */
static void check_events(json_t *vector, str stream)
{
    json_t *events = event_list(stream), *got = collapse(events),
           *want = json_object_get(vector, "events");
    bool ok = json_array_size(got) >= json_array_size(want);

    for (size_t i = 0; ok && i < json_array_size(want); i++)
        ok = json_equal(json_array_get(got, i), json_array_get(want, i));
    if (!ok)
        fail_msg("%s: events are %s", text_of(vector, "id"), json_dumps(got, JSON_COMPACT));
    json_decref(got);
    json_decref(events);
}

static void check_terminal(json_t *vector, json_t *response)
{
    const char *want = text_of(vector, "terminal") + strlen("response.");

    if (strcmp(text_of(response, "status"), want) != 0)
        fail_msg("%s: the response is %s", text_of(vector, "id"), text_of(response, "status"));
}

static void check(json_t *vector, json_t *chunking)
{
    struct round_result streamed, whole;
    json_t *response;

    run(vector, chunking, true, &streamed);
    run(vector, chunking, false, &whole);
    response = round_response(&streamed);
    check_items(vector, response);
    check_events(vector, buf_str(&streamed.events));
    check_terminal(vector, response);
    if (event_check(buf_str(&streamed.events)) != NULL)
        fail_msg("%s: %s", text_of(vector, "id"), event_check(buf_str(&streamed.events)));
    assert_true(str_eq(buf_str(&streamed.object), buf_str(&whole.object)));
    json_decref(response);
    round_result_fini(&streamed);
    round_result_fini(&whole);
}

/* ---- all of them */

static json_t *vectors_read(void)
{
    struct buf file = fixture_read("harmony/parse.json");
    json_error_t error;
    json_t *root = json_loads(buf_cstr(&file), JSON_ALLOW_NUL, &error);

    buf_fini(&file);
    assert_non_null(root);
    return root;
}

static void vectors_give_their_items_and_events(void **state)
{
    json_t *root = vectors_read(), *vectors = json_object_get(root, "vectors");

    (void)state;
    assert_int_equal(json_array_size(vectors), 121);
    for (size_t i = 0; i < json_array_size(vectors); i++) {
        json_t *vector = json_array_get(vectors, i),
               *chunkings = json_object_get(vector, "chunkings");

        if (json_object_get(vector, "input_hex") != NULL)
            continue; /* bytes that no chunk can hold: test_harmony_vectors.c has them */
        for (size_t k = 0; k < json_array_size(chunkings); k++)
            check(vector, json_array_get(chunkings, k));
    }
    json_decref(root);
}

/* ---- a call that the prompt has begun */

/* The calls, each with what it says. */
static char *calls_of(const struct model_text_conf *text_conf, const char *text)
{
    json_t *vector = json_pack("{s:s,s:s}", "input", text, "finish_reason", "stop");
    struct hosted_script script = {.n_rounds = 2};
    const struct round_conf conf = {.text = *text_conf, .script = &script};
    struct buf body = body_of(vector, NULL), said = {.limit = 0};
    struct round_result r;
    json_t *response, *output;
    char *copy;

    script.rounds[0].outcomes = STR("{\"call\":0,\"output\":\"\"}\n");
    script.rounds[1].upstream = str_from_c(last_round);
    round_run(&conf, buf_str(&body), UNCUT, true, &r);
    assert_null(event_check(buf_str(&r.events)));
    response = round_response(&r);
    output = json_object_get(response, "output");
    for (size_t i = 0; i < json_array_size(output); i++) {
        json_t *item = json_array_get(output, i);

        if (strcmp(text_of(item, "type"), "message") == 0)
            continue;
        buf_c(&said, text_of(item, "name"));
        buf_c(&said, text_of(item, "arguments"));
        buf_c(&said, text_of(item, "code"));
        buf_c(&said, text_of(json_object_get(item, "action"), "query"));
        buf_char(&said, ';');
    }
    copy = strdup(buf_cstr(&said));
    json_decref(response);
    json_decref(vector);
    buf_fini(&said);
    buf_fini(&body);
    round_result_fini(&r);
    return copy;
}

static void a_call_of_the_prompt_is_made_if_the_model_goes_on_with_it(void **state)
{
    static const char *const cases[][2] = {
        {"{\"a\":1}<|call|>", "f{\"a\":1};"},
        {"<|call|>", "f{};"},
        {"{}<|start|>assistant to=functions.g<|channel|>commentary<|message|>{}<|call|>",
         "f{};g{};"},
        {"<|channel|>commentary to=functions.g<|message|>{}<|call|>", "g{};"},
    };

    const struct tool_set none = {.n = 0};
    const struct model_text_conf conf = {
        .harmony = MODEL_HARMONY_ON, .tools = &none, .begun_call = STR("f")};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *got = calls_of(&conf, cases[i][0]);

        assert_string_equal(got, cases[i][1]);
        free(got);
    }
}

static void a_tool_of_the_model_may_be_begun_too(void **state)
{
    static const struct {
        enum hosted_kind kind;
        const char *said, *got;
    } cases[] = {
        {HOSTED_CODE_INTERPRETER, "print(1)<|call|>", "print(1);"},
        {HOSTED_CODE_INTERPRETER, "<|channel|>commentary to=functions.g<|message|>{}<|call|>",
         "g{};"},
        {HOSTED_WEB_SEARCH, "{\"query\":\"w\"}<|call|>", "w;"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct tool tool = {
            .kind = TOOL_HOSTED, .hosted_kind = cases[i].kind, .upstream_name = STR("t")};
        const struct tool_set set = {.first = &tool, .last = &tool, .n = 1};
        const struct model_text_conf conf = {.harmony = MODEL_HARMONY_ON,
                                             .tools = &set,
                                             .begun_call = STR("t"),
                                             .has_python = true,
                                             .has_browser = true};
        char *got = calls_of(&conf, cases[i].said);

        assert_string_equal(got, cases[i].got);
        free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_give_their_items_and_events),
        cmocka_unit_test(a_call_of_the_prompt_is_made_if_the_model_goes_on_with_it),
        cmocka_unit_test(a_tool_of_the_model_may_be_begun_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
