/* mcp_catalogue.c -- tools in one arena, counted; from a listing, from an item, and
 * as an item's JSON.
 *
 * A catalogue under another label is its own small thing with a reference to the one
 * whose tools it shows. */
#include "mcp/session/mcp_catalogue.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "ev/log.h"
#include "json/json_copy.h"
#include "json/json_text.h"
#include "mcp/proto/mcp_schema.h"

struct shared {
    struct mcp_catalogue catalogue; /* first, so that a pointer to it is one to this */
    struct mcp_catalogue *base;     /* whose tools these are, or NULL */
    struct arena memory;
    atomic_uint n_refs;
};

/* ---- the life of a catalogue */

static struct shared *shared_catalogue_of(struct mcp_catalogue *c)
{
    return (struct shared *)(void *)c;
}

static struct shared *shared_catalogue_new(str label)
{
    struct shared *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    atomic_init(&s->n_refs, 1);
    s->catalogue.label = arena_dup(&s->memory, label);
    if (!str_is_none(s->catalogue.label))
        return s;
    free(s);
    return NULL;
}

struct mcp_catalogue *mcp_catalogue_ref(struct mcp_catalogue *c)
{
    if (c != NULL)
        atomic_fetch_add_explicit(&shared_catalogue_of(c)->n_refs, 1, memory_order_relaxed);
    return c;
}

void mcp_catalogue_unref(struct mcp_catalogue *c)
{
    struct shared *s = shared_catalogue_of(c);

    if (c == NULL || atomic_fetch_sub_explicit(&s->n_refs, 1, memory_order_acq_rel) != 1)
        return;
    mcp_catalogue_unref(s->base);
    arena_fini(&s->memory);
    free(s);
}

struct mcp_catalogue *mcp_catalogue_under(struct mcp_catalogue *c, str label)
{
    struct shared *s;

    if (str_eq(c->label, label))
        return mcp_catalogue_ref(c);
    s = shared_catalogue_new(label);
    if (s == NULL)
        return NULL;
    s->base = mcp_catalogue_ref(c);
    s->catalogue.tools = c->tools;
    s->catalogue.n = c->n;
    return &s->catalogue;
}

/* ---- one tool */

/* The text of a buf in the arena; STR_NONE when there was no memory for either. */
static str keep_text(struct arena *a, const struct buf *text)
{
    return buf_failed(text) ? STR_NONE : arena_dup(a, buf_str(text));
}

static str description_of(const struct mcp_tool *tool, struct arena *a)
{
    struct buf text = {0};
    str kept;

    mcp_description_write(tool, STR_NONE, &text);
    kept = keep_text(a, &text);
    buf_fini(&text);
    return kept;
}

/* Most servers write schemas that a model can be given as they are. */
static str model_schema_of(str schema, struct arena *a)
{
    struct buf text = {0};
    str kept;

    mcp_schema_write(schema, &text);
    kept = !buf_failed(&text) && str_eq(buf_str(&text), schema) ? schema : keep_text(a, &text);
    buf_fini(&text);
    return kept;
}

/* MCP 11.7: the server's object, with read_only as we understood it. */
static str annotations_of(str raw, bool is_read_only, struct arena *a)
{
    struct buf text = {0};
    struct jw w = jw_to(&text);
    struct jr j;
    str name, kept;

    jw_object(&w);
    jr_init(&j, str_is_none(raw) ? STR("{}") : raw);
    if (jr_enter(&j, JR_OBJECT)) {
        while (jr_next_member(&j, &name)) {
            if (str_eq(name, STR("read_only"))) {
                jr_skip(&j);
                continue;
            }
            json_copy_key(&w, j.raw_key);
            json_copy_element(&w, jr_raw(&j));
        }
    }
    jw_key_bool(&w, "read_only", is_read_only);
    jw_object_end(&w);
    kept = keep_text(a, &text);
    buf_fini(&text);
    return kept;
}

/* Makes what we show of what the server said. False when out of memory. */
static bool tool_make(const struct mcp_tool *tool, str name, struct arena *a,
                      struct mcp_catalogue_tool *ret)
{
    *ret = (struct mcp_catalogue_tool){
        .name = arena_dup(a, name),
        .description = description_of(tool, a),
        .schema = arena_dup(a, str_is_none(tool->schema) ? STR("{}") : tool->schema),
        .annotations = annotations_of(tool->annotations, tool->is_read_only, a),
        .is_read_only = tool->is_read_only,
    };
    if (!str_is_none(ret->schema))
        ret->model_schema = model_schema_of(ret->schema, a);
    return !str_is_none(ret->name) && !str_is_none(ret->description) &&
           !str_is_none(ret->model_schema) && !str_is_none(ret->annotations);
}

/* Mirrors are read again, since they point into the arena of the schema. A listing has left out
 * tools with bad ones; in an item they mean that the server needs none. */
static bool mirrors_make(struct mcp_catalogue_tool *t, struct arena *a)
{
    struct mcp_mirror *mirrors;
    struct err why;

    if (mcp_mirrors_read(t->schema, a, &mirrors, &why) == -1)
        return why.code == ERR_UPSTREAM_ERROR; /* else out of memory */
    t->mirrors = mirrors;
    return true;
}

/* ---- from a listing */

static bool add_listed(struct shared *s, const struct mcp_listing *listing,
                       const struct mcp_server_conf *server)
{
    struct mcp_catalogue_tool *tools = arena_array(&s->memory, listing->n, sizeof(*tools));

    s->catalogue.tools = tools;
    for (const struct mcp_listed_tool *t = listing->first; tools != NULL && t != NULL;
         t = t->next) {
        struct mcp_catalogue_tool *made = &tools[s->catalogue.n];

        if (server != NULL && !mcp_server_conf_offers(server, t->name)) {
            log_line(LOG_DEBUG, "mcp_tool_hidden",
                     (struct log_field[]){LOG_STR("server", s->catalogue.label),
                                          LOG_STR("tool", t->name), LOG_END});
            continue;
        }
        if (!tool_make(&t->tool, t->name, &s->memory, made) ||
            (t->mirrors != NULL && !mirrors_make(made, &s->memory)))
            return false;
        s->catalogue.n++;
    }
    return tools != NULL;
}

struct mcp_catalogue *mcp_catalogue_new(str label, const struct mcp_listing *listing,
                                        const struct mcp_server_conf *server)
{
    struct shared *s = shared_catalogue_new(label);

    if (s == NULL)
        return NULL;
    if (add_listed(s, listing, server))
        return &s->catalogue;
    mcp_catalogue_unref(&s->catalogue);
    return NULL;
}

/* ---- from an item */

static str non_null(str raw)
{
    return jr_type_of(raw) == JR_NULL ? STR_NONE : raw;
}

/* An element as its server would have listed it. */
static struct mcp_tool tool_of_item(str raw)
{
    str annotations = jr_member(raw, STR("annotations"));
    str read_only = jr_member(annotations, STR("read_only"));

    if (str_is_none(read_only)) /* written by another gateway */
        read_only = jr_member(annotations, STR("readOnlyHint"));
    return (struct mcp_tool){
        .name = jr_member_string(raw, STR("name")),
        .description = jr_member_string(raw, STR("description")),
        .schema = non_null(jr_member(raw, STR("input_schema"))),
        .annotations = jr_type_of(annotations) == JR_OBJECT ? annotations : STR_NONE,
        .is_read_only = jr_type_of(read_only) == JR_TRUE,
    };
}

static bool add_element(struct shared *s, struct mcp_catalogue_tool *place, str raw)
{
    struct mcp_tool tool = tool_of_item(raw);
    str name = json_text_dup(&s->memory, tool.name);

    if (tool.name.len == 0 ||
        (!str_is_none(tool.schema) && mcp_schema_check(tool.schema, NULL) == -1))
        return true;
    if (str_is_none(name))
        return false;
    if (mcp_catalogue_find(&s->catalogue, name) != NULL)
        return true;
    if (!tool_make(&tool, name, &s->memory, place) || !mirrors_make(place, &s->memory))
        return false;
    s->catalogue.n++;
    return true;
}

static bool add_elements(struct shared *s, str array)
{
    size_t n = jr_count(array);
    struct mcp_catalogue_tool *tools;
    bool is_fine;
    struct jr j;

    n = n < MCP_LISTING_MAX_TOOLS ? n : MCP_LISTING_MAX_TOOLS;
    tools = arena_array(&s->memory, n, sizeof(*tools));
    s->catalogue.tools = tools;
    is_fine = tools != NULL;
    jr_init(&j, array);
    if (jr_enter(&j, JR_ARRAY)) {
        while (is_fine && s->catalogue.n < n && jr_next_element(&j))
            is_fine = add_element(s, &tools[s->catalogue.n], jr_raw(&j));
    }
    return is_fine;
}

struct mcp_catalogue *mcp_catalogue_from_item(str label, str tools)
{
    struct shared *s = shared_catalogue_new(label);

    if (s == NULL)
        return NULL;
    if (add_elements(s, tools))
        return &s->catalogue;
    mcp_catalogue_unref(&s->catalogue);
    return NULL;
}

/* ---- questions */

const struct mcp_catalogue_tool *mcp_catalogue_find(const struct mcp_catalogue *c, str name)
{
    for (size_t i = 0; i < c->n; i++) {
        if (str_eq(c->tools[i].name, name))
            return &c->tools[i];
    }
    return NULL;
}

void mcp_catalogue_write(const struct mcp_catalogue *c, const struct mcp_filter *allowed,
                         struct buf *out)
{
    struct jw w = jw_to(out);

    for (size_t i = 0; i < c->n; i++) {
        const struct mcp_catalogue_tool *t = &c->tools[i];

        if (allowed != NULL && !mcp_filter_has(allowed, t->name, t->is_read_only))
            continue;
        jw_object(&w);
        jw_key_string(&w, "name", t->name);
        if (t->description.len > 0)
            jw_key_string(&w, "description", t->description);
        json_copy_key_value(&w, "input_schema", t->schema);
        jw_key_raw(&w, "annotations", t->annotations);
        jw_object_end(&w);
    }
}
