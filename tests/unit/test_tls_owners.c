/* test_tls_owners.c -- texts of owners that stay, and how many. */
#include "tls/tls_owners.h"

#include <stdio.h>

#include "lib/test.h"

static str keep(struct tls_owners *o, size_t i)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "cert:client-%zu", i);
    return tls_owners_keep(o, str_from_c(text));
}

static void an_owner_has_one_text(void **state)
{
    struct tls_owners *o = tls_owners_new();
    str a = keep(o, 1), b = keep(o, 2);

    (void)state;
    assert_true(str_eq(a, STR("cert:client-1")));
    assert_true(str_eq(b, STR("cert:client-2")));
    assert_ptr_equal(keep(o, 1).p, a.p);
    assert_ptr_equal(keep(o, 2).p, b.p);
    tls_owners_free(o);
    tls_owners_free(NULL);
}

static void there_is_a_limit_and_who_was_there_before_stays(void **state)
{
    struct tls_owners *o = tls_owners_new();
    const str first = keep(o, 0);

    (void)state;
    for (size_t i = 1; i < TLS_OWNERS_MOST; i++)
        assert_false(str_is_none(keep(o, i)));
    for (size_t i = 0; i < 10; i++)
        assert_true(str_is_none(keep(o, TLS_OWNERS_MOST + i)));
    assert_ptr_equal(keep(o, 0).p, first.p);
    assert_false(str_is_none(keep(o, TLS_OWNERS_MOST - 1)));
    tls_owners_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_has_one_text),
        cmocka_unit_test(there_is_a_limit_and_who_was_there_before_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
