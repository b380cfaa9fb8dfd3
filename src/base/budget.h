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

/* Sets the limit; 0: none, memory is only counted. What has been taken already stays taken. */
void budget_set_limit(size_t bytes);
size_t budget_limit(void);

/* Takes n bytes; false when less is left. Any thread may give them back, in any parts. */
bool budget_take(size_t n);
void budget_give(size_t n);

/* n zeroed bytes from the heap for which `counted` bytes are taken: an object and what belongs
 * to it. NULL when that much is not left, or out of memory. */
void *budget_alloc(size_t n, size_t counted);
void budget_free(void *p, size_t counted); /* NULL is fine */

/* The bytes that all threads have taken, the rests of their steps included. */
size_t budget_used(void);

/* The highest budget_used() since the last call. A call resets it, so there is one caller. */
size_t budget_peak(void);

/* True when n more bytes may be taken without touching the reserve for work that has begun. That
 * can change at any time. budget_is_short(): not even one step may. */
bool budget_has_room(size_t n);
bool budget_is_short(void);

/* Uses that a thread takes memory for; each has less of it than the one before. */
enum budget_use {
    BUDGET_UNDER_WAY,  /* what has begun: all */
    BUDGET_CONNECTION, /* connections, heads of requests, refusals: all but a twentieth */
    BUDGET_NEW_WORK,   /* bodies and what is made of them, caches: all but a tenth */
};

/* Sets the use for this thread from now on. Returns the one before, which the caller restores. */
enum budget_use budget_use_for(enum budget_use use);

/* The number of times budget_take() or budget_has_room() has said no, on all threads. */
size_t budget_refusals(void);

/* True when budget_refusals() has grown since this thread asked last. Work may begin on one thread
 * and fail on another. */
bool budget_was_refused(void);

#endif
