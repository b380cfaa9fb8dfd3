/* replay_journal.c -- rows of a response under way.
 *
 * An item that is done is written once, whole, in the row of its end; what rows before it have of the item
 * is of no use then. Of the others a row has no more than what its events brought. */
#include "response/output_announced.h"
#include "response/replay.h"
#include "response/replay_walk.h"

static bool is_done(const struct output_item *item)
{
    return item->status != OUTPUT_IN_PROGRESS;
}

static void write_open_item(const struct event_cut *cut, const struct output_item *item,
                            struct buf *out)
{
    const struct output_item announced = output_item_announced(item, cut->note);

    output_item_write(&announced, out);
    buf_char(out, '\n');
}

static void write_open_part(const struct output_part *part, struct buf *out)
{
    const struct output_part announced = output_part_announced(part);

    output_part_write(&announced, out);
    buf_char(out, '\n');
}

static void write_piece(const struct event_cut *cut, const struct replay_event *e, struct buf *out)
{
    const unsigned members = event_members(cut->type);

    if (cut->type == EVENT_ITEM_ADDED) {
        write_open_item(cut, e->item, out);
    } else if (e->part != NULL && cut->type == output_part_row(e->part->kind)->added) {
        write_open_part(e->part, out);
    } else if ((members & EV_DELTA) != 0) {
        buf_append(out, e->text);
        buf_append(out, e->logprobs);
    } else if ((members & EV_ANNOTATION) != 0) {
        buf_append(out, e->annotation);
        buf_char(out, '\n');
    }
}

static int add_event(struct replay_walk *w, const struct event_cut *cut, struct journal_row *row)
{
    struct replay_event e;

    if (!replay_walk_to(w, cut, &e) || (cut->type == EVENT_ITEM_DONE && !is_done(e.item)))
        return -1;
    if (cut->type == EVENT_ITEM_DONE) {
        output_item_write(e.item, &row->done);
        buf_char(&row->done, '\n');
    } else if (e.item != NULL && !is_done(e.item)) {
        write_piece(cut, &e, &row->pieces);
    }
    return 0;
}

int replay_journal(struct replay *p, const struct response *r, str cuts, struct journal_row *ret)
{
    struct replay_walk walk = {.response = r};
    const size_t begin = p->reader.at;
    struct event_cut cut;

    *ret = (struct journal_row){.first = p->next};
    for (; cuts_next(&p->reader, cuts, &cut); p->next++, ret->n++) {
        if (add_event(&walk, &cut, ret) == -1)
            return -1;
    }
    ret->cuts = str_from(cuts.p + begin, p->reader.at - begin);
    return p->reader.at == cuts.len ? 0 : -1;
}

void journal_row_fini(struct journal_row *row)
{
    buf_fini(&row->done);
    buf_fini(&row->pieces);
}
