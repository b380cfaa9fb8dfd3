/* address.h -- where a connection can go: IPv4, IPv6 or a Unix socket. */
#ifndef ANTIPHON_NET_ADDRESS_H
#define ANTIPHON_NET_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/str.h"

struct address {
    socklen_t len;
    union {
        struct sockaddr any;
        struct sockaddr_in in4;
        struct sockaddr_in6 in6;
        struct sockaddr_un un;
    } to;
};

/* Addresses to be tried in this order. */
enum { MAX_ADDRESSES = 8 };
struct address_list {
    struct address at[MAX_ADDRESSES];
    size_t n;
};

/* Appends an address with port 0; what does not fit or is of another family is left out. */
void address_add(struct address_list *list, const struct sockaddr *to);

/* "127.0.0.1", "::1", and localhost, which is both (RFC 6761). False for other
 * names; the list is then left alone. */
bool address_of_literal(const char *host, struct address_list *ret);

/* The address of a Unix socket; false when the path is too long for one. */
bool address_of_path(str path, struct address_list *ret);

void address_set_port(struct address_list *list, uint16_t port);

#endif
