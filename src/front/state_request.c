/* state_request.c -- the way of a request to the store and back. */
#include "front/state_request.h"

#include <stdlib.h>

#include "access/api_key.h"
#include "base/budget.h"
#include "ev/log.h"
#include "flight/request_body.h"
#include "flight/worker.h"
#include "json/json_write.h"

struct state_job {
    struct state_request request;
    const struct state_call *call;
    struct store_task task;
    struct caller caller;
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
    log_line(str_is_none(warning) ? LOG_INFO : LOG_WARN, "state",
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
    const struct http_header type = {STR("content-type"), STR("application/json")};

    if (failure != NULL)
        http_exchange_respond_error(job->x, failure, NULL, 0);
    else if (job->request.out.len < WORKER_LARGE_BYTES)
        http_exchange_respond(job->x, 200, &type, 1, buf_str(&job->request.out));
    else
        http_exchange_respond_taken(job->x, 200, &type, 1, &job->request.out);
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

static int run_work(struct store_session *s, void *arg, struct err *reterr)
{
    struct state_job *job = arg;
    struct state_request *q = &job->request;
    enum budget_use before = budget_use_for(BUDGET_NEW_WORK);
    int rc;

    buf_reset(&q->out);
    rc = job->call->work(s, q, reterr);
    (void)budget_use_for(before);
    if (rc == -1)
        return -1;
    return buf_failed(&q->out) ? err_set_no_memory(reterr) : 0;
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
    return job->call->read == NULL ? 0 : job->call->read(&job->request, body, reterr);
}

/* A store that is full may still delete, which is how it gets space again. */
static bool is_refused(const struct state_job *job, struct err *reterr)
{
    bool deletes = str_eq(job->http->method, STR("DELETE"));

    return store_refuses(job->request.worker->store, deletes ? STORE_READ : job->call->access,
                         reterr);
}

static int start_work(struct state_job *job, struct err *reterr)
{
    if (is_refused(job, reterr))
        return -1;
    job->task = (struct store_task){.access = job->call->access,
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

static int job_start(struct state_job *job, const struct path_ids *ids, struct err *reterr)
{
    struct state_request *q = &job->request;
    const bool is_large =
        job->call->has_body && request_body_weight(job->http) >= WORKER_LARGE_BYTES;

    if (!path_ids_decode(ids, &q->arena, q->ids) ||
        !query_read(job->http->query, &q->arena, &q->query))
        return err_set_no_memory(reterr);
    if (is_large)
        read_large(job);
    else if (job_read(job, job->x, reterr) == -1 || start_work(job, reterr) == -1)
        return -1;
    http_exchange_watch(job->x, &exchange_handler, job);
    return 0;
}

void state_request_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                         const struct caller *caller, const struct path_ids *ids,
                         const struct state_call *call)
{
    struct state_job *job = malloc(sizeof(*job));
    struct err e;

    if (job == NULL) {
        err_set_no_memory(&e);
        http_exchange_respond_error(x, &e, NULL, 0);
        return;
    }
    *job = (struct state_job){.request = {.worker = w, .owner = caller->owner},
                              .call = call,
                              .caller = *caller,
                              .x = x,
                              .http = r,
                              .request_id = http_exchange_request_id(x),
                              .start_ms = loop_now_ms(w->loop)};
    arena_init(&job->request.arena, w->config->max_request_memory_bytes);
    if (job_start(job, ids, &e) == -1)
        job_end(job, &e);
}
