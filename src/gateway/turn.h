/* turn.h -- one client request to /v1/responses, from parse to last byte. */
#ifndef ANTIPHON_GATEWAY_TURN_H
#define ANTIPHON_GATEWAY_TURN_H

#include "base/err.h"
#include "http/http_server.h"

struct caller;
struct turn;
struct worker;

/* Begins the turn of a request; it answers, and frees itself when the last
 * thing it started has ended. */
void turn_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                const struct caller *caller);

/* What the upstream is, is known now or not to be found out. Does nothing to turns that do not wait
 * for that; may free the turn. */
void turn_recognised(struct turn *t);

/* Ends a running turn with an error: an HTTP error, or response.failed in a
 * stream that has begun. */
void turn_fail(struct turn *t, const struct err *e);

/* Frees a turn without an answer: the worker ends. */
void turn_drop(struct turn *t);

/* The next of the worker's turns, or NULL. */
struct turn *turn_next(const struct turn *t);

#endif
