/* upstream_health.h -- may an upstream be used (OPERATIONS 4.6)? What traffic, checks, operators and time say
 * of it, as one state.
 *
 *                 failures in a row              eject_time over
 *            +-----------------> ejected <-----------------------> half_open
 *            |                       ^ one failure                    |
 *           up <-----------------------------------------------------+  two successes
 *            |
 *            +---- a model is being loaded ----> loading ---- first success ----> up
 *     any ---+---- three bad checks -----------> down ------- two good checks --> up
 *            +---- drain ----------------------> drained ---- resume -----------> up, or down
 *
 * Pure: the clock is handed in as now_ms, and so is chance; whoever shares a record between threads holds a
 * lock of its own. A zeroed record is up. For each attempt:
 *
 *     upstream_health_use() -> upstream_health_begin() -> the attempt -> upstream_health_end()
 *
 * and whenever upstream_health_next_ms() has come, upstream_health_advance(). */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_HEALTH_H
#define ANTIPHON_UPSTREAM_UPSTREAM_HEALTH_H

#include "upstream/upstream_outcome.h"

/* Their words are those of the metrics: upstream_health_word(). */
enum upstream_health_state {
    UPSTREAM_STATE_UP = METRIC_UPSTREAM_STATE_UP,
    UPSTREAM_STATE_LOADING = METRIC_UPSTREAM_STATE_LOADING,
    UPSTREAM_STATE_EJECTED = METRIC_UPSTREAM_STATE_EJECTED,
    UPSTREAM_STATE_DOWN = METRIC_UPSTREAM_STATE_DOWN,
    UPSTREAM_STATE_HALF_OPEN = METRIC_UPSTREAM_STATE_HALF_OPEN,
    UPSTREAM_STATE_DRAINED = METRIC_UPSTREAM_STATE_DRAINED,
};

struct upstream_health_conf {
    unsigned eject_after;   /* failures in a row; 0: it is never ejected */
    uint64_t eject_time_ms; /* the first time; doubled each time in a row */
    uint64_t loading_wait_ms;
};

struct upstream_health_record {
    enum upstream_health_state state;
    uint64_t since_ms;    /* of the state; 0: from the start */
    uint64_t until_ms;    /* ejected: when it is half_open; loading: when it may be asked again */
    uint32_t n_moves;     /* so that a probe of an earlier time is known for one */
    unsigned n_failures;  /* of attempts, in a row */
    unsigned n_successes; /* while half_open */
    unsigned n_ejections; /* in a row: not up in between */
    unsigned n_good_checks, n_bad_checks; /* in a row */
    bool is_probed;                       /* its one attempt is under way: half_open, loading */
    bool was_refused; /* a check was refused the connection, and none good since */
};

str upstream_health_word(enum upstream_health_state state);

/* ---- what it may be used for */

enum upstream_use {
    UPSTREAM_USE_NOT,
    UPSTREAM_USE_FREELY,
    UPSTREAM_USE_PROBE, /* for one attempt, which decides about the others: it is half_open */
    UPSTREAM_USE_ASK, /* for one attempt, when no upstream may be used: it loads a model, and a second has
                         * passed since it last said so; as often as one likes after loading_wait, when
                         * requests no longer wait, and its 503 is their answer */
};

enum upstream_use upstream_health_use(const struct upstream_health_record *h,
                                      const struct upstream_health_conf *conf, uint64_t now_ms);

/* An attempt begins. Returns what upstream_health_end() is given at its end: 0, or which probe it is. */
uint32_t upstream_health_begin(struct upstream_health_record *h);

/* ---- what is heard. Each returns whether there is news, and sets *ret_news then. */

struct upstream_health_news {
    enum upstream_health_state from, to; /* the same when only something is to be forgotten */
    str reason; /* a word that lives for ever: of antiphon_upstream_ejections_total, when to is ejected;
                   * else checks, unchecked, loading, success, time, drain, resume, restart */
    int ejection; /* METRIC_EJECTION_..., or METRIC_EJECTION_UNCOUNTED when to is not ejected */
    bool forgets; /* what it had cached is gone, or will have been replaced */
};

struct upstream_health_moment {
    uint64_t now_ms;
    bool
        is_last; /* no other candidate of a group that it belongs to may be used: it is not ejected */
    uint32_t chance; /* all values alike likely */
};

/* An attempt has ended. probe: of upstream_health_begin(). */
bool upstream_health_end(struct upstream_health_record *h, const struct upstream_health_conf *conf,
                         uint32_t probe, enum upstream_outcome outcome,
                         const struct upstream_health_moment *moment,
                         struct upstream_health_news *ret_news);

enum upstream_check {
    UPSTREAM_CHECK_OK,
    UPSTREAM_CHECK_FAIL,
    UPSTREAM_CHECK_REFUSED, /* a failure: nobody listens at its address */
    UPSTREAM_CHECK_LOADING,
};

bool upstream_health_check(struct upstream_health_record *h,
                           const struct upstream_health_conf *conf, enum upstream_check check,
                           const struct upstream_health_moment *moment,
                           struct upstream_health_news *ret_news);

/* Attempts that are under way go on. False when it is drained already, or was not. Afterwards it is up,
 * unless the checks that went on meanwhile say that it is down. */
bool upstream_health_drain(struct upstream_health_record *h, uint64_t now_ms,
                           struct upstream_health_news *ret_news);
bool upstream_health_resume(struct upstream_health_record *h, uint64_t now_ms,
                            struct upstream_health_news *ret_news);

/* Checks of the upstream have ended: what they have found is forgotten, and it is up if that was why it is down. */
bool upstream_health_uncheck(struct upstream_health_record *h, uint64_t now_ms,
                             struct upstream_health_news *ret_news);

/* Time has passed. */
bool upstream_health_advance(struct upstream_health_record *h, uint64_t now_ms,
                             struct upstream_health_news *ret_news);

/* When upstream_health_use() may say something else by itself; UINT64_MAX: not before something is heard. */
uint64_t upstream_health_next_ms(const struct upstream_health_record *h,
                                 const struct upstream_health_conf *conf, uint64_t now_ms);

#endif
