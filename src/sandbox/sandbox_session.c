/* sandbox_session.c -- questions to a process and its answers.
 *
 *     starts --ready--> serves --> ended: asked to, dead, deaf or broken --> closed
 *        \__________________________/
 *
 * Nothing is asked before the process is ready: until then it is the runner that speaks, and no
 * code of strangers. A call that was cancelled stays until its answer has come: only then the next
 * code may run, and an answer to a question that nobody knows is a reason to end the process. */
#include "sandbox/sandbox_session.h"

#include <signal.h>
#include <stdlib.h>

#include "child/child.h"

enum {
    START_MS = 60000,    /* many may start at once */
    ANSWER_MS = 10000,   /* of what does not run code; the runner goes before code (PRIORITY) */
    INTERRUPT_MS = 2000, /* from the interrupt to the end of code, or of the process */
    MAX_CALLS = 64,
    PYTHON_BYTES = 32,
    WORDS_BYTES = 96,
};

struct sandbox_call {
    struct sandbox_session *session;
    struct sandbox_call *next;
    uint64_t id;
    struct sandbox_call_conf conf; /* memory NULL: nobody wants to know; on_done NULL: or be told */
    struct loop_timer *timer;
    bool is_interrupted, is_late;
};

struct sandbox_session {
    struct loop *loop;
    struct sandbox_session_conf conf;
    const struct sandbox_session_handler *handler;
    void *arg;
    struct child *child;
    struct loop_timer *start_timer;
    struct sandbox_call *calls;
    size_t n_calls;
    uint64_t last_id;
    char python[PYTHON_BYTES];
    char last_words[WORDS_BYTES]; /* of its standard error since it is ready */
    bool is_ready, is_ended;
};

/* ---- calls */

static void call_free(struct sandbox_call *c)
{
    loop_timer_free(c->timer);
    free(c);
}

static void unlink_call(struct sandbox_call *c)
{
    struct sandbox_session *s = c->session;
    struct sandbox_call **place = &s->calls;

    while (*place != c)
        place = &(*place)->next;
    *place = c->next;
    s->n_calls--;
}

/* Reports a call that is on no list any more; the call is freed before its handler runs. */
static void report_unlinked(struct sandbox_call *c, const struct sandbox_outcome *outcome)
{
    const struct sandbox_call_conf conf = c->conf;

    call_free(c);
    if (conf.on_done != NULL)
        conf.on_done(conf.arg, outcome);
}

static void report_call(struct sandbox_call *c, const struct sandbox_outcome *outcome)
{
    unlink_call(c);
    report_unlinked(c, outcome);
}

bool sandbox_session_is_running(const struct sandbox_session *s)
{
    for (const struct sandbox_call *c = s->calls; c != NULL; c = c->next) {
        if (c->conf.op == SANDBOX_RUN)
            return true;
    }
    return false;
}

str sandbox_session_python(const struct sandbox_session *s)
{
    return str_from_c(s->python);
}

/* Keeps the beginning of a text as a C string, without what terminals could act on. */
static void keep_plain(char *to, size_t size, str text)
{
    size_t n = 0;

    for (; n < text.len && n < size - 1; n++)
        to[n] = text.p[n] >= ' ' && text.p[n] <= '~' ? text.p[n] : '?';
    to[n] = '\0';
}

/* ---- the end */

#define NOT_TAKEN "The sandbox does not take this."
#define LOST      "Its variables and files are gone."

/* Code that has run out of time failed for that, whatever the others fail for. */
static void fail_calls(struct sandbox_session *s, enum sandbox_failure failure, str message)
{
    struct sandbox_call *c;

    while ((c = s->calls) != NULL) {
        struct sandbox_outcome outcome = {.failure = failure, .message = message};

        s->calls = c->next;
        s->n_calls--;
        if (c->is_late) {
            outcome.failure = SANDBOX_TIMED_OUT;
            outcome.message = STR("The code ran for too long and could not be interrupted, so its "
                                  "process was ended. " LOST);
        }
        report_unlinked(c, &outcome);
    }
}

void sandbox_session_kill(struct sandbox_session *s, enum sandbox_failure failure, str message)
{
    if (s->is_ended)
        return;
    s->is_ended = true;
    loop_timer_stop(s->start_timer);
    child_kill(s->child);
    fail_calls(s, failure, message);
}

static void write_detail(const struct sandbox_session *s, const char *why, struct buf *out)
{
    struct buf said = {.limit = 0};

    if (!s->is_ready)
        child_last_stderr(s->child, &said);
    buf_c(out, why);
    if (said.len > 0)
        buf_c(out, ": ");
    buf_append(out, str_trim(buf_str(&said)));
    buf_fini(&said);
}

/* Ends the process; from the loop only, since it reports. */
static void end_session(struct sandbox_session *s, enum sandbox_failure failure, str message,
                        const char *why)
{
    struct buf detail = {.limit = 0};

    if (s->is_ended)
        return;
    s->is_ended = true;
    write_detail(s, why, &detail);
    loop_timer_stop(s->start_timer);
    child_kill(s->child);
    s->handler->on_end(s->arg, failure, buf_str(&detail));
    buf_fini(&detail);
    fail_calls(s, failure, message);
}

static void end_broken(struct sandbox_session *s, const char *why)
{
    end_session(s, SANDBOX_BROKEN,
                STR("The sandbox did not work as it should and was ended. " LOST), why);
}

static void end_not_started(struct sandbox_session *s, const char *why)
{
    end_session(s, SANDBOX_BROKEN, STR("The sandbox could not be started."), why);
}

static void on_start_too_late(void *arg)
{
    end_not_started(arg, "it was not ready in time");
}

/* ---- time */

/* A process that does not even read is killed by the next turn of the loop. */
static void interrupt_call(struct sandbox_call *c)
{
    struct buf line = {.limit = 0};
    bool is_sent;

    c->is_interrupted = true;
    sandbox_write_interrupt(&line);
    is_sent = !buf_failed(&line) && child_send(c->session->child, buf_str(&line));
    buf_fini(&line);
    loop_timer_start(c->timer, is_sent ? INTERRUPT_MS : 0);
}

static void on_call_timer(void *arg)
{
    struct sandbox_call *c = arg;

    if (c->conf.op != SANDBOX_RUN) { /* code does not keep the runner from this */
        end_broken(c->session, "it did not answer in time");
    } else if (c->is_interrupted) {
        end_session(c->session, SANDBOX_DIED,
                    STR("The sandbox was ended since its code could not be interrupted. " LOST),
                    "its code could not be interrupted");
    } else {
        c->is_late = true;
        interrupt_call(c);
    }
}

/* ---- questions */

static bool send_question(struct sandbox_call *c)
{
    const struct sandbox_session *s = c->session;
    struct buf line = {.limit = 0};
    bool is_sent;

    if (c->conf.op == SANDBOX_RUN)
        sandbox_write_run(c->id, c->conf.code, &line);
    else if (c->conf.op == SANDBOX_LIST_FILES)
        sandbox_write_files(c->id, &line);
    else
        sandbox_write_read(c->id, c->conf.path, s->conf.limits.file_bytes, &line);
    is_sent = !buf_failed(&line) && child_send(s->child, buf_str(&line));
    buf_fini(&line);
    if (is_sent)
        loop_timer_start(c->timer, c->conf.op == SANDBOX_RUN ? s->conf.run_timeout_ms : ANSWER_MS);
    return is_sent;
}

/* ---- answers */

/* The beginning of a line is kept until its end comes, so none may be longer than the answers that
 * are due: code that got hold of the runner's output could fill the gateway's memory otherwise. */
static void limit_lines(struct sandbox_session *s)
{
    size_t most = SANDBOX_UNASKED_BYTES;

    for (const struct sandbox_call *c = s->calls; c != NULL; c = c->next) {
        size_t bytes = sandbox_answer_bytes(c->conf.op, &s->conf.limits);

        most = bytes > most ? bytes : most;
    }
    child_limit_lines(s->child, most);
}

static int read_outcome(const struct sandbox_call *c, const struct sandbox_message *m,
                        struct sandbox_outcome *ret)
{
    const struct sandbox_session_conf *conf = &c->session->conf;

    if (c->conf.op == SANDBOX_RUN)
        return sandbox_read_run(m, &conf->limits, conf->container_id, c->conf.memory, ret);
    if (c->conf.op == SANDBOX_LIST_FILES)
        return sandbox_read_files(m, conf->container_id, c->conf.memory, ret);
    return sandbox_read_content(m, &conf->limits, c->conf.memory, ret);
}

static void take_answer(struct sandbox_call *c, const struct sandbox_message *m)
{
    struct sandbox_outcome outcome = {.is_alive = true};
    struct sandbox_session *s = c->session;

    if (c->conf.memory != NULL && read_outcome(c, m, &outcome) == -1) {
        end_broken(s, "its answer has not the form that the protocol has");
        return;
    }
    if (c->is_late) {
        outcome.failure = SANDBOX_TIMED_OUT;
        outcome.message = STR("The code ran for too long and was interrupted.");
    }
    report_call(c, &outcome);
    limit_lines(s);
}

static struct sandbox_call *find_call(const struct sandbox_session *s, uint64_t id)
{
    struct sandbox_call *c = s->calls;

    while (c != NULL && c->id != id)
        c = c->next;
    return c;
}

/* Asks what waited for the process to be ready; a call cancelled meanwhile is over. */
static void ask_waiting(struct sandbox_call *c)
{
    static const struct sandbox_outcome refused = {
        .failure = SANDBOX_BROKEN, .message = STR_INIT(NOT_TAKEN), .is_alive = true};

    if (c->conf.memory == NULL || !send_question(c))
        report_call(c, &refused);
}

static void become_ready(struct sandbox_session *s, str python)
{
    s->is_ready = true;
    keep_plain(s->python, sizeof(s->python), python);
    loop_timer_stop(s->start_timer);
    if (s->handler->on_ready != NULL)
        s->handler->on_ready(s->arg, child_pid(s->child));
    for (struct sandbox_call *c = s->calls, *next; c != NULL; c = next) {
        next = c->next;
        ask_waiting(c);
    }
}

static bool on_line(void *arg, str line)
{
    struct sandbox_session *s = arg;
    struct sandbox_message m;
    struct sandbox_call *c = NULL;

    if (s->is_ended)
        return true;
    if (sandbox_message_read(line, &m) == -1)
        end_broken(s, "it has sent what is no message");
    else if (m.id == 0 && !s->is_ready)
        become_ready(s, m.python);
    else if (s->is_ready && (c = find_call(s, m.id)) != NULL)
        take_answer(c, &m);
    else
        end_broken(s, "it has sent what nobody asked for");
    return true;
}

/* ---- the process */

/* SIGKILL comes from the kernel, unless the code has ended itself by it. */
static bool was_killed(const struct child_end *child_end, const char *why)
{
    return child_end->signal == SIGKILL || str_ends_with(str_from_c(why), STR("Killed"));
}

/* The runner's last words tell more than the way it ended. */
static const char *why_ended(const struct sandbox_session *s, const struct child_end *child_end)
{
    return str_starts_with(str_from_c(s->last_words), STR("the Python process"))
               ? s->last_words
               : child_end->reason;
}

static void on_exit_told(void *arg, const struct child_end *child_end)
{
    struct sandbox_session *s = arg;
    const char *why = why_ended(s, child_end);
    struct buf message = {.limit = 0};

    if (!s->is_ready) {
        end_not_started(s, child_end->reason);
        return;
    }
    buf_c(&message, "The sandbox has ended: ");
    buf_c(&message, why);
    buf_c(&message, was_killed(child_end, why) ? ", perhaps since it used too much memory. " LOST
                                               : ". " LOST);
    end_session(s, SANDBOX_DIED, buf_str(&message), why);
    buf_fini(&message);
}

static void session_free(struct sandbox_session *s)
{
    loop_timer_free(s->start_timer);
    free(s);
}

static void on_closed(void *arg)
{
    struct sandbox_session *s = arg;

    s->handler->on_closed(s->arg);
    session_free(s);
}

/* Standard error is not logged once code runs: strangers could want it in the log. */
static void on_stderr(void *arg, str text, struct buf *out)
{
    struct sandbox_session *s = arg;

    if (s->is_ready)
        keep_plain(s->last_words, sizeof(s->last_words), text);
    else
        buf_append(out, text);
}

static struct child *start_child(struct sandbox_session *s, struct err *reterr)
{
    static const struct child_handler handler = {on_line, on_exit_told, on_closed};
    const struct child_conf conf = {
        .kind = "sandbox",
        .label = s->conf.label,
        .command = s->conf.command,
        .line_bytes = SANDBOX_UNASKED_BYTES,
        .grace_ms = SANDBOX_DEATH_MS,
        .redact = on_stderr,
        .redact_arg = s,
    };

    return child_start(s->loop, &conf, &handler, s, reterr);
}

struct sandbox_session *sandbox_session_new(struct loop *loop,
                                            const struct sandbox_session_conf *conf,
                                            const struct sandbox_session_handler *handler,
                                            void *arg, struct err *reterr)
{
    struct sandbox_session *s = calloc(1, sizeof(*s));

    if (s == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    *s = (struct sandbox_session){.loop = loop, .conf = *conf, .handler = handler, .arg = arg};
    s->start_timer = loop_timer_new(loop, on_start_too_late, s);
    if (s->start_timer == NULL)
        err_set_no_memory(reterr);
    else
        s->child = start_child(s, reterr);
    if (s->child == NULL) {
        session_free(s);
        return NULL;
    }
    loop_timer_start(s->start_timer, START_MS);
    return s;
}

/* ---- calls from outside */

struct sandbox_call *sandbox_session_call(struct sandbox_session *s,
                                          const struct sandbox_call_conf *conf, struct err *reterr)
{
    struct sandbox_call *c = s->is_ended || s->n_calls == MAX_CALLS ? NULL : calloc(1, sizeof(*c));

    if (c == NULL) {
        err_set(reterr, ERR_INTERNAL, "The sandbox has too much to do.");
        return NULL;
    }
    *c = (struct sandbox_call){.session = s, .id = ++s->last_id, .conf = *conf};
    c->timer = loop_timer_new(s->loop, on_call_timer, c);
    if (c->timer == NULL || (s->is_ready && !send_question(c))) {
        call_free(c);
        err_set(reterr, ERR_INTERNAL, NOT_TAKEN);
        return NULL;
    }
    c->next = s->calls;
    s->calls = c;
    s->n_calls++;
    limit_lines(s);
    return c;
}

void sandbox_call_cancel(struct sandbox_call *c)
{
    c->conf.memory = NULL;
    if (c->conf.op != SANDBOX_RUN)
        c->conf.on_done = NULL;
    else if (c->session->is_ready && !c->is_interrupted)
        interrupt_call(c);
}
