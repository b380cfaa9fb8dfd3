/* work_request.h -- the request of background work, as it stands in the store until it is run (CONTRACT
 * 4.8).
 *
 *     {"request_id":..., "client":..., "is_named":..., "authorization":..., "scope":...,
 *      "traceparent":..., "tracestate":...}                                     one line, and
 *     {"model":...}                                                            the body as it came
 *
 *     {"sealed":"gw1. ..."}        in place of both, when there are secrets in them
 *
 * What is run later is to be what would have been run at once: so beside the body stands what else the
 * turn has of its client. A key that is passed on to the upstream, and credentials of MCP servers, are
 * not readable in the store. */
#ifndef ANTIPHON_TURN_WORK_REQUEST_H
#define ANTIPHON_TURN_WORK_REQUEST_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "conv/text_seal.h"

struct work_request {
    str body;               /* of the request: JSON */
    str request_id, client; /* for the log */
    bool is_named;          /* its owner is a name that may be logged */
    str authorization;      /* the client's header, if it goes on to the upstream, or STR_NONE */
    str traceparent;        /* of the request's span, or STR_NONE; likewise tracestate */
    str tracestate;
    str scope; /* whose memory of calls it uses (turn_memory_scope()), or STR_NONE */
};

/* Appends it; sealed, unless seal is NULL. Returns 0, or -1 with *reterr filled. */
int work_request_write(const struct work_request *r, const struct text_seal *seal, struct buf *out,
                       struct err *reterr);

/* Reads it; texts point into stored and the arena. Returns 0, or -1 with *reterr filled: it cannot be
 * unsealed, or is damaged. */
int work_request_read(str stored, const struct text_seal *seal, struct arena *a,
                      struct work_request *ret, struct err *reterr);

#endif
