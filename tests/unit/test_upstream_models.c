/* test_upstream_models.c -- how much fits into the models of servers of many kinds, from what they
 * say about themselves: tests/data/upstream_kinds. */
#include "lib/fixture.h"
#include "lib/test.h"

#include "wire/dialect/upstream_models.h"

struct server {
    struct arena arena;
    struct upstream_models models;
    struct upstream_limits only;
};

static void open_server(const char *models, struct server *s)
{
    struct buf body = fixture_read(models);

    *s = (struct server){.models = {NULL, 0}};
    assert_true(upstream_models_read(buf_str(&body), &s->arena, &s->models));
    buf_fini(&body);
}

static void add_answer(enum upstream_path path, const char *file, const char *model,
                       struct server *s)
{
    struct buf body = fixture_read(file);

    upstream_models_add(path, buf_str(&body), model == NULL ? STR_NONE : str_from_c(model),
                        &s->models, &s->only);
    buf_fini(&body);
}

static void add_text(enum upstream_path path, const char *text, struct server *s)
{
    upstream_models_add(path, str_from_c(text), STR_NONE, &s->models, &s->only);
}

static void fits(const struct server *s, const char *model, int64_t window, bool is_guess,
                 enum model_images images)
{
    const struct upstream_model *m = upstream_models_find(&s->models, str_from_c(model));

    assert_non_null(m);
    assert_int_equal(m->limits.window, window);
    assert_int_equal(m->limits.is_guess, is_guess);
    assert_int_equal(m->limits.images, images);
}

#define KIND(file) "upstream_kinds/" file

#define UNKNOWN MODEL_IMAGES_UNKNOWN
#define BLIND   MODEL_IMAGES_NOT_TAKEN
#define SEES    MODEL_IMAGES_TAKEN

static void lists_of_models_tell_windows(void **state)
{
    static const struct {
        const char *file, *model;
        int64_t window;
        enum model_images images;
    } cases[] = {
        {KIND("llama_cpp_models.json"), "tiny", 4096, UNKNOWN}, /* not n_ctx_train */
        {KIND("ik_llama_cpp_models.json"), "tiny", 16384, UNKNOWN},
        {KIND("vllm_models.json"), "qwen3-8b", 40960, UNKNOWN},
        {KIND("vllm_models.json"), "sql-lora", 0, UNKNOWN},
        {KIND("sglang_models.json"), "qwen2.5-vl", 128000, UNKNOWN},
        {KIND("openrouter_models.json"), "maker/large", 262144, SEES}, /* of the provider */
        {KIND("openrouter_models.json"), "maker/small", 32768, BLIND},
        {KIND("mistral_models.json"), "mistral-medium-2508", 131072, SEES},
        {KIND("groq_models.json"), "openai/gpt-oss-20b", 131072, UNKNOWN},
        {KIND("lmstudio_models.json"), "llama-3.1-8b-instruct", 0, UNKNOWN},
        {KIND("ollama_models.json"), "llama3.2", 0, UNKNOWN},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct server s;

        open_server(cases[i].file, &s);
        fits(&s, cases[i].model, cases[i].window, false, cases[i].images);
        assert_int_equal(upstream_models_find(&s.models, str_from_c(cases[i].model))->listed_window,
                         cases[i].window);
        arena_fini(&s.arena);
    }
}

static void a_slot_of_llama_cpp_has_its_share(void **state)
{
    struct server s;

    (void)state;
    open_server(KIND("llama_cpp_models.json"), &s);
    add_answer(UPSTREAM_PATH_PROPS, KIND("llama_cpp_props.json"), NULL, &s);
    fits(&s, "tiny", 4096, false, BLIND);
    assert_int_equal(s.only.window, 4096);
    add_text(UPSTREAM_PATH_PROPS,
             "{\"default_generation_settings\":{\"n_ctx\":2048},\"modalities\":{\"vision\":true}}",
             &s);
    fits(&s, "tiny", 2048, false, SEES);
    arena_fini(&s.arena);
    /* a router tells of none of its models there */
    open_server(KIND("lmstudio_models.json"), &s);
    add_text(UPSTREAM_PATH_PROPS, "{\"default_generation_settings\":{\"n_ctx\":2048}}", &s);
    fits(&s, "llama-3.1-8b-instruct", 0, false, UNKNOWN);
    arena_fini(&s.arena);
}

static void sglang_has_room_for_less_than_its_model_could_read(void **state)
{
    struct server s;

    (void)state;
    open_server(KIND("sglang_models.json"), &s);
    add_answer(UPSTREAM_PATH_SERVER_INFO, KIND("sglang_server_info.json"), NULL, &s);
    add_answer(UPSTREAM_PATH_MODEL_INFO, KIND("sglang_model_info.json"), NULL, &s);
    fits(&s, "qwen2.5-vl", 51234, false, SEES);
    add_text(UPSTREAM_PATH_SERVER_INFO, "{\"context_length\":32768,\"max_total_num_tokens\":60000}",
             &s);
    fits(&s, "qwen2.5-vl", 32768, false, SEES);
    arena_fini(&s.arena);
}

static void lm_studio_guesses_about_what_is_not_loaded(void **state)
{
    struct server s;

    (void)state;
    open_server(KIND("lmstudio_models.json"), &s);
    add_answer(UPSTREAM_PATH_NATIVE_MODELS, KIND("lmstudio_native_models.json"), NULL, &s);
    fits(&s, "qwen2-vl-7b-instruct", 32768, true, SEES);
    fits(&s, "llama-3.1-8b-instruct", 4096, false, BLIND);
    /* what it was loaded with before does not count */
    add_text(UPSTREAM_PATH_NATIVE_MODELS,
             "{\"data\":[{\"id\":\"text-embedding-nomic\",\"state\":\"not-loaded\","
             "\"loaded_context_length\":99}]}",
             &s);
    fits(&s, "text-embedding-nomic", 2048, true, BLIND);
    arena_fini(&s.arena);
}

static void ollama_knows_what_runs_and_guesses_the_rest(void **state)
{
    struct server s;

    (void)state;
    open_server(KIND("ollama_models.json"), &s);
    add_answer(UPSTREAM_PATH_RUNNING_MODELS, KIND("ollama_ps.json"), NULL, &s);
    fits(&s, "llama3.2", 8192, false, UNKNOWN);
    fits(&s, "llama3.2:latest", 8192, false, UNKNOWN);
    add_answer(UPSTREAM_PATH_SHOWN_MODEL, KIND("ollama_show.json"), "gemma3:4b", &s);
    fits(&s, "gemma3:4b", 16384, false, SEES);
    add_answer(UPSTREAM_PATH_SHOWN_MODEL, KIND("ollama_show_without_num_ctx.json"), "qwen3:8b", &s);
    fits(&s, "qwen3:8b", 40960, true, BLIND);
    /* what runs has what it was given */
    add_answer(UPSTREAM_PATH_SHOWN_MODEL, KIND("ollama_show.json"), "llama3.2:latest", &s);
    fits(&s, "llama3.2", 8192, false, SEES);
    assert_null(upstream_models_find(&s.models, STR("qwen3")));
    arena_fini(&s.arena);
}

static void one_of_ollamas_models_is_asked_about(void **state)
{
    struct buf running = fixture_read(KIND("ollama_ps.json"));
    struct upstream_models none = {NULL, 0};
    struct server s;

    (void)state;
    open_server(KIND("ollama_models.json"), &s);
    assert_str_c(upstream_models_choose(&s.models, STR("qwen3:8b"), buf_str(&running)), "qwen3:8b");
    assert_str_c(upstream_models_choose(&s.models, STR("llama3.2"), STR("")), "llama3.2:latest");
    assert_str_c(upstream_models_choose(&s.models, STR("x"), buf_str(&running)), "llama3.2:latest");
    assert_str_c(upstream_models_choose(&s.models, STR_NONE, STR("")), "gemma3:4b");
    assert_str_c(upstream_models_choose(&s.models, STR_NONE, STR("{\"models\":[1]}")), "gemma3:4b");
    assert_true(str_is_none(upstream_models_choose(&none, STR("x"), buf_str(&running))));
    buf_fini(&running);
    arena_fini(&s.arena);
}

static void of_deployments_of_one_name_the_smallest_counts(void **state)
{
    struct server s;

    (void)state;
    open_server(KIND("litellm_models.json"), &s);
    add_answer(UPSTREAM_PATH_PROXY_MODELS, KIND("litellm_model_info.json"), NULL, &s);
    fits(&s, "chat", 65536, false, BLIND);
    fits(&s, "eyes", 0, false, SEES);
    arena_fini(&s.arena);
}

static void what_cannot_be_meant_is_no_window(void **state)
{
    static const char *const entries[] = {
        "{}",
        "[]",
        "{\"max_model_len\":-1}",
        "{\"max_model_len\":0}",
        "{\"max_model_len\":\"4096\"}",
        "{\"max_model_len\":1.5}",
        "{\"max_model_len\":1e12}",
        "{\"max_model_len\":[4096]}",
        "{\"meta\":4096,\"top_provider\":[{\"context_length\":1}]}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(entries); i++)
        assert_int_equal(upstream_models_entry(UPSTREAM_PATH_MODELS, str_from_c(entries[i])).window,
                         0);
    assert_int_equal(
        upstream_models_entry(UPSTREAM_PATH_SHOWN_MODEL,
                              STR("{\"parameters\":\"stop \\\"num_ctx 5\\\"\\nnum_ctx_x 9\"}"))
            .window,
        0);
}

static void lists_are_compared_by_names_and_windows(void **state)
{
    struct server a, b;

    (void)state;
    open_server(KIND("llama_cpp_models.json"), &a);
    open_server(KIND("llama_cpp_models.json"), &b);
    add_text(UPSTREAM_PATH_PROPS, "{\"default_generation_settings\":{\"n_ctx\":2048}}", &b);
    assert_true(upstream_models_are_same(&a.models, &b.models)); /* that was not in the list */
    arena_fini(&b.arena);
    open_server(KIND("ik_llama_cpp_models.json"), &b);
    assert_false(upstream_models_are_same(&a.models, &b.models));
    arena_fini(&b.arena);
    open_server(KIND("ollama_models.json"), &b);
    assert_false(upstream_models_are_same(&a.models, &b.models));
    arena_fini(&b.arena);
    arena_fini(&a.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_models_tell_windows),
        cmocka_unit_test(a_slot_of_llama_cpp_has_its_share),
        cmocka_unit_test(sglang_has_room_for_less_than_its_model_could_read),
        cmocka_unit_test(lm_studio_guesses_about_what_is_not_loaded),
        cmocka_unit_test(ollama_knows_what_runs_and_guesses_the_rest),
        cmocka_unit_test(one_of_ollamas_models_is_asked_about),
        cmocka_unit_test(of_deployments_of_one_name_the_smallest_counts),
        cmocka_unit_test(what_cannot_be_meant_is_no_window),
        cmocka_unit_test(lists_are_compared_by_names_and_windows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
