/* child.c -- one server process, from fork to the last descriptor.
 *
 *     runs -> loses: asked to stop, or a stream closed, or a line too long
 *       |       close its input -> SIGTERM to the group -> SIGKILL to the group
 *       |       \__ grace_ms ___/\______ grace_ms ______/\______ grace_ms ____/
 *       \-----------+---- it dies ----------------------------> given up
 *                   |
 *            what it has written is read -> on_exit
 *            its group is ended          -> reaped -> handles closed -> on_closed
 *
 * The death of the process is heard of by SIGCHLD, through libuv: a pidfd would be
 * private, but Linux before 5.3 and valgrind know none. waitid() asks for our pid
 * alone, and leaves it a zombie (WNOWAIT) until the end of the group: that keeps
 * the number from being given to others while we send signals to it.
 *
 * A launcher may die before what it has launched. As long as someone holds the
 * other end of standard output or error, the group is taken to be alive and gets
 * the rest of the steps. Who has closed both is ended with SIGKILL.
 *
 * A server that ends by itself is seen in three ways, in any order: its input
 * breaks, its output ends, the process dies. The last knows best why, so the first
 * two wait for it a little before on_exit. */
#include "child/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child/child_keeper.h"
#include "child/child_stdin.h"
#include "ev/log.h"

enum {
    REASON_BYTES = 512,
    REASON_WAIT_MS = 500,      /* for the death to tell why a stream was closed */
    DRAIN_BYTES = 1024 * 1024, /* after its death: no pipe holds more */
};

enum step { STEP_NONE, STEP_CLOSE, STEP_TERM, STEP_KILL, STEP_GIVE_UP };

enum stream { IN = CHILD_PIPE_IN, OUT = CHILD_PIPE_OUT, ERR_OUT = CHILD_PIPE_ERR, STREAMS };

struct child {
    struct loop *loop;
    const struct child_handler *handler; /* NULL: there is no process, nothing is reported */
    void *arg;
    struct child_conf conf;
    pid_t pid;

    struct child_pipes pipes;
    uv_poll_t polls[STREAMS];
    uv_signal_t child;
    struct loop_timer *step_timer, *reason_timer;
    unsigned n_handles; /* of libuv, that are not closed */

    struct child_stdin queue;
    struct child_line lines;
    struct child_stderr stderr_out;

    enum step step;
    bool is_dead;           /* the process itself, not its group */
    bool has_reported_exit; /* on_exit has been called */
    bool is_closing;
    struct child_end end;
    char reason[REASON_BYTES];
};

static void close_stream(struct child *m, enum stream which);
static void close_everything(struct child *m);
static void take_step(struct child *m, enum step step);

/* ---- the end of the process */

static void report_exit(struct child *m)
{
    if (m->has_reported_exit)
        return;
    m->has_reported_exit = true;
    loop_timer_stop(m->reason_timer);
    m->end.reason = m->reason;
    m->handler->on_exit(m->arg, &m->end);
}

static void on_reason_timer(void *arg)
{
    report_exit(arg);
}

/* Notes that the process is of no more use. The first reason stays, unless its death gives
 * another. */
static void lose_process(struct child *m, enum step step, const char *reason)
{
    if (m->reason[0] != '\0')
        return;
    (void)snprintf(m->reason, sizeof(m->reason), "%s", reason);
    if (m->is_dead)
        return;
    loop_timer_start(m->reason_timer, REASON_WAIT_MS);
    if (m->step < step)
        take_step(m, step);
}

/* ---- standard input */

static void on_input_event(uv_poll_t *poll, int status, int events);

static bool has_stream(const struct child *m, enum stream which)
{
    return m->pipes.ours[which] != -1;
}

/* An error of the pipe, which is that nobody reads it, is reported in any case. */
static void watch_input(struct child *m)
{
    int events = child_stdin_waiting(&m->queue) > 0 ? UV_WRITABLE : UV_DISCONNECT;

    (void)uv_poll_start(&m->polls[IN], events, on_input_event);
}

static void on_input_event(uv_poll_t *poll, int status, int events)
{
    struct child *m = poll->data;

    (void)events;
    if (status < 0 || !child_stdin_write(&m->queue, m->pipes.ours[IN])) {
        close_stream(m, IN);
        lose_process(m, STEP_CLOSE, "closed its standard input");
        return;
    }
    watch_input(m);
}

/* An error of the pipe is left to the loop to find, since this is no callback. */
bool child_send(struct child *m, str json)
{
    if (m->step != STEP_NONE || m->is_dead || !has_stream(m, IN) ||
        !child_stdin_put(&m->queue, json))
        return false;
    (void)child_stdin_write(&m->queue, m->pipes.ours[IN]);
    watch_input(m);
    return true;
}

/* ---- standard output and error */

static void on_stdout_line(void *arg, str line)
{
    struct child *m = arg;

    if (!m->has_reported_exit && !m->handler->on_line(m->arg, line))
        child_stderr_noise(&m->stderr_out, line);
}

static void lose_for_line(struct child *m)
{
    char text[96];

    (void)snprintf(text, sizeof(text), "sent a line of more than %zu bytes", m->conf.line_bytes);
    m->reason[0] = '\0'; /* says more than that a stream was closed as well */
    lose_process(m, STEP_TERM, text);
}

/* Output of a process that is of no more use is read only so that it can end. */
static void take_output(struct child *m, str bytes)
{
    if (m->has_reported_exit || m->lines.failed)
        return;
    if (child_line_feed(&m->lines, bytes, on_stdout_line, m) == -1)
        lose_for_line(m);
}

static void end_output(struct child *m)
{
    if (!m->lines.failed && child_line_end(&m->lines, on_stdout_line, m) == -1)
        lose_for_line(m);
    lose_process(m, STEP_CLOSE, "closed its standard output");
}

/* Reads once; false when there is nothing to read now. */
static bool read_stream(struct child *m, enum stream which, size_t *ret_bytes)
{
    char *scratch = loop_scratch(m->loop);
    ssize_t n = read(m->pipes.ours[which], scratch, LOOP_SCRATCH_BYTES);

    if (n == -1)
        return errno == EINTR;
    *ret_bytes = (size_t)n;
    if (n > 0 && which == OUT)
        take_output(m, str_from(scratch, (size_t)n));
    else if (n > 0)
        child_stderr_feed(&m->stderr_out, str_from(scratch, (size_t)n));
    if (n > 0)
        return true;
    close_stream(m, which);
    if (which == OUT)
        end_output(m);
    else
        child_stderr_end(&m->stderr_out);
    return false;
}

/* True when nobody of the group is left who could write, which is what its end is known by. */
static bool is_silent(const struct child *m)
{
    return !has_stream(m, OUT) && !has_stream(m, ERR_OUT);
}

static void on_output_event(uv_poll_t *poll, int status, int events)
{
    struct child *m = poll->data;
    size_t n_bytes;

    (void)status; /* read() knows better */
    (void)events;
    (void)read_stream(m, poll == &m->polls[OUT] ? OUT : ERR_OUT, &n_bytes);
    if (m->is_dead && is_silent(m))
        close_everything(m);
}

/* Reads everything the process has written before it died. */
static void drain_stream(struct child *m, enum stream which)
{
    size_t n_bytes = 0, total = 0;

    while (has_stream(m, which) && total < DRAIN_BYTES && read_stream(m, which, &n_bytes))
        total += n_bytes;
}

/* ---- death */

static int signal_of(const siginfo_t *died)
{
    enum { SHELL_SIGNAL = 128 }; /* added by shells, and by other launchers */

    if (died->si_code == CLD_KILLED || died->si_code == CLD_DUMPED)
        return died->si_status;
    return died->si_code == CLD_EXITED && died->si_status > SHELL_SIGNAL
               ? died->si_status - SHELL_SIGNAL
               : 0;
}

/* A line that was too long stays the reason: that is why it was ended. */
static void describe_death(struct child *m, const siginfo_t *died)
{
    struct buf why = {.limit = 0};

    m->end.signal = signal_of(died);
    m->end.start_errno =
        child_spawn_why_ended(&m->conf.command, m->pipes.ours[CHILD_PIPE_REPORT], died, &why);
    if (!m->lines.failed)
        (void)snprintf(m->reason, sizeof(m->reason), "%s", buf_cstr(&why));
    buf_fini(&why);
}

/* Signals the group, or the process: until the child has its session, its group is ours. */
static void signal_group(const struct child *m, int signal)
{
    if (m->pid <= 0)
        return;
    if (kill(-m->pid, signal) == -1 && errno == ESRCH && !m->is_dead)
        (void)kill(m->pid, signal);
}

/* Forgets a process id that is not ours any more. */
static void forget_pid(struct child *m)
{
    if (m->conf.command.ends_with_us)
        child_keeper_forget(m->pid);
    m->pid = 0;
}

static void on_child(uv_signal_t *handle, int signal)
{
    struct child *m = handle->data;
    siginfo_t died = {.si_pid = 0};

    (void)signal; /* of any child: */
    if (waitid(P_PID, (id_t)m->pid, &died, WEXITED | WNOHANG | WNOWAIT) == -1)
        forget_pid(m); /* someone else has reaped it */
    else if (died.si_pid == 0)
        return;
    (void)uv_signal_stop(handle);
    m->is_dead = true;
    close_stream(m, IN);
    drain_stream(m, OUT);
    drain_stream(m, ERR_OUT);
    describe_death(m, &died);
    report_exit(m);
    if (is_silent(m))
        close_everything(m);
    else if (m->step == STEP_NONE)
        take_step(m, STEP_TERM);
}

/* A process that SIGKILL does not end waits for a device, or belongs to someone
 * else by its set-user-ID bit. If it ever ends, it stays a zombie. */
static void give_up_process(struct child *m)
{
    if (!m->is_dead) {
        (void)snprintf(m->reason, sizeof(m->reason), "does not end, not even by SIGKILL");
        log_msg(LOG_ERROR, "%s %s: process %d %s", m->conf.kind, m->conf.label, (int)m->pid,
                m->reason);
    }
    report_exit(m);
    close_everything(m);
}

static void take_step(struct child *m, enum step step)
{
    m->step = step;
    loop_timer_start(m->step_timer, m->conf.grace_ms);
    close_stream(m, IN);
    if (step >= STEP_TERM && m->reason[0] != '\0')
        report_exit(m); /* what it dies of now is our doing */
    if (step == STEP_TERM)
        signal_group(m, SIGTERM);
    else if (step == STEP_KILL)
        signal_group(m, SIGKILL);
    else if (step == STEP_GIVE_UP)
        give_up_process(m);
}

static void on_step_timer(void *arg)
{
    struct child *m = arg;

    take_step(m, m->step + 1);
}

void child_stop(struct child *m)
{
    if (m->step != STEP_NONE || m->is_dead)
        return;
    m->end.was_asked = true;
    take_step(m, STEP_CLOSE);
}

/* ---- handles */

static void free_child(struct child *m)
{
    child_stdin_fini(&m->queue);
    child_line_fini(&m->lines);
    child_stderr_fini(&m->stderr_out);
    free(m);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct child *m = handle->data;

    m->n_handles--;
    if (!m->is_closing || m->n_handles > 0)
        return;
    if (m->handler != NULL)
        m->handler->on_closed(m->arg);
    free_child(m);
}

static void close_stream(struct child *m, enum stream which)
{
    if (!has_stream(m, which))
        return;
    uv_close((uv_handle_t *)&m->polls[which], on_handle_closed);
    (void)close(m->pipes.ours[which]);
    m->pipes.ours[which] = -1;
}

/* Closes everything, once. The rest of the group is ended while its number is still ours. */
static void close_everything(struct child *m)
{
    m->is_closing = true;
    signal_group(m, SIGKILL);
    if (m->pid > 0) {
        if (m->conf.command.ends_with_us)
            child_keeper_forget(m->pid); /* before the number can be given to others */
        (void)waitpid(m->pid, NULL, WNOHANG);
    }
    loop_timer_free(m->step_timer);
    loop_timer_free(m->reason_timer);
    for (enum stream which = IN; which < STREAMS; which++)
        close_stream(m, which);
    child_spawn_close_pipes(m->pipes.ours);
    uv_close((uv_handle_t *)&m->child, on_handle_closed);
}

/* ---- start */

static void close_unwatched(struct child *m, enum stream first)
{
    for (enum stream which = first; which < STREAMS; which++) {
        (void)close(m->pipes.ours[which]);
        m->pipes.ours[which] = -1;
    }
}

static int watch_streams(struct child *m, struct err *reterr)
{
    for (enum stream which = IN; which < STREAMS; which++) {
        int rc = uv_poll_init(loop_uv(m->loop), &m->polls[which], m->pipes.ours[which]);

        if (rc != 0) {
            close_unwatched(m, which);
            err_set(reterr, ERR_INTERNAL, "pipe: %s", uv_strerror(rc));
            return -1;
        }
        m->polls[which].data = m;
        m->n_handles++;
    }
    watch_input(m);
    (void)uv_poll_start(&m->polls[OUT], UV_READABLE, on_output_event);
    (void)uv_poll_start(&m->polls[ERR_OUT], UV_READABLE, on_output_event);
    return 0;
}

/* Opens all, then forks: what can fail comes before there is a process. */
static int start_process(struct child *m, struct err *reterr)
{
    int rc;

    m->step_timer = loop_timer_new(m->loop, on_step_timer, m);
    m->reason_timer = loop_timer_new(m->loop, on_reason_timer, m);
    if (m->step_timer == NULL || m->reason_timer == NULL)
        return err_set_no_memory(reterr);
    rc = uv_signal_start(&m->child, on_child, SIGCHLD);
    if (rc != 0) {
        err_set(reterr, ERR_INTERNAL, "SIGCHLD: %s", uv_strerror(rc));
        return -1;
    }
    if (child_spawn_open_pipes(&m->pipes, reterr) == -1 || watch_streams(m, reterr) == -1)
        return -1;
    m->pid = child_spawn_fork(&m->conf.command, &m->pipes, reterr);
    return m->pid == -1 ? -1 : 0;
}

static void set_conf_defaults(struct child_conf *conf)
{
    if (conf->line_bytes == 0)
        conf->line_bytes = CHILD_LINE_BYTES;
    if (conf->queue_bytes == 0)
        conf->queue_bytes = CHILD_QUEUE_BYTES;
    if (conf->grace_ms == 0)
        conf->grace_ms = CHILD_GRACE_MS;
}

/* A child without a process; NULL when there is no memory, then nothing is open. */
static struct child *new_child(struct loop *loop, const struct child_conf *conf, void *arg)
{
    struct child *m = calloc(1, sizeof(*m));

    if (m == NULL || uv_signal_init(loop_uv(loop), &m->child) != 0) {
        free(m);
        return NULL;
    }
    m->child.data = m;
    m->n_handles = 1;
    m->loop = loop;
    m->arg = arg;
    m->conf = *conf;
    m->pipes = (struct child_pipes){{-1, -1, -1, -1}, {-1, -1, -1, -1}};
    set_conf_defaults(&m->conf);
    child_stdin_init(&m->queue, m->conf.queue_bytes);
    child_line_init(&m->lines, m->conf.line_bytes, false);
    child_stderr_init(&m->stderr_out, loop, conf->kind, conf->label, conf->redact,
                      conf->redact_arg);
    return m;
}

struct child *child_start(struct loop *loop, const struct child_conf *conf,
                          const struct child_handler *handler, void *arg, struct err *reterr)
{
    struct child *m = new_child(loop, conf, arg);
    int rc;

    if (m == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    rc = start_process(m, reterr);
    child_spawn_close_pipes(m->pipes.theirs);
    if (rc == -1) {
        close_everything(m); /* without a handler: nothing is reported */
        return NULL;
    }
    m->handler = handler;
    m->stderr_out.pid = m->pid;
    return m;
}

/* child_kill() does without take_step(), which may call on_exit. */
void child_kill(struct child *m)
{
    if (m->step >= STEP_KILL || m->is_closing)
        return;
    m->end.was_asked = true;
    m->step = STEP_KILL;
    loop_timer_start(m->step_timer, m->conf.grace_ms);
    close_stream(m, IN);
    signal_group(m, SIGKILL);
}

void child_limit_lines(struct child *m, size_t line_bytes)
{
    m->conf.line_bytes = line_bytes;
    child_line_set_limit(&m->lines, line_bytes);
}

pid_t child_pid(const struct child *m)
{
    return m->pid;
}

void child_last_stderr(const struct child *m, struct buf *out)
{
    child_stderr_last(&m->stderr_out, out);
}
