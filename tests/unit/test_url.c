/* test_url.c -- the parts of URLs, which hosts are clear, and what of a URL is shown. */
#include "base/url.h"

#include "lib/fixture.h"
#include "lib/test.h"

struct example {
    const char *text; /* NULL below: the part is not there */
    const char *scheme, *userinfo, *host, *port, *path, *query, *fragment;
};

static void check_part(const char *url, const char *name, str got, const char *expected)
{
    if (str_is_none(got) != (expected == NULL) || !str_eq(got, str_from_c(expected)))
        fail_msg("%s: the %s is %.*s", url, name, STR_ARG(got));
}

static void check_example(const struct example *e)
{
    char *copy = exact_copy(str_from_c(e->text));
    struct url u = url_split(str_from(copy, strlen(e->text)));

    check_part(e->text, "scheme", u.scheme, e->scheme);
    check_part(e->text, "userinfo", u.userinfo, e->userinfo);
    check_part(e->text, "host", u.host, e->host);
    check_part(e->text, "port", u.port, e->port);
    check_part(e->text, "path", u.path, e->path);
    check_part(e->text, "query", u.query, e->query);
    check_part(e->text, "fragment", u.fragment, e->fragment);
    assert_true(str_starts_with(u.target, u.path));
    free(copy);
}

/* RFC 3986, 1.1.2 and 3. */
static void the_examples_of_the_rfc_are_taken_apart(void **state)
{
    static const struct example examples[] = {
        {"ftp://ftp.is.co.za/rfc/rfc1808.txt", "ftp", NULL, "ftp.is.co.za", NULL,
         "/rfc/rfc1808.txt", NULL, NULL},
        {"http://www.ietf.org/rfc/rfc2396.txt", "http", NULL, "www.ietf.org", NULL,
         "/rfc/rfc2396.txt", NULL, NULL},
        {"ldap://[2001:db8::7]/c=GB?objectClass?one", "ldap", NULL, "[2001:db8::7]", NULL, "/c=GB",
         "objectClass?one", NULL},
        {"mailto:John.Doe@example.com", "mailto", NULL, NULL, NULL, "John.Doe@example.com", NULL,
         NULL},
        {"tel:+1-816-555-1212", "tel", NULL, NULL, NULL, "+1-816-555-1212", NULL, NULL},
        {"telnet://192.0.2.16:80/", "telnet", NULL, "192.0.2.16", "80", "/", NULL, NULL},
        {"urn:oasis:names:specification:docbook:dtd:xml:4.1.2", "urn", NULL, NULL, NULL,
         "oasis:names:specification:docbook:dtd:xml:4.1.2", NULL, NULL},
        {"foo://example.com:8042/over/there?name=ferret#nose", "foo", NULL, "example.com", "8042",
         "/over/there", "name=ferret", "nose"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(examples); i++)
        check_example(&examples[i]);
}

static void every_text_has_parts(void **state)
{
    static const struct example examples[] = {
        {"", NULL, NULL, NULL, NULL, "", NULL, NULL},
        {"a/b:c", NULL, NULL, NULL, NULL, "a/b:c", NULL, NULL},
        {":x", NULL, NULL, NULL, NULL, ":x", NULL, NULL},
        {"1a:x", NULL, NULL, NULL, NULL, "1a:x", NULL, NULL},
        {"a_b://h", NULL, NULL, NULL, NULL, "a_b://h", NULL, NULL},
        {"x+y-1.z:", "x+y-1.z", NULL, NULL, NULL, "", NULL, NULL},
        {"//h?", NULL, NULL, "h", NULL, "", "", NULL},
        {"?a?b#c#d?e", NULL, NULL, NULL, NULL, "", "a?b", "c#d?e"},
        {"file:///etc", "file", NULL, "", NULL, "/etc", NULL, NULL},
        {"http:h", "http", NULL, NULL, NULL, "h", NULL, NULL},
        {"http://:80", "http", NULL, "", "80", "", NULL, NULL},
        {"http://h:#f", "http", NULL, "h", "", "", NULL, "f"},
        {"http://@h", "http", "", "h", NULL, "", NULL, NULL},
        {"http://u:p@[::1]:9?q@r", "http", "u:p", "[::1]", "9", "", "q@r", NULL},
        {"http://a:b:c/", "http", NULL, "a", "b:c", "/", NULL, NULL},
        {"http://[::1]x:9/", "http", NULL, "[::1]x:9", NULL, "/", NULL, NULL},
        {"http://[::1/", "http", NULL, "[::1", NULL, "/", NULL, NULL},
        /* No reader ends the authority later, and none the userinfo. */
        {"http://a@b@c/", "http", "a@b", "c", NULL, "/", NULL, NULL},
        {"http://good#@evil/", "http", NULL, "good", NULL, "", NULL, "@evil/"},
        {"http://good?@evil/", "http", NULL, "good", NULL, "", "@evil/", NULL},
        {"http://good/@evil/", "http", NULL, "good", NULL, "/@evil/", NULL, NULL},
        {"http://good\\@evil/", "http", "good\\", "evil", NULL, "/", NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(examples); i++)
        check_example(&examples[i]);
}

static void an_authority_can_stand_alone(void **state)
{
    struct url u = url_split_authority(STR("me@[::1]:80"));

    (void)state;
    assert_str_c(u.authority, "me@[::1]:80");
    assert_str_c(u.userinfo, "me");
    assert_str_c(u.host, "[::1]");
    assert_str_c(url_bare_host(&u), "::1");
    assert_str_c(u.port, "80");
    assert_str_c(u.path, "");
    u = url_split_authority(STR("localhost:80/x"));
    assert_true(str_is_none(u.scheme));
    assert_str_c(u.host, "localhost");
    assert_str_c(u.port, "80/x");
    assert_false(url_host_is_clear(&u));
}

static void a_clear_host_is_the_same_for_all(void **state)
{
    static const char *const clear[] = {
        "http://h",
        "http://u:p@h:80/",
        "//h",
        "http://@h",
        "http://[::1]:80/",
        "http://h:",
        "http://h/@x@y",
        "http://u%40x:p%2F@h/",
        "http://[fe80::1%25eth0]/",
        "http://[::ffff:1.2.3.4]",
        "http://b\xc3\xbc.example/",
        "http://h/a\\b c",
    };
    static const char *const unclear[] = {
        "",
        "h",
        "http:h",
        "http://",
        "http:///h",
        "http://:80/",
        "http://u@/",
        "http://a@b@c/",
        "http://a\\@b/",
        "http://a\\b/",
        "http://a b/",
        "http://a\tb/",
        "http://a\x7f/",
        "http://[::1/",
        "http://[::1]x/",
        "http://[]/",
        "http://[h]/",
        "http://[v1.x]/",
        "http://x[::1]/",
        "http://[::1%]/",
        "http://[[::1]]/",
        "http://[::1]@h/",
        "http://h%41/",
        "http://h:8x/",
        "http://a:b:c/",
        "http://h:-1/",
        "http://[1]/",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(clear); i++) {
        struct url u = url_split(str_from_c(clear[i]));

        if (!url_host_is_clear(&u))
            fail_msg("%s", clear[i]);
    }
    for (size_t i = 0; i < COUNT_OF(unclear); i++) {
        struct url u = url_split(str_from_c(unclear[i]));

        if (url_host_is_clear(&u))
            fail_msg("%s", unclear[i]);
    }
}

static void a_port_is_a_number_or_the_usual_one(void **state)
{
    static const struct {
        const char *authority;
        int port; /* -1: none can be meant */
    } cases[] = {
        {"h", 443},   {"h:1", 1},  {"h:065535", 65535}, {"[::1]:80", 80},
        {"h:", -1},   {"h:0", -1}, {"h:65536", -1},     {"h:18446744073709551617", -1},
        {"h:+1", -1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct url u = url_split_authority(str_from_c(cases[i].authority));
        uint16_t port = 7;

        assert_int_equal(url_port(&u, 443, &port), cases[i].port != -1);
        assert_int_equal(port, cases[i].port == -1 ? 7 : cases[i].port);
    }
}

static void http_has_an_authority(void **state)
{
    struct url https = url_split(STR("HTTPS://h")), http = url_split(STR("Http://h"));
    struct url bare = url_split(STR("https:h")), other = url_split(STR("httpx://h"));

    (void)state;
    assert_true(url_is_http(&https) && url_is_https(&https));
    assert_true(url_is_http(&http) && !url_is_https(&http));
    assert_false(url_is_http(&bare) || url_is_http(&other));
}

static void what_is_shown_holds_no_secret(void **state)
{
    static const char *const cases[][2] = {
        {"https://u:s@h:8/x?s#s", "https://h:8/x"},
        {"https://u@s@h/@x", "https://h/@x"},
        {"//u:s@h", "//h"},
        {"h/sse?key=s&next=https://z", "h/sse"},
        {"u:s@h/sse?s", "h/sse"},
        {"s@s@h", "h"},
        {"${A}://u:s@h/x", "h/x"},
        {"${A}://h/${B}?s", "${A}://h/${B}"},
        {"http://u:${A}@h/", "http://h/"},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf out = {.limit = 0};

        url_write_shown(str_from_c(cases[i][0]), &out);
        assert_str_c(buf_str(&out), cases[i][1]);
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_the_rfc_are_taken_apart),
        cmocka_unit_test(every_text_has_parts),
        cmocka_unit_test(an_authority_can_stand_alone),
        cmocka_unit_test(a_clear_host_is_the_same_for_all),
        cmocka_unit_test(a_port_is_a_number_or_the_usual_one),
        cmocka_unit_test(http_has_an_authority),
        cmocka_unit_test(what_is_shown_holds_no_secret),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
