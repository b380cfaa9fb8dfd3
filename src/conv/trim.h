/* trim.h -- leave out the beginning of a conversation that is too long for the
 * model (CONTRACT 1.1, `truncation: auto`). */
#ifndef ANTIPHON_CONV_TRIM_H
#define ANTIPHON_CONV_TRIM_H

#include <stdbool.h>

#include "conv/conversation.h"

/* Drops turns, oldest first, until at least percent (1 to 100) of what may be
 * dropped is gone. A turn is a user message and what follows it up to the next
 * one: assistant messages, their calls and the outputs of these. System
 * messages stay, and so does everything from the last user message on.
 *
 * Returns false, with nothing changed, when nothing may be dropped. Three calls
 * with 50, 50 and 100 halve the old turns twice and then do without them. */
bool conversation_trim(struct conversation *c, unsigned percent);

#endif
