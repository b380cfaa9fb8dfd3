/* upstream_watch.c -- one lock, held for moments; probes on the main thread's loop. */
#include <stdlib.h>

#include "base/secrets.h"
#include "ev/log.h"
#include "http/http_client.h"
#include "metrics/metrics.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_watch_internal.h"

/* After a probe that found nobody, and after one that waited in vain. A connection that is refused
 * costs nothing; silence costs every turn that waits for it. What was asked and said the same again
 * is left alone twice as long each time: a proxy that has no better answer, servers in turns that
 * call themselves differently. A model that is being loaded has an end. */
enum {
    AGAIN_AFTER_MS = 1000,
    AGAIN_AFTER_SILENCE_MS = 10000,
    MOST_DOUBLINGS = 6,
    MOST_DOUBLINGS_LOADING = 3,
    LIST_AGAIN_MS = 5000, /* OPERATIONS 4.3 */
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

    if (!w->is_resting)
        loop_timer_start(w->again, AGAIN_EVERY_MS);
}

/* An upstream that is there when it is asked first is no news. The URL holds no user: the configuration
 * takes none. */
static void log_state(const struct upstream_watch *w, enum upstream_state former, bool is_up,
                      str why)
{
    if ((former == UPSTREAM_UNHEARD && is_up) || !str_is_none(w->name_among_several))
        return;
    log_line(is_up ? LOG_INFO : LOG_WARN, "upstream",
             (struct log_field[]){LOG_STR("state", is_up ? STR("up") : STR("down")),
                                  LOG_STR("url", w->conf.base), LOG_STR("message", why), LOG_END});
}

/* Written only when it changes: all workers read it. One of those who see a change tells of it. */
void upstream_watch_note_state(struct upstream_watch *w, bool is_up, str why)
{
    const enum upstream_state now = is_up ? UPSTREAM_UP : UPSTREAM_DOWN;
    enum upstream_state former;

    if (w == NULL || upstream_watch_state(w) == now)
        return;
    former = (enum upstream_state)atomic_exchange(&w->state, (int)now);
    if (former == now)
        return;
    atomic_store(&w->since_s, clock_unix_s());
    log_state(w, former, is_up, why);
    if (!is_up && w->again != NULL)
        loop_post(w->loop, &w->down);
}

uint64_t upstream_watch_now_ms(void)
{
    return uv_hrtime() / 1000000;
}

/* ---- what is said */

static void log_facts(const struct upstream_watch *w, const struct upstream_facts *f)
{
    const struct upstream_finding *found = &f->finding;
    const str version = str_from_c(found->version);

    log_line(LOG_INFO, "upstream recognised",
             (struct log_field[]){LOG_STR("upstream", w->name_among_several),
                                  LOG_STR("kind", upstream_profile(found->kind)->word),
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
             (struct log_field[]){LOG_STR("upstream", w->name_among_several),
                                  LOG_STR("kind", upstream_profile(UPSTREAM_GENERIC)->word),
                                  LOG_STR("why", str_from_c(why[miss])), LOG_END});
}

static bool is_same_finding(const struct upstream_facts *a, const struct upstream_facts *b)
{
    return a != NULL && a->finding.kind == b->finding.kind &&
           strcmp(a->finding.version, b->finding.version) == 0 &&
           (a->finding.certainty == UPSTREAM_UNKNOWN) == (b->finding.certainty == UPSTREAM_UNKNOWN);
}

static void log_window(const struct upstream_watch *w, str model, const struct upstream_limits *l)
{
    const struct upstream_limits known = upstream_facts_limits(w->facts, model);

    if (l->window == 0 || (known.window == l->window && known.is_guess == l->is_guess))
        return;
    log_line(LOG_INFO, "upstream context window",
             (struct log_field[]){LOG_STR("upstream", w->name_among_several),
                                  LOG_STR("model", model), LOG_INT("tokens", l->window),
                                  LOG_STR("guess", l->is_guess ? STR("yes") : STR("no")), LOG_END});
}

/* Windows of a few models: nobody reads hundreds of lines. */
static void log_windows(const struct upstream_watch *w, const struct upstream_facts *now)
{
    enum { FEW = 8 };
    size_t n = now->models.n <= FEW ? now->models.n : 0;

    for (size_t i = 0; i < n; i++)
        log_window(w, now->models.v[i].id, &now->models.v[i].limits);
}

void upstream_watch_replace(struct upstream_watch *w, struct upstream_facts *facts)
{
    log_windows(w, facts);
    upstream_facts_unref(w->facts);
    w->facts = facts;
}

void upstream_watch_publish(struct upstream_watch *w, struct upstream_facts *facts)
{
    if (facts->finding.certainty == UPSTREAM_UNKNOWN) {
        log_miss(w, MISS_UNKNOWN);
    } else {
        w->miss = MISS_NONE;
        if (!is_same_finding(w->facts, facts))
            log_facts(w, facts);
    }
    if (facts->list == NULL && w->facts != NULL)
        facts->list = upstream_list_ref(w->facts->list); /* the last one stays */
    upstream_watch_replace(w, facts);
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

/* Are the limits of the models others than before? */
static bool is_same_limits(const struct upstream_facts *a, const struct upstream_facts *b)
{
    for (size_t i = 0; i < b->models.n; i++) {
        const struct upstream_limits *l = &b->models.v[i].limits;
        const struct upstream_limits known = upstream_facts_limits(a, b->models.v[i].id);

        if (known.window != l->window || known.is_guess != l->is_guess)
            return false;
    }
    return a->models.n == b->models.n;
}

/* With the lock held: what was known has been asked once more. A server that is busy and has not
 * answered all has not changed; what its answers to turns have told of it stays. Takes the
 * reference. */
static void renew_facts(struct upstream_watch *w, struct upstream_facts *facts, bool was_silent)
{
    const struct upstream_facts *old = w->facts;

    if (facts->is_partial && was_silent && !old->is_partial) {
        upstream_facts_unref(facts);
        return;
    }
    if (facts->finding.certainty < old->finding.certainty)
        facts->finding = old->finding;
    if (!is_same_limits(old, facts))
        w->n_same_limits = 0;
    upstream_watch_publish(w, facts);
}

static void end_renewal(struct upstream_watch *w, struct upstream_facts *facts, bool was_silent)
{
    const uint64_t now_ms = upstream_watch_now_ms();

    if (w->n_same_limits < MOST_DOUBLINGS)
        w->n_same_limits++;
    w->again_ms = now_ms + (was_silent ? AGAIN_AFTER_SILENCE_MS : AGAIN_AFTER_MS);
    if (facts != NULL)
        renew_facts(w, facts, was_silent);
    w->limits_again_ms = now_ms + ((uint64_t)AGAIN_AFTER_MS << w->n_same_limits);
}

/* With the lock held. */
static void end_recognition(struct upstream_watch *w, struct upstream_facts *facts, bool was_silent)
{
    w->again_ms = upstream_watch_now_ms() + pause_after_probe(w, facts, was_silent);
    if (facts != NULL) {
        w->is_lost = false;
        upstream_watch_publish(w, facts);
    } else if (w->facts == NULL && w->conf.known.certainty == UPSTREAM_UNKNOWN) {
        log_miss(w, was_silent ? MISS_SILENT : MISS_UNREACHABLE);
    }
}

/* Counts what has come of asking; a server that has not answered all loads its model. */
static void count_look(const struct upstream_watch *w, const struct upstream_facts *facts)
{
    const unsigned result = facts == NULL       ? METRIC_CHECK_FAIL
                            : facts->is_partial ? METRIC_CHECK_LOADING
                                                : METRIC_CHECK_OK;

    metrics_add(
        metrics_of(METRIC_HEALTH_CHECKS, &(struct metric_labels){{w->name, (uint16_t)result}}), 1);
}

static void note_probe(struct upstream_watch *w, bool is_up, bool was_silent)
{
    const str why = was_silent ? STR("no answer within upstream_probe_timeout")
                               : STR("nobody answers there: is it running, and is the URL right?");

    upstream_watch_note_state(w, is_up, is_up ? STR_NONE : why);
}

static void on_probe_done(void *arg, struct upstream_facts *facts, bool was_silent)
{
    struct upstream_watch *w = arg;

    w->probe = NULL;
    count_look(w, facts);
    note_probe(w, facts != NULL, was_silent);
    uv_mutex_lock(&w->lock);
    w->is_probing = false;
    w->was_silent = was_silent;
    w->asked_ms = upstream_watch_now_ms();
    if (w->is_renewal && !w->is_lost && w->facts != NULL)
        end_renewal(w, facts, was_silent);
    else
        end_recognition(w, facts, was_silent);
    w->is_renewal = false;
    w->is_rested = false;
    wake_waiters(w);
    uv_mutex_unlock(&w->lock);
}

/* Probes have a view of the key: while one is under way it stays. */
static void use_next_key(struct upstream_watch *w)
{
    struct buf former = w->key;

    if (!w->has_next_key || w->probe != NULL || w->look != NULL)
        return;
    w->key = w->next_key;
    w->next_key = (struct buf){.limit = 0};
    w->has_next_key = false;
    w->conf.authorization = w->key.len == 0 || buf_failed(&w->key) ? STR_NONE : buf_str(&w->key);
    secret_buf_fini(&former);
}

static void start_probe(void *arg)
{
    struct upstream_watch *w = arg;
    struct upstream_probe_conf conf;
    char wanted[MAX_WANTED_BYTES];
    struct err e;

    use_next_key(w);
    conf = w->conf;

    uv_mutex_lock(&w->lock);
    memcpy(wanted, w->wanted, w->n_wanted);
    if (w->n_wanted > 0)
        conf.model = str_from(wanted, w->n_wanted);
    uv_mutex_unlock(&w->lock);
    w->probe = upstream_probe_start(w->client, &conf, on_probe_done, w, &e);
    if (w->probe == NULL)
        on_probe_done(w, NULL, false);
}

void upstream_watch_begin_probing(struct upstream_watch *w)
{
    w->is_probing = true;
    loop_post(w->loop, &w->due);
}

void upstream_watch_begin_renewal(struct upstream_watch *w)
{
    w->is_renewal = true;
    upstream_watch_begin_probing(w);
}

void upstream_watch_want(struct upstream_watch *w, str model)
{
    if (str_is_none(model) || model.len > sizeof(w->wanted))
        return;
    memcpy(w->wanted, model.p, model.len);
    w->n_wanted = model.len;
}

bool upstream_watch_may_probe(const struct upstream_watch *w)
{
    return w->asks && !w->is_probing && upstream_watch_now_ms() >= w->again_ms;
}

/* Silence about a path is not worth waiting for twice. */
static bool is_worth_waiting(const struct upstream_watch *w)
{
    return w->facts == NULL || w->is_lost || (w->facts->is_partial && !w->was_silent);
}

/* With the lock held: a turn wants to know. What is old is asked again. A server that has been in use is
 * not waited for: it may be busy, and is as a rule the same. */
static void note_need(struct upstream_watch *w)
{
    const uint64_t now_ms = upstream_watch_now_ms();
    const bool is_old = w->refresh_ms > 0 && now_ms >= w->asked_ms + w->refresh_ms;

    if (is_old && w->facts != NULL && upstream_watch_may_probe(w)) {
        w->is_rested = now_ms >= w->needed_ms + w->refresh_ms;
        upstream_watch_begin_renewal(w);
    } else if (is_old && w->has_learned && !w->asks) {
        upstream_facts_unref(w->facts);
        w->facts = upstream_facts_with(NULL, &w->conf.known);
        w->has_learned = false;
    }
    w->needed_ms = now_ms;
}

bool upstream_watch_await(struct upstream_watch *w, struct upstream_waiter *waiter)
{
    bool must_wait;

    if (w == NULL)
        return false;
    uv_mutex_lock(&w->lock);
    note_need(w);
    must_wait = w->is_rested;
    if (w->facts == NULL || w->is_lost || w->facts->is_partial) {
        if (upstream_watch_may_probe(w))
            upstream_watch_begin_probing(w);
        must_wait = w->is_probing && is_worth_waiting(w);
    }
    if (must_wait) {
        waiter->next = w->waiters;
        w->waiters = waiter;
    }
    uv_mutex_unlock(&w->lock);
    return must_wait;
}

/* With the lock held: asks, in the way that fits what is known. */
static void ask_for_list(struct upstream_watch *w)
{
    if (!upstream_watch_may_probe(w))
        return;
    if (w->facts != NULL && !w->is_lost)
        upstream_watch_begin_renewal(w);
    else
        upstream_watch_begin_probing(w);
}

bool upstream_watch_await_list(struct upstream_watch *w, bool wants_new,
                               struct upstream_waiter *waiter)
{
    bool must_wait = false;

    if (w == NULL)
        return false;
    uv_mutex_lock(&w->lock);
    if (wants_new || w->facts == NULL || w->facts->list == NULL) {
        if (upstream_watch_now_ms() >= w->asked_ms + LIST_AGAIN_MS)
            ask_for_list(w);
        must_wait = w->is_probing;
    }
    if (must_wait && waiter != NULL) {
        waiter->next = w->waiters;
        w->waiters = waiter;
    }
    uv_mutex_unlock(&w->lock);
    return must_wait;
}

static void refresh_list(void *arg)
{
    struct upstream_watch *w = arg;

    uv_mutex_lock(&w->lock);
    ask_for_list(w);
    uv_mutex_unlock(&w->lock);
    loop_timer_start(w->refresh, w->refresh_ms);
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

    w->look = NULL;
    count_look(w, facts);
    note_probe(w, facts != NULL, was_silent);
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
    use_next_key(w);
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

/* ---- open and close */

static void take_key(struct upstream_watch *w, str authorization)
{
    secret_buf_fini(&w->next_key);
    w->next_key = (struct buf){.limit = 0};
    if (!str_is_none(authorization))
        buf_append(&w->next_key, authorization);
    w->has_next_key = true;
}

void upstream_watch_begin(struct upstream_watch *w, str authorization)
{
    take_key(w, authorization);
    if (w->has_begun)
        return;
    w->has_begun = true;
    if (w->refresh != NULL)
        loop_timer_start(w->refresh, w->refresh_ms);
    uv_mutex_lock(&w->lock);
    if (upstream_watch_may_probe(w))
        upstream_watch_begin_probing(w);
    uv_mutex_unlock(&w->lock);
}

void upstream_watch_rest(struct upstream_watch *w)
{
    w->is_resting = true;
    if (w->again != NULL)
        loop_timer_stop(w->again);
    if (w->refresh != NULL)
        loop_timer_stop(w->refresh);
}

/* False when one of them could not be made. */
static bool open_timers(struct upstream_watch *w, const struct config *config)
{
    const bool refreshes = w->conf.keeps_list && w->asks && w->refresh_ms > 0;

    if (is_needed(config))
        w->again = loop_timer_new(w->loop, ask_again, w);
    if (refreshes)
        w->refresh = loop_timer_new(w->loop, refresh_list, w);
    return (!is_needed(config) || w->again != NULL) && (!refreshes || w->refresh != NULL);
}

struct upstream_watch *upstream_watch_new(struct loop *loop, const struct upstream_watch_conf *conf,
                                          struct err *reterr)
{
    struct upstream_watch *w = calloc(1, sizeof(*w));
    const struct config *config = conf->config;
    bool is_by_url, is_told;

    if (w == NULL || uv_mutex_init(&w->lock) != 0) {
        free(w);
        err_set_no_memory(reterr);
        return NULL;
    }
    w->loop = loop;
    w->due = (struct loop_message){.fn = start_probe, .arg = w};
    w->down = (struct loop_message){.fn = start_again, .arg = w};
    w->conf = upstream_watch_probe_conf(config, conf->base, STR_NONE);
    w->name_among_several = conf->is_alone ? STR_NONE : conf->name;
    w->name = metric_word(METRIC_DOMAIN_UPSTREAM, conf->name);
    is_told = !upstream_watch_is_worth_asking(&w->conf);
    w->conf.keeps_list = !conf->is_alone;
    w->asks = !is_told || (w->conf.keeps_list && w->conf.timeout_ms > 0);
    atomic_init(&w->state, UPSTREAM_UNHEARD);
    w->client = upstream_watch_open_client(loop, conf);
    w->refresh_ms = config->models_refresh_ms;
    if (w->client == NULL || !open_timers(w, config)) {
        upstream_watch_free(w);
        err_set(reterr, ERR_INTERNAL, "An HTTP client could not be set up.");
        return NULL;
    }
    w->asked_ms = w->needed_ms = upstream_watch_now_ms();
    if (config->model != NULL)
        upstream_watch_want(w, upstream_name_of(config, str_from_c(config->model)));
    is_by_url = w->conf.known.by != NULL && strcmp(w->conf.known.by, UPSTREAM_BY_URL) == 0;
    if (w->conf.known.certainty != UPSTREAM_UNKNOWN && (is_told || is_by_url))
        w->facts = upstream_facts_with(NULL, &w->conf.known); /* its models are not waited for */
    if (w->facts != NULL && is_by_url)
        log_facts(w, w->facts);
    return w;
}

void upstream_watch_free(struct upstream_watch *w)
{
    if (w == NULL)
        return;
    upstream_probe_cancel(w->probe);
    upstream_probe_cancel(w->look);
    loop_timer_free(w->again);
    loop_timer_free(w->refresh);
    http_client_free(w->client);
    upstream_facts_unref(w->facts);
    secret_buf_fini(&w->key);
    secret_buf_fini(&w->next_key);
    uv_mutex_destroy(&w->lock);
    free(w);
}

bool upstream_watch_is_resolving(const struct upstream_watch *w)
{
    return w != NULL && http_client_is_resolving(w->client);
}
