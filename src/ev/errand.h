/* errand.h -- work that another thread does for who waits on a loop: there, done, and back.
 *
 *     home                      there
 *     begin    ---- begin ---->
 *              <--- report ----  it is over
 *     cancel   ---- abort ---->  ends it, if it is not over
 *              <--- release ---
 *
 * What is to be done is a *task*, and the errand a part of it. It belongs to those there from begin
 * to report, but for what says so, and to its home afterwards. Who cancels waits for the release,
 * which comes last even when a report has met the abort on its way; so nobody ever sees a task that
 * is gone.
 *
 * Nothing of this takes memory or can fail. Both loops must run, and who works there live, until
 * loop_n_expected() of home is 0. */
#ifndef ANTIPHON_EV_ERRAND_H
#define ANTIPHON_EV_ERRAND_H

#include "ev/loop.h"

/* What tasks of a kind do. The last two: one of them runs, once, with a task that may be freed or
 * begun again. */
struct errand_kind {
    void (*begin)(void *task);   /* there; ends in errand_report(), at once or later */
    void (*abort)(void *task);   /* there, after begin: no report may follow */
    void (*report)(void *task);  /* at home: it is over */
    void (*release)(void *task); /* at home: it was cancelled, and nobody works on it any more */
};

struct errand { /* errand.c's own */
    const struct errand_kind *kind;
    void *task;
    struct loop *home, *there;
    struct loop_message begin, report, abort, release;
    bool is_cancelled; /* of home */
    bool is_over;      /* of those there */
};

/* At home. The kind outlives the errand. there is NULL for a task that is handed over in another
 * way, behind this call: then kind needs no begin, and it cannot be cancelled. */
void errand_begin(struct errand *e, const struct errand_kind *kind, void *task, struct loop *home,
                  struct loop *there);

/* There: the task is over, and belongs to its home. Not when it was aborted. */
void errand_report(struct errand *e);

/* At home, once, unless the report has come: it does not come any more. */
void errand_cancel(struct errand *e);

#endif
