/* test_store_fault.c -- responses under way, events and keys when memory runs out, or the disk.
 *
 * What has failed has done nothing, and can be done afterwards. SQLite's own memory runs out as well. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "lib/failing_malloc.h"
#include "store/sql_sqlite_memory.h"
#include "store/store_events.h"
#include "store/store_idempotency.h"
#include "store_rows.h"

static const struct store_work_limits no_limits = {.most = 0};

/* What the steps have in common; made before memory runs out. */
struct stage {
    struct fixture *f;
    struct store_response queued, ended, cancelled, saved;
    struct store_key key;
    struct store_work work;
    char id[64], lock[64]; /* of work */
    struct arena arena;    /* of one attempt */
    struct err err;
};

typedef int run_fn(struct stage *st);

static int accept_step(struct stage *st)
{
    const struct store_request request = {.body = STR("request")};

    return store_accept_work(st->f->s, alice, &st->queued, &request, &no_limits, &st->err);
}

static int claim_step(struct stage *st)
{
    struct store_work w;
    bool is_found = false;

    if (store_claim_work(st->f->s, STR_NONE, &st->arena, &w, &is_found, &st->err) == -1)
        return -1;
    assert_true(is_found);
    (void)snprintf(st->id, sizeof(st->id), "%.*s", STR_ARG(w.id));
    (void)snprintf(st->lock, sizeof(st->lock), "%.*s", STR_ARG(w.lock));
    st->work.id = str_from_c(st->id);
    st->work.lock = str_from_c(st->lock);
    return 0;
}

static int start_step(struct stage *st)
{
    enum store_wish wish;

    return store_start_work(st->f->s, st->work.id, st->work.lock, STR("started"), STR("tail"),
                            &wish, &st->err);
}

static int append_step(struct stage *st)
{
    const struct store_event_row row = {0, STR("cuts"), STR("done"), STR("pieces")};
    enum store_wish wish;

    return store_append_events(st->f->s, st->work.id, st->work.lock, &row, &wish, &st->err);
}

static int read_step(struct stage *st)
{
    struct store_events e;

    if (store_get_events(st->f->s, alice, st->work.id, 0, &st->arena, &e, &st->err) == -1)
        return -1;
    assert_int_equal(e.n_rows, 1);
    assert_str_c(e.rows[0].pieces, "pieces");
    assert_str_c(e.response.head, "started");
    return 0;
}

static int wish_step(struct stage *st)
{
    enum store_wish wish;

    return store_get_wishes(st->f->s, &st->work.id, &st->work.lock, 1, &wish, &st->err);
}

static int finish_step(struct stage *st)
{
    enum store_wish wish = STORE_DELETED;

    st->ended.id = st->work.id;
    st->ended.lock = st->work.lock;
    if (store_finish_work(st->f->s, alice, &st->ended, &wish, &st->err) == -1)
        return -1;
    assert_int_equal(wish, STORE_GO_ON);
    return 0;
}

static int read_cuts_step(struct stage *st)
{
    struct store_events e;

    if (store_get_events(st->f->s, alice, st->work.id, 9, &st->arena, &e, &st->err) == -1)
        return -1;
    assert_str_c(e.response.cuts, "all cuts");
    assert_int_equal(e.response.items.n, 1);
    assert_str_c(e.response.items.v[0].body, "{out}");
    return 0;
}

static int cancel_step(struct stage *st)
{
    enum store_cancelled ret;

    return store_cancel_work(st->f->s, alice, &st->cancelled, &ret, &st->err);
}

static int begin_key_step(struct stage *st)
{
    struct store_answer answer;

    if (store_begin_key(st->f->s, &st->key, &st->arena, &answer, &st->err) == -1)
        return -1;
    assert_int_equal(answer.state, STORE_KEY_BEGUN);
    return 0;
}

static int save_step(struct stage *st)
{
    return store_save_response(st->f->s, alice, &st->saved, &st->err);
}

static int answer_step(struct stage *st)
{
    struct store_answer answer;

    if (store_begin_key(st->f->s, &st->key, &st->arena, &answer, &st->err) == -1)
        return -1;
    assert_int_equal(answer.state, STORE_KEY_FINISHED);
    assert_str_c(answer.response_id, "r3");
    return 0;
}

static int delete_step(struct stage *st)
{
    return store_delete_response(st->f->s, alice, STR("r1"), &st->err);
}

static int purge_step(struct stage *st)
{
    const struct store_limits limits = {.max_cuts_bytes = 1, .max_key_age_s = 1};
    struct store_purged purged;

    return store_purge(st->f->s, &limits, INT64_C(8000000000000), 100, &purged, &st->err);
}

static int accept_second_step(struct stage *st)
{
    st->queued.id = STR("r2");
    return accept_step(st);
}

/* A transaction that could not be undone for want of memory is undone by the next. */
static void undo_the_last(struct fixture *f)
{
    struct tx tx;

    assert_ok(tx_begin(&tx, f->s, STORE_READ, &f->err));
    assert_ok(tx_end(&tx, 0, &f->err));
}

static void run_until_done(struct stage *st, run_fn *run, enum failing_malloc how)
{
    int rc = -1;

    for (long n = 0; rc == -1; n++) {
        arena_fini(&st->arena);
        failing_malloc_begin(n, how);
        rc = run(st);
        if (!failing_malloc_end() && rc == -1)
            fail_msg("%s", st->err.msg);
        undo_the_last(st->f);
        assert_true_to_rows(st->f);
    }
}

static void run_all(struct fixture *f, enum failing_malloc how)
{
    static run_fn *const steps[] = {accept_step,        claim_step,  start_step,     append_step,
                                    read_step,          wish_step,   finish_step,    read_cuts_step,
                                    accept_second_step, cancel_step, begin_key_step, save_step,
                                    answer_step,        delete_step, purge_step};
    struct stage st = {.f = f,
                       .queued = response_from(f, "r1", NULL, "<in <more"),
                       .ended = response_from(f, "", NULL, ">out"),
                       .cancelled = response_from(f, "r2", NULL, ""),
                       .saved = response_from(f, "r3", NULL, "<in >out"),
                       .key = {alice, STR("/v1/responses"), STR("k"), STR("hash"), STR("lock")}};

    st.ended.cuts = st.saved.cuts = STR("all cuts");
    st.cancelled.status = STORE_CANCELLED;
    st.saved.idempotency_lock = STR("lock");
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        run_until_done(&st, steps[i], how);
    arena_fini(&st.arena);
}

static void a_step_without_memory_has_done_nothing(void **state)
{
    run_all(*state, FAILS_ONCE);
}

static void a_step_with_no_memory_ever_again_has_done_nothing(void **state)
{
    run_all(*state, FAILS_FOR_GOOD);
}

/* ---- the disk */

static bool limit_files(rlim_t bytes)
{
    const struct rlimit limit = {bytes, RLIM_INFINITY};

    (void)signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

/* Appends rows until there is no more room; then the last one, when there is some, and the end. */
static bool fill_with_events(struct fixture *f)
{
    enum { FULL_BYTES = 512 * 1024, MANY = 10000, ROW_BYTES = 2000 };
    static char pieces[ROW_BYTES];
    struct stage st = {.f = f,
                       .queued = response_from(f, "r1", NULL, "<in"),
                       .ended = response_from(f, "", NULL, ">out")};
    struct store_event_row row = {.pieces = str_from(pieces, sizeof(pieces))};
    enum store_wish wish;

    f->s = store_session_open(&backend_conf, &f->err);
    if (f->s == NULL || accept_step(&st) == -1 || claim_step(&st) == -1 || start_step(&st) == -1 ||
        !limit_files(FULL_BYTES))
        return false;
    while (row.first < MANY &&
           store_append_events(f->s, st.work.id, st.work.lock, &row, &wish, &f->err) == 0)
        row.first++;
    if (row.first == 0 || row.first == MANY || strstr(f->err.msg, "disk") == NULL)
        return false;
    if (!limit_files(RLIM_INFINITY) ||
        store_append_events(f->s, st.work.id, st.work.lock, &row, &wish, &f->err) == -1 ||
        finish_step(&st) == -1)
        return false;
    arena_fini(&st.arena);
    store_session_close(f->s);
    return true;
}

static void a_full_disk_is_told_and_the_row_comes_later(void **state)
{
    struct fixture *f = *state;
    int status;
    pid_t pid;

    if (strncmp(backend_url, "sqlite:", 7) != 0)
        skip();
    store_session_close(f->s);
    f->s = NULL;
    pid = fork();
    assert_int_not_equal(pid, -1);
    if (pid == 0)
        _exit(fill_with_events(f) ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    f->s = store_session_open(&backend_conf, &f->err);
    assert_non_null(f->s);
    assert_context(f, "r1", "{in}{out}");
    assert_true_to_rows(f);
}

static int group(const char *name)
{
    const struct CMUnitTest tests[] = {
        ON_ROWS(a_step_without_memory_has_done_nothing),
        ON_ROWS(a_step_with_no_memory_ever_again_has_done_nothing),
        ON_ROWS(a_full_disk_is_told_and_the_row_comes_later),
    };

    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
    return sql_sqlite_count_memory() == 0 ? backends_run(group) : 1;
}
