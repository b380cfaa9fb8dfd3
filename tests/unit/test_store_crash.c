/* test_store_crash.c -- a gateway is killed while it accepts, runs and ends responses.
 *
 * What it had been told to be done is there, what is there is whole, and another gateway brings
 * all that was under way to an end. ANTIPHON_TEST_SEED plays the same again, as far as a kill can be. */
#include <signal.h>
#include <sys/wait.h>

#include "lib/test_seed.h"
#include "store/store_events.h"
#include "store/store_idempotency.h"
#include "store/store_lock_watch.h"
#include "store_rows.h"

enum { ROUNDS = 8, MOST_STEPS = 100 };

/* A step that has been done, as the child tells it. */
struct told {
    int number;
    char kind; /* a: accepted, e: ended, k: a key begun */
};

struct worker {
    struct fixture f;
    int round, number, pipe;
    unsigned seed;
};

static unsigned below(struct worker *w, unsigned n)
{
    w->seed = w->seed * 1664525 + 1013904223;
    return (w->seed >> 16) % n;
}

static str id_of(struct fixture *f, int round, int number)
{
    return text(f, "r%d_%d", round, number);
}

static void tell(struct worker *w, int number, char kind)
{
    const struct told told = {number, kind};

    if (write(w->pipe, &told, sizeof(told)) != (ssize_t)sizeof(told))
        _exit(1);
}

static void must(struct worker *w, int rc)
{
    if (rc == 0)
        return;
    print_error("%s\n", w->f.err.msg);
    _exit(1);
}

static void accept_next(struct worker *w)
{
    const struct store_work_limits no_limits = {.most = 0};
    const struct store_request request = {.body = STR("{}")};
    struct store_response r = response_from(&w->f, "", NULL, "<in");

    r.id = id_of(&w->f, w->round, ++w->number);
    must(w, store_accept_work(w->f.s, alice, &r, &request, &no_limits, &w->f.err));
    tell(w, w->number, 'a');
}

static void run_next(struct worker *w)
{
    struct store_response r = response_from(&w->f, "", NULL, ">out");
    struct store_work work;
    enum store_wish wish;
    bool is_found;

    must(w, store_claim_work(w->f.s, STR_NONE, &w->f.arena, &work, &is_found, &w->f.err));
    if (!is_found || below(w, 4) == 0)
        return;
    must(w,
         store_start_work(w->f.s, work.id, work.lock, STR("started"), STR_NONE, &wish, &w->f.err));
    for (int64_t i = 0; i < below(w, 4); i++) {
        const struct store_event_row row = {i, STR("cut"), STR_NONE, STR("piece")};

        must(w, store_append_events(w->f.s, work.id, work.lock, &row, &wish, &w->f.err));
    }
    if (below(w, 4) == 0)
        return;
    r.id = work.id;
    r.lock = work.lock;
    r.cuts = STR("all cuts");
    must(w, store_finish_work(w->f.s, alice, &r, &wish, &w->f.err));
    tell(w, atoi(strchr(text(&w->f, "%.*s", STR_ARG(work.id)).p, '_') + 1), 'e');
}

static void begin_next_key(struct worker *w)
{
    struct store_answer answer;
    struct store_key key = {alice, STR("/v1/responses"), STR_NONE, STR("hash"), STR_NONE};

    key.key = id_of(&w->f, w->round, ++w->number);
    key.lock = key.key;
    must(w, store_begin_key(w->f.s, &key, &w->f.arena, &answer, &w->f.err));
    tell(w, w->number, 'k');
}

static void work_until_killed(struct worker *w)
{
    w->f.s = store_session_open(&backend_conf, &w->f.err);
    if (w->f.s == NULL)
        _exit(1);
    for (;;) {
        switch (below(w, 5)) {
        case 0:
        case 1:
            accept_next(w);
            break;
        case 2:
            begin_next_key(w);
            break;
        default:
            run_next(w);
        }
        arena_fini(&w->f.arena);
    }
}

/* ---- afterwards */

/* A server may still be doing what the last words of the dead were. The division fails until then. */
static void wait_for_server(struct fixture *f)
{
    static const char alone[] =
        "SELECT 1 / CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END FROM pg_stat_activity"
        " WHERE datname = current_database() AND backend_type = 'client backend'"
        " AND pid <> pg_backend_pid()";
    struct err e;

    while (!f->s->driver->one_writer && f->s->driver->script(f->s->db, alone, &e) == -1)
        assert_non_null(strstr(e.msg, "division by zero"));
}

static void free_what_is_dead(struct fixture *f)
{
    struct lock_watch watch = {.first = NULL};
    struct tx tx;

    assert_ok(tx_begin(&tx, f->s, STORE_WRITE, &f->err));
    assert_ok(tx_end(&tx, lock_watch_look(&watch, f->s, 1000, &f->err), &f->err));
    lock_watch_fini(&watch);
}

static void assert_told(struct fixture *f, int round, const struct told *told)
{
    struct store_response r;

    if (told->kind == 'k')
        return;
    assert_ok(
        store_get_response(f->s, alice, id_of(f, round, told->number), &f->arena, &r, &f->err));
    if (told->kind != 'e')
        return;
    assert_int_equal(r.status, STORE_COMPLETED);
    assert_str_c(bodies(f, &r.items), "{out}");
}

static void end_all(struct fixture *f)
{
    struct store_response r = response_from(f, "", NULL, "");
    struct store_work w;
    enum store_wish wish;
    bool is_found = true;

    r.status = STORE_FAILED;
    for (int lost = 0; lost <= 1; lost += !is_found) {
        if (lost)
            assert_ok(store_take_lost_work(f->s, &f->arena, &w, &is_found, &f->err));
        else
            assert_ok(store_claim_work(f->s, STR_NONE, &f->arena, &w, &is_found, &f->err));
        if (!is_found)
            continue;
        r.id = w.id;
        r.lock = w.lock;
        assert_ok(store_finish_work(f->s, w.owner, &r, &wish, &f->err));
        assert_int_equal(wish, STORE_GO_ON);
    }
}

static void kill_after(struct fixture *f, struct worker *w, unsigned n_steps)
{
    static struct told told[MOST_STEPS];
    int ends[2], status;
    unsigned n = 0;
    pid_t pid;

    store_session_close(f->s);
    f->s = NULL;
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        w->pipe = ends[1];
        work_until_killed(w);
    }
    (void)close(ends[1]);
    while (n < n_steps && read(ends[0], &told[n], sizeof(*told)) == (ssize_t)sizeof(*told))
        n++;
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status)); /* else it has failed */
    (void)close(ends[0]);
    f->s = store_session_open(&backend_conf, &f->err);
    assert_non_null(f->s);
    wait_for_server(f);
    for (unsigned i = 0; i < n; i++)
        assert_told(f, w->round, &told[i]);
}

static void whenever_a_gateway_is_killed_all_comes_to_an_end(void **state)
{
    struct fixture *f = *state;
    struct worker w = {.seed = test_seed()};

    if (strcmp(backend_url, "memory") == 0)
        skip();
    print_message("ANTIPHON_TEST_SEED=%u\n", w.seed);
    for (w.round = 0; w.round < ROUNDS; w.round++) {
        kill_after(f, &w, 1 + below(&w, MOST_STEPS));
        assert_true_to_rows(f);
        free_what_is_dead(f);
        end_all(f);
        assert_true_to_rows(f);
        assert_int_equal(stats(f).n_queued + stats(f).n_running + stats(f).n_keys, 0);
    }
}

static int group(const char *name)
{
    const struct CMUnitTest tests[] = {
        ON_ROWS(whenever_a_gateway_is_killed_all_comes_to_an_end),
    };

    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
    return backends_run(group);
}
