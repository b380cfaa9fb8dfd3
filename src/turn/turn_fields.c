/* turn_fields.c -- fields of a request that not all of its upstreams know (CONTRACT 1.1, OPERATIONS 4.1).
 *
 * What a request may have beside the Responses API is read before a place at an upstream is asked for, and which one
 * that is at decides what is written. So every field is kept that one of the candidates takes, and each is sent what
 * it takes itself. Most requests have no such field, and then nobody is asked. */
#include "flight/flight_admission.h"
#include "turn/turn_summary.h"
#include "upstream/upstream_watch.h"

static struct extra_fields_options fields_of(const struct upstream_entry *u)
{
    struct upstream_facts *facts = upstream_watch_facts(u->live->watch);
    const struct extra_fields_options options = upstream_request_options(u->config, facts).extra;

    upstream_facts_unref(facts);
    return options; /* views of the configuration and of tables */
}

/* The fields of all candidates, found once: what becomes known of an upstream later changes nothing for this request. NULL when out of memory. */
static const struct extra_fields_options *find_others(struct turn *t)
{
    const size_t n = flight_n_candidates(&t->flight);

    if (t->other_fields != NULL)
        return t->other_fields;
    t->other_fields = arena_array(&t->flight.arena, n, sizeof(*t->other_fields));
    t->n_other_fields = t->other_fields == NULL ? 0 : n;
    for (size_t i = 0; i < t->n_other_fields; i++)
        t->other_fields[i] = fields_of(flight_candidate(&t->flight, i));
    return t->other_fields;
}

static bool is_for_candidate(void *arg, str name)
{
    struct turn *t = arg;
    const struct extra_fields_options *others = find_others(t);

    for (size_t i = 0; i < t->n_other_fields; i++) {
        if (extra_fields_are_taken(&others[i], name))
            return true;
    }
    return false;
}

void turn_join_fields(struct turn *t, struct extra_fields_options *extra)
{
    if (flight_n_candidates(&t->flight) < 2)
        return;
    t->is_read_for_many = true; /* and stays so, whichever route the turn takes after that */
    extra->is_for_others = is_for_candidate;
    extra->others = t;
}

/* A summary may be asked of an upstream that is none of the candidates. */
static bool is_read_for_others(const struct turn *t)
{
    const struct turn_summary_call *s = t->compaction.summary;

    return t->is_read_for_many || (s != NULL && s->has_route);
}

const struct extra_fields_options *turn_taken_fields(struct turn *t)
{
    if (t->request.extra.first == NULL || !is_read_for_others(t))
        return NULL;
    t->taken_fields = upstream_request_options(t->flight.upstream->config, t->facts).extra;
    return &t->taken_fields;
}
