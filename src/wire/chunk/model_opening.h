/* model_opening.h -- does a text open as Harmony, or is it a text like any other?
 *
 * Models of all kinds may write about the format, and nothing of that may be lost: a marker alone
 * is not enough, what stands behind it has to be a header. */
#ifndef ANTIPHON_WIRE_CHUNK_MODEL_OPENING_H
#define ANTIPHON_WIRE_CHUNK_MODEL_OPENING_H

#include "text/text_scan.h"

/* Of the first bytes of a text, plain. What may still be Harmony is 256 bytes at most. */
enum text_match model_opening_match(str text);

/* The text ended there, and may have been Harmony: did it at least have a whole marker? */
bool model_opening_is_header(str text);

#endif
