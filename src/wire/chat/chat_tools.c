/* chat_tools.c -- every kind of tool becomes a function (CONTRACT 1.2). */
#include "wire/chat/chat_tools.h"

#include "json/json_copy.h"
#include "wire/chat/chat_described.h"
#include "wire/tools/client_tool.h"
#include "wire/tools/hosted_tool.h"

/* What a function without parameters takes. */
static const str no_parameters = STR_INIT("{\"type\":\"object\",\"properties\":{}}");

/* A custom tool takes free text, which only a string member can carry. */
static const str custom_parameters =
    STR_INIT("{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},"
             "\"required\":[\"input\"],\"additionalProperties\":false}");

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

/* Of a tool that the API has a type for: what the model is told of it, when the request says nothing
 * or may not say. */
static str fixed_description(const struct tool *t)
{
    const struct client_tool *known = client_tool(t->kind);

    if (t->kind == TOOL_HOSTED)
        return t->description.len == 0 ? hosted_tool(t->hosted_kind)->description : STR_NONE;
    return known != NULL && t->description.len == 0 ? known->description : STR_NONE;
}

static bool tool_is_described(const struct tool *t)
{
    return !str_is_none(fixed_description(t)) || !str_is_none(t->description) ||
           !str_is_none(t->grammar_definition);
}

void chat_tool_describe(const struct tool *t, struct buf *out)
{
    const str fixed = fixed_description(t);

    if (!str_is_none(fixed))
        buf_append(out, fixed);
    else if (t->kind == TOOL_CUSTOM)
        describe_custom(t, out);
    else if (!str_is_none(t->description))
        json_copy_text(t->description, out);
}

str chat_tool_parameters(const struct tool *t)
{
    const struct client_tool *known = client_tool(t->kind);

    if (t->kind == TOOL_HOSTED)
        return hosted_tool(t->hosted_kind)->parameters(t);
    if (t->kind == TOOL_CUSTOM)
        return custom_parameters;
    return known != NULL && str_is_none(t->parameters) ? known->parameters : t->parameters;
}

static void write_function(const struct tool *t, bool describes_all, struct jw *w)
{
    const str schema = chat_tool_parameters(t);
    const str parameters = str_is_none(schema) ? no_parameters : schema;

    if (describes_all || tool_is_described(t)) {
        jw_key(w, "description");
        jw_open_string(w);
        chat_tool_describe(t, w->out);
        jw_close_string(w);
    }
    jw_key(w, "parameters");
    if (describes_all)
        chat_described_write(parameters, w);
    else
        json_copy_element(w, parameters);
    if (!str_is_none(t->strict))
        jw_key_raw(w, "strict", t->strict);
}

void chat_tools_write(const struct tool_set *set, const struct tool_choice *choice,
                      bool describes_all, struct jw *w)
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
        write_function(t, describes_all, w);
        jw_object_end(w);
        jw_object_end(w);
    }
    jw_array_end(w);
}
