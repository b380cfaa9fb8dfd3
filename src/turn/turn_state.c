/* turn_state.c -- what a turn reads from the store and leaves there.
 *
 * Before the upstream is asked, what the request refers to is loaded; before the
 * client hears that its response has ended, the response is stored. A task uses
 * the turn's arena and nothing of the exchange, which may be gone before it is
 * done: the turn stays until then. */
#include "base/budget.h"
#include "base/str_map.h"
#include "response/output_result.h"
#include "store/store_work.h"
#include "turn/stored_item.h"
#include "turn/turn_run.h"
#include "turn/turn_stages.h"

void turn_start_task(struct turn *t, enum store_access access,
                     int (*work)(struct store_session *s, void *arg, struct err *reterr),
                     void (*done)(void *arg, const struct err *failure))
{
    t->flight.n_tasks++;
    t->store_task = (struct store_task){
        .access = access, .work = work, .done = done, .arg = t, .loop = t->flight.worker->loop};
    store_start(t->flight.worker->store, &t->store_task);
}

/* ---- a conversation is locked while a response is made in it, and so is the key of the request */

void turn_hold_key(struct turn *t, str lock)
{
    t->key_lock.len = 0;
    if (str_is_none(lock) || lock.len > ID_BYTES)
        return;
    memcpy(t->key_lock.text, lock.p, lock.len);
    t->key_lock.text[lock.len] = '\0';
    t->key_lock.len = (unsigned char)lock.len;
}

static str held_key(const struct turn *t)
{
    return t->key_lock.len == 0 ? STR_NONE : id_str(&t->key_lock);
}

void turn_unlock(struct turn *t)
{
    if (!str_is_none(t->lock))
        store_release_lock(t->flight.worker->store, t->lock);
    if (t->key_lock.len > 0)
        store_release_lock(t->flight.worker->store, id_str(&t->key_lock));
    t->lock = STR_NONE;
    t->key_lock.len = 0;
}

/* ---- before: what the request refers to */

/* What references come to: each is counted, and an item that is named more than once is
 * loaded once. */
struct loading {
    struct str_map by_id; /* of struct request_history_item */
    size_t n_bytes;
};

static int reject_total(const struct turn *t, struct err *reterr)
{
    const size_t most = t->flight.worker->config->max_request_memory_bytes;

    err_set(reterr, ERR_REQUEST_TOO_LARGE,
            "The items that the request refers to come to more than %zu bytes "
            "(max_request_memory).",
            most);
    return -1;
}

static int find_reference(struct turn *t, struct store_session *s, size_t i,
                          struct loading *loading, struct err *reterr)
{
    struct request_history_item *found = &t->found[i];
    const str id = t->references.v[i].id;
    void **known = str_map_slot(&loading->by_id, id, &t->flight.arena);

    if (known == NULL)
        return err_set_no_memory(reterr);
    if (*known != NULL)
        *found = *(const struct request_history_item *)*known;
    else if (stored_item_find(s, t->flight.caller.owner, id, &t->flight.arena, found, reterr) == -1)
        return -1;
    *known = found;
    loading->n_bytes += found->body.len + found->result.len;
    if (loading->n_bytes > t->flight.worker->config->max_request_memory_bytes)
        return reject_total(t, reterr);
    return 0;
}

static int find_references(struct turn *t, struct store_session *s, struct err *reterr)
{
    struct loading loading = {.n_bytes = 0};

    str_map_init(&loading.by_id, &t->flight.worker->ids);
    for (size_t i = 0; i < t->references.n; i++) {
        if (find_reference(t, s, i, &loading, reterr) == -1)
            return -1;
    }
    return 0;
}

static int load_previous(struct turn *t, struct store_session *s, struct err *reterr)
{
    struct err e;

    if (store_load_history(s, t->flight.caller.owner, t->previous_id, &t->flight.arena, &t->history,
                           &e) == 0)
        return 0;
    if (e.code == ERR_PREVIOUS_NOT_FOUND && t->dialect == RESPONSE_DIALECT_ORS) {
        t->previous_id = t->request.previous_response_id = STR_NONE; /* CONTRACT 4.9: ignored */
        return 0;
    }
    *reterr = e;
    return -1;
}

static bool locks_conversation(const struct turn *t)
{
    return !str_is_none(t->request.conversation_id) && !t->is_count && t->run == NULL;
}

/* What is only counted may be read while a response is made of it; work in the background has locked it when
 * it was accepted. */
static int load_conversation(struct turn *t, struct store_session *s, struct err *reterr)
{
    const str owner = t->flight.caller.owner;

    if (!locks_conversation(t))
        return store_load_conversation(s, owner, t->conversation_id, &t->flight.arena, &t->history,
                                       reterr);
    return store_lock_conversation(s, owner, t->conversation_id, t->lock_name, &t->flight.arena,
                                   &t->history, reterr);
}

static int load_all(struct turn *t, struct store_session *s, struct err *reterr)
{
    t->history = (struct store_history){.tail = STR_NONE};
    if (!str_is_none(t->previous_id) && t->before == NULL && load_previous(t, s, reterr) == -1)
        return -1;
    if (!str_is_none(t->conversation_id) && load_conversation(t, s, reterr) == -1)
        return -1;
    return find_references(t, s, reterr);
}

static int load_work(struct store_session *s, void *arg, struct err *reterr)
{
    enum budget_use before = budget_use_for(BUDGET_NEW_WORK);
    int rc = load_all(arg, s, reterr);

    (void)budget_use_for(before);
    return rc;
}

/* A failure to load, in the words of the request. */
static void explain_failure(const struct turn *t, const struct err *failure, struct err *ret)
{
    *ret = *failure;
    if (failure->code == ERR_PREVIOUS_NOT_FOUND)
        (void)request_reject_previous(&t->request, ret);
    else if (failure->code == ERR_NOT_FOUND)
        (void)request_reject_conversation(&t->request, ret);
    else if (failure->code == ERR_CONVERSATION_LOCKED)
        err_set_param(ret, ERR_CONVERSATION_LOCKED, "conversation",
                      "Another response is being made in this conversation. Please try again "
                      "when it has ended.");
}

static void on_loaded(void *arg, const struct err *failure)
{
    struct turn *t = arg;

    t->flight.n_tasks--;
    if (failure == NULL && locks_conversation(t))
        t->lock = t->lock_name;
    t->failure = turn_keep_failure(&t->kept, failure);
    turn_wake(&t->flight);
}

int turn_start_loading(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    const struct id lock = id_make(&t->flight.worker->ids, "lock_", ID_RANDOM_CHARS);

    t->lock_name = arena_dup(&t->flight.arena, id_str(&lock));
    if (str_is_none(t->lock_name))
        return err_set_no_memory(reterr);
    turn_start_task(t, locks_conversation(t) ? STORE_WRITE : STORE_READ, load_work, on_loaded);
    return 0;
}

enum turn_next turn_await_loaded(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    if (t->flight.n_tasks > 0)
        return TURN_WAIT;
    if (t->failure == NULL)
        return TURN_GO;
    explain_failure(t, t->failure, reterr);
    return TURN_FAIL;
}

/* ---- after: the response */

static int save_work(struct store_session *s, void *arg, struct err *reterr)
{
    struct turn *t = arg;

    if (t->run != NULL)
        return store_finish_work(s, t->flight.caller.owner, &t->record, &t->run->wish, reterr);
    return store_save_response(s, t->flight.caller.owner, &t->record, reterr);
}

static void on_saved(void *arg, const struct err *failure)
{
    struct turn *t = arg;

    t->flight.n_tasks--;
    if (failure == NULL)
        t->lock = STR_NONE; /* saving has unlocked it */
    if (failure == NULL && !str_is_none(t->record.idempotency_lock))
        t->key_lock.len = 0; /* the same */
    t->failure = turn_keep_failure(&t->kept, failure);
    turn_wake(&t->flight);
}

/* A turn that stores nothing: others are to find the conversation free. */
static int release_work(struct store_session *s, void *arg, struct err *reterr)
{
    const struct turn *t = arg;

    return store_unlock_conversation(s, t->lock, reterr);
}

/* Unlocking that has failed is no matter of the client's: it is done as soon as it can be. */
static void on_released(void *arg, const struct err *failure)
{
    if (failure != NULL)
        turn_unlock(arg);
    on_saved(arg, NULL);
}

static enum store_status status_of(const struct response *r)
{
    switch (r->status) {
    case RESPONSE_INCOMPLETE:
        return STORE_INCOMPLETE;
    case RESPONSE_FAILED:
        return STORE_FAILED;
    case RESPONSE_CANCELLED:
        return STORE_CANCELLED;
    case RESPONSE_QUEUED:
        return STORE_QUEUED;
    case RESPONSE_IN_PROGRESS:
    case RESPONSE_COMPLETED:
        break;
    }
    return STORE_COMPLETED;
}

/* Of what fails without a stream the client never learns an id. */
static bool is_kept(const struct turn *t)
{
    return t->request.store &&
           (t->is_begun || t->run != NULL || t->response.status != RESPONSE_FAILED);
}

/* A copy of what a function has written into buf, which is emptied. */
static str keep_text(struct turn *t, struct buf *buf)
{
    str kept = buf_failed(buf) ? STR_NONE : arena_dup(&t->kept, buf_str(buf));

    buf_reset(buf);
    return kept;
}

static bool keep_output_item(struct turn *t, const struct output_item *o, struct store_items *items,
                             struct buf *buf)
{
    struct store_item *item = &items->v[items->n++];

    output_item_write(o, buf);
    *item = (struct store_item){.id = arena_dup(&t->kept, id_str(&o->id)),
                                .body = keep_text(t, buf),
                                .is_output = true,
                                .is_hidden = o->is_hidden};
    return !str_is_none(item->id) && !str_is_none(item->body);
}

/* The result that the model was told stands behind what is shown of it. */
static bool keep_result(struct turn *t, const struct output_item *o, struct store_items *items,
                        struct buf *buf)
{
    struct store_item *item = &items->v[items->n++];

    output_result_write(o, buf);
    *item = (struct store_item){.id = item_result_id(id_str(&o->id), &t->kept),
                                .body = keep_text(t, buf),
                                .is_output = true,
                                .is_hidden = true};
    return !str_is_none(item->id) && !str_is_none(item->body);
}

static bool keep_output(struct turn *t, struct store_items *items, struct buf *buf)
{
    for (const struct output_item *o = t->response.first; o != NULL; o = o->next) {
        if (!keep_output_item(t, o, items, buf) ||
            (output_result_exists(o) && !keep_result(t, o, items, buf)))
            return false;
    }
    return true;
}

/* Where nothing is stored, what a reference means stands in its place. */
static bool refer_to_found(struct turn *t, const struct request_history_item *found,
                           struct store_item *ret)
{
    *ret = (struct store_item){.id = found->id, .is_reference = true};
    if (is_kept(t))
        return true;
    *ret = (struct store_item){.id = arena_dup(&t->kept, found->id),
                               .body = arena_dup(&t->kept, found->body),
                               .is_output = found->is_output};
    return !str_is_none(ret->id) && !str_is_none(ret->body);
}

static bool refer_to_result(struct turn *t, const struct request_history_item *found,
                            struct store_item *ret)
{
    if (stored_item_refer_to_result(found, &t->kept, ret, NULL) == -1)
        return false;
    if (is_kept(t))
        return true;
    ret->is_reference = false;
    ret->is_output = true;
    ret->body = arena_dup(&t->kept, found->result);
    return !str_is_none(ret->body);
}

/* What came without its output, and is stored with it, is not stored again without; what is
 * hidden beside it has to be referred to as well. References come in the order of the input. */
static bool keep_input(struct turn *t, const struct kept_items *input, struct store_items *items)
{
    const struct request_references *refs = &t->references;
    size_t k = 0;

    for (size_t i = 0; i < input->n; i++) {
        struct store_item *item = &items->v[items->n++];
        const struct request_history_item *found = NULL;

        *item = (struct store_item){.id = input->v[i].id,
                                    .body = input->v[i].body,
                                    .is_reference = input->v[i].is_reference};
        if (k < refs->n && refs->v[k].index == i)
            found = &t->found[k++];
        if (found == NULL || str_is_none(found->body))
            continue;
        if (!refer_to_found(t, found, item))
            return false;
        if (!str_is_none(found->result) && !refer_to_result(t, found, &items->v[items->n++]))
            return false;
    }
    return true;
}

static size_t count_output(const struct response *r)
{
    size_t n = 0;

    for (const struct output_item *o = r->first; o != NULL; o = o->next)
        n++;
    return n;
}

/* What stands before the request's items is stored already, or a context has it, or it is kept with
 * them: when only one of the two can be continued without it. */
static bool keeps_before(const struct turn *t)
{
    return is_kept(t) == (t->before != NULL);
}

static bool keep_before(struct turn *t, struct store_items *items)
{
    if (!keeps_before(t))
        return true;
    if (!is_kept(t))
        return turn_keep_history(t, items);
    turn_record_history(t, items);
    return true;
}

int turn_keep_items(struct turn *t, unsigned which, struct store_items *items, struct err *reterr)
{
    const bool keeps_input = (which & TURN_INPUT) != 0, keeps_output = (which & TURN_OUTPUT) != 0;
    struct kept_items input = {.n = 0};
    struct buf buf = {.limit = 0};
    size_t n;
    bool ok;

    if (keeps_input &&
        kept_items_make(t->request.input, &t->flight.worker->ids, &t->kept, &input, reterr) == -1)
        return -1;
    n = 2 * (input.n + count_output(&t->response)) + 1; /* each with its result */
    if (keeps_before(t))
        n += t->history.items.n;
    items->v = arena_array(&t->kept, n, sizeof(*items->v));
    ok = items->v != NULL &&
         (!keeps_input || (keep_before(t, items) && keep_input(t, &input, items))) &&
         (!keeps_output || keep_output(t, items, &buf));
    buf_fini(&buf);
    if (!ok)
        err_set_no_memory(reterr);
    return ok ? 0 : -1;
}

/* Everything, or as much as has changed since the response was accepted. */
static int keep_response(struct turn *t, unsigned which, struct err *reterr)
{
    struct store_response *r = &t->record;
    struct buf buf = {.limit = 0};

    *r = (struct store_response){
        .id = id_str(&t->response.id),
        .parent_id = t->before == NULL ? t->previous_id : STR_NONE, /* unknown to the store */
        .conversation_id = t->conversation_id,
        .lock = t->run == NULL ? t->lock : t->run->work.lock,
        .status = status_of(&t->response),
        .created_at = t->response.conf.created_at,
        .cuts = turn_kept_cuts(t),
        .idempotency_lock = held_key(t),
    };
    response_object_head(&t->response, &buf);
    r->head = keep_text(t, &buf);
    response_object_tail(&t->response, &buf);
    r->tail = keep_text(t, &buf);
    buf_fini(&buf);
    if (str_is_none(r->head) || str_is_none(r->tail))
        return err_set_no_memory(reterr);
    return turn_keep_items(t, which, &r->items, reterr);
}

int turn_compose_queued(struct turn *t, struct err *reterr)
{
    return keep_response(t, TURN_INPUT, reterr);
}

size_t turn_record_weight(const void *arg)
{
    const struct turn *t = arg;

    return is_kept(t) || turn_leaves_context(t) ? turn_weight(t) : 0;
}

/* What cannot be written down is told in t->failure: that the response has ended, it has. */
int turn_compose_record(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    const unsigned which = t->run == NULL ? TURN_INPUT | TURN_OUTPUT : TURN_OUTPUT;
    struct err e;

    (void)reterr;
    t->failure = NULL;
    if (turn_leaves_context(t))
        turn_compose_context(t);
    if (!is_kept(t) || keep_response(t, which, &e) == 0)
        return 0;
    turn_explain_size(t, &e);
    t->failure = turn_keep_failure(&t->kept, &e);
    return 0;
}

enum turn_next turn_await_row(void *arg, struct err *reterr)
{
    const struct turn *t = arg;

    (void)reterr;
    return turn_journal_is_busy(t->run) ? TURN_WAIT : TURN_GO;
}

int turn_start_saving(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    (void)reterr;
    if (t->failure == NULL && is_kept(t))
        turn_start_task(t, STORE_WRITE, save_work, on_saved);
    else if (t->failure == NULL && !str_is_none(t->lock))
        turn_start_task(t, STORE_WRITE, release_work, on_released);
    return 0;
}

void turn_save_again(struct turn *t)
{
    t->failure = NULL;
    turn_start_task(t, STORE_WRITE, save_work, on_saved);
}

/* The conversation is free before the client has the answer, which may come back to it at once, by way of
 * another worker. */
enum turn_next turn_await_saved(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    (void)reterr;
    if (t->flight.n_tasks > 0 || !flight_has_client(&t->flight))
        return TURN_WAIT;
    t->not_stored = t->failure;
    if (t->run != NULL)
        return turn_run_saves_again(t) ? TURN_WAIT
                                       : TURN_GO; /* which tells its owner of t->failure */
    if (t->failure != NULL && t->flight.worker->config->store_failure == CONFIG_STORE_FAILURE_FAIL)
        response_fail(&t->response, t->failure, turn_out(t));
    turn_unlock(t);
    return TURN_GO;
}
