/* request_resolve.c -- what of a request may have to wait for the store.
 *
 * Tools depend on items, since an additional_tools item may stand in the
 * history, and tool_choice depends on tools. So all three are read again when
 * the history is there; without history they are read once. */
#include "wire/request/request_resolve.h"

#include <assert.h>

#include "base/str_map.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "wire/request/request_approval.h"
#include "wire/request/request_fields.h"
#include "wire/request/request_names.h"
#include "wire/tools/tool_defer.h"

/* ---- references */

static size_t count_references(const struct item_list *items)
{
    size_t n = 0;

    for (const struct item *it = items->first; it != NULL; it = it->next)
        n += item_is_stored(it);
    return n;
}

int request_references(const struct responses_request *r, struct arena *a,
                       struct request_references *ret, struct err *reterr)
{
    struct request_references list = {.n = 0};

    list.v = arena_array(a, count_references(&r->items), sizeof(*list.v));
    if (list.v == NULL)
        return err_set_no_memory(reterr);
    for (const struct item *it = r->items.first; it != NULL; it = it->next) {
        if (!item_is_stored(it))
            continue;
        list.v[list.n].id = json_text_copy(a, it->id);
        list.v[list.n].index = it->index;
        if (str_is_none(list.v[list.n++].id))
            return err_set_no_memory(reterr);
    }
    *ret = list;
    return 0;
}

/* ---- what a conversation holds */

/* Ids, each with what is known of it. A conversation takes an id once, so what it
 * holds, or gets from the items before, says nothing to the model again. Only the
 * second whole item with an id is new: it is kept under another (kept_item.h). */
struct held {
    struct str_map map;
    bool is_used; /* the request continues a conversation, and has ids */
};

struct held_id {
    bool is_held, is_claimed; /* by the conversation; by a whole item */
};

/* The id of an approval response is that of another item. */
static bool has_own_id(const struct item *it)
{
    return it->id.len > 0 && it->kind != ITEM_APPROVAL_RESPONSE;
}

static bool has_ids(const struct item_list *items)
{
    const struct item *it = items->first;

    while (it != NULL && !has_own_id(it))
        it = it->next;
    return it != NULL;
}

static struct held_id *held_find(struct held *h, str id, struct arena *a)
{
    void **slot = str_map_slot(&h->map, id, a);

    if (slot != NULL && *slot == NULL)
        *slot = arena_array(a, 1, sizeof(struct held_id));
    return slot == NULL ? NULL : *slot;
}

static int held_init(struct held *h, const struct responses_request *r,
                     const struct request_history *history, const struct id_source *ids,
                     struct arena *a, struct err *reterr)
{
    *h = (struct held){.is_used = !str_is_none(r->conversation_id) && has_ids(&r->items)};
    str_map_init(&h->map, ids);
    for (size_t i = 0; h->is_used && i < history->n; i++) {
        struct held_id *known = held_find(h, history->items[i].id, a);

        if (known == NULL)
            return err_set_no_memory(reterr);
        *known = (struct held_id){.is_held = true};
    }
    return 0;
}

/* Takes note of the item: does it say nothing new? */
static bool held_take(struct held_id *known, bool is_reference)
{
    bool was_held = known->is_held;

    if (!is_reference && known->is_claimed)
        return false;
    known->is_held = true;
    known->is_claimed = known->is_claimed || !is_reference;
    return was_held;
}

/* ---- items */

struct resolution {
    struct responses_request *r;
    const struct request_history *history;
    const struct responses_request_options *options;
    const struct id_source *ids;
    struct arena *arena;
    struct err *reterr;
    struct held *held;
};

/* What was good when it was stored does not become an error, neither by other options nor since its type
 * was dropped unread then: it says nothing still. A summary that the gateway sent is the model's own
 * reasoning. */
static int read_stored(const struct resolution *s, str body, bool is_output, const struct path *at,
                       struct item *ret)
{
    struct input_options o = s->options->input;
    struct item read = *ret;
    struct json_walk w = json_walk_of(body);

    if (!jr_is_valid(body)) { /* a walk is for what is */
        ret->kind = ITEM_IGNORED;
        return 0;
    }
    o.ignore_unknown_items = true;
    o.own_items = is_output;
    o.reasoning_from_summary = o.reasoning_from_summary || is_output;
    if (item_read(&w, at, &o, s->ids, s->arena, &read, s->reterr) == 0)
        *ret = read;
    else if (s->reterr->code == ERR_INTERNAL)
        return -1;
    else
        ret->kind = ITEM_IGNORED;
    return 0;
}

static int drop_if_held(const struct resolution *s, struct item *it, bool *ret_is_held)
{
    struct held_id *known;
    str id;

    *ret_is_held = false;
    if (!s->held->is_used || !has_own_id(it))
        return 0;
    id = json_text_dup(s->arena, it->id);
    known = str_is_none(id) ? NULL : held_find(s->held, id, s->arena);
    if (known == NULL)
        return err_set_no_memory(s->reterr);
    *ret_is_held = held_take(known, it->kind == ITEM_REFERENCE);
    if (*ret_is_held)
        *it = (struct item){.kind = ITEM_IGNORED, .index = it->index, .next = it->next};
    return 0;
}

static int reject_reference(const struct item *it, struct err *reterr)
{
    err_set_param(reterr, ERR_NOT_FOUND, "input", "Item with id '%s' not found.",
                  shown(it->id).text);
    return -1;
}

static int read_found(const struct resolution *s, const struct request_history_item *found,
                      const struct path *at, struct item *ret)
{
    struct item result = {.kind = ITEM_IGNORED};

    if (read_stored(s, found->body, found->is_output, at, ret) == -1)
        return -1;
    if (str_is_none(found->result))
        return 0;
    if (read_stored(s, found->result, true, at, &result) == -1)
        return -1;
    item_take_result(ret, &result);
    return 0;
}

static bool is_known(const struct request_history_item *stored)
{
    return stored != NULL && !str_is_none(stored->body);
}

static int replace_item(const struct resolution *s, const struct request_history_item *stored,
                        struct item *it)
{
    const struct path input_at = path_member(NULL, STR("input"));
    const struct path at = path_index(&input_at, it->index);
    struct item whole = {.index = it->index, .next = it->next};

    if (!is_known(stored))
        return 0;
    if (read_found(s, stored, &at, &whole) == -1)
        return -1;
    *it = whole;
    return 0;
}

static int replace_references(const struct resolution *s)
{
    const struct request_history_item *found = s->history->found;
    size_t n = 0;

    for (struct item *it = s->r->items.first; it != NULL; it = it->next) {
        const struct request_history_item *stored = NULL;
        bool is_stored = item_is_stored(it), is_held;

        if (is_stored && found != NULL)
            stored = &found[n++];
        if (it->kind == ITEM_REFERENCE && !is_known(stored))
            return reject_reference(it, s->reterr); /* to an item beside it is one as well */
        if (drop_if_held(s, it, &is_held) == -1 ||
            (is_stored && !is_held && replace_item(s, stored, it) == -1))
            return -1;
    }
    return 0;
}

/* A result stands behind its item, and says nothing when that is gone. */
static int add_stored(const struct resolution *s, const struct request_history_item *stored,
                      const struct path *at, struct item_list *list)
{
    struct item read = {.kind = ITEM_IGNORED}, *it;

    if (read_stored(s, stored->body, stored->is_output, at, &read) == -1)
        return -1;
    it = list->last;
    if (read.is_result) {
        if (it != NULL && str_eq(it->id, read.id))
            item_take_result(it, &read);
        return 0;
    }
    it = item_list_add(list, s->arena);
    if (it == NULL)
        return err_set_no_memory(s->reterr);
    read.index = it->index;
    read.is_kept = stored->is_output;
    *it = read;
    return 0;
}

static int prepend_history(const struct resolution *s)
{
    const struct path history_at =
        path_member(NULL, str_is_none(s->r->conversation_id) ? STR("previous_response_id")
                                                             : STR("conversation"));
    struct item_list list = {0};

    for (size_t i = 0; i < s->history->n; i++) {
        const struct path at = path_index(&history_at, i);

        if (!str_is_none(s->history->items[i].body) &&
            add_stored(s, &s->history->items[i], &at, &list) == -1)
            return -1;
    }
    item_list_prepend(&s->r->items, &list);
    s->r->n_before = list.n;
    return 0;
}

/* ---- tools */

/* What stands behind the output of a response object, as an object of its own. */
static str tail_object(str tail, struct arena *a)
{
    str members = str_skip(tail, 2);
    char *object;

    if (!str_starts_with(tail, STR("],")))
        return STR("{}");
    object = arena_alloc(a, 1 + members.len);
    if (object == NULL)
        return STR_NONE;
    object[0] = '{';
    memcpy(object + 1, members.p, members.len);
    return str_from(object, 1 + members.len);
}

/* Each for itself, but a choice means nothing without its tools. An inherited
 * "auto" may have been no choice at all. */
static int inherit_tools(const struct resolution *s)
{
    struct responses_request *r = s->r;
    str object, choice;

    if (!str_is_none(r->tools_json) || str_is_none(s->history->previous_tail))
        return 0;
    object = tail_object(s->history->previous_tail, s->arena);
    if (str_is_none(object))
        return err_set_no_memory(s->reterr);
    r->tools_json = jr_member(object, STR("tools"));
    r->has_inherited_tools = true;
    choice = jr_member(object, STR("tool_choice"));
    if (str_is_none(r->tool_choice_json) && !str_eq(choice, STR("\"auto\"")))
        r->tool_choice_json = choice;
    return 0;
}

int request_read_tools(struct responses_request *r, const struct responses_request_options *options,
                       const struct id_source *ids, struct arena *a, struct err *reterr)
{
    const struct tool_sources from = {.tools = r->tools_json,
                                      .is_inherited = r->has_inherited_tools,
                                      .items = &r->items,
                                      .n_before = r->n_before};
    struct tool_index *index = &r->tool_index;

    if (tool_set_parse(&from, &options->tools, ids, a, &r->tools, index, reterr) == -1)
        return -1;
    r->needs_tools = r->tools.n_servers > 0 || options->has_injected_tools;
    index->is_partial = r->needs_store || r->needs_tools;
    index->has_all_servers = !r->needs_store && !options->has_injected_tools;
    return tool_choice_parse(r->tool_choice_json, index, &r->tools, a, &r->tool_choice, reterr);
}

/* ---- tools of MCP servers */

int request_add_mcp(struct responses_request *r, const struct server_tool *tools, size_t n,
                    struct arena *a, struct err *reterr)
{
    assert(r->needs_tools && !r->needs_store);
    for (size_t i = 0; i < n; i++) {
        if (tool_set_add_mcp(&r->tools, &r->tool_index, &tools[i], a, reterr) == -1)
            return -1;
    }
    r->tool_index.is_partial = false;
    if (tool_choice_parse(r->tool_choice_json, &r->tool_index, &r->tools, a, &r->tool_choice,
                          reterr) == -1 ||
        request_approval_bind(r, reterr) == -1)
        return -1;
    r->needs_tools = false;
    if (request_name_calls(r, a, reterr) == -1)
        return -1;
    return tool_defer(&r->tools, &r->tool_index, &r->tool_choice, &r->items, a, reterr);
}

/* ---- lookups */

int request_look_up(struct responses_request *r, const struct id_source *ids, struct arena *a,
                    struct err *reterr)
{
    if (request_approval_read(r, ids, a, reterr) == -1)
        return -1;
    if (r->needs_tools)
        return 0;
    request_name_own_calls(r);
    if (request_approval_bind(r, reterr) == -1)
        return -1;
    return tool_defer(&r->tools, &r->tool_index, &r->tool_choice, &r->items, a, reterr);
}

int request_reject_previous(const struct responses_request *r, struct err *reterr)
{
    err_set_param(reterr, ERR_PREVIOUS_NOT_FOUND, "previous_response_id",
                  "Previous response with id '%s' not found.", shown(r->previous_response_id).text);
    return -1;
}

int request_reject_conversation(const struct responses_request *r, struct err *reterr)
{
    err_set_param(reterr, ERR_NOT_FOUND, "conversation", "Conversation with id '%s' not found.",
                  shown(r->conversation_id).text);
    return -1;
}

int request_resolve(struct responses_request *r, const struct request_history *h,
                    const struct responses_request_options *options, const struct id_source *ids,
                    struct arena *a, struct err *reterr)
{
    struct held held;
    const struct resolution s = {r, h, options, ids, a, reterr, &held};

    r->needs_store = false;
    if (held_init(&held, r, h, ids, a, reterr) == -1)
        return -1;
    if (replace_references(&s) == -1 || prepend_history(&s) == -1 ||
        request_configure(r, reterr) == -1 || request_read_back(r, options, ids, a, reterr) == -1 ||
        inherit_tools(&s) == -1 || request_read_tools(r, options, ids, a, reterr) == -1)
        return -1;
    return request_look_up(r, ids, a, reterr);
}
