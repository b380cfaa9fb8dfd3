/* fuzz_ws.c -- any bytes behind a handshake: the messages are the same however the network cuts
 * them, valid UTF-8, and never longer than allowed. */
#include "fuzz/fuzz.h"

#include "base/utf8.h"
#include "lib/fixture.h"
#include "net/ws.h"

enum { MAX_TEXT = 300, MAX_CUTS = 256 };

struct reading {
    struct ws ws;
    struct buf log;
};

static void log_text(void *arg, str text)
{
    struct reading *r = arg;

    fuzz_promise(!r->ws.is_over && !r->ws.in_message, "a message ends before it is reported");
    fuzz_promise(utf8_is_valid(text), "a message is valid UTF-8");
    fuzz_promise(text.len <= MAX_TEXT, "a message keeps the limit");
    buf_char(&r->log, 'T');
    buf_append(&r->log, text);
    buf_char(&r->log, '\n');
}

static void log_ping(void *arg, str payload)
{
    struct reading *r = arg;

    fuzz_promise(payload.len <= WS_CONTROL_BYTES, "a ping keeps the limit");
    buf_char(&r->log, 'P');
    buf_append(&r->log, payload);
    buf_char(&r->log, '\n');
}

static const struct ws_handler handler = {log_text, log_ping};

static void feed(void *arg, str piece)
{
    struct reading *r = arg;
    bool was_over = r->ws.is_over;
    size_t logged = r->log.len;

    (void)ws_feed(&r->ws, piece);
    fuzz_promise(!was_over || r->log.len == logged, "nothing is reported behind the end");
    fuzz_promise(!r->ws.is_over || (r->ws.frames == NULL && r->ws.text.p == NULL),
                 "nothing is kept behind the end");
    fuzz_promise(r->ws.text.len <= MAX_TEXT, "no more is kept than a message may have");
    fuzz_promise(!ws_is_idle(&r->ws) || r->ws.text.p == NULL, "nothing is kept between messages");
}

static struct buf read_all(str bytes, struct cutting cutting)
{
    struct reading r = {.log = {.limit = 0}};

    ws_init(&r.ws, MAX_TEXT, &handler, &r);
    feed_pieces(bytes, cutting, feed, &r);
    if (r.ws.is_over)
        buf_uint(&r.log, r.ws.is_closed ? 0 : (uint64_t)r.ws.code);
    else
        buf_c(&r.log, ws_is_idle(&r.ws) ? "open" : "within");
    ws_fini(&r.ws);
    return r.log;
}

static void check_cut(str bytes, struct cutting cutting, str whole)
{
    struct buf log = read_all(bytes, cutting);

    fuzz_promise(str_eq(buf_str(&log), whole), "the same messages, however they are cut");
    buf_fini(&log);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str input = fuzz_input(bytes, n);
    struct buf whole = read_all(input, UNCUT);

    check_cut(input, BYTE_BY_BYTE, buf_str(&whole));
    for (size_t i = 1; i < n && i < MAX_CUTS; i++)
        check_cut(input, CUT_AT(i), buf_str(&whole));
    buf_fini(&whole);
    return 0;
}
