/* loop_hold.h -- how long a loop was kept from its sockets.
 *
 * A loop that works waits for nobody: all its other connections are late by that time. One batch
 * of callbacks is measured, from the moment the loop was woken to the moment it sleeps again, by
 * the loop's own clock. Long ones are logged: a line `loop_held` with their time and who worked
 * last, as a warning from LOOP_HOLD_WARN_MS on, and from LOOP_HOLD_SHOW_MS on at the level debug,
 * there with the processor time as well, which other processes do not add to. */
#ifndef ANTIPHON_EV_LOOP_HOLD_H
#define ANTIPHON_EV_LOOP_HOLD_H

#include <stdbool.h>
#include <stdint.h>

enum { LOOP_HOLD_SHOW_MS = 5, LOOP_HOLD_WARN_MS = 100 };

/* Zeroed, it has measured nothing. */
struct loop_hold {
    uint64_t woken_ms;   /* 0: not since the last loop_hold_end() */
    uint64_t cpu_us;     /* of the thread when it went to sleep; 0: not known */
    uint64_t warned_ms;  /* when the last warning was given */
    uint64_t n_unlogged; /* warnings left out since then */
};

/* Names who works on this thread from here on, for the line: a constant string. */
void loop_hold_by(const char *who);

/* The loop was woken at that time of its clock. */
static inline void loop_hold_begin(struct loop_hold *h, uint64_t woken_ms)
{
    h->woken_ms = woken_ms;
}

/* The loop sleeps again, at that time of the same clock: the batch is measured, and logged when it
 * was long. */
void loop_hold_end(struct loop_hold *h, uint64_t now_ms);

#endif
