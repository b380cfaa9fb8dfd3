/* admin_ask.c -- the way from worker to worker.
 *
 * A loop that has ended takes messages and never runs them. So a worker that ends says so, and what waited
 * there goes on without it; such a question stays in memory until the loop is gone, which may still look at
 * its message. */
#include "admin/admin_ask.h"

#include <stdlib.h>
#include <uv.h>

#include "admin/admin.h"
#include "admin/admin_routes.h"

struct place {
    struct worker *worker;
    bool is_closed;
    struct admin_ask *waiting; /* whose message is under way there */
};

struct admin {
    uv_mutex_t lock;            /* guards what follows; only posting is done while it is held */
    struct admin_ask *stranded; /* answered, and the message of a loop that has ended */
    uint64_t since_ns;          /* constant, like the next one */
    size_t n_places;
    struct place places[];
};

/* ---- the workers */

struct admin *admin_new(struct worker *const *workers, size_t n_workers)
{
    struct admin *a = calloc(1, sizeof(*a) + n_workers * sizeof(a->places[0]));

    if (a == NULL || uv_mutex_init(&a->lock) != 0) {
        free(a);
        return NULL;
    }
    a->since_ns = uv_hrtime();
    a->n_places = n_workers;
    for (size_t i = 0; i < n_workers; i++) {
        a->places[i].worker = workers[i];
        workers[i]->admin = a;
    }
    return a;
}

static void free_ask(struct admin_ask *ask)
{
    buf_fini(&ask->text);
    arena_fini(&ask->arena);
    free(ask);
}

void admin_free(struct admin *a)
{
    if (a == NULL)
        return;
    for (struct admin_ask *ask = a->stranded, *next; ask != NULL; ask = next) {
        next = ask->next;
        free_ask(ask);
    }
    uv_mutex_destroy(&a->lock);
    free(a);
}

uint64_t admin_uptime_s(const struct admin *a)
{
    enum { NS_PER_S = 1000000000 };

    return (uv_hrtime() - a->since_ns) / NS_PER_S;
}

/* ---- the way */

/* With the lock held: sends the question on to the next worker that runs, or home. */
static void send_on(struct admin_ask *ask)
{
    struct admin *a = ask->of;

    while (ask->at < a->n_places && (a->places[ask->at].is_closed || ask->is_found))
        ask->at++;
    if (ask->at == a->n_places) {
        loop_post(ask->home->loop, &ask->back);
        return;
    }
    ask->next = a->places[ask->at].waiting;
    a->places[ask->at].waiting = ask;
    loop_post(a->places[ask->at].worker->loop, &ask->hops[ask->at]);
}

static void remove_waiting(struct place *place, struct admin_ask *ask)
{
    struct admin_ask **link = &place->waiting;

    while (*link != ask)
        link = &(*link)->next;
    *link = ask->next;
}

static void on_hop(void *arg)
{
    struct admin_ask *ask = arg;
    struct admin *a = ask->of;

    uv_mutex_lock(&a->lock);
    remove_waiting(&a->places[ask->at], ask);
    uv_mutex_unlock(&a->lock);
    ask->kind->visit(ask, a->places[ask->at].worker);
    uv_mutex_lock(&a->lock);
    ask->at++;
    send_on(ask);
    uv_mutex_unlock(&a->lock);
}

void admin_close_worker(struct admin *a, const struct worker *w)
{
    struct place *place = a->places;
    struct admin_ask *waiting;

    while (place->worker != w)
        place++;
    uv_mutex_lock(&a->lock);
    place->is_closed = true;
    waiting = place->waiting;
    place->waiting = NULL;
    while (waiting != NULL) {
        struct admin_ask *ask = waiting;

        waiting = ask->next;
        ask->is_stranded = true;
        ask->at++;
        send_on(ask);
    }
    uv_mutex_unlock(&a->lock);
}

/* ---- at home */

static void on_back(void *arg)
{
    struct admin_ask *ask = arg;

    loop_receive(ask->home->loop);
    ask->kind->answer(ask);
}

static void on_gone(void *arg)
{
    struct admin_ask *ask = arg;

    ask->x = NULL;
}

static void on_blocked(void *arg, bool is_blocked)
{
    (void)arg;
    (void)is_blocked;
}

static void refuse_for_memory(struct http_exchange *x)
{
    struct err e;

    err_set_no_memory(&e);
    http_exchange_respond_error(x, &e, NULL, 0);
}

void admin_respond_json(struct http_exchange *x, int status, struct buf *body)
{
    const struct http_header type = {STR("content-type"), STR("application/json")};

    if (buf_failed(body))
        refuse_for_memory(x);
    else
        http_exchange_respond(x, status, &type, 1, buf_str(body));
    buf_fini(body);
}

static struct admin_ask *new_ask(struct admin *a, str id)
{
    struct admin_ask *ask = calloc(1, sizeof(*ask) + a->n_places * sizeof(ask->hops[0]));

    if (ask == NULL)
        return NULL;
    ask->id = arena_dup(&ask->arena, id);
    if (str_is_none(ask->id) != str_is_none(id)) {
        free_ask(ask);
        return NULL;
    }
    for (size_t i = 0; i < a->n_places; i++)
        ask->hops[i] = (struct loop_message){.fn = on_hop, .arg = ask};
    return ask;
}

void admin_ask_begin(const struct admin_ask_kind *kind, struct worker *home,
                     struct http_exchange *x, str id)
{
    static const struct http_exchange_handler handler = {on_gone, on_blocked};
    struct admin *a = home->admin;
    struct admin_ask *ask = new_ask(a, id);

    if (ask == NULL) {
        refuse_for_memory(x);
        return;
    }
    ask->kind = kind;
    ask->of = a;
    ask->home = home;
    ask->x = x;
    ask->json = jw_to(&ask->text);
    ask->back = (struct loop_message){.fn = on_back, .arg = ask};
    http_exchange_watch(x, &handler, ask);
    loop_expect(home->loop);
    uv_mutex_lock(&a->lock);
    send_on(ask);
    uv_mutex_unlock(&a->lock);
}

static void end_ask(struct admin_ask *ask)
{
    struct admin *a = ask->of;

    if (!ask->is_stranded) {
        free_ask(ask);
        return;
    }
    uv_mutex_lock(&a->lock);
    ask->next = a->stranded;
    a->stranded = ask;
    uv_mutex_unlock(&a->lock);
}

void admin_ask_respond(struct admin_ask *ask, int status)
{
    if (ask->x != NULL)
        admin_respond_json(ask->x, status, &ask->text);
    end_ask(ask);
}

void admin_ask_respond_error(struct admin_ask *ask, const struct err *e)
{
    if (ask->x != NULL)
        http_exchange_respond_error(ask->x, e, NULL, 0);
    end_ask(ask);
}
