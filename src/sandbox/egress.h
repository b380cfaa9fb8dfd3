/* egress.h -- the only way out of a sandbox: an HTTP proxy that looks where it leads.
 *
 * Each sandbox has a *door* to the proxy, a Unix socket that it sees
 * (jail_cell_conf.egress_socket), so that the proxy knows whose a connection is. The proxy speaks
 * CONNECT and requests for http:// URLs, looks names up itself and connects to nothing but
 * addresses that the policy has judged. What it refuses is answered with a 403 whose status line
 * and body say why, for the model to read.
 *
 * Everything runs on the loop's thread. */
#ifndef ANTIPHON_SANDBOX_EGRESS_H
#define ANTIPHON_SANDBOX_EGRESS_H

#include <sys/types.h>

#include "base/err.h"
#include "ev/loop.h"
#include "sandbox/egress_policy.h"

struct egress_proxy;
struct egress_door;

/* Texts and lists must outlive the proxy. */
struct egress_conf {
    uid_t uid; /* who may connect besides root; 0: only as whom we run */
    struct egress_policy policy;
    unsigned max_connections; /* of all sandboxes together; 0: 256. As many again are answered that
                                 there are too many, further ones are closed without a word */
    unsigned max_per_owner; /* the same for one owner; 0: as many. That of owner "" may have all */
    uint64_t idle_ms;       /* without a byte in either direction; 0: 2 minutes */
};

/* Makes a proxy, or returns NULL with *reterr filled. */
struct egress_proxy *egress_proxy_new(struct loop *loop, const struct egress_conf *conf,
                                      struct err *reterr);

/* Opens the way in for the sandbox of an owner, which is copied. path is the socket's; the
 * directory exists, and a file of a dead process is replaced. NULL with *reterr filled. */
struct egress_door *egress_door_open(struct egress_proxy *proxy, const char *path, str owner,
                                     struct err *reterr);

/* Ends the connections that came by the door, and removes its socket. NULL is fine. */
void egress_door_close(struct egress_door *door);

/* Frees a proxy whose doors were closed, before the end of the loop; loop_free() frees what is
 * left. NULL is fine. */
void egress_proxy_free(struct egress_proxy *proxy);

#endif
