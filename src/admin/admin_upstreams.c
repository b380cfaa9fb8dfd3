/* admin_upstreams.c -- /admin/upstreams: what each upstream does, and what operators have it do. */
#include "admin/admin_routes.h"
#include "flight/worker.h"
#include "front/path_pattern.h"
#include "json/json_write.h"
#include "upstream/upstream_facts.h"
#include "upstream/upstream_list.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_pool.h"
#include "upstream/upstream_watch.h"

/* ---- the list */

/* Calls that have been begun since are in one number only. */
static uint64_t count_served(const struct upstream_tally *tally, size_t n_in_flight)
{
    uint64_t others = tally->n_failed + n_in_flight;

    return tally->n_calls > others ? tally->n_calls - others : 0;
}

static void write_since(struct jw *j, int64_t since_s)
{
    jw_key(j, "since");
    if (since_s == 0)
        jw_null(j);
    else
        jw_int(j, since_s);
}

static void write_tally(struct jw *j, struct upstream_watch *watch,
                        const struct upstream_view *view)
{
    struct upstream_tally tally;

    upstream_watch_tally(watch, &tally);
    write_since(j, view->since_s > tally.since_s ? view->since_s : tally.since_s);
    jw_key_int(j, "served", (int64_t)count_served(&tally, view->in_flight));
    jw_key_int(j, "failures", (int64_t)tally.n_failed);
    jw_key(j, "last_error");
    if (tally.last_error_s == 0) {
        jw_null(j);
        return;
    }
    jw_object(j);
    jw_key_int(j, "at", tally.last_error_s);
    jw_key_string(j, "message", str_from_c(tally.last_error));
    jw_object_end(j);
}

/* One of several has its last list; the only upstream has what it said when it was asked last. */
static void write_listed(struct jw *j, const struct upstream_facts *facts)
{
    size_t n = 0;
    const str *names = upstream_list_names(facts->list, &n);

    for (size_t i = 0; i < n; i++)
        jw_string(j, names[i]);
    for (size_t i = 0; facts->list == NULL && i < facts->models.n; i++)
        jw_string(j, facts->models.v[i].id);
}

/* What it serves, by the names that clients say: those of the file, and what it lists if that counts. The only
 * upstream serves every name. */
static void write_models(struct jw *j, const struct upstream_table *t,
                         const struct upstream_entry *u)
{
    struct upstream_facts *facts = upstream_watch_facts(u->live->watch);

    jw_key(j, "models");
    jw_array(j);
    for (size_t i = 0; t->is_from_file && i < u->n_models; i++)
        jw_string(j, u->models[i].name);
    if (facts != NULL && (u->serves_listed || !t->is_from_file))
        write_listed(j, facts);
    jw_array_end(j);
    upstream_facts_unref(facts);
}

/* A single upstream is used whatever it does: while nothing else holds it back, its state is what was seen of it last. */
static str state_word(const struct upstream_table *t, const struct upstream_entry *u,
                      const struct upstream_view *view)
{
    static const str seen[] = {
        [UPSTREAM_UNHEARD] = STR_INIT("unknown"),
        [UPSTREAM_UP] = STR_INIT("up"),
        [UPSTREAM_DOWN] = STR_INIT("down"),
    };

    return t->is_from_file || view->state != UPSTREAM_STATE_UP
               ? upstream_health_word(view->state)
               : seen[upstream_watch_state(u->live->watch)];
}

/* The URL holds no user: the configuration takes none. */
static void write_upstream(struct jw *j, struct upstream_pool *p, const struct upstream_table *t,
                           const struct upstream_entry *u)
{
    struct upstream_view view;

    upstream_pool_view(p, u, &view);
    jw_object(j);
    jw_key_string(j, "name", view.name);
    jw_key_string(j, "url", view.url);
    jw_key_string(j, "state", state_word(t, u, &view));
    jw_key_int(j, "in_flight", (int64_t)view.in_flight);
    jw_key(j, "limit");
    if (view.limit == 0)
        jw_null(j);
    else
        jw_int(j, (int64_t)view.limit);
    write_tally(j, u->live->watch, &view);
    write_models(j, t, u);
    jw_object_end(j);
}

void admin_upstreams(struct worker *w, struct http_exchange *x, const struct http_request *r,
                     const struct path_ids *ids)
{
    struct upstream_table *t = upstream_pool_table(w->pool);
    struct buf body = {.limit = 0};
    struct jw j = jw_to(&body);

    (void)r;
    (void)ids;
    jw_object(&j);
    jw_key(&j, "data");
    jw_array(&j);
    for (size_t i = 0; i < t->n; i++)
        write_upstream(&j, w->pool, t, &t->entries[i]);
    jw_array_end(&j);
    jw_object_end(&j);
    upstream_table_unref(t);
    admin_respond_json(x, 200, &body);
}

/* ---- orders */

static void obey(struct worker *w, struct http_exchange *x, str name,
                 bool (*order)(struct upstream_pool *p, str name))
{
    struct err e;

    if (order(w->pool, name)) {
        http_exchange_respond(x, 204, NULL, 0, STR(""));
        return;
    }
    err_set(&e, ERR_NOT_FOUND, "There is no upstream '%.*s'.", STR_ARG(name));
    http_exchange_respond_error(x, &e, NULL, 0);
}

void admin_upstream_drain(struct worker *w, struct http_exchange *x, const struct http_request *r,
                          const struct path_ids *ids)
{
    (void)r;
    obey(w, x, ids->v[0], upstream_pool_drain);
}

void admin_upstream_resume(struct worker *w, struct http_exchange *x, const struct http_request *r,
                           const struct path_ids *ids)
{
    (void)r;
    obey(w, x, ids->v[0], upstream_pool_resume);
}

void admin_upstream_check(struct worker *w, struct http_exchange *x, const struct http_request *r,
                          const struct path_ids *ids)
{
    (void)r;
    obey(w, x, ids->v[0], upstream_pool_check);
}
