/* worker_reach.c -- a worker's list of upstreams that flights of it have been to. */
#include <stdlib.h>

#include "flight/flight.h"
#include "flight/reach.h"
#include "flight/worker.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_table.h"

static void on_upstream_known(void *arg)
{
    struct reach *r = arg;

    r->is_awaited = false;
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

void reach_free_all(struct worker *w)
{
    struct reach *next;

    for (struct reach *r = w->reaches; r != NULL; r = next) {
        next = r->next;
        flight_metrics_forget(&r->labels);
        free(r);
    }
    w->reaches = NULL;
}
