/* server_open.c -- what a gateway has before its threads begin: sockets, store, memories, tools, workers. */
#include "daemon/server_open.h"

#include "access/api_key.h"
#include "access/rate_table.h"
#include "admin/admin.h"
#include "admin/admin_router.h"
#include "background/background.h"
#include "base/num.h"
#include "base/url.h"
#include "daemon/addresses.h"
#include "daemon/mcp_servers.h"
#include "daemon/metrics_setup.h"
#include "daemon/seal_secret.h"
#include "daemon/server_internal.h"
#include "daemon/state_conf.h"
#include "daemon/store_wait.h"
#include "daemon/tls_listener.h"
#include "daemon/upstreams.h"
#include "flight/loop_lag.h"
#include "flight/pulse.h"
#include "flight/worker.h"
#include "flight/worker_settings.h"
#include "front/request_log.h"
#include "http/client_share.h"
#include "http/trusted_proxies.h"
#include "memory/answer_memory.h"
#include "memory/call_memory.h"
#include "memory/cut_memory.h"
#include "memory/memory_keeper.h"
#include "resume/running.h"
#include "trace/export/tracer.h"
#include "turn/compaction_prompt.h"
#include "turn/owner_seal.h"

/* ---- store and memories */

static int open_store(struct server *s, struct err *reterr)
{
    struct store_conf conf = state_conf(s->config, &s->memory);
    struct url url;

    conf.tables = server_replaces_another(s) ? STORE_SHARES : STORE_MIGRATES;
    if (conf.url == NULL)
        return err_set_no_memory(reterr);
    url = url_split(str_from_c(conf.url));
    /* A password may stand behind the scheme. */
    s->store_shown = str_is_none(url.authority) ? str_from_c(conf.url) : url.scheme;
    switch (store_wait_open(&conf, s->config->store_start_timeout_ms, s->loop, &s->store, reterr)) {
    case STORE_WAIT_OPEN:
        return 0;
    case STORE_WAIT_ABANDONED:
        s->is_abandoned = true;
        return -1;
    case STORE_WAIT_FAILED:
        break;
    }
    return -1;
}

static int open_memories(struct server *s, struct err *reterr)
{
    const struct config *c = s->config;

    if (c->reasoning_cache > 0)
        s->reasoning = call_memory_new(c->reasoning_cache, c->reasoning_cache_size_bytes, reterr);
    if (c->reasoning_cache > 0 && s->reasoning == NULL)
        return -1;
    if (c->call_memory > 0)
        s->rounds = call_memory_new(c->call_memory, c->call_memory_size_bytes, reterr);
    return c->call_memory > 0 && s->rounds == NULL ? -1 : 0;
}

static int open_keeper(struct server *s, struct err *reterr)
{
    enum { N = 2 };
    struct call_memory *const memories[N] = {s->reasoning, s->rounds};

    s->keeper = memory_keeper_new(s->loop, memories, N, s->answers, reterr);
    return s->keeper == NULL ? -1 : 0;
}

static int open_cuts(struct server *s, struct err *reterr)
{
    if (s->config->truncation_cache == 0)
        return 0;
    s->cuts = cut_memory_new(s->config->truncation_cache, reterr);
    return s->cuts == NULL ? -1 : 0;
}

static int open_answers(struct server *s, struct err *reterr)
{
    s->answers = answer_memory_new(s->config->idempotency_memory_bytes,
                                   s->config->idempotency_memory_age_ms, reterr);
    return s->answers == NULL ? -1 : 0;
}

static int open_seal(struct server *s, struct err *reterr)
{
    const struct store_conf conf = state_conf(s->config, &s->memory);
    struct config_list secrets;

    if (conf.url == NULL)
        return err_set_no_memory(reterr);
    if (seal_secret_find(s->config, conf.url, &s->memory, &secrets, reterr) == -1)
        return -1;
    s->forgets_seals = secrets.n == 0;
    s->seal_keys = owner_seal_reasoning_keys(&secrets, reterr);
    s->compaction_keys = owner_seal_compaction_keys(&secrets, reterr);
    s->request_keys = owner_seal_request_keys(&secrets, reterr);
    return s->seal_keys == NULL || s->compaction_keys == NULL || s->request_keys == NULL ? -1 : 0;
}

/* The file was good when the configuration was checked. */
static int load_compaction_prompt(struct server *s, struct err *reterr)
{
    struct config_problems problems = {.n_kept = 0};
    int rc = compaction_prompt_load(s->config, &s->memory, &s->compaction_prompt, &problems);

    if (rc == -1)
        err_set(reterr, ERR_INTERNAL, "%s", problems.n_kept > 0 ? problems.kept[0].text : "");
    config_problems_fini(&problems);
    return rc;
}

/* ---- tools and traces */

/* Opens the tools before there are children: control groups cannot be made among them. */
static int open_builtin(struct server *s, struct err *reterr)
{
    return builtin_tools_open(&s->builtin, s->config, reterr);
}

static int open_tracer(struct server *s, struct err *reterr)
{
    if (!s->trace_conf->is_on)
        return 0;
    s->tracer = tracer_open(s->trace_conf, reterr);
    return s->tracer == NULL ? -1 : 0;
}

static int open_hub(struct server *s, struct err *reterr)
{
    const struct mcp_hub_conf conf = mcp_servers_hub_conf(s->config, s->servers);

    if (!mcp_servers_need_hub(s->config, s->servers))
        return 0;
    s->hub = mcp_hub_new(&conf, reterr);
    return s->hub == NULL ? -1 : 0;
}

/* ---- workers */

/* The share of a client is half of all connections when no number is given: enough for a proxy on
 * another machine, and for a network behind one address, and it leaves as many to others. */
static int open_share(struct server *s, struct err *reterr)
{
    const struct config *c = s->config;
    uint64_t most = (c->max_connections + 1) / 2;

    (void)num_uint(str_from_c(c->max_connections_per_client), &most); /* auto is no number */
    if (most == 0 || most >= c->max_connections)
        return 0;
    s->share = client_share_new(most, c->max_connections + s->n_workers, reterr);
    return s->share == NULL ? -1 : 0;
}

static int open_rates(struct server *s, struct err *reterr)
{
    s->rates = rate_table_new(RATE_TABLE_USERS, reterr);
    return s->rates == NULL ? -1 : 0;
}

/* The workers have their store by now. */
static int open_background(struct server *s, struct err *reterr)
{
    s->background = background_new(s->config->background_running);
    if (s->background == NULL)
        return err_set_no_memory(reterr);
    for (unsigned i = 0; i < s->n_workers; i++) {
        if (background_open_agent(s->background, s->workers[i], reterr) == -1)
            return -1;
    }
    return 0;
}

static int open_workers(struct server *s, struct err *reterr)
{
    const struct worker_conf conf = {.config = s->config,
                                     .keys = s->keys,
                                     .origins = &s->origins,
                                     .addresses = s->addresses,
                                     .listeners = s->listeners,
                                     .n_addresses = s->n_addresses,
                                     .n_workers = s->n_workers,
                                     .share = s->share,
                                     .trusted = &s->trusted,
                                     .on_head = admin_router_on_head,
                                     .on_request = admin_router_on_request,
                                     .on_end = request_log_on_end};

    if (origin_policy_make(s->config, s->keys->n > 0, &s->memory, &s->origins) == -1 ||
        trusted_proxies_make(s->config->trusted_proxies.items, s->config->trusted_proxies.n,
                             &s->memory, &s->trusted) == -1)
        return err_set_no_memory(reterr);
    for (unsigned i = 0; i < s->n_workers; i++) {
        s->workers[i] = worker_new(&conf, reterr);
        if (s->workers[i] == NULL)
            return -1;
        if (worker_settings_open(s->workers[i]) == -1)
            return err_set_no_memory(reterr);
    }
    if (upstreams_open(s, reterr) == -1)
        return -1;
    s->admin = admin_new(s->workers, s->n_workers);
    if (s->admin == NULL)
        return err_set_no_memory(reterr);
    for (unsigned i = 0; i < s->n_workers; i++) {
        s->workers[i]->life = &s->life;
        s->workers[i]->upstreams = s->upstreams;
        s->workers[i]->pool = s->pool;
        s->workers[i]->tracer = s->tracer;
        s->workers[i]->store = s->store;
        s->workers[i]->reasoning = s->reasoning;
        s->workers[i]->rounds = s->rounds;
        s->workers[i]->cuts = s->cuts;
        s->workers[i]->answers = s->answers;
        s->workers[i]->rates = s->rates;
        s->workers[i]->seal_keys = s->seal_keys;
        s->workers[i]->forgets_seals = s->forgets_seals;
        s->workers[i]->compaction_keys = s->compaction_keys;
        s->workers[i]->request_keys = s->request_keys;
        s->workers[i]->compaction_prompt = s->compaction_prompt;
        s->workers[i]->hub = s->hub;
        s->workers[i]->builtin = &s->builtin;
        s->workers[i]->pulses = s->pulses;
        pulses_add(s->pulses, s->workers[i]->loop);
        s->workers[i]->lag = loop_lag_new(s->workers[i]->loop, i);
        s->workers[i]->desk = metrics_are_on ? &s->told.desk : NULL;
        s->workers[i]->running = s->running;
        running_open(s->running, s->workers[i]->loop);
    }
    s->told.worker = s->workers[0];
    s->told.tls = s->tls;
    metrics_tell(&s->told);
    return open_background(s, reterr);
}

/* Things open in the order in which they need each other: sockets are checked before the store, which may be
 * waited for, and opened for clients behind it; tools come before there are children; workers need all. */
int server_open(struct server *s, struct err *reterr)
{
    if (tls_listener_open(s->loop, s->config, &s->tls, reterr) == -1 ||
        addresses_receive(s, reterr) == -1 || addresses_check(s, reterr) == -1 ||
        open_store(s, reterr) == -1 || addresses_open(s, reterr) == -1 ||
        open_memories(s, reterr) == -1 || open_answers(s, reterr) == -1 ||
        open_keeper(s, reterr) == -1 || open_cuts(s, reterr) == -1 || open_seal(s, reterr) == -1 ||
        load_compaction_prompt(s, reterr) == -1 || open_builtin(s, reterr) == -1 ||
        open_hub(s, reterr) == -1 || open_tracer(s, reterr) == -1 || open_share(s, reterr) == -1 ||
        open_rates(s, reterr) == -1)
        return -1;
    return open_workers(s, reterr);
}
