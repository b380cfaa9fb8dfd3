/* chat_chunk.h -- one Chat Completions chunk, or a whole completion, becomes
 * deltas. All differences between upstreams end here (CONTRACT 5.2 to 5.5). */
#ifndef ANTIPHON_WIRE_CHUNK_CHAT_CHUNK_H
#define ANTIPHON_WIRE_CHUNK_CHAT_CHUNK_H

#include "wire/chunk/chat_reader.h"

/* text: how the upstream's text is read; what it points to outlives the reader. */
void chat_reader_init(struct chat_reader *r, const struct model_text_conf *text,
                      bool wants_logprobs, chat_on_delta *on_delta, void *arg);
void chat_reader_fini(struct chat_reader *r);

/* Reads one JSON text; event is its SSE event name or "". Returns false when
 * the text is not complete JSON: then nothing has been reported. */
bool chat_reader_chunk(struct chat_reader *r, str json, str event);

/* Everything was read: reports what was still held back. */
void chat_reader_end(struct chat_reader *r);

#endif
