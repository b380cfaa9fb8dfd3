/* schema_ts.c -- the type of a schema, exactly as models have seen it in training.
 *
 * Odd as some of it looks, nothing here is free to be nicer: a nested object says its description
 * twice, only the first line of a text is a comment, arrays of unions have no parentheses. */
#include "text/schema_ts.h"

#include <stdlib.h>

#include "base/arena.h"
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "text/schema.h"

enum { PROPERTY_INDENT = 4, VARIANT_INDENT = 3 }; /* spaces */

struct ts {
    struct buf *out;
    struct arena arena; /* names of required properties */
    int depth;
};

/* Names in the order of str_order(). */
struct names {
    str *list;
    size_t n;
};

static const str any = STR_INIT("any");

static void write_type(struct ts *t, const struct schema *s, size_t indent);

/* ---- reading */

static bool is_text(str raw)
{
    return jr_type_of(raw) == JR_STRING;
}

static str string_content(str raw)
{
    return str_from(raw.p + 1, raw.len - 2);
}

static int compare_names(const void *a, const void *b)
{
    return str_order(*(const str *)a, *(const str *)b);
}

/* A decoded name, in the arena; STR_NONE for STR_NONE. */
static str plain_name(struct ts *t, str escaped)
{
    str name = json_text_dup(&t->arena, escaped);

    if (str_is_none(name) && !str_is_none(escaped))
        t->out->failed = true; /* out of memory */
    return name;
}

static struct names read_required(struct ts *t, str raw)
{
    struct names names = {.n = 0};
    struct jr j;

    if (jr_type_of(raw) != JR_ARRAY)
        return names;
    names.list = arena_array(&t->arena, jr_count(raw), sizeof(str));
    if (names.list == NULL) {
        t->out->failed = true;
        return names;
    }
    jr_init(&j, raw);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        str name = plain_name(t, jr_string(&j));

        if (!str_is_none(name))
            names.list[names.n++] = name;
    }
    qsort(names.list, names.n, sizeof(str), compare_names);
    return names;
}

static bool has_name(const struct names *names, str name)
{
    return names->n > 0 &&
           bsearch(&name, names->list, names->n, sizeof(str), compare_names) != NULL;
}

/* ---- small parts */

static void write_text(const struct ts *t, str raw)
{
    json_text_decode(string_content(raw), t->out);
}

static void write_quoted(const struct ts *t, str raw)
{
    buf_char(t->out, '"');
    write_text(t, raw);
    buf_char(t->out, '"');
}

static void write_indent(const struct ts *t, size_t indent)
{
    char *to = indent == 0 ? NULL : buf_reserve(t->out, indent);

    if (to == NULL)
        return;
    memset(to, ' ', indent);
    t->out->len += indent;
}

static void write_comment(const struct ts *t, str raw, size_t indent)
{
    write_indent(t, indent);
    buf_append(t->out, STR("// "));
    write_text(t, raw);
    buf_char(t->out, '\n');
}

static void write_default(const struct ts *t, str raw, bool quoted)
{
    buf_append(t->out, STR("default: "));
    if (!is_text(raw))
        json_copy_value(raw, t->out);
    else if (quoted)
        write_quoted(t, raw);
    else
        write_text(t, raw);
}

/* ---- types by name */

/* Writes the strings of an enum; false when there are none. */
static bool write_enum(const struct ts *t, str raw)
{
    bool first = true;
    struct jr j;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_ARRAY))
        return false;
    while (jr_next_element(&j)) {
        str member = jr_raw(&j);

        if (!is_text(member))
            continue;
        if (!first)
            buf_append(t->out, STR(" | "));
        write_quoted(t, member);
        first = false;
    }
    return !first;
}

static void write_string(struct ts *t, const struct schema *s, size_t indent)
{
    (void)indent;
    if (!write_enum(t, s->members))
        buf_append(t->out, STR("string"));
}

static void write_array(struct ts *t, const struct schema *s, size_t indent)
{
    struct schema items;
    struct jr j;

    if (str_is_none(s->items)) {
        buf_append(t->out, STR("Array<any>"));
        return;
    }
    jr_init(&j, s->items);
    items = schema_read(&j);
    write_type(t, &items, indent);
    buf_append(t->out, STR("[]"));
}

/* ---- unions */

/* Writes a type, and null unless the type has it already. */
static void write_nullable_type(struct ts *t, const struct schema *s, size_t indent)
{
    size_t from = t->out->len;
    str type;

    write_type(t, s, indent);
    type = str_skip(buf_str(t->out), from);
    if (jr_type_of(s->nullable) == JR_TRUE && str_find(type, STR("null")) == type.len)
        buf_append(t->out, STR(" | null"));
}

static void write_variant_comment(const struct ts *t, const struct schema *s, bool described)
{
    const bool has_default = !str_is_none(s->initial);

    if (!described && !has_default)
        return;
    buf_append(t->out, STR(" // "));
    if (described)
        write_text(t, s->description);
    if (described && has_default)
        buf_char(t->out, ' ');
    if (has_default)
        write_default(t, s->initial, true);
}

/* hide_first: the description of the first variant is left out. */
static void write_variants(struct ts *t, str one_of, bool hide_first, size_t indent)
{
    struct jr j;

    jr_init(&j, one_of);
    (void)jr_enter(&j, JR_ARRAY);
    for (size_t i = 0; jr_next_element(&j); i++) {
        const struct schema s = schema_read(&j);

        buf_char(t->out, '\n');
        write_indent(t, indent);
        buf_append(t->out, STR(" | "));
        write_nullable_type(t, &s, indent + VARIANT_INDENT);
        write_variant_comment(t, &s, is_text(s.description) && (i > 0 || !hide_first));
    }
}

static void write_type_list(const struct ts *t, str types)
{
    bool first = true;
    struct jr j;

    jr_init(&j, types);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        str name = jr_string(&j);

        if (name.len == 0)
            continue;
        if (!first)
            buf_append(t->out, STR(" | "));
        if (json_text_eq(name, STR("integer")))
            buf_append(t->out, STR("number"));
        else
            json_text_decode(name, t->out);
        first = false;
    }
    if (first)
        buf_append(t->out, any);
}

/* ---- objects */

/* True when the description of a union is that of its first variant. */
static bool repeats_variant(const struct schema *s)
{
    struct jr j;

    if (!schema_is_union(s))
        return false;
    jr_init(&j, s->one_of);
    (void)jr_enter(&j, JR_ARRAY);
    return jr_next_element(&j) && str_eq(schema_read(&j).description, s->description);
}

static void write_examples(const struct ts *t, str examples, size_t indent)
{
    struct jr j;

    jr_init(&j, examples);
    if (!jr_enter(&j, JR_ARRAY))
        return;
    write_indent(t, indent);
    buf_append(t->out, STR("// Examples:\n"));
    while (jr_next_element(&j)) {
        str example = jr_raw(&j);

        if (!is_text(example))
            continue;
        write_indent(t, indent);
        buf_append(t->out, STR("// - "));
        write_quoted(t, example);
        buf_char(t->out, '\n');
    }
}

static void write_property_comments(const struct ts *t, const struct schema *s, size_t indent)
{
    if (is_text(s->title)) {
        write_comment(t, s->title, indent);
        write_indent(t, indent);
        buf_append(t->out, STR("//\n"));
    }
    if (is_text(s->description) && !repeats_variant(s))
        write_comment(t, s->description, indent);
    write_examples(t, s->examples, indent);
}

static void write_name(const struct ts *t, str name, bool required, size_t indent)
{
    write_indent(t, indent);
    buf_append(t->out, name);
    buf_append(t->out, required ? STR(":") : STR("?:"));
}

static bool quotes_default(const struct schema *s)
{
    return jr_type_of(s->members) != JR_ARRAY || jr_count(s->members) == 0;
}

static void write_union_property(struct ts *t, str name, const struct schema *s, bool required,
                                 size_t indent)
{
    if (!str_is_none(s->initial)) {
        write_indent(t, indent);
        buf_append(t->out, STR("// "));
        write_default(t, s->initial, quotes_default(s));
        buf_char(t->out, '\n');
    }
    write_name(t, name, required, indent);
    write_variants(t, s->one_of, is_text(s->description), indent);
    buf_char(t->out, '\n');
    write_indent(t, indent);
    buf_append(t->out, STR(",\n"));
}

static void write_plain_property(struct ts *t, str name, const struct schema *s, bool required,
                                 size_t indent)
{
    write_name(t, name, required, indent);
    buf_char(t->out, ' ');
    write_nullable_type(t, s, indent + PROPERTY_INDENT);
    buf_char(t->out, ',');
    if (!str_is_none(s->initial)) {
        buf_append(t->out, STR(" // "));
        write_default(t, s->initial, quotes_default(s));
    }
    buf_char(t->out, '\n');
}

static void write_properties(struct ts *t, const struct schema *s, size_t indent)
{
    const struct names required = read_required(t, s->required);
    struct jr j;
    str key;

    jr_init(&j, s->properties);
    if (!jr_enter(&j, JR_OBJECT))
        return;
    while (jr_next_member(&j, &key)) {
        str name = plain_name(t, j.raw_key);
        struct schema p = schema_read(&j);

        write_property_comments(t, &p, indent);
        if (schema_is_union(&p))
            write_union_property(t, name, &p, has_name(&required, name), indent);
        else
            write_plain_property(t, name, &p, has_name(&required, name), indent);
    }
}

static void write_object(struct ts *t, const struct schema *s, size_t indent)
{
    if (is_text(s->description))
        write_comment(t, s->description, indent);
    buf_append(t->out, STR("{\n"));
    write_properties(t, s, indent);
    write_indent(t, indent);
    buf_char(t->out, '}');
}

/* ---- any type */

static const struct {
    str name, word; /* a word, or else a writer */
    void (*write)(struct ts *t, const struct schema *s, size_t indent);
} types[] = {
    {.name = STR_INIT("object"), .write = write_object},
    {.name = STR_INIT("string"), .write = write_string},
    {.name = STR_INIT("array"), .write = write_array},
    {.name = STR_INIT("number"), .word = STR_INIT("number")},
    {.name = STR_INIT("integer"), .word = STR_INIT("number")},
    {.name = STR_INIT("boolean"), .word = STR_INIT("boolean")},
};

static void write_named_type(struct ts *t, const struct schema *s, size_t indent)
{
    size_t i = 0, n = COUNT_OF(types);

    while (i < n && !(is_text(s->type) && json_text_eq(string_content(s->type), types[i].name)))
        i++;
    if (i < n && types[i].write != NULL)
        types[i].write(t, s, indent);
    else
        buf_append(t->out, i < n ? types[i].word : any);
}

static void write_type(struct ts *t, const struct schema *s, size_t indent)
{
    if (t->depth == SCHEMA_TS_MAX_DEPTH) {
        buf_append(t->out, any);
        return;
    }
    t->depth++;
    if (schema_is_union(s))
        write_variants(t, s->one_of, false, indent);
    else if (jr_type_of(s->type) == JR_ARRAY)
        write_type_list(t, s->type);
    else
        write_named_type(t, s, indent);
    t->depth--;
}

void schema_ts_write(str schema, struct buf *out)
{
    struct ts t = {.out = out};
    struct schema s;
    struct jr j;

    jr_init(&j, schema);
    s = schema_read(&j);
    write_type(&t, &s, 0);
    arena_fini(&t.arena);
}
