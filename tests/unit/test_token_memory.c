/* test_token_memory.c -- ways that are not known are left alone for an hour, and counts are found by
 * whom they belong to, for a while. */
#include "lib/test.h"

#include "base/arena.h"
#include "upstream/token_memory.h"

enum { HOUR_MS = 3600 * 1000, LIFE_MS = 1000, ENTRIES = 64 };

static struct token_memory *open_memory(size_t max_entries)
{
    const struct token_memory_conf conf = {.max_entries = max_entries, .lifetime_ms = LIFE_MS};
    struct err e;
    struct token_memory *m = token_memory_new(&conf, &e);

    assert_non_null(m);
    return m;
}

static struct token_key key_of(const char *owner, const char *body, bool is_prompt)
{
    struct prefix_marks marks;
    struct token_key key;
    struct arena arena;

    arena_init(&arena, 0);
    assert_true(prefix_marks_read(str_from_c(body), 7, &arena, &marks));
    key = token_key_make(str_from_c(owner), &marks, is_prompt);
    arena_fini(&arena);
    return key;
}

static void a_way_is_ruled_out_for_an_hour(void **state)
{
    struct token_memory *m = open_memory(ENTRIES);

    (void)state;
    assert_true(token_memory_may_try(m, TOKEN_WAY_TOKENIZE, 5));
    assert_true(token_memory_rule_out(m, TOKEN_WAY_TOKENIZE, 5));
    assert_false(token_memory_rule_out(m, TOKEN_WAY_TOKENIZE, 6));
    assert_false(token_memory_may_try(m, TOKEN_WAY_TOKENIZE, 5 + HOUR_MS));
    assert_true(token_memory_may_try(m, TOKEN_WAY_TOKENIZE, 6 + HOUR_MS));
    assert_true(token_memory_may_try(m, TOKEN_WAY_COMPLETION, 7));
    token_memory_free(m);
}

static void what_has_worked_is_known(void **state)
{
    struct token_memory *m = open_memory(0);

    (void)state;
    assert_false(token_memory_has_worked(m, TOKEN_WAY_TEMPLATE));
    token_memory_note_worked(m, TOKEN_WAY_TEMPLATE);
    assert_true(token_memory_has_worked(m, TOKEN_WAY_TEMPLATE));
    assert_false(token_memory_has_worked(m, TOKEN_WAY_TOKENIZE));
    token_memory_free(m);
}

static void a_count_is_found_until_it_is_too_old(void **state)
{
    struct token_memory *m = open_memory(ENTRIES);
    const struct token_key key = key_of("a", "{\"model\":\"m\"}", false);

    (void)state;
    assert_int_equal(token_memory_find(m, &key, 0), 0);
    token_memory_keep(m, &key, TOKEN_WAY_TOKENIZE, 17, 10);
    assert_int_equal(token_memory_find(m, &key, 10 + LIFE_MS - 1), 17);
    assert_int_equal(token_memory_find(m, &key, 10 + LIFE_MS), 0);
    token_memory_keep(m, &key, TOKEN_WAY_TOKENIZE, 18, 20 + LIFE_MS);
    assert_int_equal(token_memory_find(m, &key, 30 + LIFE_MS), 18);
    token_memory_free(m);
}

static void a_memory_without_entries_forgets(void **state)
{
    struct token_memory *m = open_memory(0);
    const struct token_key key = key_of("a", "{}", false);

    (void)state;
    token_memory_keep(m, &key, TOKEN_WAY_TOKENIZE, 17, 0);
    assert_int_equal(token_memory_find(m, &key, 0), 0);
    assert_int_equal(token_memory_keep_usage(m, &key, 18, 0), TOKEN_WAYS);
    token_memory_free(m);
}

static void keys_are_those_of_what_is_counted_and_whose_it_is(void **state)
{
    static const struct {
        const char *owner, *body;
        bool is_prompt, is_same;
    } others[] = {
        {"a", "{\"model\":\"m\",\"messages\":[]}", false, true},
        {"a", "{\"stream\":true,\"model\":\"m\",\"max_tokens\":7,\"messages\":[]}", false, true},
        {"b", "{\"model\":\"m\",\"messages\":[]}", false, false},
        {"a\"model\"", "{\"model\":\"m\",\"messages\":[]}", false, false},
        {"a", "{\"model\":\"n\",\"messages\":[]}", false, false},
        {"a", "{\"model\":\"m\",\"messages\":[],\"tools\":[]}", false, false},
        {"a", "{\"model\":\"m\",\"messages\":[1]}", false, false},
        {"a", "{\"model\":\"m\",\"messages\":[]}", true, false},
    };
    const struct token_key key = key_of("a", "{\"model\":\"m\",\"messages\":[]}", false);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        const struct token_key other = key_of(others[i].owner, others[i].body, others[i].is_prompt);

        if ((memcmp(&key, &other, sizeof(key)) == 0) != others[i].is_same)
            fail_msg("case %zu", i);
    }
}

static void usage_is_believed_and_a_way_that_says_otherwise_is_not(void **state)
{
    struct token_memory *m = open_memory(ENTRIES);
    const struct token_key key = key_of("a", "{}", false);

    (void)state;
    token_memory_keep(m, &key, TOKEN_WAY_TOKENIZE, 17, 0);
    assert_int_equal(token_memory_keep_usage(m, &key, 17, 1), TOKEN_WAYS);
    assert_true(token_memory_may_try(m, TOKEN_WAY_TOKENIZE, 1));
    token_memory_keep(m, &key, TOKEN_WAY_TOKENIZE, 16, 2);
    assert_int_equal(token_memory_keep_usage(m, &key, 17, 3), TOKEN_WAY_TOKENIZE);
    assert_int_equal(token_memory_find(m, &key, 4), 17);
    assert_false(token_memory_may_try(m, TOKEN_WAY_TOKENIZE, 4));
    token_memory_keep(m, &key, TOKEN_WAY_COMPLETION, 12, 5);
    assert_int_equal(token_memory_keep_usage(m, &key, 17, 6), TOKEN_WAYS);
    assert_true(token_memory_may_try(m, TOKEN_WAY_COMPLETION, 6));
    token_memory_free(m);
}

static struct token_key numbered_key(unsigned i)
{
    char body[32];

    (void)snprintf(body, sizeof(body), "{\"i\":%u}", i);
    return key_of("", body, false);
}

static void more_than_there_is_room_for_pushes_out_what_is_oldest(void **state)
{
    struct token_memory *m = open_memory(4);
    unsigned n_found = 0;

    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        const struct token_key key = numbered_key(i);

        token_memory_keep(m, &key, TOKEN_WAY_TOKENIZE, (int64_t)i + 1, i);
    }
    for (unsigned i = 0; i < 10; i++) {
        const struct token_key key = numbered_key(i);

        n_found += token_memory_find(m, &key, 10) == (int64_t)i + 1;
        assert_true(i < 6 || token_memory_find(m, &key, 10) == (int64_t)i + 1);
    }
    assert_int_equal(n_found, 4);
    token_memory_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_way_is_ruled_out_for_an_hour),
        cmocka_unit_test(what_has_worked_is_known),
        cmocka_unit_test(a_count_is_found_until_it_is_too_old),
        cmocka_unit_test(a_memory_without_entries_forgets),
        cmocka_unit_test(keys_are_those_of_what_is_counted_and_whose_it_is),
        cmocka_unit_test(usage_is_believed_and_a_way_that_says_otherwise_is_not),
        cmocka_unit_test(more_than_there_is_room_for_pushes_out_what_is_oldest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
