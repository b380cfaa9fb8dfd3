/* test_turn_limit.c -- what turns take of their client's limits, and give back (OPERATIONS 5.1, 5.3). */
#include "turn_fixture.h"

#include "turn/turn_run.h"

#define USAGE(input, output)                                                                       \
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":" #input ",\"completion_tokens\":" #output \
    "}}\n\n"

static void open_limited(unsigned rpm, unsigned tpm, unsigned concurrency)
{
    open_turn_stage();
    stage_limits(rpm, tpm, concurrency);
}

/* The upstream answers the turn that runs, and tells these tokens, if any. */
static void answer_turn(const char *usage)
{
    upstream_begins(200);
    upstream_says(SAYS("hello"));
    upstream_says(usage);
    upstream_says(STOPS("stop"));
    upstream_ends(NULL);
    assert_null(stage_turn());
    assert_int_equal(stage.x.why, ERR_NONE);
}

static uint64_t tokens_left(void)
{
    return stage_take().tokens.left;
}

static void a_request_beyond_the_limit_is_an_error_and_asks_nobody(void **state)
{
    (void)state;
    open_limited(1, 0, 0);
    assert_int_equal(stage_take().verdict, RATE_TAKEN);
    assert_null(stage_begin(UNKEPT));
    assert_int_equal(stage.x.why, ERR_RATE_LIMIT);
    assert_true(client_was_told("Rate limit reached for requests: limit 1 per minute. Please try "
                                "again in 60s."));
    assert_int_equal(stage.x.n_told, 3);
    assert_string_equal(stage.x.told, "0");
    assert_int_equal(stage.n_calls, 0);
    stage_close();
}

static void one_that_is_let_in_is_told_what_is_left(void **state)
{
    (void)state;
    open_limited(5, 1000, 0);
    (void)stage_begin(UNKEPT);
    assert_int_equal(stage.x.n_told, 6);
    assert_string_equal(stage.x.told, "4");
    client_leaves();
    stage_close();
}

static void what_is_refused_for_another_reason_takes_nothing(void **state)
{
    (void)state;
    open_limited(5, 1000, 0);
    assert_null(stage_begin("\"input\":7"));
    assert_int_equal(stage.x.n_told, 0);
    assert_int_equal(rate_table_users(stage.worker.rates), 0);
    stage_close();
}

static void the_tokens_that_were_used_take_the_place_of_the_estimate(void **state)
{
    (void)state;
    open_limited(0, 1000, 0);
    (void)stage_begin(UNKEPT);
    answer_turn(USAGE(300, 50));
    assert_int_equal(tokens_left(), 650);
    stage_close();
}

static void an_upstream_that_does_not_tell_them_leaves_the_estimate(void **state)
{
    size_t n_bytes;

    (void)state;
    open_limited(0, 1000, 0);
    (void)stage_begin(UNKEPT);
    n_bytes = stage.request.body.len;
    answer_turn("");
    assert_int_equal(tokens_left(), 1000 - (n_bytes + 3) / 4);
    stage_close();
}

static void a_client_that_leaves_before_the_answer_pays_the_estimate(void **state)
{
    size_t n_bytes;

    (void)state;
    open_limited(0, 1000, 0);
    (void)stage_begin(UNKEPT);
    n_bytes = stage.request.body.len;
    client_leaves();
    assert_int_equal(tokens_left(), 1000 - (n_bytes + 3) / 4);
    stage_close();
}

static void of_rounds_that_were_told_before_the_client_left_it_pays_those(void **state)
{
    (void)state;
    open_limited(0, 1000, 0);
    (void)stage_begin(UNKEPT REMOTE);
    server_lists(0, TOOLS);
    upstream_begins(200);
    upstream_says(USAGE(100, 20));
    upstream_says(CALLS("mcp__s__t") STOPS("tool_calls"));
    upstream_ends(NULL);
    client_leaves();
    assert_int_equal(tokens_left(), 880);
    stage_close();
}

static void an_upstream_that_refuses_costs_nothing(void **state)
{
    (void)state;
    open_limited(0, 1000, 0);
    (void)stage_begin(UNKEPT);
    upstream_begins(400);
    upstream_says("{\"error\":{\"message\":\"too hot\"}}");
    upstream_ends(NULL);
    assert_int_equal(tokens_left(), 1000);
    stage_close();
}

/* ---- the background */

static void what_is_accepted_has_taken_its_request_and_no_place(void **state)
{
    struct rate_answer a;

    (void)state;
    open_limited(5, 1000, 1);
    reach_accept();
    store_reports(NULL);
    assert_null(stage_turn());
    assert_int_equal(stage.n_accepted, 1);
    a = stage_take();
    assert_int_equal(a.verdict, RATE_TAKEN);
    assert_int_equal(a.requests.left, 3);
    assert_int_equal(a.tokens.left, 1000 - (stage.request.body.len + 3) / 4);
    stage_close();
}

static void what_cannot_be_accepted_gives_its_tokens_back(void **state)
{
    static const struct err broken = {.code = ERR_STORE, .msg = "The disk is full."};

    (void)state;
    open_limited(5, 1000, 1);
    reach_accept();
    store_reports(&broken);
    assert_null(stage_turn());
    assert_int_equal(tokens_left(), 1000);
    stage_close();
}

/* It takes a place that is not there, and only what it has used beyond its estimate. */
static void what_runs_in_the_background_is_not_refused_and_counts_among_what_runs(void **state)
{
    struct rate_answer held;

    (void)state;
    open_limited(1, 1000, 1);
    held = stage_take();
    stage_begin_work(BACKGROUND, false);
    store_reports(NULL);
    assert_string_equal(stage_name(), "round");
    rate_table_end(stage.worker.rates, held.user, 0, 0);
    stage.load.config.limit_rpm = 0;
    assert_int_equal(stage_take().verdict, RATE_TOO_MANY_AT_ONCE);
    upstream_begins(200);
    upstream_says(SAYS("hello"));
    upstream_says(USAGE(300, 50));
    upstream_says(STOPS("stop"));
    upstream_ends(NULL);
    stage_settle();
    assert_null(stage_turn());
    assert_int_equal(stage_take().verdict, RATE_TAKEN);
    assert_in_range(tokens_left(), 1000 - 350, 1000 - 330);
    stage_close();
}

/* ---- models */

static void begin_as(const struct allowance *allowance, const char *members)
{
    const struct caller caller = {
        .owner = STR("alice"), .name = STR("alice"), .allowance = allowance};

    buf_c(&stage.body, members);
    stage.request = (struct http_request){
        .method = STR("POST"), .body = buf_str(&stage.body), .peer = STR("unix")};
    turn_start(&stage.worker, &stage.x, &stage.request, &caller);
}

static void a_model_that_is_not_allowed_does_not_exist(void **state)
{
    static const char *const bodies[] = {
        "{\"model\":\"gpt\\u002d4\",\"input\":\"x\"}",
        "{\"model\":\"gpt-4\",\"input\":\"x\",\"previous_response_id\":\"resp_1\"}",
        "{\"model\":\"gpt-4\",\"input\":\"x\",\"background\":true}",
        "{\"model\":\"qwen\",\"model\":\"gpt-4\",\"input\":\"x\"}",
    };
    const struct allowance a = {.given = 1U << KEY_SETTING_MODELS, .models = STR("qwen*")};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        open_limited(5, 0, 0);
        begin_as(&a, bodies[i]);
        assert_null(stage_turn());
        assert_int_equal(stage.x.why, ERR_MODEL_NOT_FOUND);
        assert_true(client_was_told("The model 'gpt-4' does not exist."));
        assert_int_equal(rate_table_users(stage.worker.rates), 0);
        stage_close();
    }
    open_limited(5, 0, 0);
    begin_as(&a, "{\"model\":\"qwen\\u0033\",\"input\":\"x\",\"stream\":true,\"store\":false}");
    assert_string_equal(stage_name(), "round");
    client_leaves();
    stage_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_beyond_the_limit_is_an_error_and_asks_nobody),
        cmocka_unit_test(one_that_is_let_in_is_told_what_is_left),
        cmocka_unit_test(what_is_refused_for_another_reason_takes_nothing),
        cmocka_unit_test(the_tokens_that_were_used_take_the_place_of_the_estimate),
        cmocka_unit_test(an_upstream_that_does_not_tell_them_leaves_the_estimate),
        cmocka_unit_test(a_client_that_leaves_before_the_answer_pays_the_estimate),
        cmocka_unit_test(of_rounds_that_were_told_before_the_client_left_it_pays_those),
        cmocka_unit_test(an_upstream_that_refuses_costs_nothing),
        cmocka_unit_test(what_is_accepted_has_taken_its_request_and_no_place),
        cmocka_unit_test(what_cannot_be_accepted_gives_its_tokens_back),
        cmocka_unit_test(what_runs_in_the_background_is_not_refused_and_counts_among_what_runs),
        cmocka_unit_test(a_model_that_is_not_allowed_does_not_exist),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
