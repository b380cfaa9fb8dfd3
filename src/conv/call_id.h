/* call_id.h -- ids of tool calls for servers that want nine letters and digits.
 *
 * Mistral's servers and chat templates refuse any other id (CONTRACT 2.5 rule
 * 7). The short id is a hash of the long one, so a conversation that grows
 * keeps the ids it had, and with them the server's cache of its beginning. */
#ifndef ANTIPHON_CONV_CALL_ID_H
#define ANTIPHON_CONV_CALL_ID_H

#include "conv/conversation.h"

enum { CALL_ID_CHARS = 9 };

/* Rewrites the ids of all calls, and with them those of their outputs. Ids that
 * fit stay; different ids stay different; a second time changes nothing. The
 * new ids live in the arena. Returns 0, or -1 when out of memory. */
int call_ids_shorten(struct conversation *c, const struct id_source *ids, struct arena *a,
                     struct err *reterr);

#endif
