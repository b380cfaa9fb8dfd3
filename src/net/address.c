/* address.c -- addresses that need no lookup. */
#include "net/address.h"

#include <arpa/inet.h>
#include <strings.h>

void address_add(struct address_list *list, const struct sockaddr *to)
{
    struct address *a = &list->at[list->n];
    socklen_t len = to->sa_family == AF_INET    ? sizeof(a->to.in4)
                    : to->sa_family == AF_INET6 ? sizeof(a->to.in6)
                                                : 0;

    if (len == 0 || list->n == MAX_ADDRESSES)
        return;
    memcpy(&a->to, to, len);
    a->len = len;
    list->n++;
    address_set_port(list, 0);
}

static bool add_literal(struct address_list *list, const char *host)
{
    struct sockaddr_in in4 = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

    if (inet_pton(AF_INET, host, &in4.sin_addr) == 1)
        address_add(list, (const struct sockaddr *)&in4);
    else if (inet_pton(AF_INET6, host, &in6.sin6_addr) == 1)
        address_add(list, (const struct sockaddr *)&in6);
    else
        return false;
    return true;
}

bool address_of_literal(const char *host, struct address_list *ret)
{
    struct address_list list = {.n = 0};
    bool is_literal = strcasecmp(host, "localhost") == 0
                          ? add_literal(&list, "127.0.0.1") && add_literal(&list, "::1")
                          : add_literal(&list, host);

    if (is_literal)
        *ret = list;
    return is_literal;
}

bool address_of_path(str path, struct address_list *ret)
{
    struct address a = {.len = sizeof(a.to.un), .to = {.un = {.sun_family = AF_UNIX}}};

    if (path.len >= sizeof(a.to.un.sun_path))
        return false;
    memcpy(a.to.un.sun_path, path.p, path.len);
    ret->at[0] = a;
    ret->n = 1;
    return true;
}

void address_set_port(struct address_list *list, uint16_t port)
{
    for (size_t i = 0; i < list->n; i++) {
        struct address *a = &list->at[i];

        if (a->to.any.sa_family == AF_INET)
            a->to.in4.sin_port = htons(port);
        else if (a->to.any.sa_family == AF_INET6)
            a->to.in6.sin6_port = htons(port);
    }
}
