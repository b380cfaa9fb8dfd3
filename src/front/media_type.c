/* media_type.c -- the Content-Type of a body. */
#include "front/media_type.h"

static bool is_json(str type)
{
    const str suffix = STR("+json");

    return str_eq_nocase(type, STR("application/json")) ||
           (type.len > suffix.len && str_eq_nocase(str_skip(type, type.len - suffix.len), suffix));
}

/* What a page may send to other sites without asking first, but for forms that hold
 * files: those are what a path for files is there for, and Origin tells whose they are. */
static bool is_text_of_page(str type)
{
    return type.len == 0 || str_eq_nocase(type, STR("text/plain")) ||
           str_eq_nocase(type, STR("application/x-www-form-urlencoded"));
}

int media_type_check(const struct http_request *r, bool may_be_file, struct err *reterr)
{
    str type = http_request_header(r, STR("content-type"));
    str essence = str_trim(str_from(type.p, str_find_char(type, ';')));

    if (r->body.len == 0 || !str_eq(r->method, STR("POST")) || is_json(essence) ||
        (may_be_file && !is_text_of_page(essence)))
        return 0;
    err_set(reterr, ERR_UNSUPPORTED_MEDIA_TYPE,
            "%s Send the header 'Content-Type: application/json' (curl: --json, or -H).",
            str_is_none(type) ? "The request has no Content-Type."
                              : "Content-Type must be application/json.");
    return -1;
}
