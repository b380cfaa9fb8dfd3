/* upstream_retry.h -- what follows when an attempt has failed: is the round asked again, where, and after
 * what wait (OPERATIONS 4.7)?
 *
 * Pure: no clock, no lock; chance is handed in. A round has a struct upstream_retry, zeroed at its start.
 * Each attempt that ends is one call of upstream_retry_plan(), and the plan is carried out or the round is
 * over:
 *
 *     attempt ended -> plan -> SAME: after wait_ms, the same upstream, or whoever else is free by then
 *                           -> OTHER: at once, an upstream that the round has not asked yet
 *                           -> GIVE_UP: the failure is the round's
 */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_RETRY_H
#define ANTIPHON_UPSTREAM_UPSTREAM_RETRY_H

#include "upstream/upstream_outcome.h"

enum {
    UPSTREAM_BACKOFF_FIRST_MS = 100,
    UPSTREAM_BACKOFF_MOST_MS = 2000,
    UPSTREAM_LOADING_ASK_MS = 1000, /* between two questions whether a model is there by now */
};

struct upstream_retry_conf {
    unsigned attempts;        /* retry_attempts, the first included */
    unsigned retry_on;        /* a set of 1 << METRIC_RETRY_...; LOADING needs no word */
    uint64_t max_wait_ms;     /* retry_max_wait: of all waits together, but for those for a model */
    uint64_t loading_wait_ms; /* of those */
};

/* What a round has behind it. */
struct upstream_retry {
    unsigned
        n_attempts; /* that have ended; not those that only heard that a model is being loaded */
    unsigned n_backoffs;
    uint64_t waited_ms, loading_ms; /* as planned */
    bool was_same_once, was_other_once;
    bool was_not_busy; /* an attempt ended otherwise than with 429 or 503 */
    int least_retry_after_s;
};

/* The moment at which an attempt has ended. */
struct upstream_retry_moment {
    bool is_shown;        /* a delta, an item or an error of the round was written for the client */
    bool has_client_left; /* nobody waits for the round any more */
    bool
        has_other; /* a candidate that the round has not asked may be waited for: up, half_open or ejected */
    int retry_after_s; /* of the answer; 0: none */
    size_t
        n_retrying;  /* attempts of the whole gateway under way that are not their round's first */
    size_t n_rounds; /* rounds under way, this one among them */
    uint32_t chance; /* all values alike likely */
};

enum upstream_next { UPSTREAM_NEXT_GIVE_UP, UPSTREAM_NEXT_SAME, UPSTREAM_NEXT_OTHER };

enum { UPSTREAM_NOT_DENIED = -1 };

struct upstream_plan {
    enum upstream_next next;
    uint64_t wait_ms; /* of SAME */
    int denied; /* of GIVE_UP: METRIC_DENIAL_..., why what could be asked again is not; else, and when
                 * there was nothing to ask again, UPSTREAM_NOT_DENIED */
};

/* Notes the attempt that has ended, and says what follows. When it does not give up, the metrics' reason is
 * upstream_outcome_row(outcome)->retry. */
struct upstream_plan upstream_retry_plan(struct upstream_retry *r,
                                         const struct upstream_retry_conf *conf,
                                         enum upstream_outcome outcome,
                                         const struct upstream_retry_moment *moment);

/* The Retry-After that the client of a round that was given up gets: the smallest that was said when all
 * attempts ended with 429 or 503, else that of the last one. 0: none. */
int upstream_retry_after_s(const struct upstream_retry *r, int last_s);

#endif
