/* turn_call_span.h -- the span of a call that the gateway runs: `execute_tool NAME` (OPERATIONS 2.3). Each
 * does nothing for a flight that is not traced. */
#ifndef ANTIPHON_CALL_TURN_CALL_SPAN_H
#define ANTIPHON_CALL_TURN_CALL_SPAN_H

#include "call/turn_call.h"

/* The call begins; loop or pool. */
void turn_call_span_begin(struct turn_call *c);

/* The call has ended, with c->result; nobody waits for it any more. On the loop. */
void turn_call_span_end(struct turn_call *c);
void turn_call_span_cancel(struct turn_call *c);

/* The span says what is known of an MCP server's call when that has ended. */
void turn_call_span_mcp(struct turn_call *c, const struct mcp_outcome *o);

#endif
