/* upstream_route.c -- from the name that a client asks for to the upstreams that may serve it.
 *
 * One question after the other, and the first that anybody answers counts: who has the name as it is, who has a
 * glob for it (only those whose glob says most of it), whose list has it, and who is there for all others. */
#include "base/name_glob.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_table.h"

static const str no_group = STR_INIT("default");

/* Candidates while they are gathered. */
struct gathering {
    const struct upstream_table *table;
    str name;
    struct upstream_candidate *items; /* room for one of each entry */
    size_t n;
    str rule; /* the name or glob of the first; STR_NONE: none */
};

static void add_model(struct gathering *g, size_t entry, const struct upstream_model_rule *m)
{
    if (g->n == 0)
        g->rule = m->name;
    g->items[g->n++] =
        (struct upstream_candidate){.entry = entry,
                                    .model = str_is_none(m->model) ? g->name : m->model,
                                    .tier = m->tier,
                                    .weight = m->weight};
}

static void add_entry(struct gathering *g, size_t entry)
{
    const struct upstream_entry *e = &g->table->entries[entry];

    g->items[g->n++] = (struct upstream_candidate){
        .entry = entry, .model = g->name, .tier = e->tier, .weight = e->weight};
}

/* ---- the questions */

static bool gather_names(struct gathering *g, const struct upstream_lists *lists)
{
    (void)lists;
    for (size_t i = 0; i < g->table->n; i++) {
        const struct upstream_entry *e = &g->table->entries[i];

        for (size_t k = 0; k < e->n_models; k++) {
            if (!e->models[k].is_glob && str_eq(e->models[k].name, g->name)) {
                add_model(g, i, &e->models[k]); /* an entry has a name once */
                break;
            }
        }
    }
    return g->n > 0;
}

/* The glob of an entry that says most of the name; NULL: none fits. */
static const struct upstream_model_rule *best_glob(const struct upstream_entry *e, str name)
{
    const struct upstream_model_rule *best = NULL;

    for (size_t k = 0; k < e->n_models; k++) {
        const struct upstream_model_rule *m = &e->models[k];

        if (m->is_glob && name_glob_fits(m->name, name) &&
            (best == NULL || m->literals > best->literals))
            best = m;
    }
    return best;
}

static bool gather_globs(struct gathering *g, const struct upstream_lists *lists)
{
    size_t most = 0;

    (void)lists;
    for (size_t i = 0; i < g->table->n; i++) {
        const struct upstream_model_rule *m = best_glob(&g->table->entries[i], g->name);

        if (m == NULL || (g->n > 0 && m->literals < most))
            continue;
        if (m->literals > most)
            g->n = 0;
        most = m->literals;
        add_model(g, i, m);
    }
    return g->n > 0;
}

static bool gather_listed(struct gathering *g, const struct upstream_lists *lists)
{
    for (size_t i = 0; lists != NULL && i < g->table->n; i++) {
        if (g->table->entries[i].serves_listed && lists->has(lists->arg, i, g->name))
            add_entry(g, i);
    }
    return g->n > 0;
}

static bool gather_defaults(struct gathering *g, const struct upstream_lists *lists)
{
    (void)lists;
    for (size_t i = 0; i < g->table->n_defaults; i++)
        add_entry(g, g->table->defaults[i]);
    return g->n > 0;
}

static bool gather_all(struct gathering *g, const struct upstream_lists *lists,
                       enum upstream_match *ret_match)
{
    static bool (*const questions[])(struct gathering *, const struct upstream_lists *) = {
        [UPSTREAM_MATCH_NAME] = gather_names,
        [UPSTREAM_MATCH_GLOB] = gather_globs,
        [UPSTREAM_MATCH_LISTED] = gather_listed,
        [UPSTREAM_MATCH_DEFAULT] = gather_defaults,
    };

    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        if (questions[i](g, lists)) {
            *ret_match = (enum upstream_match)i;
            return true;
        }
    }
    return false;
}

/* ---- policy and group */

static const struct upstream_policy *policy_of(const struct upstream_table *t, str name)
{
    const struct upstream_policy *best = NULL;

    for (size_t i = 0; i < t->n_policies; i++) {
        const struct upstream_policy *p = &t->policies[i];

        if (!p->is_glob && str_eq(p->name, name))
            return p;
        if (p->is_glob && name_glob_fits(p->name, name) &&
            (best == NULL || p->literals > best->literals))
            best = p;
    }
    return best == NULL ? &t->other_policy : best;
}

/* What in the file says most about the name, so that there are no more groups than the file has names. The one
 * rule of the single upstream is nobody's. */
static str group_of(const struct gathering *g, enum upstream_match match,
                    const struct upstream_policy *policy)
{
    if (!g->table->is_from_file)
        return no_group;
    if (match == UPSTREAM_MATCH_NAME)
        return g->rule;
    if (!str_is_none(policy->name))
        return policy->name;
    return match == UPSTREAM_MATCH_GLOB ? g->rule : no_group;
}

int upstream_table_route(const struct upstream_table *t, str requested,
                         const struct upstream_lists *lists, struct arena *a,
                         struct upstream_route *ret, struct err *reterr)
{
    struct gathering g = {.table = t, .name = upstream_name_of(t->config, requested)};
    enum upstream_match match;

    g.items = arena_array(a, t->n, sizeof(*g.items));
    if (g.items == NULL)
        return err_set_no_memory(reterr);
    if (!gather_all(&g, lists, &match)) {
        err_set_param(reterr, ERR_MODEL_NOT_FOUND, "model", "The model '%.*s' does not exist.",
                      STR_ARG(g.name));
        return -1;
    }
    *ret = (struct upstream_route){.name = g.name,
                                   .match = match,
                                   .candidates = g.items,
                                   .n = g.n,
                                   .policy = policy_of(t, g.name)};
    ret->group = group_of(&g, match, ret->policy);
    return 0;
}
