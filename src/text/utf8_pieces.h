/* utf8_pieces.h -- bytes cut anywhere become text that is valid UTF-8, piece by piece.
 *
 * What no character can begin with or go on with becomes U+FFFD, one for each part that is as long
 * as a character could have been until then (HARMONY 1.4; Unicode's "maximal subpart"). */
#ifndef ANTIPHON_TEXT_UTF8_PIECES_H
#define ANTIPHON_TEXT_UTF8_PIECES_H

#include "base/buf.h"

/* The beginning of a character whose end is in the next piece. Zeroed: none. */
struct utf8_pieces {
    char begun[3];
    size_t n_begun;
};

/* Appends the characters that are whole by now. */
void utf8_pieces_add(struct utf8_pieces *u, str bytes, struct buf *out);

/* The text ended: a character that was begun is none. */
void utf8_pieces_end(struct utf8_pieces *u, struct buf *out);

#endif
