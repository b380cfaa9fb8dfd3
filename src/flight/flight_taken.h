/* flight_taken.h -- what a flight has of its caller's limits, until it is given back (flight_limits.h). */
#ifndef ANTIPHON_FLIGHT_FLIGHT_TAKEN_H
#define ANTIPHON_FLIGHT_FLIGHT_TAKEN_H

#include <stdbool.h>
#include <stdint.h>

struct rate_table;
struct rate_user;

/* Zeroed: nothing. */
struct flight_taken {
    struct rate_user *user; /* NULL: nothing, or it was given back */
    int64_t estimate;       /* tokens that were taken for the request */
    int64_t used;           /* what the upstream has told; while is_known */
    bool is_known;
    bool is_handed_over; /* another flight does the work */
    bool is_refused;     /* the limits have refused it, and counted why */
    bool is_told;        /* its client was told its limits */
};

/* Gives it back, with the difference to what was used. costs_nothing: unless the upstream has said otherwise.
 * Nothing the second time. */
void flight_taken_end(struct flight_taken *t, bool costs_nothing, struct rate_table *rates,
                      uint64_t now_ms);

#endif
