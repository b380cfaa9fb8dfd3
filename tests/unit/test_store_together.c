/* test_store_together.c -- several processes with one database: what the limits
 * count stays true, and what is stored stays whole.
 *
 * First pairs of which one is in the middle of something, then random steps of
 * several threads on the same few conversations and responses: which of them fail
 * depends on the others. ANTIPHON_TEST_SEED plays the same steps again. */
#include <stdio.h>
#include <uv.h>

#include "lib/test_seed.h"
#include "store/store_events.h"
#include "store_rows.h"

enum { THREADS = 4, STEPS = 400, TALKS = 3, LAST = 16 };

/* ---- two at once: one is in the middle when the other begins */

/* What another process does, and what it came to. */
struct other {
    struct fixture f;
    struct store_session *watch;
    int (*run)(struct other *o);
    int rc;
    uv_thread_t thread;
};

static void other_main(void *arg)
{
    struct other *o = arg;

    o->rc = o->run(o);
}

/* A database that makes writers wait one by one has no such middle. */
static void begin(struct fixture *f, struct other *o)
{
    if (f->s->driver->one_writer)
        skip();
    *o = (struct other){.f = {.s = store_session_open(&backend_conf, &f->err)},
                        .watch = store_session_open(&backend_conf, &f->err)};
    assert_non_null(o->f.s);
    assert_non_null(o->watch);
    assert_ok(session_begin(f->s, STORE_WRITE, &f->err));
}

/* The division fails until somebody waits. */
static void wait_for_waiting(struct store_session *watch)
{
    static const char waiting[] =
        "SELECT 1 / COUNT(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'";
    struct err e;

    while (watch->driver->script(watch->db, waiting, &e) == -1)
        assert_non_null(strstr(e.msg, "division by zero"));
}

/* The other meets what the transaction of f has done, and goes on when it is there. */
static void commit_while(struct fixture *f, struct other *o, int (*run)(struct other *o))
{
    o->run = run;
    assert_int_equal(uv_thread_create(&o->thread, other_main, o), 0);
    wait_for_waiting(o->watch);
    assert_ok(session_commit(f->s, &f->err));
    uv_thread_join(&o->thread);
    store_session_close(o->watch);
    store_session_close(o->f.s);
    arena_fini(&o->f.arena);
}

static int update_to_long(struct other *o)
{
    return store_update_conversation(o->f.s, alice, STR("c1"), STR("{\"k\":\"long\"}"), &o->f.err);
}

static void two_updates_of_a_conversation_count_one(void **state)
{
    struct fixture *f = *state;
    struct other o;

    create(f, "c1", "<a");
    begin(f, &o);
    assert_ok(store_update_conversation(f->s, alice, STR("c1"), STR("{\"k\":\"v\"}"), &f->err));
    commit_while(f, &o, update_to_long);
    assert_int_equal(o.rc, 0);
    assert_true_to_rows(f);
}

static int save_late(struct other *o)
{
    struct store_response r = response_from(&o->f, "r1", NULL, "<a");

    r.conversation_id = STR("c1");
    r.lock = STR("late");
    return store_save_response(o->f.s, alice, &r, &o->f.err);
}

static void a_lock_that_is_just_being_taken_is_respected(void **state)
{
    struct fixture *f = *state;
    struct other o;
    struct store_history before;

    create(f, "c1", "");
    begin(f, &o);
    assert_ok(
        store_lock_conversation(f->s, alice, STR("c1"), STR("new"), &f->arena, &before, &f->err));
    commit_while(f, &o, save_late);
    check_fails(o.rc, &o.f.err, ERR_CONVERSATION_LOCKED, __FILE__, __LINE__);
    assert_conversation(f, "c1", "");
}

static void nothing_is_saved_in_a_conversation_that_is_just_being_deleted(void **state)
{
    struct fixture *f = *state;
    struct other o;

    create(f, "c1", "");
    save_in(f, "r0", "c1", "<x");
    begin(f, &o);
    assert_ok(store_delete_conversation(f->s, alice, STR("c1"), &f->err));
    commit_while(f, &o, save_late);
    check_fails(o.rc, &o.f.err, ERR_NOT_FOUND, __FILE__, __LINE__);
    assert_no_response(f, "r1");
}

static int delete_r1(struct other *o)
{
    return store_delete_response(o->f.s, alice, STR("r1"), &o->f.err);
}

static void what_is_just_being_referred_to_stays(void **state)
{
    struct fixture *f = *state;
    struct other o;

    save(f, "r1", NULL, "<a");
    begin(f, &o);
    save(f, "r2", NULL, "@a <b");
    commit_while(f, &o, delete_r1);
    assert_int_equal(o.rc, 0);
    assert_context(f, "r2", "{a}{b}");
    assert_true_to_rows(f);
}

static int save_reference(struct other *o)
{
    struct store_response r = response_from(&o->f, "r2", NULL, "@a");

    return store_save_response(o->f.s, alice, &r, &o->f.err);
}

static void what_is_just_being_deleted_is_unknown(void **state)
{
    struct fixture *f = *state;
    struct other o;

    save(f, "r1", NULL, "<a");
    begin(f, &o);
    assert_ok(store_delete_response(f->s, alice, STR("r1"), &f->err));
    commit_while(f, &o, save_reference);
    check_fails(o.rc, &o.f.err, ERR_NOT_FOUND, __FILE__, __LINE__);
}

static int purge_to_two(struct fixture *f)
{
    const struct store_limits limits = {.max_responses = 2};
    struct store_purged purged;

    return store_purge(f->s, &limits, INT64_C(2000000000000), 10, &purged, &f->err);
}

static int purge_too(struct other *o)
{
    return purge_to_two(&o->f);
}

static void two_purges_remove_no_more_than_one(void **state)
{
    struct fixture *f = *state;
    struct other o;

    save(f, "r1", NULL, "<a");
    save(f, "r2", NULL, "<b");
    save(f, "r3", NULL, "<c");
    begin(f, &o);
    assert_ok(purge_to_two(f));
    commit_while(f, &o, purge_too);
    assert_int_equal(o.rc, 0);
    assert_int_equal(stats(f).n_responses, 2);
}

/* ---- steps */

struct walker {
    struct fixture f;
    size_t index;
    unsigned seed;
    size_t n; /* the step, which names what it makes */
    uv_thread_t thread;
    struct err unexpected;
};

static unsigned below(struct walker *w, unsigned n)
{
    w->seed = w->seed * 1664525 + 1013904223;
    return (w->seed >> 16) % n;
}

/* A response of the last that some thread has made, if it is still there. */
static str some_response(struct walker *w)
{
    size_t back = 1 + below(w, w->n < LAST ? (unsigned)w->n : LAST);

    return text(&w->f, "r%u_%zu", below(w, THREADS), w->n - back);
}

static str some_talk(struct walker *w)
{
    return text(&w->f, "c%u", below(w, TALKS));
}

/* New ones, one of its own once more, or a reference to anyone's. */
static struct store_items some_items(struct walker *w)
{
    str other = some_response(w), own = text(&w->f, "r%zu_%zu", w->index, w->n - below(w, 2));
    const char *words[] = {text(&w->f, "<i%zu_%zu @m%.*s", w->index, w->n, STR_ARG(other)).p,
                           text(&w->f, "<m%.*s", STR_ARG(own)).p,
                           text(&w->f, "<a%zu >mr%zu_%zu", w->n, w->index, w->n).p};

    return items_from(&w->f, words[below(w, 3)]);
}

static int save_somewhere(struct walker *w)
{
    struct fixture *f = &w->f;
    struct store_response r;

    r = response_from(f, text(f, "r%zu_%zu", w->index, w->n).p, NULL, "");
    r.items = some_items(w);
    if (below(w, 8) == 0)
        r.status = STORE_FAILED;
    if (below(w, 3) == 0)
        r.parent_id = some_response(w);
    else if (below(w, 2) == 0)
        r.conversation_id = some_talk(w);
    return store_save_response(f->s, alice, &r, &f->err);
}

static int save_locked(struct walker *w)
{
    struct fixture *f = &w->f;
    struct store_history before;
    struct store_response r;

    r = response_from(f, text(f, "r%zu_%zu", w->index, w->n).p, NULL, "");
    r.items = some_items(w);
    r.conversation_id = some_talk(w);
    r.lock = text(f, "lock%zu_%zu", w->index, w->n);
    if (store_lock_conversation(f->s, alice, r.conversation_id, r.lock, &f->arena, &before,
                                &f->err) == -1)
        return -1;
    if (below(w, 2) == 0)
        return store_unlock_conversation(f->s, r.lock, &f->err);
    return store_save_response(f->s, alice, &r, &f->err);
}

static int accept_somewhere(struct walker *w)
{
    struct fixture *f = &w->f;
    const struct store_request request = {.body = text(f, "request %zu", w->n)};
    const struct store_work_limits limits = {.most = 100};
    struct store_response r;
    struct store_history before;

    r = response_from(f, text(f, "r%zu_%zu", w->index, w->n).p, NULL, "");
    r.items = items_from(f, text(f, "<i%zu_%zu", w->index, w->n).p);
    if (below(w, 3) == 0)
        r.parent_id = some_response(w);
    else if (below(w, 2) == 0)
        r.conversation_id = some_talk(w);
    r.lock = text(f, "lock%zu_%zu", w->index, w->n);
    if (!str_is_none(r.conversation_id) &&
        store_lock_conversation(f->s, alice, r.conversation_id, r.lock, &f->arena, &before,
                                &f->err) == -1)
        return -1;
    if (store_accept_work(f->s, alice, &r, &request, &limits, &f->err) == 0)
        return 0;
    (void)store_unlock_conversation(f->s, r.lock, NULL);
    return -1;
}

/* A worker that may stop in the middle; then others find its work lost, or queued. */
static int run_work(struct walker *w)
{
    struct fixture *f = &w->f;
    struct store_response r = response_from(f, "", NULL, text(f, ">o%zu", w->n).p);
    const struct store_event_row row = {.cuts = STR("cuts"), .pieces = STR("pieces")};
    struct store_work work;
    enum store_wish wish;
    bool is_found, is_lost = below(w, 3) == 0;
    int rc;

    rc = is_lost ? store_take_lost_work(f->s, &f->arena, &work, &is_found, &f->err)
                 : store_claim_work(f->s, alice, &f->arena, &work, &is_found, &f->err);
    if (rc == -1 || !is_found)
        return rc;
    if (below(w, 4) > 0 &&
        (store_start_work(f->s, work.id, work.lock, STR("a longer head"), STR_NONE, &wish,
                          &f->err) == -1 ||
         store_append_events(f->s, work.id, work.lock, &row, &wish, &f->err) == -1))
        return -1;
    if (below(w, 4) == 0)
        return f->s->driver->script(f->s->db, "UPDATE work SET locked_by = NULL", &f->err);
    r.id = work.id;
    r.lock = work.lock;
    r.status = below(w, 3) == 0 ? STORE_FAILED : STORE_COMPLETED;
    r.cuts = below(w, 3) == 0 ? STR_NONE : STR("all cuts");
    return store_finish_work(f->s, alice, &r, &wish, &f->err);
}

static int cancel_some(struct walker *w)
{
    struct store_response r = response_from(&w->f, "", NULL, "");
    enum store_cancelled ret;

    r.id = some_response(w);
    r.status = STORE_CANCELLED;
    return store_cancel_work(w->f.s, alice, &r, &ret, &w->f.err);
}

static int delete_response(struct walker *w)
{
    return store_delete_response(w->f.s, alice, some_response(w), &w->f.err);
}

static int delete_talk(struct walker *w)
{
    return store_delete_conversation(w->f.s, alice, some_talk(w), &w->f.err);
}

static int create_talk(struct walker *w)
{
    struct store_conversation c = {
        .id = some_talk(w), .created_at = 1700000000, .metadata = STR("{}")};
    struct store_items items = some_items(w);

    return store_create_conversation(w->f.s, alice, &c, &items, &w->f.err);
}

static int update_talk(struct walker *w)
{
    str metadata = str_from("{\"k\":\"0123456789\"}", 7 + below(w, 10));

    return store_update_conversation(w->f.s, alice, some_talk(w), metadata, &w->f.err);
}

static int add_to_talk(struct walker *w)
{
    struct store_items items = some_items(w);

    return store_add_items(w->f.s, alice, some_talk(w), &items, &w->f.err);
}

static int delete_from_talk(struct walker *w)
{
    return store_delete_item(w->f.s, alice, some_talk(w),
                             text(&w->f, "m%.*s", STR_ARG(some_response(w))), &w->f.err);
}

static int purge_some(struct walker *w)
{
    const struct store_limits limits = {.max_responses = 20 + below(w, 60),
                                        .max_cuts_bytes = 20 + below(w, 60)};
    struct store_purged purged;

    return store_purge(w->f.s, &limits, INT64_C(2000000000000), 4, &purged, &w->f.err);
}

/* What the others may have caused. An id that is taken and a deadlock are failures
 * of one step. */
static bool is_expected(const struct err *e)
{
    static const char *const words[] = {"with this id", "deadlock", "duplicate key"};

    if (e->code == ERR_NOT_FOUND || e->code == ERR_PREVIOUS_NOT_FOUND ||
        e->code == ERR_CONVERSATION_LOCKED)
        return true;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strstr(e->msg, words[i]) != NULL)
            return true;
    }
    return false;
}

static void walk(void *arg)
{
    static int (*const steps[])(struct walker * w) = {
        save_somewhere, save_somewhere,   save_somewhere,   save_somewhere,   save_locked,
        save_locked,    add_to_talk,      delete_response,  delete_response,  delete_talk,
        create_talk,    create_talk,      update_talk,      update_talk,      delete_from_talk,
        purge_some,     accept_somewhere, accept_somewhere, accept_somewhere, run_work,
        run_work,       run_work,         run_work,         cancel_some};
    struct walker *w = arg;

    for (w->n = 1; w->n <= STEPS; w->n++) {
        if (steps[below(w, sizeof(steps) / sizeof(*steps))](w) == -1 && !is_expected(&w->f.err)) {
            w->unexpected = w->f.err;
            return;
        }
    }
}

/* ---- all at once */

static void walk_all(struct fixture *f, size_t n_threads)
{
    unsigned seed = test_seed();
    struct walker *walkers = calloc(n_threads, sizeof(*walkers));

    print_message("ANTIPHON_TEST_SEED=%u\n", seed);
    assert_non_null(walkers);
    for (size_t i = 0; i < n_threads; i++) {
        walkers[i].index = i;
        walkers[i].seed = seed + (unsigned)i;
        walkers[i].f.s = n_threads == 1 ? f->s : store_session_open(&backend_conf, &f->err);
        assert_non_null(walkers[i].f.s);
        assert_int_equal(uv_thread_create(&walkers[i].thread, walk, &walkers[i]), 0);
    }
    for (size_t i = 0; i < n_threads; i++)
        uv_thread_join(&walkers[i].thread);
    for (size_t i = 0; i < n_threads; i++) {
        if (walkers[i].unexpected.code != ERR_NONE)
            print_error("thread %zu: %s\n", i, walkers[i].unexpected.msg);
        assert_int_equal(walkers[i].unexpected.code, ERR_NONE);
        if (n_threads > 1)
            store_session_close(walkers[i].f.s);
        arena_fini(&walkers[i].f.arena);
    }
    free(walkers);
    assert_true_to_rows(f);
}

static void counters_are_true_after_any_steps(void **state)
{
    walk_all(*state, 1);
}

static void counters_are_true_after_steps_of_several_processes(void **state)
{
    if (strcmp(backend_url, "memory") == 0)
        skip();
    walk_all(*state, THREADS);
}

/* ---- a transaction and the next */

/* A transaction stays open when there was no memory to undo what has failed. */
static void a_transaction_that_stayed_open_is_undone_by_the_next(void **state)
{
    struct fixture *f = *state;

    assert_ok(session_begin(f->s, STORE_WRITE, &f->err));
    save(f, "r1", NULL, "<a >b");
    f->s->in_transaction = false;
    save(f, "r2", NULL, "<a >b");
    assert_context(f, "r2", "{a}{b}");
    assert_no_response(f, "r1");
}

static int group(const char *name)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(a_transaction_that_stayed_open_is_undone_by_the_next),
        ON_STORE(two_updates_of_a_conversation_count_one),
        ON_STORE(a_lock_that_is_just_being_taken_is_respected),
        ON_STORE(nothing_is_saved_in_a_conversation_that_is_just_being_deleted),
        ON_STORE(what_is_just_being_referred_to_stays),
        ON_STORE(what_is_just_being_deleted_is_unknown),
        ON_STORE(two_purges_remove_no_more_than_one),
        ON_ROWS(counters_are_true_after_any_steps),
        ON_ROWS(counters_are_true_after_steps_of_several_processes),
    };

    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
    return backends_run(group);
}
