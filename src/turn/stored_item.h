/* stored_item.h -- an item that a client names or sends again, with what the model was told of it. */
#ifndef ANTIPHON_TURN_STORED_ITEM_H
#define ANTIPHON_TURN_STORED_ITEM_H

#include "store/store.h"
#include "wire/request/request_resolve.h"

/* Fills *ret, whose body is STR_NONE when the owner has no item of this id (plain). Texts are in
 * the arena. Returns 0, or -1 with *reterr filled. */
int stored_item_find(struct store_session *s, str owner, str id, struct arena *a,
                     struct request_history_item *ret, struct err *reterr);

/* The reference that keeps the result of such an item with what is stored now. Returns 0, or -1
 * when out of memory. */
int stored_item_refer_to_result(const struct request_history_item *found, struct arena *a,
                                struct store_item *ret, struct err *reterr);

#endif
