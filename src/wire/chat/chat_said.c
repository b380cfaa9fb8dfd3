/* chat_said.c -- what the assistant said at once, and the outputs of its calls. */
#include "wire/chat/chat_said.h"

#include "json/json_copy.h"
#include "json/json_text.h"
#include "wire/chat/chat_content.h"

/* ---- calls and outputs */

/* Of a call whose arguments no server parses. */
static const str broken_note = STR_INIT("[The arguments of this call were cut off or no valid JSON "
                                        "object. They are left out here.]");

static str arguments_of(const struct call *c)
{
    return c->is_broken ? STR("{}") : call_written_arguments(c);
}

static void write_call(const struct call *c, struct jw *w)
{
    jw_object(w);
    json_copy_key_text(w, "id", c->id);
    jw_key_string(w, "type", STR("function"));
    jw_key(w, "function");
    jw_object(w);
    jw_key_string(w, "name", c->name);
    json_copy_key_text(w, "arguments", arguments_of(c));
    jw_object_end(w);
    jw_object_end(w);
}

void chat_said_output_text(const struct call *c, struct buf *out)
{
    if (c->is_broken) {
        buf_append(out, broken_note);
        if (content_has_text(c->output))
            buf_append(out, CHAT_NEWLINE);
    }
    if (c->output == NULL)
        buf_append(out, STR("[no output]"));
    else
        content_write_text(c->output, CHAT_NEWLINE, out);
}

static void write_output(const struct call *c, const struct chat_request_options *o, struct jw *w)
{
    chat_content_open_message(w, STR("tool"));
    json_copy_key_text(w, "tool_call_id", c->id);
    jw_key(w, "content");
    if (o->images_in_tool && c->output != NULL && c->output->has_media) {
        jw_array(w);
        if (c->is_broken)
            chat_content_part(&(const struct part){.kind = PART_TEXT, .text = broken_note}, w);
        chat_content_parts(c->output, w);
        jw_array_end(w);
    } else {
        jw_open_string(w);
        chat_said_output_text(c, w->out);
        jw_close_string(w);
    }
    jw_object_end(w);
}

/* ---- messages of the assistant */

/* One message of the request: all that the assistant said at once, or the part around one call. */
struct said {
    struct pieces texts, reasoning;
    const struct call *first_call, *end_call;
};

static bool has_tagged_reasoning(const struct said *s, const struct chat_request_options *o)
{
    return o->reasoning_field == CHAT_REASONING_IN_TAGS && s->reasoning.first != NULL;
}

static void write_tagged_reasoning(const struct said *s, const struct chat_request_options *o,
                                   struct jw *w)
{
    if (!has_tagged_reasoning(s, o))
        return;
    json_text_escape(o->think_open, w->out);
    chat_content_pieces(&s->reasoning, w);
    json_text_escape(o->think_close, w->out);
}

static bool has_text_calls(const struct said *s, const struct chat_request_options *o)
{
    return o->call_messages == CHAT_CALLS_TEXT && s->first_call != NULL;
}

/* The form that most models know who know any, and that text_calls=hermes finds again if one
 * imitates it. */
static void write_text_calls(const struct said *s, const struct chat_request_options *o,
                             struct jw *w)
{
    bool first = s->texts.first == NULL;

    for (const struct call *c = s->first_call; has_text_calls(s, o) && c != s->end_call;
         c = c->next) {
        if (!first)
            buf_append(w->out, CHAT_NEWLINE);
        buf_append(w->out, STR("<tool_call>\\n{\\\"name\\\": \\\""));
        json_text_escape(c->name, w->out); /* tool_name.c leaves no quotes in it */
        buf_append(w->out, STR("\\\", \\\"arguments\\\": "));
        json_copy_text(arguments_of(c), w->out);
        buf_append(w->out, STR("}\\n</tool_call>"));
        first = false;
    }
}

static void write_text_part(const struct said *s, const struct chat_request_options *o,
                            struct jw *w,
                            void (*write)(const struct said *s,
                                          const struct chat_request_options *o, struct jw *w))
{
    jw_object(w);
    jw_key_string(w, "type", STR("text"));
    jw_key(w, "text");
    jw_open_string(w);
    write(s, o, w);
    jw_close_string(w);
    jw_object_end(w);
}

/* All parts of several contents in one array. */
static void write_said_parts(const struct said *s, const struct chat_request_options *o,
                             struct jw *w)
{
    jw_array(w);
    if (has_tagged_reasoning(s, o))
        write_text_part(s, o, w, write_tagged_reasoning);
    for (const struct piece *p = s->texts.first; p != NULL; p = p->next)
        chat_content_parts(p->content, w);
    if (has_text_calls(s, o))
        write_text_part(s, o, w, write_text_calls);
    jw_array_end(w);
}

/* A message without any text is there for its calls. */
static void write_said_text(const struct said *s, const struct chat_request_options *o,
                            struct jw *w)
{
    const bool is_empty =
        s->texts.first == NULL && !has_tagged_reasoning(s, o) && !has_text_calls(s, o);

    if (is_empty && o->empty_content == CHAT_CONTENT_ABSENT)
        return;
    jw_key(w, "content");
    if (is_empty && o->empty_content == CHAT_CONTENT_NULL) {
        jw_null(w);
    } else if (conversation_has_media(&s->texts)) {
        write_said_parts(s, o, w);
    } else {
        jw_open_string(w);
        write_tagged_reasoning(s, o, w);
        chat_content_pieces(&s->texts, w);
        write_text_calls(s, o, w);
        jw_close_string(w);
    }
}

static void write_reasoning(const struct said *s, const struct chat_request_options *o,
                            struct jw *w)
{
    static const struct {
        const char *name;
        bool in[CHAT_NO_REASONING + 1]; /* for each value of the option */
    } fields[] = {
        {"reasoning_content",
         {[CHAT_REASONING_CONTENT] = true, [CHAT_BOTH_REASONING_FIELDS] = true}},
        {"reasoning", {[CHAT_REASONING] = true, [CHAT_BOTH_REASONING_FIELDS] = true}},
    };

    for (size_t i = 0; s->reasoning.first != NULL && i < COUNT_OF(fields); i++) {
        if (!fields[i].in[o->reasoning_field])
            continue;
        jw_key(w, fields[i].name);
        jw_open_string(w);
        chat_content_pieces(&s->reasoning, w);
        jw_close_string(w);
    }
}

static void write_calls(const struct said *s, struct jw *w)
{
    if (s->first_call == NULL)
        return;
    jw_key(w, "tool_calls");
    jw_array(w);
    for (const struct call *c = s->first_call; c != s->end_call; c = c->next)
        write_call(c, w);
    jw_array_end(w);
}

static void write_said(const struct said *s, const struct chat_request_options *o, struct jw *w)
{
    chat_content_open_message(w, STR("assistant"));
    write_said_text(s, o, w);
    write_reasoning(s, o, w);
    if (o->call_messages != CHAT_CALLS_TEXT)
        write_calls(s, w);
    jw_object_end(w);
    for (const struct call *c = s->first_call; c != s->end_call; c = c->next) {
        if (!c->open && o->call_messages != CHAT_CALLS_TEXT)
            write_output(c, o, w);
    }
}

static bool has_answer(const struct pieces *texts)
{
    for (const struct piece *p = texts->first; p != NULL; p = p->next) {
        if (p->phase == PHASE_FINAL_ANSWER)
            return true;
    }
    return false;
}

/* A template that shows one call of a message takes what stands beside it for reasoning: text
 * gives way to that (HARMONY 2.1), but an answer is not lost. */
static void write_single_calls(struct said s, const struct chat_request_options *o, struct jw *w)
{
    if (s.reasoning.first != NULL) {
        if (has_answer(&s.texts))
            write_said(&(const struct said){.texts = s.texts}, o, w);
        s.texts = (struct pieces){0};
    }
    for (const struct call *c = s.first_call; c != NULL; c = c->next) {
        s.first_call = c;
        s.end_call = c->next;
        write_said(&s, o, w);
        s.texts = s.reasoning = (struct pieces){0};
    }
}

void chat_said_write(const struct message *m, const struct chat_request_options *o, struct jw *w)
{
    struct said s = {.texts = m->texts, .first_call = m->first_call};

    if (o->reasoning_field != CHAT_NO_REASONING)
        s.reasoning = m->reasoning;
    if (o->call_messages == CHAT_CALLS_SINGLE && s.first_call != NULL)
        write_single_calls(s, o, w);
    else
        write_said(&s, o, w);
}
