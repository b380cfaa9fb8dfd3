/* state_calls.h -- what can be asked of the store, for the router's table. */
#ifndef ANTIPHON_GATEWAY_STATE_CALLS_H
#define ANTIPHON_GATEWAY_STATE_CALLS_H

#include "gateway/state_request.h"

/* ---- state_responses.c; the path has the id of a response */

extern const struct state_call state_response_get, state_response_delete, state_response_cancel,
    state_response_input_items;

#endif
