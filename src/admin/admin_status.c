/* admin_status.c -- GET /admin/status: how it stands with the gateway.
 *
 * Workers tell what they carry, then the store how much is queued in it, unless it is away: a status does
 * not wait for what is broken. */
#include "admin/admin.h"
#include "admin/admin_ask.h"
#include "admin/admin_routes.h"
#include "base/budget.h"
#include "base/url.h"
#include "base/version.h"
#include "ev/log.h"
#include "flight/flight.h"
#include "flight/life.h"
#include "flight/turn_drive.h"
#include "store/store_work.h"

static void visit(struct admin_ask *ask, struct worker *w)
{
    const struct http_server_counts counts = http_server_count(w->server);
    struct admin_sum *sum = &ask->sum;

    sum->n_workers++;
    sum->n_idle += counts.n_idle;
    sum->n_active += counts.n_active;
    sum->n_websockets += counts.n_websockets;
    for (const struct flight *f = w->flights; f != NULL; f = f->next) {
        struct flight_view view;

        if (!flight_is_shown(f))
            continue;
        (void)flight_describe(f, &view);
        sum->n_turns++;
        sum->n_streams += view.is_stream;
        sum->n_calls += flight_is_asking(f);
    }
}

static void write_connections(struct jw *j, const struct admin_sum *sum)
{
    jw_key(j, "connections");
    jw_object(j);
    jw_key_int(j, "idle", (int64_t)sum->n_idle);
    jw_key_int(j, "active", (int64_t)sum->n_active);
    jw_key_int(j, "websockets", (int64_t)sum->n_websockets);
    jw_object_end(j);
    jw_key_int(j, "turns", (int64_t)sum->n_turns);
    jw_key_int(j, "streams", (int64_t)sum->n_streams);
    jw_key_int(j, "upstream_calls", (int64_t)sum->n_calls);
}

static void write_queues(struct jw *j, struct admin_ask *ask)
{
    struct store *store = ask->home->store;

    jw_key(j, "queues");
    jw_object(j);
    jw_key_int(j, "store_read", (int64_t)store_n_waiting(store, STORE_READ));
    jw_key_int(j, "store_write", (int64_t)store_n_waiting(store, STORE_WRITE));
    jw_key(j, "background");
    if (ask->has_queued)
        jw_int(j, (int64_t)ask->n_queued);
    else
        jw_null(j);
    jw_object_end(j);
}

/* The kind alone: the rest of the URL may hold a password. */
static void write_store(struct jw *j, const struct worker *w)
{
    const char *url = w->config->store;
    str kind = url == NULL ? STR("sqlite") : str_from_c(url);

    kind.len = str_find_char(kind, ':');
    jw_key(j, "store");
    jw_object(j);
    jw_key_string(j, "kind", kind);
    jw_key_bool(j, "ready", store_is_ready(w->store));
    jw_object_end(j);
}

static void write_memory(struct jw *j)
{
    jw_key(j, "memory");
    jw_object(j);
    jw_key_int(j, "used_bytes", (int64_t)budget_used());
    jw_key_int(j, "limit_bytes", (int64_t)budget_limit());
    jw_object_end(j);
}

static void write_reloads(struct jw *j, struct life *life)
{
    jw_key(j, "reloads");
    jw_object(j);
    jw_key_int(j, "all", life == NULL ? 0 : (int64_t)atomic_load(&life->n_reloads));
    jw_key_int(j, "failed", life == NULL ? 0 : (int64_t)atomic_load(&life->n_failed_reloads));
    jw_object_end(j);
}

static void respond(struct admin_ask *ask)
{
    struct jw *j = &ask->json;

    jw_object(j);
    jw_key_string(j, "version", STR(ANTIPHON_VERSION));
    jw_key_string(j, "commit", str_from_c(version_commit()));
    jw_key_string(j, "status",
                  life_phase(ask->home->life) == LIFE_DRAINING ? STR("draining") : STR("serving"));
    jw_key_int(j, "uptime_s", (int64_t)admin_uptime_s(ask->of));
    jw_key_int(j, "workers", (int64_t)ask->sum.n_workers);
    write_connections(j, &ask->sum);
    write_queues(j, ask);
    write_store(j, ask->home);
    write_memory(j);
    write_reloads(j, ask->home->life);
    jw_key_string(j, "log_level", str_from_c(log_level_name(log_level())));
    jw_object_end(j);
    admin_ask_respond(ask, 200);
}

static int count_queued(struct store_session *s, void *arg, struct err *reterr)
{
    struct admin_ask *ask = arg;

    return store_count_queued(s, &ask->n_queued, reterr);
}

static void on_counted(void *arg, const struct err *failure)
{
    struct admin_ask *ask = arg;

    ask->has_queued = failure == NULL;
    respond(ask);
}

static void ask_store(struct admin_ask *ask)
{
    struct err e;

    if (store_refuses(ask->home->store, STORE_READ, &e)) {
        respond(ask);
        return;
    }
    ask->task = (struct store_task){.access = STORE_READ,
                                    .work = count_queued,
                                    .done = on_counted,
                                    .arg = ask,
                                    .loop = ask->home->loop};
    store_start(ask->home->store, &ask->task);
}

void admin_status(struct worker *w, struct http_exchange *x, const struct http_request *r,
                  const struct path_ids *ids)
{
    static const struct admin_ask_kind kind = {visit, ask_store};

    (void)r;
    (void)ids;
    admin_ask_begin(&kind, w, x, STR_NONE);
}
