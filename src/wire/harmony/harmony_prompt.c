/* harmony_prompt.c -- system message, developer message, history, and where the model goes on.
 *
 * Every text is decoded from the JSON of the request straight into the prompt. */
#include "wire/harmony/harmony_request.h"

#include <assert.h>
#include <limits.h>

#include "json/json_copy.h"
#include "json/json_text.h"
#include "wire/chat/upstream_fields.h"
#include "wire/harmony/harmony_builtin.h"
#include "wire/harmony/harmony_message.h"
#include "wire/harmony/harmony_tools.h"

/* What it takes to write one prompt. */
struct prompt {
    const struct responses_request *request;
    const struct conversation *conversation;
    const struct harmony_options *options;
    struct harmony_builtins builtins; /* that it offers */
    bool has_tools;                   /* others */
    struct buf *out;
};

/* ---- small parts */

static void write_content(const struct content *c, str separator, struct buf *out)
{
    bool first = true;

    for (const struct part *p = c->first; p != NULL; p = p->next) {
        if (p->kind != PART_TEXT)
            continue;
        if (!first)
            buf_append(out, separator);
        json_text_decode(p->text, out);
        first = false;
    }
}

static void write_message(const struct harmony_message *m, const struct content *c, struct buf *out)
{
    size_t from = harmony_message_open(m, out);

    write_content(c, STR(""), out);
    harmony_message_close(m, from, out);
}

/* ---- the system message */

static str effort_for(str escaped)
{
    static const struct {
        str asked, effort;
    } efforts[] = {
        {STR_INIT("none"), STR_INIT("low")},   {STR_INIT("minimal"), STR_INIT("low")},
        {STR_INIT("low"), STR_INIT("low")},    {STR_INIT("high"), STR_INIT("high")},
        {STR_INIT("xhigh"), STR_INIT("high")}, {STR_INIT("max"), STR_INIT("high")},
    };

    for (size_t i = 0; !str_is_none(escaped) && i < COUNT_OF(efforts); i++) {
        if (json_text_eq(escaped, efforts[i].asked))
            return efforts[i].effort;
    }
    return STR("medium");
}

static void write_system(const struct prompt *p)
{
    const struct harmony_message m = {.role.name = STR("system")};
    const struct harmony_system s = {
        .identity = STR("You are ChatGPT, a large language model trained by OpenAI."),
        .knowledge_cutoff = STR("2024-06"),
        .date = p->options->date,
        .effort = effort_for(p->request->reasoning.effort),
        .channels = STR("analysis, commentary, final"),
        .has_browser = p->builtins.has_browser,
        .has_python = p->builtins.has_python,
        .has_functions =
            p->has_tools && harmony_tools_have_functions(&p->request->tools, p->builtins),
    };
    size_t from = harmony_message_open(&m, p->out);

    harmony_system_write(&s, p->out);
    harmony_message_close(&m, from, p->out);
}

/* ---- the developer message */

static const str instructions_title = STR_INIT("# Instructions");

static bool has_instructions(const struct conversation *c)
{
    return !str_is_none(c->instructions) || c->first != c->body;
}

static bool has_format(const struct responses_request *r)
{
    return !str_is_none(r->format.type) && json_text_eq(r->format.type, STR("json_schema"));
}

/* The instructions and the system messages at the start, as one. */
static void write_instructions(const struct conversation *c, struct buf *out)
{
    buf_append(out, instructions_title);
    if (!str_is_none(c->instructions)) {
        buf_append(out, STR("\n\n"));
        json_text_decode(c->instructions, out);
    }
    for (const struct message *m = c->first; m != c->body; m = m->next) {
        buf_append(out, STR("\n\n"));
        write_content(m->content, STR(""), out);
    }
}

static void write_format(const struct text_format *f, struct buf *out)
{
    buf_append(out, STR("# Response Formats\n\n## "));
    json_text_decode(f->name, out);
    buf_append(out, STR("\n\n"));
    if (!str_is_none(f->description))
        harmony_comment_write(f->description, out);
    json_copy_value(f->schema, out);
}

static void write_developer(const struct prompt *p)
{
    const struct harmony_message m = {.role.name = STR("developer")};
    size_t from;

    if (!has_instructions(p->conversation) && !p->has_tools && !has_format(p->request))
        return;
    from = harmony_message_open(&m, p->out);
    if (has_instructions(p->conversation))
        write_instructions(p->conversation, p->out);
    if (p->has_tools) {
        harmony_section_begin(from, p->out);
        harmony_tools_write(&p->request->tools, p->builtins, p->out);
    }
    if (has_format(p->request)) {
        harmony_section_begin(from, p->out);
        write_format(&p->request->format, p->out);
    }
    harmony_message_close(&m, from, p->out);
}

/* ---- history */

static void write_late_system(const struct message *m, struct buf *out)
{
    const struct harmony_message developer = {.role.name = STR("developer")};
    size_t from = harmony_message_open(&developer, out);

    buf_append(out, instructions_title);
    buf_append(out, STR("\n\n"));
    write_content(m->content, STR(""), out);
    harmony_message_close(&developer, from, out);
}

static void write_reasoning(const struct piece *p, struct buf *out)
{
    const struct harmony_message m = {.role.name = STR("assistant"), .channel = STR("analysis")};
    size_t from = harmony_message_open(&m, out);

    write_content(p->content, STR("\n"), out);
    harmony_message_close(&m, from, out);
}

static void write_said(const struct message *m, const struct piece *p, struct buf *out)
{
    const struct harmony_message said = {
        .role.name = STR("assistant"),
        .channel = conversation_is_answer(m, p) ? STR("final") : STR("commentary"),
    };

    write_message(&said, p->content, out);
}

static struct harmony_message call_of(struct harmony_name tool, const struct harmony_options *o)
{
    return (struct harmony_message){
        .role.name = STR("assistant"),
        .recipient = tool,
        .channel = STR("commentary"),
        .content_type = o->bare_content_type ? STR("json") : STR("<|constrain|>json"),
    };
}

/* The model calls tools of its own while it thinks. */
static struct harmony_message builtin_call_of(enum builtin_tool tool)
{
    return (struct harmony_message){
        .role.name = STR("assistant"),
        .recipient = harmony_builtin_name(tool),
        .channel = STR("analysis"),
        .content_type = STR("code"),
    };
}

static void write_output(const struct harmony_message *call, const struct content *output,
                         struct buf *out)
{
    const struct harmony_message m = {
        .role = call->recipient,
        .recipient.name = STR("assistant"),
        .channel = call->channel,
    };
    size_t from = harmony_message_open(&m, out);

    if (output == NULL)
        buf_append(out, STR("[no output]"));
    else
        write_content(output, STR(""), out);
    harmony_message_close(&m, from, out);
}

static struct harmony_message write_function_call(const struct prompt *p, const struct call *c)
{
    const struct harmony_message m =
        call_of(harmony_tool_name(c->server_label, c->tool_name, c->name), p->options);
    size_t from = harmony_message_open(&m, p->out);

    json_text_decode(call_written_arguments(c), p->out);
    harmony_message_close(&m, from, p->out);
    return m;
}

static struct harmony_message write_builtin_call(const struct prompt *p, const struct call *c)
{
    struct harmony_message m;
    struct buf arguments = {0};
    enum builtin_tool tool;
    size_t from;

    json_text_decode(c->arguments, &arguments);
    tool = harmony_builtin_called(c->hosted_kind, buf_str(&arguments));
    m = builtin_call_of(tool);
    from = harmony_message_open(&m, p->out);
    harmony_builtin_write(tool, buf_str(&arguments), p->out);
    harmony_message_close(&m, from, p->out);
    p->out->failed = p->out->failed || buf_failed(&arguments);
    buf_fini(&arguments);
    return m;
}

/* The model knows calls one at a time, each with its output. It has its own tools in the history
 * also when this round does not offer them. */
static void write_call(const struct prompt *p, const struct call *c)
{
    const struct harmony_builtins builtins = {.has_browser = p->options->has_browser,
                                              .has_python = p->options->has_python};
    const struct harmony_message m = harmony_builtin_serves(builtins, c->hosted_kind)
                                         ? write_builtin_call(p, c)
                                         : write_function_call(p, c);

    if (!c->open)
        write_output(&m, c->output, p->out);
}

/* Nothing comes behind everything. */
static unsigned place_of(const struct piece *p)
{
    return p == NULL ? UINT_MAX : p->place;
}

/* In the order in which the model said it. */
static void write_assistant(const struct prompt *p, const struct message *m)
{
    const struct piece *thought = m->reasoning.first, *said = m->texts.first;
    const struct call *c = m->first_call;

    while (thought != NULL || said != NULL || c != NULL) {
        const unsigned call_place = c == NULL ? UINT_MAX : c->place;

        if (place_of(thought) < place_of(said) && place_of(thought) < call_place) {
            write_reasoning(thought, p->out);
            thought = thought->next;
        } else if (place_of(said) < call_place) {
            if (m->first_call == NULL || !content_is_empty(said->content))
                write_said(m, said, p->out);
            said = said->next;
        } else {
            assert(c != NULL);
            write_call(p, c);
            c = c->next;
        }
    }
}

static void write_history(const struct prompt *p)
{
    const struct harmony_message user = {.role.name = STR("user")};

    for (const struct message *m = p->conversation->body; m != NULL; m = m->next) {
        if (m->role == ROLE_ASSISTANT)
            write_assistant(p, m);
        else if (m->role == ROLE_SYSTEM)
            write_late_system(m, p->out);
        else if (!m->media_only)
            write_message(&user, m->content, p->out);
    }
}

/* ---- the prompt */

static const struct tool *begun_tool(const struct responses_request *r, enum chat_round round)
{
    const struct tool_choice choice = upstream_tool_choice(&r->tool_choice, round);

    return choice.mode == TOOL_CHOICE_TOOL ? choice.tool : NULL;
}

str harmony_request_begun_call(const struct responses_request *r, enum chat_round round)
{
    const struct tool *t = begun_tool(r, round);

    return t == NULL ? STR_NONE : t->upstream_name;
}

static bool offers(const struct responses_request *r, enum hosted_kind kind)
{
    const struct tool *t = tool_set_find_hosted(&r->tools, kind);

    return t != NULL && t->sent;
}

struct harmony_builtins harmony_request_builtins(const struct responses_request *r,
                                                 enum chat_round round,
                                                 const struct harmony_options *options)
{
    if (upstream_tool_choice(&r->tool_choice, round).mode == TOOL_CHOICE_NONE)
        return (struct harmony_builtins){.has_python = false};
    return (struct harmony_builtins){
        .has_browser = options->has_browser && offers(r, HOSTED_WEB_SEARCH),
        .has_python = options->has_python && offers(r, HOSTED_CODE_INTERPRETER),
    };
}

/* The header of the model's next message, as far as it is known. */
static void write_opening(const struct prompt *p, const struct tool *begun)
{
    struct harmony_message m;

    if (begun == NULL) {
        buf_append(p->out, STR("<|start|>assistant"));
        return;
    }
    if (harmony_builtin_serves(p->builtins, begun->hosted_kind))
        m = builtin_call_of(harmony_builtin_called(begun->hosted_kind, STR("")));
    else
        m = call_of(harmony_tool_name_of(begun), p->options);
    (void)harmony_message_open(&m, p->out);
}

void harmony_prompt_write(const struct responses_request *r, const struct conversation *c,
                          enum chat_round round, const struct harmony_options *options,
                          struct buf *out)
{
    const struct tool_choice choice = upstream_tool_choice(&r->tool_choice, round);
    const struct harmony_builtins builtins = harmony_request_builtins(r, round, options);
    const struct prompt p = {
        .request = r,
        .conversation = c,
        .options = options,
        .builtins = builtins,
        .has_tools =
            choice.mode != TOOL_CHOICE_NONE && harmony_tools_are_shown(&r->tools, builtins),
        .out = out,
    };

    write_system(&p);
    write_developer(&p);
    write_history(&p);
    write_opening(&p, begun_tool(r, round));
}
