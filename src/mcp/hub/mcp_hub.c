/* mcp_hub.c -- the hub's thread: its start, its end, and a new file of servers.
 *
 * The first file is applied like every later one, as a difference to none. Servers whose
 * entry has not changed go on with their session and the table it points into; the others
 * leave, and end when their calls have ended (MCP 1.6). */
#include "mcp/hub/mcp_hub_internal.h"

#include <stdlib.h>

#include "ev/log.h"
#include "http/http_client.h"

enum { IDLE_CONNECTIONS = 64, END_MS = 6000 /* MCP 2.9 */ };

/* ---- who has stopped */

static struct hub_server **find_stopped(struct mcp_hub *hub)
{
    struct hub_server **place = &hub->leaving;

    while (*place != NULL && !(*place)->is_stopped)
        place = &(*place)->next;
    return place;
}

static void server_free(struct hub_server *s)
{
    if (s->remote != NULL) {
        hub_remote_free(s->remote);
    } else {
        hub_server_fini(s);
        free(s);
    }
}

static void sweep_stopped(void *arg)
{
    struct mcp_hub *hub = arg;
    struct hub_server **place;

    while (*(place = find_stopped(hub)) != NULL) {
        struct hub_server *s = *place;

        *place = s->next;
        server_free(s);
    }
    if (hub->is_ending && hub->leaving == NULL)
        loop_stop(hub->loop);
}

void hub_sweep_soon(struct mcp_hub *hub)
{
    loop_defer(hub->loop, &hub->sweep);
}

/* ---- the start waits for required servers */

static void start_is_over(struct mcp_hub *hub)
{
    hub->has_started = true;
    uv_sem_post(&hub->started);
}

static void stop_waiting_for(struct hub_server *s)
{
    loop_timer_free(s->awaited);
    s->awaited = NULL;
    s->hub->n_awaited--;
}

static void start_fails(struct hub_server *s, str why)
{
    if (s->hub->has_started)
        return;
    err_set(&s->hub->start_failure, ERR_UPSTREAM_UNAVAILABLE,
            "MCP server %.*s is required and not available: %.*s", STR_ARG(s->conf->label),
            STR_ARG(why));
    start_is_over(s->hub);
}

static void on_awaited_too_long(void *arg)
{
    struct hub_server *s = arg;
    str error = mcp_session_error(s->session);

    start_fails(s, error.len > 0 ? error : STR("it did not answer in time"));
    stop_waiting_for(s);
}

static void await_server(struct hub_server *s)
{
    struct mcp_hub *hub = s->hub;

    if (hub->has_started || !s->conf->is_required)
        return;
    if (s->session == NULL) {
        start_fails(s,
                    s->conf->problem != NULL ? str_from_c(s->conf->problem) : STR("out of memory"));
        return;
    }
    s->awaited = loop_timer_new(hub->loop, on_awaited_too_long, s);
    if (s->awaited == NULL) {
        start_fails(s, STR("out of memory"));
        return;
    }
    hub->n_awaited++;
    loop_timer_start(s->awaited, s->conf->startup_timeout_ms);
}

static void check_awaited(struct hub_server *s)
{
    if (s->awaited == NULL)
        return;
    if (mcp_session_state(s->session) == MCP_FAILED)
        start_fails(s, mcp_session_error(s->session));
    else if (!hub_server_is_available(s))
        return;
    stop_waiting_for(s);
    if (s->hub->n_awaited == 0 && !s->hub->has_started)
        start_is_over(s->hub);
}

void hub_server_changed(struct hub_server *s)
{
    if (s->hub->is_ending)
        return;
    hub_publish(s->hub);
    check_awaited(s);
}

/* ---- servers that are wanted */

struct wish {
    struct mcp_hub *hub;
    struct loop_message message;
    size_t len;
    char label[];
};

struct hub_server *hub_find_server(const struct mcp_hub *hub, str label)
{
    struct hub_server *s = hub->servers;

    while (s != NULL && !str_eq(s->conf->label, label))
        s = s->next;
    return s;
}

static void on_wish(void *arg)
{
    struct wish *w = arg;
    struct hub_server *s = hub_find_server(w->hub, str_from(w->label, w->len));

    if (s != NULL)
        hub_server_hurry(s);
    free(w);
}

void mcp_hub_want(struct mcp_hub *hub, str label)
{
    struct wish *w = malloc(sizeof(*w) + label.len);

    if (w == NULL)
        return;
    *w = (struct wish){.hub = hub, .message = {.fn = on_wish, .arg = w}, .len = label.len};
    memcpy(w->label, label.p, label.len);
    loop_post(hub->loop, &w->message);
}

/* ---- a new file */

struct reload {
    struct mcp_hub *hub;
    struct loop_message message;
    struct mcp_config *now;
    struct hub_server *servers, **last; /* of now */
    size_t n[MCP_GONE + 1];
};

static void add_server(struct reload *r, const struct mcp_server_conf *conf)
{
    struct hub_server *s = calloc(1, sizeof(*s));

    if (s == NULL) {
        log_line(LOG_ERROR, "mcp_start_failed",
                 (struct log_field[]){LOG_STR("server", conf->label),
                                      LOG_STR("error", STR("out of memory")), LOG_END});
        return;
    }
    s->hub = r->hub;
    s->table = mcp_config_ref(r->now);
    s->conf = conf;
    *r->last = s;
    r->last = &s->next;
    if (mcp_server_conf_is_usable(conf))
        (void)hub_server_start(s, r->hub->client);
}

/* Takes a server out of the list; NULL when there was no memory to make it before. */
static struct hub_server *take_server(struct mcp_hub *hub, str label)
{
    for (struct hub_server **place = &hub->servers; *place != NULL; place = &(*place)->next) {
        struct hub_server *s = *place;

        if (str_eq(s->conf->label, label)) {
            *place = s->next;
            s->next = NULL;
            return s;
        }
    }
    return NULL;
}

static void on_server(void *arg, enum mcp_change change, const struct mcp_server_conf *old,
                      const struct mcp_server_conf *now)
{
    struct reload *r = arg;
    struct hub_server *s = old == NULL ? NULL : take_server(r->hub, old->label);

    r->n[change]++;
    if (change == MCP_UNCHANGED && s != NULL) {
        *r->last = s;
        r->last = &s->next;
        return;
    }
    if (s != NULL)
        hub_server_leave(s, false);
    if (now != NULL)
        add_server(r, now);
}

static void apply_reload(struct reload *r)
{
    struct mcp_hub *hub = r->hub;

    r->last = &r->servers;
    mcp_config_compare(hub->table, r->now, on_server, r);
    mcp_config_unref(hub->table);
    hub->table = r->now;
    hub->servers = r->servers;
    hub_publish(hub);
}

static void on_first_file(void *arg)
{
    struct mcp_hub *hub = arg;
    struct reload r = {.hub = hub, .now = hub->conf.servers};

    hub->conf.servers = NULL; /* its reference has moved on */
    apply_reload(&r);
    for (struct hub_server *s = hub->servers; s != NULL; s = s->next)
        await_server(s);
    if (hub->n_awaited == 0 && !hub->has_started)
        start_is_over(hub);
}

static void on_reload(void *arg)
{
    struct reload *r = arg;

    apply_reload(r);
    log_line(LOG_INFO, "mcp_reload",
             (struct log_field[]){
                 LOG_INT("unchanged", r->n[MCP_UNCHANGED]), LOG_INT("changed", r->n[MCP_CHANGED]),
                 LOG_INT("new", r->n[MCP_NEW]), LOG_INT("removed", r->n[MCP_GONE]), LOG_END});
    free(r);
}

void mcp_hub_reload(struct mcp_hub *hub, struct mcp_config *now)
{
    struct reload *r = malloc(sizeof(*r));

    if (r == NULL || hub_wake(hub, NULL) == -1) {
        free(r);
        log_msg(LOG_ERROR, "MCP servers: out of memory, the new file has no effect; reload again");
        return;
    }
    *r = (struct reload){
        .hub = hub, .message = {.fn = on_reload, .arg = r}, .now = mcp_config_ref(now)};
    loop_post(hub->loop, &r->message);
}

/* ---- the end */

static void on_end_too_late(void *arg)
{
    struct mcp_hub *hub = arg;

    loop_stop(hub->loop);
}

static void all_leave(struct mcp_hub *hub)
{
    struct hub_server *s;

    for (s = hub->leaving, hub->leaving = NULL; s != NULL;) { /* some still have calls */
        struct hub_server *next = s->next;

        hub_server_leave(s, true);
        s = next;
    }
    while ((s = hub->servers) != NULL) {
        hub->servers = s->next;
        hub_server_leave(s, true);
    }
    while (hub->remotes != NULL)
        hub_remote_close(hub->remotes->remote, true);
}

static void on_end(void *arg)
{
    struct mcp_hub *hub = arg;

    hub->is_ending = true;
    loop_timer_start(hub->end_timer, END_MS);
    all_leave(hub);
    hub_sweep_soon(hub);
}

static void thread_main(void *arg)
{
    struct mcp_hub *hub = arg;

    loop_run(hub->loop);
}

static void close_hub_loop(struct mcp_hub *hub)
{
    http_client_free(hub->client);
    http_client_free(hub->remote_client);
    loop_timer_free(hub->end_timer);
    loop_free(hub->loop);
    hub->client = hub->remote_client = NULL;
    hub->end_timer = NULL;
    hub->loop = NULL;
}

/* Frees a hub whose thread has ended or was never started. */
static void hub_fini(struct mcp_hub *hub)
{
    close_hub_loop(hub);
    mcp_config_unref(hub->table);
    mcp_config_unref(hub->conf.servers);
    mcp_snapshot_unref(hub->snapshot);
    uv_mutex_destroy(&hub->lock);
    uv_mutex_destroy(&hub->start_lock);
    uv_sem_destroy(&hub->started);
    free(hub);
}

static bool is_resolving(const struct mcp_hub *hub)
{
    return http_client_is_resolving(hub->client) || http_client_is_resolving(hub->remote_client);
}

bool mcp_hub_free(struct mcp_hub *hub)
{
    if (hub == NULL)
        return true;
    if (hub->loop == NULL) {
        hub_fini(hub);
        return true;
    }
    loop_post(hub->loop, &hub->end);
    (void)uv_thread_join(&hub->thread);
    if (hub->leaving != NULL)
        log_msg(LOG_WARN, "MCP servers have not ended in %d s and are left alone", END_MS / 1000);
    if (hub->leaving != NULL || is_resolving(hub))
        return false;
    hub_fini(hub);
    return true;
}

/* ---- the start */

static bool open_clients(struct mcp_hub *hub)
{
    const struct http_client_conf configured = {
        .max_idle_connections = IDLE_CONNECTIONS,
        .ca_file = hub->conf.ca_file,
        .proxy = hub->conf.proxy,
        .verify_tls = hub->conf.verify_tls,
    };
    const struct http_client_conf remote = {
        .max_idle_connections = IDLE_CONNECTIONS,
        .verify_tls = true, /* MCP 16.4 */
        .may_connect = hub->conf.may_connect,
    };

    hub->client = http_client_new(hub->loop, &configured);
    hub->remote_client = http_client_new(hub->loop, &remote);
    return hub->client != NULL && hub->remote_client != NULL;
}

static int open_hub_loop(struct mcp_hub *hub, struct err *reterr)
{
    hub->loop = loop_new(reterr);
    if (hub->loop == NULL)
        return -1;
    hub->end_timer = loop_timer_new(hub->loop, on_end_too_late, hub);
    if (hub->end_timer == NULL || !open_clients(hub))
        return err_set_no_memory(reterr);
    if (uv_thread_create(&hub->thread, thread_main, hub) != 0) {
        err_set(reterr, ERR_INTERNAL, "The thread for MCP servers could not be started.");
        return -1;
    }
    loop_post(hub->loop, &hub->begin);
    return 0;
}

int hub_wake(struct mcp_hub *hub, struct err *reterr)
{
    int rc = 0;

    uv_mutex_lock(&hub->start_lock);
    if (hub->loop == NULL) {
        rc = open_hub_loop(hub, reterr);
        if (rc == -1)
            close_hub_loop(hub);
    }
    uv_mutex_unlock(&hub->start_lock);
    return rc;
}

static bool init_locks(struct mcp_hub *hub)
{
    if (uv_sem_init(&hub->started, 0) != 0)
        return false;
    if (uv_mutex_init(&hub->lock) == 0) {
        if (uv_mutex_init(&hub->start_lock) == 0)
            return true;
        uv_mutex_destroy(&hub->lock);
    }
    uv_sem_destroy(&hub->started);
    return false;
}

static struct mcp_hub *hub_new(const struct mcp_hub_conf *conf)
{
    struct mcp_hub *hub = calloc(1, sizeof(*hub));

    if (hub == NULL || !init_locks(hub)) {
        free(hub);
        return NULL;
    }
    hub->begin = (struct loop_message){.fn = on_first_file, .arg = hub};
    hub->sweep = (struct loop_message){.fn = sweep_stopped, .arg = hub};
    hub->end = (struct loop_message){.fn = on_end, .arg = hub};
    hub->conf = *conf;
    hub->conf.servers = mcp_config_ref(conf->servers);
    return hub;
}

struct mcp_hub *mcp_hub_new(const struct mcp_hub_conf *conf, struct err *reterr)
{
    struct mcp_hub *hub = hub_new(conf);

    if (hub == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    if (conf->servers == NULL) { /* most gateways: a thread and clients would only take memory */
        hub_publish(hub);
        return hub;
    }
    if (hub_wake(hub, reterr) == -1) {
        hub_fini(hub);
        return NULL;
    }
    uv_sem_wait(&hub->started);
    if (hub->start_failure.code == ERR_NONE)
        return hub;
    *reterr = hub->start_failure;
    (void)mcp_hub_free(hub);
    return NULL;
}
