/* test_harmony_vectors.c -- every vector of tests/data/harmony/parse.json, in the cuttings that it
 * lists, byte by byte and cut at every place: the messages, the warnings, and the items that the
 * messages are for the client. */
#include "unit/harmony_fixture.h"

#include <jansson.h>

#include "text/harmony_route.h"

enum { MAX_FUNCTIONS = 8, MAX_CUTS = 64 };

struct vector {
    const json_t *json;
    const char *id;
    struct buf input;
    const char *functions[MAX_FUNCTIONS + 1];
    struct buf messages, warnings, items; /* expected */
};

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));

    return text == NULL ? "" : text;
}

static bool has_word(const json_t *words, const char *word)
{
    const json_t *one;
    size_t i;

    json_array_foreach(words, i, one)
    {
        if (strcmp(json_string_value(one), word) == 0)
            return true;
    }
    return false;
}

/* ---- what a vector expects */

static unsigned char hex_digit(char c)
{
    return (unsigned char)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void read_input(const json_t *v, struct buf *out)
{
    const char *hex = text_of(v, "input_hex");

    buf_c(out, text_of(v, "input"));
    for (; *hex != '\0'; hex += 2)
        buf_char(out, (char)(hex_digit(hex[0]) << 4 | hex_digit(hex[1])));
}

static const char *channel_name(const json_t *message)
{
    const char *name = json_string_value(json_object_get(message, "channel"));

    for (size_t i = 0; i < COUNT_OF(heard_channels); i++) {
        if (name != NULL && strcmp(name, heard_channels[i]) == 0)
            return name;
    }
    return name == NULL ? "no channel" : "other";
}

static void expect_messages(const json_t *v, struct buf *out)
{
    const json_t *m;
    size_t i;

    json_array_foreach(json_object_get(v, "messages"), i, m)
    {
        assert_string_equal(text_of(m, "role"), "assistant");
        buf_c(out, channel_name(m));
        heard_word(out, " to=", str_from_c(text_of(m, "recipient")));
        heard_word(out, " ", str_from_c(text_of(m, "content_type")));
        buf_c(out, " [");
        buf_c(out, text_of(m, "closed_by"));
        buf_c(out, "] ");
        buf_c(out, text_of(m, "content"));
        buf_char(out, '\n');
    }
}

static void expect_warnings(const json_t *v, struct buf *out)
{
    const json_t *w;
    size_t i;

    json_array_foreach(json_object_get(v, "gateway_warnings"), i, w)
    {
        buf_c(out, json_string_value(w));
        buf_char(out, '\n');
    }
}

/* "type label name text"; the actions of the browser have names, but no texts of ours. */
static void add_item(struct buf *out, const char *type, str label, str name, str text)
{
    buf_c(out, type);
    heard_word(out, " ", label);
    heard_word(out, " ", name);
    buf_c(out, ": ");
    buf_append(out, text);
    buf_char(out, '\n');
}

static str action_name(const json_t *item)
{
    const char *type = text_of(json_object_get(item, "action"), "type");

    return strcmp(type, "open_page") == 0      ? STR("open")
           : strcmp(type, "find_in_page") == 0 ? STR("find")
                                               : str_from_c(type);
}

static void expect_items(const json_t *v, struct buf *out)
{
    const json_t *item;
    size_t i;

    json_array_foreach(json_object_get(v, "items"), i, item)
    {
        const char *name = json_object_get(item, "phase") != NULL ? "phase" : "name";
        struct buf text = {.limit = 0};

        buf_c(&text, text_of(item, "text"));
        buf_c(&text, text_of(item, "arguments"));
        buf_c(&text, text_of(item, "code"));
        add_item(out, text_of(item, "type"), str_from_c(text_of(item, "server_label")),
                 json_object_get(item, "action") != NULL ? action_name(item)
                                                         : str_from_c(text_of(item, name)),
                 buf_str(&text));
        buf_fini(&text);
    }
}

static void vector_init(struct vector *v, const json_t *json)
{
    const json_t *name;
    size_t i;

    *v = (struct vector){.json = json, .id = text_of(json, "id")};
    json_array_foreach(json_object_get(json, "functions"), i, name)
    {
        assert_true(i < MAX_FUNCTIONS);
        v->functions[i] = json_string_value(name);
    }
    read_input(json, &v->input);
    expect_messages(json, &v->messages);
    expect_warnings(json, &v->warnings);
    expect_items(json, &v->items);
}

static void vector_fini(struct vector *v)
{
    buf_fini(&v->input);
    buf_fini(&v->messages);
    buf_fini(&v->warnings);
    buf_fini(&v->items);
}

/* ---- what comes out */

struct run {
    struct heard heard;
    const struct vector *vector;
    struct buf items;
};

static const char *const types[] = {
    [HARMONY_TO_ANSWER] = "message",
    [HARMONY_TO_PREAMBLE] = "message",
    [HARMONY_TO_REASONING] = "reasoning",
    [HARMONY_TO_FUNCTION] = "function_call",
    [HARMONY_TO_PYTHON] = "code_interpreter_call",
    [HARMONY_TO_BROWSER] = "web_search_call",
    [HARMONY_TO_MCP] = "mcp_call",
};

/* HARMONY 3: speech without text is no item, but for an answer; a search is none before its
 * arguments are whole. */
static bool is_item(const struct run *r, enum harmony_target target, str content,
                    enum harmony_end by)
{
    if (target == HARMONY_TO_REASONING || target == HARMONY_TO_PREAMBLE)
        return content.len > 0;
    return target != HARMONY_TO_BROWSER || by != HARMONY_END_OF_STREAM ||
           strcmp(text_of(r->vector->json, "finish_reason"), "length") != 0;
}

static void on_message(void *arg, const struct harmony_header *header, str content,
                       enum harmony_end by)
{
    struct run *r = arg;
    const json_t *enabled = json_object_get(r->vector->json, "enabled_tools");
    const struct harmony_route_tools tools = {.is_function = heard_is_function,
                                              .arg = &r->heard,
                                              .has_python = has_word(enabled, "code_interpreter"),
                                              .has_browser = has_word(enabled, "web_search")};
    struct harmony_route route = harmony_route(header, &tools);

    if (!is_item(r, route.target, content, by))
        return;
    if (route.target == HARMONY_TO_ANSWER || route.target == HARMONY_TO_PREAMBLE)
        route.name = route.target == HARMONY_TO_ANSWER ? STR("final_answer") : STR("commentary");
    if (route.target == HARMONY_TO_PYTHON)
        route.name = STR("");
    if (route.target == HARMONY_TO_FUNCTION && str_trim(content).len == 0)
        content = STR("{}");
    if (route.target == HARMONY_TO_BROWSER)
        content = STR("");
    add_item(&r->items, types[route.target], route.label, route.name, content);
}

static void run_init(struct run *r, const struct vector *v)
{
    *r = (struct run){.vector = v};
    heard_init(&r->heard);
    r->heard.functions = v->functions;
    r->heard.on_message = on_message;
    r->heard.arg = r;
    if (strcmp(text_of(v->json, "start"), "none") == 0)
        harmony_expect_start(&r->heard.parser);
}

static void run_finish(struct run *r)
{
    const struct vector *v = r->vector;

    heard_finish(&r->heard);
    if (!str_eq(buf_str(&r->heard.messages), buf_str(&v->messages)) ||
        !str_eq(buf_str(&r->heard.warnings), buf_str(&v->warnings)) ||
        !str_eq(buf_str(&r->items), buf_str(&v->items)))
        print_error("%s: %s\n", v->id, text_of(v->json, "title"));
    assert_str_eq(buf_str(&r->heard.messages), buf_str(&v->messages));
    assert_str_eq(buf_str(&r->heard.warnings), buf_str(&v->warnings));
    assert_str_eq(buf_str(&r->items), buf_str(&v->items));
    assert_int_equal(r->heard.parser.is_cut_off,
                     str_find(buf_str(&v->warnings), STR("non-assistant")) < v->warnings.len);
    heard_fini(&r->heard);
    buf_fini(&r->items);
}

static void check_cutting(const struct vector *v, struct cutting cutting)
{
    struct run r;

    run_init(&r, v);
    feed_pieces(buf_str(&v->input), cutting, heard_feed, &r.heard);
    run_finish(&r);
}

static void check_cuts(const struct vector *v, const json_t *cuts)
{
    str left = buf_str(&v->input);
    size_t at = 0, i;
    const json_t *cut;
    struct run r;

    run_init(&r, v);
    json_array_foreach(cuts, i, cut)
    {
        size_t n = (size_t)json_integer_value(cut) - at;

        assert_true(n <= left.len);
        feed_pieces(str_from(left.p, n), UNCUT, heard_feed, &r.heard);
        left = str_skip(left, n);
        at += n;
    }
    feed_pieces(left, UNCUT, heard_feed, &r.heard);
    run_finish(&r);
}

static void check_vector(const json_t *json)
{
    const json_t *cutting;
    struct vector v;
    size_t i;

    vector_init(&v, json);
    check_cutting(&v, UNCUT);
    check_cutting(&v, BYTE_BY_BYTE);
    for (size_t at = 1; at < v.input.len; at++)
        check_cutting(&v, CUT_AT(at));
    json_array_foreach(json_object_get(json, "chunkings"), i, cutting)
    {
        if (json_is_object(cutting))
            check_cuts(&v, json_object_get(cutting, "cuts"));
    }
    vector_fini(&v);
}

static void every_vector_gives_its_messages_warnings_and_items_in_every_cutting(void **state)
{
    json_t *file = json_load_file(fixture_path("harmony/parse.json"), 0, NULL);
    const json_t *vectors = json_object_get(file, "vectors"), *v;
    size_t i;

    (void)state;
    assert_int_equal(json_array_size(vectors), 121);
    json_array_foreach(vectors, i, v) check_vector(v);
    json_decref(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vector_gives_its_messages_warnings_and_items_in_every_cutting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
