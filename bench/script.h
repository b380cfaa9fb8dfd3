/* script.h -- what the mock upstream says: the bytes of its answers, made once.
 *
 * A stream is head, any number of content chunks, tail. It looks like vLLM's:
 * one HTTP chunk for each event, about 220 bytes of JSON, usage in a chunk of
 * its own. Content chunks stand side by side, so that any run of them that is
 * written at once is one piece of memory. */
#ifndef ANTIPHON_BENCH_SCRIPT_H
#define ANTIPHON_BENCH_SCRIPT_H

#include "base/buf.h"

enum { SCRIPT_CYCLE = 32, SCRIPT_MAX_BURST = 64 };

struct script {
    struct buf head;    /* HTTP head and the chunk with the role */
    struct buf content; /* the words, again and again */
    struct buf tail;    /* finish_reason, usage, [DONE], end of the body */
    size_t at[SCRIPT_CYCLE + SCRIPT_MAX_BURST + 1]; /* where each content chunk begins */
};

/* The bytes live as long as the program. */
void script_init(struct script *s);

/* Content chunks number i to i + n - 1 of a stream; n is at most SCRIPT_MAX_BURST. */
str script_content(const struct script *s, size_t i, size_t n);

/* Appends the answer to a request without stream: n words. */
void script_whole(size_t n, struct buf *out);

#endif
