/* reload.c -- the parts of what can be read again, and who waits for that. */
#include "daemon/reload.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "access/key_table.h"
#include "daemon/drain.h"
#include "daemon/mcp_servers.h"
#include "daemon/metrics_setup.h"
#include "daemon/server_internal.h"
#include "daemon/settings_read.h"
#include "daemon/tls_listener.h"
#include "daemon/upstreams.h"
#include "ev/log.h"
#include "flight/settings.h"
#include "flight/worker.h"
#include "flight/worker_settings.h"

/* A question to a worker, which reaches it behind what it was given. */
struct question {
    struct reload *reload;
    struct loop_message there, back;
};

struct reload {
    struct server *server;
    struct question *questions; /* one for each worker */
    unsigned n_waited_for;      /* workers that have not answered; 0: none runs */
    bool is_wanted_again;
    struct life_reload *asked, *served; /* that wait for the next; for this one */
    struct life_result results[LIFE_PARTS];
    size_t n_results;
};

/* ---- the parts */

static bool has_servers(const struct server *s)
{
    return s->servers != NULL;
}

static bool read_servers(struct server *s)
{
    struct mcp_config *now = mcp_servers_reload(s->config, s->servers);

    log_reload("mcp", now != NULL, NULL);
    if (now == NULL)
        return false;
    mcp_hub_reload(s->hub, now);
    mcp_config_unref(s->servers);
    s->servers = now;
    return true;
}

static bool has_keys(const struct server *s)
{
    return keys_are_in_file(s->config);
}

/* The owners of the table before may be those of turns that run; their texts stay. */
static bool read_keys(struct server *s)
{
    const struct api_keys *former = s->table != NULL ? key_table_keys(s->table) : s->keys;
    struct key_table *now = key_table_reload(s->sources, former, &s->memory, s->n_threads);

    if (now == NULL)
        return false;
    key_table_unref(s->table);
    s->table = now;
    for (unsigned i = 0; i < s->n_threads; i++)
        worker_give_keys(s->workers[i], now);
    return true;
}

static bool has_tls(const struct server *s)
{
    return s->tls != NULL;
}

static bool read_certificates(struct server *s)
{
    return tls_listener_reload(s->tls);
}

static bool has_settings(const struct server *s)
{
    return settings_are_in_file(s->sources);
}

/* Settings of before go with the last worker that still has turns of theirs; those that say the same are not
 * exchanged. */
static bool read_settings(struct server *s)
{
    const struct config *before = s->settings != NULL ? &s->settings->config : s->config;
    struct settings *now = settings_read(s->sources, s->config, s->keys->n > 0);

    const bool is_same = now != NULL && config_is_same(&now->config, before);

    if (now != NULL && !is_same && upstreams_set(s, now) == -1) {
        settings_unref(now);
        now = NULL;
    }
    log_reload("settings", now != NULL, NULL);
    if (now == NULL)
        return false;
    log_set_level((enum log_level)now->config.log_level, 0);
    if (is_same) {
        settings_unref(now);
        return true;
    }
    metrics_learn_models(&now->config);
    settings_unref(s->settings);
    s->settings = now;
    for (unsigned i = 0; i < s->n_threads; i++)
        worker_give_settings(s->workers[i], now);
    return true;
}

static const struct {
    const char *name;
    bool (*is_there)(const struct server *s);
    bool (*read)(struct server *s);
} parts[] = {
#define RELOAD_PART(name, is_there, read) {name, is_there, read},
#include "daemon/reload_part.def"
};

_Static_assert((int)COUNT_OF(parts) <= (int)LIFE_PARTS, "all have a result");

/* A service manager that has told us to reload means that. */
bool reload_is_possible(const struct server *s)
{
    if (notify_is_heard(&s->notify))
        return true;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (parts[i].is_there(s))
            return true;
    }
    return false;
}

static void read_parts(struct reload *r)
{
    r->n_results = 0;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        struct life_result result = {.part = parts[i].name};

        if (!parts[i].is_there(r->server))
            continue;
        result.is_good = parts[i].read(r->server);
        metrics_note_reload(str_from_c(result.part), result.is_good);
        r->results[r->n_results++] = result;
    }
}

/* ---- one after the other */

static void answer_all(struct life_reload *asked, const struct reload *r)
{
    while (asked != NULL) {
        struct life_reload *ask = asked;

        asked = ask->next;
        memcpy(ask->results, r->results, sizeof(ask->results));
        ask->n_results = r->n_results;
        loop_post(ask->loop, &ask->done); /* which may free it */
    }
}

static void count_reload(const struct reload *r)
{
    struct life *life = &r->server->life;
    bool is_good = true;

    for (size_t i = 0; i < r->n_results; i++)
        is_good = is_good && r->results[i].is_good;
    (void)atomic_fetch_add(&life->n_reloads, 1);
    if (!is_good)
        (void)atomic_fetch_add(&life->n_failed_reloads, 1);
}

static void end_reload(struct reload *r)
{
    struct life_reload *served = r->served;

    count_reload(r);
    r->served = NULL;
    notify_send(&r->server->notify, "READY=1");
    answer_all(served, r);
    if (!r->is_wanted_again)
        return;
    r->is_wanted_again = false;
    reload_start(r);
}

/* On a worker's thread: it has taken what was given before. */
static void on_question(void *arg)
{
    struct question *q = arg;

    loop_post(q->reload->server->loop, &q->back);
}

static void on_answer(void *arg)
{
    const struct question *q = arg;

    if (--q->reload->n_waited_for == 0)
        end_reload(q->reload);
}

static uint64_t monotonic_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void reload_start(struct reload *r)
{
    struct server *s = r->server;

    if (r->n_waited_for > 0) {
        r->is_wanted_again = true;
        return;
    }
    r->served = r->asked;
    r->asked = NULL;
    r->n_results = 0;
    if (drain_is_to_end(s->drain)) {
        answer_all(r->served, r);
        r->served = NULL;
        return;
    }
    notify_send(&s->notify, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, monotonic_us());
    read_parts(r);
    r->n_waited_for = s->n_threads;
    for (unsigned i = 0; i < s->n_threads; i++)
        loop_post(s->workers[i]->loop, &r->questions[i].there);
}

static void on_ask(void *arg)
{
    struct life_reload *ask = arg;
    struct reload *r = ask->of;

    ask->next = r->asked;
    r->asked = ask;
    reload_start(r);
}

void reload_ask(struct reload *r, struct life_reload *ask)
{
    ask->of = r;
    ask->ask = (struct loop_message){.fn = on_ask, .arg = ask};
    loop_post(r->server->loop, &ask->ask);
}

/* ---- begin and end */

struct reload *reload_new(struct server *s, struct err *reterr)
{
    struct reload *r = calloc(1, sizeof(*r));

    if (r != NULL)
        r->questions = calloc(s->n_workers, sizeof(*r->questions));
    if (r == NULL || r->questions == NULL) {
        err_set_no_memory(reterr);
        reload_free(r);
        return NULL;
    }
    r->server = s;
    for (unsigned i = 0; i < s->n_workers; i++) {
        struct question *q = &r->questions[i];

        *q = (struct question){.reload = r};
        q->there = (struct loop_message){.fn = on_question, .arg = q};
        q->back = (struct loop_message){.fn = on_answer, .arg = q};
    }
    return r;
}

void reload_free(struct reload *r)
{
    if (r == NULL)
        return;
    free(r->questions);
    free(r);
}
