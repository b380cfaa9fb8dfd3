/* state_conversations.h -- what the files about conversations share. */
#ifndef ANTIPHON_FRONT_STATE_CONVERSATIONS_H
#define ANTIPHON_FRONT_STATE_CONVERSATIONS_H

#include "front/state_request.h"
#include "json/json_write.h"

/* The object as clients see it. */
void state_conversation_write(const struct store_conversation *c, struct jw *w);

/* Reads `items` of a body, a raw array of at most 20, into q->items. Returns 0, or
 * -1 with *reterr filled. */
int state_items_read(struct state_request *q, str items, struct err *reterr);

/* These as they are to be stored: what is partial becomes a reference to the stored item, if
 * there is one, and what is kept beside an item comes with it. Returns 0, or -1 with *reterr
 * filled. */
int state_items_complete(struct store_session *s, struct state_request *q, struct store_items *ret,
                         struct err *reterr);

/* The conversation that the path names, as the answer. ERR_NOT_FOUND. */
int state_conversation_show(struct store_session *s, struct state_request *q, struct err *reterr);

#endif
