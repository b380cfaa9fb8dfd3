/* errand.h -- work that another thread does for who waits on a loop: there, done, and back.
 *
 *     home                      there
 *     begin    ---- begin ---->
 *              <--- report ----  it is over
 *     cancel   ---- abort ---->  ends it, if it is not over
 *              <--- release ---
 *
 * The work is a *task*, and the errand is a part of it. A task belongs to the other thread from
 * begin to report, but for the members that say otherwise, and to its home afterwards. Whoever
 * cancels waits for the release: it comes last even when a report has crossed the abort on its way,
 * so neither side ever sees a freed task.
 *
 * An errand takes no memory and cannot fail: its messages are part of the task. Both loops must
 * run, and the other thread's objects must live, until loop_n_expected() of home is 0. */
#ifndef ANTIPHON_EV_ERRAND_H
#define ANTIPHON_EV_ERRAND_H

#include "ev/loop.h"

/* What tasks of a kind do. Either report or release runs, once, with a task that may then be freed
 * or begun again. */
struct errand_kind {
    void (*begin)(void *task);   /* on the other thread; ends in errand_report() */
    void (*abort)(void *task);   /* on the other thread; no report may follow */
    void (*report)(void *task);  /* at home: it is over */
    void (*release)(void *task); /* at home: it was cancelled, and there it is forgotten */
};

struct errand { /* errand.c's own */
    const struct errand_kind *kind;
    void *task;
    struct loop *home, *there;
    struct loop_message begin, report, abort, release;
    bool is_cancelled; /* written by home */
    bool is_over;      /* written by the other thread */
};

/* Sends the task off; at home. The kind outlives the errand. there is NULL for a task that goes to
 * its thread in another way, after this call: then kind needs no begin, and it cannot be cancelled. */
void errand_begin(struct errand *e, const struct errand_kind *kind, void *task, struct loop *home,
                  struct loop *there);

/* Ends the task, which then belongs to its home; on the other thread. Not after an abort. */
void errand_report(struct errand *e);

/* Cancels the task; at home, once, unless the report has come, which then does not come any
 * more. */
void errand_cancel(struct errand *e);

#endif
