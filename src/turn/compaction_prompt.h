/* compaction_prompt.h -- the operator's text to ask for summaries with (CONTRACT 13.5). */
#ifndef ANTIPHON_TURN_COMPACTION_PROMPT_H
#define ANTIPHON_TURN_COMPACTION_PROMPT_H

#include "base/arena.h"
#include "config/config.h"
#include "config/config_problems.h"

/* Reads the file of compaction_prompt into the arena; *ret is STR_NONE when there is none. Returns 0,
 * or -1 with the reason among the problems. */
int compaction_prompt_load(const struct config *c, struct arena *a, str *ret,
                           struct config_problems *problems);

#endif
