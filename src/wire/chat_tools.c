/* chat_tools.c -- every kind of tool becomes a function (CONTRACT 1.2). */
#include "wire/chat_tools.h"

#include "json/json_copy.h"

/* What a function without parameters takes. */
static const str no_parameters = STR_INIT("{\"type\":\"object\",\"properties\":{}}");

static const str shell_description =
    STR_INIT("Run a command on the user's machine and read what it prints.");

/* Of the kinds whose arguments are always the same; the others bring their own. A custom tool
 * takes free text, which only a string member can carry. */
static const str fixed_parameters[] = {
    [TOOL_CUSTOM] =
        STR_INIT("{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},"
                 "\"required\":[\"input\"],\"additionalProperties\":false}"),
    [TOOL_LOCAL_SHELL] = STR_INIT(
        "{\"type\":\"object\",\"properties\":{"
        "\"command\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
        "\"description\":\"The program and its arguments.\"},"
        "\"workdir\":{\"type\":\"string\",\"description\":\"Directory to run it in.\"},"
        "\"timeout_ms\":{\"type\":\"integer\",\"description\":\"Stop it after this time.\"},"
        "\"env\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"},"
        "\"description\":\"Additional environment variables.\"}},"
        "\"required\":[\"command\"]}"),
    [TOOL_MCP] = {NULL, 0},
};

/* The server knows no grammar of a single argument, so the model is told. */
static void describe_custom(const struct tool *t, struct buf *out)
{
    bool described = t->description.len > 0;

    if (described)
        json_copy_text(t->description, out);
    if (str_is_none(t->grammar_definition))
        return;
    if (described)
        buf_append(out, STR("\\n"));
    buf_append(out, STR("The input must match this "));
    json_copy_text(t->grammar_syntax, out);
    buf_append(out, STR(" grammar:\\n"));
    json_copy_text(t->grammar_definition, out);
}

bool chat_tool_is_described(const struct tool *t)
{
    return t->kind == TOOL_LOCAL_SHELL || !str_is_none(t->description) ||
           !str_is_none(t->grammar_definition);
}

void chat_tool_describe(const struct tool *t, struct buf *out)
{
    if (t->kind == TOOL_LOCAL_SHELL)
        buf_append(out, shell_description);
    else if (t->kind == TOOL_CUSTOM)
        describe_custom(t, out);
    else if (!str_is_none(t->description))
        json_copy_text(t->description, out);
}

str chat_tool_parameters(const struct tool *t)
{
    str fixed = fixed_parameters[t->kind];

    return str_is_none(fixed) ? t->parameters : fixed;
}

static void write_function(const struct tool *t, struct jw *w)
{
    str parameters = chat_tool_parameters(t);

    if (chat_tool_is_described(t)) {
        jw_key(w, "description");
        jw_open_string(w);
        chat_tool_describe(t, w->out);
        jw_close_string(w);
    }
    json_copy_key_value(w, "parameters", str_is_none(parameters) ? no_parameters : parameters);
    if (!str_is_none(t->strict) && str_is_none(fixed_parameters[t->kind]))
        jw_key_raw(w, "strict", t->strict);
}

void chat_tools_write(const struct tool_set *set, const struct tool_choice *choice, struct jw *w)
{
    jw_array(w);
    for (const struct tool *t = set->first; t != NULL; t = t->next) {
        if (!t->sent || (choice != NULL && !tool_choice_leaves(choice, t)))
            continue;
        jw_object(w);
        jw_key_string(w, "type", STR("function"));
        jw_key(w, "function");
        jw_object(w);
        jw_key_string(w, "name", t->upstream_name);
        write_function(t, w);
        jw_object_end(w);
        jw_object_end(w);
    }
    jw_array_end(w);
}
