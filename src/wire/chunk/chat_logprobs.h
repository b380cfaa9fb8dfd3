/* chat_logprobs.h -- token probabilities of a chunk in the form of the Responses API. */
#ifndef ANTIPHON_WIRE_CHUNK_CHAT_LOGPROBS_H
#define ANTIPHON_WIRE_CHUNK_CHAT_LOGPROBS_H

#include "base/buf.h"

/* Appends the elements of logprobs.content to out, separated by commas, also
 * from what out already holds. Every element gets token, logprob, bytes (the
 * token's UTF-8 bytes where the upstream sent none) and top_logprobs. */
void chat_logprobs(str raw, struct buf *out);

#endif
