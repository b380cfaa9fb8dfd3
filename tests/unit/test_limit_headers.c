/* test_limit_headers.c -- which answers tell limits, and how. */
#include "lib/test.h"

#include "flight/limit_headers.h"
#include "lib/failing_malloc.h"

static void posts_that_ask_a_model_have_them(void **state)
{
    static const struct {
        const char *method, *path;
        bool have;
    } cases[] = {
        {"POST", "/v1/responses", true},
        {"POST", "/v1/chat/completions", true},
        {"POST", "/v1/completions", true},
        {"POST", "/v1/embeddings", true},
        {"GET", "/v1/responses", false},
        {"POST", "/v1/responses/compact", false},
        {"POST", "/v1/responses/input_tokens", false},
        {"POST", "/v1/models", false},
        {"POST", "/v1/conversations", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(
            limit_headers_belong_to(str_from_c(cases[i].method), str_from_c(cases[i].path)),
            cases[i].have);
}

static void a_limit_that_is_not_there_is_not_told(void **state)
{
    struct arena memory = {.last = NULL};
    struct http_header h[LIMIT_HEADERS];
    struct rate_answer a = {.requests = {60, 59, 1000}, .tokens = {200000, 0, 360000}};

    (void)state;
    assert_int_equal(limit_headers_write(&a, &memory, h), 6);
    assert_str_c(h[0].name, "x-ratelimit-limit-requests");
    assert_str_c(h[0].value, "60");
    assert_str_c(h[1].name, "x-ratelimit-remaining-requests");
    assert_str_c(h[1].value, "59");
    assert_str_c(h[2].name, "x-ratelimit-reset-requests");
    assert_str_c(h[2].value, "1s");
    assert_str_c(h[3].name, "x-ratelimit-limit-tokens");
    assert_str_c(h[4].value, "0");
    assert_str_c(h[5].name, "x-ratelimit-reset-tokens");
    assert_str_c(h[5].value, "6m0s");
    a.requests = (struct rate_view){.limit = 0};
    assert_int_equal(limit_headers_write(&a, &memory, h), 3);
    assert_str_c(h[0].name, "x-ratelimit-limit-tokens");
    a.tokens = (struct rate_view){.limit = 0};
    assert_int_equal(limit_headers_write(&a, &memory, h), 0);
    arena_fini(&memory);
}

static void all_of_a_kind_are_written_or_none(void **state)
{
    const struct rate_answer a = {.requests = {60, 59, 1000}, .tokens = {200000, 0, 360000}};
    bool has_failed = true;

    (void)state;
    for (long n = 0; has_failed; n++) {
        struct arena memory = {.last = NULL};
        struct http_header h[LIMIT_HEADERS];
        size_t n_written;

        failing_malloc_begin(n, FAILS_ONCE);
        n_written = limit_headers_write(&a, &memory, h);
        has_failed = failing_malloc_end();
        assert_int_equal(n_written, has_failed ? 3 : 6);
        for (size_t i = 0; i < n_written; i++)
            assert_false(str_is_none(h[i].value));
        arena_fini(&memory);
    }
}

static void others_of_that_name_are_known(void **state)
{
    (void)state;
    assert_true(limit_headers_have(STR("x-ratelimit-limit-requests")));
    assert_true(limit_headers_have(STR("X-RateLimit-Limit-Project-Tokens")));
    assert_false(limit_headers_have(STR("retry-after")));
    assert_false(limit_headers_have(STR("x-rate")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(posts_that_ask_a_model_have_them),
        cmocka_unit_test(a_limit_that_is_not_there_is_not_told),
        cmocka_unit_test(all_of_a_kind_are_written_or_none),
        cmocka_unit_test(others_of_that_name_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
