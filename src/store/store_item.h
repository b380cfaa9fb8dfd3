/* store_item.h -- how items are written and read. Internal to the store. */
#ifndef ANTIPHON_STORE_STORE_ITEM_H
#define ANTIPHON_STORE_STORE_ITEM_H

#include "store/store_session.h"

/* True for text that can be an id in every database: UTF-8 without NUL. Others are unknown. */
bool id_is_possible(str id);

/* Bytes as the limits count them; those of a reference are its id alone. */
uint64_t items_bytes(const struct store_items *items);

/* Finds the rows that references refer to, 0 for other items: before anything is written, and so
 * that nobody else can remove them until the transaction ends. *ret is to be freed, also after a
 * failure. ERR_NOT_FOUND, and ERR_INVALID_VALUE for an id that no database can hold. */
int items_resolve(struct store_session *s, str owner, const struct store_items *items,
                  int64_t **ret, struct err *reterr);

struct item_place {
    int64_t history, response; /* response 0: of no one */
    bool in_conversation;
};

/* Adds items. An id is part of a conversation's list once: an item whose id it holds already is not
 * added again, but stays with its response if it has one. */
int items_add(struct store_session *s, const struct item_place *place,
              const struct store_items *items, const int64_t *refs, struct err *reterr);

/* Gathers rows of (id, is_output, is_hidden, body) in an arena, in their order. */
struct item_rows {
    struct arena *arena;
    struct store_items items;
    size_t cap;
};

/* A sql_on_row with a struct item_rows. */
int item_rows_add(void *arg, const struct sql_value *columns, struct err *reterr);

/* The statements for one kind of list. */
struct list_kind {
    enum sql_statement ascending, descending, place;
};

/* Lists items of a response's request or of a conversation, by its seq. */
int items_list(struct store_session *s, const struct list_kind *kind, int64_t of,
               const struct store_page *page, struct arena *a, struct store_list *ret,
               struct err *reterr);

#endif
