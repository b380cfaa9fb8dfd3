/* call_mend.h -- calls that no server takes back (CONTRACT 2.5 rule 9).
 *
 * Servers parse the arguments of earlier calls. Those of a call that a limit cut off, or that the
 * model got wrong, are no JSON object, and a server that refuses them refuses every later request
 * of the conversation. A call that nobody answered is therefore left out, when it was cut off as
 * well; one that was answered is broken: whoever writes for a server that parses gives it the
 * arguments {} and lets its output say why (wire/chat/chat_said.c). What becomes of a call depends
 * on nothing but itself and its output, so that the beginning of a conversation stays what it was. */
#ifndef ANTIPHON_CONV_CALL_MEND_H
#define ANTIPHON_CONV_CALL_MEND_H

#include "conv/conversation.h"

/* Looks at all calls of the messages that begin at *first, and takes out messages in which nothing
 * is left. Returns 0, or -1 when out of memory. */
int calls_mend(struct message **first, struct history_repairs *repairs, struct err *reterr);

#endif
