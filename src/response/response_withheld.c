/* response_withheld.c -- text of a round that is no answer yet.
 *
 * Where a server does not call tools in an answer of a given form, the model is first asked without
 * the form (CONTRACT 1.1, text.format). Whatever it says then is no answer of that form, and
 * clients parse every text they see. Beside calls it is part of the history, for the model alone;
 * without calls the model is asked again for the answer, and the text is forgotten. */
#include "response/response_internal.h"

bool response_withhold_text(struct response *r, const struct delta *d, struct buf *out)
{
    if (r->hidden == NULL || r->hidden->kind != OUTPUT_MESSAGE)
        response_close_prose(r, OUTPUT_COMPLETED, out);
    return response_hide_text(r, OUTPUT_PART_TEXT, d);
}

void response_keep_withheld(struct response *r)
{
    if (r->plan.withholds_text)
        r->withheld = r->round_begin;
}

static bool is_withheld(const struct output_item *item)
{
    return item->is_hidden && item->kind == OUTPUT_MESSAGE;
}

/* The message is the last one, whatever it says. Its text has been counted already. */
static void show_text(struct response *r, const struct output_item *item, struct buf *out)
{
    const struct delta d = {.kind = DELTA_TEXT,
                            .text = buf_str(&item->first->text),
                            .logprobs = buf_str(&item->first->logprobs),
                            .phase = item->phase};

    r->used_bytes -= d.text.len + d.logprobs.len;
    (void)response_delta(r, &d, out);
    r->last.has_shown = true;
}

void response_show_withheld(struct response *r, struct buf *out)
{
    r->plan.withholds_text = false;
    for (struct output_item *item = r->withheld == NULL ? NULL : *r->withheld; item != NULL;
         item = item->next) {
        if (is_withheld(item))
            show_text(r, item, out);
    }
    response_drop_withheld(r);
}

void response_drop_withheld(struct response *r)
{
    struct output_item **link = r->withheld;

    while (link != NULL && *link != NULL) {
        struct output_item *item = *link;

        if (!is_withheld(item)) {
            link = &item->next;
            continue;
        }
        *link = item->next;
        if (r->end == &item->next)
            r->end = link;
        if (r->round_begin == &item->next)
            r->round_begin = link;
        if (r->hidden == item)
            r->hidden = NULL;
        output_item_fini(item);
    }
    r->withheld = NULL;
    r->last.lacks_answer = false;
}
