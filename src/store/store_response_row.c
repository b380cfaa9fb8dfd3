/* store_response_row.c -- finding a response. */
#include "store/store_response_row.h"

#include "store/store_history.h"
#include "store/store_item.h"

bool store_status_is_terminal(enum store_status status)
{
    return status != STORE_QUEUED && status != STORE_IN_PROGRESS;
}

void response_set_not_found(struct err *e, str id)
{
    err_set(e, ERR_NOT_FOUND, "Response with id '%.*s' not found.", STR_ARG(id));
}

int response_find(struct store_session *s, str owner, str id, struct response_row *ret,
                  struct err *reterr)
{
    const struct sql_value values[] = {{.s = id}, {.s = owner}};
    struct found row = {.is_there = false};

    if (id_is_possible(id) && session_find(s, SQL_RESPONSE_FIND, values, &row, reterr) == -1)
        return -1;
    *ret =
        (struct response_row){row.v[0], row.v[1], (uint64_t)row.v[2], (enum store_status)row.v[3]};
    if (row.is_there)
        return 0;
    response_set_not_found(reterr, id);
    return -1;
}

/* The response is found once more when its history cannot be changed by others: it may have ended
 * before, or gone. */
int response_find_to_change(struct store_session *s, str owner, str id, struct response_row *ret,
                            struct err *reterr)
{
    bool is_needed;

    if (response_find(s, owner, id, ret, reterr) == -1 ||
        history_shrink(s, ret->history, (struct amount){0}, &is_needed, reterr) == -1)
        return -1;
    return response_find(s, owner, id, ret, reterr);
}
