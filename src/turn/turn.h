/* turn.h -- one client request to /v1/responses, from parse to last byte. */
#ifndef ANTIPHON_TURN_TURN_H
#define ANTIPHON_TURN_TURN_H

#include "flight/peer.h"

struct caller;
struct worker;

/* Begins the turn of a request; it answers, and frees itself when the last
 * thing it started has ended. */
void turn_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                const struct caller *caller);

/* The same for any client. r, which says what is asked and with which headers, lives as long as the
 * client. */
void turn_begin(struct worker *w, struct peer client, const struct http_request *r,
                const struct caller *caller);

/* The same for one that is only counted: POST /v1/responses/input_tokens. */
void turn_start_count(struct worker *w, struct http_exchange *x, const struct http_request *r,
                      const struct caller *caller);

/* The same for a request to /v1/responses/compact, whose answer is a summary (CONTRACT 13.3). */
void turn_start_compact(struct worker *w, struct http_exchange *x, const struct http_request *r,
                        const struct caller *caller);

#endif
