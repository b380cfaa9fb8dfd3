/* admin_router.c -- the listener decides first, then the path (admin_routes.def). */
#include "admin/admin_router.h"

#include "access/api_key.h"
#include "admin/admin_routes.h"
#include "base/listen_spec.h"
#include "flight/worker.h"
#include "front/refuse.h"
#include "front/request_log.h"
#include "front/router.h"
#include "http/origin_check.h"
#include "metrics/metrics.h"

struct route {
    str method, path;
    admin_route_fn *run;
    bool reads_body;
};

#define GET        STR_INIT("GET")
#define POST       STR_INIT("POST")
#define PUT        STR_INIT("PUT")
#define DELETE     STR_INIT("DELETE")
#define PASS       .run = NULL
#define RUN(run_)  .run = (run_)
#define READ(run_) .run = (run_), .reads_body = true

static const struct route routes[] = {
#define ADMIN_ROUTE(method, path, answer, help) {method, STR_INIT(path), answer},
#include "admin/admin_routes.def"
};

/* What the head of a request has led to; kept with its exchange until the body is there. */
struct routed {
    const struct route *route;
    struct path_ids ids;
};

/* True for /admin and all below it. */
static bool is_admin_path(str path)
{
    const str folder = STR("/admin");

    return str_starts_with(path, folder) && (path.len == folder.len || path.p[folder.len] == '/');
}

/* ---- refusals */

static void refuse_path(struct http_exchange *x, const struct http_request *r)
{
    struct err e;

    metrics_count(METRIC_REJECTED, METRIC_REJECTION_NOT_FOUND);
    err_set(&e, ERR_NOT_FOUND, "Unknown path: %.*s %.*s.", STR_ARG(r->method), STR_ARG(r->path));
    http_exchange_respond_error(x, &e, NULL, 0);
}

static void refuse_page(struct http_exchange *x, const struct http_request *r)
{
    struct err e;

    err_set(&e, ERR_ORIGIN_NOT_ALLOWED, "Web pages may not administer this gateway.");
    refuse_request(x, r, REJECT_ORIGIN, &e);
}

/* The value of Allow; STR_NONE when out of memory. */
static str allowed_methods(struct http_exchange *x, str path)
{
    struct buf text = {.limit = 0};
    struct path_ids ids;
    str all;

    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        if (!path_pattern_fits(routes[i].path, path, &ids))
            continue;
        buf_append(&text, routes[i].method);
        buf_c(&text, str_eq(routes[i].method, STR("GET")) ? ", HEAD, " : ", ");
    }
    buf_c(&text, "OPTIONS");
    all = buf_failed(&text) ? STR_NONE : arena_dup(http_exchange_arena(x), buf_str(&text));
    buf_fini(&text);
    return all;
}

static void refuse_method(struct http_exchange *x, const struct http_request *r)
{
    const struct http_header allow = {STR("allow"), allowed_methods(x, r->path)};
    struct err e;

    if (str_eq(r->method, STR("OPTIONS"))) {
        http_exchange_respond(x, 204, &allow, 1, STR(""));
        return;
    }
    metrics_count(METRIC_REJECTED, METRIC_REJECTION_METHOD);
    err_set(&e, ERR_METHOD_NOT_ALLOWED, "Not allowed to %.*s on %.*s.", STR_ARG(r->method),
            STR_ARG(r->path));
    http_exchange_respond_error(x, &e, &allow, 1);
}

/* ---- who may administer */

/* A page that has made a name of its own lead here sends no Origin where it only reads. Whom keys are asked
 * of is safe from that. */
static bool is_misled(const struct worker *w, const struct http_request *r, struct err *reterr)
{
    struct origin_policy policy = *w->origins;

    policy.cors = (struct cors){.n = 0};
    policy.asks_for_key = !http_request_is_local(r);
    return origin_check(&policy, r, false, reterr) == -1;
}

/* May whoever asks administer? Answers those who may not; *ret is set where a key was asked for. */
static bool may_administer(const struct worker *w, struct http_exchange *x,
                           const struct http_request *r, struct caller *ret)
{
    struct err e;

    if (is_misled(w, r, &e)) {
        refuse_request(x, r, REJECT_ORIGIN, &e);
        return false;
    }
    if (http_request_is_local(r) ||
        api_keys_identify_admin(w->keys, r->certificate,
                                http_request_header(r, STR("authorization")), ret, &e) == 0)
        return true;
    refuse_for_admin(x, r, &e);
    return false;
}

/* ---- routes */

static bool is_known(str path)
{
    struct path_ids ids;

    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        if (path_pattern_fits(routes[i].path, path, &ids))
            return true;
    }
    return false;
}

static const struct route *route_find(const struct http_request *r, struct path_ids *ret_ids)
{
    str method = str_eq(r->method, STR("HEAD")) ? STR("GET") : r->method;

    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        if (str_eq(routes[i].method, method) && path_pattern_fits(routes[i].path, r->path, ret_ids))
            return &routes[i];
    }
    return NULL;
}

/* What the request is counted as; the router counts anew what it is passed. */
static void count_route(struct http_exchange *x, const struct http_request *r)
{
    struct path_ids ids;
    const struct route *route = route_find(r, &ids);

    http_exchange_count_route(x, route == NULL ? METRIC_WORD_OTHER
                                               : metric_word(METRIC_DOMAIN_ROUTE, route->path));
}

/* What the line `request` and the audit say of whoever administers. NULL when out of memory. */
static struct request_route *note_route(struct http_exchange *x, const struct http_request *r)
{
    struct request_route *told = arena_alloc(http_exchange_arena(x), sizeof(*told));
    struct path_ids ids = {.v = {STR_NONE}};
    const struct route *route = route_find(r, &ids);

    if (told == NULL)
        return NULL;
    *told = (struct request_route){.label = route == NULL ? STR("_other") : route->path,
                                   .id = route == NULL ? STR_NONE : ids.v[0]};
    http_exchange_note(x, told);
    return told;
}

/* Answers those who may not. */
static bool let_administer(struct worker *w, struct http_exchange *x, const struct http_request *r)
{
    struct request_route *told = note_route(x, r);
    struct err e;

    if (told != NULL)
        return may_administer(w, x, r, &told->caller);
    err_set_no_memory(&e);
    http_exchange_respond_error(x, &e, NULL, 0);
    return false;
}

/* Returns whether the body is to be read. */
static bool run_route(struct worker *w, struct http_exchange *x, const struct http_request *r,
                      const struct route *route, const struct path_ids *ids)
{
    struct routed *to;
    struct err e;

    if (!route->reads_body) {
        route->run(w, x, r, ids);
        return false;
    }
    to = arena_alloc(http_exchange_arena(x), sizeof(*to));
    if (to != NULL && r->refusal == NULL) {
        *to = (struct routed){route, *ids};
        http_exchange_attach(x, to);
        return true;
    }
    if (to == NULL)
        err_set_no_memory(&e);
    http_exchange_respond_error(x, to == NULL ? &e : r->refusal, NULL, 0);
    return false;
}

bool admin_router_on_head(void *arg, struct http_exchange *x, const struct http_request *head)
{
    unsigned marks = http_request_marks(head);
    bool is_admin = (marks & LISTEN_ADMIN) != 0, is_below = is_admin_path(head->path);
    const struct route *route;
    struct path_ids ids;

    if (!is_admin && (marks & LISTEN_METRICS) == 0 && !is_below)
        return router_on_head(arg, x, head);
    count_route(x, head);
    if (is_admin && !str_is_none(http_request_header(head, STR("origin")))) {
        refuse_page(x, head);
        return false;
    }
    if (is_admin && is_below && !let_administer(arg, x, head))
        return false;
    if ((!is_admin && is_below) || !is_known(head->path)) {
        refuse_path(x, head);
        return false;
    }
    route = route_find(head, &ids);
    if (route == NULL) {
        refuse_method(x, head);
        return false;
    }
    return route->run == NULL ? router_on_head(arg, x, head) : run_route(arg, x, head, route, &ids);
}

void admin_router_on_request(void *arg, struct http_exchange *x, const struct http_request *request)
{
    const struct routed *to;

    if ((http_request_marks(request) & LISTEN_ADMIN) == 0 || !is_admin_path(request->path)) {
        router_on_request(arg, x, request);
        return;
    }
    to = http_exchange_attached(x);
    to->route->run(arg, x, request, &to->ids);
}
