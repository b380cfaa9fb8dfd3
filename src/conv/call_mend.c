/* call_mend.c -- each call is judged by itself. The text of its arguments is JSON in JSON, so it is
 * decoded first, into a buffer that all calls share. */
#include "conv/call_mend.h"

#include "conv/reject.h"
#include "json/json_read.h"
#include "json/json_text.h"

struct mending {
    struct buf text; /* of the arguments that are being looked at */
    struct arena *arena;
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

/* The output with a line in front. */
static const struct content *explain_output(const struct mending *s, const struct content *output)
{
    struct content *c = arena_alloc(s->arena, sizeof(*c));
    struct part *note = arena_alloc(s->arena, sizeof(*note));

    if (c == NULL || note == NULL)
        return NULL;
    *note = (struct part){.kind = PART_TEXT,
                          .text = STR("[The arguments of this call were cut off or no valid JSON "
                                      "object. They are left out here.]"),
                          .next = output->first};
    *c = (struct content){.first = note,
                          .last = output->last == NULL ? note : output->last,
                          .has_media = output->has_media};
    return c;
}

/* Of a call that stays. */
static int mend_arguments(const struct mending *s, struct call *c, enum arguments arguments)
{
    if (arguments == ARGUMENTS_OBJECT)
        return 0;
    c->arguments = STR("{}");
    if (arguments == ARGUMENTS_NOTHING)
        return 0;
    c->output = explain_output(s, c->output);
    history_repairs_add(s->repairs, 1, "call with broken arguments emptied");
    return c->output == NULL ? -1 : 0;
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
            history_repairs_add(s->repairs, 1, "broken call without output left out");
            continue;
        }
        if (mend_arguments(s, c, arguments) == -1)
            return -1;
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

int calls_mend(struct message **first, struct arena *a, struct history_repairs *repairs,
               struct err *reterr)
{
    struct mending s = {.arena = a, .repairs = repairs};
    int rc = mend_messages(&s, first);

    buf_fini(&s.text);
    return rc == -1 ? reject_memory(reterr) : 0;
}
