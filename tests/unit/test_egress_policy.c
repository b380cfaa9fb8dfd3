/* test_egress_policy.c -- where code may connect to, and how it may be written. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "lib/test.h"
#include "net/address.h"
#include "sandbox/egress_policy.h"

static const char *const some[] = {"example.org", "*.Example.com", "192.0.2.7", "10.1.0.0/16",
                                   "2001:db8::/33"};
static const char *const bad[] = {"evil.example.com", "*.evil.org", "10.1.2.0/24",
                                  "93.184.216.0/30"};
static const struct egress_policy listed = {
    .mode = EGRESS_LISTED, .allowed = {some, COUNT_OF(some)}, .denied = {bad, COUNT_OF(bad)}};
static const struct egress_policy open_to_all = {
    .mode = EGRESS_PUBLIC, .allowed = {some, COUNT_OF(some)}, .denied = {bad, COUNT_OF(bad)}};
static const struct egress_policy names_only = {.mode = EGRESS_LISTED, .allowed = {some, 2}};
static const struct egress_policy plain = {.mode = EGRESS_PUBLIC};

static bool passes(const struct egress_policy *policy, const char *host, const char *address)
{
    struct address_list list;
    str name = str_from_c(host);

    assert_true(address_of_literal(address, &list));
    return egress_check_host(policy, name) == NULL &&
           egress_check_address(policy, name, &list.at[0].to.any) == NULL;
}

#define PUBLIC "93.184.216.34"

static void a_listed_host_passes_in_any_case_and_others_do_not(void **state)
{
    (void)state;
    assert_true(passes(&names_only, "example.org", PUBLIC));
    assert_true(passes(&names_only, "EXAMPLE.org", PUBLIC));
    assert_true(passes(&names_only, "a.example.com", PUBLIC));
    assert_true(passes(&names_only, "a.b.EXAMPLE.com", PUBLIC));
    assert_non_null(egress_check_host(&names_only, STR("www.example.org")));
    assert_non_null(egress_check_host(&names_only, STR("example.com")));
    assert_non_null(egress_check_host(&names_only, STR("badexample.com")));
    assert_non_null(egress_check_host(&names_only, STR("example.org.evil.net")));
    assert_non_null(egress_check_host(&names_only, STR("93.184.216.34")));
}

/* Names that are not listed are looked up when there are networks: they may lead there. */
static void what_leads_into_a_listed_network_passes_whatever_its_name(void **state)
{
    (void)state;
    assert_true(passes(&listed, "intranet", "10.1.9.9"));
    assert_true(passes(&listed, "10.1.9.9", "10.1.9.9"));
    assert_true(passes(&listed, "v6", "2001:db8:7fff::1"));
    assert_false(passes(&listed, "v6", "2001:db8:8000::1"));
    assert_false(passes(&listed, "intranet", "10.2.0.1"));
    assert_false(passes(&listed, "other.net", PUBLIC));
    assert_true(passes(&listed, "example.org", PUBLIC));
}

static void a_public_policy_opens_private_networks_only_when_they_are_listed(void **state)
{
    static const char *const inside[] = {"127.0.0.1", "10.2.0.1",         "192.168.1.1",
                                         "::1",       "169.254.169.254",  "fd00::1",
                                         "0.0.0.0",   "::ffff:127.0.0.1", "64:ff9b::7f00:1"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(inside); i++) {
        assert_false(passes(&plain, "name.net", inside[i]));
        assert_false(passes(&open_to_all, "name.net", inside[i]));
        assert_false(passes(&open_to_all, "example.org", inside[i])); /* a name opens nothing */
    }
    assert_true(passes(&plain, "name.net", PUBLIC));
    assert_true(passes(&plain, "name.net", "2606:2800:220:1::1"));
    assert_true(passes(&open_to_all, "name.net", "10.1.9.9"));
}

static void what_is_denied_wins_by_name_and_by_address(void **state)
{
    (void)state;
    assert_false(passes(&open_to_all, "evil.example.com", PUBLIC));
    assert_true(passes(&open_to_all, "good.example.com", "1.1.1.1"));
    assert_false(passes(&open_to_all, "a.evil.org", "1.1.1.1"));
    assert_false(passes(&listed, "intranet", "10.1.2.3"));
    assert_false(passes(&open_to_all, "name.net", "93.184.216.3"));
    assert_true(passes(&open_to_all, "name.net", "93.184.216.4"));
}

/* The kernel connects to the same machine by both forms. */
static void a_mapped_address_is_that_of_ipv4_for_lists_too(void **state)
{
    (void)state;
    assert_false(passes(&listed, "intranet", "::ffff:10.1.2.3"));
    assert_true(passes(&listed, "intranet", "::ffff:10.1.9.9"));
    assert_false(passes(&open_to_all, "name.net", "::ffff:93.184.216.3"));
}

static void a_network_of_no_bits_has_every_address_of_its_family(void **state)
{
    static const char *const all4[] = {"0.0.0.0/0"}, *const all6[] = {"::/0"};
    struct egress_policy p = {.mode = EGRESS_LISTED, .allowed = {all4, 1}};

    (void)state;
    assert_true(passes(&p, "x", "127.0.0.1"));
    assert_false(passes(&p, "x", "::1"));
    p.allowed.patterns = all6;
    assert_true(passes(&p, "x", "::1"));
}

static void what_is_no_host_is_refused(void **state)
{
    static const char *const wrong[] = {"",    ".",         "a b",  "a..",          "user@host",
                                        "a/b", "h\xc3\xa4", "::1%", "[::1",         "1::2::3",
                                        "a:b", "*",         "a\nb", "example.org\\"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_non_null(egress_check_host(&plain, str_from_c(wrong[i])));
    assert_null(egress_check_host(&plain, STR("a_b-c.example.org")));
    assert_null(egress_check_host(&plain, STR("::ffff:1.2.3.4")));
}

static void a_pattern_that_is_no_network_has_no_address(void **state)
{
    static const char *const broken[] = {
        "10.0.0.0/", "10.0.0.0/33", "10.0.0/8", "/8", "10.0.0.0/18446744073709551615", "::/129"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        struct egress_policy p = {.mode = EGRESS_LISTED, .allowed = {&broken[i], 1}};

        assert_false(passes(&p, "x", "10.0.0.1"));
        assert_false(passes(&p, "x", "::1"));
    }
}

static void ports_are_those_of_the_web_unless_others_are_named(void **state)
{
    static const uint16_t ports[] = {8080};
    struct egress_policy p = {.mode = EGRESS_PUBLIC, .ports = ports, .n_ports = 1};

    (void)state;
    assert_null(egress_check_port(&plain, 80));
    assert_null(egress_check_port(&plain, 443));
    assert_non_null(egress_check_port(&plain, 22));
    assert_non_null(egress_check_port(&plain, 0));
    assert_null(egress_check_port(&p, 8080));
    assert_non_null(egress_check_port(&p, 80));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_listed_host_passes_in_any_case_and_others_do_not),
        cmocka_unit_test(what_leads_into_a_listed_network_passes_whatever_its_name),
        cmocka_unit_test(a_public_policy_opens_private_networks_only_when_they_are_listed),
        cmocka_unit_test(what_is_denied_wins_by_name_and_by_address),
        cmocka_unit_test(a_mapped_address_is_that_of_ipv4_for_lists_too),
        cmocka_unit_test(a_network_of_no_bits_has_every_address_of_its_family),
        cmocka_unit_test(what_is_no_host_is_refused),
        cmocka_unit_test(a_pattern_that_is_no_network_has_no_address),
        cmocka_unit_test(ports_are_those_of_the_web_unless_others_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
