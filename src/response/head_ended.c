/* head_ended.c -- two values are exchanged, all else stays as it stands. */
#include "response/head_ended.h"

#include "json/json_read.h"
#include "response/response_internal.h"

static int refuse_head(struct err *reterr)
{
    err_set(reterr, ERR_STORE, "The response is not stored as this gateway writes it.");
    return -1;
}

/* The object of which the head is the beginning: status and error stand in front of output. */
static int write_around(str object, size_t head_len, const struct err *why, struct buf *out,
                        struct err *reterr)
{
    const bool is_cancelled = why->code == ERR_RESPONSE_CANCELLED;
    const str status = jr_member(object, STR("status")), error = jr_member(object, STR("error"));
    struct jw w = jw_to(out);
    const char *behind;

    if (str_is_none(status) || str_is_none(error) || error.p < status.p)
        return refuse_head(reterr);
    behind = error.p + error.len;
    if ((size_t)(behind - object.p) > head_len)
        return refuse_head(reterr);
    buf_append(out, str_from(object.p, (size_t)(status.p - object.p)));
    buf_c(out, is_cancelled ? "\"cancelled\"" : "\"failed\"");
    buf_append(out, str_from(status.p + status.len, (size_t)(error.p - status.p) - status.len));
    if (is_cancelled)
        jw_null(&w);
    else
        response_write_error(why, &w);
    buf_append(out, str_from(behind, head_len - (size_t)(behind - object.p)));
    return 0;
}

int head_ended_write(str head, const struct err *why, struct buf *out, struct err *reterr)
{
    struct buf object = {.limit = 0};
    int rc;

    buf_append(&object, head);
    buf_append(&object, STR("]}"));
    rc = buf_failed(&object) ? err_set_no_memory(reterr)
                             : write_around(buf_str(&object), head.len, why, out, reterr);
    buf_fini(&object);
    return rc;
}
