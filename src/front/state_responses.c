/* state_responses.c -- what can be done with a stored response. */
#include "front/state_calls.h"
#include "front/state_list.h"

#include "background/background.h"
#include "background/poll_cache.h"
#include "flight/worker.h"
#include "response/poll_after.h"

static int find_response(struct store_session *s, struct state_request *q,
                         struct store_response *ret, struct err *reterr)
{
    return store_get_response(s, q->owner, q->ids[0], &q->arena, ret, reterr);
}

/* ---- GET /v1/responses/{id} */

/* What else a query may have matters to streams only (response_routes.c). */
static int read_get(struct state_request *q, str body, struct err *reterr)
{
    (void)body;
    return state_include_check(&q->query, reterr);
}

/* Of all threads. */
static uint64_t monotonic_ms(void)
{
    return uv_hrtime() / 1000000;
}

/* Has the object of a response that runs been read a moment ago? */
static bool answer_polled(struct state_request *q)
{
    struct background *b = q->worker->background;
    int64_t created_at;

    if (b == NULL || !poll_cache_find(background_polls(b), q->owner, q->ids[0], monotonic_ms(),
                                      &q->out, &created_at, &q->ticket))
        return false;
    q->poll_after = poll_after_ms(clock_unix_s() - created_at);
    return true;
}

/* A queued response may be begun by any gateway at any time, and who has seen it running is not to be
 * told that it waits: so only the answer for one that runs is kept. */
static void keep_polled(const struct state_request *q, const struct store_response *r)
{
    struct background *b = q->worker->background;

    if (b != NULL && r->status == STORE_IN_PROGRESS)
        poll_cache_keep(background_polls(b), q->owner, r->id, q->ticket, monotonic_ms(),
                        r->created_at, buf_str(&q->out));
}

static int get_response(struct store_session *s, struct state_request *q, struct err *reterr)
{
    struct store_response r;

    if (find_response(s, q, &r, reterr) == -1)
        return -1;
    buf_append(&q->out, r.head);
    state_items_write(&r.items, &q->out);
    buf_append(&q->out, r.tail);
    q->poll_after = STR_NONE;
    if (!store_status_is_terminal(r.status)) {
        q->poll_after = poll_after_ms(clock_unix_s() - r.created_at);
        keep_polled(q, &r);
    }
    return 0;
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

const struct state_call state_response_get = {STORE_READ, false, read_get, get_response,
                                              answer_polled};
const struct state_call state_response_input_items = {STORE_READ, false, read_input_items,
                                                      list_input_items, NULL};
