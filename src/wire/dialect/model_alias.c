/* model_alias.c -- look a model up; put another name into a body. */
#include "wire/dialect/model_alias.h"

#include "json/json_read.h"
#include "json/json_text.h"

str model_alias_find(struct name_list aliases, str name)
{
    str fallback = STR_NONE;

    for (size_t i = 0; i < aliases.n; i++) {
        str row = str_from_c(aliases.names[i]);
        size_t equals = str_find_char(row, '=');
        str from = str_from(row.p, equals), to = str_skip(row, equals + 1);

        if (equals >= row.len)
            continue; /* no alias */
        if (str_eq(from, name))
            return to;
        if (str_eq(from, STR("*")) && str_is_none(fallback))
            fallback = to;
    }
    return fallback;
}

/* The model behind an escaped name, or STR_NONE. */
static str find_escaped(struct name_list aliases, str escaped)
{
    struct buf plain = {.limit = 0};
    str model = STR_NONE;

    json_text_decode(escaped, &plain);
    if (!buf_failed(&plain))
        model = model_alias_find(aliases, buf_str(&plain));
    buf_fini(&plain);
    return model;
}

/* The value of `model` that an alias replaces, and the model that comes in its
 * place. Of a member given twice the last counts. */
static bool find_model(struct name_list aliases, str body, str *ret_value, str *ret_model)
{
    str name, value = STR_NONE;
    struct jr j;

    jr_init(&j, body);
    if (!jr_enter(&j, JR_OBJECT))
        return false;
    while (jr_next_member(&j, &name)) {
        if (str_eq(name, STR("model")))
            value = jr_raw(&j);
        else
            jr_skip(&j);
    }
    if (!jr_end(&j) || jr_type_of(value) != JR_STRING)
        return false;
    *ret_value = value;
    *ret_model = find_escaped(aliases, str_from(value.p + 1, value.len - 2));
    return !str_is_none(*ret_model);
}

bool model_alias_rewrite(struct name_list aliases, str body, struct buf *out)
{
    str value, model;

    if (aliases.n == 0 || !find_model(aliases, body, &value, &model))
        return false;
    buf_append(out, str_from(body.p, (size_t)(value.p - body.p)));
    buf_char(out, '"');
    json_text_escape(model, out);
    buf_char(out, '"');
    buf_append(out, str_skip(body, (size_t)(value.p - body.p) + value.len));
    return true;
}
