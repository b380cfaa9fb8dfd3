/* test_model_merge.c -- one model of several servers as one element. */
#include "lib/test.h"

#include "json/json_read.h"
#include "lib/failing_malloc.h"
#include "lib/fixture.h"
#include "wire/dialect/model_merge.h"

enum { MOST = 4 };

/* elements: NULL is one of a server that does not list the model. */
static void check(const char *name, const char *const *elements, size_t n, const char *expected)
{
    char *exact[MOST] = {NULL};
    str views[MOST];
    struct buf out = {.limit = 0};

    for (size_t i = 0; i < n; i++) {
        views[i] = str_from_c(elements[i]);
        if (elements[i] == NULL)
            continue;
        exact[i] = exact_copy(views[i]);
        views[i].p = exact[i];
    }
    model_merge_write(str_from_c(name), views, n, &out);
    assert_true(jr_is_valid(buf_str(&out)));
    assert_str_c(buf_str(&out), expected);
    buf_fini(&out);
    for (size_t i = 0; i < n; i++)
        free(exact[i]);
}

#define MERGED(name, expected, ...)                                                                \
    check((name), (const char *const[]){__VA_ARGS__},                                              \
          COUNT_OF(((const char *const[]){__VA_ARGS__})), (expected))

#define HEAD "{\"id\":\"m\",\"object\":\"model\",\"created\":7,\"owned_by\":\"o\""
#define TAIL ",\"object\":\"model\",\"created\":0,\"owned_by\":\"antiphon\"}"

static void the_first_element_is_shown_by_the_public_name(void **state)
{
    (void)state;
    MERGED(
        "m", HEAD ",\"root\":\"big\"}",
        "{\"id\":\"big\",\"object\":\"model\",\"created\":7,\"owned_by\":\"o\",\"root\":\"big\"}",
        "{\"id\":\"m\",\"root\":\"other\",\"more\":1}");
    MERGED("a \"b\"", "{\"id\":\"a \\\"b\\\"\"" TAIL, "{\"id\":\"x\"}");
    MERGED("m", "{\"id\":\"m\",\"n\\u0061me\":[1, {\"id\":2}]" TAIL,
           "{ \"\\u0069d\" : \"x\", \"n\\u0061me\" : [1, {\"id\":2}], \"id\":\"y\" }");
}

static void what_lists_have_is_there(void **state)
{
    (void)state;
    MERGED("m", "{\"id\":\"m\"" TAIL, "{\"id\":\"m\"}");
    MERGED("m", "{\"id\":\"m\"" TAIL, "{}");
    MERGED("m", "{\"id\":\"m\",\"created\":5,\"object\":\"model\",\"owned_by\":\"antiphon\"}",
           "{\"created\":5}");
    MERGED("m", "{\"id\":\"m\",\"owned_by\":null,\"object\":\"model\",\"created\":0}",
           "{\"owned_by\":null}");
}

static void a_server_that_does_not_list_it_is_passed_over(void **state)
{
    (void)state;
    MERGED("m", "{\"id\":\"m\",\"n\":2" TAIL, NULL, "{\"id\":\"x\",\"n\":2}", NULL);
    MERGED("m", "{\"id\":\"m\"" TAIL, NULL);
    MERGED("m", "{\"id\":\"m\"" TAIL, NULL, NULL);
    check("m", NULL, 0, "{\"id\":\"m\"" TAIL);
}

static void windows_are_the_smallest_of_all(void **state)
{
    (void)state;
    MERGED("m", "{\"id\":\"m\",\"max_model_len\":8192" TAIL, "{\"max_model_len\":32768}",
           "{\"max_model_len\":8192}", "{\"max_model_len\":16384}");
    MERGED("m", "{\"id\":\"m\",\"max_model_len\":100" TAIL, "{\"max_model_len\":100}",
           "{\"max_model_len\":200}");
    MERGED("m",
           "{\"id\":\"m\",\"context_length\":50,\"meta\":{\"n_ctx_train\":9000,\"n_ctx\":60}" TAIL,
           "{\"context_length\":100,\"meta\":{\"n_ctx_train\":9000,\"n_ctx\":80}}",
           "{\"context_length\":50,\"meta\":{\"n_ctx\":60}}");
}

static void another_word_for_the_window_counts_as_well(void **state)
{
    (void)state;
    MERGED("m", "{\"id\":\"m\",\"max_model_len\":4096" TAIL, "{\"max_model_len\":32768}",
           "{\"context_length\":131072,\"meta\":{\"n_ctx\":4096}}");
    /* but not in the element itself, nor is a word added that it has not */
    MERGED("m", "{\"id\":\"m\",\"context_length\":131072,\"max_model_len\":4096" TAIL,
           "{\"context_length\":131072,\"max_model_len\":4096}");
    MERGED("m", "{\"id\":\"m\",\"meta\":{}" TAIL, "{\"meta\":{}}", "{\"max_model_len\":100}");
    MERGED("m", "{\"id\":\"m\"" TAIL, "{}", "{\"max_model_len\":100}");
}

static void what_is_no_window_is_left_alone(void **state)
{
    (void)state;
    MERGED("m", "{\"id\":\"m\",\"max_model_len\":null" TAIL, "{\"max_model_len\":null}",
           "{\"max_model_len\":100}");
    MERGED("m", "{\"id\":\"m\",\"max_model_len\":\"8k\",\"meta\":7" TAIL,
           "{\"max_model_len\":\"8k\",\"meta\":7}", "{\"max_model_len\":100}");
    MERGED("m", "{\"id\":\"m\",\"max_model_len\":100" TAIL, "{\"max_model_len\":100}",
           "{\"max_model_len\":0}", "{\"max_model_len\":-5}", "{\"max_model_len\":\"1\"}");
    MERGED("m", "{\"id\":\"m\",\"n_ctx\":9,\"meta\":{\"max_model_len\":9}" TAIL,
           "{\"n_ctx\":9,\"meta\":{\"max_model_len\":9}}", "{\"max_model_len\":1}");
}

static void without_memory_the_buffer_says_so(void **state)
{
    const str elements[] = {STR("{\"id\":\"x\",\"meta\":{\"n_ctx\":9}}"), STR_NONE};

    (void)state;
    for (long i = 0;; i++) {
        struct buf out = {.limit = 0};
        bool has_failed;

        failing_malloc_begin(i, FAILS_ONCE);
        model_merge_write(STR("m"), elements, COUNT_OF(elements), &out);
        has_failed = failing_malloc_end();
        assert_true(has_failed == buf_failed(&out));
        buf_fini(&out);
        if (!has_failed)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_element_is_shown_by_the_public_name),
        cmocka_unit_test(what_lists_have_is_there),
        cmocka_unit_test(a_server_that_does_not_list_it_is_passed_over),
        cmocka_unit_test(windows_are_the_smallest_of_all),
        cmocka_unit_test(another_word_for_the_window_counts_as_well),
        cmocka_unit_test(what_is_no_window_is_left_alone),
        cmocka_unit_test(without_memory_the_buffer_says_so),
    };

    return cmocka_run_group_tests_name("model merge", tests, NULL, NULL);
}
