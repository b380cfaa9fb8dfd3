/* store_purge.c -- keeping the limits.
 *
 * Whole histories go, the least recently used first: those that are too old, then
 * those of owners that have too much, then those of everyone. A history that a
 * response is being made in stays. When there are only too many responses, histories
 * without any stay as well.
 *
 * Age and order are those of the store's own time (store_time.h): a wall clock that
 * is wrong, or jumps, removes nothing. */
#include "store/store_purge.h"

#include "store/store_history.h"

/* ---- when */

void store_growth_add(struct store_growth *g, const struct amount *more)
{
    if (g == NULL)
        return;
    atomic_fetch_add_explicit(&g->n_responses, more->n_responses, memory_order_relaxed);
    atomic_fetch_add_explicit(&g->bytes, more->bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&g->cuts_bytes, more->cuts_bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&g->uncounted_cuts_bytes, more->cuts_bytes, memory_order_relaxed);
}

void store_growth_reset(struct store_growth *g)
{
    atomic_store_explicit(&g->n_responses, 0, memory_order_relaxed);
    atomic_store_explicit(&g->bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&g->cuts_bytes, 0, memory_order_relaxed);
}

static bool is_much(uint64_t n, uint64_t bound)
{
    enum { PART = 16 };

    return bound != 0 && n > bound / PART;
}

bool store_growth_matters(struct store_growth *g, const struct store_limits *limits)
{
    uint64_t responses = atomic_load_explicit(&g->n_responses, memory_order_relaxed);
    uint64_t bytes = atomic_load_explicit(&g->bytes, memory_order_relaxed);
    uint64_t cuts_bytes = atomic_load_explicit(&g->cuts_bytes, memory_order_relaxed);

    return is_much(responses, limits->max_responses) ||
           is_much(responses, limits->max_owner_responses) || is_much(bytes, limits->max_bytes) ||
           is_much(bytes, limits->max_owner_bytes) || is_much(cuts_bytes, limits->max_cuts_bytes) ||
           is_much(atomic_load(&g->uncounted_key_bytes), store_most_key_bytes(limits));
}

bool store_growth_wants_count(struct store_growth *g, const struct store_limits *limits)
{
    return g == NULL || !atomic_load(&g->has_counted_cuts) ||
           is_much(atomic_load(&g->uncounted_cuts_bytes), limits->max_cuts_bytes);
}

void store_growth_note_count(struct store_growth *g)
{
    if (g == NULL)
        return;
    atomic_store(&g->uncounted_cuts_bytes, 0);
    atomic_store(&g->has_counted_cuts, true);
}

uint64_t store_most_key_bytes(const struct store_limits *limits)
{
    enum { PART = 4 }; /* most of the room is for what the keys stand for */

    return limits->max_bytes / PART;
}

void store_growth_add_key(struct store_growth *g, uint64_t bytes)
{
    if (g != NULL)
        atomic_fetch_add(&g->uncounted_key_bytes, bytes);
}

bool store_growth_wants_keys(struct store_growth *g, const struct store_limits *limits)
{
    return g == NULL || !atomic_load(&g->has_counted_keys) ||
           is_much(atomic_load(&g->uncounted_key_bytes), store_most_key_bytes(limits));
}

void store_growth_note_keys(struct store_growth *g)
{
    if (g == NULL)
        return;
    atomic_store(&g->uncounted_key_bytes, 0);
    atomic_store(&g->has_counted_keys, true);
}

/* ---- what */

struct candidate {
    int64_t seq, used_at;
    uint64_t n_responses, bytes;
};

struct purge {
    struct store_session *s;
    const struct store_limits *limits;
    int64_t now_ms, wall_ms; /* of the store; the second is for locks alone */
    size_t left;             /* how many histories may still go */
    struct store_purged *purged;
    struct candidate candidates[STORE_PURGE_MOST];
    size_t n_candidates;
};

/* The amounts by which there is more than there may be. */
struct excess {
    uint64_t n_responses, bytes;
};

static bool is_over(const struct excess *e)
{
    return e->n_responses > 0 || e->bytes > 0;
}

static uint64_t excess_above(int64_t n, uint64_t bound)
{
    return bound != 0 && n > 0 && (uint64_t)n > bound ? (uint64_t)n - bound : 0;
}

static uint64_t less_or_0(uint64_t n, uint64_t by)
{
    return n > by ? n - by : 0;
}

static int on_candidate(void *arg, const struct sql_value *columns, struct err *reterr)
{
    struct purge *p = arg;

    (void)reterr;
    if (p->n_candidates < STORE_PURGE_MOST)
        p->candidates[p->n_candidates++] = (struct candidate){
            columns[0].i, columns[1].i, (uint64_t)columns[2].i, (uint64_t)columns[3].i};
    return 0;
}

/* Removes a history; *ret_is_gone is false when somebody has just used it. */
static int remove_one(struct purge *p, const struct candidate *c, bool *ret_is_gone,
                      struct err *reterr)
{
    const struct sql_value values[] = {{.i = c->seq}, {.i = p->wall_ms}, {.i = c->used_at}};
    uint64_t changed = 0;

    if (session_run(p->s, SQL_CLAIM, values, NULL, NULL, &changed, reterr) == -1)
        return -1;
    *ret_is_gone = changed > 0;
    if (changed == 0)
        return 0;
    p->left--;
    return history_remove(p->s, c->seq, reterr);
}

static void count_removed(struct purge *p, enum store_reason reason, const struct candidate *c)
{
    p->purged->by[reason].n_histories++;
    p->purged->by[reason].n_responses += c->n_responses;
    p->purged->by[reason].bytes += c->bytes;
}

/* Removes candidates; excess NULL: all of them are to go. */
static int remove_some(struct purge *p, struct excess *excess, enum store_reason reason,
                       bool *ret_progress, struct err *reterr)
{
    *ret_progress = false;
    for (size_t i = 0; i < p->n_candidates && p->left > 0; i++) {
        const struct candidate *c = &p->candidates[i];
        bool is_gone;

        if (excess != NULL && !is_over(excess))
            return 0;
        if (remove_one(p, c, &is_gone, reterr) == -1)
            return -1;
        if (!is_gone)
            continue;
        *ret_progress = true;
        count_removed(p, reason, c);
        if (excess != NULL)
            *excess = (struct excess){less_or_0(excess->n_responses, c->n_responses),
                                      less_or_0(excess->bytes, c->bytes)};
    }
    return 0;
}

/* Removes what is too much; owner STR_NONE: of everyone. */
static int remove_excess(struct purge *p, str owner, struct excess *excess, struct err *reterr)
{
    enum sql_statement which = str_is_none(owner) ? SQL_OLDEST : SQL_OLDEST_OF_OWNER;
    bool progress = true;

    while (progress && p->left > 0 && is_over(excess)) {
        const struct sql_value values[] = {{.i = excess->bytes > 0 ? 0 : 1},
                                           {.i = p->wall_ms},
                                           {.i = STORE_PURGE_MOST},
                                           {.s = owner}};
        enum store_reason reason = excess->bytes > 0 ? STORE_BYTES : STORE_COUNT;

        p->n_candidates = 0;
        if (session_run(p->s, which, values, on_candidate, p, NULL, reterr) == -1 ||
            remove_some(p, excess, str_is_none(owner) ? reason : STORE_OWNER, &progress, reterr) ==
                -1)
            return -1;
    }
    return 0;
}

/* ---- the limits, one by one */

/* Uses before this time are too old; none is before 1970. */
static int64_t too_old_ms(const struct purge *p)
{
    enum { MS_PER_S = 1000 };
    uint64_t now_s = (uint64_t)p->now_ms / MS_PER_S, age_s = p->limits->max_age_s;

    return now_s > age_s ? p->now_ms - (int64_t)(age_s * MS_PER_S) : 0;
}

static int purge_old(struct purge *p, struct err *reterr)
{
    const struct sql_value values[] = {
        {.i = too_old_ms(p)}, {.i = p->wall_ms}, {.i = STORE_PURGE_MOST}};
    bool progress = p->limits->max_age_s > 0;

    while (progress && p->left > 0) {
        p->n_candidates = 0;
        if (session_run(p->s, SQL_OLDEST_BEFORE, values, on_candidate, p, NULL, reterr) == -1 ||
            remove_some(p, NULL, STORE_AGE, &progress, reterr) == -1)
            return -1;
    }
    return 0;
}

enum { OWNERS_AT_ONCE = 16 };

struct owners {
    const struct store_limits *limits;
    struct arena arena;
    struct owner {
        str name;
        struct excess excess;
    } v[OWNERS_AT_ONCE];
    size_t n;
};

static int on_owner(void *arg, const struct sql_value *columns, struct err *reterr)
{
    struct owners *o = arg;

    if (o->n == OWNERS_AT_ONCE)
        return 0;
    o->v[o->n] = (struct owner){arena_dup(&o->arena, columns[0].s),
                                {excess_above(columns[1].i, o->limits->max_owner_responses),
                                 excess_above(columns[2].i, o->limits->max_owner_bytes)}};
    if (!str_is_none(o->v[o->n++].name))
        return 0;
    return err_set_no_memory(reterr);
}

static int64_t bound_or_none(uint64_t bound)
{
    return bound == 0 || bound > INT64_MAX ? INT64_MAX : (int64_t)bound;
}

static int purge_owners(struct purge *p, struct err *reterr)
{
    const struct sql_value values[] = {{.i = bound_or_none(p->limits->max_owner_responses)},
                                       {.i = bound_or_none(p->limits->max_owner_bytes)},
                                       {.i = OWNERS_AT_ONCE}};
    struct owners o = {.limits = p->limits};
    int rc = 0;

    if (p->left == 0 || (p->limits->max_owner_responses == 0 && p->limits->max_owner_bytes == 0))
        return 0;
    rc = session_run(p->s, SQL_OWNERS_ABOVE, values, on_owner, &o, NULL, reterr);
    for (size_t i = 0; i < o.n && rc == 0; i++)
        rc = remove_excess(p, o.v[i].name, &o.v[i].excess, reterr);
    arena_fini(&o.arena);
    return rc;
}

static int purge_total(struct purge *p, struct err *reterr)
{
    struct excess excess;
    struct found total;

    if (p->left == 0 || (p->limits->max_responses == 0 && p->limits->max_bytes == 0))
        return 0;
    if (session_find(p->s, SQL_TOTAL, NULL, &total, reterr) == -1)
        return -1;
    excess = (struct excess){excess_above(total.v[0], p->limits->max_responses),
                             excess_above(total.v[1], p->limits->max_bytes)};
    return remove_excess(p, STR_NONE, &excess, reterr);
}

static bool has_bounds(const struct store_limits *l)
{
    return l->max_age_s > 0 || l->max_responses > 0 || l->max_owner_responses > 0 ||
           l->max_bytes > 0 || l->max_owner_bytes > 0 || l->max_cuts_bytes > 0 ||
           l->max_cuts_age_s > 0 || l->max_key_age_s > 0;
}

/* Two processes that purge at the same time would both remove what is too much. */
static int purge_all(struct purge *p, struct err *reterr)
{
    enum { EVENTS_PER_HISTORY = 8 };
    const size_t most = p->left < STORE_PURGE_MOST ? p->left : STORE_PURGE_MOST;
    struct store_session *s = p->s;

    if (s->driver->script(s->db, s->driver->stay_alone, reterr) == -1 ||
        purge_old(p, reterr) == -1 || purge_owners(p, reterr) == -1 || purge_total(p, reterr) == -1)
        return -1;
    p->purged->has_more = p->left == 0;
    return purge_events(s, p->limits, p->now_ms, EVENTS_PER_HISTORY * most, p->purged, reterr);
}

static int purge_once(struct store_session *s, const struct store_limits *limits, int64_t now_ms,
                      size_t max_histories, struct store_purged *ret, struct err *reterr)
{
    struct store_purged purged = {0};
    struct purge p = {.s = s,
                      .limits = limits,
                      .now_ms = now_ms,
                      .wall_ms = store_clock_ms(),
                      .left = max_histories,
                      .purged = &purged};
    struct tx tx;
    int rc;

    *ret = (struct store_purged){0};
    if (!has_bounds(limits))
        return 0;
    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    rc = tx_end(&tx, purge_all(&p, reterr), reterr);
    if (rc == 0)
        *ret = purged;
    return rc;
}

/* ---- without any space left */

enum { PIECE_WHEN_FULL = 4 };

static int purge_in_pieces(struct store_session *s, const struct store_limits *limits,
                           int64_t now_ms, size_t max_histories, struct store_purged *ret,
                           struct err *reterr)
{
    struct store_purged more;

    do {
        size_t left = max_histories - store_purged_histories(ret);

        if (purge_once(s, limits, now_ms, left < PIECE_WHEN_FULL ? left : PIECE_WHEN_FULL, &more,
                       reterr) == -1)
            return -1;
        store_purged_add(ret, &more);
        (void)s->driver->make_room(s->db, false);
    } while (more.has_more && store_purged_histories(ret) < max_histories);
    ret->has_more = more.has_more;
    return 0;
}

/* An attempt that fails for want of space takes what was left of it, so what has to be
 * copied first is copied before. The reserve is for those that have something to
 * remove. */
int store_purge(struct store_session *s, const struct store_limits *limits, int64_t now_ms,
                size_t max_histories, struct store_purged *ret, struct err *reterr)
{
    const struct sql_driver *driver = s->driver;
    bool is_full = driver->make_room != NULL && driver->make_room(s->db, false);

    *ret = (struct store_purged){0};
    if (!is_full && purge_once(s, limits, now_ms, max_histories, ret, reterr) == 0)
        return 0;
    if (is_full && purge_in_pieces(s, limits, now_ms, max_histories, ret, reterr) == 0)
        return 0;
    if (driver->make_room == NULL || !driver->make_room(s->db, true))
        return -1;
    return purge_in_pieces(s, limits, now_ms, max_histories, ret, reterr);
}

void store_make_room(const struct store_conf *conf)
{
    struct store_session s;

    if (session_init(&s, conf, NULL) == 0 && s.driver->release_reserve != NULL)
        (void)s.driver->release_reserve(s.conf.place);
    session_fini(&s);
}
