/* test_upstream_list.c -- lists of models as servers answer with them. */
#include "lib/test.h"

#include "lib/failing_malloc.h"
#include "lib/fixture.h"
#include "upstream/upstream_list.h"
#include "wire/dialect/upstream_models.h"

static struct upstream_list *list_of(const char *body)
{
    char *exact = exact_copy(str_from_c(body));
    struct upstream_list *l = upstream_list_new(str_from(exact, strlen(body)));

    free(exact); /* the list has what it needs */
    return l;
}

/* names: with a comma behind each. */
static void check_names(const struct upstream_list *l, const char *names)
{
    size_t n;
    const str *all = upstream_list_names(l, &n);
    struct buf said = {.limit = 0};

    for (size_t i = 0; i < n; i++) {
        buf_append(&said, all[i]);
        buf_char(&said, ',');
    }
    assert_str_c(buf_str(&said), names);
    buf_fini(&said);
}

static void check_element(const struct upstream_list *l, const char *name, const char *element)
{
    const str found = upstream_list_element(l, str_from_c(name));

    if (element == NULL)
        assert_true(str_is_none(found));
    else
        assert_str_c(found, element);
}

static void names_are_in_the_order_of_the_list_each_once(void **state)
{
    struct upstream_list *l = list_of(
        " {\"data\":[{\"id\":\"z\"},{\"id\":\"a\",\"n\":1}, {\"id\":\"m\\/x\"},7,null,{},{\"id\":5},"
        "{\"id\":\"a\",\"n\":2},{\"id\":\"b\"}]}\n");

    (void)state;
    check_names(l, "z,a,m/x,b,");
    check_element(l, "a", "{\"id\":\"a\",\"n\":1}");
    check_element(l, "m/x", "{\"id\":\"m\\/x\"}");
    check_element(l, "A", NULL);
    check_element(l, "", NULL);
    assert_true(upstream_list_has(l, STR("b")));
    assert_false(upstream_list_has(l, STR("c")));
    upstream_list_unref(l);
}

static void a_name_without_a_tag_is_the_latest(void **state)
{
    struct upstream_list *l = list_of("{\"data\":[{\"id\":\"q:latest\"},{\"id\":\"q:4b\"},"
                                      "{\"id\":\"p\"},{\"id\":\"p:latest\"}]}");

    (void)state;
    check_element(l, "q", "{\"id\":\"q:latest\"}");
    check_element(l, "p", "{\"id\":\"p\"}");
    check_element(l, "q:", NULL);
    assert_false(upstream_list_has(l, STR("q"))); /* which is no name of the list */
    upstream_list_unref(l);
}

static void what_is_no_list_is_none(void **state)
{
    static const char *const bodies[] = {
        "", "<html>", "[]", "{}", "null", "{\"data\":{}}", "{", "{\"data\":[{\"id\":\"a\"}]"};
    struct upstream_list *l = list_of("{\"data\":[]}");
    size_t n = 1;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++)
        assert_null(list_of(bodies[i]));
    check_names(l, ""); /* it has no models, and says so */
    check_element(l, "a", NULL);
    upstream_list_unref(l);
    assert_null(upstream_list_names(NULL, &n));
    assert_int_equal(n, 0);
    assert_null(upstream_list_ref(NULL));
    assert_false(upstream_list_has(NULL, STR("a")));
    check_element(NULL, "a", NULL);
    upstream_list_unref(NULL);
}

static void a_long_list_is_its_names(void **state)
{
    struct buf body = {.limit = 0};
    struct upstream_list *l;
    size_t n;

    (void)state;
    buf_c(&body, "{\"data\":[{\"id\":\"a\",\"text\":\"");
    for (size_t i = 0; i < UPSTREAM_LIST_MOST_BYTES; i++)
        buf_char(&body, 'x');
    buf_c(&body, "\"}");
    for (int i = 0; i < 2 * UPSTREAM_MAX_MODELS; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "m%d", i);
        buf_c(&body, ",{\"id\":\"");
        buf_c(&body, name);
        buf_c(&body, "\"}");
    }
    buf_c(&body, "]}");
    l = upstream_list_new(buf_str(&body));
    assert_non_null(l);
    assert_true(upstream_list_has(l, STR("a")));
    check_element(l, "a", NULL);
    (void)upstream_list_names(l, &n);
    assert_int_equal(n, UPSTREAM_MAX_MODELS);
    upstream_list_unref(l);
    buf_fini(&body);
}

static void without_memory_there_is_none(void **state)
{
    (void)state;
    for (long i = 0;; i++) {
        struct upstream_list *l;
        bool has_failed;

        failing_malloc_begin(i, FAILS_ONCE);
        l = upstream_list_new(STR("{\"data\":[{\"id\":\"a\"},{\"id\":\"b\"}]}"));
        has_failed = failing_malloc_end();
        assert_true(has_failed == (l == NULL));
        upstream_list_unref(l);
        if (!has_failed)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_in_the_order_of_the_list_each_once),
        cmocka_unit_test(a_name_without_a_tag_is_the_latest),
        cmocka_unit_test(what_is_no_list_is_none),
        cmocka_unit_test(a_long_list_is_its_names),
        cmocka_unit_test(without_memory_there_is_none),
    };

    return cmocka_run_group_tests_name("upstream list", tests, NULL, NULL);
}
