/* upstream_health.c -- the states of an upstream, and what moves it from one to another.
 *
 * Traffic and checks are two rows of evidence that do not reset one another: checks of a server that answers
 * them must not hide that it fails all requests. Where both could move it, the checks come first. */
#include "upstream/upstream_health.h"

enum {
    BAD_CHECKS = 3,  /* in a row: down */
    GOOD_CHECKS = 2, /* in a row: no longer */
    SUCCESSES = 2,   /* of half_open: up */
    ASK_MS = 1000,   /* between two questions whether a model is loaded */
    MOST_EJECTED_MS = 300 * 1000,
};

str upstream_health_word(enum upstream_health_state state)
{
    return metric_closed_word(METRIC_DOMAIN_UPSTREAM_STATE, state);
}

/* ---- moving */

/* Enters a state and tells of it. Returns true, for those who return that there is news. */
static bool move_to(struct upstream_health_record *h, enum upstream_health_state to, str reason,
                    uint64_t now_ms, struct upstream_health_news *ret_news)
{
    *ret_news = (struct upstream_health_news){
        .from = h->state, .to = to, .reason = reason, .ejection = METRIC_EJECTION_UNCOUNTED};
    h->state = to;
    h->since_ms = now_ms;
    h->n_moves++;
    h->n_failures = h->n_successes = 0;
    h->is_probed = false;
    if (to == UPSTREAM_STATE_UP)
        h->n_ejections = 0;
    return true;
}

/* eject_time × 2^(ejections in a row before this one), at most five minutes, and up to a tenth more or
 * less, so that upstreams that failed together do not come back together. */
static uint64_t ejected_ms(const struct upstream_health_conf *conf, unsigned n_before,
                           uint32_t chance)
{
    uint64_t ms = conf->eject_time_ms;

    for (unsigned i = 0; i < n_before && ms < MOST_EJECTED_MS; i++)
        ms *= 2;
    if (ms > MOST_EJECTED_MS)
        ms = MOST_EJECTED_MS;
    return ms - ms / 10 + ((2 * (ms / 10) + 1) * chance >> 32);
}

static bool eject(struct upstream_health_record *h, const struct upstream_health_conf *conf,
                  int failure, const struct upstream_health_moment *moment,
                  struct upstream_health_news *ret_news)
{
    const str reason = metric_closed_word(METRIC_DOMAIN_EJECTION, (unsigned)failure);

    (void)move_to(h, UPSTREAM_STATE_EJECTED, reason, moment->now_ms, ret_news);
    h->until_ms = moment->now_ms + ejected_ms(conf, h->n_ejections, moment->chance);
    h->n_ejections++;
    ret_news->ejection = failure;
    ret_news->forgets = true;
    return true;
}

/* ---- what it may be used for */

static bool has_loaded_long(const struct upstream_health_record *h,
                            const struct upstream_health_conf *conf, uint64_t now_ms)
{
    return now_ms - h->since_ms >= conf->loading_wait_ms;
}

enum upstream_use upstream_health_use(const struct upstream_health_record *h,
                                      const struct upstream_health_conf *conf, uint64_t now_ms)
{
    switch (h->state) {
    case UPSTREAM_STATE_UP:
        return UPSTREAM_USE_FREELY;
    case UPSTREAM_STATE_HALF_OPEN:
        return h->is_probed ? UPSTREAM_USE_NOT : UPSTREAM_USE_PROBE;
    case UPSTREAM_STATE_LOADING:
        return has_loaded_long(h, conf, now_ms) || (!h->is_probed && now_ms >= h->until_ms)
                   ? UPSTREAM_USE_ASK
                   : UPSTREAM_USE_NOT;
    default:
        return UPSTREAM_USE_NOT;
    }
}

static bool takes_one_at_a_time(const struct upstream_health_record *h)
{
    return h->state == UPSTREAM_STATE_HALF_OPEN || h->state == UPSTREAM_STATE_LOADING;
}

uint32_t upstream_health_begin(struct upstream_health_record *h)
{
    if (!takes_one_at_a_time(h) || h->is_probed)
        return 0;
    h->is_probed = true;
    return h->n_moves; /* not 0: it has moved here */
}

/* ---- what is heard of both */

/* It answers: what checks have found before is over, also when it is an attempt that hears so. */
static bool hear_loading(struct upstream_health_record *h, uint64_t now_ms,
                         struct upstream_health_news *ret_news)
{
    h->n_good_checks = h->n_bad_checks = 0;
    if (h->state == UPSTREAM_STATE_DRAINED)
        return false;
    h->until_ms = now_ms + ASK_MS;
    return h->state != UPSTREAM_STATE_LOADING &&
           move_to(h, UPSTREAM_STATE_LOADING, STR("loading"), now_ms, ret_news);
}

/* A success in a state of which successes are an end. */
static bool hear_success(struct upstream_health_record *h, uint64_t now_ms,
                         struct upstream_health_news *ret_news)
{
    if (!takes_one_at_a_time(h) ||
        (h->state == UPSTREAM_STATE_HALF_OPEN && ++h->n_successes < SUCCESSES))
        return false;
    return move_to(h, UPSTREAM_STATE_UP, STR("success"), now_ms, ret_news);
}

/* A failure in half_open, of its probe or of a check. */
static bool fail_half_open(struct upstream_health_record *h,
                           const struct upstream_health_conf *conf, int failure,
                           const struct upstream_health_moment *moment,
                           struct upstream_health_news *ret_news)
{
    h->n_successes = 0;
    return !moment->is_last && conf->eject_after != 0 && eject(h, conf, failure, moment, ret_news);
}

/* ---- attempts */

static bool hear_failure(struct upstream_health_record *h, const struct upstream_health_conf *conf,
                         int failure, const struct upstream_health_moment *moment,
                         struct upstream_health_news *ret_news)
{
    if (h->state != UPSTREAM_STATE_UP && h->state != UPSTREAM_STATE_LOADING)
        return false;
    if (h->n_failures < UINT32_MAX)
        h->n_failures++;
    return conf->eject_after != 0 && h->n_failures >= conf->eject_after && !moment->is_last &&
           eject(h, conf, failure, moment, ret_news);
}

/* Attempts that began before it was half_open say nothing about now. */
static bool hear_half_open(struct upstream_health_record *h,
                           const struct upstream_health_conf *conf, enum upstream_outcome outcome,
                           const struct upstream_health_moment *moment,
                           struct upstream_health_news *ret_news)
{
    const int failure = upstream_outcome_row(outcome)->failure;

    if (outcome == UPSTREAM_OUTCOME_OK)
        return hear_success(h, moment->now_ms, ret_news);
    return failure != METRIC_EJECTION_UNCOUNTED &&
           fail_half_open(h, conf, failure, moment, ret_news);
}

bool upstream_health_end(struct upstream_health_record *h, const struct upstream_health_conf *conf,
                         uint32_t probe, enum upstream_outcome outcome,
                         const struct upstream_health_moment *moment,
                         struct upstream_health_news *ret_news)
{
    const bool is_probe = probe != 0 && probe == h->n_moves;
    const int failure = upstream_outcome_row(outcome)->failure;

    if (is_probe)
        h->is_probed = false;
    if (outcome == UPSTREAM_OUTCOME_LOADING)
        return hear_loading(h, moment->now_ms, ret_news);
    if (h->state == UPSTREAM_STATE_HALF_OPEN)
        return is_probe && hear_half_open(h, conf, outcome, moment, ret_news);
    if (failure != METRIC_EJECTION_UNCOUNTED)
        return hear_failure(h, conf, failure, moment, ret_news);
    if (outcome != UPSTREAM_OUTCOME_OK)
        return false;
    h->n_failures = 0;
    return hear_success(h, moment->now_ms, ret_news);
}

/* ---- checks */

static bool hear_bad_check(struct upstream_health_record *h,
                           const struct upstream_health_conf *conf,
                           const struct upstream_health_moment *moment,
                           struct upstream_health_news *ret_news)
{
    h->n_good_checks = 0;
    if (h->n_bad_checks < BAD_CHECKS)
        h->n_bad_checks++;
    if (h->state == UPSTREAM_STATE_DRAINED || h->state == UPSTREAM_STATE_DOWN)
        return false;
    if (h->n_bad_checks == BAD_CHECKS)
        return move_to(h, UPSTREAM_STATE_DOWN, STR("checks"), moment->now_ms, ret_news);
    return h->state == UPSTREAM_STATE_HALF_OPEN &&
           fail_half_open(h, conf, METRIC_EJECTION_CHECK, moment, ret_news);
}

/* The server was gone and is there again: whatever it does next, it does with empty caches. */
static bool hear_restart(struct upstream_health_record *h, bool has_moved,
                         struct upstream_health_news *ret_news)
{
    if (!h->was_refused)
        return has_moved;
    h->was_refused = false;
    if (!has_moved)
        *ret_news = (struct upstream_health_news){.from = h->state,
                                                  .to = h->state,
                                                  .reason = STR("restart"),
                                                  .ejection = METRIC_EJECTION_UNCOUNTED};
    ret_news->forgets = true;
    return true;
}

static bool hear_good_check(struct upstream_health_record *h, uint64_t now_ms,
                            struct upstream_health_news *ret_news)
{
    bool has_moved;

    h->n_bad_checks = 0;
    if (h->n_good_checks < GOOD_CHECKS)
        h->n_good_checks++;
    if (h->state == UPSTREAM_STATE_DOWN)
        has_moved = h->n_good_checks == GOOD_CHECKS &&
                    move_to(h, UPSTREAM_STATE_UP, STR("checks"), now_ms, ret_news);
    else
        has_moved = hear_success(h, now_ms, ret_news);
    return hear_restart(h, has_moved, ret_news);
}

bool upstream_health_check(struct upstream_health_record *h,
                           const struct upstream_health_conf *conf, enum upstream_check check,
                           const struct upstream_health_moment *moment,
                           struct upstream_health_news *ret_news)
{
    switch (check) {
    case UPSTREAM_CHECK_OK:
        return hear_good_check(h, moment->now_ms, ret_news);
    case UPSTREAM_CHECK_LOADING:
        return hear_loading(h, moment->now_ms, ret_news);
    case UPSTREAM_CHECK_REFUSED:
        h->was_refused = true;
        return hear_bad_check(h, conf, moment, ret_news);
    default:
        return hear_bad_check(h, conf, moment, ret_news);
    }
}

/* ---- operators, and time */

bool upstream_health_drain(struct upstream_health_record *h, uint64_t now_ms,
                           struct upstream_health_news *ret_news)
{
    return h->state != UPSTREAM_STATE_DRAINED &&
           move_to(h, UPSTREAM_STATE_DRAINED, STR("drain"), now_ms, ret_news);
}

bool upstream_health_resume(struct upstream_health_record *h, uint64_t now_ms,
                            struct upstream_health_news *ret_news)
{
    if (h->state != UPSTREAM_STATE_DRAINED)
        return false;
    return move_to(h, h->n_bad_checks == BAD_CHECKS ? UPSTREAM_STATE_DOWN : UPSTREAM_STATE_UP,
                   STR("resume"), now_ms, ret_news);
}

bool upstream_health_uncheck(struct upstream_health_record *h, uint64_t now_ms,
                             struct upstream_health_news *ret_news)
{
    h->n_bad_checks = h->n_good_checks = 0;
    h->was_refused = false;
    return h->state == UPSTREAM_STATE_DOWN &&
           move_to(h, UPSTREAM_STATE_UP, STR("unchecked"), now_ms, ret_news);
}

bool upstream_health_advance(struct upstream_health_record *h, uint64_t now_ms,
                             struct upstream_health_news *ret_news)
{
    return h->state == UPSTREAM_STATE_EJECTED && now_ms >= h->until_ms &&
           move_to(h, UPSTREAM_STATE_HALF_OPEN, STR("time"), now_ms, ret_news);
}

uint64_t upstream_health_next_ms(const struct upstream_health_record *h,
                                 const struct upstream_health_conf *conf, uint64_t now_ms)
{
    uint64_t gives_up_ms;

    if (h->state == UPSTREAM_STATE_EJECTED)
        return h->until_ms;
    if (h->state != UPSTREAM_STATE_LOADING || has_loaded_long(h, conf, now_ms))
        return UINT64_MAX;
    gives_up_ms = h->since_ms + conf->loading_wait_ms;
    return h->is_probed || h->until_ms <= now_ms || h->until_ms > gives_up_ms ? gives_up_ms
                                                                              : h->until_ms;
}
