/* model_harmony.c -- Harmony messages of a model become reasoning, text and calls. */
#include "wire/chunk/model_harmony.h"

#include "json/json_text.h"
#include "wire/chunk/chat_speech.h"
#include "wire/chunk/chat_tool_calls.h"
#include "wire/chunk/model_text_feed.h"
#include "wire/harmony/harmony_builtin.h"

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
        tool = tool_set_find_mcp(r->text.conf.tools, buf_str(&label), buf_str(&name));
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
    const struct harmony_route_tools tools = {.is_function = model_text_is_function,
                                              .arg = r,
                                              .has_python = m->conf.has_python,
                                              .has_browser = m->conf.has_browser};

    m->route = harmony_route(header, &tools);
    m->is_silent = true;
    m->may_be_stripped = header->channel == HARMONY_NO_CHANNEL && header->recipient.len == 0;
    m->n_stripped = 0;
    if (m->route.target >= HARMONY_TO_FUNCTION && !m->is_of_prompt)
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

/* The model does make the call whose header the prompt ends in. */
static void accept_call(struct chat_reader *r)
{
    const struct chat_text_call call = {.name = r->text.conf.begun_call};
    const struct harmony_route *route = &r->text.route;

    if (!r->text.is_of_prompt)
        return;
    r->text.is_of_prompt = false;
    if (route->target == HARMONY_TO_PYTHON || route->target == HARMONY_TO_BROWSER)
        begin_call(r, route);
    else
        r->text.call = chat_text_call_begin(r, &call);
}

static void on_content(void *arg, str plain)
{
    struct chat_reader *r = arg;
    struct model_text *m = &r->text;

    accept_call(r);
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

/* At the end of the stream the round says whether what is open was cut. A model that writes a header
 * of its own at once does not make the call of the prompt. */
static void on_end(void *arg, enum harmony_end by)
{
    struct chat_reader *r = arg;
    struct model_text *m = &r->text;
    bool is_prose = m->route.target < HARMONY_TO_FUNCTION;

    if (m->is_of_prompt && by == HARMONY_IMPLICIT) {
        m->is_of_prompt = false;
        return;
    }
    accept_call(r);
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
                                                       .is_function = model_text_is_function};

/* Who the call of the prompt goes to; as a function also what the prompt has as a tool of a
 * server. */
static void write_begun_recipient(const struct model_text_conf *c, struct buf *out)
{
    const struct harmony_builtins builtins = {.has_browser = c->has_browser,
                                              .has_python = c->has_python};
    const struct tool *t = c->tools == NULL ? NULL : tool_set_find(c->tools, c->begun_call);
    struct harmony_name name = {STR("functions"), c->begun_call};

    if (t != NULL && harmony_builtin_serves(builtins, t->hosted_kind))
        name = harmony_builtin_name(harmony_builtin_called(t->hosted_kind, STR("")));
    if (name.space.len > 0) {
        buf_append(out, name.space);
        buf_char(out, '.');
    }
    buf_append(out, name.name);
}

void model_harmony_begin(struct chat_reader *r)
{
    struct model_text *m = &r->text;
    struct buf recipient = {.limit = 0};
    struct harmony_header header = {.is_assistant = true,
                                    .role = STR("assistant"),
                                    .channel = HARMONY_COMMENTARY,
                                    .content_type = STR("json")};

    harmony_init(&m->harmony, &harmony_handler, r);
    if (m->conf.begun_call.len == 0)
        return;
    write_begun_recipient(&m->conf, &recipient);
    header.recipient = buf_str(&recipient);
    if (buf_failed(&recipient))
        chat_reader_out_of_memory(r);
    m->is_of_prompt = true;
    harmony_begin_content(&m->harmony, &header);
    buf_fini(&recipient);
}
