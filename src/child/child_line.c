/* child_line.c -- cut a byte stream into lines.
 *
 * A line that lies in one read is handed on where it stands; only one that
 * crosses a read is copied. What is held may be one byte longer than the limit:
 * a CR that turns out to belong to the end of the line. */
#include "child/child_line.h"

#include <assert.h>

enum { KEEP_BYTES = 64 * 1024 }; /* memory that may stay with a cutter between lines */

void child_line_init(struct child_line *l, size_t limit_bytes, bool cuts)
{
    assert(limit_bytes > 0);
    *l = (struct child_line){.limit_bytes = limit_bytes, .cuts = cuts};
}

void child_line_fini(struct child_line *l)
{
    buf_fini(&l->held);
}

void child_line_set_limit(struct child_line *l, size_t limit_bytes)
{
    assert(limit_bytes > 0);
    l->limit_bytes = limit_bytes;
}

/* Hands out a whole line, without its LF. Blank lines count while they are not known to be
 * blank, so the limit holds for them as well. */
static int emit_line(struct child_line *l, str line, child_line_on_line *on_line, void *arg)
{
    if (line.len > 0 && line.p[line.len - 1] == '\r')
        line.len--;
    if (line.len > l->limit_bytes && !l->cuts)
        return -1;
    if (line.len > l->limit_bytes)
        line.len = l->limit_bytes;
    if (str_trim(line).len > 0)
        on_line(arg, line);
    return 0;
}

/* Hands out the line that the held start and this rest are. */
static int emit_held(struct child_line *l, str rest, child_line_on_line *on_line, void *arg)
{
    int rc;

    buf_append(&l->held, rest);
    if (buf_failed(&l->held))
        return -1;
    rc = emit_line(l, buf_str(&l->held), on_line, arg);
    if (l->held.cap > KEEP_BYTES)
        buf_fini(&l->held);
    else
        buf_reset(&l->held);
    return rc;
}

/* Bytes that may still be held, for the limit and a CR. A limit that was lowered may have been
 * passed already. */
static size_t room_to_hold(const struct child_line *l)
{
    return l->held.len > l->limit_bytes ? 0 : l->limit_bytes + 1 - l->held.len;
}

/* Drops what a cutter that cuts need not hold. */
static str within_limit(const struct child_line *l, str part)
{
    return l->cuts && part.len > room_to_hold(l) ? str_from(part.p, room_to_hold(l)) : part;
}

/* Holds the start of a line that goes on in the next read. */
static int hold_part(struct child_line *l, str part)
{
    part = within_limit(l, part);
    if (part.len > room_to_hold(l))
        return -1;
    buf_append(&l->held, part);
    return buf_failed(&l->held) ? -1 : 0;
}

static int take_line(struct child_line *l, str line, child_line_on_line *on_line, void *arg)
{
    if (l->held.len == 0)
        return emit_line(l, line, on_line, arg);
    if (!l->cuts && line.len > room_to_hold(l))
        return -1;
    return emit_held(l, within_limit(l, line), on_line, arg);
}

int child_line_feed(struct child_line *l, str bytes, child_line_on_line *on_line, void *arg)
{
    while (bytes.len > 0 && !l->failed) {
        size_t n = str_find_char(bytes, '\n');

        if (n == bytes.len) {
            l->failed = hold_part(l, bytes) == -1;
            break;
        }
        l->failed = take_line(l, str_from(bytes.p, n), on_line, arg) == -1;
        bytes = str_skip(bytes, n + 1);
    }
    return l->failed ? -1 : 0;
}

int child_line_end(struct child_line *l, child_line_on_line *on_line, void *arg)
{
    if (!l->failed && l->held.len > 0)
        l->failed = emit_held(l, STR(""), on_line, arg) == -1;
    return l->failed ? -1 : 0;
}
