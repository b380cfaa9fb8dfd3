/* tool_set.c -- read the tools of a request, type by type.
 *
 * A type that is not in the table cannot be served: the tool is echoed to the
 * client and not shown to the model, so nothing in it is looked at. */
#include "wire/tools/tool_set.h"

#include "conv/fields.h"
#include "conv/reject.h"
#include "conv/tool_name.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "wire/tools/hosted_tool.h"
#include "wire/tools/tool_add.h"
#include "wire/tools/tool_fields.h"
#include "wire/tools/tool_mcp.h"

struct tool_reader {
    struct tool_set set;
    struct tool_index index;
    struct str_map labels; /* label -> struct mcp_declaration */
    bool additional;       /* the tools come from an input item */
    bool inherited;        /* they were stored, without their credentials */
    const struct tool_options *options;
    struct arena *arena;
    struct err *reterr;
};

struct source;

struct tool_type {
    str name;
    int (*read)(struct tool_reader *r, struct source *s);
    enum hosted_kind hosted_kind; /* read_hosted */
    bool in_namespace;            /* may stand in one */
};

/* One element of `tools` and where it stands. */
struct source {
    str raw;
    struct tool_fields f;
    const struct path *at;
    str name_space;                 /* STR_NONE outside a namespace */
    struct declared_type *declared; /* its type; NULL in a namespace */
    const struct tool_type *type;   /* NULL: it cannot be served here */
    bool is_first;                  /* of that type */
    bool is_served;
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

static int add_tool(struct tool_reader *r, struct tool *t)
{
    void **slot;

    t->upstream_name = tool_name_for_upstream(r->arena, t->name_space, t->name);
    if (str_is_none(t->upstream_name))
        return err_set_no_memory(r->reterr);
    slot = str_map_slot(&r->index.by_name, t->upstream_name, r->arena);
    if (slot == NULL)
        return err_set_no_memory(r->reterr);
    if (*slot != NULL)
        return is_repeated(r, *slot, t) ? 0 : tool_add_reject(t, r->reterr);
    *slot = t;
    tool_add(&r->set, t);
    return 0;
}

static struct tool *new_tool(struct tool_reader *r, const struct source *s, enum tool_kind kind)
{
    struct tool *t = arena_alloc(r->arena, sizeof(*t));

    if (t == NULL) {
        (void)err_set_no_memory(r->reterr);
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
    if (t == NULL)
        return -1;
    if (s->is_first)
        s->declared->tool = t;
    return add_tool(r, t);
}

/* ---- hosted tools */

static int reject_type_twice(const struct source *s, struct err *reterr)
{
    struct path at = path_member(s->at, STR("type"));

    err_set_param(reterr, ERR_INVALID_VALUE, path_name(&at).text,
                  "Invalid '%s': a request can have only one tool of type '%s'.",
                  path_name(&at).text, shown(s->f.type).text);
    return -1;
}

/* Adds t when the gateway serves it. It gets its upstream name when those of all others are known.
 * additional_tools may repeat it; the first counts. */
static int add_hosted(struct tool_reader *r, struct source *s, struct tool *t)
{
    s->is_served = r->options->serves[t->hosted_kind];
    if (!s->is_first)
        return r->additional ? 0 : reject_type_twice(s, r->reterr);
    if (!s->is_served) {
        s->declared->why_not = r->options->why_not[t->hosted_kind];
        return 0;
    }
    s->declared->tool = t;
    tool_add(&r->set, t);
    return 0;
}

static int read_hosted(struct tool_reader *r, struct source *s)
{
    const struct hosted_tool *hosted = hosted_tool(s->type->hosted_kind);
    const struct hosted_declared declared = {s->raw, s->at, r->options, r->arena};
    struct tool *t;

    s->f.name = hosted_type(s->type->hosted_kind);
    t = new_tool(r, s, TOOL_HOSTED);
    if (t == NULL)
        return -1;
    t->hosted_kind = s->type->hosted_kind;
    if (hosted->read != NULL && hosted->read(&declared, t, r->reterr) == -1)
        return -1;
    return add_hosted(r, s, t);
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
static void repeat_server(struct mcp_declaration *known, const struct mcp_declaration *d)
{
    struct mcp_declaration *next = known->next;

    if (known->is_inherited && !d->is_inherited) {
        *known = *d;
        known->next = next;
    }
}

static int add_server(struct tool_reader *r, const struct source *s, struct mcp_declaration *d)
{
    struct tool_set *set = &r->set;
    void **slot = str_map_slot(&r->labels, d->label, r->arena);

    if (slot == NULL)
        return err_set_no_memory(r->reterr);
    if (*slot != NULL && !r->additional)
        return reject_label_twice(s, r->reterr);
    if (*slot != NULL) {
        repeat_server(*slot, d);
        return 0;
    }
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
        return err_set_no_memory(r->reterr);
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

static const struct tool_type tool_types[] = {
    {STR_INIT("function"), read_function, HOSTED_NONE, true},
    {STR_INIT("custom"), read_custom, HOSTED_NONE, true},
    {STR_INIT("namespace"), read_namespace, HOSTED_NONE, false},
    {STR_INIT("mcp"), read_mcp, HOSTED_NONE, false},
#define HOSTED_TOOL(symbol, type, ...) {STR_INIT(#type), read_hosted, HOSTED_##symbol, false},
#define HOSTED_ALIAS(symbol, type)     {STR_INIT(type), read_hosted, HOSTED_##symbol, false},
#include "conv/hosted.def"
    {STR_INIT("local_shell"), read_local_shell, HOSTED_NONE, false},
};

enum { N_TOOL_TYPES = COUNT_OF(tool_types) };

/* The reader for a type, or NULL when it cannot be served at this place. */
static const struct tool_type *find_type(str name, bool in_namespace)
{
    for (size_t i = 0; i < N_TOOL_TYPES; i++) {
        if (json_text_eq(name, tool_types[i].name))
            return in_namespace && !tool_types[i].in_namespace ? NULL : &tool_types[i];
    }
    return NULL;
}

static int note_name(struct tool_reader *r, str plain, struct declared_type *d)
{
    void **slot = str_is_none(plain) ? NULL : str_map_slot(&r->index.types, plain, r->arena);

    if (slot == NULL)
        return err_set_no_memory(r->reterr);
    *slot = d;
    return 0;
}

/* By all names that mean the same: a choice may use another than the tool. */
static int note_names(struct tool_reader *r, const struct tool_type *type, struct declared_type *d)
{
    for (size_t i = 0; i < N_TOOL_TYPES; i++) {
        if (tool_types[i].read == type->read && tool_types[i].hosted_kind == type->hosted_kind &&
            note_name(r, tool_types[i].name, d) == -1)
            return -1;
    }
    return 0;
}

static int note_type(struct tool_reader *r, const struct tool_type *type, struct source *s)
{
    struct declared_type *d = type == NULL ? NULL : str_map_get(&r->index.types, type->name);

    s->is_first = d == NULL;
    if (s->is_first) {
        d = arena_alloc(r->arena, sizeof(*d));
        if (d == NULL)
            return err_set_no_memory(r->reterr);
    }
    s->declared = d;
    if (type != NULL)
        return s->is_first ? note_names(r, type, d) : 0;
    return note_name(r, json_text_dup(r->arena, s->f.type), d);
}

static int reject_unserved_type(const struct source *s, struct err *reterr)
{
    const struct path at = path_member(s->at, STR("type"));
    const char *why = s->declared == NULL ? NULL : s->declared->why_not;

    err_set_param(reterr, ERR_UNSUPPORTED_PARAMETER, path_name(&at).text,
                  "Unsupported parameter: '%s'. The gateway cannot serve tools of type '%s' "
                  "here%s%s",
                  path_name(&at).text, shown(s->f.type).text, why == NULL ? "." : ": ",
                  why == NULL ? "" : why);
    return -1;
}

static int read_tool(struct tool_reader *r, str raw, const struct path *at, str name_space)
{
    struct source s = {.raw = raw, .at = at, .name_space = name_space};
    bool in_namespace = !str_is_none(name_space);
    int rc = tool_fields_read(raw, at, &s.f, r->reterr);
    const struct tool_type *type = find_type(s.f.type, in_namespace);

    if (rc == -1 && (type != NULL || s.f.type.len == 0))
        return -1;
    if (need_name(at, s.f.type, STR("type"), r->reterr) == -1)
        return -1;
    if (!in_namespace && note_type(r, type, &s) == -1)
        return -1;
    s.type = type;
    s.is_served = type != NULL;
    if (type != NULL && type->read(r, &s) == -1)
        return -1;
    return r->options->reject_unserved && !s.is_served ? reject_unserved_type(&s, r->reterr) : 0;
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

int tool_set_parse(const struct tool_sources *from, const struct tool_options *options,
                   const struct id_source *ids, struct arena *a, struct tool_set *ret,
                   struct tool_index *ret_index, struct err *reterr)
{
    struct tool_reader r = {
        .inherited = from->is_inherited, .options = options, .arena = a, .reterr = reterr};
    struct path tools_at = path_member(NULL, STR("tools"));

    str_map_init(&r.index.by_name, ids);
    str_map_init(&r.index.types, ids);
    str_map_init(&r.labels, ids);
    if (!str_is_none(from->tools) && read_list(&r, from->tools, &tools_at, STR_NONE) == -1)
        return -1;
    if (read_additional(&r, from) == -1 || tool_add_names(&r.set, &r.index, a, reterr) == -1)
        return -1;
    *ret = r.set;
    *ret_index = r.index;
    return 0;
}
