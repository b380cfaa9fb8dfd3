/* compact_shrink.h -- less of a conversation that is to be summarized and does not fit
 * (CONTRACT 13.5).
 *
 * First the outputs of tools are cut to their ends, the oldest first; then turns are left out, the
 * oldest first. Messages of the system, own summaries, the last turn and the question at the end
 * stay. */
#ifndef ANTIPHON_COMPACT_COMPACT_SHRINK_H
#define ANTIPHON_COMPACT_COMPACT_SHRINK_H

#include "conv/conversation.h"

/* So often a summary is asked for, the whole conversation included. */
enum { COMPACT_MAX_CALLS = 3 };

/* Makes the conversation, which ends with the question, lighter by this many bytes of
 * conversation_weight() (conv/trim.h), or by as much as there is. n_calls: so many were refused.
 * goal 0: nobody has said how much is too much; then all outputs are cut after the first call, or,
 * where none is long, half of the old turns go; after the second all of them.
 *
 * True when it has become lighter; else another call is in vain, as it is after COMPACT_MAX_CALLS.
 * Out of memory counts as nothing. */
bool compact_shrink(struct conversation *c, unsigned n_calls, size_t goal, struct arena *a);

#endif
