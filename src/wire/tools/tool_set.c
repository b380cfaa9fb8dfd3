/* tool_set.c -- read the tools of a request, type by type.
 *
 * A type that is not in the table cannot be served: the tool is echoed to the
 * client and not shown to the model, so nothing in it is looked at. */
#include "wire/tools/tool_set.h"

#include "conv/fields.h"
#include "conv/reject.h"
#include "conv/tool_name.h"
#include "json/json_copy.h"
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
    bool loaded;           /* a search has found them */
    bool found_here;       /* it was the gateway's: it has brought nothing that it did not have */
    str space_description; /* of the namespace that is read, or STR_NONE */
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
    enum tool_kind kind;          /* read_client_tool */
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

/* White space apart. */
static bool is_same_json(str a, str b)
{
    struct buf one = {0}, other = {0};
    bool is_same;

    if (str_is_none(a) || str_is_none(b))
        return str_is_none(a) == str_is_none(b);
    json_copy_value(a, &one);
    json_copy_value(b, &other);
    is_same = !buf_failed(&one) && !buf_failed(&other) && str_eq(buf_str(&one), buf_str(&other));
    buf_fini(&one);
    buf_fini(&other);
    return is_same;
}

/* A definition that says the same as the one before leaves that where it is: a conversation that is
 * sent again repeats its items, and a prompt is to begin as it did. */
static bool is_same_definition(const struct tool *a, const struct tool *b)
{
    return a->kind == b->kind && same_text(a->description, b->description) &&
           is_same_json(a->parameters, b->parameters) && same_text(a->strict, b->strict) &&
           same_text(a->grammar_syntax, b->grammar_syntax) &&
           same_text(a->grammar_definition, b->grammar_definition);
}

static bool is_named_kind(enum tool_kind kind)
{
    return kind == TOOL_FUNCTION || kind == TOOL_CUSTOM;
}

/* Does t, from an input item, define the known tool anew? */
static bool is_redefinition(const struct tool_reader *r, const struct tool *known,
                            const struct tool *t)
{
    return r->additional && same_text(known->name, t->name) &&
           same_text(known->name_space, t->name_space) &&
           (known->kind == t->kind || (is_named_kind(known->kind) && is_named_kind(t->kind)));
}

/* Puts t in the place of *slot, where the known tool of its name is kept. What the request itself
 * declares is newer than the items before it. */
static void redefine_tool(struct tool_reader *r, void **slot, struct tool *t)
{
    struct tool *known = *slot;

    if (r->found_here || (r->inherited && known->is_given) || is_same_definition(known, t))
        return;
    tool_remove(&r->set, known);
    tool_add(&r->set, t);
    *slot = t;
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
    if (*slot == NULL) {
        *slot = t;
        tool_add(&r->set, t);
        return 0;
    }
    if (!is_redefinition(r, *slot, t))
        return r->found_here ? 0 : tool_add_reject(t, r->reterr);
    redefine_tool(r, slot, t);
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
    t->is_given = !r->additional && !r->inherited;
    t->is_loaded = r->loaded;
    t->is_deferred = is_named_kind(kind) && jr_type_of(s->f.defer_loading) == JR_TRUE;
    t->space_description = r->space_description;
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

/* ---- tools that clients run and the API has types for */

/* A type that cannot be served in the form that this tool asks for; why is said to whoever insists. */
static int leave_out(struct source *s, const char *why)
{
    s->is_served = false;
    if (s->declared != NULL && s->is_first)
        s->declared->why_not = why;
    return 0;
}

static int add_client_tool(struct tool_reader *r, struct source *s, enum tool_kind kind)
{
    struct tool *t;

    s->f.name = s->type->name;
    t = new_tool(r, s, kind);
    if (t == NULL)
        return -1;
    t->parameters = s->f.parameters;
    if (add_tool(r, t) == -1)
        return -1;
    s->declared->tool = str_map_get(&r->index.by_name, t->upstream_name);
    return 0;
}

static int read_client_tool(struct tool_reader *r, struct source *s)
{
    s->f.description = s->f.parameters = STR_NONE;
    return add_client_tool(r, s, s->type->kind);
}

/* Where a shell runs is the client's machine, unless a container is asked for. */
static int read_shell(struct tool_reader *r, struct source *s)
{
    const struct path at = path_member(s->at, STR("environment"));
    const struct path type_at = path_member(&at, STR("type"));
    static const str types[] = {STR_INIT("local"), STR_INIT("container_auto"),
                                STR_INIT("container_reference")};
    const str type =
        str_is_none(s->f.environment) ? types[0] : jr_member_string(s->f.environment, STR("type"));

    if (str_is_none(type))
        return reject_missing(&type_at, r->reterr);
    if (check_value(&type_at, type, LIST_OF(types), r->reterr) == -1)
        return -1;
    if (!json_text_eq(type, types[0]))
        return leave_out(s, "a shell runs on the client's machine, with an environment of type "
                            "'local'; code in a container is what code_interpreter is for.");
    return read_client_tool(r, s);
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

/* The declaration of an item takes the place of the one before, as a function's does. */
static void redeclare_hosted(struct tool_reader *r, const struct source *s, struct tool *t)
{
    struct tool *known = s->declared->tool;

    if (known == NULL || r->found_here || (r->inherited && known->is_given))
        return;
    tool_remove(&r->set, known);
    tool_add(&r->set, t);
    s->declared->tool = t;
}

/* Adds t when the gateway serves it. It gets its upstream name when those of all others are known. */
static int add_hosted(struct tool_reader *r, struct source *s, struct tool *t)
{
    s->is_served = r->options->serves[t->hosted_kind];
    if (!s->is_first && !r->additional)
        return reject_type_twice(s, r->reterr);
    if (!s->is_first) {
        redeclare_hosted(r, s, t);
        return 0;
    }
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
    s->f.description = STR_NONE; /* the gateway has its own */
    t = new_tool(r, s, TOOL_HOSTED);
    if (t == NULL)
        return -1;
    t->hosted_kind = s->type->hosted_kind;
    if (hosted->read != NULL && hosted->read(&declared, t, r->reterr) == -1)
        return -1;
    return add_hosted(r, s, t);
}

/* Without a word about it the gateway searches. */
static int read_tool_search(struct tool_reader *r, struct source *s)
{
    const struct path at = path_member(s->at, STR("execution"));
    static const str executions[] = {STR_INIT("server"), STR_INIT("client")};

    if (check_value(&at, s->f.execution, LIST_OF(executions), r->reterr) == -1)
        return -1;
    if (!s->is_first && !r->additional)
        return reject_type_twice(s, r->reterr);
    return !str_is_none(s->f.execution) && json_text_eq(s->f.execution, executions[1])
               ? add_client_tool(r, s, TOOL_CLIENT_SEARCH)
               : read_hosted(r, s);
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

/* An item may declare a server anew, as it may a function. What was stored has lost its credentials,
 * and is older than what comes with this request. */
static void redeclare_server(struct mcp_declaration *known, const struct mcp_declaration *d)
{
    struct mcp_declaration *next = known->next;

    if (d->is_inherited && !known->is_inherited)
        return;
    *known = *d;
    known->next = next;
}

static int add_server(struct tool_reader *r, const struct source *s, struct mcp_declaration *d)
{
    struct tool_set *set = &r->set;
    void **slot = str_map_slot(&r->labels, d->label, r->arena);

    if (slot == NULL)
        return err_set_no_memory(r->reterr);
    if (r->found_here)
        return 0;
    if (*slot != NULL && !r->additional)
        return reject_label_twice(s, r->reterr);
    if (*slot != NULL) {
        redeclare_server(*slot, d);
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
    int rc;

    if (need_name(s->at, s->f.name, STR("name"), r->reterr) == -1)
        return -1;
    if (str_is_none(s->f.tools))
        return reject_missing(&tools_at, r->reterr);
    r->space_description = s->f.description;
    rc = read_list(r, s->f.tools, &tools_at, s->f.name);
    r->space_description = STR_NONE;
    return rc;
}

static const struct tool_type tool_types[] = {
    {STR_INIT("function"), read_function, HOSTED_NONE, true, TOOL_FUNCTION},
    {STR_INIT("custom"), read_custom, HOSTED_NONE, true, TOOL_CUSTOM},
    {STR_INIT("namespace"), read_namespace, HOSTED_NONE, false, TOOL_FUNCTION},
    {STR_INIT("mcp"), read_mcp, HOSTED_NONE, false, TOOL_MCP},
    {STR_INIT("tool_search"), read_tool_search, HOSTED_TOOL_SEARCH, false, TOOL_HOSTED},
#define HOSTED_TOOL(symbol, type, ...)                                                             \
    {STR_INIT(#type), read_hosted, HOSTED_##symbol, false, TOOL_HOSTED},
#define HOSTED_ALIAS(symbol, type)                                                                 \
    {STR_INIT(type), read_hosted, HOSTED_##symbol, false, TOOL_HOSTED},
#include "conv/hosted.def"
    {STR_INIT("local_shell"), read_client_tool, HOSTED_NONE, false, TOOL_LOCAL_SHELL},
    {STR_INIT("shell"), read_shell, HOSTED_NONE, false, TOOL_SHELL},
    {STR_INIT("apply_patch"), read_client_tool, HOSTED_NONE, false, TOOL_APPLY_PATCH},
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
            tool_types[i].kind == type->kind && note_name(r, tool_types[i].name, d) == -1)
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

/* Models call tools here, and no programs do. A server may say so of itself (tool_mcp.h). */
static int read_callers(const struct tool_reader *r, const struct source *s, bool *ret_is_callable)
{
    static const str callers[] = {STR_INIT("direct"), STR_INIT("programmatic")};
    const struct path list_at = path_member(s->at, STR("allowed_callers"));
    bool is_callable = str_is_none(s->f.allowed_callers);
    struct jr j;

    if (tool_fields_check_texts(s->f.allowed_callers, &list_at, r->reterr) == -1)
        return -1;
    jr_init(&j, is_callable ? STR("[]") : s->f.allowed_callers);
    (void)jr_enter(&j, JR_ARRAY);
    for (size_t i = 0; jr_next_element(&j); i++) {
        const struct path at = path_index(&list_at, i);
        const str caller = jr_string(&j);

        if (check_value(&at, caller, LIST_OF(callers), r->reterr) == -1)
            return -1;
        is_callable = is_callable || json_text_eq(caller, callers[0]);
    }
    *ret_is_callable = is_callable;
    return 0;
}

static int read_of_type(struct tool_reader *r, struct source *s)
{
    bool is_callable = true;

    if (s->type->kind != TOOL_MCP && read_callers(r, s, &is_callable) == -1)
        return -1;
    if (!is_callable)
        return leave_out(s, "only programs may call it, by 'allowed_callers', and there are none "
                            "here.");
    return s->type->read(r, s);
}

/* For the log, to which a request may add no more than that. */
static int note_unserved(struct tool_reader *r, const struct source *s)
{
    enum { MAX_TYPES = 16 };
    struct unserved_type **link = &r->set.unserved;

    for (size_t n = 0; *link != NULL; n++, link = &(*link)->next) {
        if (n + 1 == MAX_TYPES || str_eq((*link)->type, s->f.type))
            return 0;
    }
    *link = arena_alloc(r->arena, sizeof(**link));
    if (*link == NULL)
        return err_set_no_memory(r->reterr);
    **link = (struct unserved_type){.type = s->f.type};
    return 0;
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
    if (type != NULL && read_of_type(r, &s) == -1)
        return -1;
    if (s.is_served)
        return 0;
    return r->options->reject_unserved ? reject_unserved_type(&s, r->reterr) : note_unserved(r, &s);
}

/* What a search has found in the history is of another time: a tool that cannot be read any more, or is
 * called as one of the request is now, is no mistake of this request. */
static bool may_fail(const struct tool_reader *r)
{
    return r->inherited && r->loaded && r->reterr->code != ERR_INTERNAL;
}

static int read_list(struct tool_reader *r, str raw, const struct path *at, str name_space)
{
    struct jr j;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_ARRAY))
        return 0;
    for (size_t i = 0; jr_next_element(&j); i++) {
        struct path tool_at = path_index(at, i);

        if (read_tool(r, jr_raw(&j), &tool_at, name_space) == -1 && !may_fail(r))
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
        r->loaded = it->is_search || it->kind == ITEM_FOUND_TOOLS;
        r->found_here = it->kind == ITEM_FOUND_TOOLS;
        if (item_brings_tools(it) && read_list(r, it->tools, &tools_at, STR_NONE) == -1)
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
