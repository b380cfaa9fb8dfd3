/* container_routes.c -- a request becomes a task of the sandboxes, its outcome the answer. */
#include "front/container_routes.h"

#include <stdlib.h>

#include "access/api_key.h"
#include "base/num.h"
#include "conv/fields.h"
#include "flight/builtin_tools.h"
#include "flight/worker.h"
#include "front/state_list.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "sandbox/sandbox.h"
#include "wire/tools/hosted_tool.h"

struct container_job {
    struct worker *worker;
    struct http_exchange *x;
    struct arena arena;
    str ids[PATH_MAX_IDS];
    struct store_page page; /* of a list */
    str name;               /* of containers to list; STR_NONE: any */
    struct sandbox_task *task;
    str owner;            /* who has entered (sandbox_files_enter()); STR_NONE: nobody */
    struct buf body;      /* that is written piece by piece */
    size_t written_bytes; /* of it */
    struct loop_timer *timer;
    /* Writes the answer; returns 0, or -1 with *reterr filled. */
    int (*write)(struct container_job *job, const struct sandbox_outcome *o, struct buf *out,
                 struct err *reterr);
    str content_type;
};

/* ---- the end */

static void job_free(struct container_job *job)
{
    if (!str_is_none(job->owner))
        sandbox_files_leave(job->worker->builtin->sandboxes, job->owner);
    loop_timer_free(job->timer);
    buf_fini(&job->body);
    arena_fini(&job->arena);
    free(job);
}

/* Of a large answer one piece leaves at a turn of the loop, and none while the client does not read:
 * so the loop is not held, and who reads slowly keeps its place among the requests for files. */
enum { PIECE_BYTES = 256 * 1024, PAUSE_MS = 1 /* with 0 the loop does nothing else */ };

static void write_piece(void *arg)
{
    struct container_job *job = arg;
    str rest = str_skip(buf_str(&job->body), job->written_bytes);

    if (rest.len <= PIECE_BYTES) {
        http_exchange_end(job->x, rest);
        job_free(job);
        return;
    }
    http_exchange_write(job->x, str_from(rest.p, PIECE_BYTES));
    job->written_bytes += PIECE_BYTES;
    loop_timer_start(job->timer, PAUSE_MS);
}

/* The job is gone when all is written. */
static void job_succeed(struct container_job *job)
{
    const struct http_header headers[] = {{STR("content-type"), job->content_type},
                                          {STR("x-content-type-options"), STR("nosniff")}};

    job->task = NULL;
    if (job->body.len > PIECE_BYTES)
        job->timer = loop_timer_new(job->worker->loop, write_piece, job);
    if (job->timer != NULL) {
        http_exchange_start(job->x, 200, headers, 2);
        write_piece(job);
        return;
    }
    http_exchange_respond(job->x, 200, headers, 2, buf_str(&job->body));
    job_free(job);
}

/* So is it after this. */
static void job_fail(struct container_job *job, const struct err *e)
{
    http_exchange_respond_error(job->x, e, NULL, 0);
    job_free(job);
}

static void on_gone(void *arg)
{
    struct container_job *job = arg;

    if (job->task != NULL)
        sandbox_cancel(job->task);
    job_free(job);
}

/* Only a large answer can be held back. */
static void on_blocked(void *arg, bool blocked)
{
    struct container_job *job = arg;

    if (job->timer == NULL)
        return;
    if (blocked)
        loop_timer_stop(job->timer);
    else
        loop_timer_start(job->timer, PAUSE_MS);
}

static const struct http_exchange_handler exchange_handler = {on_gone, on_blocked};

static int explain_outcome(const struct container_job *job, const struct sandbox_outcome *o,
                           struct err *reterr)
{
    switch (o->failure) {
    case SANDBOX_OK:
        return 0;
    case SANDBOX_NOT_FOUND:
        err_set(reterr, ERR_NOT_FOUND,
                "Container '%.*s' was not found. It may have expired: containers that are not used "
                "are removed, with their files.",
                STR_ARG(job->ids[0]));
        break;
    case SANDBOX_NO_FILE:
        err_set(reterr, ERR_NOT_FOUND, "File '%.*s' was not found in container '%.*s'.",
                STR_ARG(job->ids[1]), STR_ARG(job->ids[0]));
        break;
    case SANDBOX_BUSY:
        err_set(reterr, ERR_RATE_LIMIT,
                "This API key has as many requests for files of containers under way as it may "
                "(code_file_requests_per_client). Try again when one has been answered.");
        break;
    case SANDBOX_FULL:
        err_set(reterr, ERR_OVERLOADED, "%.*s", STR_ARG(o->message));
        break;
    case SANDBOX_TOO_LARGE:
        err_set(reterr, ERR_REQUEST_TOO_LARGE, "%.*s", STR_ARG(o->message));
        break;
    case SANDBOX_TIMED_OUT:
    case SANDBOX_DIED:
    case SANDBOX_BROKEN:
        err_set(reterr, ERR_INTERNAL, "%.*s", STR_ARG(o->message));
        break;
    }
    return -1;
}

static void on_done(void *arg, const struct sandbox_outcome *outcome)
{
    struct container_job *job = arg;
    struct err e;

    if (explain_outcome(job, outcome, &e) == -1 || job->write(job, outcome, &job->body, &e) == -1) {
        job_fail(job, &e);
    } else if (buf_failed(&job->body)) {
        err_set_no_memory(&e);
        job_fail(job, &e);
    } else {
        job_succeed(job);
    }
}

/* ---- objects */

static void write_container(const struct sandbox_container *c, struct jw *w)
{
    jw_object(w);
    jw_key_string(w, "id", c->id);
    jw_key_string(w, "object", STR("container"));
    jw_key_string(w, "name", c->name);
    jw_key_int(w, "created_at", c->created_at);
    jw_key_int(w, "last_active_at", c->last_active_at);
    jw_key_string(w, "status", STR("running"));
    jw_key(w, "expires_after");
    jw_object(w);
    jw_key_string(w, "anchor", STR("last_active_at"));
    jw_key_int(w, "minutes", (int64_t)((c->idle_ms + 59999) / 60000));
    jw_object_end(w);
    jw_object_end(w);
}

static void write_file(const struct container_job *job, const struct sandbox_file *f, struct jw *w)
{
    jw_object(w);
    jw_key_string(w, "id", f->id);
    jw_key_string(w, "object", STR("container.file"));
    jw_key_string(w, "container_id", job->ids[0]);
    jw_key_string(w, "path", f->path);
    jw_key_int(w, "bytes", (int64_t)f->bytes);
    jw_key_int(w, "created_at", f->modified_at);
    jw_key_string(w, "source", STR("assistant"));
    jw_object_end(w);
}

static int answer_container(struct container_job *job, const struct sandbox_outcome *o,
                            struct buf *out, struct err *reterr)
{
    struct jw w = jw_to(out);

    (void)job;
    (void)reterr;
    write_container(&o->containers[0], &w);
    return 0;
}

static int answer_deleted(struct container_job *job, const struct sandbox_outcome *o,
                          struct buf *out, struct err *reterr)
{
    struct jw w = jw_to(out);

    (void)o;
    (void)reterr;
    jw_object(&w);
    jw_key_string(&w, "id", job->ids[0]);
    jw_key_string(&w, "object", STR("container.deleted"));
    jw_key_bool(&w, "deleted", true);
    jw_object_end(&w);
    return 0;
}

/* ---- lists: what there is is little, and all of it known; a page is cut out of it */

struct listed {
    const struct sandbox_outcome *outcome;
    size_t n;
    str (*id)(const struct sandbox_outcome *o, size_t i);
    void (*write)(const struct container_job *job, const struct sandbox_outcome *o, size_t i,
                  struct jw *w);
};

/* The place of the i-th of the list, in the order that is asked for. */
static size_t place(const struct container_job *job, const struct listed *l, size_t i)
{
    return job->page.ascending ? i : l->n - 1 - i;
}

static int find_start(const struct container_job *job, const struct listed *l, size_t *ret,
                      struct err *reterr)
{
    *ret = 0;
    if (str_is_none(job->page.after))
        return 0;
    for (size_t i = 0; i < l->n; i++) {
        if (str_eq(l->id(l->outcome, place(job, l, i)), job->page.after)) {
            *ret = i + 1;
            return 0;
        }
    }
    err_set_param(reterr, ERR_NOT_FOUND, "after", "Nothing with the id '%.*s' was found.",
                  STR_ARG(job->page.after));
    return -1;
}

static int write_list(const struct container_job *job, const struct listed *l, struct buf *out,
                      struct err *reterr)
{
    struct jw w = jw_to(out);
    size_t start, end;

    if (find_start(job, l, &start, reterr) == -1)
        return -1;
    end = l->n - start > job->page.limit ? start + job->page.limit : l->n;
    jw_object(&w);
    jw_key_string(&w, "object", STR("list"));
    jw_key(&w, "data");
    jw_array(&w);
    for (size_t i = start; i < end; i++)
        l->write(job, l->outcome, place(job, l, i), &w);
    jw_array_end(&w);
    jw_key_string(&w, "first_id", start < end ? l->id(l->outcome, place(job, l, start)) : STR_NONE);
    jw_key_string(&w, "last_id",
                  start < end ? l->id(l->outcome, place(job, l, end - 1)) : STR_NONE);
    jw_key_bool(&w, "has_more", end < l->n);
    jw_object_end(&w);
    return 0;
}

static str container_id(const struct sandbox_outcome *o, size_t i)
{
    return o->containers[i].id;
}

static void write_ith_container(const struct container_job *job, const struct sandbox_outcome *o,
                                size_t i, struct jw *w)
{
    (void)job;
    write_container(&o->containers[i], w);
}

static int answer_containers(struct container_job *job, const struct sandbox_outcome *o,
                             struct buf *out, struct err *reterr)
{
    struct sandbox_container *named = arena_array(&job->arena, o->n_containers + 1, sizeof(*named));
    struct sandbox_outcome wanted = {.containers = named};
    struct listed l = {&wanted, 0, container_id, write_ith_container};

    if (named == NULL)
        return err_set_no_memory(reterr);
    for (size_t i = 0; i < o->n_containers; i++) {
        if (str_is_none(job->name) || str_eq(o->containers[i].name, job->name))
            named[l.n++] = o->containers[i];
    }
    return write_list(job, &l, out, reterr);
}

static str file_id(const struct sandbox_outcome *o, size_t i)
{
    return o->files[i].id;
}

static void write_ith_file(const struct container_job *job, const struct sandbox_outcome *o,
                           size_t i, struct jw *w)
{
    write_file(job, &o->files[i], w);
}

static int answer_files(struct container_job *job, const struct sandbox_outcome *o, struct buf *out,
                        struct err *reterr)
{
    const struct listed l = {o, o->n_files, file_id, write_ith_file};

    return write_list(job, &l, out, reterr);
}

static int answer_file(struct container_job *job, const struct sandbox_outcome *o, struct buf *out,
                       struct err *reterr)
{
    const struct sandbox_outcome missing = {.failure = SANDBOX_NO_FILE};
    struct jw w = jw_to(out);

    for (size_t i = 0; i < o->n_files; i++) {
        if (str_eq(o->files[i].id, job->ids[1])) {
            write_file(job, &o->files[i], &w);
            return 0;
        }
    }
    return explain_outcome(job, &missing, reterr);
}

static int answer_content(struct container_job *job, const struct sandbox_outcome *o,
                          struct buf *out, struct err *reterr)
{
    (void)reterr;
    job->content_type = STR("application/octet-stream");
    buf_append(out, o->content);
    return 0;
}

/* ---- the beginning */

struct container_call {
    enum sandbox_op op;
    bool is_list;
    int (*write)(struct container_job *job, const struct sandbox_outcome *o, struct buf *out,
                 struct err *reterr);
};

struct create_body {
    str name, expires_after, memory_limit, file_ids, network_policy; /* name, limit escaped */
};

static const struct field create_table[] = {
    FIELD(struct create_body, name, FIELD_TEXT),
    FIELD(struct create_body, expires_after, FIELD_OBJECT),
    FIELD(struct create_body, memory_limit, FIELD_TEXT),
    FIELD(struct create_body, file_ids, FIELD_ARRAY),
    FIELD(struct create_body, network_policy, FIELD_OBJECT),
};

struct expiry {
    str anchor, minutes;
};

static const struct field expiry_table[] = {
    FIELD(struct expiry, anchor, FIELD_TEXT),
    FIELD(struct expiry, minutes, FIELD_INTEGER),
};

static int read_expiry(str raw, uint64_t *ret_ms, struct err *reterr)
{
    static const str anchors[] = {STR_INIT("last_active_at")};
    const struct path at = path_member(NULL, STR("expires_after"));
    const struct path anchor_at = path_member(&at, STR("anchor"));
    struct expiry e = {STR_NONE, STR_NONE};
    uint64_t minutes;

    if (str_is_none(raw))
        return 0;
    if (fields_read_raw(raw, FIELDS(expiry_table), &at, &e, reterr) == -1 ||
        check_value(&anchor_at, e.anchor, anchors, 1, reterr) == -1)
        return -1;
    if (!num_uint(str_is_none(e.minutes) ? STR("") : e.minutes, &minutes) || minutes == 0 ||
        minutes > 60 * 24 * 365) {
        err_set_param(reterr, ERR_INVALID_VALUE, "expires_after.minutes",
                      "Invalid 'expires_after.minutes': give a whole number of minutes above 0.");
        return -1;
    }
    *ret_ms = minutes * 60 * 1000;
    return 0;
}

static int read_create(struct container_job *job, struct sandbox_request *request,
                       struct err *reterr)
{
    const struct id id = id_make(&job->worker->ids, "cntr_", ID_RANDOM_CHARS);
    const struct path name_at = path_member(NULL, STR("name"));
    const struct path files_at = path_member(NULL, STR("file_ids"));
    const struct path limit_at = path_member(NULL, STR("memory_limit"));
    struct create_body in = {STR_NONE, STR_NONE, STR_NONE, STR_NONE, STR_NONE};
    str body;

    if (http_exchange_body(job->x, &body, reterr) == -1 ||
        fields_read_body(body, FIELDS(create_table), &in, NULL, reterr) == -1 ||
        read_expiry(in.expires_after, &request->idle_ms, reterr) == -1 ||
        hosted_check_memory(in.memory_limit, &limit_at, reterr) == -1 ||
        builtin_check_network(job->worker->config, in.network_policy, STR_NONE, reterr) == -1)
        return -1;
    if (str_is_none(in.name))
        return reject_missing(&name_at, reterr);
    if (jr_count(in.file_ids) > 0)
        return reject_unsupported(&files_at, reterr);
    request->memory_bytes = builtin_memory_limit(job->worker->config, in.memory_limit);
    request->name = json_text_dup(&job->arena, in.name);
    job->ids[0] = request->container_id = arena_dup(&job->arena, id_str(&id));
    return str_is_none(request->name) || str_is_none(request->container_id)
               ? err_set_no_memory(reterr)
               : 0;
}

static int job_read(struct container_job *job, const struct container_call *call,
                    const struct http_request *r, struct sandbox_request *request,
                    struct err *reterr)
{
    struct query query;

    request->container_id = job->ids[0];
    request->file_id = job->ids[1];
    if (call->op == SANDBOX_CREATE)
        return read_create(job, request, reterr);
    if (!call->is_list)
        return 0;
    if (!query_read(r->query, &job->arena, &query))
        return err_set_no_memory(reterr);
    job->name = query_value(&query, STR("name"));
    return state_page_read(&query, &job->page, reterr);
}

static bool is_of_files(enum sandbox_op op)
{
    return op == SANDBOX_LIST_FILES || op == SANDBOX_READ_FILE;
}

/* job_free() leaves. */
static int enter_container(struct container_job *job, str owner, struct err *reterr)
{
    struct sandbox_hub *hub = job->worker->builtin->sandboxes;
    str copy = arena_dup(&job->arena, str_is_none(owner) ? STR("") : owner);
    struct sandbox_outcome refused = {.failure = str_is_none(copy) ? SANDBOX_BROKEN
                                                                   : sandbox_files_enter(hub, copy),
                                      .message = STR("The gateway ran out of memory.")};

    if (refused.failure == SANDBOX_OK)
        job->owner = copy;
    else if (refused.failure == SANDBOX_FULL)
        refused.message = STR("As many requests for files of containers are under way as may be "
                              "(code_file_requests). Try again when one has been answered.");
    return explain_outcome(job, &refused, reterr);
}

static int job_start(struct container_job *job, const struct container_call *call,
                     const struct http_request *r, const struct caller *caller,
                     const struct path_ids *ids, struct err *reterr)
{
    static const struct sandbox_handler handler = {on_done};
    struct sandbox_request request = {.op = call->op, .owner = caller->owner};
    struct worker *w = job->worker;

    if (w->builtin->sandboxes == NULL) {
        err_set(reterr, ERR_NOT_IMPLEMENTED, "There are no containers here: %s",
                w->builtin->why_not[HOSTED_CODE_INTERPRETER]);
        return -1;
    }
    if (!path_ids_decode(ids, &job->arena, job->ids))
        return err_set_no_memory(reterr);
    if (job_read(job, call, r, &request, reterr) == -1 ||
        (is_of_files(call->op) && enter_container(job, caller->owner, reterr) == -1))
        return -1;
    job->task = sandbox_start(w->builtin->sandboxes, w->loop, &request, &handler, job, reterr);
    return job->task == NULL ? -1 : 0;
}

void container_routes_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                            const struct caller *caller, const struct path_ids *ids,
                            const struct container_call *call)
{
    struct container_job *job = calloc(1, sizeof(*job));
    struct err e;

    if (job == NULL) {
        err_set_no_memory(&e);
        http_exchange_respond_error(x, &e, NULL, 0);
        return;
    }
    job->worker = w;
    job->x = x;
    job->write = call->write;
    job->content_type = STR("application/json");
    arena_init(&job->arena, w->config->max_request_memory_bytes);
    if (job_start(job, call, r, caller, ids, &e) == -1)
        job_fail(job, &e);
    else
        http_exchange_watch(x, &exchange_handler, job);
}

const struct container_call container_create = {SANDBOX_CREATE, false, answer_container};
const struct container_call container_list = {SANDBOX_LIST, true, answer_containers};
const struct container_call container_get = {SANDBOX_FIND, false, answer_container};
const struct container_call container_delete = {SANDBOX_DELETE, false, answer_deleted};
const struct container_call container_files_list = {SANDBOX_LIST_FILES, true, answer_files};
const struct container_call container_file_get = {SANDBOX_LIST_FILES, false, answer_file};
const struct container_call container_file_content = {SANDBOX_READ_FILE, false, answer_content};
