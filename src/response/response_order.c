/* response_order.c -- items are sent one after the other (CONTRACT 4.3 rule 7).
 *
 * A model may go on with another call while one is open, servers may mix their arguments, and the
 * gateway runs its own calls side by side. Clients that keep one item in mind would add the
 * arguments of one call to another. So the events of one item are sent as they come: the first that
 * is open. Items behind it wait, whatever they are. They grow and are closed in silence; when their
 * turn has come, the events that brought them where they are follow at once, with all their text in
 * one delta. Nothing is queued for that, since an item knows what it holds.
 *
 *     current   A added, delta, delta, done |                    B: the rest, as it comes
 *     waiting   B .....begun, grows........ | added, one delta .../
 *
 * With interleaved_calls nothing waits. */
#include "response/output_announced.h"
#include "response/response_internal.h"

void response_queue_item(struct response *r, struct output_item *item)
{
    r->newest = item;
    if (r->conf.interleaved_calls)
        return;
    if (r->current == NULL)
        r->current = item;
    else
        item->is_waiting = true;
}

/* ---- what an item has missed */

static void show_parts(struct response *r, const struct output_item *item,
                       struct output_part *first, struct buf *out)
{
    for (struct output_part *p = first; p != NULL; p = p->next) {
        struct event texts = {.text = buf_str(&p->text), .logprobs = buf_str(&p->logprobs)};
        struct output_part announced = output_part_announced(p);
        struct event no_text = {.output_index = 0};

        response_emit_part(r, output_part_row(p->kind)->added, item, &announced, &no_text, out);
        if (p->text.len > 0)
            response_emit_part(r, output_part_row(p->kind)->delta, item, p, &texts, out);
        if (p != item->open)
            response_emit_part_end(r, item, p, out);
    }
}

static void show_call_text(struct response *r, const struct output_item *item, struct buf *out)
{
    const struct output_kind_row *row = output_kind_row(item->kind);
    str said = str_from(item->text.p, item->n_said);

    if (said.len > 0)
        response_emit_call_text(r, row->delta, item, said, out);
    if (item->is_whole)
        response_emit_call_text(r, row->done, item, buf_str(&item->text), out);
}

static void emit_end(struct response *r, const struct output_item *item, struct buf *out)
{
    const struct output_hosted_row *row = output_hosted_row(item->kind);

    if (item->status == OUTPUT_COMPLETED)
        response_emit_state(r, row->completed, item, out);
    else if (item->status == OUTPUT_FAILED)
        response_emit_state(r, row->failed, item, out);
    response_emit_item(r, EVENT_ITEM_DONE, item, out);
}

static bool is_closed(const struct output_item *item)
{
    return item->status != OUTPUT_IN_PROGRESS;
}

static void show_item(struct response *r, struct output_item *item, struct buf *out)
{
    struct output_item whole;

    item->is_waiting = false;
    whole = *item;
    *item = output_item_announced(&whole, STR_NONE); /* also in objects of the legacy dialect */
    response_announce_item(r, item, out);
    *item = whole;
    show_parts(r, item, item->first, out);
    show_call_text(r, item, out);
    if (item->is_running)
        response_emit_state(r, output_hosted_row(item->kind)->running, item, out);
    if (is_closed(item))
        emit_end(r, item, out);
}

/* ---- an item is done */

static struct output_item *next_seen(const struct output_item *item)
{
    struct output_item *next = item->next;

    while (next != NULL && next->is_hidden)
        next = next->next;
    return next;
}

/* Up to the first that is open. */
static void show_waiting(struct response *r, struct buf *out)
{
    while (r->current != NULL && is_closed(r->current)) {
        r->current = next_seen(r->current);
        if (r->current != NULL)
            show_item(r, r->current, out);
    }
}

void response_close_item(struct response *r, struct output_item *item, enum output_status status,
                         struct buf *out)
{
    item->status = status;
    emit_end(r, item, out);
    if (item == r->current)
        show_waiting(r, out);
}
