/* think.h -- split <think>...</think> at the start of a text into reasoning
 * and answer, in any cutting (CONTRACT 5.3; off unless configured).
 *
 * White space around the tags belongs to neither side. A text that does not
 * open with the tag passes through unchanged. */
#ifndef ANTIPHON_WIRE_THINK_H
#define ANTIPHON_WIRE_THINK_H

#include "base/buf.h"

struct think {
    enum { THINK_START, THINK_OPENED, THINK_INSIDE, THINK_CLOSED, THINK_OFF } state;
    struct buf held; /* white space or the start of a tag that may turn out to be text */
};

void think_fini(struct think *t);

/* Plain text in; what is certain by now is appended to reasoning or text. */
void think_feed(struct think *t, str plain, struct buf *reasoning, struct buf *text);

/* The text ended: what was held back goes where it belongs. */
void think_end(struct think *t, struct buf *reasoning, struct buf *text);

#endif
