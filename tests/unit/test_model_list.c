/* test_model_list.c -- one model out of lists as servers write them. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "wire/dialect/model_list.h"

/* The result is NULL when the model is not in the list. */
static void check(const char *list, const char *model, const char *shown, const char *expected)
{
    char *exact = exact_copy(str_from_c(list));
    struct buf out = {.limit = 0};
    bool found =
        model_list_find(str_from(exact, strlen(list)), str_from_c(model), str_from_c(shown), &out);

    assert_int_equal(found, expected != NULL);
    assert_str_c(buf_str(&out), expected == NULL ? "" : expected);
    buf_fini(&out);
    free(exact);
}

#define ENTRY                                                                                      \
    "{ \"object\":\"model\", \"id\" : \"org\\/m\", \"meta\":{\"n_ctx\":4096, \"id\":\"x\"} }"
#define LIST " {\"object\":\"list\",\"data\":[{\"id\":\"a\"}, " ENTRY ", {\"id\":\"a\",\"b\":1}]}\n"

static void the_entry_is_taken_as_it_stands(void **state)
{
    (void)state;
    check(LIST, "org/m", "org/m", ENTRY);
    check(LIST, "a", "a", "{\"id\":\"a\"}");
}

static void an_alias_is_shown_as_the_id(void **state)
{
    (void)state;
    check(LIST, "org/m", "gpt-\"4\"",
          "{ \"object\":\"model\", \"id\" : \"gpt-\\\"4\\\"\", \"meta\":{\"n_ctx\":4096, "
          "\"id\":\"x\"} }");
}

static void what_is_no_list_holds_nothing(void **state)
{
    static const char *const lists[] = {
        "",
        "<html>a</html>",
        "[]",
        "{\"data\":null}",
        "{\"data\":{\"id\":\"a\"}}",
        "{\"data\":[\"a\",null,{\"id\":null},{\"id\":7},{},{\"name\":\"a\"}]}",
        "{\"data\":[{\"id\":\"a\"}]",
        "{\"models\":[{\"id\":\"a\"}]}",
        "{\"data\":[{\"id\":\"A\"},{\"id\":\"a \"}]}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        check(lists[i], "a", "a", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_entry_is_taken_as_it_stands),
        cmocka_unit_test(an_alias_is_shown_as_the_id),
        cmocka_unit_test(what_is_no_list_holds_nothing),
    };

    return cmocka_run_group_tests_name("model list", tests, NULL, NULL);
}
