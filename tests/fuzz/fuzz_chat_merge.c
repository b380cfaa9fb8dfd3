/* fuzz_chat_merge.c -- whatever the upstream sends in two rounds, in any cutting, the
 * client gets one well-formed stream: frames of JSON, calls numbered without gaps, one
 * role, one finish_reason. And a client's body with tools added is still one JSON object. */
#include "fuzz/fuzz.h"

#include "json/json_read.h"
#include "lib/fixture.h"
#include "wire/loop/chat_loop_request.h"
#include "wire/loop/chat_merge.h"

static const str names[] = {STR_INIT("get_weather"), STR_INIT("mcp__a__b"), STR_INIT("f")};

struct run {
    struct chat_merge merge;
    struct buf out, messages;
    enum chat_round_end end;
};

/* ---- what must be true of a stream */

struct seen {
    int64_t n_calls;
    unsigned n_roles, n_finishes;
};

static void check_calls(str raw, struct seen *seen)
{
    struct jr j;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j)) {
        struct jr index;
        int64_t i;

        jr_init(&index, jr_member(jr_raw(&j), STR("index")));
        i = jr_int(&index, -1);
        fuzz_promise(i >= 0 && i <= seen->n_calls, "calls are numbered without gaps");
        seen->n_calls += i == seen->n_calls ? 1 : 0;
    }
}

static void check_delta(str raw, struct seen *seen)
{
    struct jr j;
    str name;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_OBJECT))
        return;
    while (jr_next_member(&j, &name)) {
        if (str_eq(name, STR("tool_calls")))
            check_calls(jr_raw(&j), seen);
        else if (str_eq(name, STR("role")))
            seen->n_roles += jr_string(&j).len > 0 ? 1 : 0;
        else
            jr_skip(&j);
    }
}

static void check_choice(str raw, struct seen *seen)
{
    struct jr j;
    str name;

    jr_init(&j, jr_member(raw, STR("index")));
    if (jr_int(&j, 0) != 0)
        return;
    seen->n_finishes += jr_member_string(raw, STR("finish_reason")).len > 0 ? 1 : 0;
    jr_init(&j, raw);
    if (!jr_enter(&j, JR_OBJECT))
        return;
    while (jr_next_member(&j, &name)) {
        if (str_eq(name, STR("delta")))
            check_delta(jr_raw(&j), seen);
        else
            jr_skip(&j);
    }
}

/* An error goes on as the upstream wrote it, whatever else it holds. */
static void check_chunk(str json, struct seen *seen)
{
    struct jr j;
    str name;

    jr_init(&j, json);
    if (!str_is_none(jr_member(json, STR("error"))) || !jr_enter(&j, JR_OBJECT))
        return;
    while (jr_next_member(&j, &name)) {
        struct jr choices = j;

        if (str_eq(name, STR("choices")) && jr_enter(&choices, JR_ARRAY)) {
            while (jr_next_element(&choices))
                check_choice(jr_raw(&choices), seen);
        }
        jr_skip(&j);
    }
}

static void check_stream(str out)
{
    struct seen seen = {.n_calls = 0};
    bool is_done = false;

    while (out.len > 0) {
        size_t n = str_find(out, STR("\n\n"));
        str data = str_from(out.p, n);

        fuzz_promise(n < out.len && str_starts_with(data, STR("data: ")) && str_is_one_line(data),
                     "the stream is made of frames");
        data = str_skip(data, strlen("data: "));
        fuzz_promise(!is_done, "nothing follows [DONE]");
        is_done = str_eq(data, STR("[DONE]"));
        fuzz_promise(is_done || jr_is_valid(data), "every frame is JSON");
        check_chunk(data, &seen);
        out = str_skip(out, n + 2);
    }
    fuzz_promise(is_done, "there is a [DONE]");
    fuzz_promise(seen.n_roles <= 1, "the role is said once");
    fuzz_promise(seen.n_finishes <= 1, "there is one finish_reason");
}

/* ---- two rounds with the same bytes */

static void feed(void *arg, str piece)
{
    struct run *r = arg;

    if (!chat_merge_is_over(&r->merge))
        chat_merge_feed(&r->merge, piece, &r->out);
}

static void run_round(struct run *r, str body, struct cutting cutting)
{
    static const struct chat_loop_message_conf message = {.empty_content = CHAT_CONTENT_NULL};
    size_t n = r->messages.len;

    chat_merge_begin(&r->merge);
    feed_pieces(body, cutting, feed, r);
    r->end = chat_merge_end(&r->merge, NULL, &r->out);
    if (r->end != CHAT_ROUND_CALLS)
        return;
    chat_loop_said_write(&r->merge.said, &message, &r->messages);
    fuzz_promise(jr_is_valid(str_skip(buf_str(&r->messages), n)), "what was said is JSON");
}

static void run(struct run *r, str body, uint8_t options, struct cutting cutting)
{
    const struct chat_loop_tools tools = {names, sizeof(names) / sizeof(*names),
                                          (options & 1) != 0};
    struct test_ids ids;
    const struct chat_merge_conf conf = {.tools = &tools,
                                         .ids = &ids.source,
                                         .is_stream = (options & 2) == 0,
                                         .wants_usage = (options & 4) != 0,
                                         .hides_rounds = (options & 8) != 0,
                                         .max_event_bytes = (options & 16) != 0 ? 2000 : 0,
                                         .max_output_bytes = (options & 32) != 0 ? 200 : 0};

    *r = (struct run){.end = CHAT_ROUND_CALLS};
    test_ids_reset(&ids);
    chat_merge_init(&r->merge, &conf);
    for (int i = 0; i < 2 && r->end == CHAT_ROUND_CALLS; i++)
        run_round(r, body, cutting);
    if (r->end == CHAT_ROUND_FAILED && conf.is_stream)
        chat_merge_fail(&r->merge, &r->merge.error, &r->out);
    else if (r->end != CHAT_ROUND_FAILED)
        chat_merge_finish(&r->merge, &r->out);
    if (conf.is_stream && r->end != CHAT_ROUND_CALLS)
        check_stream(buf_str(&r->out));
}

static void run_fini(struct run *r)
{
    chat_merge_fini(&r->merge);
    buf_fini(&r->out);
    buf_fini(&r->messages);
}

static void check_request(str body)
{
    static const struct chat_loop_additions add = {.tools = STR_INIT("{}"),
                                                   .messages = STR_INIT("{},{}"),
                                                   .is_later_round = true,
                                                   .asks_for_usage = true};
    struct chat_loop_request request;
    struct buf out = {.limit = 0};
    struct arena a = {.limit = 0};

    if (chat_loop_request_read(body, &a, &request)) {
        chat_loop_request_write(&request, &add, &out);
        fuzz_promise(jr_is_valid(buf_str(&out)), "a request stays JSON");
    }
    buf_fini(&out);
    arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    uint8_t options = n == 0 ? 0 : bytes[0];
    str body = str_skip(fuzz_input(bytes, n), 1);
    struct run whole, cut;

    run(&whole, body, options, UNCUT);
    run(&cut, body, options, BYTE_BY_BYTE);
    fuzz_promise(whole.end == cut.end && str_eq(buf_str(&whole.out), buf_str(&cut.out)),
                 "any cutting gives the same answer");
    fuzz_promise(str_eq(buf_str(&whole.messages), buf_str(&cut.messages)),
                 "any cutting gives the same messages");
    run_fini(&whole);
    run_fini(&cut);
    check_request(body);
    return 0;
}
