/* turn_metrics.h -- what is counted of turns (OPERATIONS 1.3); on the worker's loop. */
#ifndef ANTIPHON_TURN_TURN_METRICS_H
#define ANTIPHON_TURN_TURN_METRICS_H

#include "turn/turn_internal.h"

/* The turn's upstream call is about to begin. */
void turn_metrics_ask(struct turn *t);

/* A round has ended. */
void turn_metrics_round(struct turn *t);

/* Events that were written and not counted yet. */
void turn_metrics_events(struct turn *t);

/* The answer is about to be completed, with this error or none: its request is counted with the model. */
void turn_metrics_answer(struct turn *t, const struct err *e);

/* The answer is complete, with this error or none; or the client has left. */
void turn_metrics_end(struct turn *t, const struct err *e);
void turn_metrics_gone(struct turn *t);

#endif
