/* router.h -- what becomes of a request: refused, answered, or given to whom its path belongs to (route.h). */
#ifndef ANTIPHON_FRONT_ROUTER_H
#define ANTIPHON_FRONT_ROUTER_H

#include "http/http_server.h"

/* The http_server_on_head of every worker; arg is the worker. Everything that can be refused
 * without the body is refused here: unknown callers, paths, methods, a missing length. */
bool router_on_head(void *arg, struct http_exchange *x, const struct http_request *head);

/* The http_server_on_request of every worker; arg is the worker. */
void router_on_request(void *arg, struct http_exchange *x, const struct http_request *request);

#endif
