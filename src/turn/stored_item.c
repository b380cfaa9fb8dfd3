/* stored_item.c -- one look for what clients see, and one for what is hidden beside it. */
#include "turn/stored_item.h"

#include "conv/reject.h"

static int find_result(struct store_session *s, str owner, struct arena *a,
                       struct request_history_item *found, struct err *reterr)
{
    str id = item_result_id(found->id, a);
    struct store_item item;
    struct err e;

    if (str_is_none(id))
        return err_set_no_memory(reterr);
    if (store_find_hidden(s, owner, id, a, &item, &e) == 0) {
        found->result = item.body;
        return 0;
    }
    if (e.code == ERR_NOT_FOUND)
        return 0;
    *reterr = e;
    return -1;
}

int stored_item_find(struct store_session *s, str owner, str id, struct arena *a,
                     struct request_history_item *ret, struct err *reterr)
{
    struct store_item item;
    struct err e;

    *ret = (struct request_history_item){.id = id};
    if (store_find_item(s, owner, id, a, &item, &e) == -1) {
        if (e.code == ERR_NOT_FOUND)
            return 0;
        *reterr = e;
        return -1;
    }
    ret->body = item.body;
    ret->is_output = item.is_output;
    return item_has_result(item.body) ? find_result(s, owner, a, ret, reterr) : 0;
}

int stored_item_refer_to_result(const struct request_history_item *found, struct arena *a,
                                struct store_item *ret, struct err *reterr)
{
    *ret = (struct store_item){
        .id = item_result_id(found->id, a), .is_hidden = true, .is_reference = true};
    return str_is_none(ret->id) ? err_set_no_memory(reterr) : 0;
}
