/* item_reasoning.c -- the text of a reasoning item (CONTRACT 2.4).
 *
 * The first of these that is there: the reasoning itself; what the gateway had sealed for the
 * client to keep; its summary, if the operator wants that. Between the last two comes what the
 * gateway remembers of the calls that follow, which is conversation.c's. */
#include "conv/item_internal.h"

#include "conv/fields.h"
#include "json/json_text.h"

/* A summary that stands among the reasoning is no chain of thought, and parts without text are
 * none either. */
static int collect_text(const struct item_reading *r)
{
    struct content *c = &r->item->content;

    if (content_collect(r->f.content, STR("summary_text"), STR("text"), r->arena, c, r->reterr) ==
        -1)
        return -1;
    for (const struct part *p = c->first; p != NULL; p = p->next) {
        if (p->text.len > 0)
            return 0;
    }
    *c = (struct content){0};
    return 0;
}

/* Nobody can open what another service has sealed, or what was damaged; neither is an error. */
static int open_seal(const struct item_reading *r)
{
    const struct text_seal *seal = r->options->seal;
    str raw = r->f.encrypted_content, sealed, text;

    if (seal == NULL || jr_type_of(raw) != JR_STRING || raw.len <= strlen("\"\""))
        return 0;
    sealed = json_text_dup(r->arena, field_text(raw));
    if (str_is_none(sealed))
        return err_set_no_memory(r->reterr);
    if (!seal->open(seal->arg, sealed, r->arena, &text))
        return 0;
    return content_from_text(text, r->arena, &r->item->content, r->reterr);
}

/* Parts of a summary are paragraphs. */
static int read_summary(const struct item_reading *r)
{
    struct content *c = &r->item->content;

    if (content_collect(r->f.summary, STR_NONE, STR("text"), r->arena, c, r->reterr) == -1)
        return -1;
    r->item->is_summary = c->first != NULL;
    return c->first == NULL ? 0 : content_join(c, STR(""), STR("\\n\\n"), r->arena, r->reterr);
}

int item_read_reasoning(const struct item_reading *r)
{
    const struct content *c = &r->item->content;

    if (collect_text(r) == -1 || (c->first == NULL && open_seal(r) == -1))
        return -1;
    return c->first == NULL && r->options->reasoning_from_summary ? read_summary(r) : 0;
}
