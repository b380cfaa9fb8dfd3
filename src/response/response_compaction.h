/* response_compaction.h -- a summary in the place of the conversation, as an item of a response
 * (CONTRACT 13).
 *
 * The model has written it in a call of its own, between rounds: of that call the client sees nothing but
 * what it came to. A response that was made for the summary has this item alone, and a response that
 * goes on has it in front of what the next round says. */
#ifndef ANTIPHON_RESPONSE_RESPONSE_COMPACTION_H
#define ANTIPHON_RESPONSE_RESPONSE_COMPACTION_H

#include "response/response.h"

/* The call for a summary has ended, whatever came of it: its tokens are the response's, too, but it was
 * no round. n_reasoning: deltas of reasoning, see response_add_usage(). */
void response_add_summary_usage(struct response *r, const struct usage *usage, int64_t n_reasoning);

/* The item with all of its events: output_item.added, compaction.compacting, output_item.done. Nothing of
 * it was announced before, for until now it might have failed. sealed: its encrypted_content, which needs
 * no escapes and is taken. No round is under way, and no call. What came before in the output is in the
 * summary: it is not replayed. Returns false without memory, like response_delta(). */
bool response_compacted(struct response *r, struct buf *sealed, struct buf *out);

/* The response was made for the item, and is complete with it. */
void response_finish_compacted(struct response *r, int64_t now_s);

/* The answer of /v1/responses/compact (CONTRACT 13.3): kept are the elements of output that stand before the
 * item, joined by commas. */
void response_compaction_object(const struct response *r, str kept, struct buf *out);

#endif
