/* upstream_pool.c -- which upstreams there are, from table to table, and what is shown of them. */
#include "upstream/upstream_pool.h"

#include <stdlib.h>

#include "affinity/affinity.h"
#include "affinity/session_names.h"
#include "ev/log.h"
#include "metrics/metrics.h"
#include "upstream/token_memory.h"
#include "upstream/upstream_pool_internal.h"
#include "upstream/upstream_watch.h"

/* ---- an upstream that is new */

/* What is known of an upstream stays known under another configuration, unless it is asked otherwise now, or its
 * provider is another in metrics. */
static bool is_asked_alike(const struct upstream_entry *of, const struct upstream_entry *as)
{
    const struct config *a = of->config, *b = as->config;

    return str_same_c(of->client_cert, as->client_cert) &&
           str_same_c(of->client_key, as->client_key) && str_eq(of->provider, as->provider) &&
           str_same_c(a->upstream_kind, b->upstream_kind) && str_same_c(a->ca_file, b->ca_file) &&
           str_same_c(a->proxy, b->proxy) && a->tls_verify == b->tls_verify &&
           a->models_refresh_ms == b->models_refresh_ms &&
           a->upstream_probe_timeout_ms == b->upstream_probe_timeout_ms;
}

static struct upstream_live *find_live(struct upstream_pool *p, const struct upstream_entry *u)
{
    for (struct upstream_live *l = p->lives; l != NULL; l = l->next) {
        if (l->entry != NULL && str_eq(l->name, u->name) && str_eq(l->base, u->base) &&
            is_asked_alike(l->entry, u))
            return l;
    }
    return NULL;
}

static void free_live(struct upstream_live *l)
{
    upstream_check_up_free(l->check_up);
    upstream_watch_free(l->watch);
    token_memory_free(l->counts);
    free(l->slots);
    arena_fini(&l->memory);
    free(l);
}

static int open_counts(struct upstream_live *l, const struct config *c, struct err *reterr)
{
    const struct token_memory_conf conf = {.max_entries = c->count_cache,
                                           .lifetime_ms = c->count_cache_time_ms};

    if (c->count_by == CONFIG_COUNT_BY_OFF)
        return 0;
    l->counts = token_memory_new(&conf, reterr);
    return l->counts == NULL ? -1 : 0;
}

/* The demo is known. */
static int open_watch(struct upstream_pool *p, struct upstream_live *l,
                      const struct upstream_table *t, const struct upstream_entry *u,
                      struct err *reterr)
{
    const struct upstream_watch_conf conf = {.config = u->config,
                                             .name = l->name,
                                             .base = l->base,
                                             .client_cert = u->client_cert,
                                             .client_key = u->client_key,
                                             .is_alone = !t->is_from_file};

    if (upstream_table_is_demo(t))
        return 0;
    l->watch = upstream_watch_new(p->loop, &conf, reterr);
    return l->watch == NULL ? -1 : 0;
}

static struct upstream_live *new_live(struct upstream_pool *p, const struct upstream_table *t,
                                      const struct upstream_entry *u, struct err *reterr)
{
    struct upstream_live *l = calloc(1, sizeof(*l));

    if (l == NULL) {
        (void)err_set_no_memory(reterr);
        return NULL;
    }
    l->pool = p;
    l->wanted = (struct loop_message){.fn = upstream_check_up_now, .arg = l};
    l->number = p->n_numbers;
    l->name = arena_dup(&l->memory, u->name);
    l->base = arena_dup(&l->memory, u->base);
    if (str_is_none(l->name) || str_is_none(l->base))
        (void)err_set_no_memory(reterr);
    else if (open_counts(l, u->config, reterr) == 0 && open_watch(p, l, t, u, reterr) == 0)
        return l;
    free_live(l);
    return NULL;
}

/* ---- from table to table */

/* Those that are new are in a list of their own, so that all stays as it is when one cannot be made. */
static int make_lives(struct upstream_pool *p, struct upstream_table *t,
                      struct upstream_live **ret_new, struct err *reterr)
{
    for (size_t i = 0; i < t->n; i++) {
        struct upstream_live *l = find_live(p, &t->entries[i]);

        if (l == NULL) {
            l = new_live(p, t, &t->entries[i], reterr);
            if (l == NULL)
                return -1;
            p->n_numbers++;
            l->next = *ret_new;
            *ret_new = l;
        }
        upstream_table_set_live(t, i, l);
    }
    return 0;
}

static void free_lives(struct upstream_live *l)
{
    while (l != NULL) {
        struct upstream_live *next = l->next;

        free_live(l);
        l = next;
    }
}

static bool is_checked(const struct upstream_table *t, const struct upstream_entry *u)
{
    return !upstream_table_is_demo(t) && u->health != UPSTREAM_HEALTH_OFF &&
           (t->n > 1 || u->health_is_given || upstream_entry_asks_slots(u));
}

/* What checks have found counts no more when there are none. */
static void give_check_up(struct upstream_live *l, struct upstream_check_up *c)
{
    struct upstream_pool *p = l->pool;
    struct upstream_health_news news;
    uint64_t now_ms;

    uv_mutex_lock(&p->lock);
    now_ms = upstream_pool_now_ms();
    l->check_up = c;
    if (c == NULL && upstream_health_uncheck(&l->health, now_ms, &news)) {
        upstream_pool_news(p, l, &news);
        upstream_pool_pump(p, now_ms);
    }
    uv_mutex_unlock(&p->lock);
}

/* Upstreams that cannot be checked for want of memory are used as they do. */
static void take_checks(const struct upstream_table *t, struct upstream_live *l)
{
    const bool is_wanted = l->entry != NULL && is_checked(t, l->entry);
    struct upstream_check_up *former = l->check_up;
    struct err e;

    if (former == NULL || !is_wanted || !upstream_check_up_fits(former, l->entry)) {
        give_check_up(l, is_wanted ? upstream_check_up_new(l, l->entry, &e) : NULL);
        upstream_check_up_free(former);
    }
}

static void take_watch(const struct upstream_live *l)
{
    if (l->watch != NULL && l->entry != NULL)
        upstream_watch_begin(l->watch, l->entry->authorization);
    else if (l->watch != NULL)
        upstream_watch_rest(l->watch);
}

static bool needs_affinity(const struct upstream_table *t)
{
    return t->n > 1;
}

/* *ret: the one that is there already, which is kept for good, or a new one; NULL: none is needed. */
static int open_affinity(const struct upstream_pool *p, const struct upstream_table *t,
                         struct affinity **ret, struct err *reterr)
{
    const struct affinity_conf conf = {.max_sessions = AFFINITY_SESSIONS,
                                       .max_marks = AFFINITY_MARKS,
                                       .ttl_ms = t->config->affinity_ttl_ms};

    *ret = p->affinity;
    if (!needs_affinity(t) || p->affinity != NULL)
        return 0;
    *ret = affinity_new(&conf);
    return *ret == NULL ? err_set_no_memory(reterr) : 0;
}

/* An upstream of the same name that is drained stays so, whatever else is new about it. */
static void keep_drained(struct upstream_pool *p, struct upstream_live *added)
{
    struct upstream_health_news news;

    for (struct upstream_live *l = added; l != NULL; l = l->next) {
        const struct upstream_live *former = p->lives;

        while (former != NULL && !str_eq(former->name, l->name))
            former = former->next;
        if (former != NULL && former->health.state == UPSTREAM_STATE_DRAINED)
            (void)upstream_health_drain(&l->health, upstream_pool_now_ms(), &news);
    }
}

static void add_lives(struct upstream_pool *p, struct upstream_live *added)
{
    struct upstream_live **end = &added;

    while (*end != NULL)
        end = &(*end)->next;
    *end = p->lives;
    p->lives = added;
}

static void take_table(struct upstream_pool *p, struct upstream_table *t)
{
    const struct config *c = t->config;

    for (struct upstream_live *l = p->lives; l != NULL; l = l->next)
        l->entry = NULL;
    for (size_t i = 0; i < t->n; i++)
        t->entries[i].live->entry = &t->entries[i];
    p->table = upstream_table_ref(t);
    p->config = c;
    p->affinity_min = strtod(c->affinity_min, NULL);
    p->shares_affinity = c->affinity_shared;
    if (p->affinity != NULL)
        affinity_set_ttl(p->affinity, c->affinity_ttl_ms);
}

int upstream_pool_take(struct upstream_pool *p, struct upstream_table *t, struct err *reterr)
{
    struct upstream_live *added = NULL;
    struct upstream_table *former = p->table;
    struct affinity *affinity;

    if (make_lives(p, t, &added, reterr) == -1 || open_affinity(p, t, &affinity, reterr) == -1) {
        free_lives(added);
        return -1;
    }
    uv_mutex_lock(&p->lock);
    p->affinity = affinity;
    keep_drained(p, added);
    add_lives(p, added);
    take_table(p, t);
    upstream_pool_pump(p, upstream_pool_now_ms());
    uv_mutex_unlock(&p->lock);
    for (struct upstream_live *l = p->lives; l != NULL; l = l->next) {
        take_checks(t, l);
        take_watch(l);
    }
    upstream_table_unref(former);
    return 0;
}

struct upstream_table *upstream_pool_table(struct upstream_pool *p)
{
    struct upstream_table *t;

    uv_mutex_lock(&p->lock);
    t = upstream_table_ref(p->table);
    uv_mutex_unlock(&p->lock);
    return t;
}

/* ---- news */

static void log_news(const struct upstream_live *l, const struct upstream_health_news *news)
{
    const bool is_good = news->to == UPSTREAM_STATE_UP || news->to == UPSTREAM_STATE_DRAINED ||
                         news->to == UPSTREAM_STATE_HALF_OPEN;

    if (news->from == news->to)
        return;
    log_line(is_good ? LOG_INFO : LOG_WARN, "upstream",
             (struct log_field[]){
                 LOG_STR("upstream", l->name), LOG_STR("state", upstream_health_word(news->to)),
                 LOG_STR("from", upstream_health_word(news->from)), LOG_STR("reason", news->reason),
                 LOG_STR("url", l->base), LOG_END});
}

void upstream_pool_news(struct upstream_pool *p, struct upstream_live *l,
                        const struct upstream_health_news *news)
{
    log_news(l, news);
    if (metrics_are_on && news->ejection != METRIC_EJECTION_UNCOUNTED)
        metrics_add(
            metrics_of(METRIC_EJECTIONS,
                       &(struct metric_labels){{metric_word(METRIC_DOMAIN_UPSTREAM, l->name),
                                                (uint16_t)news->ejection}}),
            1);
    if (!news->forgets)
        return;
    if (p->affinity != NULL)
        affinity_forget(p->affinity, l->number);
    upstream_live_forget_slots(l);
}

/* ---- what is shown */

void upstream_pool_view(struct upstream_pool *p, const struct upstream_entry *u,
                        struct upstream_view *ret)
{
    const struct upstream_live *l = u->live;
    uint64_t since_ms, now_ms;

    *ret = (struct upstream_view){.name = u->name, .url = u->base};
    uv_mutex_lock(&p->lock);
    now_ms = upstream_pool_now_ms();
    ret->state = l->health.state;
    ret->in_flight = l->in_flight;
    ret->limit = upstream_live_limit(l, u);
    ret->n_served = l->n_served;
    since_ms = l->health.since_ms;
    uv_mutex_unlock(&p->lock);
    ret->since_s = since_ms == 0 ? 0 : clock_unix_s() - (int64_t)((now_ms - since_ms) / 1000);
}

size_t upstream_pool_likely(struct upstream_pool *p, const struct upstream_table *t,
                            const struct upstream_route *route)
{
    size_t likely = route->n;

    uv_mutex_lock(&p->lock);
    for (size_t i = 0; i < route->n; i++) {
        const struct upstream_candidate *c = &route->candidates[i];

        if (t->entries[c->entry].live->health.state == UPSTREAM_STATE_UP &&
            (likely == route->n || c->tier < route->candidates[likely].tier))
            likely = i;
    }
    uv_mutex_unlock(&p->lock);
    return likely == route->n ? 0 : likely;
}

void upstream_pool_each_group(struct upstream_pool *p,
                              void (*tell)(void *arg, str group, size_t n_waiting), void *arg)
{
    uv_mutex_lock(&p->lock);
    for (const struct upstream_group *g = p->groups; g != NULL; g = g->next)
        tell(arg, g->name, g->queue.n);
    uv_mutex_unlock(&p->lock);
}

static bool may_be_there(const struct upstream_live *l)
{
    return l->health.state == UPSTREAM_STATE_UP && upstream_watch_state(l->watch) != UPSTREAM_DOWN;
}

void upstream_pool_sum(struct upstream_pool *p, struct upstream_sum *ret)
{
    *ret = (struct upstream_sum){.n = 0};
    uv_mutex_lock(&p->lock);
    for (const struct upstream_live *l = p->lives; l != NULL; l = l->next) {
        if (l->entry == NULL)
            continue;
        ret->n++;
        ret->n_up += may_be_there(l);
        ret->is_any_heard = ret->is_any_heard || upstream_watch_state(l->watch) == UPSTREAM_UP;
    }
    ret->n_waiting = p->n_waiting;
    uv_mutex_unlock(&p->lock);
}

/* ---- for operators */

static struct upstream_live *find_named(struct upstream_pool *p, str name)
{
    struct upstream_live *l = p->lives;

    while (l != NULL && (l->entry == NULL || !str_eq(l->name, name)))
        l = l->next;
    return l;
}

static bool change_use(struct upstream_pool *p, str name,
                       bool (*change)(struct upstream_health_record *h, uint64_t now_ms,
                                      struct upstream_health_news *ret_news))
{
    struct upstream_health_news news;
    struct upstream_live *l;
    uint64_t now_ms;

    uv_mutex_lock(&p->lock);
    now_ms = upstream_pool_now_ms();
    l = find_named(p, name);
    if (l != NULL && change(&l->health, now_ms, &news)) {
        upstream_pool_news(p, l, &news);
        upstream_pool_pump(p, now_ms);
    }
    uv_mutex_unlock(&p->lock);
    return l != NULL;
}

bool upstream_pool_drain(struct upstream_pool *p, str name)
{
    return change_use(p, name, upstream_health_drain);
}

bool upstream_pool_resume(struct upstream_pool *p, str name)
{
    return change_use(p, name, upstream_health_resume);
}

bool upstream_pool_check(struct upstream_pool *p, str name)
{
    struct upstream_live *l;

    uv_mutex_lock(&p->lock);
    l = find_named(p, name);
    if (l != NULL)
        upstream_check_up_want(l);
    uv_mutex_unlock(&p->lock);
    return l != NULL;
}

/* ---- begin and end */

struct upstream_pool *upstream_pool_new(struct loop *loop, struct err *reterr)
{
    struct upstream_pool *p = calloc(1, sizeof(*p));

    if (p == NULL || uv_mutex_init(&p->lock) != 0) {
        free(p);
        (void)err_set_no_memory(reterr);
        return NULL;
    }
    p->loop = loop;
    p->due = (struct loop_message){.fn = upstream_pool_on_time, .arg = p};
    random_fill(NULL, &p->key, sizeof(p->key));
    p->timer = loop_timer_new(loop, upstream_pool_on_time, p);
    if (p->timer == NULL) {
        upstream_pool_free(p);
        (void)err_set_no_memory(reterr);
        return NULL;
    }
    return p;
}

static void free_groups(struct upstream_group *g)
{
    while (g != NULL) {
        struct upstream_group *next = g->next;

        fair_queue_fini(&g->queue);
        free(g->turns);
        free(g);
        g = next;
    }
}

void upstream_pool_free(struct upstream_pool *p)
{
    if (p == NULL)
        return;
    free_lives(p->lives);
    free_groups(p->groups);
    affinity_free(p->affinity);
    session_names_free(p->names);
    upstream_table_unref(p->table);
    loop_timer_free(p->timer);
    arena_fini(&p->memory);
    uv_mutex_destroy(&p->lock);
    free(p);
}

bool upstream_pool_is_resolving(const struct upstream_pool *p)
{
    for (const struct upstream_live *l = p == NULL ? NULL : p->lives; l != NULL; l = l->next) {
        if (upstream_watch_is_resolving(l->watch) || upstream_check_up_is_resolving(l->check_up))
            return true;
    }
    return false;
}
