/* tool_parameter.c -- the type of a parameter. */
#include "wire/tools/tool_parameter.h"

#include "json/json_read.h"

static str first_type(str raw)
{
    struct jr j;

    jr_init(&j, raw);
    if (jr_type_of(raw) == JR_STRING)
        return jr_string(&j);
    if (!jr_enter(&j, JR_ARRAY))
        return STR("");
    while (jr_next_element(&j)) {
        str type = jr_string(&j);

        if (!str_is_none(type) && !str_eq(type, STR("null")))
            return type;
    }
    return STR("");
}

str tool_parameter_type(str parameters, str name)
{
    return first_type(
        jr_member(jr_member(jr_member(parameters, STR("properties")), name), STR("type")));
}
