/* output_announced.c -- what a stream says of an item first is what it knows then (CONTRACT 4.3). */
#include "response/output_announced.h"

static const struct buf nothing = {.limit = 0};

static bool is_shown_whole(enum output_kind kind)
{
    const struct output_kind_row *row = output_kind_row(kind);

    return row->text_member != NULL && row->delta == EVENT_NONE;
}

str output_announced_note(const struct output_item *item)
{
    const bool may_change =
        output_hosted_kind(item->kind) != HOSTED_NONE && is_shown_whole(item->kind);

    return may_change ? buf_str(&item->text) : STR_NONE;
}

static struct buf view(str s)
{
    return (struct buf){.p = (char *)(uintptr_t)s.p, .len = s.len};
}

struct output_item output_item_announced(const struct output_item *item, str note)
{
    struct output_item first = *item;

    first.status = OUTPUT_IN_PROGRESS;
    first.first = first.open = NULL;
    first.n_parts = 0;
    first.sealed = nothing;
    first.output = first.error = first.outputs = first.shown = STR_NONE;
    if (!str_is_none(note))
        first.text = view(note);
    else if (!is_shown_whole(item->kind) && str_is_none(item->approval_request_id))
        first.text = nothing;
    return first;
}

struct output_part output_part_announced(const struct output_part *part)
{
    struct output_part first = *part;

    first.text = first.logprobs = first.annotations = nothing;
    return first;
}
