/* upstream_route_memo.h -- the route that was found last: most requests of a worker are for one model.
 *
 * Only what a table says by itself is kept, a name or a glob, since lists of models change without it. The loop that
 * it belongs to; a zeroed one is empty. */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_ROUTE_MEMO_H
#define ANTIPHON_UPSTREAM_UPSTREAM_ROUTE_MEMO_H

#include "upstream/upstream_table.h"

struct upstream_route_memo {
    const struct upstream_table *table; /* not owned; NULL: empty */
    str requested;
    struct upstream_route route;
    struct arena memory; /* of the name and the candidates */
};

/* The route to a name that a client asks for, its candidates in the arena. False when it is not the one that is
 * kept, or out of memory. */
bool upstream_route_memo_find(const struct upstream_route_memo *m, const struct upstream_table *t,
                              str requested, struct arena *a, struct upstream_route *ret);

/* Keeps a route of upstream_table_route() in place of the one before, unless it came from a list or the name is
 * very long. Out of memory, none is kept. */
void upstream_route_memo_note(struct upstream_route_memo *m, const struct upstream_table *t,
                              str requested, const struct upstream_route *route);

/* Empties it: before its table may go. */
void upstream_route_memo_clear(struct upstream_route_memo *m);

#endif
