/* call_mend.c -- each call is judged by itself. The text of its arguments is JSON in JSON, so it is
 * decoded first, into a buffer that all calls share. */
#include "conv/call_mend.h"

#include "conv/reject.h"
#include "json/json_read.h"
#include "json/json_text.h"

struct mending {
    struct buf text; /* of the arguments that are being looked at */
    struct history_repairs *repairs;
};

enum arguments { ARGUMENTS_OBJECT, ARGUMENTS_NOTHING, ARGUMENTS_BROKEN };

/* Models that have nothing to say write null, too. */
static enum arguments judge_arguments(struct mending *s, str arguments)
{
    str text;

    if (str_eq(arguments, STR("{}")))
        return ARGUMENTS_OBJECT;
    buf_reset(&s->text);
    json_text_decode(arguments, &s->text);
    text = str_trim(buf_str(&s->text));
    if (text.len == 0 || str_eq(text, STR("null")))
        return ARGUMENTS_NOTHING;
    return text.p[0] == '{' && jr_is_valid(text) ? ARGUMENTS_OBJECT : ARGUMENTS_BROKEN;
}

static int mend_message(struct mending *s, struct message *m)
{
    struct call **link = &m->first_call;

    m->last_call = NULL;
    while (*link != NULL) {
        struct call *c = *link;
        const enum arguments arguments = judge_arguments(s, c->arguments);

        if (buf_failed(&s->text))
            return -1;
        if (c->output == NULL && (c->is_cut_off || arguments == ARGUMENTS_BROKEN)) {
            *link = c->next;
            history_repairs_add(s->repairs, 1, HISTORY_REPAIR_BROKEN_CALL);
            continue;
        }
        c->is_broken = arguments == ARGUMENTS_BROKEN;
        if (arguments == ARGUMENTS_NOTHING)
            c->arguments = STR("{}");
        m->last_call = c;
        link = &c->next;
    }
    return 0;
}

static int mend_messages(struct mending *s, struct message **link)
{
    while (*link != NULL) {
        struct message *m = *link;

        if (m->first_call == NULL) {
            link = &m->next;
            continue;
        }
        if (mend_message(s, m) == -1)
            return -1;
        if (m->first_call == NULL && m->texts.first == NULL)
            *link = m->next;
        else
            link = &m->next;
    }
    return 0;
}

int calls_mend(struct message **first, struct history_repairs *repairs, struct err *reterr)
{
    struct mending s = {.repairs = repairs};
    int rc = mend_messages(&s, first);

    buf_fini(&s.text);
    return rc == -1 ? err_set_no_memory(reterr) : 0;
}
