/* test_store_lease.c -- who has work that several gateways could have. */
#include <uv.h>

#include "store/store_lock.h"
#include "store/store_thread.h"
#include "store/store_work.h"
#include "store_rows.h"

enum { LONG_MS = 3600 * 1000 };

static bool is_memory(void)
{
    return strcmp(backend_url, "memory") == 0;
}

static void accept_one(struct fixture *f, const char *id)
{
    const struct store_work_limits no_limits = {.most = 0};
    const struct store_request request = {.body = STR("{}")};
    struct store_response r = response_from(f, id, NULL, "<in");

    assert_ok(store_accept_work(f->s, alice, &r, &request, &no_limits, &f->err));
}

static bool try_claim(struct fixture *f, struct store_session *s, struct store_work *ret)
{
    bool is_found;

    assert_ok(store_claim_work(s, STR_NONE, &f->arena, ret, &is_found, &f->err));
    return is_found;
}

static bool try_take_lost(struct fixture *f, struct store_work *ret)
{
    bool is_found;

    assert_ok(store_take_lost_work(f->s, &f->arena, ret, &is_found, &f->err));
    return is_found;
}

static void start(struct fixture *f, struct store_session *s, const struct store_work *w)
{
    enum store_wish wish;

    assert_ok(store_start_work(s, w->id, w->lock, STR_NONE, STR_NONE, &wish, &f->err));
    assert_int_equal(wish, STORE_GO_ON);
}

static struct store *open_gateway(struct fixture *f, uint64_t lock_ms, uint64_t work_ms)
{
    struct store_conf conf = backend_conf;
    struct store *st;

    conf.lock_ms = lock_ms;
    conf.work_ms = work_ms;
    st = store_open(&conf, &f->err);
    assert_non_null(st);
    return st;
}

/* A session with the name of a gateway, which gives signs of life for it. */
static struct store_session *session_of(struct fixture *f, const struct store *st)
{
    struct store_session *s = store_session_open(&backend_conf, &f->err);

    assert_non_null(s);
    memcpy(s->worker, st->threads[0].session.worker, sizeof(s->worker));
    memcpy(s->instance, st->threads[0].session.instance, sizeof(s->instance));
    return s;
}

/* A session that is no store's gives no sign of life, as if its gateway stood still. */
static struct store_session *open_silent(struct fixture *f, uint64_t lock_ms, uint64_t work_ms)
{
    struct store_conf conf = backend_conf;
    struct store_session *s;

    conf.lock_ms = lock_ms;
    conf.work_ms = work_ms;
    s = store_session_open(&conf, &f->err);
    assert_non_null(s);
    return s;
}

static void work_without_a_sign_of_life_is_queued_again_or_lost(void **state)
{
    struct fixture *f = *state;
    struct store_session *silent;
    struct store_work started, claimed, w;
    struct store *st;

    if (is_memory())
        skip();
    st = open_gateway(f, LONG_MS, 50);
    silent = open_silent(f, LONG_MS, 50);
    accept_one(f, "r1");
    accept_one(f, "r2");
    assert_true(try_claim(f, silent, &started));
    start(f, silent, &started);
    assert_true(try_claim(f, silent, &claimed));
    while (!try_claim(f, f->s, &w))
        continue;
    assert_str_c(w.id, "r2");
    while (!try_take_lost(f, &w))
        continue;
    assert_str_c(w.id, "r1");
    store_session_close(silent);
    store_close(st);
}

static void the_lease_of_work_is_not_that_of_a_conversation(void **state)
{
    struct fixture *f = *state;
    struct store_session *silent;
    struct store_history before;
    struct store_work w;
    struct store *st;

    if (is_memory())
        skip();
    create(f, "c1", "");
    st = open_gateway(f, LONG_MS, 50);
    silent = open_silent(f, LONG_MS, 50);
    accept_one(f, "r1");
    assert_ok(
        store_lock_conversation(silent, alice, STR("c1"), STR("x"), &f->arena, &before, &f->err));
    assert_true(try_claim(f, silent, &w));
    while (!try_claim(f, f->s, &w))
        continue;
    assert_fails(
        store_lock_conversation(f->s, alice, STR("c1"), STR("y"), &f->arena, &before, &f->err),
        ERR_CONVERSATION_LOCKED);
    store_session_close(silent);
    store_close(st);
}

static void work_with_signs_of_life_stays_its_holders(void **state)
{
    enum { LEASE_MS = 2000 }; /* a busy machine may keep a sign of life for long */
    struct fixture *f = *state;
    struct store_session *session;
    struct store *holder, *other;
    struct store_work mine, w;
    uint64_t end;

    if (is_memory())
        skip();
    holder = open_gateway(f, LONG_MS, LEASE_MS);
    other = open_gateway(f, LONG_MS, LEASE_MS);
    session = session_of(f, holder);
    accept_one(f, "r1");
    assert_true(try_claim(f, session, &mine));
    start(f, session, &mine);
    end = uv_hrtime() + (uint64_t)LEASE_MS * 5 / 4 * 1000000;
    while (uv_hrtime() < end)
        assert_false(try_take_lost(f, &w));
    store_session_close(session);
    store_close(other);
    store_close(holder);
}

static void released_work_is_queued_again_or_lost(void **state)
{
    struct fixture *f = *state;
    struct store_session *session;
    struct store_work started, claimed, w;
    struct store *st;

    if (is_memory())
        skip();
    st = open_gateway(f, LONG_MS, LONG_MS);
    session = session_of(f, st);
    accept_one(f, "r1");
    accept_one(f, "r2");
    assert_true(try_claim(f, session, &started));
    start(f, session, &started);
    assert_true(try_claim(f, session, &claimed));
    store_release_work(st, claimed.lock);
    while (!try_claim(f, f->s, &w))
        continue;
    assert_str_c(w.id, "r2");
    assert_false(try_take_lost(f, &w));
    store_release_work(st, started.lock);
    store_close(st); /* what is released last, too */
    assert_true(try_take_lost(f, &w));
    assert_str_c(w.id, "r1");
    store_session_close(session);
}

/* The connection is lost while the claim is committed: its task is told that it has failed. */
static void a_claim_that_nobody_knows_of_is_given_back(void **state)
{
    struct fixture *f = *state;
    struct store_session *session;
    struct store_work w;
    struct store *st;

    if (is_memory())
        skip();
    st = open_gateway(f, LONG_MS, LONG_MS);
    session = session_of(f, st);
    session->locks = st->locks;
    accept_one(f, "r1");
    accept_one(f, "r2");
    assert_ok(session_begin(session, STORE_WRITE, &f->err));
    assert_true(try_claim(f, session, &w));
    assert_true(try_claim(f, session, &w));
    locks_doubt(session);
    assert_ok(session_commit(session, &f->err));
    store_release_work(st, STR("the next renewal comes at once"));
    while (!try_claim(f, f->s, &w))
        continue;
    assert_str_c(w.id, "r1");
    assert_true(try_claim(f, f->s, &w));
    store_session_close(session);
    store_close(st);
}

/* ---- at the same time */

enum { GATEWAYS = 4, RESPONSES = 200 };

struct gateway {
    struct fixture f;
    uv_thread_t thread;
    size_t n_claimed;
    bool has_failed;
};

static void claim_all(void *arg)
{
    struct gateway *g = arg;
    struct store_work w;
    bool is_found = true;

    while (is_found && !g->has_failed) {
        g->has_failed =
            store_claim_work(g->f.s, STR_NONE, &g->f.arena, &w, &is_found, &g->f.err) == -1;
        if (is_found && !g->has_failed)
            g->n_claimed++;
    }
}

static void each_response_is_claimed_by_one_gateway(void **state)
{
    struct fixture *f = *state;
    struct gateway *gateways = calloc(GATEWAYS, sizeof(*gateways));
    size_t n = 0;

    if (is_memory()) {
        free(gateways);
        skip();
    }
    for (size_t i = 0; i < RESPONSES; i++)
        accept_one(f, text(f, "r%zu", i).p);
    for (size_t i = 0; i < GATEWAYS; i++) {
        gateways[i].f.s = store_session_open(&backend_conf, &f->err);
        assert_non_null(gateways[i].f.s);
        assert_int_equal(uv_thread_create(&gateways[i].thread, claim_all, &gateways[i]), 0);
    }
    for (size_t i = 0; i < GATEWAYS; i++) {
        uv_thread_join(&gateways[i].thread);
        assert_false(gateways[i].has_failed);
        n += gateways[i].n_claimed;
        store_session_close(gateways[i].f.s);
        arena_fini(&gateways[i].f.arena);
    }
    free(gateways);
    assert_int_equal(n, RESPONSES);
    assert_true_to_rows(f);
}

static int group(const char *name)
{
    const struct CMUnitTest tests[] = {
        ON_ROWS(work_without_a_sign_of_life_is_queued_again_or_lost),
        ON_ROWS(the_lease_of_work_is_not_that_of_a_conversation),
        ON_ROWS(work_with_signs_of_life_stays_its_holders),
        ON_ROWS(released_work_is_queued_again_or_lost),
        ON_ROWS(a_claim_that_nobody_knows_of_is_given_back),
        ON_ROWS(each_response_is_claimed_by_one_gateway),
    };

    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
    return backends_run(group);
}
