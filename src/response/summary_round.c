/* summary_round.c -- gathers what the model says in answer to the question for a summary. */
#include "response/summary_round.h"

#include "json/json_text.h"

/* The model's messages are paragraphs of one text. */
static void add_text(struct summary_round *s, str text)
{
    if (s->is_between && s->text.len > 0)
        buf_append(&s->text, STR("\\n\\n"));
    s->is_between = false;
    buf_append(&s->text, text);
}

static void on_delta(void *arg, const struct delta *d)
{
    struct summary_round *s = arg;

    s->n_deltas++;
    switch (d->kind) {
    case DELTA_TEXT:
        add_text(s, d->text);
        break;
    case DELTA_ITEM_END:
        s->is_between = true;
        break;
    case DELTA_CALL:
        s->has_call = true;
        break;
    case DELTA_REASONING:
        s->n_reasoning++;
        break;
    case DELTA_REFUSAL: /* no summary */
    case DELTA_CITATION:
        break;
    }
    if (buf_failed(&s->text))
        chat_stream_stop(&s->stream);
}

void summary_round_init(struct summary_round *s, const struct chat_stream_conf *conf,
                        size_t max_bytes)
{
    *s = (struct summary_round){.has_call = false};
    buf_init(&s->text, max_bytes);
    chat_stream_init(&s->stream, conf, on_delta, s);
}

void summary_round_fini(struct summary_round *s)
{
    chat_stream_fini(&s->stream);
    buf_fini(&s->text);
}

bool summary_round_is_over(const struct summary_round *s)
{
    return buf_failed(&s->text) || chat_stream_is_over(&s->stream);
}

bool summary_round_is_cut_off(const struct summary_round *s)
{
    return buf_failed(&s->text) || model_text_is_cut_off(&s->stream.reader.text);
}

void summary_round_feed(struct summary_round *s, str bytes)
{
    const size_t n_before = s->n_deltas;

    if (summary_round_is_over(s))
        return;
    chat_stream_feed(&s->stream, bytes);
    if (s->n_deltas != n_before) {
        s->quiet_bytes = 0;
        return;
    }
    s->quiet_bytes += bytes.len;
    chat_stream_limit_quiet(&s->stream, s->quiet_bytes);
}

struct chat_result summary_round_end(struct summary_round *s, const struct err *failure)
{
    struct chat_result result = chat_stream_end(&s->stream, failure);

    if (!buf_failed(&s->text))
        return result;
    result.failed = true;
    if (!s->text.is_full)
        err_set_no_memory(&result.error);
    else
        err_set(&result.error, ERR_UPSTREAM_ERROR,
                "The summary grew past the gateway's limit of %zu bytes (max_response).",
                s->text.limit);
    return result;
}

void summary_round_write(const struct summary_round *s, struct buf *out)
{
    struct buf plain = {.limit = 0};

    json_text_decode(buf_str(&s->text), &plain);
    if (buf_failed(&plain))
        out->failed = true;
    else
        buf_append(out, str_trim(buf_str(&plain)));
    buf_fini(&plain);
}
