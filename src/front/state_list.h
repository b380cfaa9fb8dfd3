/* state_list.h -- lists: which part is asked for, and what is answered (CONTRACT 6). */
#ifndef ANTIPHON_FRONT_STATE_LIST_H
#define ANTIPHON_FRONT_STATE_LIST_H

#include "base/buf.h"
#include "http/query.h"
#include "store/store.h"

/* Reads limit, order and after, and checks include. The views are those of the query. Returns 0, or
 * -1 with *reterr filled. */
int state_page_read(const struct query *q, struct store_page *ret, struct err *reterr);

/* A value that is true or false; without one, false. The same errors. */
int state_flag_read(const struct query *q, str name, bool *ret, struct err *reterr);

/* Checks what include asks for; it changes nothing about what is stored. */
int state_include_check(const struct query *q, struct err *reterr);

/* {"object":"list",...} */
void state_list_write(const struct store_list *list, struct buf *out);

/* The items alone, joined by commas. */
void state_items_write(const struct store_items *items, struct buf *out);

#endif
