/* test_upstream_error.c -- errors of upstream servers in our terms (CONTRACT 5.5, 7.3). */
#include "lib/test.h"

#include "base/utf8.h"
#include "lib/fixture.h"
#include "wire/dialect/upstream_error.h"

#define BODY(members) "{\"error\":{" members "}}"

static const struct {
    int status;
    const char *body;
    enum err_code code;
    const char *message; /* part of it */
} answers[] = {
    {400,
     BODY("\"message\":\"This model's maximum context length is 8192 tokens.\","
          "\"type\":\"invalid_request_error\",\"code\":\"context_length_exceeded\""),
     ERR_CONTEXT_LENGTH, "maximum context length"},
    {400,
     BODY("\"code\":400,\"message\":\"the request exceeds the available context size\","
          "\"type\":\"exceed_context_size_error\""),
     ERR_CONTEXT_LENGTH, "available context size"},
    {500, BODY("\"code\":500,\"message\":\"the request exceeds the available context size\""),
     ERR_CONTEXT_LENGTH, "context size"},
    {400, "{\"object\":\"error\",\"message\":\"bad grammar\",\"code\":400}", ERR_UPSTREAM_REJECTED,
     "bad grammar"},
    {413, "", ERR_UPSTREAM_REJECTED, "413"},
    {422, "{\"detail\":[{\"msg\":\"field required\"}]}", ERR_UPSTREAM_REJECTED, "field required"},
    {404, "{\"error\":\"model 'x' not found\"}", ERR_MODEL_NOT_FOUND, "model 'x' not found"},
    {404, BODY("\"message\":\"File Not Found\""), ERR_UPSTREAM_REJECTED, "File Not Found"},
    {401, BODY("\"message\":\"Invalid API Key\""), ERR_UPSTREAM_AUTH, "Invalid API Key"},
    {403, "forbidden", ERR_UPSTREAM_AUTH, "forbidden"},
    {402, BODY("\"message\":\"Insufficient Balance\""), ERR_INSUFFICIENT_QUOTA, "Balance"},
    {429, BODY("\"message\":\"You exceeded your current quota\",\"code\":\"insufficient_quota\""),
     ERR_INSUFFICIENT_QUOTA, "quota"},
    {429, "", ERR_RATE_LIMIT, "Rate limit"},
    {503, BODY("\"message\":\"Loading model\""), ERR_OVERLOADED, "Loading model"},
    {500, BODY("\"message\":\"boom\""), ERR_UPSTREAM_ERROR, "boom"},
    {502, "<html><h1>Bad Gateway</h1></html>", ERR_UPSTREAM_ERROR, "502"},
    {504, "", ERR_UPSTREAM_TIMEOUT, "in time"},
    {500, "plain words", ERR_UPSTREAM_ERROR, "plain words"},
    {500, "\xFF\xFE", ERR_UPSTREAM_ERROR, "500"},
};

static void check(const struct err *e, enum err_code code, const char *message, const char *what)
{
    if (e->code != code || strstr(e->msg, message) == NULL)
        fail_msg("%s: code %s, message %s", what, err_wire_code(e), e->msg);
    assert_true(utf8_is_valid(str_from_c(e->msg)));
}

static void an_answer_is_sorted_by_its_words_and_its_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        str body = str_from_c(answers[i].body);
        char *exact = exact_copy(body);
        struct err e;

        upstream_error_from_answer(answers[i].status, 0, str_from(exact, body.len), &e);
        check(&e, answers[i].code, answers[i].message, answers[i].body);
        free(exact);
    }
}

static const struct {
    const char *json;
    enum err_code code;
    const char *message;
} values[] = {
    {"\"model runner has unexpectedly stopped\"", ERR_UPSTREAM_ERROR, "unexpectedly stopped"},
    {"{\"message\":\"KV cache is full\",\"type\":\"InternalServerError\",\"code\":500}",
     ERR_UPSTREAM_ERROR, "KV cache is full"},
    {"{\"message\":\"slow down\",\"code\":429}", ERR_RATE_LIMIT, "slow down"},
    {"{\"message\":\"slow down\",\"code\":\"429\"}", ERR_RATE_LIMIT, "slow down"},
    {"{\"message\":\"slow down\",\"type\":\"rate_limit_error\"}", ERR_RATE_LIMIT, "slow down"},
    {"{\"message\":\"no\",\"type\":\"BadRequestError\"}", ERR_UPSTREAM_REJECTED, "no"},
    {"{\"object\":\"error\",\"message\":\"bad thing\"}", ERR_UPSTREAM_ERROR, "bad thing"},
    {"{\"error\":{\"message\":\"nested\"}}", ERR_UPSTREAM_ERROR, "nested"},
    {"{}", ERR_UPSTREAM_ERROR, "failed"},
    {"[1]", ERR_UPSTREAM_ERROR, "failed"},
    {"true", ERR_UPSTREAM_ERROR, "failed"},
};

static void an_error_inside_a_stream_is_sorted_as_well(void **state)
{
    struct err e;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        upstream_error_from_value(str_from_c(values[i].json), &e);
        check(&e, values[i].code, values[i].message, values[i].json);
    }
    upstream_error_from_text(STR("exceeded the context window"), &e);
    check(&e, ERR_CONTEXT_LENGTH, "context window", "text");
}

static void an_error_that_was_told_has_its_status_or_none(void **state)
{
    static const struct {
        const char *json;
        int status;
    } cases[] = {
        {"{\"message\":\"m\",\"code\":503,\"type\":\"server_error\"}", 503},
        {"{\"message\":\"m\",\"code\":\"429\"}", 429},
        {"{\"message\":\"m\",\"code\":\"slow_down\",\"type\":\"server_error\"}", 503},
        {"{\"message\":\"m\",\"type\":\"unavailable_error\"}", 503},
        {"{\"message\":\"m\",\"type\":\"InternalServerError\"}", 500},
        {"{\"message\":\"server_error 503\"}", ERR_TOLD_WITHOUT_STATUS},
        {"\"m\"", ERR_TOLD_WITHOUT_STATUS},
    };
    struct err e;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        upstream_error_from_value(str_from_c(cases[i].json), &e);
        assert_int_equal(e.told_status, cases[i].status);
    }
    upstream_error_from_text(STR("m"), &e);
    assert_int_equal(e.told_status, ERR_TOLD_WITHOUT_STATUS);
    upstream_error_from_answer(502, 0, STR("words"), &e);
    assert_int_equal(e.told_status, 502);
    upstream_error_from_answer(400, 0,
                               STR(BODY("\"code\":400,\"message\":\"m\",\"n_prompt_tokens\":9,"
                                        "\"n_ctx\":8,\"type\":\"exceed_context_size_error\"")),
                               &e);
    assert_int_equal(e.code, ERR_CONTEXT_LENGTH);
    assert_int_equal(e.told_status, 400);
    err_set(&e, ERR_INTERNAL, "ours");
    assert_int_equal(e.told_status, 0);
}

static void a_model_that_is_being_loaded_is_heard_and_one_that_cannot_be_is_not(void **state)
{
    (void)state;
    assert_true(upstream_error_is_loading(STR("Loading model")));
    assert_true(upstream_error_is_loading(STR("{\"status\":\"loading model\"}")));
    assert_true(upstream_error_is_loading(STR("llm server loading model")));
    assert_true(upstream_error_is_loading(STR("Model x/y is currently loading")));
    assert_true(upstream_error_is_loading(STR("<p>The model is loading. Please wait.</p>")));
    assert_false(upstream_error_is_loading(STR("Error loading model: out of memory")));
    assert_false(upstream_error_is_loading(STR("model is overloaded")));
    assert_false(upstream_error_is_loading(STR("")));
}

static void the_upstreams_own_code_is_kept_when_it_refused(void **state)
{
    struct err e;

    (void)state;
    upstream_error_from_answer(400, 0, STR(BODY("\"message\":\"m\",\"code\":\"bad_grammar\"")), &e);
    assert_string_equal(err_wire_code(&e), "bad_grammar");
    upstream_error_from_answer(400, 0, STR(BODY("\"message\":\"m\",\"code\":400")), &e);
    assert_string_equal(err_wire_code(&e), "upstream_rejected");
    upstream_error_from_answer(500, 0, STR(BODY("\"message\":\"m\",\"code\":\"bad\"")), &e);
    assert_string_equal(err_wire_code(&e), "upstream_error");
    upstream_error_from_answer(404, 0, STR("{\"error\":\"model x?\"}"), &e);
    assert_string_equal(e.param, "model");
}

/* Codex waits as long as the end of the message says. */
static void a_rate_limit_says_when_to_come_back(void **state)
{
    struct err e;

    (void)state;
    upstream_error_from_answer(429, 7, STR(BODY("\"message\":\"Slow down.\"")), &e);
    assert_string_equal(e.msg, "Slow down. Please try again in 7s.");
    assert_int_equal(e.retry_after_s, 7);
    upstream_error_from_answer(429, 7, STR(BODY("\"message\":\"Please try again in 3s.\"")), &e);
    assert_string_equal(e.msg, "Please try again in 3s.");
}

static void a_failure_of_the_server_begins_with_words_that_clients_know(void **state)
{
    static const struct {
        int status;
        const char *body, *message;
    } cases[] = {
        {500, BODY("\"message\":\"oops\""), "Upstream server error: oops"},
        {500, "oops", "Upstream server error: oops"},
        {503, BODY("\"message\":\"Loading model\""), "Upstream server error: Loading model"},
        {504, "",
         "Upstream server error: The upstream server did not answer in time. (status 504)"},
        {502, BODY("\"message\":\"Connection error: reset\""), "Connection error: reset"},
        {502, BODY("\"message\":\"Upstream server error: x\""), "Upstream server error: x"},
        {400, BODY("\"message\":\"too hot\""), "too hot"},
        {400, "too hot", "too hot"},
        {400, BODY("\"message\":\"the context length\""), "the context length"},
        {401, BODY("\"message\":\"who?\""), "who?"},
        {404, BODY("\"message\":\"no such model\""), "no such model"},
        {429, BODY("\"message\":\"slow down\""), "slow down. Please try again in 7s."},
        {402, BODY("\"message\":\"pay\""), "pay"},
    };
    struct err e;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        upstream_error_from_answer(cases[i].status, 7, str_from_c(cases[i].body), &e);
        assert_string_equal(e.msg, cases[i].message);
    }
    upstream_error_from_value(STR("{\"message\":\"KV cache is full\",\"code\":500}"), &e);
    assert_string_equal(e.msg, "Upstream server error: KV cache is full");
    upstream_error_from_value(STR("{\"message\":\"too hot\",\"code\":400}"), &e);
    assert_string_equal(e.msg, "too hot");
}

static void the_upstreams_param_is_kept(void **state)
{
    struct err e;

    (void)state;
    upstream_error_from_answer(
        400, 0, STR(BODY("\"message\":\"m\",\"param\":\"messages[3].\\u0063ontent\"")), &e);
    assert_string_equal(e.param, "messages[3].content");
    upstream_error_from_value(STR("{\"message\":\"m\",\"param\":\"n\",\"code\":500}"), &e);
    assert_string_equal(e.param, "n");
    upstream_error_from_answer(400, 0, STR(BODY("\"message\":\"m\",\"param\":null")), &e);
    assert_string_equal(e.param, "");
    upstream_error_from_answer(400, 0, STR(BODY("\"message\":\"m\",\"param\":{\"a\":1}")), &e);
    assert_string_equal(e.param, "");
}

/* What no further attempt can cure, as servers say it with a status of their own failure; and what
 * looks like it, but is about the answer of a model. */
static const struct {
    const char *message; /* inside of a JSON string */
    enum err_code code;
} sentences[] = {
    {"image input is not supported - hint: if this is unexpected, you may need to provide the "
     "mmproj",
     ERR_UPSTREAM_REJECTED},
    {"Failed to parse messages: Unsupported content part type: \\\"image_url\\\"; messages = [",
     ERR_UPSTREAM_REJECTED},
    {"Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error",
     ERR_UPSTREAM_REJECTED},
    {"Unable to generate parser for this template. Automatic parser generation failed: JSON schema "
     "conversion failed:\\nError resolving ref #/nowhere",
     ERR_UPSTREAM_REJECTED},
    {"Failed to parse grammar", ERR_UPSTREAM_REJECTED},
    {"tools param requires --jinja flag", ERR_UPSTREAM_REJECTED},
    {"\\n------------\\nWhile executing CallExpression at line 85, column 32 in source:\\n"
     "Error: Jinja Exception: System message must be at the beginning.",
     ERR_UPSTREAM_REJECTED},
    {"Value is not callable: null at row 1, column 70", ERR_UPSTREAM_REJECTED},
    {"After the optional system message, conversation roles must alternate user/assistant/user/"
     "assistant/...",
     ERR_UPSTREAM_REJECTED},
    {"This model only supports single tool-calls at once!", ERR_UPSTREAM_REJECTED},
    {"Tool call IDs should be alphanumeric strings with length 9!", ERR_UPSTREAM_REJECTED},
    {"Error rendering prompt with jinja template: \\\"Unknown test: sequence\\\".",
     ERR_UPSTREAM_REJECTED},
    {"Failed to create new sequence: this model is missing data required for image input",
     ERR_UPSTREAM_REJECTED},
    {"Failed to parse input at pos 17: <tool_call>", ERR_UPSTREAM_ERROR},
    {"[json.exception.parse_error.101] parse error at line 1, column 32: syntax error",
     ERR_UPSTREAM_ERROR},
    {"jinja", ERR_UPSTREAM_ERROR},
};

static void what_no_retry_cures_is_the_requests_fault_whatever_the_status(void **state)
{
    static const char *const forms[][2] = {
        {"{\"error\":{\"code\":500,\"message\":\"", "\",\"type\":\"server_error\"}}"},
        {"{\"error\":\"", "\"}"},
        {"{\"detail\":\"", "\"}"}};
    char body[1024];
    struct err e;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(sentences); i++) {
        for (size_t form = 0; form < COUNT_OF(forms); form++) {
            (void)snprintf(body, sizeof(body), "%s%s%s", forms[form][0], sentences[i].message,
                           forms[form][1]);
            upstream_error_from_answer(500, 0, str_from_c(body), &e);
            check(&e, sentences[i].code, "", body);
            upstream_error_from_answer(503, 0, str_from_c(body), &e);
            check(&e, ERR_OVERLOADED, "", body);
            upstream_error_from_value(str_from_c(body), &e);
            check(&e, sentences[i].code, "", body);
        }
        upstream_error_from_answer(500, 0, str_from_c(sentences[i].message), &e);
        check(&e, sentences[i].message[0] == '[' ? ERR_UPSTREAM_ERROR : sentences[i].code, "",
              sentences[i].message);
    }
    upstream_error_from_text(STR("Jinja Exception: no"), &e);
    assert_string_equal(err_stream_code(&e), "invalid_prompt");
    assert_int_equal(err_http_status(&e), 400);
}

static const struct {
    const char *message, *masked;
} maskings[] = {
    {"see https://user:pw@host/x?key=1 for more", "see [url] for more"},
    {"(http://10.0.0.1:8000/v1)", "([url])"},
    {"Incorrect API key provided: sk-abcdefgh1234.", "Incorrect API key provided: [key]"},
    {"header 'Authorization: Bearer abcdefghijk'", "header 'Authorization: Bearer [key]'"},
    {"sk-short stays", "sk-short stays"},
    {"a task-specific-adapter is missing", "a task-specific-adapter is missing"},
    {"disk-related-failure", "disk-related-failure"},
};

static void addresses_and_keys_are_masked_and_nothing_else(void **state)
{
    struct err e;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(maskings); i++) {
        upstream_error_from_text(str_from_c(maskings[i].message), &e);
        assert_str_c(upstream_error_unmarked(&e), maskings[i].masked);
    }
}

static void long_messages_are_cut_to_two_kibibytes(void **state)
{
    char text[5000];
    struct err e;

    (void)state;
    memset(text, 'x', sizeof(text));
    upstream_error_from_text(str_from(text, sizeof(text)), &e);
    assert_int_equal(strlen(e.msg), ERR_MSG_BYTES);
    for (size_t i = 0; i + 3 <= sizeof(text); i += 3)
        memcpy(text + i, "\xE2\x82\xAC", 3);
    upstream_error_from_text(str_from(text, 4998), &e);
    assert_true(strlen(e.msg) <= ERR_MSG_BYTES);
    assert_true(utf8_is_valid(str_from_c(e.msg)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_sorted_by_its_words_and_its_status),
        cmocka_unit_test(an_error_inside_a_stream_is_sorted_as_well),
        cmocka_unit_test(what_no_retry_cures_is_the_requests_fault_whatever_the_status),
        cmocka_unit_test(an_error_that_was_told_has_its_status_or_none),
        cmocka_unit_test(a_model_that_is_being_loaded_is_heard_and_one_that_cannot_be_is_not),
        cmocka_unit_test(the_upstreams_own_code_is_kept_when_it_refused),
        cmocka_unit_test(a_rate_limit_says_when_to_come_back),
        cmocka_unit_test(a_failure_of_the_server_begins_with_words_that_clients_know),
        cmocka_unit_test(the_upstreams_param_is_kept),
        cmocka_unit_test(addresses_and_keys_are_masked_and_nothing_else),
        cmocka_unit_test(long_messages_are_cut_to_two_kibibytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
