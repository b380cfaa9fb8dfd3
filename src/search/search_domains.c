/* search_domains.c -- hosts are compared label by label from the end.
 *
 * Browsers take a backslash for a slash and leave out tabs and line ends, other programs do not;
 * what is before an @ looks like a host and is none. Such URLs are of no domain at all. */
#include "search/search_domains.h"

#include "search/search.h"

static bool is_host_char(char c)
{
    char small = str_lower_char(c);

    return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
}

static bool is_host(str host)
{
    for (size_t i = 0; i < host.len; i++) {
        if (!is_host_char(host.p[i]))
            return false;
    }
    return host.len > 0 && host.p[0] != '.';
}

static str without_scheme(str url)
{
    static const str schemes[] = {STR_INIT("http://"), STR_INIT("https://")};

    for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
        size_t n = schemes[i].len;

        if (url.len >= n && str_eq_nocase(str_from(url.p, n), schemes[i]))
            return str_skip(url, n);
    }
    return STR_NONE;
}

static bool is_clean(str url)
{
    for (size_t i = 0; i < url.len; i++) {
        unsigned char c = (unsigned char)url.p[i];

        if (c <= ' ' || c == 0x7f || c == '\\')
            return false;
    }
    return true;
}

static str before_any(str s, const char *ends)
{
    size_t n = 0;

    while (n < s.len && strchr(ends, s.p[n]) == NULL)
        n++;
    return str_from(s.p, n);
}

static str without_dot(str host)
{
    return str_from(host.p, host.len - (str_ends_with(host, STR(".")) ? 1 : 0));
}

static bool is_ipv6(str host)
{
    for (size_t i = 1; i + 1 < host.len; i++) {
        if (host.p[i] != ':' && host.p[i] != '.' && !is_host_char(host.p[i]))
            return false;
    }
    return host.len > 2 && host.p[host.len - 1] == ']';
}

static bool is_port(str s)
{
    if (s.len == 0)
        return true;
    for (size_t i = 1; i < s.len; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    }
    return s.p[0] == ':';
}

bool search_url_host(str url, str *ret)
{
    str rest = without_scheme(url), authority, host;
    bool has_brackets;

    if (str_is_none(rest) || !is_clean(url))
        return false;
    authority = before_any(rest, "/?#");
    has_brackets = str_starts_with(authority, STR("["));
    if (has_brackets)
        host = str_from(authority.p, before_any(authority, "]").len + 1);
    else
        host = before_any(authority, ":");
    if (host.len > authority.len || !is_port(str_skip(authority, host.len)))
        return false;
    *ret = without_dot(host);
    return has_brackets ? is_ipv6(host) : is_host(*ret);
}

str search_domain(str written)
{
    str s = str_trim(written), rest = without_scheme(s);

    if (!str_is_none(rest))
        s = rest;
    if (str_starts_with(s, STR("*.")))
        s = str_skip(s, 2);
    else if (str_starts_with(s, STR(".")))
        s = str_skip(s, 1);
    s = without_dot(before_any(s, "/:?#"));
    return is_host(s) ? s : STR_NONE;
}

/* The domain itself or what is below it. */
static bool is_of(str host, str domain)
{
    if (host.len < domain.len || !str_eq_nocase(str_skip(host, host.len - domain.len), domain))
        return false;
    return host.len == domain.len || host.p[host.len - domain.len - 1] == '.';
}

static bool is_of_any(str host, const str *domains, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        str domain = search_domain(domains[i]);

        if (!str_is_none(domain) && is_of(host, domain))
            return true;
    }
    return false;
}

bool search_allows(const struct search_query *query, str url)
{
    str host;

    if (!search_url_host(url, &host) || is_of_any(host, query->blocked_domains, query->n_blocked))
        return false;
    return query->n_allowed == 0 || is_of_any(host, query->allowed_domains, query->n_allowed);
}
