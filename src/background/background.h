/* background.h -- responses that are made while nobody waits for them (CONTRACT 4.8).
 *
 * Whoever wants one accepts it into the store (turn/turn.h). From there *agents* take it, one for each
 * worker, on the worker's loop:
 *
 *     accepted --> queued in the store --claim--> a turn of this worker --> its end in the store
 *                         lost by others --take--> ended by what is in the store
 *
 * The agents share one number, how many responses are made here at a time, and one bit, whether there
 * may be something to claim. The bit is set by whoever has accepted something here, by a claim that has
 * found something, and every second, since other gateways accept as well. As long as it is set and there
 * is room, the agent with the least work claims: so the work spreads over the workers.
 *
 * Every second one agent, whichever is the first, also looks for work that was lost with its gateway, and
 * whether somebody wishes otherwise of what is made here: that it is cancelled, or deleted.
 *
 * A worker that drains claims nothing any more: what is queued stays so for the next gateway, and what was
 * just being claimed goes back. What its turns are making has drain_timeout. */
#ifndef ANTIPHON_BACKGROUND_BACKGROUND_H
#define ANTIPHON_BACKGROUND_BACKGROUND_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct background;
struct poll_cache;
struct worker;

/* What the agents of a process share: up to max_running responses are made at a time. NULL
 * when out of memory. */
struct background *background_new(unsigned max_running);

/* When no worker is left. NULL is fine. */
void background_free(struct background *b);

/* Gives a worker its agent, and sets w->background; before its thread begins, with the worker's store set.
 * The agent ends with the worker. Returns 0, or -1 with *reterr filled. */
int background_open_agent(struct background *b, struct worker *w, struct err *reterr);

/* Says that there may be work to claim. Any thread, at once; see worker_hint_work(). */
void background_hint(struct background *b);

/* Is this response being made here, in the background? Any thread. */
bool background_is_making(struct background *b, str id);

/* What was answered to those who ask for responses under way (background/poll_cache.h). */
struct poll_cache *background_polls(struct background *b);

#endif
