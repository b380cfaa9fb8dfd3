/* test_upstream_outcome.c -- how attempts end, in one word (OPERATIONS 4.6, 4.7). */
#include "lib/test.h"

#include "http/http_call.h"
#include "upstream/upstream_answer.h"
#include "upstream/upstream_outcome.h"
#include "wire/chunk/chat_stream.h"
#include "wire/dialect/upstream_error.h"

#define AT "The upstream server at host:1 "

/* ---- calls that broke off */

static enum upstream_outcome outcome_of_call(int status, const char *phase, enum err_code code,
                                             const char *message)
{
    struct upstream_answer a = {.status = status, .phase = phase};
    struct err e;

    err_set(&e, code, "%s", message);
    return upstream_outcome_of(&a, &e);
}

static const struct {
    int status;
    const char *phase;
    enum err_code code;
    const char *message;
    enum upstream_outcome outcome;
} calls[] = {
    {0, "connecting", ERR_UPSTREAM_UNAVAILABLE, AT "is not reachable: connection refused.",
     UPSTREAM_OUTCOME_CONNECT},
    {0, "connecting", ERR_UPSTREAM_TIMEOUT, AT "(host:1: " CALL_NOT_CONNECTED " 5 ms).",
     UPSTREAM_OUTCOME_CONNECT},
    {0, "connecting", ERR_UPSTREAM_TIMEOUT, AT "(host:1: no answer within 5 ms).",
     UPSTREAM_OUTCOME_CONNECT},
    {0, "connecting", ERR_UPSTREAM_UNAVAILABLE, AT "is not reachable: " CAUSE_NO_NAME ".",
     UPSTREAM_OUTCOME_DNS},
    {0, "connecting", ERR_UPSTREAM_UNAVAILABLE, "its certificate is not valid",
     UPSTREAM_OUTCOME_TLS},
    {0, "connecting", ERR_UPSTREAM_UNAVAILABLE, "SSL connect error", UPSTREAM_OUTCOME_TLS},
    {0, "first_byte", ERR_UPSTREAM_UNAVAILABLE, CAUSE_NO_ANSWER, UPSTREAM_OUTCOME_RESET},
    {0, "first_byte", ERR_UPSTREAM_UNAVAILABLE, "connection reset by peer", UPSTREAM_OUTCOME_RESET},
    {0, "first_byte", ERR_UPSTREAM_UNAVAILABLE, CAUSE_NOT_HTTP, UPSTREAM_OUTCOME_BAD_ANSWER},
    {0, "first_byte", ERR_UPSTREAM_UNAVAILABLE, CAUSE_LARGE_HEAD, UPSTREAM_OUTCOME_BAD_ANSWER},
    {0, "first_byte", ERR_UPSTREAM_TIMEOUT, "no answer within 5 ms", UPSTREAM_OUTCOME_FIRST_BYTE},
    {0, "first_byte", ERR_UPSTREAM_TIMEOUT, CALL_NOT_COMPLETE " 5 ms", UPSTREAM_OUTCOME_TOTAL},
    {200, "answer", ERR_UPSTREAM_TIMEOUT, "no data for 5 ms", UPSTREAM_OUTCOME_IDLE},
    {200, "answer", ERR_UPSTREAM_TIMEOUT, CALL_NOT_COMPLETE " 5 ms", UPSTREAM_OUTCOME_TOTAL},
    {200, "answer", ERR_UPSTREAM_ERROR, "The answer " CALL_BROKE_OFF CAUSE_CUT,
     UPSTREAM_OUTCOME_BROKEN},
    {200, "answer", ERR_UPSTREAM_ERROR, "more than 5 bytes", UPSTREAM_OUTCOME_BAD_ANSWER},
    {0, "connecting", ERR_RESPONSE_CANCELLED, "", UPSTREAM_OUTCOME_CLIENT_GONE},
    {200, "answer", ERR_RESPONSE_CANCELLED, "", UPSTREAM_OUTCOME_CLIENT_GONE},
    {0, "connecting", ERR_INTERNAL, "The gateway ran out of memory.", UPSTREAM_OUTCOME_OWN},
    {200, "answer", ERR_OVERLOADED, "max_memory", UPSTREAM_OUTCOME_OWN},
};

static void a_call_that_breaks_off_is_known_by_phase_code_and_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        if (outcome_of_call(calls[i].status, calls[i].phase, calls[i].code, calls[i].message) !=
            calls[i].outcome)
            fail_msg("case %zu: %s", i, calls[i].message);
    }
}

static void an_answer_without_a_failure_is_ok_and_nothing_at_all_is_our_own(void **state)
{
    const struct upstream_answer good = {.status = 201}, none = {.status = 0};

    (void)state;
    assert_int_equal(upstream_outcome_of(&good, NULL), UPSTREAM_OUTCOME_OK);
    assert_int_equal(upstream_outcome_of(&none, NULL), UPSTREAM_OUTCOME_OWN);
}

/* ---- statuses */

#define LOADING                                                                                    \
    "{\"error\":{\"code\":503,\"message\":\"Loading model\",\"type\":\"unavailable_error\"}}"

static const struct {
    int status;
    const char *body;
    enum upstream_outcome outcome;
} answers[] = {
    {429, "", UPSTREAM_OUTCOME_429},
    {500, "", UPSTREAM_OUTCOME_500},
    {500, LOADING, UPSTREAM_OUTCOME_500},
    {501, "", UPSTREAM_OUTCOME_501},
    {502, "<html>", UPSTREAM_OUTCOME_502},
    {503, "", UPSTREAM_OUTCOME_503},
    {503, "{\"error\":\"overloaded\"}", UPSTREAM_OUTCOME_503},
    {503, LOADING, UPSTREAM_OUTCOME_LOADING},
    {503, "{\"status\":\"loading model\"}", UPSTREAM_OUTCOME_LOADING},
    {503, "{\"error\":\"Model x is currently loading\",\"estimated_time\":20.0}",
     UPSTREAM_OUTCOME_LOADING},
    {503, "<html><p>The model is loading. Please wait.</p>", UPSTREAM_OUTCOME_LOADING},
    {503, "{\"error\":\"error loading model: no such file\"}", UPSTREAM_OUTCOME_503},
    {504, "", UPSTREAM_OUTCOME_504},
    {529, "", UPSTREAM_OUTCOME_500},
    {400, "{\"error\":\"no\"}", UPSTREAM_OUTCOME_4XX},
    {401, "", UPSTREAM_OUTCOME_4XX},
    {408, "", UPSTREAM_OUTCOME_4XX},
    {404, "", UPSTREAM_OUTCOME_4XX},
    {404, "{\"error\":{\"message\":\"File Not Found\"}}", UPSTREAM_OUTCOME_4XX},
    {404, "{\"error\":\"model 'x' not found\"}", UPSTREAM_OUTCOME_NO_MODEL},
    {404, "{\"error\":{\"message\":\"gone\",\"code\":\"model_not_found\"}}",
     UPSTREAM_OUTCOME_NO_MODEL},
    {302, "", UPSTREAM_OUTCOME_BAD_ANSWER},
};

static void a_status_says_what_it_says_and_some_bodies_say_more(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        struct upstream_answer a;

        upstream_answer_init(&a);
        upstream_answer_head(&a, answers[i].status, NULL, 0);
        assert_true(upstream_answer_keep(&a, str_from_c(answers[i].body)));
        if (upstream_outcome_of(&a, NULL) != answers[i].outcome)
            fail_msg("case %zu: %d %s", i, answers[i].status, answers[i].body);
        upstream_answer_fini(&a);
    }
}

static void a_failure_behind_a_refusal_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(outcome_of_call(502, "refused", ERR_UPSTREAM_ERROR, "broke off: x"),
                     UPSTREAM_OUTCOME_502);
}

/* ---- what a stream says, read as the gateway reads it */

static void on_delta(void *arg, const struct delta *d)
{
    (void)arg;
    (void)d;
}

static enum upstream_outcome outcome_of_body(const char *body)
{
    const struct chat_stream_conf conf = {.max_event_bytes = 4096};
    const struct upstream_answer good = {.status = 200};
    struct chat_stream s;
    struct chat_result result;

    chat_stream_init(&s, &conf, on_delta, NULL);
    chat_stream_feed(&s, str_from_c(body));
    result = chat_stream_end(&s, NULL);
    chat_stream_fini(&s);
    return upstream_outcome_of(&good, result.failed ? &result.error : NULL);
}

#define ERROR_CHUNK(members) "data: {\"error\":{" members "}}\n\n"

static const struct {
    const char *body;
    enum upstream_outcome outcome;
} bodies[] = {
    {"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
     UPSTREAM_OUTCOME_OK},
    {"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", UPSTREAM_OUTCOME_BROKEN},
    {"", UPSTREAM_OUTCOME_BROKEN},
    {"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\n",
     UPSTREAM_OUTCOME_BROKEN},
    {"<html>", UPSTREAM_OUTCOME_BAD_ANSWER},
    {"data: {\n\ndata: {\n\ndata: {\n\n", UPSTREAM_OUTCOME_BAD_ANSWER},
    {ERROR_CHUNK("\"message\":\"m\""), UPSTREAM_OUTCOME_BROKEN},
    {ERROR_CHUNK("\"message\":\"m\",\"code\":7"), UPSTREAM_OUTCOME_BROKEN},
    {ERROR_CHUNK("\"message\":\"m\",\"code\":429"), UPSTREAM_OUTCOME_429},
    {ERROR_CHUNK("\"message\":\"m\",\"code\":\"rate_limit_exceeded\""), UPSTREAM_OUTCOME_429},
    {ERROR_CHUNK("\"message\":\"rate_limit\""), UPSTREAM_OUTCOME_429},
    {ERROR_CHUNK("\"message\":\"m\",\"code\":502"), UPSTREAM_OUTCOME_502},
    {ERROR_CHUNK("\"message\":\"m\",\"code\":503"), UPSTREAM_OUTCOME_503},
    {ERROR_CHUNK("\"message\":\"m\",\"type\":\"overloaded_error\""), UPSTREAM_OUTCOME_503},
    {ERROR_CHUNK("\"message\":\"Loading model\",\"type\":\"unavailable_error\""),
     UPSTREAM_OUTCOME_LOADING},
    {ERROR_CHUNK("\"message\":\"m\",\"code\":504"), UPSTREAM_OUTCOME_504},
    {ERROR_CHUNK("\"message\":\"m\",\"code\":500"), UPSTREAM_OUTCOME_500},
    {ERROR_CHUNK("\"message\":\"m\",\"type\":\"InternalServerError\""), UPSTREAM_OUTCOME_500},
    {ERROR_CHUNK("\"message\":\"m\",\"type\":\"server_error\""), UPSTREAM_OUTCOME_500},
    {ERROR_CHUNK("\"message\":\"m\",\"code\":501"), UPSTREAM_OUTCOME_501},
    {ERROR_CHUNK("\"message\":\"m\",\"code\":408"), UPSTREAM_OUTCOME_4XX},
    {ERROR_CHUNK("\"message\":\"m\",\"type\":\"BadRequestError\""), UPSTREAM_OUTCOME_4XX},
    {ERROR_CHUNK("\"message\":\"m\",\"code\":\"model_not_found\""), UPSTREAM_OUTCOME_NO_MODEL},
    {"error: {\"code\":503,\"message\":\"m\"}\n\n", UPSTREAM_OUTCOME_503},
    {"error: words\n\n", UPSTREAM_OUTCOME_BROKEN},
};

static void an_error_object_in_a_good_answer_is_the_status_that_it_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        if (outcome_of_body(bodies[i].body) != bodies[i].outcome)
            fail_msg("case %zu: %s", i, bodies[i].body);
    }
}

/* ---- which failures count (OPERATIONS 4.6), by hand and not from the table */

static void failures_of_the_server_count_and_those_of_the_request_do_not(void **state)
{
    static const bool counts[UPSTREAM_OUTCOMES] = {
        [UPSTREAM_OUTCOME_CONNECT] = true,    [UPSTREAM_OUTCOME_DNS] = true,
        [UPSTREAM_OUTCOME_TLS] = true,        [UPSTREAM_OUTCOME_RESET] = true,
        [UPSTREAM_OUTCOME_BROKEN] = true,     [UPSTREAM_OUTCOME_502] = true,
        [UPSTREAM_OUTCOME_503] = true,        [UPSTREAM_OUTCOME_504] = true,
        [UPSTREAM_OUTCOME_FIRST_BYTE] = true, [UPSTREAM_OUTCOME_IDLE] = true,
        [UPSTREAM_OUTCOME_BAD_ANSWER] = true,
    };

    (void)state;
    for (enum upstream_outcome o = 0; o < UPSTREAM_OUTCOMES; o++)
        assert_int_equal(upstream_outcome_row(o)->failure != METRIC_EJECTION_UNCOUNTED, counts[o]);
}

/* The word of an ejection is that of the attempt which was one failure too many. */
static void a_failure_has_the_word_that_its_attempt_has(void **state)
{
    (void)state;
    for (enum upstream_outcome o = 0; o < UPSTREAM_OUTCOMES; o++) {
        const struct upstream_outcome_row *row = upstream_outcome_row(o);

        if (row->failure != METRIC_EJECTION_UNCOUNTED)
            assert_str_eq(metric_closed_word(METRIC_DOMAIN_EJECTION, (unsigned)row->failure),
                          metric_closed_word(METRIC_DOMAIN_ATTEMPT, row->result));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_breaks_off_is_known_by_phase_code_and_words),
        cmocka_unit_test(an_answer_without_a_failure_is_ok_and_nothing_at_all_is_our_own),
        cmocka_unit_test(a_status_says_what_it_says_and_some_bodies_say_more),
        cmocka_unit_test(a_failure_behind_a_refusal_changes_nothing),
        cmocka_unit_test(an_error_object_in_a_good_answer_is_the_status_that_it_names),
        cmocka_unit_test(failures_of_the_server_count_and_those_of_the_request_do_not),
        cmocka_unit_test(a_failure_has_the_word_that_its_attempt_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
