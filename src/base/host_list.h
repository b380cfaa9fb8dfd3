/* host_list.h -- which names of hosts belong together, and which an operator lists.
 *
 * Names are compared as they are written, without case and without the dot at their end,
 * which the caller takes off. Pure. */
#ifndef ANTIPHON_BASE_HOST_LIST_H
#define ANTIPHON_BASE_HOST_LIST_H

#include "base/str.h"

/* A pattern is a host, or "*." and a domain, which stands for all hosts below it, but not
 * for itself. Borrowed. */
struct host_list {
    const char *const *patterns;
    size_t n;
};

bool host_list_has(const struct host_list *list, str host);

/* True when the host is the domain itself, or below it. */
bool host_is_of(str host, str domain);
bool host_is_of_any(str host, const str *domains, size_t n);

#endif
