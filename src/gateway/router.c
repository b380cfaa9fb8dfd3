/* router.c -- the table of endpoints (CONTRACT 6) and what needs no more than a line. */
#include "gateway/router.h"

#include "base/version.h"
#include "gateway/relay.h"
#include "gateway/turn.h"
#include "gateway/worker.h"

typedef void route_fn(struct worker *w, struct http_exchange *x, const struct http_request *r);

struct route {
    const char *method;
    str path;
    bool is_prefix; /* the path may go on */
    route_fn *run;
};

static void respond_json(struct http_exchange *x, int status, str body)
{
    const struct http_header type = {STR("content-type"), STR("application/json")};

    http_exchange_respond(x, status, &type, 1, body);
}

static void health(struct worker *w, struct http_exchange *x, const struct http_request *r)
{
    (void)r;
    if (w->is_draining)
        respond_json(x, 503, STR("{\"status\":\"draining\"}"));
    else
        respond_json(x, 200, STR("{\"status\":\"ok\"}"));
}

static void root(struct worker *w, struct http_exchange *x, const struct http_request *r)
{
    (void)w;
    (void)r;
    respond_json(x, 200, STR("{\"name\":\"antiphon\",\"version\":\"" ANTIPHON_VERSION "\"}"));
}

static const struct route routes[] = {
    {"POST", STR_INIT("/v1/responses"), false, turn_start},
    {"POST", STR_INIT("/responses"), false, turn_start},
    {"POST", STR_INIT("/v1/chat/completions"), false, relay_start},
    {"GET", STR_INIT("/v1/models"), false, relay_start},
    {"GET", STR_INIT("/v1/models/"), true, relay_start},
    {"GET", STR_INIT("/health"), false, health},
    {"GET", STR_INIT("/"), false, root},
};

enum { N_ROUTES = sizeof(routes) / sizeof(*routes) };

/* Takes the next character off a path; dots and slashes also percent-encoded,
 * since a server may decode them. */
static char next_char(str *path)
{
    static const struct {
        str code;
        char c;
    } codes[] = {{STR_INIT("%2e"), '.'}, {STR_INIT("%2f"), '/'}, {STR_INIT("%5c"), '/'}};
    char c = path->p[0];

    for (size_t i = 0; path->len >= 3 && i < sizeof(codes) / sizeof(*codes); i++) {
        if (!str_eq_nocase(str_from(path->p, 3), codes[i].code))
            continue;
        *path = str_skip(*path, 3);
        return codes[i].c;
    }
    *path = str_skip(*path, 1);
    return c == '\\' ? '/' : c;
}

/* Is a segment of the path "." or ".."? Such a path leads elsewhere at the
 * upstream, where it would be asked for with the gateway's key. */
static bool climbs(str path)
{
    size_t n_dots = 0;
    bool only_dots = true;

    while (path.len > 0) {
        char c = next_char(&path);

        if (c == '/' && only_dots && n_dots > 0)
            return true;
        only_dots = c == '/' || (only_dots && c == '.' && n_dots < 2);
        n_dots = c == '.' ? n_dots + 1 : 0;
    }
    return only_dots && n_dots > 0;
}

static bool path_fits(const struct route *route, str path)
{
    if (!route->is_prefix)
        return str_eq(path, route->path);
    return path.len > route->path.len && str_starts_with(path, route->path) && !climbs(path);
}

/* HEAD is a GET whose body is not sent. */
static bool method_fits(const struct route *route, str method)
{
    str wanted = str_from_c(route->method);

    return str_eq(method, wanted) || (str_eq(method, STR("HEAD")) && str_eq(wanted, STR("GET")));
}

/* The path exists, but not with this method. */
static void refuse_method(struct http_exchange *x, const struct http_request *r,
                          const struct route *route)
{
    bool is_get = str_eq(str_from_c(route->method), STR("GET"));
    const struct http_header allow = {STR("allow"),
                                      is_get ? STR("GET, HEAD, OPTIONS") : STR("POST, OPTIONS")};
    struct err e;

    if (str_eq(r->method, STR("OPTIONS"))) {
        http_exchange_respond(x, 204, &allow, 1, STR(""));
        return;
    }
    err_set(&e, ERR_METHOD_NOT_ALLOWED, "Not allowed to %.*s on %.*s.", STR_ARG(r->method),
            STR_ARG(r->path));
    http_exchange_respond_error(x, &e, &allow, 1);
}

/* OPTIONS * asks about the server as a whole. */
static void options_of_all(struct http_exchange *x)
{
    const struct http_header allow = {STR("allow"), STR("GET, HEAD, POST, OPTIONS")};

    http_exchange_respond(x, 204, &allow, 1, STR(""));
}

static void refuse_upgrade(struct http_exchange *x)
{
    struct err e;

    err_set(&e, ERR_UPGRADE_REQUIRED,
            "WebSocket connections are not supported here. Use POST over HTTP.");
    http_exchange_respond_error(x, &e, NULL, 0);
}

static void refuse_path(struct http_exchange *x, const struct http_request *r)
{
    struct err e;

    err_set(&e, ERR_NOT_FOUND, "Unknown path: %.*s %.*s.", STR_ARG(r->method), STR_ARG(r->path));
    http_exchange_respond_error(x, &e, NULL, 0);
}

void router_on_request(void *arg, struct http_exchange *x, const struct http_request *r)
{
    const struct route *other_method = NULL;

    if (str_eq(r->path, STR("*"))) { /* only OPTIONS comes with it */
        options_of_all(x);
        return;
    }
    for (size_t i = 0; i < N_ROUTES; i++) {
        if (!path_fits(&routes[i], r->path))
            continue;
        if (method_fits(&routes[i], r->method)) {
            routes[i].run(arg, x, r);
            return;
        }
        other_method = &routes[i];
    }
    if (other_method == NULL)
        refuse_path(x, r);
    else if (r->wants_upgrade && other_method->run == turn_start)
        refuse_upgrade(x);
    else
        refuse_method(x, r, other_method);
}
