/* chat_chunk.c -- one Chat Completions chunk becomes deltas.
 *
 * Two looks at the bytes: the first checks the whole text and notes where the
 * members of interest lie, the second goes into them. So nothing is reported
 * of a chunk that turns out to be broken at its end.
 *
 * On the way it is noted what the chunk says. When that is one text and nothing
 * else, the next chunk may be the same but for this text (chat_memo.h). */
#include "wire/chat_chunk.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "wire/chat_annotations.h"
#include "wire/chat_logprobs.h"
#include "wire/chat_speech.h"
#include "wire/chat_tool_calls.h"
#include "wire/chat_usage.h"
#include "wire/upstream_error.h"
#include "json/json_copy.h"
#include "json/json_read.h"

/* Members of a chunk, as raw JSON. */
struct chunk {
    str choices, usage, error, object, x_groq, service_tier;
};

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

/* Null, "" and [] say nothing. */
static void says_raw(struct chat_reader *r, str raw)
{
    if (jr_type_of(raw) != JR_NONE && jr_type_of(raw) != JR_NULL && raw.len > strlen("[]"))
        chat_reader_says_other(r);
}

/* ---- a choice */

/* Text and what the tokens of it weigh. A chunk without content holds tokens of
 * something else, and so does one in the midst of markup. */
static void read_weighed_content(struct chat_reader *r, str content, str logprobs)
{
    if (r->wants_logprobs && !str_is_none(content) && jr_type_of(content) != JR_NULL)
        chat_logprobs(logprobs, &r->logprobs);
    chat_speak_content(r, content);
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
    str key, content = STR_NONE, reasoning_content = STR_NONE, reasoning = STR_NONE;
    str details = STR_NONE, refusal = STR_NONE, annotations = STR_NONE;
    str function_call = STR_NONE, tool_calls = STR_NONE;
    struct jr j;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_OBJECT))
        return;
    while (jr_next_member(&j, &key)) {
        if (str_eq(key, STR("content")))
            content = jr_raw(&j);
        else if (str_eq(key, STR("reasoning_content")))
            reasoning_content = jr_string(&j);
        else if (str_eq(key, STR("reasoning")))
            reasoning = jr_string(&j);
        else if (str_eq(key, STR("reasoning_details")))
            details = jr_raw(&j);
        else if (str_eq(key, STR("refusal")))
            refusal = jr_string(&j);
        else if (str_eq(key, STR("annotations")))
            annotations = jr_raw(&j);
        else if (str_eq(key, STR("function_call")))
            function_call = jr_raw(&j);
        else if (str_eq(key, STR("tool_calls")))
            tool_calls = jr_raw(&j);
        else
            jr_skip(&j);
    }
    if (reasoning_content.len == 0)
        reasoning_content = reasoning;
    else if (reasoning.len > 0)
        chat_reader_says_other(r); /* where the first is empty, the second counts */
    says_reasoning(r, reasoning_content);
    says_raw(r, details);
    says_content(r, content);
    says_raw(r, logprobs);
    says_raw(r, annotations);
    if (reasoning_content.len > 0 || jr_type_of(details) == JR_ARRAY)
        model_text_ignore_tags(r);
    if (reasoning_content.len > 0)
        chat_speak(r, DELTA_REASONING, reasoning_content);
    else
        chat_speak_reasoning_details(r, details);
    read_weighed_content(r, content, logprobs);
    if (refusal.len > 0) {
        chat_reader_says_other(r);
        chat_speak(r, DELTA_REFUSAL, refusal);
    }
    chat_annotations(r, annotations);
    chat_legacy_call(r, function_call);
    chat_tool_calls(r, tool_calls);
}

static void read_text(struct chat_reader *r, str text)
{
    says_content(r, text);
    chat_speak_content(r, text);
}

static void set_finish(struct chat_reader *r, str word, bool has_error)
{
    static const struct {
        str word;
        enum finish finish;
    } words[] = {
        {STR_INIT("length"), FINISH_LENGTH},
        {STR_INIT("model_length"), FINISH_LENGTH},
        {STR_INIT("max_tokens"), FINISH_LENGTH},
        {STR_INIT("content_filter"), FINISH_CONTENT_FILTER},
        {STR_INIT("tool_calls"), FINISH_TOOL_CALLS},
        {STR_INIT("function_call"), FINISH_TOOL_CALLS},
        {STR_INIT("error"), FINISH_NONE},
        {STR_INIT("insufficient_system_resource"), FINISH_NONE},
    };
    enum finish finish = FINISH_STOP;

    if (word.len == 0)
        return;
    chat_reader_says_other(r);
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (str_eq(word, words[i].word))
            finish = words[i].finish;
    }
    if (finish == FINISH_NONE && !has_error) {
        struct err e;

        err_set(&e, ERR_UPSTREAM_ERROR,
                UPSTREAM_SERVER_ERROR "The upstream server stopped with an error: %.*s.",
                STR_ARG(word));
        chat_reader_fail(r, &e);
    } else if (r->finish == FINISH_NONE || r->finish == FINISH_STOP) {
        r->finish = finish == FINISH_NONE ? r->finish : finish;
    }
}

static void read_choice(struct chat_reader *r, struct jr *j, bool has_error)
{
    str key, delta = STR_NONE, message = STR_NONE, finish = STR_NONE, logprobs = STR_NONE;
    str text = STR_NONE; /* all that /v1/completions has */
    int64_t index = 0;

    if (!jr_enter(j, JR_OBJECT))
        return;
    while (jr_next_member(j, &key)) {
        if (str_eq(key, STR("delta")))
            delta = jr_raw(j);
        else if (str_eq(key, STR("message")))
            message = jr_raw(j);
        else if (str_eq(key, STR("text")))
            text = jr_raw(j);
        else if (str_eq(key, STR("finish_reason")))
            finish = jr_string(j);
        else if (str_eq(key, STR("index")))
            index = jr_int(j, 0);
        else if (str_eq(key, STR("logprobs")))
            logprobs = jr_raw(j);
        else
            jr_skip(j);
    }
    if (index != 0)
        return;
    if (jr_type_of(text) == JR_STRING)
        read_text(r, text);
    else
        read_delta(r, jr_type_of(delta) == JR_OBJECT ? delta : message, logprobs);
    set_finish(r, finish, has_error);
}

static void read_choices(struct chat_reader *r, str raw, bool has_error)
{
    struct jr j;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j))
        read_choice(r, &j, has_error);
}

/* ---- the chunk */

/* First look: is it one valid JSON value, and where are its members? */
static bool split_chunk(str json, struct chunk *ret)
{
    struct chunk c = {.choices = STR_NONE};
    struct jr j;
    str key;

    jr_init(&j, json);
    if (jr_enter(&j, JR_OBJECT)) {
        while (jr_next_member(&j, &key)) {
            if (str_eq(key, STR("choices")))
                c.choices = jr_raw(&j);
            else if (str_eq(key, STR("usage")))
                c.usage = jr_raw(&j);
            else if (str_eq(key, STR("error")))
                c.error = jr_raw(&j);
            else if (str_eq(key, STR("object")))
                c.object = jr_string(&j);
            else if (str_eq(key, STR("x_groq")))
                c.x_groq = jr_raw(&j);
            else if (str_eq(key, STR("service_tier")))
                c.service_tier = jr_string(&j);
            else
                jr_skip(&j);
        }
    }
    *ret = c;
    return jr_end(&j);
}

/* Anything but null, false, "", 0, {} and [] says that there was an error. */
static bool is_error(str raw)
{
    static const str nothing[] = {STR_INIT("null"), STR_INIT("false"), STR_INIT("\"\""),
                                  STR_INIT("0"),    STR_INIT("{}"),    STR_INIT("[]")};

    for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++) {
        if (str_eq(raw, nothing[i]))
            return false;
    }
    return raw.len > 0;
}

/* Some servers count in every chunk; only the last word is read, at the end. */
static bool keep_usage(struct chat_reader *r, str raw)
{
    if (jr_type_of(raw) != JR_OBJECT)
        return false;
    chat_reader_says_other(r);
    r->usage_json.len = 0;
    buf_append(&r->usage_json, raw);
    return true;
}

static void read_chunk(struct chat_reader *r, const struct chunk *c, str json, str event)
{
    bool has_error = is_error(c->error);
    bool is_flat_error = str_eq(event, STR("error")) || str_eq(c->object, STR("error"));
    struct err e;

    if (has_error || is_flat_error) {
        chat_reader_says_other(r);
        if (has_error)
            read_choices(r, c->choices, true);
        upstream_error_from_value(has_error ? c->error : json, &e);
        chat_reader_fail(r, &e);
        return;
    }
    if (!keep_usage(r, c->usage))
        (void)keep_usage(r, jr_member(c->x_groq, STR("usage")));
    if (r->service_tier.len == 0)
        json_copy_text(c->service_tier, &r->service_tier);
    read_choices(r, c->choices, false);
}

/* Says again what a chunk of this form has said before. */
static void say(struct chat_reader *r, const struct chat_saying *saying)
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
    struct chunk c;
    bool ok = split_chunk(json, &c);

    if (!ok && !utf8_is_valid(json)) {
        /* Half a character from a careless tokenizer costs that character, not the chunk. */
        utf8_repair(json, &repaired);
        json = buf_str(&repaired);
        ok = split_chunk(json, &c);
    }
    r->n_said = 0;
    if (ok)
        read_chunk(r, &c, json, event);
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
        say(r, &saying);
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
