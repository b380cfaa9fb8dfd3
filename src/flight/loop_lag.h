/* loop_lag.h -- by how much a timer of a worker's loop is late: how long others have to wait. */
#ifndef ANTIPHON_FLIGHT_LOOP_LAG_H
#define ANTIPHON_FLIGHT_LOOP_LAG_H

#include "ev/loop.h"

struct loop_lag;

/* Begins to measure, on the loop's thread or before it runs; number is that of the worker. NULL when
 * nothing is counted, or out of memory. */
struct loop_lag *loop_lag_new(struct loop *loop, unsigned number);
void loop_lag_free(struct loop_lag *l); /* NULL is fine */

#endif
