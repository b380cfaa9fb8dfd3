/* test_answer_memory.c -- answers are given again to the same request, for a while, within their bytes. */
#include "lib/test.h"

#include "lib/failing_malloc.h"
#include "memory/answer_memory.h"

enum { PLENTY = 1 << 20, AGE_MS = 1000 };

static const struct http_header type = {STR_INIT("content-type"), STR_INIT("text/plain")};

static struct answer_memory *new_memory(size_t max_bytes)
{
    struct err e;
    struct answer_memory *m = answer_memory_new(max_bytes, AGE_MS, &e);

    assert_non_null(m);
    return m;
}

static struct answer_key key(char name, char body)
{
    struct answer_key k;

    memset(k.name, name, sizeof(k.name));
    memset(k.body, body, sizeof(k.body));
    return k;
}

static enum answer_state ask_at(struct answer_memory *m, struct answer_key k, uint64_t now_ms,
                                struct answer **ret)
{
    enum answer_state state;
    struct err e;

    assert_int_equal(answer_memory_ask(m, &k, now_ms, &state, ret, &e), 0);
    return state;
}

static struct answer *begin(struct answer_memory *m, struct answer_key k, uint64_t now_ms)
{
    struct answer *a;

    assert_int_equal(ask_at(m, k, now_ms, &a), ANSWER_BEGUN);
    return a;
}

static void record(struct answer *a, size_t n_bytes, uint64_t now_ms)
{
    static const char text[] = "0123456789abcdef";

    answer_start(a, 200, &type, 1);
    for (; n_bytes >= 16; n_bytes -= 16)
        answer_add(a, str_from(text, 16));
    answer_add(a, str_from(text, n_bytes));
    answer_keep(a, now_ms);
}

/* What is found now for the key; kept ones are given back. */
static enum answer_state find(struct answer_memory *m, struct answer_key k, uint64_t now_ms)
{
    struct answer *a;
    enum answer_state state = ask_at(m, k, now_ms, &a);

    if (state == ANSWER_KEPT)
        answer_unref(a);
    if (state == ANSWER_BEGUN)
        answer_drop(a);
    return state;
}

static void an_answer_is_the_answer_to_the_same_request_alone(void **state)
{
    struct answer_memory *m = new_memory(PLENTY);
    struct http_header headers[ANSWER_MAX_HEADERS];
    struct answer *a = begin(m, key('k', 'b'), 0), *again;

    (void)state;
    assert_int_equal(find(m, key('k', 'b'), 0), ANSWER_RUNS);
    assert_int_equal(find(m, key('k', 'c'), 0), ANSWER_OTHER_BODY);
    assert_int_equal(find(m, key('l', 'c'), 0), ANSWER_BEGUN);
    record(a, 20, 0);
    assert_int_equal(find(m, key('k', 'c'), 0), ANSWER_OTHER_BODY);
    assert_int_equal(ask_at(m, key('k', 'b'), 0, &again), ANSWER_KEPT);
    assert_int_equal(answer_status(again), 200);
    assert_int_equal(answer_headers(again, headers), 1);
    assert_str_c(headers[0].name, "content-type");
    assert_str_c(headers[0].value, "text/plain");
    assert_str_c(answer_body(again), "0123456789abcdef0123");
    answer_unref(again);
    answer_memory_free(m);
}

static void what_is_dropped_leaves_its_key_free(void **state)
{
    struct answer_memory *m = new_memory(PLENTY);
    struct answer *a = begin(m, key('k', 'b'), 0);

    (void)state;
    answer_start(a, 200, &type, 1);
    answer_add(a, STR("half of"));
    answer_drop(a);
    assert_int_equal(find(m, key('k', 'c'), 0), ANSWER_BEGUN);
    answer_memory_free(m);
    answer_memory_free(NULL);
}

static void answers_are_forgotten_when_they_are_old(void **state)
{
    struct answer_memory *m = new_memory(PLENTY);

    (void)state;
    record(begin(m, key('k', 'b'), 0), 1, 100);
    record(begin(m, key('l', 'b'), 100), 1, 200);
    assert_int_equal(find(m, key('k', 'b'), 100 + AGE_MS - 1), ANSWER_KEPT);
    assert_int_equal(find(m, key('k', 'b'), 100 + AGE_MS), ANSWER_BEGUN);
    assert_int_equal(find(m, key('l', 'b'), 100 + AGE_MS), ANSWER_KEPT);
    answer_memory_forget(m);
    assert_int_equal(find(m, key('l', 'b'), 100 + AGE_MS), ANSWER_BEGUN);
    answer_memory_free(m);
}

static void the_oldest_make_room_and_what_is_too_large_is_not_kept(void **state)
{
    struct answer_memory *m = new_memory(PLENTY);

    (void)state;
    for (char k = 'a'; k <= 'e'; k++)
        record(begin(m, key(k, 'b'), 0), PLENTY / 3, 0);
    for (char k = 'a'; k <= 'c'; k++)
        assert_int_equal(find(m, key(k, 'b'), 0), ANSWER_BEGUN);
    assert_int_equal(find(m, key('d', 'b'), 0), ANSWER_KEPT);
    assert_int_equal(find(m, key('e', 'b'), 0), ANSWER_KEPT);
    record(begin(m, key('x', 'b'), 0), PLENTY + 1, 0);
    assert_int_equal(find(m, key('x', 'b'), 0), ANSWER_BEGUN);
    record(begin(m, key('y', 'b'), 0), PLENTY / 2, 0); /* nothing of it is counted any more */
    assert_int_equal(find(m, key('y', 'b'), 0), ANSWER_KEPT);
    answer_memory_free(m);

    m = new_memory(0);
    record(begin(m, key('k', 'b'), 0), 0, 0);
    assert_int_equal(find(m, key('k', 'b'), 0), ANSWER_BEGUN);
    answer_memory_free(m);
}

static void a_reader_holds_what_is_forgotten_meanwhile(void **state)
{
    struct answer_memory *m = new_memory(PLENTY);
    struct answer *a;

    (void)state;
    record(begin(m, key('k', 'b'), 0), 16, 0);
    assert_int_equal(ask_at(m, key('k', 'b'), 0, &a), ANSWER_KEPT);
    answer_memory_forget(m);
    record(begin(m, key('k', 'c'), 0), 1, 0);
    assert_str_c(answer_body(a), "0123456789abcdef");
    answer_unref(a);
    assert_int_equal(find(m, key('k', 'c'), 0), ANSWER_KEPT);
    answer_memory_free(m);
}

/* One answer, kept or not for want of memory, after n allocations. */
static void try_with(long n)
{
    struct answer_memory *m = new_memory(PLENTY);
    const struct answer_key k = key('k', 'b');
    enum answer_state kind;
    struct answer *a;
    struct err e;
    int rc;

    failing_malloc_begin(n, FAILS_FOR_GOOD);
    rc = answer_memory_ask(m, &k, 0, &kind, &a, &e);
    if (rc == 0)
        record(a, 100000, 0);
    (void)failing_malloc_end();
    if (rc == 0)
        kind = ask_at(m, k, 0, &a);
    if (rc == 0 && kind == ANSWER_KEPT) {
        assert_int_equal(answer_body(a).len, 100000); /* whole, or not at all */
        answer_unref(a);
    } else if (rc == 0) {
        assert_int_equal(kind, ANSWER_BEGUN);
        answer_drop(a);
    }
    answer_memory_free(m);
}

static void without_memory_nothing_is_kept_in_part(void **state)
{
    (void)state;
    for (long n = 0; n < 40; n++)
        try_with(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_the_answer_to_the_same_request_alone),
        cmocka_unit_test(what_is_dropped_leaves_its_key_free),
        cmocka_unit_test(answers_are_forgotten_when_they_are_old),
        cmocka_unit_test(the_oldest_make_room_and_what_is_too_large_is_not_kept),
        cmocka_unit_test(a_reader_holds_what_is_forgotten_meanwhile),
        cmocka_unit_test(without_memory_nothing_is_kept_in_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
