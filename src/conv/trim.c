/* trim.c -- weigh the old turns, then unlink the oldest.
 *
 * A message takes its calls and their outputs along, since they hang on it. */
#include "conv/trim.h"

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
        if (m->role != ROLE_SYSTEM)
            weight += weigh(m);
    }
    return weight;
}

/* Unlinks whole turns until they weigh as much as goal. */
static void drop_old(struct conversation *c, const struct message *before, size_t goal)
{
    struct message **link = &c->first;
    size_t dropped = 0;

    while (*link != c->body)
        link = &(*link)->next;
    while (*link != before && (dropped < goal || !begins_turn(*link))) {
        if ((*link)->role == ROLE_SYSTEM) {
            link = &(*link)->next;
            continue;
        }
        dropped += weigh(*link);
        *link = (*link)->next;
    }
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
