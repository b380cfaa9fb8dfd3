/* front_spans.h -- what the spans of chat completions and of relays have in common (OPERATIONS 2.3). */
#ifndef ANTIPHON_FRONT_FRONT_SPANS_H
#define ANTIPHON_FRONT_FRONT_SPANS_H

#include "flight/flight_spans.h"

/* The question has been answered, or has failed. */
void front_spans_heard(struct flight *f, const struct err *failure);

/* The flight has ended, as its line in the log says; status: that the client got, or 0. */
void front_spans_end(struct flight *f, int status, const char *outcome, const struct err *e);

#endif
