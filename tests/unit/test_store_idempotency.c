/* test_store_idempotency.c -- what a key stands for: nothing, a request that runs, an answer. */
#include <sys/wait.h>

#include "store/store_idempotency.h"
#include "store/store_lock.h"
#include "store_rows.h"

static struct store_key key_from(const char *key, const char *body, const char *lock)
{
    return (struct store_key){.owner = alice,
                              .path = STR("/v1/responses"),
                              .key = str_from_c(key),
                              .sha256 = str_from_c(body),
                              .lock = str_from_c(lock)};
}

static struct store_answer begin_by(struct fixture *f, struct store_session *s,
                                    struct store_key key)
{
    struct store_answer answer;

    assert_ok(store_begin_key(s, &key, &f->arena, &answer, &f->err));
    return answer;
}

static struct store_answer begin(struct fixture *f, const char *key, const char *body,
                                 const char *lock)
{
    return begin_by(f, f->s, key_from(key, body, lock));
}

#define assert_begun(answer) assert_int_equal((answer).state, STORE_KEY_BEGUN)

/* ---- running */

static void a_key_is_begun_once(void **state)
{
    struct fixture *f = *state;
    struct store_answer answer;

    assert_begun(begin(f, "k", "body", "one"));
    answer = begin(f, "k", "body", "two");
    assert_int_equal(answer.state, STORE_KEY_HERE);
    assert_str_c(answer.lock, "one");
    assert_int_equal(begin(f, "k", "other", "two").state, STORE_KEY_OTHER_BODY);
    assert_int_equal(stats(f).n_keys, 1);
}

static void keys_of_another_owner_or_path_are_others(void **state)
{
    struct fixture *f = *state;
    struct store_key key = key_from("k", "body", "one");

    assert_begun(begin_by(f, f->s, key));
    key.owner = bob;
    key.lock = STR("two");
    assert_begun(begin_by(f, f->s, key));
    key.owner = alice;
    key.path = STR("/v1/conversations");
    key.lock = STR("three");
    assert_begun(begin_by(f, f->s, key));
}

static void a_key_that_is_dropped_is_free(void **state)
{
    struct fixture *f = *state;

    assert_begun(begin(f, "k", "body", "one"));
    assert_ok(store_drop_key(f->s, STR("another"), &f->err));
    assert_int_equal(begin(f, "k", "body", "two").state, STORE_KEY_HERE);
    assert_ok(store_drop_key(f->s, STR("one"), &f->err));
    assert_begun(begin(f, "k", "other", "two"));
}

/* ---- finished */

static void a_finished_key_answers(void **state)
{
    struct fixture *f = *state;
    struct store_answer answer;

    assert_begun(begin(f, "k", "body", "one"));
    assert_ok(store_finish_key(f->s, STR("one"), 201, STR("{\"a\":1}"), &f->err));
    answer = begin(f, "k", "body", "two");
    assert_int_equal(answer.state, STORE_KEY_FINISHED);
    assert_int_equal(answer.status, 201);
    assert_str_c(answer.body, "{\"a\":1}");
    assert_true(str_is_none(answer.response_id));
    assert_int_equal(begin(f, "k", "other", "two").state, STORE_KEY_OTHER_BODY);
    assert_ok(store_drop_key(f->s, STR("one"), &f->err)); /* too late: it has none any more */
    assert_int_equal(begin(f, "k", "body", "two").state, STORE_KEY_FINISHED);
}

static void a_saved_response_is_the_answer(void **state)
{
    struct fixture *f = *state;
    struct store_response r = response_from(f, "r1", NULL, "<in >out");
    struct store_answer answer;

    assert_begun(begin(f, "k", "body", "one"));
    r.idempotency_lock = STR("one");
    assert_ok(store_save_response(f->s, alice, &r, &f->err));
    answer = begin(f, "k", "body", "two");
    assert_int_equal(answer.state, STORE_KEY_FINISHED);
    assert_str_c(answer.response_id, "r1");
    assert_true(str_is_none(answer.body));
}

static void a_response_that_is_not_saved_finishes_nothing(void **state)
{
    struct fixture *f = *state;
    struct store_response r = response_from(f, "r1", "unknown", "<in >out");

    assert_begun(begin(f, "k", "body", "one"));
    r.idempotency_lock = STR("one");
    assert_fails(store_save_response(f->s, alice, &r, &f->err), ERR_PREVIOUS_NOT_FOUND);
    assert_int_equal(begin(f, "k", "body", "two").state, STORE_KEY_HERE);
}

static void what_has_failed_frees_its_key(void **state)
{
    struct fixture *f = *state;
    struct store_response r = response_from(f, "r1", NULL, "<in >out");

    assert_begun(begin(f, "k", "body", "one"));
    r.idempotency_lock = STR("one");
    r.status = STORE_FAILED;
    assert_ok(store_save_response(f->s, alice, &r, &f->err));
    assert_begun(begin(f, "k", "body", "two"));
}

/* ---- age */

static void an_old_answer_is_none_and_a_running_request_has_no_age(void **state)
{
    struct fixture *f = *state;

    f->s->key_age_ms = 1000;
    assert_begun(begin(f, "done", "body", "one"));
    assert_ok(store_finish_key(f->s, STR("one"), 200, STR("{}"), &f->err));
    assert_begun(begin(f, "running", "body", "two"));
    assert_int_equal(begin(f, "done", "body", "three").state, STORE_KEY_FINISHED);
    run_sql(f, "UPDATE idempotency SET begun_at = begun_at - 1000");
    assert_int_equal(begin(f, "running", "body", "three").state, STORE_KEY_HERE);
    assert_begun(begin(f, "done", "other", "three"));
}

static void a_purge_removes_old_answers_oldest_first(void **state)
{
    struct fixture *f = *state;
    const struct store_limits limits = {.max_key_age_s = 60};
    const int64_t later_ms = store_now_ms(f->s) + INT64_C(100000);
    struct store_purged purged;

    for (size_t i = 0; i < 20; i++) {
        str lock = text(f, "lock%zu", i);

        assert_begun(begin(f, text(f, "k%zu", i).p, "body", lock.p));
        if (i > 0)
            assert_ok(store_finish_key(f->s, lock, 200, STR("{}"), &f->err));
    }
    run_sql(f, "UPDATE idempotency SET begun_at = begun_at - 1 WHERE key <> 'k19'");
    assert_ok(store_purge(f->s, &limits, later_ms - INT64_C(90000), 1, &purged, &f->err));
    assert_int_equal(purged.n_keys, 0);
    assert_ok(store_purge(f->s, &limits, later_ms, 100, &purged, &f->err));
    assert_int_equal(purged.n_keys, 19);
    assert_false(purged.has_more);
    assert_int_equal(stats(f).n_keys, 1);
}

static void a_full_store_removes_the_oldest_answers(void **state)
{
    struct fixture *f = *state;
    const struct store_limits limits = {.max_bytes = 40000}; /* of which keys may have a quarter */
    struct store_purged purged;
    struct buf body = {0};

    for (size_t i = 0; i < 2000; i++)
        buf_char(&body, 'x');
    for (size_t i = 0; i < 8; i++) {
        str lock = text(f, "lock%zu", i);

        assert_begun(begin(f, text(f, "k%zu", i).p, "body", lock.p));
        if (i > 0)
            assert_ok(store_finish_key(f->s, lock, 200, buf_str(&body), &f->err));
    }
    run_sql(f, "UPDATE idempotency SET begun_at = begun_at - 80"
               " + 10 * CAST(substr(key, 2) AS INTEGER)");
    assert_ok(store_purge(f->s, &limits, store_now_ms(f->s), 100, &purged, &f->err));
    assert_int_equal(purged.n_keys, 3);
    assert_false(purged.has_more);
    assert_int_equal(begin(f, "k0", "body", "again").state, STORE_KEY_HERE);
    assert_begun(begin(f, "k3", "body", "again"));
    assert_int_equal(begin(f, "k4", "body", "again").state, STORE_KEY_FINISHED);
    assert_ok(store_purge(f->s, &limits, store_now_ms(f->s), 100, &purged, &f->err));
    assert_int_equal(purged.n_keys, 0);
    buf_fini(&body);
}

/* ---- other gateways */

static void a_request_of_another_gateway_is_told(void **state)
{
    struct fixture *f = *state;
    struct store_session *other;

    if (strcmp(backend_url, "memory") == 0)
        skip();
    other = store_session_open(&backend_conf, &f->err);
    assert_non_null(other);
    assert_begun(begin_by(f, other, key_from("k", "body", "one")));
    assert_int_equal(begin(f, "k", "body", "one").state, STORE_KEY_ELSEWHERE);
    assert_int_equal(begin(f, "k", "other", "one").state, STORE_KEY_OTHER_BODY);
    assert_ok(store_finish_key(f->s, STR("one"), 200, STR("{}"), &f->err)); /* not its own */
    assert_int_equal(begin(f, "k", "body", "one").state, STORE_KEY_ELSEWHERE);
    assert_ok(store_finish_key(other, STR("one"), 200, STR("{}"), &f->err));
    assert_int_equal(begin(f, "k", "body", "one").state, STORE_KEY_FINISHED);
    store_session_close(other);
}

static void a_key_of_a_process_that_has_ended_is_free_at_once(void **state)
{
    struct fixture *f = *state;
    struct store_key key = key_from("k", "body", "one");
    struct store_answer answer;
    int status;
    pid_t pid;

    if (strcmp(backend_url, "memory") == 0)
        skip();
    store_session_close(f->s);
    f->s = NULL;
    pid = fork();
    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        struct store_session *s = store_session_open(&backend_conf, &f->err);

        _exit(s != NULL && store_begin_key(s, &key, &f->arena, &answer, &f->err) == 0 &&
                      answer.state == STORE_KEY_BEGUN
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    f->s = store_session_open(&backend_conf, &f->err);
    assert_non_null(f->s);
    assert_begun(begin(f, "k", "other", "two"));
}

/* A key that was renewed before the clock was set back must not hide the signs of life of others. */
static void signs_of_life_of_keys_go_on_when_the_clock_is_set_back(void **state)
{
    struct fixture *f = *state;

    f->s->locks = locks_new();
    assert_non_null(f->s->locks);
    assert_begun(begin(f, "a", "body", "a"));
    assert_begun(begin(f, "z", "body", "z"));
    run_sql(f, "UPDATE idempotency SET locked_until = 9000000000000 WHERE key = 'z'");
    assert_ok(locks_renew(f->s, 1000, &f->err));
    assert_none(f, "a sign of life that stands still",
                "SELECT 'holder', MAX(locked_until) FROM idempotency"
                " HAVING MAX(locked_until) = 9000000000000");
    locks_free(f->s->locks);
    f->s->locks = NULL;
}

static int group(const char *name)
{
    const struct CMUnitTest tests[] = {
        ON_ROWS(a_key_is_begun_once),
        ON_ROWS(keys_of_another_owner_or_path_are_others),
        ON_ROWS(a_key_that_is_dropped_is_free),
        ON_ROWS(a_finished_key_answers),
        ON_ROWS(a_saved_response_is_the_answer),
        ON_ROWS(a_response_that_is_not_saved_finishes_nothing),
        ON_ROWS(what_has_failed_frees_its_key),
        ON_ROWS(an_old_answer_is_none_and_a_running_request_has_no_age),
        ON_ROWS(a_purge_removes_old_answers_oldest_first),
        ON_ROWS(a_full_store_removes_the_oldest_answers),
        ON_ROWS(a_request_of_another_gateway_is_told),
        ON_ROWS(a_key_of_a_process_that_has_ended_is_free_at_once),
        ON_ROWS(signs_of_life_of_keys_go_on_when_the_clock_is_set_back),
    };

    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
    return backends_run(group);
}
