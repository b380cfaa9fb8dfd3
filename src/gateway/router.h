/* router.h -- which path is whose. */
#ifndef ANTIPHON_GATEWAY_ROUTER_H
#define ANTIPHON_GATEWAY_ROUTER_H

#include "http/http_server.h"

/* The http_server_on_request of every worker; arg is the worker. */
void router_on_request(void *arg, struct http_exchange *x, const struct http_request *request);

#endif
