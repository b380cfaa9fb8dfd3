/* tool_found.c -- what a client sends back is read again by tool_set.c, as any tools. */
#include "wire/tools/tool_found.h"

#include "json/json_copy.h"
#include "json/json_write.h"

static bool is_same_space(const struct tool *a, const struct tool *b)
{
    return str_eq(a->name_space, b->name_space) && str_eq(a->server_label, b->server_label);
}

static bool has_space(const struct tool *t)
{
    return !str_is_none(t->name_space) || !str_is_none(t->server_label);
}

/* Moves the i-th to place to, and those between one further. */
static void move_up(const struct tool **tools, size_t i, size_t to)
{
    const struct tool *t = tools[i];

    for (; i > to; i--)
        tools[i] = tools[i - 1];
    tools[to] = t;
}

void tool_found_group(const struct tool **tools, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t end = i + 1;

        for (size_t k = i + 1; has_space(tools[i]) && k < n; k++) {
            if (is_same_space(tools[i], tools[k]))
                move_up(tools, k, end++);
        }
        i = end - 1;
    }
}

/* ---- one tool */

static void write_format(const struct tool *t, struct jw *w)
{
    jw_key(w, "format");
    jw_object(w);
    jw_key_string(w, "type", STR("grammar"));
    json_copy_key_text(w, "syntax", t->grammar_syntax);
    json_copy_key_text(w, "definition", t->grammar_definition);
    jw_object_end(w);
}

static void write_tool(const struct tool *t, struct jw *w)
{
    const bool is_custom = t->kind == TOOL_CUSTOM;

    jw_object(w);
    jw_key_string(w, "type", is_custom ? STR("custom") : STR("function"));
    json_copy_key_text(w, "name", t->name);
    json_copy_given_text(w, "description", t->description);
    if (is_custom && !str_is_none(t->grammar_definition))
        write_format(t, w);
    if (!is_custom) {
        json_copy_key_value(w, "parameters", t->parameters);
        json_copy_key_value(w, "strict", t->strict);
    }
    jw_key_bool(w, "defer_loading", true);
    jw_object_end(w);
}

/* ---- those of one namespace or server */

static size_t count_space(const struct tool *const *tools, size_t n)
{
    size_t i = 1;

    while (i < n && is_same_space(tools[0], tools[i]))
        i++;
    return i;
}

static void write_namespace(const struct tool *const *tools, size_t n, struct jw *w)
{
    const str description = tools[0]->space_description;

    jw_object(w);
    jw_key_string(w, "type", STR("namespace"));
    json_copy_key_text(w, "name", tools[0]->name_space);
    json_copy_key_text(w, "description", str_is_none(description) ? STR("") : description);
    jw_key(w, "tools");
    jw_array(w);
    for (size_t i = 0; i < n; i++)
        write_tool(tools[i], w);
    jw_array_end(w);
    jw_object_end(w);
}

static void write_server(const struct tool *const *tools, size_t n, struct jw *w)
{
    jw_object(w);
    jw_key_string(w, "type", STR("mcp"));
    json_copy_key_text(w, "server_label", tools[0]->server_label);
    json_copy_given_text(w, "server_description", tools[0]->space_description);
    jw_key_bool(w, "defer_loading", true);
    jw_key(w, "allowed_tools");
    jw_array(w);
    for (size_t i = 0; i < n; i++)
        jw_escaped(w, tools[i]->name);
    jw_array_end(w);
    jw_object_end(w);
}

void tool_found_write(const struct tool *const *tools, size_t n, struct buf *out)
{
    struct jw w = jw_to(out);

    while (n > 0) {
        const size_t n_here = has_space(tools[0]) ? count_space(tools, n) : 1;

        if (!str_is_none(tools[0]->server_label))
            write_server(tools, n_here, &w);
        else if (!str_is_none(tools[0]->name_space))
            write_namespace(tools, n_here, &w);
        else
            write_tool(tools[0], &w);
        tools += n_here;
        n -= n_here;
    }
}

/* ---- for the model */

static void find_name(void *arg, str label, str name, str *ret_name, str *ret_description)
{
    const struct tool *t = tool_set_find_mcp(*(const struct tool_set **)arg, label, name);

    if (t == NULL)
        return;
    *ret_name = t->upstream_name;
    *ret_description = t->description;
}

str tool_found_text(const struct tool_set *set, str tools, struct arena *a)
{
    const struct item_tool_names names = {find_name, &set};

    return item_found_text(tools, &names, a);
}
