/* fuzz_response_restore.c -- whatever an upstream says, a journal of it can be restored after every row,
 * and ended; and rows with other bytes in them are refused, or used as if nothing had happened.
 *
 * The first byte chooses what the request had asked for. All behind it is the upstream's answer, whose
 * first byte also says in which pieces it comes. Behind a byte 0x1D edits of rows may follow, four bytes
 * each: row, text, place, byte. */
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
static const struct tool_set tools = {.first = &hosted, .last = &approved, .n = 2, .n_sent = 2};

static bool is_interleaved(uint8_t options)
{
    return (options & 8) != 0;
}

static void record(str body, uint8_t options, size_t piece, struct restore_check *check)
{
    const struct hosted_script script = {.rounds = {{.upstream = body}}, .n_rounds = 1};
    const struct round_conf conf = {
        .reasoning = options % 4 == 0   ? REASONING_TEXT
                     : options % 4 == 1 ? REASONING_SUMMARY
                     : options % 4 == 2 ? REASONING_OPEN_RESPONSES
                                        : REASONING_NONE,
        .text = {.think = (options & 4) != 0 ? MODEL_THINK_ON : MODEL_THINK_OFF},
        .logprobs = (options & 16) != 0,
        .interleaved_calls = is_interleaved(options),
        .tools = (options & 32) != 0 ? &tools : NULL,
        .script = &script,
        .max_output_bytes = (options & 64) != 0 ? 2000 : 0,
        .restore = check,
    };
    struct round_result r;

    round_run(&conf, body, (struct cutting){piece, piece}, (options & 128) != 0, &r);
    round_result_fini(&r);
}

static void edit_rows(struct restore_check *check, str edits)
{
    for (; edits.len >= 4; edits = str_skip(edits, 4)) {
        struct restore_row *row = &check->rows[(unsigned char)edits.p[0] % check->n_rows];
        struct buf *texts[] = {&row->cuts, &row->done, &row->pieces};
        struct buf *text = texts[(unsigned char)edits.p[1] % 3];

        if (text->len > 0)
            text->p[(unsigned char)edits.p[2] % text->len] = edits.p[3];
    }
}

static void use_rows(const struct restore_check *check)
{
    struct response_restore restore;
    struct buf out = {.limit = 0};
    struct replay p;
    struct err e;

    if (restore_check_rows(check, check->n_rows, &restore)) {
        replay_init(&p);
        (void)replay_events(&p, &restore.response, buf_str(&restore.response.cuts.bytes),
                            UINT64_MAX, -1, true, SIZE_MAX, &out);
        err_set(&e, ERR_INTERNAL, "x");
        response_fail(&restore.response, &e, &out);
        response_end(&restore.response, &out);
        fuzz_promise(restore.response.next_sequence_number == restore.response.cuts.n,
                     "every event has a cut");
    }
    response_fini(&restore.response);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const uint8_t options = n == 0 ? 0 : bytes[0];
    const size_t piece = n < 2 ? 1 : 1 + bytes[1] % 64;
    str edits = str_skip(fuzz_input(bytes, n), 1);
    const str body = str_cut(&edits, '\x1D');
    struct restore_check check;

    restore_check_init(&check, is_interleaved(options) ? event_check_interleaved : event_check);
    record(body, options, piece, &check);
    fuzz_promise(check.fault == NULL, check.fault == NULL ? "" : check.fault);
    if (check.n_rows > 0 && edits.len > 0) {
        edit_rows(&check, edits);
        use_rows(&check);
    }
    restore_check_fini(&check);
    return 0;
}
