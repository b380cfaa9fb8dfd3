/* chat_answer.h -- an answer as the next request will say it (OPERATIONS 4.5 rule 6). */
#ifndef ANTIPHON_WIRE_CHAT_CHAT_ANSWER_H
#define ANTIPHON_WIRE_CHAT_CHAT_ANSWER_H

#include "conv/conversation.h"
#include "wire/dialect/chat_options.h"

/* Appends the message, as chat_request_write() writes it into a request that goes on behind it: the items of the
 * answer and then something that the user says. Nothing when they are no message. The items stay as they are, but for
 * one behind them. Returns 0, or -1 with *reterr filled. */
int chat_answer_write(struct item_list *answer, const struct chat_request_options *o,
                      const struct id_source *ids, struct arena *arena, struct buf *out,
                      struct err *reterr);

#endif
