/* chat_tools.c -- every kind of tool becomes a function (CONTRACT 1.2). */
#include "wire/chat/chat_tools.h"

#include "wire/chat/chat_described.h"
#include "json/json_copy.h"

/* What a function without parameters takes. */
static const str no_parameters = STR_INIT("{\"type\":\"object\",\"properties\":{}}");

/* Of the kinds that are always the same; the others bring their own. Escaped. */
static const str fixed_descriptions[TOOL_WEB_SEARCH + 1] = {
    [TOOL_LOCAL_SHELL] = STR_INIT("Run a command on the user's machine and read what it prints."),
    [TOOL_CODE_INTERPRETER] =
        STR_INIT("Run Python code in a sandbox. Variables, imports and files stay from one call "
                 "to the next. Read and write files in /mnt/data. You get what the code prints and "
                 "the value of its last expression. There is no network unless the operator "
                 "allows it."),
    [TOOL_WEB_SEARCH] = STR_INIT(
        "Search the web and read pages. What an action gives you begins with its number, "
        "`[cursor]`, and has numbered lines, `L0:`, `L1:` and so on. Cite the lines that support "
        "a statement right after it, as 【cursor†L3-L5】 or 【cursor†L3】. Only cursors you have "
        "been given can be cited."),
};

/* And their arguments. A custom tool takes free text, which only a string member can carry. */
static const str fixed_parameters[TOOL_WEB_SEARCH + 1] = {
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
    [TOOL_CODE_INTERPRETER] =
        STR_INIT("{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"string\","
                 "\"description\":\"The Python code to run.\"}},"
                 "\"required\":[\"code\"],\"additionalProperties\":false}"),
    [TOOL_WEB_SEARCH] = STR_INIT(
        "{\"type\":\"object\",\"properties\":{"
        "\"action\":{\"type\":\"string\",\"enum\":[\"search\",\"open_page\",\"find_in_page\"],"
        "\"description\":\"search: the results for query. open_page: the page at url. "
        "find_in_page: where pattern occurs in the page at url.\"},"
        "\"query\":{\"type\":\"string\",\"description\":\"What to search for.\"},"
        "\"url\":{\"type\":\"string\",\"description\":\"The address of a page. find_in_page "
        "takes the last page without it.\"},"
        "\"pattern\":{\"type\":\"string\",\"description\":\"The exact text to find.\"}},"
        "\"required\":[\"action\"],\"additionalProperties\":false}"),
};

/* Of web_search where no pages are opened. */
static const str search_only_parameters =
    STR_INIT("{\"type\":\"object\",\"properties\":{"
             "\"action\":{\"type\":\"string\",\"enum\":[\"search\"]},"
             "\"query\":{\"type\":\"string\",\"description\":\"What to search for.\"}},"
             "\"required\":[\"action\",\"query\"],\"additionalProperties\":false}");

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
    return !str_is_none(fixed_descriptions[t->kind]) || !str_is_none(t->description) ||
           !str_is_none(t->grammar_definition);
}

void chat_tool_describe(const struct tool *t, struct buf *out)
{
    str fixed = fixed_descriptions[t->kind];

    if (!str_is_none(fixed))
        buf_append(out, fixed);
    else if (t->kind == TOOL_CUSTOM)
        describe_custom(t, out);
    else if (!str_is_none(t->description))
        json_copy_text(t->description, out);
}

str chat_tool_parameters(const struct tool *t)
{
    str fixed = fixed_parameters[t->kind];

    if (t->kind == TOOL_WEB_SEARCH && !t->search->opens_pages)
        return search_only_parameters;
    return str_is_none(fixed) ? t->parameters : fixed;
}

static void write_function(const struct tool *t, bool describes_all, struct jw *w)
{
    const str schema = chat_tool_parameters(t);
    const str parameters = str_is_none(schema) ? no_parameters : schema;

    if (describes_all || chat_tool_is_described(t)) {
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
    if (!str_is_none(t->strict) && str_is_none(fixed_parameters[t->kind]))
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
