/* test_host_list.c -- domains, and lists of hosts. */
#include "base/host_list.h"

#include "lib/test.h"

static void a_domain_ends_the_names_below_it(void **state)
{
    static const char *const below[] = {"example.org", "Example.ORG", "a.example.org",
                                        "a.b.EXAMPLE.org"};
    static const char *const others[] = {
        "", "org", "xexample.org", "example.org.", "example.orgs", "example.org.evil"};
    static const str domains[] = {STR_INIT("x.y"), STR_INIT("example.org")};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(below); i++)
        assert_true(host_is_of_any(str_from_c(below[i]), LIST_OF(domains)));
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(host_is_of_any(str_from_c(others[i]), LIST_OF(domains)));
}

static void a_star_stands_for_what_is_below_a_domain(void **state)
{
    static const char *const patterns[] = {"Example.org", "*.example.com"};
    static const struct host_list list = {LIST_OF(patterns)}, none = {NULL, 0};
    static const char *const listed[] = {"example.org", "a.Example.com", "a.b.example.com"};
    static const char *const others[] = {
        "", "a.example.org", "example.com", ".example.com", "xexample.com", "*.example.org",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(listed); i++) {
        assert_true(host_list_has(&list, str_from_c(listed[i])));
        assert_false(host_list_has(&none, str_from_c(listed[i])));
    }
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(host_list_has(&list, str_from_c(others[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_domain_ends_the_names_below_it),
        cmocka_unit_test(a_star_stands_for_what_is_below_a_domain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
