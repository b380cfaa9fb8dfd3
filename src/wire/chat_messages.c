/* chat_messages.c -- one message at a time; all order is conversation.c's. */
#include "wire/chat_messages.h"

#include "json/json_copy.h"
#include "json/json_text.h"

/* Separators are the inside of a JSON string. */
static const str newline = STR_INIT("\\n");
static const str blank_line = STR_INIT("\\n\\n");

/* ---- content */

static void write_image(const struct part *p, struct jw *w)
{
    jw_key_string(w, "type", STR("image_url"));
    jw_key(w, "image_url");
    jw_object(w);
    json_copy_key_text(w, "url", p->text);
    json_copy_given_text(w, "detail", p->note);
    jw_object_end(w);
}

static void write_file(const struct part *p, struct jw *w)
{
    jw_key_string(w, "type", STR("file"));
    jw_key(w, "file");
    jw_object(w);
    json_copy_given_text(w, "filename", p->note);
    json_copy_key_text(w, "file_data", p->text);
    jw_object_end(w);
}

static void write_text_part(const struct part *p, struct jw *w)
{
    jw_key_string(w, "type", STR("text"));
    json_copy_key_text(w, "text", p->text);
}

static void write_part(const struct part *p, struct jw *w)
{
    if (p->kind == PART_AUDIO) { /* passed through as the client wrote it */
        json_copy_element(w, p->text);
        return;
    }
    jw_object(w);
    if (p->kind == PART_IMAGE)
        write_image(p, w);
    else if (p->kind == PART_FILE)
        write_file(p, w);
    else
        write_text_part(p, w);
    jw_object_end(w);
}

/* Text alone is one string: not every server takes arrays. */
static void write_content(const struct message *m, struct jw *w)
{
    jw_key(w, "content");
    if (!m->content->has_media) {
        jw_open_string(w);
        content_write_text(m->content, newline, w->out);
        jw_close_string(w);
        return;
    }
    jw_array(w);
    for (const struct part *p = m->content->first; p != NULL; p = p->next) {
        if (p->kind != PART_TEXT || !m->media_only)
            write_part(p, w);
    }
    jw_array_end(w);
}

static void write_parts(const struct content *c, struct jw *w)
{
    for (const struct part *p = c->first; p != NULL; p = p->next)
        write_part(p, w);
}

/* The texts of several contents, as the inside of a string. */
static void write_pieces(const struct pieces *list, struct jw *w)
{
    for (const struct piece *p = list->first; p != NULL; p = p->next) {
        if (p != list->first)
            buf_append(w->out, newline);
        content_write_text(p->content, STR(""), w->out);
    }
}

/* ---- messages */

static void open_message(struct jw *w, str role)
{
    jw_object(w);
    jw_key_string(w, "role", role);
}

/* One role for system and developer messages: servers that know the second
 * take them for the same and refuse a mix. */
static str system_role(const struct chat_request_options *o)
{
    return o->system_role == CHAT_DEVELOPER_ROLE ? STR("developer") : STR("system");
}

/* The instructions and the system messages at the start, as one: many chat
 * templates allow no second one. */
static void write_head(const struct conversation *c, const struct chat_request_options *o,
                       struct jw *w)
{
    bool first = true;

    if (str_is_none(c->instructions) && c->first == c->body)
        return;
    open_message(w, system_role(o));
    jw_key(w, "content");
    jw_open_string(w);
    if (!str_is_none(c->instructions)) {
        json_copy_text(c->instructions, w->out);
        first = false;
    }
    for (const struct message *m = c->first; m != c->body; m = m->next) {
        if (!first)
            buf_append(w->out, blank_line);
        content_write_text(m->content, newline, w->out);
        first = false;
    }
    jw_close_string(w);
    jw_object_end(w);
}

static void write_call(const struct call *c, struct jw *w)
{
    jw_object(w);
    json_copy_key_text(w, "id", c->id);
    jw_key_string(w, "type", STR("function"));
    jw_key(w, "function");
    jw_object(w);
    jw_key_string(w, "name", c->name);
    json_copy_key_text(w, "arguments", c->arguments);
    jw_object_end(w);
    jw_object_end(w);
}

static void write_output_text(const struct call *c, struct jw *w)
{
    jw_open_string(w);
    if (c->output == NULL)
        buf_append(w->out, STR("[no output]"));
    else
        content_write_text(c->output, newline, w->out);
    jw_close_string(w);
}

static void write_output(const struct call *c, const struct chat_request_options *o, struct jw *w)
{
    open_message(w, STR("tool"));
    json_copy_key_text(w, "tool_call_id", c->id);
    jw_key(w, "content");
    if (o->images_in_tool && c->output != NULL && c->output->has_media) {
        jw_array(w);
        write_parts(c->output, w);
        jw_array_end(w);
    } else {
        write_output_text(c, w);
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
    write_pieces(&s->reasoning, w);
    json_text_escape(o->think_close, w->out);
}

/* All parts of several contents in one array. */
static void write_said_parts(const struct said *s, const struct chat_request_options *o,
                             struct jw *w)
{
    jw_array(w);
    if (has_tagged_reasoning(s, o)) {
        jw_object(w);
        jw_key_string(w, "type", STR("text"));
        jw_key(w, "text");
        jw_open_string(w);
        write_tagged_reasoning(s, o, w);
        jw_close_string(w);
        jw_object_end(w);
    }
    for (const struct piece *p = s->texts.first; p != NULL; p = p->next)
        write_parts(p->content, w);
    jw_array_end(w);
}

/* A message without any text is there for its calls. */
static void write_said_text(const struct said *s, const struct chat_request_options *o,
                            struct jw *w)
{
    const bool is_empty = s->texts.first == NULL && !has_tagged_reasoning(s, o);

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
        write_pieces(&s->texts, w);
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

    for (size_t i = 0; s->reasoning.first != NULL && i < sizeof(fields) / sizeof(*fields); i++) {
        if (!fields[i].in[o->reasoning_field])
            continue;
        jw_key(w, fields[i].name);
        jw_open_string(w);
        write_pieces(&s->reasoning, w);
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
    open_message(w, STR("assistant"));
    write_said_text(s, o, w);
    write_reasoning(s, o, w);
    write_calls(s, w);
    jw_object_end(w);
    for (const struct call *c = s->first_call; c != s->end_call; c = c->next) {
        if (!c->open)
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

static void write_assistant(const struct message *m, const struct chat_request_options *o,
                            struct jw *w)
{
    struct said s = {.texts = m->texts, .first_call = m->first_call};

    if (o->reasoning_field != CHAT_NO_REASONING)
        s.reasoning = m->reasoning;
    if (o->call_messages == CHAT_CALLS_SINGLE && s.first_call != NULL)
        write_single_calls(s, o, w);
    else
        write_said(&s, o, w);
}

/* ---- all messages */

static void write_plain(const struct message *m, str role, struct jw *w)
{
    open_message(w, role);
    write_content(m, w);
    jw_object_end(w);
}

void chat_messages_write(const struct conversation *c, const struct chat_request_options *o,
                         struct jw *w)
{
    str system = system_role(o);

    jw_array(w);
    write_head(c, o, w);
    for (const struct message *m = c->body; m != NULL; m = m->next) {
        if (m->role == ROLE_ASSISTANT)
            write_assistant(m, o, w);
        else if (m->role == ROLE_SYSTEM)
            write_plain(m, system, w);
        else if (!m->media_only || !o->images_in_tool)
            write_plain(m, STR("user"), w);
        if (m->role != ROLE_SYSTEM && o->late_system_as_user)
            system = STR("user");
    }
    jw_array_end(w);
}
