/* test_span_content.c -- what was said, taken out of requests of any length. */
#include "json/json_read.h"
#include "lib/failing_malloc.h"
#include "lib/fixture.h"
#include "lib/test.h"
#include "trace/span_content.h"

#define REQUEST                                                                                      \
    "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"Be \\\"kind\\\".\"},"         \
    "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"},{\"type\":\"image_url\","   \
    "\"image_url\":{\"url\":\"data:x\"}}]},"                                                         \
    "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\"," \
    "\"function\":{\"name\":\"add\",\"arguments\":\"{\\\"a\\\":1}\"}}]},"                            \
    "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"3\"}],"                                \
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"add\",\"description\":\"Adds\","     \
    "\"parameters\":{\"type\":\"object\"}}}]}"

static const struct span_limits unlimited = {.value_bytes = 0};

static str value_of(const struct span *s, const char *key)
{
    for (size_t i = 0; i < s->n_attributes; i++) {
        if (strcmp(s->attributes[i].key, key) == 0)
            return span_value_text(s, &s->attributes[i]);
    }
    return STR_NONE;
}

static struct span *read_span(str text, const struct span_limits *limits)
{
    struct span *s = span_new(limits, SPAN_CLIENT, STR("chat"), STR_NONE);

    span_content_keep(s, text);
    span_content_read(s);
    return s;
}

static void messages_become_parts(void **state)
{
    struct span *s = read_span(STR(REQUEST), &unlimited);

    (void)state;
    assert_str_c(value_of(s, "gen_ai.system_instructions"),
                 "[{\"type\":\"text\",\"content\":\"Be \\\"kind\\\".\"}]");
    assert_str_c(value_of(s, "gen_ai.input.messages"),
                 "[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"Hi\"},"
                 "{\"type\":\"image_url\"}]},"
                 "{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"\"},"
                 "{\"type\":\"tool_call\",\"id\":\"c1\",\"name\":\"add\",\"arguments\":"
                 "\"{\\\"a\\\":1}\"}]},"
                 "{\"role\":\"tool\",\"parts\":[{\"type\":\"tool_call_response\",\"id\":\"c1\","
                 "\"response\":\"3\"}]}]");
    assert_str_c(value_of(s, "gen_ai.tool.definitions"),
                 "[{\"type\":\"function\",\"name\":\"add\",\"description\":\"Adds\",\"parameters\":"
                 "{\"type\":\"object\"}}]");
    span_free(s);
}

static void a_prompt_is_what_a_user_says(void **state)
{
    struct span *s = read_span(STR("{\"prompt\":\"<|start|>\"}"), &unlimited);

    (void)state;
    assert_str_c(value_of(s, "gen_ai.input.messages"),
                 "[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"<|start|>\"}]}]");
    span_free(s);
}

/* Wherever it is cut, what is made of it is JSON. */
static void a_request_may_be_cut_anywhere(void **state)
{
    static const char *const keys[] = {"gen_ai.system_instructions", "gen_ai.input.messages",
                                       "gen_ai.tool.definitions"};

    (void)state;
    for (size_t n = 0; n < sizeof(REQUEST); n++) {
        struct span *s = read_span(str_from(REQUEST, n), &unlimited);

        for (size_t i = 0; i < COUNT_OF(keys); i++) {
            const str value = value_of(s, keys[i]);

            assert_true(str_is_none(value) || jr_is_valid(value));
        }
        span_free(s);
    }
}

static void values_are_cut_at_their_limit(void **state)
{
    const struct span_limits ten = {.value_bytes = 10};
    struct span *s = read_span(STR(REQUEST), &ten);

    (void)state;
    assert_str_c(value_of(s, "gen_ai.input.messages"), "[{\"role\":\"");
    span_free(s);
}

static void a_large_request_is_not_kept_whole(void **state)
{
    struct buf large = {.limit = 0};
    struct span *s;

    (void)state;
    buf_c(&large, "{\"messages\":[");
    while (large.len < 2 * SPAN_CONTENT_BYTES)
        buf_c(&large, "{\"role\":\"user\",\"content\":\"again and again\"},");
    s = read_span(buf_str(&large), &unlimited);
    assert_true(jr_is_valid(value_of(s, "gen_ai.input.messages")));
    assert_true(value_of(s, "gen_ai.input.messages").len < 2 * SPAN_CONTENT_BYTES);
    span_free(s);
    buf_fini(&large);
}

static void whatever_fails_there_is_a_span(void **state)
{
    bool has_failed = true;

    (void)state;
    for (long n = 0; has_failed; n++) {
        struct span *s = span_new(&unlimited, SPAN_CLIENT, STR("chat"), STR_NONE);

        failing_malloc_begin(n, FAILS_ONCE);
        span_content_keep(s, STR(REQUEST));
        span_content_read(s);
        has_failed = failing_malloc_end();
        assert_true(str_is_none(value_of(s, "gen_ai.input.messages")) ||
                    jr_is_valid(value_of(s, "gen_ai.input.messages")));
        span_free(s);
    }
    span_content_keep(NULL, STR(REQUEST));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_become_parts),
        cmocka_unit_test(a_prompt_is_what_a_user_says),
        cmocka_unit_test(a_request_may_be_cut_anywhere),
        cmocka_unit_test(values_are_cut_at_their_limit),
        cmocka_unit_test(a_large_request_is_not_kept_whole),
        cmocka_unit_test(whatever_fails_there_is_a_span),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
