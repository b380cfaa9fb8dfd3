/* upstream_route_memo.c -- a route is moved from one name to another that is spelled the same, into another arena. */
#include "upstream/upstream_route_memo.h"

enum { MOST_NAME_BYTES = 256 }; /* clients choose names */

/* A view of the name that was asked for becomes one of the other. */
static str moved(str text, str from, str to)
{
    return text.p == from.p ? to : text;
}

static bool copy_route(const struct upstream_route *route, str from, str to, struct arena *a,
                       struct upstream_route *ret)
{
    struct upstream_candidate *candidates = arena_array(a, route->n, sizeof(*candidates));

    if (candidates == NULL)
        return false;
    for (size_t i = 0; i < route->n; i++) {
        candidates[i] = route->candidates[i];
        candidates[i].model = moved(candidates[i].model, from, to);
    }
    *ret = *route;
    ret->name = moved(route->name, from, to);
    ret->candidates = candidates;
    return true;
}

bool upstream_route_memo_find(const struct upstream_route_memo *m, const struct upstream_table *t,
                              str requested, struct arena *a, struct upstream_route *ret)
{
    return m->table == t && str_eq(m->requested, requested) &&
           copy_route(&m->route, m->requested, requested, a, ret);
}

static bool may_be_kept(str requested, const struct upstream_route *route)
{
    return (route->match == UPSTREAM_MATCH_NAME || route->match == UPSTREAM_MATCH_GLOB) &&
           requested.len <= MOST_NAME_BYTES;
}

void upstream_route_memo_note(struct upstream_route_memo *m, const struct upstream_table *t,
                              str requested, const struct upstream_route *route)
{
    if (!may_be_kept(requested, route))
        return;
    upstream_route_memo_clear(m);
    m->requested = arena_dup(&m->memory, requested);
    if (!str_is_none(m->requested) &&
        copy_route(route, requested, m->requested, &m->memory, &m->route))
        m->table = t;
}

void upstream_route_memo_clear(struct upstream_route_memo *m)
{
    arena_fini(&m->memory);
    *m = (struct upstream_route_memo){.table = NULL};
}
