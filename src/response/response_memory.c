/* response_memory.c -- reasoning under the keys by which it will be asked for.
 *
 * A call comes back as an input item, so its key is taken from what its own item
 * reads as: names and arguments are then those of a conversation, whatever kind
 * of tool it was. All of a response becomes one assistant message, so all of its
 * reasoning belongs to each call. */
#include "response/response_memory.h"

#include "conv/item.h"

static void gather(const struct response *r, struct buf *reasoning)
{
    for (const struct output_item *item = r->first; item != NULL; item = item->next) {
        if (item->kind != OUTPUT_REASONING)
            continue;
        for (const struct output_part *p = item->first; p != NULL; p = p->next)
            buf_append(reasoning, buf_str(&p->text));
    }
}

static void remember_call(const struct response *r, const struct output_item *item, str scope,
                          str reasoning, struct reasoning_cache *cache)
{
    const struct input_options options = {.text_files = false};
    struct item call = {.kind = ITEM_IGNORED};
    struct arena scratch = {0};
    struct buf json = {0};
    struct jr j;

    output_item_write(item, &json);
    jr_init(&j, buf_str(&json));
    if (!buf_failed(&json) &&
        item_read(&j, NULL, &options, r->conf.ids, &scratch, &call, NULL) == 0 &&
        call.kind == ITEM_CALL) {
        const struct reasoning_key key = {scope, call.call_id, call.arguments, call.name};

        reasoning_cache_put(cache, &key, reasoning);
    }
    arena_fini(&scratch);
    buf_fini(&json);
}

bool response_is_to_remember(const struct response *r)
{
    bool has_reasoning = false, has_call = false;

    for (const struct output_item *item = r->first; item != NULL; item = item->next) {
        has_reasoning = has_reasoning || item->kind == OUTPUT_REASONING;
        has_call = has_call || item->call_id.len > 0;
    }
    return has_reasoning && has_call;
}

void response_remember(const struct response *r, str scope, struct reasoning_cache *cache)
{
    struct buf reasoning = {0};

    gather(r, &reasoning);
    for (const struct output_item *item = r->first; item != NULL; item = item->next) {
        if (reasoning.len > 0 && item->call_id.len > 0)
            remember_call(r, item, scope, buf_str(&reasoning), cache);
    }
    buf_fini(&reasoning);
}
