/* request_model.c -- one member of a body. */
#include "wire/request/request_model.h"

#include "json/json_read.h"
#include "json/json_text.h"

str request_model_find(str body, struct arena *a)
{
    struct jr j;
    str key;

    jr_init(&j, body);
    if (!jr_enter(&j, JR_OBJECT))
        return STR_NONE;
    while (jr_next_member(&j, &key)) {
        if (str_eq(key, STR("model")))
            return json_text_copy(a, jr_string(&j));
        jr_skip(&j);
    }
    return STR_NONE;
}
