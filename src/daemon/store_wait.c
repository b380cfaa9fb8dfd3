/* store_wait.c -- a database may come up after the gateway, as when both are started
 * together.
 *
 * What is waited for is a server that nobody can reach yet, or that says that it is
 * starting. A wrong password or a database that is not there will still be wrong in a
 * minute: that is told at once. Connecting blocks, so it happens on a thread of its own. */
#include "daemon/store_wait.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "ev/log.h"
#include "ev/loop.h"

struct opening {
    struct store_conf conf;
    struct loop *loop;
    struct loop_message over;
    uint64_t deadline_ms;
    struct store *store;
    struct err failure;
    int signal; /* that came; or 0 */
    uv_thread_t thread;
    uv_signal_t on_int, on_term;
    int n_closing;
};

static uint64_t now_ms(void)
{
    return uv_hrtime() / 1000000;
}

/* ---- on the thread */

static void log_waiting(const struct opening *o)
{
    log_line(LOG_WARN, "waiting for the store",
             (struct log_field[]){LOG_STR("reason", str_from_c(o->failure.msg)),
                                  LOG_INT("seconds_left", (o->deadline_ms - now_ms()) / 1000),
                                  LOG_END});
}

/* True when another attempt may go better: the server is coming, or has come up since the last. */
static bool is_worth_waiting(const struct opening *o, bool *was_there)
{
    enum store_arrival arrival =
        now_ms() < o->deadline_ms ? store_arrival(&o->conf) : STORE_UNKNOWN;
    bool is_second = *was_there;

    *was_there = arrival == STORE_THERE;
    return now_ms() < o->deadline_ms &&
           (arrival == STORE_COMING || (arrival == STORE_THERE && !is_second));
}

static void on_over(void *arg)
{
    struct opening *o = arg;

    loop_stop(o->loop);
}

static void open_thread(void *arg)
{
    enum { PAUSE_MS = 500, TOLD_EVERY_MS = 10000 };
    struct opening *o = arg;
    uint64_t told_ms = 0;
    bool was_there = false;

    while ((o->store = store_open(&o->conf, &o->failure)) == NULL &&
           is_worth_waiting(o, &was_there)) {
        if (was_there)
            continue;
        if (told_ms == 0 || now_ms() >= told_ms + TOLD_EVERY_MS) {
            log_waiting(o);
            told_ms = now_ms();
        }
        uv_sleep(PAUSE_MS);
    }
    loop_post(o->loop, &o->over);
}

/* ---- on the loop */

static void on_signal(uv_signal_t *handle, int signal)
{
    struct opening *o = handle->data;

    log_line(LOG_INFO, "stopping", (struct log_field[]){LOG_INT("signal", signal), LOG_END});
    o->signal = signal;
    loop_stop(o->loop);
}

static bool watch_signal(struct opening *o, uv_signal_t *handle, int signal)
{
    handle->data = o;
    if (uv_signal_init(loop_uv(o->loop), handle) != 0)
        return false;
    o->n_closing++;
    return uv_signal_start(handle, on_signal, signal) == 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct opening *o = handle->data;

    o->n_closing--;
}

/* Closes the watch over signals: they end the next steps of the start at once. */
static void close_signals(struct opening *o)
{
    uv_close((uv_handle_t *)&o->on_int, on_closed);
    uv_close((uv_handle_t *)&o->on_term, on_closed);
    while (o->n_closing > 0)
        (void)uv_run(loop_uv(o->loop), UV_RUN_NOWAIT);
}

/* The opening is left to its thread when that is not over. */
enum store_wait store_wait_open(const struct store_conf *conf, uint64_t limit_ms, struct loop *loop,
                                struct store **ret, struct err *reterr)
{
    struct opening *o = calloc(1, sizeof(*o));
    enum store_wait outcome;

    if (o == NULL) {
        err_set_no_memory(reterr);
        return STORE_WAIT_FAILED;
    }
    *o = (struct opening){.conf = *conf, .loop = loop, .deadline_ms = now_ms() + limit_ms};
    o->over = (struct loop_message){.fn = on_over, .arg = o};
    if (!watch_signal(o, &o->on_int, SIGINT) || !watch_signal(o, &o->on_term, SIGTERM) ||
        uv_thread_create(&o->thread, open_thread, o) != 0) {
        err_set(reterr, ERR_INTERNAL, "a thread to open the store cannot be started");
        return STORE_WAIT_FAILED; /* as the process does */
    }
    loop_run(loop);
    if (o->signal != 0)
        return STORE_WAIT_ABANDONED;
    (void)uv_thread_join(&o->thread);
    close_signals(o);
    *ret = o->store;
    *reterr = o->failure;
    outcome = o->store == NULL ? STORE_WAIT_FAILED : STORE_WAIT_OPEN;
    free(o);
    return outcome;
}
