/* http_url.c -- scheme, host, port and target of plain URLs. */
#include "http/http_url.h"

#include "base/num.h"

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

/* Nothing that would need escaping or is cut off before the request is sent. */
static bool is_plain_target(str target)
{
    for (size_t i = 0; i < target.len; i++) {
        if (target.p[i] <= ' ' || target.p[i] >= 0x7f || target.p[i] == '#')
            return false;
    }
    return true;
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

/* ":port" or nothing. */
static bool port_read(str s, uint16_t *ret)
{
    uint64_t port = HTTP_PORT;

    if (s.len > 0 && (s.p[0] != ':' || !num_uint(str_skip(s, 1), &port)))
        return false;
    *ret = (uint16_t)port;
    return port > 0 && port <= UINT16_MAX;
}

static bool authority_split(str authority, struct http_url *ret)
{
    bool brackets = str_starts_with(authority, STR("["));
    size_t end = str_find_char(authority, brackets ? ']' : ':');
    str port = str_skip(authority, brackets ? end + 1 : end);

    ret->host = brackets ? str_from(authority.p + 1, end - 1) : str_from(authority.p, end);
    if (!is_host(ret->host, brackets) || (brackets && end == authority.len) ||
        !port_read(port, &ret->port))
        return false;
    ret->authority = authority;
    if (ret->port == HTTP_PORT)
        ret->authority.len -= port.len;
    return true;
}

bool http_url_split(const char *url, struct http_url *ret)
{
    str all = str_from_c(url);
    const char *target;
    str rest;
    size_t end = 0;

    *ret = (struct http_url){.socket_path = STR_NONE, .host = STR_NONE};
    if (http_url_is_unix(url, &ret->socket_path, &target)) {
        ret->authority = STR("localhost");
        ret->target = str_from_c(target);
        return is_plain_target(ret->target);
    }
    if (all.len < 7 || !str_eq_nocase(str_from(all.p, 7), STR("http://")))
        return false;
    rest = str_skip(all, 7);
    while (end < rest.len && rest.p[end] != '/' && rest.p[end] != '?' && rest.p[end] != '#')
        end++;
    ret->target = str_skip(rest, end);
    return authority_split(str_from(rest.p, end), ret) && is_plain_target(ret->target);
}
