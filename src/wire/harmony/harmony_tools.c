/* harmony_tools.c -- namespaces in the order of their names, tools in that of the request. */
#include "wire/harmony/harmony_tools.h"

#include "conv/tool_name.h"
#include "json/json_text.h"
#include "text/schema_ts.h"
#include "wire/chat/chat_tools.h"

static const str functions = STR_INIT("functions");

/* What begins with these is not taken for a server's (HARMONY 3). */
static const str taken[] = {
    STR_INIT("functions"), STR_INIT("python"), STR_INIT("browser"),
    STR_INIT("container"), STR_INIT("mcp"),
};

/* A name with a dot or space in it could not be told apart in a header; such tools are functions.
 * Clean names need no escape. */
struct harmony_name harmony_tool_name(str server_label, str tool_name, str upstream_name)
{
    if (tool_name_is_clean(server_label) && tool_name_is_clean(tool_name) &&
        !str_is_one_of(server_label, LIST_OF(taken)))
        return (struct harmony_name){.space = server_label, .name = tool_name};
    return (struct harmony_name){.space = functions, .name = upstream_name};
}

struct harmony_name harmony_tool_name_of(const struct tool *t)
{
    if (t->kind != TOOL_MCP)
        return (struct harmony_name){.space = functions, .name = t->upstream_name};
    return harmony_tool_name(t->server_label, t->name, t->upstream_name);
}

/* The tools of a request that a prompt shows. */
struct shown_tools {
    const struct tool_set *set;
    struct harmony_builtins builtins;
};

static bool is_shown(const struct shown_tools *s, const struct tool *t)
{
    return t->sent && !harmony_builtin_serves(s->builtins, t->hosted_kind);
}

static bool is_in(const struct shown_tools *s, const struct tool *t, str space)
{
    return is_shown(s, t) && str_eq(harmony_tool_name_of(t).space, space);
}

bool harmony_tools_have_functions(const struct tool_set *set, struct harmony_builtins builtins)
{
    const struct shown_tools s = {set, builtins};

    for (const struct tool *t = set->first; t != NULL; t = t->next) {
        if (is_in(&s, t, functions))
            return true;
    }
    return false;
}

/* The first namespace behind this one, or STR_NONE. Each walks the list; there are few. */
static str next_space(const struct shown_tools *s, str before)
{
    str next = STR_NONE;

    for (const struct tool *t = s->set->first; t != NULL; t = t->next) {
        str space = harmony_tool_name_of(t).space;

        if (!is_shown(s, t) || (!str_is_none(before) && str_order(space, before) <= 0))
            continue;
        if (str_is_none(next) || str_order(space, next) < 0)
            next = space;
    }
    return next;
}

bool harmony_tools_are_shown(const struct tool_set *set, struct harmony_builtins builtins)
{
    const struct shown_tools s = {set, builtins};

    return !str_is_none(next_space(&s, STR_NONE));
}

static void write_lines(str text, struct buf *out)
{
    while (text.len > 0) {
        str line = str_from(text.p, str_find_char(text, '\n'));

        text = str_skip(text, line.len + 1);
        if (str_ends_with(line, STR("\r")))
            line.len--;
        buf_append(out, STR("// "));
        buf_append(out, line);
        buf_char(out, '\n');
    }
}

void harmony_comment_write(str escaped, struct buf *out)
{
    struct buf plain = {0};

    json_text_decode(escaped, &plain);
    write_lines(buf_str(&plain), out);
    out->failed = out->failed || buf_failed(&plain);
    buf_fini(&plain);
}

static void write_description(const struct tool *t, struct buf *out)
{
    struct buf escaped = {0};

    chat_tool_describe(t, &escaped);
    harmony_comment_write(buf_str(&escaped), out);
    out->failed = out->failed || buf_failed(&escaped);
    buf_fini(&escaped);
}

static void write_tool(const struct tool *t, struct buf *out)
{
    str parameters = chat_tool_parameters(t);

    write_description(t, out);
    buf_append(out, STR("type "));
    buf_append(out, harmony_tool_name_of(t).name);
    buf_append(out, STR(" = ("));
    if (!str_is_none(parameters)) {
        buf_append(out, STR("_: "));
        schema_ts_write(parameters, out);
    }
    buf_append(out, STR(") => any;\n\n"));
}

static void write_space_description(const struct tool_set *set, str space, struct buf *out)
{
    for (const struct mcp_declaration *d = set->first_server; d != NULL; d = d->next) {
        if (str_eq(d->label, space) && !str_is_one_of(space, LIST_OF(taken)) &&
            !str_is_none(d->description))
            harmony_comment_write(d->description, out);
    }
}

static void write_space(const struct shown_tools *s, str space, struct buf *out)
{
    buf_append(out, STR("\n\n## "));
    buf_append(out, space);
    buf_append(out, STR("\n\n"));
    write_space_description(s->set, space, out);
    buf_append(out, STR("namespace "));
    buf_append(out, space);
    buf_append(out, STR(" {\n\n"));
    for (const struct tool *t = s->set->first; t != NULL; t = t->next) {
        if (is_in(s, t, space))
            write_tool(t, out);
    }
    buf_append(out, STR("} // namespace "));
    buf_append(out, space);
}

void harmony_tools_write(const struct tool_set *set, struct harmony_builtins builtins,
                         struct buf *out)
{
    const struct shown_tools s = {set, builtins};

    buf_append(out, STR("# Tools"));
    for (str space = next_space(&s, STR_NONE); !str_is_none(space); space = next_space(&s, space))
        write_space(&s, space, out);
}
