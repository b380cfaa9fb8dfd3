/* fuzz_round.c -- any upstream bytes in any cutting give a valid event stream,
 * the same for every cutting and every replay, and the same response without streaming.
 *
 * A byte 0x1E begins the answer to the next round, if there is one. */
#include "fuzz/fuzz.h"

#include "lib/event_check.h"
#include "lib/round_run.h"

static struct tool approved = {.kind = TOOL_MCP,
                               .name = STR_INIT("erase"),
                               .upstream_name = STR_INIT("erase"),
                               .server_label = STR_INIT("docs"),
                               .needs_approval = true,
                               .sent = true};
static struct tool hosted = {.kind = TOOL_MCP,
                             .name = STR_INIT("get_weather"),
                             .upstream_name = STR_INIT("get_weather"),
                             .server_label = STR_INIT("docs"),
                             .sent = true,
                             .next = &approved};
static struct tool client_search = {.kind = TOOL_CLIENT_SEARCH,
                                    .name = STR_INIT("tool_search"),
                                    .upstream_name = STR_INIT("tool_search"),
                                    .sent = true,
                                    .next = &hosted};
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
static const struct tool_set tools = {.first = &find_tools, .last = &approved, .n = 6, .n_sent = 6};

static const struct tool_choice forced = {.mode = TOOL_CHOICE_TOOL, .tool = &hosted};

static struct hosted_script cut_rounds(str bodies, bool last_is_last)
{
    struct hosted_script script = {.n_rounds = 0};

    while (script.n_rounds < MAX_SCRIPT_ROUNDS && (script.n_rounds == 0 || bodies.len > 0)) {
        size_t end = str_find_char(bodies, '\x1E');

        script.rounds[script.n_rounds++].upstream = str_from(bodies.p, end);
        bodies = str_skip(bodies, end + 1);
    }
    script.rounds[script.n_rounds - 1].is_last = last_is_last;
    return script;
}

static bool is_interleaved(uint8_t options)
{
    return options % 7 == 6;
}

/* Byte by byte, no chunk is known by the one before; whole, chunks may be. */
static struct round_result run(str body, uint8_t options, struct cutting cutting, bool streamed,
                               struct replay_check *replay)
{
    const struct hosted_script script = cut_rounds(body, (options & 8) != 0);
    const struct round_conf conf = {
        .reasoning = options % 3 == 0   ? REASONING_TEXT
                     : options % 3 == 1 ? REASONING_SUMMARY
                                        : REASONING_NONE,
        .text = {.think = (options & 4) != 0 ? MODEL_THINK_ON : MODEL_THINK_OFF},
        .logprobs = (options & 8) != 0,
        .forgetful = cutting.piece == 1,
        .space = (options & 128) == 0 ? CHAT_SPACE_HELD_AFTER_REASONING
                 : (options & 2) == 0 ? CHAT_SPACE_HELD
                                      : CHAT_SPACE_KEPT,
        .interleaved_calls = is_interleaved(options),
        .tools = (options & 32) != 0 ? &tools : NULL,
        .script = &script,
        .choice = (body.len & 1) != 0 ? &forced : NULL,
        .single_call = (body.len & 2) != 0,
        .defers_format = (body.len & 4) != 0,
        .max_tool_calls = (options & 64) != 0 ? 2 : 0,
        .max_output_bytes = (options & 16) != 0 ? 2000 : 0,
        .replay = replay,
    };
    struct round_result r;

    round_run(&conf, script.rounds[0].upstream, cutting, streamed, &r);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    uint8_t options = n == 0 ? 0 : bytes[0];
    str body = str_skip(fuzz_input(bytes, n), 1);
    struct round_result whole = run(body, options, UNCUT, true, NULL), cut, plain;
    const char *fault =
        (is_interleaved(options) ? event_check_interleaved : event_check)(buf_str(&whole.events));
    struct replay_check replay;

    replay_check_init(&replay);
    cut = run(body, options, BYTE_BY_BYTE, true, &replay);
    plain = run(body, options, UNCUT, false, NULL);
    fuzz_promise(fault == NULL, fault == NULL ? "" : fault);
    fuzz_promise(str_eq(buf_str(&whole.events), buf_str(&cut.events)),
                 "any cutting gives the same events");
    fuzz_promise(replay.fault == NULL, replay.fault == NULL ? "" : replay.fault);
    fuzz_promise(str_eq(buf_str(&replay.live), buf_str(&cut.events)),
                 "a replay has the same events at every step");
    fuzz_promise(str_eq(event_response(buf_str(&whole.events)), buf_str(&plain.object)),
                 "the terminal event carries the object of the answer without streaming");
    replay_check_fini(&replay);
    round_result_fini(&whole);
    round_result_fini(&cut);
    round_result_fini(&plain);
    return 0;
}
