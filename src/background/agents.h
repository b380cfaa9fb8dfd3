/* agents.h -- what the agents of a process share. Internal to background/.
 *
 * Agents live on the loops of their workers; what is said to be guarded is touched with the lock held,
 * under which loop_post() is the only other thing that is called. */
#ifndef ANTIPHON_BACKGROUND_AGENTS_H
#define ANTIPHON_BACKGROUND_AGENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "background/background.h"
#include "background/work.h"
#include "base/buf.h"
#include "ev/loop.h"
#include "flight/worker.h"
#include "store/store_work.h"

LIST_HEAD(work_list, work);

/* A look at the store: what is wanted of the work there is, and what was lost. */
struct look {
    struct agent *agent;
    struct store_task task;
    struct arena arena; /* of the arrays, which have n places */
    str *ids, *locks;
    enum store_wish *wishes;
    size_t n;
    bool takes_lost;
    struct work *lost; /* filled when something is found */
    bool is_found;
};

struct agent {
    struct background *background;
    struct worker *worker;
    struct worker_watcher watcher;
    struct loop_timer *timer;
    struct loop_message wake; /* it is to claim, or something is wished of its work */
    struct agent *next;       /* of the process */
    bool is_claiming;       /* guarded, like the next three: a place is taken for what it claims */
    bool is_closed;         /* it claims nothing any more */
    unsigned n_works;       /* that it has, or is claiming */
    struct work_list works; /* that it has */
    struct work *claiming;  /* while its task is under way */
    struct store_task task;
    struct look look;
    struct work_list unended; /* of its works: cannot be ended yet, or go back */
};

struct background {
    uv_mutex_t lock; /* guards what follows, and members of agents and works */
    unsigned max_running, n_running;
    bool may_have_work;    /* something may be queued */
    struct buf last_owner; /* whose turn it was last */
    uint64_t look_at_ms;   /* when a look is due */
    bool is_looking;       /* one is under way */
    struct agent *agents;
    struct poll_cache *polls;
};

/* ---- background.c */

/* Takes a place for the agent with the least work, if something may be queued. With the lock held. */
void background_dispatch(struct background *b);

/* A claim has ended: with work that the agent is going to have made, or without. Then its place is free,
 * as it is after background_end_work(). */
void background_end_claim(struct agent *a, bool has_found);

/* Gives the agent a work that it has claimed or taken, or takes it away; a claimed one has a place. */
void background_add_work(struct agent *a, struct work *work);
void background_end_work(struct agent *a, struct work *work);

/* ---- agent_look.c */

/* Looks, if that is due and nobody does. */
void agent_look(struct agent *a);

/* Has the turns of the agent's work hear of what is wished of them. */
void agent_hear_wishes(struct agent *a);

/* Frees what a look under way holds. */
void agent_forget_look(struct agent *a);

#endif
