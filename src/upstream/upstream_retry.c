/* upstream_retry.c -- the rows of upstream_outcome.def carried out.
 *
 * What forbids a retry is asked in one order, so that there is one reason when several hold: nothing to
 * ask again, the client, what was shown, attempts, the budget, waits. */
#include "upstream/upstream_retry.h"

#include "config/config.h"

/* retry_on is a set of numbers of either. */
#define RETRY_WORD(symbol, word, help)                                                             \
    _Static_assert((int)CONFIG_RETRY_##symbol == (int)METRIC_RETRY_##symbol, "one order");
#include "config/retry_word.def"
#undef RETRY_WORD

/* Retries running may be 20 % of the rounds running, and three in any case. What has reached nobody is no more work
 * for anybody when it goes elsewhere, and is not counted: an upstream that is gone fails nobody's request. */
enum { LEAST_BUDGET = 3, ROUNDS_PER_RETRY = 5 };

static bool fits_budget(const struct upstream_retry_moment *m)
{
    return m->n_retrying < LEAST_BUDGET || (m->n_retrying + 1) * ROUNDS_PER_RETRY <= m->n_rounds;
}

static struct upstream_plan give_up(int denied)
{
    return (struct upstream_plan){.next = UPSTREAM_NEXT_GIVE_UP, .denied = denied};
}

static struct upstream_plan ask_same(uint64_t wait_ms)
{
    return (struct upstream_plan){UPSTREAM_NEXT_SAME, wait_ms, UPSTREAM_NOT_DENIED};
}

static const struct upstream_plan ask_other = {UPSTREAM_NEXT_OTHER, 0, UPSTREAM_NOT_DENIED};

/* ---- the same upstream again */

/* 100 ms × 2^n and at most 2 s, of which chance takes any part. */
static uint64_t draw_backoff(struct upstream_retry *r, uint32_t chance)
{
    uint64_t most = UPSTREAM_BACKOFF_FIRST_MS;

    for (unsigned i = 0; i < r->n_backoffs && most < UPSTREAM_BACKOFF_MOST_MS; i++)
        most *= 2;
    if (most > UPSTREAM_BACKOFF_MOST_MS)
        most = UPSTREAM_BACKOFF_MOST_MS;
    r->n_backoffs++;
    return (most + 1) * chance >> 32;
}

/* A wait that is told is kept to the second or not at all; one that is drawn takes what is left. */
static struct upstream_plan ask_later(struct upstream_retry *r,
                                      const struct upstream_retry_conf *conf,
                                      const struct upstream_retry_moment *m)
{
    const uint64_t left_ms =
        r->waited_ms < conf->max_wait_ms ? conf->max_wait_ms - r->waited_ms : 0;
    uint64_t wait_ms = 1000 * (uint64_t)m->retry_after_s;

    if (left_ms == 0 || wait_ms > left_ms)
        return give_up(METRIC_DENIAL_RETRY_AFTER);
    if (wait_ms == 0)
        wait_ms = draw_backoff(r, m->chance);
    wait_ms = wait_ms < left_ms ? wait_ms : left_ms;
    r->waited_ms += wait_ms;
    return ask_same(wait_ms);
}

static struct upstream_plan ask_once(struct upstream_retry *r)
{
    if (r->was_same_once)
        return give_up(METRIC_DENIAL_ATTEMPTS);
    r->was_same_once = true;
    return ask_same(0);
}

static struct upstream_plan plan_same(struct upstream_retry *r,
                                      const struct upstream_retry_conf *conf,
                                      enum upstream_same same,
                                      const struct upstream_retry_moment *m)
{
    switch (same) {
    case UPSTREAM_SAME_LATER:
        return ask_later(r, conf, m);
    case UPSTREAM_SAME_TOLD:
        return m->retry_after_s > 0 ? ask_later(r, conf, m) : give_up(METRIC_DENIAL_RETRY_AFTER);
    case UPSTREAM_SAME_ONCE:
        return ask_once(r);
    default:
        return give_up(UPSTREAM_NOT_DENIED);
    }
}

/* ---- another one */

static bool take_other(struct upstream_retry *r, enum upstream_other other,
                       const struct upstream_retry_moment *m)
{
    if (!m->has_other || other == UPSTREAM_OTHER_NO)
        return false;
    if (other == UPSTREAM_OTHER_ONCE && r->was_other_once)
        return false;
    r->was_other_once = r->was_other_once || other == UPSTREAM_OTHER_ONCE;
    return true;
}

/* ---- all together */

static void note_attempt(struct upstream_retry *r, enum upstream_outcome outcome, int retry_after_s)
{
    const bool is_busy = outcome == UPSTREAM_OUTCOME_429 || outcome == UPSTREAM_OUTCOME_503 ||
                         outcome == UPSTREAM_OUTCOME_LOADING;

    r->n_attempts++;
    r->was_not_busy = r->was_not_busy || !is_busy;
    if (is_busy && retry_after_s > 0 &&
        (r->least_retry_after_s == 0 || retry_after_s < r->least_retry_after_s))
        r->least_retry_after_s = retry_after_s;
}

/* True when a retry of this row could be made at all. */
static bool can_follow(const struct upstream_outcome_row *row,
                       const struct upstream_retry_conf *conf,
                       const struct upstream_retry_moment *m)
{
    const bool is_wanted = row->same == UPSTREAM_SAME_LOADED ||
                           (row->retry >= 0 && (conf->retry_on >> row->retry & 1) != 0);

    return is_wanted && (row->same != UPSTREAM_SAME_NO || m->has_other);
}

/* A server that loads a model will be there: to wait for it is no attempt, and takes nothing of the budget. */
static struct upstream_plan await_model(struct upstream_retry *r,
                                        const struct upstream_retry_conf *conf)
{
    if (r->loading_ms + UPSTREAM_LOADING_ASK_MS > conf->loading_wait_ms)
        return give_up(METRIC_DENIAL_RETRY_AFTER);
    r->n_attempts--;
    r->loading_ms += UPSTREAM_LOADING_ASK_MS;
    return ask_same(UPSTREAM_LOADING_ASK_MS);
}

struct upstream_plan upstream_retry_plan(struct upstream_retry *r,
                                         const struct upstream_retry_conf *conf,
                                         enum upstream_outcome outcome,
                                         const struct upstream_retry_moment *moment)
{
    const struct upstream_outcome_row *row = upstream_outcome_row(outcome);
    bool has_attempts, has_budget;

    note_attempt(r, outcome, moment->retry_after_s);
    if (!can_follow(row, conf, moment))
        return give_up(UPSTREAM_NOT_DENIED);
    if (moment->has_client_left)
        return give_up(METRIC_DENIAL_CLIENT_GONE);
    if (moment->is_shown)
        return give_up(METRIC_DENIAL_SHOWN);
    has_attempts = r->n_attempts < conf->attempts;
    has_budget = row->retry == METRIC_RETRY_CONNECT || fits_budget(moment);
    if (has_attempts && has_budget && take_other(r, row->other, moment))
        return ask_other;
    if (row->same == UPSTREAM_SAME_LOADED)
        return await_model(r, conf);
    if (!has_attempts)
        return give_up(METRIC_DENIAL_ATTEMPTS);
    if (!has_budget)
        return give_up(METRIC_DENIAL_BUDGET);
    return plan_same(r, conf, row->same, moment);
}

int upstream_retry_after_s(const struct upstream_retry *r, int last_s)
{
    return r->was_not_busy ? last_s : r->least_retry_after_s;
}
