/* response_rounds.c -- the items of a response as the store would keep them, in one text. */
#include "response/response_rounds.h"

#include "json/json_write.h"
#include "response/output_result.h"
#include "response/response_internal.h"

enum { LARGEST_SHARE = 4 };

static bool is_run(const struct output_item *item)
{
    return output_is_hosted_call(item->kind) && response_is_for_model(item);
}

bool response_has_rounds(const struct response *r)
{
    const bool has_failed = r->status == RESPONSE_FAILED || r->status == RESPONSE_CANCELLED;
    const struct output_item *item = has_failed ? NULL : r->first;

    while (item != NULL && !is_run(item))
        item = item->next;
    return item != NULL;
}

bool response_has_clients_call(const struct response *r)
{
    const struct output_item *item = r->first;

    while (item != NULL && item->call_id.len == 0 && item->kind != OUTPUT_MCP_APPROVAL_REQUEST)
        item = item->next;
    return item != NULL;
}

/* ---- the text */

static void write_element(const struct output_item *item,
                          void (*write)(const struct output_item *item, struct buf *out),
                          struct jw *w)
{
    if (w->comma)
        buf_char(w->out, ',');
    write(item, w->out);
    w->comma = true;
}

static void write_items(const char *key, const struct output_item *from,
                        const struct output_item *to, struct jw *w)
{
    jw_key(w, key);
    jw_array(w);
    for (const struct output_item *item = from; item != to; item = item->next) {
        if (!response_is_for_model(item))
            continue;
        write_element(item, output_item_write, w);
        if (output_result_exists(item))
            write_element(item, output_result_write, w);
    }
    jw_array_end(w);
}

/* The last compaction of the response, and the last item that it stands for. */
static void write_summary(const struct response *r, struct jw *w)
{
    const struct output_item *said = NULL, *covered = NULL, *summary = NULL;

    for (const struct output_item *item = r->first; item != NULL; item = item->next) {
        if (item->kind == OUTPUT_COMPACTION) {
            summary = item;
            covered = said;
        } else if (response_is_for_model(item)) {
            said = item;
        }
    }
    if (covered == NULL)
        return;
    jw_key_string(w, "summary", id_str(&summary->id));
    jw_key_string(w, "covers", id_str(&covered->id));
}

void response_rounds_write(const struct response *r, struct buf *out)
{
    struct jw writer = jw_to(out), *w = &writer;

    jw_object(w);
    write_items("rounds", r->first, *r->replayed, w);
    write_items("last", *r->replayed, NULL, w);
    write_summary(r, w);
    jw_object_end(w);
}

/* ---- what leads to it */

static void put_text(const struct response_rounds *rounds, struct call_key key, str text,
                     struct call_cache *cache)
{
    key.scope = rounds->scope;
    call_cache_put(cache, &key, text);
}

static void add_mark(const struct item *call, const struct call_mark *mark,
                     const struct response_rounds *rounds, struct call_cache *cache,
                     struct arena *scratch)
{
    struct buf marks = {.limit = 0};
    struct call_key key;
    str known = STR_NONE;

    if (!call_rounds_of_call(call, scratch, &key))
        return;
    key.scope = rounds->scope;
    (void)call_cache_find(cache, &key, scratch, &known);
    call_marks_write(known, mark, &marks);
    if (!buf_failed(&marks)) {
        call_cache_put(cache, &key, buf_str(&marks));
        put_text(rounds, call_rounds_of_id(key.call_id), CALL_ROUNDS_KNOWN, cache);
    }
    buf_fini(&marks);
}

/* Has a call of this id come behind rounds? */
static bool is_id_known(const struct output_item *item, const struct response_rounds *rounds,
                        const struct call_cache *cache)
{
    str id = item->kind == OUTPUT_MCP_APPROVAL_REQUEST ? id_str(&item->id) : item->call_id;
    struct call_key key = call_rounds_of_id(id);
    struct arena scratch = {0};
    bool is_known;
    str known;

    key.scope = rounds->scope;
    is_known = call_cache_find(cache, &key, &scratch, &known);
    arena_fini(&scratch);
    return is_known;
}

/* A call that the client answers, by an output or an approval. */
static void mark_call(const struct response *r, const struct output_item *item,
                      const struct response_rounds *rounds, struct call_cache *cache)
{
    const struct input_options options = {.text_files = false};
    const struct call_mark mark = {.context = rounds->context, .response = r->id};
    struct item call = {.kind = ITEM_IGNORED};
    struct arena scratch = {0};
    struct err e;

    if (response_read_item(r, item, &options, &scratch, &call, &e) == 0 &&
        (call.kind == ITEM_CALL || call.kind == ITEM_APPROVAL_REQUEST))
        add_mark(&call, &mark, rounds, cache, &scratch);
    arena_fini(&scratch);
}

void response_rounds_remember(const struct response *r, const struct response_rounds *rounds,
                              struct call_cache *cache)
{
    const bool has_text =
        rounds->text.len > 0 && rounds->text.len <= call_cache_max_bytes(cache) / LARGEST_SHARE;

    if (has_text)
        put_text(rounds, call_rounds_of_response(id_str(&r->id)), rounds->text, cache);
    for (const struct output_item *item = r->first; item != NULL; item = item->next) {
        if (item->is_hidden || !response_is_for_model(item) || item->kind == OUTPUT_MESSAGE ||
            item->kind == OUTPUT_REASONING)
            continue;
        if (!output_is_hosted_call(item->kind)) {
            if (has_text || is_id_known(item, rounds, cache))
                mark_call(r, item, rounds, cache);
        } else if (has_text) {
            put_text(rounds, call_rounds_of_item(id_str(&item->id)), id_str(&r->id), cache);
        }
    }
}
