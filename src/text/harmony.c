/* harmony.c -- one state per stretch of the text (HARMONY 1.4):
 *
 *   IN_HEADER    words are held until <|message|> tells that they are all there
 *   IN_CONTENT   passed on at once
 *   BETWEEN      nothing should stand here; what does is a header without its beginning, or stray
 *   DONE         ignored
 *
 * Here the text is cut into markers and what is between them; harmony_state.c decides what either
 * is. Only a `<` can begin a marker: what follows one waits in `pending` until it is a marker or
 * none, which the next 20 bytes tell. So each byte is looked at a limited number of times, and
 * content is looked for `<`, checked for valid UTF-8 and handed on where it stands.
 *
 * The very first bytes are looked at one by one: they tell whether this is Harmony at all. */
#include "text/harmony.h"

#include "text/harmony_marker.h"
#include "text/harmony_state.h"

static struct harmony_match match_marker(const struct harmony *h, str s)
{
    return harmony_marker_match(s, h->state == HARMONY_IN_CONTENT);
}

/* Takes text up to the end of the next marker; returns how many bytes that was. */
static size_t scan_text(struct harmony *h, str bytes)
{
    struct harmony_match m = {.match = TEXT_DIFFERS};
    size_t at = str_find_char(bytes, '<');

    while (at < bytes.len && (m = match_marker(h, str_skip(bytes, at))).match == TEXT_DIFFERS)
        at += 1 + str_find_char(str_skip(bytes, at + 1), '<');
    harmony_take_text(h, str_from(bytes.p, at));
    bytes = str_skip(bytes, at);
    if (m.match == TEXT_MATCHES) {
        harmony_take_marker(h, m.marker);
        return at + m.len;
    }
    if (bytes.len > 0)
        memcpy(h->pending, bytes.p, bytes.len); /* shorter than the longest marker */
    h->n_pending = bytes.len;
    return at + bytes.len;
}

/* Adds one byte to what may be a marker; returns how many bytes that took. */
static size_t scan_pending(struct harmony *h, char c)
{
    char settled[sizeof(h->pending)];
    size_t n = h->n_pending + 1;
    struct harmony_match m;

    memcpy(settled, h->pending, h->n_pending);
    settled[h->n_pending] = c;
    m = match_marker(h, str_from(settled, n));
    if (m.match == TEXT_MAY_MATCH) {
        h->pending[h->n_pending++] = c;
        return 1;
    }
    h->n_pending = 0;
    if (m.match == TEXT_MATCHES) {
        harmony_take_marker(h, m.marker);
        harmony_take_text(h, str_skip(str_from(settled, n), m.len));
        return 1;
    }
    harmony_take_text(h, str_from(settled, n - 1));
    return 0; /* this byte may begin another one */
}

static void scan_bytes(struct harmony *h, str bytes)
{
    while (bytes.len > 0 && h->state != HARMONY_DONE)
        bytes =
            str_skip(bytes, h->n_pending > 0 ? scan_pending(h, bytes.p[0]) : scan_text(h, bytes));
}

/* ---- what the text opens with */

enum opening { OPENS_UNDECIDED, OPENS_HARMONY, OPENS_BARE };

static bool ends_role(char c)
{
    return str_is_space(c) || c == '<' || c == ':';
}

static enum opening opening_of(str s)
{
    static const str assistant = STR_INIT("assistant");

    if (str_starts_with(s, STR("<|")) || str_starts_with(s, STR("to=")))
        return OPENS_HARMONY;
    if (s.len > assistant.len && str_starts_with(s, assistant) && ends_role(s.p[assistant.len]))
        return OPENS_HARMONY;
    if (str_starts_with(STR("<|"), s) || str_starts_with(STR("to="), s) ||
        str_starts_with(assistant, s))
        return OPENS_UNDECIDED;
    return OPENS_BARE;
}

/* Reads the opening that was held back until it was known. */
static void open_text(struct harmony *h, bool is_bare)
{
    static const struct harmony_header answer = {.is_assistant = true,
                                                 .role = STR_INIT("assistant"),
                                                 .channel = HARMONY_NO_CHANNEL,
                                                 .recipient = STR_INIT(""),
                                                 .content_type = STR_INIT("")};
    struct buf held = h->held;

    h->held = (struct buf){.limit = 0};
    h->is_opened = true;
    if (is_bare) {
        harmony_warn(h, "bare text", STR(""));
        harmony_begin_message(h, &answer);
    }
    scan_bytes(h, buf_str(&held));
    buf_fini(&held);
}

/* Takes bytes until the opening is known; returns the rest. */
static str feed_opening(struct harmony *h, str bytes)
{
    while (bytes.len > 0 && !h->is_opened && h->state != HARMONY_DONE) {
        enum opening opening;

        if (h->held.len == h->n_space && str_is_space(bytes.p[0]))
            h->n_space++;
        buf_char(&h->held, bytes.p[0]);
        bytes = str_skip(bytes, 1);
        if (harmony_ran_out(h, &h->held))
            break;
        opening = opening_of(str_skip(buf_str(&h->held), h->n_space));
        if (opening != OPENS_UNDECIDED || h->n_space > HARMONY_MAX_HEADER_BYTES)
            open_text(h, opening == OPENS_BARE);
    }
    return bytes;
}

/* Ends a text whose opening is not known yet. */
static void finish_opening(struct harmony *h)
{
    str s = str_skip(buf_str(&h->held), h->n_space);

    if (s.len == 0 || str_eq(s, STR("assistant")))
        h->is_opened = true;
    else
        open_text(h, true);
}

/* ---- public */

void harmony_init(struct harmony *h, const struct harmony_handler *handler, void *arg)
{
    *h = (struct harmony){.handler = handler, .arg = arg};
}

void harmony_fini(struct harmony *h)
{
    buf_fini(&h->held);
    buf_fini(&h->mended);
}

void harmony_expect_start(struct harmony *h)
{
    h->is_opened = true;
    h->state = HARMONY_BETWEEN;
}

void harmony_begin_content(struct harmony *h, const struct harmony_header *header)
{
    h->is_opened = true;
    harmony_begin_message(h, header);
}

bool harmony_feed(struct harmony *h, str bytes)
{
    if (h->state == HARMONY_DONE)
        return !h->out_of_memory;
    scan_bytes(h, feed_opening(h, bytes));
    return !h->out_of_memory;
}

bool harmony_finish(struct harmony *h)
{
    if (!h->is_opened && h->state != HARMONY_DONE)
        finish_opening(h);
    if (h->state == HARMONY_IN_CONTENT)
        harmony_take_text(h, str_from(h->pending, h->n_pending)); /* it became no marker */
    harmony_take_end(h);
    return !h->out_of_memory;
}
