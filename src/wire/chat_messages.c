/* chat_messages.c -- one message at a time; all order is conversation.c's. */
#include "wire/chat_messages.h"

#include "json/json_copy.h"

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

static bool has_media(const struct pieces *list)
{
    for (const struct piece *p = list->first; p != NULL; p = p->next) {
        if (p->content->has_media)
            return true;
    }
    return false;
}

static void write_parts(const struct content *c, struct jw *w)
{
    for (const struct part *p = c->first; p != NULL; p = p->next)
        write_part(p, w);
}

/* All parts of several contents in one array. */
static void write_all_parts(const struct pieces *list, struct jw *w)
{
    jw_array(w);
    for (const struct piece *p = list->first; p != NULL; p = p->next)
        write_parts(p->content, w);
    jw_array_end(w);
}

/* The texts of several contents in one string. */
static void write_pieces(const struct pieces *list, str separator, struct jw *w)
{
    jw_open_string(w);
    for (const struct piece *p = list->first; p != NULL; p = p->next) {
        if (p != list->first)
            buf_append(w->out, separator);
        content_write_text(p->content, STR(""), w->out);
    }
    jw_close_string(w);
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
    return o->developer_role ? STR("developer") : STR("system");
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

static void write_calls(const struct message *m, struct jw *w)
{
    if (m->first_call == NULL)
        return;
    jw_key(w, "tool_calls");
    jw_array(w);
    for (const struct call *c = m->first_call; c != NULL; c = c->next)
        write_call(c, w);
    jw_array_end(w);
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

/* Text of an assistant message; without any it is there for its calls. */
static void write_texts(const struct message *m, const struct chat_request_options *o, struct jw *w)
{
    if (m->texts.first == NULL && o->empty_content == CHAT_CONTENT_ABSENT)
        return;
    jw_key(w, "content");
    if (m->texts.first == NULL && o->empty_content == CHAT_CONTENT_NULL)
        jw_null(w);
    else if (has_media(&m->texts))
        write_all_parts(&m->texts, w);
    else
        write_pieces(&m->texts, newline, w);
}

static void write_reasoning(const struct message *m, const struct chat_request_options *o,
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

    for (size_t i = 0; m->reasoning.first != NULL && i < sizeof(fields) / sizeof(*fields); i++) {
        if (!fields[i].in[o->reasoning_field])
            continue;
        jw_key(w, fields[i].name);
        write_pieces(&m->reasoning, STR(""), w);
    }
}

static void write_assistant(const struct message *m, const struct chat_request_options *o,
                            struct jw *w)
{
    open_message(w, STR("assistant"));
    write_texts(m, o, w);
    write_reasoning(m, o, w);
    write_calls(m, w);
    jw_object_end(w);
    for (const struct call *c = m->first_call; c != NULL; c = c->next) {
        if (!c->open)
            write_output(c, o, w);
    }
}

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
