/* test_harmony_prompts.c -- the contract's vectors of Harmony prompts: messages through the writer
 * of messages, requests through all of it. */
#include "prompt_fixture.h"

#include "wire/harmony_message.h"
#include "wire/harmony_tools.h"

/* What the library does and the gateway does not. */
static const struct {
    const char *id, *why;
} skipped[] = {
    {"R016", "the library's own rule of dropping reasoning; the gateway's: G009 to G013"},
    {"R019", "the same"},
    {"R045", "the same"},
    {"R027", "a prompt for training"},
    {"R034", "a gateway's prompt always requires a channel"},
    {"R038", "a namespace without tools"},
    {"R043", "texts that are tokenized apart from markers; here they are one: G021"},
};

static bool is_skipped(const char *id)
{
    for (size_t i = 0; i < COUNT_OF(skipped); i++) {
        if (strcmp(id, skipped[i].id) == 0)
            return true;
    }
    return false;
}

/* ---- values of vectors */

/* A member that has a default when it is absent, and is nothing when it is null. */
static str get_default(const json_t *object, const char *member, str otherwise)
{
    const json_t *value = json_object_get(object, member);

    return value == NULL ? otherwise : text_of(value);
}

/* STR_NONE when it is no text. */
static str escaped(struct arena *a, const json_t *value)
{
    str raw = json_is_string(value) ? dump(a, value) : STR_NONE;

    return str_is_none(raw) ? raw : str_from(raw.p + 1, raw.len - 2);
}

/* A failure shows both from a little before where they differ. */
static void assert_prompt(const json_t *vector, const struct buf *out)
{
    str got = buf_str(out), expected = get_text(vector, "expected");
    size_t i = 0;

    if (str_eq(got, expected))
        return;
    while (i < got.len && i < expected.len && got.p[i] == expected.p[i])
        i++;
    i = i < 40 ? 0 : i - 40;
    fail_msg("%s:\n got      ...%.*s\n expected ...%.*s", get_text(vector, "id").p,
             STR_ARG(str_skip(got, i)), STR_ARG(str_skip(expected, i)));
}

/* ---- messages */

static void add_tool(struct arena *a, struct tool_set *set, str space, const json_t *tool)
{
    struct tool *t = arena_alloc(a, sizeof(*t));
    const json_t *parameters = json_object_get(tool, "parameters");

    *t = (struct tool){
        .kind = str_eq(space, STR("functions")) ? TOOL_FUNCTION : TOOL_MCP,
        .name = get_text(tool, "name"),
        .upstream_name = get_text(tool, "name"),
        .server_label = space,
        .description = escaped(a, json_object_get(tool, "description")),
        .parameters = parameters == NULL ? STR_NONE : dump(a, parameters),
        .sent = true,
    };
    if (set->last == NULL)
        set->first = t;
    else
        set->last->next = t;
    set->last = t;
    set->n_sent++;
}

static void add_space(struct arena *a, struct tool_set *set, const json_t *space)
{
    struct mcp_declaration *d = arena_alloc(a, sizeof(*d));
    const json_t *tool;
    size_t i;

    d->label = get_text(space, "name");
    d->description = escaped(a, json_object_get(space, "description"));
    d->next = set->first_server;
    set->first_server = d;
    json_array_foreach(json_object_get(space, "tools"), i, tool)
    {
        add_tool(a, set, d->label, tool);
    }
}

/* The tools of the developer messages. */
static struct tool_set collect_tools(struct arena *a, const json_t *messages)
{
    struct tool_set set = {0};
    const json_t *message, *space;
    size_t i, k;

    json_array_foreach(messages, i, message)
    {
        json_array_foreach(json_object_get(json_object_get(message, "content"), "tools"), k, space)
        {
            add_space(a, &set, space);
        }
    }
    return set;
}

static bool names_builtin(const json_t *content, const char *name)
{
    const json_t *tool;
    size_t i;

    json_array_foreach(json_object_get(content, "tools"), i, tool)
    {
        if (str_eq(text_of(tool), str_from_c(name)))
            return true;
    }
    return false;
}

static str join_channels(struct arena *a, const json_t *channels)
{
    struct buf joined = {0};
    const json_t *channel;
    str copy;
    size_t i;

    if (channels == NULL)
        return STR("analysis, commentary, final");
    json_array_foreach(channels, i, channel)
    {
        buf_c(&joined, i == 0 ? "" : ", ");
        buf_append(&joined, text_of(channel));
    }
    copy = arena_dup(a, buf_str(&joined));
    buf_fini(&joined);
    return copy;
}

static void write_system(struct arena *a, const json_t *content, const struct tool_set *tools,
                         struct buf *out)
{
    const struct harmony_system s = {
        .identity = get_default(content, "model_identity",
                                STR("You are ChatGPT, a large language model trained by OpenAI.")),
        .knowledge_cutoff = get_default(content, "knowledge_cutoff", STR("2024-06")),
        .date = get_text(content, "current_date"),
        .effort = get_default(content, "reasoning_effort", STR("medium")),
        .channels = join_channels(a, json_object_get(content, "channels")),
        .has_browser = names_builtin(content, "browser"),
        .has_python = names_builtin(content, "python"),
        .has_functions = harmony_tools_have_functions(tools),
    };

    harmony_system_write(&s, out);
}

static void write_developer(const json_t *content, const struct tool_set *tools, struct buf *out)
{
    size_t from = out->len;

    if (json_object_get(content, "instructions") != NULL) {
        buf_c(out, "# Instructions\n\n");
        buf_append(out, get_text(content, "instructions"));
    }
    if (json_object_get(content, "tools") != NULL) {
        harmony_section_begin(from, out);
        harmony_tools_write(tools, out);
    }
}

static void write_message(struct arena *a, const json_t *message, const struct tool_set *tools,
                          struct buf *out)
{
    const json_t *content = json_object_get(message, "content"), *part;
    const bool is_tool = str_eq(get_text(message, "role"), STR("tool"));
    const struct harmony_message m = {
        .role.name = get_text(message, is_tool ? "name" : "role"),
        .name = is_tool ? STR("") : get_text(message, "name"),
        .recipient.name = get_text(message, "recipient"),
        .channel = get_text(message, "channel"),
        .content_type = get_text(message, "content_type"),
    };
    size_t from = harmony_message_open(&m, out), i;

    if (str_eq(get_text(content, "type"), STR("system")))
        write_system(a, content, tools, out);
    else if (json_is_object(content))
        write_developer(content, tools, out);
    else
        buf_append(out, text_of(content));
    json_array_foreach(content, i, part)
    {
        buf_append(out, get_text(part, "text"));
    }
    harmony_message_close(&m, from, out);
}

static void check_messages(const json_t *vector)
{
    const json_t *messages = json_object_get(vector, "messages"), *message;
    struct arena a = {0};
    struct tool_set tools = collect_tools(&a, messages);
    struct buf out = {0};
    size_t i;

    json_array_foreach(messages, i, message)
    {
        write_message(&a, message, &tools, &out);
    }
    if (str_eq(get_text(vector, "mode"), STR("completion")))
        buf_c(&out, "<|start|>assistant");
    assert_prompt(vector, &out);
    buf_fini(&out);
    arena_fini(&a);
}

/* ---- requests */

static bool asks_for(const json_t *request, const char *type)
{
    const json_t *tool;
    size_t i;

    json_array_foreach(json_object_get(request, "tools"), i, tool)
    {
        if (str_eq(get_text(tool, "type"), str_from_c(type)))
            return true;
    }
    return false;
}

static void check_request(const json_t *vector)
{
    const json_t *request = json_object_get(vector, "request");
    const json_t *config = json_object_get(vector, "config");
    const struct harmony_options options = {
        .date = get_text(config, "current_date"),
        .has_browser = asks_for(request, "web_search"),
        .has_python = asks_for(request, "code_interpreter"),
    };
    char *body = json_dumps(request, 0);
    struct conversation c;
    struct fixture f;
    struct buf out = {0};

    parse(&f, str_from_c(body), json_object_get(config, "mcp_listed_tools"));
    c = converse(&f);
    harmony_prompt_write(&f.request, &c, CHAT_FIRST_ROUND, &options, &out);
    assert_prompt(vector, &out);
    buf_fini(&out);
    fixture_fini(&f);
    free(body);
}

static void every_vector_gives_its_prompt(void **state)
{
    json_t *file = load_json_file("tests/data/harmony/render.json");
    const json_t *vectors = json_object_get(file, "vectors"), *vector;
    size_t i, n = 0;

    (void)state;
    json_array_foreach(vectors, i, vector)
    {
        if (is_skipped(json_string_value(json_object_get(vector, "id"))))
            continue;
        if (str_eq(get_text(vector, "layer"), STR("request")))
            check_request(vector);
        else
            check_messages(vector);
        n++;
    }
    assert_int_equal(n, 69 - COUNT_OF(skipped));
    json_decref(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vector_gives_its_prompt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
