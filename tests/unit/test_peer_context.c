/* test_peer_context.c -- contexts share what they have in common, and are counted once. */
#include "flight/peer_context.h"
#include "lib/failing_malloc.h"
#include "lib/test.h"

static struct peer_context *make(struct peer_context *before, const char *id, size_t bytes)
{
    struct arena a = {.limit = 0};
    struct buf tail = {.limit = 0};
    struct store_items items = {.v = arena_array(&a, 1, sizeof(*items.v)), .n = 1};
    struct peer_context *c = NULL;

    if (items.v != NULL && (bytes == 0 || arena_alloc(&a, bytes) != NULL)) {
        items.v[0] = (struct store_item){.id = str_from_c(id), .body = STR("{}")};
        buf_c(&tail, id);
        c = peer_context_new(before, &items, &a, &tail);
    }
    arena_fini(&a);
    buf_fini(&tail);
    return c;
}

static void assert_history(const struct peer_context *c, const char *ids, const char *tail)
{
    struct arena a = {.limit = 0};
    struct buf said = {.limit = 0};
    struct store_history h;

    assert_int_equal(peer_context_history(c, &a, &h, NULL), 0);
    assert_int_equal(h.items.n, peer_context_items(c));
    for (size_t i = 0; i < h.items.n; i++)
        buf_append(&said, h.items.v[i].id);
    assert_str_c(buf_str(&said), ids);
    assert_str_c(h.tail, tail);
    buf_fini(&said);
    arena_fini(&a);
}

static void test_forks_share_what_came_before(void **state)
{
    struct peer_context *a = make(NULL, "a", 0), *b = make(a, "b", 0), *c = make(a, "c", 0);

    (void)state;
    peer_context_unref(a);
    assert_history(b, "ab", "b");
    assert_history(c, "ac", "c");
    peer_context_unref(b);
    assert_history(c, "ac", "c");
    peer_context_unref(c);
}

/* The end of an object counts as long as its context is there, and not in what continues it. */
static void test_bytes_count_once(void **state)
{
    enum { TAIL_BYTES = 1 };
    struct peer_account *account = peer_account_new();
    struct peer_context *a = make(NULL, "a", 1000), *b = make(a, "b", 1000),
                        *c = make(a, "c", 1000);
    size_t one, all;

    (void)state;
    assert_true(peer_account_add(account, a, 10000));
    one = peer_account_bytes(account);
    assert_true(one >= 1000 && one == peer_context_bytes(a));
    assert_true(peer_account_add(account, b, 10000));
    assert_true(peer_account_add(account, b, 10000));
    all = peer_account_bytes(account);
    assert_int_equal(all, peer_context_bytes(b) + TAIL_BYTES);
    assert_false(peer_account_add(account, c, all + 500));
    assert_int_equal(peer_account_bytes(account), all);
    peer_context_unref(a);
    assert_int_equal(peer_account_bytes(account), all - TAIL_BYTES);
    peer_context_unref(b);
    assert_int_equal(peer_account_bytes(account), one - TAIL_BYTES);
    peer_context_unref(c);
    assert_int_equal(peer_account_bytes(account), 0);
    peer_account_close(account);
}

/* Whoever kept it may go first. */
static void test_account_outlives_its_owner(void **state)
{
    struct peer_account *account = peer_account_new();
    struct peer_context *a = make(NULL, "a", 0), *b = make(a, "b", 0);

    (void)state;
    assert_true(peer_account_add(account, b, 10000));
    peer_context_unref(a);
    peer_account_close(account);
    assert_history(b, "ab", "b");
    peer_context_unref(b);
}

static void test_a_long_chain(void **state)
{
    struct peer_context *last = make(NULL, "x", 0);

    (void)state;
    for (int i = 0; i < 100000; i++) {
        struct peer_context *next = make(last, "x", 0);

        peer_context_unref(last);
        last = next;
    }
    assert_int_equal(peer_context_items(last), 100001);
    peer_context_unref(last);
}

static void test_each_allocation_fails(void **state)
{
    (void)state;
    for (long n = 0, has_failed = 1; has_failed; n++) {
        struct peer_context *a, *b = NULL;

        failing_malloc_begin(n, FAILS_ONCE);
        a = make(NULL, "a", 100);
        if (a != NULL)
            b = make(a, "b", 100);
        has_failed = failing_malloc_end();
        peer_context_unref(a);
        peer_context_unref(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forks_share_what_came_before),
        cmocka_unit_test(test_bytes_count_once),
        cmocka_unit_test(test_account_outlives_its_owner),
        cmocka_unit_test(test_a_long_chain),
        cmocka_unit_test(test_each_allocation_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
