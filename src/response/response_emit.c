/* response_emit.c -- events of the state machine, in the dialect that the client speaks.
 *
 * Without a buffer nothing is written, but where cuts are kept it is noted all the same, and counted; nothing
 * of an item that is hidden or waits. The texts of events are pieces of what their items hold by then, so
 * that a cut can say which. */
#include "response/legacy.h"
#include "response/output_announced.h"
#include "response/response_internal.h"

static void keep_cut(struct response *r, const struct event_cut *cut)
{
    cuts_note(&r->cuts, cut);
    if (buf_failed(&r->cuts.bytes))
        response_break(r, ERR_INTERNAL);
}

/* Counts an event, and notes it where cuts are kept. Returns whether anybody wants its bytes. */
static bool count_event(struct response *r, const struct event_cut *cut, const struct buf *out)
{
    if (r->conf.keeps_cuts)
        keep_cut(r, cut);
    else if (out == NULL)
        return false;
    r->next_sequence_number++;
    if (out == NULL)
        return false;
    r->n_events[cut->type]++;
    return true;
}

static uint64_t counted(const struct response *r)
{
    return r->next_sequence_number - 1;
}

void response_emit(struct response *r, enum event_type type, const struct event *e, struct buf *out)
{
    const struct event_cut cut = {
        .type = type, .item = (unsigned)e->output_index, .part = (unsigned)e->part_index};

    if (response_is_legacy(r) || !count_event(r, &cut, out))
        return;
    event_begin(type, counted(r), e, out);
    event_end(out);
}

/* An event of the legacy dialect is to be written; nothing otherwise. */
static bool is_for_legacy(const struct response *r, const struct buf *out)
{
    return response_is_legacy(r) && out != NULL;
}

void response_emit_item(struct response *r, enum event_type type, const struct output_item *item,
                        struct buf *out)
{
    const struct event e = {.output_index = item->index};
    const struct event_cut cut = {.type = type,
                                  .item = item->index,
                                  .note = type == EVENT_ITEM_ADDED ? output_announced_note(item)
                                                                   : STR_NONE};

    if (item->is_hidden || item->is_waiting)
        return;
    if (is_for_legacy(r, out)) {
        legacy_emit_item(r, item, type, out);
    } else if (count_event(r, &cut, out)) {
        event_begin(type, counted(r), &e, out);
        output_item_write(item, out);
        event_end(out);
    }
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

/* ---- the response */

/* What the events of a cancelled one say of it. */
static struct err cancelled = {.code = ERR_RESPONSE_CANCELLED,
                               .msg = "The response was cancelled."};

const struct err *response_cancelled_error(void)
{
    return &cancelled;
}

static struct response seen_as_failed(const struct response *r)
{
    struct response failed = *r;

    failed.status = RESPONSE_FAILED;
    failed.error = &cancelled;
    return failed;
}

void response_frame_object(const struct response *r, enum event_type type, uint64_t number,
                           struct buf *out)
{
    const struct event e = {.output_index = 0};
    struct response seen;

    event_begin(type, number, &e, out);
    if (type == EVENT_FAILED && r->status == RESPONSE_CANCELLED) {
        seen = seen_as_failed(r);
        r = &seen;
    }
    response_object(r, out);
    event_end(out);
}

void response_frame_error(const struct response *r, uint64_t number, struct buf *out)
{
    const struct err *e = r->status == RESPONSE_CANCELLED ? &cancelled : r->error;
    const struct event none = {.output_index = 0};
    struct jw w = jw_to(out);

    event_begin(EVENT_ERROR, number, &none, out);
    w.comma = true; /* type and sequence_number stand before */
    jw_key_string(&w, "code", str_from_c(err_stream_code(e)));
    jw_key_string(&w, "message", str_from_c(e->msg));
    jw_key_string(&w, "param", e->param[0] == '\0' ? STR_NONE : str_from_c(e->param));
    jw_key(&w, "error");
    response_write_error(e, &w);
    event_end(out);
}

/* The service tier may be another one when the response ends. */
static struct event_cut object_cut(const struct response *r, enum event_type type)
{
    const bool is_noted = type == EVENT_CREATED && !str_eq(r->service_tier, STR("default"));

    return (struct event_cut){.type = type, .note = is_noted ? r->service_tier : STR_NONE};
}

void response_emit_object(struct response *r, enum event_type type, struct buf *out)
{
    const struct event_cut cut = object_cut(r, type);
    struct response seen;

    if (response_is_legacy(r)) {
        seen = r->status == RESPONSE_CANCELLED ? seen_as_failed(r) : *r;
        if (out != NULL)
            legacy_emit_object(&seen, type, out);
    } else if (count_event(r, &cut, out)) {
        response_frame_object(r, type, counted(r), out);
    }
}

void response_emit_error(struct response *r, struct buf *out)
{
    const struct event_cut cut = {.type = EVENT_ERROR};

    if (!response_is_legacy(r) && count_event(r, &cut, out))
        response_frame_error(r, counted(r), out);
}

/* ---- texts */

/* The text of a delta is the end of its part's. */
static void keep_part_cut(struct response *r, enum event_type type, const struct output_item *item,
                          const struct output_part *p, const struct event *e)
{
    struct event_cut cut = {.type = type, .item = item->index, .part = p->index};

    if (type == output_part_row(p->kind)->delta) {
        cut.from = p->text.len - e->text.len;
        cut.len = e->text.len;
        cut.logprobs_from = p->logprobs.len - e->logprobs.len;
        cut.logprobs_len = e->logprobs.len;
    }
    keep_cut(r, &cut);
}

/* The ids of deltas are written once for all of a part. */
static void write_part_event(const struct response *r, enum event_type type,
                             const struct output_item *item, struct output_part *p, struct event *e,
                             struct buf *out)
{
    e->item_id = id_str(&item->id);
    e->output_index = item->index;
    e->part_index = p->index;
    e->obfuscate = r->conf.obfuscation;
    if (type == output_part_row(p->kind)->delta) {
        if (p->delta_ids.len == 0)
            event_ids(type, e, &p->delta_ids);
        e->ids = buf_failed(&p->delta_ids) ? STR("") : buf_str(&p->delta_ids);
    }
    event_begin(type, counted(r), e, out);
    if ((event_members(type) & EV_PART) != 0)
        output_part_write(p, out);
    event_end(out);
}

/* The way of every piece of text: no more is done than is wanted. */
void response_emit_part(struct response *r, enum event_type type, const struct output_item *item,
                        struct output_part *p, struct event *e, struct buf *out)
{
    if (item->is_waiting)
        return;
    if (is_for_legacy(r, out)) {
        legacy_emit_part(item, p, type, e->text, out);
        return;
    }
    if (r->conf.keeps_cuts)
        keep_part_cut(r, type, item, p, e);
    else if (out == NULL)
        return;
    r->next_sequence_number++;
    if (out == NULL)
        return;
    r->n_events[type]++;
    write_part_event(r, type, item, p, e, out);
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
    struct event_cut cut = {.type = type, .item = item->index};
    const struct event e = {.item_id = id_str(&item->id),
                            .output_index = item->index,
                            .text = text,
                            .name = item->name,
                            .obfuscate = r->conf.obfuscation};

    if (item->is_hidden || item->is_waiting)
        return;
    if (is_for_legacy(r, out)) {
        legacy_emit_call(r, item, type, text, out);
        return;
    }
    if (type == output_kind_row(item->kind)->delta) {
        cut.from = (size_t)(text.p - item->text.p);
        cut.len = text.len;
    }
    if (count_event(r, &cut, out)) {
        event_begin(type, counted(r), &e, out);
        event_end(out);
    }
}
