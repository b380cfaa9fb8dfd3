/* egress_tunnel.h -- one connection of the proxy; for egress.c. */
#ifndef ANTIPHON_SANDBOX_EGRESS_TUNNEL_H
#define ANTIPHON_SANDBOX_EGRESS_TUNNEL_H

#include "net/listener.h"
#include "net/resolve.h"
#include "sandbox/egress.h"

struct tunnel;

struct egress_proxy {
    struct egress_conf conf;
    struct loop *loop;
    struct resolver *resolver;
    struct tunnel *tunnels;
    unsigned n_tunnels; /* whose memory is there */
    bool is_free;       /* goes with the last tunnel */
};

struct egress_door {
    struct egress_proxy *proxy;
    struct listen_address *address;
    struct listener *listener;
    size_t owner_len;
    char owner[];
};

/* Opens a tunnel for fd, which it takes: a connection that has said nothing yet. It ends by itself.
 */
void tunnel_open(struct egress_door *door, int fd);

/* Ends all tunnels that came by the door. */
void tunnel_close_all(const struct egress_door *door);

/* Ends a tunnel, whatever it does; its memory is freed later. */
void tunnel_close(struct tunnel *t);

/* Notes that the memory of a tunnel was freed; the last one frees a proxy that has ended. */
void egress_proxy_release(struct egress_proxy *proxy);

#endif
