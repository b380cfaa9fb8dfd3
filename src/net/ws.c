/* ws.c -- wslay's frames made into messages, and what wslay leaves to its user.
 *
 * wslay_frame_recv() (1.1.1, lib/wslay_frame.c) takes a head apart, takes the mask off, and refuses by
 * itself: control frames that are fragmented or longer than 125 bytes, lengths in more bytes than
 * they need, and lengths of 64 bits. It hands on unseen, and is made up for here: frames without a
 * mask, reserved bits, unknown opcodes, the order of fragments, the size of a message, UTF-8 across
 * frames, and all that a close frame may say.
 *
 * The event layer above it (lib/wslay_event.c) is not used. It allocates what a head announces
 * before a byte of it has come, without looking whether there was memory; it keeps each fragment in
 * two allocations, so that a message of one-byte fragments takes a hundred times its size; nothing
 * of that counts in our budget; and it knows no close code above 1011, though 1012 to 1014 are
 * registered since. Its context takes another 4 KiB in each direction.
 *
 * wslay tells of a frame together with its first bytes, so a head alone is not judged before one
 * byte more has come. Of a frame context it cannot be asked whether it holds part of a head: what
 * it was given is counted against what it has told of. Thus the context, 4 KiB with its buffer, can go
 * between two frames. Frames of ours are whole and have no mask: their head is a few bytes, for
 * which no context is needed. */
#include "net/ws.h"

#include <assert.h>
#include <stdlib.h>

#include <wslay/wslay.h>

#include "base/budget.h"
#include "base/utf8.h"

enum {
    FRAMES_BYTES = 4400, /* of a frame context, for the budget */
    SHORT_LENGTH = 125,  /* lengths up to here stand in the second byte, ... */
    LENGTH_16 = 126,     /* ... this says that two bytes of it follow, ... */
    LENGTH_64 = 127,     /* ... this that eight do */
    LONGEST_CHARACTER = 4,
};

void ws_init(struct ws *ws, size_t max_text_bytes, const struct ws_handler *handler, void *arg)
{
    *ws = (struct ws){.handler = handler, .arg = arg, .max_text = max_text_bytes, .reason = ""};
}

static void free_frames(struct ws *ws)
{
    if (ws->frames == NULL)
        return;
    wslay_frame_context_free(ws->frames);
    budget_give(FRAMES_BYTES);
    ws->frames = NULL;
}

void ws_fini(struct ws *ws)
{
    free_frames(ws);
    buf_fini(&ws->text);
}

bool ws_is_idle(const struct ws *ws)
{
    return ws->frames == NULL && !ws->in_message;
}

size_t ws_text_bytes(const struct ws *ws)
{
    return ws->text.len;
}

void ws_take_text(struct ws *ws, struct buf *ret)
{
    *ret = ws->text;
    ws->text = (struct buf){.limit = 0};
}

void ws_stop(struct ws *ws)
{
    ws->is_stopped = true;
}

static void end_reading(struct ws *ws, enum ws_code code, const char *reason)
{
    ws->is_over = true;
    ws->code = code;
    ws->reason = reason;
}

/* ---- wslay's frames */

static ssize_t give_input(uint8_t *to, size_t room, int flags, void *arg)
{
    struct ws *ws = arg;
    size_t n = ws->input.len < room ? ws->input.len : room;

    (void)flags;
    if (n == 0)
        return 0; /* wslay asks again in the next call */
    memcpy(to, ws->input.p, n);
    ws->input = str_skip(ws->input, n);
    ws->n_given += n;
    return (ssize_t)n;
}

static bool make_frames(struct ws *ws)
{
    static const struct wslay_frame_callbacks callbacks = {.recv_callback = give_input};

    if (ws->frames != NULL)
        return true;
    if (!budget_take(FRAMES_BYTES))
        return false;
    if (wslay_frame_context_init(&ws->frames, &callbacks, ws) == 0)
        return true;
    ws->frames = NULL;
    budget_give(FRAMES_BYTES);
    return false;
}

/* The length of a frame's head; no length is written in more bytes than it needs. */
static size_t head_bytes(const struct wslay_frame_iocb *f)
{
    size_t length = f->payload_length <= SHORT_LENGTH ? 0 : f->payload_length <= UINT16_MAX ? 2 : 8;

    return 2 + length + (f->mask != 0 ? 4 : 0);
}

/* ---- what a frame may be */

static bool is_control(unsigned opcode)
{
    return (opcode & 8) != 0;
}

/* Why a frame breaks a rule of the protocol; NULL when it does not. */
static const char *frame_fault(const struct ws *ws, const struct wslay_frame_iocb *f)
{
    if (f->mask == 0)
        return "Frames of a client must be masked.";
    if (f->rsv != 0)
        return "A reserved bit is set, but no extension was agreed on.";
    switch (f->opcode) {
    case WS_CONTINUATION:
        return ws->in_message ? NULL : "A continuation frame came, but no message had begun.";
    case WS_TEXT:
    case WS_BINARY:
        return ws->in_message ? "A message began within another one." : NULL;
    case WS_CLOSE:
    case WS_PING:
    case WS_PONG:
        return NULL;
    default:
        return "The opcode of a frame is reserved.";
    }
}

/* Judges a frame by its head. */
static void begin_frame(struct ws *ws, const struct wslay_frame_iocb *f)
{
    const char *fault = frame_fault(ws, f);

    ws->n_given -= head_bytes(f);
    ws->frame_left = f->payload_length;
    ws->opcode = f->opcode;
    ws->is_final = f->fin != 0;
    if (fault != NULL) {
        end_reading(ws, WS_PROTOCOL_ERROR, fault);
    } else if (is_control(f->opcode)) {
        ws->n_control = 0;
    } else if (f->opcode == WS_BINARY) {
        end_reading(ws, WS_UNSUPPORTED_DATA, "Messages are JSON in text frames, not binary.");
    } else {
        ws->in_message = true;
        if (f->payload_length > ws->max_text - ws->text.len)
            end_reading(ws, WS_TOO_LARGE, "The message is longer than max_body allows.");
    }
}

/* ---- messages */

/* Can a character begin like this? Of the bytes that may follow, one of the two ends of their range
 * always fits. */
static bool may_be_character(str begun)
{
    static const char ends[] = {'\x80', '\xBF'};

    for (size_t i = 0; i < sizeof(ends); i++) {
        char c[LONGEST_CHARACTER];

        memset(c, ends[i], sizeof(c));
        memcpy(c, begun.p, begun.len);
        if (utf8_char(str_from(c, sizeof(c))) > begun.len)
            return true;
    }
    return false;
}

/* Is the text so far the beginning of a valid one? */
static bool text_is_valid(struct ws *ws)
{
    str rest = str_skip(buf_str(&ws->text), ws->n_valid);
    size_t n = utf8_valid_prefix(rest);

    ws->n_valid += n;
    rest = str_skip(rest, n);
    return rest.len == 0 || (rest.len < LONGEST_CHARACTER && may_be_character(rest));
}

static void add_text(struct ws *ws, str piece)
{
    enum budget_use before;

    if (ws->is_stopped)
        return;
    before = budget_use_for(BUDGET_NEW_WORK);
    buf_append(&ws->text, piece);
    (void)budget_use_for(before);
    if (buf_failed(&ws->text))
        end_reading(ws, WS_INTERNAL_ERROR, "There is no memory for the message.");
    else if (!text_is_valid(ws))
        end_reading(ws, WS_INVALID_TEXT, "A message is not valid UTF-8.");
}

static void end_message(struct ws *ws)
{
    bool is_whole = ws->n_valid == ws->text.len;

    ws->in_message = false;
    ws->n_valid = 0;
    if (!is_whole)
        end_reading(ws, WS_INVALID_TEXT, "A message ends within a character.");
    else if (!ws->is_stopped)
        ws->handler->on_text(ws->arg, buf_str(&ws->text));
    buf_fini(&ws->text);
}

/* ---- control frames */

/* Codes that an endpoint may send: those of RFC 6455, 7.4.1 and of the registry that it opened
 * (1012 to 1014), and the ranges of 7.4.2 for libraries and applications. */
static bool is_close_code(unsigned code)
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

static void read_close(struct ws *ws)
{
    const unsigned char *p = (const unsigned char *)ws->control;
    str reason = str_skip(str_from(ws->control, ws->n_control), 2);

    if (ws->n_control == 1)
        end_reading(ws, WS_PROTOCOL_ERROR, "A close frame holds half a status code.");
    else if (ws->n_control > 0 && !is_close_code(((unsigned)p[0] << 8) | p[1]))
        end_reading(ws, WS_PROTOCOL_ERROR, "A close frame has a status code that none may have.");
    else if (!utf8_is_valid(reason))
        end_reading(ws, WS_INVALID_TEXT, "The reason in a close frame is not valid UTF-8.");
    else
        end_reading(ws, WS_NORMAL, "");
    ws->is_closed = ws->code == WS_NORMAL;
}

static void end_control(struct ws *ws)
{
    if (ws->opcode == WS_CLOSE)
        read_close(ws);
    else if (ws->opcode == WS_PING && !ws->is_stopped)
        ws->handler->on_ping(ws->arg, str_from(ws->control, ws->n_control));
}

/* ---- */

static void read_payload(struct ws *ws, str piece)
{
    ws->n_given -= piece.len;
    ws->frame_left -= piece.len;
    if (is_control(ws->opcode)) {
        assert(piece.len <= sizeof(ws->control) - ws->n_control); /* wslay has seen to that */
        memcpy(ws->control + ws->n_control, piece.p, piece.len);
        ws->n_control = (unsigned char)(ws->n_control + piece.len);
    } else if (piece.len > 0) {
        add_text(ws, piece);
    }
    if (ws->frame_left > 0 || ws->is_over)
        return;
    if (is_control(ws->opcode))
        end_control(ws);
    else if (ws->is_final)
        end_message(ws);
}

/* Reads what wslay has of one frame. False when it needs more bytes, or the connection is over. */
static bool read_piece(struct ws *ws)
{
    struct wslay_frame_iocb piece = {.fin = 0};
    ssize_t n = wslay_frame_recv(ws->frames, &piece);

    if (n == WSLAY_ERR_WANT_READ)
        return false;
    if (n < 0) {
        end_reading(ws, WS_PROTOCOL_ERROR,
                    "The head of a frame is malformed: a control frame that is long or fragmented, "
                    "or a length in the wrong form.");
        return false;
    }
    if (ws->frame_left == 0)
        begin_frame(ws, &piece);
    if (!ws->is_over)
        read_payload(ws, str_from((const char *)piece.data, (size_t)n));
    return !ws->is_over;
}

bool ws_feed(struct ws *ws, str bytes)
{
    if (ws->is_over || bytes.len == 0)
        return !ws->is_over;
    if (!make_frames(ws)) {
        end_reading(ws, WS_INTERNAL_ERROR, "There is no memory for the message.");
        return false;
    }
    ws->input = bytes;
    while (read_piece(ws))
        ;
    ws->input = STR("");
    if (ws->is_over)
        buf_fini(&ws->text);
    if (ws->is_over || (ws->n_given == 0 && ws->frame_left == 0))
        free_frames(ws);
    return !ws->is_over;
}

/* ---- our frames */

size_t ws_frame_head(enum ws_opcode opcode, uint64_t n, char head[WS_HEAD_BYTES])
{
    size_t length = n <= SHORT_LENGTH ? 0 : n <= UINT16_MAX ? 2 : 8;

    head[0] = (char)(0x80 | (unsigned)opcode);
    head[1] = (char)(length == 0 ? n : length == 2 ? LENGTH_16 : LENGTH_64);
    for (size_t i = 0; i < length; i++)
        head[2 + i] = (char)(unsigned char)(n >> (8 * (length - 1 - i)));
    return 2 + length;
}

size_t ws_close_payload(enum ws_code code, str reason, char payload[WS_CONTROL_BYTES])
{
    size_t n = utf8_cut(reason, WS_CONTROL_BYTES - 2);

    payload[0] = (char)((unsigned)code >> 8);
    payload[1] = (char)((unsigned)code & 0xFF);
    memcpy(payload + 2, reason.p, n);
    return 2 + n;
}
