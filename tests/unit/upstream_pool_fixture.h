/* upstream_pool_fixture.h -- a pool of upstreams whose clock, loop and servers a test moves by hand.
 *
 * The fakes take the place of loop, clock, http_client and upstream_watch in a test program that includes this:
 * the linker looks into the library only for what is missing. There is one of each. */
#ifndef ANTIPHON_TESTS_UNIT_UPSTREAM_POOL_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_UPSTREAM_POOL_FIXTURE_H

#include "fake_loop.h"
#include "upstream_table_fixture.h"

#include "ev/log.h"
#include "http/http_client.h"
#include "lib/failing_malloc.h"
#include "upstream/upstream_pool_internal.h"
#include "upstream/upstream_watch_internal.h"

enum { MOST_TABLES = 4, MOST_CALLS = 8 };

struct http_call {
    const struct http_call_handler *handler; /* NULL: there is none */
    void *arg;
    char url[128];
};

static struct rig {
    struct loop *loop;
    struct upstream_pool *pool;
    struct tabled tables[MOST_TABLES]; /* one after the other */
    size_t n_tables;
    struct http_call calls[MOST_CALLS]; /* checks that are under way */
    unsigned n_calls;                   /* that were ever started */
    bool lacks_calls;                   /* none can be started */
} rig;

uint64_t upstream_pool_now_ms(void)
{
    return rig.loop->now_ms;
}

/* ---- servers: what checks ask */

struct http_client *upstream_watch_open_client(struct loop *loop,
                                               const struct upstream_watch_conf *conf)
{
    (void)loop;
    (void)conf;
    return malloc(1);
}

void http_client_free(struct http_client *client)
{
    free(client);
}

bool http_client_is_resolving(const struct http_client *client)
{
    (void)client;
    return false;
}

struct http_call *http_client_start(struct http_client *client, const struct http_call_conf *conf,
                                    const struct http_call_handler *handler, void *arg,
                                    struct err *reterr)
{
    struct http_call *call = rig.calls;

    (void)client;
    if (rig.lacks_calls) {
        (void)err_set_no_memory(reterr);
        return NULL;
    }
    while (call->handler != NULL)
        call++;
    assert_true(call < rig.calls + MOST_CALLS);
    *call = (struct http_call){.handler = handler, .arg = arg};
    (void)snprintf(call->url, sizeof(call->url), "%s", conf->url);
    rig.n_calls++;
    return call;
}

void http_call_cancel(struct http_call *call)
{
    call->handler = NULL;
}

const char *http_call_phase(const struct http_call *call)
{
    (void)call;
    return "connecting";
}

/* The check that asks this URL, which must be under way. */
static inline struct http_call *check_of(const char *url)
{
    for (size_t i = 0; i < MOST_CALLS; i++) {
        if (rig.calls[i].handler != NULL && strcmp(rig.calls[i].url, url) == 0)
            return &rig.calls[i];
    }
    fail_msg("nobody asks %s", url);
    return rig.calls;
}

static inline bool is_asked(const char *url)
{
    for (size_t i = 0; i < MOST_CALLS; i++) {
        if (rig.calls[i].handler != NULL && strcmp(rig.calls[i].url, url) == 0)
            return true;
    }
    return false;
}

static inline void server_answers(const char *url, int status, const char *body)
{
    struct http_call *call = check_of(url);
    const struct http_call was = *call;

    was.handler->on_head(was.arg, status, NULL, 0);
    if (*body != '\0')
        was.handler->on_body(was.arg, str_from_c(body));
    if (call->handler == NULL)
        return; /* it had heard enough */
    call->handler = NULL;
    was.handler->on_end(was.arg, NULL);
}

static inline void server_fails(const char *url, enum err_code code)
{
    struct http_call *call = check_of(url);
    const struct http_call was = *call;
    struct err e;

    err_set(&e, code, "no");
    call->handler = NULL;
    was.handler->on_end(was.arg, &e);
}

/* ---- what is known of upstreams: nothing */

struct upstream_watch *upstream_watch_new(struct loop *loop, const struct upstream_watch_conf *conf,
                                          struct err *reterr)
{
    struct upstream_watch *w = malloc(1);

    (void)loop;
    (void)conf;
    if (w == NULL)
        (void)err_set_no_memory(reterr);
    return w;
}

void upstream_watch_free(struct upstream_watch *w)
{
    free(w);
}

void upstream_watch_begin(struct upstream_watch *w, str authorization)
{
    (void)w;
    (void)authorization;
}

void upstream_watch_rest(struct upstream_watch *w)
{
    (void)w;
}

bool upstream_watch_is_resolving(const struct upstream_watch *w)
{
    (void)w;
    return false;
}

enum upstream_state upstream_watch_state(const struct upstream_watch *w)
{
    (void)w;
    return UPSTREAM_UP;
}

/* ---- the pool */

static inline struct upstream_table *newest(void)
{
    return rig.tables[rig.n_tables - 1].table;
}

/* Loads a table, of that file; NULL: of the configuration's one upstream. args: of the configuration. */
static inline struct upstream_table *load_next(const char *file, const char *const *args)
{
    struct tabled *t = &rig.tables[rig.n_tables++];

    assert_true(rig.n_tables <= MOST_TABLES);
    *t = (struct tabled){.file = file};
    for (size_t i = 0; args != NULL && args[i] != NULL; i++)
        t->config.args[i] = args[i];
    tabled_fine(t);
    return t->table;
}

static inline void take_next(const char *file, const char *const *args)
{
    struct err e;

    assert_int_equal(upstream_pool_take(rig.pool, load_next(file, args), &e), 0);
}

static inline void open_rig(const char *file, const char *const *args)
{
    struct err e;

    rig = (struct rig){.n_calls = 0};
    log_setup(LOG_ERROR, LOG_TEXT);
    rig.loop = loop_new(&e);
    rig.pool = upstream_pool_new(rig.loop, &e);
    assert_non_null(rig.pool);
    take_next(file, args);
}

static inline void pass(uint64_t ms)
{
    fake_loop_pass(rig.loop, ms);
}

static inline struct upstream_view view_of(const char *name)
{
    struct upstream_view view;

    upstream_pool_view(rig.pool, upstream_table_find(newest(), str_from_c(name)), &view);
    return view;
}

static inline size_t n_waiting(void)
{
    struct upstream_sum sum;

    upstream_pool_sum(rig.pool, &sum);
    return sum.n_waiting;
}

/* Nobody has a place or waits for one. */
static inline void assert_rest(void)
{
    pass(0);
    for (const struct upstream_live *l = rig.pool->lives; l != NULL; l = l->next) {
        assert_int_equal(l->in_flight, 0);
        assert_false(l->health.is_probed);
    }
    for (const struct upstream_group *g = rig.pool->groups; g != NULL; g = g->next)
        assert_int_equal(g->queue.n, 0);
    assert_null(rig.pool->waiting);
    assert_int_equal(rig.pool->n_waiting, 0);
    assert_int_equal(rig.pool->waiting_bytes, 0);
    assert_int_equal(rig.pool->n_rounds, 0);
    assert_int_equal(rig.pool->n_retrying, 0);
}

static inline void close_rig(void)
{
    assert_rest();
    upstream_pool_free(rig.pool);
    loop_free(rig.loop);
    for (size_t i = 0; i < rig.n_tables; i++)
        tabled_end(&rig.tables[i]);
}

/* ---- those who ask */

struct asker {
    struct upstream_ticket ticket;
    struct upstream_want want;
    struct upstream_route route;
    struct arena arena;
    unsigned n_told;
    struct err e; /* of the last refusal */
};

static inline void on_asker_told(void *arg)
{
    struct asker *a = arg;

    a->n_told++;
}

static inline struct upstream_want *prepare(struct asker *a, const char *model, const char *owner)
{
    *a = (struct asker){.n_told = 0};
    a->ticket.loop = rig.loop;
    a->ticket.told = (struct loop_message){.fn = on_asker_told, .arg = a};
    assert_int_equal(
        upstream_table_route(newest(), str_from_c(model), NULL, &a->arena, &a->route, &a->e), 0);
    a->want = (struct upstream_want){.table = newest(),
                                     .route = &a->route,
                                     .owner = str_from_c(owner),
                                     .weight = 1,
                                     .priority = FAIR_CLASS_NORMAL,
                                     .session = STR(""),
                                     .session_next = STR_NONE,
                                     .body = STR("")};
    return &a->want;
}

static inline enum upstream_ticket_state ask(struct asker *a)
{
    return upstream_pool_admit(rig.pool, &a->ticket, &a->want, &a->arena, &a->e);
}

static inline enum upstream_ticket_state look(struct asker *a)
{
    return upstream_pool_look(rig.pool, &a->ticket, &a->e);
}

/* For the model "m", by the owner "o". */
static inline enum upstream_ticket_state begin(struct asker *a)
{
    (void)prepare(a, "m", "o");
    return ask(a);
}

static inline void gets(struct asker *a)
{
    assert_int_equal(begin(a), UPSTREAM_TICKET_GRANTED);
}

static inline void waits(struct asker *a)
{
    assert_int_equal(begin(a), UPSTREAM_TICKET_WAITING);
}

/* It has been told once more, and has its place. */
static inline void has_got(struct asker *a)
{
    pass(0);
    assert_int_equal(a->n_told, 1);
    a->n_told = 0;
    assert_int_equal(look(a), UPSTREAM_TICKET_GRANTED);
}

static inline void still_waits(struct asker *a)
{
    pass(0);
    assert_int_equal(a->n_told, 0);
    assert_int_equal(look(a), UPSTREAM_TICKET_WAITING);
}

static inline str place_of(const struct asker *a)
{
    return a->want.table->entries[a->route.candidates[a->ticket.granted].entry].name;
}

static inline void is_at(const struct asker *a, const char *name)
{
    if (!str_eq(place_of(a), str_from_c(name)))
        fail_msg("at %.*s, not at %s", STR_ARG(place_of(a)), name);
}

static inline struct upstream_plan end_as(struct asker *a, enum upstream_outcome outcome,
                                          int retry_after_s)
{
    const struct upstream_end end = {.outcome = outcome, .retry_after_s = retry_after_s};

    return upstream_pool_end(rig.pool, &a->ticket, &end, &a->arena);
}

static inline void leave(struct asker *a)
{
    upstream_pool_leave(rig.pool, &a->ticket);
}

/* It is done, and gone. */
static inline void done(struct asker *a)
{
    assert_int_equal(end_as(a, UPSTREAM_OUTCOME_OK, 0).next, UPSTREAM_NEXT_GIVE_UP);
    arena_fini(&a->arena);
}

static inline void gone(struct asker *a)
{
    leave(a);
    pass(0); /* what was under way to it */
    arena_fini(&a->arena);
}

/* Fails so often, each time in a round of its own. */
static inline void fails(struct asker *a, unsigned n, enum upstream_outcome outcome)
{
    const struct upstream_end end = {.outcome = outcome, .is_final = true};

    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(ask(a), UPSTREAM_TICKET_GRANTED);
        (void)upstream_pool_end(rig.pool, &a->ticket, &end, &a->arena);
    }
}

static inline void is_refused(struct asker *a, enum upstream_ticket_state state, enum err_code code,
                              const char *words)
{
    assert_int_equal(state, UPSTREAM_TICKET_REFUSED);
    assert_int_equal(a->e.code, code);
    if (strstr(a->e.msg, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", a->e.msg, words);
}

#endif
