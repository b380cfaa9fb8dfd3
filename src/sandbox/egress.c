/* egress.c -- the proxy as a whole: its socket, and the connections that it has. */
#include "sandbox/egress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/listen_address.h"
#include "sandbox/egress_tunnel.h"

enum {
    DEFAULT_CONNECTIONS = 256,
    DEFAULT_IDLE_MS = 2 * 60 * 1000,
    MODE = 0600,
};

void egress_proxy_release(struct egress_proxy *proxy)
{
    proxy->n_tunnels--;
    if (proxy->is_free && proxy->n_tunnels == 0)
        free(proxy);
}

static void on_accept(void *arg, int fd, const char *peer)
{
    (void)peer;
    tunnel_open(arg, fd);
}

/* listen_address_open() has let our group in as well; a sandbox has a user of its own. */
static int give_socket_to(const char *path, uid_t uid, struct err *reterr)
{
    if (chmod(path, MODE) == 0 && (uid == 0 || chown(path, uid, (gid_t)-1) == 0))
        return 0;
    err_set(reterr, ERR_INTERNAL, "egress %s: %s", path, strerror(errno));
    return -1;
}

static int start_listening(struct egress_door *door, const char *path, struct err *reterr)
{
    char text[sizeof("unix:") + sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    int n = snprintf(text, sizeof(text), "unix:%s", path);
    int fd;

    if ((size_t)n >= sizeof(text)) {
        err_set(reterr, ERR_INTERNAL, "egress %s: the path is too long", path);
        return -1;
    }
    door->address = listen_address_open(text, reterr);
    if (door->address == NULL || give_socket_to(path, door->proxy->conf.uid, reterr) == -1)
        return -1;
    fd = listen_address_fd(door->address, reterr);
    if (fd == -1)
        return -1;
    door->listener = listener_open(door->proxy->loop, fd, on_accept, door, reterr);
    return door->listener == NULL ? -1 : 0;
}

struct egress_door *egress_door_open(struct egress_proxy *proxy, const char *path, str owner,
                                     struct err *reterr)
{
    struct egress_door *door = calloc(1, sizeof(*door) + owner.len);

    if (door == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    door->proxy = proxy;
    door->owner_len = owner.len;
    if (owner.len > 0)
        memcpy(door->owner, owner.p, owner.len);
    if (start_listening(door, path, reterr) == 0)
        return door;
    egress_door_close(door);
    return NULL;
}

void egress_door_close(struct egress_door *door)
{
    if (door == NULL)
        return;
    listener_close(door->listener);
    listen_address_close(door->address);
    tunnel_close_all(door);
    free(door);
}

struct egress_proxy *egress_proxy_new(struct loop *loop, const struct egress_conf *conf,
                                      struct err *reterr)
{
    struct egress_proxy *proxy = calloc(1, sizeof(*proxy));

    if (proxy == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    proxy->loop = loop;
    proxy->conf = *conf;
    if (proxy->conf.max_connections == 0)
        proxy->conf.max_connections = DEFAULT_CONNECTIONS;
    if (proxy->conf.max_per_owner == 0)
        proxy->conf.max_per_owner = proxy->conf.max_connections;
    if (proxy->conf.idle_ms == 0)
        proxy->conf.idle_ms = DEFAULT_IDLE_MS;
    proxy->resolver = resolver_new(loop);
    if (proxy->resolver != NULL)
        return proxy;
    err_set_no_memory(reterr);
    egress_proxy_free(proxy);
    return NULL; // NOLINT(clang-analyzer-unix.Malloc): a new proxy has no connection that keeps it
}

void egress_proxy_free(struct egress_proxy *proxy)
{
    if (proxy == NULL)
        return;
    while (proxy->tunnels != NULL)
        tunnel_close(proxy->tunnels);
    resolver_free(proxy->resolver);
    proxy->is_free = true;
    if (proxy->n_tunnels == 0)
        free(proxy);
}
