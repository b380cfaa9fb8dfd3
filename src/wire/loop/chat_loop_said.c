/* chat_loop_said.c -- gather the pieces of a round; write them as a message. */
#include "wire/loop/chat_loop_said.h"

#include <stdlib.h>

#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "wire/loop/chat_loop_member.h"

void chat_loop_said_init(struct chat_loop_said *s, size_t limit_bytes)
{
    *s = (struct chat_loop_said){.limit_bytes = limit_bytes};
    for (size_t i = 0; i < CHAT_LOOP_KINDS; i++)
        buf_init(&s->texts[i].text, limit_bytes);
    buf_init(&s->reasoning_details, limit_bytes);
}

size_t chat_loop_said_bytes(const struct chat_loop_said *s)
{
    size_t n = s->reasoning_details.len;

    for (size_t i = 0; i < CHAT_LOOP_KINDS; i++)
        n += s->texts[i].text.len;
    for (size_t i = 0; i < s->n; i++)
        n += s->calls[i].arguments.len + s->calls[i].held.len;
    return n;
}

void chat_loop_said_fini(struct chat_loop_said *s)
{
    for (size_t i = 0; i < s->n; i++) {
        buf_fini(&s->calls[i].arguments);
        buf_fini(&s->calls[i].extra);
        buf_fini(&s->calls[i].held);
    }
    chat_calls_fini(&s->table);
    free(s->calls);
    for (size_t i = 0; i < CHAT_LOOP_KINDS; i++)
        buf_fini(&s->texts[i].text);
    buf_fini(&s->reasoning_details);
    *s = (struct chat_loop_said){.calls = NULL};
}

/* ---- texts */

static void add_text(struct chat_loop_said *s, enum chat_loop_kind kind, str escaped)
{
    struct chat_loop_text *t = &s->texts[kind];

    if (escaped.len > 0)
        json_text_splice(&t->splice, escaped, &t->text);
    s->failed = s->failed || buf_failed(&t->text);
}

static void on_content(void *arg, enum delta_kind kind, str escaped)
{
    add_text(arg, kind == DELTA_TEXT ? CHAT_LOOP_CONTENT : CHAT_LOOP_THINKING, escaped);
}

static void add_details(struct chat_loop_said *s, str raw)
{
    struct buf *to = &s->reasoning_details;
    struct jr j;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j)) {
        if (to->len > 0)
            buf_char(to, ',');
        buf_append(to, jr_raw(&j));
    }
    s->failed = s->failed || buf_failed(to);
}

void chat_loop_said_texts(struct chat_loop_said *s, const struct chat_delta *d)
{
    chat_read_content(d->content, on_content, s);
    add_text(s, CHAT_LOOP_REASONING_CONTENT, d->reasoning_content);
    add_text(s, CHAT_LOOP_REASONING, d->reasoning);
    add_details(s, d->reasoning_details);
}

/* ---- calls */

static bool is_known(str name)
{
    static const str known[] = {STR_INIT("index"), STR_INIT("id"), STR_INIT("type"),
                                STR_INIT("function")};

    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (str_eq(name, known[i]))
            return true;
    }
    return false;
}

/* What else is in a call's first piece. */
static void keep_extra(struct chat_loop_call *c, str raw)
{
    struct jw w = {.out = &c->extra, .comma = true};
    struct chat_loop_member member;
    struct jr j;

    jr_init(&j, raw);
    (void)jr_enter(&j, JR_OBJECT);
    while (chat_loop_next_member(&j, &member)) {
        if (is_known(member.name))
            continue;
        json_copy_key(&w, member.key);
        jw_raw(&w, member.value);
    }
}

/* A place for a call that the table has just got. */
static struct chat_loop_call *make_place(struct chat_loop_said *s)
{
    size_t cap = s->cap == 0 ? 4 : s->cap * 2;
    struct chat_loop_call *c;

    if (s->n == s->cap) {
        c = realloc(s->calls, cap * sizeof(*c));
        if (c == NULL)
            return NULL;
        s->calls = c;
        s->cap = cap;
    }
    c = &s->calls[s->n++];
    *c = (struct chat_loop_call){.owner = CHAT_CALL_UNDECIDED};
    buf_init(&c->arguments, s->limit_bytes);
    buf_init(&c->held, s->limit_bytes);
    return c;
}

struct chat_loop_call *chat_loop_said_piece(struct chat_loop_said *s,
                                            const struct chat_call_piece *piece, str raw)
{
    struct chat_call *entry = s->failed ? NULL : chat_calls_take(&s->table, piece);
    size_t i = entry == NULL ? s->n : (size_t)(entry - s->table.calls);
    bool is_new = i == s->n;
    struct chat_loop_call *c = entry == NULL ? NULL : is_new ? make_place(s) : &s->calls[i];

    if (c == NULL) {
        s->failed = true;
        return NULL;
    }
    if (is_new && piece->index != CHAT_OLD_FORM)
        keep_extra(c, raw);
    if (c->owner != CHAT_CALL_CLIENTS)
        chat_call_add_arguments(entry, piece, &c->arguments);
    else if (chat_call_piece_has_arguments(piece))
        entry->has_arguments = true;
    s->failed = s->failed || buf_failed(&c->extra) || buf_failed(&c->arguments);
    return c;
}

/* ---- whose is it? */

size_t chat_loop_tools_find(const struct chat_loop_tools *tools, str name)
{
    size_t i = 0;

    while (i < tools->n && !json_text_eq(name, tools->names[i]))
        i++;
    return i;
}

/* Does the name of one of ours begin with it? Ours have no characters to escape, and
 * who escapes them all the same is not understood before the name is complete. */
static bool may_be_ours(const struct chat_loop_tools *tools, str name)
{
    for (size_t i = 0; i < tools->n; i++) {
        if (str_starts_with(tools->names[i], name))
            return true;
    }
    return json_text_has_escape(name);
}

void chat_loop_said_decide(struct chat_loop_said *s, struct chat_loop_call *c,
                           const struct chat_loop_tools *tools, bool is_complete)
{
    str name = buf_str(&s->table.calls[c - s->calls].name);

    if (c->owner != CHAT_CALL_UNDECIDED)
        return;
    if (tools->answers_all || (is_complete && chat_loop_tools_find(tools, name) < tools->n))
        c->owner = CHAT_CALL_OURS;
    else if (is_complete || (name.len > 0 && !may_be_ours(tools, name)))
        c->owner = CHAT_CALL_CLIENTS;
}

size_t chat_loop_said_count(const struct chat_loop_said *s, enum chat_loop_owner owner)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        n += s->calls[i].owner == owner ? 1 : 0;
    return n;
}

/* ---- the end */

/* Results are told apart by the id alone, so no two calls may have the same. */
static void give_id(struct chat_loop_said *s, struct chat_call *entry, const struct id_source *ids)
{
    struct id id;

    if (entry->id.len > 0 && !entry->id_taken)
        return;
    id = id_make(ids, "call_", ID_CALL_CHARS);
    buf_reset(&entry->id);
    buf_append(&entry->id, id_str(&id));
    s->failed = s->failed || buf_failed(&entry->id);
}

void chat_loop_said_end(struct chat_loop_said *s, const struct id_source *ids)
{
    for (size_t i = 0; i < CHAT_LOOP_KINDS; i++) {
        json_text_splice_end(&s->texts[i].splice, &s->texts[i].text);
        s->failed = s->failed || buf_failed(&s->texts[i].text);
    }
    for (size_t i = 0; i < s->n; i++) {
        json_text_splice_end(&s->table.calls[i].splice, &s->calls[i].arguments);
        s->failed = s->failed || buf_failed(&s->calls[i].arguments);
        if (s->calls[i].owner == CHAT_CALL_OURS)
            give_id(s, &s->table.calls[i], ids);
    }
}

struct chat_loop_call_view chat_loop_said_call(const struct chat_loop_said *s, size_t i)
{
    const struct chat_call *entry = &s->table.calls[i];
    str arguments = buf_str(&s->calls[i].arguments);

    return (struct chat_loop_call_view){.id = buf_str(&entry->id),
                                        .name = buf_str(&entry->name),
                                        .arguments = arguments.len > 0 ? arguments : STR("{}")};
}

/* ---- as messages */

static str text_of(const struct chat_loop_said *s, enum chat_loop_kind kind)
{
    return buf_str(&s->texts[kind].text);
}

static void open_part(struct jw *w, const char *type)
{
    jw_object(w);
    jw_key_string(w, "type", str_from_c(type));
}

static void write_text_part(struct jw *w, str escaped)
{
    open_part(w, "text");
    jw_key_escaped(w, "text", escaped);
    jw_object_end(w);
}

/* Mistral refuses messages with members for reasoning, and wants its own parts back. */
static void write_parts(const struct chat_loop_said *s, struct jw *w)
{
    jw_key(w, "content");
    jw_array(w);
    open_part(w, "thinking");
    jw_key(w, "thinking");
    jw_array(w);
    write_text_part(w, text_of(s, CHAT_LOOP_THINKING));
    jw_array_end(w);
    jw_object_end(w);
    if (text_of(s, CHAT_LOOP_CONTENT).len > 0)
        write_text_part(w, text_of(s, CHAT_LOOP_CONTENT));
    jw_array_end(w);
}

static void write_content(const struct chat_loop_said *s, const struct chat_loop_message_conf *conf,
                          struct jw *w)
{
    const str content = text_of(s, CHAT_LOOP_CONTENT);

    if (!conf->omits_reasoning && text_of(s, CHAT_LOOP_THINKING).len > 0)
        write_parts(s, w);
    else if (content.len > 0 || conf->empty_content == CHAT_CONTENT_EMPTY)
        jw_key_escaped(w, "content", content);
    else if (conf->empty_content == CHAT_CONTENT_NULL)
        jw_key_escaped(w, "content", STR_NONE);
}

static void write_reasoning(const struct chat_loop_said *s, struct jw *w)
{
    if (text_of(s, CHAT_LOOP_REASONING_CONTENT).len > 0)
        jw_key_escaped(w, "reasoning_content", text_of(s, CHAT_LOOP_REASONING_CONTENT));
    if (text_of(s, CHAT_LOOP_REASONING).len > 0)
        jw_key_escaped(w, "reasoning", text_of(s, CHAT_LOOP_REASONING));
    if (s->reasoning_details.len > 0) {
        jw_key(w, "reasoning_details");
        jw_array(w);
        jw_raw(w, buf_str(&s->reasoning_details));
        jw_array_end(w);
    }
}

static void write_call(const struct chat_loop_said *s, size_t i, struct jw *w)
{
    const struct chat_loop_call_view c = chat_loop_said_call(s, i);

    jw_object(w);
    jw_key_escaped(w, "id", c.id);
    jw_key_string(w, "type", STR("function"));
    jw_key(w, "function");
    jw_object(w);
    jw_key_escaped(w, "name", c.name);
    jw_key_escaped(w, "arguments", s->calls[i].is_broken ? STR("{}") : c.arguments);
    jw_object_end(w);
    buf_append(w->out, buf_str(&s->calls[i].extra));
    jw_object_end(w);
}

void chat_loop_said_write(const struct chat_loop_said *s, const struct chat_loop_message_conf *conf,
                          struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    jw_key_string(&w, "role", STR("assistant"));
    write_content(s, conf, &w);
    if (!conf->omits_reasoning)
        write_reasoning(s, &w);
    jw_key(&w, "tool_calls");
    jw_array(&w);
    for (size_t i = 0; i < s->n; i++) {
        if (s->calls[i].owner == CHAT_CALL_OURS)
            write_call(s, i, &w);
    }
    jw_array_end(&w);
    jw_object_end(&w);
}

void chat_loop_result_write(str id, str text, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    jw_key_string(&w, "role", STR("tool"));
    jw_key_escaped(&w, "tool_call_id", id);
    jw_key_escaped(&w, "content", text);
    jw_object_end(&w);
}
