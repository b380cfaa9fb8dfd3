/* egress.h -- the only way out of a sandbox: an HTTP proxy that looks where it leads.
 *
 * It listens on a Unix socket that sandboxes see (jail_conf.egress_socket), speaks CONNECT
 * and requests for http:// URLs, looks names up itself and connects to nothing but
 * addresses that the policy has judged. What it refuses is answered with a 403 whose
 * status line and body say why, for the model to read.
 *
 * Everything runs on the loop's thread. */
#ifndef ANTIPHON_SANDBOX_EGRESS_H
#define ANTIPHON_SANDBOX_EGRESS_H

#include <sys/types.h>

#include "base/err.h"
#include "ev/loop.h"
#include "sandbox/egress_policy.h"

struct egress_proxy;

/* Texts and lists must outlive the proxy. */
struct egress_conf {
    const char *path; /* of the socket; the directory exists. A file of a dead process goes */
    uid_t uid;        /* who may connect besides root; 0: only as whom we run */
    struct egress_policy policy;
    unsigned max_connections; /* of all sandboxes together; 0: 256. As many again are answered that
                                 there are too many, further ones are closed without a word */
    uint64_t idle_ms;         /* without a byte in either direction; 0: 2 minutes */
};

/* NULL with *reterr filled. */
struct egress_proxy *egress_proxy_new(struct loop *loop, const struct egress_conf *conf,
                                      struct err *reterr);

/* Ends all connections and removes the socket. Before the end of the loop; loop_free() frees
 * what is left. NULL is fine. */
void egress_proxy_free(struct egress_proxy *proxy);

#endif
