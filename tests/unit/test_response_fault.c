/* test_response_fault.c -- what models with tools of their own say, with each allocation failing
 * in turn; test_fault.c does the same for the bytes of an upstream. */
#include "lib/delta_run.h"
#include "lib/event_check.h"
#include "lib/failing_malloc.h"
#include "lib/test.h"

static bool find_source(void *arg, const struct cite_marker *marker, struct citation *ret)
{
    (void)arg;
    (void)marker;
    *ret = (struct citation){.url = STR("https://example.com/\\u00e9"), .title = STR("t")};
    return true;
}

static struct tool code = {.kind = TOOL_HOSTED,
                           .hosted_kind = HOSTED_CODE_INTERPRETER,
                           .name = STR_INIT("code_interpreter"),
                           .upstream_name = STR_INIT("code_interpreter"),
                           .sent = true};
static const struct tool_set tools = {.first = &code, .last = &code, .n = 1, .n_sent = 1};

static const struct delta ends = {.kind = DELTA_ITEM_END};

/* Each message is followed by its end. */
static const struct delta first_round[] = {
    {.kind = DELTA_REASONING, .text = STR_INIT("why")},
    {.kind = DELTA_TEXT, .phase = PHASE_COMMENTARY, .text = STR_INIT("first")},
    {.kind = DELTA_CALL,
     .call = 0,
     .builtin = BUILTIN_BROWSER_SEARCH,
     .text = STR_INIT("{\\\"query\\\":\\\"a\\\"}")},
    {.kind = DELTA_CALL, .call = 1, .builtin = BUILTIN_BROWSER_OPEN, .text = STR_INIT("{")},
    {.kind = DELTA_CALL,
     .call = 2,
     .name = STR_INIT("list"),
     .server_label = STR_INIT("repo"),
     .text = STR_INIT(" ")},
    {.kind = DELTA_CALL, .call = 3, .builtin = BUILTIN_BROWSER_FIND, .text = STR_INIT("{}")},
    {.kind = DELTA_CALL, .call = 4, .builtin = BUILTIN_PYTHON, .text = STR_INIT("print(1)")},
};
static const struct delta second_round[] = {
    {.kind = DELTA_REASONING, .text = STR_INIT("so")},
    {.kind = DELTA_CALL,
     .call = 0,
     .name = STR_INIT("code_interpreter"),
     .text = STR_INIT("{\\\"code\\\":\\\"print(2)\\\"}")},
};
static const struct delta third_round[] = {
    {.kind = DELTA_TEXT,
     .phase = PHASE_FINAL_ANSWER,
     .text = STR_INIT("done\\u30101\\u3011 \\u3010")},
};

enum { MAX_DELTAS = 2 * COUNT_OF(first_round) };

static struct delta_round with_ends(const struct delta *messages, size_t n, bool withholds_text,
                                    struct delta to[MAX_DELTAS])
{
    for (size_t i = 0; i < n; i++) {
        to[2 * i] = messages[i];
        to[2 * i + 1] = ends;
    }
    return (struct delta_round){to, 2 * n, FINISH_STOP, false, withholds_text};
}

/* Fails the n-th allocation; returns whether there was one. */
static bool run_with_failure(enum reasoning_mode mode, bool keeps_cuts, long n,
                             enum failing_malloc how)
{
    struct delta deltas[3][MAX_DELTAS];
    const struct delta_round rounds[] = {
        with_ends(first_round, COUNT_OF(first_round), mode == REASONING_SUMMARY, deltas[0]),
        with_ends(second_round, COUNT_OF(second_round), mode == REASONING_NONE, deltas[1]),
        with_ends(third_round, COUNT_OF(third_round), mode != REASONING_TEXT, deltas[2]),
    };
    const struct response_sources sources = {find_source, NULL};
    const struct response_conf conf = {.reasoning = mode,
                                       .tools = &tools,
                                       .seal = &delta_seal,
                                       .sources = &sources,
                                       .shows_code_outputs = true,
                                       .error_event = true,
                                       .keeps_cuts = keeps_cuts,
                                       .max_tool_calls = 4};
    struct delta_result r;
    const char *what = NULL;
    bool failed;

    failing_malloc_begin(n, how);
    delta_run(&conf, rounds, COUNT_OF(rounds), true, &r);
    failed = failing_malloc_end();
    if (!buf_failed(&r.events)) /* else it was the test's own memory */
        what = event_check(buf_str(&r.events));
    if (what != NULL)
        fail_msg("allocation %ld%s: %s in\n%.*s", n, how == FAILS_FOR_GOOD ? " and all after" : "",
                 what, STR_ARG(buf_str(&r.events)));
    delta_result_fini(&r);
    return failed;
}

static void check_runs(enum failing_malloc how)
{
    for (int mode = REASONING_TEXT; mode <= REASONING_OPEN_RESPONSES; mode++) {
        long n = 0;

        while (run_with_failure((enum reasoning_mode)mode, mode % 2 == 0, n, how))
            n++;
        assert_true(n > 20);
    }
}

static void one_failed_allocation_does_no_harm(void **state)
{
    (void)state;
    check_runs(FAILS_ONCE);
}

static void having_no_memory_left_does_no_harm(void **state)
{
    (void)state;
    check_runs(FAILS_FOR_GOOD);
}

static void arguments_that_cannot_be_checked_are_not_complete(void **state)
{
    enum { HALF = 4096 };
    struct argument_end end = {.n_seen = 0};
    struct buf arguments = {.limit = 0};

    (void)state;
    buf_append(&arguments, STR("{"));
    for (int i = 0; i < HALF; i++)
        buf_char(&arguments, 'x'); /* brackets are counted; that it is no JSON takes a check */
    assert_false(argument_end_is_reached(&end, buf_str(&arguments)));
    buf_append(&arguments, STR("}"));
    failing_malloc_begin(1,
                         FAILS_FOR_GOOD); /* none for the bytes that are new, not for all of them */
    assert_false(argument_end_is_reached(&end, buf_str(&arguments)));
    assert_true(failing_malloc_end());
    assert_false(argument_end_is_reached(&end, buf_str(&arguments)));
    buf_fini(&arguments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_failed_allocation_does_no_harm),
        cmocka_unit_test(having_no_memory_left_does_no_harm),
        cmocka_unit_test(arguments_that_cannot_be_checked_are_not_complete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
