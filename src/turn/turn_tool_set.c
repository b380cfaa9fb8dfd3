/* turn_tool_set.c -- which tools of MCP servers a request gets, by what names, and which of them
 * the client has to approve (MCP 10, 11, 15.1).
 *
 * A configured server takes part when the request declares its label, or when its tools are
 * injected into every request. A declaration with a URL is a server of its own, and hides a
 * configured one of its label. */
#include "call/tool_offer.h"
#include "flight/builtin_tools.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "turn/turn_internal.h"
#include "upstream/upstream_options.h"

static int reject_declaration(const struct mcp_declaration *d, const char *member, const char *why,
                              struct err *reterr)
{
    struct buf at = {.limit = 0};

    buf_append(&at, d->at);
    buf_char(&at, '.');
    buf_c(&at, member);
    err_set_param(reterr, ERR_INVALID_VALUE, buf_cstr(&at), "Invalid '%s': %s.", buf_cstr(&at),
                  why);
    buf_fini(&at);
    return -1;
}

/* ---- which servers */

static struct mcp_declaration *find_declaration(const struct turn *t, str label)
{
    for (struct mcp_declaration *d = t->request.tools.first_server; d != NULL; d = d->next) {
        if (str_eq(d->label, label))
            return d;
    }
    return NULL;
}

/* The listing of a server in the context: what the client was shown of its tools. */
static const struct item *find_listing(const struct turn *t, str label)
{
    const struct item *found = NULL;

    for (const struct item *it = t->request.items.first; it != NULL; it = it->next) {
        if (it->kind == ITEM_TOOL_LIST && json_text_eq(it->server_label, label) &&
            !str_is_none(it->tools))
            found = it;
    }
    return found;
}

/* A declared server is shown once in a context (MCP 11.6). */
static bool is_server_shown(const struct turn *t, const struct mcp_declaration *d)
{
    const enum config_mcp_list_items which = t->flight.worker->config->mcp_list_items;

    if (d == NULL || which == CONFIG_MCP_LIST_ITEMS_NEVER ||
        (which == CONFIG_MCP_LIST_ITEMS_REMOTE && str_is_none(d->server_url)))
        return false;
    return find_listing(t, d->label) == NULL;
}

static struct turn_server *add_server(struct turn *t, struct mcp_declaration *d, struct err *reterr)
{
    struct turn_server *s = arena_alloc(&t->flight.arena, sizeof(*s));

    if (s == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    *s = (struct turn_server){.turn = t, .declaration = d, .is_shown = is_server_shown(t, d)};
    if (t->last_server == NULL)
        t->first_server = s;
    else
        t->last_server->next = s;
    t->last_server = s;
    return s;
}

static int add_configured(struct turn *t, struct err *reterr)
{
    for (size_t i = 0; t->servers != NULL && i < t->servers->n; i++) {
        const struct mcp_server_view *view = &t->servers->servers[i];
        struct mcp_declaration *d = find_declaration(t, view->conf->label);
        struct turn_server *s;

        if (d == NULL ? !tool_offer_is_injected(t->flight.worker, view)
                      : !str_is_none(d->server_url))
            continue;
        s = add_server(t, d, reterr);
        if (s == NULL)
            return -1;
        s->view = view;
        s->floor = view->conf->approval;
        s->tools = mcp_catalogue_ref(view->tools);
    }
    return 0;
}

static int check_label(const struct turn *t, const struct mcp_declaration *d, struct err *reterr)
{
    if (t->servers != NULL && mcp_snapshot_find(t->servers, d->label) != NULL)
        return 0;
    return reject_declaration(
        d, "server_label",
        "no MCP server with this label is configured; declare it with 'server_url' to "
        "use one that is not",
        reterr);
}

/* ---- servers of the request */

static struct host_list hosts(const struct config_list *list)
{
    return (struct host_list){(const char *const *)list->items, list->n};
}

static int read_url(struct turn *t, const struct mcp_declaration *d, struct allowed_url *ret,
                    struct err *reterr)
{
    static const enum url_mode modes[] = {[CONFIG_MCP_REMOTE_OFF] = URL_OFF,
                                          [CONFIG_MCP_REMOTE_PUBLIC] = URL_PUBLIC,
                                          [CONFIG_MCP_REMOTE_ANY] = URL_ANY};
    const struct config *c = t->flight.worker->config;
    const struct url_policy policy = {.mode = t->flight.worker->hub == NULL ? URL_OFF
                                                                            : modes[c->mcp_remote],
                                      .allowed = hosts(&c->mcp_remote_allow),
                                      .denied = hosts(&c->mcp_remote_deny)};
    struct buf at = {.limit = 0};
    int rc;

    buf_append(&at, d->at);
    buf_c(&at, ".server_url");
    rc = url_policy_check(&policy, d->server_url, buf_cstr(&at), &t->flight.arena, ret, reterr);
    buf_fini(&at);
    return rc;
}

/* An object of texts as a list. */
static int list_headers(struct turn *t, const struct mcp_declaration *d, struct header_list *ret,
                        struct err *reterr)
{
    struct http_header list[HEADER_POLICY_MAX_FIELDS + 1];
    struct buf at = {.limit = 0};
    struct jr j;
    size_t n = 0;
    str name;
    int rc;

    jr_init(&j, str_is_none(d->headers) ? STR("{}") : d->headers);
    (void)jr_enter(&j, JR_OBJECT);
    while (n <= HEADER_POLICY_MAX_FIELDS && jr_next_member(&j, &name)) {
        if (jr_peek(&j) != JR_STRING)
            return reject_declaration(d, "headers", "every value must be a text", reterr);
        list[n].name = json_text_dup(&t->flight.arena, name);
        list[n].value = json_text_dup(&t->flight.arena, jr_string(&j));
        if (str_is_none(list[n].name) || str_is_none(list[n].value))
            return err_set_no_memory(reterr);
        n++;
    }
    buf_append(&at, d->at);
    rc = header_policy_check(list, n, d->authorization, buf_cstr(&at), &t->flight.arena, ret,
                             reterr);
    buf_fini(&at);
    return rc;
}

static int add_remote(struct turn *t, struct mcp_declaration *d, struct err *reterr)
{
    struct mcp_remote *remote = arena_alloc(&t->flight.arena, sizeof(*remote));
    struct turn_server *s = add_server(t, d, reterr);
    const struct item *listing = find_listing(t, d->label);

    if (s == NULL || remote == NULL)
        return err_set_no_memory(reterr);
    s->remote = remote;
    remote->owner = t->flight.caller.owner;
    remote->label = d->label;
    s->floor.mode =
        t->flight.worker->config->mcp_remote_approval == CONFIG_MCP_REMOTE_APPROVAL_ALWAYS
            ? MCP_APPROVAL_ALWAYS
            : MCP_APPROVAL_NEVER;
    if (read_url(t, d, &remote->url, reterr) == -1 ||
        list_headers(t, d, &remote->headers, reterr) == -1)
        return -1;
    if (listing == NULL)
        return 0;
    s->tools = mcp_catalogue_from_item(d->label, listing->tools);
    if (s->tools != NULL)
        return 0;
    return err_set_no_memory(reterr);
}

/* ---- what the request allows and asks */

static int read_policies(struct turn *t, struct turn_server *s, struct err *reterr)
{
    struct mcp_declaration *d = s->declaration;
    struct buf why = {.limit = 0};
    int rc = 0;

    if (!str_is_none(d->allowed_tools)) {
        s->is_filtered = true;
        if (mcp_filter_read(d->allowed_tools, &t->flight.arena, &s->allowed, &why) == -1)
            rc = reject_declaration(d, "allowed_tools", buf_cstr(&why), reterr);
    }
    if (rc == 0 && !str_is_none(d->require_approval)) {
        s->asks = true;
        if (mcp_approval_read(d->require_approval, &t->flight.arena, &s->asked, &why) == -1)
            rc = reject_declaration(d, "require_approval", buf_cstr(&why), reterr);
        else if (s->remote != NULL)
            s->floor = s->asked; /* its own word is all there is */
    }
    if (s->floor.mode == MCP_APPROVAL_ALWAYS)
        d->effective_approval = STR("\"always\"");
    else if (!s->asks)
        d->effective_approval = STR("\"never\"");
    buf_fini(&why);
    return rc;
}

int turn_choose_servers(struct turn *t, struct err *reterr)
{
    const unsigned most = t->flight.worker->config->max_mcp_servers;

    if (t->request.tools.n_servers > most) {
        err_set_param(reterr, ERR_ARRAY_TOO_LONG, "tools",
                      "Invalid 'tools': at most %u MCP servers in a request (max_mcp_servers).",
                      most);
        return -1;
    }
    t->servers = worker_mcp_servers(t->flight.worker);
    if (add_configured(t, reterr) == -1)
        return -1;
    for (struct mcp_declaration *d = t->request.tools.first_server; d != NULL; d = d->next) {
        int rc = str_is_none(d->server_url) ? check_label(t, d, reterr) : add_remote(t, d, reterr);

        if (rc == -1)
            return -1;
    }
    for (struct turn_server *s = t->first_server; s != NULL; s = s->next) {
        if (s->declaration != NULL && read_policies(t, s, reterr) == -1)
            return -1;
    }
    return 0;
}

/* ---- which of their tools */

static int add_tools_of(struct tool_offer *o, const struct turn_server *s, struct err *reterr)
{
    const struct offered_server server = {
        .tools = s->tools,
        .remote = s->remote,
        .allowed = s->is_filtered ? &s->allowed : NULL,
        .floor = &s->floor,
        .asked = s->asks ? &s->asked : NULL,
        .description = s->declaration == NULL ? STR_NONE : s->declaration->description,
    };
    const size_t before = o->n;

    if (s->tools != NULL && tool_offer_add(o, &server, reterr) == -1)
        return -1;
    if (o->n > before || s->declaration == NULL || !s->is_filtered ||
        mcp_filter_is_none(&s->allowed) || s->turn->request.has_trigger)
        return 0;
    return reject_declaration(s->declaration, "allowed_tools", "the server has no such tool",
                              reterr);
}

int turn_add_tools(struct turn *t, struct err *reterr)
{
    struct tool_offer o;
    size_t n = 0;

    for (const struct turn_server *s = t->first_server; s != NULL; s = s->next)
        n += s->tools == NULL ? 0 : s->tools->n;
    if (tool_offer_init(&o, &t->flight, n, reterr) == -1)
        return -1;
    for (const struct tool *tool = t->request.tools.first; tool != NULL; tool = tool->next) {
        if (tool_offer_reserve(&o, tool->upstream_name, reterr) == -1)
            return -1;
    }
    for (const struct turn_server *s = t->first_server; s != NULL; s = s->next) {
        if (add_tools_of(&o, s, reterr) == -1)
            return -1;
    }
    return request_add_mcp(&t->request, o.tools, o.n, &t->flight.arena, reterr);
}

/* ---- reading requests */

struct responses_request_options turn_request_options(struct turn *t)
{
    const struct config *c = t->flight.worker->config;
    struct responses_request_options o =
        upstream_request_options(t->flight.upstream->config, t->facts);
    struct mcp_snapshot *servers = worker_mcp_servers(t->flight.worker);

    turn_join_fields(t, &o.extra);
    o.is_count = t->is_count;
    o.input.seal = turn_seal(t);
    o.compaction = turn_compact_reading(t);
    o.is_compact = t->is_compact;
    for (size_t kind = HOSTED_NONE + 1; kind < HOSTED_KIND_COUNT; kind++) {
        o.tools.why_not[kind] = t->flight.worker->builtin->why_not[kind];
        o.tools.serves[kind] = o.tools.why_not[kind] == NULL;
    }
    o.tools.serves_pages = t->flight.worker->pages != NULL;
    o.has_injected_tools =
        servers != NULL && mcp_snapshot_injects(servers, c->mcp_inject == CONFIG_MCP_INJECT_ALWAYS);
    mcp_snapshot_unref(servers);
    return o;
}
