/* test_mcp_config_entry.c -- the keys of an entry: names, values, secrets. */
#include "unit/mcp_config_fixture.h"

static void defaults_are_those_of_the_contract(void **state)
{
    struct listing l = {.file = ONE("\"command\": \"x\"")};
    const struct mcp_server_conf *s;

    (void)state;
    listing_fine(&l);
    s = listing_server(&l, "s");
    assert_true(mcp_server_conf_is_usable(s));
    assert_false(s->is_required);
    assert_int_equal(s->startup_timeout_ms, 60000);
    assert_int_equal(s->call_timeout_ms, 60000);
    assert_int_equal(s->max_call_ms, 600000);
    assert_int_equal(s->refresh_interval_ms, 0);
    assert_int_equal(s->max_concurrency, 8);
    assert_int_equal(s->max_message_bytes, 8 << 20);
    assert_int_equal(s->max_result_bytes, 256 << 10);
    assert_int_equal(s->protocol, MCP_PROTOCOL_AUTO);
    assert_int_equal(s->inject, MCP_INJECT_DEFAULT);
    assert_int_equal(s->approval.mode, MCP_APPROVAL_NEVER);
    assert_true(mcp_server_conf_offers(s, STR("any")));
    assert_false(s->inherit_env.is_given);
    assert_true(str_is_none(s->bearer_token.hidden));
    assert_string_equal(s->argv[0], "x");
    assert_null(s->argv[1]);
    listing_end(&l);
}

static void transports_are_named_or_inferred(void **state)
{
    static const struct {
        const char *file;
        enum mcp_transport transport;
        bool is_sse_guess;
    } cases[] = {
        {ONE("\"command\": \"x\""), MCP_TRANSPORT_STDIO, false},
        {ONE("\"url\": \"http://h/mcp\""), MCP_TRANSPORT_HTTP, false},
        {ONE("\"serverUrl\": \"http://h/mcp\""), MCP_TRANSPORT_HTTP, false},
        {ONE("\"httpUrl\": \"HTTPS://h\""), MCP_TRANSPORT_HTTP, false},
        {ONE("\"url\": \"http://h/sse\""), MCP_TRANSPORT_SSE, true},
        {ONE("\"url\": \"http://h/a/sse/?k=v#f\""), MCP_TRANSPORT_SSE, true},
        {ONE("\"url\": \"http://h/mcp?next=/sse\""), MCP_TRANSPORT_HTTP, false},
        {ONE("\"url\": \"http://sse\""), MCP_TRANSPORT_HTTP, false},
        {ONE("\"type\": \"sse\", \"url\": \"http://h/mcp\""), MCP_TRANSPORT_SSE, false},
        {ONE("\"type\": \"http\", \"url\": \"http://h/sse\""), MCP_TRANSPORT_HTTP, false},
        {ONE("\"transport\": \"streamable-http\", \"url\": \"http://h/\""), MCP_TRANSPORT_HTTP,
         false},
        {ONE("\"type\": \"streamable_http\", \"url\": \"http://h/\""), MCP_TRANSPORT_HTTP, false},
        {ONE("\"type\": \"streamableHttp\", \"url\": \"http://h/\""), MCP_TRANSPORT_HTTP, false},
        {ONE("\"type\": null, \"url\": null, \"command\": \"x\""), MCP_TRANSPORT_STDIO, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct listing l = {.file = cases[i].file};
        const struct mcp_server_conf *s = listing_one(&l, true);

        if (s->transport != cases[i].transport || s->is_sse_guess != cases[i].is_sse_guess)
            fail_msg("%s: %s", cases[i].file, mcp_transport_name(s->transport));
        listing_end(&l);
    }
}

static void wrong_values_are_refused_by_key(void **state)
{
    static const struct {
        const char *file, *problem;
    } cases[] = {
        {ONE("\"type\": \"websocket\", \"url\": \"ws://h/\""),
         "type: must be \"stdio\", \"http\", \"streamable-http\" or \"sse\""},
        {ONE("\"type\": 1"), "type: must be \"stdio\""},
        {ONE("\"command\": [\"npx\", \"x\"]"), "command: must be a string"},
        {ONE("\"command\": \"\""), "command: must not be empty"},
        {ONE("\"command\": \"${EMPTY}\""), "command: must not be empty"},
        {ONE("\"command\": \"a\\u0000b\""), "command: must not contain a NUL"},
        {ONE("\"command\": \"x\", \"args\": \"-v\""), "args: must be an array of strings"},
        {ONE("\"command\": \"x\", \"args\": [\"a\", []]"), "args[1]: must be a string"},
        {ONE("\"command\": \"x\", \"env\": [\"A=b\"]"), "env: must be an object of strings"},
        {ONE("\"command\": \"x\", \"env\": {\"A\": {}}"), "env.A: must be a string"},
        {ONE("\"command\": \"x\", \"env\": {\"A=\": \"b\"}"), "env: a name is empty"},
        {ONE("\"command\": \"x\", \"inheritEnv\": \"PATH\""), "inheritEnv: must be \"all\""},
        {ONE("\"command\": \"x\", \"inheritEnv\": [1]"), "inheritEnv: must be an array of names"},
        {ONE("\"command\": \"x\", \"cwd\": 5"), "cwd: must be a string"},
        {ONE("\"url\": \"h/mcp\""), "url: must begin with http:// or https:// and a host"},
        {ONE("\"url\": \"https://me:p@ss@h/mcp\""),
         "url: has a host or port that is malformed or can be read in two ways"},
        {ONE("\"url\": \"http://\""), "url: must begin with"},
        {ONE("\"url\": \"http://:80/\""), "url: must begin with"},
        {ONE("\"url\": \"ftp://h/\""), "url: must begin with"},
        {ONE("\"url\": \"http://h/a b\""), "url: must begin with"},
        {ONE("\"url\": \"http://h/\", \"headers\": {\"A B\": \"c\"}"),
         "headers.A B: is not the name of a header"},
        {ONE("\"url\": \"http://h/\", \"headers\": {\"A\": \"b\\r\\nC: d\"}"),
         "headers.A: must be printable ASCII"},
        {ONE("\"url\": \"http://h/\", \"headers\": {\"A\": \"b\\n\"}"),
         "headers.A: must be printable ASCII"},
        {ONE("\"url\": \"http://h/\", \"bearerToken\": \"a b\""), "bearerToken: the token must be"},
        {ONE("\"url\": \"http://h/\", \"bearerTokenEnv\": \"NONE\""),
         "bearerTokenEnv: the environment variable \"NONE\" is not set"},
        {ONE("\"url\": \"http://h/\", \"bearerTokenEnv\": \"EMPTY\""),
         "bearerTokenEnv: the environment variable \"EMPTY\" is not set"},
        {ONE("\"url\": \"http://h/\", \"bearerToken\": \"a\", \"bearerTokenFile\": \"/f\""),
         "has several of \"bearerToken\""},
        {ONE("\"command\": \"x\", \"disabled\": \"yes\""), "disabled: must be true or false"},
        {ONE("\"command\": \"x\", \"timeout\": 0"), "timeout: must be a whole number from 1 to"},
        {ONE("\"command\": \"x\", \"callTimeoutMs\": \"5s\""),
         "callTimeoutMs: must be a whole number"},
        {ONE("\"command\": \"x\", \"maxCallMs\": 86400001"), "maxCallMs: must be a whole number"},
        {ONE("\"command\": \"x\", \"maxConcurrency\": 1.5"),
         "maxConcurrency: must be a whole number from 1 to 1024"},
        {ONE("\"command\": \"x\", \"tools\": {\"a\": true}"), "tools: must be an array of names"},
        {ONE("\"command\": \"x\", \"requireApproval\": \"maybe\""),
         "requireApproval: must be \"never\""},
        {ONE("\"command\": \"x\", \"inject\": \"never\""),
         "inject: must be \"declared\" or \"always\""},
        {ONE("\"command\": \"x\", \"protocol\": \"2025-11-25\""),
         "protocol: must be \"auto\", \"legacy\" or \"2026-07-28\""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct listing l = {.file = cases[i].file, .env = {"EMPTY="}};
        const struct mcp_server_conf *s = listing_one(&l, false);

        if (strstr(s->problem, cases[i].problem) != s->problem)
            fail_msg("%s: %s", cases[i].file, s->problem);
        assert_int_equal(l.problems.n_errors, 0);
        listing_end(&l);
    }
}

static void harmless_things_are_warnings(void **state)
{
    static const struct {
        const char *file, *says;
    } cases[] = {
        {ONE("\"command\": \"x\", \"arg\": []"),
         "line 1: MCP server \"s\": unknown key \"arg\" has no effect; did you mean \"args\"?"},
        {ONE("\"command\": \"x\", \"description\": \"y\""),
         "unknown key \"description\" has no effect"},
        {ONE("\"command\": \"x\", \"command\": \"y\""),
         "command: is there twice; the last one counts"},
        {ONE("\"serverUrl\": \"http://a/\", \"url\": \"http://b/\""),
         "is there under another name as well; the last one counts"},
        {ONE("\"command\": \"npx -y x\""), "command: is one word, since no shell reads it"},
        {ONE("\"url\": \"http://h/\", \"env\": {\"A\": \"b\"}"),
         "env: has no effect on a server that is connected to by its URL"},
        {ONE("\"command\": \"x\", \"bearerToken\": \"b\""),
         "bearerToken: has no effect on a server that is started by a command"},
        {ONE("\"url\": \"http://h/\", \"headers\": {\"accept\": \"text/plain\"}"),
         "headers.accept: is set by the gateway itself"},
        {ONE("\"url\": \"http://h/\", \"headers\": {\"MCP-Session-Id\": \"x\"}"),
         "headers.MCP-Session-Id: is set by the gateway itself"},
        {ONE("\"url\": \"http://h/\", \"headers\": {\"A\": \"b\", \"a\": \"c\"}"),
         "headers.a: is there twice"},
        {ONE("\"url\": \"http://h/\", \"bearerToken\": \"b\", "
             "\"headers\": {\"authorization\": \"x\"}"),
         "headers.authorization: is not sent, since there is a bearer token"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct listing l = {.file = cases[i].file};

        (void)listing_one(&l, true);
        assert_int_equal(l.problems.n_warnings, 1);
        listing_says(&l, cases[i].says);
        listing_end(&l);
    }
}

static void empty_containers_of_the_other_transport_are_no_matter(void **state)
{
    struct listing l = {
        .file = ONE("\"url\": \"http://h/\", \"env\": {}, \"args\": [ ], \"cwd\": null")};

    (void)state;
    listing_fine(&l);
    listing_end(&l);
}

static void dropped_headers_are_gone_and_others_stay(void **state)
{
    struct listing l = {.file = ONE("\"url\": \"http://h/\", \"headers\": {\"Content-Type\": "
                                    "\"x\", \"Host\": \"other\", \"X\": \"\"}")};
    const struct mcp_server_conf *s = listing_one(&l, true);

    (void)state;
    assert_int_equal(s->headers.n, 2);
    assert_str_c(s->headers.items[0].name, "Host");
    assert_str_c(s->headers.items[1].value.hidden, "");
    listing_end(&l);
}

static void numbers_and_truths_may_stand_for_strings(void **state)
{
    struct listing l = {
        .file = ONE("\"command\": \"x\", \"args\": [8080, true], \"env\": {\"PORT\": 80}")};
    const struct mcp_server_conf *s = listing_one(&l, true);

    (void)state;
    assert_string_equal(s->argv[1], "8080");
    assert_string_equal(s->argv[2], "true");
    assert_str_c(s->env.items[0].value.hidden, "80");
    listing_end(&l);
}

static void texts_are_expanded_everywhere(void **state)
{
    struct listing stdio = {.env = {"V=value", "HOME=/h"},
                            .file = ONE("\"command\": \"${V}\", \"args\": [\"-${V}\"], "
                                        "\"env\": {\"A\": \"${env:V}\"}, "
                                        "\"cwd\": \"${userHome}/x\", \"envFile\": \"/${V}\"")};
    struct listing http = {.env = {"V=value", "T=token"},
                           .file = ONE("\"url\": \"http://${V}/\", \"headers\": {\"A\": "
                                       "\"${N:-x}\"}, \"bearerToken\": \"${T}\"")};
    struct listing named = {.env = {"T=token"},
                            .file = ONE("\"url\": \"http://h/\", "
                                        "\"bearer_token_env_var\": \"T\"")};
    const struct mcp_server_conf *s = listing_one(&stdio, true);

    (void)state;
    assert_string_equal(s->argv[0], "value");
    assert_string_equal(s->argv[1], "-value");
    assert_str_c(s->env.items[0].value.hidden, "value");
    assert_string_equal(s->cwd, "/h/x");
    assert_string_equal(s->env_file, "/value");
    s = listing_one(&http, true);
    assert_str_c(s->url.hidden, "http://value/");
    assert_str_c(s->headers.items[0].value.hidden, "x");
    assert_str_c(s->bearer_token.hidden, "token");
    assert_str_c(listing_one(&named, true)->bearer_token.hidden, "token");
    listing_end(&stdio);
    listing_end(&http);
    listing_end(&named);
}

static void parent_variables_are_inherited_by_name_or_all(void **state)
{
    struct listing named = {.file = ONE("\"command\": \"x\", \"inheritEnv\": [\"A\", \"B\"]")};
    struct listing all = {.file = ONE("\"command\": \"x\", \"inheritEnv\": \"all\"")};
    const struct mcp_server_conf *s = listing_one(&named, true);

    (void)state;
    assert_false(s->inherits_all);
    assert_int_equal(s->inherit_env.n, 2);
    assert_str_c(s->inherit_env.items[1], "B");
    assert_true(listing_one(&all, true)->inherits_all);
    listing_end(&named);
    listing_end(&all);
}

static void call_may_last_ten_of_its_own_waits(void **state)
{
    struct listing l = {.file = ONE("\"command\": \"x\", \"callTimeoutMs\": 700000")};
    struct listing hasty = {.file = ONE("\"command\": \"x\", \"timeout\": 2")};

    (void)state;
    assert_int_equal(listing_one(&l, true)->max_call_ms, 7000000);
    assert_int_equal(listing_one(&hasty, true)->max_call_ms, 20000);
    listing_end(&l);
    listing_end(&hasty);
}

static void timeout_below_a_thousand_is_seconds(void **state)
{
    static const struct {
        const char *file;
        uint64_t ms;
    } cases[] = {
        {ONE("\"command\": \"x\", \"timeout\": 30"), 30000},
        {ONE("\"command\": \"x\", \"timeout\": 999"), 999000},
        {ONE("\"command\": \"x\", \"timeout\": 1000"), 1000},
        {ONE("\"command\": \"x\", \"callTimeoutMs\": 30"), 30},
        {ONE("\"command\": \"x\", \"callTimeoutMs\": 30, \"timeout\": 5"), 30},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct listing l = {.file = cases[i].file};

        assert_int_equal(listing_one(&l, true)->call_timeout_ms, cases[i].ms);
        listing_end(&l);
    }
}

static void exclusion_wins_over_allowance(void **state)
{
    struct listing l = {.file = ONE("\"command\": \"x\", \"includeTools\": [\"a\", \"b\"], "
                                    "\"disabledTools\": [\"b\"]")};
    struct listing all = {.file = ONE("\"command\": \"x\", \"tools\": [\"*\"]")};
    struct listing none = {.file = ONE("\"command\": \"x\", \"allowedTools\": []")};
    const struct mcp_server_conf *s = listing_one(&l, true);

    (void)state;
    assert_true(mcp_server_conf_offers(s, STR("a")));
    assert_false(mcp_server_conf_offers(s, STR("b")));
    assert_false(mcp_server_conf_offers(s, STR("A")));
    assert_true(mcp_server_conf_offers(listing_one(&all, true), STR("any")));
    assert_false(mcp_server_conf_offers(listing_one(&none, true), STR("any")));
    listing_end(&l);
    listing_end(&all);
    listing_end(&none);
}

static void approval_of_the_file_is_a_floor(void **state)
{
    struct listing l = {.file = ONE("\"command\": \"x\", \"requireApproval\": \"always\", "
                                    "\"autoApprove\": [\"a\"]")};
    const struct mcp_server_conf *s = listing_one(&l, true);
    const struct mcp_approval never = {.mode = MCP_APPROVAL_NEVER};

    (void)state;
    assert_true(mcp_approval_is_needed(&s->approval, &never, STR("b"), true));
    assert_false(mcp_approval_is_needed(&s->approval, &never, STR("a"), true));
    listing_end(&l);
}

static bool is_secret(const struct mcp_server_conf *s, const char *text)
{
    for (size_t i = 0; i < s->n_secrets; i++) {
        if (str_eq(s->secrets[i], str_from_c(text)))
            return true;
    }
    return false;
}

static void secrets_are_known_for_redaction(void **state)
{
    static const char *const of_http[] = {"user:p%40ss",   "p%40ss",     "p@ss", "dXNlcjpwQHNz",
                                          "k=v-query&z=w", "v-query",    "w",    "Basic abc",
                                          "abc",           "host-value", "token"};
    struct listing stdio = {.env = {"V=arg-value", "HOME=/h"},
                            .file = ONE("\"command\": \"${HOME}/x\", \"args\": [\"--k=${V}\"], "
                                        "\"env\": {\"A\": \"env-value\"}")};
    struct listing http = {.env = {"V=host-value"},
                           .file = ONE("\"url\": \"http://user:p%40ss@${V}/p?k=v-query&z=w#f\", "
                                       "\"headers\": {\"A\": \"Basic abc\"}, "
                                       "\"bearerToken\": \"token\"")};
    const struct mcp_server_conf *s = listing_one(&stdio, true);

    (void)state;
    assert_true(is_secret(s, "env-value"));
    assert_true(is_secret(s, "arg-value"));
    assert_false(is_secret(s, "/h"));
    s = listing_one(&http, true);
    for (size_t i = 0; i < COUNT_OF(of_http); i++) {
        if (!is_secret(s, of_http[i]))
            fail_msg("%s is not kept as a secret", of_http[i]);
    }
    listing_end(&stdio);
    listing_end(&http);
}

static void shown_has_no_secrets(void **state)
{
    static const struct {
        const char *file, *shown;
    } cases[] = {
        {ONE("\"command\": \"${V}/x\", \"args\": [\"--key\", \"secret\"]"), "${V}/x"},
        {ONE("\"url\": \"http://secret:secret@h:1/p?k=secret#secret\""), "http://h:1/p"},
        {ONE("\"url\": \"http://h/${V}/mcp\""), "http://h/${V}/mcp"},
        {ONE("\"url\": \"${V}://h/\""), "${V}://h/"},
        {ONE("\"url\": \"${V}://secret:secret@h/?secret\""), "h/"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct listing l = {.file = cases[i].file, .env = {"V=https"}};

        assert_string_equal(listing_one(&l, true)->shown, cases[i].shown);
        listing_end(&l);
    }
}

static void messages_have_no_values(void **state)
{
    static const char *const files[] = {
        ONE("\"command\": [\"secret\"], \"args\": [{\"secret\": 1}], \"env\": {\"A\": [\"secret\"]}"),
        ONE("\"command\": \"secret\\u0000\", \"env\": {\"A\": \"secret\\u0000\"}"),
        ONE("\"url\": \"secret\", \"headers\": {\"A\": \"secret\\n\"}, \"bearerToken\": \"secret \""),
        ONE("\"url\": \"http://secret@/\", \"headers\": {\"Accept\": \"secret\"}"),
        ONE("\"url\": \"${V}\", \"headers\": {\"A\": \"${V}${NONE}\"}"),
        ONE("\"type\": \"secret\", \"command\": \"secret ${V} ${\""),
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct listing l = {.file = files[i], .env = {"V=secret"}};

        (void)listing_one(&l, false);
        assert_true(l.problems.n_warnings > 0);
        if (strstr(buf_cstr(&l.lines), "secret") != NULL)
            fail_msg("%s", buf_cstr(&l.lines));
        listing_end(&l);
    }
}

static void labels_are_checked(void **state)
{
    static const struct {
        const char *file;
        bool is_good;
    } cases[] = {
        {"{\"servers\": {\"Az0_-\": {\"command\": \"x\"}}}", true},
        {"{\"servers\": {\"\\u0061\": {\"command\": \"x\"}}}", true},
        {"{\"servers\": {\"\": {\"command\": \"x\"}}}", false},
        {"{\"servers\": {\"a.b\": {\"command\": \"x\"}}}", false},
        {"{\"servers\": {\"\\u0000\": {\"command\": \"x\"}}}", false},
        {"{\"servers\": {\"0123456789012345678901234567890123456789012345678901234567890123\": "
         "{\"command\": \"x\"}}}",
         true},
        {"{\"servers\": {\"01234567890123456789012345678901234567890123456789012345678901234\": "
         "{\"command\": \"x\"}}}",
         false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct listing l = {.file = cases[i].file};

        listing_parse(&l);
        if (mcp_server_conf_is_usable(&l.table->servers[0]) != cases[i].is_good)
            fail_msg("%s", cases[i].file);
        listing_end(&l);
    }
}

static void long_values_are_refused(void **state)
{
    struct buf big = {0};
    struct listing l = {.file = ONE("\"command\": \"x\", \"args\": [\"${BIG}${BIG}\"]")};

    (void)state;
    buf_c(&big, "BIG=");
    for (size_t i = 0; i < 70000; i++)
        buf_char(&big, 'x');
    l.env[0] = buf_cstr(&big);
    assert_string_equal(listing_one(&l, false)->problem, "args[0]: longer than 128 KiB");
    listing_end(&l);
    buf_fini(&big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_contract),
        cmocka_unit_test(transports_are_named_or_inferred),
        cmocka_unit_test(wrong_values_are_refused_by_key),
        cmocka_unit_test(harmless_things_are_warnings),
        cmocka_unit_test(empty_containers_of_the_other_transport_are_no_matter),
        cmocka_unit_test(dropped_headers_are_gone_and_others_stay),
        cmocka_unit_test(numbers_and_truths_may_stand_for_strings),
        cmocka_unit_test(texts_are_expanded_everywhere),
        cmocka_unit_test(parent_variables_are_inherited_by_name_or_all),
        cmocka_unit_test(call_may_last_ten_of_its_own_waits),
        cmocka_unit_test(timeout_below_a_thousand_is_seconds),
        cmocka_unit_test(exclusion_wins_over_allowance),
        cmocka_unit_test(approval_of_the_file_is_a_floor),
        cmocka_unit_test(secrets_are_known_for_redaction),
        cmocka_unit_test(shown_has_no_secrets),
        cmocka_unit_test(messages_have_no_values),
        cmocka_unit_test(labels_are_checked),
        cmocka_unit_test(long_values_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
