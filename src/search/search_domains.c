/* search_domains.c -- hosts are compared label by label from the end.
 *
 * Browsers take a backslash for a slash and leave out tabs and line ends, other programs do not;
 * what is before an @ looks like a host and is none. Such URLs are of no domain at all. */
#include "search/search_domains.h"

#include "base/host_list.h"
#include "base/url.h"
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

static bool has_clear_bytes(str url)
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

bool search_url_host(str url, str *ret)
{
    struct url u = url_split(url);

    if (!has_clear_bytes(url) || !url_is_http(&u) || !url_host_is_clear(&u) ||
        !str_is_none(u.userinfo))
        return false;
    *ret = without_dot(u.host);
    return str_starts_with(u.host, STR("[")) || is_host(*ret);
}

str search_domain(str written)
{
    str s = str_trim(written);
    struct url u = url_split(s);

    if (url_is_http(&u))
        s = u.authority;
    if (str_starts_with(s, STR("*.")))
        s = str_skip(s, 2);
    else if (str_starts_with(s, STR(".")))
        s = str_skip(s, 1);
    s = without_dot(before_any(s, "/:?#"));
    return is_host(s) ? s : STR_NONE;
}

static bool is_of_any(str host, const str *domains, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        str domain = search_domain(domains[i]);

        if (!str_is_none(domain) && host_is_of(host, domain))
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
