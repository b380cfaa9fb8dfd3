/* response_memory.c -- reasoning under the keys by which it will be asked for.
 *
 * A call comes back as an input item, so its key is taken from what its own item
 * reads as: names and arguments are then those of a conversation, whatever kind
 * of tool it was. A response becomes one assistant message, or several when the
 * gateway has run tools (CONTRACT 2.5); all reasoning of one belongs to each of its
 * calls. */
#include "response/response_memory.h"

#include "conv/item.h"
#include "response/response_internal.h"

static bool is_call(const struct output_item *item)
{
    return item->call_id.len > 0 || output_is_hosted_call(item->kind);
}

/* Of the message that begins with this item: where the next one begins, NULL for the last. */
static const struct output_item *end_of_message(const struct output_item *item)
{
    bool has_hosted = false, has_ended = false;

    while (item != NULL && !has_ended &&
           !(has_hosted && (item->kind == OUTPUT_MESSAGE || item->kind == OUTPUT_REASONING))) {
        has_hosted = has_hosted || output_is_hosted_call(item->kind);
        has_ended = item->ends_round;
        item = item->next;
    }
    return item;
}

static void gather_reasoning(const struct output_item *from, const struct output_item *to,
                             struct buf *reasoning)
{
    for (const struct output_item *item = from; item != to; item = item->next) {
        if (item->kind != OUTPUT_REASONING)
            continue;
        for (const struct output_part *p = item->first; p != NULL; p = p->next)
            buf_append(reasoning, buf_str(&p->text));
    }
}

static void remember_call(const struct response *r, const struct output_item *item, str scope,
                          str reasoning, struct call_cache *cache)
{
    const struct input_options options = {.text_files = false};
    struct item call = {.kind = ITEM_IGNORED};
    struct arena scratch = {0};
    struct err e;

    if (response_read_item(r, item, &options, &scratch, &call, &e) == 0 &&
        (call.kind == ITEM_CALL || call.kind == ITEM_HOSTED_CALL)) {
        const bool is_hosted = call.kind == ITEM_HOSTED_CALL;
        const struct call_key key = {.scope = scope,
                                     .call_id = is_hosted ? call.id : call.call_id,
                                     .arguments = call.arguments,
                                     .name = call.name};

        call_cache_put(cache, &key, reasoning);
    }
    arena_fini(&scratch);
}

bool response_is_to_remember(const struct response *r)
{
    bool has_reasoning = false, has_call = false;

    for (const struct output_item *item = r->first; item != NULL; item = item->next) {
        has_reasoning = has_reasoning || item->kind == OUTPUT_REASONING;
        has_call = has_call || is_call(item);
    }
    return has_reasoning && has_call;
}

void response_remember(const struct response *r, str scope, struct call_cache *cache)
{
    const struct output_item *next;
    struct buf reasoning = {0};

    for (const struct output_item *first = r->first; first != NULL; first = next) {
        next = end_of_message(first);
        buf_reset(&reasoning);
        gather_reasoning(first, next, &reasoning);
        for (const struct output_item *item = first; item != next; item = item->next) {
            if (reasoning.len > 0 && is_call(item))
                remember_call(r, item, scope, buf_str(&reasoning), cache);
        }
    }
    buf_fini(&reasoning);
}
