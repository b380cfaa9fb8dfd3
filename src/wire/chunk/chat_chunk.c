/* chat_chunk.c -- one Chat Completions chunk becomes deltas.
 *
 * Two looks at the bytes: the first checks the whole text and notes where the
 * members of interest lie, the second goes into them. So nothing is reported
 * of a chunk that turns out to be broken at its end.
 *
 * On the way it is noted what the chunk says. When that is one text and nothing
 * else, the next chunk may be the same but for this text (chat_memo.h). */
#include "wire/chunk/chat_chunk.h"

#include <stdlib.h>

#include "json/json_copy.h"
#include "wire/chunk/chat_annotations.h"
#include "wire/chunk/chat_logprobs.h"
#include "wire/chunk/chat_read.h"
#include "wire/chunk/chat_speech.h"
#include "wire/chunk/chat_tool_calls.h"
#include "wire/chunk/chat_usage.h"
#include "wire/chunk/model_text_feed.h"
#include "wire/dialect/upstream_error.h"

void chat_reader_init(struct chat_reader *r, const struct model_text_conf *text,
                      bool wants_logprobs, chat_on_delta *on_delta, void *arg)
{
    *r = (struct chat_reader){.wants_logprobs = wants_logprobs, .on_delta = on_delta, .arg = arg};
    model_text_init(&r->text, text);
}

void chat_reader_fini(struct chat_reader *r)
{
    chat_calls_fini(&r->calls);
    model_text_fini(&r->text);
    chat_memo_fini(&r->memo);
    buf_fini(&r->piece);
    buf_fini(&r->logprobs);
    buf_fini(&r->service_tier);
    buf_fini(&r->usage_json);
    free(r->error);
}

void chat_reader_fail(struct chat_reader *r, const struct err *e)
{
    if (r->failed || r->finish != FINISH_NONE)
        return;
    r->failed = true;
    r->error = malloc(sizeof(*e)); /* large, and rarely needed */
    if (r->error != NULL)
        *r->error = *e;
}

void chat_reader_out_of_memory(struct chat_reader *r)
{
    struct err e;

    err_set_no_memory(&e);
    r->finish = FINISH_NONE;
    chat_reader_fail(r, &e);
}

/* ---- what a chunk says */

void chat_reader_says(struct chat_reader *r, const struct chat_saying *saying)
{
    r->saying = *saying;
    r->n_said++;
}

void chat_reader_says_other(struct chat_reader *r)
{
    chat_reader_says(r, &(const struct chat_saying){.what = SAYS_OTHER});
}

static void says_raw(struct chat_reader *r, str raw)
{
    if (!chat_read_is_nothing(raw))
        chat_reader_says_other(r);
}

/* ---- a choice */

/* Text and what the tokens of it weigh. A chunk without content holds tokens of
 * something else, and so does one in the midst of markup. */
static void read_weighed_content(struct chat_reader *r, str content, str logprobs)
{
    if (r->wants_logprobs && !str_is_none(content) && jr_type_of(content) != JR_NULL)
        chat_logprobs(logprobs, &r->logprobs);
    chat_read_content(content, chat_speak_either, r);
    if (model_text_is_markup(&r->text))
        r->logprobs.len = 0;
}

static void says_content(struct chat_reader *r, str content)
{
    if (jr_type_of(content) != JR_STRING)
        says_raw(r, content);
    else if (content.len > strlen("\"\""))
        chat_reader_says(
            r, &(const struct chat_saying){.what = SAYS_CONTENT,
                                           .text = str_from(content.p + 1, content.len - 2)});
}

static void says_reasoning(struct chat_reader *r, str text)
{
    if (text.len > 0)
        chat_reader_says(r, &(const struct chat_saying){.what = SAYS_REASONING, .text = text});
}

static void read_delta(struct chat_reader *r, str raw, str logprobs)
{
    struct chat_delta d;
    str reasoning;

    chat_read_delta(raw, &d);
    reasoning = d.reasoning_content.len > 0 ? d.reasoning_content : d.reasoning;
    if (d.reasoning_content.len > 0 && d.reasoning.len > 0)
        chat_reader_says_other(r); /* where the first is empty, the second counts */
    says_reasoning(r, reasoning);
    says_raw(r, d.reasoning_details);
    says_content(r, d.content);
    says_raw(r, logprobs);
    says_raw(r, d.annotations);
    if (reasoning.len > 0 || jr_type_of(d.reasoning_details) == JR_ARRAY)
        model_text_ignore_tags(r);
    if (reasoning.len > 0)
        chat_speak(r, DELTA_REASONING, reasoning);
    else
        chat_read_reasoning_details(d.reasoning_details, chat_speak_either, r);
    read_weighed_content(r, d.content, logprobs);
    if (d.refusal.len > 0) {
        chat_reader_says_other(r);
        chat_speak(r, DELTA_REFUSAL, d.refusal);
    }
    chat_annotations(r, d.annotations);
    if (chat_read_is_nothing(d.tool_calls)) /* else it may be the same call: llama-cpp-python */
        chat_old_call(r, d.function_call);
    chat_tool_calls(r, d.tool_calls);
}

static void set_finish(struct chat_reader *r, str word, bool has_error)
{
    enum finish finish;
    struct err e;

    if (word.len == 0)
        return;
    chat_reader_says_other(r);
    finish = chat_read_finish(word);
    if (finish == FINISH_NONE && !has_error) {
        err_set(&e, ERR_UPSTREAM_ERROR,
                UPSTREAM_SERVER_ERROR "The upstream server stopped with an error: %.*s.",
                STR_ARG(word));
        e.told_status = ERR_TOLD_WITHOUT_STATUS;
        chat_reader_fail(r, &e);
    } else if (r->finish == FINISH_NONE || r->finish == FINISH_STOP) {
        r->finish = finish == FINISH_NONE ? r->finish : finish;
    }
}

static void read_choices(struct chat_reader *r, str raw, bool has_error)
{
    struct chat_choice choice;
    struct jr j;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j)) {
        if (!chat_read_choice(&j, &choice))
            continue;
        if (!str_is_none(choice.delta)) {
            read_delta(r, choice.delta, choice.logprobs);
        } else if (!str_is_none(choice.message)) {
            read_delta(r, choice.message, choice.logprobs);
        } else if (jr_type_of(choice.text) == JR_STRING) {
            says_content(r, choice.text);
            chat_read_content(choice.text, chat_speak_either, r);
        }
        set_finish(r, choice.finish, has_error);
    }
}

/* ---- the chunk */

/* Some servers count in every chunk; only the last word is read, at the end. */
static void keep_usage(struct chat_reader *r, str raw)
{
    if (str_is_none(raw))
        return;
    chat_reader_says_other(r);
    r->usage_json.len = 0;
    buf_append(&r->usage_json, raw);
}

static void read_chunk(struct chat_reader *r, const struct chat_chunk *c)
{
    bool has_error = !str_is_none(c->error);
    struct err e;

    if (has_error || c->is_flat_error) {
        chat_reader_says_other(r);
        if (has_error)
            read_choices(r, c->choices, true);
        upstream_error_from_value(has_error ? c->error : c->json, &e);
        chat_reader_fail(r, &e);
        return;
    }
    keep_usage(r, c->usage);
    if (r->service_tier.len == 0)
        json_copy_text(c->service_tier, &r->service_tier);
    read_choices(r, c->choices, false);
}

/* Says again what a chunk of this form has said before. */
static void repeat_saying(struct chat_reader *r, const struct chat_saying *saying)
{
    str quoted = str_from(saying->text.p - 1, saying->text.len + 2);

    if (saying->what == SAYS_CONTENT)
        chat_speak_text(r, saying->text);
    else if (saying->what == SAYS_REASONING)
        chat_speak(r, DELTA_REASONING, saying->text);
    else if (saying->what == SAYS_ARGUMENTS)
        chat_more_arguments(r, saying->index, quoted);
}

static bool read_whole(struct chat_reader *r, str json, str event)
{
    struct buf repaired = {.limit = 0};
    struct chat_chunk c;
    bool ok = chat_read_chunk(json, event, &repaired, &c);

    r->n_said = 0;
    if (ok)
        read_chunk(r, &c);
    if (r->n_said == 1 && r->saying.what != SAYS_OTHER && repaired.len == 0 && event.len == 0)
        chat_memo_keep(&r->memo, json, &r->saying);
    buf_fini(&repaired);
    return ok;
}

bool chat_reader_chunk(struct chat_reader *r, str json, str event)
{
    struct chat_saying saying;
    bool ok = true;

    if (event.len == 0 && chat_memo_fits(&r->memo, json, &saying))
        repeat_saying(r, &saying);
    else
        ok = read_whole(r, json, event);
    if (buf_failed(&r->piece) || buf_failed(&r->logprobs) || buf_failed(&r->usage_json))
        chat_reader_out_of_memory(r);
    return ok;
}

void chat_reader_end(struct chat_reader *r)
{
    chat_speech_end(r);
    chat_tool_calls_end(r);
    (void)chat_usage(buf_str(&r->usage_json), &r->usage);
}
