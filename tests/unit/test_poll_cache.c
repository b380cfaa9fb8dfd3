/* test_poll_cache.c -- who asks again within a second is shown what was read before. */
#include "background/poll_cache.h"

#include "base/budget.h"
#include "lib/test.h"
#include "response/poll_after.h"

enum { CREATED_AT = 1700000000 };

static struct poll_cache *cache;
static struct buf shown;

static int cache_setup(void **state)
{
    (void)state;
    cache = poll_cache_new();
    return cache == NULL ? -1 : 0;
}

static int cache_teardown(void **state)
{
    (void)state;
    poll_cache_free(cache);
    buf_fini(&shown);
    return 0;
}

static bool find(const char *owner, const char *id, uint64_t now_ms, struct poll_ticket *ret)
{
    int64_t created_at = 0;
    bool is_found;

    buf_reset(&shown);
    is_found =
        poll_cache_find(cache, str_from_c(owner), str_from_c(id), now_ms, &shown, &created_at, ret);
    assert_int_equal(created_at, is_found ? CREATED_AT : 0);
    return is_found;
}

static void keep(const char *owner, const char *id, struct poll_ticket ticket, uint64_t now_ms,
                 str object)
{
    poll_cache_keep(cache, str_from_c(owner), str_from_c(id), ticket, now_ms, CREATED_AT, object);
}

static void an_object_is_shown_for_a_second(void **state)
{
    struct poll_ticket ticket;

    (void)state;
    assert_false(find("me", "resp_1", 5000, &ticket));
    keep("me", "resp_1", ticket, 5000, STR("{\"a\":1}"));
    assert_true(find("me", "resp_1", 5000, &ticket));
    assert_string_equal(buf_cstr(&shown), "{\"a\":1}");
    assert_true(find("me", "resp_1", 5999, &ticket));
    assert_false(find("me", "resp_1", 6000, &ticket));
}

static void while_one_reads_it_anew_the_others_are_shown_the_old_one(void **state)
{
    struct poll_ticket ticket, other;

    (void)state;
    assert_false(find("me", "resp_1", 5000, &ticket));
    keep("me", "resp_1", ticket, 5000, STR("old"));
    assert_false(find("me", "resp_1", 6000, &ticket)); /* reads */
    assert_true(find("me", "resp_1", 6001, &other));
    assert_false(find("me", "resp_1", 7000, &other)); /* it takes too long */
    keep("me", "resp_1", ticket, 7001, STR("new"));
    assert_true(find("me", "resp_1", 8000, &other));
    assert_string_equal(buf_cstr(&shown), "new");
}

static void it_is_the_owners_alone(void **state)
{
    struct poll_ticket ticket;

    (void)state;
    assert_false(find("me", "resp_1", 5000, &ticket));
    keep("me", "resp_1", ticket, 5000, STR("mine"));
    assert_false(find("you", "resp_1", 5000, &ticket));
    assert_false(find("", "resp_1", 5000, &ticket));
    assert_false(find("me", "resp_2", 5000, &ticket));
    assert_true(find("me", "resp_1", 5000, &ticket));
}

static void what_was_dropped_is_not_shown_nor_kept_by_who_has_read_it_before(void **state)
{
    struct poll_ticket ticket, late;

    (void)state;
    assert_false(find("me", "resp_1", 5000, &ticket));
    assert_false(find("me", "resp_1", 5000, &late));
    keep("me", "resp_1", ticket, 5000, STR("running"));
    poll_cache_drop(cache, STR("me"), STR("resp_1"));
    assert_false(find("me", "resp_1", 5001, &ticket));
    keep("me", "resp_1", late, 5002, STR("running"));
    assert_false(find("me", "resp_1", 5003, &late));
    keep("me", "resp_1", ticket, 5004, STR("running again"));
    assert_true(find("me", "resp_1", 5005, &ticket));
}

static void many_take_the_places_of_others(void **state)
{
    enum { MANY = 5000 };
    struct poll_ticket ticket;
    unsigned n_found = 0;
    char id[32];

    (void)state;
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof(id), "resp_%d", i);
        assert_false(find("me", id, 5000, &ticket));
        keep("me", id, ticket, 5000, STR("object"));
        assert_true(find("me", id, 5000, &ticket));
    }
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof(id), "resp_%d", i);
        n_found += find("me", id, 5000, &ticket);
    }
    assert_in_range(n_found, 1, 256);
}

static void large_objects_do_not_pile_up(void **state)
{
    enum { MANY = 64, LARGE = 1024 * 1024 };
    static char object[LARGE];
    struct poll_ticket ticket;
    unsigned n_found = 0;
    char id[32];

    (void)state;
    memset(object, 'x', LARGE);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof(id), "resp_%d", i);
        (void)find("me", id, 5000, &ticket);
        keep("me", id, ticket, 5000, str_from(object, LARGE));
    }
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof(id), "resp_%d", i);
        n_found += find("me", id, 5000, &ticket);
    }
    assert_in_range(n_found, 1, 15);
    (void)find("me", "resp_new", 9000, &ticket);
    keep("me", "resp_new", ticket, 9000, str_from(object, LARGE));
    assert_true(find("me", "resp_new", 9000, &ticket)); /* old ones have gone */
}

static void the_budget_gets_all_of_it_back(void **state)
{
    const size_t before = budget_used();
    struct poll_ticket ticket;

    (void)state;
    for (int i = 0; i < 3; i++) {
        (void)find("me", "resp_1", 5000, &ticket);
        keep("me", "resp_1", ticket, 5000, STR("object"));
    }
    poll_cache_drop(cache, STR("me"), STR("resp_1"));
    assert_int_equal(budget_used(), before);
}

static void clients_ask_less_often_the_older_it_is(void **state)
{
    static const struct {
        int64_t age_s;
        const char *ms;
    } cases[] = {
        {-5, "500"},  {0, "500"},    {9, "500"},    {10, "1000"},    {59, "1000"},
        {60, "2000"}, {599, "2000"}, {600, "5000"}, {86400, "5000"}, {INT64_MAX, "5000"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_true(str_eq(poll_after_ms(cases[i].age_s), str_from_c(cases[i].ms)));
}

#define CACHE_TEST(f) cmocka_unit_test_setup_teardown(f, cache_setup, cache_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(an_object_is_shown_for_a_second),
        CACHE_TEST(while_one_reads_it_anew_the_others_are_shown_the_old_one),
        CACHE_TEST(it_is_the_owners_alone),
        CACHE_TEST(what_was_dropped_is_not_shown_nor_kept_by_who_has_read_it_before),
        CACHE_TEST(many_take_the_places_of_others),
        CACHE_TEST(large_objects_do_not_pile_up),
        CACHE_TEST(the_budget_gets_all_of_it_back),
        cmocka_unit_test(clients_ask_less_often_the_older_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
