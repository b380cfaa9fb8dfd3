/* test_background.c -- who claims what, and what becomes of it. The store and the turns are played. */
#include "background/background.h"

#include "background/poll_cache.h"
#include "config/config.h"
#include "fake_loop.h"
#include "flight/worker.h"
#include "resume/running.h"
#include "store/store_events.h"
#include "turn/turn.h"

enum { WORKERS = 3, RUNNING = 4, MANY = 32 };

/* ---- the store */

enum fate { QUEUED, CLAIMED, LOST, ENDED };

struct response_row {
    char id[16], owner[16], lock[16];
    enum fate fate;
    enum store_status status; /* of its end */
    enum store_wish wish;
    int64_t n_claims;
    bool is_cancelled;
};

enum { BYTES_READ = 4000 };

static struct {
    struct response_row rows[MANY];
    size_t n_rows;
    unsigned n_claims, n_released, n_looks, n_taken;
    bool is_away, fails;
    bool ends_nothing;              /* it can be read, but no end can be stored */
    unsigned n_read;                /* responses, ... */
    size_t most_read;               /* ... and most bytes that were held then */
    struct store_task *tasks[MANY]; /* under way, unless they run at once */
    size_t n_tasks;
    bool holds_tasks;
} store;

bool store_refuses(struct store *s, enum store_access access, struct err *reterr)
{
    (void)s;
    (void)access;
    if (store.is_away)
        err_set(reterr, ERR_STORE_AWAY, "away");
    return store.is_away;
}

static void run_task(struct store_task *task)
{
    struct err e;
    int rc = -1;

    if (store.fails)
        err_set(&e, ERR_STORE, "failed");
    else
        rc = task->work(NULL, task->arg, &e);
    loop_receive(task->loop);
    task->done(task->arg, rc == -1 ? &e : NULL);
}

static void run_tasks(void)
{
    while (store.n_tasks > 0)
        run_task(store.tasks[--store.n_tasks]);
}

static void run_deferred_task(void *arg)
{
    run_task(arg);
}

void store_start(struct store *s, struct store_task *task)
{
    (void)s;
    loop_expect(task->loop);
    if (store.holds_tasks)
        store.tasks[store.n_tasks++] = task;
    else
        defer_once(task->loop, run_deferred_task, task);
}

static struct response_row *add_row(const char *owner, enum fate fate)
{
    struct response_row *row = &store.rows[store.n_rows];

    *row = (struct response_row){.fate = fate};
    (void)snprintf(row->id, sizeof(row->id), "resp_%zu", store.n_rows);
    (void)snprintf(row->lock, sizeof(row->lock), "lock_%zu", store.n_rows++);
    (void)snprintf(row->owner, sizeof(row->owner), "%s", owner);
    return row;
}

static void fill_work(struct response_row *row, struct store_work *ret)
{
    row->fate = CLAIMED;
    *ret = (struct store_work){.id = str_from_c(row->id),
                               .owner = str_from_c(row->owner),
                               .lock = str_from_c(row->lock),
                               .parent_id = STR_NONE,
                               .conversation_id = STR_NONE,
                               .n_claims = ++row->n_claims,
                               .is_cancelled = row->is_cancelled};
}

static struct response_row *find_row(enum fate fate, str not_of)
{
    for (size_t i = 0; i < store.n_rows; i++) {
        if (store.rows[i].fate == fate &&
            (str_is_none(not_of) || !str_eq(str_from_c(store.rows[i].owner), not_of)))
            return &store.rows[i];
    }
    return NULL;
}

/* Two owners are enough for turns. */
int store_claim_work(struct store_session *s, str last_owner, struct arena *a,
                     struct store_work *ret, bool *ret_is_found, struct err *reterr)
{
    struct response_row *row = find_row(QUEUED, last_owner);

    (void)s;
    (void)a;
    (void)reterr;
    store.n_claims++;
    if (row == NULL)
        row = find_row(QUEUED, STR_NONE);
    *ret_is_found = row != NULL;
    if (row != NULL)
        fill_work(row, ret);
    return 0;
}

int store_take_lost_work(struct store_session *s, struct arena *a, struct store_work *ret,
                         bool *ret_is_found, struct err *reterr)
{
    struct response_row *row = find_row(LOST, STR_NONE);

    (void)s;
    (void)a;
    (void)reterr;
    store.n_looks++;
    *ret_is_found = row != NULL;
    store.n_taken += row != NULL;
    if (row != NULL)
        fill_work(row, ret);
    return 0;
}

static struct response_row *row_of(str lock)
{
    for (size_t i = 0; i < store.n_rows; i++) {
        if (str_eq(str_from_c(store.rows[i].lock), lock))
            return &store.rows[i];
    }
    fail();
    return NULL;
}

int store_get_wishes(struct store_session *s, const str *ids, const str *locks, size_t n,
                     enum store_wish *ret, struct err *reterr)
{
    (void)s;
    (void)ids;
    (void)reterr;
    for (size_t i = 0; i < n; i++)
        ret[i] = row_of(locks[i])->wish;
    return 0;
}

int store_get_events(struct store_session *s, str owner, str id, int64_t from, struct arena *a,
                     struct store_events *ret, struct err *reterr)
{
    (void)s;
    (void)owner;
    (void)id;
    (void)from;
    (void)reterr;
    assert_non_null(arena_alloc(a, BYTES_READ));
    store.n_read++;
    store.most_read = a->used > store.most_read ? a->used : store.most_read;
    *ret = (struct store_events){
        .status = STORE_IN_PROGRESS,
        .response = {.head = STR("{\"status\":\"in_progress\",\"error\":null,\"output\":["),
                     .tail = STR("]}")}};
    return 0;
}

int store_finish_work(struct store_session *s, str owner, const struct store_response *r,
                      enum store_wish *ret, struct err *reterr)
{
    struct response_row *row = row_of(r->lock);

    (void)s;
    (void)owner;
    assert_int_equal(row->fate, CLAIMED);
    if (store.ends_nothing) {
        err_set(reterr, ERR_STORE, "full");
        return -1;
    }
    row->fate = ENDED;
    row->status = r->status;
    *ret = STORE_GO_ON;
    return 0;
}

void store_release_work(struct store *s, str lock)
{
    (void)s;
    row_of(lock)->fate = QUEUED;
    store.n_released++;
}

bool store_status_is_terminal(enum store_status status)
{
    return status <= STORE_CANCELLED;
}

/* ---- workers and their turns */

static struct config config;
static struct worker workers[WORKERS];
static struct background *background;

static struct made {
    struct turn_work work;
    struct worker *worker;
    bool is_over;
} made[4 * MANY];
static size_t n_made;
static unsigned n_cancelled;
static bool takes_asks;
static struct running_ask *asked;

void turn_begin_work(struct worker *w, const struct turn_work *work)
{
    made[n_made++] = (struct made){.work = *work, .worker = w};
}

bool running_ask(struct running *table, struct running_ask *ask, struct loop *home)
{
    (void)table;
    (void)home;
    assert_int_equal(ask->wish, RUNNING_CANCEL);
    n_cancelled += takes_asks;
    asked = ask;
    return takes_asks;
}

void worker_watch(struct worker *w, struct worker_watcher *watcher)
{
    watcher->next = NULL;
    watcher->link = &w->watchers;
    w->watchers = watcher;
}

void worker_unwatch(struct worker_watcher *watcher)
{
    *watcher->link = NULL;
}

/* What one loop does may be for another. */
static void pass_on_all(uint64_t ms)
{
    enum { ROUNDS = 2 * RUNNING };

    for (int round = 0; round < ROUNDS; round++) {
        for (size_t k = 0; k < WORKERS; k++)
            fake_loop_pass(workers[k].loop, round == 0 ? ms : 0);
    }
}

static void pass(uint64_t ms)
{
    enum { STEP_MS = 10 };

    pass_on_all(0);
    for (uint64_t passed_ms = 0; passed_ms < ms; passed_ms += STEP_MS)
        pass_on_all(STEP_MS);
}

static int background_setup(void **state)
{
    struct err e;

    (void)state;
    memset(&store, 0, sizeof(store));
    memset(made, 0, sizeof(made));
    n_made = n_cancelled = 0;
    takes_asks = false;
    background = background_new(RUNNING);
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.config = &config, .loop = loop_new(NULL)};
        assert_int_equal(background_open_agent(background, &workers[i], &e), 0);
    }
    pass(0);
    return 0;
}

static int background_teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < WORKERS; i++) {
        assert_int_equal(workers[i].loop->n_expected, 0);
        workers[i].watchers->on_end(workers[i].watchers->arg);
        loop_free(workers[i].loop);
    }
    background_free(background);
    return 0;
}

static void end_turn(size_t i, const struct err *failure)
{
    made[i].is_over = true;
    if (failure == NULL)
        row_of(made[i].work.lock)->fate = ENDED;
    made[i].work.on_end(made[i].work.arg, failure);
    pass(0);
}

static void end_turns(void)
{
    for (size_t i = 0; i < n_made; i++) {
        if (!made[i].is_over)
            end_turn(i, NULL);
    }
}

static void queue_one(const char *owner)
{
    (void)add_row(owner, QUEUED);
    worker_hint_work(&workers[0]);
    pass(0);
}

/* ---- tests */

static void what_is_accepted_here_is_claimed_at_once(void **state)
{
    (void)state;
    queue_one("me");
    assert_int_equal(n_made, 1);
    assert_true(str_eq(made[0].work.id, STR("resp_0")));
    assert_true(str_eq(made[0].work.owner, STR("me")));
    assert_true(background_is_making(background, STR("resp_0")));
    assert_false(background_is_making(background, STR("resp_1")));
    end_turns();
    assert_false(background_is_making(background, STR("resp_0")));
}

static void what_others_accept_is_claimed_within_a_second(void **state)
{
    (void)state;
    (void)add_row("me", QUEUED);
    pass(0);
    assert_int_equal(n_made, 0);
    pass(1000);
    assert_int_equal(n_made, 1);
    end_turns();
}

static void so_many_are_made_at_a_time_and_the_next_when_one_ends(void **state)
{
    (void)state;
    for (int i = 0; i < RUNNING + 2; i++)
        queue_one("me");
    assert_int_equal(n_made, RUNNING);
    end_turn(1, NULL);
    assert_int_equal(n_made, RUNNING + 1);
    pass(3000);
    assert_int_equal(n_made, RUNNING + 1);
    end_turn(0, NULL);
    assert_int_equal(n_made, RUNNING + 2);
    end_turns();
}

static void work_spreads_over_the_workers(void **state)
{
    unsigned n_of[WORKERS] = {0};

    (void)state;
    for (int i = 0; i < RUNNING; i++)
        (void)add_row("me", QUEUED);
    worker_hint_work(&workers[1]); /* one hint for all: each that is found asks for the next */
    pass(0);
    assert_int_equal(n_made, RUNNING);
    for (int i = 0; i < RUNNING; i++)
        n_of[made[i].worker - workers]++;
    for (int k = 0; k < WORKERS; k++)
        assert_in_range(n_of[k], 1, 2);
    end_turns();
}

static void owners_take_turns(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        (void)add_row("greedy", QUEUED);
    (void)add_row("modest", QUEUED);
    worker_hint_work(&workers[0]);
    pass(0);
    assert_int_equal(n_made, RUNNING);
    assert_true(str_eq(made[0].work.owner, STR("greedy")));
    assert_true(str_eq(made[1].work.owner, STR("modest")));
    end_turns();
}

static void a_store_that_is_away_or_fails_is_asked_again(void **state)
{
    (void)state;
    store.is_away = true;
    queue_one("me");
    pass(2000);
    assert_int_equal(store.n_claims + store.n_looks, 2); /* of the beginning */
    store.is_away = false;
    store.fails = true;
    pass(2000);
    assert_int_equal(n_made, 0);
    store.fails = false;
    pass(1000);
    assert_int_equal(n_made, 1);
    end_turns();
}

static void what_a_turn_could_not_end_is_ended_by_what_is_in_the_store(void **state)
{
    struct err e;

    (void)state;
    queue_one("me");
    err_set(&e, ERR_INTERNAL, "It cannot be unsealed.");
    end_turn(0, &e);
    assert_int_equal(store.rows[0].fate, ENDED);
    assert_int_equal(store.rows[0].status, STORE_FAILED);
    queue_one("me");
    err_set(&e, ERR_RESPONSE_CANCELLED, "The response was cancelled.");
    end_turn(1, &e);
    assert_int_equal(store.rows[1].status, STORE_CANCELLED);
}

static void an_end_that_the_store_does_not_take_is_tried_again(void **state)
{
    struct err e;

    (void)state;
    queue_one("me");
    err_set(&e, ERR_INTERNAL, "It cannot be unsealed.");
    store.fails = true;
    end_turn(0, &e);
    pass(3000);
    assert_int_equal(store.rows[0].fate, CLAIMED);
    store.fails = false;
    pass(1000);
    assert_int_equal(store.rows[0].fate, ENDED);
}

/* Each time a second or so later, as it may fail for the same reason. */
static void what_cannot_be_begun_now_is_queued_again(void **state)
{
    static const enum err_code why[] = {ERR_OVERLOADED, ERR_STORE, ERR_STORE_AWAY};
    struct err e;

    (void)state;
    queue_one("me");
    for (size_t i = 0; i < COUNT_OF(why); i++) {
        assert_int_equal(n_made, i + 1);
        err_set(&e, why[i], "not now");
        end_turn(i, &e);
        assert_int_equal(n_made, i + 1);
        assert_int_equal(store.rows[0].fate, CLAIMED);
        pass(2000);
        assert_int_equal(store.n_released, i + 1);
    }
    assert_int_equal(store.rows[0].fate, CLAIMED);
    assert_int_equal(n_made, COUNT_OF(why) + 1);
    end_turns();
    for (int i = 0; i < RUNNING; i++)
        queue_one("me");
    assert_int_equal(n_made, COUNT_OF(why) + 1 + RUNNING); /* all places are free again */
    end_turns();
}

/* Work whose request ends the process, or never finds room. */
static void what_is_never_begun_fails_in_the_end(void **state)
{
    struct err e;
    size_t n = 0;

    (void)state;
    err_set(&e, ERR_OVERLOADED, "no room");
    queue_one("me");
    for (; store.rows[0].fate == CLAIMED && n < 1000; n++) {
        end_turn(n, &e);
        pass(2000);
    }
    assert_int_equal(n, 100);
    assert_int_equal(n_made, n);
    assert_int_equal(store.rows[0].fate, ENDED);
    assert_int_equal(store.rows[0].status, STORE_FAILED);
    end_turns();
    for (int i = 0; i < RUNNING; i++)
        queue_one("me");
    assert_int_equal(n_made, n + RUNNING); /* all places are free again */
    end_turns();
}

static void a_worker_that_drains_gives_back_what_it_has_not_begun(void **state)
{
    struct err e;

    (void)state;
    queue_one("me");
    for (int i = 0; i < WORKERS; i++)
        workers[i].is_draining = true;
    err_set(&e, ERR_OVERLOADED, "The gateway is shutting down.");
    end_turn(0, &e);
    assert_int_equal(store.n_released, 1);
    assert_int_equal(store.rows[0].fate, QUEUED);
}

static void what_is_read_for_an_end_is_held_once(void **state)
{
    struct err e;

    (void)state;
    queue_one("me");
    err_set(&e, ERR_INTERNAL, "It cannot be unsealed.");
    store.ends_nothing = true;
    end_turn(0, &e);
    pass(5000);
    assert_in_range(store.n_read, 4, 8);
    assert_in_range(store.most_read, BYTES_READ, BYTES_READ + 1000);
    store.ends_nothing = false;
    pass(1000);
    assert_int_equal(store.rows[0].fate, ENDED);
}

static void all_that_was_lost_is_failed_at_the_next_look(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        add_row("me", LOST)->is_cancelled = i == 2;
    pass(1000);
    assert_int_equal(store.n_taken, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(store.rows[i].fate, ENDED);
        assert_int_equal(store.rows[i].status, i == 2 ? STORE_CANCELLED : STORE_FAILED);
    }
    assert_int_equal(n_made, 0);
}

static void one_agent_looks_each_second(void **state)
{
    unsigned before;

    (void)state;
    before = store.n_looks;
    pass(10000);
    assert_in_range(store.n_looks - before, 9, 11);
}

static void a_wish_of_elsewhere_reaches_the_turn_within_a_second(void **state)
{
    (void)state;
    for (int i = 0; i < WORKERS; i++)
        queue_one("me");
    store.rows[1].wish = STORE_CANCEL;
    pass(1000);
    assert_int_equal(n_cancelled, 0); /* its turn has not begun; it is tried again */
    takes_asks = true;
    pass(1000);
    assert_int_equal(n_cancelled, 1);
    pass(2000);
    assert_int_equal(n_cancelled, 1); /* it knows */
    store.rows[1].wish = STORE_GO_ON;
    end_turns();
    asked->report(asked->arg, RUNNING_ENDED); /* maybe behind the end */
}

static void a_worker_that_drains_claims_nothing_and_gives_back_what_it_was_claiming(void **state)
{
    (void)state;
    store.holds_tasks = true;
    (void)add_row("me", QUEUED);
    worker_hint_work(&workers[0]);
    pass(0);
    assert_true(store.n_tasks > 0);
    for (int i = 0; i < WORKERS; i++)
        workers[i].is_draining = true;
    run_tasks();
    assert_int_equal(store.n_released, 1);
    store.holds_tasks = false;
    pass(2000);
    assert_int_equal(n_made, 0);
    assert_int_equal(store.rows[0].fate, QUEUED);
}

static void a_worker_that_drains_leaves_what_it_could_not_end_to_others(void **state)
{
    struct err e;

    (void)state;
    queue_one("me");
    for (int i = 0; i < WORKERS; i++)
        workers[i].is_draining = true;
    err_set(&e, ERR_INTERNAL, "It cannot be unsealed.");
    store.fails = true;
    end_turn(0, &e);
    assert_int_equal(store.n_released, 1);
}

static void a_poll_is_forgotten_when_the_response_ends(void **state)
{
    struct poll_cache *polls = background_polls(background);
    struct buf shown = {.limit = 0};
    struct poll_ticket ticket;
    int64_t created_at;

    (void)state;
    queue_one("me");
    assert_false(poll_cache_find(polls, STR("me"), STR("resp_0"), 1, &shown, &created_at, &ticket));
    poll_cache_keep(polls, STR("me"), STR("resp_0"), ticket, 1, 0, STR("{}"));
    assert_true(poll_cache_find(polls, STR("me"), STR("resp_0"), 1, &shown, &created_at, &ticket));
    end_turns();
    assert_false(poll_cache_find(polls, STR("me"), STR("resp_0"), 1, &shown, &created_at, &ticket));
    buf_fini(&shown);
}

static void a_worker_may_end_with_work(void **state)
{
    (void)state;
    queue_one("me"); /* its turn goes without a word */
}

#define BACKGROUND_TEST(f) cmocka_unit_test_setup_teardown(f, background_setup, background_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BACKGROUND_TEST(what_is_accepted_here_is_claimed_at_once),
        BACKGROUND_TEST(what_others_accept_is_claimed_within_a_second),
        BACKGROUND_TEST(so_many_are_made_at_a_time_and_the_next_when_one_ends),
        BACKGROUND_TEST(work_spreads_over_the_workers),
        BACKGROUND_TEST(owners_take_turns),
        BACKGROUND_TEST(a_store_that_is_away_or_fails_is_asked_again),
        BACKGROUND_TEST(what_a_turn_could_not_end_is_ended_by_what_is_in_the_store),
        BACKGROUND_TEST(an_end_that_the_store_does_not_take_is_tried_again),
        BACKGROUND_TEST(what_is_read_for_an_end_is_held_once),
        BACKGROUND_TEST(what_cannot_be_begun_now_is_queued_again),
        BACKGROUND_TEST(what_is_never_begun_fails_in_the_end),
        BACKGROUND_TEST(a_worker_that_drains_gives_back_what_it_has_not_begun),
        BACKGROUND_TEST(all_that_was_lost_is_failed_at_the_next_look),
        BACKGROUND_TEST(one_agent_looks_each_second),
        BACKGROUND_TEST(a_wish_of_elsewhere_reaches_the_turn_within_a_second),
        BACKGROUND_TEST(a_worker_that_drains_claims_nothing_and_gives_back_what_it_was_claiming),
        BACKGROUND_TEST(a_worker_that_drains_leaves_what_it_could_not_end_to_others),
        BACKGROUND_TEST(a_poll_is_forgotten_when_the_response_ends),
        BACKGROUND_TEST(a_worker_may_end_with_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
