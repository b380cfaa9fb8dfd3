/* flight_route.c -- from the name of a model to the upstreams that may serve it. */
#include "flight/flight_route.h"

#include "flight/reach.h"
#include "flight/worker.h"
#include "upstream/upstream_list.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_pool.h"
#include "upstream/upstream_watch.h"

/* ---- who may serve a model */

/* The newest table that the worker has. */
static struct upstream_table *newest_table(const struct flight *f)
{
    return f->worker->upstreams;
}

static const struct upstream_entry *candidate_of(const struct flight_admission *a, size_t i)
{
    return &a->table->entries[a->route.candidates[i].entry];
}

/* The next attempt goes to this candidate of its route. */
bool flight_take_candidate(struct flight *f, size_t i)
{
    struct flight_admission *a = &f->admission;

    if (!flight_take_upstream(f, candidate_of(a, i)))
        return false;
    a->sent = a->route.candidates[i].model;
    return true;
}

/* The one upstream serves every name. */
void flight_take_only_route(struct flight *f)
{
    struct flight_admission *a = &f->admission;

    a->table = newest_table(f);
    a->only = (struct upstream_candidate){.model = STR_NONE, .weight = 1};
    a->route = (struct upstream_route){.name = STR(""),
                                       .match = UPSTREAM_MATCH_DEFAULT,
                                       .candidates = &a->only,
                                       .n = 1,
                                       .group = STR("default"),
                                       .policy = &a->table->other_policy};
    a->has_route = true;
}

static bool has_listed(void *arg, size_t entry, str name)
{
    const struct upstream_table *t = arg;
    struct upstream_facts *facts = upstream_watch_facts(t->entries[entry].live->watch);
    const bool has = facts != NULL && upstream_list_has(facts->list, name);

    upstream_facts_unref(facts);
    return has;
}

static bool has_list(const struct upstream_entry *u)
{
    struct upstream_facts *facts = upstream_watch_facts(u->live->watch);
    const bool has = facts != NULL && facts->list != NULL;

    upstream_facts_unref(facts);
    return has;
}

/* ---- lists of models */

/* Lists that were waited for with another table are not those of this one. */
static void take_newest_table(struct flight *f)
{
    struct flight_admission *a = &f->admission;

    if (a->table != newest_table(f))
        a->n_heard = 0;
    a->table = newest_table(f);
}

static bool is_wanted(const struct flight *f, const struct upstream_entry *u,
                      enum flight_lists which)
{
    return (which == FLIGHT_LISTS_ALL || u->serves_listed) &&
           (f->admission.wants_new_lists || !has_list(u));
}

/* All lists are asked for at once, so that they answer at the same time: then they are waited for one after the
 * other. */
static void ask_for_lists(const struct flight *f, enum flight_lists which)
{
    const struct upstream_table *t = f->admission.table;

    for (size_t i = 0; i < t->n; i++) {
        if (is_wanted(f, &t->entries[i], which))
            (void)upstream_watch_await_list(t->entries[i].live->watch, f->admission.wants_new_lists,
                                            NULL);
    }
}

enum turn_next flight_await_lists(struct flight *f, enum flight_lists which, struct err *reterr)
{
    struct flight_admission *a = &f->admission;

    take_newest_table(f);
    if (a->n_heard == 0)
        ask_for_lists(f, which);
    while (a->n_heard < a->table->n) {
        const struct upstream_entry *u = &a->table->entries[a->n_heard++];

        if (!is_wanted(f, u, which))
            continue;
        a->awaits_list = flight_take_upstream(f, u);
        if (!a->awaits_list) {
            (void)err_set_no_memory(reterr);
            return TURN_FAIL;
        }
        if (reach_must_be_known(f))
            return TURN_WAIT;
    }
    a->awaits_list = false;
    return TURN_GO;
}

bool flight_want_new_lists(struct flight *f)
{
    if (f->admission.wants_new_lists)
        return false;
    f->admission.wants_new_lists = true;
    f->admission.n_heard = 0;
    return true;
}

/* True when the name, or a glob for it, is in the file, or the name in a list that is known: a list that is missing is
 * waited for by names that nobody is known to have. */
static bool find_known(struct flight *f, str model)
{
    struct upstream_table *t = f->admission.table;
    struct upstream_route_memo *memo = &f->worker->last_route;
    const struct upstream_lists lists = {has_listed, t};
    struct upstream_route *route = &f->admission.route;
    struct err e;

    if (upstream_route_memo_find(memo, t, model, &f->arena, route))
        return true;
    if (upstream_table_route(t, model, &lists, &f->arena, route, &e) == -1)
        return false;
    upstream_route_memo_note(memo, t, model, route);
    return route->match != UPSTREAM_MATCH_DEFAULT;
}

/* Looks the name up in the lists; and when nobody has it, once more in new ones. Names in the file are there at
 * once, lists may have to be waited for. */
static enum turn_next look_in_lists(struct flight *f, str model, struct err *reterr)
{
    const struct upstream_lists lists = {has_listed, newest_table(f)};
    struct flight_admission *a = &f->admission;

    for (;;) {
        const enum turn_next next = flight_await_lists(f, FLIGHT_LISTS_SERVED, reterr);

        if (next != TURN_GO)
            return next;
        if (upstream_table_route(a->table, model, &lists, &f->arena, &a->route, reterr) == 0)
            return TURN_GO;
        if (!flight_want_new_lists(f))
            return TURN_FAIL;
    }
}

/* Who is down is asked nothing while a request is read and written. */
static size_t find_likely(const struct flight *f)
{
    const struct flight_admission *a = &f->admission;

    return f->worker->pool == NULL ? 0 : upstream_pool_likely(f->worker->pool, a->table, &a->route);
}

/* What has a place goes by its route: none is left behind when that becomes another. */
void flight_end_lingering(struct flight *f)
{
    if (f->admission.is_done)
        flight_cancel_call(f);
}

enum turn_next flight_find_route(struct flight *f, str model, struct err *reterr)
{
    struct flight_admission *a = &f->admission;
    enum turn_next next = TURN_GO;

    flight_end_lingering(f);
    if (!newest_table(f)->is_from_file || str_is_none(model)) {
        flight_take_only_route(f);
        return TURN_GO;
    }
    take_newest_table(f);
    a->model = model;
    if (!find_known(f, model))
        next = look_in_lists(f, model, reterr);
    if (next != TURN_GO)
        return next;
    a->has_route = true;
    if (flight_take_candidate(f, find_likely(f)))
        return TURN_GO;
    (void)err_set_no_memory(reterr);
    return TURN_FAIL;
}

struct flight_route flight_keep_route(const struct flight *f)
{
    const struct flight_admission *a = &f->admission;

    return (struct flight_route){a->table, a->route, a->model, a->sent, f->upstream};
}

void flight_return_to_route(struct flight *f, const struct flight_route *kept)
{
    struct flight_admission *a = &f->admission;

    flight_end_lingering(f);
    a->table = kept->table;
    a->route = kept->route;
    a->model = kept->model;
    a->sent = kept->sent;
    (void)flight_take_upstream(f, kept->upstream);
}

size_t flight_n_candidates(const struct flight *f)
{
    return f->admission.has_route ? f->admission.route.n : 1;
}

const struct upstream_entry *flight_candidate(const struct flight *f, size_t i)
{
    const struct flight_admission *a = &f->admission;

    return a->has_route ? candidate_of(a, i) : f->upstream;
}

void flight_renew_route(struct flight *f)
{
    struct flight_admission *a = &f->admission;
    struct upstream_table *t = newest_table(f);
    const struct upstream_lists lists = {has_listed, t};
    struct upstream_route route;
    struct err e;

    if (a->table == t)
        return;
    if (!t->is_from_file || !a->table->is_from_file || str_is_none(a->model)) {
        flight_take_only_route(f);
        return;
    }
    for (size_t i = 0; i < t->n; i++) {
        if (t->entries[i].serves_listed && !has_list(&t->entries[i]))
            return;
    }
    if (upstream_table_route(t, a->model, &lists, &f->arena, &route, &e) == -1)
        return;
    a->route = route;
    a->table = t;
}

str flight_sent_model(const struct flight *f)
{
    return f->admission.sent;
}

struct name_list flight_names(struct flight *f)
{
    struct flight_admission *a = &f->admission;
    struct buf all = {.limit = 0};
    const str sent = flight_sent_model(f);

    if (str_is_none(sent))
        return upstream_model_aliases(f->upstream->config);
    buf_c(&all, "*=");
    buf_append(&all, sent);
    a->name = buf_failed(&all) ? NULL : arena_dup(&f->arena, buf_str(&all)).p;
    buf_fini(&all);
    return (struct name_list){&a->name, a->name == NULL ? 0 : 1};
}
