/* http_url.c -- scheme, host, port and target of plain URLs. */
#include "http/http_url.h"

#include "base/url.h"

enum { HTTP_PORT = 80, MAX_HOST_BYTES = 253 /* RFC 1035, 2.3.4, as text */ };

bool http_url_is_unix(const char *url, str *ret_path, const char **ret_target)
{
    str rest = str_skip(str_from_c(url), STR("unix:").len);
    size_t colon = str_find(rest, STR(":/"));

    if (!str_starts_with(str_from_c(url), STR("unix:/")))
        return false;
    *ret_path = str_from(rest.p, colon);
    *ret_target = colon == rest.len ? "/" : rest.p + colon + 1;
    return true;
}

/* True for a target that needs no escapes, and of which nothing is cut off before it is sent. */
static bool is_plain_target(str target)
{
    return str_is_visible(target) && str_find_char(target, '#') == target.len;
}

static bool is_host_char(char c, bool in_brackets)
{
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '.')
        return true;
    if (in_brackets)
        return c == ':';
    return (c >= 'g' && c <= 'z') || (c >= 'G' && c <= 'Z') || c == '-' || c == '_';
}

static bool is_host(str host, bool in_brackets)
{
    for (size_t i = 0; i < host.len; i++) {
        if (!is_host_char(host.p[i], in_brackets))
            return false;
    }
    return host.len > 0 && host.len <= MAX_HOST_BYTES;
}

bool http_url_split(const char *url, struct http_url *ret)
{
    struct url u = url_split(str_from_c(url));
    const char *target;

    *ret = (struct http_url){.socket_path = STR_NONE, .host = STR_NONE};
    if (http_url_is_unix(url, &ret->socket_path, &target)) {
        ret->authority = STR("localhost");
        ret->target = str_from_c(target);
        return is_plain_target(ret->target);
    }
    if (!url_is_http(&u) || url_is_https(&u) || !str_is_none(u.userinfo) ||
        !str_is_none(u.fragment) || !url_port(&u, HTTP_PORT, &ret->port))
        return false;
    ret->host = url_bare_host(&u);
    ret->authority = ret->port == HTTP_PORT ? u.host : u.authority;
    ret->target = u.target;
    return is_host(ret->host, ret->host.len < u.host.len) && is_plain_target(ret->target);
}
