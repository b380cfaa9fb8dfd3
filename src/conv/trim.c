/* trim.c -- weigh the old turns, then unlink the oldest.
 *
 * A message takes its calls and their outputs along, since they hang on it. */
#include "conv/trim.h"

#include "base/str_map.h"

/* In bytes of text. What an image or file costs the model has little to do with
 * its bytes; even an empty message costs something. */
enum { MEDIA_WEIGHT = 4096, MESSAGE_WEIGHT = 16 };

static size_t weigh_content(const struct content *c)
{
    size_t weight = 0;

    for (const struct part *p = c == NULL ? NULL : c->first; p != NULL; p = p->next)
        weight += p->kind == PART_TEXT ? p->text.len : MEDIA_WEIGHT;
    return weight;
}

static size_t weigh_pieces(const struct pieces *list)
{
    size_t weight = 0;

    for (const struct piece *p = list->first; p != NULL; p = p->next)
        weight += weigh_content(p->content);
    return weight;
}

static size_t weigh(const struct message *m)
{
    size_t weight = MESSAGE_WEIGHT + weigh_content(m->content) + weigh_pieces(&m->texts) +
                    weigh_pieces(&m->reasoning);

    for (const struct call *c = m->first_call; c != NULL; c = c->next)
        weight += MESSAGE_WEIGHT + c->name.len + c->arguments.len + weigh_content(c->output);
    return weight;
}

/* What a tool sent stands in a user message too, but is no one's question. */
static bool begins_turn(const struct message *m)
{
    return m->role == ROLE_USER && !m->media_only;
}

/* A message that is never left out. */
static bool is_lasting(const struct message *m)
{
    return m->role == ROLE_SYSTEM || m->is_own_summary;
}

/* The last message that begins a turn, or NULL. */
static struct message *find_last_turn(const struct conversation *c)
{
    struct message *last = NULL;

    for (struct message *m = c->body; m != NULL; m = m->next) {
        if (begins_turn(m))
            last = m;
    }
    return last;
}

/* Of the messages before the given one that may be dropped. */
static size_t weigh_old(const struct conversation *c, const struct message *before)
{
    size_t weight = 0;

    for (const struct message *m = c->body; m != before; m = m->next) {
        if (!is_lasting(m))
            weight += weigh(m);
    }
    return weight;
}

/* ---- what was left out */

static uint64_t mark_content(uint64_t mark, const struct content *c)
{
    for (const struct part *p = c == NULL ? NULL : c->first; p != NULL; p = p->next)
        mark = str_map_hash(mark + p->kind, p->text);
    return mark;
}

/* Reasoning comes and goes, and call ids may be made up. */
static uint64_t mark_message(uint64_t mark, const struct message *m)
{
    mark = mark_content(mark + m->role + 1, m->content);
    for (const struct piece *p = m->texts.first; p != NULL; p = p->next)
        mark = mark_content(mark, p->content);
    for (const struct call *c = m->first_call; c != NULL; c = c->next)
        mark = mark_content(str_map_hash(str_map_hash(mark, c->name), c->arguments), c->output);
    return mark;
}

static void add_message(struct left_out *l, const struct message *m)
{
    l->n++;
    l->weight += weigh(m);
    l->mark = mark_message(l->mark, m);
}

size_t conversation_find_mark(const struct conversation *c,
                              bool (*is_known)(void *arg, uint64_t mark), void *arg)
{
    const struct message *last = find_last_turn(c);
    struct left_out l = c->left_out;
    size_t found = 0;

    for (const struct message *m = c->body; last != NULL && m != last->next; m = m->next) {
        if (begins_turn(m) && l.n > 0 && is_known(arg, l.mark))
            found = l.n;
        if (!is_lasting(m))
            add_message(&l, m);
    }
    return found;
}

/* ---- leaving out */

/* Where the body begins. */
static struct message **body_link(struct conversation *c)
{
    struct message **link = &c->first;

    while (*link != c->body)
        link = &(*link)->next;
    return link;
}

/* Unlinks the message, unless it stays; returns where the next one is. */
static struct message **pass_message(struct conversation *c, struct message **link)
{
    if (is_lasting(*link))
        return &(*link)->next;
    add_message(&c->left_out, *link);
    *link = (*link)->next;
    return link;
}

/* Unlinks whole turns until they weigh as much as goal. */
static void drop_old(struct conversation *c, const struct message *before, size_t goal)
{
    const size_t dropped = c->left_out.weight;
    struct message **link = body_link(c);

    while (*link != before && (c->left_out.weight - dropped < goal || !begins_turn(*link)))
        link = pass_message(c, link);
    c->body = conversation_find_body(c->first);
}

void conversation_leave_out(struct conversation *c, size_t n)
{
    const struct message *before = find_last_turn(c);
    struct message **link = body_link(c);

    while (before != NULL && *link != before && c->left_out.n < n)
        link = pass_message(c, link);
    c->body = conversation_find_body(c->first);
}

bool conversation_trim(struct conversation *c, unsigned percent)
{
    const struct message *last = find_last_turn(c);
    size_t weight = last == NULL ? 0 : weigh_old(c, last);

    if (weight == 0)
        return false;
    drop_old(c, last, (weight * percent + 99) / 100);
    return true;
}

/* The weight of the turns that can go without dropping more than this. */
static size_t weigh_turns(const struct conversation *c, const struct message *before, size_t most)
{
    size_t weight = 0, turns = 0;

    for (const struct message *m = c->body; weight <= most; m = m->next) {
        if (m == before || begins_turn(m))
            turns = weight;
        if (m == before)
            break;
        weight += is_lasting(m) ? 0 : weigh(m);
    }
    return turns;
}

bool conversation_trim_to(struct conversation *c, const struct trim_goal *goal)
{
    const struct message *last = find_last_turn(c);
    const size_t before = c->left_out.weight;
    const size_t most = (before + goal->most) / goal->step * goal->step;
    size_t goes;

    if (last == NULL || weigh_old(c, last) == 0)
        return false;
    goes = most <= before ? 0 : weigh_turns(c, last, most - before);
    if (goes < goal->least)
        goes = goal->least;
    drop_old(c, last, goes == 0 ? 1 : goes);
    return true;
}

size_t conversation_weight(const struct conversation *c)
{
    size_t weight = str_is_none(c->instructions) ? 0 : MESSAGE_WEIGHT + c->instructions.len;

    for (const struct message *m = c->first; m != NULL; m = m->next)
        weight += weigh(m);
    return weight;
}

size_t conversation_outputs_weight(const struct conversation *c)
{
    size_t weight = 0;

    for (const struct message *m = c->first; m != NULL; m = m->next) {
        for (const struct call *call = m->first_call; call != NULL; call = call->next)
            weight += weigh_content(call->output);
    }
    return weight;
}
