/* tool_choice.c -- read a choice and tie it to the tools it names. */
#include "wire/tools/tool_choice.h"

#include "conv/fields.h"
#include "conv/tool_name.h"
#include "json/json_read.h"
#include "json/json_text.h"

struct choice_fields {
    str type, name, function, server_label, mode, tools;
};

static const struct field choice_table[] = {
    FIELD(struct choice_fields, type, FIELD_TEXT),
    FIELD(struct choice_fields, name, FIELD_TEXT),
    FIELD(struct choice_fields, function, FIELD_OBJECT),
    FIELD(struct choice_fields, server_label, FIELD_TEXT),
    FIELD(struct choice_fields, mode, FIELD_TEXT),
    FIELD(struct choice_fields, tools, FIELD_ARRAY),
};

static const struct field name_table[] = {
    FIELD(struct choice_fields, name, FIELD_TEXT),
};

struct choice_reader {
    const struct tool_index *index;
    struct tool_set *set;
    struct arena *arena;
    struct err *reterr;
};

static const struct path choice_at = {.member = STR_INIT("tool_choice")};

const char *tool_choice_word(enum tool_choice_mode mode)
{
    static const char *const words[] = {
        [TOOL_CHOICE_NOT_GIVEN] = "auto", [TOOL_CHOICE_AUTO] = "auto",
        [TOOL_CHOICE_NONE] = "none",      [TOOL_CHOICE_REQUIRED] = "required",
        [TOOL_CHOICE_TOOL] = "required",  [TOOL_CHOICE_SERVER] = "required",
    };

    return words[mode];
}

static void allow(struct tool_set *set, struct tool *t)
{
    set->n_sent += !t->sent;
    t->sent = true;
}

/* ---- finding what is named; what a partial index lacks may still come */

static int say_unknown(const struct choice_reader *r, str type)
{
    err_set_param(r->reterr, ERR_INVALID_VALUE, "tool_choice",
                  "Tool choice '%s' not found in 'tools' parameter.", shown(type).text);
    return -1;
}

static int reject_unknown(const struct choice_reader *r, str type)
{
    return r->index->is_partial ? 0 : say_unknown(r, type);
}

static const struct declared_type *find_declared(const struct choice_reader *r, str type)
{
    struct shown plain = shown(type);

    return str_map_get(&r->index->types, str_from_c(plain.text));
}

static int reject_unserved(const struct choice_reader *r, str type)
{
    const struct declared_type *d = find_declared(r, type);
    const char *why = d == NULL ? NULL : d->why_not;

    if (r->index->is_partial)
        return 0;
    err_set_param(r->reterr, ERR_INVALID_VALUE, "tool_choice",
                  "Tool choice '%s' names a tool that this gateway cannot serve%s%s",
                  shown(type).text, why == NULL ? "." : ": ", why == NULL ? "" : why);
    return -1;
}

static int reject_no_tools(const struct choice_reader *r, const char *what)
{
    if (r->index->is_partial)
        return 0;
    err_set_param(r->reterr, ERR_INVALID_VALUE, "tool_choice",
                  "Tool choice '%s' must be specified with 'tools' parameter.", what);
    return -1;
}

static bool is_named_type(str type)
{
    return json_text_eq(type, STR("function")) || json_text_eq(type, STR("custom"));
}

static bool is_mcp_type(str type)
{
    return json_text_eq(type, STR("mcp"));
}

static int find_named(const struct choice_reader *r, const struct choice_fields *f,
                      struct tool **ret)
{
    str name = tool_name_for_upstream(r->arena, STR_NONE, f->name);

    if (str_is_none(name))
        return err_set_no_memory(r->reterr);
    *ret = str_map_get(&r->index->by_name, name);
    return *ret == NULL ? reject_unknown(r, f->type) : 0;
}

/* The tool of a hosted type; NULL when it is declared but not served. */
static int find_hosted(const struct choice_reader *r, str type, struct tool **ret)
{
    const struct declared_type *d = find_declared(r, type);

    *ret = d == NULL ? NULL : d->tool;
    return d == NULL ? reject_unknown(r, type) : 0;
}

/* ---- tools of MCP servers */

/* Labels have no characters that need an escape, so ours are plain and escaped alike. */
static bool is_of_server(const struct tool *t, str label)
{
    return t->kind == TOOL_MCP && (str_is_none(label) || json_text_eq(label, t->server_label));
}

static bool has_server(const struct tool_set *set, str label)
{
    for (const struct mcp_declaration *d = set->first_server; d != NULL; d = d->next) {
        if (str_is_none(label) || json_text_eq(label, d->label))
            return true;
    }
    for (const struct tool *t = set->first; t != NULL; t = t->next) {
        if (is_of_server(t, label))
            return true;
    }
    return false;
}

/* That a server is not there is known before its tools would be. */
static int reject_unknown_server(const struct choice_reader *r, const struct choice_fields *f)
{
    if (r->index->has_all_servers && !has_server(r->set, f->server_label))
        return say_unknown(r, f->type);
    return reject_unknown(r, f->type);
}

/* The first tool from t on that a choice of type mcp means, or NULL; name is plain. */
static struct tool *next_meant(struct tool *t, str label, str name)
{
    while (t != NULL &&
           (!is_of_server(t, label) || (!str_is_none(name) && !json_text_eq(t->name, name))))
        t = t->next;
    return t;
}

static int read_tool_name(const struct choice_reader *r, const struct choice_fields *f, str *ret)
{
    *ret = json_text_dup(r->arena, f->name);
    return str_is_none(*ret) && !str_is_none(f->name) ? err_set_no_memory(r->reterr) : 0;
}

/* A server without tools may be allowed, but not a tool that does not exist. */
static int allow_of_server(const struct choice_reader *r, const struct choice_fields *f)
{
    bool is_known = str_is_none(f->name) && has_server(r->set, f->server_label);
    struct tool *t = r->set->first;
    str name;

    if (read_tool_name(r, f, &name) == -1)
        return -1;
    while ((t = next_meant(t, f->server_label, name)) != NULL) {
        allow(r->set, t);
        is_known = true;
        t = t->next;
    }
    return is_known ? 0 : reject_unknown_server(r, f);
}

static int read_server(const struct choice_reader *r, const struct choice_fields *f,
                       struct tool_choice *ret)
{
    const struct tool *t;
    str name;

    ret->server_label = f->server_label;
    ret->name = f->name;
    if (read_tool_name(r, f, &name) == -1)
        return -1;
    t = next_meant(r->set->first, f->server_label, name);
    if (t == NULL)
        return str_is_none(name) && has_server(r->set, f->server_label)
                   ? reject_no_tools(r, "mcp")
                   : reject_unknown_server(r, f);
    ret->mode = str_is_none(name) ? TOOL_CHOICE_SERVER : TOOL_CHOICE_TOOL;
    ret->tool = str_is_none(name) ? NULL : t;
    return 0;
}

bool tool_choice_leaves(const struct tool_choice *c, const struct tool *t)
{
    if (c->mode == TOOL_CHOICE_TOOL)
        return t == c->tool;
    return c->mode != TOOL_CHOICE_SERVER || is_of_server(t, c->server_label);
}

/* ---- the forms of a choice */

static int read_word(const struct choice_reader *r, str word, struct tool_choice *ret)
{
    static const str words[] = {STR_INIT("none"), STR_INIT("auto"), STR_INIT("required")};
    static const enum tool_choice_mode modes[] = {TOOL_CHOICE_NONE, TOOL_CHOICE_AUTO,
                                                  TOOL_CHOICE_REQUIRED};

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (json_text_eq(word, words[i]))
            ret->mode = modes[i];
    }
    if (ret->mode == TOOL_CHOICE_NOT_GIVEN)
        return reject_value(&choice_at, word, LIST_OF(words), r->reterr);
    if (ret->mode == TOOL_CHOICE_REQUIRED && r->set->n_sent == 0)
        return reject_no_tools(r, "required");
    return 0;
}

/* Members of a choice or of one allowed tool, with the name of the Chat form. */
static int read_fields(const struct choice_reader *r, str raw, const struct path *at,
                       struct choice_fields *f)
{
    struct path type_at = path_member(at, STR("type"));
    struct path function_at = path_member(at, STR("function"));
    struct path name_at = path_member(at, STR("name"));
    struct path label_at = path_member(at, STR("server_label"));

    if (fields_read_raw(raw, FIELDS(choice_table), at, f, r->reterr) == -1)
        return -1;
    if (str_is_none(f->type))
        return reject_missing(&type_at, r->reterr);
    if (!str_is_none(f->function) &&
        fields_read_raw(f->function, FIELDS(name_table), &function_at, f, r->reterr) == -1)
        return -1;
    if (is_named_type(f->type) && str_is_none(f->name))
        return reject_missing(&name_at, r->reterr);
    if (is_mcp_type(f->type) && !str_is_none(f->name) && str_is_none(f->server_label))
        return reject_missing(&label_at, r->reterr);
    return 0;
}

static int read_allowed_tool(const struct choice_reader *r, str raw, const struct path *at)
{
    struct choice_fields f = {0};
    struct tool *t = NULL;
    int rc;

    if (read_fields(r, raw, at, &f) == -1)
        return -1;
    if (is_mcp_type(f.type))
        return allow_of_server(r, &f);
    rc = is_named_type(f.type) ? find_named(r, &f, &t) : find_hosted(r, f.type, &t);
    if (rc == 0 && t != NULL)
        allow(r->set, t);
    return rc;
}

static int read_allowed_list(const struct choice_reader *r, str raw)
{
    const struct path list_at = path_member(&choice_at, STR("tools"));
    struct jr j;

    for (struct tool *t = r->set->first; t != NULL; t = t->next)
        t->sent = false;
    r->set->n_sent = 0;
    r->set->is_restricted = true;
    jr_init(&j, raw);
    (void)jr_enter(&j, JR_ARRAY);
    for (size_t i = 0; jr_next_element(&j); i++) {
        struct path at = path_index(&list_at, i);

        if (read_allowed_tool(r, jr_raw(&j), &at) == -1)
            return -1;
    }
    return 0;
}

static int read_allowed(const struct choice_reader *r, const struct choice_fields *f,
                        struct tool_choice *ret)
{
    static const str modes[] = {STR_INIT("auto"), STR_INIT("required")};
    const struct path mode_at = path_member(&choice_at, STR("mode"));
    const struct path tools_at = path_member(&choice_at, STR("tools"));

    if (str_is_none(f->mode))
        return reject_missing(&mode_at, r->reterr);
    if (str_is_none(f->tools))
        return reject_missing(&tools_at, r->reterr);
    if (check_value(&mode_at, f->mode, modes, 2, r->reterr) == -1 ||
        read_allowed_list(r, f->tools) == -1)
        return -1;
    ret->mode = json_text_eq(f->mode, STR("auto")) ? TOOL_CHOICE_AUTO : TOOL_CHOICE_REQUIRED;
    ret->allowed_tools = f->tools;
    if (ret->mode == TOOL_CHOICE_REQUIRED && r->set->n_sent == 0)
        return reject_no_tools(r, "allowed_tools");
    return 0;
}

static int read_tool_type(const struct choice_reader *r, const struct choice_fields *f,
                          struct tool_choice *ret)
{
    struct tool *t = NULL;
    int rc = is_named_type(f->type) ? find_named(r, f, &t) : find_hosted(r, f->type, &t);

    if (rc == -1)
        return -1;
    if (t == NULL)
        return reject_unserved(r, f->type);
    ret->mode = TOOL_CHOICE_TOOL;
    ret->tool = t;
    return 0;
}

static int read_object(const struct choice_reader *r, const struct choice_fields *f,
                       struct tool_choice *ret)
{
    if (json_text_eq(f->type, STR("allowed_tools")))
        return read_allowed(r, f, ret);
    return is_mcp_type(f->type) ? read_server(r, f, ret) : read_tool_type(r, f, ret);
}

int tool_choice_parse(str raw, const struct tool_index *index, struct tool_set *set,
                      struct arena *a, struct tool_choice *ret, struct err *reterr)
{
    const struct choice_reader r = {.index = index, .set = set, .arena = a, .reterr = reterr};
    struct tool_choice choice = {.mode = TOOL_CHOICE_NOT_GIVEN};
    struct choice_fields f = {0};
    int rc;

    if (str_is_none(raw)) {
        *ret = choice;
        return 0;
    }
    if (jr_type_of(raw) == JR_STRING) {
        rc = read_word(&r, field_text(raw), &choice);
    } else {
        if (read_fields(&r, raw, &choice_at, &f) == -1)
            return -1;
        choice.type = f.type;
        choice.name = is_named_type(f.type) ? f.name : STR_NONE;
        rc = read_object(&r, &f, &choice);
    }
    if (rc == 0)
        *ret = choice;
    return rc;
}
