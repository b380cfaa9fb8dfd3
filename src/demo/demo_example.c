/* demo_example.c -- walks a schema's properties; enough for tools as people write them. */
#include "demo/demo_example.h"

#include "base/buf.h"
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_write.h"

enum { MAX_DEPTH = 8 };

struct schema {
    str type, properties, items, choices, constant; /* raw; type escaped text */
};

static void write_value(str raw, str text, int depth, struct jw *w);

static const str nothing_special = STR_INIT("example");

static bool is_place(str name)
{
    return str_has_nocase(name, STR("city")) || str_has_nocase(name, STR("location"));
}

static str first_element(str raw)
{
    struct jr j;

    jr_init(&j, raw);
    return jr_enter(&j, JR_ARRAY) && jr_next_element(&j) ? jr_raw(&j) : STR_NONE;
}

static str example_text(str key)
{
    if (str_eq(key, STR("code")))
        return STR("print(6 * 7)");
    return is_place(key) ? STR("Oslo") : nothing_special;
}

static struct schema read_schema(str raw)
{
    struct schema s = {.type = STR("string")};
    struct jr j;
    str key;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_OBJECT))
        return s;
    while (jr_next_member(&j, &key)) {
        if (str_eq(key, STR("type")) && jr_peek(&j) == JR_STRING)
            s.type = jr_string(&j);
        else if (str_eq(key, STR("properties")))
            s.properties = jr_raw(&j);
        else if (str_eq(key, STR("items")))
            s.items = jr_raw(&j);
        else if (str_eq(key, STR("enum")))
            s.choices = jr_raw(&j);
        else if (str_eq(key, STR("const")))
            s.constant = jr_raw(&j);
        else
            jr_skip(&j);
    }
    return s;
}

static void write_object(const struct schema *s, int depth, struct jw *w)
{
    struct jr j;
    str key;

    jw_object(w);
    jr_init(&j, s->properties);
    if (depth < MAX_DEPTH && jr_enter(&j, JR_OBJECT)) {
        while (jr_next_member(&j, &key)) {
            str text = example_text(key);

            jw_open_string(w);
            json_copy_text(j.raw_key, w->out);
            jw_close_string(w);
            buf_char(w->out, ':');
            w->comma = false;
            write_value(jr_raw(&j), text, depth + 1, w);
        }
    }
    jw_object_end(w);
}

static void write_value(str raw, str text, int depth, struct jw *w)
{
    struct schema s = read_schema(raw);
    str given = str_is_none(s.constant) ? first_element(s.choices) : s.constant;

    if (!str_is_none(given)) {
        jw_raw(w, given);
    } else if (str_eq(s.type, STR("object"))) {
        write_object(&s, depth, w);
    } else if (str_eq(s.type, STR("array"))) {
        jw_array(w);
        if (!str_is_none(s.items) && depth < MAX_DEPTH)
            write_value(s.items, text, depth + 1, w);
        jw_array_end(w);
    } else if (str_eq(s.type, STR("integer")) || str_eq(s.type, STR("number"))) {
        jw_int(w, 1);
    } else if (str_eq(s.type, STR("boolean"))) {
        jw_bool(w, true);
    } else if (str_eq(s.type, STR("null"))) {
        jw_null(w);
    } else {
        jw_string(w, text);
    }
}

str demo_example(struct arena *a, str schema)
{
    struct buf json = {.limit = 1 << 20};
    struct jw w = jw_to(&json);
    str example;

    if (jr_type_of(schema) != JR_OBJECT)
        return STR("{}");
    write_value(schema, nothing_special, 0, &w);
    example = buf_failed(&json) ? STR_NONE : arena_dup(a, buf_str(&json));
    buf_fini(&json);
    return str_is_none(example) ? STR("{}") : example;
}
