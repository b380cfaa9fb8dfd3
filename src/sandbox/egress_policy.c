/* egress_policy.c -- lists of hosts and networks, and what is public. */
#include "sandbox/egress_policy.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/num.h"
#include "net/address_public.h"

enum { MAX_HOST_BYTES = 253 /* RFC 1035, 2.3.4 */ };

static const char is_denied[] = "this gateway forbids it";
static const char is_not_listed[] = "it is not among the hosts that this gateway allows";

/* --- networks --------------------------------------------------------------------- */

/* An address, IPv4 in its mapped form, so that one comparison serves both. */
struct ip {
    uint8_t bytes[16];
};

static struct ip ip_of4(const void *address)
{
    struct ip ip = {{[10] = 0xff, [11] = 0xff}};

    memcpy(ip.bytes + 12, address, 4);
    return ip;
}

static bool ip_of(const struct sockaddr *to, struct ip *ret)
{
    if (to->sa_family == AF_INET)
        *ret = ip_of4((const char *)to + offsetof(struct sockaddr_in, sin_addr));
    else if (to->sa_family == AF_INET6)
        memcpy(ret->bytes, (const char *)to + offsetof(struct sockaddr_in6, sin6_addr), 16);
    else
        return false;
    return true;
}

static bool ip_parse(str text, struct ip *ret)
{
    char c[INET6_ADDRSTRLEN];
    uint8_t v4[4];

    if (text.len >= sizeof(c))
        return false;
    memcpy(c, text.p, text.len);
    c[text.len] = '\0';
    if (inet_pton(AF_INET6, c, ret->bytes) == 1)
        return true;
    if (inet_pton(AF_INET, c, v4) != 1)
        return false;
    *ret = ip_of4(v4);
    return true;
}

static bool is_network(str pattern)
{
    return str_find_char(pattern, '/') < pattern.len;
}

static bool network_has(str network, const struct ip *ip)
{
    size_t slash = str_find_char(network, '/');
    str address = str_from(network.p, slash);
    struct ip prefix;
    uint64_t bits;

    if (!ip_parse(address, &prefix) || !num_uint(str_skip(network, slash + 1), &bits) || bits > 128)
        return false;
    if (str_find_char(address, ':') == address.len)
        bits += 96;
    for (size_t i = 0; i < sizeof(prefix.bytes) && bits > 0; i++, bits -= bits < 8 ? bits : 8) {
        unsigned differing = (unsigned)(prefix.bytes[i] ^ ip->bytes[i]);

        if (differing >> (bits < 8 ? 8 - bits : 0) != 0)
            return false;
    }
    return true;
}

static bool networks_have(const struct host_list *list, const struct sockaddr *to)
{
    struct ip ip;

    if (!ip_of(to, &ip))
        return false;
    for (size_t i = 0; i < list->n; i++) {
        str pattern = str_from_c(list->patterns[i]);

        if (is_network(pattern) && network_has(pattern, &ip))
            return true;
    }
    return false;
}

static bool has_network(const struct host_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (is_network(str_from_c(list->patterns[i])))
            return true;
    }
    return false;
}

/* --- names ------------------------------------------------------------------------ */

static bool is_host_char(char c)
{
    char small = str_lower_char(c);

    return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
}

static bool is_host(str host)
{
    struct ip ip;

    if (str_find_char(host, ':') < host.len)
        return ip_parse(host, &ip);
    for (size_t i = 0; i < host.len; i++) {
        if (!is_host_char(host.p[i]))
            return false;
    }
    /* One dot at the end is taken off before; two would be another spelling of a name. */
    return host.len > 0 && host.len <= MAX_HOST_BYTES && !str_ends_with(host, STR("."));
}

/* --- the three steps ----------------------------------------------------------------- */

const char *egress_check_port(const struct egress_policy *policy, uint16_t port)
{
    bool is_open = policy->n_ports == 0 && (port == 80 || port == 443);

    for (size_t i = 0; i < policy->n_ports; i++)
        is_open = is_open || policy->ports[i] == port;
    return is_open ? NULL : "only the ports of HTTP and HTTPS are open, 80 and 443";
}

/* A host that is not listed may still have an address in a listed network. */
const char *egress_check_host(const struct egress_policy *policy, str host)
{
    if (!is_host(host))
        return "that is not the name of a host";
    if (host_list_has(&policy->denied, host))
        return is_denied;
    if (policy->mode == EGRESS_LISTED && !host_list_has(&policy->allowed, host) &&
        !has_network(&policy->allowed))
        return is_not_listed;
    return NULL;
}

const char *egress_check_address(const struct egress_policy *policy, str host,
                                 const struct sockaddr *to)
{
    if (networks_have(&policy->denied, to))
        return is_denied;
    if (networks_have(&policy->allowed, to))
        return NULL;
    if (policy->mode == EGRESS_LISTED && !host_list_has(&policy->allowed, host))
        return is_not_listed;
    return address_is_public(to) ? NULL : "its address is not one of the public Internet";
}
