/* span_content.c -- Chat Completions messages in the form of the conventions: messages of parts.
 *
 * The request may have been cut: what stands before the cut is read, and written as whole JSON. */
#include "trace/span_content.h"

#include "json/json_read.h"
#include "json/json_write.h"

void span_content_keep(struct span *s, str request)
{
    if (s == NULL)
        return;
    if (request.len > SPAN_CONTENT_BYTES)
        request.len = SPAN_CONTENT_BYTES;
    s->content_at = s->texts.len;
    buf_append(&s->texts, request);
    s->has_content = !buf_failed(&s->texts);
    s->content_len = request.len;
    s->texts.failed = s->texts.is_full = false;
}

/* ---- what is written */

struct content {
    struct buf system, messages, tools; /* elements of arrays */
    size_t most;                        /* bytes of each, about; 0: any */
};

static bool is_enough(const struct content *c, const struct buf *out)
{
    return c->most != 0 && out->len > c->most;
}

static void write_text_part(struct jw *w, str escaped)
{
    if (str_is_none(escaped))
        return;
    jw_object(w);
    jw_key_string(w, "type", STR("text"));
    jw_key_escaped(w, "content", escaped);
    jw_object_end(w);
}

/* Of what is no text, only that it was there. */
static void write_part(struct jw *w, str raw)
{
    const str text = jr_member_string(raw, STR("text"));

    if (!str_is_none(text)) {
        write_text_part(w, text);
        return;
    }
    jw_object(w);
    jw_key_escaped(w, "type", jr_member_string(raw, STR("type")));
    jw_object_end(w);
}

static void write_content(struct jw *w, str raw)
{
    struct jr j;

    if (jr_type_of(raw) == JR_STRING) {
        write_text_part(w, jr_string_of(raw));
        return;
    }
    jr_init(&j, str_is_none(raw) ? STR("") : raw);
    if (!jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j))
        write_part(w, jr_raw(&j));
}

static void write_calls(struct jw *w, str raw)
{
    struct jr j;

    jr_init(&j, str_is_none(raw) ? STR("") : raw);
    if (!jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j)) {
        const str call = jr_raw(&j), function = jr_member(call, STR("function"));

        jw_object(w);
        jw_key_string(w, "type", STR("tool_call"));
        jw_key_escaped(w, "id", jr_member_string(call, STR("id")));
        jw_key_escaped(w, "name", jr_member_string(function, STR("name")));
        jw_key_escaped(w, "arguments", jr_member_string(function, STR("arguments")));
        jw_object_end(w);
    }
}

static void write_response(struct jw *w, str message)
{
    jw_object(w);
    jw_key_string(w, "type", STR("tool_call_response"));
    jw_key_escaped(w, "id", jr_member_string(message, STR("tool_call_id")));
    jw_key_raw(w, "response", jr_member(message, STR("content")));
    jw_object_end(w);
}

static struct jw next_element(struct buf *out)
{
    return (struct jw){.out = out, .comma = out->len > 0};
}

static void read_message(struct content *c, str message)
{
    const str role = jr_member_string(message, STR("role"));
    const str content = jr_member(message, STR("content"));
    struct jw writer = next_element(&c->messages), *w = &writer;

    if (str_eq(role, STR("system")) || str_eq(role, STR("developer"))) {
        writer = next_element(&c->system);
        write_content(w, content);
        return;
    }
    jw_object(w);
    jw_key_escaped(w, "role", role);
    jw_key(w, "parts");
    jw_array(w);
    if (str_eq(role, STR("tool")))
        write_response(w, message);
    else
        write_content(w, content);
    write_calls(w, jr_member(message, STR("tool_calls")));
    jw_array_end(w);
    jw_object_end(w);
}

static void read_tool(struct content *c, str tool)
{
    const str function = jr_member(tool, STR("function"));
    struct jw writer = next_element(&c->tools), *w = &writer;

    jw_object(w);
    jw_key_escaped(w, "type", jr_member_string(tool, STR("type")));
    jw_key_escaped(w, "name", jr_member_string(function, STR("name")));
    jw_key_escaped(w, "description", jr_member_string(function, STR("description")));
    jw_key_raw(w, "parameters", jr_member(function, STR("parameters")));
    jw_object_end(w);
}

/* Elements up to the cut; jr_raw() gives none that is not whole. */
static void read_elements(struct content *c, struct jr *j, const struct buf *out,
                          void (*read)(struct content *c, str element))
{
    if (!jr_enter(j, JR_ARRAY))
        return;
    while (jr_next_element(j)) {
        const str element = jr_raw(j);

        if (jr_ok(j) && !str_is_none(element) && !is_enough(c, out))
            read(c, element);
    }
}

static void read_prompt(struct content *c, str escaped)
{
    struct jw writer = next_element(&c->messages), *w = &writer;

    jw_object(w);
    jw_key_string(w, "role", STR("user"));
    jw_key(w, "parts");
    jw_array(w);
    write_text_part(w, escaped);
    jw_array_end(w);
    jw_object_end(w);
}

static void read_request(struct content *c, str request)
{
    struct jr j;
    str key;

    jr_init(&j, request);
    if (!jr_enter(&j, JR_OBJECT))
        return;
    while (jr_next_member(&j, &key)) {
        if (str_eq(key, STR("messages")))
            read_elements(c, &j, &c->messages, read_message);
        else if (str_eq(key, STR("tools")))
            read_elements(c, &j, &c->tools, read_tool);
        else if (str_eq(key, STR("prompt")) && jr_peek(&j) == JR_STRING)
            read_prompt(c, jr_string(&j));
        else
            jr_skip(&j);
    }
}

/* ---- the attributes */

static void add_list(struct span *s, const char *key, struct buf *elements)
{
    struct buf list = {.limit = 0};

    if (elements->len > 0) {
        buf_char(&list, '[');
        buf_append(&list, buf_str(elements));
        buf_char(&list, ']');
        if (!buf_failed(&list) && !buf_failed(elements))
            span_text(s, key, buf_str(&list));
    }
    buf_fini(&list);
    buf_fini(elements);
}

void span_content_read(struct span *s)
{
    struct content c = {.most = s->limits.value_bytes};

    if (!s->has_content)
        return;
    s->has_content = false;
    read_request(&c, str_from(s->texts.p + s->content_at, s->content_len));
    add_list(s, "gen_ai.system_instructions", &c.system);
    add_list(s, "gen_ai.input.messages", &c.messages);
    add_list(s, "gen_ai.tool.definitions", &c.tools);
}
