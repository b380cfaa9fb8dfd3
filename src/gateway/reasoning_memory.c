/* reasoning_memory.c -- a lock around the cache, and what goes into it.
 *
 * A client sends a call back as an input item, so calls are remembered in the
 * form that they have after being read as such: the items of the output are
 * written and read again. That happens only to responses that have both calls
 * and reasoning. */
#include "gateway/reasoning_memory.h"

#include <stdlib.h>
#include <uv.h>

#include "conv/item.h"
#include "ev/loop.h"

struct reasoning_memory {
    uv_mutex_t lock; /* guards cache; nothing else is taken while it is held */
    struct reasoning_cache *cache;
};

struct reasoning_memory *reasoning_memory_new(size_t max_entries, size_t max_bytes,
                                              struct err *reterr)
{
    const struct id_source randomness = {random_fill, NULL};
    struct reasoning_memory *m = calloc(1, sizeof(*m));

    if (m != NULL)
        m->cache = reasoning_cache_new(max_entries, max_bytes, &randomness);
    if (m == NULL || m->cache == NULL || uv_mutex_init(&m->lock) != 0) {
        if (m != NULL)
            reasoning_cache_free(m->cache);
        free(m);
        err_set_no_memory(reterr);
        return NULL;
    }
    return m;
}

void reasoning_memory_free(struct reasoning_memory *m)
{
    if (m == NULL)
        return;
    reasoning_cache_free(m->cache);
    uv_mutex_destroy(&m->lock);
    free(m);
}

bool reasoning_memory_find(struct reasoning_memory *m, const struct reasoning_key *key,
                           struct arena *a, str *ret)
{
    bool is_known;

    uv_mutex_lock(&m->lock);
    is_known = reasoning_cache_find(m->cache, key, a, ret);
    uv_mutex_unlock(&m->lock);
    return is_known;
}

static bool has_both(const struct response *r)
{
    bool has_reasoning = false;

    for (const struct output_item *o = r->first; o != NULL; o = o->next) {
        if (o->kind == OUTPUT_REASONING)
            has_reasoning = true;
        else if (has_reasoning && o->kind != OUTPUT_MESSAGE)
            return true;
    }
    return false;
}

static void write_items(const struct response *r, struct buf *out)
{
    buf_char(out, '[');
    for (const struct output_item *o = r->first; o != NULL; o = o->next) {
        if (o != r->first)
            buf_char(out, ',');
        output_item_write(o, out);
    }
    buf_char(out, ']');
}

/* All reasoning before a call led to it. */
static void keep_calls(struct reasoning_memory *m, str scope, const struct item_list *items)
{
    struct buf reasoning = {.limit = 0};

    for (const struct item *it = items->first; it != NULL; it = it->next) {
        const struct reasoning_key key = {
            .scope = scope, .call_id = it->call_id, .arguments = it->arguments, .name = it->name};

        if (it->kind == ITEM_REASONING) {
            content_write_text(&it->content, STR(""), &reasoning);
        } else if (it->kind == ITEM_CALL && !buf_failed(&reasoning)) {
            uv_mutex_lock(&m->lock);
            reasoning_cache_put(m->cache, &key, buf_str(&reasoning));
            uv_mutex_unlock(&m->lock);
        }
    }
    buf_fini(&reasoning);
}

void reasoning_memory_keep(struct reasoning_memory *m, str scope, const struct response *r,
                           struct arena *a)
{
    const struct input_options options = {.reasoning_from_summary = true};
    const struct id_source ids = {random_fill, NULL};
    const struct path at = path_member(NULL, STR("output"));
    struct item_list items = {.n = 0};
    struct buf json = {.limit = 0};

    if (!has_both(r))
        return;
    write_items(r, &json);
    if (!buf_failed(&json) &&
        item_list_parse(buf_str(&json), &at, &options, &ids, a, &items, NULL) == 0)
        keep_calls(m, scope, &items);
    buf_fini(&json);
}
