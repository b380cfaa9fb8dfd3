/* upstream_watch_hear.c -- what turns hear of the upstream: who it is, whether it is there, and how much
 * fits into its models. */
#include "upstream/upstream_watch_internal.h"

#include "base/utf8.h"
#include "ev/loop.h"
#include "upstream/upstream_options.h"

/* ---- is it there? */

static void note_failure(struct upstream_watch *w, const struct err *failure)
{
    size_t n = utf8_cut(str_from_c(failure->msg), sizeof(w->last_error) - 1);

    (void)atomic_fetch_add_explicit(&w->n_failed, 1, memory_order_relaxed);
    uv_mutex_lock(&w->lock);
    w->last_error_s = clock_unix_s();
    memcpy(w->last_error, failure->msg, n);
    w->last_error[n] = '\0';
    uv_mutex_unlock(&w->lock);
}

void upstream_watch_hear_call(struct upstream_watch *w)
{
    if (w != NULL)
        (void)atomic_fetch_add_explicit(&w->n_calls, 1, memory_order_relaxed);
}

void upstream_watch_tally(struct upstream_watch *w, struct upstream_tally *ret)
{
    *ret = (struct upstream_tally){.n_calls = 0};
    if (w == NULL)
        return;
    ret->n_calls = atomic_load(&w->n_calls);
    ret->n_failed = atomic_load(&w->n_failed);
    ret->since_s = atomic_load(&w->since_s);
    uv_mutex_lock(&w->lock);
    ret->last_error_s = w->last_error_s;
    memcpy(ret->last_error, w->last_error, sizeof(ret->last_error));
    uv_mutex_unlock(&w->lock);
}

/* What has broken off or is slow is there. */
void upstream_watch_hear_end(struct upstream_watch *w, const struct err *failure)
{
    if (w != NULL && failure != NULL)
        note_failure(w, failure);
    if (failure == NULL)
        upstream_watch_note_state(w, true, STR_NONE);
    else if (failure->code == ERR_UPSTREAM_UNAVAILABLE)
        upstream_watch_note_state(w, false, str_from_c(failure->msg));
}

/* ---- who is it? */

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
            upstream_watch_publish(w, facts);
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
    if (upstream_watch_may_probe(w) &&
        !(w->has_odd_server && str_eq(server, str_from_c(w->odd_server)))) {
        memcpy(w->odd_server, server.p, server.len);
        w->odd_server[server.len] = '\0';
        w->has_odd_server = true;
        upstream_watch_begin_probing(w);
    }
    uv_mutex_unlock(&w->lock);
}

void upstream_watch_hear_head(struct upstream_watch *w, const struct upstream_facts *facts,
                              const struct http_header *headers, size_t n_headers)
{
    struct upstream_finding heard = {.by = NULL};
    str server, known;

    upstream_watch_note_state(w, true, STR_NONE);
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

/* ---- how much fits into its models? */

/* Less than this is no window, whoever says so. */
enum { MIN_WINDOW = 256 };

/* With the lock held: what is known while nobody has been asked. */
static struct upstream_facts *facts_to_change(struct upstream_watch *w)
{
    if (w->facts == NULL && !w->asks)
        w->facts = upstream_facts_with(NULL, &w->conf.known);
    return w->facts;
}

static bool is_less(const struct upstream_limits *known, int64_t window)
{
    return known->window == 0 || known->is_guess || window < known->window;
}

void upstream_watch_learn_window(struct upstream_watch *w, str model, int64_t window)
{
    struct upstream_facts *facts, *changed;
    struct upstream_limits known;

    if (w == NULL || window < MIN_WINDOW || str_is_none(model))
        return;
    uv_mutex_lock(&w->lock);
    facts = facts_to_change(w);
    known = upstream_facts_limits(facts, model);
    if (facts != NULL && is_less(&known, window)) {
        changed = upstream_facts_with_window(facts, model, window);
        if (changed != NULL) {
            upstream_watch_replace(w, changed);
            if (!w->asks && !w->has_learned)
                w->asked_ms = upstream_watch_now_ms(); /* it is as old as this */
            w->has_learned = true;
        }
    }
    uv_mutex_unlock(&w->lock);
}

/* With the lock held: the windows that are known may be others by now. */
static void renew_limits(struct upstream_watch *w)
{
    if (upstream_watch_may_probe(w) && upstream_watch_now_ms() >= w->limits_again_ms)
        upstream_watch_begin_renewal(w);
}

void upstream_watch_doubt_window(struct upstream_watch *w)
{
    if (w == NULL)
        return;
    uv_mutex_lock(&w->lock);
    renew_limits(w);
    uv_mutex_unlock(&w->lock);
}

void upstream_watch_hear_model(struct upstream_watch *w, const struct upstream_facts *facts,
                               str model)
{
    const struct upstream_limits known = upstream_facts_limits(facts, model);

    if (w == NULL || !w->asks || facts == NULL || (known.window > 0 && !known.is_guess) ||
        !upstream_has(upstream_profile(facts->finding.kind), UPSTREAM_LOADS_MODELS))
        return;
    uv_mutex_lock(&w->lock);
    if (upstream_watch_may_probe(w) && upstream_watch_now_ms() >= w->limits_again_ms) {
        upstream_watch_want(w, model);
        upstream_watch_begin_renewal(w);
    }
    uv_mutex_unlock(&w->lock);
}

void upstream_watch_hear_models(struct upstream_watch *w, const struct upstream_facts *facts,
                                const struct upstream_models *models)
{
    if (w == NULL || !w->asks || facts == NULL || upstream_models_are_same(&facts->models, models))
        return;
    uv_mutex_lock(&w->lock);
    renew_limits(w);
    uv_mutex_unlock(&w->lock);
}
