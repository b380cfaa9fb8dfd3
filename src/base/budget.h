/* budget.h -- how much memory the process may take, counted by all threads together.
 *
 * Arenas and buffers take from it by themselves; whoever holds other memory for a client takes
 * and gives by hand. A refusal is what malloc() says when there is nothing left, and goes the
 * same ways. A thread takes in steps of 64 KiB and keeps what is left of one for itself, so
 * that few calls touch what is shared.
 *
 * The last tenth is for what has begun already. What only wants to begin asks
 * budget_has_room() first, and its thread says by budget_use_for() what it takes memory for: so
 * streams under way go on while new requests are refused.
 *
 * It knows no clock and no system: the shell sets the limit. Any thread. */
#ifndef ANTIPHON_BASE_BUDGET_H
#define ANTIPHON_BASE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

/* 0: none; memory is counted all the same. What has been taken already stays taken. */
void budget_set_limit(size_t bytes);
size_t budget_limit(void);

/* False when n bytes are more than is left. What was taken is given back by any thread, in
 * any parts. */
bool budget_take(size_t n);
void budget_give(size_t n);

/* n zeroed bytes from the heap for which `counted` bytes are taken: an object and what belongs
 * to it. NULL when that much is not left, or out of memory. */
void *budget_alloc(size_t n, size_t counted);
void budget_free(void *p, size_t counted); /* NULL is fine */

/* What all threads have taken, the rests of their steps included. */
size_t budget_used(void);

/* The most that this has been since the last call, which is for one caller. */
size_t budget_peak(void);

/* May n bytes more be taken without touching what is kept for work that has begun? That can change
 * at any time. Short: not even a step. */
bool budget_has_room(size_t n);
bool budget_is_short(void);

/* What a thread takes memory for; each has less of it than the one before. */
enum budget_use {
    BUDGET_UNDER_WAY,  /* what has begun: all */
    BUDGET_CONNECTION, /* connections, heads of requests, refusals: all but a twentieth */
    BUDGET_NEW_WORK,   /* bodies and what is made of them, caches: all but a tenth */
};

/* For this thread, from now on. Returns what held before, which the caller restores. */
enum budget_use budget_use_for(enum budget_use use);

/* How often somebody has been refused something, or told that there is no room for it. */
size_t budget_refusals(void);

/* Has it happened since this thread asked last? Work may begin on one thread and fail on another. */
bool budget_was_refused(void);

#endif
