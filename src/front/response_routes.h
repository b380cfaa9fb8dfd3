/* response_routes.h -- GET /v1/responses/{id}: the response, or its events again (CONTRACT 4.8, 6). */
#ifndef ANTIPHON_FRONT_RESPONSE_ROUTES_H
#define ANTIPHON_FRONT_RESPONSE_ROUTES_H

#include "front/path_pattern.h"
#include "http/http_server.h"

struct caller;
struct worker;

/* With stream=true a reader answers (resume/reader.h), else the store. */
void response_routes_get(struct worker *w, struct http_exchange *x, const struct http_request *r,
                         const struct caller *caller, const struct path_ids *ids);

#endif
