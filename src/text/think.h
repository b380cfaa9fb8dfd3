/* think.h -- split the reasoning at the start of a text from the answer, in any cutting
 * (CONTRACT 5.3, HARMONY 5; off unless configured).
 *
 * Models put it between tags, of which think_tag.def has the list; the tag that closes is that
 * of the one that opened. White space around the tags belongs to neither side. A block that is
 * never closed is reasoning to its end, and tags behind the first block are text.
 *
 * A text that does not open with a tag passes through, but for one thing: a closing tag alone in
 * the rest of a line. The model ended what its template had begun, and THINK_FROM_HERE would
 * have been the right setting; the tag and the white space behind it are dropped, once. */
#ifndef ANTIPHON_TEXT_THINK_H
#define ANTIPHON_TEXT_THINK_H

#include <stdbool.h>

#include "base/buf.h"

struct think_tag {
    str open, close;
};

/* Places where reasoning begins. */
enum think_start {
    THINK_FROM_TAG,  /* when the text opens with a tag */
    THINK_FROM_HERE, /* at once: the template of the model has opened it, which tells no tag, so
                        that any closing tag ends it; a tag that comes all the same is dropped */
};

enum { THINK_HELD_BYTES = 32 };

/* A splitter, zeroed but for its start. All other members are its own, but for the question whether
 * the state is THINK_OFF: then what follows is text as it is. */
struct think {
    enum think_start start;
    enum { THINK_START, THINK_OPENED, THINK_INSIDE, THINK_CLOSED, THINK_NEVER, THINK_OFF } state;
    const struct think_tag *tag; /* the one that opened; NULL: none has been seen */
    bool is_line_start;          /* THINK_NEVER: nothing stands before in this line */
    char held[THINK_HELD_BYTES]; /* what may become a tag */
    size_t n_held;
    struct buf space; /* white space before it, which may turn out to be at an edge */
};

void think_fini(struct think *t);

/* Plain text in; what is certain by now is appended to reasoning or text. They fail when memory
 * runs out here. */
void think_feed(struct think *t, str plain, struct buf *reasoning, struct buf *text);

/* The number of bytes that are held back. */
static inline size_t think_held(const struct think *t)
{
    return t->n_held + t->space.len;
}

/* True when something is held back that is text, if nothing follows. */
bool think_holds_text(const struct think *t);

/* The text ended: what was held back goes where it belongs. */
void think_end(struct think *t, struct buf *reasoning, struct buf *text);

#endif
