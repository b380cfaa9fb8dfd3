/* response_memory.h -- what a model thought is remembered by the calls it made. */
#ifndef ANTIPHON_RESPONSE_RESPONSE_MEMORY_H
#define ANTIPHON_RESPONSE_RESPONSE_MEMORY_H

#include "response/response.h"
#include "wire/request/call_cache.h"

/* Has it calls, and reasoning to put into the cache for them? Most have not. */
bool response_is_to_remember(const struct response *r);

/* Puts the reasoning of a response that has ended, shown or not, into the cache
 * for each of its calls (CONTRACT 2.4). scope: whose response it is. */
void response_remember(const struct response *r, str scope, struct call_cache *cache);

#endif
