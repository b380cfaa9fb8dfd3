/* chat_quiet.h -- an upstream's answer that goes on without saying anything.
 *
 * Comments and empty chunks keep a connection open while the model thinks, for minutes, and that is
 * right: a few bytes every other second. Sent as fast as the network takes them they would keep a
 * response, and a core, busy for ever. So what counts is not time but bytes since the last that was
 * said: twice the largest event, of which one may be under way, and at least CHAT_QUIET_LEAST. */
#ifndef ANTIPHON_WIRE_CHUNK_CHAT_QUIET_H
#define ANTIPHON_WIRE_CHUNK_CHAT_QUIET_H

#include <stddef.h>

#include "base/err.h"

enum { CHAT_QUIET_LEAST = 4 * 1024 * 1024 };

/* max_event_bytes 0: no limit. Returns 0, or -1 with *reterr filled. */
int chat_quiet_check(size_t quiet_bytes, size_t max_event_bytes, struct err *reterr);

#endif
