/* drain.c -- the steps of a drain, and what each worker is told of them.
 *
 * A worker has one message for all steps: when it is run, it does what is wanted by then. So steps that
 * follow each other quickly cannot overtake each other; nor can who asks for a drain, and who takes it
 * back. */
#include "daemon/drain.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/listen_spec.h"
#include "config/config.h"
#include "daemon/server_internal.h"
#include "ev/log.h"
#include "flight/settings.h"
#include "flight/worker.h"
#include "http/http_server.h"
#include "net/listen_address.h"

enum { MARGIN_S = 10 }; /* for children and the store, when all workers have ended */

enum drain_state { SERVING, LEAVING, DRAINED };

/* A socket on its way to a worker that is to serve again. */
struct given_socket {
    const struct http_listener *listener; /* the server's */
    int fd;                               /* -1: it has been taken */
};

struct given_sockets {
    size_t n;
    struct given_socket v[];
};

/* What one worker is told. */
struct teller {
    struct worker *worker;
    struct loop_message message;
    _Atomic enum teller_wish { SERVE, REST, END, HAND_OVER } wish;
    /* Or NULL. Put there before the wish to serve: who goes by an earlier wish leaves them alone. */
    _Atomic(struct given_sockets *) given;
};

struct drain {
    struct server *server;
    struct loop_timer *delay;
    struct teller *tellers; /* one for each worker */
    struct loop_message asked;
    atomic_bool is_wanted; /* by who has asked last */
    enum drain_state state;
    uint64_t since_ms; /* in DRAINED; 0: never */
    bool is_to_end, is_handed_over;
};

/* ---- on the worker's thread */

static void free_given(struct given_sockets *g)
{
    for (size_t i = 0; g != NULL && i < g->n; i++) {
        if (g->v[i].fd != -1)
            (void)close(g->v[i].fd);
    }
    free(g);
}

/* Listeners of before are closed by now, or when it was never told to rest. */
static void serve_again(struct worker *w, struct given_sockets *g)
{
    struct err e;

    worker_rest(w);
    worker_serve(w);
    for (size_t i = 0; i < g->n; i++) {
        if (http_server_listen_as(w->server, g->v[i].fd, g->v[i].listener, &e) == -1)
            log_msg(LOG_ERROR, "%s", e.msg);
        g->v[i].fd = -1;
    }
}

static void do_wish(void *arg)
{
    struct teller *t = arg;
    struct given_sockets *given;

    switch (atomic_load(&t->wish)) {
    case SERVE:
        given = atomic_exchange(&t->given, NULL);
        if (given != NULL)
            serve_again(t->worker, given);
        free_given(given);
        break;
    case REST:
        worker_rest(t->worker);
        break;
    case END:
        worker_drain(t->worker);
        break;
    case HAND_OVER:
        worker_hand_over(t->worker);
        break;
    }
}

/* ---- on the main loop */

static void tell_workers(struct drain *d, enum teller_wish wish)
{
    for (unsigned i = 0; i < d->server->n_threads; i++) {
        atomic_store(&d->tellers[i].wish, wish);
        loop_post(d->server->workers[i]->loop, &d->tellers[i].message);
    }
}

/* Sockets that no worker has taken: nobody would serve who connects to them. */
static void forget_given(struct drain *d)
{
    for (unsigned i = 0; i < d->server->n_threads; i++)
        free_given(atomic_exchange(&d->tellers[i].given, NULL));
}

static void set_phase(struct drain *d, enum life_phase phase)
{
    atomic_store(&d->server->life.phase, phase);
}

static bool is_for_operators(const struct server *s, size_t i)
{
    return (s->listeners[i].marks & (LISTEN_METRICS | LISTEN_ADMIN)) != 0;
}

/* Listeners for operators go with the process. */
static void close_addresses(struct drain *d)
{
    const struct server *s = d->server;

    for (size_t i = 0; i < s->n_addresses; i++) {
        if (d->is_to_end || !is_for_operators(s, i))
            listen_address_rest(s->addresses[i]);
    }
}

/* The configuration as it was read last. */
static const struct config *config_now(const struct drain *d)
{
    const struct settings *again = d->server->settings;

    return again != NULL ? &again->config : d->server->config;
}

static void on_delay(void *arg)
{
    struct drain *d = arg;

    d->state = DRAINED;
    d->since_ms = loop_now_ms(d->server->loop);
    close_addresses(d);
    tell_workers(d, d->is_handed_over ? HAND_OVER : d->is_to_end ? END : REST);
    forget_given(d);
}

uint64_t drain_left_ms(const struct drain *d)
{
    const uint64_t all_ms = config_now(d)->drain_timeout_ms;
    const uint64_t passed_ms = d->since_ms == 0 ? 0 : loop_now_ms(d->server->loop) - d->since_ms;

    return passed_ms < all_ms ? all_ms - passed_ms : 0;
}

static void start_draining(struct drain *d)
{
    const struct config *c = config_now(d);
    const uint64_t delay_ms = d->is_handed_over ? 0 : c->drain_delay_ms;

    d->state = LEAVING;
    set_phase(d, LIFE_DRAINING);
    log_line(LOG_INFO, "draining",
             (struct log_field[]){LOG_INT("drain_delay_ms", delay_ms),
                                  LOG_INT("drain_timeout_ms", c->drain_timeout_ms), LOG_END});
    if (delay_ms == 0)
        on_delay(d);
    else
        loop_timer_start(d->delay, delay_ms);
}

static void begin_draining(struct drain *d)
{
    if (d->state == SERVING)
        start_draining(d);
}

/* A process that does not end is ended: something that nobody thought of hangs. */
static void on_alarm(int signal)
{
    static const char text[] = "antiphon: the end takes too long: exit without waiting for it\n";

    (void)signal;
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(EXIT_FAILURE);
}

static void limit_time(const struct config *c)
{
    const uint64_t limit_s = (c->drain_delay_ms + c->drain_timeout_ms) / 1000 + MARGIN_S;

    (void)signal(SIGALRM, on_alarm);
    (void)alarm((unsigned)limit_s);
}

void drain_to_end(struct drain *d)
{
    if (d->is_to_end)
        return;
    d->is_to_end = true;
    notify_send(&d->server->notify, "STOPPING=1");
    limit_time(config_now(d));
    if (d->state == SERVING)
        start_draining(d);
    else if (d->state == DRAINED)
        on_delay(d);
}

void drain_hand_over(struct drain *d)
{
    d->is_handed_over = true;
    drain_to_end(d);
}

bool drain_is_to_end(const struct drain *d)
{
    return d->is_to_end;
}

/* ---- taking it back */

static size_t count_sockets(const struct server *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_addresses; i++)
        n += is_for_operators(s, i) ? 0 : listen_address_per_worker(s->addresses[i], s->n_workers);
    return n;
}

static bool take_address(const struct server *s, size_t i, struct given_sockets *g,
                         struct err *reterr)
{
    for (size_t n = listen_address_per_worker(s->addresses[i], s->n_workers); n > 0; n--) {
        int fd = listen_address_fd(s->addresses[i], reterr);

        if (fd == -1)
            return false;
        g->v[g->n++] = (struct given_socket){&s->listeners[i], fd};
    }
    return true;
}

/* The sockets of one worker, of each address that was closed. NULL with *reterr filled. */
static struct given_sockets *take_sockets(const struct server *s, struct err *reterr)
{
    struct given_sockets *g = calloc(1, sizeof(*g) + count_sockets(s) * sizeof(g->v[0]));

    if (g == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    for (size_t i = 0; i < s->n_addresses; i++) {
        if (!is_for_operators(s, i) && !take_address(s, i, g, reterr)) {
            free_given(g);
            return NULL;
        }
    }
    return g;
}

/* Every worker has its sockets behind this; it listens when it is told to serve. */
static int open_again(struct drain *d, struct err *reterr)
{
    struct server *s = d->server;

    for (size_t i = 0; i < s->n_addresses; i++) {
        if (!is_for_operators(s, i) && listen_address_serve(s->addresses[i], reterr) == -1)
            return -1;
    }
    for (unsigned i = 0; i < s->n_threads; i++) {
        struct given_sockets *g = take_sockets(s, reterr);

        if (g == NULL)
            return -1;
        free_given(atomic_exchange(&d->tellers[i].given, g));
    }
    return 0;
}

static void take_back(struct drain *d)
{
    struct err e;

    if (d->is_to_end || d->state == SERVING)
        return;
    loop_timer_stop(d->delay);
    if (d->state == DRAINED && open_again(d, &e) == -1) {
        log_msg(LOG_ERROR, "the drain cannot be taken back: %s", e.msg);
        forget_given(d);
        close_addresses(d);
        return;
    }
    if (d->state == DRAINED)
        tell_workers(d, SERVE);
    d->state = SERVING;
    set_phase(d, LIFE_SERVING);
    log_msg(LOG_INFO, "serving again");
}

/* ---- begin and end */

static void on_asked(void *arg)
{
    struct drain *d = arg;

    if (atomic_load(&d->is_wanted))
        begin_draining(d);
    else
        take_back(d);
}

void drain_ask(struct drain *d, bool begins)
{
    atomic_store(&d->is_wanted, begins);
    loop_post(d->server->loop, &d->asked);
}

struct drain *drain_new(struct server *s, struct err *reterr)
{
    struct drain *d = calloc(1, sizeof(*d));

    if (d == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    d->server = s;
    d->asked = (struct loop_message){.fn = on_asked, .arg = d};
    d->delay = loop_timer_new(s->loop, on_delay, d);
    d->tellers = calloc(s->n_workers, sizeof(*d->tellers));
    if (d->delay == NULL || d->tellers == NULL) {
        err_set_no_memory(reterr);
        drain_free(d);
        return NULL;
    }
    for (unsigned i = 0; i < s->n_workers; i++) {
        d->tellers[i].worker = s->workers[i];
        d->tellers[i].message = (struct loop_message){.fn = do_wish, .arg = &d->tellers[i]};
    }
    return d;
}

void drain_free(struct drain *d)
{
    if (d == NULL)
        return;
    for (unsigned i = 0; d->tellers != NULL && i < d->server->n_workers; i++)
        free_given(atomic_load(&d->tellers[i].given));
    free(d->tellers);
    loop_timer_free(d->delay);
    free(d);
}
