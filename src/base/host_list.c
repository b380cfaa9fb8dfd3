/* host_list.c -- a domain is the end of a name, behind a dot. */
#include "base/host_list.h"

static bool is_below(str host, str domain)
{
    size_t n = host.len > domain.len ? host.len - domain.len : 0;

    return n > 1 && host.p[n - 1] == '.' && str_eq_nocase(str_skip(host, n), domain);
}

bool host_is_of(str host, str domain)
{
    return str_eq_nocase(host, domain) || is_below(host, domain);
}

bool host_is_of_any(str host, const str *domains, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (host_is_of(host, domains[i]))
            return true;
    }
    return false;
}

bool host_list_has(const struct host_list *list, str host)
{
    for (size_t i = 0; i < list->n; i++) {
        str pattern = str_from_c(list->patterns[i]);

        if (str_starts_with(pattern, STR("*.")) ? is_below(host, str_skip(pattern, 2))
                                                : str_eq_nocase(host, pattern))
            return true;
    }
    return false;
}
