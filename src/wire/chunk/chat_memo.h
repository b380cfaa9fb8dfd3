/* chat_memo.h -- know a chunk by the one before.
 *
 * Chunks of one stream mostly differ in a single string. What reading a chunk
 * does follows from its bytes alone, so when the bytes before and behind that
 * string are the same again, only the string has to be looked at. */
#ifndef ANTIPHON_WIRE_CHUNK_CHAT_MEMO_H
#define ANTIPHON_WIRE_CHUNK_CHAT_MEMO_H

#include <stdint.h>

#include "base/buf.h"

/* What a chunk says when it says one thing only. */
struct chat_saying {
    enum { SAYS_OTHER, SAYS_CONTENT, SAYS_REASONING, SAYS_ARGUMENTS } what;
    str text;      /* escaped; a view into the chunk */
    int64_t index; /* SAYS_ARGUMENTS: of the call */
};

struct chat_memo {
    struct chat_saying saying; /* its text is not kept */
    struct buf bytes;          /* of the chunk, without the text */
    size_t text_offset;        /* where the text was */
};

void chat_memo_fini(struct chat_memo *m);

/* Keeps a chunk that is valid JSON and what it says, which is not SAYS_OTHER.
 * Without memory for it nothing is kept. */
void chat_memo_keep(struct chat_memo *m, str chunk, const struct chat_saying *saying);

/* Is chunk the kept one with another text in its place? Then *ret is what it says. */
bool chat_memo_fits(const struct chat_memo *m, str chunk, struct chat_saying *ret);

#endif
