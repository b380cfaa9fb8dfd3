/* url.c -- the delimiters of RFC 3986, looked for in its order: scheme, fragment, query,
 * authority; and in that userinfo, host, port. */
#include "base/url.h"

#include "base/num.h"

/* Cuts s before the first c; returns what stands behind that c, STR_NONE when there is none. */
static str cut_behind(str *s, char c)
{
    size_t at = str_find_char(*s, c);
    str behind = at == s->len ? STR_NONE : str_skip(*s, at + 1);

    s->len = at;
    return behind;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Length of the scheme without its ":" (RFC 3986, 3.1); 0: there is none. */
static size_t scheme_length(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = str_lower_char(s.p[i]);

        if (c == ':')
            return i;
        if (!(c >= 'a' && c <= 'z') &&
            (i == 0 || !(is_digit(c) || c == '+' || c == '-' || c == '.')))
            return 0;
    }
    return 0;
}

/* Brackets that anything but a port follows end nothing: all is host, and malformed. */
static void split_host(str s, struct url *u)
{
    size_t bracket = str_starts_with(s, STR("[")) ? str_find_char(s, ']') + 1 : 0;
    str rest = str_skip(s, bracket);

    u->host = s;
    if (rest.len == 0 || (bracket > 0 && rest.p[0] != ':'))
        return;
    u->host.len = bracket + str_find_char(rest, ':');
    if (u->host.len < s.len)
        u->port = str_skip(s, u->host.len + 1);
}

static void split_authority(str authority, struct url *u)
{
    size_t at = authority.len;

    while (at > 0 && authority.p[at - 1] != '@')
        at--;
    u->authority = authority;
    if (at > 0)
        u->userinfo = str_from(authority.p, at - 1);
    split_host(str_skip(authority, at), u);
}

struct url url_split_authority(str authority)
{
    struct url u = {.path = str_skip(authority, authority.len)};

    u.target = u.path;
    split_authority(authority, &u);
    return u;
}

struct url url_split(str text)
{
    struct url u = {.scheme = STR_NONE};
    size_t n = scheme_length(text);
    str rest = text;

    if (n > 0) {
        u.scheme = str_from(text.p, n);
        rest = str_skip(text, n + 1);
    }
    u.fragment = cut_behind(&rest, '#');
    if (str_starts_with(rest, STR("//"))) {
        rest = str_skip(rest, 2);
        for (n = 0; n < rest.len && rest.p[n] != '/' && rest.p[n] != '?';)
            n++;
        split_authority(str_from(rest.p, n), &u);
        rest = str_skip(rest, n);
    }
    u.target = rest;
    u.query = cut_behind(&rest, '?');
    u.path = rest;
    return u;
}

/* ---- what is asked of the parts */

bool url_is_https(const struct url *u)
{
    return str_eq_nocase(u->scheme, STR("https")) && !str_is_none(u->authority);
}

bool url_is_http(const struct url *u)
{
    return url_is_https(u) || (str_eq_nocase(u->scheme, STR("http")) && !str_is_none(u->authority));
}

str url_bare_host(const struct url *u)
{
    if (!str_starts_with(u->host, STR("[")) || !str_ends_with(u->host, STR("]")))
        return u->host;
    return str_from(u->host.p + 1, u->host.len - 2);
}

/* An address between brackets, perhaps with a zone (RFC 4007, 11; RFC 6874). */
static bool is_ipv6(str address)
{
    size_t n = str_find_char(address, '%');

    for (size_t i = 0; i < n; i++) {
        if (num_hex_digit(address.p[i]) < 0 && address.p[i] != ':' && address.p[i] != '.')
            return false;
    }
    return str_find_char(address, ':') < n && n + 1 != address.len;
}

static bool has_only_digits(str s)
{
    size_t n = 0;

    while (n < s.len && is_digit(s.p[n]))
        n++;
    return n == s.len;
}

/* True when s has none of these bytes, and none that some programs leave out or read as a slash. */
static bool is_free_of(str s, const char *bytes)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c <= ' ' || c == 0x7f || c == '\\' || strchr(bytes, c) != NULL)
            return false;
    }
    return true;
}

bool url_host_is_clear(const struct url *u)
{
    str bare = url_bare_host(u);
    bool is_literal = bare.len < u->host.len;

    return u->host.len > 0 && is_free_of(u->userinfo, "@[]") &&
           is_free_of(bare, is_literal ? "[]" : "[]%") && (!is_literal || is_ipv6(bare)) &&
           has_only_digits(u->port);
}

bool url_port(const struct url *u, uint16_t usual_port, uint16_t *ret)
{
    uint64_t port = usual_port;

    if ((!str_is_none(u->port) && !num_uint(u->port, &port)) || port == 0 || port > UINT16_MAX)
        return false;
    *ret = (uint16_t)port;
    return true;
}

void url_write_shown(str text, struct buf *out)
{
    struct url u = url_split(text);
    str rest = str_from(text.p, (size_t)(u.path.p - text.p) + u.path.len);

    if (str_is_none(u.authority)) {
        for (size_t at; (at = str_find_char(rest, '@')) < rest.len;)
            rest = str_skip(rest, at + 1);
    } else {
        buf_append(out, str_from(text.p, (size_t)(u.authority.p - text.p)));
        rest = str_skip(rest, (size_t)(u.host.p - text.p));
    }
    buf_append(out, rest);
}
