/* request_compact.c -- a trigger is taken out, compaction items are read back, and a request for a
 * summary is made of another. */
#include "wire/request/request_compact.h"

#include "json/json_text.h"
#include "wire/request/request_approval.h"
#include "wire/request/request_fields.h"
#include "wire/request/request_names.h"

/* ---- the trigger */

static int reject_trigger(const char *why, struct err *reterr)
{
    err_set_param(reterr, ERR_INVALID_VALUE, "input", "%s", why);
    return -1;
}

static size_t count_triggers(const struct item_list *items)
{
    size_t n = 0;

    for (const struct item *it = items->first; it != NULL; it = it->next)
        n += it->kind == ITEM_TRIGGER;
    return n;
}

static void remove_last(struct item_list *items)
{
    struct item *before = NULL;

    for (struct item *it = items->first; it != items->last; it = it->next)
        before = it;
    if (before == NULL)
        items->first = NULL;
    else
        before->next = NULL;
    items->last = before;
    items->n--;
}

int request_take_trigger(struct responses_request *r, struct err *reterr)
{
    const size_t n = count_triggers(&r->items);

    if (n == 0)
        return 0;
    if (n > 1)
        return reject_trigger("Only one 'compaction_trigger' item may be provided.", reterr);
    if (r->items.last->kind != ITEM_TRIGGER)
        return reject_trigger("The 'compaction_trigger' item must be the final input item.",
                              reterr);
    remove_last(&r->items);
    r->has_trigger = true;
    return 0;
}

/* ---- reading back */

int request_read_back(struct responses_request *r, const struct responses_request_options *options,
                      const struct id_source *ids, struct arena *a, struct err *reterr)
{
    if (r->has_trigger && r->items.n == 0)
        return reject_trigger("There is nothing to compact.", reterr);
    r->container_id = item_list_container(&r->items);
    r->n_searches = item_list_searches(&r->items);
    return compact_read_back(&r->items, &r->n_before, &options->compaction, &options->input, ids, a,
                             reterr);
}

/* ---- the request for a summary */

static int copy_items(const struct item_list *items, struct arena *a, struct item_list *ret,
                      struct err *reterr)
{
    struct item_list copy = {0};

    for (const struct item *it = items->first; it != NULL; it = it->next) {
        struct item *one = item_list_add(&copy, a);

        if (one == NULL)
            return err_set_no_memory(reterr);
        *one = *it;
        one->next = NULL;
    }
    *ret = copy;
    return 0;
}

static int add_question(struct item_list *items, str question, struct arena *a, struct err *reterr)
{
    struct item *it = item_list_add(items, a);
    struct buf escaped = {.limit = 0};
    str text;

    json_text_escape(question, &escaped);
    text = buf_failed(&escaped) ? STR_NONE : arena_dup(a, buf_str(&escaped));
    buf_fini(&escaped);
    if (it == NULL || str_is_none(text))
        return err_set_no_memory(reterr);
    it->kind = ITEM_MESSAGE;
    it->role = ROLE_USER;
    return content_from_text(text, a, &it->content, reterr);
}

/* What has no say in a summary. */
static void clear_settings(struct responses_request *r)
{
    r->format = (struct text_format){.type = STR_NONE};
    r->tool_choice = (struct tool_choice){.mode = TOOL_CHOICE_NOT_GIVEN};
    r->include_logprobs = false;
    r->top_logprobs = 0;
    r->max_tool_calls = 0;
    r->approved = NULL;
}

int request_compact_ask(const struct responses_request *r, const struct request_compact_call *call,
                        struct arena *a, struct responses_request *ret, struct err *reterr)
{
    struct responses_request ask = *r;

    if (copy_items(&r->items, a, &ask.items, reterr) == -1 ||
        add_question(&ask.items, call->question, a, reterr) == -1)
        return -1;
    clear_settings(&ask);
    ask.max_output_tokens = call->max_tokens;
    if (call->omits_tools)
        ask.tools = (struct tool_set){.n = 0};
    *ret = ask;
    return 0;
}

/* ---- going on from it */

static int add_compaction(struct item_list *items, str encrypted_content, struct arena *a,
                          struct err *reterr)
{
    struct item *it = item_list_add(items, a);

    if (it == NULL)
        return err_set_no_memory(reterr);
    it->kind = ITEM_COMPACTION;
    it->sealed = encrypted_content;
    return 0;
}

/* All of it is history by then: what was approved has been run. */
static int bind_calls(struct responses_request *r, const struct id_source *ids, struct arena *a,
                      struct err *reterr)
{
    struct approved_call *const approved = r->approved;
    int rc = request_approval_read(r, ids, a, reterr);

    r->approved = approved;
    return rc == -1 ? -1 : request_name_calls(r, a, reterr);
}

int request_compact_replace(struct responses_request *r, str encrypted_content,
                            const struct responses_request_options *options,
                            const struct id_source *ids, struct arena *a, struct err *reterr)
{
    struct responses_request next = *r;

    if (copy_items(&r->items, a, &next.items, reterr) == -1 ||
        add_compaction(&next.items, encrypted_content, a, reterr) == -1)
        return -1;
    next.n_before = next.items.n;
    if (compact_read_back(&next.items, &next.n_before, &options->compaction, &options->input, ids,
                          a, reterr) == -1 ||
        bind_calls(&next, ids, a, reterr) == -1)
        return -1;
    *r = next;
    return 0;
}
