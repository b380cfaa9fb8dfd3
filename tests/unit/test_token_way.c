/* test_token_way.c -- what servers are asked to count, and what they answer: as one of llama.cpp was
 * recorded, and as others are known to. */
#include "lib/test.h"

#include <jansson.h>

#include "base/arena.h"
#include "lib/fixture.h"
#include "wire/chunk/token_answer.h"

struct fixture {
    struct arena arena;
    struct token_request request;
    struct err err;
};

static void read_request(struct fixture *f, str body)
{
    arena_init(&f->arena, 0);
    f->request = (struct token_request){.is_prompt = false};
    assert_int_equal(token_request_read(body, &f->arena, &f->request, &f->err), 0);
}

static struct buf question_of(const struct fixture *f, enum token_way way, str prompt)
{
    struct buf question = {.limit = 0};

    token_way_write(way, &f->request, prompt, &question);
    assert_false(buf_failed(&question));
    return question;
}

static void check_question(const struct fixture *f, enum token_way way, const char *expected)
{
    struct buf question = question_of(f, way, STR_NONE);

    assert_string_equal(buf_cstr(&question), expected);
    buf_fini(&question);
}

/* ---- recordings */

static void check_same_json(str got, str expected)
{
    json_t *a = json_loadb(got.p, got.len, 0, NULL);
    json_t *b = json_loadb(expected.p, expected.len, 0, NULL);

    if (a == NULL || !json_equal(a, b))
        fail_msg("     got %.*s\nexpected %.*s", STR_ARG(got), STR_ARG(expected));
    json_decref(a);
    json_decref(b);
}

/* As it would be sent to chat completions. */
static struct buf recorded_chat(void)
{
    struct buf body = fixture_read("token_counts/chat_input_tokens.req.json");

    while (body.p[body.len - 1] != '}')
        body.len--;
    body.len--;
    buf_c(&body, ",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
                 "\"max_tokens\":100,\"temperature\":0.5}");
    return body;
}

static void check_recorded(const struct fixture *f, enum token_way way, const char *name,
                           str prompt, struct token_answer *ret, struct buf *answer)
{
    struct buf path = {.limit = 0};
    struct buf question = question_of(f, way, prompt), expected;

    buf_c(&path, "token_counts/");
    buf_c(&path, name);
    buf_c(&path, ".req.json");
    expected = fixture_read(buf_cstr(&path));
    if (way != TOKEN_WAY_COMPLETION && strcmp(name, "apply_template") != 0)
        check_same_json(buf_str(&question), buf_str(&expected));
    path.len -= strlen(".req.json");
    buf_c(&path, ".json");
    *answer = fixture_read(buf_cstr(&path));
    assert_true(token_answer_read(way, strcmp(name, "apply_template") == 0, buf_str(answer), ret));
    buf_fini(&path);
    buf_fini(&question);
    buf_fini(&expected);
}

static void each_way_of_a_real_server_counts_the_same(void **state)
{
    struct buf chat = recorded_chat(), first, second;
    struct token_answer answer, counted;
    struct fixture f;

    (void)state;
    read_request(&f, buf_str(&chat));
    check_recorded(&f, TOKEN_WAY_INPUT_TOKENS, "chat_input_tokens", STR_NONE, &answer, &first);
    assert_int_equal(answer.tokens, 201);
    buf_fini(&first);
    check_recorded(&f, TOKEN_WAY_TEMPLATE, "apply_template", STR_NONE, &answer, &first);
    assert_int_equal(answer.tokens, 0);
    check_recorded(&f, TOKEN_WAY_TEMPLATE, "tokenize", answer.prompt, &counted, &second);
    assert_int_equal(counted.tokens, 201);
    buf_fini(&first);
    buf_fini(&second);
    check_recorded(&f, TOKEN_WAY_COMPLETION, "one_token", STR_NONE, &answer, &first);
    assert_int_equal(answer.tokens, 201);
    buf_fini(&first);
    buf_fini(&chat);
    arena_fini(&f.arena);
}

/* ---- questions */

#define CHAT                                                                                       \
    "\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"\\u0041 \\\"b\\\"\"}],"        \
    "\"tools\":[{\"type\":\"function\"}]"

static void what_makes_no_prompt_is_left_out(void **state)
{
    struct fixture f;

    (void)state;
    read_request(&f, STR("{\"stream\":true," CHAT ",\"stream_options\":{},\"max_tokens\":9,"
                         "\"max_completion_tokens\":9,\"temperature\":1,\"top_p\":1,\"seed\":1,"
                         "\"stop\":[\"x\"],\"n\":2,\"user\":\"u\",\"logprobs\":true,"
                         "\"tool_choice\":\"auto\",\"grammar\":\"g\"}"));
    check_question(&f, TOKEN_WAY_INPUT_TOKENS,
                   "{" CHAT ",\"tool_choice\":\"auto\",\"grammar\":\"g\"}");
    check_question(&f, TOKEN_WAY_TEMPLATE, "{" CHAT ",\"tool_choice\":\"auto\",\"grammar\":\"g\"}");
    check_question(&f, TOKEN_WAY_TOKENIZE, "{" CHAT ",\"add_generation_prompt\":true}");
    check_question(&f, TOKEN_WAY_COMPLETION,
                   "{" CHAT ",\"tool_choice\":\"auto\",\"grammar\":\"g\",\"stream\":false,"
                   "\"max_tokens\":1,\"temperature\":0}");
    f.request.token_field = CHAT_BOTH_TOKEN_FIELDS;
    check_question(&f, TOKEN_WAY_COMPLETION,
                   "{" CHAT ",\"tool_choice\":\"auto\",\"grammar\":\"g\",\"stream\":false,"
                   "\"max_completion_tokens\":1,\"max_tokens\":1,\"temperature\":0}");
    f.request.token_field = CHAT_MAX_COMPLETION_TOKENS;
    check_question(&f, TOKEN_WAY_COMPLETION,
                   "{" CHAT ",\"tool_choice\":\"auto\",\"grammar\":\"g\",\"stream\":false,"
                   "\"max_completion_tokens\":1}");
    arena_fini(&f.arena);
}

/* [what is sent besides, what the tokenizer of vLLM gets of it] */
static const struct {
    const char *sent, *asked;
} arguments[] = {
    {"", ",\"add_generation_prompt\":true"},
    {",\"chat_template_kwargs\":{\"a\":1}",
     ",\"add_generation_prompt\":true,\"chat_template_kwargs\":{\"a\":1}"},
    {",\"reasoning_effort\":\"low\"",
     ",\"add_generation_prompt\":true,\"chat_template_kwargs\":{\"reasoning_effort\":\"low\"}"},
    {",\"reasoning_effort\":\"low\",\"chat_template_kwargs\":{\"a\":{\"b\":[]},\"c\":2},"
     "\"documents\":[{}]",
     ",\"add_generation_prompt\":true,\"chat_template_kwargs\":{\"reasoning_effort\":\"low\","
     "\"documents\":[{}],\"a\":{\"b\":[]},\"c\":2}"},
    {",\"add_generation_prompt\":false,\"continue_final_message\":true",
     ",\"continue_final_message\":true,\"add_generation_prompt\":false"},
    {",\"chat_template\":\"{{x}}\",\"tool_choice\":\"none\",\"response_format\":{}",
     ",\"chat_template\":\"{{x}}\",\"add_generation_prompt\":true"},
};

static void the_tokenizer_gets_what_the_template_would(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(arguments); i++) {
        struct buf sent = {.limit = 0}, asked = {.limit = 0};
        struct fixture f;

        buf_c(&sent, "{" CHAT);
        buf_c(&sent, arguments[i].sent);
        buf_c(&sent, "}");
        buf_c(&asked, "{" CHAT);
        buf_c(&asked, arguments[i].asked);
        buf_c(&asked, "}");
        read_request(&f, buf_str(&sent));
        check_question(&f, TOKEN_WAY_TOKENIZE, buf_cstr(&asked));
        arena_fini(&f.arena);
        buf_fini(&sent);
        buf_fini(&asked);
    }
}

static void a_prompt_is_counted_as_it_is(void **state)
{
    struct fixture f;

    (void)state;
    read_request(&f, STR("{\"model\":\"m\",\"prompt\":\"<|x|>\\n\",\"stream\":true,"
                         "\"max_tokens\":null,\"add_special_tokens\":false,"
                         "\"skip_special_tokens\":false}"));
    f.request.is_prompt = true;
    assert_false(token_way_takes(TOKEN_WAY_INPUT_TOKENS, &f.request));
    assert_true(token_way_takes(TOKEN_WAY_TEMPLATE, &f.request));
    assert_false(token_way_asks_prompt(TOKEN_WAY_TEMPLATE, &f.request));
    check_question(&f, TOKEN_WAY_TEMPLATE,
                   "{\"content\":\"<|x|>\\n\",\"add_special\":true,\"parse_special\":true}");
    check_question(&f, TOKEN_WAY_TOKENIZE,
                   "{\"model\":\"m\",\"prompt\":\"<|x|>\\n\",\"add_special_tokens\":false}");
    check_question(&f, TOKEN_WAY_COMPLETION,
                   "{\"model\":\"m\",\"prompt\":\"<|x|>\\n\",\"add_special_tokens\":false,"
                   "\"skip_special_tokens\":false,\"stream\":false,\"max_tokens\":1,"
                   "\"temperature\":0}");
    arena_fini(&f.arena);
}

/* ---- which */

static void check_path(enum token_way way, bool is_prompt, bool has_prompt, const char *path,
                       bool is_below_root)
{
    const struct token_request r = {.is_prompt = is_prompt};
    const struct token_path got = token_way_path(way, &r, has_prompt);

    assert_str_c(got.path, path);
    assert_int_equal(got.is_below_root, is_below_root);
}

static void each_way_has_its_paths(void **state)
{
    (void)state;
    check_path(TOKEN_WAY_INPUT_TOKENS, false, false, "/chat/completions/input_tokens", false);
    check_path(TOKEN_WAY_TEMPLATE, false, false, "/apply-template", true);
    check_path(TOKEN_WAY_TEMPLATE, false, true, "/tokenize", true);
    check_path(TOKEN_WAY_TEMPLATE, true, false, "/tokenize", true);
    check_path(TOKEN_WAY_TOKENIZE, false, false, "/tokenize", true);
    check_path(TOKEN_WAY_COMPLETION, false, false, "/chat/completions", false);
    check_path(TOKEN_WAY_COMPLETION, true, false, "/completions", false);
}

static unsigned ways_of(enum upstream_kind kind, bool has_media)
{
    const struct token_request r = {.has_media = has_media};
    unsigned ways = 0;

    for (enum token_way way = 0; way < TOKEN_WAYS; way++)
        ways = ways * 10 + (token_way_is_of(way, kind) && token_way_takes(way, &r) ? 1 : 0);
    return ways;
}

static void kinds_and_images_rule_ways_out(void **state)
{
    (void)state;
    assert_int_equal(ways_of(UPSTREAM_GENERIC, false), 1111);
    assert_int_equal(ways_of(UPSTREAM_GENERIC, true), 1001);
    assert_int_equal(ways_of(UPSTREAM_LLAMA_CPP, false), 1101);
    assert_int_equal(ways_of(UPSTREAM_VLLM, false), 11);
    assert_int_equal(ways_of(UPSTREAM_VLLM, true), 1);
    assert_int_equal(ways_of(UPSTREAM_OLLAMA, false), 1);
    assert_str_c(token_way_word(TOKEN_WAY_TOKENIZE), "tokenize");
}

/* ---- answers */

static const struct {
    enum token_way way;
    const char *body;
    int64_t tokens, window; /* tokens 0: it is none */
} answers[] = {
    {TOKEN_WAY_INPUT_TOKENS, "{\"input_tokens\":201,\"object\":\"response.input_tokens\"}", 201, 0},
    {TOKEN_WAY_INPUT_TOKENS, " {\"input_tokens\": 7.0 } ", 7, 0},
    {TOKEN_WAY_INPUT_TOKENS, "{\"count\":3}", 0, 0},
    {TOKEN_WAY_INPUT_TOKENS, "{\"input_tokens\":\"201\"}", 0, 0},
    {TOKEN_WAY_INPUT_TOKENS, "{\"input_tokens\":0}", 0, 0},
    {TOKEN_WAY_INPUT_TOKENS, "{\"input_tokens\":-5}", 0, 0},
    {TOKEN_WAY_INPUT_TOKENS, "{\"input_tokens\":1.5}", 0, 0},
    {TOKEN_WAY_INPUT_TOKENS, "{\"input_tokens\":1e12}", 0, 0},
    {TOKEN_WAY_INPUT_TOKENS, "{\"input_tokens\":9}x", 0, 0},
    {TOKEN_WAY_INPUT_TOKENS, "[9]", 0, 0},
    {TOKEN_WAY_INPUT_TOKENS, "", 0, 0},
    {TOKEN_WAY_INPUT_TOKENS, "Not Found", 0, 0},
    {TOKEN_WAY_TEMPLATE, "{\"tokens\":[1,2,3]}", 3, 0},
    {TOKEN_WAY_TEMPLATE, "{\"tokens\":[{\"id\":1,\"piece\":\"a\"},{\"id\":2,\"piece\":[0]}]}", 2,
     0},
    {TOKEN_WAY_TEMPLATE, "{\"tokens\":[]}", 0, 0},
    {TOKEN_WAY_TEMPLATE, "{\"tokens\":3}", 0, 0},
    {TOKEN_WAY_TOKENIZE, "{\"count\":5,\"max_model_len\":32768,\"tokens\":[1,2,3,4,5]}", 5, 32768},
    {TOKEN_WAY_TOKENIZE, "{\"tokens\":[1],\"max_model_len\":-1,\"count\":1}", 1, 0},
    {TOKEN_WAY_TOKENIZE, "{\"tokens\":[1,2]}", 0, 0},
    {TOKEN_WAY_TOKENIZE, "{\"object\":\"error\",\"message\":\"no\",\"code\":400}", 0, 0},
    {TOKEN_WAY_COMPLETION, "{\"choices\":[],\"usage\":{\"prompt_tokens\":8}}", 8, 0},
    {TOKEN_WAY_COMPLETION, "{\"choices\":[],\"usage\":null}", 0, 0},
    {TOKEN_WAY_COMPLETION, "{\"choices\":[],\"usage\":{\"completion_tokens\":1}}", 0, 0},
    {TOKEN_WAY_COMPLETION, "{\"error\":\"no\"}", 0, 0},
};

static void only_a_count_is_an_answer(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        const str body = str_from_c(answers[i].body);
        char *exact = exact_copy(body);
        struct token_answer got = {.tokens = 0};
        const bool is_one =
            token_answer_read(answers[i].way, false, str_from(exact, body.len), &got);

        if (is_one != (answers[i].tokens > 0) || (is_one && got.tokens != answers[i].tokens) ||
            (is_one && got.window != answers[i].window))
            fail_msg("%s: %lld", answers[i].body, (long long)got.tokens);
        free(exact);
    }
}

/* A connection may end anywhere. */
static void half_an_answer_is_none(void **state)
{
    struct token_answer got;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        const str body = str_trim(str_from_c(answers[i].body));

        for (size_t n = 0; n < body.len; n++) {
            char *exact = exact_copy(str_from(body.p, n));

            if (answers[i].tokens > 0)
                assert_false(token_answer_read(answers[i].way, false, str_from(exact, n), &got));
            free(exact);
        }
    }
}

static void the_first_step_gives_a_prompt(void **state)
{
    struct token_answer got;

    (void)state;
    assert_true(token_answer_read(TOKEN_WAY_TEMPLATE, true, STR("{\"prompt\":\"a\\nb\"}"), &got));
    assert_str_c(got.prompt, "\"a\\nb\"");
    assert_int_equal(got.tokens, 0);
    assert_false(token_answer_read(TOKEN_WAY_TEMPLATE, true, STR("{\"prompt\":[\"a\"]}"), &got));
    assert_false(token_answer_read(TOKEN_WAY_TEMPLATE, true, STR("{\"tokens\":[1]}"), &got));
    assert_false(token_answer_read(TOKEN_WAY_TEMPLATE, true, STR("{\"prompt\":\"a\"} {"), &got));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_of_a_real_server_counts_the_same),
        cmocka_unit_test(what_makes_no_prompt_is_left_out),
        cmocka_unit_test(the_tokenizer_gets_what_the_template_would),
        cmocka_unit_test(a_prompt_is_counted_as_it_is),
        cmocka_unit_test(each_way_has_its_paths),
        cmocka_unit_test(kinds_and_images_rule_ways_out),
        cmocka_unit_test(only_a_count_is_an_answer),
        cmocka_unit_test(half_an_answer_is_none),
        cmocka_unit_test(the_first_step_gives_a_prompt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
