/* test_err.c -- an error's faces (CONTRACT 7.2, 7.3). */
#include "lib/test.h"

#include "base/err.h"
#include "base/utf8.h"

static const struct {
    enum err_code code;
    int status;
    const char *type, *wire_code, *stream_code;
} faces[] = {
    {ERR_INVALID_JSON, 400, "invalid_request_error", "invalid_json", "invalid_prompt"},
    {ERR_CONTEXT_LENGTH, 400, "invalid_request_error", "context_length_exceeded",
     "context_length_exceeded"},
    {ERR_PERMISSION_DENIED, 403, "permission_error", "permission_denied", "server_error"},
    {ERR_MODEL_NOT_FOUND, 404, "invalid_request_error", "model_not_found", "invalid_prompt"},
    {ERR_RATE_LIMIT, 429, "rate_limit_error", "rate_limit_exceeded", "rate_limit_exceeded"},
    {ERR_INSUFFICIENT_QUOTA, 429, "rate_limit_error", "insufficient_quota", "insufficient_quota"},
    {ERR_UPSTREAM_ERROR, 502, "server_error", "upstream_error", "server_error"},
    {ERR_UPSTREAM_TIMEOUT, 504, "server_error", "upstream_timeout", "server_error"},
    /* Codex gives up at once on server_is_overloaded inside a stream */
    {ERR_OVERLOADED, 503, "server_error", "server_is_overloaded", "server_error"},
};

static void each_code_has_its_status_type_and_words(void **state)
{
    struct err e;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(faces); i++) {
        err_set(&e, faces[i].code, "x");
        assert_int_equal(err_http_status(&e), faces[i].status);
        assert_string_equal(err_type(&e), faces[i].type);
        assert_string_equal(err_wire_code(&e), faces[i].wire_code);
        assert_string_equal(err_stream_code(&e), faces[i].stream_code);
    }
}

static void setting_forgets_what_was_before(void **state)
{
    struct err e = {.retry_after_s = 7, .own_code = "own", .param = "old"};

    (void)state;
    err_set(&e, ERR_NOT_FOUND, "no %s", "such");
    assert_string_equal(e.msg, "no such");
    assert_string_equal(e.param, "");
    assert_string_equal(e.own_code, "");
    assert_int_equal(e.retry_after_s, 0);
    err_set_param(&e, ERR_INVALID_VALUE, "tools[0].type", "bad");
    assert_string_equal(e.param, "tools[0].type");
    err_set(NULL, ERR_NOT_FOUND, "nobody listens");
}

static void an_upstreams_own_code_goes_to_the_client_but_not_into_the_stream(void **state)
{
    struct err e;

    (void)state;
    err_set(&e, ERR_UPSTREAM_REJECTED, "no");
    strcpy(e.own_code, "grammar_error");
    assert_string_equal(err_wire_code(&e), "grammar_error");
    assert_string_equal(err_stream_code(&e), "invalid_prompt");
}

static void long_messages_end_between_characters(void **state)
{
    char text[ERR_MSG_BYTES + 40];
    struct err e;

    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        size_t n = shift;

        memset(text, 'x', shift);
        for (; n + 3 < sizeof(text); n += 3)
            memcpy(text + n, "\xE2\x82\xAC", 3);
        text[n] = '\0';
        err_set(&e, ERR_INTERNAL, "%s", text);
        assert_true(utf8_is_valid(str_from_c(e.msg)));
        assert_true(strlen(e.msg) > ERR_MSG_BYTES - 3 && strlen(e.msg) <= ERR_MSG_BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_code_has_its_status_type_and_words),
        cmocka_unit_test(setting_forgets_what_was_before),
        cmocka_unit_test(an_upstreams_own_code_goes_to_the_client_but_not_into_the_stream),
        cmocka_unit_test(long_messages_end_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
