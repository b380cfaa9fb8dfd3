/* test_store_task.c -- tasks, the threads that run them, and what these do besides. */
#include <libpq-fe.h>
#include <sys/wait.h>
#include <uv.h>

#include "ev/loop.h"
#include "store/store_session.h"
#include "store_fixture.h"

/* A store, and a loop that runs until nothing is under way. */
struct setting {
    struct fixture f; /* no session: another thread has one */
    struct store *store;
    struct loop *loop;
    unsigned n_running;
    char log[64]; /* a letter for each end: the step's own, or ! after a failure */
};

/* A task of a test. */
struct step {
    struct setting *s;
    struct store_task task;
    int (*run)(struct store_session *s, struct step *step, struct err *reterr);
    const char *id, *parent;
    char letter;
    struct err failure; /* ERR_NONE: it went well */
};

static struct store_conf conf; /* of the next start_up() */

static void start_up(struct setting *s)
{
    s->store = store_open(&conf, &s->f.err);
    if (s->store == NULL)
        print_error("%s\n", s->f.err.msg);
    assert_non_null(s->store);
}

static int setting_setup(void **state)
{
    struct setting *s = calloc(1, sizeof(*s));
    struct store_session *wipe = store_session_open(&backend_conf, NULL);

    store_empty(wipe);
    store_session_close(wipe);
    conf = backend_conf;
    s->loop = loop_new(NULL);
    *state = s;
    return s->loop == NULL ? -1 : 0;
}

static int setting_teardown(void **state)
{
    struct setting *s = *state;

    store_close(s->store);
    loop_free(s->loop);
    arena_fini(&s->f.arena);
    free(s);
    return 0;
}

#define ON_SETTING(test) cmocka_unit_test_setup_teardown(test, setting_setup, setting_teardown)

static int step_work(struct store_session *session, void *arg, struct err *reterr)
{
    struct step *step = arg;

    return step->run(session, step, reterr);
}

static void step_done(void *arg, const struct err *failure)
{
    struct step *step = arg;
    struct setting *s = step->s;
    size_t n = strlen(s->log);

    step->failure.code = ERR_NONE;
    if (failure != NULL)
        step->failure = *failure;
    if (n + 1 < sizeof(s->log))
        s->log[n] = failure == NULL ? step->letter : '!';
    if (--s->n_running == 0)
        loop_stop(s->loop);
}

static void begin(struct setting *s, struct step *step, enum store_access access)
{
    step->s = s;
    step->task = (struct store_task){
        .access = access, .work = step_work, .done = step_done, .arg = step, .loop = s->loop};
    s->n_running++;
    store_start(s->store, &step->task);
}

static void finish(struct setting *s)
{
    loop_run(s->loop);
    assert_int_equal(s->n_running, 0);
}

static void do_step(struct setting *s, struct step *step, enum store_access access)
{
    begin(s, step, access);
    finish(s);
}

/* ---- steps */

static int save_step(struct store_session *session, struct step *step, struct err *reterr)
{
    struct store_item items[] = {{.id = STR("in"), .body = STR("{in}")},
                                 {.id = STR("out"), .body = STR("{out}"), .is_output = true}};
    const struct store_response r = {.id = str_from_c(step->id),
                                     .parent_id = str_from_c(step->parent),
                                     .head = STR("head"),
                                     .tail = STR("tail"),
                                     .items = {items, COUNT_OF(items)}};

    return store_save_response(session, alice, &r, reterr);
}

static int save_and_fail(struct store_session *session, struct step *step, struct err *reterr)
{
    if (save_step(session, step, reterr) == -1)
        return -1;
    err_set(reterr, ERR_BAD_REQUEST, "changed my mind");
    return -1;
}

/* The second save has an id that is taken; the task does not care. */
static int save_twice_and_ignore(struct store_session *session, struct step *step,
                                 struct err *reterr)
{
    if (save_step(session, step, reterr) == -1)
        return -1;
    (void)save_step(session, step, reterr);
    return 0;
}

static int get_step(struct store_session *session, struct step *step, struct err *reterr)
{
    struct arena a = {0};
    struct store_response r;
    int rc = store_get_response(session, alice, str_from_c(step->id), &a, &r, reterr);

    arena_fini(&a);
    return rc;
}

static bool is_there(struct setting *s, const char *id)
{
    struct step get = {.run = get_step, .id = id};

    do_step(s, &get, STORE_READ);
    assert_true(get.failure.code == ERR_NONE || get.failure.code == ERR_NOT_FOUND);
    return get.failure.code == ERR_NONE;
}

/* ---- tests */

static void a_task_is_reported_on_its_loop_when_it_is_safe(void **state)
{
    struct setting *s = *state;
    struct step save = {.run = save_step, .id = "r1", .letter = 's'};

    start_up(s);
    do_step(s, &save, STORE_WRITE);
    assert_string_equal(s->log, "s");
    assert_true(is_there(s, "r1"));
}

static void a_failed_task_has_done_nothing(void **state)
{
    struct setting *s = *state;
    struct step save = {.run = save_and_fail, .id = "r1"};

    start_up(s);
    do_step(s, &save, STORE_WRITE);
    assert_int_equal(save.failure.code, ERR_BAD_REQUEST);
    assert_string_equal(save.failure.msg, "changed my mind");
    assert_false(is_there(s, "r1"));
}

static void a_failed_statement_fails_its_task_in_any_case(void **state)
{
    struct setting *s = *state;
    struct step save = {.run = save_twice_and_ignore, .id = "r1"};

    start_up(s);
    do_step(s, &save, STORE_WRITE);
    assert_int_equal(save.failure.code, ERR_STORE);
    assert_false(is_there(s, "r1"));
}

static uv_sem_t gate;

static int wait_at_gate(struct store_session *session, struct step *step, struct err *reterr)
{
    (void)session;
    (void)step;
    (void)reterr;
    uv_sem_wait(&gate);
    return 0;
}

/* Those behind the gate are queued together. */
static void tasks_that_wait_together_fail_alone(void **state)
{
    struct setting *s = *state;
    struct step steps[] = {{.run = wait_at_gate, .letter = 'g'},
                           {.run = save_step, .id = "r1", .letter = '1'},
                           {.run = save_and_fail, .id = "r2", .letter = '2'},
                           {.run = save_twice_and_ignore, .id = "r3", .letter = '3'},
                           {.run = save_step, .id = "r4", .parent = "r1", .letter = '4'}};

    conf.connections = 1;
    start_up(s);
    assert_int_equal(uv_sem_init(&gate, 0), 0);
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        begin(s, &steps[i], STORE_WRITE);
    uv_sem_post(&gate);
    finish(s);
    uv_sem_destroy(&gate);
    assert_string_equal(s->log, "g1!!4");
    assert_true(is_there(s, "r1"));
    assert_false(is_there(s, "r2"));
    assert_false(is_there(s, "r3"));
    assert_true(is_there(s, "r4"));
}

static void closing_waits_for_what_is_queued(void **state)
{
    struct setting *s = *state;
    struct step steps[20];

    start_up(s);
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        steps[i] = (struct step){.run = save_step, .id = text(&s->f, "r%zu", i).p, .letter = 's'};
        begin(s, &steps[i], STORE_WRITE);
    }
    store_close(s->store);
    s->store = NULL;
    finish(s);
    assert_string_equal(s->log, "ssssssssssssssssssss");
}

/* ---- load */

enum { LOOPS = 2, CHAINS = 8, TURNS = 12 };

/* One chain of responses: each turn loads what was there and saves what follows. */
struct chain {
    struct load *load;
    struct store_task task;
    int number, turn;
    char id[32], parent[32];
    size_t n_seen;
};

struct load {
    struct store *store;
    struct loop *loop;
    uv_thread_t thread;
    int number, n_running, n_failed;
    struct chain chains[CHAINS];
};

static int chain_load(struct store_session *session, void *arg, struct err *reterr)
{
    struct chain *c = arg;
    struct arena a = {0};
    struct store_history h = {.items = {0}};
    int rc = c->turn == 0
                 ? 0
                 : store_load_history(session, alice, str_from_c(c->parent), &a, &h, reterr);

    c->n_seen = h.items.n;
    arena_fini(&a);
    return rc;
}

static int chain_save(struct store_session *session, void *arg, struct err *reterr)
{
    struct chain *c = arg;
    struct step step = {.id = c->id, .parent = c->turn == 0 ? NULL : c->parent};

    return save_step(session, &step, reterr);
}

static void chain_next(struct chain *c);

static void chain_saved(void *arg, const struct err *failure)
{
    struct chain *c = arg;

    c->load->n_failed += failure != NULL;
    memcpy(c->parent, c->id, sizeof(c->parent));
    c->turn++;
    chain_next(c);
}

static void chain_loaded(void *arg, const struct err *failure)
{
    struct chain *c = arg;

    c->load->n_failed += failure != NULL || c->n_seen != 2 * (size_t)c->turn;
    c->task = (struct store_task){.access = STORE_WRITE,
                                  .work = chain_save,
                                  .done = chain_saved,
                                  .arg = c,
                                  .loop = c->load->loop};
    store_start(c->load->store, &c->task);
}

static void chain_next(struct chain *c)
{
    if (c->turn == TURNS) {
        if (--c->load->n_running == 0)
            loop_stop(c->load->loop);
        return;
    }
    (void)snprintf(c->id, sizeof(c->id), "r-%d-%d-%d", c->load->number, c->number, c->turn);
    c->task = (struct store_task){.access = STORE_READ,
                                  .work = chain_load,
                                  .done = chain_loaded,
                                  .arg = c,
                                  .loop = c->load->loop};
    store_start(c->load->store, &c->task);
}

static void load_run(void *arg)
{
    struct load *l = arg;

    for (int i = 0; i < CHAINS; i++) {
        l->chains[i] = (struct chain){.load = l, .number = i};
        l->n_running++;
        chain_next(&l->chains[i]);
    }
    loop_run(l->loop);
}

static void run_loads(struct store *const stores[LOOPS])
{
    struct load loads[LOOPS];

    for (int i = 0; i < LOOPS; i++) {
        loads[i] = (struct load){.store = stores[i], .loop = loop_new(NULL), .number = i};
        assert_non_null(loads[i].loop);
        assert_int_equal(uv_thread_create(&loads[i].thread, load_run, &loads[i]), 0);
    }
    for (int i = 0; i < LOOPS; i++) {
        uv_thread_join(&loads[i].thread);
        loop_free(loads[i].loop);
        assert_int_equal(loads[i].n_failed, 0);
    }
}

static void two_loops_share_a_store(void **state)
{
    struct setting *s = *state;

    start_up(s);
    run_loads((struct store *[]){s->store, s->store});
    assert_true(is_there(s, "r-1-7-11"));
}

static void two_stores_share_a_database(void **state)
{
    struct setting *s = *state;
    struct store *other;

    start_up(s);
    other = store_open(&conf, &s->f.err);
    assert_non_null(other);
    run_loads((struct store *[]){s->store, other});
    store_close(other);
    assert_true(is_there(s, "r-1-7-11"));
}

/* ---- what the threads do besides */

static int stats_step(struct store_session *session, struct step *step, struct err *reterr)
{
    struct store_stats st;

    if (store_stats(session, &st, reterr) == -1)
        return -1;
    step->letter = (char)('0' + st.n_responses);
    return 0;
}

static void limits_are_kept_while_responses_come(void **state)
{
    enum { MANY = 40, BOUND = 5 };
    struct setting *s = *state;
    struct step count = {.run = stats_step};

    conf.limits.max_responses = BOUND;
    start_up(s);
    for (int i = 0; i < MANY; i++) {
        struct step save = {.run = save_step, .id = text(&s->f, "r%d", i).p};

        do_step(s, &save, STORE_WRITE);
        assert_int_equal(save.failure.code, ERR_NONE);
    }
    do
        do_step(s, &count, STORE_READ);
    while (count.letter > '0' + BOUND);
    assert_true(is_there(s, "r39"));
    assert_false(is_there(s, "r0"));
}

static int create_step(struct store_session *session, struct step *step, struct err *reterr)
{
    const struct store_conversation c = {.id = STR("c1"), .metadata = STR("{}")};

    (void)step;
    (void)store_delete_conversation(session, alice, c.id, NULL);
    return store_create_conversation(session, alice, &c, &(struct store_items){.n = 0}, reterr);
}

static int lock_step(struct store_session *session, struct step *step, struct err *reterr)
{
    struct arena a = {0};
    struct store_history h;
    int rc =
        store_lock_conversation(session, alice, STR("c1"), str_from_c(step->id), &a, &h, reterr);

    arena_fini(&a);
    return rc;
}

static int remove_step(struct store_session *session, struct step *step, struct err *reterr)
{
    (void)step;
    return store_delete_conversation(session, alice, STR("c1"), reterr);
}

static void do_well(struct setting *s, struct step step)
{
    do_step(s, &step, STORE_WRITE);
    assert_string_equal(step.failure.code == ERR_NONE ? "" : step.failure.msg, "");
}

static bool can_lock(struct setting *s, const char *name)
{
    struct step lock = {.run = lock_step, .id = name};

    do_step(s, &lock, STORE_WRITE);
    assert_true(lock.failure.code == ERR_NONE || lock.failure.code == ERR_CONVERSATION_LOCKED);
    return lock.failure.code == ERR_NONE;
}

static void a_lock_holds_for_as_long_as_it_is_wanted(void **state)
{
    struct setting *s = *state;
    uint64_t end;

    conf.lock_ms = 2000; /* a busy machine may keep a sign of life for long */
    start_up(s);
    do_well(s, (struct step){.run = create_step});
    assert_true(can_lock(s, "mine"));
    end = uv_hrtime() + 2 * conf.lock_ms * 1000000;
    while (uv_hrtime() < end)
        assert_false(can_lock(s, "other"));
    do_well(s, (struct step){.run = remove_step});
}

static void a_lock_that_is_released_is_free_for_the_next(void **state)
{
    struct setting *s = *state;

    start_up(s);
    do_well(s, (struct step){.run = create_step});
    for (int i = 0; i < 20; i++) {
        const char *name = text(&s->f, "lock%d", i).p;

        assert_true(can_lock(s, name));
        assert_false(can_lock(s, "other"));
        store_release_lock(s->store, str_from_c(name));
    }
    do_well(s, (struct step){.run = remove_step});
}

/* What is released last, too: another store finds it free. */
static void closing_releases_locks(void **state)
{
    struct setting *s = *state;

    start_up(s);
    do_well(s, (struct step){.run = create_step});
    assert_true(can_lock(s, "mine"));
    store_release_lock(s->store, STR("mine"));
    store_close(s->store);
    start_up(s);
    assert_true(can_lock(s, "next"));
    do_well(s, (struct step){.run = remove_step});
}

/* ---- locks of others */

/* What a clock does that is wrong by an hour, or is set while gateways run. */
static const char *const clocks[] = {
    "UPDATE history SET locked_until = locked_until WHERE locked_by IS NOT NULL",
    "UPDATE history SET locked_until = locked_until + 3600000 WHERE locked_by IS NOT NULL",
    "UPDATE history SET locked_until = locked_until - 3600000 WHERE locked_by IS NOT NULL",
};

static void run_script(struct setting *s, struct store_session *session, const char *script)
{
    check_ok(session->driver->script(session->db, script, &s->f.err), &s->f.err, __FILE__,
             __LINE__);
}

static void lock_as(struct setting *s, struct store_session *session, const char *name)
{
    struct store_history h;

    check_ok(store_lock_conversation(session, alice, STR("c1"), str_from_c(name), &s->f.arena, &h,
                                     &s->f.err),
             &s->f.err, __FILE__, __LINE__);
}

/* A session that is no store's gives no sign of life, as if its gateway stood still. */
static void a_lock_without_a_sign_of_life_is_freed_whatever_the_clocks_say(void **state)
{
    struct setting *s = *state;
    struct store_session *holder;

    conf.lock_ms = 50;
    start_up(s);
    holder = store_session_open(&conf, &s->f.err);
    assert_non_null(holder);
    for (size_t i = 0; i < COUNT_OF(clocks); i++) {
        do_well(s, (struct step){.run = create_step});
        lock_as(s, holder, "dead");
        run_script(s, holder, clocks[i]);
        while (!can_lock(s, "next"))
            continue;
    }
    do_well(s, (struct step){.run = remove_step});
    store_session_close(holder);
}

static void a_lock_with_signs_of_life_is_kept_whatever_the_clocks_say(void **state)
{
    struct setting *s = *state;
    struct store_session *clock = store_session_open(&conf, &s->f.err);
    struct store *mine;
    uint64_t end;

    assert_non_null(clock);
    conf.lock_ms = 2000; /* a busy machine may keep a sign of life for long */
    start_up(s);
    do_well(s, (struct step){.run = create_step});
    assert_true(can_lock(s, "mine"));
    mine = s->store;
    start_up(s);
    for (size_t i = 0; i < COUNT_OF(clocks); i++) {
        end = uv_hrtime() + conf.lock_ms * 5 / 4 * 1000000;
        run_script(s, clock, clocks[i]);
        while (uv_hrtime() < end)
            assert_false(can_lock(s, "other"));
    }
    do_well(s, (struct step){.run = remove_step});
    store_close(mine);
    store_session_close(clock);
}

/* True in a child, which must not inherit a database that is open. */
static bool lock_and_die(struct setting *s)
{
    struct store_session *session = store_session_open(&conf, &s->f.err);
    struct store_history h;

    return session != NULL && create_step(session, NULL, &s->f.err) == 0 &&
           store_lock_conversation(session, alice, STR("c1"), STR("dead"), &s->f.arena, &h,
                                   &s->f.err) == 0;
}

/* Nobody has to wait for the end of its lease. */
static void a_lock_of_a_process_that_has_ended_is_free_at_once(void **state)
{
    struct setting *s = *state;
    int status;
    pid_t pid;

    conf.lock_ms = 3600000;
    pid = fork();
    assert_int_not_equal(pid, -1);
    if (pid == 0)
        _exit(lock_and_die(s) ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    start_up(s);
    assert_true(can_lock(s, "next"));
    do_well(s, (struct step){.run = remove_step});
}

/* ---- a server that goes away */

/* Ends all connections to the database but this one. */
static void cut_connections(void)
{
    PGconn *server = PQconnectdb(backend_url);
    PGresult *result;

    assert_int_equal(PQstatus(server), CONNECTION_OK);
    result = PQexec(server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                            " WHERE datname = current_database() AND pid <> pg_backend_pid()");
    assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
    PQclear(result);
    PQfinish(server);
}

static void a_connection_that_was_lost_is_made_again(void **state)
{
    struct setting *s = *state;

    start_up(s);
    for (int i = 0; i < 5; i++) {
        cut_connections();
        do_well(s, (struct step){.run = save_step, .id = text(&s->f, "r%d", i).p});
        cut_connections();
        assert_true(is_there(s, text(&s->f, "r%d", i).p));
    }
}

static void a_lock_released_without_a_connection_is_free_for_others(void **state)
{
    struct setting *s = *state;
    struct store *other, *mine;

    conf.lock_ms = 1000;
    start_up(s);
    mine = s->store;
    do_well(s, (struct step){.run = create_step});
    assert_true(can_lock(s, "mine"));
    other = store_open(&conf, &s->f.err);
    assert_non_null(other);
    cut_connections();
    store_release_lock(mine, STR("mine"));
    s->store = other;
    while (!can_lock(s, "other"))
        continue;
    do_well(s, (struct step){.run = remove_step});
    store_close(mine);
}

static int n_attempts;

static int save_and_lose(struct store_session *session, struct step *step, struct err *reterr)
{
    if (save_step(session, step, reterr) == -1)
        return -1;
    if (n_attempts++ == 0)
        cut_connections();
    step = &(struct step){.id = "second", .parent = step->id};
    return save_step(session, step, reterr);
}

static void a_task_that_lost_its_connection_is_done_once_more(void **state)
{
    struct setting *s = *state;

    n_attempts = 0;
    start_up(s);
    do_well(s, (struct step){.run = save_and_lose, .id = "first"});
    assert_int_equal(n_attempts, 2);
    assert_true(is_there(s, "first"));
    assert_true(is_there(s, "second"));
}

static int group(const char *name)
{
    const struct CMUnitTest tests[] = {
        ON_SETTING(a_task_is_reported_on_its_loop_when_it_is_safe),
        ON_SETTING(a_failed_task_has_done_nothing),
        ON_SETTING(a_failed_statement_fails_its_task_in_any_case),
        ON_SETTING(tasks_that_wait_together_fail_alone),
        ON_SETTING(closing_waits_for_what_is_queued),
        ON_SETTING(two_loops_share_a_store),
        ON_SETTING(limits_are_kept_while_responses_come),
        ON_SETTING(a_lock_holds_for_as_long_as_it_is_wanted),
        ON_SETTING(a_lock_that_is_released_is_free_for_the_next),
    };

    const struct CMUnitTest shared[] = {
        ON_SETTING(two_stores_share_a_database),
        ON_SETTING(closing_releases_locks),
        ON_SETTING(a_lock_without_a_sign_of_life_is_freed_whatever_the_clocks_say),
        ON_SETTING(a_lock_with_signs_of_life_is_kept_whatever_the_clocks_say),
        ON_SETTING(a_lock_of_a_process_that_has_ended_is_free_at_once),
    };
    const struct CMUnitTest served[] = {
        ON_SETTING(a_connection_that_was_lost_is_made_again),
        ON_SETTING(a_task_that_lost_its_connection_is_done_once_more),
        ON_SETTING(a_lock_released_without_a_connection_is_free_for_others),
    };
    int failed = cmocka_run_group_tests_name(name, tests, NULL, NULL);

    /* each store in memory is a database of its own */
    if (strcmp(backend_url, "memory") != 0)
        failed += cmocka_run_group_tests_name(name, shared, NULL, NULL);
    if (strcmp(name, "postgres") == 0)
        failed += cmocka_run_group_tests_name(name, served, NULL, NULL);
    return failed;
}

int main(void)
{
    return backends_run(group);
}
