/* hosted_tool_search.c -- a search for tools that the gateway runs: what the model is told of it, what its
 * calls show. Which tools wait to be found is told in tool_defer.h. */
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "wire/tools/hosted_tool.h"

static str find_parameters(const struct tool *t)
{
    static const str parameters = STR_INIT(
        "{\"type\":\"object\",\"properties\":{"
        "\"query\":{\"type\":\"string\",\"description\":\"What the tools are to do, in a "
        "few words that may stand in their names and descriptions.\"},"
        "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Find no more tools "
        "than these.\"}},"
        "\"required\":[\"query\"],\"additionalProperties\":false}");

    (void)t;
    return parameters;
}

/* A query that has no form is the query. */
static void write_find(str escaped_arguments, str plain, struct buf *out)
{
    const str query = jr_member_string(plain, STR("query"));
    const int64_t limit = jr_member_int(plain, STR("limit"), 0);
    struct jw w = jw_to(out);

    jw_object(&w);
    if (jr_type_of(plain) != JR_OBJECT)
        json_copy_key_text(&w, "query", escaped_arguments);
    else
        json_copy_key_text(&w, "query", str_is_none(query) ? STR("") : query);
    if (limit > 0)
        jw_key_int(&w, "limit", limit);
    jw_object_end(&w);
}

/* What asks for nothing finds nothing, and the model learns of that: no search fails. */
static str show_find(enum builtin_tool builtin, str escaped_arguments, struct buf *text,
                     struct buf *arguments)
{
    struct buf plain = {.limit = 0};

    (void)builtin;
    json_text_decode(escaped_arguments, &plain);
    write_find(escaped_arguments,
               jr_is_valid(buf_str(&plain)) ? str_trim(buf_str(&plain)) : STR(""), text);
    json_text_escape(buf_str(text), arguments);
    text->failed = text->failed || buf_failed(&plain);
    buf_fini(&plain);
    return STR_NONE;
}

/* The description is made for each request (tool_defer.c). */
const struct hosted_tool hosted_tool_search = {
    .description = STR_INIT("Searches for tools that cannot be called before they are found."),
    .parameters = find_parameters,
    .show = show_find,
};
