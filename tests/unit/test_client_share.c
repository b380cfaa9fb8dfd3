/* test_client_share.c -- connections are counted for each client, and forgotten with it. */
#include "lib/test.h"

#include "http/client_share.h"

static void a_client_is_an_address_or_an_ipv6_network(void **state)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"192.0.2.1", "192.0.2.1", true},
        {"192.0.2.1", "192.0.2.2", false},
        {"192.0.2.1", "::ffff:192.0.2.1", true},
        {"2001:db8::1", "2001:db8::ffff:1", true},
        {"2001:db8::1", "2001:db8:0:1::1", false},
        {"fe80::1", "fe80::2", false},
        {"0.0.0.0", "::2", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(client_share_key(cases[i].a) == client_share_key(cases[i].b),
                         cases[i].same);
}

static void clients_of_this_machine_are_not_counted(void **state)
{
    static const char *const peers[] = {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1",
                                        "unix",      "",          "?"};
    struct client_share *s;
    struct err e;

    (void)state;
    s = client_share_new(1, 10, &e);
    assert_non_null(s);
    for (size_t i = 0; i < COUNT_OF(peers); i++) {
        assert_int_equal(client_share_key(peers[i]), 0);
        for (int n = 0; n < 3; n++)
            assert_true(client_share_take(s, client_share_key(peers[i])));
        client_share_give_back(s, client_share_key(peers[i]));
    }
    assert_true(client_share_take(NULL, 7));
    client_share_give_back(NULL, 7);
    client_share_free(s);
    client_share_free(NULL);
}

static void a_client_has_its_share_and_no_more(void **state)
{
    struct client_share *s;
    struct err e;

    (void)state;
    s = client_share_new(2, 4, &e);
    assert_non_null(s);
    assert_true(client_share_take(s, 7));
    assert_true(client_share_take(s, 7));
    assert_false(client_share_take(s, 7));
    assert_int_equal(client_share_count(s, 7), 2);
    assert_true(client_share_take(s, 8));
    client_share_give_back(s, 7);
    assert_true(client_share_take(s, 7));
    assert_false(client_share_take(s, 7));
    client_share_free(s);
}

/* Against plain counters, in a table as full as it can be. */
static void counts_are_right_whatever_comes_and_goes(void **state)
{
    enum { CLIENTS = 64, MOST = 3, STEPS = 200000 };
    size_t counts[CLIENTS + 1] = {0}, n_total = 0;
    struct client_share *s;
    uint32_t dice = 1;
    struct err e;

    (void)state;
    s = client_share_new(MOST, CLIENTS, &e);
    assert_non_null(s);
    for (int i = 0; i < STEPS; i++) {
        size_t key = 1 + (dice = dice * 1664525 + 1013904223) / 65536 % CLIENTS;

        if (dice / 1024 % 2 == 0) {
            assert_int_equal(client_share_take(s, key), counts[key] < MOST);
            counts[key] += counts[key] < MOST;
        } else if (counts[key] > 0) {
            client_share_give_back(s, key);
            counts[key]--;
        }
        assert_int_equal(client_share_count(s, key), counts[key]);
    }
    for (size_t key = 1; key <= CLIENTS; key++)
        for (; counts[key] > 0; counts[key]--, n_total++)
            client_share_give_back(s, key);
    assert_true(n_total > 0);
    for (size_t key = 1; key <= CLIENTS; key++)
        assert_int_equal(client_share_count(s, key), 0);
    client_share_free(s);
}

/* Never more entries than half of the table: it could not be searched. */
static void more_clients_than_there_are_connections_are_refused(void **state)
{
    struct client_share *s;
    size_t n_granted = 0;
    struct err e;

    (void)state;
    s = client_share_new(1, 8, &e);
    assert_non_null(s);
    for (uint64_t key = 1; key <= 100; key++)
        n_granted += client_share_take(s, key);
    assert_int_equal(n_granted, 8);
    client_share_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_is_an_address_or_an_ipv6_network),
        cmocka_unit_test(clients_of_this_machine_are_not_counted),
        cmocka_unit_test(a_client_has_its_share_and_no_more),
        cmocka_unit_test(counts_are_right_whatever_comes_and_goes),
        cmocka_unit_test(more_clients_than_there_are_connections_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
