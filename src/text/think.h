/* think.h -- split the reasoning at the start of a text from the answer, in any cutting
 * (CONTRACT 5.3, HARMONY 5; off unless configured).
 *
 * Models put it between tags, of which think_tag.def has the list. White space around the
 * tags belongs to neither side. A text that does not open with a tag passes through. */
#ifndef ANTIPHON_TEXT_THINK_H
#define ANTIPHON_TEXT_THINK_H

#include <stdbool.h>

#include "base/buf.h"

/* Where reasoning begins. */
enum think_start {
    THINK_FROM_TAG,  /* when the text opens with a tag */
    THINK_FROM_HERE, /* at once: the template of the model has opened it, and a tag that comes
                        all the same is not said twice */
};

struct think {
    enum think_start start;
    enum { THINK_START, THINK_OPENED, THINK_INSIDE, THINK_CLOSED, THINK_OFF } state;
    struct buf held; /* white space or the start of a tag that may turn out to be text */
};

void think_fini(struct think *t);

/* Plain text in; what is certain by now is appended to reasoning or text. */
void think_feed(struct think *t, str plain, struct buf *reasoning, struct buf *text);

/* The text ended: what was held back goes where it belongs. */
void think_end(struct think *t, struct buf *reasoning, struct buf *text);

#endif
