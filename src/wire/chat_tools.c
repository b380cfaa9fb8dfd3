/* chat_tools.c -- every kind of tool becomes a function (CONTRACT 1.2). */
#include "wire/chat_tools.h"

#include "json/json_copy.h"

/* What a function without parameters takes. */
static const str no_parameters = STR_INIT("{\"type\":\"object\",\"properties\":{}}");

/* A custom tool takes free text, which only a string member can carry. */
static const str text_parameters =
    STR_INIT("{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},"
             "\"required\":[\"input\"],\"additionalProperties\":false}");

static const str shell_description =
    STR_INIT("Run a command on the user's machine and read what it prints.");

static const str shell_parameters =
    STR_INIT("{\"type\":\"object\",\"properties\":{"
             "\"command\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
             "\"description\":\"The program and its arguments.\"},"
             "\"workdir\":{\"type\":\"string\",\"description\":\"Directory to run it in.\"},"
             "\"timeout_ms\":{\"type\":\"integer\",\"description\":\"Stop it after this time.\"},"
             "\"env\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"},"
             "\"description\":\"Additional environment variables.\"}},"
             "\"required\":[\"command\"]}");

static void write_function(const struct tool *t, struct jw *w)
{
    json_copy_given_text(w, "description", t->description);
    json_copy_key_value(w, "parameters",
                        str_is_none(t->parameters) ? no_parameters : t->parameters);
    if (!str_is_none(t->strict))
        jw_key_raw(w, "strict", t->strict);
}

/* The server knows no grammar of a single argument, so the model is told. */
static void write_custom_description(const struct tool *t, struct jw *w)
{
    bool described = t->description.len > 0;

    jw_key(w, "description");
    jw_open_string(w);
    if (described)
        json_copy_text(t->description, w->out);
    if (!str_is_none(t->grammar_definition)) {
        if (described)
            buf_append(w->out, STR("\\n"));
        buf_append(w->out, STR("The input must match this "));
        json_copy_text(t->grammar_syntax, w->out);
        buf_append(w->out, STR(" grammar:\\n"));
        json_copy_text(t->grammar_definition, w->out);
    }
    jw_close_string(w);
}

static void write_custom(const struct tool *t, struct jw *w)
{
    if (!str_is_none(t->description) || !str_is_none(t->grammar_definition))
        write_custom_description(t, w);
    jw_key_raw(w, "parameters", text_parameters);
}

static void write_shell(const struct tool *t, struct jw *w)
{
    (void)t;
    jw_key_string(w, "description", shell_description);
    jw_key_raw(w, "parameters", shell_parameters);
}

static void (*const writers[])(const struct tool *t, struct jw *w) = {
    [TOOL_FUNCTION] = write_function,
    [TOOL_CUSTOM] = write_custom,
    [TOOL_LOCAL_SHELL] = write_shell,
    [TOOL_MCP] = write_function,
};

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
        writers[t->kind](t, w);
        jw_object_end(w);
        jw_object_end(w);
    }
    jw_array_end(w);
}
