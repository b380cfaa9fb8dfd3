/* listener.c -- the accept loop.
 *
 * Out of descriptors, accept() fails while the socket stays readable: polling on
 * would spin. The listener then rests for a moment; connections wait in the
 * kernel's backlog meanwhile. */
#include "net/listener.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ev/log.h"
#include "ev/loop.h"
#include "net/address.h"
#include "net/listen_address.h"

enum {
    ACCEPTS_PER_WAKEUP = 64, /* so that a burst does not starve open connections */
    ACCEPTS_AT_END = 8192,   /* more than a backlog, for clients that come meanwhile */
    REST_MS = 100,
};

struct listener {
    uv_poll_t poll;
    struct loop *loop;
    struct loop_timer *rest;
    listener_on_accept *on_accept;
    void *arg;
    int fd;
    bool is_paused, is_resting;
};

static void on_readable(uv_poll_t *poll, int status, int events);

static void watch_socket(struct listener *l)
{
    if (l->is_paused || l->is_resting)
        (void)uv_poll_stop(&l->poll);
    else
        (void)uv_poll_start(&l->poll, UV_READABLE, on_readable);
}

static void on_rested(void *arg)
{
    struct listener *l = arg;

    l->is_resting = false;
    watch_socket(l);
}

static void rest_a_while(struct listener *l)
{
    log_msg(LOG_WARN, "cannot accept connections: %s; trying again in %d ms", strerror(errno),
            REST_MS);
    l->is_resting = true;
    watch_socket(l);
    loop_timer_start(l->rest, REST_MS);
}

/* An IPv4 client of a dual-stack socket is shown as IPv4; a client of a Unix
 * socket has no address. */
static void peer_name(const struct address *from, char out[PEER_BYTES])
{
    sa_family_t family = from->to.any.sa_family;
    const void *where = family == AF_INET ? (const void *)&from->to.in4.sin_addr
                                          : (const void *)&from->to.in6.sin6_addr;

    out[0] = '\0';
    if (family == AF_UNIX)
        memcpy(out, PEER_TEXT_UNIX, sizeof(PEER_TEXT_UNIX));
    else
        (void)peer_text_of(family, where, out);
}

/* Errors of accept() that say something about us and not about one connection. */
static bool is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/* Accepts one connection; false when nothing more is to be accepted for now. */
static bool accept_one(struct listener *l)
{
    struct address from = {.len = sizeof(from.to)};
    char peer[PEER_BYTES];
    int fd = accept4(l->fd, &from.to.any, &from.len, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd == -1) {
        if (is_shortage(errno))
            rest_a_while(l);
        return errno == ECONNABORTED || errno == EINTR;
    }
    peer_name(&from, peer);
    l->on_accept(l->arg, fd, peer);
    return !l->is_paused && !uv_is_closing((uv_handle_t *)&l->poll);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct listener *l = poll->data;

    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPTS_PER_WAKEUP && accept_one(l); i++)
        ;
}

struct listener *listener_open(struct loop *loop, int fd, listener_on_accept *on_accept, void *arg,
                               struct err *reterr)
{
    struct listener *l = calloc(1, sizeof(*l));
    int rc = UV_ENOMEM;

    if (l == NULL)
        goto failed;
    l->loop = loop;
    l->on_accept = on_accept;
    l->arg = arg;
    l->fd = fd;
    l->rest = loop_timer_new(loop, on_rested, l);
    if (l->rest == NULL)
        goto failed;
    rc = uv_poll_init(loop_uv(loop), &l->poll, fd);
    if (rc != 0)
        goto failed;
    l->poll.data = l;
    watch_socket(l);
    return l;
failed:
    err_set(reterr, ERR_INTERNAL, "listener: %s", uv_strerror(rc));
    if (l != NULL)
        loop_timer_free(l->rest);
    free(l);
    (void)close(fd);
    return NULL;
}

int listener_port(const struct listener *l)
{
    return listen_port(l->fd);
}

void listener_pause(struct listener *l, bool paused)
{
    l->is_paused = paused;
    watch_socket(l);
}

void listener_take_waiting(struct listener *l)
{
    for (int i = 0; i < ACCEPTS_AT_END && !l->is_paused && accept_one(l); i++)
        ;
}

static void on_poll_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void listener_close(struct listener *l)
{
    if (l == NULL)
        return;
    loop_timer_free(l->rest);
    uv_close((uv_handle_t *)&l->poll, on_poll_closed);
    (void)close(l->fd);
}
