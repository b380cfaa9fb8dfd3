/* response_compaction.c -- the item of a summary, and the object of the endpoint that makes one. */
#include "response/response_compaction.h"

#include "response/response_internal.h"

void response_add_summary_usage(struct response *r, const struct usage *usage, int64_t n_reasoning)
{
    r->n_summaries++;
    response_add_tokens(r, usage, n_reasoning);
}

bool response_compacted(struct response *r, struct buf *sealed, struct buf *out)
{
    struct output_item *item = response_add_item(r, OUTPUT_COMPACTION, out);

    if (item == NULL) {
        buf_fini(sealed);
        return false;
    }
    response_emit_item(r, EVENT_ITEM_ADDED, item, out);
    response_emit_state(r, EVENT_COMPACTING, item, out);
    item->sealed = *sealed;
    *sealed = (struct buf){.limit = 0};
    response_close_item(r, item, OUTPUT_COMPLETED, out);
    r->replayed = r->end;
    return true;
}

void response_finish_compacted(struct response *r, int64_t now_s)
{
    response_complete(r, now_s);
}

void response_compaction_object(const struct response *r, str kept, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    jw_key_string(&w, "id", id_str(&r->id));
    jw_key_string(&w, "object", STR("response.compaction"));
    jw_key_int(&w, "created_at", r->conf.created_at);
    jw_key(&w, "output");
    jw_array(&w);
    buf_append(out, kept);
    if (kept.len > 0 && r->first != NULL)
        buf_char(out, ',');
    response_write_items(r, out);
    jw_array_end(&w);
    response_write_usage(r, &w);
    jw_object_end(&w);
}
