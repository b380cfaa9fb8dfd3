/* upgrade.c -- the new process, what it reports, and how long it may take. */
#include "daemon/upgrade.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "daemon/addresses.h"
#include "daemon/drain.h"
#include "daemon/server_internal.h"
#include "daemon/upgrade_launch.h"
#include "daemon/upgrade_pipe.h"
#include "ev/log.h"
#include "net/listen_address.h"

enum { LIMIT_MS = 30000, REPORT_BYTES = ERR_MSG_BYTES + 1, EXIT_REFUSED = 2 };

static const char report_ready[] = "ready\n";

enum upgrade_state { NONE, WAITING, ENDING, HANDED_OVER };

struct upgrade {
    struct server *server;
    struct loop_timer *limit;
    uv_process_t process; /* while there is one: not NONE */
    uv_poll_t poll;       /* of the report */
    int report_fd;        /* our end; -1: none */
    char report[REPORT_BYTES];
    size_t report_bytes;
    enum upgrade_state state;
    bool is_process_closed, is_poll_closed;
};

static void log_failure(const char *reason)
{
    log_line(LOG_ERROR, "upgrade",
             (struct log_field[]){LOG_STR("result", STR("error")),
                                  LOG_STR("reason", str_from_c(reason)), LOG_END});
}

static void log_end(const char *reason, int64_t status)
{
    log_line(LOG_ERROR, "upgrade",
             (struct log_field[]){LOG_STR("result", STR("error")),
                                  LOG_STR("reason", str_from_c(reason)), LOG_INT("status", status),
                                  LOG_END});
}

/* ---- its report */

/* False when nothing more is to be heard. */
static bool read_report(struct upgrade *u)
{
    return u->report_fd != -1 &&
           upgrade_pipe_read(u->report_fd, u->report, sizeof(u->report), &u->report_bytes);
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct upgrade *u = handle->data;

    u->is_poll_closed = true;
}

static void close_report(struct upgrade *u)
{
    if (u->report_fd == -1)
        return;
    uv_close((uv_handle_t *)&u->poll, on_poll_closed);
    (void)close(u->report_fd);
    u->report_fd = -1;
}

/* Nothing is taken back from here on: the other process is the gateway. */
static void hand_over(struct upgrade *u)
{
    struct server *s = u->server;

    u->state = HANDED_OVER;
    loop_timer_stop(u->limit);
    close_report(u);
    log_line(LOG_INFO, "upgrade",
             (struct log_field[]){LOG_STR("result", STR("ok")), LOG_INT("pid", u->process.pid),
                                  LOG_END});
    notify_send(&s->notify, "MAINPID=%d", u->process.pid);
    notify_close(&s->notify);
    addresses_leave(s);
    drain_hand_over(s->drain);
}

static void on_report(uv_poll_t *poll, int status, int events)
{
    struct upgrade *u = poll->data;
    const bool is_open = read_report(u);

    (void)status;
    (void)events;
    if (u->state == WAITING && strcmp(u->report, report_ready) == 0)
        hand_over(u);
    else if (!is_open)
        (void)uv_poll_stop(&u->poll); /* the process ends as well */
}

/* ---- its end */

static void on_process_closed(uv_handle_t *handle)
{
    struct upgrade *u = handle->data;

    u->is_process_closed = true;
}

static void explain_end(const struct upgrade *u, int64_t status, int signal, char *out, size_t size)
{
    const size_t line = strcspn(u->report, "\n");

    if (u->state == ENDING)
        (void)snprintf(out, size, "it was not ready within %d s", LIMIT_MS / 1000);
    else if (line > 0)
        (void)snprintf(out, size, "%.*s", (int)line, u->report);
    else if (signal != 0)
        (void)snprintf(out, size, "the new program was ended by signal %d", signal);
    else if (status == EXIT_REFUSED)
        (void)snprintf(out, size, "the new program refuses the configuration; it has said why");
    else
        (void)snprintf(out, size, "the new program ended with status %d", (int)status);
}

static void on_exit_of_new(uv_process_t *process, int64_t status, int signal)
{
    struct upgrade *u = process->data;
    char reason[REPORT_BYTES];

    loop_timer_stop(u->limit);
    (void)read_report(u);
    close_report(u);
    uv_close((uv_handle_t *)process, on_process_closed);
    if (u->state == HANDED_OVER) {
        log_msg(LOG_ERROR, "the new program has ended, with status %d", (int)status);
        return;
    }
    explain_end(u, status, signal, reason, sizeof(reason));
    log_end(reason, status);
    u->state = NONE;
}

/* It may have become ready in this moment, and serve: so it drains as at any other end. Whether it still
 * lives is known: its end is only heard of in on_exit_of_new(). */
static void end_new(struct upgrade *u)
{
    const struct config *c = u->server->config;

    u->state = ENDING;
    (void)uv_process_kill(&u->process, SIGTERM);
    loop_timer_start(u->limit, c->drain_delay_ms + c->drain_timeout_ms + LIMIT_MS);
}

static void on_limit(void *arg)
{
    struct upgrade *u = arg;

    if (u->state == WAITING)
        end_new(u);
    else if (u->state == ENDING)
        (void)uv_process_kill(&u->process, SIGKILL);
}

void upgrade_abandon(struct upgrade *u)
{
    if (u->state == WAITING)
        end_new(u);
}

/* ---- its start */

static int watch_report(struct upgrade *u, int fd)
{
    int rc = uv_poll_init(loop_uv(u->server->loop), &u->poll, fd);

    if (rc != 0) {
        (void)close(fd);
        return rc;
    }
    u->report_fd = fd;
    u->report_bytes = 0;
    u->report[0] = '\0';
    u->poll.data = u;
    u->is_poll_closed = false;
    return uv_poll_start(&u->poll, UV_READABLE, on_report);
}

static int launch(struct upgrade *u, struct err *reterr)
{
    bool is_open;
    int ends[2], rc;

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == -1) {
        err_set(reterr, ERR_INTERNAL, "pipe: %s", strerror(errno));
        return -1;
    }
    u->process.data = u;
    rc = upgrade_launch(u->server, &u->process, on_exit_of_new, ends[1], &is_open, reterr);
    (void)close(ends[1]);
    u->is_process_closed = !is_open;
    if (rc == -1) {
        (void)close(ends[0]);
        if (is_open)
            uv_close((uv_handle_t *)&u->process, on_process_closed);
        return -1;
    }
    u->state = WAITING;
    loop_timer_start(u->limit, LIMIT_MS);
    if (watch_report(u, ends[0]) != 0)
        end_new(u);
    return 0;
}

void upgrade_start(struct upgrade *u)
{
    struct err e;

    if (drain_is_to_end(u->server->drain))
        return;
    if (u->state != NONE || !u->is_process_closed || !u->is_poll_closed) {
        log_msg(LOG_WARN, "an upgrade is under way already");
        return;
    }
    if (launch(u, &e) == -1)
        log_failure(e.msg);
    else
        log_line(LOG_INFO, "upgrade",
                 (struct log_field[]){LOG_STR("result", STR("started")),
                                      LOG_INT("pid", u->process.pid), LOG_END});
}

/* ---- begin and end */

struct upgrade *upgrade_new(struct server *s, struct err *reterr)
{
    struct upgrade *u = calloc(1, sizeof(*u));

    if (u != NULL)
        u->limit = loop_timer_new(s->loop, on_limit, u);
    if (u == NULL || u->limit == NULL) {
        err_set_no_memory(reterr);
        free(u);
        return NULL;
    }
    u->server = s;
    u->report_fd = -1;
    u->is_process_closed = u->is_poll_closed = true;
    return u;
}

void upgrade_close(struct upgrade *u)
{
    if (u == NULL)
        return;
    close_report(u);
    if (!u->is_process_closed && !uv_is_closing((uv_handle_t *)&u->process))
        uv_close((uv_handle_t *)&u->process, on_process_closed);
    loop_timer_free(u->limit);
    u->limit = NULL;
}

void upgrade_free(struct upgrade *u)
{
    free(u);
}

void upgrade_report(struct server *s, const char *why)
{
    char text[REPORT_BYTES];

    if (s->passed.report_fd == -1)
        return;
    (void)snprintf(text, sizeof(text), "%s\n", why == NULL ? "ready" : why);
    (void)!write(s->passed.report_fd, text, strlen(text));
    (void)close(s->passed.report_fd);
    s->passed.report_fd = -1;
}
