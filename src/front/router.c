/* router.c -- whose a request is, by endpoints.def (CONTRACT 6), and what needs no more than a line.
 *
 * Clients put a path behind a base URL that a person has typed: with a slash too
 * many, with /v1 or without. The table knows one spelling, and a request that
 * comes in another is given that before its route is looked for. */
#include "front/router.h"

#include "access/api_key.h"
#include "base/version.h"
#include "flight/builtin_tools.h"
#include "flight/worker.h"
#include "front/chat_turn.h"
#include "front/container_routes.h"
#include "front/mcp_routes.h"
#include "front/media_type.h"
#include "front/readiness.h"
#include "front/refuse.h"
#include "front/relay.h"
#include "front/responses_ws.h"
#include "front/state_calls.h"
#include "front/websocket_route.h"
#include "http/origin_check.h"
#include "http/percent.h"
#include "http/ws_handshake.h"
#include "turn/turn.h"

typedef void route_fn(struct worker *w, struct http_exchange *x, const struct http_request *r,
                      const struct caller *caller);
typedef void route_ids_fn(struct worker *w, struct http_exchange *x, const struct http_request *r,
                          const struct caller *caller, const struct path_ids *ids);

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

/* A row of endpoints.def; one of the last five is set, and answers. */
struct route {
    str path;
    unsigned methods;
    enum config_relay relay;
    bool is_open; /* needs no key */
    route_fn *run;
    route_ids_fn *run_with_ids;
    const struct state_call *state;
    const struct container_call *container;
    websocket_open_fn *open;
};

static void respond_json(struct http_exchange *x, int status, str body)
{
    const struct http_header type = {STR("content-type"), STR("application/json")};

    http_exchange_respond(x, status, &type, 1, body);
}

static void health(struct worker *w, struct http_exchange *x, const struct http_request *r,
                   const struct caller *caller)
{
    struct buf body = {.limit = 0};
    struct jw j = jw_to(&body);

    (void)r;
    (void)caller;
    jw_object(&j);
    jw_key_string(&j, "status", w->is_draining ? STR("draining") : STR("ok"));
    builtin_tools_health(w->builtin, &j);
    jw_object_end(&j);
    respond_json(x, w->is_draining ? 503 : 200, buf_str(&body));
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

#define RUN(function)      .run = (function)
#define OPEN(function)     .run = (function), .is_open = true
#define WITH_IDS(function) .run_with_ids = (function)
#define STATE(call)        .state = (&state_##call)
#define CONTAINER(call)    .container = (&container_##call)
#define UPGRADE(function)  .open = (function)

static const struct route routes[] = {
#define ENDPOINT(methods, path, relay, answer, help)                                               \
    {STR_INIT(path), methods, CONFIG_RELAY_##relay, answer},
#include "front/endpoints.def"
};

enum { N_ROUTES = COUNT_OF(routes) };

static const str own_folders[] = {
#define OWN_FOLDER(path) STR_INIT(path),
#include "front/endpoints.def"
};

/* Takes the next character off a path, percent-decoded, since a server may do the
 * same. */
static char next_char(str *path)
{
    int byte = percent_byte(*path);
    char c = byte >= 0 ? (char)byte : path->p[0];

    *path = str_skip(*path, byte >= 0 ? 3 : 1);
    return c == '\\' ? '/' : c;
}

/* Is a segment of the path "." or ".."? Such a path leads elsewhere at the
 * upstream, where it would be asked for with the gateway's key. Java's servers
 * leave out what stands behind a semicolon before they look. */
static bool climbs(str path)
{
    size_t n_dots = 0;
    bool only_dots = true;

    while (path.len > 0) {
        char c = next_char(&path);

        if ((c == '/' || c == ';') && only_dots && n_dots > 0)
            return true;
        only_dots = c == '/' || (only_dots && c == '.' && n_dots < 2);
        n_dots = c == '.' ? n_dots + 1 : 0;
    }
    return only_dots && n_dots > 0;
}

/* Is the path the folder or below it, as a server may read it? Slashes in a row
 * may count as one. */
static bool is_below(str path, str folder)
{
    char end;

    for (size_t i = 0; i < folder.len;) {
        char c = path.len == 0 ? '\0' : next_char(&path);

        if (c == '/' && i == 1)
            continue;
        if (c != folder.p[i++])
            return false;
    }
    end = path.len == 0 ? '/' : next_char(&path);
    return end == '/' || end == ';';
}

/* May a path be passed to the upstream? */
static bool is_relayable(str path)
{
    str below = relay_path(path); /* "/responses/x" of "/v1/v1/responses/x" */

    for (size_t i = 0; i < COUNT_OF(own_folders); i++) {
        if (is_below(below, own_folders[i]))
            return false;
    }
    return below.len > 1 && !climbs(path);
}

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
           (route->state == NULL || is_id(ret_ids->v[0])) &&
           (!is_folder(route) || is_relayable(path));
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

/* The value of Allow, in the exchange's memory. */
static str allow_text(struct http_exchange *x, unsigned allowed)
{
    struct buf text = {.limit = 0};
    str result;

    for (size_t i = 0; i < N_METHODS; i++) {
        if ((allowed & methods[i].bit) == 0)
            continue;
        buf_c(&text, text.len == 0 ? "" : ", ");
        buf_append(&text, methods[i].name);
    }
    result = buf_failed(&text) ? STR_NONE : arena_dup(http_exchange_arena(x), buf_str(&text));
    buf_fini(&text);
    return result;
}

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

    err_set(&e, ERR_METHOD_NOT_ALLOWED, "Not allowed to %.*s on %.*s.", STR_ARG(r->method),
            STR_ARG(r->path));
    http_exchange_respond_error(x, &e, &allow, 1);
}

static void refuse_upgrade(struct http_exchange *x)
{
    struct err e;

    err_set(&e, ERR_UPGRADE_REQUIRED,
            "WebSocket connections are switched off here (configuration key websocket). Use POST "
            "over HTTP.");
    http_exchange_respond_error(x, &e, NULL, 0);
}

static void refuse_path(struct http_exchange *x, const struct http_request *r)
{
    struct err e;

    err_set(&e, ERR_NOT_FOUND, "Unknown path: %.*s %.*s.", STR_ARG(r->method), STR_ARG(r->path));
    http_exchange_respond_error(x, &e, NULL, 0);
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

/* The path as the table spells it. What is only relayed needs its /v1. */
static str usual_path(const struct worker *w, struct http_exchange *x, const struct http_request *r)
{
    bool has_version;
    str below = below_base(r->path, &has_version);
    str whole, shorter;

    if (is_usual(r->path) || str_is_none(whole = with_version(http_exchange_arena(x), below)))
        return r->path;
    shorter = whole;
    while (str_ends_with(shorter, STR("/")))
        shorter.len--;
    if (shorter.len < whole.len && is_whole_route(w, shorter, r->method))
        return shorter;
    return has_version || is_named_path(w, whole) ? whole : below;
}

/* ---- */

/* What the path has, whatever the request's method is. */
static unsigned allowed_methods(const struct worker *w, str path)
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

static const struct route *route_find(const struct worker *w, const struct http_request *r,
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

/* What may be opened by a link of another page: it shows nothing of anybody. */
static bool is_harmless(const struct route *route)
{
    return route != NULL && route->is_open;
}

/* Needs the request no key? A browser's preflight carries none. */
static bool needs_no_key(const struct route *route, const struct http_request *r)
{
    return method_bit(r->method) == OPTIONS || is_harmless(route);
}

/* What opens a WebSocket on the path; NULL when nothing does. */
static websocket_open_fn *find_upgrade(str path)
{
    for (size_t i = 0; i < N_ROUTES; i++) {
        if (routes[i].open != NULL && str_eq(routes[i].path, path))
            return routes[i].open;
    }
    return NULL;
}

/* No route for it: says what there is instead. */
static void refuse_unrouted(const struct worker *w, struct http_exchange *x,
                            const struct http_request *r, str path)
{
    unsigned allowed = allowed_methods(w, path);

    if (allowed == 0)
        refuse_path(x, r);
    else if (ws_handshake_is_meant(r) && find_upgrade(path) != NULL)
        refuse_upgrade(x);
    else if (method_bit(r->method) == OPTIONS)
        answer_options(w, x, r, allow_text(x, allowed));
    else
        refuse_method(x, r, allow_text(x, allowed));
}

/* What the head of a request has led to; kept with its exchange until the body is there. */
struct routed {
    struct worker *worker;
    struct http_exchange *x;
    struct http_request request; /* with its path as the table spells it */
    const struct route *route;
    struct path_ids ids;
    struct caller caller;
};

static void run_route(void *arg)
{
    const struct routed *to = arg;
    const struct route *route = to->route;

    if (route->run != NULL)
        route->run(to->worker, to->x, &to->request, &to->caller);
    else if (route->run_with_ids != NULL)
        route->run_with_ids(to->worker, to->x, &to->request, &to->caller, &to->ids);
    else if (route->state != NULL)
        state_request_start(to->worker, to->x, &to->request, &to->caller, &to->ids, route->state);
    else
        container_routes_start(to->worker, to->x, &to->request, &to->caller, &to->ids,
                               route->container);
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
    *to = (struct routed){.worker = w, .x = x, .request = *r, .caller = {STR(""), STR_NONE}};
    to->request.path = usual_path(w, x, r);
    open = w->config->websocket && ws_handshake_is_meant(r) ? find_upgrade(to->request.path) : NULL;
    if (open != NULL) {
        websocket_route_start(w, x, r, open);
        return false;
    }
    to->route = route_find(w, &to->request, &to->ids);
    if (origin_check(w->origins, r, is_harmless(to->route), &e) == -1) {
        refuse_request(x, r, "origin_refused", &e);
    } else if (!needs_no_key(to->route, r) &&
               api_keys_identify(w->keys, http_request_header(r, STR("authorization")), &to->caller,
                                 &e) == -1) {
        refuse_caller(x, r, &e);
    } else if (to->route == NULL) {
        refuse_unrouted(w, x, r, to->request.path);
    } else if (r->refusal != NULL) {
        http_exchange_respond_error(x, r->refusal, NULL, 0);
    } else if (is_harmless(to->route)) {
        run_route(to); /* reads no body, so none is kept of whoever needs no key */
    } else if (!refuse_without_memory(x, r)) {
        http_exchange_attach(x, to);
        return true;
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
        refuse_request(x, r, "media_type_refused", &e);
    else if (!is_body_read(to) || !http_exchange_decode(x, run_route, to))
        run_route(to);
}
