/* test_idempotency.c -- requests with a key on their way to a turn or an answer: clients leave, workers end
 * and memory runs out in each state, and no key stays held. */
#include "turn_fixture.h"

#include "front/idempotency.h"
#include "front/state_calls.h"
#include "lib/failing_malloc.h"
#include "memory/answer_memory.h"
#include "store/store_idempotency.h"

#define STORED "\"input\":\"x\""

/* What the store says of a key. */
static struct {
    enum store_key_state state;
    unsigned n_asked, n_replayed;
} store;

/* ---- what is not here */

const struct state_call state_response_get = {.access = STORE_READ};

void state_request_replay(struct worker *w, struct http_exchange *x, const struct http_request *r,
                          const struct caller *caller, const struct path_ids *ids,
                          const struct state_call *call)
{
    (void)w;
    (void)r;
    (void)caller;
    assert_ptr_equal(call, &state_response_get);
    assert_str_c(ids->v[0], "resp_9");
    store.n_replayed++;
    http_exchange_respond(x, 200, NULL, 0, STR("the same"));
}

int store_begin_key(struct store_session *s, const struct store_key *key, struct arena *a,
                    struct store_answer *ret, struct err *reterr)
{
    (void)s;
    (void)a;
    (void)reterr;
    assert_str_c(key->key, "k");
    assert_str_c(key->path, "/v1/responses");
    assert_int_equal(key->sha256.len, 32);
    store.n_asked++;
    *ret = (struct store_answer){
        .state = store.state, .lock = STR("resp_8"), .response_id = STR("resp_9")};
    return 0;
}

void worker_watch(struct worker *w, struct worker_watcher *watcher)
{
    watcher->next = w->watchers;
    watcher->link = &w->watchers;
    if (watcher->next != NULL)
        watcher->next->link = &watcher->next;
    w->watchers = watcher;
}

void worker_unwatch(struct worker_watcher *watcher)
{
    *watcher->link = watcher->next;
    if (watcher->next != NULL)
        watcher->next->link = watcher->link;
}

/* ---- the stage */

static void start_with_key(struct worker *w, struct http_exchange *x, const struct http_request *r,
                           const struct caller *caller)
{
    static const struct http_header key = {STR_INIT("idempotency-key"), STR_INIT("k")};

    stage.request.path = STR("/v1/responses");
    stage.request.headers = &key;
    stage.request.n_headers = 1;
    idempotency_start_turn(w, x, r, caller);
}

/* Another request of a client that is new. */
static void begin(const char *members)
{
    buf_fini(&stage.x.said);
    stage.x = (struct http_exchange){.handler = NULL};
    buf_reset(&stage.body);
    stage_begin_at(start_with_key, members);
}

static void open_stage(enum store_key_state state)
{
    struct err e;

    store.state = state;
    store.n_asked = store.n_replayed = 0;
    open_turn_stage();
    stage.worker.answers = answer_memory_new(1 << 20, 1000000, &e);
    assert_non_null(stage.worker.answers);
}

static void close_stage(void)
{
    fake_loop_pass(stage.worker.loop, 60 * 1000);
    assert_null(stage.worker.watchers);
    answer_memory_free(stage.worker.answers);
    stage_close();
}

/* The model answers, as far as it is asked. */
static void speak(void)
{
    if (stage.has_call)
        upstream_begins(200);
    if (stage.has_call)
        upstream_says(SAYS("hello"));
    if (stage.has_call)
        upstream_says(STOPS("stop"));
    if (stage.has_call)
        upstream_ends(NULL);
}

static void answer(void)
{
    speak();
    stage_settle();
}

/* ---- keys in the store */

static void a_key_that_is_free_leads_to_a_turn_which_the_store_finishes(void **state)
{
    (void)state;
    open_stage(STORE_KEY_BEGUN);
    begin(STORED);
    assert_false(stage.has_call);
    store_reports(NULL);
    answer();
    assert_int_equal(stage.n_saved, 1);
    assert_int_equal(stage.n_released, 0);
    assert_true(client_was_told("hello"));
    close_stage();
}

static void a_turn_that_is_refused_gives_the_key_up(void **state)
{
    (void)state;
    open_stage(STORE_KEY_BEGUN);
    begin(STORED ",\"temperature\":9");
    store_reports(NULL);
    assert_int_equal(stage.x.status, 400);
    assert_int_equal(stage.n_released, 1);
    begin(STORED);
    store_reports(NULL);
    upstream_begins(500);
    upstream_ends(NULL);
    stage_settle();
    assert_true(stage.x.status >= 500);
    assert_int_equal(stage.n_released, 2);
    close_stage();
}

static void a_client_of_a_turn_that_leaves_gives_the_key_up(void **state)
{
    (void)state;
    open_stage(STORE_KEY_BEGUN);
    begin(STORED);
    store_reports(NULL);
    client_leaves();
    stage_settle();
    assert_int_equal(stage.n_released, 1);
    close_stage();
}

static void what_has_finished_is_answered_and_what_runs_is_waited_for(void **state)
{
    (void)state;
    open_stage(STORE_KEY_HERE);
    begin(STORED);
    for (unsigned i = 1; i <= 20; i++) {
        store_reports(NULL);
        assert_null(stage.store_task);
        if (i == 10)
            store.state = STORE_KEY_ELSEWHERE;
        fake_loop_pass(stage.worker.loop, 1000);
        assert_int_equal(store.n_asked, i);
        assert_non_null(stage.store_task);
    }
    store.state = STORE_KEY_FINISHED;
    store_reports(NULL);
    assert_int_equal(store.n_replayed, 1);
    begin(STORED ",\"stream\":true");
    store_reports(NULL);
    assert_int_equal(stage.n_readers, 1);
    store.state = STORE_KEY_OTHER_BODY;
    begin(STORED);
    store_reports(NULL);
    assert_int_equal(stage.x.status, 422);
    assert_int_equal(stage.n_released, 0);
    close_stage();
}

/* The client leaves, or the worker ends, while the store is asked, which says that. */
static void go_while_asked(enum store_key_state says, unsigned n_released)
{
    const struct err ends = {.code = ERR_OVERLOADED, .msg = "It ends."};

    for (int leaves = 0; leaves < 2; leaves++) {
        open_stage(says);
        begin(STORED);
        assert_non_null(stage.store_task);
        if (leaves)
            client_leaves();
        else
            flight_end_all(&stage.worker, &ends);
        assert_int_equal(stage.x.status, leaves ? 0 : 503);
        store_reports(NULL);
        assert_int_equal(stage.n_released, n_released);
        close_stage();
    }
}

static void nobody_holds_a_key_for_a_client_that_has_gone(void **state)
{
    (void)state;
    go_while_asked(STORE_KEY_BEGUN, 1);
    go_while_asked(STORE_KEY_HERE, 0);
    go_while_asked(STORE_KEY_FINISHED, 0);
}

static void whoever_waits_may_leave_and_is_told_when_the_worker_ends(void **state)
{
    const struct err ends = {.code = ERR_OVERLOADED, .msg = "It ends."};

    (void)state;
    for (int leaves = 0; leaves < 2; leaves++) {
        open_stage(STORE_KEY_HERE);
        begin(STORED);
        store_reports(NULL);
        if (leaves)
            client_leaves();
        else
            flight_end_all(&stage.worker, &ends);
        assert_int_equal(stage.x.status, leaves ? 0 : 503);
        close_stage();
    }
}

static void a_store_that_is_away_is_told_before_anything_runs(void **state)
{
    const struct err away = {.code = ERR_STORE, .msg = "The store cannot be reached."};

    (void)state;
    open_stage(STORE_KEY_BEGUN);
    begin(STORED);
    store_reports(&away);
    assert_int_equal(stage.x.status, 503);
    stage.store_away = (struct err){.code = ERR_STORE_AWAY, .msg = "away"};
    begin(STORED);
    assert_int_equal(stage.x.status, 503);
    assert_int_equal(stage.n_calls, 0);
    close_stage();
}

static void a_client_may_leave_while_a_large_body_is_read(void **state)
{
    struct buf large = {.limit = 0};

    (void)state;
    open_stage(STORE_KEY_BEGUN);
    write_large(STORED, &large);
    begin(buf_cstr(&large));
    assert_int_equal(stage.x.n_held, 1);
    client_leaves();
    stage_settle();
    assert_int_equal(store.n_asked, 0);
    buf_fini(&large);
    close_stage();
}

/* ---- keys in memory */

static void an_answer_in_memory_is_given_again_to_the_byte(void **state)
{
    static const char *const members[] = {STORED ",\"store\":false", UNKEPT};
    char first[16384];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        open_stage(STORE_KEY_BEGUN);
        begin(members[i]);
        answer();
        assert_int_equal(stage.x.status, 200);
        assert_true(stage.x.said.len < sizeof(first));
        (void)snprintf(first, sizeof(first), "%s", buf_cstr(&stage.x.said));
        begin(members[i]);
        assert_string_equal(buf_cstr(&stage.x.said), first);
        begin(STORED ",\"store\":false,\"user\":\"u\"");
        assert_int_equal(stage.x.status, 422);
        assert_int_equal(stage.n_calls, 1);
        assert_int_equal(store.n_asked, 0);
        close_stage();
    }
}

static void an_answer_that_is_not_good_is_not_given_again(void **state)
{
    const struct err broken = {.code = ERR_UPSTREAM_UNAVAILABLE, .msg = "It is gone."};

    (void)state;
    open_stage(STORE_KEY_BEGUN);
    begin(UNKEPT); /* fails in its stream */
    upstream_begins(200);
    upstream_says(SAYS("hello"));
    upstream_ends(&broken);
    stage_settle();
    assert_true(client_was_told("response.failed"));
    begin(UNKEPT); /* fails before it */
    upstream_begins(500);
    upstream_ends(NULL);
    stage_settle();
    begin(UNKEPT); /* its client leaves in the middle */
    upstream_begins(200);
    upstream_says(SAYS("hello"));
    client_leaves();
    stage_settle();
    begin(UNKEPT);
    answer();
    assert_int_equal(stage.n_calls, 4);
    begin(UNKEPT);
    assert_int_equal(stage.n_calls, 4);
    assert_true(client_was_told("hello"));
    close_stage();
}

/* A heartbeat is for those who wait, and no part of an answer. */
static void signs_of_life_are_not_kept(void **state)
{
    (void)state;
    open_stage(STORE_KEY_BEGUN);
    begin(UNKEPT);
    upstream_begins(200);
    fake_loop_pass(stage.worker.loop, 2 * stage.load.config.heartbeat_interval_ms);
    assert_true(client_was_told(": heartbeat"));
    answer();
    begin(UNKEPT);
    assert_false(client_was_told(": heartbeat"));
    assert_true(client_was_told("response.completed"));
    close_stage();
}

/* The turn reads a large body on the pool, with the recorder before its client. */
static void a_recorder_stays_until_the_pool_has_read_the_request(void **state)
{
    struct buf large = {.limit = 0};

    (void)state;
    open_stage(STORE_KEY_BEGUN);
    write_large(UNKEPT, &large);
    begin(buf_cstr(&large));
    while (stage.worker.watchers == NULL || stage.x.n_held == 0)
        assert_true(fake_loop_step(stage.worker.loop, stage.worker.loop->now_ms));
    client_leaves();
    assert_non_null(stage.worker.watchers);
    stage_settle();
    assert_null(stage.worker.watchers);
    begin(buf_cstr(&large));
    stage_settle();
    answer();
    assert_true(client_was_told("hello"));
    buf_fini(&large);
    close_stage();
}

static void a_recorder_goes_with_its_client_or_the_worker(void **state)
{
    (void)state;
    for (int leaves = 0; leaves < 2; leaves++) {
        open_stage(STORE_KEY_BEGUN);
        begin(UNKEPT);
        upstream_begins(200);
        upstream_says(SAYS("hello"));
        if (leaves) {
            client_leaves();
        } else { /* it has ended without a word */
            while (stage.worker.watchers != NULL)
                stage.worker.watchers->on_end(stage.worker.watchers->arg);
            flight_drop_all(&stage.worker);
        }
        stage_settle();
        close_stage();
    }
}

/* ---- without memory */

static void try_without_memory(const char *members, long n)
{
    open_stage(STORE_KEY_BEGUN);
    failing_malloc_begin(n, FAILS_ONCE);
    begin(members);
    if (stage.store_task != NULL)
        store_reports(NULL);
    speak();
    (void)failing_malloc_end(); /* the store of the stage has memory */
    stage_settle();
    if (!stage.x.is_over)
        client_leaves();
    stage_settle();
    close_stage();
}

static void without_memory_the_client_is_answered_and_nothing_is_lost(void **state)
{
    (void)state;
    for (long n = 0; n < 120; n++) {
        try_without_memory(STORED, n);
        try_without_memory(UNKEPT, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_that_is_free_leads_to_a_turn_which_the_store_finishes),
        cmocka_unit_test(a_turn_that_is_refused_gives_the_key_up),
        cmocka_unit_test(a_client_of_a_turn_that_leaves_gives_the_key_up),
        cmocka_unit_test(what_has_finished_is_answered_and_what_runs_is_waited_for),
        cmocka_unit_test(nobody_holds_a_key_for_a_client_that_has_gone),
        cmocka_unit_test(whoever_waits_may_leave_and_is_told_when_the_worker_ends),
        cmocka_unit_test(a_store_that_is_away_is_told_before_anything_runs),
        cmocka_unit_test(a_client_may_leave_while_a_large_body_is_read),
        cmocka_unit_test(an_answer_in_memory_is_given_again_to_the_byte),
        cmocka_unit_test(an_answer_that_is_not_good_is_not_given_again),
        cmocka_unit_test(signs_of_life_are_not_kept),
        cmocka_unit_test(a_recorder_stays_until_the_pool_has_read_the_request),
        cmocka_unit_test(a_recorder_goes_with_its_client_or_the_worker),
        cmocka_unit_test(without_memory_the_client_is_answered_and_nothing_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
