/* test_address_public.c -- the edges of every block that is not public. */
#include "net/address_public.h"

#include <netinet/in.h>

#include "lib/test.h"
#include "net/address.h"

static bool is_public(const char *text)
{
    struct address_list list;

    assert_true(address_of_literal(text, &list));
    return address_is_public(&list.at[0].to.any);
}

/* First and last address of a block, and their neighbours where those are public. */
struct edges {
    const char *before, *first, *last, *after;
};

static void check_edges(const struct edges *e)
{
    if (is_public(e->first) || is_public(e->last))
        fail_msg("%s - %s", e->first, e->last);
    if ((e->before != NULL && !is_public(e->before)) || (e->after != NULL && !is_public(e->after)))
        fail_msg("around %s", e->first);
}

static void blocks_of_ipv4_end_where_they_should(void **state)
{
    static const struct edges blocks[] = {
        {NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0"},
        {"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"},
        {"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"},
        {"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"},
        {"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"},
        {"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"},
        {"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"},
        {"192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"},
        {"192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"},
        {"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"},
        {"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"},
        {"198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"},
        {"203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"},
        {"223.255.255.255", "224.0.0.0", "239.255.255.255", NULL},
        {NULL, "240.0.0.0", "255.255.255.255", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        check_edges(&blocks[i]);
}

#define FFFF "ffff:ffff:ffff:ffff"

static void blocks_of_ipv6_end_where_they_should(void **state)
{
    static const struct edges blocks[] = {
        {NULL, "::", "::1", NULL},
        {NULL, "::127.0.0.1", "::ffff:ffff", NULL},
        {NULL, "::ffff:0:0:0", "::ffff:0:8.8.8.8", NULL},
        {NULL, "64:ff9b::", "64:ff9b::ffff:ffff", NULL},
        {NULL, "64:ff9b:1::", "64:ff9b:1:" FFFF ":ffff", NULL},
        {NULL, "100::", "100::" FFFF, NULL},
        {NULL, "100:0:0:1::", "100::1:" FFFF, NULL},
        {NULL, "2001::", "2001:1ff:" FFFF ":ffff:ffff", "2001:200::"},
        {"2001:db7:" FFFF ":ffff:ffff", "2001:db8::", "2001:db8:" FFFF ":ffff:ffff", "2001:db9::"},
        {"2001:ffff:" FFFF ":ffff:ffff", "2002::", "2002:ffff:" FFFF ":ffff:ffff", "2003::"},
        {"3ffe:ffff:" FFFF ":ffff:ffff", "3fff::", "3fff:fff:" FFFF ":ffff:ffff", "3fff:1000::"},
        {NULL, "200::", "3ff:ffff:" FFFF ":ffff:ffff", NULL},
        {NULL, "400::", "1fff:ffff:" FFFF ":ffff:ffff", "2000::"},
        {"3fff:ffff:" FFFF ":ffff:ffff", "4000::", "fbff:ffff:" FFFF ":ffff:ffff", NULL},
        {NULL, "5f00::", "5f00:ffff:" FFFF ":ffff:ffff", NULL},
        {NULL, "fc00::", "fdff:ffff:" FFFF ":ffff:ffff", NULL},
        {NULL, "fe80::", "febf:ffff:" FFFF ":ffff:ffff", NULL},
        {NULL, "fec0::", "feff:ffff:" FFFF ":ffff:ffff", NULL},
        {NULL, "ff00::", "ffff:ffff:" FFFF ":ffff:ffff", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        check_edges(&blocks[i]);
}

static void known_servers_are_public(void **state)
{
    static const char *const addresses[] = {"1.1.1.1",
                                            "8.8.8.8",
                                            "93.184.216.34",
                                            "2606:4700:4700::1111",
                                            "2a00:1450:4001:82a::200e",
                                            "2620:fe::fe"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(addresses); i++)
        assert_true(is_public(addresses[i]));
}

static void mapped_addresses_are_judged_by_what_is_inside(void **state)
{
    (void)state;
    assert_true(is_public("::ffff:8.8.8.8"));
    assert_false(is_public("::ffff:127.0.0.1"));
    assert_false(is_public("::ffff:169.254.169.254"));
    assert_false(is_public("::ffff:10.1.2.3"));
}

static void ipv4_in_a_tunnel_is_never_public(void **state)
{
    (void)state;
    assert_false(is_public("2002:808:808::1"));
    assert_false(is_public("64:ff9b::8.8.8.8"));
    assert_false(is_public("2001:0:808:808::1"));
    assert_false(is_public("::8.8.8.8"));
}

static void other_families_are_not_public(void **state)
{
    struct address_list list;

    (void)state;
    assert_true(address_of_path(STR("/run/x.sock"), &list));
    assert_false(address_is_public(&list.at[0].to.any));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_ipv4_end_where_they_should),
        cmocka_unit_test(blocks_of_ipv6_end_where_they_should),
        cmocka_unit_test(known_servers_are_public),
        cmocka_unit_test(mapped_addresses_are_judged_by_what_is_inside),
        cmocka_unit_test(ipv4_in_a_tunnel_is_never_public),
        cmocka_unit_test(other_families_are_not_public),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
