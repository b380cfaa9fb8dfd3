/* mcp_hub_view.c -- how configured servers stand, for workers.
 *
 * Each change makes a new snapshot and leaves the old ones alone: a request that began
 * with one keeps its tools, and the entries that they came from (MCP 9.3). */
#include "mcp/hub/mcp_hub_internal.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "ev/log.h"
#include "metrics/metrics.h"

struct shared {
    struct mcp_snapshot snapshot; /* first, so that a pointer to it is one to this */
    struct mcp_server_view *views;
    struct mcp_config **tables; /* references to what the views' conf are in */
    struct arena memory;
    atomic_uint n_refs;
};

static struct shared *shared_snapshot_of(struct mcp_snapshot *s)
{
    return (struct shared *)(void *)s;
}

static struct shared *shared_snapshot_new(size_t n)
{
    struct shared *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    atomic_init(&s->n_refs, 1);
    s->views = arena_array(&s->memory, n, sizeof(*s->views));
    s->tables = arena_array(&s->memory, n, sizeof(struct mcp_config *));
    s->snapshot.servers = s->views;
    if (s->views != NULL && s->tables != NULL)
        return s;
    arena_fini(&s->memory);
    free(s);
    return NULL;
}

void mcp_snapshot_unref(struct mcp_snapshot *snapshot)
{
    struct shared *s = shared_snapshot_of(snapshot);

    if (s == NULL || atomic_fetch_sub_explicit(&s->n_refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < snapshot->n; i++) {
        mcp_catalogue_unref(s->views[i].tools);
        mcp_config_unref(s->tables[i]);
    }
    arena_fini(&s->memory);
    free(s);
}

static str server_error(const struct hub_server *s)
{
    if (s->conf->problem != NULL)
        return str_from_c(s->conf->problem);
    if (s->session != NULL)
        return mcp_session_error(s->session);
    return s->conf->is_enabled ? STR("The gateway ran out of memory.") : STR("");
}

/* False when out of memory. */
static bool add_view(struct shared *shared, const struct hub_server *s)
{
    struct mcp_server_view *view = &shared->views[shared->snapshot.n];
    bool is_available = hub_server_is_available(s);

    *view = (struct mcp_server_view){
        .conf = s->conf,
        .state = s->session == NULL ? MCP_STOPPED : mcp_session_state(s->session),
        .transport = s->session == NULL ? s->conf->transport : mcp_session_transport(s->session),
        .is_available = is_available,
        .is_pending = s->session != NULL && !s->has_tried,
        .is_starting = s->session != NULL && !s->has_tried && !s->is_restarted,
        .hurry_ms = s->session == NULL ? UINT64_MAX : mcp_session_hurry_ms(s->session),
        .error = arena_dup(&shared->memory, server_error(s)),
        .tools = is_available ? mcp_catalogue_ref(s->tools) : NULL,
    };
    shared->tables[shared->snapshot.n++] = mcp_config_ref(s->table);
    return !str_is_none(view->error);
}

static struct mcp_snapshot *snapshot_new(const struct mcp_hub *hub)
{
    struct shared *shared;
    bool is_fine = true;
    size_t n = 0;

    for (const struct hub_server *s = hub->servers; s != NULL; s = s->next)
        n++;
    shared = shared_snapshot_new(n);
    if (shared == NULL)
        return NULL;
    for (const struct hub_server *s = hub->servers; is_fine && s != NULL; s = s->next)
        is_fine = add_view(shared, s);
    if (is_fine)
        return &shared->snapshot;
    mcp_snapshot_unref(&shared->snapshot);
    return NULL;
}

/* Snapshots are made on two threads, so states are counted up and down. Each has a series from the first
 * on, and one that a server has left rests at 0. */
static void count_states(const struct mcp_snapshot *s, int n)
{
    for (size_t i = 0; metrics_are_on && s != NULL && i < s->n; i++) {
        const struct mcp_server_view *view = &s->servers[i];
        const str state = str_from_c(mcp_state_name(view->state));
        const struct metric_labels labels = {{metric_word(METRIC_DOMAIN_SERVER, view->conf->label),
                                              metric_word(METRIC_DOMAIN_SERVER_STATE, state)}};

        metrics_add(metrics_of(METRIC_MCP_STATE, &labels), (uint64_t)(int64_t)n);
    }
}

/* A server that starts has done so before, unless it was stopped. */
static void count_restarts(const struct mcp_snapshot *old, const struct mcp_snapshot *now)
{
    for (size_t i = 0; metrics_are_on && old != NULL && i < now->n; i++) {
        const str label = now->servers[i].conf->label;
        const struct mcp_server_view *before = mcp_snapshot_find(old, label);

        if (now->servers[i].state == MCP_STARTING && before != NULL &&
            before->state != MCP_STARTING && before->state != MCP_STOPPED)
            metrics_add(
                metrics_of(METRIC_MCP_RESTARTS,
                           &(struct metric_labels){{metric_word(METRIC_DOMAIN_SERVER, label)}}),
                1);
    }
}

/* The old snapshot stays when there is no memory: calls find out what it does not tell. */
void hub_publish(struct mcp_hub *hub)
{
    struct mcp_snapshot *now = snapshot_new(hub), *old;

    if (now == NULL) {
        log_msg(LOG_ERROR, "MCP servers: out of memory, a change stays unseen");
        return;
    }
    uv_mutex_lock(&hub->lock);
    old = hub->snapshot;
    hub->snapshot = now;
    uv_mutex_unlock(&hub->lock);
    count_restarts(old, now);
    count_states(old, -1);
    count_states(now, 1);
    mcp_snapshot_unref(old);
}

struct mcp_snapshot *mcp_hub_snapshot(struct mcp_hub *hub)
{
    struct mcp_snapshot *s;

    uv_mutex_lock(&hub->lock);
    s = hub->snapshot;
    if (s != NULL)
        atomic_fetch_add_explicit(&shared_snapshot_of(s)->n_refs, 1, memory_order_relaxed);
    uv_mutex_unlock(&hub->lock);
    return s;
}

bool mcp_snapshot_injects(const struct mcp_snapshot *s, bool by_default)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct mcp_server_view *view = &s->servers[i];

        if ((view->is_available || view->is_starting) &&
            mcp_server_conf_injects(view->conf, by_default))
            return true;
    }
    return false;
}

const struct mcp_server_view *mcp_snapshot_find(const struct mcp_snapshot *s, str label)
{
    for (size_t i = 0; i < s->n; i++) {
        if (str_eq(s->servers[i].conf->label, label))
            return &s->servers[i];
    }
    return NULL;
}
