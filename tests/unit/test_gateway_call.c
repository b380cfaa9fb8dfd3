/* test_gateway_call.c -- where commands ask a gateway that runs. */
#include "lib/test.h"

#include "base/listen_spec.h"
#include "cli/gateway_call.h"

static void every_listener_is_asked_where_this_machine_reaches_it(void **state)
{
    static const struct {
        const char *address, *url; /* NULL: it cannot be asked */
    } cases[] = {
        {"127.0.0.1:8080", "http://127.0.0.1:8080/ready"},
        {":8080", "http://127.0.0.1:8080/ready"},
        {"0.0.0.0:80", "http://127.0.0.1:80/ready"},
        {"[::]:80", "http://[::1]:80/ready"},
        {"[fe80::1]:80", "http://[fe80::1]:80/ready"},
        {"gateway.lan:8080", "http://gateway.lan:8080/ready"},
        {":9090+metrics", "http://127.0.0.1:9090/ready"},
        {":9090+admin", "http://127.0.0.1:9090/ready"},
        {":8443+tls", "https://127.0.0.1:8443/ready"},
        {"[::]:8443+metrics+tls", "https://[::1]:8443/ready"},
        {"unix:/run/a.sock", "unix:/run/a.sock:/ready"},
        {"unix:/run/a+b/c.sock+admin", "unix:/run/a+b/c.sock:/ready"},
        {":8080+proxy", NULL},
        {":8080+tls+proxy", NULL},
        {"unix:/a+tls", NULL},
        {"127.0.0.1:0", NULL},
        {"fd:api", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf url = {.limit = 0};

        assert_int_equal(gateway_url(cases[i].address, "/ready", &url), cases[i].url != NULL);
        assert_string_equal(buf_cstr(&url), cases[i].url == NULL ? "" : cases[i].url);
        buf_fini(&url);
    }
}

static void the_listener_that_asks_for_the_least_is_found_first(void **state)
{
    static const struct {
        const char *listen[4];
        unsigned marks;
        const char *url; /* NULL: none */
    } cases[] = {
        {{":80+tls", "127.0.0.1:81"}, 0, "http://127.0.0.1:81/x"},
        {{":80+tls", "127.0.0.1:81+proxy"}, 0, "https://127.0.0.1:80/x"},
        {{":80", "127.0.0.1:81"}, 0, "http://127.0.0.1:80/x"},
        {{"127.0.0.1:80", "127.0.0.1:81+metrics"}, LISTEN_ADMIN, NULL},
        {{"127.0.0.1:80", ":81+admin"}, LISTEN_ADMIN, "http://127.0.0.1:81/x"},
        {{":80+admin", ":81+admin+tls", "unix:/a+admin"}, LISTEN_ADMIN, "unix:/a:/x"},
        {{":80+admin", "127.0.0.1:81+admin+tls"}, LISTEN_ADMIN, "https://127.0.0.1:81/x"},
        {{":80+admin+tls", "10.0.0.1:81+admin"}, LISTEN_ADMIN, "http://10.0.0.1:81/x"},
        {{"fd:a+admin", "127.0.0.1:0+admin", ":80+admin+proxy"}, LISTEN_ADMIN, NULL},
        {{NULL}, 0, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *items[4];
        struct config_list listen = {.items = items};
        struct buf url = {.limit = 0};
        const char *found;

        for (; cases[i].listen[listen.n] != NULL; listen.n++)
            items[listen.n] = cases[i].listen[listen.n];
        found = gateway_find(&listen, cases[i].marks, "/x", &url);
        assert_int_equal(found != NULL, cases[i].url != NULL);
        assert_string_equal(buf_cstr(&url), cases[i].url == NULL ? "" : cases[i].url);
        buf_fini(&url);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_listener_is_asked_where_this_machine_reaches_it),
        cmocka_unit_test(the_listener_that_asks_for_the_least_is_found_first),
    };

    return cmocka_run_group_tests_name("gateway_call", tests, NULL, NULL);
}
