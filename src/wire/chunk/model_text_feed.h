/* model_text_feed.h -- the text of an answer is fed to the parsers that take it apart.
 *
 * Part of the reader of chunks (chat_chunk.h): what they find becomes its deltas. */
#ifndef ANTIPHON_WIRE_CHUNK_MODEL_TEXT_FEED_H
#define ANTIPHON_WIRE_CHUNK_MODEL_TEXT_FEED_H

#include "wire/chunk/chat_reader.h"

/* The next text of the reader r, plain; what is certain by now becomes deltas. */
void model_text_feed(struct chat_reader *r, str plain);

/* The server tells reasoning from text itself: tags are text. */
void model_text_ignore_tags(struct chat_reader *r);

/* Something else than text follows, a call: what was held back is text, in its place. */
void model_text_pause(struct chat_reader *r);

/* The text ended. */
void model_text_end(struct chat_reader *r);

/* Of the parsers, whose arg is the reader: did the request declare a function of this name? */
bool model_text_is_function(void *arg, str name);

#endif
