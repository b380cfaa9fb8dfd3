/* test_fault.c -- a round with each of its allocations failing in turn.
 *
 * Whatever fails, nothing crashes or leaks, and the events that were sent are a
 * faultless stream, or the beginning of one when the bytes themselves had no
 * memory left to stand in.
 */
#include "lib/event_check.h"
#include "lib/failing_malloc.h"
#include "lib/legacy_check.h"
#include "lib/round_run.h"
#include "lib/test.h"

/* ---- what is run */

static struct tool shell = {.kind = TOOL_LOCAL_SHELL,
                            .name = STR_INIT("local_shell"),
                            .upstream_name = STR_INIT("local_shell"),
                            .sent = true};
static struct tool patch = {.kind = TOOL_CUSTOM,
                            .name = STR_INIT("apply_patch"),
                            .upstream_name = STR_INIT("apply_patch"),
                            .sent = true,
                            .next = &shell};
static struct tool search = {.kind = TOOL_MCP,
                             .name = STR_INIT("search"),
                             .upstream_name = STR_INIT("search"),
                             .server_label = STR_INIT("docs"),
                             .sent = true,
                             .next = &patch};
static struct tool erase = {.kind = TOOL_MCP,
                            .name = STR_INIT("erase"),
                            .upstream_name = STR_INIT("erase"),
                            .server_label = STR_INIT("docs"),
                            .needs_approval = true,
                            .sent = true,
                            .next = &search};
static struct tool client_search = {.kind = TOOL_CLIENT_SEARCH,
                                    .name = STR_INIT("tool_search"),
                                    .upstream_name = STR_INIT("tool_search"),
                                    .sent = true,
                                    .next = &erase};
static struct tool client_patch = {.kind = TOOL_APPLY_PATCH,
                                   .name = STR_INIT("change"),
                                   .upstream_name = STR_INIT("change"),
                                   .sent = true,
                                   .next = &client_search};
static struct tool client_shell = {.kind = TOOL_SHELL,
                                   .name = STR_INIT("shell"),
                                   .upstream_name = STR_INIT("shell"),
                                   .sent = true,
                                   .next = &client_patch};
static const struct tool_set tools = {.first = &client_shell, .last = &shell, .n = 7, .n_sent = 7};

#define CALL(index, id, name, arguments)                                                           \
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":" index ",\"id\":\"" id            \
    "\",\"function\":{\"name\":\"" name "\",\"arguments\":\"" arguments "\"}}]}}]}\n\n"

static const char calls_of_every_kind[] = CALL(
    "0", "a", "apply_patch", "{\\\"input\\\":\\\"one\\\\n") CALL("1", "b", "local_shell",
                                                                 "{\\\"command\\\":[\\\"ls\\\"]}")
    CALL("2", "c", "other", "") CALL(
        "0", "a", "apply_patch",
        "two\\\"}") "data: {\"choices\":[{\"delta\":{\"content\":\"and text\"},\"finish_reason\":\"stop\"}]}\n\n"
                    "data: [DONE]\n\n";

static const char calls_of_client_tools[] = CALL(
    "0", "a", "shell",
    "{\\\"commands\\\":[\\\"ls\\\"]}") CALL("1", "b", "shell",
                                            "nonsense") CALL("2", "c", "change",
                                                             "{\\\"type\\\":\\\"delete_file\\\"}")
    CALL("3", "d", "tool_search", "{\\\"query\\\":1}") CALL(
        "4", "e", "tool_search",
        "dates") "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";

static const char citations[] =
    "data: {\"choices\":[{\"delta\":{\"content\":\"a\",\"annotations\":["
    "{\"type\":\"url_citation\",\"url_citation\":{\"url\":\"https://a.example/\","
    "\"title\":\"A\",\"start_index\":0,\"end_index\":1}},"
    "{\"type\":\"url_citation\",\"url_citation\":{\"url\":\"https://b.example/\"}}]}}]}\n\n"
    "data: [DONE]\n\n";

static const char space_before_calls[] =
    "data: {\"choices\":[{\"delta\":{\"content\":\"\\n\"},\"logprobs\":{\"content\":"
    "[{\"token\":\"\\n\",\"logprob\":-1}]}}]}\n\n" CALL(
        "0", "a", "other",
        "{}") "data: {\"choices\":[{\"delta\":{\"content\":\" \"},\"logprobs\":{\"content\":"
              "[{\"token\":\" \",\"logprob\":-1}]}}]}\n\n"
              "data: {\"choices\":[{\"delta\":{\"content\":\"text\"},\"finish_reason\":\"stop\"}]}\n\n"
              "data: [DONE]\n\n";

static const char two_searches[] =
    "data: {\"choices\":[{\"delta\":{\"reasoning\":\"why\"}}]}\n\n" CALL(
        "0", "a", "search", "{\\\"q\\\":1}") CALL("1", "b", "search", "{}") "data: [DONE]\n\n";

static const struct hosted_script listing_and_rounds = {
    .before = STR_INIT("{\"list\":\"docs\",\"tools\":[{\"name\":\"search\",\"input_schema\":{}}]}\n"
                       "{\"approved\":\"erase\",\"arguments\":\"{}\","
                       "\"approval_request_id\":\"mcpr_1\",\"error\":{\"type\":\"x\"}}"),
    .rounds = {{.outcomes = STR_INIT("{\"call\":1,\"output\":\"found\"}")},
               {.upstream = STR_INIT(CALL("0", "c", "search", "{}")
                                         CALL("1", "d", "erase", "{}") "data: [DONE]\n\n")}},
    .n_rounds = 2,
};

static const struct {
    const char *name;
    const char *fixture, *body; /* one of them */
    bool think_tags, logprobs;
    enum chat_space_mode space;
    const struct hosted_script *script;
    int64_t max_tool_calls;
    enum response_dialect dialect;
} runs[] = {
    {.name = "calls_of_every_kind", .body = calls_of_every_kind},
    {.name = "calls_of_client_tools", .body = calls_of_client_tools},
    {.name = "citations", .body = citations},
    {.name = "tool_interleaved", .fixture = "upstream/tool_interleaved.sse"},
    {.name = "tool_arguments_object", .fixture = "upstream/tool_arguments_object.sse"},
    {.name = "reasoning_then_tool", .fixture = "upstream/reasoning_then_tool.sse"},
    {.name = "think_tags", .fixture = "upstream/reasoning_think_tags_on.sse", .think_tags = true},
    {.name = "logprobs", .fixture = "upstream/text_logprobs_null_bytes.sse", .logprobs = true},
    {.name = "refusal", .fixture = "upstream/refusal.sse"},
    {.name = "length", .fixture = "upstream/tool_length.sse"},
    {.name = "error", .fixture = "upstream/error_in_chunk.sse"},
    {.name = "whole", .fixture = "upstream/whole.json"},
    {.name = "space_before_calls",
     .body = space_before_calls,
     .logprobs = true,
     .space = CHAT_SPACE_HELD},
    {.name = "several_rounds", .body = two_searches, .script = &listing_and_rounds},
    {.name = "hidden_call",
     .body = two_searches,
     .script = &listing_and_rounds,
     .max_tool_calls = 2},
    {.name = "legacy_calls", .body = calls_of_every_kind, .dialect = RESPONSE_DIALECT_ORS},
    {.name = "legacy_client_calls", .body = calls_of_client_tools, .dialect = RESPONSE_DIALECT_ORS},
    {.name = "legacy_mcp",
     .body = two_searches,
     .script = &listing_and_rounds,
     .dialect = RESPONSE_DIALECT_ORS},
};

/* Of the legacy dialect only whole streams can be judged. */
static const char *judge(size_t i, const struct round_result *r)
{
    if (runs[i].dialect == RESPONSE_DIALECT_ORS)
        return r->spoiled ? NULL : legacy_check(buf_str(&r->events));
    return r->spoiled ? event_check_cut(buf_str(&r->events)) : event_check(buf_str(&r->events));
}

static void check_events(size_t i, long n, enum failing_malloc how, const struct round_result *r)
{
    const char *what;

    if (buf_failed(&r->events) || buf_failed(&r->object))
        return; /* it was the test's own memory that failed */
    what = judge(i, r);
    if (what != NULL)
        fail_msg("%s, allocation %ld%s: %s in\n%.*s", runs[i].name, n,
                 how == FAILS_FOR_GOOD ? " and all after" : "", what, STR_ARG(buf_str(&r->events)));
}

/* Fails the n-th allocation; returns whether there was one. */
static bool run_with_failure(size_t i, str body, struct cutting cutting, long n,
                             enum failing_malloc how)
{
    const struct round_conf conf = {
        .tools = &tools,
        .text = {.think = runs[i].think_tags ? MODEL_THINK_ON : MODEL_THINK_OFF},
        .logprobs = runs[i].logprobs,
        .space = runs[i].space,
        .script = runs[i].script,
        .max_tool_calls = runs[i].max_tool_calls,
        .dialect = runs[i].dialect};
    struct round_result r;
    bool failed;

    failing_malloc_begin(n, how);
    round_run(&conf, body, cutting, true, &r);
    failed = failing_malloc_end();
    check_events(i, n, how, &r);
    round_result_fini(&r);
    return failed;
}

static void check_runs(enum failing_malloc how, struct cutting cutting)
{
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        struct buf body = {.limit = 0};
        long n = 0;

        if (runs[i].fixture != NULL)
            body = fixture_read(runs[i].fixture);
        else
            buf_c(&body, runs[i].body);
        while (run_with_failure(i, buf_str(&body), cutting, n, how))
            n++;
        assert_true(n > 10);
        buf_fini(&body);
    }
}

static void one_failed_allocation_does_no_harm(void **state)
{
    (void)state;
    check_runs(FAILS_ONCE, UNCUT);
    check_runs(FAILS_ONCE, BYTE_BY_BYTE);
}

static void having_no_memory_left_does_no_harm(void **state)
{
    (void)state;
    check_runs(FAILS_FOR_GOOD, UNCUT);
    check_runs(FAILS_FOR_GOOD, BYTE_BY_BYTE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_failed_allocation_does_no_harm),
        cmocka_unit_test(having_no_memory_left_does_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
