/* model_text.c -- which parser reads the text of a model, and what becomes of its reports.
 *
 *     OPENING   the first bytes decide between Harmony and all else
 *     HARMONY   text/harmony: messages to reasoning, text, calls
 *     SPLIT     text/think, and behind it text/text_calls
 *     PLAIN     nobody; the text does not even come here */
#include "wire/model_text.h"

#include "wire/chat_chunk.h"
#include "wire/chat_speech.h"
#include "wire/chat_tool_calls.h"
#include "wire/model_opening.h"
#include "wire/tool_parameter.h"
#include "json/json_text.h"

static void check(struct chat_reader *r, bool ok)
{
    if (!ok)
        chat_reader_out_of_memory(r);
}

/* ---- Harmony */

static bool is_function(void *arg, str name)
{
    const struct chat_reader *r = arg;
    const struct tool_set *tools = r->text.conf.tools;

    return tools != NULL && tool_set_find(tools, name) != NULL;
}

/* The tool of an MCP server; the prompt had it in the namespace of its label. */
static const struct tool *find_hosted(struct chat_reader *r, const struct harmony_route *route)
{
    struct buf label = {.limit = 0}, name = {.limit = 0};
    const struct tool *tool = NULL;

    if (r->text.conf.tools == NULL)
        return NULL;
    json_text_escape(route->label, &label);
    json_text_escape(route->name, &name);
    if (buf_failed(&label) || buf_failed(&name))
        chat_reader_out_of_memory(r);
    else
        tool = tool_set_find_hosted(r->text.conf.tools, buf_str(&label), buf_str(&name));
    buf_fini(&label);
    buf_fini(&name);
    return tool;
}

static enum builtin_tool browser_tool(str action)
{
    if (str_eq(action, STR("open")))
        return BUILTIN_BROWSER_OPEN;
    return str_eq(action, STR("find")) ? BUILTIN_BROWSER_FIND : BUILTIN_BROWSER_SEARCH;
}

static void begin_call(struct chat_reader *r, const struct harmony_route *route)
{
    struct chat_text_call call = {.name = route->name};
    const struct tool *tool;

    switch (route->target) {
    case HARMONY_TO_PYTHON:
        call.name = STR("python");
        call.builtin = BUILTIN_PYTHON;
        break;
    case HARMONY_TO_BROWSER:
        call.name = STR("browser");
        call.builtin = browser_tool(route->name);
        break;
    case HARMONY_TO_MCP:
        tool = find_hosted(r, route);
        if (tool != NULL)
            call.name = tool->upstream_name;
        else
            call.server_label = route->label;
        break;
    default:
        break;
    }
    r->text.call = chat_text_call_begin(r, &call);
}

static void on_message(void *arg, const struct harmony_header *header)
{
    struct chat_reader *r = arg;
    struct model_text *m = &r->text;
    const struct harmony_route_tools tools = {.is_function = is_function,
                                              .arg = r,
                                              .has_python = m->conf.has_python,
                                              .has_browser = m->conf.has_browser};

    m->route = harmony_route(header, &tools);
    m->is_silent = true;
    m->may_be_stripped = header->channel == HARMONY_NO_CHANNEL && header->recipient.len == 0;
    m->n_stripped = 0;
    if (m->route.target >= HARMONY_TO_FUNCTION)
        begin_call(r, &m->route);
    m->route.label = m->route.name = STR_NONE;
}

static void note_repair(struct model_text *m, const char *what)
{
    m->n_repairs++;
    m->last_repair = what;
}

/* An answer without a channel that opens with the name of one: its server does not print special
 * tokens, and it cannot be told apart for sure. The operator is told (HARMONY 5). */
static void look_for_channel(struct model_text *m, str plain)
{
    static const str analysis = STR_INIT("analysis");

    for (size_t i = 0; m->may_be_stripped && i < plain.len; i++) {
        m->may_be_stripped = plain.p[i] == analysis.p[m->n_stripped++];
        if (m->may_be_stripped && m->n_stripped == analysis.len) {
            note_repair(m, "the server seems to remove special tokens");
            m->may_be_stripped = false;
        }
    }
}

static void on_content(void *arg, str plain)
{
    struct chat_reader *r = arg;
    struct model_text *m = &r->text;

    look_for_channel(m, plain);
    m->is_silent = false;
    switch (m->route.target) {
    case HARMONY_TO_ANSWER:
        chat_say(r, DELTA_TEXT, PHASE_FINAL_ANSWER, plain);
        break;
    case HARMONY_TO_PREAMBLE:
        chat_say(r, DELTA_TEXT, PHASE_COMMENTARY, plain);
        break;
    case HARMONY_TO_REASONING:
        chat_say(r, DELTA_REASONING, PHASE_NONE, plain);
        break;
    default:
        chat_text_call_arguments(r, m->call, plain);
        break;
    }
}

/* At the end of the stream the round says whether what is open was cut. */
static void on_end(void *arg, enum harmony_end by)
{
    struct chat_reader *r = arg;
    struct model_text *m = &r->text;
    bool is_prose = m->route.target < HARMONY_TO_FUNCTION;

    if (m->is_silent && m->route.target == HARMONY_TO_ANSWER)
        chat_say(r, DELTA_TEXT, PHASE_FINAL_ANSWER, STR(""));
    else if (m->is_silent && is_prose)
        return;
    if (by != HARMONY_END_OF_STREAM)
        chat_say_item_end(r);
}

static void on_warning(void *arg, const char *what, str text)
{
    struct chat_reader *r = arg;

    (void)text; /* what a model says is not for logs */
    note_repair(&r->text, what);
}

static const struct harmony_handler harmony_handler = {.on_message = on_message,
                                                       .on_content = on_content,
                                                       .on_end = on_end,
                                                       .on_warning = on_warning,
                                                       .is_function = is_function};

static void begin_harmony(struct chat_reader *r)
{
    struct model_text *m = &r->text;
    struct buf recipient = {.limit = 0};
    struct harmony_header header = {.is_assistant = true,
                                    .role = STR("assistant"),
                                    .channel = HARMONY_COMMENTARY,
                                    .content_type = STR("json")};

    m->state = MODEL_TEXT_HARMONY;
    harmony_init(&m->harmony, &harmony_handler, r);
    if (m->conf.begun_call.len == 0)
        return;
    buf_c(&recipient, "functions.");
    buf_append(&recipient, m->conf.begun_call);
    header.recipient = buf_str(&recipient);
    check(r, !buf_failed(&recipient));
    harmony_begin_content(&m->harmony, &header);
    buf_fini(&recipient);
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
                                                        .is_function = is_function,
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

static void settle(struct model_text *m)
{
    if (m->think.state == THINK_OFF && m->conf.calls == TEXT_CALLS_NONE)
        m->state = MODEL_TEXT_PLAIN;
}

/* Says what the splitter has put into reasoning and text. */
static void say_parts(struct chat_reader *r)
{
    struct model_text *m = &r->text;

    check(r, !buf_failed(&m->reasoning) && !buf_failed(&m->text));
    if (m->reasoning.len > 0)
        chat_say(r, DELTA_REASONING, PHASE_NONE, buf_str(&m->reasoning));
    if (m->conf.calls != TEXT_CALLS_NONE)
        check(r, text_calls_feed(&m->calls, buf_str(&m->text)));
    else if (m->text.len > 0)
        on_text(r, buf_str(&m->text));
    m->reasoning.len = m->text.len = 0;
}

static void feed_split(struct chat_reader *r, str plain)
{
    struct model_text *m = &r->text;

    think_feed(&m->think, plain, &m->reasoning, &m->text);
    say_parts(r);
    settle(m);
}

/* ---- the first bytes */

/* All ways to open Harmony begin with one of two bytes, and an escape may stand for them. */
bool model_text_opens_plain(struct model_text *m, str escaped)
{
    if (m->state != MODEL_TEXT_OPENING || m->opening.len > 0 ||
        m->conf.harmony == MODEL_HARMONY_ON || m->conf.think != MODEL_THINK_OFF ||
        m->conf.calls != TEXT_CALLS_NONE || strchr("< \\", escaped.p[0]) != NULL)
        return false;
    m->state = MODEL_TEXT_PLAIN;
    return true;
}

/* What was held back goes to whoever reads from now on. */
static void decide(struct chat_reader *r, bool is_harmony)
{
    struct model_text *m = &r->text;

    check(r, !buf_failed(&m->opening));
    if (is_harmony) {
        begin_harmony(r);
        check(r, harmony_feed(&m->harmony, buf_str(&m->opening)));
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

void model_text_init(struct model_text *m, const struct model_text_conf *conf)
{
    bool is_plain = conf->harmony == MODEL_HARMONY_OFF && conf->think == MODEL_THINK_OFF &&
                    conf->calls == TEXT_CALLS_NONE;

    *m = (struct model_text){.conf = *conf,
                             .state = is_plain ? MODEL_TEXT_PLAIN : MODEL_TEXT_OPENING};
}

void model_text_fini(struct model_text *m)
{
    harmony_fini(&m->harmony);
    think_fini(&m->think);
    text_calls_fini(&m->calls);
    buf_fini(&m->opening);
    buf_fini(&m->plain);
    buf_fini(&m->reasoning);
    buf_fini(&m->text);
    buf_fini(&m->scratch);
}

bool model_text_is_markup(const struct model_text *m)
{
    return m->state == MODEL_TEXT_HARMONY ||
           (m->state == MODEL_TEXT_SPLIT && m->think.state != THINK_START &&
            m->think.state != THINK_NEVER && m->think.state != THINK_OFF);
}

bool model_text_is_cut_off(const struct model_text *m)
{
    return m->state == MODEL_TEXT_HARMONY && m->harmony.is_cut_off;
}

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
        check(r, harmony_feed(&m->harmony, plain));
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
    settle(m);
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
        check(r, text_calls_finish(&m->calls));
    settle(m);
}

void model_text_end(struct chat_reader *r)
{
    struct model_text *m = &r->text;

    end_opening(r);
    if (m->state == MODEL_TEXT_HARMONY) {
        check(r, harmony_finish(&m->harmony));
    } else if (m->state == MODEL_TEXT_SPLIT) {
        think_end(&m->think, &m->reasoning, &m->text);
        say_parts(r);
        if (m->conf.calls != TEXT_CALLS_NONE)
            check(r, text_calls_finish(&m->calls));
        m->state = MODEL_TEXT_PLAIN;
    }
}
