/* query.c -- a query cut into its fields. */
#include "http/query.h"

#include "http/percent.h"

static size_t count_char(str text, char c)
{
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++)
        n += text.p[i] == c;
    return n;
}

static bool read_field(str text, struct arena *a, struct query_field *ret)
{
    size_t equals = str_find_char(text, '=');

    ret->name = percent_decode_field(a, str_from(text.p, equals));
    ret->value = percent_decode_field(a, str_skip(text, equals + 1));
    return !str_is_none(ret->name) && !str_is_none(ret->value);
}

bool query_read(str text, struct arena *a, struct query *ret)
{
    *ret = (struct query){.fields = NULL};
    if (text.len == 0)
        return true;
    ret->fields = arena_array(a, count_char(text, '&') + 1, sizeof(*ret->fields));
    if (ret->fields == NULL)
        return false;
    while (text.len > 0) {
        str field = str_from(text.p, str_find_char(text, '&'));

        text = str_skip(text, field.len + 1);
        if (field.len > 0 && !read_field(field, a, &ret->fields[ret->n++]))
            return false;
    }
    return true;
}

str query_value(const struct query *q, str name)
{
    for (size_t i = q->n; i > 0; i--) {
        if (str_eq(q->fields[i - 1].name, name))
            return q->fields[i - 1].value;
    }
    return STR_NONE;
}
