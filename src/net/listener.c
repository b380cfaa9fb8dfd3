/* listener.c -- addresses, listening sockets and the accept loop.
 *
 * Out of descriptors, accept() fails while the socket stays readable: polling on
 * would spin. The listener then rests for a moment; connections wait in the
 * kernel's backlog meanwhile. */
#include "net/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "ev/log.h"
#include "ev/loop.h"

enum {
    BACKLOG = 1024,
    ACCEPTS_PER_WAKEUP = 64, /* so that a burst does not starve open connections */
    REST_MS = 100,
};

struct listener {
    uv_poll_t poll;
    struct loop *loop;
    struct loop_timer *rest;
    listener_on_accept *on_accept;
    void *arg;
    int fd;
};

struct host_port {
    char host[256], port[16];
};

static bool copy(char *to, size_t size, str s)
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
    return copy(ret->host, sizeof(ret->host), host) && copy(ret->port, sizeof(ret->port), port);
}

/* A listening socket, or -1 with errno set. "::" takes IPv4 as well. */
static int listen_on(const struct addrinfo *a, bool shared)
{
    int on = 1, off = 0;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd == -1)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (a->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if ((shared && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == -1) ||
        bind(fd, a->ai_addr, a->ai_addrlen) == -1 || listen(fd, BACKLOG) == -1) {
        int error = errno;

        (void)close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static int listen_family(const struct addrinfo *list, int family, bool shared)
{
    int fd = -1;

    for (const struct addrinfo *a = list; a != NULL && fd == -1; a = a->ai_next) {
        if (a->ai_family == family)
            fd = listen_on(a, shared);
    }
    return fd;
}

/* Names give IPv4 first: that is what most configured clients dial. */
static int listen_at(const char *address, bool shared, struct err *reterr)
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
        (void)copy(at.host, sizeof(at.host), STR("127.0.0.1"));
    rc = getaddrinfo(any ? NULL : at.host, at.port, &hints, &list);
    if (rc != 0) {
        err_set(reterr, ERR_INTERNAL, "listen %s: %s", address, gai_strerror(rc));
        return -1;
    }
    errno = EADDRNOTAVAIL;
    fd = listen_family(list, any ? AF_INET6 : AF_INET, shared);
    if (fd == -1)
        fd = listen_family(list, any ? AF_INET : AF_INET6, shared);
    if (fd == -1)
        err_set(reterr, ERR_INTERNAL, "listen %s: %s%s", address, strerror(errno),
                errno == EADDRINUSE ? "; stop what listens there or take another port" : "");
    freeaddrinfo(list);
    return fd;
}

static void on_readable(uv_poll_t *poll, int status, int events);

static void on_rested(void *arg)
{
    struct listener *l = arg;

    (void)uv_poll_start(&l->poll, UV_READABLE, on_readable);
}

static void rest(struct listener *l)
{
    log_msg(LOG_WARN, "cannot accept connections: %s; trying again in %d ms", strerror(errno),
            REST_MS);
    (void)uv_poll_stop(&l->poll);
    loop_timer_start(l->rest, REST_MS);
}

/* An IPv4 client of a dual-stack socket is shown as IPv4. */
static void peer_name(const struct sockaddr_storage *from, socklen_t len, char out[PEER_BYTES])
{
    const char *mapped = "::ffff:";

    if (getnameinfo((const struct sockaddr *)from, len, out, PEER_BYTES, NULL, 0, NI_NUMERICHOST) !=
        0)
        out[0] = '\0';
    if (strncmp(out, mapped, strlen(mapped)) == 0)
        memmove(out, out + strlen(mapped), strlen(out + strlen(mapped)) + 1);
}

/* Errors of accept() that say something about us and not about one connection. */
static bool is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/* False when nothing more is to be accepted for now. */
static bool accept_one(struct listener *l)
{
    struct sockaddr_storage from;
    socklen_t len = sizeof(from);
    char peer[PEER_BYTES];
    int fd = accept4(l->fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd == -1) {
        if (is_shortage(errno))
            rest(l);
        return errno == ECONNABORTED || errno == EINTR;
    }
    peer_name(&from, len, peer);
    l->on_accept(l->arg, fd, peer);
    return !uv_is_closing((uv_handle_t *)&l->poll);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct listener *l = poll->data;

    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPTS_PER_WAKEUP && accept_one(l); i++)
        ;
}

struct listener *listener_open(struct loop *loop, const char *address,
                               listener_on_accept *on_accept, void *arg, struct err *reterr)
{
    struct listener *l = calloc(1, sizeof(*l));
    int rc = UV_ENOMEM;

    if (l == NULL)
        goto failed;
    l->loop = loop;
    l->on_accept = on_accept;
    l->arg = arg;
    l->rest = loop_timer_new(loop, on_rested, l);
    if (l->rest == NULL)
        goto failed;
    l->fd = listen_at(address, true, reterr);
    if (l->fd == -1)
        goto free;
    rc = uv_poll_init(loop_uv(loop), &l->poll, l->fd);
    if (rc != 0)
        goto close;
    l->poll.data = l;
    (void)uv_poll_start(&l->poll, UV_READABLE, on_readable);
    return l;
close:
    (void)close(l->fd);
failed:
    err_set(reterr, ERR_INTERNAL, "listen %s: %s", address, uv_strerror(rc));
free:
    if (l != NULL)
        loop_timer_free(l->rest);
    free(l);
    return NULL;
}

int listener_check_free(const char *address, struct err *reterr)
{
    int fd = listen_at(address, false, reterr);

    if (fd == -1)
        return -1;
    (void)close(fd);
    return 0;
}

int listener_port(const struct listener *l)
{
    struct sockaddr_storage bound = {0};
    socklen_t len = sizeof(bound);
    char port[16] = "0";

    (void)getsockname(l->fd, (struct sockaddr *)&bound, &len);
    (void)getnameinfo((struct sockaddr *)&bound, len, NULL, 0, port, sizeof(port), NI_NUMERICSERV);
    return (int)strtol(port, NULL, 10);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void listener_close(struct listener *l)
{
    if (l == NULL)
        return;
    loop_timer_free(l->rest);
    uv_close((uv_handle_t *)&l->poll, on_closed);
    (void)close(l->fd);
}
