/* tool_defer.c -- who waits, who is found. A tool that waits is not sent, so nobody else has to know. */
#include "wire/tools/tool_defer.h"

#include "conv/reject.h"
#include "conv/tool_name.h"
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "wire/tools/tool_add.h"

/* ---- the search */

static struct tool *find_search(const struct tool_set *set)
{
    struct tool *t = set->first;

    while (t != NULL && t->hosted_kind != HOSTED_TOOL_SEARCH)
        t = t->next;
    return t;
}

static bool can_be_found(const struct tool *t)
{
    return t->is_deferred && t->hosted_kind == HOSTED_NONE && (t->sent || t->is_waiting);
}

const struct tool *tool_defer_next(const struct tool_set *set, const struct tool *t)
{
    t = t == NULL ? set->first : t->next;
    while (t != NULL && !can_be_found(t))
        t = t->next;
    return t;
}

/* The namespaces and servers that have been written. */
struct spaces {
    struct str_map namespaces, servers;
    struct arena *arena;
    bool has_any;
};

/* Where t belongs to, if it is the first of those that may be found and do. */
static void write_space(struct spaces *s, const struct tool *t, struct buf *out)
{
    const bool is_of_server = str_is_none(t->name_space);
    const str name = is_of_server ? t->server_label : t->name_space;
    void **slot = str_map_slot(is_of_server ? &s->servers : &s->namespaces, name, s->arena);

    out->failed = out->failed || slot == NULL;
    if (slot == NULL || *slot != NULL)
        return;
    *slot = s;
    if (!s->has_any)
        buf_append(out, STR(" They belong to:"));
    s->has_any = true;
    buf_append(out, STR("\\n- "));
    json_copy_text(name, out);
    if (t->space_description.len > 0) {
        buf_append(out, STR(": "));
        json_copy_text(t->space_description, out);
    }
}

static bool has_space(const struct tool *t)
{
    return !str_is_none(t->name_space) || !str_is_none(t->server_label);
}

/* How many there are does not change when some are found: the model is told the same in each round. */
static void write_description(const struct tool_set *set, const struct tool_index *index,
                              struct arena *a, struct buf *out)
{
    struct spaces spaces = {.namespaces = {.seed = index->by_name.seed},
                            .servers = {.seed = index->by_name.seed},
                            .arena = a};
    size_t n = 0;

    for (const struct tool *t = tool_defer_next(set, NULL); t != NULL; t = tool_defer_next(set, t))
        n++;
    buf_append(out, STR("Searches further tools, "));
    buf_int(out, (int64_t)n);
    buf_append(out,
               STR(" in all, which cannot be called before they are found. What is found can be "
                   "called from then on."));
    for (const struct tool *t = tool_defer_next(set, NULL); t != NULL;
         t = tool_defer_next(set, t)) {
        if (has_space(t))
            write_space(&spaces, t, out);
    }
}

static int describe_search(struct tool *search, const struct tool_set *set,
                           const struct tool_index *index, struct arena *a, struct err *reterr)
{
    struct buf text = {.limit = 0};

    write_description(set, index, a, &text);
    search->description = buf_failed(&text) ? STR_NONE : arena_dup(a, buf_str(&text));
    buf_fini(&text);
    return str_is_none(search->description) ? err_set_no_memory(reterr) : 0;
}

/* ---- what waits, what is loaded */

static void make_wait(struct tool_set *set, struct tool *t)
{
    set->n_sent -= t->sent;
    t->sent = false;
    t->is_waiting = true;
}

static void load_tool(struct tool_set *set, struct tool *t)
{
    if (!t->is_waiting)
        return;
    tool_remove(set, t);
    t->is_waiting = false;
    t->is_loaded = true;
    tool_add(set, t);
}

void tool_defer_load(struct tool_set *set, const struct tool *t)
{
    struct tool *own = set->first; /* which may be changed */

    while (own != NULL && own != t)
        own = own->next;
    if (own != NULL)
        load_tool(set, own);
}

/* What the client insists on cannot wait. Tools that allowed_tools names may, if the search is among
 * them. */
static bool is_named(const struct tool_choice *choice, const struct tool *t)
{
    return (choice->mode == TOOL_CHOICE_TOOL || choice->mode == TOOL_CHOICE_SERVER) &&
           tool_choice_leaves(choice, t);
}

static void make_all_wait(struct tool_set *set, const struct tool_choice *choice)
{
    for (struct tool *t = set->first; t != NULL; t = t->next) {
        if (can_be_found(t) && t->sent && !t->is_loaded && !is_named(choice, t))
            make_wait(set, t);
    }
}

/* ---- what the history has found */

/* The set, and what finds a tool in it however many there are. */
struct loading {
    struct tool_set *set;
    const struct tool_index *index;
    struct arena *arena;
    struct err *reterr;
};

static void load_known(const struct loading *l, str upstream_name)
{
    struct tool *t = str_map_get(&l->index->by_name, upstream_name);

    if (t != NULL)
        load_tool(l->set, t);
}

static int load_named(const struct loading *l, str name_space, str name)
{
    const str upstream_name = tool_name_for_upstream(l->arena, name_space, name);

    if (str_is_none(upstream_name))
        return err_set_no_memory(l->reterr);
    load_known(l, upstream_name);
    return 0;
}

static void load_of_server(struct tool_set *set, str label, str names)
{
    struct jr j;

    jr_init(&j, names);
    if (!jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j)) {
        const str name = jr_string(&j);
        const struct tool *t = str_is_none(name) ? NULL : tool_set_find_mcp(set, label, name);

        if (t != NULL)
            tool_defer_load(set, t);
    }
}

static int load_list(const struct loading *l, str tools, str name_space)
{
    struct jr j;
    int rc = 0;

    jr_init(&j, tools);
    if (!jr_enter(&j, JR_ARRAY))
        return 0;
    while (rc == 0 && jr_next_element(&j)) {
        const str tool = jr_raw(&j);
        const str name = jr_member_string(tool, STR("name"));
        const str label = jr_member_string(tool, STR("server_label"));
        const str inner = jr_member(tool, STR("tools"));

        if (!str_is_none(label))
            load_of_server(l->set, label, jr_member(tool, STR("allowed_tools")));
        else if (str_is_none(name_space) && jr_type_of(inner) == JR_ARRAY)
            rc = load_list(l, inner, name);
        else if (!str_is_none(name))
            rc = load_named(l, name_space, name);
    }
    return rc;
}

/* A client that leaves out what was found brings along what it has called of that. */
static int load_of_item(const struct loading *l, const struct item *it)
{
    if (it->kind == ITEM_FOUND_TOOLS)
        return load_list(l, it->tools, STR_NONE);
    if (it->kind == ITEM_CALL || it->kind == ITEM_HOSTED_CALL)
        load_known(l, it->name);
    return 0;
}

/* ---- all */

int tool_defer(struct tool_set *set, const struct tool_index *index,
               const struct tool_choice *choice, const struct item_list *items, struct arena *a,
               struct err *reterr)
{
    const struct loading loading = {set, index, a, reterr};
    struct tool *search = find_search(set);

    if (search == NULL || !search->sent)
        return 0;
    if (tool_defer_next(set, NULL) == NULL && choice->tool != search) {
        set->n_sent--;
        search->sent = false;
        return 0;
    }
    make_all_wait(set, choice);
    if (describe_search(search, set, index, a, reterr) == -1)
        return -1;
    for (const struct item *it = items->first; it != NULL; it = it->next) {
        if (load_of_item(&loading, it) == -1)
            return -1;
    }
    return 0;
}
