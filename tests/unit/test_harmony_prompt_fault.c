/* test_harmony_prompt_fault.c -- a Harmony prompt with each of its allocations failing in turn: it is
 * whole, or there is an error; never a part of it. */
#include "lib/failing_malloc.h"
#include "lib/test.h"
#include "request_fixture.h"
#include "wire/harmony/harmony_request.h"

static const char request[] =
    "{\"instructions\":\"<|end|> of it\",\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":"
    "\"<|start|>\"},{\"type\":\"function_call\",\"call_id\":\"1\",\"name\":\"f\",\"arguments\":"
    "\"{}\"},{\"type\":\"function_call_output\",\"call_id\":\"1\",\"output\":\"o\"},"
    "{\"type\":\"code_interpreter_call\",\"id\":\"2\",\"code\":\"x\",\"outputs\":[{\"type\":\"logs\","
    "\"logs\":\"o\"}]}],\"tools\":["
    "{\"type\":\"function\",\"name\":\"f\",\"description\":\"d\",\"parameters\":{\"type\":"
    "\"object\",\"required\":[\"\\u0061\",\"b\"],\"properties\":{\"\\u0061\":{\"type\":\"string\"},"
    "\"b\":{}}}},{\"type\":\"custom\",\"name\":\"c\",\"description\":\"d\"}],\"text\":{\"format\":"
    "{\"type\":\"json_schema\",\"name\":\"n\",\"description\":\"d\",\"schema\":{}}}}";

static void a_prompt_without_memory_is_an_error_and_never_a_part(void **state)
{
    const struct chat_request_options o = {0};
    const struct harmony_options harmony = {.has_python = true};
    struct conversation c;
    struct fixture f;
    struct buf whole = {0};
    long n = 0;
    int rc;

    (void)state;
    assert_int_equal(fixture_parse(&f, str_from_c(request), 0), 0);
    assert_int_equal(chat_request_conversation(&f.request, &o, &f.ids, &f.arena, &c, &f.err), 0);
    assert_int_equal(harmony_request_write(&f.request, &c, &o, &harmony, &whole, &f.err), 0);
    do {
        struct buf out = {0};

        failing_malloc_begin(n++, FAILS_ONCE);
        rc = harmony_request_write(&f.request, &c, &o, &harmony, &out, &f.err);
        (void)failing_malloc_end();
        if (rc == 0)
            assert_str_eq(buf_str(&out), buf_str(&whole));
        buf_fini(&out);
    } while (rc == -1);
    assert_true(n > 10);
    buf_fini(&whole);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_prompt_without_memory_is_an_error_and_never_a_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
