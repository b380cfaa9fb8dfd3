/* json_err.c -- write the object of an error. */
#include "json/json_err.h"

#include "json/json_write.h"

/* The AI SDK's provider for Open Responses reads an error only when its param is a string, and
 * shows "Bad Request" in place of the message otherwise. What an upstream refuses often names no
 * param, and only its message tells why. */
static str param_of(const struct err *e)
{
    if (e->param[0] != '\0')
        return str_from_c(e->param);
    return e->code == ERR_UPSTREAM_REJECTED || e->code == ERR_CONTEXT_LENGTH ? STR("") : STR_NONE;
}

void json_err_write(const struct err *e, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    jw_key(&w, "error");
    jw_object(&w);
    jw_key_string(&w, "message", str_from_c(e->msg));
    jw_key_string(&w, "type", str_from_c(err_type(e)));
    jw_key_string(&w, "param", param_of(e));
    jw_key_string(&w, "code", str_from_c(err_wire_code(e)));
    jw_object_end(&w);
    jw_object_end(&w);
}
