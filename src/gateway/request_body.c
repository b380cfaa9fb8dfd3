/* request_body.c -- media type and coding of a body. */
#include "gateway/request_body.h"

static int check_media_type(const struct http_request *r, struct err *reterr)
{
    str type = http_request_header(r, STR("content-type"));
    str essence = str_trim(str_from(type.p, str_find_char(type, ';')));

    if (str_is_none(type) || str_eq_nocase(essence, STR("application/json")))
        return 0;
    err_set(reterr, ERR_UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json.");
    return -1;
}

int request_body(struct http_exchange *x, const struct http_request *r, str *ret,
                 struct err *reterr)
{
    return check_media_type(r, reterr) == -1 ? -1 : http_exchange_body(x, ret, reterr);
}
