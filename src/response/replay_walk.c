/* replay_walk.c -- cuts go forward, and so does the search for what they are about; where several items are
 * open side by side it begins anew. */
#include "response/replay_walk.h"

/* ---- items and parts */

static const struct output_item *first_seen(const struct output_item *item)
{
    while (item != NULL && item->is_hidden)
        item = item->next;
    return item;
}

static bool enter_item(struct replay_walk *w, unsigned index)
{
    const struct output_item *item = w->item;

    if (item != NULL && item->index == index)
        return true;
    if (item == NULL || item->index > index)
        item = first_seen(w->response->first);
    while (item != NULL && item->index != index)
        item = first_seen(item->next);
    w->item = item;
    w->part = NULL;
    w->citation = NULL;
    return item != NULL;
}

static bool enter_part(struct replay_walk *w, unsigned index)
{
    const struct output_part *part = w->part;

    if (part != NULL && part->index == index)
        return true;
    if (part == NULL || part->index > index)
        part = w->item->first;
    while (part != NULL && part->index != index)
        part = part->next;
    w->part = part;
    w->citation = NULL;
    return part != NULL;
}

/* The JSON of a reasoning part does not tell which events it had. */
static bool is_of_part(enum event_type type, enum output_part_kind kind)
{
    const struct output_part_row *row = output_part_row(kind);

    return type == row->added || type == row->delta || type == row->text_done ||
           type == row->done || (type == EVENT_TEXT_ANNOTATION && kind == OUTPUT_PART_TEXT) ||
           (kind == OUTPUT_PART_REASONING && is_of_part(type, OUTPUT_PART_OPEN_REASONING));
}

static bool is_of_item(enum event_type type, enum output_kind kind)
{
    const struct output_kind_row *row = output_kind_row(kind);
    const struct output_hosted_row *hosted = output_hosted_row(kind);

    return type == EVENT_ITEM_ADDED || type == EVENT_ITEM_DONE || type == row->delta ||
           type == row->done || type == hosted->in_progress || type == hosted->running ||
           type == hosted->completed || type == hosted->failed ||
           (type == EVENT_COMPACTING && kind == OUTPUT_COMPACTION);
}

/* ---- texts */

static bool cut_out(const struct buf *text, size_t from, size_t len, str *ret)
{
    if (from > text->len || len > text->len - from)
        return false;
    *ret = str_from(buf_str(text).p + from, len);
    return true;
}

static bool find_delta(const struct event_cut *cut, struct replay_event *e)
{
    if (e->part == NULL)
        return cut_out(&e->item->text, cut->from, cut->len, &e->text);
    return cut_out(&e->part->text, cut->from, cut->len, &e->text) &&
           (cut->logprobs_len == 0 ||
            cut_out(&e->part->logprobs, cut->logprobs_from, cut->logprobs_len, &e->logprobs));
}

static bool find_annotation(struct replay_walk *w, unsigned index, str *ret)
{
    const struct output_part *part = w->part;

    if (w->citation == NULL || w->n_citations > index) {
        w->citation = part->citation;
        w->n_citations = 0;
    }
    for (; w->citation != NULL && w->n_citations < index; w->n_citations++)
        w->citation = w->citation->next;
    return w->citation != NULL && w->citation->to > w->citation->from &&
           cut_out(&part->annotations, w->citation->from, w->citation->to - w->citation->from, ret);
}

static bool find_in_part(struct replay_walk *w, const struct event_cut *cut, unsigned members,
                         struct replay_event *e)
{
    if (!enter_part(w, cut->part) || !is_of_part(cut->type, w->part->kind))
        return false;
    e->part = w->part;
    if ((members & EV_DELTA) != 0)
        return find_delta(cut, e);
    if ((members & EV_ANNOTATION) != 0)
        return find_annotation(w, cut->annotation, &e->annotation);
    e->text = buf_str(&e->part->text);
    e->logprobs = buf_str(&e->part->logprobs);
    return true;
}

bool replay_walk_to(struct replay_walk *w, const struct event_cut *cut, struct replay_event *ret)
{
    const unsigned members = event_members(cut->type);
    struct replay_event e = {.item = NULL};

    if ((members & EV_OUTPUT_INDEX) != 0) {
        if (!enter_item(w, cut->item))
            return false;
        e.item = w->item;
        e.text = buf_str(&e.item->text);
        if ((members & (EV_CONTENT_INDEX | EV_SUMMARY_INDEX)) != 0) {
            if (!find_in_part(w, cut, members, &e))
                return false;
        } else if (!is_of_item(cut->type, e.item->kind) ||
                   ((members & EV_DELTA) != 0 && !find_delta(cut, &e))) {
            return false;
        }
    }
    *ret = e;
    return true;
}
