/* model_text_feed.c -- which parser reads the text of a model, and what becomes of its reports.
 *
 *     OPENING   the first bytes decide between Harmony and all else
 *     HARMONY   text/harmony: messages to reasoning, text, calls
 *     SPLIT     text/think, and behind it text/text_calls
 *     PLAIN     nobody; the text does not even come here */
#include "wire/chunk/model_text_feed.h"

#include "json/json_text.h"
#include "wire/chunk/chat_speech.h"
#include "wire/chunk/chat_tool_calls.h"
#include "wire/chunk/model_harmony.h"
#include "wire/chunk/model_opening.h"
#include "wire/tools/tool_parameter.h"

static void require_memory(struct chat_reader *r, bool ok)
{
    if (!ok)
        chat_reader_out_of_memory(r);
}

bool model_text_is_function(void *arg, str name)
{
    const struct chat_reader *r = arg;
    const struct tool_set *tools = r->text.conf.tools;

    return tools != NULL && tool_set_find(tools, name) != NULL;
}

/* ---- tags, and calls in the text */

static void on_text(void *arg, str plain)
{
    chat_say(arg, DELTA_TEXT, PHASE_NONE, plain);
}

static void on_call(void *arg, const struct text_call *call)
{
    struct chat_reader *r = arg;
    const struct chat_text_call begun = {.name = call->name, .id = call->id};

    chat_text_call_arguments(r, chat_text_call_begin(r, &begun), call->arguments);
    r->logprobs.len = 0; /* of tokens that were not text */
}

static str parameter_type(void *arg, str function, str parameter)
{
    const struct chat_reader *r = arg;
    const struct tool *tool =
        r->text.conf.tools == NULL ? NULL : tool_set_find(r->text.conf.tools, function);

    return tool == NULL ? STR("") : tool_parameter_type(tool->parameters, parameter);
}

static const struct text_calls_handler calls_handler = {.on_text = on_text,
                                                        .on_call = on_call,
                                                        .is_function = model_text_is_function,
                                                        .parameter_type = parameter_type};

static void begin_split(struct chat_reader *r)
{
    struct model_text *m = &r->text;

    m->state = MODEL_TEXT_SPLIT;
    m->think.start = m->conf.think == MODEL_THINK_INSIDE ? THINK_FROM_HERE : THINK_FROM_TAG;
    if (m->conf.think == MODEL_THINK_OFF)
        m->think.state = THINK_OFF;
    text_calls_init(&m->calls, m->conf.calls, &calls_handler, r);
}

static void settle_plain(struct model_text *m)
{
    if (m->think.state == THINK_OFF && m->conf.calls == TEXT_CALLS_NONE)
        m->state = MODEL_TEXT_PLAIN;
}

/* Says what the splitter has put into reasoning and text. */
static void say_parts(struct chat_reader *r)
{
    struct model_text *m = &r->text;

    require_memory(r, !buf_failed(&m->reasoning) && !buf_failed(&m->text));
    if (m->reasoning.len > 0)
        chat_say(r, DELTA_REASONING, PHASE_NONE, buf_str(&m->reasoning));
    if (m->conf.calls != TEXT_CALLS_NONE)
        require_memory(r, text_calls_feed(&m->calls, buf_str(&m->text)));
    else if (m->text.len > 0)
        on_text(r, buf_str(&m->text));
    m->reasoning.len = m->text.len = 0;
}

static void feed_split(struct chat_reader *r, str plain)
{
    struct model_text *m = &r->text;

    think_feed(&m->think, plain, &m->reasoning, &m->text);
    say_parts(r);
    settle_plain(m);
}

/* ---- the first bytes */

/* What was held back goes to whoever reads from now on. */
static void decide(struct chat_reader *r, bool is_harmony)
{
    struct model_text *m = &r->text;

    require_memory(r, !buf_failed(&m->opening));
    if (is_harmony) {
        m->state = MODEL_TEXT_HARMONY;
        model_harmony_begin(r);
        require_memory(r, harmony_feed(&m->harmony, buf_str(&m->opening)));
    } else {
        begin_split(r);
        feed_split(r, buf_str(&m->opening));
    }
    buf_fini(&m->opening);
}

static void feed_opening(struct chat_reader *r, str plain)
{
    enum text_match match;

    buf_append(&r->text.opening, plain);
    match = model_opening_match(buf_str(&r->text.opening));
    if (match != TEXT_MAY_MATCH)
        decide(r, match == TEXT_MATCHES);
}

/* Nothing follows that could tell more. */
static void end_opening(struct chat_reader *r)
{
    str opening = buf_str(&r->text.opening);

    if (r->text.state == MODEL_TEXT_OPENING && opening.len > 0)
        decide(r, model_opening_is_header(opening));
}

/* ---- the whole */

/* Without memory for the first bytes they cannot be told apart. */
static void open_text(struct chat_reader *r)
{
    struct model_text *m = &r->text;

    if (m->conf.harmony == MODEL_HARMONY_ON)
        decide(r, true);
    else if (m->conf.harmony == MODEL_HARMONY_OFF)
        decide(r, false);
}

/* What is held is part of the answer, and limited like it. Harmony holds little. */
static void check_limit(struct chat_reader *r)
{
    const struct model_text *m = &r->text;
    size_t limit = m->conf.max_held_bytes;
    struct err e;

    if (limit == 0 || think_held(&m->think) + text_calls_held(&m->calls) <= limit)
        return;
    err_set(&e, ERR_UPSTREAM_ERROR,
            "The output grew past the gateway's limit of %zu bytes (max_response).", limit);
    chat_reader_fail(r, &e);
}

void model_text_feed(struct chat_reader *r, str plain)
{
    struct model_text *m = &r->text;

    if (m->state == MODEL_TEXT_OPENING)
        open_text(r);
    switch (m->state) {
    case MODEL_TEXT_OPENING:
        feed_opening(r, plain);
        break;
    case MODEL_TEXT_HARMONY:
        require_memory(r, harmony_feed(&m->harmony, plain));
        break;
    case MODEL_TEXT_SPLIT:
        feed_split(r, plain);
        break;
    case MODEL_TEXT_PLAIN:
        on_text(r, plain);
        break;
    }
    check_limit(r);
}

void model_text_ignore_tags(struct chat_reader *r)
{
    struct model_text *m = &r->text;

    if (m->state == MODEL_TEXT_OPENING) {
        m->conf.think = MODEL_THINK_OFF;
        end_opening(r);
    }
    if (m->state != MODEL_TEXT_SPLIT || m->think.state == THINK_OFF)
        return;
    think_end(&m->think, &m->reasoning, &m->text);
    say_parts(r);
    settle_plain(m);
}

/* Tags stand before all else: behind text that has begun there is none to wait for. */
void model_text_pause(struct chat_reader *r)
{
    struct model_text *m = &r->text;

    end_opening(r);
    if (m->state != MODEL_TEXT_SPLIT)
        return;
    if (think_holds_text(&m->think))
        think_end(&m->think, &m->reasoning, &m->text);
    say_parts(r);
    if (m->conf.calls != TEXT_CALLS_NONE)
        require_memory(r, text_calls_finish(&m->calls));
    settle_plain(m);
}

void model_text_end(struct chat_reader *r)
{
    struct model_text *m = &r->text;

    end_opening(r);
    if (m->state == MODEL_TEXT_HARMONY) {
        require_memory(r, harmony_finish(&m->harmony));
    } else if (m->state == MODEL_TEXT_SPLIT) {
        think_end(&m->think, &m->reasoning, &m->text);
        say_parts(r);
        if (m->conf.calls != TEXT_CALLS_NONE)
            require_memory(r, text_calls_finish(&m->calls));
        m->state = MODEL_TEXT_PLAIN;
    }
}
