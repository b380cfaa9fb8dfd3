/* test_harmony_request.c -- requests as Harmony prompts: the contract's vectors, what they leave
 * open, and the JSON body around the prompt. */
#include "request_fixture.h"

#include "lib/test.h"
#include "wire/harmony_message.h"
#include "wire/harmony_request.h"
#include "wire/harmony_tools.h"

#define VECTORS "tests/data/harmony/render.json"
#define ZWSP    "\xe2\x80\x8b"

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

static str text_of(const json_t *value)
{
    return json_is_string(value) ? str_from(json_string_value(value), json_string_length(value))
                                 : STR("");
}

static str get_text(const json_t *object, const char *member)
{
    return text_of(json_object_get(object, member));
}

/* A member that has a default when it is absent, and is nothing when it is null. */
static str get_default(const json_t *object, const char *member, str otherwise)
{
    const json_t *value = json_object_get(object, member);

    return value == NULL ? otherwise : text_of(value);
}

static str dump(struct arena *a, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    str copy;

    assert_non_null(text);
    copy = arena_dup(a, str_from_c(text));
    free(text);
    return copy;
}

/* STR_NONE when it is no text. */
static str escaped(struct arena *a, const json_t *value)
{
    str raw = json_is_string(value) ? dump(a, value) : STR_NONE;

    return str_is_none(raw) ? raw : str_from(raw.p + 1, raw.len - 2);
}

static void assert_prompt(const json_t *vector, const struct buf *out)
{
    str expected = get_text(vector, "expected");

    if (!str_eq(buf_str(out), expected))
        fail_msg("%s:\n got      %.*s\n expected %.*s",
                 json_string_value(json_object_get(vector, "id")), STR_ARG(buf_str(out)),
                 STR_ARG(expected));
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

/* Tools that servers of the request have. */
static size_t read_hosted(struct arena *a, const json_t *listed, struct hosted_tool *ret)
{
    const json_t *tools, *tool;
    const char *label;
    size_t n = 0, i;

    json_object_foreach((json_t *)(uintptr_t)listed, label, tools)
    {
        json_array_foreach(tools, i, tool)
        {
            ret[n++] = (struct hosted_tool){
                .server_label = str_from_c(label),
                .name = get_text(tool, "name"),
                .upstream_name = STR("mcp__tool"),
                .description = get_text(tool, "description"),
                .parameters = dump(a, json_object_get(tool, "input_schema")),
            };
        }
    }
    return n;
}

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

static void parse(struct fixture *f, str body, const json_t *listed)
{
    const struct responses_request_options options = {.default_model = STR("gpt-oss")};
    struct hosted_tool hosted[4];

    if (fixture_parse_with(f, &options, body, 0) == -1)
        fail_msg("%s (%s) for %.*s", f->err.msg, f->err.param, STR_ARG(body));
    if (f->request.needs_tools)
        assert_int_equal(request_add_hosted(&f->request, hosted,
                                            read_hosted(&f->arena, listed, hosted), &f->arena,
                                            &f->err),
                         0);
}

static struct conversation converse(struct fixture *f)
{
    const struct chat_request_options options = {.reasoning_history = CHAT_OPEN_REASONING};
    struct conversation c;

    assert_int_equal(
        chat_request_conversation(&f->request, &options, &f->ids, &f->arena, &c, &f->err), 0);
    return c;
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
    json_t *file = load_json_file(VECTORS);
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

/* ---- prompts that no vector has */

#define SYSTEM                                                                                     \
    "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n"       \
    "Knowledge cutoff: 2024-06\n\nReasoning: medium\n\n# Valid channels: analysis, commentary, "   \
    "final. Channel must be included for every message."
#define FUNCTIONS "\nCalls to these tools must go to the commentary channel: 'functions'."
#define END       "<|end|>"
#define ASSISTANT "<|start|>assistant"

struct options {
    enum chat_round round;
    struct harmony_options harmony;
};

static void check_prompt(const char *body, struct options o, const char *expected)
{
    struct conversation c;
    struct fixture f;
    struct buf out = {0};

    parse(&f, str_from_c(body), NULL);
    c = converse(&f);
    harmony_prompt_write(&f.request, &c, o.round, &o.harmony, &out);
    assert_str_c(buf_str(&out), expected);
    buf_fini(&out);
    fixture_fini(&f);
}

#define CALL(name, id)                                                                             \
    "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"" name                          \
    "\",\"arguments\":\"{\\\"a\\\":1}\"}"
#define OUTPUT(id, text)                                                                           \
    "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":" text "}"
#define USER      "<|start|>user<|message|>q" END
#define USER_ITEM "{\"role\":\"user\",\"content\":\"q\"}"
#define F_TOOL    "\"tools\":[{\"type\":\"function\",\"name\":\"f\"}]"
#define F_SECTION                                                                                  \
    "<|start|>developer<|message|># Tools\n\n## functions\n\nnamespace functions {\n\ntype f = "   \
    "() => any;\n\n} // namespace functions" END
#define F_CALL                                                                                     \
    ASSISTANT " to=functions.f<|channel|>commentary <|constrain|>json<|message|>{\"a\":1}<|call|>"
#define F_OUTPUT(text) "<|start|>functions.f to=assistant<|channel|>commentary<|message|>" text END

static void markers_in_every_text_of_the_caller_are_broken(void **state)
{
    (void)state;
    check_prompt("{\"instructions\":\"i<|end|>\",\"input\":[" USER_ITEM ","
                 "{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"<|e\"},"
                 "{\"type\":\"input_text\",\"text\":\"nd|>\"}]},"
                 "{\"type\":\"function_call\",\"call_id\":\"1\",\"name\":\"f\",\"arguments\":"
                 "\"{\\\"a\\\":\\\"\\u003c|call|>\\\"}\"}," OUTPUT("1", "\"<|start|>\"") "]}",
                 (struct options){0},
                 SYSTEM END
                 "<|start|>developer<|message|># Instructions\n\ni<" ZWSP "|end|>" END USER
                 "<|start|>user<|message|><" ZWSP "|end|>" END ASSISTANT
                 " to=functions.f<|channel|>commentary <|constrain|>json<|message|>"
                 "{\"a\":\"<" ZWSP "|call|>\"}<|call|>" F_OUTPUT("<" ZWSP "|start|>") ASSISTANT);
}

static void a_format_is_harmless_and_compact(void **state)
{
    (void)state;
    check_prompt("{\"input\":\"q\",\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"n\","
                 "\"description\":\"a\\nb\",\"schema\":{ \"x\" : \"<|end|>\" }}}}",
                 (struct options){0},
                 SYSTEM END "<|start|>developer<|message|># Response Formats\n\n## n\n\n// a\n// "
                            "b\n{\"x\":\"<" ZWSP "|end|>\"}" END USER ASSISTANT);
}

static void calls_may_have_a_bare_content_type(void **state)
{
    (void)state;
    check_prompt("{\"input\":[" USER_ITEM "," CALL("f", "1") "," OUTPUT("1", "\"x\"") "]}",
                 (struct options){.harmony.bare_content_type = true},
                 SYSTEM END USER ASSISTANT
                 " to=functions.f<|channel|>commentary json<|message|>{\"a\":1}<|call|>" F_OUTPUT(
                     "x") ASSISTANT);
}

static void a_call_without_output_says_so_unless_it_is_open(void **state)
{
    (void)state;
    check_prompt("{\"input\":[" USER_ITEM "," CALL("f", "1") "," USER_ITEM "]}",
                 (struct options){0},
                 SYSTEM END USER F_CALL F_OUTPUT("[no output]") USER ASSISTANT);
    check_prompt("{\"input\":[" USER_ITEM "," CALL("f", "1") "]}", (struct options){0},
                 SYSTEM END USER F_CALL ASSISTANT);
}

static void text_before_calls_is_commentary_unless_it_is_final(void **state)
{
    (void)state;
    check_prompt(
        "{\"input\":[" USER_ITEM ",{\"role\":\"assistant\",\"content\":\"t\"}," CALL("f", "1") "]}",
        (struct options){0},
        SYSTEM END USER ASSISTANT "<|channel|>commentary<|message|>t" END F_CALL ASSISTANT);
}

static void the_last_round_shows_no_tools(void **state)
{
    (void)state;
    check_prompt("{\"input\":\"q\"," F_TOOL "}", (struct options){.round = CHAT_LATER_ROUND},
                 SYSTEM FUNCTIONS END F_SECTION USER ASSISTANT);
    check_prompt("{\"input\":\"q\"," F_TOOL "}", (struct options){.round = CHAT_LAST_ROUND},
                 SYSTEM END USER ASSISTANT);
}

static void a_chosen_function_is_begun_in_the_first_round(void **state)
{
    static const char body[] =
        "{\"input\":\"q\"," F_TOOL ",\"tool_choice\":{\"type\":\"function\",\"name\":\"f\"}}";
    struct fixture f;

    (void)state;
    check_prompt(body, (struct options){.round = CHAT_FIRST_ROUND},
                 SYSTEM FUNCTIONS END F_SECTION USER ASSISTANT
                 " to=functions.f<|channel|>commentary <|constrain|>json<|message|>");
    check_prompt(body, (struct options){.round = CHAT_LATER_ROUND},
                 SYSTEM FUNCTIONS END F_SECTION USER ASSISTANT);
    parse(&f, str_from_c(body), NULL);
    assert_str_c(harmony_request_begun_call(&f.request, CHAT_FIRST_ROUND), "f");
    assert_true(str_is_none(harmony_request_begun_call(&f.request, CHAT_LATER_ROUND)));
    fixture_fini(&f);
}

static void only_allowed_tools_are_shown(void **state)
{
    (void)state;
    check_prompt("{\"input\":\"q\",\"tools\":[{\"type\":\"function\",\"name\":\"g\"},{\"type\":"
                 "\"function\",\"name\":\"f\"}],\"tool_choice\":{\"type\":\"allowed_tools\","
                 "\"mode\":\"auto\",\"tools\":[{\"type\":\"function\",\"name\":\"f\"}]}}",
                 (struct options){0}, SYSTEM FUNCTIONS END F_SECTION USER ASSISTANT);
}

static void other_kinds_of_tools_are_functions(void **state)
{
    (void)state;
    check_prompt("{\"input\":\"q\",\"tools\":[{\"type\":\"custom\",\"name\":\"c\","
                 "\"description\":\"D.\",\"format\":{\"type\":\"grammar\",\"syntax\":\"lark\","
                 "\"definition\":\"a\\nb\"}}]}",
                 (struct options){0},
                 SYSTEM FUNCTIONS END
                 "<|start|>developer<|message|># Tools\n\n## functions\n\n"
                 "namespace functions {\n\n// D.\n// The input must match "
                 "this lark grammar:\n// a\n// b\ntype c = (_: {\ninput: "
                 "string,\n}) => any;\n\n} // namespace functions" END USER ASSISTANT);
}

static void tools_of_servers_have_names_that_can_be_read_again(void **state)
{
    static const struct {
        const char *label, *tool, *space, *name;
    } names[] = {
        {"docs", "search", "docs", "search"},     {"docs", "a.b", "functions", "up"},
        {"docs", "a b", "functions", "up"},       {"functions", "search", "functions", "up"},
        {"browser", "search", "functions", "up"}, {"mcp", "search", "functions", "up"},
        {NULL, NULL, "functions", "up"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct harmony_name n =
            harmony_tool_name(str_from_c(names[i].label), str_from_c(names[i].tool), STR("up"));

        assert_str_c(n.space, names[i].space);
        assert_str_c(n.name, names[i].name);
    }
}

/* ---- the body */

static json_t *body_with(const char *request, const struct chat_request_options *o, struct err *e)
{
    const struct harmony_options harmony = {.date = STR("2025-06-28")};
    struct conversation c;
    struct fixture f;
    struct buf out = {0};
    json_t *body = NULL;

    parse(&f, str_from_c(request), NULL);
    c = converse(&f);
    if (harmony_request_write(&f.request, &c, o, &harmony, &out, e) == 0) {
        body = json_loadb(out.p, out.len, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(body);
    }
    buf_fini(&out);
    fixture_fini(&f);
    return body;
}

#define SETTINGS                                                                                   \
    "\"skip_special_tokens\":false,\"spaces_between_special_tokens\":false,"                       \
    "\"add_special_tokens\":false,\"stop_token_ids\":[200002,200012],\"preserved_tokens\":["       \
    "\"<|start|>\",\"<|end|>\",\"<|message|>\",\"<|channel|>\",\"<|constrain|>\"]"

static void check_body(const char *request, const struct chat_request_options *o,
                       const char *expected)
{
    struct err e;
    json_t *body = body_with(request, o, &e);

    assert_non_null(body);
    assert_int_equal(json_object_del(body, "prompt"), 0);
    assert_json(request, body, expected);
    json_decref(body);
}

static void a_plain_request_has_a_prompt_and_no_limit(void **state)
{
    (void)state;
    check_body("{\"input\":\"q\",\"stream\":false}", &(struct chat_request_options){0},
               "{\"model\":\"gpt-oss\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
               "\"max_tokens\":null," SETTINGS "}");
}

static void the_body_has_what_the_request_has(void **state)
{
    (void)state;
    check_body(
        "{\"model\":\"m\",\"input\":\"q\",\"max_output_tokens\":50,\"temperature\":0.5,"
        "\"top_p\":1,\"presence_penalty\":1,\"frequency_penalty\":2,\"user\":\"u\","
        "\"seed\":7,\"stop\":[\"x\"],\"top_k\":3,\"min_p\":0.25}",
        &(struct chat_request_options){.model = STR("up"), .omit_usage = true, .spent_tokens = 20},
        "{\"model\":\"up\",\"stream\":true,\"max_tokens\":30,\"temperature\":0.5,\"top_p\":1,"
        "\"presence_penalty\":1,\"frequency_penalty\":2,\"user\":\"u\"," SETTINGS
        ",\"seed\":7,\"stop\":[\"x\"],\"top_k\":3,\"min_p\":0.25}");
}

static void what_is_for_chats_only_is_not_sent(void **state)
{
    (void)state;
    check_body("{\"input\":\"q\",\"reasoning\":{\"effort\":\"none\"},\"text\":{\"verbosity\":"
               "\"low\",\"format\":{\"type\":\"json_object\"}},\"chat_template_kwargs\":{\"a\":1},"
               "\"n\":3," F_TOOL "}",
               &(struct chat_request_options){.thinking_switch = true, .is_openai = true},
               "{\"model\":\"gpt-oss\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
               "\"max_tokens\":null," SETTINGS "}");
}

static void the_prompt_is_escaped_once(void **state)
{
    struct err e;
    json_t *body = body_with("{\"input\":\"a\\\\\\\"\\n\\u00e9\\u2028<|end|>\"}",
                             &(struct chat_request_options){0}, &e);

    (void)state;
    assert_non_null(body);
    assert_true(str_ends_with(
        get_text(body, "prompt"),
        STR("<|start|>user<|message|>a\\\"\n\xc3\xa9\xe2\x80\xa8<" ZWSP "|end|>" END ASSISTANT)));
    assert_true(str_find(get_text(body, "prompt"), STR("Current date: 2025-06-28\n")) <
                get_text(body, "prompt").len);
    json_decref(body);
}

/* ---- refusals */

static void check_refused(const char *request, const char *param)
{
    struct err e;

    assert_null(body_with(request, &(struct chat_request_options){0}, &e));
    assert_int_equal(e.code, ERR_UNSUPPORTED_PARAMETER);
    assert_string_equal(e.param, param);
    assert_non_null(strstr(e.msg, param));
}

#define WITH_CHOICE(choice) "{\"input\":\"q\"," F_TOOL ",\"tool_choice\":" choice "}"

static void what_a_prompt_cannot_say_is_refused(void **state)
{
    (void)state;
    check_refused("{\"input\":\"q\",\"top_logprobs\":2}", "top_logprobs");
    check_refused("{\"input\":\"q\",\"include\":[\"message.output_text.logprobs\"]}", "include");
    check_refused("{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_image\","
                  "\"image_url\":\"data:image/png;base64,AA==\"}]}]}",
                  "input");
    check_refused("{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_audio\","
                  "\"input_audio\":{}}]}]}",
                  "input");
    check_refused("{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_file\","
                  "\"file_data\":\"AA==\"}]}]}",
                  "input");
    check_refused("{\"input\":[" CALL("f", "1") "," OUTPUT(
                      "1", "[{\"type\":\"input_image\",\"image_url\":\"data:,\"}]") "]}",
                  "input");
    check_refused(WITH_CHOICE("\"required\""), "tool_choice");
    check_refused(WITH_CHOICE("{\"type\":\"allowed_tools\",\"mode\":\"required\",\"tools\":["
                              "{\"type\":\"function\",\"name\":\"f\"}]}"),
                  "tool_choice");
}

static void a_forced_choice_is_no_matter_of_later_rounds(void **state)
{
    const struct chat_request_options later = {.round = CHAT_LATER_ROUND};
    struct err e;
    json_t *body = body_with(WITH_CHOICE("\"required\""), &later, &e);

    (void)state;
    assert_non_null(body);
    json_decref(body);
}

/* ---- limits */

static void a_full_buffer_is_an_error(void **state)
{
    const struct chat_request_options o = {0};
    const struct harmony_options harmony = {0};
    struct conversation c;
    struct fixture f;
    struct buf out = {0};
    size_t whole;

    (void)state;
    parse(&f,
          STR("{\"input\":\"<|end|>\",\"tools\":[{\"type\":\"function\",\"name\":\"f\","
              "\"description\":\"d\",\"parameters\":{\"type\":\"object\",\"required\":[\"a\"],"
              "\"properties\":{\"a\":{}}}}]}"),
          NULL);
    c = converse(&f);
    assert_int_equal(harmony_request_write(&f.request, &c, &o, &harmony, &out, &f.err), 0);
    whole = out.len;
    buf_fini(&out);
    for (size_t limit = 1; limit < whole; limit++) {
        buf_init(&out, limit);
        assert_int_equal(harmony_request_write(&f.request, &c, &o, &harmony, &out, &f.err), -1);
        buf_fini(&out);
    }
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vector_gives_its_prompt),
        cmocka_unit_test(markers_in_every_text_of_the_caller_are_broken),
        cmocka_unit_test(a_format_is_harmless_and_compact),
        cmocka_unit_test(calls_may_have_a_bare_content_type),
        cmocka_unit_test(a_call_without_output_says_so_unless_it_is_open),
        cmocka_unit_test(text_before_calls_is_commentary_unless_it_is_final),
        cmocka_unit_test(the_last_round_shows_no_tools),
        cmocka_unit_test(a_chosen_function_is_begun_in_the_first_round),
        cmocka_unit_test(only_allowed_tools_are_shown),
        cmocka_unit_test(other_kinds_of_tools_are_functions),
        cmocka_unit_test(tools_of_servers_have_names_that_can_be_read_again),
        cmocka_unit_test(a_plain_request_has_a_prompt_and_no_limit),
        cmocka_unit_test(the_body_has_what_the_request_has),
        cmocka_unit_test(what_is_for_chats_only_is_not_sent),
        cmocka_unit_test(the_prompt_is_escaped_once),
        cmocka_unit_test(what_a_prompt_cannot_say_is_refused),
        cmocka_unit_test(a_forced_choice_is_no_matter_of_later_rounds),
        cmocka_unit_test(a_full_buffer_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
