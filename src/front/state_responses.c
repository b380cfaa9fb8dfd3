/* state_responses.c -- what can be done with a stored response. */
#include "front/state_calls.h"
#include "front/state_list.h"

static int find_response(struct store_session *s, struct state_request *q,
                         struct store_response *ret, struct err *reterr)
{
    return store_get_response(s, q->owner, q->ids[0], &q->arena, ret, reterr);
}

/* ---- GET /v1/responses/{id} */

/* starting_after and include_obfuscation matter to streams only. */
static int read_get(struct state_request *q, str body, struct err *reterr)
{
    (void)body;
    if (state_include_check(&q->query, reterr) == -1)
        return -1;
    return state_flag_read(&q->query, STR("stream"), &q->wants_stream, reterr);
}

static int get_response(struct store_session *s, struct state_request *q, struct err *reterr)
{
    struct store_response r;

    if (find_response(s, q, &r, reterr) == -1)
        return -1;
    if (q->wants_stream) {
        err_set_param(reterr, ERR_INVALID_VALUE, "stream",
                      "The events of this response are not kept: only those of background "
                      "responses can be streamed again.");
        return -1;
    }
    buf_append(&q->out, r.head);
    state_items_write(&r.items, &q->out);
    buf_append(&q->out, r.tail);
    return 0;
}

/* ---- DELETE /v1/responses/{id} */

static int delete_response(struct store_session *s, struct state_request *q, struct err *reterr)
{
    if (store_delete_response(s, q->owner, q->ids[0], reterr) == -1)
        return -1;
    state_write_deleted(q, STR("response"));
    return 0;
}

/* ---- POST /v1/responses/{id}/cancel */

static int cancel_response(struct store_session *s, struct state_request *q, struct err *reterr)
{
    struct store_response r;

    if (find_response(s, q, &r, reterr) == -1)
        return -1;
    err_set(reterr, ERR_INVALID_VALUE, "Only background responses can be cancelled.");
    return -1;
}

/* ---- GET /v1/responses/{id}/input_items */

static int read_input_items(struct state_request *q, str body, struct err *reterr)
{
    (void)body;
    return state_page_read(&q->query, &q->page, reterr);
}

static int list_input_items(struct store_session *s, struct state_request *q, struct err *reterr)
{
    struct store_list list;

    if (store_list_input_items(s, q->owner, q->ids[0], &q->page, &q->arena, &list, reterr) == -1)
        return -1;
    state_list_write(&list, &q->out);
    return 0;
}

const struct state_call state_response_get = {STORE_READ, false, read_get, get_response};
const struct state_call state_response_delete = {STORE_WRITE, false, NULL, delete_response};
const struct state_call state_response_cancel = {STORE_READ, false, NULL, cancel_response};
const struct state_call state_response_input_items = {STORE_READ, false, read_input_items,
                                                      list_input_items};
