/* test_http_url.c -- which URLs our own transport serves, and their parts. */
#include "http/http_url.h"
#include "lib/test.h"

static void plain_urls_are_taken_apart(void **state)
{
    static const struct {
        const char *url, *host, *authority, *target;
        uint16_t port;
    } cases[] = {
        {"http://h", "h", "h", "", 80},
        {"HTTP://H-1.example/v1/x?a=b", "H-1.example", "H-1.example", "/v1/x?a=b", 80},
        {"http://h:80/", "h", "h", "/", 80},
        {"http://h:8080?q", "h", "h:8080", "?q", 8080},
        {"http://10.0.0.1:1/%20", "10.0.0.1", "10.0.0.1:1", "/%20", 1},
        {"http://[::1]:9/", "::1", "[::1]:9", "/", 9},
        {"http://[fe80::1]/", "fe80::1", "[fe80::1]", "/", 80},
        {"http://h:65535/@", "h", "h:65535", "/@", 65535},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct http_url url;

        assert_true(http_url_split(cases[i].url, &url));
        assert_true(str_is_none(url.socket_path));
        assert_str_c(url.host, cases[i].host);
        assert_str_c(url.authority, cases[i].authority);
        assert_str_c(url.target, cases[i].target);
        assert_int_equal(url.port, cases[i].port);
    }
}

static void unix_urls_are_taken_apart(void **state)
{
    static const struct {
        const char *url, *path, *target;
    } cases[] = {
        {"unix:/run/x.sock", "/run/x.sock", "/"},
        {"unix:/run/x.sock:/v1/models?q", "/run/x.sock", "/v1/models?q"},
        {"unix:/a:b:/c:/d", "/a:b", "/c:/d"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct http_url url;

        assert_true(http_url_split(cases[i].url, &url));
        assert_true(str_is_none(url.host));
        assert_str_c(url.socket_path, cases[i].path);
        assert_str_c(url.authority, "localhost");
        assert_str_c(url.target, cases[i].target);
    }
}

static void other_urls_are_left_to_libcurl(void **state)
{
    static const char *const urls[] = {"",
                                       "http://",
                                       "http:/h",
                                       "https://h/",
                                       "http://u@h/",
                                       "http://h:/",
                                       "http://h:0/",
                                       "http://h:x/",
                                       "http://h:65536/",
                                       "http://h/a b",
                                       "http://h/#",
                                       "http://h#x",
                                       "http://h/\xc3",
                                       "http://\xc3\xa9/",
                                       "http://[::1",
                                       "http://[]/",
                                       "http://[::1]x/",
                                       "http://[fe80::1%25lo]/",
                                       "http://h%41/",
                                       "http://h:1:2/",
                                       "unix:x:/",
                                       "unix:",
                                       "unix:/x:/a b"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        struct http_url url;

        if (http_url_split(urls[i], &url))
            fail_msg("%s", urls[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_urls_are_taken_apart),
        cmocka_unit_test(unix_urls_are_taken_apart),
        cmocka_unit_test(other_urls_are_left_to_libcurl),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
