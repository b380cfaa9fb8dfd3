/* harmony_state.c -- what a marker or a piece of text is, state by state (HARMONY 1.4 to 1.6). */
#include "text/harmony_state.h"

#include "base/utf8.h"
#include "text/harmony_header.h"

enum { MAX_WARNING_BYTES = 120 };

/* ---- memory */

bool harmony_ran_out(struct harmony *h, const struct buf *b)
{
    if (buf_failed(b)) {
        h->out_of_memory = true;
        h->state = HARMONY_DONE;
    }
    return h->out_of_memory;
}

/* The text, which came in one piece, as valid UTF-8: itself, or a copy that dies with the next one.
 * Empty when out of memory. */
static str mended_text(struct harmony *h, str text)
{
    struct utf8_pieces pieces = {.n_begun = 0};

    if (utf8_is_valid(text))
        return text;
    buf_reset(&h->mended);
    utf8_pieces_add(&pieces, text, &h->mended);
    utf8_pieces_end(&pieces, &h->mended);
    return harmony_ran_out(h, &h->mended) ? STR("") : buf_str(&h->mended);
}

void harmony_warn(struct harmony *h, const char *what, str text)
{
    text = mended_text(h, text);
    text.len = utf8_cut(text, MAX_WARNING_BYTES);
    if (!h->out_of_memory)
        h->handler->on_warning(h->arg, what, text);
}

static void drop_stray(struct harmony *h, str text)
{
    text = str_trim(text);
    if (text.len > 0)
        harmony_warn(h, "stray text dropped", text);
}

/* ---- messages */

/* A message without a channel is an answer, as one on final is. */
static bool ends_turn_on_return(const struct harmony_header *header)
{
    return header->recipient.len > 0 || header->channel == HARMONY_FINAL ||
           header->channel == HARMONY_NO_CHANNEL;
}

void harmony_begin_message(struct harmony *h, const struct harmony_header *header)
{
    h->is_last = ends_turn_on_return(header);
    h->state = HARMONY_IN_CONTENT;
    h->handler->on_message(h->arg, header);
}

static void begin_header(struct harmony *h, bool is_explicit)
{
    h->held.len = 0;
    h->is_explicit = is_explicit;
    h->state = HARMONY_IN_HEADER;
}

/* Leaves a message, or a header that ended without one. */
static void leave_message(struct harmony *h, enum harmony_end by)
{
    bool is_over = by == HARMONY_END_OF_STREAM || by == HARMONY_END_OF_TEXT ||
                   (by == HARMONY_RETURN && h->is_last);

    h->held.len = 0;
    h->state = is_over ? HARMONY_DONE : HARMONY_BETWEEN;
}

/* ---- IN_CONTENT */

static void report_mended(struct harmony *h)
{
    if (!harmony_ran_out(h, &h->mended) && h->mended.len > 0)
        h->handler->on_content(h->arg, buf_str(&h->mended));
}

static void take_content_text(struct harmony *h, str text)
{
    size_t n = h->whole.n_begun == 0 ? utf8_valid_prefix(text) : 0;

    if (n > 0)
        h->handler->on_content(h->arg, str_from(text.p, n));
    if (n == text.len)
        return;
    buf_reset(&h->mended);
    utf8_pieces_add(&h->whole, str_skip(text, n), &h->mended);
    report_mended(h);
}

static void end_message(struct harmony *h, enum harmony_end by)
{
    buf_reset(&h->mended);
    utf8_pieces_end(&h->whole, &h->mended);
    report_mended(h);
    if (h->out_of_memory)
        return;
    h->handler->on_end(h->arg, by);
    leave_message(h, by);
}

/* ---- IN_HEADER */

static struct harmony_header_source header_source(struct harmony *h)
{
    return (struct harmony_header_source){.text = mended_text(h, buf_str(&h->held)),
                                          .is_explicit = h->is_explicit,
                                          .handler = h->handler,
                                          .arg = h->arg};
}

static void cut_off_turn(struct harmony *h)
{
    h->is_cut_off = true;
    h->state = HARMONY_DONE;
    harmony_warn(h, "non-assistant author: rest ignored", STR(""));
}

static void end_header(struct harmony *h)
{
    const struct harmony_header_source source = header_source(h);
    struct harmony_header header;
    bool is_odd;

    if (h->out_of_memory)
        return;
    header = harmony_header_read(&source, &is_odd);
    if (!header.is_assistant) {
        cut_off_turn(h);
        return;
    }
    if (is_odd && header.channel != HARMONY_OTHER_CHANNEL)
        harmony_warn(h, "channel repaired", STR(""));
    harmony_begin_message(h, &header);
    h->held.len = 0;
}

/* Saves the message in a header that ended without <|message|>. */
static void rescue_message(struct harmony *h, enum harmony_end by)
{
    const struct harmony_header_source source = header_source(h);
    struct harmony_header header;
    str content;

    if (h->out_of_memory)
        return;
    content = harmony_header_rescue(&source, by == HARMONY_END_OF_STREAM, &header);
    if (!header.is_assistant && by != HARMONY_END_OF_STREAM) { /* else the word may be half */
        cut_off_turn(h);
        return;
    }
    if (str_trim_start(source.text).len > 0)
        harmony_warn(h, "header without <|message|>", STR(""));
    h->is_last = ends_turn_on_return(&header);
    if (header.is_assistant && content.len > 0) {
        harmony_begin_message(h, &header);
        h->handler->on_content(h->arg, content);
        h->handler->on_end(h->arg, by);
    }
    leave_message(h, by);
}

static void take_header_text(struct harmony *h, str text)
{
    if (text.len <= HARMONY_MAX_HEADER_BYTES - h->held.len) {
        buf_append(&h->held, text);
        (void)harmony_ran_out(h, &h->held);
        return;
    }
    harmony_warn(h, "header too long", STR(""));
    h->held.len = 0;
    h->is_dropping = true;
    h->state = HARMONY_BETWEEN;
}

/* ---- BETWEEN */

static void take_stray_text(struct harmony *h, str text)
{
    size_t room = HARMONY_MAX_HEADER_BYTES - h->held.len;

    if (h->held.len == 0)
        text = str_trim_start(text);
    if (h->is_dropping)
        return;
    buf_append(&h->held, str_from(text.p, text.len < room ? text.len : room));
    if (harmony_ran_out(h, &h->held) || text.len <= room)
        return;
    drop_stray(h, buf_str(&h->held));
    h->held.len = 0;
    h->is_dropping = true;
}

static bool begins_with_channel(str text)
{
    str word = harmony_header_word(&text);

    return word.len > 0 && harmony_channel_of(word) != HARMONY_OTHER_CHANNEL;
}

/* Position in stray text where a header begins, without its <|start|>: at the last `assistant`, or
 * at a channel that opens the text, or else at a recipient. The end of the text when there is none. */
static size_t header_in(str text, bool has_channel)
{
    size_t assistant = text.len, recipient = text.len;
    str rest = text, word;

    while ((word = harmony_header_word(&rest)).len > 0) {
        size_t at = (size_t)(word.p - text.p);

        if (harmony_header_is_assistant(word))
            assistant = at;
        else if (recipient == text.len && str_starts_with(word, STR("to=")))
            recipient = at;
    }
    if (assistant < text.len)
        return assistant;
    return !has_channel && begins_with_channel(text) ? 0 : recipient;
}

/* The words of the header that begins at `at`, without `assistant`. */
static str words_from(str text, size_t at)
{
    str words = str_skip(text, at), rest = words;

    return harmony_header_is_assistant(harmony_header_word(&rest)) ? rest : words;
}

/* A marker that only a header has: its beginning is missing, or part of the stray text. */
static void resume_header(struct harmony *h, enum harmony_marker marker)
{
    bool has_channel = marker == HARMONY_MARKER_CHANNEL;
    struct buf held = h->held;
    str text = buf_str(&held);
    size_t at = header_in(text, has_channel);
    str words = words_from(text, at);

    h->held = (struct buf){.limit = 0};
    drop_stray(h, str_from(text.p, at));
    if (!h->out_of_memory && (has_channel || at < text.len)) {
        has_channel = has_channel || !begins_with_channel(words);
        harmony_warn(h, has_channel ? "missing start" : "missing start+channel", STR(""));
        begin_header(h, false);
        if (!has_channel)
            take_header_text(h, STR(HARMONY_CHANNEL_MARKER));
        take_header_text(h, words);
    }
    buf_fini(&held);
}

/* ---- markers and what is between them */

/* How each marker closes a message. */
static const enum harmony_end ends[] = {
    [HARMONY_MARKER_START] = HARMONY_IMPLICIT, [HARMONY_MARKER_CHANNEL] = HARMONY_IMPLICIT,
    [HARMONY_MARKER_END] = HARMONY_END,        [HARMONY_MARKER_CALL] = HARMONY_CALL,
    [HARMONY_MARKER_RETURN] = HARMONY_RETURN,  [HARMONY_MARKER_END_OF_TEXT] = HARMONY_END_OF_TEXT,
};

static void take_header_marker(struct harmony *h, enum harmony_marker marker)
{
    if (marker == HARMONY_MARKER_CHANNEL) {
        take_header_text(h, STR(HARMONY_CHANNEL_MARKER));
    } else if (marker == HARMONY_MARKER_CONSTRAIN) {
        take_header_text(h, STR(HARMONY_CONSTRAIN_MARKER));
    } else if (marker == HARMONY_MARKER_MESSAGE) {
        end_header(h);
    } else {
        rescue_message(h, ends[marker]);
        if (marker == HARMONY_MARKER_START && h->state != HARMONY_DONE)
            begin_header(h, true);
    }
}

static void take_between_marker(struct harmony *h, enum harmony_marker marker)
{
    h->is_dropping = false;
    if (marker == HARMONY_MARKER_CHANNEL || marker == HARMONY_MARKER_CONSTRAIN ||
        marker == HARMONY_MARKER_MESSAGE) {
        resume_header(h, marker);
        if (h->state == HARMONY_IN_HEADER)
            take_header_marker(h, marker);
        return;
    }
    drop_stray(h, buf_str(&h->held));
    h->held.len = 0;
    if (h->state == HARMONY_DONE)
        return;
    if (marker == HARMONY_MARKER_START)
        begin_header(h, true);
    else if (marker == HARMONY_MARKER_END_OF_TEXT)
        h->state = HARMONY_DONE;
}

static void take_content_marker(struct harmony *h, enum harmony_marker marker)
{
    end_message(h, ends[marker]);
    if (h->state == HARMONY_BETWEEN &&
        (marker == HARMONY_MARKER_START || marker == HARMONY_MARKER_CHANNEL))
        take_between_marker(h, marker);
}

void harmony_take_marker(struct harmony *h, enum harmony_marker marker)
{
    switch (h->state) {
    case HARMONY_IN_HEADER:
        take_header_marker(h, marker);
        break;
    case HARMONY_IN_CONTENT:
        take_content_marker(h, marker);
        break;
    case HARMONY_BETWEEN:
        take_between_marker(h, marker);
        break;
    case HARMONY_DONE:
        break;
    }
}

void harmony_take_text(struct harmony *h, str text)
{
    if (text.len == 0)
        return;
    switch (h->state) {
    case HARMONY_IN_HEADER:
        take_header_text(h, text);
        break;
    case HARMONY_IN_CONTENT:
        take_content_text(h, text);
        break;
    case HARMONY_BETWEEN:
        take_stray_text(h, text);
        break;
    case HARMONY_DONE:
        break;
    }
}

void harmony_take_end(struct harmony *h)
{
    if (h->state == HARMONY_IN_HEADER)
        rescue_message(h, HARMONY_END_OF_STREAM);
    else if (h->state == HARMONY_IN_CONTENT)
        end_message(h, HARMONY_END_OF_STREAM);
    else if (h->state == HARMONY_BETWEEN)
        drop_stray(h, buf_str(&h->held));
    h->state = HARMONY_DONE;
}
