/* tool_add.c -- membership, and the names that make it unique. */
#include "wire/tools/tool_add.h"

#include "conv/reject.h"
#include "json/json_text.h"

int tool_add_reject(const struct tool *t, struct err *reterr)
{
    err_set_param(reterr, ERR_INVALID_VALUE, "tools",
                  "Invalid 'tools': more than one tool has the name '%.*s'.",
                  STR_ARG(t->upstream_name));
    return -1;
}

void tool_add(struct tool_set *set, struct tool *t)
{
    struct tool *before = t->is_loaded ? set->last : set->last_declared;
    struct tool **place = before == NULL ? &set->first : &before->next;

    t->sent = true;
    t->before = before;
    t->next = *place;
    *place = t;
    if (before == set->last)
        set->last = t;
    else
        t->next->before = t;
    if (!t->is_loaded)
        set->last_declared = t;
    set->n++;
    set->n_sent++;
}

void tool_remove(struct tool_set *set, const struct tool *t)
{
    if (t->before == NULL)
        set->first = t->next;
    else
        t->before->next = t->next;
    if (t->next == NULL)
        set->last = t->before;
    else
        t->next->before = t->before;
    if (set->last_declared == t)
        set->last_declared = t->before;
    set->n--;
    set->n_sent -= t->sent;
}

/* ---- hosted tools */

/* name, or name_2, name_3 ... when others have it. */
static str find_free_name(const struct tool_index *index, str name, struct arena *a)
{
    str free_name = name;

    for (int64_t n = 2; str_map_get(&index->by_name, free_name) != NULL; n++) {
        struct buf next = {0};

        buf_append(&next, name);
        buf_char(&next, '_');
        buf_int(&next, n);
        free_name = buf_failed(&next) ? STR_NONE : arena_dup(a, buf_str(&next));
        buf_fini(&next);
        if (str_is_none(free_name))
            return STR_NONE;
    }
    return free_name;
}

int tool_add_names(struct tool_set *set, struct tool_index *index, struct arena *a,
                   struct err *reterr)
{
    for (struct tool *t = set->first; t != NULL; t = t->next) {
        void **slot;

        if (!str_is_none(t->upstream_name))
            continue;
        t->upstream_name = find_free_name(index, t->name, a);
        if (str_is_none(t->upstream_name))
            return err_set_no_memory(reterr);
        slot = str_map_slot(&index->by_name, t->upstream_name, a);
        if (slot == NULL)
            return err_set_no_memory(reterr);
        *slot = t;
    }
    return 0;
}

/* ---- tools of servers */

static str escaped_dup(str plain, struct arena *a)
{
    struct buf escaped = {0};
    str copy = STR_NONE;

    json_text_escape(plain, &escaped);
    if (!buf_failed(&escaped))
        copy = arena_dup(a, buf_str(&escaped));
    buf_fini(&escaped);
    return copy;
}

static struct tool *new_mcp(const struct server_tool *from, struct arena *a)
{
    struct tool *t = arena_alloc(a, sizeof(*t));

    if (t == NULL)
        return NULL;
    *t = (struct tool){
        .kind = TOOL_MCP,
        .name = escaped_dup(from->name, a),
        .upstream_name = from->upstream_name,
        .parameters = from->parameters,
        .server_label = escaped_dup(from->server_label, a),
        .needs_approval = from->needs_approval,
        .mcp = from->mcp,
    };
    if (from->description.len > 0)
        t->description = escaped_dup(from->description, a);
    if (str_is_none(t->name) || str_is_none(t->server_label) ||
        (from->description.len > 0 && str_is_none(t->description)))
        return NULL;
    return t;
}

static const struct mcp_declaration *find_server(const struct tool_set *set, str label)
{
    const struct mcp_declaration *d = set->first_server;

    while (d != NULL && !str_eq(d->label, label))
        d = d->next;
    return d;
}

int tool_set_add_mcp(struct tool_set *set, struct tool_index *index, const struct server_tool *tool,
                     struct arena *a, struct err *reterr)
{
    const struct mcp_declaration *server = find_server(set, tool->server_label);
    struct tool *t = new_mcp(tool, a);
    void **slot = t == NULL ? NULL : str_map_slot(&index->by_name, t->upstream_name, a);

    if (slot == NULL)
        return err_set_no_memory(reterr);
    if (*slot != NULL)
        return tool_add_reject(t, reterr);
    if (server != NULL) {
        t->space_description = server->description;
        t->is_deferred = server->is_deferred;
    }
    *slot = t;
    tool_add(set, t);
    return 0;
}
