/* state_request.c -- the way of a request to the store and back. */
#include "front/state_request.h"

#include <stdlib.h>

#include "access/api_key.h"
#include "base/budget.h"
#include "ev/log.h"
#include "ev/sha256.h"
#include "flight/request_body.h"
#include "flight/worker.h"
#include "front/idempotency_key.h"
#include "json/json_write.h"
#include "response/poll_after.h"
#include "store/store_idempotency.h"

struct state_job {
    struct state_request request;
    const struct state_call *call;
    struct store_task task;
    struct caller caller;
    struct store_key key; /* of key STR_NONE: it came without one */
    unsigned char body_hash[SHA256_BYTES];
    bool heeds_key;
    bool is_replay;                  /* the answer was given before */
    struct http_exchange *x;         /* NULL: the client has left */
    const struct http_request *http; /* lives as long as x, and so does request_id */
    str request_id;
    uint64_t start_ms;

    struct http_exchange *held; /* while it is read elsewhere; else NULL */
    struct loop_job reading;    /* of that, like the next two */
    int rc;
    struct err error;
};

static void job_free(struct state_job *job)
{
    buf_fini(&job->request.out);
    arena_fini(&job->request.arena);
    free(job);
}

/* What is worth a warning: failures of ours. The message of another may quote the client. */
static str own_words(const struct err *failure)
{
    bool is_ours = failure != NULL && err_http_status(failure) >= 500;

    return is_ours ? str_from_c(failure->msg) : STR_NONE;
}

static void log_end(const struct state_job *job, const char *outcome, str warning)
{
    log_line(str_is_none(warning) ? LOG_DEBUG : LOG_WARN, "state",
             (struct log_field[]){
                 LOG_STR("request_id", job->request_id), LOG_STR("method", job->http->method),
                 LOG_PATH("path", job->http->path), LOG_STR("outcome", str_from_c(outcome)),
                 LOG_STR("message", warning),
                 LOG_INT("total_ms", loop_now_ms(job->request.worker->loop) - job->start_ms),
                 LOG_STR("owner", job->caller.name), LOG_END});
}

/* ---- the end */

static void respond(struct state_job *job, const struct err *failure)
{
    struct http_header head[3] = {{STR("content-type"), STR("application/json")}};
    size_t n_head = 1;

    if (!str_is_none(job->request.poll_after))
        head[n_head++] = (struct http_header){STR(POLL_AFTER_HEADER), job->request.poll_after};
    if (job->is_replay)
        head[n_head++] = idempotency_key_replayed();
    if (failure != NULL)
        http_exchange_respond_error(job->x, failure, NULL, 0);
    else if (job->request.out.len < WORKER_LARGE_BYTES)
        http_exchange_respond(job->x, 200, head, n_head, buf_str(&job->request.out));
    else
        http_exchange_respond_taken(job->x, 200, head, n_head, &job->request.out);
}

static void job_end(struct state_job *job, const struct err *failure)
{
    struct err e;

    if (failure != NULL && job->request.arena.is_full) {
        err_set(&e, ERR_REQUEST_TOO_LARGE,
                "The request or its answer needs more than %zu bytes of memory "
                "(max_request_memory).",
                job->request.worker->config->max_request_memory_bytes);
        failure = &e;
    }
    if (job->x != NULL) {
        log_end(job, failure == NULL ? "answered" : err_wire_code(failure), own_words(failure));
        respond(job, failure);
    }
    job_free(job);
}

/* ---- the work */

static int run_call(struct store_session *s, struct state_job *job, struct err *reterr)
{
    struct state_request *q = &job->request;

    if (job->call->work(s, q, reterr) == -1)
        return -1;
    return buf_failed(&q->out) ? err_set_no_memory(reterr) : 0;
}

/* The key, what the call writes and the answer are one transaction, so nobody ever finds a key that is held
 * for a call. */
static int run_keyed(struct store_session *s, struct state_job *job, struct err *reterr)
{
    struct state_request *q = &job->request;
    struct store_answer a;

    job->is_replay = false; /* it may be the second run */
    if (store_begin_key(s, &job->key, &q->arena, &a, reterr) == -1)
        return -1;
    switch (a.state) {
    case STORE_KEY_BEGUN:
        return run_call(s, job, reterr) == -1
                   ? -1
                   : store_finish_key(s, job->key.lock, 200, buf_str(&q->out), reterr);
    case STORE_KEY_FINISHED:
        job->is_replay = true;
        buf_append(&q->out, a.body);
        return buf_failed(&q->out) ? err_set_no_memory(reterr) : 0;
    case STORE_KEY_OTHER_BODY:
        return idempotency_key_reject(reterr);
    case STORE_KEY_HERE:
    case STORE_KEY_ELSEWHERE:
        break;
    }
    err_set(reterr, ERR_OVERLOADED,
            "A request with the same Idempotency-Key is being answered. Please try again.");
    return -1;
}

static int run_work(struct store_session *s, void *arg, struct err *reterr)
{
    struct state_job *job = arg;
    struct state_request *q = &job->request;
    enum budget_use before = budget_use_for(BUDGET_NEW_WORK);
    int rc;

    buf_reset(&q->out);
    rc = str_is_none(job->key.key) ? run_call(s, job, reterr) : run_keyed(s, job, reterr);
    (void)budget_use_for(before);
    return rc;
}

void state_write_deleted(struct state_request *q, str object)
{
    struct jw w = jw_to(&q->out);

    jw_object(&w);
    jw_key_string(&w, "id", q->ids[0]);
    jw_key_string(&w, "object", object);
    jw_key_bool(&w, "deleted", true);
    jw_object_end(&w);
}

static void on_done(void *arg, const struct err *failure)
{
    job_end(arg, failure);
}

static void on_gone(void *arg)
{
    struct state_job *job = arg;

    log_end(job, "client_gone", STR_NONE);
    job->x = NULL;
}

/* The answer leaves at once, so nothing can be held back. */
static void on_blocked(void *arg, bool blocked)
{
    (void)arg;
    (void)blocked;
}

static const struct http_exchange_handler exchange_handler = {on_gone, on_blocked};

/* ---- the beginning */

static int job_read(struct state_job *job, struct http_exchange *x, struct err *reterr)
{
    str body = STR("");

    if (job->call->has_body && http_exchange_body(x, &body, reterr) == -1)
        return -1;
    if (!str_is_none(job->key.key) && !sha256(body, job->body_hash))
        return err_set_no_memory(reterr);
    return job->call->read == NULL ? 0 : job->call->read(&job->request, body, reterr);
}

/* A store that is full may still delete, which is how it gets space again. */
static bool is_refused(const struct state_job *job, struct err *reterr)
{
    bool deletes = str_eq(job->http->method, STR("DELETE"));

    return store_refuses(job->request.worker->store, deletes ? STORE_READ : job->call->access,
                         reterr);
}

/* True when it has been answered, and is gone. */
static bool answer_at_once(struct state_job *job)
{
    struct state_request *q = &job->request;

    if (job->call->answer == NULL || !job->call->answer(q) || buf_failed(&q->out))
        return false;
    log_end(job, "polled", STR_NONE);
    respond(job, NULL);
    job_free(job);
    return true;
}

static int start_work(struct state_job *job, struct err *reterr)
{
    if (is_refused(job, reterr))
        return -1;
    job->task = (struct store_task){
        .access = job->call->access,
        .purpose = job->call->access == STORE_READ ? STORE_FOR_LIST : STORE_FOR_CONVERSATION,
        .work = run_work,
        .done = on_done,
        .arg = job,
        .loop = job->request.worker->loop};
    store_start(job->request.worker->store, &job->task);
    return 0;
}

static void read_elsewhere(void *arg)
{
    struct state_job *job = arg;

    job->rc = job_read(job, job->held, &job->error);
}

static void on_read_elsewhere(void *arg)
{
    struct state_job *job = arg;

    http_exchange_release(job->held);
    job->held = NULL;
    if (job->x == NULL)
        job_free(job);
    else if (job->rc == -1 || start_work(job, &job->error) == -1)
        job_end(job, &job->error);
}

static void read_large(struct state_job *job)
{
    job->held = job->x;
    http_exchange_hold(job->held);
    job->reading = (struct loop_job){.work = read_elsewhere, .done = on_read_elsewhere, .arg = job};
    loop_offload(job->request.worker->loop, &job->reading);
}

/* The texts are copied: the store reads them when the client may have left. */
static int read_key(struct state_job *job, struct err *reterr)
{
    struct state_request *q = &job->request;
    const struct id lock = id_make(&q->worker->ids, "key_", ID_RANDOM_CHARS);
    str key = STR_NONE;

    job->key = (struct store_key){.key = STR_NONE};
    if (job->heeds_key && idempotency_key_read(job->http, &key, reterr) == -1)
        return -1;
    if (str_is_none(key))
        return 0;
    job->key = (struct store_key){
        .owner = q->owner,
        .path = arena_dup(&q->arena, job->http->path),
        .key = arena_dup(&q->arena, key),
        .sha256 = str_from((const char *)job->body_hash, sizeof(job->body_hash)),
        .lock = arena_dup(&q->arena, id_str(&lock)),
    };
    if (!str_is_none(job->key.path) && !str_is_none(job->key.key) && !str_is_none(job->key.lock))
        return 0;
    return err_set_no_memory(reterr);
}

static int job_start(struct state_job *job, const struct path_ids *ids, struct err *reterr)
{
    struct state_request *q = &job->request;
    const bool is_large =
        job->call->has_body && request_body_weight(job->http) >= WORKER_LARGE_BYTES;

    if (!path_ids_decode(ids, &q->arena, q->ids) ||
        !query_read(job->is_replay ? STR("") : job->http->query, &q->arena, &q->query))
        return err_set_no_memory(reterr);
    if (read_key(job, reterr) == -1)
        return -1;
    if (!is_large && job_read(job, job->x, reterr) == -1)
        return -1;
    if (answer_at_once(job))
        return 0;
    if (is_large)
        read_large(job);
    else if (start_work(job, reterr) == -1)
        return -1;
    http_exchange_watch(job->x, &exchange_handler, job);
    return 0;
}

static void start_job(struct worker *w, struct http_exchange *x, const struct http_request *r,
                      const struct caller *caller, const struct path_ids *ids,
                      const struct state_call *call, bool heeds_key, bool is_replay)
{
    struct state_job *job = malloc(sizeof(*job));
    struct err e;

    if (job == NULL) {
        err_set_no_memory(&e);
        http_exchange_respond_error(x, &e, NULL, 0);
        return;
    }
    *job =
        (struct state_job){.request = {.worker = w, .owner = caller->owner, .poll_after = STR_NONE},
                           .call = call,
                           .caller = *caller,
                           .x = x,
                           .http = r,
                           .request_id = http_exchange_request_id(x),
                           .start_ms = loop_now_ms(w->loop),
                           .heeds_key = heeds_key,
                           .is_replay = is_replay};
    arena_init(&job->request.arena, w->config->max_request_memory_bytes);
    if (job_start(job, ids, &e) == -1)
        job_end(job, &e);
}

void state_request_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                         const struct caller *caller, const struct path_ids *ids,
                         const struct state_call *call)
{
    start_job(w, x, r, caller, ids, call, false, false);
}

void state_request_start_keyed(struct worker *w, struct http_exchange *x,
                               const struct http_request *r, const struct caller *caller,
                               const struct path_ids *ids, const struct state_call *call)
{
    start_job(w, x, r, caller, ids, call, true, false);
}

void state_request_replay(struct worker *w, struct http_exchange *x, const struct http_request *r,
                          const struct caller *caller, const struct path_ids *ids,
                          const struct state_call *call)
{
    start_job(w, x, r, caller, ids, call, false, true);
}
