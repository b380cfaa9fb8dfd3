/* web_url.c -- only what is written otherwise is changed; whether the URL may be opened is judged
 * by those who open it. */
#include "search/web_url.h"

#include "base/url.h"

/* "example.org/page": a host with a dot, and nothing that could be a scheme. */
static bool is_bare(str url)
{
    size_t n = str_find_char(url, '/');
    str host = str_from(url.p, n);

    return str_find_char(host, '.') < host.len && str_find_char(host, ':') == host.len &&
           str_find_char(url, ' ') == url.len && str_is_one_line(url);
}

str web_url_read(str given, struct arena *a)
{
    struct buf out = {.limit = 0};
    str url = str_trim(given);
    struct url u;

    url.len = str_find_char(url, '#');
    u = url_split(url);
    if (url_is_http(&u) && u.authority.len + u.target.len > 0)
        return arena_dup(a, url);
    if (!is_bare(url))
        return STR_NONE;
    buf_append(&out, STR("https://"));
    buf_append(&out, url);
    url = buf_failed(&out) ? STR_NONE : arena_dup(a, buf_str(&out));
    buf_fini(&out);
    return url;
}
