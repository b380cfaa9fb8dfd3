/* test_summary_round.c -- what of an upstream's answer is the summary, however it is cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "response/summary_round.h"

#define CHUNK(delta) "data: {\"choices\":[{\"index\":0,\"delta\":{" delta "}}]}\n\n"
#define SAYS(text)   CHUNK("\"content\":\"" text "\"")
#define THINKS(text) CHUNK("\"reasoning_content\":\"" text "\"")
#define ENDS(reason)                                                                               \
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" reason "\"}]}\n\n"        \
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3,"                \
    "\"total_tokens\":10}}\n\n"                                                                    \
    "data: [DONE]\n\n"
#define CALLS                                                                                      \
    CHUNK("\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\","                \
          "\"arguments\":\"{}\"}}]")

struct row {
    const char *answer, *summary;
    enum finish finish;
    int64_t n_reasoning;
    bool has_call, thinks_in_tags;
};

static const struct row rows[] = {
    {SAYS("Goal: ") SAYS("tea.") ENDS("stop"), "Goal: tea.", FINISH_STOP, 0, false, false},
    {SAYS("\\n Goal:\\n\\\"tea\\\"\\u00e9 \\n") ENDS("stop"), "Goal:\n\"tea\"\xc3\xa9", FINISH_STOP,
     0, false, false},
    {THINKS("Hm.") SAYS("Goal.") ENDS("length"), "Goal.", FINISH_LENGTH, 1, false, false},
    {SAYS("<think>Hm.</think>Goal.") ENDS("stop"), "Goal.", FINISH_STOP, 1, false, true},
    {SAYS("<think>Hm.") ENDS("length"), "", FINISH_LENGTH, 1, false, true},
    {CALLS ENDS("tool_calls"), "", FINISH_TOOL_CALLS, 0, true, false},
    {SAYS("Goal.") CALLS ENDS("tool_calls"), "Goal.", FINISH_TOOL_CALLS, 0, true, false},
    {CHUNK("\"refusal\":\"No.\"") ENDS("stop"), "", FINISH_STOP, 0, false, false},
    {ENDS("stop"), "", FINISH_STOP, 0, false, false},
    {SAYS("Goal.") ENDS("content_filter"), "Goal.", FINISH_CONTENT_FILTER, 0, false, false},
};

static void start(struct summary_round *s, const struct row *row, size_t max_bytes)
{
    const struct chat_stream_conf conf = {.text.think = row->thinks_in_tags ? MODEL_THINK_ON
                                                                            : MODEL_THINK_OFF};

    summary_round_init(s, &conf, max_bytes);
}

static void check(struct summary_round *s, const struct row *row)
{
    const struct chat_result result = summary_round_end(s, NULL);
    struct buf text = {.limit = 0};

    summary_round_write(s, &text);
    assert_false(result.failed);
    assert_int_equal(result.finish, row->finish);
    assert_string_equal(buf_cstr(&text), row->summary);
    assert_int_equal(s->has_call, row->has_call);
    assert_int_equal(s->n_reasoning > 0, row->n_reasoning > 0);
    assert_int_equal(s->stream.reader.usage.input, 7);
    buf_fini(&text);
    summary_round_fini(s);
}

static void the_summary_is_what_the_model_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const str answer = str_from_c(rows[i].answer);

        for (size_t cut = 0; cut <= answer.len; cut++) {
            struct summary_round s;

            start(&s, &rows[i], 0);
            summary_round_feed(&s, str_from(answer.p, cut));
            summary_round_feed(&s, str_skip(answer, cut));
            assert_true(summary_round_is_over(&s));
            check(&s, &rows[i]);
        }
    }
}

static void messages_are_paragraphs(void **state)
{
    struct summary_round s;
    struct buf text = {.limit = 0};

    (void)state;
    start(&s, &rows[0], 0);
    s.stream.reader.on_delta(s.stream.reader.arg, &(struct delta){.text = STR("One.")});
    s.stream.reader.on_delta(s.stream.reader.arg, &(struct delta){.kind = DELTA_ITEM_END});
    s.stream.reader.on_delta(s.stream.reader.arg, &(struct delta){.text = STR("Two.")});
    summary_round_feed(&s, STR(ENDS("stop")));
    (void)summary_round_end(&s, NULL);
    summary_round_write(&s, &text);
    assert_string_equal(buf_cstr(&text), "One.\n\nTwo.");
    buf_fini(&text);
    summary_round_fini(&s);
}

static void what_has_no_end_is_cut_off(void **state)
{
    struct summary_round s;
    struct chat_result result;

    (void)state;
    start(&s, &rows[0], 8);
    summary_round_feed(&s, STR(SAYS("Goal: ")));
    assert_false(summary_round_is_over(&s));
    summary_round_feed(&s, STR(SAYS("tea and cakes")));
    assert_true(summary_round_is_over(&s));
    assert_true(summary_round_is_cut_off(&s));
    result = summary_round_end(&s, NULL);
    assert_true(result.failed);
    assert_int_equal(result.error.code, ERR_UPSTREAM_ERROR);
    summary_round_fini(&s);
}

static void what_breaks_off_has_failed(void **state)
{
    const struct err broken = {.code = ERR_UPSTREAM_ERROR, .msg = "It broke off."};
    struct summary_round s;
    struct chat_result result;

    (void)state;
    start(&s, &rows[0], 0);
    summary_round_feed(&s, STR(SAYS("Goal: ")));
    result = summary_round_end(&s, &broken);
    assert_true(result.failed);
    assert_string_equal(result.error.msg, "It broke off.");
    summary_round_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_summary_is_what_the_model_says),
        cmocka_unit_test(messages_are_paragraphs),
        cmocka_unit_test(what_has_no_end_is_cut_off),
        cmocka_unit_test(what_breaks_off_has_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
