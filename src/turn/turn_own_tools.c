/* turn_own_tools.c -- what a request says of hosted tools: which container its code runs in, and
 * what its answer may cite. */
#include "flight/builtin_tools.h"
#include "json/json_text.h"
#include "sandbox/sandbox.h"
#include "turn/turn_internal.h"

/* ---- the code interpreter */

/* That of the last call in the history, as long as it lives. */
static str find_container(struct turn *t)
{
    str found = item_list_container(&t->request.items);

    if (str_is_none(found))
        found = t->request.container_id; /* its call is in a summary */
    found = str_is_none(found) ? STR_NONE : json_text_dup(&t->flight.arena, found);
    if (str_is_none(found) ||
        !sandbox_hub_has(t->flight.worker->builtin->sandboxes, t->flight.caller.owner, found))
        return STR_NONE;
    return found;
}

static int keep_new_container(struct turn *t, struct err *reterr)
{
    const struct id id = id_make(&t->flight.worker->ids, "cntr_", ID_RANDOM_CHARS);

    t->calls.container_id = find_container(t);
    if (str_is_none(t->calls.container_id))
        t->calls.container_id = arena_dup(&t->flight.arena, id_str(&id));
    if (!str_is_none(t->calls.container_id))
        return 0;
    return err_set_no_memory(reterr);
}

static int need_container(struct turn *t, const struct code_declaration *d, struct err *reterr)
{
    char at[64];

    t->calls.container_id = json_text_dup(&t->flight.arena, d->container);
    if (str_is_none(t->calls.container_id))
        return err_set_no_memory(reterr);
    if (sandbox_hub_has(t->flight.worker->builtin->sandboxes, t->flight.caller.owner,
                        t->calls.container_id))
        return 0;
    (void)snprintf(at, sizeof(at), "%.*s.container", STR_ARG(d->at));
    err_set_param(reterr, ERR_NOT_FOUND, at,
                  "Container '%.*s' was not found. It may have expired: containers that are not "
                  "used are removed, with their files.",
                  STR_ARG(t->calls.container_id));
    return -1;
}

static int check_network(const struct turn *t, const struct code_declaration *d, struct err *reterr)
{
    char at[48];

    (void)snprintf(at, sizeof(at), "%.*s.container", STR_ARG(d->at));
    return builtin_check_network(t->flight.worker->config, d->network_policy, str_from_c(at),
                                 reterr);
}

int turn_choose_container(struct turn *t, struct err *reterr)
{
    const struct tool *tool = tool_set_find_hosted(&t->request.tools, HOSTED_CODE_INTERPRETER);

    if (tool == NULL)
        return 0;
    t->calls.code = tool->code;
    if (check_network(t, tool->code, reterr) == -1)
        return -1;
    return str_is_none(tool->code->container) ? keep_new_container(t, reterr)
                                              : need_container(t, tool->code, reterr);
}

/* ---- web search */

/* Behind the numbers that the model has seen in earlier responses: it may cite those again, and no
 * other page is to be linked then. Each result took one number at most. */
static size_t first_cursor(const struct turn *t)
{
    const size_t n = item_list_searches(&t->request.items);

    return n > t->request.n_searches ? n : t->request.n_searches;
}

const struct response_sources *turn_sources(struct turn *t)
{
    const struct tool *tool = tool_set_find_hosted(&t->request.tools, HOSTED_WEB_SEARCH);

    if (tool == NULL)
        return NULL;
    t->calls.search = tool->search;
    t->calls.first_cursor = first_cursor(t);
    t->calls.shows_sources = t->request.include_search_sources;
    t->sources = (struct response_sources){turn_calls_find_source, &t->calls};
    return &t->sources;
}
