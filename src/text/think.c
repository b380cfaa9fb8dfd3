/* think.c -- one state per stretch of the text:
 *
 *   START    white space, then perhaps <think>; anything else -> OFF
 *   OPENED   white space after the opening tag
 *   INSIDE   reasoning; white space and a possible </think> are held back
 *   CLOSED   white space after the closing tag
 *   OFF      everything is text
 */
#include "text/think.h"

static const str opening = STR_INIT("<think>");
static const str closing = STR_INIT("</think>");

void think_fini(struct think *t)
{
    buf_fini(&t->held);
}

static void release(struct think *t, struct buf *to)
{
    buf_append(to, buf_str(&t->held));
    t->held.len = 0;
}

/* The text may still open with the tag; all of it so far is held. */
static void start_char(struct think *t, char c, struct buf *text)
{
    str tag;

    buf_char(&t->held, c);
    tag = str_trim_start(buf_str(&t->held));
    if (str_eq(tag, opening)) {
        t->held.len = 0;
        t->state = THINK_OPENED;
    } else if (!str_starts_with(opening, tag)) {
        release(t, text);
        t->state = THINK_OFF;
    }
}

/* Held: white space, then a beginning of the closing tag. */
static void inside_char(struct think *t, char c, struct buf *reasoning)
{
    str tag;

    if (buf_str(&t->held).len > 0 && (c == '<' || str_is_space(c)) &&
        str_trim_start(buf_str(&t->held)).len > 0)
        release(t, reasoning);
    buf_char(&t->held, c);
    tag = str_trim_start(buf_str(&t->held));
    if (str_eq(tag, closing)) {
        t->held.len = 0;
        t->state = THINK_CLOSED;
    } else if (!str_starts_with(closing, tag)) {
        release(t, reasoning);
    }
}

void think_feed(struct think *t, str plain, struct buf *reasoning, struct buf *text)
{
    for (; plain.len > 0 && t->state != THINK_OFF; plain = str_skip(plain, 1)) {
        char c = plain.p[0];

        if (t->state == THINK_START) {
            start_char(t, c, text);
            continue;
        }
        if ((t->state == THINK_OPENED || t->state == THINK_CLOSED) && str_is_space(c))
            continue;
        if (t->state == THINK_CLOSED) {
            t->state = THINK_OFF;
            break;
        }
        t->state = THINK_INSIDE;
        inside_char(t, c, reasoning);
    }
    buf_append(text, plain);
}

void think_end(struct think *t, struct buf *reasoning, struct buf *text)
{
    if (t->state == THINK_START)
        release(t, text);
    else if (t->state == THINK_INSIDE && str_trim_start(buf_str(&t->held)).len > 0)
        release(t, reasoning);
    t->held.len = 0;
    t->state = THINK_OFF;
}
