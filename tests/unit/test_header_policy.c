/* test_header_policy.c -- which header fields of strangers are sent, and how. */
#include "http/header_policy.h"

#include "lib/test.h"

static struct arena arena;

static int teardown(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static bool check(const struct http_header *headers, size_t n, str authorization,
                  struct header_list *ret, struct err *e)
{
    return header_policy_check(headers, n, authorization, "tools[2]", &arena, ret, e) == 0;
}

static void check_refused(const struct http_header *headers, size_t n, str authorization,
                          const char *param, const char *message)
{
    struct header_list got;
    struct err e = {.code = ERR_NONE};

    if (check(headers, n, authorization, &got, &e))
        fail_msg("%s", message);
    assert_int_equal(err_http_status(&e), 400);
    assert_string_equal(e.param, param);
    if (strstr(e.msg, message) == NULL)
        fail_msg("%s", e.msg);
}

static void plain_fields_are_sent_as_they_are(void **state)
{
    static const struct http_header headers[] = {
        {STR_INIT("X-Api-Key"), STR_INIT("k")},
        {STR_INIT("x-empty"), STR_INIT("")},
        {STR_INIT("X-Blank"), STR_INIT(" \t a\tb ~ ")},
        {STR_INIT("authorization"), STR_INIT("Basic eDp5")},
        {STR_INIT("!#$%&'*+-.^_`|~9"), STR_INIT("v")},
        {STR_INIT("Hosts"), STR_INIT("v")},
        {STR_INIT("Contents"), STR_INIT("v")},
        {STR_INIT("Mcp"), STR_INIT("v")},
        {STR_INIT("Tea"), STR_INIT("v")},
    };
    struct header_list got;
    struct err e;

    (void)state;
    assert_true(check(headers, COUNT_OF(headers), STR_NONE, &got, &e));
    assert_int_equal(got.n, COUNT_OF(headers));
    for (size_t i = 0; i < got.n; i++)
        assert_str_eq(got.fields[i].name, headers[i].name);
    assert_str_c(got.fields[1].value, "");
    assert_str_c(got.fields[2].value, "a\tb ~");
    assert_str_c(got.fields[3].value, "Basic eDp5");
    assert_true(check(NULL, 0, STR_NONE, &got, &e));
    assert_int_equal(got.n, 0);
}

static void authorization_becomes_a_bearer_and_replaces_that_of_headers(void **state)
{
    static const struct http_header headers[] = {
        {STR_INIT("AUTHORIZATION"), STR_INIT("Basic old")},
        {STR_INIT("X-A"), STR_INIT("a")},
    };
    struct header_list got;
    struct err e;

    (void)state;
    assert_true(check(headers, COUNT_OF(headers), STR(" tok.en "), &got, &e));
    assert_int_equal(got.n, 2);
    assert_str_c(got.fields[0].name, "X-A");
    assert_str_c(got.fields[1].name, "Authorization");
    assert_str_c(got.fields[1].value, "Bearer tok.en");
    assert_true(check(NULL, 0, STR("t"), &got, &e));
    assert_int_equal(got.n, 1);
}

/* MCP 16.5 */
static void fields_of_the_gateway_are_refused(void **state)
{
    static const char *const names[] = {
        "Host",
        "content-length",
        "Content-Type",
        "CONTENT-X",
        "Connection",
        "Transfer-Encoding",
        "Upgrade",
        "TE",
        "Trailer",
        "Keep-Alive",
        "Expect",
        "Proxy-Authorization",
        "proxy-x",
        "Accept",
        "Accept-Encoding",
        "Mcp-Session-Id",
        "MCP-Protocol-Version",
        "mcp-param-x",
        "Last-Event-ID",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct http_header h = {str_from_c(names[i]), STR("v")};

        check_refused(&h, 1, STR_NONE, "tools[2].headers", "' is set by the gateway");
    }
}

static void names_must_be_tokens(void **state)
{
    static const str names[] = {
        STR_INIT(""),    STR_INIT("a b"), STR_INIT("a:"),    STR_INIT("a\r\nb"),
        STR_INIT(" a"),  STR_INIT("a\0"), STR_INIT("a\x7f"), STR_INIT("\xc3\xa9"),
        STR_INIT("(a)"), STR_INIT("a/b"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct http_header h = {names[i], STR("v")};

        check_refused(&h, 1, STR_NONE, "tools[2].headers", "a name is not one of an HTTP header");
    }
}

static void values_must_be_printable(void **state)
{
    static const str values[] = {
        STR_INIT("a\r\nX-B: b"), STR_INIT("a\n"),  STR_INIT("\r"),
        STR_INIT("a\0b"),        STR_INIT("\x7f"), STR_INIT("\xc3\xa9"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        struct http_header h = {STR("X-A"), values[i]};

        check_refused(&h, 1, STR_NONE, "tools[2].headers", "'X-A' has characters other than");
        check_refused(NULL, 0, values[i], "tools[2].authorization", "a token of printable ASCII");
    }
    check_refused(NULL, 0, STR(""), "tools[2].authorization", "a token of printable ASCII");
    check_refused(NULL, 0, STR(" "), "tools[2].authorization", "a token of printable ASCII");
}

static void two_authorizations_are_refused(void **state)
{
    static const struct http_header headers[] = {
        {STR_INIT("Authorization"), STR_INIT("a")},
        {STR_INIT("authorization"), STR_INIT("b")},
    };

    (void)state;
    check_refused(headers, 2, STR_NONE, "tools[2].headers", "'authorization' is there twice");
    check_refused(headers, 2, STR("token"), "tools[2].headers", "is there twice");
}

static void count_and_size_have_limits(void **state)
{
    static char long_value[HEADER_POLICY_MAX_BYTES];
    struct http_header headers[HEADER_POLICY_MAX_FIELDS + 1];
    struct header_list got;
    struct err e;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(headers); i++)
        headers[i] = (struct http_header){STR("X-A"), STR("v")};
    assert_true(check(headers, HEADER_POLICY_MAX_FIELDS, STR("token"), &got, &e));
    assert_int_equal(got.n, HEADER_POLICY_MAX_FIELDS + 1);
    check_refused(headers, COUNT_OF(headers), STR_NONE, "tools[2].headers", "more than 32");
    memset(long_value, 'v', sizeof(long_value));
    headers[0].value = str_from(long_value, sizeof(long_value) - 3);
    assert_true(check(headers, 1, STR_NONE, &got, &e));
    check_refused(headers, 1, STR("t"), "tools[2].headers", "larger than 8 KiB");
    headers[0].value.len++;
    check_refused(headers, 1, STR_NONE, "tools[2].headers", "larger than 8 KiB");
}

static void messages_never_repeat_a_value(void **state)
{
    static const struct http_header h = {STR_INIT("X-A"), STR_INIT("sec\nret")};
    struct header_list got;
    struct err e;

    (void)state;
    assert_false(check(&h, 1, STR("token"), &got, &e));
    assert_string_equal(e.msg, "Invalid value in 'tools[2].headers': 'X-A' has characters other "
                               "than printable ASCII.");
    assert_false(check(NULL, 0, STR("to\nken"), &got, &e));
    assert_string_equal(e.msg, "Invalid value in 'tools[2].authorization': it must be a token of "
                               "printable ASCII.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(plain_fields_are_sent_as_they_are, teardown),
        cmocka_unit_test_teardown(authorization_becomes_a_bearer_and_replaces_that_of_headers,
                                  teardown),
        cmocka_unit_test_teardown(fields_of_the_gateway_are_refused, teardown),
        cmocka_unit_test_teardown(names_must_be_tokens, teardown),
        cmocka_unit_test_teardown(values_must_be_printable, teardown),
        cmocka_unit_test_teardown(two_authorizations_are_refused, teardown),
        cmocka_unit_test_teardown(count_and_size_have_limits, teardown),
        cmocka_unit_test_teardown(messages_never_repeat_a_value, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
