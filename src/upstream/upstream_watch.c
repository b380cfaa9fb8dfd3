/* upstream_watch.c -- one lock, held for moments; probes on the main thread's loop. */
#include "upstream/upstream_watch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <uv.h>

#include "ev/log.h"
#include "ev/loop.h"
#include "http/http_client.h"
#include "upstream/upstream_probe.h"

/* After a probe that found nobody, and after one that waited in vain. A connection that is refused
 * costs nothing; silence costs every turn that waits for it. What was asked and said the same again
 * is left alone twice as long each time: a proxy that has no better answer, servers in turns that
 * call themselves differently. A model that is being loaded has an end. */
enum {
    AGAIN_AFTER_MS = 1000,
    AGAIN_AFTER_SILENCE_MS = 10000,
    MOST_DOUBLINGS = 6,
    MOST_DOUBLINGS_LOADING = 3,
    MAX_SERVER_BYTES = 128,
};

/* Why nothing is known: said once, until it changes. */
enum miss { MISS_NONE, MISS_UNREACHABLE, MISS_SILENT, MISS_UNKNOWN };

struct upstream_watch {
    struct loop *loop;
    struct loop_message due, down; /* it is to be asked; nobody could reach it just now */
    struct http_client *client;
    struct upstream_probe_conf conf; /* of probes */
    struct upstream_probe *probe;    /* of the loop's thread; or NULL */
    bool asks;                       /* there is something to be asked */
    atomic_int state;                /* enum upstream_state */
    struct loop_timer *again;        /* while it is down and GET /ready depends on it; or NULL */
    struct upstream_probe *look;     /* whether it is up again; of the loop's thread; or NULL */

    uv_mutex_t lock;              /* guards what follows; only posting is done while it is held */
    struct upstream_facts *facts; /* NULL: nothing is known */
    struct upstream_waiter *waiters;
    uint64_t again_ms; /* not asked before */
    unsigned n_futile; /* probes in a row that said what was known */
    enum miss miss;
    bool is_probing;
    bool is_lost;                          /* since the facts were found */
    bool was_silent;                       /* when it was asked last */
    char odd_server[MAX_SERVER_BYTES + 1]; /* a Server header that asking again did not explain */
    bool has_odd_server;
};

/* ---- is it there? */

enum upstream_state upstream_watch_state(const struct upstream_watch *w)
{
    return w == NULL ? UPSTREAM_UP
                     : (enum upstream_state)atomic_load_explicit(&w->state, memory_order_relaxed);
}

static void start_again(void *arg)
{
    enum { AGAIN_EVERY_MS = 2000 };
    struct upstream_watch *w = arg;

    loop_timer_start(w->again, AGAIN_EVERY_MS);
}

/* Written only when it changes: all workers read it. */
static void note_state(struct upstream_watch *w, bool is_up)
{
    const enum upstream_state now = is_up ? UPSTREAM_UP : UPSTREAM_DOWN;

    if (w == NULL || upstream_watch_state(w) == now)
        return;
    atomic_store(&w->state, now);
    if (!is_up && w->again != NULL)
        loop_post(w->loop, &w->down);
}

/* What has broken off or is slow is there. */
void upstream_watch_hear_end(struct upstream_watch *w, const struct err *failure)
{
    if (failure == NULL)
        note_state(w, true);
    else if (failure->code == ERR_UPSTREAM_UNAVAILABLE)
        note_state(w, false);
}

static uint64_t clock_ms(void)
{
    return uv_hrtime() / 1000000;
}

/* ---- what is said */

static void log_facts(const struct upstream_facts *f)
{
    const struct upstream_finding *found = &f->finding;
    const str version = str_from_c(found->version);

    log_line(LOG_INFO, "upstream recognised",
             (struct log_field[]){LOG_STR("kind", upstream_profile(found->kind)->word),
                                  LOG_STR("by", str_from_c(found->by)),
                                  LOG_STR("version", version.len == 0 ? STR_NONE : version),
                                  LOG_END});
}

/* With the lock held. */
static void log_miss(struct upstream_watch *w, enum miss miss)
{
    static const char *const why[] = {
        [MISS_UNREACHABLE] = "unreachable",
        [MISS_SILENT] = "no_answer",
        [MISS_UNKNOWN] = "unknown_server",
    };

    if (w->miss == miss)
        return;
    w->miss = miss;
    log_line(LOG_INFO, "upstream not recognised",
             (struct log_field[]){LOG_STR("kind", upstream_profile(UPSTREAM_GENERIC)->word),
                                  LOG_STR("why", str_from_c(why[miss])), LOG_END});
}

static bool is_same_finding(const struct upstream_facts *a, const struct upstream_facts *b)
{
    return a != NULL && a->finding.kind == b->finding.kind &&
           strcmp(a->finding.version, b->finding.version) == 0 &&
           (a->finding.certainty == UPSTREAM_UNKNOWN) == (b->finding.certainty == UPSTREAM_UNKNOWN);
}

/* With the lock held: the facts are everybody's now. Takes the reference. */
static void publish_facts(struct upstream_watch *w, struct upstream_facts *facts)
{
    if (facts->finding.certainty == UPSTREAM_UNKNOWN) {
        log_miss(w, MISS_UNKNOWN);
    } else {
        w->miss = MISS_NONE;
        if (!is_same_finding(w->facts, facts))
            log_facts(facts);
    }
    upstream_facts_unref(w->facts);
    w->facts = facts;
}

/* ---- asking */

static void wake_waiters(struct upstream_watch *w)
{
    struct upstream_waiter *next;

    for (struct upstream_waiter *i = w->waiters; i != NULL; i = next) {
        next = i->next; /* it may wait again as soon as it has heard */
        loop_post(i->loop, &i->known);
    }
    w->waiters = NULL;
}

/* With the lock held, before the facts are published: how long it is not asked again. */
static uint64_t pause_after_probe(struct upstream_watch *w, const struct upstream_facts *facts,
                                  bool was_silent)
{
    unsigned most;

    if (was_silent)
        return AGAIN_AFTER_SILENCE_MS;
    if (facts == NULL)
        return AGAIN_AFTER_MS;
    most = facts->is_partial ? MOST_DOUBLINGS_LOADING : MOST_DOUBLINGS;
    if (!is_same_finding(w->facts, facts) || w->facts->is_partial != facts->is_partial)
        w->n_futile = 0;
    else
        w->n_futile++;
    return (uint64_t)AGAIN_AFTER_MS << (w->n_futile < most ? w->n_futile : most);
}

static void on_probe_done(void *arg, struct upstream_facts *facts, bool was_silent)
{
    struct upstream_watch *w = arg;

    w->probe = NULL;
    note_state(w, facts != NULL);
    uv_mutex_lock(&w->lock);
    w->is_probing = false;
    w->was_silent = was_silent;
    w->again_ms = clock_ms() + pause_after_probe(w, facts, was_silent);
    if (facts != NULL) {
        w->is_lost = false;
        publish_facts(w, facts);
    } else if (w->facts == NULL && w->conf.known.certainty == UPSTREAM_UNKNOWN) {
        log_miss(w, was_silent ? MISS_SILENT : MISS_UNREACHABLE);
    }
    wake_waiters(w);
    uv_mutex_unlock(&w->lock);
}

static void start_probe(void *arg)
{
    struct upstream_watch *w = arg;
    struct err e;

    w->probe = upstream_probe_start(w->client, &w->conf, on_probe_done, w, &e);
    if (w->probe == NULL)
        on_probe_done(w, NULL, false);
}

/* With the lock held. */
static void begin_probing(struct upstream_watch *w)
{
    w->is_probing = true;
    loop_post(w->loop, &w->due);
}

static bool may_probe(const struct upstream_watch *w)
{
    return w->asks && !w->is_probing && clock_ms() >= w->again_ms;
}

/* Silence about a path is not worth waiting for twice. */
static bool is_worth_waiting(const struct upstream_watch *w)
{
    return w->facts == NULL || w->is_lost || (w->facts->is_partial && !w->was_silent);
}

bool upstream_watch_await(struct upstream_watch *w, struct upstream_waiter *waiter)
{
    bool must_wait = false;

    if (w == NULL)
        return false;
    uv_mutex_lock(&w->lock);
    if (w->facts == NULL || w->is_lost || w->facts->is_partial) {
        if (may_probe(w))
            begin_probing(w);
        must_wait = w->is_probing && is_worth_waiting(w);
    }
    if (must_wait) {
        waiter->next = w->waiters;
        w->waiters = waiter;
    }
    uv_mutex_unlock(&w->lock);
    return must_wait;
}

struct upstream_facts *upstream_watch_facts(struct upstream_watch *w)
{
    struct upstream_facts *facts;

    if (w == NULL)
        return NULL;
    uv_mutex_lock(&w->lock);
    facts = upstream_facts_ref(w->facts);
    uv_mutex_unlock(&w->lock);
    return facts;
}

/* ---- when nobody is sent here because it is down, nobody would notice that it is up */

static void on_asked_again(void *arg, struct upstream_facts *facts, bool was_silent)
{
    struct upstream_watch *w = arg;

    (void)was_silent;
    w->look = NULL;
    note_state(w, facts != NULL);
    upstream_facts_unref(facts);
    if (upstream_watch_state(w) == UPSTREAM_DOWN)
        start_again(w);
}

static void ask_again(void *arg)
{
    struct upstream_watch *w = arg;
    struct err e;

    if (upstream_watch_state(w) != UPSTREAM_DOWN || w->look != NULL)
        return;
    w->look = upstream_probe_start(w->client, &w->conf, on_asked_again, w, &e);
    if (w->look == NULL)
        start_again(w);
}

static bool is_needed(const struct config *c)
{
    for (size_t i = 0; i < c->ready_needs.n; i++) {
        if (strcmp(c->ready_needs.items[i], "upstream") == 0)
            return c->upstream_probe_timeout_ms > 0;
    }
    return false;
}

/* ---- what turns hear */

/* May answers tell more than these facts? */
static bool is_open_to_news(const struct upstream_facts *facts)
{
    return facts == NULL || facts->finding.certainty < UPSTREAM_SURE;
}

static bool is_news(const struct upstream_facts *facts, const struct upstream_finding *heard)
{
    return facts == NULL ||
           (heard->certainty > facts->finding.certainty &&
            (heard->kind != facts->finding.kind || facts->finding.certainty == UPSTREAM_UNKNOWN));
}

/* What an answer says is newer than the facts. What tells nothing new changes nothing. server: its
 * header, when that is what the answers of this server have; else STR_NONE. */
static void learn_finding(struct upstream_watch *w, const struct upstream_finding *heard,
                          str server)
{
    struct upstream_facts *facts;

    if (heard->certainty == UPSTREAM_UNKNOWN)
        return;
    uv_mutex_lock(&w->lock);
    if (is_news(w->facts, heard)) {
        facts = upstream_facts_with(w->facts, heard);
        if (facts != NULL && !str_is_none(server))
            facts->server = arena_dup(&facts->memory, server);
        if (facts != NULL && w->facts == NULL)
            facts->is_partial = true; /* it has not been asked, or not answered */
        if (facts != NULL)
            publish_facts(w, facts);
    }
    uv_mutex_unlock(&w->lock);
}

static str server_of(const struct http_header *headers, size_t n_headers)
{
    for (size_t i = 0; i < n_headers; i++) {
        if (str_eq_nocase(headers[i].name, STR("server")))
            return str_from(headers[i].value.p, headers[i].value.len <= MAX_SERVER_BYTES
                                                    ? headers[i].value.len
                                                    : (size_t)MAX_SERVER_BYTES);
    }
    return STR("");
}

/* Another server than the one that was asked? Proxies answer some paths themselves: a header that
 * did not lead to anything new is known from then on. */
static void suspect_server(struct upstream_watch *w, str server)
{
    uv_mutex_lock(&w->lock);
    if (may_probe(w) && !(w->has_odd_server && str_eq(server, str_from_c(w->odd_server)))) {
        memcpy(w->odd_server, server.p, server.len);
        w->odd_server[server.len] = '\0';
        w->has_odd_server = true;
        begin_probing(w);
    }
    uv_mutex_unlock(&w->lock);
}

void upstream_watch_hear_head(struct upstream_watch *w, const struct upstream_facts *facts,
                              const struct http_header *headers, size_t n_headers)
{
    struct upstream_finding heard = {.by = NULL};
    str server, known;

    note_state(w, true);
    if (w == NULL || !w->asks)
        return;
    server = server_of(headers, n_headers);
    if (is_open_to_news(facts)) {
        for (size_t i = 0; i < n_headers; i++)
            upstream_sign_header(headers[i].name, headers[i].value, &heard);
        learn_finding(w, &heard, server);
    }
    /* A proxy that passes on the header of what answers behind it has not been replaced. */
    if (facts == NULL || heard.certainty != UPSTREAM_UNKNOWN)
        return;
    known = str_is_none(facts->server) ? STR("") : facts->server;
    if (!str_eq(server, known))
        suspect_server(w, server);
}

void upstream_watch_hear_body(struct upstream_watch *w, const struct upstream_facts *facts,
                              str bytes)
{
    struct upstream_finding heard = {.by = NULL};

    if (w == NULL || !w->asks || !is_open_to_news(facts))
        return;
    /* A gateway to several models passes on the fingerprint of what serves one of them. */
    if (facts != NULL && facts->models.n > 1)
        return;
    upstream_sign_answer(bytes, &heard);
    learn_finding(w, &heard, STR_NONE);
}

void upstream_watch_lose(struct upstream_watch *w)
{
    if (w == NULL)
        return;
    uv_mutex_lock(&w->lock);
    w->is_lost = true;
    uv_mutex_unlock(&w->lock);
}

/* ---- what is known before */

struct upstream_finding upstream_watch_told(const struct config *config, str base)
{
    struct upstream_finding told = {.by = NULL};

    if (upstream_kind_find(str_from_c(config->upstream_kind), &told.kind)) {
        told.certainty = UPSTREAM_SURE;
        told.by = UPSTREAM_BY_CONFIGURATION;
    } else {
        upstream_sign_url(base, &told);
    }
    return told;
}

static struct upstream_probe_conf probe_conf(const struct config *config, str base,
                                             str authorization)
{
    return (struct upstream_probe_conf){.base = base,
                                        .authorization = authorization,
                                        .timeout_ms = config->upstream_probe_timeout_ms,
                                        .known = upstream_watch_told(config, base)};
}

static bool is_worth_asking(const struct upstream_probe_conf *conf)
{
    enum upstream_path path;

    return conf->timeout_ms > 0 && upstream_sign_next(&conf->known, 0, &path);
}

static struct http_client *open_client(struct loop *loop, const struct config *c)
{
    const struct http_client_conf conf = {.max_idle_connections = 1,
                                          .ca_file = c->ca_file,
                                          .proxy = c->proxy,
                                          .verify_tls = c->tls_verify};

    return http_client_new(loop, &conf);
}

/* ---- one look */

struct look {
    struct loop *loop;
    struct upstream_facts *facts;
};

static void on_looked(void *arg, struct upstream_facts *facts, bool was_silent)
{
    struct look *look = arg;

    (void)was_silent;
    look->facts = facts;
    loop_stop(look->loop);
}

struct upstream_facts *upstream_watch_look(const struct config *config, str base, str authorization)
{
    const struct upstream_probe_conf conf = probe_conf(config, base, authorization);
    struct look look = {.facts = NULL};
    struct http_client *client = NULL;
    struct err e;

    if (!is_worth_asking(&conf))
        return NULL;
    look.loop = loop_new(&e);
    if (look.loop != NULL)
        client = open_client(look.loop, config);
    if (client != NULL && upstream_probe_start(client, &conf, on_looked, &look, &e) != NULL)
        loop_run(look.loop);
    http_client_free(client);
    loop_free(look.loop);
    return look.facts;
}

/* ---- open and close */

struct upstream_watch *upstream_watch_new(struct loop *loop, const struct config *config, str base,
                                          str authorization, struct err *reterr)
{
    struct upstream_watch *w = calloc(1, sizeof(*w));

    if (w == NULL || uv_mutex_init(&w->lock) != 0) {
        free(w);
        err_set_no_memory(reterr);
        return NULL;
    }
    w->loop = loop;
    w->due = (struct loop_message){.fn = start_probe, .arg = w};
    w->down = (struct loop_message){.fn = start_again, .arg = w};
    w->conf = probe_conf(config, base, authorization);
    w->asks = is_worth_asking(&w->conf);
    atomic_init(&w->state, UPSTREAM_UNHEARD);
    w->client = open_client(loop, config);
    if (is_needed(config))
        w->again = loop_timer_new(loop, ask_again, w);
    if (w->client == NULL || (is_needed(config) && w->again == NULL)) {
        upstream_watch_free(w);
        err_set(reterr, ERR_INTERNAL, "An HTTP client could not be set up.");
        return NULL;
    }
    if (w->conf.known.certainty != UPSTREAM_UNKNOWN && !w->asks)
        w->facts = upstream_facts_with(NULL, &w->conf.known);
    if (w->facts != NULL && strcmp(w->facts->finding.by, UPSTREAM_BY_URL) == 0)
        log_facts(w->facts);
    if (w->asks)
        begin_probing(w);
    return w;
}

void upstream_watch_free(struct upstream_watch *w)
{
    if (w == NULL)
        return;
    upstream_probe_cancel(w->probe);
    upstream_probe_cancel(w->look);
    loop_timer_free(w->again);
    http_client_free(w->client);
    upstream_facts_unref(w->facts);
    uv_mutex_destroy(&w->lock);
    free(w);
}

bool upstream_watch_is_resolving(const struct upstream_watch *w)
{
    return w != NULL && http_client_is_resolving(w->client);
}
