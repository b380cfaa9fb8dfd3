/* route.h -- what an endpoint is answered by: the rows of endpoints.def. Pure but for what answers. */
#ifndef ANTIPHON_FRONT_ROUTE_H
#define ANTIPHON_FRONT_ROUTE_H

#include "config/config.h"
#include "front/path_pattern.h"
#include "front/websocket_route.h"
#include "http/http_server.h"

struct caller;
struct container_call;
struct state_call;
struct worker;

typedef void route_fn(struct worker *w, struct http_exchange *x, const struct http_request *r,
                      const struct caller *caller);
typedef void route_ids_fn(struct worker *w, struct http_exchange *x, const struct http_request *r,
                          const struct caller *caller, const struct path_ids *ids);

/* A row of endpoints.def; one of the members behind heeds_key is set, and answers. */
struct route {
    str path;
    unsigned methods;
    enum config_relay relay;
    bool is_open;    /* needs no key */
    bool is_guarded; /* asks for a key by itself, and is not there for everybody */
    bool is_bare;    /* reads no body: a POST of it may come without a length */
    bool heeds_key;  /* one of state, below: an Idempotency-Key */
    route_fn *run;
    route_ids_fn *run_with_ids;
    const struct state_call *state;
    const struct container_call *container;
    websocket_open_fn *open;
};

/* The path of a request as the table spells it. What is only relayed needs its /v1. It is the request's, or in
 * the arena; the request's as well when out of memory. */
str route_usual_path(const struct worker *w, const struct http_request *r, struct arena *a);

/* The route of a request whose path is spelled so, with the ids in its path; NULL when there is none. */
const struct route *route_find(const struct worker *w, const struct http_request *r,
                               struct path_ids *ret_ids);

/* What opens a WebSocket on the path; NULL when nothing does. */
websocket_open_fn *route_find_upgrade(str path);

/* The methods that a path has, whatever the request's is, as a mask: 0 when it is unknown. The value of Allow
 * for them, in the arena; STR_NONE when out of memory. */
unsigned route_allowed(const struct worker *w, str path);
str route_allow_text(struct arena *a, unsigned allowed);

/* Is the path one that is not there for whoever asks? */
bool route_is_hidden(const struct worker *w, const struct http_request *r);

/* May a link of another page open the route, which may be NULL? It shows nothing of anybody then. */
bool route_is_harmless(const struct route *route);

/* Needs the request no key? A browser's preflight carries none. */
bool route_needs_no_key(const struct route *route, const struct http_request *r);

#endif
