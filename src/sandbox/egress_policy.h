/* egress_policy.h -- where code in a sandbox may connect to (docs/tools.md, network).
 *
 * A connection is judged three times: its port, its host as the code has written it, and
 * every address that this host turns out to have. Only the last says where it leads, so
 * that no spelling of an address and no name that points inside gets around it. Each step
 * returns the reason why not, which ends a sentence, or NULL. Pure; any thread. */
#ifndef ANTIPHON_SANDBOX_EGRESS_POLICY_H
#define ANTIPHON_SANDBOX_EGRESS_POLICY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/host_list.h"

enum egress_mode { EGRESS_LISTED, EGRESS_PUBLIC };

/* A pattern may also be a network ("192.0.2.0/24", "2001:db8::/32"). */
struct egress_policy {
    enum egress_mode mode;
    struct host_list allowed; /* networks here may be private ones */
    struct host_list denied;  /* wins */
    const uint16_t *ports;    /* n_ports is 0: 80 and 443 */
    size_t n_ports;
};

const char *egress_check_port(const struct egress_policy *policy, uint16_t port);

/* Judges a host: a name or an address without brackets. */
const char *egress_check_host(const struct egress_policy *policy, str host);

/* Judges one of the addresses of a host that has passed. */
const char *egress_check_address(const struct egress_policy *policy, str host,
                                 const struct sockaddr *to);

#endif
