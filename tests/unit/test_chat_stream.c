/* test_chat_stream.c -- bodies of upstream answers become deltas.
 *
 * A case is a body and the transcript of its deltas and its result. That every
 * recorded form is read rightly is the business of test_upstream_forms.c; here
 * stand the corners that no recording reaches. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "wire/chunk/chat_stream.h"

#define DATA(json)       "data: " json "\n\n"
#define DELTA(members)   DATA("{\"choices\":[{\"delta\":{" members "}}]}")
#define FINISH(word)     DATA("{\"choices\":[{\"delta\":{},\"finish_reason\":\"" word "\"}]}")
#define DONE             "data: [DONE]\n\n"
#define CALL(members)    "\"tool_calls\":[{" members "}]"
#define FUNCTION(values) "\"function\":{" values "}"

struct body_case {
    const char *name;
    const char *body;
    const char *transcript;
    bool harmony, think_tags, text_calls, logprobs;
    enum chat_space_mode space;
};

/* text "..", reasoning "..", refusal "..", call N(id) name + ".." and the end */
static const struct body_case cases[] = {
    {.name = "text_of_every_kind_in_one_delta",
     .body = DELTA("\"content\":\"c\",\"refusal\":\"f\",\"reasoning\":\"r\"") DONE,
     .transcript = "reasoning r|text c|refusal f|stop"},
    {.name = "reasoning_counts_when_reasoning_content_has_become_empty",
     .body = DELTA("\"reasoning_content\":\"r\",\"reasoning\":\"r\"")
         DELTA("\"reasoning_content\":\"\",\"reasoning\":\"r\"") DONE,
     .transcript = "reasoning r|reasoning r|stop"},
    {.name = "content_and_calls_in_one_delta_lose_neither",
     .body = DELTA("\"content\":\"c\"," CALL(
         "\"id\":\"a\"," FUNCTION("\"name\":\"f\",\"arguments\":\"{}\""))) DONE,
     .transcript = "text c|call 0(a) f {}|tool_calls"},
    {.name = "three_broken_chunks_in_a_row_end_it",
     .body = DATA("{") DATA("{\"x\"") DATA("nope") DELTA("\"content\":\"late\"") DONE,
     .transcript = "failed upstream_error"},
    {.name = "broken_chunks_apart_are_skipped",
     .body = DATA("{") DATA("{") DELTA("\"content\":\"a\"") DATA("{") DATA("}")
         DELTA("\"content\":\"b\"") DONE,
     .transcript = "text a|text b|stop"},
    {.name = "nothing_of_a_broken_chunk_is_reported",
     .body = DATA("{\"choices\":[{\"delta\":{\"content\":\"a\"}}]") DELTA("\"content\":\"b\"") DONE,
     .transcript = "text b|stop"},
    {.name = "half_a_character_costs_that_character_only",
     .body = DELTA("\"content\":\"a\xC3\"") DONE,
     .transcript = "text a\xEF\xBF\xBD|stop"},
    {.name = "a_surrogate_pair_in_two_deltas_is_joined",
     .body = DELTA("\"content\":\"a\\ud83d\"") DELTA("\"content\":\"\\ude00b\"") DONE,
     .transcript = "text a|text \\ud83d\\ude00b|stop"},
    {.name = "half_a_pair_of_text_is_not_completed_by_reasoning",
     .body = DELTA("\"content\":\"\\ud83d\"") DELTA("\"reasoning\":\"\\ude00\"") DONE,
     .transcript = "text \\ufffd|reasoning \\ufffd|stop"},
    {.name = "half_a_pair_at_the_end_is_replaced",
     .body = DELTA("\"content\":\"\\ud83d\"") DONE,
     .transcript = "text \\ufffd|stop"},
    {.name = "half_a_pair_of_arguments_waits_for_its_own_call",
     .body = DELTA(CALL("\"index\":0," FUNCTION("\"name\":\"f\",\"arguments\":\"\\\"\\ud83d\"")))
         DELTA(CALL("\"index\":1," FUNCTION("\"name\":\"g\",\"arguments\":\"1\"")))
             DELTA(CALL("\"index\":0," FUNCTION("\"arguments\":\"\\ude00\\\"\""))) DONE,
     .transcript = "call 0() f \\\"|call 1() g 1|call 0() f \\ud83d\\ude00\\\"|tool_calls"},
    {.name = "line_breakers_are_escaped_on_the_way",
     .body = DELTA("\"content\":\"\xE2\x80\xA8\xC2\x85\"") DONE,
     .transcript = "text \\u2028\\u0085|stop"},
    {.name = "arguments_that_are_an_object_become_compact_text",
     .body = DELTA(CALL(FUNCTION("\"name\":\"f\",\"arguments\":{ \"a\" : [ 1, \"b c\" ] }"))) DONE,
     .transcript = "call 0() f {\\\"a\\\":[1,\\\"b c\\\"]}|tool_calls"},
    {.name = "a_second_object_on_the_same_call_is_a_repetition",
     .body = DELTA(CALL("\"index\":0," FUNCTION("\"name\":\"f\",\"arguments\":{\"a\":1}")))
         DELTA(CALL("\"index\":0," FUNCTION("\"name\":\"f\",\"arguments\":{\"a\":1}"))) DONE,
     .transcript = "call 0() f {\\\"a\\\":1}|call 0() f |tool_calls"},
    {.name = "a_call_without_a_name_is_no_tool_turn",
     .body = DELTA(CALL("\"index\":0," FUNCTION("\"arguments\":\"{}\""))) FINISH("tool_calls") DONE,
     .transcript = "call 0()  {}|stop"},
    {.name = "length_with_calls_is_still_length",
     .body = DELTA(CALL("\"index\":0," FUNCTION("\"name\":\"f\",\"arguments\":\"{\"")))
         FINISH("length") DONE,
     .transcript = "call 0() f {|length"},
    {.name = "an_error_after_the_finish_is_ignored",
     .body = FINISH("stop") DATA("{\"error\":\"late\"}") DONE,
     .transcript = "stop"},
    {.name = "nothing_after_an_error_is_read",
     .body = DATA("{\"error\":{\"message\":\"m\",\"code\":429}}") DELTA("\"content\":\"x\"") DONE,
     .transcript = "failed rate_limit_exceeded"},
    {.name = "an_empty_error_is_none",
     .body = DATA("{\"error\":null,\"choices\":[{\"delta\":{\"content\":\"a\"}}]}") DONE,
     .transcript = "text a|stop"},
    {.name = "chunks_of_other_types_say_nothing",
     .body = DATA("1") DATA("[]") DATA("\"x\"") DATA("null") DELTA("\"content\":\"a\"") DONE,
     .transcript = "text a|stop"},
    {.name = "members_of_other_types_say_nothing",
     .body = DATA("{\"choices\":{},\"usage\":[],\"error\":false,\"object\":3}")
         DATA("{\"choices\":[null,1,{\"delta\":7,\"finish_reason\":{},\"index\":\"0\"}]}")
             DELTA("\"content\":5,\"tool_calls\":[null,{\"function\":[]}],\"refusal\":[]")
                 DELTA("\"content\":\"a\"") DONE,
     .transcript = "call 0()  |text a|stop"},
    {.name = "a_whole_body_may_stand_after_white_space",
     .body = " \n {\"choices\":[{\"message\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n",
     .transcript = "text a|stop"},
    {.name = "a_whole_body_that_is_cut_short_failed",
     .body = "{\"choices\":[{\"message\":{\"content\":\"a\"}",
     .transcript = "failed upstream_error"},
    {.name = "white_space_is_no_answer", .body = " \n\n ", .transcript = "failed upstream_error"},
    {.name = "think_tags_go_to_reasoning",
     .body = DELTA("\"content\":\"<thi\"") DELTA("\"content\":\"nk>why</think>\"")
         DELTA("\"content\":\"so\"") DONE,
     .transcript = "reasoning why|text so|stop",
     .think_tags = true},
    {.name = "half_a_pair_inside_think_stays_reasoning",
     .body = DELTA("\"content\":\"<think>a\\ud83d\"") DONE,
     .transcript = "reasoning a|reasoning \xEF\xBF\xBD|stop",
     .think_tags = true},
    {.name = "space_in_front_of_a_call_is_said_before_it",
     .body = DELTA("\"content\":\"\\n\\n\"") DELTA(CALL(FUNCTION("\"name\":\"f\""))) DONE,
     .transcript = "text \\n\\n|call 0() f |tool_calls",
     .think_tags = true,
     .text_calls = true},
    {.name = "text_and_what_may_be_a_tag_are_said_before_a_call",
     .body = DELTA("\"content\":\"Ok.\\n<tool\"") DELTA(CALL(FUNCTION("\"name\":\"f\""))) DONE,
     .transcript = "text Ok.|text \\n|text <tool|call 0() f |tool_calls",
     .text_calls = true},
    {.name = "half_a_call_in_the_text_is_said_before_a_call",
     .body = DELTA("\"content\":\"<tool_call>{\"") DELTA(CALL(FUNCTION("\"name\":\"f\"")))
         DELTA("\"content\":\"}\"") DONE,
     .transcript = "text <tool_call>{|call 0() f |text }|tool_calls",
     .text_calls = true},
    {.name = "what_may_be_a_marker_is_said_before_a_call",
     .body = DELTA("\"content\":\"<|\"") DELTA(CALL(FUNCTION("\"name\":\"f\""))) DONE,
     .transcript = "text <||call 0() f |tool_calls",
     .harmony = true},
    {.name = "what_may_be_a_marker_is_said_before_reasoning",
     .body =
         DELTA("\"content\":\"<|\"") DELTA("\"reasoning\":\"r\"") DELTA("\"content\":\"a\"") DONE,
     .transcript = "text <||reasoning r|text a|stop",
     .harmony = true},
    {.name = "reasoning_in_tags_goes_on_behind_a_call",
     .body = DELTA("\"content\":\"<think>a </th\"") DELTA(CALL(FUNCTION("\"name\":\"f\"")))
         DELTA("\"content\":\"ink>b\"") DONE,
     .transcript = "reasoning a|call 0() f |text b|tool_calls",
     .think_tags = true},
    {.name = "what_opens_harmony_may_be_escaped",
     .body = DELTA("\"content\":\"\\u003c|channel|>final<|mess\"")
         DELTA("\"content\":\"age|>so\\n\"") DELTA("\"content\":\" be\\u0020it\"") DONE,
     .transcript = "text so\\n|text  be it|stop",
     .harmony = true},
    {.name = "text_that_cannot_open_harmony_stays_as_it_is",
     .body =
         DELTA("\"content\":\"a\\u0020\\ud83d\"") DELTA("\"content\":\"\\ude00<|channel|>\"") DONE,
     .transcript = "text a\\u0020|text \\ud83d\\ude00<|channel|>|stop",
     .harmony = true},
    {.name = "logprobs_go_with_their_text",
     .body = DATA("{\"choices\":[{\"delta\":{\"content\":\"a\"},\"logprobs\":{\"content\":"
                  "[{\"token\":\"a\",\"logprob\":-1}]}}]}") DELTA("\"content\":\"b\"") DONE,
     .transcript = "text a [{\"token\":\"a\",\"logprob\":-1,\"bytes\":[97],\"top_logprobs\":[]}]|"
                   "text b|stop",
     .logprobs = true},
    {.name = "logprobs_of_reasoning_are_not_those_of_the_text",
     .body =
         DATA("{\"choices\":[{\"delta\":{\"reasoning_content\":\"r\"},\"logprobs\":{\"content\":"
              "[{\"token\":\"r\",\"logprob\":-1}]}}]}") DELTA("\"content\":\"b\"") DONE,
     .transcript = "reasoning r|text b|stop",
     .logprobs = true},
    {.name = "logprobs_of_a_token_without_text_wait_for_it",
     .body = DATA("{\"choices\":[{\"delta\":{\"content\":\"\"},\"logprobs\":{\"content\":"
                  "[{\"token\":\"a\",\"logprob\":-1}]}}]}") DELTA("\"content\":\"b\"") DONE,
     .transcript = "text b [{\"token\":\"a\",\"logprob\":-1,\"bytes\":[97],\"top_logprobs\":[]}]|"
                   "stop",
     .logprobs = true},
    {.name = "space_before_a_call_is_kept_by_default",
     .body = DELTA("\"content\":\"\\n\\n\"") DELTA(CALL(FUNCTION("\"name\":\"f\""))) DONE,
     .transcript = "text \\n\\n|call 0() f |tool_calls"},
    {.name = "space_before_a_call_is_dropped",
     .body = DELTA("\"content\":\"\\n\"") DELTA("\"content\":\" \\u000A\\t\"")
         DELTA(CALL(FUNCTION("\"name\":\"f\""))) DELTA("\"content\":\"\\n\"")
             DELTA(CALL(FUNCTION("\"name\":\"g\""))) DONE,
     .transcript = "call 0() f |call 1() g |tool_calls",
     .space = CHAT_SPACE_HELD},
    {.name = "space_before_text_goes_with_it",
     .body = DELTA("\"content\":\"\\n\"") DELTA("\"content\":\" \"") DELTA("\"content\":\" a\"")
         DELTA("\"content\":\"\\n\"") DELTA(CALL(FUNCTION("\"name\":\"f\""))) DONE,
     .transcript = "text \\n  a|text \\n|call 0() f |tool_calls",
     .space = CHAT_SPACE_HELD},
    {.name = "space_that_is_the_whole_answer_is_said",
     .body = DELTA("\"content\":\"\\n\"") DELTA("\"content\":\" \"") FINISH("stop") DONE,
     .transcript = "text \\n |stop",
     .space = CHAT_SPACE_HELD},
    {.name = "space_between_reasoning_and_a_call_is_dropped",
     .body = DELTA("\"reasoning\":\"r\"") DELTA("\"content\":\"\\n\"")
         DELTA(CALL(FUNCTION("\"name\":\"f\""))) DONE,
     .transcript = "reasoning r|call 0() f |tool_calls",
     .space = CHAT_SPACE_HELD},
    {.name = "space_before_reasoning_is_said_where_it_came",
     .body =
         DELTA("\"content\":\"\\n\"") DELTA("\"reasoning\":\"r\"") DELTA("\"content\":\"a\"") DONE,
     .transcript = "text \\n|reasoning r|text a|stop",
     .space = CHAT_SPACE_HELD},
    {.name = "space_in_the_delta_of_a_call_is_dropped",
     .body = DELTA("\"content\":\"\\n\"," CALL(FUNCTION("\"name\":\"f\""))) DONE,
     .transcript = "call 0() f |tool_calls",
     .space = CHAT_SPACE_HELD},
    {.name = "an_escaped_letter_is_no_space",
     .body = DELTA("\"content\":\"\\u0061\"") DELTA("\"content\":\"\\n\"")
         DELTA(CALL(FUNCTION("\"name\":\"f\""))) DONE,
     .transcript = "text \\u0061|text \\n|call 0() f |tool_calls",
     .space = CHAT_SPACE_HELD},
    {.name = "logprobs_wait_with_their_space",
     .body = DATA("{\"choices\":[{\"delta\":{\"content\":\" \"},\"logprobs\":{\"content\":"
                  "[{\"token\":\" \",\"logprob\":-1}]}}]}")
         DATA("{\"choices\":[{\"delta\":{\"content\":\"a\"},\"logprobs\":{\"content\":"
              "[{\"token\":\"a\",\"logprob\":-2}]}}]}") DONE,
     .transcript = "text  a [{\"token\":\" \",\"logprob\":-1,\"bytes\":[32],\"top_logprobs\":[]},"
                   "{\"token\":\"a\",\"logprob\":-2,\"bytes\":[97],\"top_logprobs\":[]}]|stop",
     .logprobs = true,
     .space = CHAT_SPACE_HELD},
    {.name = "space_behind_reasoning_is_dropped_before_a_call",
     .body = DELTA("\"reasoning\":\"r\"") DELTA("\"content\":\"\\n\\n\"")
         DELTA(CALL(FUNCTION("\"name\":\"f\""))) DELTA("\"content\":\"\\n\"")
             DELTA(CALL(FUNCTION("\"name\":\"g\""))) DONE,
     .transcript = "reasoning r|call 0() f |call 1() g |tool_calls",
     .space = CHAT_SPACE_HELD_AFTER_REASONING},
    {.name = "space_without_reasoning_is_kept_before_a_call",
     .body = DELTA("\"content\":\"\\n\"") DELTA(CALL(FUNCTION("\"name\":\"f\"")))
         DELTA("\"content\":\"\\n\"") DELTA("\"reasoning\":\"r\"") DELTA("\"content\":\"\\n\"")
             DELTA(CALL(FUNCTION("\"name\":\"g\""))) DONE,
     .transcript = "text \\n|call 0() f |text \\n|reasoning r|call 1() g |tool_calls",
     .space = CHAT_SPACE_HELD_AFTER_REASONING},
    {.name = "space_behind_reasoning_goes_with_its_text",
     .body = DELTA("\"reasoning\":\"r\"") DELTA("\"content\":\"\\n\\n\"") DELTA("\"content\":\"a\"")
         DELTA("\"content\":\" b\"") DONE,
     .transcript = "reasoning r|text \\n\\na|text  b|stop",
     .space = CHAT_SPACE_HELD_AFTER_REASONING},
    {.name = "space_in_a_whole_body_is_dropped_before_its_call",
     .body = "{\"choices\":[{\"message\":{\"content\":\"\\n\"," CALL(
         FUNCTION("\"name\":\"f\"")) "},\"finish_reason\":\"tool_calls\"}]}",
     .transcript = "call 0() f |tool_calls",
     .space = CHAT_SPACE_HELD},
};

/* ---- the transcript */

static const char *const kinds[] = {"text", "refusal", "reasoning", "call", "citation"};

static void on_delta(void *arg, const struct delta *d)
{
    struct buf *out = arg;

    buf_c(out, kinds[d->kind]);
    if (d->kind == DELTA_CALL) {
        buf_char(out, ' ');
        buf_uint(out, d->call);
        buf_char(out, '(');
        buf_append(out, d->call_id);
        buf_c(out, ") ");
        buf_append(out, d->name);
    }
    buf_char(out, ' ');
    buf_append(out, d->text);
    if (d->logprobs.len > 0) {
        buf_c(out, " [");
        buf_append(out, d->logprobs);
        buf_char(out, ']');
    }
    buf_char(out, '|');
}

static void write_result(const struct chat_result *r, struct buf *out)
{
    static const char *const words[] = {"none", "stop", "tool_calls", "length", "content_filter"};

    if (!r->failed) {
        buf_c(out, words[r->finish]);
        return;
    }
    buf_c(out, "failed ");
    buf_c(out, err_wire_code(&r->error));
}

static void feed(void *arg, str piece)
{
    chat_stream_feed(arg, piece);
}

static void check_case(const struct body_case *c, struct cutting cutting)
{
    const struct chat_stream_conf conf = {
        .text = {.harmony = c->harmony ? MODEL_HARMONY_AUTO : MODEL_HARMONY_OFF,
                 .think = c->think_tags ? MODEL_THINK_ON : MODEL_THINK_OFF,
                 .calls = c->text_calls ? TEXT_CALLS_HERMES : TEXT_CALLS_NONE},
        .wants_logprobs = c->logprobs,
        .space = c->space,
        .max_event_bytes = 10000};
    struct buf out = {.limit = 0};
    struct chat_stream s;
    struct chat_result result;

    chat_stream_init(&s, &conf, on_delta, &out);
    feed_pieces(str_from_c(c->body), cutting, feed, &s);
    result = chat_stream_end(&s, NULL);
    write_result(&result, &out);
    if (!str_eq(buf_str(&out), str_from_c(c->transcript)))
        fail_msg("%s, first piece of %zu:\n     got %s\nexpected %s", c->name, cutting.first,
                 buf_cstr(&out), c->transcript);
    chat_stream_fini(&s);
    buf_fini(&out);
}

static void bodies_become_deltas_in_any_cutting(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_case(&cases[i], UNCUT);
        check_case(&cases[i], BYTE_BY_BYTE);
        for (size_t at = 1; at < strlen(cases[i].body); at++)
            check_case(&cases[i], CUT_AT(at));
    }
}

static void text_that_cannot_open_harmony_takes_no_memory(void **state)
{
    const struct chat_stream_conf conf = {.text = {.harmony = MODEL_HARMONY_AUTO}};
    struct buf out = {.limit = 0};
    struct chat_stream s;

    (void)state;
    chat_stream_init(&s, &conf, on_delta, &out);
    chat_stream_feed(&s, STR(DELTA("\"content\":\"\"") DELTA("\"content\":\"Hi\"")));
    assert_true(str_eq(buf_str(&out), STR("text Hi|")));
    assert_true(model_text_is_plain(&s.reader.text));
    assert_null(s.reader.piece.p);
    assert_null(s.reader.text.plain.p);
    assert_null(s.reader.text.text.p);
    assert_null(s.reader.text.scratch.p);
    chat_stream_fini(&s);
    buf_fini(&out);
}

/* ---- ends */

static struct chat_result result_of(const char *body, size_t max_bytes, const struct err *failure)
{
    const struct chat_stream_conf conf = {.max_event_bytes = max_bytes};
    struct buf out = {.limit = 0};
    struct chat_stream s;
    struct chat_result result;

    chat_stream_init(&s, &conf, on_delta, &out);
    chat_stream_feed(&s, str_from_c(body));
    result = chat_stream_end(&s, failure);
    chat_stream_fini(&s);
    buf_fini(&out);
    return result;
}

/* CONTRACT 5.5: an answer whose finish_reason was seen stands. */
static void a_broken_connection_fails_an_unfinished_answer_only(void **state)
{
    struct err broken;
    struct chat_result r;

    (void)state;
    err_set(&broken, ERR_UPSTREAM_ERROR, "connection reset");
    r = result_of(DELTA("\"content\":\"a\""), 0, &broken);
    assert_true(r.failed);
    assert_string_equal(r.error.msg, "connection reset");
    assert_false(result_of(FINISH("stop"), 0, &broken).failed);
    assert_false(result_of(DONE, 0, &broken).failed);
    assert_true(result_of(DELTA("\"content\":\"a\""), 0, NULL).failed);
}

/* Text that may still become something else is text, and no way around the limit. */
static void held_text_is_limited(void **state)
{
    static const struct {
        enum model_think think;
        enum text_call_format calls;
        const char *begin, *more;
    } held[] = {
        {MODEL_THINK_ON, TEXT_CALLS_NONE, "", "          "},
        {MODEL_THINK_INSIDE, TEXT_CALLS_NONE, "a", "          "},
        {MODEL_THINK_OFF, TEXT_CALLS_HERMES, "a", "          "},
        {MODEL_THINK_OFF, TEXT_CALLS_HERMES, "<tool_call>{\\\"a\\\":[", "1,1,1,1,1,"},
        {MODEL_THINK_OFF, TEXT_CALLS_QWEN_CODER, "<function=f><parameter=a>", "0123456789"},
        {MODEL_THINK_OFF, TEXT_CALLS_LLAMA3, "{\\\"name\\\":\\\"", "0123456789"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(held); i++) {
        const struct chat_stream_conf conf = {
            .text = {.think = held[i].think, .calls = held[i].calls, .max_held_bytes = 100}};
        struct buf out = {.limit = 0}, body = {.limit = 0};
        struct chat_stream s;
        size_t n = 0;

        chat_stream_init(&s, &conf, on_delta, &out);
        for (; n < 100 && !chat_stream_is_over(&s); n++) {
            body.len = 0;
            buf_c(&body, "data: {\"choices\":[{\"delta\":{\"content\":\"");
            buf_c(&body, n == 0 ? held[i].begin : held[i].more);
            buf_c(&body, "\"}}]}\n\n");
            chat_stream_feed(&s, buf_str(&body));
        }
        assert_in_range(n, 8, 13);
        assert_true(strstr(chat_stream_end(&s, NULL).error.msg, "100 bytes (max_response)") !=
                    NULL);
        chat_stream_fini(&s);
        buf_fini(&body);
        buf_fini(&out);
    }
}

/* So a model that writes nothing else does not keep the client waiting. */
static void more_than_a_kilobyte_of_space_is_said(void **state)
{
    const struct chat_stream_conf conf = {.space = CHAT_SPACE_HELD};
    struct buf out = {.limit = 0};
    struct chat_stream s;

    (void)state;
    chat_stream_init(&s, &conf, on_delta, &out);
    for (size_t i = 0; i < 512; i++)
        chat_stream_feed(&s, STR(DELTA("\"content\":\"\\n\"")));
    assert_int_equal(out.len, 0);
    chat_stream_feed(&s, STR(DELTA("\"content\":\"\\n\"")));
    assert_int_equal(out.len, strlen("text |") + 2 * 513);
    chat_stream_fini(&s);
    buf_fini(&out);
}

static void what_is_larger_than_the_limit_fails(void **state)
{
    (void)state;
    assert_true(
        result_of(DELTA("\"content\":\"0123456789012345678901234567890123456789\"") DONE, 40, NULL)
            .failed);
    assert_true(
        result_of("{\"choices\":[{\"message\":{\"content\":\"0123456789\"}}]}", 40, NULL).failed);
}

static void it_is_over_after_done_or_an_error(void **state)
{
    static const struct {
        const char *body;
        bool over;
    } ends[] = {
        {DONE, true},
        {DATA("{\"error\":\"x\"}"), true},
        {FINISH("stop"), false}, /* usage may follow */
        {DELTA("\"content\":\"a\""), false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        const struct chat_stream_conf conf = {.max_event_bytes = 0};
        struct buf out = {.limit = 0};
        struct chat_stream s;

        chat_stream_init(&s, &conf, on_delta, &out);
        chat_stream_feed(&s, str_from_c(ends[i].body));
        assert_int_equal(chat_stream_is_over(&s), ends[i].over);
        chat_stream_fini(&s);
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_become_deltas_in_any_cutting),
        cmocka_unit_test(text_that_cannot_open_harmony_takes_no_memory),
        cmocka_unit_test(a_broken_connection_fails_an_unfinished_answer_only),
        cmocka_unit_test(held_text_is_limited),
        cmocka_unit_test(more_than_a_kilobyte_of_space_is_said),
        cmocka_unit_test(what_is_larger_than_the_limit_fails),
        cmocka_unit_test(it_is_over_after_done_or_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
