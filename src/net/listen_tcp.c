/* listen_tcp.c -- host, port, and a socket on them. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/num.h"
#include "net/listen_address.h"

enum { BACKLOG = 1024 };

struct host_port {
    char host[256], port[16];
};

static bool copy_text(char *to, size_t size, str s)
{
    if (s.len >= size)
        return false;
    memcpy(to, s.p, s.len);
    to[s.len] = '\0';
    return true;
}

static bool address_split(const char *address, struct host_port *ret)
{
    str s = str_from_c(address);
    const char *colon = strrchr(address, ':');
    str host, port;
    uint64_t number;

    if (colon == NULL)
        return false;
    host = str_from(s.p, (size_t)(colon - address));
    port = str_from_c(colon + 1);
    if (str_starts_with(host, STR("[")) && str_ends_with(host, STR("]")))
        host = str_from(host.p + 1, host.len - 2);
    else if (str_find_char(host, ':') != host.len)
        return false; /* an IPv6 address needs its brackets */
    if (!num_uint(port, &number) || number > UINT16_MAX)
        return false; /* getaddrinfo() would cut a larger one */
    return copy_text(ret->host, sizeof(ret->host), host) &&
           copy_text(ret->port, sizeof(ret->port), port);
}

/* Opens a socket that listens together with others, or one that is only bound and wants the address
 * for itself; -1 with errno set. "::" takes IPv4 as well. */
static int open_on(const struct addrinfo *a, bool listens)
{
    int on = 1, off = 0;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd == -1)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (a->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if ((listens && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == -1) ||
        bind(fd, a->ai_addr, a->ai_addrlen) == -1 || (listens && listen(fd, BACKLOG) == -1)) {
        int error = errno;

        (void)close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static int open_family(const struct addrinfo *list, int family, bool listens)
{
    int fd = -1;

    for (const struct addrinfo *a = list; a != NULL && fd == -1; a = a->ai_next) {
        if (a->ai_family == family)
            fd = open_on(a, listens);
    }
    return fd;
}

/* The next step for the operator, where there is a usual one. */
static const char *bind_hint(int error, const char *port)
{
    const long first_free = 1024;

    switch (error) {
    case EADDRINUSE:
        return "; stop what listens there or take another port";
    case EADDRNOTAVAIL:
        return "; this machine has no such address: take one of its own, or :PORT for all of them";
    case EACCES:
        return strtol(port, NULL, 10) >= first_free
                   ? ""
                   : "; ports below 1024 need CAP_NET_BIND_SERVICE: take another one, or give it that";
    case EMFILE:
        return "; raise the limit of open files (ulimit -n, LimitNOFILE)";
    default:
        return "";
    }
}

/* Reports a name that is not known, or what kept the system from asking. */
static void fail_lookup(const char *address, int rc, struct err *reterr)
{
    err_set(reterr, ERR_INTERNAL, "listen %s: %s%s", address,
            rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc),
            rc == EAI_NONAME ? "; give a name or an address of this machine" : "");
}

/* Names give IPv4 first: that is what most configured clients dial. */
static int open_at(const char *address, bool listens, struct err *reterr)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *list = NULL;
    struct host_port at;
    bool any;
    int rc, fd;

    if (!address_split(address, &at)) {
        err_set(reterr, ERR_INTERNAL, "listen %s: write HOST:PORT, [IPV6]:PORT or :PORT", address);
        return -1;
    }
    any = at.host[0] == '\0';
    /* RFC 6761: localhost is the loopback address, whatever a machine's files say. */
    if (strcmp(at.host, "localhost") == 0)
        (void)copy_text(at.host, sizeof(at.host), STR("127.0.0.1"));
    rc = getaddrinfo(any ? NULL : at.host, at.port, &hints, &list);
    if (rc != 0) {
        fail_lookup(address, rc, reterr);
        return -1;
    }
    errno = EADDRNOTAVAIL;
    fd = open_family(list, any ? AF_INET6 : AF_INET, listens);
    if (fd == -1)
        fd = open_family(list, any ? AF_INET : AF_INET6, listens);
    if (fd == -1)
        err_set(reterr, ERR_INTERNAL, "listen %s: %s%s", address, strerror(errno),
                bind_hint(errno, at.port));
    freeaddrinfo(list);
    return fd;
}

int listen_tcp(const char *address, struct err *reterr)
{
    return open_at(address, true, reterr);
}

int listen_tcp_check_free(const char *address, struct err *reterr)
{
    int fd = open_at(address, false, reterr);

    if (fd == -1)
        return -1;
    (void)close(fd);
    return 0;
}

union bound {
    struct sockaddr any;
    struct sockaddr_un un;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

static union bound address_of_socket(int fd)
{
    union bound bound;
    socklen_t len = sizeof(bound);

    memset(&bound, 0, sizeof(bound));
    (void)getsockname(fd, &bound.any, &len);
    return bound;
}

char *listen_bound_text(int fd)
{
    const union bound bound = address_of_socket(fd);
    char host[INET6_ADDRSTRLEN];
    char *text = NULL;
    int rc;

    if (bound.any.sa_family == AF_UNIX)
        rc = asprintf(&text, "unix:%.*s", (int)sizeof(bound.un.sun_path), bound.un.sun_path);
    else if (bound.any.sa_family == AF_INET6)
        rc = asprintf(&text, "[%s]:%d",
                      inet_ntop(AF_INET6, &bound.in6.sin6_addr, host, sizeof(host)),
                      ntohs(bound.in6.sin6_port));
    else
        rc = asprintf(&text, "%s:%d", inet_ntop(AF_INET, &bound.in.sin_addr, host, sizeof(host)),
                      ntohs(bound.in.sin_port));
    return rc == -1 ? NULL : text;
}

int listen_port(int fd)
{
    const union bound bound = address_of_socket(fd);

    return ntohs(bound.any.sa_family == AF_INET6 ? bound.in6.sin6_port : bound.in.sin_port);
}

bool listen_is_unix(int fd)
{
    return address_of_socket(fd).any.sa_family == AF_UNIX;
}

/* The analyzer of gcc takes what memset() has cleared for uninitialized. */
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wanalyzer-use-of-uninitialized-value"
#endif

bool listen_is_loopback(int fd)
{
    const union bound bound = address_of_socket(fd);
    const struct in6_addr *in6 = &bound.in6.sin6_addr;

    if (bound.any.sa_family == AF_INET)
        return ntohl(bound.in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return bound.any.sa_family == AF_INET6 &&
           (IN6_IS_ADDR_LOOPBACK(in6) ||
            (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == IN_LOOPBACKNET));
}

#ifndef __clang__
#pragma GCC diagnostic pop
#endif
