/* test_upstream_pool_threads.c -- workers on threads of their own share the pool, while the main thread exchanges
 * tables and an operator drains: for ThreadSanitizer, and for what is lost between them. */
#include "lib/test.h"
#include "upstream_table_fixture.h"

#include "upstream/upstream_pool_internal.h"

enum { THREADS = 4, TICKETS = 8, ROUNDS = 4000, TABLES = 50, TAKE_EVERY_MS = 3 };

#define FILE_OF(places)                                                                            \
    "{\"defaults\": {\"kind\": \"generic\", \"health\": \"off\"}, \"upstreams\": {"                \
    "\"a\": {\"url\": \"http://127.0.0.1:1\", \"models\": [\"m\"], \"max_concurrency\": " places   \
    "}, \"b\": {\"url\": \"http://127.0.0.1:2\", \"models\": [\"m\"], \"max_concurrency\": 2}}}"

struct crew;

struct hand {
    struct crew *crew;
    struct upstream_ticket ticket;
    struct upstream_want want;
    struct upstream_route route;
    struct loop_message next; /* it acts again */
    struct arena arena;
    bool is_asking;
};

/* The hands of one thread. */
struct crew {
    struct upstream_pool *pool;
    struct upstream_table *table;
    struct loop *loop;
    struct hand hands[TICKETS];
    size_t n_left, n_resting;
    uv_thread_t thread;
};

static struct {
    struct loop *loop;
    struct upstream_pool *pool;
    struct tabled tables[TABLES];
    struct crew crews[THREADS];
    struct loop_timer *timer;
    struct loop_message ended; /* a crew has */
    atomic_size_t n_ended;
    unsigned n_taken;
} stage;

/* ---- hands */

static void rest(struct hand *h)
{
    if (++h->crew->n_resting == TICKETS)
        loop_stop(h->crew->loop);
}

/* Ends a round in one of several ways, or gives it up. */
static void end_round(struct hand *h)
{
    static const enum upstream_outcome outcomes[] = {UPSTREAM_OUTCOME_OK, UPSTREAM_OUTCOME_4XX,
                                                     UPSTREAM_OUTCOME_RESET};
    const size_t n = h->crew->n_left;
    const struct upstream_end end = {.outcome = outcomes[n % COUNT_OF(outcomes)]};

    if (n % 7 == 0)
        upstream_pool_leave(h->crew->pool, &h->ticket);
    else
        (void)upstream_pool_end(h->crew->pool, &h->ticket, &end, &h->arena);
    loop_post(h->crew->loop, &h->next);
}

static void heed(struct hand *h, enum upstream_ticket_state s)
{
    h->is_asking = s == UPSTREAM_TICKET_WAITING;
    if (s == UPSTREAM_TICKET_GRANTED)
        end_round(h);
    else if (s != UPSTREAM_TICKET_WAITING)
        loop_post(h->crew->loop, &h->next);
}

static void on_told(void *arg)
{
    struct hand *h = arg;
    struct err e;

    if (h->is_asking)
        heed(h, upstream_pool_look(h->crew->pool, &h->ticket, &e));
}

static void act(void *arg)
{
    struct hand *h = arg;
    struct err e;

    if (h->crew->n_left == 0) {
        upstream_pool_leave(h->crew->pool, &h->ticket);
        rest(h);
        return;
    }
    h->crew->n_left--;
    heed(h, upstream_pool_admit(h->crew->pool, &h->ticket, &h->want, &h->arena, &e));
}

static void make_hand(struct crew *c, struct hand *h, size_t i)
{
    static const char *const owners[] = {"x", "y", "z"};
    struct err e;

    h->crew = c;
    h->next = (struct loop_message){.fn = act, .arg = h};
    h->ticket.loop = c->loop;
    h->ticket.told = (struct loop_message){.fn = on_told, .arg = h};
    assert_int_equal(upstream_table_route(c->table, STR("m"), NULL, &h->arena, &h->route, &e), 0);
    h->want = (struct upstream_want){.table = c->table,
                                     .route = &h->route,
                                     .owner = str_from_c(owners[i % COUNT_OF(owners)]),
                                     .weight = 1,
                                     .priority = FAIR_CLASS_NORMAL,
                                     .session = STR("talk"),
                                     .session_next = STR_NONE,
                                     .body = STR("{\"messages\":[{\"role\":\"user\"}]}")};
}

static void run_crew(void *arg)
{
    struct crew *c = arg;

    for (size_t i = 0; i < TICKETS; i++)
        loop_post(c->loop, &c->hands[i].next);
    loop_run(c->loop);
    atomic_fetch_add(&stage.n_ended, 1);
    loop_post(stage.loop, &stage.ended);
}

/* ---- the main thread */

static void on_ended(void *arg)
{
    (void)arg;
    if (atomic_load(&stage.n_ended) == THREADS)
        loop_stop(stage.loop);
}

static void change_something(void *arg)
{
    struct upstream_sum sum;
    struct err e;

    (void)arg;
    stage.n_taken++;
    if (stage.n_taken < TABLES) /* each is taken once */
        assert_int_equal(upstream_pool_take(stage.pool, stage.tables[stage.n_taken].table, &e), 0);
    if (stage.n_taken % 3 == 0)
        (void)upstream_pool_drain(stage.pool, STR("a"));
    else
        (void)upstream_pool_resume(stage.pool, STR("a"));
    upstream_pool_sum(stage.pool, &sum);
    assert_int_equal(sum.n, 2);
    loop_timer_start(stage.timer, TAKE_EVERY_MS);
}

static void open_stage(void)
{
    struct err e;

    stage.loop = loop_new(&e);
    stage.ended = (struct loop_message){.fn = on_ended};
    stage.pool = upstream_pool_new(stage.loop, &e);
    stage.timer = loop_timer_new(stage.loop, change_something, NULL);
    for (size_t i = 0; i < TABLES; i++) {
        stage.tables[i].file = i % 2 == 0 ? FILE_OF("1") : FILE_OF("2");
        tabled_fine(&stage.tables[i]);
    }
    assert_int_equal(upstream_pool_take(stage.pool, stage.tables[0].table, &e), 0);
    for (size_t i = 0; i < THREADS; i++) {
        struct crew *c = &stage.crews[i];

        c->pool = stage.pool;
        c->table = stage.tables[0].table;
        c->n_left = ROUNDS;
        c->loop = loop_new(&e);
        for (size_t k = 0; k < TICKETS; k++)
            make_hand(c, &c->hands[k], k);
    }
}

static void close_stage(void)
{
    for (size_t i = 0; i < THREADS; i++) {
        loop_free(stage.crews[i].loop);
        for (size_t k = 0; k < TICKETS; k++)
            arena_fini(&stage.crews[i].hands[k].arena);
    }
    upstream_pool_free(stage.pool);
    loop_timer_free(stage.timer);
    loop_free(stage.loop);
    for (size_t i = 0; i < TABLES; i++)
        tabled_end(&stage.tables[i]);
}

static void workers_share_places_and_lose_none(void **state)
{
    (void)state;
    open_stage();
    loop_timer_start(stage.timer, TAKE_EVERY_MS);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(uv_thread_create(&stage.crews[i].thread, run_crew, &stage.crews[i]), 0);
    loop_run(stage.loop);
    for (size_t i = 0; i < THREADS; i++)
        (void)uv_thread_join(&stage.crews[i].thread);
    assert_int_equal(stage.pool->n_rounds, 0);
    assert_int_equal(stage.pool->n_retrying, 0);
    assert_int_equal(stage.pool->n_waiting, 0);
    for (const struct upstream_live *l = stage.pool->lives; l != NULL; l = l->next)
        assert_int_equal(l->in_flight, 0);
    close_stage();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_share_places_and_lose_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
