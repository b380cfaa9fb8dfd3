/* fuzz_ws_message.c -- any text as a message of a client, and as the frames of a stream: what is read of it
 * lies in it, and what is answered is one JSON object that ends with its lane. */
#include "fuzz/fuzz.h"

#include "front/ws_message.h"
#include "json/json_read.h"

static bool lies_in(str view, str text)
{
    return str_is_none(view) || (view.p >= text.p && view.p + view.len <= text.p + text.len);
}

static void check_answer(struct buf *answer, const struct ws_message *m)
{
    const str stream_id = jr_member_string(buf_str(answer), STR("stream_id"));

    fuzz_promise(jr_type_of(buf_str(answer)) == JR_OBJECT && jr_is_valid(buf_str(answer)),
                 "an answer is a JSON object");
    fuzz_promise(str_is_none(m->stream_id) ? str_is_none(stream_id)
                                           : str_eq(stream_id, m->stream_id),
                 "an answer is of its lane");
    buf_fini(answer);
}

static void check_message(str text)
{
    struct buf answer = {.limit = 0};
    struct ws_message m;
    struct err e;
    const bool is_good = ws_message_read(text, &m, &e) == 0;

    fuzz_promise(lies_in(m.stream_id, text) && lies_in(m.previous_response_id, text) &&
                     lies_in(m.input, text),
                 "what is read of a message lies in it");
    fuzz_promise(m.stream_id.len <= 256, "a name of a lane is short");
    if (!is_good) {
        fuzz_promise(err_http_status(&e) == 400, "the client is wrong");
        ws_message_error(&e, m.stream_id, &answer);
        check_answer(&answer, &m);
    } else if (m.type == WS_MESSAGE_STEER && !str_is_none(m.previous_response_id)) {
        ws_message_steer_failed(&m, text.len % 2 == 0, &answer);
        check_answer(&answer, &m);
    }
}

static void check_frames(str frames)
{
    const str all = frames;
    str event;

    while (ws_message_next_event(&frames, &event)) {
        fuzz_promise(lies_in(event, all), "an event lies in its frames");
        fuzz_promise(event.len == 0 || event.p[0] == '{', "an event is an object");
        fuzz_promise(lies_in(ws_message_response_id(event), all), "an id lies in its event");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const str text = fuzz_input(bytes, n);

    check_message(text);
    check_frames(text);
    return 0;
}
