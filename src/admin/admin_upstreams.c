/* admin_upstreams.c -- GET /admin/upstreams: there is one, `default`, or the demo. */
#include "admin/admin_ask.h"
#include "admin/admin_routes.h"
#include "flight/flight.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_table.h"
#include "upstream/upstream_watch.h"

static void visit(struct admin_ask *ask, struct worker *w)
{
    for (const struct flight *f = w->flights; f != NULL; f = f->next)
        ask->sum.n_calls += flight_is_asking(f);
}

/* Calls that have been begun elsewhere since the worker was asked are in both numbers. */
static uint64_t count_served(const struct upstream_tally *tally, size_t n_in_flight)
{
    uint64_t others = tally->n_failed + n_in_flight;

    return tally->n_calls > others ? tally->n_calls - others : 0;
}

static void write_tally(struct jw *j, struct upstream_watch *watch, size_t n_in_flight)
{
    struct upstream_tally tally;

    upstream_watch_tally(watch, &tally);
    jw_key(j, "since");
    if (tally.since_s == 0)
        jw_null(j);
    else
        jw_int(j, tally.since_s);
    jw_key_int(j, "served", (int64_t)count_served(&tally, n_in_flight));
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

static void write_models(struct jw *j, struct upstream_watch *watch)
{
    struct upstream_facts *facts = upstream_watch_facts(watch);

    jw_key(j, "models");
    jw_array(j);
    for (size_t i = 0; facts != NULL && i < facts->models.n; i++)
        jw_string(j, facts->models.v[i].id);
    jw_array_end(j);
    upstream_facts_unref(facts);
}

/* The URL holds no user: the configuration takes none. */
static void respond(struct admin_ask *ask)
{
    static const str words[] = {
        [UPSTREAM_UNHEARD] = STR_INIT("unknown"),
        [UPSTREAM_UP] = STR_INIT("up"),
        [UPSTREAM_DOWN] = STR_INIT("down"),
    };
    const struct upstream_entry *u = &ask->home->upstreams->v[0];
    struct upstream_watch *watch = u->live->watch;
    struct jw *j = &ask->json;

    jw_object(j);
    jw_key(j, "data");
    jw_array(j);
    jw_object(j);
    jw_key_string(j, "name", u->name);
    jw_key_string(j, "url", u->base);
    jw_key_string(j, "state", words[upstream_watch_state(watch)]);
    jw_key_int(j, "in_flight", (int64_t)ask->sum.n_calls);
    jw_key(j, "limit");
    jw_null(j);
    write_tally(j, watch, ask->sum.n_calls);
    write_models(j, watch);
    jw_object_end(j);
    jw_array_end(j);
    jw_object_end(j);
    admin_ask_respond(ask, 200);
}

void admin_upstreams(struct worker *w, struct http_exchange *x, const struct http_request *r,
                     const struct path_ids *ids)
{
    static const struct admin_ask_kind kind = {visit, respond};

    (void)r;
    (void)ids;
    admin_ask_begin(&kind, w, x, STR_NONE);
}
