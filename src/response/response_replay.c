/* response_replay.c -- what a round added to the conversation, for the next one.
 *
 * An item is written and read again as the item it would be in the next request,
 * as the store keeps it: so there is one reading of items, and the model is told the
 * same now and then. */
#include "conv/reject.h"
#include "json/json_walk.h"
#include "response/output_result.h"
#include "response/response_hosted.h"
#include "response/response_internal.h"

/* What is open or was cut has nothing to tell; what was listed or found is in the request's tools, and a
 * summary is in the request's items once it is made. */
bool response_is_for_model(const struct output_item *item)
{
    return (item->status == OUTPUT_COMPLETED || item->status == OUTPUT_FAILED) &&
           item->kind != OUTPUT_MCP_LIST_TOOLS && item->kind != OUTPUT_TOOL_SEARCH_OUTPUT &&
           item->kind != OUTPUT_COMPACTION;
}

static int write_text(const struct output_item *item, struct arena *a, str *ret, struct err *reterr)
{
    struct buf json = {.limit = 0};

    if (output_result_exists(item) && item->kind != OUTPUT_MCP_CALL)
        output_result_write(item, &json);
    else
        output_item_write(item, &json);
    *ret = buf_failed(&json) ? STR_NONE : arena_dup(a, buf_str(&json));
    buf_fini(&json);
    return str_is_none(*ret) ? err_set_no_memory(reterr) : 0;
}

/* How the upstream wrote a call of a server's tool stands beside the item, as in the store. */
static int read_origin(const struct output_item *item, struct arena *a, struct item *ret,
                       struct err *reterr)
{
    struct buf json = {.limit = 0};

    if (item->kind != OUTPUT_MCP_CALL || !output_result_exists(item))
        return 0;
    output_result_write(item, &json);
    ret->raw_result = buf_failed(&json) ? STR_NONE : arena_dup(a, buf_str(&json));
    buf_fini(&json);
    return str_is_none(ret->raw_result) ? err_set_no_memory(reterr) : 0;
}

int response_read_item(const struct response *r, const struct output_item *item,
                       const struct input_options *o, struct arena *a, struct item *ret,
                       struct err *reterr)
{
    struct input_options own = *o;
    struct json_walk w;
    str json;

    own.own_items = true;
    if (write_text(item, a, &json, reterr) == -1)
        return -1;
    w = json_walk_of(json);
    if (item_read(&w, NULL, &own, r->conf.ids, a, ret, reterr) == -1)
        return -1;
    if (item->tool != NULL)
        ret->name = item->tool->upstream_name;
    if (!str_is_none(item->upstream_id))
        ret->call_id = item->upstream_id;
    ret->ends_round = item->ends_round;
    return read_origin(item, a, ret, reterr);
}

/* What follows them is another message of the assistant, although it may begin with a call. */
static void end_round(struct output_item *items)
{
    struct output_item *last = NULL;

    for (struct output_item *item = items; item != NULL; item = item->next) {
        if (output_is_hosted_call(item->kind) && response_is_for_model(item))
            last = item;
    }
    if (last != NULL)
        last->ends_round = true;
}

static int replay(const struct response *r, const struct output_item *item,
                  const struct input_options *o, struct item_list *items, struct arena *a,
                  struct err *reterr)
{
    struct item *it = item_list_add(items, a);

    return it == NULL ? err_set_no_memory(reterr) : response_read_item(r, item, o, a, it, reterr);
}

/* Reasoning without a text: what follows it is another message of the assistant, although
 * it may begin with a call. A server that keeps what it has computed for the beginning of a
 * conversation finds that beginning again. */
static int begin_message(struct item_list *items, struct arena *a, struct err *reterr)
{
    struct item *it = item_list_add(items, a);

    if (it == NULL)
        return err_set_no_memory(reterr);
    it->kind = ITEM_REASONING;
    return 0;
}

/* A summary that the gateway sends is the model's own reasoning. */
int response_read_answer(const struct response *r, const struct input_options *o,
                         struct item_list *items, struct arena *a, struct err *reterr)
{
    struct input_options own = *o;

    own.reasoning_from_summary = true;
    own.seal = NULL; /* the text is there */
    if (begin_message(items, a, reterr) == -1)
        return -1;
    for (const struct output_item *item = *r->replayed; item != NULL; item = item->next) {
        if (response_is_for_model(item) && replay(r, item, &own, items, a, reterr) == -1)
            return -1;
    }
    return 0;
}

int response_replay(struct response *r, const struct input_options *o, struct item_list *items,
                    struct arena *a, struct err *reterr)
{
    if (*r->replayed == NULL)
        return 0; /* it has been compacted */
    end_round(*r->replayed);
    if (response_read_answer(r, o, items, a, reterr) == -1)
        return -1;
    r->replayed = r->end;
    return 0;
}

/* ---- the answer */

static size_t text_bytes(const struct output_item *item)
{
    size_t n = 0;

    for (const struct output_part *part = item->first; part != NULL; part = part->next)
        n += part->text.len;
    return n;
}

size_t response_answer_bytes(const struct response *r)
{
    size_t n = 0;

    for (const struct output_item *item = *r->replayed; item != NULL; item = item->next) {
        if (item->kind == OUTPUT_MESSAGE)
            n += text_bytes(item);
        else if (item->kind != OUTPUT_REASONING)
            return 0;
    }
    return n;
}
