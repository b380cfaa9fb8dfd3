/* metrics_route.h -- GET /metrics (OPERATIONS 1.1): who may read it, and when it is written. */
#ifndef ANTIPHON_FRONT_METRICS_ROUTE_H
#define ANTIPHON_FRONT_METRICS_ROUTE_H

#include "access/api_key.h"
#include "http/http_server.h"

struct worker;

/* Is there such a path for whoever asks? */
bool metrics_route_is_there(const struct worker *w, const struct http_request *r);

/* A route_fn that needs no key of its caller: it asks for one itself where that is configured. */
void metrics_route_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                         const struct caller *caller);

#endif
