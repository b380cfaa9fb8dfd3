/* admin_router.h -- which requests a listener takes (OPERATIONS 6.1, 6.4).
 *
 * Before the routes of clients come those of listeners that are for somebody else: one with +metrics
 * serves three paths, one with +admin these and /admin/..., and neither serves anything of the API. On all
 * other listeners there is no /admin, whoever asks. */
#ifndef ANTIPHON_ADMIN_ADMIN_ROUTER_H
#define ANTIPHON_ADMIN_ADMIN_ROUTER_H

#include "http/http_server.h"

/* The http_server_on_head of every worker; arg is the worker. */
bool admin_router_on_head(void *arg, struct http_exchange *x, const struct http_request *head);

/* The http_server_on_request of every worker; arg is the worker. */
void admin_router_on_request(void *arg, struct http_exchange *x,
                             const struct http_request *request);

#endif
