/* pulse.h -- do the loops of all workers turn?
 *
 * Whoever asks leaves a message for every loop, unless there is one still; one that is not
 * answered for 5 s is found by the next who asks. So nothing happens while nobody does. */
#ifndef ANTIPHON_FLIGHT_PULSE_H
#define ANTIPHON_FLIGHT_PULSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;
struct pulses;

/* NULL when out of memory. */
struct pulses *pulses_new(size_t n_loops);

/* When no loop runs any more. NULL is fine. */
void pulses_free(struct pulses *p);

/* Before anybody asks. */
void pulses_add(struct pulses *p, struct loop *loop);

/* The loop has ended as it should: nobody expects an answer of it. Any thread. NULL is fine. */
void pulses_end(struct pulses *p, const struct loop *loop);

/* Any thread, at once; now_ms of any clock that goes on evenly. NULL is fine: nothing is
 * known. */
bool pulses_are_stalled(struct pulses *p, uint64_t now_ms);

/* pulses_are_stalled() in two steps: leaves the messages; have all loops turned since? */
void pulses_ask(struct pulses *p, uint64_t now_ms);
bool pulses_have_answered(const struct pulses *p);

#endif
