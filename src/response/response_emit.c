/* response_emit.c -- events of the state machine, in the dialect that the client speaks.
 *
 * Without a buffer nothing is written, and nothing of an item that is hidden or waits. */
#include "response/legacy.h"
#include "response/response_internal.h"

void response_emit(struct response *r, enum event_type type, const struct event *e, struct buf *out)
{
    if (out == NULL || response_is_legacy(r))
        return;
    event_begin(type, r->next_sequence_number++, e, out);
    event_end(out);
}

void response_emit_item(struct response *r, enum event_type type, const struct output_item *item,
                        struct buf *out)
{
    struct event e = {.output_index = item->index};

    if (out == NULL || item->is_hidden || item->is_waiting)
        return;
    if (response_is_legacy(r)) {
        legacy_emit_item(r, item, type, out);
        return;
    }
    event_begin(type, r->next_sequence_number++, &e, out);
    output_item_write(item, out);
    event_end(out);
}

void response_emit_state(struct response *r, enum event_type type, const struct output_item *item,
                         struct buf *out)
{
    struct event e = {.item_id = id_str(&item->id), .output_index = item->index};

    if (type != EVENT_NONE && !item->is_hidden && !item->is_waiting)
        response_emit(r, type, &e, out);
}

void response_announce_item(struct response *r, const struct output_item *item, struct buf *out)
{
    response_emit_item(r, EVENT_ITEM_ADDED, item, out);
    response_emit_state(r, output_hosted_row(item->kind)->in_progress, item, out);
}

void response_emit_object(struct response *r, enum event_type type, struct buf *out)
{
    struct event e = {.output_index = 0};

    if (out == NULL)
        return;
    if (response_is_legacy(r)) {
        legacy_emit_object(r, type, out);
        return;
    }
    event_begin(type, r->next_sequence_number++, &e, out);
    response_object(r, out);
    event_end(out);
}

void response_emit_part(struct response *r, enum event_type type, const struct output_item *item,
                        struct output_part *p, struct event *e, struct buf *out)
{
    if (out == NULL || item->is_waiting)
        return;
    if (response_is_legacy(r)) {
        legacy_emit_part(item, p, type, e->text, out);
        return;
    }
    e->item_id = id_str(&item->id);
    e->output_index = item->index;
    e->part_index = p->index;
    e->obfuscate = r->conf.obfuscation;
    if (type == output_part_row(p->kind)->delta) {
        if (p->delta_ids.len == 0)
            event_ids(type, e, &p->delta_ids);
        e->ids = buf_failed(&p->delta_ids) ? STR("") : buf_str(&p->delta_ids);
    }
    event_begin(type, r->next_sequence_number++, e, out);
    if ((event_members(type) & EV_PART) != 0)
        output_part_write(p, out);
    event_end(out);
}

void response_emit_part_end(struct response *r, const struct output_item *item,
                            struct output_part *p, struct buf *out)
{
    struct event texts = {.text = buf_str(&p->text), .logprobs = buf_str(&p->logprobs)};

    if (item->is_waiting)
        return;
    response_emit_citations(r, item, p, out);
    response_emit_part(r, output_part_row(p->kind)->text_done, item, p, &texts, out);
    response_emit_part(r, output_part_row(p->kind)->done, item, p, &texts, out);
}

void response_emit_call_text(struct response *r, enum event_type type,
                             const struct output_item *item, str text, struct buf *out)
{
    struct event e = {.item_id = id_str(&item->id),
                      .output_index = item->index,
                      .text = text,
                      .name = item->name,
                      .obfuscate = r->conf.obfuscation};

    if (item->is_hidden || item->is_waiting)
        return;
    if (response_is_legacy(r) && out != NULL)
        legacy_emit_call(r, item, type, text, out);
    else
        response_emit(r, type, &e, out);
}
