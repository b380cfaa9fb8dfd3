/* test_response_random.c -- whatever a model says in however many rounds, and whatever its calls
 * come to: the stream is faultless, the same for any cutting, and its last object is the answer
 * without a stream. */
#include "lib/test.h"

#include "lib/event_check.h"
#include "lib/legacy_check.h"
#include "lib/round_run.h"

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
static const struct tool_set tools = {.first = &patch, .last = &erase, .n = 3, .n_sent = 3};

#define CHOICE(rest) "data: {\"choices\":[{\"index\":0," rest "}]}\n\n"

enum { N_RUNS = 1000 };

/* ---- what a model says */

static const char *one_of(struct chance *c, const char *const *words, uint32_t n)
{
    return words[chance_below(c, n)];
}

static void add(struct buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct buf *out, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    buf_c(out, text);
}

static void add_text(struct chance *c, struct buf *out)
{
    static const char *const members[] = {"content", "reasoning", "refusal"};

    add(out, CHOICE("\"delta\":{\"%s\":\"%c\"}"), one_of(c, members, 3),
        'a' + (char)chance_below(c, 26));
}

/* The beginning of a call that nobody has made, or more of one. */
static void add_call(struct chance *c, struct buf *out)
{
    static const char *const names[] = {"docs__fetch", "docs__fetch", "docs__fetch",
                                        "erase",       "patch",       "made_up"};
    static const char *const arguments[] = {"", "{}", "{\\\"input\\\":", "1}", "\\\"x\\\"}"};
    uint32_t index = chance_below(c, 4);

    if (chance_below(c, 2) == 0)
        add(out,
            CHOICE("\"delta\":{\"tool_calls\":[{\"index\":%u,\"id\":\"c%u\",\"function\":"
                   "{\"name\":\"%s\",\"arguments\":\"%s\"}}]}"),
            index, index, one_of(c, names, COUNT_OF(names)),
            one_of(c, arguments, COUNT_OF(arguments)));
    else
        add(out,
            CHOICE(
                "\"delta\":{\"tool_calls\":[{\"index\":%u,\"function\":{\"arguments\":\"%s\"}}]}"),
            index, one_of(c, arguments, COUNT_OF(arguments)));
}

static void add_end(struct chance *c, struct buf *out)
{
    static const char *const ends[] = {"stop", "tool_calls", "tool_calls", "tool_calls", "length"};

    if (chance_below(c, 20) == 0) {
        buf_c(out, "data: {\"error\":{\"message\":\"gone\"}}\n\n");
        return;
    }
    add(out, CHOICE("\"delta\":{},\"finish_reason\":\"%s\""), one_of(c, ends, COUNT_OF(ends)));
    buf_c(out, "data: [DONE]\n\n");
}

static void make_body(struct chance *c, struct buf *out)
{
    for (uint32_t n = chance_below(c, 8); n > 0; n--) {
        if (chance_below(c, 3) == 0)
            add_text(c, out);
        else
            add_call(c, out);
    }
    add_end(c, out);
}

/* ---- what has to be true of it */

/* Returns whether the response was completed. */
static bool check_run(const struct round_conf *conf)
{
    str body = conf->script->rounds[0].upstream;
    struct round_result whole, cut, plain;
    bool is_legacy = conf->dialect == RESPONSE_DIALECT_ORS, is_completed;
    const char *what;

    round_run(conf, body, UNCUT, true, &whole);
    round_run(conf, body, BYTE_BY_BYTE, true, &cut);
    round_run(conf, body, UNCUT, false, &plain);
    what = (is_legacy                 ? legacy_check
            : conf->interleaved_calls ? event_check_interleaved
                                      : event_check)(buf_str(&whole.events));
    if (what != NULL)
        fail_msg("%s in\n%.*s", what, STR_ARG(buf_str(&whole.events)));
    assert_str_eq(buf_str(&cut.events), buf_str(&whole.events));
    assert_str_eq(buf_str(&plain.object),
                  is_legacy ? buf_str(&whole.object) : event_response(buf_str(&whole.events)));
    is_completed = str_find(buf_str(&whole.events), STR("{\"type\":\"response.completed\"")) <
                   whole.events.len;
    round_result_fini(&whole);
    round_result_fini(&cut);
    round_result_fini(&plain);
    return is_completed;
}

/* Returns how many responses were completed. */
static size_t check_runs(enum response_dialect dialect)
{
    struct chance c = {.state = 1};
    size_t completed = 0;

    for (int run = 0; run < N_RUNS; run++) {
        struct buf bodies[4] = {{.limit = 0}};
        struct hosted_script script = {.n_rounds = 1 + chance_below(&c, 4)};
        const struct round_conf conf = {
            .tools = &tools,
            .script = &script,
            .dialect = dialect,
            .interleaved_calls = chance_below(&c, 3) == 0,
            .reasoning = (enum reasoning_mode)chance_below(&c, 3),
            .max_tool_calls = chance_below(&c, 4),
            .max_output_bytes = chance_below(&c, 8) == 0 ? 1 + chance_below(&c, 3000) : 0};

        for (size_t i = 0; i < script.n_rounds; i++) {
            make_body(&c, &bodies[i]);
            script.rounds[i].upstream = buf_str(&bodies[i]);
        }
        script.rounds[script.n_rounds - 1].is_last = chance_below(&c, 2) == 0;
        completed += check_run(&conf);
        for (size_t i = 0; i < script.n_rounds; i++)
            buf_fini(&bodies[i]);
    }
    return completed;
}

static void random_rounds_give_faultless_streams(void **state)
{
    (void)state;
    assert_in_range(check_runs(RESPONSE_DIALECT_OPENAI), N_RUNS / 4, N_RUNS - N_RUNS / 8);
}

static void random_rounds_give_faultless_streams_of_the_legacy_dialect(void **state)
{
    (void)state;
    assert_int_equal(check_runs(RESPONSE_DIALECT_ORS), N_RUNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_rounds_give_faultless_streams),
        cmocka_unit_test(random_rounds_give_faultless_streams_of_the_legacy_dialect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
