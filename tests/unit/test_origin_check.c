/* test_origin_check.c -- which requests may come from a page that must not send them. */
#include "http/origin_check.h"

#include "lib/fixture.h"
#include "lib/test.h"

static const char *const listed[] = {"https://chat.example.org", "http://ui.example.org:3000",
                                     "vscode-webview://mine"};
static const char *const all[] = {"*"};
static const char *const own[] = {"ai.example.com", "*.gw.example.com"};

/* A gateway without keys, with them, with names, open to all pages, and with origins. */
static const struct origin_policy plain = {.asks_for_key = false};
static const struct origin_policy keyed = {.asks_for_key = true};
static const struct origin_policy named = {.names = {own, COUNT_OF(own)}, .is_only_names = true};
static const struct origin_policy open_to_all = {.cors = {all, 1}};
static const struct origin_policy with_origins = {.cors = {listed, COUNT_OF(listed)}};

/* Where a request came to. */
enum { LOOPBACK, NETWORK, UNIX };

struct request {
    const char *origin, *site, *host; /* NULL: not sent */
};

/* With headers from blocks of exactly their size, which are freed. */
static bool is_taken(const struct origin_policy *policy, const struct http_request *like,
                     const struct request *sent, struct err *e)
{
    const char *const values[] = {sent->origin, sent->site, sent->host};
    static const char *const names[] = {"origin", "sec-fetch-site", "host"};
    struct http_header headers[8];
    struct http_request r = *like;
    char *copies[3] = {NULL};
    size_t n = 0;
    int rc;

    for (size_t i = 0; i < like->n_headers; i++)
        headers[n++] = like->headers[i];
    for (size_t i = 0; i < 3; i++) {
        if (values[i] == NULL)
            continue;
        copies[i] = exact_copy(str_from_c(values[i]));
        headers[n++] =
            (struct http_header){str_from_c(names[i]), str_from(copies[i], strlen(values[i]))};
    }
    r.headers = headers;
    r.n_headers = n;
    rc = origin_check(policy, &r, false, e);
    for (size_t i = 0; i < 3; i++)
        free(copies[i]);
    return rc == 0;
}

static const struct http_listener unix_listener = {.text = "unix:/s", .is_unix = true};

static struct http_request request_to(int place)
{
    return (struct http_request){.method = STR("POST"),
                                 .on_loopback = place == LOOPBACK,
                                 .listener = place == UNIX ? &unix_listener : NULL,
                                 .peer = place == UNIX ? STR("unix") : STR("127.0.0.1")};
}

static void check(const struct origin_policy *policy, int place, const struct request *sent,
                  const char *key)
{
    const struct http_request like = request_to(place);
    struct err e = {.code = ERR_NONE};
    bool taken = is_taken(policy, &like, sent, &e);

    if (taken != (key == NULL))
        fail_msg("origin %s, site %s, host %s: %s", sent->origin, sent->site, sent->host,
                 taken ? "taken" : e.msg);
    if (taken)
        return;
    assert_int_equal(e.code, ERR_ORIGIN_NOT_ALLOWED);
    assert_int_equal(err_http_status(&e), 403);
    assert_string_equal(err_wire_code(&e), "origin_not_allowed");
    if (strstr(e.msg, key) == NULL)
        fail_msg("%s is not in: %s", key, e.msg);
}

/* What is refused names the key that would help. */
static void taken(const struct origin_policy *policy, int place, struct request sent)
{
    check(policy, place, &sent, NULL);
}

static void page_refused(const struct origin_policy *policy, int place, struct request sent)
{
    check(policy, place, &sent, "cors_origins");
}

static void name_refused(const struct origin_policy *policy, int place, struct request sent)
{
    check(policy, place, &sent, "host_names");
}

#define SENT(...) ((struct request){__VA_ARGS__})

/* ---- programs */

static void programs_that_are_no_browser_are_taken_everywhere(void **state)
{
    static const char *const hosts[] = {NULL,
                                        "",
                                        "localhost:8080",
                                        "127.0.0.1:8080",
                                        "127.8.9.1",
                                        "[::1]:8080",
                                        "[::ffff:127.0.0.1]",
                                        "10.1.2.3:8080",
                                        "antiphon",
                                        "antiphon_backend:80",
                                        "gw.localhost:8080",
                                        "localhost.",
                                        "host.docker.internal:8080",
                                        "antiphon.prod.svc.cluster.local",
                                        "nas.lan:8080",
                                        "box.home.arpa"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        taken(&plain, LOOPBACK, SENT(NULL, NULL, hosts[i]));
        taken(&named, NETWORK, SENT(NULL, NULL, hosts[i]));
        taken(&keyed, LOOPBACK, SENT(NULL, NULL, hosts[i]));
    }
}

static void programs_with_windows_have_schemes_of_their_own(void **state)
{
    static const char *const origins[] = {"vscode-webview://1a2b", "tauri://localhost",
                                          "chrome-extension://abc", "app://obsidian.md", "file://"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(origins); i++) {
        taken(&plain, LOOPBACK, SENT(origins[i], NULL, "localhost:8080"));
        taken(&plain, LOOPBACK, SENT(origins[i], "cross-site", "localhost:8080"));
        name_refused(&plain, LOOPBACK, SENT(origins[i], NULL, "evil.example"));
    }
}

/* ---- pages of other sites */

static void pages_of_other_origins_are_refused(void **state)
{
    static const char *const origins[] = {"https://evil.example",
                                          "http://localhost:8080@evil.example",
                                          "http://evil.example@localhost:8080",
                                          "http://evil.example:8080",
                                          "null",
                                          "http://localhost:3000",
                                          "http://127.0.0.1:8080",
                                          "http://localhost",
                                          "http://localhost:8080.evil.example",
                                          "http://localhost:80800",
                                          "http://xlocalhost:8080",
                                          "https://localhost:8081",
                                          "",
                                          "http://",
                                          "evil",
                                          "http://[localhost]:8080"};
    static const struct origin_policy *const policies[] = {&plain, &keyed, &named, &with_origins};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(origins); i++) {
        for (size_t p = 0; p < COUNT_OF(policies); p++) {
            page_refused(policies[p], LOOPBACK, SENT(origins[i], NULL, "localhost:8080"));
            page_refused(policies[p], NETWORK, SENT(origins[i], "cross-site", "localhost:8080"));
            page_refused(policies[p], UNIX, SENT(origins[i], "same-site", "localhost:8080"));
            taken(&open_to_all, LOOPBACK, SENT(origins[i], "cross-site", "evil.example"));
        }
    }
    page_refused(&plain, LOOPBACK, SENT(NULL, "cross-site", "localhost:8080"));
    page_refused(&plain, LOOPBACK, SENT(NULL, "same-site", "localhost:8080"));
    page_refused(&plain, LOOPBACK, SENT("http://localhost:8080", "cross-site", "localhost:8080"));
    page_refused(&plain, LOOPBACK, SENT("http://evil.example", NULL, NULL));
}

static void pages_of_our_own_origin_are_taken(void **state)
{
    static const char *const pairs[][2] = {
        {"http://localhost:8080", "localhost:8080"},
        {"HTTP://LocalHost:8080", "localhost:8080"},
        {"http://127.0.0.1:8080", "127.0.0.1:8080"},
        {"http://[::1]:8080", "[::1]:8080"},
        {"http://192.168.1.5", "192.168.1.5"},
        {"http://192.168.1.5", "192.168.1.5:80"},
        {"http://nas", "nas:80"},
        {"https://nas:443", "nas"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        taken(&plain, LOOPBACK, SENT(pairs[i][0], NULL, pairs[i][1]));
        taken(&plain, NETWORK, SENT(pairs[i][0], "same-origin", pairs[i][1]));
        taken(&keyed, UNIX, SENT(pairs[i][0], NULL, pairs[i][1]));
    }
    taken(&plain, LOOPBACK, SENT(NULL, "same-origin", "localhost:8080"));
    taken(&plain, LOOPBACK, SENT(NULL, "none", "localhost:8080"));
    taken(&plain, NETWORK, SENT("https://ai.example.com", "same-origin", "ai.example.com"));
}

/* A development server, or a proxy that does not pass Host on. */
static void a_browser_that_says_same_origin_is_believed(void **state)
{
    (void)state;
    taken(&plain, LOOPBACK, SENT("http://localhost:5173", "same-origin", "localhost:8080"));
    taken(&plain, LOOPBACK, SENT("https://ai.example.com", "same-origin", "127.0.0.1:8080"));
    taken(&plain, NETWORK, SENT("http://localhost:5173", "same-origin", "gw.example.net"));
}

static void listed_origins_are_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(listed); i++) {
        taken(&with_origins, LOOPBACK, SENT(listed[i], "cross-site", "localhost:8080"));
        taken(&with_origins, LOOPBACK, SENT(listed[i], NULL, "chat.example.org"));
    }
    page_refused(&with_origins, LOOPBACK,
                 SENT("https://chat.example.org:444", NULL, "localhost:8080"));
    page_refused(&with_origins, LOOPBACK, SENT("http://chat.example.org", NULL, "localhost:8080"));
}

static void images_of_listed_pages_are_taken(void **state)
{
    static const struct {
        const char *referer;
        bool taken;
    } cases[] = {
        {"https://chat.example.org/a/b?c", true},
        {"https://chat.example.org", true},
        {"http://ui.example.org:3000/", true},
        {"https://chat.example.org.evil/", false},
        {"https://evil/https://chat.example.org/", false},
        {"https://", false},
        {"", false},
        {"chat.example.org", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *referer = exact_copy(str_from_c(cases[i].referer));
        const struct http_header field = {STR("referer"),
                                          str_from(referer, strlen(cases[i].referer))};
        struct http_request like = request_to(LOOPBACK);
        struct err e;

        like.headers = &field;
        like.n_headers = 1;
        assert_int_equal(is_taken(&with_origins, &like, &SENT(NULL, "cross-site", "localhost"), &e),
                         cases[i].taken);
        assert_false(is_taken(&with_origins, &like, &SENT("null", "cross-site", "localhost"), &e));
        assert_false(is_taken(&plain, &like, &SENT(NULL, "cross-site", "localhost"), &e));
        free(referer);
    }
}

static void a_refusal_says_what_to_add(void **state)
{
    const struct http_request like = request_to(LOOPBACK);
    const struct request page = {"https://a.example:1", NULL, "localhost"};
    const struct request name = {NULL, NULL, "ai.example.com:8080"};
    char long_origin[3000] = "https://";
    const struct request endless = {long_origin, NULL, "localhost"};
    struct err e;

    (void)state;
    assert_false(is_taken(&plain, &like, &page, &e));
    assert_non_null(strstr(e.msg, "add https://a.example:1 to its configuration key cors_origins"));
    assert_false(is_taken(&plain, &like, &name, &e));
    assert_non_null(strstr(e.msg, "add ai.example.com to the configuration key host_names"));
    memset(long_origin + strlen(long_origin), 'x', sizeof(long_origin) - 1 - strlen("https://"));
    assert_false(is_taken(&plain, &like, &endless, &e));
    assert_true(strlen(e.msg) < 1000);
    assert_non_null(strstr(e.msg, "cors_origins"));
}

/* ---- names that were made to lead here */

static void names_of_others_are_refused_on_loopback_without_keys(void **state)
{
    static const char *const hosts[] = {"evil.example",
                                        "evil.test:8080",
                                        "EVIL.example.",
                                        "127.0.0.1.evil.example",
                                        "localhost.evil.example",
                                        "xlocal.example",
                                        "local.example",
                                        "a..",
                                        "evil.example:",
                                        "[::1]evil.example:8080",
                                        "1e.org",
                                        "a.internal.org"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        name_refused(&plain, LOOPBACK, SENT(NULL, NULL, hosts[i]));
        name_refused(&plain, LOOPBACK, SENT(NULL, "same-origin", hosts[i]));
        name_refused(&named, NETWORK, SENT(NULL, NULL, hosts[i]));
        taken(&plain, NETWORK, SENT(NULL, NULL, hosts[i]));
        taken(&plain, UNIX, SENT(NULL, NULL, hosts[i]));
        taken(&keyed, LOOPBACK, SENT(NULL, NULL, hosts[i]));
    }
    name_refused(&plain, LOOPBACK, SENT("http://evil.test:8080", NULL, "evil.test:8080"));
}

static void a_page_that_claims_a_name_is_refused_without_keys(void **state)
{
    const struct request page = {"http://evil.test:8080", NULL, "evil.test:8080"};

    (void)state;
    name_refused(&plain, NETWORK, page);
    taken(&keyed, NETWORK, page);
    taken(&plain, UNIX, page);
    taken(&plain, NETWORK, SENT("http://nas.lan:8080", NULL, "nas.lan:8080"));
    taken(&plain, NETWORK, SENT("https://ai.example.com", NULL, "ai.example.com"));
}

static void configured_names_are_taken(void **state)
{
    (void)state;
    for (int place = LOOPBACK; place <= UNIX; place++) {
        taken(&named, place, SENT(NULL, NULL, "ai.example.com:8080"));
        taken(&named, place, SENT("http://AI.example.com", NULL, "ai.example.com"));
        taken(&named, place, SENT(NULL, NULL, "eu.gw.example.com"));
    }
    name_refused(&named, LOOPBACK, SENT(NULL, NULL, "gw.example.com"));
    name_refused(&named, LOOPBACK, SENT(NULL, NULL, "xai.example.com"));
}

/* ---- methods */

static void an_upgrade_needs_an_origin_that_is_ours(void **state)
{
    struct http_request like = request_to(NETWORK);
    struct err e;

    (void)state;
    like.method = STR("GET");
    like.wants_upgrade = true;
    assert_true(is_taken(&plain, &like, &SENT(NULL, NULL, "ai.example.com"), &e));
    assert_true(
        is_taken(&keyed, &like, &SENT("http://localhost:8080", NULL, "localhost:8080"), &e));
    assert_true(
        is_taken(&keyed, &like, &SENT("https://ai.example.com", NULL, "ai.example.com"), &e));
    assert_true(is_taken(&with_origins, &like, &SENT(listed[2], NULL, "localhost:8080"), &e));
    assert_true(
        is_taken(&named, &like, &SENT("http://ai.example.com", NULL, "ai.example.com"), &e));
    assert_false(is_taken(&keyed, &like, &SENT("http://evil.test", NULL, "evil.test"), &e));
    assert_false(is_taken(&keyed, &like, &SENT("http://evil.test", NULL, "localhost"), &e));
    assert_false(is_taken(&plain, &like, &SENT("vscode-webview://x", NULL, "localhost"), &e));
    assert_false(is_taken(&plain, &like, &SENT("http://a", "same-origin", "localhost"), &e));
}

static void a_link_may_lead_to_what_is_harmless(void **state)
{
    static const struct http_header headers[] = {
        {STR_INIT("host"), STR_INIT("localhost:8080")},
        {STR_INIT("sec-fetch-site"), STR_INIT("cross-site")},
        {STR_INIT("sec-fetch-mode"), STR_INIT("navigate")},
        {STR_INIT("sec-fetch-dest"), STR_INIT("document")},
    };
    struct http_request r = {.method = STR("GET"), .headers = headers, .n_headers = 4};
    struct err e;

    (void)state;
    assert_int_equal(origin_check(&plain, &r, true, &e), 0);
    assert_int_equal(origin_check(&plain, &r, false, &e), -1);
    r.n_headers = 3; /* a frame within the page */
    assert_int_equal(origin_check(&plain, &r, true, &e), -1);
    r.n_headers = 4;
    r.method = STR("POST");
    assert_int_equal(origin_check(&plain, &r, true, &e), -1);
}

static void a_preflight_is_the_answers_to_judge(void **state)
{
    struct http_request like = request_to(LOOPBACK);
    struct err e;

    (void)state;
    like.method = STR("OPTIONS");
    assert_true(
        is_taken(&plain, &like, &SENT("https://evil.example", "cross-site", "localhost"), &e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_that_are_no_browser_are_taken_everywhere),
        cmocka_unit_test(programs_with_windows_have_schemes_of_their_own),
        cmocka_unit_test(pages_of_other_origins_are_refused),
        cmocka_unit_test(pages_of_our_own_origin_are_taken),
        cmocka_unit_test(a_browser_that_says_same_origin_is_believed),
        cmocka_unit_test(listed_origins_are_taken),
        cmocka_unit_test(images_of_listed_pages_are_taken),
        cmocka_unit_test(a_refusal_says_what_to_add),
        cmocka_unit_test(names_of_others_are_refused_on_loopback_without_keys),
        cmocka_unit_test(a_page_that_claims_a_name_is_refused_without_keys),
        cmocka_unit_test(configured_names_are_taken),
        cmocka_unit_test(an_upgrade_needs_an_origin_that_is_ours),
        cmocka_unit_test(a_link_may_lead_to_what_is_harmless),
        cmocka_unit_test(a_preflight_is_the_answers_to_judge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
