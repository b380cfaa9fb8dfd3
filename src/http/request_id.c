/* request_id.c -- ids that are safe to write into headers and logs. */
#include "http/request_id.h"

#include "base/id.h"
#include "ev/loop.h"

enum { MAX_BYTES = 128 };

static bool is_id_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == ':' || c == '-';
}

static bool is_plain_id(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!is_id_char(s.p[i]))
            return false;
    }
    return s.len > 0 && s.len <= MAX_BYTES;
}

str request_id_choose(const struct http_request *r, struct arena *a)
{
    const struct id_source random = {random_fill, NULL};
    str given = r == NULL ? STR_NONE : http_request_header(r, STR("x-request-id"));
    struct id id;
    str made;

    if (is_plain_id(given))
        return given;
    id = id_make(&random, "req_", ID_RANDOM_CHARS);
    made = arena_dup(a, id_str(&id));
    return str_is_none(made) ? STR("-") : made;
}
