/* test_chat_merge_fault.c -- rounds of a chat completion, with each allocation failing in
 * turn: either nothing is missing, or it is said that the round has failed. */
#include "lib/failing_malloc.h"
#include "lib/fixture.h"
#include "lib/test.h"
#include "wire/loop/chat_loop_request.h"
#include "wire/loop/chat_merge.h"

static const str names[] = {STR_INIT("mcp__a__b")};

#define CALL(id, name)                                                                             \
    "{\"id\":\"" id "\",\"x\":1,\"function\":{\"name\":\"" name "\",\"arguments\":{\"a\":[1]}}}"

static const str first = STR_INIT(
    "data: {\"id\":\"1\",\"created\":2,\"model\":\"m\",\ndata: \"usage\":{\"n\":1},\"choices\":[{"
    "\"delta\":{\"role\":\"assistant\",\"content\":\"t\",\"reasoning\":\"r\xC3\"}}]}\n\n"
    "data: {\"choices\":[{\"delta\":{\"reasoning_details\":[{}],\"tool_calls\":[" CALL(
        "a", "mcp__a__b") "," CALL("a", "mcp__a__b") "]},\"finish_reason\":\"tool_calls\"}]}\n\n"
                                                     "data: [DONE]\n\n");
static const str second = STR_INIT(
    "data: {\"id\":\"2\",\"usage\":{\"n\":1},\"choices\":[{\"delta\":{\"tool_calls\":[" CALL(
        "b", "mcp__a__b") ",{\"index\":7,\"id\":\"c\",\"function\":{\"name\":\"mcp__a\"}}]}}]}\n\n"
                          "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
                          "data: [DONE]\n\n");

/* Whether both rounds succeeded, with what came of them in out. */
static bool run_rounds(struct buf *out)
{
    const struct chat_loop_tools tools = {names, COUNT_OF(names), false};
    const struct chat_loop_message_conf message = {.empty_content = CHAT_CONTENT_NULL};
    struct test_ids ids;
    const struct chat_merge_conf conf = {
        .tools = &tools, .ids = &ids.source, .is_stream = true, .wants_usage = true};
    struct chat_merge m;
    bool ok;

    test_ids_reset(&ids);
    chat_merge_init(&m, &conf);
    chat_merge_begin(&m);
    chat_merge_feed(&m, first, out);
    ok = chat_merge_end(&m, NULL, out) == CHAT_ROUND_CALLS;
    if (ok) {
        chat_loop_said_write(&m.said, &message, out);
        chat_merge_begin(&m);
        chat_merge_feed(&m, second, out);
        ok = chat_merge_end(&m, NULL, out) == CHAT_ROUND_MIXED;
    }
    if (ok)
        chat_merge_finish(&m, out);
    chat_merge_fini(&m);
    return ok && !buf_failed(out);
}

static bool run_request(struct buf *out)
{
    static const struct chat_loop_additions add = {
        .tools = STR_INIT("{}"), .messages = STR_INIT("{}"), .asks_for_usage = true};
    struct chat_loop_request r;
    struct arena a = {.limit = 0};
    bool ok = chat_loop_request_read(
        STR("{\"messages\":[],\"tools\":[{\"name\":\"\\u0061\"},{\"name\":\"b\"}]}"), &a, &r);

    if (ok) {
        buf_append(out, r.names[0]);
        chat_loop_request_write(&r, &add, out);
    }
    arena_fini(&a);
    return ok && !buf_failed(out);
}

static void check_every_failure(bool (*run)(struct buf *out))
{
    struct buf all = {.limit = 0}, some = {.limit = 0};
    bool has_failed = true;
    long n = 0;

    assert_true(run(&all));
    for (; has_failed; n++) {
        bool ok;

        buf_fini(&some);
        failing_malloc_begin(n, FAILS_ONCE);
        ok = run(&some);
        has_failed = failing_malloc_end();
        if (ok)
            assert_str_eq(buf_str(&some), buf_str(&all));
    }
    assert_true(n > 2);
    assert_str_eq(buf_str(&some), buf_str(&all));
    buf_fini(&all);
    buf_fini(&some);
}

static void rounds_without_memory_fail_or_are_whole(void **state)
{
    (void)state;
    check_every_failure(run_rounds);
}

static void requests_without_memory_are_passed_on_or_whole(void **state)
{
    (void)state;
    check_every_failure(run_request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_without_memory_fail_or_are_whole),
        cmocka_unit_test(requests_without_memory_are_passed_on_or_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
