/* test_health_command.c -- where `antiphon health` asks. */
#include "lib/test.h"

#include "cli/health_command.h"

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

        assert_int_equal(health_url(cases[i].address, &url), cases[i].url != NULL);
        assert_string_equal(buf_cstr(&url), cases[i].url == NULL ? "" : cases[i].url);
        buf_fini(&url);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_listener_is_asked_where_this_machine_reaches_it),
    };

    return cmocka_run_group_tests_name("health_command", tests, NULL, NULL);
}
