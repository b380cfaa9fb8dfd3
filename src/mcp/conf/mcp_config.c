/* mcp_config.c -- the table of servers: from a file's text to a shared table.
 *
 * The text is copied, made strict and checked as a whole first: behind a
 * mistake in the syntax nobody knows which server a line belongs to, so then
 * there is no table at all. */
#include "mcp/conf/mcp_config.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/secrets.h"
#include "config/spelling.h"
#include "json/json_read.h"
#include "json/json_relax.h"
#include "mcp/conf/mcp_config_entry.h"

enum { MAX_FILE_BYTES = 1 << 20, MAX_MEMORY_BYTES = 64 << 20 };

struct shared {
    struct mcp_config table; /* first, so that a pointer to it is one to this */
    struct mcp_server_conf *servers;
    struct arena memory;
    struct shared *kept; /* the table that some of the servers are from; or NULL */
    atomic_uint n_refs;
};

static struct shared *shared_table_of(struct mcp_config *c)
{
    return (struct shared *)(void *)c;
}

/* ---- the life of a table */

static void wipe_server(const struct mcp_server_conf *server)
{
    for (size_t k = 0; k < server->n_secrets; k++)
        secret_wipe(server->secrets[k]);
    secret_wipe(server->canonical.hidden);
}

/* True when the server belongs to the table before, which is kept for it. */
static bool is_borrowed(const struct shared *s, const struct mcp_server_conf *server)
{
    const struct mcp_server_conf *origin =
        s->kept == NULL ? NULL : mcp_config_find(&s->kept->table, server->label);

    return origin != NULL && origin->label.p == server->label.p;
}

static void shared_table_free(struct shared *s)
{
    for (size_t i = 0; i < s->table.n; i++) {
        if (!is_borrowed(s, &s->servers[i]))
            wipe_server(&s->servers[i]);
    }
    if (s->kept != NULL)
        mcp_config_unref(&s->kept->table);
    arena_fini(&s->memory);
    free(s);
}

static struct shared *shared_table_new(void)
{
    struct shared *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    arena_init(&s->memory, MAX_MEMORY_BYTES);
    atomic_init(&s->n_refs, 1);
    s->servers = arena_array(&s->memory, MCP_CONFIG_MAX_SERVERS, sizeof(*s->servers));
    s->table.servers = s->servers;
    if (s->servers != NULL)
        return s;
    free(s);
    return NULL;
}

struct mcp_config *mcp_config_ref(struct mcp_config *c)
{
    if (c != NULL)
        atomic_fetch_add_explicit(&shared_table_of(c)->n_refs, 1, memory_order_relaxed);
    return c;
}

void mcp_config_unref(struct mcp_config *c)
{
    if (c != NULL &&
        atomic_fetch_sub_explicit(&shared_table_of(c)->n_refs, 1, memory_order_acq_rel) == 1)
        shared_table_free(shared_table_of(c));
}

/* ---- from text to table */

/* A server with this label takes the place of an earlier one. */
static struct mcp_server_conf *place_for(struct shared *s, struct mcp_reader *r, str label)
{
    for (size_t i = 0; i < s->table.n; i++) {
        if (str_eq(s->servers[i].label, label)) {
            config_warning(r->problems, "%s: MCP server %s is there twice; the last one counts",
                           r->source->name, config_quote(label).text);
            return &s->servers[i];
        }
    }
    if (s->table.n == MCP_CONFIG_MAX_SERVERS) {
        config_error(r->problems, "%s: has more than %d MCP servers", r->source->name,
                     MCP_CONFIG_MAX_SERVERS);
        return NULL;
    }
    return &s->servers[s->table.n++];
}

static bool load_servers(struct shared *s, struct mcp_reader *r, const char *root, str raw)
{
    struct jr j;
    str name;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_OBJECT)) {
        config_error(r->problems, "%s: \"%s\" must be an object of servers, {\"label\": { ... }}",
                     r->source->name, root);
        return false;
    }
    while (jr_next_member(&j, &name)) {
        str label_raw = j.raw_key, entry = jr_raw(&j);
        struct mcp_server_conf *place, server;

        mcp_entry_read(r, label_raw, entry, &server);
        place = place_for(s, r, server.label);
        if (place == NULL)
            return false;
        *place = server;
    }
    return true;
}

static void note_no_root(const struct mcp_reader *r, str nearest)
{
    struct spelling s = spelling_of(nearest, 3);

    (void)spelling_try(&s, "mcpServers");
    (void)spelling_try(&s, "servers");
    if (s.best != NULL)
        config_warning(r->problems, "%s: has no MCP servers; did you mean \"%s\" by %s?",
                       r->source->name, s.best, config_quote(nearest).text);
    else
        config_warning(r->problems,
                       "%s: has no MCP servers; they stand in an object \"mcpServers\"",
                       r->source->name);
}

/* Members of the file that are not ours belong to the program it comes from. */
static bool load_roots(struct shared *s, struct mcp_reader *r)
{
    bool is_fine = true, has_root = false;
    str name, other = STR_NONE;
    struct jr j;

    jr_init(&j, r->text);
    (void)jr_enter(&j, JR_OBJECT);
    while (is_fine && jr_next_member(&j, &name)) {
        bool is_servers = str_eq(name, STR("servers"));

        if (is_servers || str_eq(name, STR("mcpServers"))) {
            has_root = true;
            is_fine = load_servers(s, r, is_servers ? "servers" : "mcpServers", jr_raw(&j));
        } else {
            other = j.raw_key;
            jr_skip(&j);
        }
    }
    if (!has_root)
        note_no_root(r, other);
    return is_fine;
}

static bool check_object(const struct mcp_reader *r)
{
    const char *name = r->source->name;
    size_t line, column;
    bool has_object;
    struct jr j;

    jr_init(&j, r->text);
    has_object = jr_peek(&j) == JR_OBJECT;
    jr_skip(&j);
    if (jr_end(&j) && has_object)
        return true;
    json_relax_place(r->text, jr_offset(&j), &line, &column);
    if (jr_ok(&j))
        config_error(r->problems, "%s: must hold a JSON object, { ... }", name);
    else
        config_error(r->problems, "%s: line %zu, column %zu: %s", name, line, column, j.error);
    return false;
}

static bool load_table(struct shared *s, struct mcp_reader *r)
{
    if (!check_object(r) || !load_roots(s, r))
        return false;
    if (r->no_memory) {
        config_error(r->problems, "%s: out of memory", r->source->name);
        return false;
    }
    if (r->has_secrets && r->source->others_may_read)
        config_warning(r->problems,
                       "%s: holds headers, variables or tokens, and others may read it; see chmod",
                       r->source->name);
    return true;
}

struct mcp_config *mcp_config_parse(const struct mcp_config_source *source,
                                    struct config_problems *problems)
{
    struct shared *s = shared_table_new();
    struct buf strict;
    bool is_fine = false;

    buf_init(&strict, MAX_FILE_BYTES);
    buf_append(&strict, source->text);
    if (s == NULL || buf_failed(&strict)) {
        config_error(problems, "%s: larger than 1 MiB, or out of memory", source->name);
    } else {
        struct mcp_reader r = {.source = source, .problems = problems, .memory = &s->memory};

        json_relax(strict.p, strict.len);
        r.text = buf_str(&strict);
        is_fine = load_table(s, &r);
    }
    secret_buf_fini(&strict);
    if (!is_fine && s != NULL) {
        shared_table_free(s);
        s = NULL;
    }
    return s == NULL ? NULL : &s->table;
}

void mcp_config_keep_usable(struct mcp_config *now, struct mcp_config *old)
{
    struct shared *s = now == NULL ? NULL : shared_table_of(now);

    for (size_t i = 0; old != NULL && s != NULL && i < now->n; i++) {
        struct mcp_server_conf *server = &s->servers[i];
        const struct mcp_server_conf *before = mcp_config_find(old, server->label);

        if (server->problem == NULL || before == NULL || before->problem != NULL)
            continue;
        wipe_server(server);
        *server = *before;
        if (s->kept == NULL)
            s->kept = shared_table_of(mcp_config_ref(old));
    }
}

/* ---- questions */

const struct mcp_server_conf *mcp_config_find(const struct mcp_config *c, str label)
{
    for (size_t i = 0; i < c->n; i++) {
        if (str_eq(c->servers[i].label, label))
            return &c->servers[i];
    }
    return NULL;
}

bool mcp_server_conf_is_usable(const struct mcp_server_conf *s)
{
    return s->is_enabled && s->problem == NULL;
}

bool mcp_server_conf_offers(const struct mcp_server_conf *s, str tool)
{
    return (!s->allowed_tools.is_given || mcp_name_list_has(&s->allowed_tools, tool)) &&
           !mcp_name_list_has(&s->excluded_tools, tool);
}

bool mcp_server_conf_injects(const struct mcp_server_conf *s, bool by_default)
{
    return s->inject == MCP_INJECT_DEFAULT ? by_default : s->inject == MCP_INJECT_ALWAYS;
}

const char *mcp_transport_name(enum mcp_transport transport)
{
    static const char *const names[] = {"stdio", "streamable_http", "sse"};

    return names[transport];
}
