/* test_search_domains.c -- which hosts URLs have, and which of them a filter lets through. */
#include "search/search_domains.h"

#include "lib/fixture.h"
#include "lib/test.h"
#include "search/search.h"

/* From a block of exactly its size. */
static bool allows(const struct search_query *q, const char *url)
{
    char *copy = exact_copy(str_from_c(url));
    bool is = search_allows(q, str_from(copy, strlen(url)));

    free(copy);
    return is;
}

static void without_a_filter_every_web_page_is_allowed(void **state)
{
    static const char *const pages[] = {"https://example.org/", "http://example.org",
                                        "HTTPS://EXAMPLE.ORG:8443/x?y=https://z@w/#f",
                                        "https://127.0.0.1/", "https://[2001:db8::1]:443/"};
    static const char *const others[] = {
        "",
        "ftp://example.org/",
        "javascript:alert(1)",
        "//example.org/",
        "https:example.org",
        "https://",
        "https:///x",
        "https://user@example.org/",
        "https://example.org\\@evil.example/",
        "https://exa mple.org/",
        "https://example.org/\n",
        "https://ex\xc3\xa4mple.org/",
        "https://example.org%00.evil.example/",
        "https://example.org:x/",
        "https://[::1/",
        "https://[::1]x/",
        "https://[]/",
        "https://.example.org/",
        "https://./",
    };
    const struct search_query none = {.n_allowed = 0};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(pages); i++) {
        if (!allows(&none, pages[i]))
            fail_msg("%s", pages[i]);
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (allows(&none, others[i]))
            fail_msg("%s", others[i]);
    }
}

static void a_domain_stands_for_itself_and_all_below_it(void **state)
{
    static const str domains[] = {STR_INIT("Example.org"), STR_INIT("docs.example.com")};
    const struct search_query q = {.allowed_domains = domains, .n_allowed = 2};
    static const char *const good[] = {"https://example.org/", "https://EXAMPLE.org./",
                                       "http://a.b.example.org:8080/x", "https://docs.example.com",
                                       "https://v2.docs.example.com"};
    static const char *const bad[] = {
        "https://example.com/",
        "https://notexample.org/",
        "https://example.org.evil.example/",
        "https://evil.example/example.org",
        "https://evil.example/?https://example.org/",
        "https://evil.example#example.org",
        "https://example.org@evil.example/",
        "https://evil.example:443/@example.org",
        "https://evil.example\\.example.org/",
        "https://org/",
        "https://xdocs.example.com/",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        if (!allows(&q, good[i]))
            fail_msg("%s", good[i]);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (allows(&q, bad[i]))
            fail_msg("%s", bad[i]);
    }
}

static void a_blocked_domain_wins(void **state)
{
    static const str allowed[] = {STR_INIT("example.org")};
    static const str blocked[] = {STR_INIT("ads.example.org")};
    const struct search_query both = {
        .allowed_domains = allowed, .n_allowed = 1, .blocked_domains = blocked, .n_blocked = 1};
    const struct search_query only_blocked = {.blocked_domains = blocked, .n_blocked = 1};

    (void)state;
    assert_true(allows(&both, "https://www.example.org/"));
    assert_false(allows(&both, "https://ads.example.org/"));
    assert_false(allows(&both, "https://x.ads.example.org./"));
    assert_true(allows(&only_blocked, "https://elsewhere.example/"));
    assert_false(allows(&only_blocked, "https://ADS.example.org:1/"));
}

static void domains_are_read_as_people_write_them(void **state)
{
    static const char *const written[][2] = {
        {"example.org", "example.org"},          {" example.org. ", "example.org"},
        {"*.example.org", "example.org"},        {".example.org", "example.org"},
        {"https://example.org/", "example.org"}, {"HTTP://Example.org:8080/x", "Example.org"},
        {"example.org/docs", "example.org"},
    };
    static const char *const nothing[] = {"",
                                          ".",
                                          "*",
                                          "a b",
                                          "ex\xc3\xa4mple.org",

                                          "\"x\"",
                                          "https://",
                                          "user@example.org"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(written); i++)
        assert_str_c(search_domain(str_from_c(written[i][0])), written[i][1]);
    for (size_t i = 0; i < COUNT_OF(nothing); i++) {
        if (!str_is_none(search_domain(str_from_c(nothing[i]))))
            fail_msg("%s", nothing[i]);
    }
}

/* Else a filter that nobody can read would let everything through. */
static void a_filter_of_no_domain_allows_nothing(void **state)
{
    static const str domains[] = {STR_INIT("not a domain"), STR_INIT("")};
    const struct search_query q = {.allowed_domains = domains, .n_allowed = 2};

    (void)state;
    assert_false(allows(&q, "https://example.org/"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_filter_every_web_page_is_allowed),
        cmocka_unit_test(a_domain_stands_for_itself_and_all_below_it),
        cmocka_unit_test(a_blocked_domain_wins),
        cmocka_unit_test(domains_are_read_as_people_write_them),
        cmocka_unit_test(a_filter_of_no_domain_allows_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
