/* trim.h -- leave out the beginning of a conversation that is too long for the
 * model (CONTRACT 1.1, `truncation: auto`).
 *
 * Turns are left out whole, oldest first. A turn is a user message and what follows it up to the
 * next one: assistant messages, their calls and the outputs of these. System messages stay, and so
 * do own summaries of what stood before (CONTRACT 13.8) and everything from the last user message on. */
#ifndef ANTIPHON_CONV_TRIM_H
#define ANTIPHON_CONV_TRIM_H

#include <stdbool.h>

#include "conv/conversation.h"

/* About the bytes of all that is left of it, instructions and system messages included. */
size_t conversation_weight(const struct conversation *c);

/* The same of the outputs of tools alone. */
size_t conversation_outputs_weight(const struct conversation *c);

/* Drops turns until at least percent (1 to 100) of what may be dropped is gone.
 *
 * Returns false, with nothing changed, when nothing may be dropped. Three calls
 * with 50, 50 and 100 halve the old turns twice and then do without them. */
bool conversation_trim(struct conversation *c, unsigned percent);

/* How much is to go, in weight. */
struct trim_goal {
    size_t least; /* with less gone the conversation does not fit */
    size_t most;  /* not less than that: so much may go, to let it grow for a while */
    size_t step; /* what may go is a multiple of this, counted from the very beginning, also of what
                     was left out before: who goes on with the conversation and does not know where
                     it was cut finds the same place. Not 0 */
};

/* Drops as many turns as may go; if those are less than must go, as many as that takes. Returns
 * false, with nothing changed, when nothing may be dropped. */
bool conversation_trim_to(struct conversation *c, const struct trim_goal *goal);

/* Drops the first n messages of the body that are not system messages, as far as they may be
 * dropped. */
void conversation_leave_out(struct conversation *c, size_t n);

/* The number of messages before the last beginning of a turn whose mark is known. 0: none is. */
size_t conversation_find_mark(const struct conversation *c,
                              bool (*is_known)(void *arg, uint64_t mark), void *arg);

#endif
