/* state_calls.h -- what can be asked of the store, for the router's table. */
#ifndef ANTIPHON_FRONT_STATE_CALLS_H
#define ANTIPHON_FRONT_STATE_CALLS_H

#include "front/state_request.h"

/* ---- state_responses.c; the path has the id of a response */

extern const struct state_call state_response_get, state_response_input_items;

/* ---- state_conversations.c; the path has the id of a conversation, but for create */

extern const struct state_call state_conversation_create, state_conversation_get,
    state_conversation_update, state_conversation_delete;

/* ---- state_items.c; the path has the ids of a conversation and of an item */

extern const struct state_call state_items_list, state_items_add, state_item_get, state_item_delete;

#endif
