/* think.c -- one state per stretch of the text:
 *
 *   START    white space, then perhaps an opening tag; anything else -> NEVER
 *   OPENED   white space after the opening tag
 *   INSIDE   reasoning; white space and what may be the closing tag are held back
 *   CLOSED   white space after the closing tag
 *   NEVER    text that opened with no tag; at the beginning of a line one may close -> CLOSED
 *   OFF      everything is text
 *
 * A state takes what it understands from the text and leaves what may be the beginning of a tag.
 * That is held, at most a tag long, and grows byte by byte until it is certain; everything else
 * is looked at once and moved in long runs. */
#include "text/think.h"

#include <assert.h>

#include "text/text_scan.h"

static const struct think_tag tags[] = {
#define THINK_TAG(open, close) {STR_INIT(open), STR_INIT(close)},
#include "text/think_tag.def"
};

enum { N_TAGS = COUNT_OF(tags) };

static const char first_bytes[3] = {'<', '[', '\xE2'};

struct sides {
    struct buf *reasoning, *text;
};

void think_fini(struct think *t)
{
    buf_fini(&t->space);
}

/* ---- tags */

static enum text_match match_opening(str in, const struct think_tag **ret_tag)
{
    enum text_match result = TEXT_DIFFERS;

    for (size_t i = 0; i < N_TAGS && result != TEXT_MATCHES; i++) {
        enum text_match match = text_match(in, tags[i].open);

        if (match == TEXT_MATCHES)
            *ret_tag = &tags[i];
        if (match != TEXT_DIFFERS)
            result = match;
    }
    return result;
}

/* of: the row whose tag it has to be; NULL: any. */
static enum text_match match_closing(const struct think_tag *of, str in, size_t *ret_len)
{
    enum text_match result = TEXT_DIFFERS;

    if (of != NULL) {
        *ret_len = of->close.len;
        return text_match(in, of->close);
    }
    for (size_t i = 0; i < N_TAGS && result != TEXT_MATCHES; i++) {
        enum text_match match = match_closing(&tags[i], in, ret_len);

        if (match != TEXT_DIFFERS)
            result = match;
    }
    return result;
}

/* A closing tag at the beginning of a line that nothing opened: only if its line ends with it. */
static enum text_match match_stray(str in, size_t *ret_len)
{
    enum text_match match = match_closing(NULL, in, ret_len);

    if (match != TEXT_MATCHES)
        return match;
    if (in.len == *ret_len)
        return TEXT_MAY_MATCH;
    return in.p[*ret_len] == '\n' || in.p[*ret_len] == '\r' ? TEXT_MATCHES : TEXT_DIFFERS;
}

/* ---- one state each: false when the rest has to wait for more */

static void release_space(struct think *t, struct buf *to)
{
    buf_append(to, buf_str(&t->space));
    t->space.len = 0;
}

/* Leaves START for a text that opens with no tag: its first line is searched for a closing one as
 * well. */
static bool start_without_tag(struct think *t, str in, struct sides to)
{
    size_t len;
    enum text_match match = match_stray(in, &len);

    if (match == TEXT_MAY_MATCH)
        return false;
    if (match == TEXT_MATCHES)
        t->space.len = 0;
    release_space(t, to.text);
    t->state = THINK_NEVER;
    t->is_line_start = match == TEXT_MATCHES;
    return true;
}

static bool feed_start(struct think *t, str *in, struct sides to)
{
    str rest = str_trim_start(*in);

    if (t->start == THINK_FROM_TAG)
        buf_append(&t->space, text_before(*in, rest));
    *in = rest;
    if (rest.len == 0)
        return true;
    switch (match_opening(rest, &t->tag)) {
    case TEXT_MATCHES:
        *in = str_skip(rest, t->tag->open.len);
        t->space.len = 0;
        t->state = THINK_OPENED;
        return true;
    case TEXT_MAY_MATCH:
        return false;
    case TEXT_DIFFERS:
        break;
    }
    if (t->start == THINK_FROM_TAG)
        return start_without_tag(t, rest, to);
    t->state = THINK_INSIDE;
    return true;
}

static void append_reasoning(struct think *t, str said, struct buf *reasoning)
{
    str visible = text_trim_end(said);

    if (visible.len > 0) {
        release_space(t, reasoning);
        buf_append(reasoning, visible);
    }
    buf_append(&t->space, str_skip(said, visible.len));
}

static bool feed_reasoning(struct think *t, str *in, struct sides to)
{
    size_t n = text_find_first(*in, first_bytes), len;

    append_reasoning(t, str_from(in->p, n), to.reasoning);
    *in = str_skip(*in, n);
    if (in->len == 0)
        return true;
    switch (match_closing(t->tag, *in, &len)) {
    case TEXT_MATCHES:
        *in = str_skip(*in, len);
        t->space.len = 0;
        t->state = THINK_CLOSED;
        return true;
    case TEXT_MAY_MATCH:
        return false;
    case TEXT_DIFFERS:
        break;
    }
    append_reasoning(t, str_from(in->p, 1), to.reasoning);
    *in = str_skip(*in, 1);
    return true;
}

static bool feed_untagged(struct think *t, str *in, struct sides to)
{
    size_t n, len;

    if (t->is_line_start) {
        enum text_match match = match_stray(*in, &len);

        if (match == TEXT_MAY_MATCH)
            return false;
        if (match == TEXT_MATCHES) {
            *in = str_skip(*in, len);
            t->state = THINK_CLOSED;
            return true;
        }
    }
    n = str_find_char(*in, '\n');
    t->is_line_start = n < in->len;
    n += t->is_line_start ? 1 : 0;
    buf_append(to.text, str_from(in->p, n));
    *in = str_skip(*in, n);
    return true;
}

static bool feed_state(struct think *t, str *in, struct sides to)
{
    switch (t->state) {
    case THINK_START:
        return feed_start(t, in, to);
    case THINK_OPENED:
    case THINK_CLOSED:
        *in = str_trim_start(*in);
        if (in->len > 0)
            t->state = t->state == THINK_OPENED ? THINK_INSIDE : THINK_OFF;
        return true;
    case THINK_INSIDE:
        return feed_reasoning(t, in, to);
    case THINK_NEVER:
        return feed_untagged(t, in, to);
    case THINK_OFF:
        break;
    }
    buf_append(to.text, *in);
    *in = str_skip(*in, in->len);
    return true;
}

/* ---- pieces */

/* Takes all that is certain, and holds the rest, which may lie in t->held already. */
static void take_certain(struct think *t, str in, struct sides to)
{
    while (in.len > 0 && feed_state(t, &in, to))
        continue;
    assert(in.len < sizeof(t->held));
    if (in.len > 0)
        memmove(t->held, in.p, in.len);
    t->n_held = in.len;
}

static void pass_failure_on(const struct think *t, struct sides to)
{
    if (buf_failed(&t->space))
        to.reasoning->failed = to.text->failed = true;
}

void think_feed(struct think *t, str plain, struct buf *reasoning, struct buf *text)
{
    struct sides to = {reasoning, text};

    for (; t->n_held > 0 && plain.len > 0; plain = str_skip(plain, 1)) {
        t->held[t->n_held++] = plain.p[0];
        take_certain(t, str_from(t->held, t->n_held), to);
    }
    if (plain.len > 0)
        take_certain(t, plain, to);
    pass_failure_on(t, to);
}

/* Ends a text: what is held is no tag, but for a closing one that stands alone. */
static void end_text(struct think *t, str held, struct buf *text)
{
    size_t len;

    if (match_closing(NULL, held, &len) == TEXT_MATCHES)
        return;
    release_space(t, text);
    buf_append(text, held);
}

static bool is_in_text(const struct think *t)
{
    return t->state == THINK_NEVER || (t->state == THINK_START && t->start == THINK_FROM_TAG);
}

bool think_holds_text(const struct think *t)
{
    return is_in_text(t) && think_held(t) > 0;
}

void think_end(struct think *t, struct buf *reasoning, struct buf *text)
{
    str held = str_from(t->held, t->n_held);

    if (is_in_text(t))
        end_text(t, held, text);
    else
        append_reasoning(t, held, reasoning);
    t->n_held = t->space.len = 0;
    t->state = THINK_OFF;
    pass_failure_on(t, (struct sides){reasoning, text});
}
