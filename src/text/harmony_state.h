/* harmony_state.h -- the states of the Harmony parser, driven by harmony.c.
 *
 * A text is markers and what stands between them. In content only some markers count
 * (harmony_marker.h); elsewhere all do. */
#ifndef ANTIPHON_TEXT_HARMONY_STATE_H
#define ANTIPHON_TEXT_HARMONY_STATE_H

#include "text/harmony_marker.h"

enum { HARMONY_MAX_HEADER_BYTES = 4096 };

/* Take a text or a marker, in any state, which either may change. */
void harmony_take_text(struct harmony *h, str text);
void harmony_take_marker(struct harmony *h, enum harmony_marker marker);

/* The stream ended, behind all text. */
void harmony_take_end(struct harmony *h);

void harmony_begin_message(struct harmony *h, const struct harmony_header *header);

void harmony_warn(struct harmony *h, const char *what, str text);

/* True when memory has run out, perhaps in b; then the text is done. */
bool harmony_ran_out(struct harmony *h, const struct buf *b);

#endif
