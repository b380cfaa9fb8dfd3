/* signals.c -- the table of signals. */
#include "daemon/signals.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "daemon/drain.h"
#include "daemon/reload.h"
#include "daemon/server_internal.h"
#include "daemon/upgrade.h"
#include "ev/log.h"

static void on_stop(struct server *s, int signal)
{
    if (drain_is_to_end(s->drain)) {
        log_msg(LOG_WARN, "second signal: exit without waiting for running responses");
        log_stop();
        _exit(EXIT_FAILURE);
    }
    log_line(LOG_INFO, "stopping", (struct log_field[]){LOG_INT("signal", signal), LOG_END});
    upgrade_abandon(s->upgrade);
    drain_to_end(s->drain);
}

static void on_hangup(struct server *s, int signal)
{
    (void)signal;
    reload_start(s->reload);
}

/* SIGUSR1 comes from tools for log rotation, which have moved the files away. */
static void on_rotation(struct server *s, int signal)
{
    (void)s;
    (void)signal;
    log_reopen();
}

static void on_upgrade(struct server *s, int signal)
{
    (void)signal;
    upgrade_start(s->upgrade);
}

static const struct {
    int signal;
    void (*on)(struct server *s, int signal);
    bool (*is_wanted)(const struct server *s); /* NULL: always. Else it keeps its usual effect */
} table[] = {
    {SIGINT, on_stop, NULL},
    {SIGTERM, on_stop, NULL},
    {SIGHUP, on_hangup, reload_is_possible},
    {SIGUSR1, on_rotation, NULL},
    {SIGUSR2, on_upgrade, NULL},
};

struct signals {
    struct server *server;
    uv_signal_t handles[COUNT_OF(table)];
};

void signals_ignore(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)signal(SIGUSR1, SIG_IGN);
    (void)signal(SIGUSR2, SIG_IGN);
}

static void on_signal(uv_signal_t *handle, int signal)
{
    struct signals *s = handle->data;

    table[handle - s->handles].on(s->server, signal);
}

static bool watch_signals(struct signals *s)
{
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        uv_signal_t *handle = &s->handles[i];

        handle->data = s;
        if (uv_signal_init(loop_uv(s->server->loop), handle) != 0)
            return false;
        if ((table[i].is_wanted == NULL || table[i].is_wanted(s->server)) &&
            uv_signal_start(handle, on_signal, table[i].signal) != 0)
            return false;
    }
    return true;
}

int signals_watch(struct server *server, struct err *reterr)
{
    struct signals *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return err_set_no_memory(reterr);
    s->server = server;
    server->signals = s;
    if (watch_signals(s))
        return 0;
    err_set(reterr, ERR_INTERNAL, "signals cannot be watched");
    return -1;
}

void signals_release(struct signals *s)
{
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (table[i].on == on_stop)
            (void)uv_signal_stop(&s->handles[i]);
    }
}

void signals_free(struct signals *s)
{
    free(s);
}
