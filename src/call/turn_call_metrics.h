/* turn_call_metrics.h -- what is counted of calls of tools (OPERATIONS 1.3); on the worker's loop. */
#ifndef ANTIPHON_CALL_TURN_CALL_METRICS_H
#define ANTIPHON_CALL_TURN_CALL_METRICS_H

#include "call/turn_call.h"

/* A call has come to what is in its result; or it is not waited for any more. */
void turn_call_metrics_end(const struct turn_call *c);
void turn_call_metrics_cancel(const struct turn_call *c);

/* The client has not approved so many calls of MCP servers. */
void turn_call_metrics_refused(size_t n);

#endif
