/* model_harmony.h -- Harmony messages of a model become reasoning, text and calls (HARMONY 3). Part
 * of model_text.h. */
#ifndef ANTIPHON_WIRE_CHUNK_MODEL_HARMONY_H
#define ANTIPHON_WIRE_CHUNK_MODEL_HARMONY_H

#include "wire/chunk/chat_reader.h"

/* The text of the reader r is Harmony: what its parser, which is ready then, finds becomes deltas. */
void model_harmony_begin(struct chat_reader *r);

#endif
