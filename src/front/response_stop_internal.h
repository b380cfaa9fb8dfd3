/* response_stop_internal.h -- one who ends a response early, and its parts: response_stop.c has what both
 * ways have in common, and DELETE; response_cancel.c has the cancel. */
#ifndef ANTIPHON_FRONT_RESPONSE_STOP_INTERNAL_H
#define ANTIPHON_FRONT_RESPONSE_STOP_INTERNAL_H

#include "flight/flight.h"
#include "flight/worker.h"
#include "resume/running.h"
#include "store/store_work.h"

struct stop {
    struct flight flight; /* first */
    str id;
    bool deletes;
    struct store_task task;
    struct running_ask ask;
    bool is_asking, is_last_look;
    uint64_t deadline_ms;

    /* of the last task */
    struct buf object;
    bool is_over; /* it is that of a response that has ended */
    int64_t created_at;
};

static inline struct worker *stop_worker(const struct stop *s)
{
    return s->flight.worker;
}

static inline uint64_t stop_now_ms(const struct stop *s)
{
    return loop_now_ms(stop_worker(s)->loop);
}

/* Answers, if there is still a client: with the object that the last task has written, or an error. */
void stop_answer(struct stop *s);
void stop_answer_error(void *arg, const struct err *e);

/* The flight stays until done has run, which gives back what it counts (n_tasks). */
void stop_start_task(struct stop *s, enum store_access access,
                     int (*work)(struct store_session *session, void *arg, struct err *reterr),
                     void (*done)(void *arg, const struct err *failure));

/* Forgets kept answers: who reads the object from now on is not shown what it was before. */
void stop_forget_polls(const struct stop *s);

/* Asks the turn that makes the response here; false when there is none. The flight stays until the report,
 * as for a task. A wish that has been said is not taken back, whether its client stays or not. */
bool stop_ask_turn(struct stop *s, enum running_wish wish,
                   void (*report)(void *arg, enum running_outcome outcome));

/* ---- response_cancel.c */

void stop_begin_cancel(struct stop *s);

/* The time has come to look at what has become of the response. */
void stop_on_timer(void *arg);

#endif
