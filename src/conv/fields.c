/* fields.c -- objects into structs, with the types checked. */
#include "conv/fields.h"

#include <stdbool.h>

#include "json/json_text.h"

#define BIT(type) (1U << (type))

static const struct {
    unsigned accepts;
    const char *expected;
} kinds[] = {
    [FIELD_TEXT] = {BIT(JR_STRING), "a string"},
    [FIELD_BOOLEAN] = {BIT(JR_TRUE) | BIT(JR_FALSE), "a boolean"},
    [FIELD_NUMBER] = {BIT(JR_NUMBER), "a number"},
    [FIELD_INTEGER] = {BIT(JR_NUMBER), "an integer"},
    [FIELD_OBJECT] = {BIT(JR_OBJECT), "an object"},
    [FIELD_ARRAY] = {BIT(JR_ARRAY), "an array"},
    [FIELD_TEXT_OR_ARRAY] = {BIT(JR_STRING) | BIT(JR_ARRAY), "a string or an array"},
    [FIELD_TEXT_OR_OBJECT] = {BIT(JR_STRING) | BIT(JR_OBJECT), "a string or an object"},
    [FIELD_ARRAY_OR_OBJECT] = {BIT(JR_ARRAY) | BIT(JR_OBJECT), "an array or an object"},
    [FIELD_ANY] = {~0U, "a value"},
};

static bool is_integral(str raw)
{
    double value = jr_number_value(raw);

    /* A double of this size has no fraction; what is too large is told by the limits. */
    return value <= -9e15 || value >= 9e15 || (double)(int64_t)value == value;
}

int field_check(str raw, enum field_kind kind, const struct path *at, struct err *reterr)
{
    enum jr_type type = jr_type_of(raw);

    if ((kinds[kind].accepts & BIT(type)) == 0)
        return reject_type(at, kinds[kind].expected, jr_type_name(type), reterr);
    if (kind == FIELD_INTEGER && !is_integral(raw))
        return reject_type(at, kinds[kind].expected, "a decimal number", reterr);
    return 0;
}

static const struct field *find_field(struct fields f, str name)
{
    for (size_t i = 0; i < f.n; i++) {
        if (str_eq(f.table[i].name, name))
            return f.table + i;
    }
    return NULL;
}

static int store(const struct field *field, str raw, const struct path *parent, void *ret,
                 struct err *reterr)
{
    struct path at = path_member(parent, field->name);
    str *place = (str *)(void *)((char *)ret + field->offset);

    *place = STR_NONE;
    if (jr_type_of(raw) == JR_NULL)
        return 0;
    if (field_check(raw, field->kind, &at, reterr) == -1)
        return -1;
    *place = field->kind == FIELD_TEXT ? field_text(raw) : raw;
    return 0;
}

static int read_members(struct jr *j, struct fields f, void *ret, const struct field_sink *others,
                        struct err *reterr)
{
    enum jr_type type = jr_peek(j);
    int rc = 0;
    str name;

    if (!jr_enter(j, JR_OBJECT))
        return reject_type(NULL, "an object", jr_type_name(type), reterr);
    while (jr_next_member(j, &name)) {
        const struct field *field = find_field(f, name);
        str raw_name = j->raw_key, raw = jr_raw(j);

        if (!jr_ok(j))
            break;
        if (field != NULL && store(field, raw, NULL, ret, rc == 0 ? reterr : NULL) == -1)
            rc = -1;
        if (field == NULL && others != NULL &&
            others->take(others->arg, raw_name, raw, rc == 0 ? reterr : NULL) == -1)
            rc = -1;
    }
    return rc;
}

/* Names are seldom written with escapes. */
static const struct field *find_raw_field(struct fields f, str raw_name)
{
    const struct field *field = find_field(f, raw_name);

    for (size_t i = 0; field == NULL && i < f.n && json_text_has_escape(raw_name); i++)
        field = json_text_eq(raw_name, f.table[i].name) ? f.table + i : NULL;
    return field;
}

int fields_walk(struct json_walk *w, struct fields f, const struct path *at, void *ret,
                struct err *reterr)
{
    const enum jr_type type = json_walk_peek(w);
    int rc = 0;
    str name;

    if (!json_walk_enter(w, JR_OBJECT)) {
        (void)json_walk_value(w);
        return reject_type(at, "an object", jr_type_name(type), reterr);
    }
    while (json_walk_member(w, &name)) {
        const struct field *field = find_raw_field(f, name);
        const str raw = json_walk_value(w);

        /* After an error the others are still stored: some readers look at the
         * type first, wherever it stands, and overlook what is wrong with the rest. */
        if (field != NULL && store(field, raw, at, ret, rc == 0 ? reterr : NULL) == -1)
            rc = -1;
    }
    return rc;
}

int fields_read_body(str body, struct fields f, void *ret, const struct field_sink *others,
                     struct err *reterr)
{
    struct jr j;
    int rc;

    jr_init(&j, body);
    rc = read_members(&j, f, ret, others, reterr);
    if (jr_end(&j))
        return rc;
    err_set(reterr, ERR_INVALID_JSON, "The request body is not valid JSON. Byte %zu: %s.",
            jr_offset(&j), j.error);
    return -1;
}

int fields_read_raw(str raw, struct fields f, const struct path *at, void *ret, struct err *reterr)
{
    struct json_walk w = json_walk_of(raw);

    return fields_walk(&w, f, at, ret, reterr);
}
