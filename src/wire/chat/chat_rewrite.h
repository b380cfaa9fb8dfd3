/* chat_rewrite.h -- what a client's Chat Completions body is changed in before it
 * is passed on: the alias of a model, and an empty wish for reasoning.
 *
 * Clients that keep one form for all servers send "reasoning":{"effort":null},
 * which asks for nothing, and servers that do not know the member refuse it
 * (CONTRACT 6.2, 7). */
#ifndef ANTIPHON_WIRE_CHAT_CHAT_REWRITE_H
#define ANTIPHON_WIRE_CHAT_CHAT_REWRITE_H

#include "wire/dialect/model_alias.h"

/* Could chat_drop_reasoning() find anything? A search for one word, no reading. */
bool chat_may_hold_reasoning(str body);

/* Is it an object whose values are all null? */
bool chat_holds_only_nulls(str object);

/* Appends body, a JSON object, without the member `reasoning` when that is an
 * object whose values are all null; everything else is byte for byte as it was.
 * Returns false, and appends nothing, when there is no such member, also when
 * body is no JSON. */
bool chat_drop_reasoning(str body, struct buf *out);

/* chat_drop_reasoning() and model_alias_rewrite(), one after the other. */
bool chat_rewrite(struct name_list aliases, str body, struct buf *out);

#endif
