/* chat_speech.c -- text, refusal and reasoning of a chunk, in all their places.
 *
 * One splice is enough for the three: what has begun as one kind of text and
 * goes on as another cannot share a character. */
#include "wire/chunk/chat_speech.h"

#include "wire/chunk/model_text_feed.h"

static void report_text(struct chat_reader *r, enum delta_kind kind, str text)
{
    struct delta d = {.kind = kind, .text = text};

    if (text.len == 0 || buf_failed(&r->piece) || buf_failed(&r->logprobs))
        return;
    if (kind == DELTA_TEXT)
        d.logprobs = buf_str(&r->logprobs);
    r->on_delta(r->arg, &d);
    if (kind == DELTA_TEXT)
        r->logprobs.len = 0;
}

/* A half character at the end of one kind of text cannot be completed by another kind. */
void chat_speech_flush(struct chat_reader *r)
{
    r->piece.len = 0;
    json_text_splice_end(&r->splice, &r->piece);
    report_text(r, r->spliced, buf_str(&r->piece));
}

void chat_speak(struct chat_reader *r, enum delta_kind kind, str escaped)
{
    if (escaped.len == 0)
        return;
    if (r->splice.high != 0 && r->spliced != kind)
        chat_speech_flush(r);
    r->spliced = kind;
    if (json_text_splices_as_is(&r->splice, escaped)) {
        report_text(r, kind, escaped);
        return;
    }
    r->piece.len = 0;
    json_text_splice(&r->splice, escaped, &r->piece);
    report_text(r, kind, buf_str(&r->piece));
}

/* The text of r->piece is taken apart, which takes plain characters. */
static void feed_decoded(struct chat_reader *r)
{
    struct buf *plain = &r->text.plain;

    plain->len = 0;
    json_text_decode(buf_str(&r->piece), plain);
    if (buf_failed(plain))
        chat_reader_out_of_memory(r);
    else if (plain->len > 0)
        model_text_feed(r, buf_str(plain));
}

/* Most text is plain as it stands there. */
static void speak_model_text(struct chat_reader *r, str escaped)
{
    if (r->splice.high != 0 && r->spliced != DELTA_TEXT)
        chat_speech_flush(r);
    r->spliced = DELTA_TEXT;
    if (json_text_splices_as_is(&r->splice, escaped) &&
        str_find_char(escaped, '\\') == escaped.len) {
        model_text_feed(r, escaped);
        return;
    }
    r->piece.len = 0;
    json_text_splice(&r->splice, escaped, &r->piece);
    feed_decoded(r);
}

void chat_speak_text(struct chat_reader *r, str escaped)
{
    if (escaped.len == 0)
        return;
    if (model_text_is_plain(&r->text) || model_text_opens_plain(&r->text, escaped))
        chat_speak(r, DELTA_TEXT, escaped);
    else
        speak_model_text(r, escaped);
}

void chat_say(struct chat_reader *r, enum delta_kind kind, enum phase phase, str plain)
{
    struct buf *escaped = &r->text.scratch;
    struct delta d = {.kind = kind, .phase = phase};

    escaped->len = 0;
    json_text_escape(plain, escaped);
    if (buf_failed(escaped)) {
        chat_reader_out_of_memory(r);
    } else if (phase == PHASE_NONE) {
        report_text(r, kind, buf_str(escaped));
    } else {
        d.text = buf_str(escaped);
        r->on_delta(r->arg, &d);
    }
}

void chat_say_item_end(struct chat_reader *r)
{
    r->on_delta(r->arg, &(const struct delta){.kind = DELTA_ITEM_END});
}

void chat_speak_either(void *arg, enum delta_kind kind, str escaped)
{
    if (kind == DELTA_TEXT)
        chat_speak_text(arg, escaped);
    else
        chat_speak(arg, kind, escaped);
}

/* Half a character at the end of a text that is taken apart: what it stands for. */
static void end_model_text(struct chat_reader *r)
{
    if (r->spliced == DELTA_TEXT) {
        r->piece.len = 0;
        json_text_splice_end(&r->splice, &r->piece);
        feed_decoded(r);
    }
    model_text_end(r);
}

void chat_speech_end(struct chat_reader *r)
{
    if (!model_text_is_plain(&r->text))
        end_model_text(r);
    chat_speech_flush(r);
}
