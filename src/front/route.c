/* route.c -- the routes by endpoints.def (CONTRACT 6), and how else their paths may be spelled.
 *
 * Clients put a path behind a base URL that a person has typed: with a slash too
 * many, with /v1 or without. The table knows one spelling, and a request that
 * comes in another is given that before its route is looked for. */
#include "front/route.h"

#include "base/version.h"
#include "flight/builtin_tools.h"
#include "flight/worker.h"
#include "front/chat_turn.h"
#include "front/container_routes.h"
#include "front/idempotency.h"
#include "front/mcp_routes.h"
#include "front/metrics_route.h"
#include "front/readiness.h"
#include "front/relay.h"
#include "front/relay_guard.h"
#include "front/response_routes.h"
#include "front/response_stop.h"
#include "front/responses_ws.h"
#include "front/state_calls.h"
#include "turn/turn.h"

/* Methods as bits; HEAD goes with GET, whose body is not sent, and OPTIONS is
 * answered for every path. */
enum { GET = 1, POST = 2, PUT = 4, PATCH = 8, DELETE = 16, HEAD = 32, OPTIONS = 64 };
enum { EVERY = GET | POST | PUT | PATCH | DELETE };
/* A handshake is a GET, but of the path as a GET nothing is said by it. */
enum { WEBSOCKET = 0 };

static const struct {
    str name;
    unsigned bit;
} methods[] = {
    {STR_INIT("GET"), GET},         {STR_INIT("HEAD"), HEAD},   {STR_INIT("POST"), POST},
    {STR_INIT("PUT"), PUT},         {STR_INIT("PATCH"), PATCH}, {STR_INIT("DELETE"), DELETE},
    {STR_INIT("OPTIONS"), OPTIONS},
};

enum { N_METHODS = COUNT_OF(methods) };

/* ---- answers that need no more than a line */

static void respond_json(struct http_exchange *x, int status, str body)
{
    const struct http_header type = {STR("content-type"), STR("application/json")};

    http_exchange_respond(x, status, &type, 1, body);
}

/* For liveness: a gateway that drains lives. */
static void health(struct worker *w, struct http_exchange *x, const struct http_request *r,
                   const struct caller *caller)
{
    struct buf body = {.limit = 0};
    struct jw j = jw_to(&body);

    (void)r;
    (void)caller;
    jw_object(&j);
    jw_key_string(&j, "status", STR("ok"));
    builtin_tools_health(w->builtin, &j);
    jw_object_end(&j);
    respond_json(x, 200, buf_str(&body));
    buf_fini(&body);
}

static void root(struct worker *w, struct http_exchange *x, const struct http_request *r,
                 const struct caller *caller)
{
    (void)w;
    (void)r;
    (void)caller;
    respond_json(x, 200, STR("{\"name\":\"antiphon\",\"version\":\"" ANTIPHON_VERSION "\"}"));
}

/* ---- the table */

#define RUN(function)      .run = (function)
#define OPEN(function)     .run = (function), .is_open = true
#define GUARDED(function)  .run = (function), .is_guarded = true
#define WITH_IDS(function) .run_with_ids = (function)
#define BARE(function)     .run_with_ids = (function), .is_bare = true
#define STATE(call)        .state = (&state_##call)
#define KEYED(call)        .state = (&state_##call), .heeds_key = true
#define CONTAINER(call)    .container = (&container_##call)
#define UPGRADE(function)  .open = (function)

static const struct route routes[] = {
#define ENDPOINT(methods, path, relay, answer, help)                                               \
    {STR_INIT(path), methods, CONFIG_RELAY_##relay, answer},
#include "front/endpoints.def"
};

enum { N_ROUTES = COUNT_OF(routes) };

/* Words that the API has where an id stands else: /v1/responses/compact and input_tokens are paths of
 * their own, which cannot be got. */
static bool is_id(str word)
{
    return !str_eq(word, STR("compact")) && !str_eq(word, STR("input_tokens"));
}

/* Does the route hold all paths that begin as it does? */
static bool is_folder(const struct route *route)
{
    return str_ends_with(route->path, STR("*"));
}

static bool path_fits(const struct route *route, str path, struct path_ids *ret_ids)
{
    return path_pattern_fits(route->path, path, ret_ids) &&
           (!str_starts_with(route->path, STR("/v1/responses/{")) || is_id(ret_ids->v[0])) &&
           (!is_folder(route) || relay_guard_passes(path));
}

bool route_is_hidden(const struct worker *w, const struct http_request *r)
{
    for (size_t i = 0; i < N_ROUTES; i++) {
        if (routes[i].is_guarded && str_eq(routes[i].path, r->path))
            return !metrics_route_is_there(w, r);
    }
    return false;
}

/* The bit of a method; 0 for those that no path has. */
static unsigned method_bit(str method)
{
    for (size_t i = 0; i < N_METHODS; i++) {
        if (str_eq(method, methods[i].name))
            return methods[i].bit;
    }
    return 0;
}

/* All that is allowed on a route, as a mask. */
static unsigned allowed_on(const struct route *route)
{
    return route->methods | ((route->methods & GET) != 0 ? HEAD : 0) | OPTIONS;
}

str route_allow_text(struct arena *a, unsigned allowed)
{
    struct buf text = {.limit = 0};
    str result;

    for (size_t i = 0; i < N_METHODS; i++) {
        if ((allowed & methods[i].bit) == 0)
            continue;
        buf_c(&text, text.len == 0 ? "" : ", ");
        buf_append(&text, methods[i].name);
    }
    result = buf_failed(&text) ? STR_NONE : arena_dup(a, buf_str(&text));
    buf_fini(&text);
    return result;
}

/* ---- spellings of a path */

/* Does the path need no other spelling? Most do not. */
static bool is_usual(str path)
{
    return path.len > 4 && str_starts_with(path, STR("/v1/")) && path.p[4] != '/' &&
           !str_ends_with(path, STR("/"));
}

static str skip_slashes(str path)
{
    while (str_starts_with(path, STR("//")))
        path = str_skip(path, 1);
    return path;
}

/* The path behind the base URL: "/responses" of "//v1//responses". */
static str below_base(str path, bool *ret_has_version)
{
    path = skip_slashes(path);
    *ret_has_version = str_starts_with(path, STR("/v1/"));
    return *ret_has_version ? skip_slashes(str_skip(path, strlen("/v1"))) : path;
}

/* Is there a route for the method whose path holds no id? A slash behind an id may
 * stand before another one that is empty, and to drop it would name another thing. */
static bool is_whole_route(const struct worker *w, str path, str method)
{
    unsigned wanted = method_bit(method);

    for (size_t i = 0; i < N_ROUTES; i++) {
        if (routes[i].relay <= w->config->relay && !is_folder(&routes[i]) &&
            (allowed_on(&routes[i]) & wanted) != 0 && str_eq(routes[i].path, path))
            return true;
    }
    return false;
}

/* Has the table a path besides all that is relayed? */
static bool is_named_path(const struct worker *w, str path)
{
    struct path_ids ids;

    for (size_t i = 0; i < N_ROUTES; i++) {
        if (routes[i].relay <= w->config->relay && routes[i].relay != CONFIG_RELAY_ALL &&
            path_fits(&routes[i], path, &ids))
            return true;
    }
    return false;
}

/* "/v1" and the path; STR_NONE when out of memory. */
static str with_version(struct arena *a, str path)
{
    const str version = STR("/v1");
    char *text = arena_alloc(a, version.len + path.len);

    if (text == NULL)
        return STR_NONE;
    memcpy(text, version.p, version.len);
    memcpy(text + version.len, path.p, path.len);
    return str_from(text, version.len + path.len);
}

str route_usual_path(const struct worker *w, const struct http_request *r, struct arena *a)
{
    bool has_version;
    str below = below_base(r->path, &has_version);
    str whole, shorter;

    if (is_usual(r->path) || str_is_none(whole = with_version(a, below)))
        return r->path;
    shorter = whole;
    while (str_ends_with(shorter, STR("/")))
        shorter.len--;
    if (shorter.len < whole.len && is_whole_route(w, shorter, r->method))
        return shorter;
    return has_version || is_named_path(w, whole) ? whole : below;
}

/* ---- finding a route */

unsigned route_allowed(const struct worker *w, str path)
{
    unsigned allowed = 0;
    struct path_ids ids;

    if (str_eq(path, STR("*"))) /* only OPTIONS comes with it, and asks about all of us */
        return GET | HEAD | POST | OPTIONS;
    for (size_t i = 0; i < N_ROUTES; i++) {
        if (routes[i].relay <= w->config->relay && path_fits(&routes[i], path, &ids))
            allowed |= allowed_on(&routes[i]);
    }
    return allowed;
}

const struct route *route_find(const struct worker *w, const struct http_request *r,
                               struct path_ids *ret_ids)
{
    unsigned wanted = method_bit(r->method) & ~(unsigned)OPTIONS;

    for (size_t i = 0; i < N_ROUTES; i++) {
        const struct route *route = &routes[i];

        if (route->relay <= w->config->relay && (allowed_on(route) & wanted) != 0 &&
            path_fits(route, r->path, ret_ids))
            return route;
    }
    return NULL;
}

bool route_is_harmless(const struct route *route)
{
    return route != NULL && route->is_open;
}

bool route_needs_no_key(const struct route *route, const struct http_request *r)
{
    return method_bit(r->method) == OPTIONS || route_is_harmless(route) ||
           (route != NULL && route->is_guarded);
}

websocket_open_fn *route_find_upgrade(str path)
{
    for (size_t i = 0; i < N_ROUTES; i++) {
        if (routes[i].open != NULL && str_eq(routes[i].path, path))
            return routes[i].open;
    }
    return NULL;
}
