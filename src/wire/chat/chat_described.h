/* chat_described.h -- the schema of a tool's arguments for chat templates that print descriptions
 * without looking whether there are any. */
#ifndef ANTIPHON_WIRE_CHAT_CHAT_DESCRIBED_H
#define ANTIPHON_WIRE_CHAT_CHAT_DESCRIBED_H

#include "json/json_write.h"

/* Writes the schema, a raw value, where every property that is an object and has no description has
 * an empty one. Properties of properties stay as they are: no template goes further down. */
void chat_described_write(str schema, struct jw *w);

#endif
