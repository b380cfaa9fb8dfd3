/* test_path_pattern.c -- which paths a pattern fits, and the ids in them. */
#include "front/path_pattern.h"
#include "lib/test.h"

static void ids_are_the_segments_in_braces(void **state)
{
    static const struct {
        const char *pattern, *path, *first, *second;
    } cases[] = {
        {"/a/{id}", "/a/x", "x", NULL},
        {"/a/{id}", "/a/%2F..", "%2F..", NULL},
        {"/a/{id}/b", "/a/x/b", "x", NULL},
        {"/a/{id}/b/{more_id}", "/a/x/b/yz", "x", "yz"},
        {"/a/{id}/{more_id}", "/a/{id}/}", "{id}", "}"},
        {"/a", "/a", NULL, NULL},
        {"/a/*", "/a/b", NULL, NULL},
        {"/a/*", "/a/b/c", NULL, NULL},
        {"/a/*", "/a//", NULL, NULL},
        {"/a/*", "/a/*", NULL, NULL},
        {"/a/*", "/a/**", NULL, NULL},
        {"/a/{id}/*", "/a/x/b/c", "x", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct path_ids ids;

        assert_true(
            path_pattern_fits(str_from_c(cases[i].pattern), str_from_c(cases[i].path), &ids));
        assert_str_c(ids.v[0], cases[i].first);
        assert_str_c(ids.v[1], cases[i].second);
    }
}

static void other_paths_do_not_fit(void **state)
{
    static const struct {
        const char *pattern, *path;
    } cases[] = {
        {"/a/{id}", "/a"},
        {"/a/{id}", "/a/"},
        {"/a/{id}", "/a/x/"},
        {"/a/{id}", "/a//x"},
        {"/a/{id}", "/a/x/y"},
        {"/a/{id}", "/b/x"},
        {"/a/{id}/b", "/a/x"},
        {"/a/{id}/b", "/a//b"},
        {"/a/{id}/b", "/a/x/bc"},
        {"/a/{id}/b", "/a/x/c"},
        {"/a/{id}/b", "/a/x/b/"},
        {"/a", ""},
        {"/a", "/a/"},
        {"/a", "/b"},
        {"/a/*", "/a"},
        {"/a/*", "/a/"},
        {"/a/*", "/ab/c"},
        {"/a/{id}/*", "/a/x/"},
        {"", "/"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct path_ids ids;

        assert_false(
            path_pattern_fits(str_from_c(cases[i].pattern), str_from_c(cases[i].path), &ids));
    }
}

static void ids_are_decoded(void **state)
{
    static const struct {
        struct path_ids ids;
        const char *first, *second;
    } cases[] = {
        {{{STR_INIT("a%20b"), STR_INIT("c")}}, "a b", "c"},
        {{{STR_INIT("x")}}, "x", NULL},
        {{{{NULL, 0}}}, NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena = {.limit = 0};
        str ids[PATH_MAX_IDS] = {STR_INIT("old"), STR_INIT("old")};

        assert_true(path_ids_decode(&cases[i].ids, &arena, ids));
        assert_str_c(ids[0], cases[i].first);
        assert_str_c(ids[1], cases[i].second);
        arena_fini(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_the_segments_in_braces),
        cmocka_unit_test(other_paths_do_not_fit),
        cmocka_unit_test(ids_are_decoded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
