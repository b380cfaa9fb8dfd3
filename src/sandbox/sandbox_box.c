/* sandbox_box.c -- one container, from the first code that it runs to the last descriptor.
 *
 *     made --run--> its process starts --> runs, is idle, runs ... --> leaves --> left
 *        \____________________________________________________________/
 *
 * Code waits for other code of the same container. What waits when the process dies is begun
 * again, as if it had been asked for only now: in a new container, if it may make one. */
#include "sandbox/sandbox_internal.h"

#include <stdlib.h>

#include "ev/log.h"
#include "metrics/metrics.h"
#include "sandbox/runner.h"

static void run_next(struct box *b);

/* ---- idle or not */

bool sandbox_box_is_idle(const struct box *b)
{
    return b->waiting == NULL && b->n_reading == 0 &&
           (b->session == NULL || !sandbox_session_is_running(b->session));
}

static void on_idle_for_long(void *arg)
{
    sandbox_table_remove(arg, SANDBOX_NOT_FOUND, STR(""), "not used for its idle time");
}

void sandbox_box_used(struct box *b)
{
    if (b->is_leaving)
        return;
    b->used = ++b->hub->n_uses;
    b->view.last_active_at = clock_unix_s();
    if (sandbox_box_is_idle(b))
        loop_timer_start(b->idle_timer, b->view.idle_ms);
    else
        loop_timer_stop(b->idle_timer);
}

/* ---- its process */

static void count_start(const struct box *b, unsigned result)
{
    if (!b->is_trial)
        metrics_count(METRIC_SANDBOX_STARTS, result);
}

static void on_session_end(void *arg, enum sandbox_failure failure, str detail)
{
    struct box *b = arg;

    if (!b->is_ready)
        count_start(b, METRIC_RESULT_ERROR);
    log_line(
        failure == SANDBOX_BROKEN ? LOG_WARN : LOG_INFO, "sandbox_failed",
        (struct log_field[]){LOG_STR("container", b->view.id), LOG_STR("why", detail), LOG_END});
    if (!b->hub->is_tried)
        buf_append(&b->hub->detail, detail);
    sandbox_table_remove(b, failure, STR(""), "its process has ended");
}

static void on_session_closed(void *arg)
{
    struct box *b = arg;

    b->session = NULL;
    jail_cell_close(&b->cell);
    sandbox_hub_left(b->hub, b);
}

static void on_session_ready(void *arg, pid_t process)
{
    struct box *b = arg;

    b->is_ready = true;
    count_start(b, METRIC_RESULT_OK);
    jail_cell_ready(&b->cell, process);
}

/* Processes get no limits of their own for what a control group counts. */
static void write_arguments(const struct box *b, struct buf *out)
{
    const struct sandbox_conf *conf = &b->hub->conf;
    const bool is_counted = jail_counts_memory(b->hub->jail);
    const struct sandbox_arguments arguments = {
        .memory_bytes = is_counted ? 0 : b->view.memory_bytes,
        .processes = is_counted ? 0 : conf->jail.max_processes,
        .file_bytes = conf->jail.disk_bytes,
        .output_bytes = conf->output_bytes,
        .image_bytes = conf->image_bytes,
        .egress_socket = conf->jail.has_egress ? JAIL_EGRESS_SOCKET : NULL,
    };

    sandbox_write_arguments(&arguments, out);
}

static int open_cell(struct box *b, struct err *reterr)
{
    const struct id_source source = {.fill = random_fill};
    struct buf arguments = {.limit = 0};
    char socket[SANDBOX_EGRESS_PATH_BYTES];
    const char *args[] = {NULL, NULL};
    struct jail_cell_conf conf = {
        .memory_bytes = b->view.memory_bytes, .script = sandbox_runner, .args = args};
    int rc = -1;

    b->name = id_make(&source, "s", ID_CALL_CHARS);
    conf.name = b->name.text;
    write_arguments(b, &arguments);
    args[0] = buf_cstr(&arguments);
    if (buf_failed(&arguments))
        err_set_no_memory(reterr);
    else
        rc = sandbox_egress_open_door(b, socket, reterr);
    conf.egress_socket = b->door == NULL ? NULL : socket;
    if (rc == 0)
        rc = jail_cell_open(b->hub->jail, &conf, &b->cell, reterr);
    buf_fini(&arguments);
    return rc;
}

static int open_session(struct box *b, struct err *reterr)
{
    static const struct sandbox_session_handler handler = {on_session_end, on_session_closed,
                                                           on_session_ready};
    const struct sandbox_conf *limits = &b->hub->conf;
    struct sandbox_session_conf conf = {
        .label = b->name.text,
        .container_id = b->view.id,
        .limits = {limits->output_bytes, limits->image_bytes, limits->file_bytes},
        .run_timeout_ms = limits->run_timeout_ms,
    };

    if (open_cell(b, reterr) == -1)
        return -1;
    conf.command = b->cell.command;
    b->session = sandbox_session_new(b->hub->loop, &conf, &handler, b, reterr);
    jail_cell_started(&b->cell);
    if (b->session != NULL)
        return 0;
    jail_cell_close(&b->cell);
    return -1;
}

static bool has_session(struct box *b)
{
    struct err e;

    if (b->session != NULL || open_session(b, &e) == 0)
        return true;
    on_session_end(b, SANDBOX_BROKEN, str_from_c(e.msg));
    return false;
}

/* ---- code */

static void keep_version(const struct box *b)
{
    struct sandbox_hub *hub = b->hub;

    if (!hub->is_tried && hub->python.len == 0)
        buf_append(&hub->python, sandbox_session_python(b->session));
}

/* run_next() frees no box with a session, so b may be used behind it. */
static void on_run_done(void *arg, const struct sandbox_outcome *outcome)
{
    struct box *b = arg;
    struct sandbox_task *t = b->running;

    b->running = NULL;
    keep_version(b);
    if (t != NULL)
        sandbox_task_end(t, outcome);
    run_next(b);
    sandbox_box_used(b);
}

static void run_task(struct box *b, struct sandbox_task *t)
{
    const struct sandbox_call_conf conf = {.op = SANDBOX_RUN,
                                           .code = t->request.code,
                                           .memory = &t->memory,
                                           .on_done = on_run_done,
                                           .arg = b};
    struct err e;

    t->box = b;
    t->call = sandbox_session_call(b->session, &conf, &e);
    if (t->call == NULL)
        sandbox_task_fail(t, SANDBOX_BROKEN, str_from_c(e.msg));
    else
        b->running = t;
}

static bool can_run(const struct box *b)
{
    return !b->is_leaving && b->waiting != NULL &&
           (b->session == NULL || !sandbox_session_is_running(b->session));
}

static void run_next(struct box *b)
{
    while (can_run(b)) {
        struct sandbox_task *t = b->waiting;

        b->waiting = t->next;
        if (!has_session(b)) {
            sandbox_task_fail(t, SANDBOX_BROKEN, STR("The sandbox could not be started."));
            return; /* and the box is gone */
        }
        run_task(b, t);
    }
}

void sandbox_box_run(struct box *b, struct sandbox_task *t)
{
    struct sandbox_task **last = &b->waiting;

    while (*last != NULL)
        last = &(*last)->next;
    t->next = NULL;
    t->box = b;
    *last = t;
    sandbox_box_used(b);
    run_next(b);
}

static void unlink_waiting(struct box *b, const struct sandbox_task *t)
{
    struct sandbox_task **place = &b->waiting;

    while (*place != t)
        place = &(*place)->next;
    *place = t->next;
}

/* ---- files */

void sandbox_box_read(struct box *b, struct sandbox_task *t, const struct sandbox_call_conf *conf)
{
    struct err e;

    t->call = sandbox_session_call(b->session, conf, &e);
    if (t->call == NULL) {
        sandbox_task_fail(t, SANDBOX_FULL, str_from_c(e.msg));
        return;
    }
    t->box = b;
    b->n_reading++;
    sandbox_box_used(b);
}

void sandbox_box_has_read(struct box *b, struct sandbox_task *t)
{
    t->call = NULL;
    b->n_reading--;
    sandbox_box_used(b);
}

/* ---- no longer wanted */

void sandbox_box_forget(struct box *b, struct sandbox_task *t)
{
    if (t->call == NULL) {
        unlink_waiting(b, t);
    } else if (t == b->running) {
        b->running = NULL;
        sandbox_call_cancel(t->call);
    } else {
        sandbox_call_cancel(t->call);
        sandbox_box_has_read(b, t);
    }
    sandbox_box_used(b);
}

/* ---- the end */

static void begin_tasks_again(struct sandbox_task *t, enum sandbox_failure failure, str message)
{
    while (t != NULL) {
        struct sandbox_task *next = t->next;

        t->box = NULL;
        if (failure == SANDBOX_NOT_FOUND) /* it was deleted, and is not to come back */
            sandbox_task_fail(t, failure, message);
        else
            sandbox_work_begin(t);
        t = next;
    }
}

void sandbox_box_leave(struct box *b, enum sandbox_failure failure, str message)
{
    struct sandbox_task *waiting = b->waiting;

    b->is_leaving = true;
    b->waiting = NULL;
    loop_timer_stop(b->idle_timer);
    if (b->session != NULL) {
        jail_cell_kill(&b->cell);
        sandbox_session_kill(b->session, failure, message);
    } else {
        sandbox_hub_left(b->hub, b);
    }
    begin_tasks_again(waiting, failure, message);
}

void sandbox_box_free(struct box *b)
{
    egress_door_close(b->door);
    loop_timer_free(b->idle_timer);
    arena_fini(&b->memory);
    free(b);
}

/* ---- the start */

/* The value asked for, unless that is nothing or too much. */
static uint64_t limit_request(uint64_t asked, uint64_t limit)
{
    return asked == 0 || asked > limit ? limit : asked;
}

struct box *sandbox_box_new(struct sandbox_hub *hub, const struct sandbox_request *request)
{
    struct box *b = calloc(1, sizeof(*b));

    if (b == NULL)
        return NULL;
    b->hub = hub;
    b->is_trial = !hub->is_tried;
    b->owner = arena_dup(&b->memory, request->owner);
    b->view = (struct sandbox_container){
        .id = arena_dup(&b->memory, request->container_id),
        .name = arena_dup(&b->memory, request->name),
        .created_at = clock_unix_s(),
        .idle_ms = limit_request(request->idle_ms, hub->conf.idle_ms),
        .memory_bytes = limit_request(request->memory_bytes, hub->conf.memory_bytes),
    };
    b->idle_timer = loop_timer_new(hub->loop, on_idle_for_long, b);
    if (b->idle_timer != NULL && !str_is_none(b->owner) && !str_is_none(b->view.id) &&
        !str_is_none(b->view.name))
        return b;
    sandbox_box_free(b);
    return NULL;
}
