/* chat_content.c -- one part at a time. */
#include "wire/chat/chat_content.h"

#include "json/json_copy.h"

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

void chat_content_part(const struct part *p, struct jw *w)
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

void chat_content_parts(const struct content *c, struct jw *w)
{
    for (const struct part *p = c->first; p != NULL; p = p->next)
        chat_content_part(p, w);
}

void chat_content_pieces(const struct pieces *list, struct jw *w)
{
    for (const struct piece *p = list->first; p != NULL; p = p->next) {
        if (p != list->first)
            buf_append(w->out, CHAT_NEWLINE);
        content_write_text(p->content, STR(""), w->out);
    }
}

void chat_content_open_message(struct jw *w, str role)
{
    jw_object(w);
    jw_key_string(w, "role", role);
}
