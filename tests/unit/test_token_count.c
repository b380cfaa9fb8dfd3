/* test_token_count.c -- one way after the other is asked for a count, and what each answer means for
 * it, for the ways behind it, and for whoever asks next. */
#include "flight_fixture.h"

#include "lib/failing_malloc.h"
#include "upstream/token_count.h"

#define BODY "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}"

enum { HOUR_MS = 3600 * 1000 };

static struct {
    struct arena arena;
    struct token_request request;
    struct token_key key;
    struct token_count_conf conf;
    struct token_count *count;
    unsigned n_reports;
    struct token_count_result result; /* zeroed: there was none */
    struct err failure;
} one;

static void on_counted(void *arg, const struct token_count_result *result,
                       const struct err *failure)
{
    assert_ptr_equal(arg, &one);
    assert_true((result == NULL) != (failure == NULL));
    one.count = NULL;
    one.n_reports++;
    if (result != NULL)
        one.result = *result;
    else
        one.failure = *failure;
}

static void open_counts(enum upstream_kind kind)
{
    static const char *const flags[] = {NULL};
    struct prefix_marks marks;
    struct err e;

    stage_open(flags);
    memset(&one, 0, sizeof(one));
    arena_init(&one.arena, 0);
    assert_int_equal(token_request_read(STR(BODY), &one.arena, &one.request, &e), 0);
    assert_true(prefix_marks_read(STR(BODY), 7, &one.arena, &marks));
    one.key = token_key_make(STR(""), &marks, false);
    one.conf = (struct token_count_conf){
        .memory = stage.live.counts,
        .request = &one.request,
        .key = &one.key,
        .base = STR("http://h/x/v1"),
        .kind = kind,
        .call = {.prefix = ""},
        .timeout_ms = 1000,
        .max_answer_bytes = 4096,
        .asks_server = true,
        .asks_model = true,
    };
}

static void close_counts(void)
{
    assert_null(one.count);
    arena_fini(&one.arena);
    stage_close();
}

/* Returns whether something is asked. */
static bool start_count(void)
{
    struct err e = {.code = ERR_NONE};

    one.result = (struct token_count_result){0};
    one.failure.code = ERR_NONE;
    one.count = token_count_start(NULL, &one.conf, on_counted, &one, &e);
    if (one.count == NULL)
        one.failure = e;
    return one.count != NULL;
}

static void check_asked(const char *url)
{
    assert_true(stage.has_call);
    assert_string_equal(buf_cstr(&stage.asked_at), url);
}

static void answer(int status, const char *body)
{
    upstream_begins(status);
    upstream_says(body);
    upstream_ends(NULL);
}

#define INPUT_TOKENS_URL "http://h/x/v1/chat/completions/input_tokens"
#define TEMPLATE_URL     "http://h/x/apply-template"
#define TOKENIZE_URL     "http://h/x/tokenize"
#define COMPLETION_URL   "http://h/x/v1/chat/completions"

#define NOT_THERE "{\"detail\":\"Not Found\"}"

static void the_ways_of_the_table_are_gone_in_order(void **state)
{
    (void)state;
    open_counts(UPSTREAM_GENERIC);
    assert_true(start_count());
    check_asked(INPUT_TOKENS_URL);
    answer(404, NOT_THERE);
    check_asked(TEMPLATE_URL);
    answer(405, NOT_THERE);
    check_asked(TOKENIZE_URL);
    answer(501, NOT_THERE);
    check_asked(COMPLETION_URL);
    answer(200, "{\"usage\":{\"prompt_tokens\":9}}");
    assert_int_equal(one.result.tokens, 9);
    assert_int_equal(token_memory_find(stage.live.counts, &one.key, loop_now_ms(stage.worker.loop)),
                     9);
    assert_true(start_count());
    check_asked(COMPLETION_URL);
    token_count_cancel(one.count);
    one.count = NULL;
    fake_loop_pass(stage.worker.loop, HOUR_MS);
    assert_true(start_count());
    check_asked(INPUT_TOKENS_URL);
    token_count_cancel(one.count);
    one.count = NULL;
    assert_int_equal(one.n_reports, 1);
    close_counts();
}

static void a_template_is_asked_for_the_prompt_first(void **state)
{
    (void)state;
    open_counts(UPSTREAM_LLAMA_CPP);
    assert_true(start_count());
    answer(404, NOT_THERE);
    check_asked(TEMPLATE_URL);
    answer(200, "{\"prompt\":\"<|user|>\\nHi\"}");
    check_asked(TOKENIZE_URL);
    assert_string_equal(buf_cstr(&stage.asked),
                        "{\"content\":\"<|user|>\\nHi\",\"add_special\":true,"
                        "\"parse_special\":true}");
    answer(200, "{\"tokens\":[1,2,3]}");
    assert_int_equal(one.result.tokens, 3);
    close_counts();
}

static void the_window_is_told(void **state)
{
    (void)state;
    open_counts(UPSTREAM_VLLM);
    assert_true(start_count());
    check_asked(TOKENIZE_URL);
    answer(200, "{\"count\":3,\"max_model_len\":4096,\"tokens\":[1,2,3]}");
    assert_int_equal(one.result.tokens, 3);
    assert_int_equal(one.result.window, 4096);
    close_counts();
}

/* [how the first way fails, the error that is reported then, or the next way is asked; is the first one
 * asked the next time] */
static const struct {
    int status;
    const char *body;
    enum err_code code; /* ERR_NONE: the next way is asked */
    bool is_asked_again;
} failures[] = {
    {200, "<html>", ERR_NONE, false},
    {200, "{\"error\":\"no\"}", ERR_NONE, false},
    {404, NOT_THERE, ERR_NONE, false},
    {404, "{\"message\":\"The model `m` does not exist.\"}", ERR_MODEL_NOT_FOUND, true},
    {405, "", ERR_NONE, false},
    {501, "", ERR_NONE, false},
    {500, "{\"error\":\"no\"}", ERR_NONE, true},
    {502, "", ERR_NONE, true},
    {503, "{\"error\":\"loading\"}", ERR_NONE, true},
    {403, "", ERR_NONE, true},
    {400, "{\"error\":\"what?\"}", ERR_NONE, true},
    {401, "{\"error\":\"who?\"}", ERR_UPSTREAM_AUTH, true},
    {429, "{\"error\":\"later\"}", ERR_RATE_LIMIT, true},
    {400, "{\"error\":{\"code\":\"context_length_exceeded\"}}", ERR_CONTEXT_LENGTH, true},
};

static void an_answer_decides_what_is_asked_next(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(failures); i++) {
        open_counts(UPSTREAM_VLLM);
        assert_true(start_count());
        answer(failures[i].status, failures[i].body);
        if (one.failure.code != failures[i].code || stage.has_call == (one.n_reports > 0))
            fail_msg("%d %s: %d", failures[i].status, failures[i].body, (int)one.failure.code);
        token_count_cancel(one.count);
        one.count = NULL;
        assert_true(start_count());
        check_asked(failures[i].is_asked_again ? TOKENIZE_URL : COMPLETION_URL);
        token_count_cancel(one.count);
        one.count = NULL;
        close_counts();
    }
}

static void a_way_that_was_refused_before_another_worked_is_not_this_servers(void **state)
{
    (void)state;
    open_counts(UPSTREAM_VLLM);
    assert_true(start_count());
    answer(422, "{\"detail\":\"content is missing\"}");
    answer(200, "{\"usage\":{\"prompt_tokens\":9}}");
    assert_false(token_memory_may_try(stage.live.counts, TOKEN_WAY_TOKENIZE,
                                      loop_now_ms(stage.worker.loop)));
    fake_loop_pass(stage.worker.loop, HOUR_MS);
    assert_true(start_count());
    answer(200, "{\"count\":3}"); /* it has worked now */
    assert_true(start_count());
    answer(422, "{\"detail\":\"content is missing\"}");
    answer(200, "{\"usage\":{\"prompt_tokens\":9}}");
    assert_true(token_memory_may_try(stage.live.counts, TOKEN_WAY_TOKENIZE,
                                     loop_now_ms(stage.worker.loop)));
    close_counts();
}

static void the_last_failure_is_told_when_nothing_counts(void **state)
{
    const struct err late = {.code = ERR_UPSTREAM_TIMEOUT, .msg = "late"};
    const struct err away = {.code = ERR_UPSTREAM_UNAVAILABLE, .msg = "away"};

    (void)state;
    open_counts(UPSTREAM_VLLM);
    one.conf.asks_model = false;
    assert_true(start_count());
    upstream_ends(&late);
    assert_int_equal(one.failure.code, ERR_UPSTREAM_TIMEOUT);
    one.conf.asks_model = true;
    assert_true(start_count());
    upstream_ends(&away); /* so is every other way */
    assert_int_equal(one.failure.code, ERR_UPSTREAM_UNAVAILABLE);
    assert_int_equal(one.n_reports, 2);
    close_counts();
}

static void without_a_way_there_is_no_count(void **state)
{
    (void)state;
    open_counts(UPSTREAM_OLLAMA);
    one.conf.asks_model = false;
    assert_false(start_count());
    assert_int_equal(one.failure.code, ERR_NOT_IMPLEMENTED);
    one.conf.asks_model = true;
    assert_true(start_count());
    answer(200, "{\"choices\":[]}"); /* no usage */
    assert_int_equal(one.failure.code, ERR_NOT_IMPLEMENTED);
    assert_false(start_count());
    assert_int_equal(one.failure.code, ERR_NOT_IMPLEMENTED);
    close_counts();
}

static void an_answer_without_end_is_none(void **state)
{
    (void)state;
    open_counts(UPSTREAM_VLLM);
    assert_true(start_count());
    upstream_begins(200);
    for (unsigned i = 0; i < 100 && stage.n_cancelled == 0; i++)
        upstream_says(
            "{\"count\":9,\"tokens\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]");
    assert_int_equal(stage.n_cancelled, 1);
    check_asked(COMPLETION_URL);
    upstream_begins(500);
    for (unsigned i = 0; i < 5000 && stage.n_cancelled == 1; i++)
        upstream_says("{\"error\":\"no, not at all, and this is why\"}");
    assert_int_equal(one.failure.code, ERR_UPSTREAM_ERROR);
    close_counts();
}

static void what_cannot_be_asked_is_told_at_once(void **state)
{
    (void)state;
    open_counts(UPSTREAM_VLLM);
    stage.no_call = (struct err){.code = ERR_INTERNAL, .msg = "no"};
    assert_false(start_count());
    assert_int_equal(one.failure.code, ERR_INTERNAL);
    stage.no_call.code = ERR_NONE;
    assert_true(start_count());
    stage.no_call.code = ERR_INTERNAL;
    answer(404, NOT_THERE);
    assert_int_equal(one.failure.code, ERR_INTERNAL);
    assert_int_equal(one.n_reports, 1);
    close_counts();
}

static void nothing_is_reported_after_it_is_called_off(void **state)
{
    struct buf large = {.limit = 0};

    (void)state;
    open_counts(UPSTREAM_LLAMA_CPP);
    one.conf.max_answer_bytes = 0;
    assert_true(start_count());
    buf_c(&large, "{\"input_tokens\":9,\"more\":\"");
    for (unsigned i = 0; i < 300 * 1024; i++)
        buf_char(&large, 'a');
    buf_c(&large, "\"}");
    answer(200, buf_cstr(&large));
    assert_int_equal(one.n_reports, 0); /* it is read on the pool */
    token_count_cancel(one.count);
    fake_loop_pass(stage.worker.loop, 0);
    assert_int_equal(one.n_reports, 0);
    assert_true(start_count());
    answer(200, buf_cstr(&large));
    fake_loop_pass(stage.worker.loop, 0);
    assert_int_equal(one.result.tokens, 9);
    buf_fini(&large);
    close_counts();
}

/* However far it comes, it ends once. */
static bool count_without_memory(long n)
{
    static const char *const said[] = {NOT_THERE, "{\"prompt\":\"<|user|>\\nHi\"}",
                                       "{\"tokens\":[1,2,3]}"};
    bool has_failed;

    open_counts(UPSTREAM_LLAMA_CPP);
    failing_malloc_begin(n, FAILS_ONCE);
    (void)start_count();
    for (size_t i = 0; i < COUNT_OF(said) && stage.has_call; i++) {
        upstream_begins(i == 0 ? 404 : 200);
        upstream_says(said[i]);
        if (stage.has_call && stage.n_calls == i + 1)
            upstream_ends(NULL);
    }
    has_failed = failing_malloc_end();
    assert_null(one.count);
    assert_true(one.result.tokens == 3 || one.failure.code != ERR_NONE);
    close_counts();
    return has_failed;
}

static void each_allocation_may_fail(void **state)
{
    long n = 0;

    (void)state;
    while (count_without_memory(n))
        n++;
    assert_in_range(n, 4, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ways_of_the_table_are_gone_in_order),
        cmocka_unit_test(a_template_is_asked_for_the_prompt_first),
        cmocka_unit_test(the_window_is_told),
        cmocka_unit_test(an_answer_decides_what_is_asked_next),
        cmocka_unit_test(a_way_that_was_refused_before_another_worked_is_not_this_servers),
        cmocka_unit_test(the_last_failure_is_told_when_nothing_counts),
        cmocka_unit_test(without_a_way_there_is_no_count),
        cmocka_unit_test(an_answer_without_end_is_none),
        cmocka_unit_test(what_cannot_be_asked_is_told_at_once),
        cmocka_unit_test(nothing_is_reported_after_it_is_called_off),
        cmocka_unit_test(each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
