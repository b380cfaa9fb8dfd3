/* test_response.c -- corners of the response state machine that no recorded
 * answer reaches; the ordinary ways are those of the scenarios. */
#include "lib/test.h"

#include <ctype.h>

#include "lib/event_check.h"
#include "lib/round_run.h"
#include "response/response_hosted.h"

#define DATA(json)     "data: " json "\n\n"
#define DELTA(members) DATA("{\"choices\":[{\"delta\":{" members "}}]}")
#define DONE           "data: [DONE]\n\n"
#define CALL(members)  "\"tool_calls\":[{" members "}]"

/* Runs a body; the events have to be faultless, streamed or not the object is the same. */
static json_t *response_of(const struct round_conf *conf, const char *body)
{
    struct round_result r, whole;
    const char *what;
    json_t *response;

    round_run(conf, str_from_c(body), BYTE_BY_BYTE, true, &r);
    what = event_check(buf_str(&r.events));
    if (what != NULL)
        fail_msg("%s in\n%.*s", what, STR_ARG(buf_str(&r.events)));
    round_run(conf, str_from_c(body), UNCUT, false, &whole);
    assert_str_eq(buf_str(&whole.object), event_response(buf_str(&r.events)));
    response = round_response(&r);
    round_result_fini(&r);
    round_result_fini(&whole);
    return response;
}

static void check(const struct round_conf *conf, const char *body, const char *status,
                  size_t n_items)
{
    json_t *response = response_of(conf, body);

    assert_string_equal(json_string_value(json_object_get(response, "status")), status);
    assert_int_equal(json_array_size(json_object_get(response, "output")), n_items);
    json_decref(response);
}

/* A limit ends the response wherever it is met, and the stream stays faultless. */
static void output_past_the_limit_fails_the_response(void **state)
{
    static const char body[] =
        DELTA("\"reasoning\":\"0123456789\"") DELTA("\"content\":\"0123456789\"")
            DELTA(CALL("\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":\""))
                DELTA(CALL("\"index\":0,\"function\":{\"arguments\":\"1}\"")) DONE;
    size_t failed = 0;

    (void)state;
    for (size_t limit = 1; limit < 3000; limit++) {
        const struct round_conf conf = {.max_output_bytes = limit};
        json_t *response = response_of(&conf, body);

        failed += json_is_object(json_object_get(response, "error"));
        json_decref(response);
    }
    assert_in_range(failed, 30, 2900);
}

/* What came with the bytes that are too many is not read, just as what comes later. */
static void where_the_limit_is_met_the_pieces_make_no_difference(void **state)
{
    static const char body[] = DELTA("\"content\":\"0123456789\"")
        DATA("{\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}") DONE;
    const struct round_conf conf = {.max_output_bytes = 5};
    struct round_result whole, cut;

    (void)state;
    round_run(&conf, str_from_c(body), UNCUT, true, &whole);
    round_run(&conf, str_from_c(body), BYTE_BY_BYTE, true, &cut);
    assert_str_eq(buf_str(&whole.events), buf_str(&cut.events));
    assert_true(whole.chat.failed);
    round_result_fini(&whole);
    round_result_fini(&cut);
}

static void the_error_event_can_be_left_out(void **state)
{
    const struct round_conf conf = {.no_error_event = true};
    struct round_result r;

    (void)state;
    round_run(&conf, STR(DATA("{\"error\":\"x\"}")), UNCUT, true, &r);
    assert_null(event_check(buf_str(&r.events)));
    assert_int_equal(str_find(buf_str(&r.events), STR("event: error")), r.events.len);
    round_result_fini(&r);
}

#define USAGE(members) DATA("{\"choices\":[],\"usage\":{" members "}}")
#define THOUGHTS       DELTA("\"reasoning\":\"a\"") DELTA("\"reasoning\":\"b\"")

/* "input/output/reasoning/total" of the response's usage, or null. */
static void check_usage(const struct round_conf *conf, const char *body, const char *expected)
{
    json_t *response = response_of(conf, body), *usage = json_object_get(response, "usage");
    char got[64] = "null";
    json_int_t input = 0, output = 0, reasoning = 0, total = 0;

    if (json_is_object(usage)) {
        assert_int_equal(json_unpack(usage, "{s:I,s:I,s:{s:I},s:I}", "input_tokens", &input,
                                     "output_tokens", &output, "output_tokens_details",
                                     "reasoning_tokens", &reasoning, "total_tokens", &total),
                         0);
        snprintf(got, sizeof(got), "%lld/%lld/%lld/%lld", (long long)input, (long long)output,
                 (long long)reasoning, (long long)total);
    }
    assert_string_equal(got, expected);
    json_decref(response);
}

/* opencode and Mastra repeat a finished turn whose usage is null. */
static void a_model_that_answered_has_used_something(void **state)
{
    static const struct err gone = {.code = ERR_UPSTREAM_ERROR, .msg = "gone"};
    const struct round_conf plain = {.logprobs = false}, refused = {.refusal = &gone};
    const struct round_conf broken = {.failure = &gone};

    (void)state;
    check_usage(&plain, DELTA("\"content\":\"a\"") DONE, "0/0/0/0");
    check_usage(&plain, THOUGHTS DATA("{\"choices\":[{\"finish_reason\":\"length\"}]}") DONE,
                "0/0/0/0");
    check_usage(&plain, DELTA("\"content\":\"a\"") DATA("{\"error\":\"x\"}"), "0/0/0/0");
    check_usage(&broken, DELTA("\"content\":\"a\""), "0/0/0/0");
    check_usage(&refused, "", "null");
}

/* llama.cpp, vLLM and most others stream reasoning and count only the whole. */
static void reasoning_tokens_are_counted_where_the_server_does_not(void **state)
{
    const struct round_conf shown = {.reasoning = REASONING_TEXT};
    const struct round_conf hidden = {.reasoning = REASONING_NONE};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct round_conf *conf = i == 0 ? &shown : &hidden;

        check_usage(conf,
                    THOUGHTS DELTA("\"content\":\"c\"")
                        USAGE("\"prompt_tokens\":9,\"completion_tokens\":5") DONE,
                    "9/5/2/14");
        check_usage(conf, THOUGHTS USAGE("\"prompt_tokens\":9,\"completion_tokens\":1") DONE,
                    "9/1/1/10");
        check_usage(conf,
                    THOUGHTS USAGE("\"prompt_tokens\":9,\"completion_tokens\":5,"
                                   "\"completion_tokens_details\":{\"reasoning_tokens\":0}") DONE,
                    "9/5/0/14");
        check_usage(conf,
                    THOUGHTS USAGE("\"prompt_tokens\":9,\"completion_tokens\":5,"
                                   "\"completion_tokens_details\":{\"reasoning_tokens\":null}")
                        DONE,
                    "9/5/2/14");
    }
    check_usage(&shown,
                "{\"choices\":[{\"message\":{\"reasoning\":\"a b c\",\"content\":\"d\"},"
                "\"finish_reason\":\"stop\"}],"
                "\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":5}}",
                "9/5/0/14");
}

/* Whatever an upstream writes into names and ids, the stream stays one that
 * every reader can cut into lines and parse. */
static void names_and_ids_of_any_text_are_made_safe(void **state)
{
    static const char *const texts[] = {"a\xE2\x80\xA8z", "\xC2\x85", "\\u2028",         "\\ud83d",
                                        "\\ude00x",       "\\\"\\\\", "\xF0\x9F\x98\x80"};
    const struct round_conf conf = {.reasoning = REASONING_TEXT};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        char body[512];

        snprintf(body, sizeof(body),
                 DATA("{\"service_tier\":\"%s\",\"choices\":[{\"delta\":{" CALL(
                     "\"id\":\"%s\",\"function\":{\"name\":\"f%s\",\"arguments\":\"{}\"}") "}}]}")
                     DONE,
                 texts[i], texts[i], texts[i]);
        check(&conf, body, "completed", 1);
    }
}

static void a_call_id_of_any_length_is_one_of_at_most_64_characters(void **state)
{
    const struct round_conf conf = {.reasoning = REASONING_TEXT};

    (void)state;
    for (int n = 63; n <= 66; n++) {
        char body[512];
        json_t *response;
        const char *id;

        snprintf(body, sizeof(body),
                 DELTA(CALL("\"id\":\"%0*d\",\"function\":{\"name\":\"f\"}")) DONE, n, 0);
        response = response_of(&conf, body);
        id = json_string_value(
            json_object_get(json_array_get(json_object_get(response, "output"), 0), "call_id"));
        assert_int_equal(strlen(id), n <= 64 ? (size_t)n : strlen("call_") + ID_CALL_CHARS);
        json_decref(response);
    }
}

static void reasoning_that_is_not_shown_leaves_no_item(void **state)
{
    const struct round_conf conf = {.reasoning = REASONING_NONE};

    (void)state;
    check(&conf, DELTA("\"reasoning\":\"a\"") DELTA("\"content\":\"b\"") DONE, "completed", 1);
    check(&conf, DELTA("\"reasoning\":\"a\"") DONE, "completed", 1);
}

/* What a response gets from its upstream, one delta after the other. */
static void feed_deltas(struct response *r, const struct delta *deltas, size_t n, struct buf *out)
{
    response_start(r, out);
    for (size_t i = 0; i < n; i++)
        assert_true(response_delta(r, &deltas[i], out));
    response_end_round(r, FINISH_STOP, out);
    response_finish(r, FINISH_STOP, 5, out);
    response_end(r, out);
}

static void reasoning_that_is_not_shown_is_kept(void **state)
{
    static const struct delta deltas[] = {
        {.kind = DELTA_REASONING, .text = STR_INIT("a")},
        {.kind = DELTA_TEXT, .text = STR_INIT("x")},
        {.kind = DELTA_REASONING, .text = STR_INIT("b")},
        {.kind = DELTA_TEXT, .text = STR_INIT("y")},
        {.kind = DELTA_REASONING, .text = STR_INIT("c")},
    };
    struct test_ids ids;
    struct response_conf conf = {.ids = &ids.source, .reasoning = REASONING_NONE};
    struct buf out = {.limit = 0}, item = {.limit = 0};
    struct response r;

    (void)state;
    test_ids_reset(&ids);
    response_init(&r, &conf);
    feed_deltas(&r, deltas, COUNT_OF(deltas), &out);
    assert_true(r.first->is_hidden && !r.first->next->is_hidden && r.first->next->next->is_hidden);
    assert_null(r.first->next->next->next);
    assert_int_equal(r.n_items, 1);
    output_item_write(r.first->next->next, &item);
    assert_true(str_starts_with(buf_str(&item), STR("{\"id\":\"rs_")));
    assert_true(str_ends_with(buf_str(&item),
                              STR("\"type\":\"reasoning\",\"status\":\"completed\",\"summary\":[],"
                                  "\"content\":[{\"type\":\"reasoning_text\",\"text\":\"bc\"}]}")));
    response_fini(&r);
    buf_fini(&out);
    buf_fini(&item);
}

/* Overwrites the random part of every id. */
static void blank_ids(struct buf *events)
{
    for (size_t i = 0, n = 0; i <= events->len; i++) {
        if (i < events->len && isalnum((unsigned char)events->p[i])) {
            n++;
            continue;
        }
        if (n == ID_RANDOM_CHARS)
            memset(events->p + i - n, 'x', n);
        n = 0;
    }
}

static void hidden_reasoning_changes_no_event(void **state)
{
    static const struct delta deltas[] = {
        {.kind = DELTA_REASONING, .text = STR_INIT("a")},
        {.kind = DELTA_TEXT, .text = STR_INIT("x")},
        {.kind = DELTA_REASONING, .text = STR_INIT("b")},
        {.kind = DELTA_TEXT, .text = STR_INIT("y")},
        {.kind = DELTA_CALL,
         .name = STR_INIT("f"),
         .call_id = STR_INIT("c"),
         .text = STR_INIT("{")},
        {.kind = DELTA_REASONING, .text = STR_INIT("c")},
        {.kind = DELTA_CALL,
         .name = STR_INIT("f"),
         .call_id = STR_INIT("c"),
         .text = STR_INIT("}")},
    };
    struct delta shown[COUNT_OF(deltas)];
    struct test_ids ids;
    struct response_conf conf = {.ids = &ids.source, .reasoning = REASONING_NONE};
    struct buf with = {.limit = 0}, without = {.limit = 0};
    struct response r;
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(deltas); i++) {
        if (deltas[i].kind != DELTA_REASONING)
            shown[n++] = deltas[i];
    }
    test_ids_reset(&ids);
    response_init(&r, &conf);
    feed_deltas(&r, deltas, COUNT_OF(deltas), &with);
    response_fini(&r);
    response_init(&r, &conf);
    feed_deltas(&r, shown, n, &without);
    response_fini(&r);
    blank_ids(&with);
    blank_ids(&without);
    assert_str_eq(buf_str(&with), buf_str(&without));
    buf_fini(&with);
    buf_fini(&without);
}

static void hidden_reasoning_counts_as_output(void **state)
{
    static const struct delta thought = {.kind = DELTA_REASONING, .text = STR_INIT("0123456789")};
    struct test_ids ids;
    struct response_conf conf = {
        .ids = &ids.source, .reasoning = REASONING_NONE, .max_output_bytes = 10000};
    struct response r;
    size_t n = 0;

    (void)state;
    test_ids_reset(&ids);
    response_init(&r, &conf);
    while (response_delta(&r, &thought, NULL))
        n++;
    assert_in_range(n, 900, 999);
    response_fini(&r);
}

static void keepalives_are_numbered_like_any_event(void **state)
{
    struct test_ids ids;
    struct response_conf conf = {.ids = &ids.source, .error_event = true};
    const struct delta text = {.kind = DELTA_TEXT, .text = STR("a")};
    struct buf out = {.limit = 0};
    struct response r;

    (void)state;
    test_ids_reset(&ids);
    response_init(&r, &conf);
    response_start(&r, &out);
    response_keepalive(&r, &out);
    assert_true(response_delta(&r, &text, &out));
    response_keepalive(&r, &out);
    response_end_round(&r, FINISH_STOP, &out);
    response_finish(&r, FINISH_STOP, 5, &out);
    response_end(&r, &out);
    assert_true(str_ends_with(buf_str(&out), STR("data: [DONE]\n\n")));
    assert_true(str_find(buf_str(&out), STR("event: keepalive\ndata: {\"type\":\"keepalive\","
                                            "\"sequence_number\":2}\n\n")) < out.len);
    response_fini(&r);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_past_the_limit_fails_the_response),
        cmocka_unit_test(a_model_that_answered_has_used_something),
        cmocka_unit_test(reasoning_tokens_are_counted_where_the_server_does_not),
        cmocka_unit_test(where_the_limit_is_met_the_pieces_make_no_difference),
        cmocka_unit_test(the_error_event_can_be_left_out),
        cmocka_unit_test(names_and_ids_of_any_text_are_made_safe),
        cmocka_unit_test(a_call_id_of_any_length_is_one_of_at_most_64_characters),
        cmocka_unit_test(reasoning_that_is_not_shown_leaves_no_item),
        cmocka_unit_test(reasoning_that_is_not_shown_is_kept),
        cmocka_unit_test(hidden_reasoning_changes_no_event),
        cmocka_unit_test(hidden_reasoning_counts_as_output),
        cmocka_unit_test(keepalives_are_numbered_like_any_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
