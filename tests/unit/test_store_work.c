/* test_store_work.c -- responses that are made in the background: accepted, claimed, ended, lost. */
#include <sys/wait.h>

#include "store/store_events.h"
#include "store/store_idempotency.h"
#include "store/store_lock_watch.h"
#include "store_rows.h"

static const struct store_work_limits no_limits = {.most = 0};

static struct store_response queued_from(struct fixture *f, const char *id, const char *words)
{
    struct store_response r = response_from(f, id, NULL, words);

    r.status = STORE_QUEUED;
    r.head = text(f, "queued %s", id);
    r.tail = STR("tail");
    return r;
}

static int try_accept(struct fixture *f, str owner, const struct store_response *r,
                      const struct store_work_limits *limits)
{
    const struct store_request request = {.body = text(f, "request of %.*s", STR_ARG(r->id)),
                                          .flags = 7};

    return store_accept_work(f->s, owner, r, &request, limits, &f->err);
}

static void accept_of(struct fixture *f, str owner, const char *id)
{
    struct store_response r = queued_from(f, id, "<in");

    assert_ok(try_accept(f, owner, &r, &no_limits));
}

static void accept_in(struct fixture *f, const char *id, const char *conversation,
                      const char *words)
{
    struct store_response r = queued_from(f, id, words);
    struct store_history before;

    r.conversation_id = str_from_c(conversation);
    r.lock = STR("turn");
    assert_ok(store_lock_conversation(f->s, alice, r.conversation_id, r.lock, &f->arena, &before,
                                      &f->err));
    assert_ok(try_accept(f, alice, &r, &no_limits));
}

/* Claims with any session; id STR_NONE: there was nothing. */
static struct store_work claim_by(struct fixture *f, struct store_session *s, str last_owner)
{
    struct store_work w = {.id = STR_NONE};
    bool is_found;

    assert_ok(store_claim_work(s, last_owner, &f->arena, &w, &is_found, &f->err));
    assert_int_equal(is_found, !str_is_none(w.id));
    return w;
}

static struct store_work claim(struct fixture *f)
{
    return claim_by(f, f->s, STR_NONE);
}

static struct store_work take_lost(struct fixture *f)
{
    struct store_work w = {.id = STR_NONE};
    bool is_found;

    assert_ok(store_take_lost_work(f->s, &f->arena, &w, &is_found, &f->err));
    return w;
}

static enum store_wish start_by(struct fixture *f, struct store_session *s,
                                const struct store_work *w)
{
    enum store_wish wish;

    assert_ok(store_start_work(s, w->id, w->lock, STR("started"), STR_NONE, &wish, &f->err));
    return wish;
}

static enum store_wish start(struct fixture *f, const struct store_work *w)
{
    return start_by(f, f->s, w);
}

static enum store_wish append(struct fixture *f, const struct store_work *w, int64_t first)
{
    const struct store_event_row row = {.first = first, .cuts = STR("c"), .pieces = STR("p")};
    enum store_wish wish;

    assert_ok(store_append_events(f->s, w->id, w->lock, &row, &wish, &f->err));
    return wish;
}

static enum store_wish end_as(struct fixture *f, const struct store_work *w,
                              enum store_status status, const char *words)
{
    struct store_response r = response_from(f, "", NULL, words);
    enum store_wish wish;

    r.id = w->id;
    r.lock = w->lock;
    r.status = status;
    r.cuts = STR("cuts");
    assert_ok(store_finish_work(f->s, w->owner, &r, &wish, &f->err));
    return wish;
}

static enum store_cancelled cancel(struct fixture *f, const char *id)
{
    struct store_response r = response_from(f, id, NULL, "");
    enum store_cancelled ret;

    r.status = STORE_CANCELLED;
    r.head = STR("cancelled");
    assert_ok(store_cancel_work(f->s, alice, &r, &ret, &f->err));
    return ret;
}

static struct store_response stored(struct fixture *f, const char *id)
{
    struct store_response r;

    assert_ok(store_get_response(f->s, alice, str_from_c(id), &f->arena, &r, &f->err));
    return r;
}

static void assert_stored(struct fixture *f, const char *id, enum store_status status,
                          const char *head, const char *output)
{
    struct store_response r = stored(f, id);

    assert_int_equal(r.status, status);
    assert_str_c(r.head, head);
    assert_str_c(bodies(f, &r.items), output);
}

/* ---- accepting */

static void an_accepted_response_can_be_read_at_once(void **state)
{
    struct fixture *f = *state;
    const struct store_page all = {.limit = 10, .ascending = true};
    struct store_response r = queued_from(f, "r1", "<a <b");
    struct store_list input;

    assert_ok(try_accept(f, alice, &r, &no_limits));
    assert_stored(f, "r1", STORE_QUEUED, "queued r1", "");
    assert_ok(store_list_input_items(f->s, alice, STR("r1"), &all, &f->arena, &input, &f->err));
    assert_str_c(bodies(f, &input.items), "{a}{b}");
    assert_int_equal(stats(f).n_queued, 1);
    assert_true_to_rows(f);
}

static void an_unfinished_response_cannot_be_continued(void **state)
{
    struct fixture *f = *state;
    struct store_response r = response_from(f, "r2", "r1", "<b >c");

    accept_of(f, alice, "r1");
    assert_no_context(f, "r1");
    assert_fails(store_save_response(f->s, alice, &r, &f->err), ERR_PREVIOUS_NOT_FOUND);
}

static void a_full_queue_refuses_and_tells_when_to_try_again(void **state)
{
    struct fixture *f = *state;
    const struct store_work_limits limits = {.most = 3, .most_of_owner = 2};
    struct store_response r = queued_from(f, "r9", "<a");
    uint64_t n_queued;

    accept_of(f, alice, "r1");
    accept_of(f, alice, "r2");
    assert_fails(try_accept(f, alice, &r, &limits), ERR_RATE_LIMIT);
    assert_int_equal(f->err.retry_after_s, 10);
    assert_no_response(f, "r9");
    accept_of(f, bob, "r3");
    r.id = STR("r8");
    assert_fails(try_accept(f, bob, &r, &limits), ERR_RATE_LIMIT);
    assert_ok(store_count_queued(f->s, &n_queued, &f->err));
    assert_int_equal(n_queued, 3);
    (void)claim(f); /* what runs is not queued */
    assert_ok(try_accept(f, bob, &r, &limits));
}

static void what_cannot_be_entered_is_not_accepted(void **state)
{
    struct fixture *f = *state;
    struct store_response r = queued_from(f, "r1", "<a");

    r.parent_id = STR("r0");
    assert_fails(try_accept(f, alice, &r, &no_limits), ERR_PREVIOUS_NOT_FOUND);
    r.parent_id = STR_NONE;
    r.conversation_id = STR("c0");
    assert_fails(try_accept(f, alice, &r, &no_limits), ERR_NOT_FOUND);
    assert_int_equal(stats(f).n_queued, 0);
    assert_no_response(f, "r1");
}

/* ---- claiming */

static void owners_take_turns_and_of_each_the_oldest_comes_first(void **state)
{
    struct fixture *f = *state;
    static const char *const order[] = {"a1", "b1", "c1", "a2", "b2", "a3"};
    str last = STR_NONE;

    accept_of(f, STR("a"), "a1");
    accept_of(f, STR("a"), "a2");
    accept_of(f, STR("a"), "a3");
    accept_of(f, STR("b"), "b1");
    accept_of(f, STR("b"), "b2");
    accept_of(f, STR("c"), "c1");
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        struct store_work w = claim_by(f, f->s, last);

        assert_str_c(w.id, order[i]);
        last = w.owner;
    }
    assert_true(str_is_none(claim_by(f, f->s, last).id));
}

static void a_claim_tells_all_that_is_needed_to_run_it(void **state)
{
    struct fixture *f = *state;
    struct store_response r = queued_from(f, "r2", "<b");
    struct store_work w;

    save(f, "r1", NULL, "<a >b");
    r.parent_id = STR("r1");
    assert_ok(try_accept(f, alice, &r, &no_limits));
    w = claim(f);
    assert_str_c(w.id, "r2");
    assert_str_c(w.owner, "alice");
    assert_str_c(w.parent_id, "r1");
    assert_true(str_is_none(w.conversation_id));
    assert_int_equal(w.created_at, 1700000000);
    assert_str_c(w.request.body, "request of r2");
    assert_int_equal(w.request.flags, 7);
    assert_int_equal(w.n_claims, 1);
    assert_false(w.is_cancelled);
    assert_int_equal(start(f, &w), STORE_GO_ON);
    assert_stored(f, "r2", STORE_IN_PROGRESS, "started", "");
    assert_str_c(stored(f, "r2").tail, "tail");
    assert_int_equal(stats(f).n_running, 1);
}

/* ---- ending */

static void an_end_makes_it_a_response_like_any_other(void **state)
{
    struct fixture *f = *state;
    struct store_work w;

    accept_of(f, alice, "r1");
    w = claim(f);
    assert_int_equal(start(f, &w), STORE_GO_ON);
    assert_int_equal(append(f, &w, 0), STORE_GO_ON);
    assert_int_equal(end_as(f, &w, STORE_COMPLETED, "<again >out -hidden"), STORE_GO_ON);
    assert_stored(f, "r1", STORE_COMPLETED, "head of ", "{out}");
    assert_context(f, "r1", "{in}{out}{hidden}");
    assert_int_equal(stats(f).n_queued + stats(f).n_running, 0);
    assert_true_to_rows(f);
    save(f, "r2", "r1", "<more >yes");
    assert_context(f, "r2", "{in}{out}{hidden}{more}{yes}");
}

static void the_first_end_that_is_stored_wins(void **state)
{
    struct fixture *f = *state;
    struct store_work w;

    accept_of(f, alice, "r1");
    w = claim(f);
    (void)start(f, &w);
    assert_int_equal(end_as(f, &w, STORE_COMPLETED, ">out"), STORE_GO_ON);
    assert_int_equal(end_as(f, &w, STORE_FAILED, ""), STORE_TAKEN);
    assert_int_equal(append(f, &w, 5), STORE_TAKEN);
    assert_int_equal(cancel(f, "r1"), STORE_CANCEL_LATE);
    assert_stored(f, "r1", STORE_COMPLETED, "head of ", "{out}");
    assert_true_to_rows(f);
}

static void work_that_has_not_started_can_fail(void **state)
{
    struct fixture *f = *state;
    struct store_work w;

    accept_of(f, alice, "r1");
    w = claim(f);
    assert_int_equal(end_as(f, &w, STORE_FAILED, ""), STORE_GO_ON);
    assert_stored(f, "r1", STORE_FAILED, "head of ", "");
    assert_no_context(f, "r1");
    assert_true_to_rows(f);
}

/* In a damaged store: it must not be held for ever by whoever has claimed it. */
static void work_without_its_request_is_claimed_to_be_ended(void **state)
{
    struct fixture *f = *state;
    struct store_work w;

    accept_of(f, alice, "r1");
    run_sql(f, "DELETE FROM journal");
    w = claim(f);
    assert_str_c(w.id, "r1");
    assert_str_c(w.request.body, "");
    assert_int_equal(end_as(f, &w, STORE_FAILED, ""), STORE_GO_ON);
    assert_true_to_rows(f);
}

/* ---- conversations */

/* The response r1 of the conversation c1, which is under way. */
static struct store_work start_in(struct fixture *f, const char *items_before, const char *input)
{
    struct store_work w;

    create(f, "c1", items_before);
    accept_in(f, "r1", "c1", input);
    w = claim(f);
    (void)start(f, &w);
    return w;
}

static void the_work_has_the_lock_of_its_conversation_until_it_ends(void **state)
{
    struct fixture *f = *state;
    struct store_history before;
    struct store_work w;

    create(f, "c1", "<old");
    accept_in(f, "r1", "c1", "<in <old");
    assert_fails(
        store_lock_conversation(f->s, alice, STR("c1"), STR("x"), &f->arena, &before, &f->err),
        ERR_CONVERSATION_LOCKED);
    assert_conversation(f, "c1", "{old}");
    w = claim(f);
    assert_str_c(w.conversation_id, "c1");
    (void)start(f, &w);
    assert_int_equal(end_as(f, &w, STORE_COMPLETED, ">out"), STORE_GO_ON);
    assert_conversation(f, "c1", "{old}{in}{out}");
    assert_context(f, "r1", "{old}{in}{out}");
    assert_ok(
        store_lock_conversation(f->s, alice, STR("c1"), STR("x"), &f->arena, &before, &f->err));
    assert_true_to_rows(f);
}

static void a_conversation_gets_nothing_of_what_has_failed(void **state)
{
    struct fixture *f = *state;
    struct store_work w;

    w = start_in(f, "<old", "<in");
    assert_int_equal(end_as(f, &w, STORE_FAILED, ">out"), STORE_GO_ON);
    assert_conversation(f, "c1", "{old}");
    accept_in(f, "r2", "c1", "<in");
    assert_int_equal(cancel(f, "r2"), STORE_CANCEL_STORED);
    assert_conversation(f, "c1", "{old}");
    accept_in(f, "r3", "c1", "<in");
    assert_true_to_rows(f);
}

static void what_runs_in_a_conversation_that_is_deleted_ends_all_the_same(void **state)
{
    struct fixture *f = *state;
    struct store_work w;

    w = start_in(f, "<old", "<in");
    assert_ok(store_delete_conversation(f->s, alice, STR("c1"), &f->err));
    assert_int_equal(end_as(f, &w, STORE_COMPLETED, ">out"), STORE_GO_ON);
    assert_stored(f, "r1", STORE_COMPLETED, "head of ", "{out}");
    assert_true_to_rows(f);
}

static void an_id_twice_in_a_request_enters_its_conversation_once(void **state)
{
    struct fixture *f = *state;
    struct store_work w;

    w = start_in(f, "", "<in <in");
    assert_int_equal(end_as(f, &w, STORE_COMPLETED, ">out"), STORE_GO_ON);
    assert_conversation(f, "c1", "{in}{out}");
    assert_true_to_rows(f);
}

/* Twenty thousand items: to look through the conversation for the id of each would take a minute. */
static void a_large_request_enters_its_conversation_in_linear_time(void **state)
{
    enum { N = 20000 };
    struct fixture *f = *state;
    struct buf words = {0};
    struct store_work w;

    for (unsigned i = 0; i < N; i++) {
        buf_c(&words, i == 0 ? "<in" : " <in");
        buf_uint(&words, i);
    }
    w = start_in(f, "", buf_cstr(&words));
    assert_int_equal(end_as(f, &w, STORE_COMPLETED, ">out"), STORE_GO_ON);
    assert_int_equal(stats(f).n_items, N + 1);
    assert_none(f, "a request's item that is not in its conversation",
                "SELECT id, seq FROM item WHERE in_conversation <> 1");
    buf_fini(&words);
}

/* ---- cancelling and deleting */

static void what_is_queued_is_cancelled_at_once(void **state)
{
    struct fixture *f = *state;
    struct store_work w;

    accept_of(f, alice, "r1");
    accept_of(f, alice, "r2");
    w = claim(f);
    assert_str_c(w.id, "r1");
    assert_int_equal(cancel(f, "r1"), STORE_CANCEL_STORED); /* claimed, and not started */
    assert_int_equal(cancel(f, "r2"), STORE_CANCEL_STORED);
    assert_stored(f, "r1", STORE_CANCELLED, "cancelled", "");
    assert_int_equal(start(f, &w), STORE_TAKEN);
    assert_stored(f, "r1", STORE_CANCELLED, "cancelled", "");
    assert_int_equal(cancel(f, "r1"), STORE_CANCEL_LATE);
    assert_true(str_is_none(claim(f).id));
    assert_true_to_rows(f);
}

static void whoever_runs_it_learns_the_wish_to_cancel(void **state)
{
    struct fixture *f = *state;
    str ids[2], locks[2];
    enum store_wish wishes[2];
    struct store_work w[2];

    for (size_t i = 0; i < 2; i++) {
        accept_of(f, alice, i == 0 ? "r1" : "r2");
        w[i] = claim(f);
        ids[i] = w[i].id;
        locks[i] = w[i].lock;
        (void)start(f, &w[i]);
    }
    assert_int_equal(cancel(f, "r1"), STORE_CANCEL_WISHED);
    assert_int_equal(append(f, &w[0], 0), STORE_CANCEL);
    assert_int_equal(append(f, &w[1], 0), STORE_GO_ON);
    assert_ok(store_get_wishes(f->s, ids, locks, 2, wishes, &f->err));
    assert_int_equal(wishes[0], STORE_CANCEL);
    assert_int_equal(wishes[1], STORE_GO_ON);
    assert_int_equal(end_as(f, &w[0], STORE_CANCELLED, ">part"), STORE_GO_ON);
    assert_stored(f, "r1", STORE_CANCELLED, "head of ", "{part}");
    assert_ok(store_delete_response(f->s, alice, ids[1], &f->err));
    assert_ok(store_get_wishes(f->s, ids, locks, 2, wishes, &f->err));
    assert_int_equal(wishes[0], STORE_TAKEN);
    assert_int_equal(wishes[1], STORE_DELETED);
}

static void what_is_deleted_is_gone_and_whoever_runs_it_learns_it(void **state)
{
    struct fixture *f = *state;
    struct store_work w;

    create(f, "c1", "");
    accept_in(f, "r1", "c1", "<in");
    w = claim(f);
    (void)start(f, &w);
    (void)append(f, &w, 0);
    assert_ok(store_delete_response(f->s, alice, STR("r1"), &f->err));
    assert_no_response(f, "r1");
    assert_int_equal(append(f, &w, 1), STORE_DELETED);
    assert_int_equal(end_as(f, &w, STORE_COMPLETED, ">out"), STORE_DELETED);
    assert_no_response(f, "r1");
    assert_conversation(f, "c1", "");
    accept_in(f, "r2", "c1", "<in"); /* it is not locked any more */
    assert_true_to_rows(f);
}

static void another_owner_knows_nothing_of_it(void **state)
{
    struct fixture *f = *state;
    struct store_response r = response_from(f, "r1", NULL, "");
    enum store_cancelled ret;

    accept_of(f, alice, "r1");
    assert_fails(store_cancel_work(f->s, bob, &r, &ret, &f->err), ERR_NOT_FOUND);
    assert_fails(store_delete_response(f->s, bob, STR("r1"), &f->err), ERR_NOT_FOUND);
    r.id = STR("r0");
    assert_fails(store_cancel_work(f->s, alice, &r, &ret, &f->err), ERR_NOT_FOUND);
}

static void what_is_referred_to_stays_when_its_response_is_deleted_under_way(void **state)
{
    struct fixture *f = *state;

    accept_of(f, alice, "r1");
    save(f, "r2", NULL, "@in >yes");
    assert_ok(store_delete_response(f->s, alice, STR("r1"), &f->err));
    assert_context(f, "r2", "{in}{yes}");
    assert_int_equal(stats(f).n_queued, 0);
    assert_true_to_rows(f);
}

static void what_is_under_way_is_not_purged(void **state)
{
    struct fixture *f = *state;
    struct store_work w;

    accept_of(f, alice, "r1");
    accept_of(f, alice, "r2");
    w = claim(f);
    (void)start(f, &w);
    store_empty(f->s);
    assert_stored(f, "r1", STORE_IN_PROGRESS, "started", "");
    assert_stored(f, "r2", STORE_QUEUED, "queued r2", "");
    assert_int_equal(end_as(f, &w, STORE_COMPLETED, ">out"), STORE_GO_ON);
    store_empty(f->s);
    assert_no_response(f, "r1");
}

static void a_key_answers_with_what_was_accepted(void **state)
{
    struct fixture *f = *state;
    struct store_key key = {.owner = alice,
                            .path = STR("/v1/responses"),
                            .key = text(f, "key %d", (int)getpid()),
                            .sha256 = STR("hash"),
                            .lock = STR("k1")};
    struct store_response r = queued_from(f, "r1", "<in");
    struct store_answer answer;

    assert_ok(store_begin_key(f->s, &key, &f->arena, &answer, &f->err));
    assert_int_equal(answer.state, STORE_KEY_BEGUN);
    r.idempotency_lock = key.lock;
    assert_ok(try_accept(f, alice, &r, &no_limits));
    key.lock = STR("k2");
    assert_ok(store_begin_key(f->s, &key, &f->arena, &answer, &f->err));
    assert_int_equal(answer.state, STORE_KEY_FINISHED);
    assert_str_c(answer.response_id, "r1");
}

/* ---- gateways that die */

/* True when nothing has failed; in a child, which must not inherit a database that is open. */
static bool claim_two_and_die(struct fixture *f)
{
    struct store_session *s = store_session_open(&backend_conf, &f->err);
    struct store_work w[2];
    bool is_found;
    enum store_wish wish;

    return s != NULL && store_claim_work(s, STR_NONE, &f->arena, &w[0], &is_found, &f->err) == 0 &&
           is_found && store_claim_work(s, STR_NONE, &f->arena, &w[1], &is_found, &f->err) == 0 &&
           is_found &&
           store_start_work(s, w[0].id, w[0].lock, STR("started"), STR_NONE, &wish, &f->err) == 0 &&
           wish == STORE_GO_ON;
}

static void run_in_child(struct fixture *f, bool (*run)(struct fixture *f))
{
    int status;
    pid_t pid;

    store_session_close(f->s);
    f->s = NULL;
    pid = fork();
    assert_int_not_equal(pid, -1);
    if (pid == 0)
        _exit(run(f) ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    f->s = store_session_open(&backend_conf, &f->err);
    assert_non_null(f->s);
}

static void look_around(struct fixture *f)
{
    struct lock_watch watch = {.first = NULL};
    struct tx tx;

    assert_ok(tx_begin(&tx, f->s, STORE_WRITE, &f->err));
    assert_ok(tx_end(&tx, lock_watch_look(&watch, f->s, 1000, &f->err), &f->err));
    lock_watch_fini(&watch);
}

static void work_of_a_dead_gateway_is_queued_again_or_lost(void **state)
{
    struct fixture *f = *state;
    struct store_work w;

    if (strcmp(backend_url, "memory") == 0)
        skip();
    accept_of(f, alice, "r1");
    accept_of(f, alice, "r2");
    accept_of(f, alice, "r3");
    run_in_child(f, claim_two_and_die);
    look_around(f);
    w = claim(f);
    assert_str_c(w.id, "r2"); /* at its old place */
    assert_int_equal(w.n_claims, 2);
    assert_str_c(claim(f).id, "r3");
    assert_true(str_is_none(claim(f).id));
    w = take_lost(f);
    assert_str_c(w.id, "r1");
    assert_true(str_is_none(take_lost(f).id));
    assert_int_equal(append(f, &w, 4), STORE_GO_ON);
    assert_int_equal(end_as(f, &w, STORE_FAILED, ">part"), STORE_GO_ON);
    assert_stored(f, "r1", STORE_FAILED, "head of ", "{part}");
    assert_true_to_rows(f);
}

static void whoever_lost_its_claim_can_write_no_more(void **state)
{
    struct fixture *f = *state;
    struct store_work mine, theirs;

    accept_of(f, alice, "r1");
    mine = claim(f);
    (void)start(f, &mine);
    run_sql(f, "UPDATE work SET locked_by = NULL"); /* as a watch does to a dead holder */
    theirs = take_lost(f);
    assert_str_c(theirs.id, "r1");
    assert_int_equal(append(f, &mine, 0), STORE_TAKEN);
    assert_int_equal(start(f, &mine), STORE_TAKEN);
    assert_int_equal(end_as(f, &mine, STORE_COMPLETED, ">out"), STORE_TAKEN);
    assert_stored(f, "r1", STORE_IN_PROGRESS, "started", "");
    assert_int_equal(end_as(f, &theirs, STORE_FAILED, ""), STORE_GO_ON);
    assert_true_to_rows(f);
}

static int group(const char *name)
{
    const struct CMUnitTest tests[] = {
        ON_ROWS(an_accepted_response_can_be_read_at_once),
        ON_ROWS(an_unfinished_response_cannot_be_continued),
        ON_ROWS(a_full_queue_refuses_and_tells_when_to_try_again),
        ON_ROWS(what_cannot_be_entered_is_not_accepted),
        ON_ROWS(owners_take_turns_and_of_each_the_oldest_comes_first),
        ON_ROWS(a_claim_tells_all_that_is_needed_to_run_it),
        ON_ROWS(an_end_makes_it_a_response_like_any_other),
        ON_ROWS(the_first_end_that_is_stored_wins),
        ON_ROWS(work_that_has_not_started_can_fail),
        ON_ROWS(work_without_its_request_is_claimed_to_be_ended),
        ON_ROWS(the_work_has_the_lock_of_its_conversation_until_it_ends),
        ON_ROWS(a_conversation_gets_nothing_of_what_has_failed),
        ON_ROWS(what_runs_in_a_conversation_that_is_deleted_ends_all_the_same),
        ON_ROWS(an_id_twice_in_a_request_enters_its_conversation_once),
        ON_ROWS(a_large_request_enters_its_conversation_in_linear_time),
        ON_ROWS(what_is_queued_is_cancelled_at_once),
        ON_ROWS(whoever_runs_it_learns_the_wish_to_cancel),
        ON_ROWS(what_is_deleted_is_gone_and_whoever_runs_it_learns_it),
        ON_ROWS(another_owner_knows_nothing_of_it),
        ON_ROWS(what_is_referred_to_stays_when_its_response_is_deleted_under_way),
        ON_ROWS(what_is_under_way_is_not_purged),
        ON_ROWS(a_key_answers_with_what_was_accepted),
        ON_ROWS(work_of_a_dead_gateway_is_queued_again_or_lost),
        ON_ROWS(whoever_lost_its_claim_can_write_no_more),
    };

    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
    return backends_run(group);
}
