/* worker_reach.c -- a worker's list of upstreams that flights of it have been to. */
#include <stdlib.h>

#include "flight/flight.h"
#include "flight/reach.h"
#include "flight/worker.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_table.h"

static void on_upstream_known(void *arg)
{
    struct reach *r = arg;

    r->is_awaited = false;
    flight_upstream_known(r->worker, r);
}

static void on_list_known(void *arg)
{
    struct reach *r = arg;

    r->is_list_awaited = false;
    flight_upstream_known(r->worker, r);
}

static struct reach *make_reach(struct worker *w, const struct upstream_entry *u)
{
    struct reach *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return NULL;
    r->worker = w;
    r->live = u->live;
    r->client = worker_client(w, u);
    if (r->client == NULL) {
        free(r);
        return NULL;
    }
    r->waiter =
        (struct upstream_waiter){.loop = w->loop, .known = {.fn = on_upstream_known, .arg = r}};
    r->list_waiter =
        (struct upstream_waiter){.loop = w->loop, .known = {.fn = on_list_known, .arg = r}};
    r->connections = (struct http_connection_count){flight_metrics_connection, r};
    flight_metrics_label(&r->labels, u);
    r->next = w->reaches;
    w->reaches = r;
    return r;
}

struct reach *reach_find(struct worker *w, const struct upstream_entry *u)
{
    for (struct reach *r = w->reaches; r != NULL; r = r->next) {
        if (r->live == u->live)
            return r;
    }
    return make_reach(w, u);
}

/* ---- profiles of models */

static void forget_profile(struct reach_profile *p)
{
    upstream_facts_unref(p->facts);
    *p = (struct reach_profile){.config = NULL};
}

static bool is_profile_of(const struct reach_profile *p, const struct config *c,
                          const struct upstream_facts *facts, str model)
{
    return p->config == c && p->facts == facts && p->n_model == model.len &&
           memcmp(p->model, model.p, model.len) == 0;
}

static void note_profile(struct reach_profile *p, const struct config *c,
                         struct upstream_facts *facts, str model)
{
    forget_profile(p);
    p->config = c;
    p->facts = upstream_facts_ref(facts);
    memcpy(p->model, model.p, model.len);
    p->n_model = model.len;
    p->profile = upstream_named_profile(c, facts, model);
}

struct model_profile reach_profile(struct flight *f, struct upstream_facts *facts, str model)
{
    const struct config *c = f->upstream->config;
    struct reach_profile *last = &f->reach->last;

    if (f->is_on_pool || str_is_none(model) || model.len > sizeof(last->model))
        return upstream_named_profile(c, facts, model);
    if (!is_profile_of(last, c, facts, model))
        note_profile(last, c, facts, model);
    return last->profile;
}

void reach_forget_profiles(struct worker *w)
{
    for (struct reach *r = w->reaches; r != NULL; r = r->next)
        forget_profile(&r->last);
}

void reach_free_all(struct worker *w)
{
    struct reach *next;

    for (struct reach *r = w->reaches; r != NULL; r = next) {
        next = r->next;
        flight_metrics_forget(&r->labels);
        forget_profile(&r->last);
        free(r);
    }
    w->reaches = NULL;
}
