/* chat_speech.c -- text, refusal and reasoning of a chunk, in all their places.
 *
 * One splice is enough for the three: what has begun as one kind of text and
 * goes on as another cannot share a character. */
#include "wire/chat_speech.h"

#include "json/json_read.h"

static void report(struct chat_reader *r, enum delta_kind kind, str text)
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
    report(r, r->spliced, buf_str(&r->piece));
}

void chat_speak(struct chat_reader *r, enum delta_kind kind, str escaped)
{
    if (escaped.len == 0)
        return;
    if (r->splice.high != 0 && r->spliced != kind)
        chat_speech_flush(r);
    r->spliced = kind;
    if (json_text_splices_as_is(&r->splice, escaped)) {
        report(r, kind, escaped);
        return;
    }
    r->piece.len = 0;
    json_text_splice(&r->splice, escaped, &r->piece);
    report(r, kind, buf_str(&r->piece));
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
        report(r, kind, buf_str(escaped));
    } else {
        d.text = buf_str(escaped);
        r->on_delta(r->arg, &d);
    }
}

void chat_say_item_end(struct chat_reader *r)
{
    r->on_delta(r->arg, &(const struct delta){.kind = DELTA_ITEM_END});
}

/* ---- content as a list of parts */

/* `thinking` of Mistral: a string or a list of text parts. */
static void read_thinking(struct chat_reader *r, str raw)
{
    struct jr j;
    str key;

    jr_init(&j, raw);
    if (jr_type_of(raw) == JR_STRING) {
        chat_speak(r, DELTA_REASONING, jr_string(&j));
        return;
    }
    if (!jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j)) {
        if (!jr_enter(&j, JR_OBJECT))
            continue;
        while (jr_next_member(&j, &key)) {
            if (str_eq(key, STR("text")))
                chat_speak(r, DELTA_REASONING, jr_string(&j));
            else
                jr_skip(&j);
        }
    }
}

static void read_part(struct chat_reader *r, struct jr *j)
{
    str key, type = STR_NONE, text = STR_NONE, thinking = STR_NONE;

    if (!jr_enter(j, JR_OBJECT))
        return;
    while (jr_next_member(j, &key)) {
        if (str_eq(key, STR("type")))
            type = jr_string(j);
        else if (str_eq(key, STR("text")))
            text = jr_string(j);
        else if (str_eq(key, STR("thinking")))
            thinking = jr_raw(j);
        else
            jr_skip(j);
    }
    if (str_eq(type, STR("thinking")))
        read_thinking(r, thinking);
    else if (str_eq(type, STR("text")) || str_eq(type, STR("output_text")))
        chat_speak_text(r, text);
}

void chat_speak_content(struct chat_reader *r, str raw)
{
    struct jr j;

    jr_init(&j, raw);
    if (jr_type_of(raw) == JR_STRING) {
        chat_speak_text(r, jr_string(&j));
    } else if (jr_enter(&j, JR_ARRAY)) {
        while (jr_next_element(&j))
            read_part(r, &j);
    }
}

/* OpenRouter: text, else summary, of every detail. */
void chat_speak_reasoning_details(struct chat_reader *r, str raw)
{
    struct jr j;
    str key;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j)) {
        str text = STR_NONE, summary = STR_NONE;

        if (!jr_enter(&j, JR_OBJECT))
            continue;
        while (jr_next_member(&j, &key)) {
            if (str_eq(key, STR("text")))
                text = jr_string(&j);
            else if (str_eq(key, STR("summary")))
                summary = jr_string(&j);
            else
                jr_skip(&j);
        }
        chat_speak(r, DELTA_REASONING, text.len > 0 ? text : summary);
    }
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
