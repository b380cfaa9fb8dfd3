/* test_url_policy.c -- which URLs of strangers may be used, and how they are
 * written then. */
#include "http/url_policy.h"

#include "lib/fixture.h"
#include "lib/test.h"

static const struct url_policy public_only = {.mode = URL_PUBLIC};
static const struct url_policy web = {.mode = URL_WEB};
static const struct url_policy any = {.mode = URL_ANY};

static struct arena arena;

static int teardown(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

/* From a block of exactly its size. */
static bool check(const struct url_policy *policy, str url, struct allowed_url *ret, struct err *e)
{
    char *copy = exact_copy(url);
    int rc =
        url_policy_check(policy, str_from(copy, url.len), "tools[0].server_url", &arena, ret, e);

    free(copy);
    return rc == 0;
}

static void check_allowed(const struct url_policy *policy, const char *url, const char *written)
{
    struct allowed_url got;
    struct err e;

    if (!check(policy, str_from_c(url), &got, &e))
        fail_msg("%s: %s", url, e.msg);
    assert_string_equal(got.text, written);
}

static void check_refused(const struct url_policy *policy, str url, const char *reason)
{
    struct allowed_url got;
    struct err e = {.code = ERR_NONE};

    if (check(policy, url, &got, &e))
        fail_msg("%.*s", STR_ARG(url));
    assert_int_equal(err_http_status(&e), 400);
    assert_string_equal(e.param, "tools[0].server_url");
    if (reason != NULL && strstr(e.msg, reason) == NULL)
        fail_msg("%.*s: %s", STR_ARG(url), e.msg);
}

static void public_urls_are_written_in_one_way(void **state)
{
    static const char *const urls[][2] = {
        {"https://mcp.example.com", "https://mcp.example.com/"},
        {"HTTPS://MCP.Example.COM:443/Path?Q=1", "https://mcp.example.com/Path?Q=1"},
        {"https://mcp.example.com./mcp", "https://mcp.example.com/mcp"},
        {"https://mcp.example.com.:8443/mcp", "https://mcp.example.com:8443/mcp"},
        {"https://mcp.example.com?a=b", "https://mcp.example.com/?a=b"},
        {"https://mcp.example.com:08443/", "https://mcp.example.com:8443/"},
        {"https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"},
        {"https://1.2.3.4.example.com/", "https://1.2.3.4.example.com/"},
        {"https://a_b.example/%41//../x", "https://a_b.example/%41//../x"},
        {"https://localhost.example/", "https://localhost.example/"},
        {"https://notlocal.notinternal/", "https://notlocal.notinternal/"},
        {"https://h.example/@x:y", "https://h.example/@x:y"},
        {"https://h.0xg/", "https://h.0xg/"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(urls); i++)
        check_allowed(&public_only, urls[i][0], urls[i][1]);
}

static void the_parts_of_a_url_are_told(void **state)
{
    struct allowed_url url;
    struct err e;

    (void)state;
    assert_true(check(&public_only, STR("https://H.example:8443/mcp?token=s"), &url, &e));
    assert_str_c(url.origin, "https://h.example:8443");
    assert_str_c(url.host, "h.example");
    assert_str_c(url.shown, "https://h.example:8443/mcp");
    assert_str_c(url.query, "token=s");
    assert_true(check(&any, STR("http://[::1]:80/mcp"), &url, &e));
    assert_str_c(url.origin, "http://[::1]");
    assert_str_c(url.host, "[::1]");
    assert_str_c(url.shown, url.text);
    assert_true(str_is_none(url.query));
}

#define NOT_HTTPS   "does not begin with https://"
#define IP          "its host is an IP address"
#define MALFORMED   "its host is malformed"
#define PORT        "its port is not"
#define CREDENTIALS "a user or a password"
#define NO_DOMAIN   "its host has no domain"
#define LOCAL       "its host is a local name"

/* MCP 16.1, 16.2 */
static void urls_that_may_lead_elsewhere_are_refused(void **state)
{
    static const char *const urls[][2] = {
        {"", NOT_HTTPS},
        {"http://mcp.example.com/", NOT_HTTPS},
        {"ftp://mcp.example.com/", NOT_HTTPS},
        {"file:///etc/passwd", NOT_HTTPS},
        {"unix:/run/x.sock", NOT_HTTPS},
        {"https:mcp.example.com", NOT_HTTPS},
        {"https:/mcp.example.com", NOT_HTTPS},
        {"//mcp.example.com", NOT_HTTPS},
        {"mcp.example.com", NOT_HTTPS},
        {"https://127.0.0.1/", IP},
        {"https://127.0.0.1./", IP},
        {"https://93.184.216.34/", IP},
        {"https://127.1/", IP},
        {"https://2130706433/", IP},
        {"https://017700000001/", IP},
        {"https://0x7f000001/", IP},
        {"https://0X7F.0.0.0x1/", IP},
        {"https://0x/", IP},
        {"https://h.0x/", IP},
        {"https://h.example.1/", IP},
        {"https://256.256.256.256/", IP},
        {"https://1.2.3.4.5/", IP},
        {"https://[::1]/", IP},
        {"https://[::ffff:127.0.0.1]/", IP},
        {"https://[2606:4700:4700::1111]:8443/", IP},
        {"https://[fe80::1%25eth0]/", MALFORMED},
        {"https://[fe80::1%eth0]/", MALFORMED},
        {"https://[::1/", MALFORMED},
        {"https://[]/", MALFORMED},
        {"https://[mcp.example.com]/", MALFORMED},
        {"https://[::1]x/", MALFORMED},
        {"https://[::1]./", MALFORMED},
        {"https://localhost/", NO_DOMAIN},
        {"https://localhost./", NO_DOMAIN},
        {"https://intranet/", NO_DOMAIN},
        {"https://local/", NO_DOMAIN},
        {"https://a.LOCALHOST/", LOCAL},
        {"https://a.b.localhost./", LOCAL},
        {"https://printer.local/", LOCAL},
        {"https://metadata.google.internal/", LOCAL},
        {"https://user@mcp.example.com/", CREDENTIALS},
        {"https://user:secret@mcp.example.com/", CREDENTIALS},
        {"https://@mcp.example.com/", CREDENTIALS},
        {"https://mcp.example.com@127.0.0.1/", CREDENTIALS},
        {"https://mcp.example.com#@127.0.0.1/", "a fragment"},
        {"https://mcp.example.com/#x", "a fragment"},
        {"https://mcp.example.com\\@127.0.0.1/", "a backslash"},
        {"https://mcp.example.com/a b", "spaces or control characters"},
        {" https://mcp.example.com/", "spaces or control characters"},
        {"https://mcp.example.com/\r\nHost: x", "spaces or control characters"},
        {"https://mcp.example.com/\x7f", "spaces or control characters"},
        {"https://b\303\274cher.example/", "it is not ASCII"},
        {"https://127\343\200\2020\343\200\2020\343\200\2021/", "it is not ASCII"},
        {"https://\xe2\x91\xa0.example/", "it is not ASCII"},
        {"https://mcp.example.com/\xc3\xbc", "it is not ASCII"},
        {"https://", "it has no host"},
        {"https:///", "it has no host"},
        {"https:///mcp.example.com/", "it has no host"},
        {"https://./", "it has no host"},
        {"https://:8443/", "it has no host"},
        {"https://mcp..example.com/", MALFORMED},
        {"https://.example.com/", MALFORMED},
        {"https://mcp.example.com../", MALFORMED},
        {"https://%6cocalhost/", MALFORMED},
        {"https://mcp.example.com%00.x.y/", MALFORMED},
        {"https://mcp.exa*mple.com/", MALFORMED},
        {"https://mcp.example.com:/", PORT},
        {"https://mcp.example.com:0/", PORT},
        {"https://mcp.example.com:65536/", PORT},
        {"https://mcp.example.com:+443/", PORT},
        {"https://mcp.example.com:443:443/", PORT},
        {"https://mcp.example.com:18446744073709552059/", PORT},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(urls); i++)
        check_refused(&public_only, str_from_c(urls[i][0]), urls[i][1]);
    check_refused(&public_only, STR("https://mcp.example.com/\0"), "control characters");
}

static void lengths_have_limits(void **state)
{
    static const char start[] = "https://mcp.example.com/";
    char url[URL_MAX_BYTES + 1], host[400];
    struct allowed_url got;
    struct err e;

    (void)state;
    memset(url, 'x', sizeof(url));
    memcpy(url, start, strlen(start));
    assert_true(check(&public_only, str_from(url, URL_MAX_BYTES), &got, &e));
    check_refused(&public_only, str_from(url, sizeof(url)), "longer than 2048 bytes");
    (void)snprintf(host, sizeof(host), "https://%063d.example/", 0);
    assert_true(check(&public_only, str_from_c(host), &got, &e));
    (void)snprintf(host, sizeof(host), "https://%064d.example/", 0);
    check_refused(&public_only, str_from_c(host), MALFORMED);
    (void)snprintf(host, sizeof(host), "https://%060d.%060d.%060d.%060d.%09dx/", 0, 0, 0, 0, 0);
    check_refused(&public_only, str_from_c(host), MALFORMED);
    (void)snprintf(host, sizeof(host), "https://%060d.%060d.%060d.%060d.%08dx/", 0, 0, 0, 0, 0);
    assert_true(check(&public_only, str_from_c(host), &got, &e));
}

static void web_mode_takes_http_of_public_hosts_at_usual_ports(void **state)
{
    static const char *const urls[][2] = {
        {"http://example.com/a?b", "http://example.com/a?b"},
        {"HTTP://Example.com:80", "http://example.com/"},
        {"https://example.com.:443/", "https://example.com/"},
        {"http://example.com:443/", "http://example.com:443/"},
        {"http://example.com:8080/", "http://example.com:8080/"},
        {"https://example.com:8443/", "https://example.com:8443/"},
        {"https://example.com:8000/", "https://example.com:8000/"},
    };
    static const char *const refused[][2] = {
        {"ftp://example.com/", NOT_HTTPS},
        {"http://example.com:22/", "its port is none of"},
        {"https://example.com:6379/", "its port is none of"},
        {"http://example.com:65535/", "its port is none of"},
        {"http://127.0.0.1/", IP},
        {"http://2130706433/", IP},
        {"http://93.184.216.34/", IP},
        {"http://[2606:4700:4700::1111]/", IP},
        {"http://localhost/", NO_DOMAIN},
        {"http://intranet:8080/", NO_DOMAIN},
        {"http://metadata.google.internal/computeMetadata/v1/", LOCAL},
        {"http://printer.local/", LOCAL},
        {"http://u:p@example.com/", CREDENTIALS},
        {"http://example.com\\@127.0.0.1/", "a backslash"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(urls); i++)
        check_allowed(&web, urls[i][0], urls[i][1]);
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        check_refused(&web, str_from_c(refused[i][0]), refused[i][1]);
}

static void any_mode_takes_http_and_every_host(void **state)
{
    static const char *const urls[][2] = {
        {"http://127.0.0.1:8000/mcp", "http://127.0.0.1:8000/mcp"},
        {"http://localhost:80", "http://localhost/"},
        {"HTTP://[FE80::A]:443/", "http://[fe80::a]:443/"},
        {"https://[::1]:443/", "https://[::1]/"},
        {"https://intranet/", "https://intranet/"},
    };
    static const char *const refused[] = {
        "unix:/run/x.sock",   "http://u:p@h/",         "http://h/#f",
        "http://[::1%25lo]/", "http://b\303\274cher/", "http://h/\n",
        "http://[1]/",        "http://h h/",           "http://h:x/",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(urls); i++)
        check_allowed(&any, urls[i][0], urls[i][1]);
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        check_refused(&any, str_from_c(refused[i]), NULL);
}

static void off_mode_takes_nothing(void **state)
{
    static const struct url_policy off = {.mode = URL_OFF};
    struct allowed_url got;
    struct err e;

    (void)state;
    assert_false(check(&off, STR("https://mcp.example.com/"), &got, &e));
    assert_int_equal(e.code, ERR_UNSUPPORTED_PARAMETER);
    assert_string_equal(e.param, "tools[0].server_url");
}

static void lists_of_hosts_narrow_what_is_allowed(void **state)
{
    static const char *const allowed[] = {"mcp.example.com", "*.Example.org"};
    static const char *const denied[] = {"bad.example.org", "*.bad.example.org"};
    static const struct url_policy listed = {
        URL_PUBLIC, {allowed, COUNT_OF(allowed)}, {denied, COUNT_OF(denied)}};
    static const struct url_policy not_denied = {URL_PUBLIC, {NULL, 0}, {denied, COUNT_OF(denied)}};
    static const char *const good[] = {"https://MCP.example.com/", "https://a.example.org/",
                                       "https://a.b.example.org./"};
    static const char *const bad[] = {
        "https://x.mcp.example.com/", "https://example.org/",        "https://notexample.org/",
        "https://bad.example.org/",   "https://BAD.example.org.:1/", "https://x.bad.example.org/",
    };
    struct allowed_url got;
    struct err e;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_true(check(&listed, str_from_c(good[i]), &got, &e));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        check_refused(&listed, str_from_c(bad[i]), "does not allow its host");
    assert_true(check(&not_denied, STR("https://elsewhere.example/"), &got, &e));
    check_refused(&not_denied, STR("https://bad.example.org/"), "does not allow its host");
}

static void the_message_repeats_nothing_of_the_url(void **state)
{
    struct allowed_url got;
    struct err e;

    (void)state;
    assert_false(check(&public_only, STR("http://u:p@sec.ret/?token=sec.ret"), &got, &e));
    assert_null(strstr(e.msg, "sec.ret"));
    assert_string_equal(e.msg,
                        "Invalid URL in 'tools[0].server_url': it has a user or a password.");
}

static void no_memory_is_told_as_such(void **state)
{
    struct arena small;
    struct allowed_url got;
    struct err e;

    (void)state;
    arena_init(&small, 8);
    assert_int_equal(
        url_policy_check(&public_only, STR("https://h.example/"), "x", &small, &got, &e), -1);
    assert_int_equal(err_http_status(&e), 500);
    arena_fini(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(public_urls_are_written_in_one_way, teardown),
        cmocka_unit_test_teardown(the_parts_of_a_url_are_told, teardown),
        cmocka_unit_test_teardown(urls_that_may_lead_elsewhere_are_refused, teardown),
        cmocka_unit_test_teardown(lengths_have_limits, teardown),
        cmocka_unit_test_teardown(web_mode_takes_http_of_public_hosts_at_usual_ports, teardown),
        cmocka_unit_test_teardown(any_mode_takes_http_and_every_host, teardown),
        cmocka_unit_test_teardown(off_mode_takes_nothing, teardown),
        cmocka_unit_test_teardown(lists_of_hosts_narrow_what_is_allowed, teardown),
        cmocka_unit_test_teardown(the_message_repeats_nothing_of_the_url, teardown),
        cmocka_unit_test_teardown(no_memory_is_told_as_such, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
