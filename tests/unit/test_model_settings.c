/* test_model_settings.c -- from what an operator wrote about models to the request to the upstream
 * and to how its answer is read. */
#include "request_fixture.h"

#include "config/config_key.h"
#include "upstream/upstream_options.h"

enum { MAX_ARGS = 8 };

static void load_args(const char *const *args, struct config *c)
{
    struct config_problems problems = {.n_kept = 0};
    struct config_sources sources = {.args = args, .file_text = STR_NONE};

    while (sources.n_args < MAX_ARGS && args[sources.n_args] != NULL)
        sources.n_args++;
    if (config_load(c, &sources, &problems) == -1)
        fail_msg("%s", problems.kept[0].text);
    config_problems_fini(&problems);
}

/* ---- words */

static bool has_old_key(enum model_setting s)
{
    for (const struct config_key *k = config_old_keys; k->name != NULL; k++) {
        if (strcmp(k->name, model_setting_name(s)) == 0)
            return true;
    }
    return false;
}

/* One word of a setting may mean that others decide. */
static void check_words(enum model_setting s)
{
    const char *name = model_setting_name(s);
    str rest = str_from_c(model_setting_words(s)), word;
    int values[16], value;
    size_t n = 0, n_open = 0;

    while (!str_is_none(word = config_next_word(&rest, '|'))) {
        char line[100], flag[100];
        const char *const args[MAX_ARGS] = {"--model-settings", line, has_old_key(s) ? flag : NULL};
        struct config c;

        (void)snprintf(line, sizeof(line), "m %s=%.*s", name, STR_ARG(word));
        (void)snprintf(flag, sizeof(flag), "--%s=%.*s", name, STR_ARG(word));
        load_args(args, &c);
        assert_true(!has_old_key(s) || str_eq(str_from_c(c.of_all_models[s]), word));
        config_fini(&c);
        if (!model_setting_value(s, word, &value)) {
            n_open++;
            continue;
        }
        for (size_t i = 0; i < n; i++)
            assert_int_not_equal(value, values[i]);
        values[n++] = value;
    }
    assert_true(n >= 2 && n_open <= 1);
    assert_false(model_setting_value(s, STR("other"), &value));
    assert_false(model_setting_value(s, STR_NONE, &value));
}

static void every_word_of_a_setting_may_be_said_and_means_something(void **state)
{
    (void)state;
    for (int s = 0; s < MODEL_SETTINGS; s++)
        check_words((enum model_setting)s);
}

static void a_setting_is_found_by_its_name(void **state)
{
    enum model_setting found;

    (void)state;
    for (int s = 0; s < MODEL_SETTINGS; s++) {
        assert_true(
            model_setting_find(str_from_c(model_setting_name((enum model_setting)s)), &found));
        assert_int_equal(found, s);
    }
    assert_false(model_setting_find(STR("harmony_date"), &found));
    assert_false(model_setting_find(STR(""), &found));
}

/* ---- who says it */

/* What is said of the model counts before what is said of all, and that before an old key, wherever
 * these are written. */
static void the_nearest_word_counts(void **state)
{
    static const struct {
        const char *args[MAX_ARGS];
        enum chat_token_field tokens;
        enum model_think think;
    } cases[] = {
        {{NULL}, CHAT_MAX_TOKENS, MODEL_THINK_OFF},
        {{"--upstream-kind", "openai"}, CHAT_MAX_COMPLETION_TOKENS, MODEL_THINK_OFF},
        {{"--think-tags", "on", "--token-field", "both"}, CHAT_BOTH_TOKEN_FIELDS, MODEL_THINK_ON},
        {{"--model-settings", "* think_tags=inside", "--think-tags", "on"},
         CHAT_MAX_TOKENS,
         MODEL_THINK_INSIDE},
        {{"--model-settings", "* think_tags=inside token_field=both", "--model-settings",
          "m think_tags=on", "--think-tags", "off"},
         CHAT_BOTH_TOKEN_FIELDS,
         MODEL_THINK_ON},
        {{"--model-settings", "m* think_tags=on", "--model-settings", "m think_tags=inside"},
         CHAT_MAX_TOKENS,
         MODEL_THINK_ON},
        {{"--model-settings", "* think_tags=on", "--model-settings", "* think_tags=inside"},
         CHAT_MAX_TOKENS,
         MODEL_THINK_ON},
        {{"--model-settings", "m token_field=auto", "--model-settings", "* token_field=both",
          "--upstream-kind", "openai"},
         CHAT_MAX_COMPLETION_TOKENS,
         MODEL_THINK_OFF},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct model_profile p;
        struct config c;

        load_args(cases[i].args, &c);
        p = upstream_named_profile(&c, NULL, STR("m"));
        assert_int_equal(p.token_field, cases[i].tokens);
        assert_int_equal(p.think, cases[i].think);
        config_fini(&c);
    }
}

/* ---- requests */

#define USER(text)    "{\"role\":\"user\",\"content\":\"" text "\"}"
#define THOUGHT(text) "{\"type\":\"reasoning\",\"content\":[{\"text\":\"" text "\"}]}"
#define CALL(id)                                                                                   \
    "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"f\",\"arguments\":\"{}\"}"
#define OUTPUT(id) "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":\"o\"}"
#define OLD_TURN                                                                                   \
    USER("q") "," THOUGHT("r0") ",{\"role\":\"assistant\",\"content\":\"x\"}," USER("u")
#define TOOL_TURN THOUGHT("r1") "," CALL("1") "," CALL("2") "," OUTPUT("1") "," OUTPUT("2")

/* Which reasoning stands where: c is reasoning_content, r is reasoning, t the content. */
static void describe(const json_t *messages, struct buf *out)
{
    static const struct {
        const char *field;
        char mark;
    } places[] = {{"reasoning_content", 'c'}, {"reasoning", 'r'}, {"content", 't'}};
    const json_t *m;
    size_t i;

    json_array_foreach(messages, i, m)
    {
        if (strcmp(json_string_value(json_object_get(m, "role")), "assistant") != 0)
            continue;
        buf_c(out, out->len > 0 ? " " : "");
        for (size_t p = 0; p < sizeof(places) / sizeof(*places); p++) {
            const char *text = json_string_value(json_object_get(m, places[p].field));
            const char *found = text == NULL ? NULL : strstr(text, "r");

            if (found == NULL)
                continue;
            buf_char(out, places[p].mark);
            buf_append(out, str_from(found, 2));
        }
        buf_char(out, '/');
        buf_uint(out, json_array_size(json_object_get(m, "tool_calls")));
    }
}

static void assert_described(const char *const *args, const char *model, const char *items,
                             const char *expected)
{
    struct buf body = {0}, got = {0};
    struct model_profile profile;
    struct chat_request_options options;
    struct config c;
    struct fixture f;
    json_t *chat;

    load_args(args, &c);
    buf_c(&body, "{\"model\":\"");
    buf_c(&body, model);
    buf_c(&body, "\",\"input\":[");
    buf_c(&body, items);
    buf_c(&body, "]}");
    assert_int_equal(fixture_parse(&f, buf_str(&body), 0), 0);
    profile = upstream_model_profile(&c, NULL, &f.request, &f.arena);
    options = upstream_chat_options(&c, NULL, &f.request, &profile, &f.arena);
    chat = fixture_chat(&f, &options);
    describe(json_object_get(chat, "messages"), &got);
    if (strcmp(buf_cstr(&got), expected) != 0)
        fail_msg("%s, %s: got %s, not %s", model, args[1] == NULL ? "" : args[1], buf_cstr(&got),
                 expected);
    json_decref(chat);
    fixture_fini(&f);
    config_fini(&c);
    buf_fini(&body);
    buf_fini(&got);
}

static void a_model_gets_the_reasoning_it_wants(void **state)
{
    static const struct {
        const char *args[MAX_ARGS];
        const char *model;
        const char *tool_turn, *with_history; /* the upstream's messages, see describe() */
    } cases[] = {
        {{NULL}, "m", "cr1/2", "cr0/0 cr1/2"},
        {{NULL}, "openai/gpt-oss-20b", "cr1rr1/1 /1", "/0 cr1rr1/1 /1"},
        {{NULL}, "deepseek-r1", "/2", "/0 /2"},
        {{NULL}, "deepseek-v3.1", "cr1/2", "/0 cr1/2"},
        {{NULL}, "deepseek-v4-flash", "cr1/2", "cr0/0 cr1/2"},
        {{NULL}, "qwen3:8b", "cr1/2", "/0 cr1/2"},
        {{NULL}, "kimi-k2-thinking", "cr1/2", "cr0/0 cr1/2"},
        {{NULL}, "magistral-small-2509", "tr1/2", "tr0/0 tr1/2"},
        {{NULL}, "mistral-large", "/2", "/0 /2"},
        {{"--reasoning-field", "reasoning"}, "gpt-oss-20b", "rr1/1 /1", "/0 rr1/1 /1"},
        {{"--reasoning-field", "both"}, "deepseek-r1", "cr1rr1/2", "cr0rr0/0 cr1rr1/2"},
        {{"--reasoning-field", "think", "--reasoning-history", "open"}, "m", "tr1/2", "/0 tr1/2"},
        {{"--reasoning-field", "none"}, "deepseek-v4-pro", "/2", "/0 /2"},
        {{"--reasoning-history", "all"}, "qwen3", "cr1/2", "cr0/0 cr1/2"},
        {{"--call-messages", "merged"}, "gpt-oss-20b", "cr1rr1/2", "/0 cr1rr1/2"},
        {{"--call-messages", "single"}, "m", "cr1/1 /1", "cr0/0 cr1/1 /1"},
        {{"--model-alias", "m=gpt-oss-20b"}, "m", "cr1rr1/1 /1", "/0 cr1rr1/1 /1"},
        {{"--model-alias", "gpt-oss-20b=m"}, "gpt-oss-20b", "cr1/2", "cr0/0 cr1/2"},
        {{NULL}, "gpt\\u002doss-20b", "cr1rr1/1 /1", "/0 cr1rr1/1 /1"},
        {{"--model-settings", "m reasoning_field=reasoning reasoning_history=open"},
         "m",
         "rr1/2",
         "/0 rr1/2"},
        {{"--model-settings", "m* reasoning_field=none", "--reasoning-field", "both"},
         "m",
         "/2",
         "/0 /2"},
        {{"--model-settings", "other reasoning_field=none"}, "m", "cr1/2", "cr0/0 cr1/2"},
        {{"--model-alias", "a=m", "--model-settings", "m reasoning_field=none"},
         "a",
         "/2",
         "/0 /2"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_described(cases[i].args, cases[i].model, USER("u") "," TOOL_TURN,
                         cases[i].tool_turn);
        assert_described(cases[i].args, cases[i].model, OLD_TURN "," TOOL_TURN,
                         cases[i].with_history);
    }
}

/* ---- answers */

static void the_answer_of_a_model_is_read_as_configured(void **state)
{
    static const struct {
        const char *args[MAX_ARGS];
        const char *body;
        struct model_text_conf conf;
    } cases[] = {
        {{NULL}, "{\"model\":\"m\",\"input\":\"x\"}", {.harmony = MODEL_HARMONY_AUTO}},
        {{NULL}, "{\"model\":\"deepseek-r1\",\"input\":\"x\"}", {.harmony = MODEL_HARMONY_AUTO}},
        {{"--think-tags", "auto", "--text-calls", "auto", "--harmony", "chat"},
         "{\"model\":\"deepseek-r1\",\"input\":\"x\"}",
         {.think = MODEL_THINK_INSIDE, .calls = TEXT_CALLS_DEEPSEEK}},
        {{"--think-tags", "auto", "--harmony", "harmony-chat"},
         "{\"model\":\"m\",\"input\":\"x\"}", /* whatever its name, it is one of gpt-oss */
         {.harmony = MODEL_HARMONY_ON, .think = MODEL_THINK_OFF}},
        {{"--model-settings", "m harmony=harmony-completions text_calls=kimi", "--harmony", "chat"},
         "{\"model\":\"m\",\"input\":\"x\"}",
         {.harmony = MODEL_HARMONY_ON, .calls = TEXT_CALLS_KIMI}},
        {{"--think-tags", "auto", "--thinking-switch"},
         "{\"model\":\"qwq\",\"input\":\"x\",\"reasoning\":{\"effort\":\"none\"}}",
         {.harmony = MODEL_HARMONY_AUTO, .think = MODEL_THINK_ON}},
        {{"--think-tags", "auto", "--thinking-switch"},
         "{\"model\":\"qwq\",\"input\":\"x\",\"reasoning\":{\"effort\":\"low\"}}",
         {.harmony = MODEL_HARMONY_AUTO, .think = MODEL_THINK_INSIDE}},
        {{"--think-tags", "auto"},
         "{\"model\":\"qwq\",\"input\":\"x\",\"reasoning\":{\"effort\":\"none\"}}",
         {.harmony = MODEL_HARMONY_AUTO, .think = MODEL_THINK_INSIDE}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct model_profile profile;
        struct model_text_conf got;
        struct config c;
        struct fixture f;

        load_args(cases[i].args, &c);
        assert_int_equal(fixture_parse(&f, str_from_c(cases[i].body), 0), 0);
        profile = upstream_model_profile(&c, NULL, &f.request, &f.arena);
        got = upstream_stream_conf(&c, &f.request, &profile).text;
        assert_int_equal(got.harmony, cases[i].conf.harmony);
        assert_int_equal(got.think, cases[i].conf.think);
        assert_int_equal(got.calls, cases[i].conf.calls);
        assert_ptr_equal(got.tools, &f.request.tools);
        fixture_fini(&f);
        config_fini(&c);
    }
}

/* ---- prompts */

static struct harmony_options harmony_options_of(const char *const *args, struct arena *a)
{
    struct harmony_options options;
    struct config c;

    load_args(args, &c);
    const struct model_profile profile = upstream_named_profile(&c, NULL, STR("gpt-oss-20b"));

    options = upstream_harmony_options(&c, &profile, a);
    options.date = arena_dup(a, options.date);
    config_fini(&c);
    return options;
}

static void a_prompt_has_the_date_that_is_configured(void **state)
{
    static const char *const given[] = {"--harmony-date", "2025-06-28", NULL};
    static const char *const none[] = {"--harmony-date", "none", NULL};
    static const char *const today[] = {NULL};
    static const char *const bare[] = {"--model-settings", "gpt-oss* harmony_content_type=bare",
                                       NULL};
    struct arena a;
    str date;

    (void)state;
    arena_init(&a, 0);
    assert_true(str_eq(harmony_options_of(given, &a).date, STR("2025-06-28")));
    assert_int_equal(harmony_options_of(none, &a).date.len, 0);
    date = harmony_options_of(today, &a).date;
    assert_int_equal(date.len, strlen("2026-01-31"));
    assert_true(date.p[4] == '-' && date.p[7] == '-' && str_from(date.p, 2).p[0] == '2');
    assert_false(harmony_options_of(today, &a).bare_content_type);
    assert_true(harmony_options_of(bare, &a).bare_content_type);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_of_a_setting_may_be_said_and_means_something),
        cmocka_unit_test(a_setting_is_found_by_its_name),
        cmocka_unit_test(the_nearest_word_counts),
        cmocka_unit_test(a_model_gets_the_reasoning_it_wants),
        cmocka_unit_test(the_answer_of_a_model_is_read_as_configured),
        cmocka_unit_test(a_prompt_has_the_date_that_is_configured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
