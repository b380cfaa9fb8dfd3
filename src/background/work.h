/* work.h -- a response under way that this gateway has claimed. Internal to background/.
 *
 *     claimed --> turn --> (ended by it)
 *                   |
 *     taken --------+--> unfinished: its end is made of what the store has, and stored
 *
 * The work lives on the loop of its agent, until the turn has reported and nothing that it has started
 * is under way. */
#ifndef ANTIPHON_BACKGROUND_WORK_H
#define ANTIPHON_BACKGROUND_WORK_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/arena.h"
#include "ev/loop.h"
#include "resume/running.h"
#include "store/store_events.h"
#include "store/store_work.h"

struct agent;

struct work {
    struct agent *agent;
    LIST_ENTRY(work) next;    /* guarded (agents.h): of its agent */
    LIST_ENTRY(work) unended; /* of its agent: waits for the store */
    struct arena arena;       /* what follows points into it */
    struct store_work claimed;
    bool has_place;         /* it counts for background_running */
    bool is_given_back;     /* it was not begun, and waits to be queued again */
    enum store_wish wish;   /* guarded: what was found by a look */
    struct running_ask ask; /* to cancel the turn */
    bool is_asking, is_over;

    /* of an end that is made here */
    struct err why;
    struct arena end_arena;     /* of one attempt: what follows points into it */
    struct store_events events; /* all there are */
    struct store_task task;
    struct loop_job job;
    struct store_response record;
    enum store_wish outcome;
    bool is_failed; /* it could not be made */
};

/* NULL when out of memory. */
struct work *work_new(struct agent *a);
void work_free(struct work *work);

/* Has a claimed response made by a turn of the agent's worker. */
void work_start(struct work *work);

/* Asks the turn, if it is on its way, to cancel. */
void work_cancel(struct work *work);

/* Ends a response of which the store has the beginning: why is what its clients are told, and
 * ERR_RESPONSE_CANCELLED that it was cancelled. It is tried again until the store does it. */
void work_finish(struct work *work, const struct err *why);

/* The store could not do it before; or it is given back now, not at once, so that what nobody can make goes
 * around no faster than that. */
void work_finish_again(struct work *work);

#endif
