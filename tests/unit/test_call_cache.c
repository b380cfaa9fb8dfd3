/* test_call_cache.c -- what is remembered, for whom, and for how long. */
#include "lib/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/budget.h"
#include "lib/fixture.h"
#include "wire/request/call_cache.h"

enum { PLENTY = 1 << 20 };

static struct call_cache *new_cache(size_t max_entries, size_t max_bytes)
{
    struct test_ids ids;
    struct call_cache *cache;

    test_ids_reset(&ids);
    cache = call_cache_new(max_entries, max_bytes, &ids.source);
    assert_non_null(cache);
    return cache;
}

static struct call_key key(const char *scope, const char *call_id, const char *name,
                           const char *arguments)
{
    return (struct call_key){.scope = str_from_c(scope),
                             .call_id = str_from_c(call_id),
                             .name = str_from_c(name),
                             .arguments = str_from_c(arguments)};
}

/* The cache has this text for the key; NULL: it has none. */
static void check_key(const struct call_cache *cache, struct call_key k, const char *text)
{
    struct arena arena = {0};
    str found = STR_NONE;
    bool ok = call_cache_find(cache, &k, &arena, &found);

    assert_int_equal(ok, text != NULL);
    if (text != NULL)
        assert_str_c(found, text);
    else
        assert_true(str_is_none(found));
    arena_fini(&arena);
}

static void put(struct call_cache *cache, struct call_key k, const char *text)
{
    call_cache_put(cache, &k, str_from_c(text));
}

/* Keys that differ in their number only. */
static struct call_key numbered(size_t n, char text[32])
{
    (void)snprintf(text, 32, "call_%zu", n);
    return key("s", text, "f", "{}");
}

static void only_the_whole_key_finds_a_text(void **state)
{
    struct call_cache *cache = new_cache(8, PLENTY);

    (void)state;
    put(cache, key("s", "c", "f", "{}"), "a");
    check_key(cache, key("s", "c", "f", "{}"), "a");
    check_key(cache, key("t", "c", "f", "{}"), NULL);
    check_key(cache, key("s", "d", "f", "{}"), NULL);
    check_key(cache, key("s", "c", "g", "{}"), NULL);
    check_key(cache, key("s", "c", "f", "{ }"), NULL);
    check_key(cache, key("sc", "", "f", "{}"), NULL);
    check_key(cache, key("", "sc", "f", "{}"), NULL);
    call_cache_free(cache);
}

/* Upstreams that count from zero use one id in many chats. */
static void chats_with_equal_call_ids_do_not_mix(void **state)
{
    struct call_cache *cache = new_cache(8, PLENTY);

    (void)state;
    put(cache, key("s", "0", "f", "{\\\"a\\\":1}"), "first");
    put(cache, key("s", "0", "f", "{\\\"a\\\":2}"), "second");
    put(cache, key("t", "0", "f", "{\\\"a\\\":1}"), "another's");
    check_key(cache, key("s", "0", "f", "{\\\"a\\\":1}"), "first");
    check_key(cache, key("s", "0", "f", "{\\\"a\\\":2}"), "second");
    check_key(cache, key("t", "0", "f", "{\\\"a\\\":1}"), "another's");
    call_cache_free(cache);
}

static void texts_are_compared_by_what_they_mean(void **state)
{
    struct call_cache *cache = new_cache(8, PLENTY);

    (void)state;
    put(cache, key("", "\\u0063", "f", "\\u007b}"), "t\\n");
    check_key(cache, key("", "c", "f", "{\\u007D"), "t\\n");
    call_cache_free(cache);
}

static void the_oldest_makes_room(void **state)
{
    struct call_cache *cache = new_cache(3, PLENTY);
    char text[32];

    (void)state;
    for (size_t i = 0; i < 3; i++)
        put(cache, numbered(i, text), "t");
    put(cache, numbered(0, text), "again");
    put(cache, numbered(3, text), "t");
    check_key(cache, numbered(1, text), NULL);
    check_key(cache, numbered(0, text), "again");
    put(cache, numbered(4, text), "t");
    check_key(cache, numbered(2, text), NULL);
    check_key(cache, numbered(0, text), "again");
    put(cache, numbered(5, text), "t");
    check_key(cache, numbered(0, text), NULL);
    check_key(cache, numbered(3, text), "t");
    call_cache_free(cache);
}

static void bytes_are_bounded_as_well(void **state)
{
    struct call_cache *cache = new_cache(100, 1000);
    char text[32], long_text[901];
    size_t n = 0;

    (void)state;
    memset(long_text, 'x', 900);
    long_text[900] = '\0';
    for (size_t i = 0; i < 100; i++)
        put(cache, numbered(i, text), "t");
    for (size_t i = 0; i < 100; i++) {
        struct arena arena = {0};
        struct call_key k = numbered(i, text);
        str found;

        n += call_cache_find(cache, &k, &arena, &found);
        arena_fini(&arena);
    }
    assert_in_range(n, 2, 50);
    check_key(cache, numbered(99, text), "t");
    put(cache, numbered(200, text), long_text);
    check_key(cache, numbered(99, text), NULL);
    check_key(cache, numbered(200, text), long_text);
    call_cache_free(cache);
}

static void what_is_too_large_or_empty_is_forgotten(void **state)
{
    struct call_cache *cache = new_cache(4, 200);
    char text[32], long_text[301];

    (void)state;
    memset(long_text, 'x', 300);
    long_text[300] = '\0';
    put(cache, numbered(1, text), "t");
    put(cache, numbered(2, text), long_text);
    check_key(cache, numbered(2, text), NULL);
    check_key(cache, numbered(1, text), "t");
    put(cache, numbered(1, text), "");
    check_key(cache, numbered(1, text), NULL);
    call_cache_free(cache);
}

static void a_cache_of_no_entries_keeps_none(void **state)
{
    struct call_cache *cache = new_cache(0, PLENTY);

    (void)state;
    put(cache, key("s", "c", "f", "{}"), "a");
    check_key(cache, key("s", "c", "f", "{}"), NULL);
    call_cache_free(cache);
    call_cache_free(NULL);
}

/* A model of the cache: the last 16 keys that were put, in order. */
static void any_sequence_keeps_the_newest(void **state)
{
    enum { N_KEYS = 40, SIZE = 16, N_STEPS = 5000 };
    struct call_cache *cache = new_cache(SIZE, PLENTY);
    size_t put_at[N_KEYS] = {0};
    struct chance chance = {0};
    char text[32];

    (void)state;
    for (size_t step = 1; step <= N_STEPS; step++) {
        size_t n = chance_below(&chance, N_KEYS), newer = 0;

        put(cache, numbered(n, text), "t");
        put_at[n] = step;
        n = chance_below(&chance, N_KEYS);
        for (size_t i = 0; i < N_KEYS; i++)
            newer += put_at[i] > put_at[n];
        check_key(cache, numbered(n, text), put_at[n] > 0 && newer < SIZE ? "t" : NULL);
    }
    call_cache_free(cache);
}

/* A cache is the first to do without. */
static void it_takes_from_the_budget_and_gives_all_back(void **state)
{
    enum { TEXT_BYTES = 100000 };
    struct call_cache *cache = new_cache(64, (size_t)16 * PLENTY);
    size_t before = budget_used();
    char *text = calloc(1, TEXT_BYTES + 1), id[32];

    (void)state;
    assert_non_null(text);
    memset(text, 'x', TEXT_BYTES);
    for (size_t i = 0; i < 20; i++)
        put(cache, numbered(i, id), text);
    assert_true(budget_used() >= before + (size_t)19 * TEXT_BYTES);
    call_cache_clear(cache);
    assert_true(call_cache_is_empty(cache));
    assert_true(budget_used() <= before + PLENTY);
    budget_set_limit(1);
    put(cache, numbered(0, id), text);
    budget_set_limit(0);
    assert_true(call_cache_is_empty(cache));
    put(cache, numbered(0, id), text);
    check_key(cache, numbered(0, id), text);
    call_cache_free(cache);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_whole_key_finds_a_text),
        cmocka_unit_test(chats_with_equal_call_ids_do_not_mix),
        cmocka_unit_test(texts_are_compared_by_what_they_mean),
        cmocka_unit_test(the_oldest_makes_room),
        cmocka_unit_test(bytes_are_bounded_as_well),
        cmocka_unit_test(what_is_too_large_or_empty_is_forgotten),
        cmocka_unit_test(a_cache_of_no_entries_keeps_none),
        cmocka_unit_test(any_sequence_keeps_the_newest),
        cmocka_unit_test(it_takes_from_the_budget_and_gives_all_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
