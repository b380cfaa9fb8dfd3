/* test_api_key_names.c -- keys by whose they are. */
#include "unit/config_fixture.h"

#include "access/api_key_names.h"
#include "lib/failing_malloc.h"

/* SHA-256 of "one", "two" and "three". */
#define ONE   "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
#define TWO   "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"
#define THREE "8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f"

static void parse(struct api_keys *keys, const char *text)
{
    struct config_problems problems = {.n_kept = 0};

    *keys = (struct api_keys){.list = NULL};
    api_keys_parse(keys, "keys", str_from_c(text), &problems);
    assert_int_equal(problems.n_errors, 0);
    config_problems_fini(&problems);
}

static void assert_mark(const struct api_key_shown *k, const char *mark)
{
    assert_non_null(k);
    assert_true(str_eq(k->mark, str_from_c(mark)));
}

static void keys_of_one_name_stand_together(void **state)
{
    struct arena memory = {.limit = 0};
    struct api_key_name *names;
    struct api_keys keys;
    size_t n;

    (void)state;
    parse(&keys, "alice " ONE " rpm=60\nbob " TWO " expires=2027-03-31\nalice " THREE " admin\n");
    assert_int_equal(api_key_names(&keys, &memory, &names, &n), 0);
    assert_int_equal(n, 2);
    assert_true(str_eq(names[0].caller.name, STR("alice")));
    assert_int_equal(names[0].caller.allowance->limits.rpm, 60);
    assert_mark(names[0].first, "7692c3ad");
    assert_false(names[0].first->is_admin);
    assert_true(names[0].first->expires_s == INT64_MAX);
    assert_mark(names[0].first->next, "8b5b9db0");
    assert_true(names[0].first->next->is_admin);
    assert_null(names[0].first->next->next);
    assert_true(str_eq(names[1].caller.name, STR("bob")));
    assert_mark(names[1].first, "3fc4ccfe");
    assert_int_equal(names[1].first->expires_s, 1806537600);
    assert_null(names[1].first->next);
    api_keys_fini(&keys);
    arena_fini(&memory);
}

static void keys_without_a_name_and_certificates_are_listed(void **state)
{
    struct arena memory = {.limit = 0};
    struct api_key_name *names;
    struct api_keys keys;
    size_t n;

    (void)state;
    parse(&keys, "cert:build@example.org - concurrency=2\n");
    assert_int_equal(api_keys_add(&keys, "one"), 0);
    assert_int_equal(api_keys_add(&keys, "two"), 0);
    assert_int_equal(api_key_names(&keys, &memory, &names, &n), 0);
    assert_int_equal(n, 3);
    assert_true(str_eq(names[0].caller.name, STR("cert:build@example.org")));
    assert_true(str_is_none(names[0].first->mark));
    assert_true(str_is_none(names[1].caller.name));
    assert_mark(names[1].first, "7692c3ad");
    assert_mark(names[2].first, "3fc4ccfe");
    api_keys_fini(&keys);
    arena_fini(&memory);
}

static void no_keys_are_no_names(void **state)
{
    const struct api_keys keys = {.list = NULL};
    struct arena memory = {.limit = 0};
    struct api_key_name *names;
    size_t n;

    (void)state;
    assert_int_equal(api_key_names(&keys, &memory, &names, &n), 0);
    assert_int_equal(n, 0);
    arena_fini(&memory);
}

static void out_of_memory_is_told(void **state)
{
    struct api_keys keys;

    (void)state;
    parse(&keys, "alice " ONE "\nbob " TWO "\n");
    for (long i = 0;; i++) {
        struct arena memory = {.limit = 0};
        struct api_key_name *names;
        size_t n;
        int rc;

        failing_malloc_begin(i, FAILS_ONCE);
        rc = api_key_names(&keys, &memory, &names, &n);
        if (failing_malloc_end()) {
            assert_int_equal(rc, -1);
            arena_fini(&memory);
            continue;
        }
        assert_int_equal(rc, 0);
        arena_fini(&memory);
        break;
    }
    api_keys_fini(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_one_name_stand_together),
        cmocka_unit_test(keys_without_a_name_and_certificates_are_listed),
        cmocka_unit_test(no_keys_are_no_names),
        cmocka_unit_test(out_of_memory_is_told),
    };

    return cmocka_run_group_tests_name("api_key_names", tests, NULL, NULL);
}
