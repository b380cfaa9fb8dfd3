/* compact_shrink.c -- what a summary can do without first: the middle of long outputs. */
#include "compact/compact_shrink.h"

#include "compact/compact_text.h"
#include "conv/trim.h"
#include "json/json_text.h"

enum { OUTPUT_CHARS = 500, HALF = 50, ALL = 100 };

/* ---- outputs */

/* Escaped; STR_NONE when out of memory. */
static str cut_text(str escaped, struct arena *a)
{
    struct buf plain = {.limit = 0}, cut = {.limit = 0}, text = {.limit = 0};
    str result = STR_NONE;

    json_text_decode(escaped, &plain);
    compact_cut_chars(buf_str(&plain), OUTPUT_CHARS, &cut);
    json_text_escape(buf_str(&cut), &text);
    if (!buf_failed(&plain) && !buf_failed(&cut) && !buf_failed(&text))
        result = arena_dup(a, buf_str(&text));
    buf_fini(&plain);
    buf_fini(&cut);
    buf_fini(&text);
    return result;
}

static bool is_long(const struct content *c)
{
    for (const struct part *p = c->first; p != NULL; p = p->next) {
        if (p->kind == PART_TEXT && p->text.len > 2 * OUTPUT_CHARS)
            return true;
    }
    return false;
}

static struct part *add_part(struct content *c, const struct part *from, struct arena *a)
{
    struct part *p = arena_alloc(a, sizeof(*p));

    if (p == NULL)
        return NULL;
    *p = *from;
    p->next = NULL;
    if (c->last == NULL)
        c->first = p;
    else
        c->last->next = p;
    c->last = p;
    return p;
}

/* The content with its texts cut; its images and files also stand in a message of their own. NULL
 * when out of memory. */
static const struct content *cut_content(const struct content *c, struct arena *a, size_t *gained)
{
    struct content *less = arena_alloc(a, sizeof(*less));

    if (less == NULL)
        return NULL;
    less->has_media = c->has_media;
    for (const struct part *p = c->first; p != NULL; p = p->next) {
        struct part *copy = add_part(less, p, a);

        if (copy == NULL)
            return NULL;
        if (p->kind != PART_TEXT || p->text.len <= 2 * OUTPUT_CHARS)
            continue;
        copy->text = cut_text(p->text, a);
        if (str_is_none(copy->text))
            return NULL;
        if (copy->text.len < p->text.len)
            *gained += p->text.len - copy->text.len;
    }
    return less;
}

static void cut_output(struct call *call, struct arena *a, size_t *gained)
{
    const struct content *less;
    size_t n = 0;

    if (call->output == NULL || !is_long(call->output))
        return;
    less = cut_content(call->output, a, &n);
    if (less == NULL || n == 0)
        return;
    call->output = less;
    *gained += n;
}

/* The bytes that are gone. */
static size_t cut_outputs(struct conversation *c, size_t goal, struct arena *a)
{
    size_t gained = 0;

    for (struct message *m = c->first; m != NULL; m = m->next) {
        for (struct call *call = m->first_call; call != NULL; call = call->next) {
            if (gained < goal)
                cut_output(call, a, &gained);
        }
    }
    return gained;
}

/* ---- turns */

static struct message *before_last(struct conversation *c)
{
    struct message *m = c->first;

    while (m != NULL && m->next != NULL && m->next->next != NULL)
        m = m->next;
    return m == NULL || m->next == NULL ? NULL : m;
}

static bool trim_turns(struct conversation *c, unsigned n_calls, size_t goal)
{
    const struct trim_goal by_bytes = {.least = goal, .most = goal, .step = 1};

    if (goal > 0)
        return conversation_trim_to(c, &by_bytes);
    return conversation_trim(c, n_calls > 1 ? ALL : HALF);
}

static struct message *find_last(struct message *m)
{
    while (m != NULL && m->next != NULL)
        m = m->next;
    return m;
}

/* The question is no turn: without it the last turn is the one that stays. */
static bool leave_out_turns(struct conversation *c, unsigned n_calls, size_t goal)
{
    struct message *last = before_last(c), *question;
    bool is_shorter;

    if (last == NULL || last->next == c->body)
        return false;
    question = last->next;
    last->next = NULL;
    is_shorter = trim_turns(c, n_calls, goal);
    last = find_last(c->first);
    if (last == NULL)
        c->first = question;
    else
        last->next = question;
    if (c->body == NULL)
        c->body = question;
    return is_shorter;
}

bool compact_shrink(struct conversation *c, unsigned n_calls, size_t goal, struct arena *a)
{
    const size_t gained =
        n_calls < COMPACT_MAX_CALLS ? cut_outputs(c, goal == 0 ? SIZE_MAX : goal, a) : 0;
    bool is_shorter = gained > 0;

    if (n_calls >= COMPACT_MAX_CALLS)
        return false;
    if (goal == 0 ? n_calls > 1 || !is_shorter : gained < goal)
        is_shorter = leave_out_turns(c, n_calls, goal == 0 ? 0 : goal - gained) || is_shorter;
    return is_shorter;
}
