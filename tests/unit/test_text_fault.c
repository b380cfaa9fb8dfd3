/* test_text_fault.c -- calls and reasoning in text with each allocation failing in turn: nothing
 * crashes or leaks, and what is not all there is said to have failed. */
#include "base/buf.h"
#include "lib/failing_malloc.h"
#include "lib/test.h"
#include "text/text_calls.h"
#include "text/think.h"

static const char spaces[] = "  \n    \n    \n    \n   \n   \n  ";

/* What is reported goes where nothing can fail. */
struct record {
    char said[4096];
    size_t n;
};

static void write(struct record *r, str s)
{
    assert_true(r->n + s.len < sizeof(r->said));
    memcpy(r->said + r->n, s.p, s.len);
    r->n += s.len;
}

static void on_text(void *arg, str plain)
{
    write(arg, plain);
}

static void on_call(void *arg, const struct text_call *call)
{
    write(arg, call->name);
    write(arg, call->arguments);
    write(arg, call->id);
}

static bool is_function(void *arg, str name)
{
    (void)arg;
    return name.len > 0;
}

static str no_type(void *arg, str function, str parameter)
{
    (void)arg;
    (void)function;
    (void)parameter;
    return STR("");
}

static bool read_calls(enum text_call_format format, const char *plain, struct record *ret)
{
    static const struct text_calls_handler handler = {on_text, on_call, is_function, no_type};
    struct text_calls t;
    bool is_good = true;

    ret->n = 0;
    text_calls_init(&t, format, &handler, ret);
    for (size_t i = 0; plain[i] != '\0'; i++)
        is_good = text_calls_feed(&t, str_from(plain + i, 1)) && is_good;
    is_good = text_calls_finish(&t) && is_good;
    text_calls_fini(&t);
    return is_good;
}

static void calls_are_complete_or_have_failed(void **state)
{
    static const struct {
        enum text_call_format format;
        const char *plain;
    } cases[] = {
        {TEXT_CALLS_HERMES, "a  <tool_call>{\"name\":\"f\",\"arguments\":\"{}\",\"id\":\"1\"} b "},
        {TEXT_CALLS_GLM, "<tool_call>f<arg_key>a</arg_key><arg_value>b</arg_value></tool_call>"},
        {TEXT_CALLS_KIMI, "<|tool_call_begin|>f:0<|tool_call_argument_begin|>{}"},
        {TEXT_CALLS_PYTHONIC, "[f(a='b', c=[{'d': 1}]), g()]"},
        {TEXT_CALLS_LLAMA3, "{\"name\": \"f\", \"parameters\": {}} "},
    };
    struct record all, some;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        long n = 0;

        assert_true(read_calls(cases[i].format, cases[i].plain, &all));
        do
            failing_malloc_begin(n, FAILS_FOR_GOOD);
        while (!read_calls(cases[i].format, cases[i].plain, &some) && n++ < 100);
        assert_false(failing_malloc_end());
        assert_in_range(n, 1, 99);
        assert_str_eq(str_from(some.said, some.n), str_from(all.said, all.n));
    }
}

static bool read_reasoning(const char *plain, struct record *ret)
{
    struct think t = {.start = THINK_FROM_TAG};
    struct buf reasoning = {.limit = 0}, text = {.limit = 0};
    bool is_good;

    for (size_t i = 0; plain[i] != '\0'; i++)
        think_feed(&t, str_from(plain + i, 1), &reasoning, &text);
    think_end(&t, &reasoning, &text);
    is_good = !buf_failed(&reasoning) && !buf_failed(&text);
    ret->n = 0;
    write(ret, buf_str(&reasoning));
    write(ret, buf_str(&text));
    think_fini(&t);
    buf_fini(&reasoning);
    buf_fini(&text);
    return is_good;
}

static void reasoning_is_complete_or_has_failed(void **state)
{
    char plain[256];
    struct record some;
    long n = 0;

    (void)state;
    snprintf(plain, sizeof(plain), "%s<think>a%sb</think>c", spaces, spaces);
    do
        failing_malloc_begin(n, FAILS_FOR_GOOD);
    while (!read_reasoning(plain, &some) && n++ < 100);
    assert_false(failing_malloc_end());
    assert_in_range(n, 1, 99);
    snprintf(plain, sizeof(plain), "a%sbc", spaces);
    assert_str_eq(str_from(some.said, some.n), str_from_c(plain));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_complete_or_have_failed),
        cmocka_unit_test(reasoning_is_complete_or_has_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
