/* mcp_hub_remote.c -- servers that requests declare.
 *
 *     opened -> tools listed, or not in time -> used ... used -> idle for a while -> closed
 *
 * Requests of an owner with the same URL and the same header fields share one (MCP 8.1,
 * 9.6): a server may know its clients by their session alone, and keep things for them. While it
 * is connected its session keeps the list of tools fresh; both go when nobody has used it
 * for a while, or when the connection is lost: the next request then opens another.
 *
 * A list that its server calls public serves requests with other credentials as well, as
 * long as it is there. Calls always go out with the credentials of their own request. */
#include "mcp/hub/mcp_hub_internal.h"

#include <stdlib.h>

#include "ev/sha256.h"

struct hub_remote {
    struct hub_server server;
    struct arena memory;    /* of all below */
    struct mcp_remote copy; /* what it was opened for */
    struct mcp_server_conf conf;
    unsigned char credentials[SHA256_BYTES];
    bool has_public_tools;
    struct mcp_task *waiting; /* for its tools; then it is not settled */
    struct loop_timer *timer; /* until its tools must be there, then until it is idle enough */
    bool is_settled;          /* its tools are there, or nobody waits for them any more */
    uint64_t used_ms;
};

/* ---- copies of what a request declares */

static bool dup_to(struct arena *a, str s, str *ret)
{
    *ret = arena_dup(a, s);
    return str_is_none(s) || !str_is_none(*ret);
}

static bool copy_url(const struct allowed_url *url, struct arena *a, struct allowed_url *ret)
{
    str text;
    bool is_fine = dup_to(a, str_from_c(url->text), &text) &&
                   dup_to(a, url->origin, &ret->origin) && dup_to(a, url->host, &ret->host) &&
                   dup_to(a, url->shown, &ret->shown) && dup_to(a, url->query, &ret->query);

    ret->text = text.p;
    return is_fine;
}

bool hub_remote_copy(const struct mcp_remote *r, struct arena *a, struct mcp_remote *ret)
{
    struct http_header *fields = arena_array(a, r->headers.n, sizeof(*fields));
    bool is_fine = fields != NULL && dup_to(a, r->owner, &ret->owner) &&
                   dup_to(a, r->label, &ret->label) && copy_url(&r->url, a, &ret->url);

    ret->headers = (struct header_list){fields, 0};
    for (size_t i = 0; is_fine && i < r->headers.n; i++, ret->headers.n++)
        is_fine = dup_to(a, r->headers.fields[i].name, &fields[i].name) &&
                  dup_to(a, r->headers.fields[i].value, &fields[i].value);
    return is_fine;
}

void hub_remote_wipe(const struct mcp_remote *r)
{
    secret_wipe(str_from_c(r->url.text));
    secret_wipe(r->url.query);
    for (size_t i = 0; i < r->headers.n; i++)
        secret_wipe(r->headers.fields[i].value);
}

/* ---- finding one */

/* Names differ in case, values do not. The same fields in another order make another
 * connection, which does no harm. */
static bool hash_credentials(const struct mcp_remote *r, unsigned char hash[SHA256_BYTES])
{
    const struct header_list *headers = &r->headers;
    struct buf text = {0};
    bool is_fine;

    buf_append(&text, r->owner);
    buf_char(&text, '\0');
    for (size_t i = 0; i < headers->n; i++) {
        size_t from = text.len;

        buf_append(&text, headers->fields[i].name);
        if (!buf_failed(&text))
            str_lower(text.p + from, text.len - from);
        buf_char(&text, '\0');
        buf_append(&text, headers->fields[i].value);
        buf_char(&text, '\0');
    }
    is_fine = !buf_failed(&text) && sha256(buf_str(&text), hash);
    secret_buf_fini(&text);
    return is_fine;
}

static struct hub_remote *find_remote(const struct mcp_hub *hub, const struct mcp_remote *wanted,
                                      const unsigned char credentials[SHA256_BYTES])
{
    for (struct hub_server *s = hub->remotes; s != NULL; s = s->next) {
        struct hub_remote *r = s->remote;

        if (memcmp(r->credentials, credentials, SHA256_BYTES) == 0 &&
            strcmp(r->copy.url.text, wanted->url.text) == 0)
            return r;
    }
    return NULL;
}

/* Finds a server with public tools, whatever its credentials. */
static struct hub_remote *find_public(const struct mcp_hub *hub, const struct mcp_remote *wanted)
{
    for (struct hub_server *s = hub->remotes; s != NULL; s = s->next) {
        struct hub_remote *r = s->remote;

        if (r->has_public_tools && hub_server_is_available(s) &&
            strcmp(r->copy.url.text, wanted->url.text) == 0)
            return r;
    }
    return NULL;
}

/* ---- waiting for tools */

static void fail_waiting(struct hub_remote *r, str why)
{
    struct mcp_task *t;

    while ((t = r->waiting) != NULL) {
        r->waiting = *mcp_task_next(t);
        mcp_task_fail(t, why);
    }
}

static void list_to_waiting(struct hub_remote *r)
{
    struct mcp_task *t;

    while ((t = r->waiting) != NULL) {
        r->waiting = *mcp_task_next(t);
        mcp_task_listed(t, r->server.tools);
    }
}

/* ---- life */

static bool is_in_use(const struct hub_remote *r)
{
    return r->waiting != NULL || r->server.n_calls > 0;
}

/* Starts the idle time anew. A server that is in use when it is over stays, and comes here again
 * when its last call has ended. */
void hub_remote_touch(struct hub_remote *r)
{
    r->used_ms = loop_now_ms(r->server.hub->loop);
    if (r->is_settled)
        loop_timer_start(r->timer, r->server.hub->conf.remote_idle_ms);
}

static void unlink_remote(struct hub_remote *r)
{
    struct mcp_hub *hub = r->server.hub;
    struct hub_server **place = &hub->remotes;

    while (*place != &r->server)
        place = &(*place)->next;
    *place = r->server.next;
    hub->n_remotes--;
}

void hub_remote_close(struct hub_remote *r, bool at_once)
{
    unlink_remote(r);
    loop_timer_stop(r->timer);
    hub_server_leave(&r->server, at_once);
}

static void on_timer(void *arg)
{
    struct hub_remote *r = arg;

    if (!r->is_settled)
        fail_waiting(r, STR("The MCP server did not list its tools in time."));
    r->is_settled = true;
    if (!is_in_use(r))
        hub_remote_close(r, false);
}

void hub_remote_changed(struct hub_remote *r)
{
    const struct mcp_session *session = r->server.session;
    enum mcp_state state = mcp_session_state(session);
    bool has_no_list = state == MCP_DEGRADED && !hub_server_is_available(&r->server);

    /* The session will not start again, or list again only when some time has passed. */
    if (state == MCP_FAILED || state == MCP_BACKOFF || (has_no_list && !r->is_settled)) {
        str why = mcp_session_error(session);

        fail_waiting(r, why.len > 0 ? why : STR("The MCP server is not available."));
        hub_remote_close(r, false);
        return;
    }
    if (r->is_settled || !hub_server_is_available(&r->server)) /* by itself, or not ready yet */
        return;
    list_to_waiting(r);
    r->is_settled = true;
    hub_remote_touch(r);
}

void hub_remote_listed(struct hub_remote *r, const struct mcp_cache *cache)
{
    r->has_public_tools = cache->is_public;
}

void hub_remote_free(struct hub_remote *r)
{
    hub_server_fini(&r->server);
    loop_timer_free(r->timer);
    hub_remote_wipe(&r->copy);
    arena_fini(&r->memory);
    free(r);
}

/* ---- opening one */

static bool make_pairs(struct hub_remote *r)
{
    const struct header_list *headers = &r->copy.headers;
    struct mcp_pair *pairs = arena_array(&r->memory, headers->n, sizeof(*pairs));

    if (pairs == NULL)
        return false;
    for (size_t i = 0; i < headers->n; i++)
        pairs[i] = (struct mcp_pair){headers->fields[i].name, {headers->fields[i].value}};
    r->conf.headers = (struct mcp_pairs){pairs, headers->n};
    return true;
}

/* Whole header values and what follows the first word ("Bearer ..."); the whole query and
 * the value of each of its members (MCP 16.6). */
static bool make_secrets(struct hub_remote *r)
{
    const struct header_list *headers = &r->copy.headers;
    str rest = r->copy.url.query;
    size_t n = 0, most = 2 * headers->n + 2;
    str *secrets;

    for (size_t i = 0; i < rest.len; i++)
        most += rest.p[i] == '&';
    secrets = arena_array(&r->memory, most, sizeof(*secrets));
    if (secrets == NULL)
        return false;
    for (size_t i = 0; i < headers->n; i++) {
        str value = headers->fields[i].value;

        secrets[n++] = value;
        secrets[n++] = str_trim(str_skip(value, str_find_char(value, ' ')));
    }
    if (!str_is_none(rest))
        secrets[n++] = rest;
    while (rest.len > 0) {
        str member = str_from(rest.p, str_find_char(rest, '&'));

        secrets[n++] = str_skip(member, str_find_char(member, '=') + 1);
        rest = str_skip(rest, member.len + 1);
    }
    r->conf.secrets = secrets;
    r->conf.n_secrets = n;
    return true;
}

/* Makes an entry as if it stood in a file. */
static bool make_conf(struct hub_remote *r)
{
    const struct mcp_hub_conf *hub = &r->server.hub->conf;
    str shown = r->copy.url.shown;

    r->conf = (struct mcp_server_conf){
        .label = r->copy.label,
        .is_enabled = true,
        .transport = MCP_TRANSPORT_HTTP,
        .shown = shown.p,
        .url = {str_from_c(r->copy.url.text)},
        .startup_timeout_ms = hub->remote_timeout_ms,
        .call_timeout_ms = hub->call_timeout_ms,
        .max_call_ms = MCP_MAX_CALL_FACTOR * hub->call_timeout_ms,
        .max_concurrency = MCP_MAX_CONCURRENCY,
        .max_message_bytes = hub->remote_message_bytes,
        .max_result_bytes = hub->remote_result_bytes,
    };
    if (str_ends_with(shown, STR("/sse"))) { /* MCP 1.4 */
        r->conf.transport = MCP_TRANSPORT_SSE;
        r->conf.is_sse_guess = true;
    }
    return make_pairs(r) && make_secrets(r);
}

static struct hub_remote *remote_new(struct mcp_hub *hub, const struct mcp_remote *wanted,
                                     const unsigned char credentials[SHA256_BYTES])
{
    struct hub_remote *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return NULL;
    r->server.hub = hub;
    r->server.remote = r;
    r->server.conf = &r->conf;
    memcpy(r->credentials, credentials, SHA256_BYTES);
    r->timer = loop_timer_new(hub->loop, on_timer, r);
    if (r->timer != NULL && hub_remote_copy(wanted, &r->memory, &r->copy) && make_conf(r) &&
        hub_server_start(&r->server, hub->remote_client))
        return r;
    hub_remote_free(r);
    return NULL;
}

/* Closing a server that nobody uses just now costs nothing but time. */
static bool make_room(struct mcp_hub *hub)
{
    struct hub_remote *oldest = NULL;

    if (hub->n_remotes < hub->conf.max_remote)
        return true;
    for (struct hub_server *s = hub->remotes; s != NULL; s = s->next) {
        if (!is_in_use(s->remote) && (oldest == NULL || s->remote->used_ms < oldest->used_ms))
            oldest = s->remote;
    }
    if (oldest != NULL)
        hub_remote_close(oldest, false);
    return oldest != NULL;
}

/* Opens a server for the task; NULL once the task has been failed. */
static struct hub_remote *open_remote(struct mcp_hub *hub, struct mcp_task *task,
                                      const unsigned char credentials[SHA256_BYTES])
{
    struct hub_remote *r;

    if (!make_room(hub)) {
        mcp_task_fail(task, STR("The gateway is connected to as many MCP servers as it may be."));
        return NULL;
    }
    r = remote_new(hub, mcp_task_remote(task), credentials);
    if (r == NULL) {
        mcp_task_fail(task, STR("The gateway ran out of memory."));
        return NULL;
    }
    r->server.next = hub->remotes;
    hub->remotes = &r->server;
    hub->n_remotes++;
    loop_timer_start(r->timer, hub->conf.remote_timeout_ms);
    return r;
}

/* ---- tasks */

/* The server for the task, shared or new; NULL once the task has been failed. */
static struct hub_remote *find_or_open(struct mcp_hub *hub, struct mcp_task *task, bool lists)
{
    const struct mcp_remote *wanted = mcp_task_remote(task);
    unsigned char credentials[SHA256_BYTES];
    struct hub_remote *r;

    if (!hash_credentials(wanted, credentials)) {
        mcp_task_fail(task, STR("The gateway ran out of memory."));
        return NULL;
    }
    r = find_remote(hub, wanted, credentials);
    if (r == NULL && lists)
        r = find_public(hub, wanted);
    return r != NULL ? r : open_remote(hub, task, credentials);
}

void hub_remote_list(struct mcp_hub *hub, struct mcp_task *task)
{
    struct hub_remote *r = find_or_open(hub, task, true);

    if (r == NULL)
        return;
    if (hub_server_is_available(&r->server)) {
        mcp_task_listed(task, r->server.tools);
        hub_remote_touch(r);
        return;
    }
    if (r->is_settled) { /* the last listing came too late: another chance */
        r->is_settled = false;
        mcp_session_refresh(r->server.session);
        loop_timer_start(r->timer, hub->conf.remote_timeout_ms);
    }
    *mcp_task_next(task) = r->waiting;
    r->waiting = task;
}

void hub_remote_forget(struct mcp_hub *hub, struct mcp_task *task)
{
    for (struct hub_server *s = hub->remotes; s != NULL; s = s->next) {
        for (struct mcp_task **place = &s->remote->waiting; *place != NULL;
             place = mcp_task_next(*place)) {
            if (*place == task) {
                *place = *mcp_task_next(task);
                return;
            }
        }
    }
}

struct hub_server *hub_remote_use(struct mcp_hub *hub, struct mcp_task *task)
{
    struct hub_remote *r = find_or_open(hub, task, false);

    return r == NULL ? NULL : &r->server;
}
