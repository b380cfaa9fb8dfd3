/* test_trusted_proxies.c -- whose word counts about clients, and what it says. */
#include "http/trusted_proxies.h"
#include "lib/fixture.h"
#include "lib/test.h"

enum { MAX_LINES = 4 };

static const char *const texts[] = {"10.0.0.0/8",    "192.0.2.7",        "198.51.100.128/25",
                                    "2001:db8::/33", "2001:db8:ffff::1", "unix"};

static struct arena memory;
static struct trusted_proxies trusted;

static int make(void **state)
{
    (void)state;
    memory = (struct arena){.limit = 0};
    return trusted_proxies_make(texts, COUNT_OF(texts), &memory, &trusted);
}

static int forget(void **state)
{
    (void)state;
    arena_fini(&memory);
    return 0;
}

static void networks_hold_their_addresses(void **state)
{
    static const char *const in[] = {"10.0.0.0",         "10.255.255.255",
                                     "192.0.2.7",        "198.51.100.128",
                                     "::ffff:10.1.1.1",  "198.51.100.255",
                                     "2001:db8::",       "2001:db8:7fff::1",
                                     "2001:db8:ffff::1", "unix"};
    static const char *const out[] = {"11.0.0.0",
                                      "9.255.255.255",
                                      "192.0.2.8",
                                      "198.51.100.127",
                                      "2001:db8:8000::1",
                                      "2001:db9::",
                                      "::1",
                                      "127.0.0.1",
                                      "",
                                      "?",
                                      "unix:",
                                      "10.0.0.0/8"};
    const struct trusted_proxies nobody = {.n = 0};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(in); i++) {
        assert_true(trusted_proxies_have(&trusted, str_from_c(in[i])));
        assert_false(trusted_proxies_have(&nobody, str_from_c(in[i])));
    }
    for (size_t i = 0; i < COUNT_OF(out); i++)
        assert_false(trusted_proxies_have(&trusted, str_from_c(out[i])));
}

static void what_is_no_network_is_left_out(void **state)
{
    static const char *const odd[] = {"10.0.0.0/33", "10.0.0.0/", "::/129",
                                      "host",        "",          "10.0.0.0/-1"};
    struct trusted_proxies none;
    static const char *const all[] = {"0.0.0.0/0", "::/0"};

    (void)state;
    assert_int_equal(trusted_proxies_make(odd, COUNT_OF(odd), &memory, &none), 0);
    assert_int_equal(none.n, 0);
    assert_int_equal(trusted_proxies_make(all, 1, &memory, &none), 0);
    assert_true(trusted_proxies_have(&none, STR("203.0.113.1")));
    assert_false(trusted_proxies_have(&none, STR("2001:db8::1")));
    assert_int_equal(trusted_proxies_make(all, 2, &memory, &none), 0);
    assert_true(trusted_proxies_have(&none, STR("2001:db8::1")));
}

/* The client that lines of X-Forwarded-For name, among other headers; NULL: none. */
static void client_is(const char *const *lines, const char *want)
{
    struct http_header headers[MAX_LINES + 2] = {{STR("host"), STR("192.0.2.1")}};
    char *copies[MAX_LINES], got[PEER_TEXT_BYTES];
    struct http_request r = {.headers = headers, .n_headers = 1};
    size_t n = 0;

    for (; n < MAX_LINES && lines[n] != NULL; n++) {
        copies[n] = exact_copy(str_from_c(lines[n]));
        headers[r.n_headers++] =
            (struct http_header){STR("x-forwarded-for"), str_from(copies[n], strlen(lines[n]))};
    }
    headers[r.n_headers++] = (struct http_header){STR("x-real-ip"), STR("192.0.2.2")};
    if (trusted_proxies_client(&trusted, &r, got) != (want != NULL) ||
        (want != NULL && strcmp(got, want) != 0))
        fail_msg("%s: not %s", lines[0] == NULL ? "nothing" : lines[0],
                 want == NULL ? "none" : want);
    while (n > 0)
        free(copies[--n]);
}

#define CLIENT_IS(want, ...) client_is((const char *const[]){__VA_ARGS__, NULL}, want)

static void the_client_is_the_rightmost_who_is_not_trusted(void **state)
{
    (void)state;
    CLIENT_IS(NULL, NULL);
    CLIENT_IS("203.0.113.9", "203.0.113.9");
    CLIENT_IS("203.0.113.9", "1.2.3.4, 203.0.113.9");
    CLIENT_IS("203.0.113.9", "1.2.3.4,203.0.113.9 ,\t10.0.0.1, 192.0.2.7");
    CLIENT_IS("203.0.113.9", "1.2.3.4", "203.0.113.9", "10.0.0.1,10.0.0.2");
    CLIENT_IS("203.0.113.9", "unix:", "203.0.113.9, unix:");
    CLIENT_IS("10.0.0.1", "10.0.0.1, 10.0.0.2"); /* all are trusted: the first is the client */
    CLIENT_IS("2001:db8:8000::1", "2001:DB8:8000:0::1");
}

static void ports_and_brackets_are_no_part_of_an_address(void **state)
{
    (void)state;
    CLIENT_IS("203.0.113.9", "203.0.113.9:4711");
    CLIENT_IS("2001:db8:8000::1", "[2001:db8:8000::1]:4711");
    CLIENT_IS("2001:db8:8000::1", "[2001:db8:8000::1]");
    CLIENT_IS("203.0.113.9", "::ffff:203.0.113.9");
}

static void what_is_no_address_ends_the_way_back(void **state)
{
    static const char *const odd[] = {"unknown",     "_hidden", "",         " ",         "[",
                                      "[]",          "[::1",    "1.2.3",    "1.2.3.4.5", "host:1",
                                      "\"1.2.3.4\"", ":",       "1.2.3.4/8"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        char line[64];

        if (strcmp(odd[i], "[::1") == 0)
            continue; /* is read as what it begins with, below */
        CLIENT_IS(NULL, "203.0.113.9", odd[i]);
        (void)snprintf(line, sizeof(line), "203.0.113.9,%s,10.0.0.1", odd[i]);
        CLIENT_IS("10.0.0.1", line);
    }
    CLIENT_IS("::1", "[::1");
}

static void the_last_word_says_how_the_client_has_come(void **state)
{
    static const struct {
        const char *value;
        bool is_https;
    } cases[] = {{"https", true},        {"HTTPS", true}, {"http", false},        {"", false},
                 {"http, https", true},  {"wss", false},  {"https, http", false}, {"https,", false},
                 {"https , https", true}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct http_header header = {STR("x-forwarded-proto"), str_from_c(cases[i].value)};
        const struct http_request r = {.headers = &header, .n_headers = 1};

        assert_int_equal(trusted_proxies_say_https(&r), cases[i].is_https);
    }
}

#define WITH_LIST(test) cmocka_unit_test_setup_teardown(test, make, forget)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_LIST(networks_hold_their_addresses),
        WITH_LIST(what_is_no_network_is_left_out),
        WITH_LIST(the_client_is_the_rightmost_who_is_not_trusted),
        WITH_LIST(ports_and_brackets_are_no_part_of_an_address),
        WITH_LIST(what_is_no_address_ends_the_way_back),
        WITH_LIST(the_last_word_says_how_the_client_has_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
