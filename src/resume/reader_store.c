/* reader_store.c -- a response as the store has it, and what is read of that.
 *
 *     store task (a thread of the store) -> read (on the pool, if it is much) -> reader_on_loaded()
 *
 * While the response is under way elsewhere, each task brings the rows behind those that were read before,
 * and the response grows by them. When it is over, it is read as it was stored, in place of what the
 * rows have made: its items are the same, so the place in the stream fits both. */
#include "resume/reader_internal.h"

#include "flight/worker.h"
#include "response/response_read.h"

/* ---- reading what came */

static const struct response_conf *response_conf_of(const struct reader *r,
                                                    struct response_conf *ret)
{
    *ret = (struct response_conf){.error_event = r->flight.worker->config->error_event};
    return ret;
}

static void fini_response(struct reader *r)
{
    if (r->loaded != LOADED_NOTHING)
        response_fini(&r->restore.response);
    r->loaded = LOADED_NOTHING;
}

/* A response that is queued has no rows, and yet two events. */
static int begin_journal(struct reader *r, struct err *reterr)
{
    const struct store_response *stored = &r->events.response;
    struct response_conf conf;

    if (r->restore.reader.n > 0 && r->loaded == LOADED_JOURNAL)
        return 0;
    fini_response(r);
    if (response_restore_begin(response_conf_of(r, &conf), stored->head, stored->tail, &r->restore,
                               reterr) == -1)
        return -1;
    r->loaded = LOADED_JOURNAL;
    if (r->events.n_rows == 0)
        response_queue(&r->restore.response, NULL);
    return 0;
}

static int read_journal(struct reader *r, struct err *reterr)
{
    if (begin_journal(r, reterr) == -1)
        return -1;
    for (size_t i = 0; i < r->events.n_rows; i++) {
        const struct store_event_row *row = &r->events.rows[i];

        if (response_restore_row(&r->restore, row->cuts, row->done, row->pieces, reterr) == -1)
            return -1;
    }
    return 0;
}

static int read_end(struct reader *r, struct err *reterr)
{
    const struct store_response *stored = &r->events.response;
    const struct store_items *items = &stored->items;
    str *bodies = arena_array(&r->fetched, items->n, sizeof(*bodies));
    struct response_conf conf;

    if (bodies == NULL && items->n > 0)
        return err_set_no_memory(reterr);
    for (size_t i = 0; i < items->n; i++)
        bodies[i] = items->v[i].body;
    fini_response(r);
    if (response_read(response_conf_of(r, &conf), stored->head, stored->tail, bodies, items->n,
                      &r->restore.response, reterr) == -1)
        return -1;
    r->loaded = LOADED_END;
    if (cuts_append(&r->restore.response.cuts, stored->cuts))
        return 0;
    if (buf_failed(&r->restore.response.cuts.bytes))
        return err_set_no_memory(reterr);
    err_set(reterr, ERR_STORE, "The kept events of the response are damaged.");
    return -1;
}

static bool is_under_way(const struct store_events *events)
{
    return events->status == STORE_QUEUED || events->status == STORE_IN_PROGRESS;
}

static int read_fetched(void *arg, struct err *reterr)
{
    struct reader *r = arg;

    return is_under_way(&r->events) ? read_journal(r, reterr) : read_end(r, reterr);
}

/* An error for no memory, when the response takes more than one may have. */
static void explain_size(const struct reader *r, struct err *ret)
{
    err_set(ret, ERR_REQUEST_TOO_LARGE,
            "The response needs more than %zu bytes of memory to be read again "
            "(max_request_memory).",
            r->flight.worker->config->max_request_memory_bytes);
}

static void on_read(void *arg, const struct err *failure)
{
    struct reader *r = arg;
    struct err e;

    if (failure != NULL && r->fetched.is_full) {
        explain_size(r, &e);
        failure = &e;
    }
    r->is_loading = false;
    arena_fini(&r->fetched);
    reader_on_loaded(r, failure);
}

/* ---- the store */

/* The client may have asked with a POST that it repeats. */
static void explain_no_events(const struct reader *r, struct err *ret)
{
    err_set_param(ret, ERR_INVALID_VALUE, "stream",
                  "The events of this response are not kept. Read it without them: "
                  "GET /v1/responses/%.*s, and no 'stream'.",
                  STR_ARG(r->want.id));
}

static int fetch(struct store_session *s, void *arg, struct err *reterr)
{
    struct reader *r = arg;
    const int64_t from = r->loaded == LOADED_JOURNAL ? (int64_t)r->restore.reader.n : 0;

    arena_fini(&r->fetched);
    arena_init(&r->fetched, r->flight.worker->config->max_request_memory_bytes);
    return store_get_events(s, r->flight.caller.owner, r->want.id, from, &r->fetched, &r->events,
                            reterr);
}

static void on_fetched(void *arg, const struct err *failure)
{
    struct reader *r = arg;
    const size_t weight = r->fetched.used;
    struct err e;

    r->flight.n_tasks--;
    if (failure == NULL && !is_under_way(&r->events) && str_is_none(r->events.response.cuts)) {
        explain_no_events(r, &e);
        failure = &e;
    }
    if (failure == NULL && flight_has_client(&r->flight))
        flight_work(&r->flight, weight, read_fetched, on_read);
    else
        on_read(r, failure);
    flight_free_if_over(&r->flight);
}

int reader_load(struct reader *r, struct err *reterr)
{
    struct store *store = r->flight.worker->store;

    if (store_refuses(store, STORE_READ, reterr))
        return -1;
    r->is_loading = true;
    r->flight.n_tasks++;
    r->task = (struct store_task){.access = STORE_READ,
                                  .purpose = STORE_FOR_GET,
                                  .work = fetch,
                                  .done = on_fetched,
                                  .arg = r,
                                  .loop = r->flight.worker->loop};
    store_start(store, &r->task);
    return 0;
}

/* ---- events of what is loaded */

enum running_outcome reader_fill(struct reader *r)
{
    buf_reset(&r->ask.out);
    return running_fill(&r->ask, &r->restore.response, UINT64_MAX);
}

bool reader_has_more(const struct reader *r)
{
    return r->events.has_more;
}

void reader_forget(struct reader *r)
{
    fini_response(r);
    arena_fini(&r->fetched);
}
