/* test_upstream_kind.c -- the table of kinds, and what servers say about themselves. */
#include "lib/fixture.h"
#include "lib/test.h"
#include "wire/dialect/upstream_models.h"
#include "wire/dialect/upstream_sign.h"

/* ---- the table */

static void every_kind_has_a_word_a_source_and_fields(void **state)
{
    (void)state;
    for (int k = 0; k < UPSTREAM_KINDS; k++) {
        const struct upstream_profile *p = upstream_profile((enum upstream_kind)k);
        enum upstream_kind found;

        assert_int_equal(p->kind, k);
        assert_true(upstream_kind_find(p->word, &found));
        assert_int_equal(found, k);
        assert_true(p->source[0] != '\0' && p->fields.n > 0);
        assert_str_c(str_from_c(p->fields.names[0]), "stop");
    }
}

static void words_are_found_in_any_case(void **state)
{
    enum upstream_kind kind;

    (void)state;
    assert_true(upstream_kind_find(STR("LLaMA.cpp"), &kind));
    assert_int_equal(kind, UPSTREAM_LLAMA_CPP);
    assert_false(upstream_kind_find(STR("llama"), &kind));
    assert_false(upstream_kind_find(STR(""), &kind));
}

static bool takes(enum upstream_kind kind, const char *field)
{
    const struct name_list *fields = &upstream_profile(kind)->fields;

    for (size_t i = 0; i < fields->n; i++) {
        if (strcmp(fields->names[i], field) == 0)
            return true;
    }
    return false;
}

/* CONTRACT 1.1: stop and n go to every server; the fields of one are nothing to another. */
static void fields_go_to_servers_that_know_them(void **state)
{
    static const char *const of_vllm[] = {
        "ignore_eos",         "skip_special_tokens",  "cache_salt",        "priority",
        "vllm_xargs",         "mm_processor_kwargs",  "include_reasoning", "kv_transfer_params",
        "structured_outputs", "chat_template_kwargs",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(of_vllm); i++) {
        assert_true(takes(UPSTREAM_VLLM, of_vllm[i]));
        assert_false(takes(UPSTREAM_OPENAI, of_vllm[i]) || takes(UPSTREAM_MISTRAL, of_vllm[i]));
    }
    assert_true(takes(UPSTREAM_MISTRAL, "random_seed") && !takes(UPSTREAM_MISTRAL, "seed"));
}

/* ---- signs */

static void found(const struct upstream_finding *f, enum upstream_kind kind,
                  enum upstream_certainty certainty, const char *by, const char *version)
{
    assert_str_eq(upstream_profile(f->kind)->word, upstream_profile(kind)->word);
    assert_int_equal(f->certainty, certainty);
    if (by == NULL)
        assert_null(f->by);
    else
        assert_string_equal(f->by, by);
    assert_string_equal(f->version, version);
}

static void hosted_servers_are_known_by_their_url(void **state)
{
    static const struct {
        const char *url;
        enum upstream_kind kind;
    } cases[] = {
        {"https://api.openai.com/v1", UPSTREAM_OPENAI},
        {"https://API.OpenAI.com", UPSTREAM_OPENAI},
        {"https://eu.api.openai.com:443/v1", UPSTREAM_OPENAI},
        {"https://me.openai.azure.com/openai/v1", UPSTREAM_OPENAI},
        {"https://user:word@api.mistral.ai/v1?x", UPSTREAM_MISTRAL},
        {"https://openrouter.ai/api/v1", UPSTREAM_OPENROUTER},
        {"https://api.groq.com/openai/v1", UPSTREAM_GROQ},
        {"https://api.deepseek.com", UPSTREAM_DEEPSEEK},
        {"https://ollama.com/v1", UPSTREAM_OLLAMA},
        {"https://api.openai.com.example.org/v1", UPSTREAM_GENERIC},
        {"https://notapi.openai.com/v1", UPSTREAM_GENERIC},
        {"https://a@b@api.openai.com/v1", UPSTREAM_GENERIC},
        {"https://api.openai.com@example.org/v1", UPSTREAM_GENERIC},
        {"http://localhost:8080/api.openai.com", UPSTREAM_GENERIC},
        {"unix:/run/api.openai.com", UPSTREAM_GENERIC},
        {"://", UPSTREAM_GENERIC},
        {"", UPSTREAM_GENERIC},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct upstream_finding f = {.by = NULL};
        bool is_known = cases[i].kind != UPSTREAM_GENERIC;

        upstream_sign_url(str_from_c(cases[i].url), &f);
        found(&f, cases[i].kind, is_known ? UPSTREAM_SURE : UPSTREAM_UNKNOWN,
              is_known ? "url" : NULL, "");
    }
}

static void headers_name_servers(void **state)
{
    static const struct {
        const char *name, *value;
        enum upstream_kind kind;
        enum upstream_certainty certainty;
        const char *by;
    } cases[] = {
        {"server", "llama.cpp", UPSTREAM_LLAMA_CPP, UPSTREAM_SURE, "server_header"},
        {"Server", "ik_llama.cpp", UPSTREAM_LLAMA_CPP, UPSTREAM_SURE, "server_header"},
        {"server", "uvicorn", UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, NULL}, /* vLLM, SGLang, others */
        {"server", "", UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, NULL},
        {"x-powered-by", "llama.cpp", UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, NULL},
        {"openai-processing-ms", "5", UPSTREAM_OPENAI, UPSTREAM_LIKELY, "header"},
        {"x-groq-region", "us", UPSTREAM_GROQ, UPSTREAM_LIKELY, "header"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct upstream_finding f = {.by = NULL};

        upstream_sign_header(str_from_c(cases[i].name), str_from_c(cases[i].value), &f);
        found(&f, cases[i].kind, cases[i].certainty, cases[i].by, "");
    }
}

static void fingerprints_name_servers(void **state)
{
    static const struct {
        const char *value;
        enum upstream_kind kind;
        enum upstream_certainty certainty;
        const char *version;
    } cases[] = {
        /* recorded */
        {"b9999-d32676d77", UPSTREAM_LLAMA_CPP, UPSTREAM_SURE, "b9999-d32676d77"},
        {"b0-unknown", UPSTREAM_LLAMA_CPP, UPSTREAM_SURE, "b0-unknown"},
        /* documentation of vllm.entrypoints.openai.fingerprint */
        {"vllm-0.21.0-tp2-0123abcd", UPSTREAM_VLLM, UPSTREAM_SURE, "0.21.0"},
        {"vllm-0.21.0-0123abcd", UPSTREAM_VLLM, UPSTREAM_SURE, "0.21.0"},
        {"fp_ollama", UPSTREAM_OLLAMA, UPSTREAM_SURE, ""},
        {"3.3.5-native", UPSTREAM_TGI, UPSTREAM_LIKELY, ""},
        {"2.4.1-dev0-sha-d4e1a2b", UPSTREAM_TGI, UPSTREAM_LIKELY, ""},
        /* OpenAI, Azure, DeepSeek, Groq: who of them? */
        {"fp_50cad350e4", UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, ""},
        {"qwen3-4b", UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, ""}, /* LM Studio: the model */
        {"b-1234abcd", UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, ""},
        {"b12-12g4", UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, ""},
        {"b12-", UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, ""},
        {"b12", UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, ""},
        {"1.2.3", UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, ""},
        {"", UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct upstream_finding f = {.by = NULL};

        upstream_sign_fingerprint(str_from_c(cases[i].value), &f);
        found(&f, cases[i].kind, cases[i].certainty,
              cases[i].certainty == UPSTREAM_UNKNOWN ? NULL : "fingerprint", cases[i].version);
    }
}

static void a_fingerprint_is_found_in_an_answer(void **state)
{
    struct buf recorded = fixture_read("captures/llama-2025-02/length_stream.sse");
    struct upstream_finding f = {.by = NULL}, cut = {.by = NULL}, null = {.by = NULL};

    (void)state;
    upstream_sign_answer(buf_str(&recorded), &f);
    found(&f, UPSTREAM_LLAMA_CPP, UPSTREAM_SURE, "fingerprint", "b0-unknown");
    for (size_t n = 0; n < recorded.len && n < 400; n++)
        upstream_sign_answer(str_from(recorded.p, n), &cut); /* never past what has come */
    upstream_sign_answer(STR("data: {\"system_fingerprint\": null}"), &null);
    upstream_sign_answer(STR("{\"system_fingerprint\""), &null);
    upstream_sign_answer(STR("{\"system_fingerprint\":\"b1-"), &null);
    found(&null, UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, NULL, "");
    buf_fini(&recorded);
}

static void look_at(const char *fixture, enum upstream_path path, int status,
                    struct upstream_finding *f)
{
    struct buf body = fixture_read(fixture);

    *f = (struct upstream_finding){.by = NULL};
    upstream_sign_body(path, status, buf_str(&body), f);
    buf_fini(&body);
}

static void recorded_bodies_name_servers(void **state)
{
    struct upstream_finding f;

    (void)state;
    look_at("upstream_kinds/llama_cpp_models.json", UPSTREAM_PATH_MODELS, 200, &f);
    found(&f, UPSTREAM_LLAMA_CPP, UPSTREAM_SURE, "models", "");
    look_at("upstream_kinds/ik_llama_cpp_models.json", UPSTREAM_PATH_MODELS, 200, &f);
    found(&f, UPSTREAM_LLAMA_CPP, UPSTREAM_SURE, "models", "");
    look_at("upstream_kinds/llama_cpp_props.json", UPSTREAM_PATH_PROPS, 200, &f);
    found(&f, UPSTREAM_LLAMA_CPP, UPSTREAM_SURE, "props", "b9999-d32676d77");
    look_at("upstream_kinds/llama_cpp_props.json", UPSTREAM_PATH_VERSION, 200, &f);
    found(&f, UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, NULL, "");
    look_at("upstream_kinds/llama_cpp_not_found.json", UPSTREAM_PATH_VERSION, 404, &f);
    found(&f, UPSTREAM_LLAMA_CPP, UPSTREAM_LIKELY, "error", "");
    look_at("upstream_kinds/llama_cpp_overflow.json", UPSTREAM_PATH_VERSION, 400, &f);
    found(&f, UPSTREAM_LLAMA_CPP, UPSTREAM_LIKELY, "error", "");
}

#define MODELS(owner)                                                                              \
    "{\"object\":\"list\",\"data\":[{\"id\":\"m\",\"object\":\"model\",\"created\":1,"             \
    "\"owned_by\":\"" owner "\"}]}"

static void documented_bodies_name_servers(void **state)
{
    static const struct {
        enum upstream_path path;
        int status;
        const char *body;
        enum upstream_kind kind;
        enum upstream_certainty certainty;
        const char *by, *version;
    } cases[] = {
        {UPSTREAM_PATH_MODELS, 200, MODELS("vllm"), UPSTREAM_VLLM, UPSTREAM_SURE, "models", ""},
        {UPSTREAM_PATH_MODELS, 200, " \n" MODELS("sglang") "\n", UPSTREAM_SGLANG, UPSTREAM_SURE,
         "models", ""},
        {UPSTREAM_PATH_MODELS, 200, MODELS("library"), UPSTREAM_OLLAMA, UPSTREAM_LIKELY, "models",
         ""},
        {UPSTREAM_PATH_MODELS, 200, MODELS("organization_owner"), UPSTREAM_LMSTUDIO,
         UPSTREAM_LIKELY, "models", ""},
        /* LiteLLM says that of all models */
        {UPSTREAM_PATH_MODELS, 200, MODELS("openai"), UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, NULL, ""},
        {UPSTREAM_PATH_MODELS, 200,
         "{\"data\":[{\"id\":\"a\",\"owned_by\":\"vllm\"},{\"id\":\"b\",\"owned_by\":\"sglang\"}]}",
         UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, NULL, ""},
        {UPSTREAM_PATH_MODELS, 200, "{\"data\":{\"owned_by\":\"vllm\"}}", UPSTREAM_GENERIC,
         UPSTREAM_UNKNOWN, NULL, ""},
        {UPSTREAM_PATH_MODELS, 200, "{\"data\":[{\"owned_by\":\"vllm\"}", UPSTREAM_GENERIC,
         UPSTREAM_UNKNOWN, NULL, ""},
        {UPSTREAM_PATH_VERSION, 200, "{\"version\":\"0.11.0\"}", UPSTREAM_VLLM, UPSTREAM_LIKELY,
         "version", "0.11.0"},
        {UPSTREAM_PATH_VERSION, 404, "{\"version\":\"0.11.0\"}", UPSTREAM_GENERIC, UPSTREAM_UNKNOWN,
         NULL, ""},
        {UPSTREAM_PATH_VERSION, 200, "{\"version\":\"1\\nkind=x\"}", UPSTREAM_VLLM, UPSTREAM_LIKELY,
         "version", "1"},
        {UPSTREAM_PATH_VERSION, 200, "{\"version\":\"\"}", UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, NULL,
         ""},
        {UPSTREAM_PATH_API_VERSION, 200, "{\"version\":\"0.12.3\"}", UPSTREAM_OLLAMA,
         UPSTREAM_LIKELY, "version", "0.12.3"},
        /* llama-swap, with members of its own */
        {UPSTREAM_PATH_API_VERSION, 200,
         "{\"build_date\":\"2026-01-01\",\"commit\":\"abcdef0\",\"version\":\"170\"}",
         UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, NULL, ""},
        {UPSTREAM_PATH_SERVER_INFO, 200, "{\"model_path\":\"/m\",\"version\":\"0.5.3\"}",
         UPSTREAM_SGLANG, UPSTREAM_LIKELY, "version", "0.5.3"},
        /* lmstudio-bug-tracker issue 618: with status 200 */
        {UPSTREAM_PATH_PROPS, 200, "{\"error\":\"Unexpected endpoint or method. (GET /props)\"}",
         UPSTREAM_LMSTUDIO, UPSTREAM_SURE, "error", ""},
        /* FastAPI, Go, a page for people */
        {UPSTREAM_PATH_PROPS, 404, "{\"detail\":\"Not Found\"}", UPSTREAM_GENERIC, UPSTREAM_UNKNOWN,
         NULL, ""},
        {UPSTREAM_PATH_PROPS, 404, "404 page not found", UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, NULL,
         ""},
        {UPSTREAM_PATH_PROPS, 200, "<!DOCTYPE html><title>llama.cpp</title>", UPSTREAM_GENERIC,
         UPSTREAM_UNKNOWN, NULL, ""},
        {UPSTREAM_PATH_PROPS, 200, "", UPSTREAM_GENERIC, UPSTREAM_UNKNOWN, NULL, ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct upstream_finding f = {.by = NULL};

        upstream_sign_body(cases[i].path, cases[i].status, str_from_c(cases[i].body), &f);
        found(&f, cases[i].kind, cases[i].certainty, cases[i].by, cases[i].version);
    }
}

/* Open WebUI has the path of vLLM, and lists models of Ollama and of others. A list without models
 * says nothing, nor does one that is not shown to strangers. */
static void a_version_is_not_of_vllm_where_models_are_not(void **state)
{
    static const struct {
        const char *models;
        enum upstream_kind kind;
    } cases[] = {
        {MODELS("ollama"), UPSTREAM_GENERIC},
        {MODELS("openai"), UPSTREAM_GENERIC},
        {"{\"data\":[{\"id\":\"m\"}]}", UPSTREAM_GENERIC},
        {MODELS("library"), UPSTREAM_OLLAMA},
        {MODELS("vllm"), UPSTREAM_VLLM},
        {"{\"data\":[]}", UPSTREAM_VLLM},
        {"{\"error\":\"Unauthorized\"}", UPSTREAM_VLLM},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct upstream_finding f = {.by = NULL};

        upstream_sign_body(UPSTREAM_PATH_MODELS, 200, str_from_c(cases[i].models), &f);
        upstream_sign_body(UPSTREAM_PATH_VERSION, 200, STR("{\"version\":\"0.6.5\"}"), &f);
        assert_int_equal(f.kind, cases[i].kind);
        assert_string_equal(f.version, f.kind == UPSTREAM_VLLM ? "0.6.5" : "");
    }
}

static void the_surest_sign_counts(void **state)
{
    struct upstream_finding f = {.by = NULL};

    (void)state;
    upstream_sign_body(UPSTREAM_PATH_VERSION, 200, STR("{\"version\":\"9\"}"), &f);
    found(&f, UPSTREAM_VLLM, UPSTREAM_LIKELY, "version", "9");
    upstream_sign_body(UPSTREAM_PATH_API_VERSION, 200, STR("{\"version\":\"8\"}"), &f);
    found(&f, UPSTREAM_VLLM, UPSTREAM_LIKELY, "version", "9");
    upstream_sign_header(STR("server"), STR("llama.cpp"), &f);
    found(&f, UPSTREAM_LLAMA_CPP, UPSTREAM_SURE, "server_header", "");
    upstream_sign_fingerprint(STR("b7-abcdef"), &f);
    found(&f, UPSTREAM_LLAMA_CPP, UPSTREAM_SURE, "server_header", "b7-abcdef");
    upstream_sign_fingerprint(STR("vllm-1-x"), &f);
    found(&f, UPSTREAM_LLAMA_CPP, UPSTREAM_SURE, "server_header", "b7-abcdef");
}

/* ---- what else answers say */

static void props_tell_of_the_model(void **state)
{
    struct buf body = fixture_read("upstream_kinds/llama_cpp_props.json");
    struct upstream_props props;

    (void)state;
    assert_true(upstream_props_read(buf_str(&body), &props));
    assert_str_c(props.chat_template, "<4116 characters>");
    assert_str_c(props.model_alias, "tiny");
    assert_str_c(props.model_path, "<path>");
    assert_false(upstream_props_read(STR("{\"default_generation_settings\":{}"), &props));
    assert_false(upstream_props_read(STR("{\"default_generation_settings\":1}"), &props));
    buf_fini(&body);
}

static void models_tell_their_window_and_root(void **state)
{
    struct buf body = fixture_read("upstream_kinds/llama_cpp_models.json");
    struct buf many = {.limit = 0};
    struct upstream_models models;
    struct arena a = {0};

    (void)state;
    assert_true(upstream_models_read(buf_str(&body), &a, &models));
    assert_int_equal(models.n, 1);
    assert_str_c(models.v[0].id, "tiny");
    assert_true(str_is_none(models.v[0].root));
    assert_int_equal(models.v[0].limits.window, 4096);
    assert_true(upstream_models_read(
        STR("{\"data\":[1,{},{\"id\":\"a\\u0062\",\"root\":\"/m/Qwen3-8B\",\"max_model_len\":9},"
            "{\"id\":\"x\",\"max_model_len\":-1}]}"),
        &a, &models));
    assert_int_equal(models.n, 2);
    assert_str_c(models.v[0].id, "ab");
    assert_str_c(models.v[0].root, "/m/Qwen3-8B");
    assert_int_equal(models.v[0].limits.window, 9);
    assert_int_equal(models.v[1].limits.window, 0);
    buf_c(&many, "{\"data\":[");
    for (int i = 0; i < 2000; i++)
        buf_c(&many, i == 0 ? "{\"id\":\"m\"}" : ",{\"id\":\"m\"}");
    buf_c(&many, "]}");
    assert_true(upstream_models_read(buf_str(&many), &a, &models));
    assert_int_equal(models.n, UPSTREAM_MAX_MODELS);
    assert_true(upstream_models_read(STR("no list"), &a, &models));
    assert_int_equal(models.n, 0);
    buf_fini(&many);
    buf_fini(&body);
    arena_fini(&a);
}

/* ---- what is asked */

/* The paths in their order, for a server of which the given is found at once. */
static void asks(const char *url, const char *server, const char *expected)
{
    struct upstream_finding f = {.by = NULL};
    struct buf got = {.limit = 0};
    enum upstream_path path;
    unsigned asked = 0;

    upstream_sign_url(str_from_c(url), &f);
    while (upstream_sign_next(&f, asked, &path)) {
        assert_int_equal(asked >> path & 1, 0);
        asked |= 1U << path;
        buf_append(&got, upstream_path_text(path));
        upstream_sign_header(STR("server"), str_from_c(server), &f);
    }
    assert_str_c(buf_str(&got), expected);
    buf_fini(&got);
}

static void little_is_asked(void **state)
{
    (void)state;
    asks("https://api.openai.com/v1", "cloudflare", "");
    asks("https://ollama.com/v1", "nginx", "");
    asks("https://openrouter.ai/api/v1", "cloudflare", "/models");
    asks("https://api.mistral.ai/v1", "cloudflare", "/models");
    asks("http://h:1/v1", "llama.cpp", "/models/props");
    asks("http://h:1/v1", "nginx", "/models/props/version/api/version/model/info");
    asks("http://llm.example.org/v1", "nginx", "/models/props/version/api/version/model/info");
    asks("https://10.0.0.2:8000/v1", "nginx", "/models/props/version/api/version/model/info");
    asks("https://[fd00::1]/v1", "nginx", "/models/props/version/api/version/model/info");
    asks("https://llm/v1", "nginx", "/models/props/version/api/version/model/info");
    asks("https://llm.Home.arpa/v1", "nginx", "/models/props/version/api/version/model/info");
    /* who offers that to everybody is not to be bothered */
    asks("https://llm.example.org/v1", "nginx", "/models");
    asks("https://llm.example.org/v1", "llama.cpp", "/models/props");
}

static void the_root_is_above_v1(void **state)
{
    static const char *const cases[][2] = {
        {"http://h:1/v1", "http://h:1"},
        {"http://h:1/v1/", "http://h:1"},
        {"http://h/api/v1", "http://h/api"},
        {"http://h/api/v3", "http://h/api/v3"},
        {"unix:/run/x:/v1", "unix:/run/x:"},
        {"unix:/run/x:/a/v1", "unix:/run/x:/a"},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_str_c(upstream_root(str_from_c(cases[i][0])), cases[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_a_word_a_source_and_fields),
        cmocka_unit_test(words_are_found_in_any_case),
        cmocka_unit_test(fields_go_to_servers_that_know_them),
        cmocka_unit_test(hosted_servers_are_known_by_their_url),
        cmocka_unit_test(headers_name_servers),
        cmocka_unit_test(fingerprints_name_servers),
        cmocka_unit_test(a_fingerprint_is_found_in_an_answer),
        cmocka_unit_test(recorded_bodies_name_servers),
        cmocka_unit_test(documented_bodies_name_servers),
        cmocka_unit_test(a_version_is_not_of_vllm_where_models_are_not),
        cmocka_unit_test(the_surest_sign_counts),
        cmocka_unit_test(props_tell_of_the_model),
        cmocka_unit_test(models_tell_their_window_and_root),
        cmocka_unit_test(little_is_asked),
        cmocka_unit_test(the_root_is_above_v1),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
