/* readiness.h -- GET /ready (OPERATIONS 7.1): should this gateway be given requests?
 *
 * Everything it says is known already: it waits for nothing and asks nobody. */
#ifndef ANTIPHON_FRONT_READINESS_H
#define ANTIPHON_FRONT_READINESS_H

#include "http/http_server.h"

struct caller;
struct worker;

void readiness_answer(struct worker *w, struct http_exchange *x, const struct http_request *r,
                      const struct caller *caller);

#endif
