/* test_response_random_deltas.c -- whatever deltas the state machine gets, in whatever order: the
 * stream is faultless, and its last object is the answer without a stream. Messages of a model
 * that says where they end are items one by one. */
#include "lib/test.h"

#include <jansson.h>

#include "lib/delta_run.h"
#include "lib/event_check.h"
#include "lib/legacy_check.h"

static struct tool erase = {.kind = TOOL_MCP,
                            .name = STR_INIT("erase"),
                            .upstream_name = STR_INIT("erase"),
                            .server_label = STR_INIT("docs"),
                            .needs_approval = true,
                            .sent = true};
static struct tool fetch = {.kind = TOOL_MCP,
                            .name = STR_INIT("fetch"),
                            .upstream_name = STR_INIT("docs__fetch"),
                            .server_label = STR_INIT("docs"),
                            .sent = true,
                            .next = &erase};
static struct tool patch = {.kind = TOOL_CUSTOM,
                            .name = STR_INIT("patch"),
                            .upstream_name = STR_INIT("patch"),
                            .sent = true,
                            .next = &fetch};
static struct tool code = {.kind = TOOL_HOSTED,
                           .hosted_kind = HOSTED_CODE_INTERPRETER,
                           .name = STR_INIT("code_interpreter"),
                           .upstream_name = STR_INIT("code_interpreter"),
                           .sent = true,
                           .next = &patch};
static struct tool search = {.kind = TOOL_HOSTED,
                             .hosted_kind = HOSTED_WEB_SEARCH,
                             .name = STR_INIT("web_search"),
                             .upstream_name = STR_INIT("web_search"),
                             .sent = true,
                             .next = &code};
static struct tool client_search = {.kind = TOOL_CLIENT_SEARCH,
                                    .name = STR_INIT("tool_search"),
                                    .upstream_name = STR_INIT("tool_search"),
                                    .sent = true,
                                    .next = &search};
static struct tool apply_patch = {.kind = TOOL_APPLY_PATCH,
                                  .name = STR_INIT("apply_patch"),
                                  .upstream_name = STR_INIT("apply_patch"),
                                  .sent = true,
                                  .next = &client_search};
static struct tool shell = {.kind = TOOL_SHELL,
                            .name = STR_INIT("shell"),
                            .upstream_name = STR_INIT("shell"),
                            .sent = true,
                            .next = &apply_patch};
static struct tool find_tools = {.kind = TOOL_HOSTED,
                                 .hosted_kind = HOSTED_TOOL_SEARCH,
                                 .name = STR_INIT("tool_search"),
                                 .upstream_name = STR_INIT("tool_search_2"),
                                 .sent = true,
                                 .next = &shell};
static const struct tool_set tools = {.first = &find_tools, .last = &erase, .n = 9, .n_sent = 9};

/* Pages with an even number can be cited. */
static bool find_source(void *arg, const struct cite_marker *marker, struct citation *ret)
{
    (void)arg;
    *ret = (struct citation){.url = STR("https://example.com"), .title = STR("t")};
    return marker->cursor % 2 == 0;
}

static const struct response_sources sources = {find_source, NULL};

enum { N_RUNS = 2000, MAX_ROUNDS = 3, MAX_DELTAS = 12 };

/* ---- any deltas */

/* One round; calls are what they were made as. */
struct script {
    struct delta deltas[MAX_DELTAS];
    struct delta calls[MAX_DELTAS];
    unsigned n, n_calls;
};

static const struct delta called[] = {
    {.name = STR_INIT("f")},
    {.name = STR_INIT("patch")},
    {.name = STR_INIT("erase")},
    {.name = STR_INIT("docs__fetch")},
    {.name = STR_INIT("code_interpreter")},
    {.name = STR_INIT("web_search")},
    {.name = STR_INIT("shell")},
    {.name = STR_INIT("apply_patch")},
    {.name = STR_INIT("tool_search")},
    {.name = STR_INIT("tool_search_2")},
    {.name = STR_INIT("list"), .server_label = STR_INIT("repo")},
    {.builtin = BUILTIN_PYTHON},
    {.builtin = BUILTIN_PYTHON, .name = STR_INIT("python")},
    {.builtin = BUILTIN_BROWSER_SEARCH},
    {.builtin = BUILTIN_BROWSER_OPEN, .name = STR_INIT("open")},
    {.builtin = BUILTIN_BROWSER_FIND},
};

/* The beginning of a call, or more of one. */
static struct delta make_call(struct chance *c, struct script *s)
{
    static const str arguments[] = {STR_INIT(""),
                                    STR_INIT("{}"),
                                    STR_INIT(" \\n"),
                                    STR_INIT("{\\\"input\\\":"),
                                    STR_INIT("\\\"x\\\"}"),
                                    STR_INIT("{\\\"code\\\":"),
                                    STR_INIT("{\\\"query\\\":")};
    unsigned number = chance_below(c, s->n_calls + 1);
    struct delta d;

    if (number == s->n_calls)
        s->calls[s->n_calls++] = called[chance_below(c, COUNT_OF(called))];
    d = s->calls[number];
    d.kind = DELTA_CALL;
    d.call = number;
    d.text = arguments[chance_below(c, COUNT_OF(arguments))];
    if (chance_below(c, 8) == 0)
        d.name = STR("");
    return d;
}

static struct delta make_delta(struct chance *c, struct script *s)
{
    static const str texts[] = {STR_INIT("a"), STR_INIT("b\\n"), STR_INIT("xy"),
                                STR_INIT("\\u30102"), STR_INIT("\\u3011")};
    struct delta d = {.text = texts[chance_below(c, COUNT_OF(texts))]};

    switch (chance_below(c, 8)) {
    case 0:
    case 1:
        d.kind = DELTA_TEXT;
        d.phase = (enum phase)chance_below(c, 3);
        if (d.phase != PHASE_NONE && chance_below(c, 4) == 0)
            d.text = STR("");
        return d;
    case 2:
        d.kind = DELTA_REASONING;
        return d;
    case 3:
        d.kind = chance_below(c, 2) == 0 ? DELTA_REFUSAL : DELTA_CITATION;
        d.citation = (struct citation){STR("https://example.com"), STR("t"), 0, 1};
        return d;
    case 4:
    case 5:
        return (struct delta){.kind = DELTA_ITEM_END};
    default:
        return make_call(c, s);
    }
}

static struct delta_round make_round(struct chance *c, struct script *s)
{
    static const enum finish ends[] = {FINISH_STOP, FINISH_STOP, FINISH_TOOL_CALLS, FINISH_LENGTH};

    *s = (struct script){.n = chance_below(c, MAX_DELTAS)};
    for (unsigned i = 0; i < s->n; i++)
        s->deltas[i] = make_delta(c, s);
    return (struct delta_round){s->deltas, s->n, ends[chance_below(c, COUNT_OF(ends))],
                                chance_below(c, 6) == 0, chance_below(c, 4) == 0};
}

/* Returns whether the response was completed. */
static bool check_run(const struct response_conf *conf, const struct delta_round *rounds, size_t n)
{
    bool is_legacy = conf->dialect == RESPONSE_DIALECT_ORS, is_completed;
    struct response_conf kept = *conf;
    struct delta_result r, plain;
    const char *what;

    kept.keeps_cuts = true;
    delta_run(&kept, rounds, n, true, &r);
    delta_run(conf, rounds, n, false, &plain);
    what = (is_legacy                 ? legacy_check
            : conf->interleaved_calls ? event_check_interleaved
                                      : event_check)(buf_str(&r.events));
    if (what != NULL)
        fail_msg("%s in\n%.*s", what, STR_ARG(buf_str(&r.events)));
    if (r.replay_fault != NULL)
        fail_msg("%s: %.*s", r.replay_fault, STR_ARG(buf_str(&r.events)));
    assert_str_eq(buf_str(&plain.object),
                  is_legacy ? buf_str(&r.object) : event_response(buf_str(&r.events)));
    is_completed =
        str_find(buf_str(&r.events), STR("{\"type\":\"response.completed\"")) < r.events.len;
    delta_result_fini(&r);
    delta_result_fini(&plain);
    return is_completed;
}

/* The journal takes its time, since every delta is a row. */
static void check_restored(const struct response_conf *conf, const struct delta_round *rounds,
                           size_t n)
{
    struct response_conf kept = *conf;
    const char *what;

    kept.keeps_cuts = true;
    what = delta_run_restored(&kept, rounds, n);
    if (what != NULL)
        fail_msg("%s", what);
}

/* Returns how many responses were completed. */
static size_t check_runs(enum response_dialect dialect)
{
    struct chance c = {.state = 7};
    size_t completed = 0;

    for (int run = 0; run < N_RUNS; run++) {
        const struct response_conf conf = {
            .tools = &tools,
            .dialect = dialect,
            .interleaved_calls = chance_below(&c, 3) == 0,
            .error_event = true,
            .reasoning = (enum reasoning_mode)chance_below(&c, 4),
            .seal = chance_below(&c, 2) == 0 ? &delta_seal : NULL,
            .obfuscation = chance_below(&c, 2) == 0,
            .sources = chance_below(&c, 2) == 0 ? &sources : NULL,
            .shows_code_outputs = chance_below(&c, 2) == 0,
            .single_call = chance_below(&c, 4) == 0,
            .max_tool_calls = chance_below(&c, 4),
            .max_output_bytes = chance_below(&c, 8) == 0 ? 1 + chance_below(&c, 4000) : 0};
        struct script scripts[MAX_ROUNDS];
        struct delta_round rounds[MAX_ROUNDS];
        size_t n = 1 + chance_below(&c, MAX_ROUNDS);

        for (size_t i = 0; i < n; i++)
            rounds[i] = make_round(&c, &scripts[i]);
        completed += check_run(&conf, rounds, n);
        if (run % 8 == 0 && dialect == RESPONSE_DIALECT_OPENAI)
            check_restored(&conf, rounds, n);
    }
    return completed;
}

static void any_deltas_give_a_faultless_stream(void **state)
{
    (void)state;
    assert_in_range(check_runs(RESPONSE_DIALECT_OPENAI), N_RUNS / 4, N_RUNS - N_RUNS / 8);
}

static void any_deltas_give_a_faultless_stream_of_the_legacy_dialect(void **state)
{
    (void)state;
    assert_int_equal(check_runs(RESPONSE_DIALECT_ORS), N_RUNS);
}

/* ---- messages that end */

/* What a model says between two headers, and "type phase text" of its item. */
static const struct message {
    struct delta first;
    const char *item;
} messages[] = {
    {{.kind = DELTA_TEXT, .text = STR_INIT("t"), .phase = PHASE_COMMENTARY},
     "message commentary t"},
    {{.kind = DELTA_TEXT, .text = STR_INIT("t"), .phase = PHASE_FINAL_ANSWER},
     "message final_answer t"},
    {{.kind = DELTA_TEXT, .text = STR_INIT(""), .phase = PHASE_FINAL_ANSWER},
     "message final_answer "},
    {{.kind = DELTA_REASONING, .text = STR_INIT("t")}, "reasoning  t"},
    {{.kind = DELTA_CALL, .name = STR_INIT("f"), .text = STR_INIT("t")}, "function_call  t"},
    {{.kind = DELTA_CALL, .name = STR_INIT("f"), .text = STR_INIT(" ")}, "function_call  {}"},
    {{.kind = DELTA_CALL, .builtin = BUILTIN_PYTHON, .text = STR_INIT("t")},
     "code_interpreter_call  t"},
    {{.kind = DELTA_CALL, .builtin = BUILTIN_BROWSER_OPEN, .text = STR_INIT("{\\\"cursor\\\":7}")},
     "web_search_call  cursor:7"},
    {{.kind = DELTA_CALL,
      .name = STR_INIT("list"),
      .server_label = STR_INIT("repo"),
      .text = STR_INIT("")},
     "mcp_call  {}"},
};

static const char *text_of(json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));

    return text == NULL ? "" : text;
}

static void describe(json_t *item, struct buf *out)
{
    json_t *part = json_array_get(json_object_get(item, "content"), 0);

    buf_c(out, text_of(item, "type"));
    buf_c(out, " ");
    buf_c(out, text_of(item, "phase"));
    buf_c(out, " ");
    buf_c(out, text_of(part, "text"));
    buf_c(out, text_of(item, "arguments"));
    buf_c(out, text_of(item, "code"));
    buf_c(out, text_of(json_object_get(item, "action"), "url"));
    buf_c(out, "\n");
}

static void check_items(const struct delta_round *round, str expected)
{
    const struct response_conf conf = {.reasoning = REASONING_TEXT};
    struct buf got = {.limit = 0};
    struct delta_result r;
    json_t *response, *item;
    size_t i;

    (void)check_run(&conf, round, 1);
    delta_run(&conf, round, 1, false, &r);
    response = json_loadb(r.object.p, r.object.len, 0, NULL);
    json_array_foreach(json_object_get(response, "output"), i, item) describe(item, &got);
    assert_str_eq(buf_str(&got), expected);
    buf_fini(&got);
    json_decref(response);
    delta_result_fini(&r);
}

/* Ends as a completed response has to: with something to show. */
static void messages_that_end_are_items_one_by_one(void **state)
{
    struct chance c = {.state = 3};

    (void)state;
    for (int run = 0; run < N_RUNS / 4; run++) {
        struct delta deltas[MAX_DELTAS];
        struct delta_round round = {.deltas = deltas, .finish = FINISH_STOP};
        struct buf expected = {.limit = 0};
        unsigned n_calls = 0;

        for (uint32_t n = chance_below(&c, MAX_DELTAS / 2); round.n <= 2 * n; round.n += 2) {
            const struct message *m =
                &messages[round.n == 2 * n ? 0 : chance_below(&c, COUNT_OF(messages))];

            deltas[round.n] = m->first;
            if (m->first.kind == DELTA_CALL)
                deltas[round.n].call = n_calls++;
            deltas[round.n + 1] = (struct delta){.kind = DELTA_ITEM_END};
            buf_c(&expected, m->item);
            buf_c(&expected, "\n");
        }
        check_items(&round, buf_str(&expected));
        buf_fini(&expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_deltas_give_a_faultless_stream),
        cmocka_unit_test(any_deltas_give_a_faultless_stream_of_the_legacy_dialect),
        cmocka_unit_test(messages_that_end_are_items_one_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
