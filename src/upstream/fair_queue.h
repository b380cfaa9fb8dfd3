/* fair_queue.h -- who waits for the upstreams of one group, and whose turn it is (OPERATIONS 5.4).
 *
 * A ticket is a member of the caller's struct and stands in the queue from fair_queue_add() until it is
 * granted (fair_queue_next()) or removed. An owner is a number that the caller makes of a name or an address;
 * two owners with the same number are one.
 *
 *     class    high, normal, low: a lower one only while no higher one waits, or when nine grants in a row
 *              went past it
 *     owner    within a class, deficit round robin: as many grants in a row as its weight, then the next owner
 *     later    within an owner, rounds of turns that have begun before those that have not
 *     first    within these, first come, first served
 *
 * Pure: no clock, no lock; whoever shares a queue between threads holds a lock of its own. */
#ifndef ANTIPHON_UPSTREAM_FAIR_QUEUE_H
#define ANTIPHON_UPSTREAM_FAIR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FAIR_QUEUE_EVERY = 10,     /* grants of which each class that waits gets at least one */
    FAIR_QUEUE_DURATIONS = 32, /* rounds whose mean duration is known */
    FAIR_QUEUE_BUCKETS = 64,
    FAIR_QUEUE_LEAST_S = 1,
    FAIR_QUEUE_MOST_S = 60,
    FAIR_QUEUE_UNKNOWN_S = 5,
};

enum fair_class { FAIR_CLASS_HIGH, FAIR_CLASS_NORMAL, FAIR_CLASS_LOW, FAIR_CLASSES };

struct fair_flow; /* what one owner has waiting in one class */

struct fair_ticket {
    struct fair_ticket *next, *prev;
    struct fair_flow *flow; /* NULL: it does not wait */
    bool is_later;
};

struct fair_queue {
    size_t limit, owner_limit; /* may be changed at any time, for those that come */
    size_t n;                  /* tickets that wait */
    struct {
        struct fair_flow *next; /* whose turn it is, of a ring; NULL: none waits */
        unsigned n_passed;      /* grants to other classes since one of this waits */
    } classes[FAIR_CLASSES];
    struct fair_flow *flows[FAIR_QUEUE_BUCKETS];
    uint64_t durations_ms[FAIR_QUEUE_DURATIONS], duration_sum_ms;
    size_t n_durations; /* of all rounds */
};

/* queue_limit and queue_owner; 0: nothing waits. */
void fair_queue_init(struct fair_queue *q, size_t limit, size_t owner_limit);

/* Tickets that still stand in it do not any more. A zeroed queue is fine. */
void fair_queue_fini(struct fair_queue *q);

struct fair_place {
    uint64_t owner;
    enum fair_class of;
    unsigned weight; /* of the owner, at least 1; the last that was said counts */
    bool is_later;   /* a round of a turn that has been granted one before */
};

enum fair_answer {
    FAIR_QUEUED,
    FAIR_OWNER_FULL, /* the owner's share, over all classes; asked first */
    FAIR_FULL,
    FAIR_NO_MEMORY, /* an owner that comes to a queue needs a few bytes there */
};

/* The ticket waits, and must not move or go away until it does not; or it is untouched. */
enum fair_answer fair_queue_add(struct fair_queue *q, struct fair_ticket *ticket,
                                const struct fair_place *place);

/* It no longer waits; nothing happens when it does not. O(1). */
void fair_queue_remove(struct fair_queue *q, struct fair_ticket *ticket);

bool fair_ticket_waits(const struct fair_ticket *ticket);

/* May this ticket be served now? Must not touch the queue. */
typedef bool fair_may_serve(void *arg, const struct fair_ticket *ticket);

/* Takes out the ticket whose turn it is among those that may be served; NULL when there is none.
 *
 * It asks about each ticket at most once, so no more often than limit. A ticket that may not be served is
 * passed over and loses nothing: its owner keeps its place in the ring and what is left of its turn. */
struct fair_ticket *fair_queue_next(struct fair_queue *q, fair_may_serve *may_serve, void *arg);

/* A round of the group has ended, which took so long. */
void fair_queue_note_duration(struct fair_queue *q, uint64_t duration_ms);

/* After how many seconds one that comes now, or is sent away, may have its turn: those that wait × the mean
 * duration / how many rounds run at once (the sum of max_concurrency), rounded up, 1 to 60; 5 when a duration
 * or n_at_once is not known (0). */
unsigned fair_queue_wait_s(const struct fair_queue *q, size_t n_at_once);

#endif
