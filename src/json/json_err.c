/* json_err.c -- write the object of an error. */
#include "json/json_err.h"

#include "json/json_write.h"

void json_err_write(const struct err *e, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    jw_key(&w, "error");
    jw_object(&w);
    jw_key_string(&w, "message", str_from_c(e->msg));
    jw_key_string(&w, "type", str_from_c(err_type(e)));
    jw_key_string(&w, "param", e->param[0] == '\0' ? STR_NONE : str_from_c(e->param));
    jw_key_string(&w, "code", str_from_c(err_wire_code(e)));
    jw_object_end(&w);
    jw_object_end(&w);
}
