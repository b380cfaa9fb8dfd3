/* store_response_row.h -- the row of a response. Internal to the store. */
#ifndef ANTIPHON_STORE_STORE_RESPONSE_ROW_H
#define ANTIPHON_STORE_STORE_RESPONSE_ROW_H

#include "store/store_session.h"

struct response_row {
    int64_t seq, history;
    uint64_t bytes; /* besides its items */
    enum store_status status;
};

void response_set_not_found(struct err *e, str id);

/* Finds a response. ERR_NOT_FOUND. */
int response_find(struct store_session *s, str owner, str id, struct response_row *ret,
                  struct err *reterr);

/* Finds a response to change it, within a transaction: nobody else changes its history until that
 * ends. */
int response_find_to_change(struct store_session *s, str owner, str id, struct response_row *ret,
                            struct err *reterr);

#endif
