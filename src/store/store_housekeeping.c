/* store_housekeeping.c -- what nobody asks for: renewing locks, keeping limits,
 * giving space back.
 *
 * A purge is done in pieces, with what waits in the queue between two of them:
 * tasks wait for one piece at most, and a busy store is purged nevertheless. */
#include "ev/loop.h"
#include "store/store_lock.h"
#include "store/store_metrics.h"
#include "store/store_thread.h"

/* A piece is more than tasks can add at once, so a purge comes to its end. */
enum { LIMITS_EVERY_MS = 10 * 1000, PROBE_EVERY_MS = 1000, PIECE = 2 * STORE_BATCH };

/* Locks are renewed three times before they are lost; those of others are looked at as
 * often, so a long lease is no reason to do it seldom. */
static uint64_t locks_every_ms(const struct store *st)
{
    enum { LOCK_PARTS = 3, MOST_MS = 3000 };
    uint64_t part_ms = st->lock_ms / LOCK_PARTS;

    return part_ms < MOST_MS ? part_ms : MOST_MS;
}

/* Time at which a thread renews locks: another one steps in when the first is held up by a task. */
static uint64_t locks_due_ms(const struct store_thread *t)
{
    uint64_t at_ms = atomic_load(&t->store->locks_at_ms);

    return t->is_first ? at_ms : at_ms + locks_every_ms(t->store) / 2;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t left_until(uint64_t at_ms, uint64_t now_ms)
{
    return at_ms > now_ms ? at_ms - now_ms : 0;
}

uint64_t housekeeping_wait_ms(const struct store_thread *t)
{
    enum { LONG_MS = 3600 * 1000 };
    uint64_t now_ms = store_monotonic_ms();
    uint64_t next;

    if (t->queue != t->store->queue_for[STORE_WRITE])
        return LONG_MS;
    next = lesser(locks_due_ms(t), health_next_ms(&t->store->health));
    if (!t->is_first)
        return left_until(next, now_ms);
    if (t->has_more_to_give)
        return 0;
    if (atomic_load(&t->store->has_more_to_purge))
        return 1; /* another thread may be at it */
    return left_until(lesser(next, t->limits_at_ms), now_ms);
}

/* Renews again when a lock was given back meanwhile. */
static int renew_until_done(struct store_thread *t, struct err *reterr)
{
    int rc;

    do {
        atomic_store(&t->store->has_locks_to_release, false);
        rc = locks_renew(&t->session, locks_every_ms(t->store), reterr);
    } while (rc == 0 && atomic_load(&t->store->has_locks_to_release));
    return rc;
}

static void renew_locks(struct store_thread *t, uint64_t now_ms)
{
    struct err failure;

    atomic_store(&t->store->locks_at_ms, now_ms + locks_every_ms(t->store));
    if (atomic_flag_test_and_set(&t->store->is_renewing))
        return;
    if (renew_until_done(t, &failure) == -1) {
        (void)health_bad(&t->store->health, &failure);
        if (session_is_lost(&t->session))
            atomic_store(&t->store->locks_at_ms, now_ms); /* as soon as there is a connection */
    }
    atomic_flag_clear(&t->store->is_renewing);
}

static void purge_piece(struct store_thread *t)
{
    struct store_session *s = &t->session;
    struct store_purged purged = {0};
    const uint64_t since_ms = store_monotonic_ms();
    struct err failure;
    int rc;

    store_growth_reset(&t->store->growth);
    if (store_time_keep(s, &failure) == -1) /* no reason not to remove: the disk may be full */
        (void)health_bad(&t->store->health, &failure);
    rc = store_purge(s, &t->store->limits, store_now_ms(s), PIECE, &purged, &failure);
    if (rc == -1)
        (void)health_bad(&t->store->health, &failure);
    store_metrics_purge(store_monotonic_ms() - since_ms, rc == 0);
    store_metrics_removed(&purged);
    removed_add(&t->store->removed, &purged);
    removed_log_when_due(&t->store->removed);
    atomic_store(&t->store->has_more_to_purge, purged.has_more);
}

/* Gives space back, unless there is more to remove, which comes first. */
static void give_space_back(struct store_thread *t)
{
    const struct sql_driver *driver = t->session.driver;
    struct err failure;
    bool has_more = false;

    if (driver->give_back == NULL || atomic_load(&t->store->has_more_to_purge))
        return;
    if (!t->has_converted)
        driver->convert(t->session.db);
    t->has_converted = true;
    if (driver->give_back(t->session.db, &has_more, &failure) == -1)
        (void)health_bad(&t->store->health, &failure);
    t->has_more_to_give = has_more;
    if (!has_more)
        driver->keep_reserve(t->session.db);
}

static bool limits_are_due(const struct store_thread *t, uint64_t now_ms)
{
    struct store *st = t->store;

    return (t->is_first && now_ms >= t->limits_at_ms) || t->has_more_to_give ||
           atomic_load(&st->has_more_to_purge) || store_growth_matters(&st->growth, &st->limits);
}

/* Keeps the limits, on one thread at a time: two would only wait for each other. */
static void keep_limits(struct store_thread *t, uint64_t now_ms)
{
    t->limits_at_ms = now_ms + LIMITS_EVERY_MS;
    if (atomic_flag_test_and_set(&t->store->is_purging))
        return;
    purge_piece(t);
    give_space_back(t);
    store_metrics_refresh(t, now_ms);
    atomic_flag_clear(&t->store->is_purging);
}

static bool locks_are_due(const struct store_thread *t, uint64_t now_ms)
{
    return now_ms >= locks_due_ms(t) || atomic_load(&t->store->has_locks_to_release);
}

/* Connects with one attempt, since nobody waits for this. */
static bool connect_once(struct store_thread *t)
{
    struct err failure;

    if (t->session.db != NULL && session_is_lost(&t->session))
        session_disconnect(&t->session);
    return store_thread_connect(t, 0, &failure) == 0;
}

/* ---- is it in trouble still? */

void housekeeping_note(struct store *store, const struct err *failure)
{
    if (health_bad(&store->health, failure))
        queue_wake(store->queue_for[STORE_WRITE]);
}

static int touch_database(struct store_session *s, struct err *reterr)
{
    uint64_t changed = 0;
    struct tx tx;
    int rc;

    if ((s->driver->probe != NULL && s->driver->probe(s->db, reterr) == -1) ||
        tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    rc = session_run(s, SQL_TOUCH, NULL, NULL, NULL, &changed, reterr);
    if (rc == 0 && changed > 0) /* else a newer version is putting another row in its place */
        rc = session_do(s, SQL_TOUCH_BACK, NULL, reterr);
    return tx_end(&tx, rc, reterr);
}

static void probe_store(struct store_thread *t)
{
    struct store_health *h = &t->store->health;
    struct err failure;

    if (!connect_once(t)) {
        health_probed(h, t->retry_at_ms);
    } else if (touch_database(&t->session, &failure) == 0) {
        health_good(h);
    } else {
        (void)health_bad(h, &failure);
        health_probed(h, store_monotonic_ms() + PROBE_EVERY_MS);
    }
}

/* Probes on one thread at a time; the others are not to look again all the while. */
static void probe_if_due(struct store_thread *t, uint64_t now_ms)
{
    struct store_health *h = &t->store->health;

    if (!health_wants_probe(h, now_ms))
        return;
    health_postpone(h, now_ms + PROBE_EVERY_MS);
    if (atomic_flag_test_and_set(&t->store->is_probing))
        return;
    probe_store(t);
    atomic_flag_clear(&t->store->is_probing);
}

void housekeeping_run(struct store_thread *t)
{
    uint64_t now_ms = store_monotonic_ms();

    probe_if_due(t, now_ms);
    if (!locks_are_due(t, now_ms) && !limits_are_due(t, now_ms))
        return;
    if (!connect_once(t)) {
        atomic_store(&t->store->has_more_to_purge, false); /* found out again */
        t->has_more_to_give = false;
        atomic_store(&t->store->locks_at_ms, t->retry_at_ms);
        t->limits_at_ms = t->retry_at_ms;
        return;
    }
    if (locks_are_due(t, now_ms))
        renew_locks(t, now_ms);
    if (limits_are_due(t, now_ms))
        keep_limits(t, now_ms);
}

void housekeeping_end(struct store_thread *t)
{
    if (t->is_first && t->session.db != NULL && atomic_load(&t->store->has_locks_to_release))
        renew_locks(t, store_monotonic_ms());
    if (t->is_first && t->session.db != NULL && !session_is_lost(&t->session))
        store_time_end(&t->session);
}
