/* router.c -- what becomes of a request before its body comes: refused, answered, or given to its route
 * (route.h). */
#include "front/router.h"

#include "access/api_key.h"
#include "flight/flight_limits.h"
#include "flight/worker.h"
#include "front/container_routes.h"
#include "front/media_type.h"
#include "front/refuse.h"
#include "front/relay.h"
#include "front/request_log.h"
#include "front/route.h"
#include "front/state_request.h"
#include "front/websocket_route.h"
#include "http/origin_check.h"
#include "http/ws_handshake.h"
#include "metrics/metrics.h"

/* ---- refusals, and OPTIONS */

/* OPTIONS: what is allowed, and to a browser's preflight what a page of its
 * origin is. The answer says by itself which origin may read it. */
static void answer_options(const struct worker *w, struct http_exchange *x,
                           const struct http_request *r, str allow)
{
    const struct cors cors = {w->config->cors_origins.items, w->config->cors_origins.n};
    str origin = cors_allowed_origin(&cors, http_request_header(r, STR("origin")));
    str asked = http_request_header(r, STR("access-control-request-headers"));
    str headers = cors_allowed_headers(asked);
    struct http_header fields[5] = {{STR("allow"), allow}};
    size_t n = 1;

    if (!str_is_none(origin) &&
        !str_is_none(http_request_header(r, STR("access-control-request-method")))) {
        fields[n++] = (struct http_header){STR("access-control-allow-methods"), allow};
        fields[n++] = (struct http_header){STR("access-control-max-age"), STR("600")};
        if (!str_is_none(headers))
            fields[n++] = (struct http_header){STR("access-control-allow-headers"), headers};
        if (!str_is_none(http_request_header(r, STR("access-control-request-private-network"))))
            fields[n++] =
                (struct http_header){STR("access-control-allow-private-network"), STR("true")};
    }
    http_exchange_respond(x, 204, fields, n, STR(""));
}

static void refuse_method(struct http_exchange *x, const struct http_request *r, str allow_text)
{
    const struct http_header allow = {STR("allow"), allow_text};
    struct err e;

    metrics_count(METRIC_REJECTED, METRIC_REJECTION_METHOD);
    err_set(&e, ERR_METHOD_NOT_ALLOWED, "Not allowed to %.*s on %.*s.", STR_ARG(r->method),
            STR_ARG(r->path));
    http_exchange_respond_error(x, &e, &allow, 1);
}

static void refuse_upgrade(struct http_exchange *x)
{
    struct err e;

    metrics_count(METRIC_REJECTED, METRIC_REJECTION_WEBSOCKET);
    err_set(&e, ERR_UPGRADE_REQUIRED,
            "WebSocket connections are switched off here (configuration key websocket). Use POST "
            "over HTTP.");
    http_exchange_respond_error(x, &e, NULL, 0);
}

static void refuse_path(struct http_exchange *x, const struct http_request *r)
{
    struct err e;

    metrics_count(METRIC_REJECTED, METRIC_REJECTION_NOT_FOUND);
    err_set(&e, ERR_NOT_FOUND, "Unknown path: %.*s %.*s.", STR_ARG(r->method), STR_ARG(r->path));
    http_exchange_respond_error(x, &e, NULL, 0);
}

/* No route for it: says what there is instead. */
static void refuse_unrouted(const struct worker *w, struct http_exchange *x,
                            const struct http_request *r, str path)
{
    unsigned allowed = route_allowed(w, path);

    if (allowed == 0)
        refuse_path(x, r);
    else if (ws_handshake_is_meant(r) && route_find_upgrade(path) != NULL)
        refuse_upgrade(x);
    else if (str_eq(r->method, STR("OPTIONS")))
        answer_options(w, x, r, route_allow_text(http_exchange_arena(x), allowed));
    else
        refuse_method(x, r, route_allow_text(http_exchange_arena(x), allowed));
}

/* ---- the head, and the body */

/* What the head of a request has led to; kept with its exchange. */
struct routed {
    struct worker *worker;
    struct http_exchange *x;
    struct http_request request; /* with its path as the table spells it */
    const struct route *route;
    struct path_ids ids;
    struct request_route told; /* its caller is whose request it is */
};

/* What the request is counted as. */
static void count_route(const struct routed *to)
{
    const struct route *route = to->route;
    uint16_t word = METRIC_WORD_OTHER;

    if (route != NULL)
        word = metric_word(METRIC_DOMAIN_ROUTE,
                           route->relay == CONFIG_RELAY_ALL ? STR("relay") : route->path);
    http_exchange_count_route(to->x, word);
}

static void count_owner(const struct routed *to)
{
    const str name = to->told.caller.name;

    if (to->worker->config->metrics_owner)
        http_exchange_count_owner(
            to->x, metric_word(METRIC_DOMAIN_OWNER, name.len > 0 ? name : STR("_none")));
}

static void run_route(void *arg)
{
    const struct routed *to = arg;
    const struct route *route = to->route;

    count_owner(to);
    if (route->run != NULL)
        route->run(to->worker, to->x, &to->request, &to->told.caller);
    else if (route->run_with_ids != NULL)
        route->run_with_ids(to->worker, to->x, &to->request, &to->told.caller, &to->ids);
    else if (route->state != NULL && route->heeds_key)
        state_request_start_keyed(to->worker, to->x, &to->request, &to->told.caller, &to->ids,
                                  route->state);
    else if (route->state != NULL)
        state_request_start(to->worker, to->x, &to->request, &to->told.caller, &to->ids,
                            route->state);
    else
        container_routes_start(to->worker, to->x, &to->request, &to->told.caller, &to->ids,
                               route->container);
}

/* For the log: what the request is for, in a word of ours. */
static void note_route(struct routed *to)
{
    const struct route *route = to->route;

    if (route == NULL)
        return;
    to->told.label = route->relay == CONFIG_RELAY_ALL ? STR("relay") : route->path;
    to->told.id = to->ids.v[0];
    to->told.needs_no_right = route_is_harmless(route);
    to->told.is_quiet = route_is_harmless(route) && !str_eq(route->path, STR("/"));
}

/* Finds out who asks, and lets them know their limits in whatever they are answered. Returns 0, or -1 with
 * *reterr filled. */
static int identify_caller(struct routed *to, struct err *reterr)
{
    const struct worker *w = to->worker;
    const struct http_request *r = &to->request;

    if (route_needs_no_key(to->route, r))
        return 0;
    if (api_keys_identify_client(w->keys, r->certificate,
                                 http_request_header(r, STR("authorization")), &to->told.caller,
                                 reterr) == -1)
        return -1;
    flight_limits_tell(w, to->x, r, &to->told.caller);
    return 0;
}

/* `curl -X POST` sends no length, and there is nothing to send: the connection ends behind the answer,
 * so nobody takes what follows for another request. */
static bool is_excused(const struct route *route, const struct err *refusal)
{
    return route->is_bare && refusal->code == ERR_LENGTH_REQUIRED;
}

bool router_on_head(void *arg, struct http_exchange *x, const struct http_request *r)
{
    struct worker *w = arg;
    struct routed *to = arena_alloc(http_exchange_arena(x), sizeof(*to));
    websocket_open_fn *open;
    struct err e;

    if (to == NULL) {
        err_set_no_memory(&e);
        http_exchange_respond_error(x, &e, NULL, 0);
        return false;
    }
    *to = (struct routed){.worker = w,
                          .x = x,
                          .request = *r,
                          .told = {.label = STR("_other"), .caller = {.owner = STR("")}}};
    http_exchange_attach(x, to);
    http_exchange_note(x, &to->told);
    to->request.path = route_usual_path(w, r, http_exchange_arena(x));
    open = w->config->websocket && ws_handshake_is_meant(r) ? route_find_upgrade(to->request.path)
                                                            : NULL;
    if (open != NULL) {
        to->told.label = to->request.path; /* which is that of a row */
        count_route(to);
        websocket_route_start(w, x, r, open, &to->told.caller);
        return false;
    }
    to->route = route_find(w, &to->request, &to->ids);
    note_route(to);
    count_route(to);
    if (origin_check(w->origins, r, route_is_harmless(to->route), &e) == -1) {
        refuse_request(x, r, REJECT_ORIGIN, &e);
    } else if (route_is_hidden(w, &to->request)) {
        refuse_path(x, r);
    } else if (identify_caller(to, &e) == -1) {
        refuse_caller(x, r, &e);
    } else if (to->route == NULL) {
        refuse_unrouted(w, x, r, to->request.path);
    } else if (r->refusal != NULL && !is_excused(to->route, r->refusal)) {
        http_exchange_respond_error(x, r->refusal, NULL, 0);
    } else if (route_is_harmless(to->route) || to->route->is_guarded) {
        run_route(to); /* reads no body, so none is kept of whoever needs no key */
    } else {
        return !refuse_without_memory(x, r);
    }
    return false;
}

/* What is passed on as it came need not be decoded. */
static bool is_body_read(const struct routed *to)
{
    return to->route->run != relay_start || to->worker->config->model_alias.n > 0;
}

void router_on_request(void *arg, struct http_exchange *x, const struct http_request *r)
{
    struct routed *to = http_exchange_attached(x);
    struct err e;

    (void)arg;
    to->request.body = r->body;
    if (media_type_check(&to->request, to->route->relay == CONFIG_RELAY_ALL, &e) == -1)
        refuse_request(x, r, REJECT_MEDIA_TYPE, &e);
    else if (!is_body_read(to) || !http_exchange_decode(x, run_route, to))
        run_route(to);
}
