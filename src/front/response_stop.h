/* response_stop.h -- the two ways in which a client ends a response before it has ended by itself
 * (CONTRACT 4.8). */
#ifndef ANTIPHON_FRONT_RESPONSE_STOP_H
#define ANTIPHON_FRONT_RESPONSE_STOP_H

#include "front/path_pattern.h"
#include "http/http_server.h"

struct caller;
struct worker;

/* POST /v1/responses/{id}/cancel: answers with the object as it is stored then. */
void response_stop_cancel(struct worker *w, struct http_exchange *x, const struct http_request *r,
                          const struct caller *caller, const struct path_ids *ids);

/* DELETE /v1/responses/{id}: answers at once; what was being made of it ends soon. */
void response_stop_delete(struct worker *w, struct http_exchange *x, const struct http_request *r,
                          const struct caller *caller, const struct path_ids *ids);

#endif
