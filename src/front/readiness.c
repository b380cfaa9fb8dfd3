/* readiness.c -- what keeps the gateway from being ready, and how its upstream is. */
#include "front/readiness.h"

#include "base/budget.h"
#include "flight/life.h"
#include "flight/pulse.h"
#include "flight/worker.h"
#include "json/json_write.h"
#include "mcp/hub/mcp_hub.h"
#include "store/store.h"
#include "upstream/upstream_pool.h"
#include "upstream/upstream_watch.h"

/* The reasons: an array that begins with the first of them. */
struct reasons {
    struct jw j;
    bool are_there;
};

static void reason_add(struct reasons *r, str reason)
{
    if (!r->are_there) {
        jw_key_string(&r->j, "status", STR("not_ready"));
        jw_key(&r->j, "reasons");
        jw_array(&r->j);
    }
    r->are_there = true;
    jw_string(&r->j, reason);
}

static bool is_needed(const struct worker *w, str word)
{
    const struct config_list *needs = &w->config->ready_needs;

    for (size_t i = 0; i < needs->n; i++) {
        if (str_eq(str_from_c(needs->items[i]), word))
            return true;
    }
    return false;
}

/* Servers that the start has waited for. */
static void add_servers(struct reasons *r, const struct worker *w)
{
    struct mcp_snapshot *snapshot = worker_mcp_servers(w);
    struct buf text = {.limit = 0};

    for (size_t i = 0; snapshot != NULL && i < snapshot->n; i++) {
        const struct mcp_server_view *server = &snapshot->servers[i];

        if (!server->conf->is_required || server->is_available)
            continue;
        buf_reset(&text);
        buf_c(&text, "mcp:");
        buf_append(&text, server->conf->label);
        reason_add(r, buf_str(&text));
    }
    buf_fini(&text);
    mcp_snapshot_unref(snapshot);
}

static void add_reasons(struct reasons *r, const struct worker *w, enum upstream_state upstream)
{
    if (life_phase(w->life) == LIFE_STARTING)
        reason_add(r, STR("starting"));
    if (w->is_draining || life_phase(w->life) == LIFE_DRAINING)
        reason_add(r, STR("draining"));
    if (is_needed(w, STR("store")) && !store_is_ready(w->store))
        reason_add(r, STR("store"));
    if (is_needed(w, STR("upstream")) && upstream == UPSTREAM_DOWN)
        reason_add(r, STR("upstream"));
    add_servers(r, w);
    if (budget_is_short())
        reason_add(r, STR("memory"));
    if (pulses_are_stalled(w->pulses, uv_hrtime() / 1000000))
        reason_add(r, STR("stalled"));
}

/* One that may be used is enough. */
static enum upstream_state upstream_state(const struct worker *w)
{
    struct upstream_sum sum;

    upstream_pool_sum(w->pool, &sum);
    if (sum.n_up == 0)
        return UPSTREAM_DOWN;
    return sum.is_any_heard ? UPSTREAM_UP : UPSTREAM_UNHEARD;
}

/* False when it is not ready. */
static bool write_readiness(const struct worker *w, struct buf *out)
{
    static const str words[] = {
        [UPSTREAM_UNHEARD] = STR_INIT("unknown"),
        [UPSTREAM_UP] = STR_INIT("up"),
        [UPSTREAM_DOWN] = STR_INIT("down"),
    };
    enum upstream_state upstream = upstream_state(w);
    struct reasons r = {.j = jw_to(out)};

    jw_object(&r.j);
    add_reasons(&r, w, upstream);
    if (r.are_there)
        jw_array_end(&r.j);
    else
        jw_key_string(&r.j, "status", STR("ready"));
    jw_key_string(&r.j, "upstream", words[upstream]);
    jw_object_end(&r.j);
    return !r.are_there;
}

void readiness_answer(struct worker *w, struct http_exchange *x, const struct http_request *r,
                      const struct caller *caller)
{
    const struct http_header headers[] = {{STR("content-type"), STR("application/json")},
                                          {STR("retry-after"), STR("1")}};
    struct buf body = {.limit = 0};
    bool is_ready = write_readiness(w, &body);

    (void)r;
    (void)caller;
    http_exchange_respond(x, is_ready ? 200 : 503, headers, is_ready ? 1 : 2, buf_str(&body));
    buf_fini(&body);
}
