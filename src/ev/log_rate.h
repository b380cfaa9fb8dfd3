/* log_rate.h -- how many lines of its own a server may put into our log.
 *
 * A bucket of LOG_RATE_BURST lines that fills by LOG_RATE_PER_S a second. Pure;
 * a zeroed one is full. */
#ifndef ANTIPHON_EV_LOG_RATE_H
#define ANTIPHON_EV_LOG_RATE_H

#include <stdbool.h>
#include <stdint.h>

enum { LOG_RATE_BURST = 50, LOG_RATE_PER_S = 10 };

struct log_rate {
    uint64_t spent_ms; /* what was used, as time to fill it again, at at_ms */
    uint64_t at_ms;
    uint64_t n_refused; /* since the last that was taken */
};

/* Takes one line, or counts it as refused. When a line is taken *ret_refused says how many were
 * refused before it. */
bool log_rate_take(struct log_rate *r, uint64_t now_ms, uint64_t *ret_refused);

#endif
