/* test_upstream_options.c -- what each key of the configuration changes in the
 * request to the upstream, from the flag to the JSON.
 *
 * A case has flags, the members of a request, and what must come out: members
 * of the Chat request, names that must not be in it, or the error. */
#include "request_fixture.h"

#include "lib/json_subset.h"
#include "upstream/upstream_options.h"

#define CASES "tests/data/conversion/cases.json"

#define USER(text)     "{\"role\":\"user\",\"content\":\"" text "\"}"
#define SYSTEM(role)   "{\"role\":\"" role "\",\"content\":\"s\"}"
#define INPUT(items)   "\"input\":[" items "]"
#define MESSAGES(list) "{\"messages\":[" list "]}"
#define THOUGHT        "{\"type\":\"reasoning\",\"content\":[{\"text\":\"t\"}]},"
#define SAID(members)  "{\"role\":\"assistant\",\"content\":\"a\"" members "}"
#define ANSWER         "{\"role\":\"assistant\",\"content\":\"a\"}," USER("u")
#define CALL_ITEM(id)  "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"f\"},"
#define OUTPUT(id, value)                                                                          \
    "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":" value "}"
#define UNFINISHED(status, text)                                                                   \
    "{\"type\":\"message\",\"role\":\"assistant\",\"status\":\"" status                            \
    "\",\"content\":[{\"type\":"                                                                   \
    "\"output_text\",\"text\":\"" text "\"}]}"
#define CONTINUED                                                                                  \
    "{\"messages\":[" USER("u") "," SAID("") "],\"add_generation_prompt\":false,"                  \
                                             "\"continue_final_message\":true}"
#define CONTINUING "continue_final_message add_generation_prompt"
#define TOOL(name) "{\"type\":\"function\",\"name\":\"" name "\"}"
#define TOOLS      "\"input\":\"x\",\"tools\":[" TOOL("a") "," TOOL("b") "]"
#define CHOSEN     ",\"tool_choice\":{\"type\":\"function\",\"name\":\"b\"}"
#define FN(name)   "{\"function\":{\"name\":\"" name "\"}}"
#define KWARGS     "\"chat_template_kwargs\":{\"a\":1,\"enable_thinking\":true}"
#define FILE_PART(more)                                                                            \
    INPUT("{\"role\":\"user\",\"content\":[{\"type\":\"input_file\"," more "}]}")
#define CHAT_FILE(more) MESSAGES("{\"content\":[{\"type\":\"file\",\"file\":{" more "}}]}")
#define IMAGE_OUTPUT                                                                               \
    INPUT(USER("u") "," CALL_ITEM("c")                                                             \
              OUTPUT("c", "[{\"type\":\"input_text\",\"text\":\"t\"},{\"type\":\"input_image\","   \
                          "\"image_url\":\"i\"}]"))
#define IMAGE "{\"type\":\"image_url\",\"image_url\":{\"url\":\"i\"}}"

struct option_case {
    const char *flags, *members; /* of a request that has a model already */
    const char *chat;            /* members it has to hold */
    const char *absent;          /* names, with spaces between */
    const char *error, *param;   /* instead: code and param of the refusal */
};

static const struct option_case cases[] = {
    {"", "\"input\":\"x\",\"max_output_tokens\":5", "{\"max_tokens\":5}", "max_completion_tokens",
     NULL, NULL},
    {"--upstream-kind openai", "\"input\":\"x\",\"max_output_tokens\":5",
     "{\"max_completion_tokens\":5}", "max_tokens", NULL, NULL},
    {"--upstream-kind openai --token-field max_tokens", "\"input\":\"x\",\"max_output_tokens\":5",
     "{\"max_tokens\":5}", "max_completion_tokens", NULL, NULL},
    {"--token-field max_completion_tokens", "\"input\":\"x\",\"max_output_tokens\":5",
     "{\"max_completion_tokens\":5}", "max_tokens", NULL, NULL},
    {"--token-field both", "\"input\":\"x\",\"max_output_tokens\":5",
     "{\"max_tokens\":5,\"max_completion_tokens\":5}", "", NULL, NULL},

    {"--upstream-kind llama.cpp", TOOLS CHOSEN,
     "{\"tools\":[" FN("b") "],\"tool_choice\":\"required\"}", "", NULL, NULL},
    {"--upstream-kind llama.cpp --tool-choice-support full", TOOLS CHOSEN,
     "{\"tools\":[" FN("a") "," FN("b") "],\"tool_choice\":" FN("b") "}", "", NULL, NULL},
    {"--upstream-kind ollama", TOOLS CHOSEN, "{\"tools\":[" FN("b") "],\"tool_choice\":\"auto\"}",
     "", NULL, NULL},
    {"--upstream-kind vllm", TOOLS CHOSEN, "{\"tool_choice\":" FN("b") "}", "", NULL, NULL},
    {"--upstream-kind vllm",
     "\"input\":\"x\",\"reasoning\":{\"effort\":\"none\"},\"max_output_tokens\":5",
     "{\"chat_template_kwargs\":{\"enable_thinking\":false},\"max_tokens\":5}", "", NULL, NULL},
    {"--upstream-kind vllm --no-thinking-switch",
     "\"input\":\"x\",\"reasoning\":{\"effort\":\"none\"}", "{}", "chat_template_kwargs", NULL,
     NULL},
    {"--upstream-kind ollama --thinking-switch",
     "\"input\":\"x\",\"reasoning\":{\"effort\":\"none\"}",
     "{\"chat_template_kwargs\":{\"enable_thinking\":false}}", "", NULL, NULL},
    {"--upstream-kind ollama", "\"input\":\"x\",\"reasoning\":{\"effort\":\"none\"}", "{}",
     "chat_template_kwargs", NULL, NULL},
    {"--upstream-kind mistral",
     "\"seed\":1,\"random_seed\":2,\"max_output_tokens\":5," INPUT(USER("u") "," CALL_ITEM("call_1")
                                                                       OUTPUT("call_1", "\"o\"")),
     "{\"random_seed\":2,\"max_tokens\":5}", "stream_options seed call_1", NULL, NULL},
    {"--upstream-kind mistral --include-usage", "\"input\":\"x\"",
     "{\"stream_options\":{\"include_usage\":true}}", "", NULL, NULL},
    {"--upstream-kind groq", INPUT(THOUGHT ANSWER), MESSAGES(ANSWER), "reasoning reasoning_content",
     NULL, NULL},
    {"--upstream-kind openai --reasoning-field reasoning", INPUT(THOUGHT ANSWER),
     MESSAGES(SAID(",\"reasoning\":\"t\"") "," USER("u")), "", NULL, NULL},
    {"--upstream-kind vllm",
     "\"input\":\"x\",\"ignore_eos\":true,\"cache_salt\":\"s\",\"priority\":1,"
     "\"vllm_xargs\":{\"a\":1},\"mirostat\":2,\"what\":1",
     "{\"ignore_eos\":true,\"cache_salt\":\"s\",\"priority\":1,\"vllm_xargs\":{\"a\":1}}",
     "mirostat what", NULL, NULL},
    {"--upstream-kind llama.cpp", "\"input\":\"x\",\"cache_salt\":\"s\",\"mirostat\":2,\"xtc_x\":1",
     "{\"mirostat\":2,\"xtc_x\":1}", "cache_salt", NULL, NULL},
    {"--upstream-kind llama.cpp --pass-fields auto,cache_*",
     "\"input\":\"x\",\"cache_salt\":\"s\",\"mirostat\":2,\"auto\":1",
     "{\"mirostat\":2,\"cache_salt\":\"s\"}", "auto", NULL, NULL},
    {"--upstream-kind vllm", INPUT(USER("u") "," UNFINISHED("incomplete", "a")), CONTINUED, "",
     NULL, NULL},
    {"--upstream-kind sglang", INPUT(USER("u") "," UNFINISHED("in_progress", "a")), CONTINUED, "",
     NULL, NULL},
    {"--upstream-kind vllm",
     "\"continue_final_message\":false,\"add_generation_prompt\":true," INPUT(
         USER("u") "," THOUGHT UNFINISHED("incomplete", "a")),
     CONTINUED, "", NULL, NULL},
    {"--upstream-kind vllm",
     "\"continue_final_message\":false,\"add_generation_prompt\":true," INPUT(
         USER("u") "," UNFINISHED("completed", "a")),
     "{\"continue_final_message\":false,\"add_generation_prompt\":true}", "", NULL, NULL},
    {"--upstream-kind vllm", INPUT(USER("u") "," UNFINISHED("incomplete", "a") "," USER("v")),
     MESSAGES(USER("u") "," SAID("") "," USER("v")), CONTINUING, NULL, NULL},
    {"--upstream-kind vllm", INPUT(USER("u") "," UNFINISHED("incomplete", "")), "{}", CONTINUING,
     NULL, NULL},
    {"--upstream-kind vllm", INPUT(USER("u") "," CALL_ITEM("c") UNFINISHED("incomplete", "a")),
     "{}", CONTINUING, NULL, NULL},
    {"--upstream-kind llama.cpp", INPUT(USER("u") "," UNFINISHED("incomplete", "a")),
     MESSAGES(USER("u") "," SAID("")), CONTINUING, NULL, NULL},
    {"", INPUT(USER("u") "," UNFINISHED("incomplete", "a")), MESSAGES(USER("u") "," SAID("")),
     CONTINUING, NULL, NULL},
    {"--upstream-kind openai", "\"input\":\"x\",\"top_k\":1,\"seed\":2", "{\"seed\":2}", "top_k",
     NULL, NULL},

    {"--instructions-role developer",
     "\"instructions\":\"i\"," INPUT(USER("u") "," SYSTEM("system")),
     MESSAGES("{\"role\":\"developer\",\"content\":\"i\"}," USER("u") "," SYSTEM("developer")), "",
     NULL, NULL},
    {"--late-system-role user", INPUT(SYSTEM("developer") "," USER("u") "," SYSTEM("system")),
     MESSAGES(SYSTEM("system") "," USER("u") "," SYSTEM("user")), "", NULL, NULL},
    {"--late-system-role user --instructions-role developer",
     INPUT(SYSTEM("system") "," ANSWER "," SYSTEM("system")),
     MESSAGES(SYSTEM("developer") "," ANSWER "," SYSTEM("user")), "", NULL, NULL},

    {"--reasoning-field reasoning", INPUT(THOUGHT ANSWER),
     MESSAGES(SAID(",\"reasoning\":\"t\"") "," USER("u")), "reasoning_content", NULL, NULL},
    {"--reasoning-field both", INPUT(THOUGHT ANSWER),
     MESSAGES(SAID(",\"reasoning\":\"t\",\"reasoning_content\":\"t\"") "," USER("u")), "", NULL,
     NULL},
    {"--reasoning-field none", INPUT(THOUGHT ANSWER), MESSAGES(ANSWER), "reasoning", NULL, NULL},
    {"", INPUT("{\"type\":\"reasoning\",\"summary\":[{\"text\":\"p\"}]}," ANSWER), MESSAGES(ANSWER),
     "reasoning_content", NULL, NULL},
    {"--reasoning-from-summary",
     INPUT("{\"type\":\"reasoning\",\"summary\":[{\"text\":\"p\"},{\"text\":\"q\"}]}," ANSWER),
     MESSAGES(SAID(",\"reasoning_content\":\"p\\n\\nq\"") "," USER("u")), "", NULL, NULL},
    {"--reasoning-from-summary",
     INPUT("{\"type\":\"reasoning\",\"content\":[{\"text\":\"t\"}],\"summary\":[{\"text\":\"p\"}]}"
           "," ANSWER),
     MESSAGES(SAID(",\"reasoning_content\":\"t\"") "," USER("u")), "", NULL, NULL},

    {"", "\"input\":\"x\",\"reasoning\":{\"effort\":\"none\"}", "{\"reasoning_effort\":\"none\"}",
     "chat_template_kwargs", NULL, NULL},
    {"--thinking-switch", "\"input\":\"x\",\"reasoning\":{\"effort\":\"none\"}",
     "{\"reasoning_effort\":\"none\",\"chat_template_kwargs\":{\"enable_thinking\":false}}", "",
     NULL, NULL},
    {"--thinking-switch", "\"input\":\"x\",\"reasoning\":{\"effort\":\"low\"}",
     "{\"reasoning_effort\":\"low\"}", "chat_template_kwargs", NULL, NULL},
    {"--thinking-switch", "\"input\":\"x\",\"reasoning\":{\"effort\":\"none\"}," KWARGS,
     "{\"chat_template_kwargs\":{\"a\":1,\"enable_thinking\":false}}", "", NULL, NULL},
    {"--thinking-switch", "\"input\":\"x\",\"reasoning\":{\"effort\":\"high\"}," KWARGS,
     "{\"chat_template_kwargs\":{\"a\":1,\"enable_thinking\":true}}", "", NULL, NULL},
    {"--thinking-switch",
     "\"input\":\"x\",\"reasoning\":{\"effort\":\"none\"},\"chat_template_kwargs\":[1]",
     "{\"chat_template_kwargs\":{\"enable_thinking\":false}}", "", NULL, NULL},

    {"--tool-choice-support strings", TOOLS CHOSEN,
     "{\"tools\":[" FN("b") "],\"tool_choice\":\"required\"}", "", NULL, NULL},
    {"--tool-choice-support strings", TOOLS ",\"tool_choice\":\"none\"",
     "{\"tools\":[" FN("a") "," FN("b") "],\"tool_choice\":\"none\"}", "", NULL, NULL},
    {"--tool-choice-support auto", TOOLS CHOSEN,
     "{\"tools\":[" FN("b") "],\"tool_choice\":\"auto\"}", "", NULL, NULL},
    {"--tool-choice-support auto", TOOLS ",\"tool_choice\":\"required\"",
     "{\"tools\":[" FN("a") "," FN("b") "],\"tool_choice\":\"auto\"}", "", NULL, NULL},
    {"--tool-choice-support auto", TOOLS ",\"tool_choice\":\"none\",\"parallel_tool_calls\":true",
     "{}", "tools tool_choice parallel_tool_calls", NULL, NULL},
    {"--tool-choice-support auto", TOOLS, "{\"tools\":[" FN("a") "," FN("b") "]}", "tool_choice",
     NULL, NULL},

    {"--no-include-usage", "\"input\":\"x\"", "{\"stream\":true}", "stream_options", NULL, NULL},

    {"--empty-content empty", INPUT(CALL_ITEM("c") OUTPUT("c", "\"o\"")),
     MESSAGES("{\"role\":\"assistant\",\"content\":\"\"},{\"role\":\"tool\"}"), "", NULL, NULL},
    {"--empty-content absent", INPUT(CALL_ITEM("c") OUTPUT("c", "\"o\"")),
     MESSAGES("{\"role\":\"assistant\",\"tool_calls\":[{}]},{\"role\":\"tool\"}"), "null", NULL,
     NULL},

    {"", IMAGE_OUTPUT,
     MESSAGES(USER("u") ",{},{\"role\":\"tool\",\"content\":\"t\"},{\"role\":\"user\",\"content\":"
                        "[" IMAGE "]}"),
     "", NULL, NULL},
    {"--tool-images tool", IMAGE_OUTPUT,
     MESSAGES(USER("u") ",{},{\"role\":\"tool\",\"content\":[{\"type\":\"text\",\"text\":\"t\"}"
                        "," IMAGE "]}"),
     "", NULL, NULL},

    {"", FILE_PART("\"filename\":\"a.txt\",\"file_data\":\"YQ==\""),
     CHAT_FILE("\"filename\":\"a.txt\",\"file_data\":\"YQ==\""), "", NULL, NULL},
    {"--text-files", FILE_PART("\"filename\":\"a.txt\",\"file_data\":\"YQ==\""),
     MESSAGES(USER("a")), "", NULL, NULL},
    {"--text-files", FILE_PART("\"file_data\":\"data:text\\/x-y;charset=utf-8;base64,YSJi\""),
     MESSAGES(USER("a\\\"b")), "", NULL, NULL},
    {"--text-files",
     FILE_PART("\"filename\":\"a.txt\",\"file_data\":\"data:application/pdf;base64,YQ==\""),
     CHAT_FILE("\"filename\":\"a.txt\""), "", NULL, NULL},
    {"--text-files", FILE_PART("\"filename\":\"a.bin\",\"file_data\":\"YQ==\""),
     CHAT_FILE("\"filename\":\"a.bin\""), "", NULL, NULL},
    {"--text-files", FILE_PART("\"filename\":\"a.txt\",\"file_data\":\"data:text/plain,a\""),
     CHAT_FILE("\"filename\":\"a.txt\""), "", NULL, NULL},
    {"--text-files", FILE_PART("\"filename\":\"a.md\",\"file_data\":\"Y?==\""), NULL, "",
     "invalid_value", "input[0].content[0].file_data"},

    {"--model-alias m=big", "\"input\":\"x\"", "{\"model\":\"big\"}", "", NULL, NULL},
    {"--model-alias n=big", "\"input\":\"x\"", "{\"model\":\"m\"}", "", NULL, NULL},

    {"", "\"input\":\"x\",\"client_metadata\":{},\"top_k\":1", "{\"top_k\":1}", "client_metadata",
     NULL, NULL},
    {"--unknown-fields reject", "\"input\":\"x\",\"client_metadata\":{},\"top_k\":1", NULL, "",
     "unknown_parameter", "client_metadata"},
    {"--unknown-fields reject",
     "\"input\":\"x\",\"top_k\":1,\"moderation\":1,\"context_management\":[],\"image\":1,"
     "\"prompt_cache_options\":1,\"access_programs\":1",
     "{\"top_k\":1}", "moderation image", NULL, NULL},
    {"--unknown-fields reject", "\"temperature\":3,\"input\":\"x\",\"what\":1", NULL, "",
     "unknown_parameter", "what"},
    {"--unknown-fields forward",
     "\"input\":\"x\",\"what\":{\"a\" : [1.50]},\"image\":1,\"no\":null",
     "{\"what\":{\"a\":[1.50]}}", "image no", NULL, NULL},
    {"--unknown-fields forward",
     "\"input\":\"x\",\"max_output_tokens\":5,\"max_tokens\":6,\"max_completion_tokens\":7,"
     "\"messages\":[],\"top_logprobs\":1,\"logprobs\":false,\"text\":{\"format\":{\"type\":"
     "\"json_object\"},\"verbosity\":\"low\"},\"response_format\":1,\"verbosity\":\"high\","
     "\"reasoning\":{\"effort\":\"low\"},\"reasoning_effort\":\"high\"",
     "{\"max_tokens\":5,\"messages\":[" USER(
         "x") "],\"logprobs\":true,\"response_format\":"
              "{\"type\":\"json_object\"},\"reasoning_effort\":\"low\"}",
     "max_completion_tokens verbosity", NULL, NULL},
    {"--unknown-fields forward",
     "\"input\":\"x\",\"max_tokens\":6,\"response_format\":{\"type\":\"json_object\"},"
     "\"reasoning_effort\":\"high\"",
     "{\"max_tokens\":6,\"response_format\":{\"type\":\"json_object\"},\"reasoning_effort\":"
     "\"high\"}",
     "", NULL, NULL},
    {"--unknown-fields forward", "\"input\":\"x\",\"a\":1,\"\\u0061\":2", "{\"a\":2}", "", NULL,
     NULL},
    {"--pass-fields vendor_*", "\"input\":\"x\",\"vendor_a\":1,\"top_k\":2", "{\"vendor_a\":1}",
     "top_k", NULL, NULL},
    {"--pass-fields=", "\"input\":\"x\",\"seed\":1", "{}", "seed", NULL, NULL},
    {"--pass-fields n,metadata,stream", "\"input\":\"x\",\"n\":2,\"metadata\":{},\"stream\":false",
     "{\"stream\":true}", "n metadata", NULL, NULL},

    {"--unsupported-tools reject",
     "\"input\":\"x\",\"tools\":[" TOOL("a") ",{\"type\":"
                                             "\"file_search\"}]",
     NULL, "", "unsupported_parameter", "tools[1].type"},
    {"--unsupported-tools reject",
     "\"input\":\"x\",\"tools\":[{\"type\":\"code_interpreter\",\"container\":\"c\"}]", NULL, "",
     "unsupported_parameter", "tools[0].type"},
    {"--unsupported-tools reject", TOOLS, "{\"tools\":[" FN("a") "," FN("b") "]}", "", NULL, NULL},

    {"", INPUT("{\"type\":\"new_item\"}," USER("u")), NULL, "", "invalid_value", "input[0].type"},
    {"--unknown-items ignore", INPUT("{\"type\":\"new_item\",\"role\":1}," USER("u")),
     MESSAGES(USER("u")), "", NULL, NULL},
    {"--unknown-items ignore", INPUT("{\"content\":\"no type\"}"), NULL, "",
     "missing_required_parameter", "input[0].type"},
};

/* ---- from flags to JSON */

static void load(const char *flags, struct config *c)
{
    const char *args[16];
    char *text = strdup(flags), *rest = NULL;
    struct config_problems problems = {.n_kept = 0};
    struct config_sources sources = {.args = args, .file_text = STR_NONE};

    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        args[sources.n_args++] = word;
    if (config_load(c, &sources, &problems) == -1)
        fail_msg("%s: %s", flags, problems.kept[0].text);
    config_problems_fini(&problems);
    free(text);
}

/* NULL with f->err set when the request is refused; *f is finished either way. */
static json_t *convert(const struct config *c, str body, struct fixture *f)
{
    const struct responses_request_options request = upstream_request_options(c, NULL);
    json_t *chat = NULL;

    if (fixture_parse_with(f, &request, body, 0) == 0) {
        const struct model_profile profile =
            upstream_model_profile(c, NULL, &f->request, &f->arena);
        const struct chat_request_options options =
            upstream_chat_options(c, NULL, &f->request, &profile, &f->arena);

        chat = fixture_chat(f, &options);
    }
    fixture_fini(f);
    return chat;
}

/* ---- the cases */

/* Is there a member of this name, or null for "null", anywhere in the tree? */
static bool has_anywhere(const json_t *tree, const char *name)
{
    const char *key;
    json_t *value;
    size_t i;

    if (json_is_null(tree) && strcmp(name, "null") == 0)
        return true;
    for (void *at = json_object_iter((json_t *)(uintptr_t)tree); at != NULL;
         at = json_object_iter_next((json_t *)(uintptr_t)tree, at)) {
        key = json_object_iter_key(at);
        if (strcmp(key, name) == 0 || has_anywhere(json_object_iter_value(at), name))
            return true;
    }
    json_array_foreach(tree, i, value)
    {
        if (has_anywhere(value, name))
            return true;
    }
    return false;
}

static void check_absent(const struct option_case *c, const json_t *chat)
{
    char *text = strdup(c->absent), *rest = NULL;

    for (char *name = strtok_r(text, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest)) {
        if (has_anywhere(chat, name))
            fail_msg("%s with %s: '%s' was sent", c->flags, c->members, name);
    }
    free(text);
}

static void check_chat(const struct option_case *c, json_t *chat)
{
    json_t *wanted = json_loads(c->chat, 0, NULL);
    char *got = json_dumps(chat, JSON_COMPACT);

    if (wanted == NULL)
        fail_msg("the test's own JSON is broken: %s", c->chat);
    if (!json_holds(chat, wanted))
        fail_msg("%s with %s:\n     got %s\nexpected %s", c->flags, c->members, got, c->chat);
    check_absent(c, chat);
    json_decref(wanted);
    free(got);
}

static void check_refusal(const struct option_case *c, const struct err *e)
{
    if (c->error == NULL)
        fail_msg("%s with %s was refused: %s", c->flags, c->members, e->msg);
    assert_string_equal(err_wire_code(e), c->error);
    assert_string_equal(e->param, c->param);
    assert_int_equal(err_http_status(e), 400);
}

static void run_case(const struct option_case *c)
{
    struct config config;
    struct buf body = {0};
    struct fixture f;
    json_t *chat;

    load(c->flags, &config);
    buf_c(&body, "{\"model\":\"m\",");
    buf_c(&body, c->members);
    buf_char(&body, '}');
    chat = convert(&config, buf_str(&body), &f);
    if (chat != NULL && c->error != NULL)
        fail_msg("%s with %s was not refused", c->flags, c->members);
    if (chat == NULL)
        check_refusal(c, &f.err);
    else
        check_chat(c, chat);
    json_decref(chat);
    buf_fini(&body);
    config_fini(&config);
}

static void every_key_changes_what_its_help_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        run_case(&cases[i]);
}

/* ---- defaults */

static json_t *convert_zeroed(str body, struct fixture *f)
{
    const struct responses_request_options request = {.default_model = STR_NONE};
    const struct chat_request_options options = {0};
    json_t *chat = NULL;

    if (fixture_parse_with(f, &request, body, 0) == 0)
        chat = fixture_chat(f, &options);
    fixture_fini(f);
    return chat;
}

/* So the list of passed fields, too, is the same in both places. */
static void the_default_configuration_is_zeroed_options(void **state)
{
    const struct name_list *passed = &upstream_profile(UPSTREAM_GENERIC)->fields;
    json_t *conversion = load_json_file(CASES), *c;
    struct config config;
    struct fixture f;
    size_t i;

    (void)state;
    load("", &config);
    json_array_foreach(conversion, i, c)
    {
        json_t *request = json_object_get(c, "request"), *a, *b;
        char *body;

        json_object_set_new(request, "model", json_string("m"));
        json_object_set_new(request, "guided_other", json_true());
        json_object_set_new(request, "unknown", json_true());
        json_object_set_new(request, "auto", json_integer(1));
        for (size_t k = 0; k < passed->n; k++)
            json_object_set_new(request, passed->names[k], json_integer(1));
        body = json_dumps(request, 0);
        a = convert(&config, str_from_c(body), &f);
        b = convert_zeroed(str_from_c(body), &f);
        assert_true(json_equal(a, b) || (a == NULL && b == NULL));
        json_decref(a);
        json_decref(b);
        free(body);
    }
    config_fini(&config);
    json_decref(conversion);
}

static void the_answer_is_read_as_configured(void **state)
{
    const struct responses_request r = {.include_logprobs = true};
    struct model_profile profile;
    struct chat_stream_conf conf;
    struct config config;

    (void)state;
    load("--think-tags on --hold-leading-space --max-line 2KiB --max-response 3KiB", &config);
    profile = upstream_named_profile(&config, NULL, STR("m"));
    conf = upstream_stream_conf(&config, &r, &profile);
    assert_int_equal(conf.text.think, MODEL_THINK_ON);
    assert_int_equal(conf.space, CHAT_SPACE_HELD);
    assert_true(conf.wants_logprobs);
    assert_int_equal(conf.max_event_bytes, 2048);
    assert_int_equal(conf.text.max_held_bytes, 3072);
    config_fini(&config);
}

/* White space before calls is held back where models think, unless somebody wants it otherwise. */
static void space_is_held_for_models_that_think(void **state)
{
    static const struct {
        const char *flags, *model;
        enum chat_space_mode space;
    } rows[] = {
        {"", "m", CHAT_SPACE_HELD_AFTER_REASONING},
        {"", "QwQ-32B", CHAT_SPACE_HELD},
        {"", "qwen/qwen3.5-9b", CHAT_SPACE_HELD},
        {"", "gpt-oss-20b", CHAT_SPACE_HELD_AFTER_REASONING},
        {"--think-tags on", "m", CHAT_SPACE_HELD},
        {"--hold-leading-space=auto", "m", CHAT_SPACE_HELD_AFTER_REASONING},
        {"--hold-leading-space=true", "m", CHAT_SPACE_HELD},
        {"--hold-leading-space", "m", CHAT_SPACE_HELD},
        {"--no-hold-leading-space", "QwQ-32B", CHAT_SPACE_KEPT},
        {"--hold-leading-space=off", "m", CHAT_SPACE_KEPT},
    };
    const struct responses_request r = {.include_logprobs = false};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct model_profile profile;
        struct config config;

        load(rows[i].flags, &config);
        profile = upstream_named_profile(&config, NULL, str_from_c(rows[i].model));
        assert_int_equal(upstream_stream_conf(&config, &r, &profile).space, rows[i].space);
        config_fini(&config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_changes_what_its_help_says),
        cmocka_unit_test(the_default_configuration_is_zeroed_options),
        cmocka_unit_test(the_answer_is_read_as_configured),
        cmocka_unit_test(space_is_held_for_models_that_think),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
