/* tool_fields.c -- the table of tool members. */
#include "wire/tools/tool_fields.h"

#include "conv/fields.h"

static const struct field tool_table[] = {
    FIELD(struct tool_fields, type, FIELD_TEXT),
    FIELD(struct tool_fields, name, FIELD_TEXT),
    FIELD(struct tool_fields, description, FIELD_TEXT),
    FIELD(struct tool_fields, parameters, FIELD_OBJECT),
    FIELD(struct tool_fields, strict, FIELD_BOOLEAN),
    FIELD(struct tool_fields, function, FIELD_OBJECT),
    FIELD(struct tool_fields, format, FIELD_OBJECT),
    FIELD(struct tool_fields, tools, FIELD_ARRAY),
    FIELD(struct tool_fields, server_label, FIELD_TEXT),
    FIELD(struct tool_fields, server_url, FIELD_TEXT),
    FIELD(struct tool_fields, server_description, FIELD_TEXT),
    FIELD(struct tool_fields, authorization, FIELD_TEXT),
    FIELD(struct tool_fields, headers, FIELD_OBJECT),
    FIELD(struct tool_fields, allowed_tools, FIELD_ARRAY_OR_OBJECT),
    FIELD(struct tool_fields, require_approval, FIELD_TEXT_OR_OBJECT),
    FIELD(struct tool_fields, connector_id, FIELD_TEXT),
    FIELD(struct tool_fields, tunnel_id, FIELD_TEXT),
    FIELD(struct tool_fields, allowed_callers, FIELD_ARRAY),
    FIELD(struct tool_fields, execution, FIELD_TEXT),
    FIELD(struct tool_fields, environment, FIELD_OBJECT),
    FIELD(struct tool_fields, async, FIELD_BOOLEAN),
    FIELD(struct tool_fields, defer_loading, FIELD_BOOLEAN),
    FIELD(struct tool_fields, output_schema, FIELD_OBJECT),
};

static const struct field function_table[] = {
    FIELD(struct tool_fields, name, FIELD_TEXT),
    FIELD(struct tool_fields, description, FIELD_TEXT),
    FIELD(struct tool_fields, parameters, FIELD_OBJECT),
    FIELD(struct tool_fields, strict, FIELD_BOOLEAN),
};

int tool_fields_read(str raw, const struct path *at, struct tool_fields *ret, struct err *reterr)
{
    *ret = (struct tool_fields){0};
    return fields_read_raw(raw, FIELDS(tool_table), at, ret, reterr);
}

int tool_fields_flatten(struct tool_fields *f, const struct path *at, struct err *reterr)
{
    struct path function_at = path_member(at, STR("function"));

    if (str_is_none(f->function))
        return 0;
    return fields_read_raw(f->function, FIELDS(function_table), &function_at, f, reterr);
}

int tool_fields_check_texts(str list, const struct path *at, struct err *reterr)
{
    struct jr j;

    if (str_is_none(list))
        return 0;
    jr_init(&j, list);
    (void)jr_enter(&j, JR_ARRAY);
    for (size_t i = 0; jr_next_element(&j); i++) {
        struct path text_at = path_index(at, i);

        if (field_check(jr_raw(&j), FIELD_TEXT, &text_at, reterr) == -1)
            return -1;
    }
    return 0;
}
