/* text_calls_json.c -- calls that are JSON objects, {"name": ..., "arguments": ...}, and what a
 * text is that consists of them alone. */
#include "json/json_read.h"
#include "json/json_text.h"
#include "text/text_calls_grammar.h"

/* Members of a call, as they stand in the object; STR_NONE: not there. */
struct object {
    str name, id;  /* escaped */
    str arguments; /* raw */
};

static struct object read_call_object(struct jr *j)
{
    struct object o = {STR_NONE, STR_NONE, STR_NONE};
    str key;

    if (!jr_enter(j, JR_OBJECT))
        return o;
    while (jr_next_member(j, &key)) {
        if (str_eq(key, STR("name")))
            o.name = jr_string(j);
        else if (str_eq(key, STR("arguments")) || str_eq(key, STR("parameters")))
            o.arguments = jr_raw(j);
        else if (str_eq(key, STR("id")))
            o.id = jr_string(j);
        else
            jr_skip(j);
    }
    return o;
}

static bool is_object_text(str json)
{
    return jr_type_of(json) == JR_OBJECT && jr_is_valid(json);
}

static bool keep_decoded(struct text_calls *t, struct buf *in, str escaped)
{
    in->len = 0;
    json_text_decode(escaped, in);
    t->out_of_memory |= buf_failed(in);
    return !t->out_of_memory;
}

/* Arguments are an object, an object in a string, or missing when there are none. */
static bool keep_arguments(struct text_calls *t, str raw)
{
    struct buf *to = &t->arguments;

    switch (jr_type_of(raw)) {
    case JR_OBJECT:
        return text_calls_keep(t, to, raw);
    case JR_STRING:
        if (!keep_decoded(t, to, str_from(raw.p + 1, raw.len - 2)))
            return false;
        if (str_trim(buf_str(to)).len == 0)
            return text_calls_keep(t, to, STR("{}"));
        return is_object_text(str_trim(buf_str(to)));
    case JR_NONE:
    case JR_NULL:
        return text_calls_keep(t, to, STR("{}"));
    default:
        return false;
    }
}

static bool keep_object(struct text_calls *t, const struct object *o)
{
    return o->name.len > 0 && keep_decoded(t, &t->name, o->name) &&
           keep_decoded(t, &t->id, str_is_none(o->id) ? STR("") : o->id) &&
           keep_arguments(t, o->arguments);
}

typedef bool on_object(struct text_calls *t, const struct object *o);

static bool each_object(struct text_calls *t, str json, on_object *on)
{
    bool is_good = true;
    struct object o;
    struct jr j;

    jr_init(&j, json);
    if (jr_peek(&j) == JR_OBJECT) {
        o = read_call_object(&j);
        return on(t, &o);
    }
    if (!jr_enter(&j, JR_ARRAY))
        return false;
    while (jr_next_element(&j) && is_good) {
        o = read_call_object(&j);
        is_good = on(t, &o);
    }
    return is_good;
}

static bool report_object(struct text_calls *t, const struct object *o)
{
    if (keep_object(t, o))
        text_calls_report(t, buf_str(&t->name), buf_str(&t->arguments), buf_str(&t->id));
    return !t->out_of_memory;
}

/* Without a marker only what cannot be anything else is a call. */
static bool is_declared_call(struct text_calls *t, const struct object *o)
{
    return !str_is_none(o->arguments) && keep_object(t, o) &&
           text_calls_is_function(t, buf_str(&t->name));
}

/* An array is taken only when all of it are calls. */
bool text_take_calls(struct text_calls *t, str read)
{
    return jr_is_valid(read) && jr_count(read) > 0 && each_object(t, read, keep_object) &&
           each_object(t, read, report_object);
}

bool text_take_arguments(struct text_calls *t, str read)
{
    if (!is_object_text(read))
        return false;
    text_calls_report(t, buf_str(&t->name), read, buf_str(&t->id));
    return true;
}

bool text_take_declared(struct text_calls *t, str read)
{
    return jr_is_valid(read) && jr_count(read) > 0 && each_object(t, read, is_declared_call);
}

/* ---- Llama 3: <|python_tag|>{"name": ..., "parameters": ...}, or without the tag */

enum { MARKED = 1, BARE, BARE_END };

static const struct text_step steps[] = {
    [MARKED] = {WISH_JSON, {ANYWAY(COMPLETE, text_take_calls)}, NULL},
    [BARE] = {WISH_CALLS, {ANYWAY(BARE_END, text_take_declared)}, NULL},
    [BARE_END] = {WISH_MARK, {{.next = COMPLETE}}, text_take_calls},
};

const struct text_grammar text_grammar_llama3 = {
    .openings = {{STR_INIT("<|python_tag|>"), MARKED, false, ANYWHERE},
                 {STR_INIT("{"), BARE, true, AT_TEXT_START}},
    .steps = steps,
};
