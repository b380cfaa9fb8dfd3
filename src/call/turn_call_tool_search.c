/* turn_call_tool_search.c -- calls of the search for tools: which are found, and loaded for what follows
 * (CONTRACT 1.9). */
#include "call/turn_call.h"
#include "flight/worker.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "wire/tools/tool_defer.h"
#include "wire/tools/tool_found.h"
#include "wire/tools/tool_rank.h"

/* All tools that can be found, in the arena; NULL when out of memory. */
static const struct tool **list_tools(const struct tool_set *set, struct arena *a, size_t *ret_n)
{
    const struct tool **tools = arena_array(a, set->n + 1, sizeof(const struct tool *));
    size_t n = 0;

    for (const struct tool *t = tool_defer_next(set, NULL); tools != NULL && t != NULL;
         t = tool_defer_next(set, t))
        tools[n++] = t;
    *ret_n = n;
    return tools;
}

/* The model may ask for fewer than the operator lets it have. */
static size_t search_limit(const struct turn_calls *of, str arguments)
{
    const size_t most = of->flight->worker->config->tool_search_results;
    const int64_t wanted = jr_member_int(arguments, STR("limit"), 0);

    return wanted > 0 && (uint64_t)wanted < most ? (size_t)wanted : most;
}

static bool find_tools(const struct turn_calls *of, str arguments, const struct tool **tools,
                       size_t n, size_t *ret_n)
{
    const str query = jr_member_string(arguments, STR("query"));
    struct buf plain = {.limit = 0};
    ssize_t found = -1;
    struct err e;

    if (!str_is_none(query))
        json_text_decode(query, &plain);
    if (!buf_failed(&plain))
        found = tool_rank(tools, n, buf_str(&plain), search_limit(of, arguments), &e);
    buf_fini(&plain);
    *ret_n = found == -1 ? 0 : (size_t)found;
    return found != -1;
}

static bool report_found(struct turn_calls *of, const struct tool **tools, size_t n,
                         struct turn_call_result *ret)
{
    struct buf list = {.limit = 0};
    str text = STR_NONE;

    tool_found_group(tools, n);
    for (size_t i = 0; i < n; i++)
        tool_defer_load(of->tools, tools[i]);
    tool_found_write(tools, n, &ret->tools);
    buf_char(&list, '[');
    buf_append(&list, buf_str(&ret->tools));
    buf_char(&list, ']');
    if (!buf_failed(&ret->tools) && !buf_failed(&list))
        text = tool_found_text(of->tools, buf_str(&list), &of->flight->arena);
    buf_append(&ret->output, text);
    buf_fini(&list);
    return !str_is_none(text);
}

static void *start_search(struct turn_call *c, struct turn_call_result *ret)
{
    struct arena *a = &c->of->flight->arena;
    const str arguments = json_text_dup(a, c->text);
    size_t n = 0, n_found = 0;
    const struct tool **tools = c->of->tools == NULL ? NULL : list_tools(c->of->tools, a, &n);

    if (tools == NULL || str_is_none(arguments) ||
        !find_tools(c->of, arguments, tools, n, &n_found) ||
        !report_found(c->of, tools, n_found, ret))
        ret->output.failed = true; /* which ends the response: there is no memory */
    return NULL;
}

const struct turn_call_kind turn_call_tool_search = {
    .start = start_search, .starts_at_once = true, .name = "tool_search"};
