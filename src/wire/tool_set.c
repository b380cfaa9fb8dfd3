/* tool_set.c -- read the tools of a request, type by type.
 *
 * A type that is not in the table cannot be served: the tool is echoed to the
 * client and not shown to the model, so nothing in it is looked at. */
#include "wire/tool_set.h"

#include "conv/fields.h"
#include "conv/reject.h"
#include "conv/tool_name.h"
#include "wire/tool_fields.h"
#include "wire/tool_mcp.h"
#include "json/json_read.h"
#include "json/json_text.h"

struct tool_reader {
    struct tool_set set;
    struct tool_index index;
    struct str_map labels; /* label -> struct mcp_declaration */
    bool additional;       /* the tools come from an input item */
    bool inherited;        /* they were stored, without their credentials */
    bool reject_unserved;
    struct arena *arena;
    struct err *reterr;
};

/* One element of `tools` and where it stands. */
struct source {
    struct tool_fields f;
    const struct path *at;
    str name_space; /* STR_NONE outside a namespace */
};

/* ---- adding to the set */

static bool same_text(str a, str b)
{
    return str_is_none(a) == str_is_none(b) && str_eq(a, b);
}

/* A conversation that is sent again repeats its additional_tools items; the
 * tools they name are then the ones already known. */
static bool is_repeated(const struct tool_reader *r, const struct tool *known, const struct tool *t)
{
    return r->additional && known->kind == t->kind && same_text(known->name, t->name) &&
           same_text(known->name_space, t->name_space);
}

static int reject_twice(const struct tool *t, struct err *reterr)
{
    err_set_param(reterr, ERR_INVALID_VALUE, "tools",
                  "Invalid 'tools': more than one tool has the name '%.*s'.",
                  STR_ARG(t->upstream_name));
    return -1;
}

static void append(struct tool_set *set, struct tool *t)
{
    t->sent = true;
    if (set->last == NULL)
        set->first = t;
    else
        set->last->next = t;
    set->last = t;
    set->n++;
    set->n_sent++;
}

static int add_tool(struct tool_reader *r, struct tool *t)
{
    void **slot;

    t->upstream_name = tool_name_for_upstream(r->arena, t->name_space, t->name);
    if (str_is_none(t->upstream_name))
        return reject_memory(r->reterr);
    slot = str_map_slot(&r->index.by_name, t->upstream_name, r->arena);
    if (slot == NULL)
        return reject_memory(r->reterr);
    if (*slot != NULL)
        return is_repeated(r, *slot, t) ? 0 : reject_twice(t, r->reterr);
    *slot = t;
    append(&r->set, t);
    return 0;
}

static struct tool *new_tool(struct tool_reader *r, const struct source *s, enum tool_kind kind)
{
    struct tool *t = arena_alloc(r->arena, sizeof(*t));

    if (t == NULL) {
        (void)reject_memory(r->reterr);
        return NULL;
    }
    t->kind = kind;
    t->name_space = s->name_space;
    t->name = s->f.name;
    t->description = s->f.description;
    return t;
}

/* ---- tool types */

static int need_name(const struct path *parent, str name, str member, struct err *reterr)
{
    struct path at = path_member(parent, member);

    if (str_is_none(name))
        return reject_missing(&at, reterr);
    return name.len == 0 ? reject_empty(&at, reterr) : 0;
}

static int read_function(struct tool_reader *r, struct source *s)
{
    struct path function_at = path_member(s->at, STR("function"));
    const struct path *at = str_is_none(s->f.function) ? s->at : &function_at;
    struct tool *t;

    if (tool_fields_flatten(&s->f, s->at, r->reterr) == -1 ||
        need_name(at, s->f.name, STR("name"), r->reterr) == -1)
        return -1;
    t = new_tool(r, s, TOOL_FUNCTION);
    if (t == NULL)
        return -1;
    t->parameters = s->f.parameters;
    t->strict = s->f.strict;
    return add_tool(r, t);
}

static int read_grammar(const struct source *s, struct tool *t, struct err *reterr)
{
    struct format {
        str type, syntax, definition;
    } f = {0};
    static const struct field table[] = {
        FIELD(struct format, type, FIELD_TEXT),
        FIELD(struct format, syntax, FIELD_TEXT),
        FIELD(struct format, definition, FIELD_TEXT),
    };
    static const str types[] = {STR_INIT("text"), STR_INIT("grammar")};
    static const str syntaxes[] = {STR_INIT("lark"), STR_INIT("regex")};
    struct path at = path_member(s->at, STR("format"));
    struct path type_at = path_member(&at, STR("type"));
    struct path syntax_at = path_member(&at, STR("syntax"));
    struct path definition_at = path_member(&at, STR("definition"));

    if (fields_read_raw(s->f.format, FIELDS(table), &at, &f, reterr) == -1)
        return -1;
    if (str_is_none(f.type))
        return reject_missing(&type_at, reterr);
    if (check_value(&type_at, f.type, types, 2, reterr) == -1)
        return -1;
    if (json_text_eq(f.type, STR("text")))
        return 0;
    if (str_is_none(f.syntax))
        return reject_missing(&syntax_at, reterr);
    if (str_is_none(f.definition))
        return reject_missing(&definition_at, reterr);
    t->grammar_syntax = f.syntax;
    t->grammar_definition = f.definition;
    return check_value(&syntax_at, f.syntax, syntaxes, 2, reterr);
}

static int read_custom(struct tool_reader *r, struct source *s)
{
    struct tool *t;

    if (need_name(s->at, s->f.name, STR("name"), r->reterr) == -1)
        return -1;
    t = new_tool(r, s, TOOL_CUSTOM);
    if (t == NULL)
        return -1;
    if (!str_is_none(s->f.format) && read_grammar(s, t, r->reterr) == -1)
        return -1;
    return add_tool(r, t);
}

static int read_local_shell(struct tool_reader *r, struct source *s)
{
    struct tool *t;

    s->f.name = STR("local_shell");
    t = new_tool(r, s, TOOL_LOCAL_SHELL);
    return t == NULL ? -1 : add_tool(r, t);
}

/* Served only with a provider, which this gateway does not have yet. */
static int read_code_interpreter(struct tool_reader *r, struct source *s)
{
    struct path at = path_member(s->at, STR("container"));

    return str_is_none(s->f.container) ? reject_missing(&at, r->reterr) : 0;
}

/* ---- servers */

static int reject_label_twice(const struct source *s, struct err *reterr)
{
    struct path at = path_member(s->at, STR("server_label"));

    err_set_param(reterr, ERR_INVALID_VALUE, path_name(&at).text,
                  "Invalid '%s': more than one MCP tool has the server label '%s'.",
                  path_name(&at).text, shown(s->f.server_label).text);
    return -1;
}

/* additional_tools may repeat a server, as they may a function. What comes with this
 * request may bring the credentials that what was stored has lost. */
static int repeat_server(struct mcp_declaration *known, const struct mcp_declaration *d)
{
    struct mcp_declaration *next = known->next;

    if (known->is_inherited && !d->is_inherited) {
        *known = *d;
        known->next = next;
    }
    return 0;
}

static int add_server(struct tool_reader *r, const struct source *s, struct mcp_declaration *d)
{
    struct tool_set *set = &r->set;
    void **slot = str_map_slot(&r->labels, d->label, r->arena);

    if (slot == NULL)
        return reject_memory(r->reterr);
    if (*slot != NULL)
        return r->additional ? repeat_server(*slot, d) : reject_label_twice(s, r->reterr);
    *slot = d;
    if (set->last_server == NULL)
        set->first_server = d;
    else
        set->last_server->next = d;
    set->last_server = d;
    set->n_servers++;
    return 0;
}

static int read_mcp(struct tool_reader *r, struct source *s)
{
    struct mcp_declaration *d = arena_alloc(r->arena, sizeof(*d));

    if (d == NULL)
        return reject_memory(r->reterr);
    if (tool_mcp_read(&s->f, s->at, r->arena, d, r->reterr) == -1)
        return -1;
    d->is_inherited = r->inherited;
    return add_server(r, s, d);
}

/* ---- one element, and the lists that hold elements */

static int read_list(struct tool_reader *r, str raw, const struct path *at, str name_space);

static int read_namespace(struct tool_reader *r, struct source *s)
{
    struct path tools_at = path_member(s->at, STR("tools"));

    if (need_name(s->at, s->f.name, STR("name"), r->reterr) == -1)
        return -1;
    if (str_is_none(s->f.tools))
        return reject_missing(&tools_at, r->reterr);
    return read_list(r, s->f.tools, &tools_at, s->f.name);
}

static const struct tool_type {
    str name;
    bool in_namespace; /* may stand in one */
    bool served;       /* else there is no provider for it yet */
    int (*read)(struct tool_reader *r, struct source *s);
} tool_types[] = {
    {STR_INIT("function"), true, true, read_function},
    {STR_INIT("custom"), true, true, read_custom},
    {STR_INIT("namespace"), false, true, read_namespace},
    {STR_INIT("mcp"), false, true, read_mcp},
    {STR_INIT("code_interpreter"), false, false, read_code_interpreter},
    {STR_INIT("local_shell"), false, true, read_local_shell},
};

/* The reader for a type, or NULL when it cannot be served at this place. */
static const struct tool_type *find_type(str name, bool in_namespace)
{
    for (size_t i = 0; i < sizeof(tool_types) / sizeof(tool_types[0]); i++) {
        if (json_text_eq(name, tool_types[i].name))
            return in_namespace && !tool_types[i].in_namespace ? NULL : &tool_types[i];
    }
    return NULL;
}

static int note_type(struct tool_reader *r, str name)
{
    str plain = json_text_dup(r->arena, name);
    void **slot = str_is_none(plain) ? NULL : str_map_slot(&r->index.types, plain, r->arena);

    if (slot == NULL)
        return reject_memory(r->reterr);
    *slot = r;
    return 0;
}

static int reject_unserved_type(const struct path *at, str type, struct err *reterr)
{
    const struct path type_at = path_member(at, STR("type"));

    err_set_param(reterr, ERR_UNSUPPORTED_PARAMETER, path_name(&type_at).text,
                  "Unsupported parameter: '%s'. The gateway cannot serve tools of type '%s' here.",
                  path_name(&type_at).text, shown(type).text);
    return -1;
}

static int read_tool(struct tool_reader *r, str raw, const struct path *at, str name_space)
{
    struct source s = {.at = at, .name_space = name_space};
    bool in_namespace = !str_is_none(name_space);
    int rc = tool_fields_read(raw, at, &s.f, r->reterr);
    const struct tool_type *type = find_type(s.f.type, in_namespace);

    if (rc == -1 && (type != NULL || s.f.type.len == 0))
        return -1;
    if (need_name(at, s.f.type, STR("type"), r->reterr) == -1)
        return -1;
    if (!in_namespace && note_type(r, s.f.type) == -1)
        return -1;
    if (type != NULL && type->read(r, &s) == -1)
        return -1;
    if (r->reject_unserved && (type == NULL || !type->served))
        return reject_unserved_type(at, s.f.type, r->reterr);
    return 0;
}

static int read_list(struct tool_reader *r, str raw, const struct path *at, str name_space)
{
    struct jr j;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_ARRAY))
        return 0;
    for (size_t i = 0; jr_next_element(&j); i++) {
        struct path tool_at = path_index(at, i);

        if (read_tool(r, jr_raw(&j), &tool_at, name_space) == -1)
            return -1;
    }
    return 0;
}

static int read_additional(struct tool_reader *r, const struct tool_sources *from)
{
    struct path input_at = path_member(NULL, STR("input"));
    size_t n = 0;

    r->additional = true;
    for (const struct item *it = from->items->first; it != NULL; it = it->next) {
        struct path item_at = path_index(&input_at, it->index);
        struct path tools_at = path_member(&item_at, STR("tools"));

        r->inherited = n++ < from->n_before;
        if (it->kind == ITEM_ADDITIONAL_TOOLS && read_list(r, it->tools, &tools_at, STR_NONE) == -1)
            return -1;
    }
    return 0;
}

int tool_set_parse(const struct tool_sources *from, bool reject_unserved,
                   const struct id_source *ids, struct arena *a, struct tool_set *ret,
                   struct tool_index *ret_index, struct err *reterr)
{
    struct tool_reader r = {.inherited = from->is_inherited,
                            .reject_unserved = reject_unserved,
                            .arena = a,
                            .reterr = reterr};
    struct path tools_at = path_member(NULL, STR("tools"));

    str_map_init(&r.index.by_name, ids);
    str_map_init(&r.index.types, ids);
    str_map_init(&r.labels, ids);
    if (!str_is_none(from->tools) && read_list(&r, from->tools, &tools_at, STR_NONE) == -1)
        return -1;
    if (read_additional(&r, from) == -1)
        return -1;
    *ret = r.set;
    *ret_index = r.index;
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

static struct tool *new_hosted(const struct hosted_tool *from, struct arena *a)
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
        .hosted = from->hosted,
    };
    if (from->description.len > 0)
        t->description = escaped_dup(from->description, a);
    if (str_is_none(t->name) || str_is_none(t->server_label) ||
        (from->description.len > 0 && str_is_none(t->description)))
        return NULL;
    return t;
}

int tool_set_add_hosted(struct tool_set *set, struct tool_index *index,
                        const struct hosted_tool *tool, struct arena *a, struct err *reterr)
{
    struct tool *t = new_hosted(tool, a);
    void **slot = t == NULL ? NULL : str_map_slot(&index->by_name, t->upstream_name, a);

    if (slot == NULL)
        return reject_memory(reterr);
    if (*slot != NULL)
        return reject_twice(t, reterr);
    *slot = t;
    append(set, t);
    return 0;
}
