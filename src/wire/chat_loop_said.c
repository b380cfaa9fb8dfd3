/* chat_loop_said.c -- gather the pieces of a round; write them as a message. */
#include "wire/chat_loop_said.h"

#include <stdlib.h>

#include "wire/chat_loop_member.h"
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"

void chat_loop_said_init(struct chat_loop_said *s, size_t limit_bytes)
{
    *s = (struct chat_loop_said){.limit_bytes = limit_bytes};
    buf_init(&s->content.text, limit_bytes);
    buf_init(&s->reasoning_content.text, limit_bytes);
    buf_init(&s->reasoning.text, limit_bytes);
    buf_init(&s->reasoning_details, limit_bytes);
}

size_t chat_loop_said_bytes(const struct chat_loop_said *s)
{
    size_t n = s->content.text.len + s->reasoning_content.text.len + s->reasoning.text.len +
               s->reasoning_details.len;

    for (size_t i = 0; i < s->n; i++)
        n += s->calls[i].arguments.text.len + s->calls[i].held.len;
    return n;
}

void chat_loop_said_fini(struct chat_loop_said *s)
{
    for (size_t i = 0; i < s->n; i++) {
        buf_fini(&s->calls[i].arguments.text);
        buf_fini(&s->calls[i].extra);
        buf_fini(&s->calls[i].held);
    }
    chat_calls_fini(&s->table);
    free(s->calls);
    buf_fini(&s->content.text);
    buf_fini(&s->reasoning_content.text);
    buf_fini(&s->reasoning.text);
    buf_fini(&s->reasoning_details);
    *s = (struct chat_loop_said){.calls = NULL};
}

static void text_add(struct chat_loop_said *s, struct chat_loop_text *t, str escaped)
{
    if (escaped.len > 0)
        json_text_splice(&t->splice, escaped, &t->text);
    s->failed = s->failed || buf_failed(&t->text);
}

/* ---- texts */

/* A string, or parts of which those with text count. */
static void add_content(struct chat_loop_said *s, str raw)
{
    struct jr j;

    jr_init(&j, raw);
    if (jr_type_of(raw) == JR_STRING) {
        text_add(s, &s->content, str_from(raw.p + 1, raw.len - 2));
    } else if (jr_enter(&j, JR_ARRAY)) {
        while (jr_next_element(&j))
            text_add(s, &s->content, jr_member_string(jr_raw(&j), STR("text")));
    }
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

void chat_loop_said_texts(struct chat_loop_said *s, str raw)
{
    struct jr j;
    str name;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_OBJECT))
        return;
    while (jr_next_member(&j, &name)) {
        if (str_eq(name, STR("content")))
            add_content(s, jr_raw(&j));
        else if (str_eq(name, STR("reasoning_content")))
            text_add(s, &s->reasoning_content, jr_string(&j));
        else if (str_eq(name, STR("reasoning")))
            text_add(s, &s->reasoning, jr_string(&j));
        else if (str_eq(name, STR("reasoning_details")))
            add_details(s, jr_raw(&j));
        else
            jr_skip(&j);
    }
}

/* ---- calls */

static void read_function(str raw, struct chat_loop_piece *piece)
{
    struct jr j;
    str name;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_OBJECT))
        return;
    while (jr_next_member(&j, &name)) {
        if (str_eq(name, STR("name")))
            piece->of.name = jr_string(&j);
        else if (str_eq(name, STR("arguments")))
            piece->arguments = jr_raw(&j);
        else if (str_eq(name, STR("index")) && piece->of.index == CHAT_NO_INDEX)
            piece->of.index = jr_int(&j, CHAT_NO_INDEX);
        else
            jr_skip(&j);
    }
}

void chat_loop_piece_read(str raw, struct chat_loop_piece *ret)
{
    struct chat_loop_piece p = {.raw = raw, .of = {.index = CHAT_NO_INDEX}, .arguments = STR_NONE};
    str name, function = STR_NONE;
    struct jr j;

    jr_init(&j, raw);
    if (jr_enter(&j, JR_OBJECT)) {
        while (jr_next_member(&j, &name)) {
            if (str_eq(name, STR("index")))
                p.of.index = jr_int(&j, CHAT_NO_INDEX);
            else if (str_eq(name, STR("id")))
                p.of.id = jr_string(&j);
            else if (str_eq(name, STR("function")))
                function = jr_raw(&j);
            else
                jr_skip(&j);
        }
    }
    p.has_index = p.of.index != CHAT_NO_INDEX;
    read_function(function, &p);
    p.has_arguments = jr_type_of(p.arguments) == JR_OBJECT || jr_type_of(p.arguments) == JR_ARRAY ||
                      (jr_type_of(p.arguments) == JR_STRING && p.arguments.len > strlen("\"\""));
    *ret = p;
}

static bool is_known(str name)
{
    static const str known[] = {STR_INIT("index"), STR_INIT("id"), STR_INIT("type"),
                                STR_INIT("function")};

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
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
static bool make_place(struct chat_loop_said *s, const struct chat_loop_piece *piece)
{
    size_t cap = s->cap == 0 ? 4 : s->cap * 2;
    struct chat_loop_call *c;

    if (s->n == s->cap) {
        c = realloc(s->calls, cap * sizeof(*c));
        if (c == NULL)
            return false;
        s->calls = c;
        s->cap = cap;
    }
    c = &s->calls[s->n++];
    *c = (struct chat_loop_call){.owner = CHAT_CALL_UNDECIDED};
    buf_init(&c->arguments.text, s->limit_bytes);
    buf_init(&c->held, s->limit_bytes);
    keep_extra(c, piece->raw);
    return !buf_failed(&c->extra);
}

/* Some servers give the arguments as an object; said again, it is no more of them. */
static void add_arguments(struct chat_loop_said *s, struct chat_loop_call *c, str raw,
                          bool is_first)
{
    struct buf compact = {.limit = 0};

    if (jr_type_of(raw) == JR_STRING) {
        text_add(s, &c->arguments, str_from(raw.p + 1, raw.len - 2));
    } else if (is_first) {
        json_copy_value(raw, &compact);
        json_text_escape(buf_str(&compact), &c->arguments.text);
        s->failed = s->failed || buf_failed(&compact) || buf_failed(&c->arguments.text);
    }
    buf_fini(&compact);
}

struct chat_loop_call *chat_loop_said_piece(struct chat_loop_said *s,
                                            const struct chat_loop_piece *piece)
{
    struct chat_call *entry = s->failed ? NULL : chat_calls_take(&s->table, &piece->of);
    size_t i = entry == NULL ? 0 : (size_t)(entry - s->table.calls);
    struct chat_loop_call *c;

    if (entry == NULL || (i == s->n && !make_place(s, piece))) {
        s->failed = true;
        return NULL;
    }
    c = &s->calls[i];
    if (c->owner != CHAT_CALL_CLIENTS && piece->has_arguments)
        add_arguments(s, c, piece->arguments, !entry->has_arguments);
    entry->has_arguments = entry->has_arguments || piece->has_arguments;
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
    return str_find_char(name, '\\') < name.len;
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

static void text_end(struct chat_loop_said *s, struct chat_loop_text *t)
{
    json_text_splice_end(&t->splice, &t->text);
    s->failed = s->failed || buf_failed(&t->text);
}

void chat_loop_said_end(struct chat_loop_said *s, const struct id_source *ids)
{
    text_end(s, &s->content);
    text_end(s, &s->reasoning_content);
    text_end(s, &s->reasoning);
    for (size_t i = 0; i < s->n; i++) {
        text_end(s, &s->calls[i].arguments);
        if (s->calls[i].owner == CHAT_CALL_OURS)
            give_id(s, &s->table.calls[i], ids);
    }
}

struct chat_loop_call_view chat_loop_said_call(const struct chat_loop_said *s, size_t i)
{
    const struct chat_call *entry = &s->table.calls[i];
    str arguments = buf_str(&s->calls[i].arguments.text);

    return (struct chat_loop_call_view){.id = buf_str(&entry->id),
                                        .name = buf_str(&entry->name),
                                        .arguments = arguments.len > 0 ? arguments : STR("{}")};
}

/* ---- as messages */

static void write_content(const struct chat_loop_said *s, enum chat_empty_content empty,
                          struct jw *w)
{
    if (s->content.text.len > 0 || empty == CHAT_CONTENT_EMPTY)
        jw_key_escaped(w, "content", buf_str(&s->content.text));
    else if (empty == CHAT_CONTENT_NULL)
        jw_key_escaped(w, "content", STR_NONE);
}

static void write_reasoning(const struct chat_loop_said *s, struct jw *w)
{
    if (s->reasoning_content.text.len > 0)
        jw_key_escaped(w, "reasoning_content", buf_str(&s->reasoning_content.text));
    if (s->reasoning.text.len > 0)
        jw_key_escaped(w, "reasoning", buf_str(&s->reasoning.text));
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
    write_content(s, conf->empty_content, &w);
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
    jw_key_string(&w, "content", text);
    jw_object_end(&w);
}
