/* tool_mcp.c -- check a declaration: types inside of its members first, then values, then
 * what excludes what (CONTRACT 1.1). */
#include "wire/tools/tool_mcp.h"

#include "conv/fields.h"
#include "conv/tool_name.h"
#include "json/json_read.h"
#include "json/json_text.h"

/* ---- types */

/* Which tools of a server: {tool_names, read_only}. */
static int check_filter(str raw, const struct path *at, struct err *reterr)
{
    struct filter {
        str tool_names, read_only;
    } f = {0};
    static const struct field table[] = {
        FIELD(struct filter, tool_names, FIELD_ARRAY),
        FIELD(struct filter, read_only, FIELD_BOOLEAN),
    };
    struct path names_at = path_member(at, STR("tool_names"));

    if (fields_read_raw(raw, FIELDS(table), at, &f, reterr) == -1)
        return -1;
    return tool_fields_check_texts(f.tool_names, &names_at, reterr);
}

static int check_allowed(const struct tool_fields *f, const struct path *tool_at,
                         struct err *reterr)
{
    struct path at = path_member(tool_at, STR("allowed_tools"));

    if (jr_type_of(f->allowed_tools) == JR_OBJECT)
        return check_filter(f->allowed_tools, &at, reterr);
    return tool_fields_check_texts(f->allowed_tools, &at, reterr);
}

static int check_approval_filters(str raw, const struct path *at, struct err *reterr)
{
    struct filters {
        str always, never;
    } f = {0};
    static const struct field table[] = {
        FIELD(struct filters, always, FIELD_OBJECT),
        FIELD(struct filters, never, FIELD_OBJECT),
    };
    struct path always_at = path_member(at, STR("always"));
    struct path never_at = path_member(at, STR("never"));

    if (fields_read_raw(raw, FIELDS(table), at, &f, reterr) == -1 ||
        (!str_is_none(f.always) && check_filter(f.always, &always_at, reterr) == -1))
        return -1;
    return str_is_none(f.never) ? 0 : check_filter(f.never, &never_at, reterr);
}

static int check_headers(const struct tool_fields *f, const struct path *tool_at,
                         struct err *reterr)
{
    struct path headers_at = path_member(tool_at, STR("headers"));
    struct jr j;
    str name;

    if (str_is_none(f->headers))
        return 0;
    jr_init(&j, f->headers);
    (void)jr_enter(&j, JR_OBJECT);
    while (jr_next_member(&j, &name)) {
        struct path at = path_member(&headers_at, name);

        if (field_check(jr_raw(&j), FIELD_TEXT, &at, reterr) == -1)
            return -1;
    }
    return 0;
}

static int check_types(const struct tool_fields *f, const struct path *at, struct err *reterr)
{
    struct path approval_at = path_member(at, STR("require_approval"));
    struct path callers_at = path_member(at, STR("allowed_callers"));

    if (check_allowed(f, at, reterr) == -1 || check_headers(f, at, reterr) == -1)
        return -1;
    if (jr_type_of(f->require_approval) == JR_OBJECT &&
        check_approval_filters(f->require_approval, &approval_at, reterr) == -1)
        return -1;
    return tool_fields_check_texts(f->allowed_callers, &callers_at, reterr);
}

/* ---- values */

static int check_label(const struct tool_fields *f, str plain, const struct path *tool_at,
                       struct err *reterr)
{
    struct path at = path_member(tool_at, STR("server_label"));

    if (str_is_none(f->server_label))
        return reject_missing(&at, reterr);
    if (f->server_label.len == 0)
        return reject_empty(&at, reterr);
    if (str_is_none(plain))
        return err_set_no_memory(reterr);
    if (tool_name_is_clean(plain))
        return 0;
    err_set_param(reterr, ERR_INVALID_VALUE, path_name(&at).text,
                  "Invalid '%s': '%s'. A server label is made of at most %d letters, digits, '_' "
                  "and '-'.",
                  path_name(&at).text, shown(f->server_label).text, TOOL_NAME_MAX);
    return -1;
}

static int check_approval(const struct tool_fields *f, const struct path *tool_at,
                          struct err *reterr)
{
    static const str values[] = {STR_INIT("always"), STR_INIT("never")};
    struct path at = path_member(tool_at, STR("require_approval"));

    if (jr_type_of(f->require_approval) != JR_STRING)
        return 0;
    return check_value(&at, field_text(f->require_approval), values, 2, reterr);
}

/* The model calls tools, and nobody else does it here. */
static int check_callers(const struct tool_fields *f, const struct path *tool_at,
                         struct err *reterr)
{
    struct path at = path_member(tool_at, STR("allowed_callers"));
    struct jr j;

    if (str_is_none(f->allowed_callers))
        return 0;
    jr_init(&j, f->allowed_callers);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        if (json_text_eq(jr_string(&j), STR("direct")))
            return 0;
    }
    err_set_param(reterr, ERR_INVALID_VALUE, path_name(&at).text,
                  "Invalid '%s': tools of MCP servers are only called by 'direct', which is not "
                  "in the list.",
                  path_name(&at).text);
    return -1;
}

/* ---- what excludes what */

static int check_served(const struct tool_fields *f, const struct path *at, struct err *reterr)
{
    struct path connector_at = path_member(at, STR("connector_id"));
    struct path tunnel_at = path_member(at, STR("tunnel_id"));

    if (!str_is_none(f->connector_id))
        return reject_unsupported(&connector_at, reterr);
    return str_is_none(f->tunnel_id) ? 0 : reject_unsupported(&tunnel_at, reterr);
}

/* Configured servers have credentials of their own. */
static int check_credentials(const struct tool_fields *f, const struct path *tool_at,
                             struct err *reterr)
{
    struct path at =
        path_member(tool_at, str_is_none(f->authorization) ? STR("headers") : STR("authorization"));

    if (!str_is_none(f->server_url) || (str_is_none(f->authorization) && str_is_none(f->headers)))
        return 0;
    err_set_param(reterr, ERR_INVALID_VALUE, path_name(&at).text,
                  "Invalid '%s': it can only be given together with 'server_url'.",
                  path_name(&at).text);
    return -1;
}

/* ---- the declaration */

/* Nothing stays none, so a copy that is none is missing memory. */
static bool copy_text(struct arena *a, str escaped, str *ret)
{
    *ret = json_text_dup(a, escaped);
    return str_is_none(escaped) || !str_is_none(*ret);
}

int tool_mcp_read(const struct tool_fields *f, const struct path *at, struct arena *a,
                  struct mcp_declaration *ret, struct err *reterr)
{
    struct mcp_declaration d = {
        .label = json_text_dup(a, f->server_label),
        .headers = f->headers,
        .description = f->server_description,
        .allowed_tools = f->allowed_tools,
        .require_approval = f->require_approval,
        .is_deferred = jr_type_of(f->defer_loading) == JR_TRUE,
    };

    if (check_types(f, at, reterr) == -1 || check_served(f, at, reterr) == -1 ||
        check_label(f, d.label, at, reterr) == -1 || check_approval(f, at, reterr) == -1 ||
        check_callers(f, at, reterr) == -1 || check_credentials(f, at, reterr) == -1)
        return -1;
    d.at = arena_dup(a, str_from_c(path_name(at).text));
    if (str_is_none(d.at) || !copy_text(a, f->server_url, &d.server_url) ||
        !copy_text(a, f->authorization, &d.authorization))
        return err_set_no_memory(reterr);
    *ret = d;
    return 0;
}
