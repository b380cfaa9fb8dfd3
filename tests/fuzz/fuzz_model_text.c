/* fuzz_model_text.c -- whatever a model writes, and however its text is cut into chunks, in every
 * way of reading it: a valid event stream, and the same response for every cutting, streaming or
 * not.
 *
 * The first byte says how the text is read, the second what the request has and how the answer
 * ends; the others are the text. */
#include "fuzz/fuzz.h"

#include "base/utf8.h"
#include "json/json_text.h"
#include "lib/event_check.h"
#include "lib/round_run.h"

enum { N_FORMATS = TEXT_CALLS_PYTHONIC + 1 };

static struct tool hosted = {.kind = TOOL_MCP,
                             .name = STR_INIT("ask"),
                             .upstream_name = STR_INIT("mcp__wiki__ask"),
                             .server_label = STR_INIT("wiki"),
                             .sent = true};
static struct tool function = {.name = STR_INIT("get_weather"),
                               .upstream_name = STR_INIT("get_weather"),
                               .parameters = STR_INIT("{\"properties\":{\"days\":{\"type\":"
                                                      "\"integer\"}}}"),
                               .sent = true,
                               .next = &hosted};
static const struct tool_set tools = {.first = &function, .last = &hosted, .n = 2, .n_sent = 2};

struct way {
    uint8_t reading, request;
};

static bool is_interleaved(struct way way)
{
    return (way.reading & 3) == 3;
}

/* So many characters go into each chunk; 0: all of them. */
static struct buf answer(str text, size_t n_chars, bool is_cut_short)
{
    struct buf body = {.limit = 0};

    while (text.len > 0) {
        size_t end = n_chars == 0 ? text.len : 0;

        for (size_t i = 0; i < n_chars && end < text.len; i++)
            end += utf8_char(str_skip(text, end));
        buf_c(&body, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"");
        json_text_escape(str_from(text.p, end), &body);
        buf_c(&body, "\"}}]}\n\n");
        text = str_skip(text, end);
    }
    buf_c(&body, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"");
    buf_c(&body, is_cut_short ? "length" : "stop");
    buf_c(&body, "\"}]}\n\ndata: [DONE]\n\n");
    return body;
}

static struct round_result run(str text, struct way way, size_t n_chars, bool streamed)
{
    struct hosted_script script = {.n_rounds = 1};
    const struct round_conf conf = {
        .text = {.harmony = (enum model_harmony)(way.reading & 3) % 3,
                 .think = (enum model_think)(way.reading >> 2 & 3) % 3,
                 .calls = (enum text_call_format)((way.reading >> 4) % N_FORMATS),
                 .tools = (way.request & 1) != 0 ? &tools : NULL,
                 .begun_call = (way.request & 2) != 0 ? STR("get_weather") : STR(""),
                 .has_python = (way.request & 4) != 0,
                 .has_browser = (way.request & 4) != 0},
        .reasoning = (enum reasoning_mode)(way.request >> 3 & 3),
        .interleaved_calls = is_interleaved(way),
        .space = (way.request & 64) == 0  ? CHAT_SPACE_HELD_AFTER_REASONING
                 : (way.request & 1) == 0 ? CHAT_SPACE_HELD
                                          : CHAT_SPACE_KEPT,
        .max_output_bytes = (way.request & 128) != 0 ? 2000 : 0,
        .tools = (way.request & 1) != 0 ? &tools : NULL,
        .script = &script,
    };
    struct buf body = answer(text, n_chars, (way.request & 32) != 0);
    struct round_result r;

    round_run(&conf, buf_str(&body), UNCUT, streamed, &r);
    buf_fini(&body);
    return r;
}

/* A limit of the output cuts where the pieces say. */
static bool has_limit(struct way way)
{
    return (way.request & 128) != 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const struct way way = {n > 0 ? bytes[0] : 0, n > 1 ? bytes[1] : 0};
    struct round_result whole, single, some, plain;
    struct buf text = {.limit = 0};
    const char *fault;

    utf8_repair(str_skip(fuzz_input(bytes, n), 2), &text);
    whole = run(buf_str(&text), way, 0, true);
    single = run(buf_str(&text), way, 1, true);
    some = run(buf_str(&text), way, 5, true);
    plain = run(buf_str(&text), way, 0, false);
    fault = (is_interleaved(way) ? event_check_interleaved : event_check)(buf_str(&whole.events));
    fuzz_promise(fault == NULL, fault == NULL ? "" : fault);
    fault = (is_interleaved(way) ? event_check_interleaved : event_check)(buf_str(&single.events));
    fuzz_promise(fault == NULL, fault == NULL ? "" : fault);
    fuzz_promise(has_limit(way) || (str_eq(buf_str(&whole.object), buf_str(&single.object)) &&
                                    str_eq(buf_str(&whole.object), buf_str(&some.object))),
                 "any cutting gives the same response");
    fuzz_promise(str_eq(buf_str(&whole.object), buf_str(&plain.object)),
                 "streaming or not gives the same response");
    round_result_fini(&whole);
    round_result_fini(&single);
    round_result_fini(&some);
    round_result_fini(&plain);
    buf_fini(&text);
    return 0;
}
