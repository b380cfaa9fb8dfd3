/* test_config.c -- where values come from, and what they may be. */
#include "unit/config_fixture.h"

static void defaults_are_those_of_the_table(void **state)
{
    struct load l = {0};

    (void)state;
    load_fine(&l);
    assert_string_equal(l.config.listen.items[0], "127.0.0.1:8080");
    assert_null(l.config.upstream);
    assert_null(l.config.upstream_key);
    assert_null(l.config.model);
    assert_int_equal(l.config.heartbeat_interval_ms, 15 * S);
    assert_int_equal(l.config.first_byte_timeout_ms, 30 * 60 * S);
    assert_int_equal(l.config.total_timeout_ms, 0);
    assert_int_equal(l.config.max_body_bytes, 32 << 20);
    assert_int_equal(l.config.max_headers, 100);
    assert_int_equal(l.config.reasoning, CONFIG_REASONING_TEXT);
    assert_true(l.config.summary_when_requested);
    assert_null(l.config.of_all_models[MODEL_THINK_TAGS]);
    assert_int_equal(l.config.log_level, CONFIG_LOG_LEVEL_INFO);
    assert_int_equal(l.problems.n_kept, 0);
    load_end(&l);
}

static void flags_win_over_variables_over_aliases_over_the_file(void **state)
{
    struct load l = {
        .args = {"--connect-timeout", "4s"},
        .env = {"ANTIPHON_CONNECT_TIMEOUT=3s", "ANTIPHON_IDLE_TIMEOUT=3s", "STREAM_TIMEOUT=2"},
        .file = "{\"connect_timeout\": \"1s\", \"idle_timeout\": \"1s\", "
                "\"first_byte_timeout\": \"1s\", \"total_timeout\": \"1s\"}",
    };

    (void)state;
    load_fine(&l);
    assert_int_equal(l.config.connect_timeout_ms, 4 * S);
    assert_int_equal(l.config.idle_timeout_ms, 3 * S);
    assert_int_equal(l.config.first_byte_timeout_ms, 2 * S);
    assert_int_equal(l.config.total_timeout_ms, 1 * S);
    load_end(&l);
}

static void flags_may_be_written_in_every_way(void **state)
{
    struct load l = {.args = {"--max-body=1KiB", "--max_head", "2KiB", "--no-error-event",
                              "--tls-verify=off", "--reasoning", "NONE",
                              "--summary-when-requested"}};

    (void)state;
    load_fine(&l);
    assert_int_equal(l.config.max_body_bytes, 1 << 10);
    assert_int_equal(l.config.max_head_bytes, 2 << 10);
    assert_false(l.config.error_event);
    assert_false(l.config.tls_verify);
    assert_int_equal(l.config.reasoning, CONFIG_REASONING_NONE);
    assert_true(l.config.summary_when_requested);
    load_end(&l);
}

static void later_flag_wins(void **state)
{
    struct load l = {.args = {"--workers", "1", "--workers", "2"}};

    (void)state;
    load_fine(&l);
    assert_int_equal(l.config.workers, 2);
    load_end(&l);
}

/* The elements of a list, joined with spaces. */
static void list_is(const struct config_list *list, const char *expected)
{
    struct buf joined = {0};

    for (size_t i = 0; i < list->n; i++) {
        buf_c(&joined, i == 0 ? "" : " ");
        buf_c(&joined, list->items[i]);
    }
    assert_str_c(buf_str(&joined), expected);
    buf_fini(&joined);
}

static void list_flags_add_to_each_other_and_replace_other_sources(void **state)
{
    struct load l = {.args = {"--listen", "a:1, b:2", "--listen=c:3"},
                     .env = {"ANTIPHON_LISTEN=d:4", "ANTIPHON_PASS_FIELDS=x , y*"},
                     .file = "{\"listen\": \"e:5\", \"pass_fields\": \"z\"}"};

    (void)state;
    load_fine(&l);
    list_is(&l.config.listen, "a:1 b:2 c:3");
    list_is(&l.config.pass_fields, "x y*");
    load_end(&l);
}

static void empty_list_removes_that_of_other_sources(void **state)
{
    struct load flag = {.args = {"--pass-fields", ""}};
    struct load file = {.file = "{\"pass_fields\": []}"};

    (void)state;
    load_fine(&flag);
    load_fine(&file);
    assert_int_equal(flag.config.pass_fields.n + file.config.pass_fields.n, 0);
    load_end(&flag);
    load_end(&file);
}

static void file_may_hold_lists_as_arrays_and_pairs_as_objects(void **state)
{
    struct load l = {.file = "{\"listen\": [\"a:1\", \"unix:/run/a,b\"],"
                             " \"model_alias\": {\"gpt-4o\": \"qwen3\", \"a,\\u0062\": \"c=d\"}}"};

    (void)state;
    load_fine(&l);
    list_is(&l.config.listen, "a:1 unix:/run/a,b");
    list_is(&l.config.model_alias, "gpt-4o=qwen3 a,b=c=d");
    load_end(&l);
}

static void many_elements_are_all_there(void **state)
{
    struct load l = {.args = {"--pass-fields"}};
    struct buf text = {0};

    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        buf_c(&text, i == 0 ? "f" : ",f");
        buf_uint(&text, i);
    }
    l.args[1] = buf_cstr(&text);
    load_fine(&l);
    assert_int_equal(l.config.pass_fields.n, 1000);
    assert_string_equal(l.config.pass_fields.items[513], "f513");
    load_end(&l);

    buf_c(&text, ",one_more");
    l.args[1] = buf_cstr(&text);
    FAILS(&l, "--pass-fields: more than 1000 elements");
    buf_fini(&text);
}

static void units_are_understood(void **state)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } cases[] = {
        {"250ms", 250}, {"1.5s", 1500}, {"2m", 120 * S}, {"1h", 3600 * S}, {"15.0", 15 * S}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct load l = {.args = {"--idle-timeout", cases[i].text}};

        load_fine(&l);
        assert_int_equal(l.config.idle_timeout_ms, cases[i].ms);
        load_end(&l);
    }
}

static void names_of_open_responses_server_are_understood(void **state)
{
    struct load l = {.env = {"OPENAI_BASE_URL_INTERNAL=http://gpu:8000/", "OPENAI_API_KEY=k1",
                             "API_ADAPTER_HOST=0.0.0.0", "API_ADAPTER_PORT=9000",
                             "HEARTBEAT_INTERVAL=-1.0", "STREAM_TIMEOUT=120.0",
                             "LOG_LEVEL=WARNING"}};

    (void)state;
    load_fine(&l);
    assert_string_equal(l.config.upstream, "http://gpu:8000/v1");
    assert_string_equal(l.config.upstream_key, "k1");
    assert_string_equal(l.config.listen.items[0], "0.0.0.0:9000");
    assert_int_equal(l.config.heartbeat_interval_ms, 0);
    assert_int_equal(l.config.first_byte_timeout_ms, 120 * S);
    assert_int_equal(l.config.idle_timeout_ms, 120 * S);
    assert_int_equal(l.config.log_level, CONFIG_LOG_LEVEL_WARN);
    load_end(&l);
}

static void host_and_port_alone_keep_the_other_default(void **state)
{
    static const struct {
        const char *variable, *listen;
    } cases[] = {{"API_ADAPTER_HOST=0.0.0.0", "0.0.0.0:8080"},
                 {"API_ADAPTER_HOST=::1", "[::1]:8080"},
                 {"API_ADAPTER_HOST=[::1]", "[::1]:8080"},
                 {"API_ADAPTER_PORT=81", "127.0.0.1:81"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct load l = {.env = {cases[i].variable}};

        load_fine(&l);
        assert_string_equal(l.config.listen.items[0], cases[i].listen);
        load_end(&l);
    }
}

static void host_alone_replaces_a_socket(void **state)
{
    struct load l = {.env = {"API_ADAPTER_HOST=0.0.0.0"}, .file = "{\"listen\": \"unix:/a\"}"};

    (void)state;
    load_fine(&l);
    list_is(&l.config.listen, "0.0.0.0:8080");
    load_end(&l);
}

static void empty_variables_count_as_not_set(void **state)
{
    struct load l = {.env = {"ANTIPHON_MAX_BODY=", "ANTIPHON_CONFIG=", "STREAM_TIMEOUT="}};

    (void)state;
    load_fine(&l);
    assert_int_equal(l.config.max_body_bytes, 32 << 20);
    load_end(&l);
}

static void file_may_hold_comments_trailing_commas_and_plain_values(void **state)
{
    struct load l = {.file = "// first\n"
                             "{ /* block // with \" quote\n*/ \"upstream\": \"http://h/a//b\",\n"
                             "  \"model\": \"a \\\"/* b */\\u0041,}\", // \"no\": 1\n"
                             "  \"error_event\": false, \"workers\": 3, \"max_body\": 4096,\n"
                             "  \"idle_timeout\": 1.5, /**/ }  // end"};

    (void)state;
    load_fine(&l);
    assert_string_equal(l.config.upstream, "http://h/a//b");
    assert_string_equal(l.config.model, "a \"/* b */A,}");
    assert_false(l.config.error_event);
    assert_int_equal(l.config.workers, 3);
    assert_int_equal(l.config.max_body_bytes, 4096);
    assert_int_equal(l.config.idle_timeout_ms, 1500);
    load_end(&l);
}

/* Every prefix ends inside something; none may be read past its end. */
static void file_cut_anywhere_is_refused_or_read(void **state)
{
    static const char whole[] = "/* c */ {\"model\": \"a\\\"b\", // d\n \"workers\": 1, }";

    (void)state;
    for (size_t n = 0; n + 1 < sizeof(whole); n++) {
        char *text = strndup(whole, n);
        struct load l = {.file = text};

        assert_int_equal(load(&l), -1);
        load_end(&l);
        free(text);
    }
}

static void only_usable_upstreams_are_taken(void **state)
{
    static const char *const good[] = {"http://h",     "https://h:1/api",  "http://[::1]:80/v1/",
                                       "http://[::1]", "unix:/run/x.sock", "HTTP://h/"};
    static const char *const bad[] = {
        "h:1",    "ftp://h",       "http://",     "http:///v1", "http://h:x",    "unix:x.sock",
        "unix:/", "http://h/?a=1", "http://h/#a", "http://h h", "http://h:65536"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        struct load l = {.args = {"--upstream", good[i]}};

        load_fine(&l);
        assert_string_equal(l.config.upstream, good[i]);
        load_end(&l);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct load l = {.args = {"--upstream", bad[i]}};

        FAILS(&l, "--upstream: \"", bad[i], "http://HOST[:PORT][/PATH]");
    }
}

static void only_usable_elements_are_taken(void **state)
{
    static const struct {
        const char *flag, *value;
        bool is_good;
    } cases[] = {
        {"--listen", "localhost:80", true},
        {"--listen", "[fe80::1%eth0]:80", true},
        {"--listen", ":0", true},
        {"--listen", ":0,:0", true}, /* two free ports */
        {"--listen", "unix:/run/a.sock", true},
        {"--listen", "unix:run/a.sock", false},
        {"--listen", "unix:/", false},
        {"--listen",
         "unix:/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
         "aaaaaaaaaaaaaaaaaaaaaaaaa",
         false},
        {"--listen", "unix:/run/\xff.sock", false},
        {"--listen", "127.0.0.1:80+admin", true},
        {"--listen", ":0+metrics,:0+admin+metrics", true},
        {"--listen", "unix:/run/a.sock+admin", true},
        {"--listen", "unix:/run/a+b/s", true},
        {"--listen", "unix:/run/a.sock+b", false},
        {"--listen", "unix:/+admin", false},
        {"--listen", "fd:api", true},
        {"--listen", "fd:", false},
        {"--listen", "fd:a b", false},
        {"--listen", ":80+", false},
        {"--listen", ":80+admin+admin", false},
        {"--listen", "::1:80", false},
        {"--listen", "[localhost]:80", false},
        {"--listen", "[::1:80", false},
        {"--listen", "*:80", false},
        {"--listen", "a:65536", false},
        {"--listen", "http://a:80", false},
        {"--model-alias", "*=m", true},
        {"--model-alias", "a/b:c=d e", true},
        {"--model-alias", "a", false},
        {"--model-alias", "=a", false},
        {"--model-alias", "a=", false},
        {"--model-alias", "a =b", false},
        {"--model-alias", "a=\xff", false},
        {"--mcp-config", "/caf\u00E9/mcp.json", true},
        {"--mcp-config", "/caf\xE9/mcp.json", false}, /* Latin-1 */
        {"--code-paths", "/a,/\xff", false},
        {"--store", "sqlite:/caf\u00E9", true},
        {"--store", "sqlite:/caf\xE9", false},
        {"--pass-fields", "*", true},
        {"--pass-fields", "a*b", false},
        {"--pass-fields", "a**", false},
        {"--cors-origins", "*", true},
        {"--cors-origins", "https://a.example:1", true},
        {"--cors-origins", "https://a.example/", false},
        {"--cors-origins", "a.example", false},
        {"--cors-origins", "null", true},
        {"--cors-origins", "vscode-webview://a1", true},
        {"--cors-origins", "file://", true},
        {"--cors-origins", "app://x/", false},
        {"--cors-origins", "://x", false},
        {"--cors-origins", "a b://x", false},
        {"--host-names", "ai.example.org", true},
        {"--host-names", "*.example.org", true},
        {"--host-names", "ai.example.org:80", false},
        {"--host-names", "*", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct load l = {.args = {cases[i].flag, cases[i].value}};

        if ((load(&l) == 0) != cases[i].is_good)
            fail_msg("%s %s", cases[i].flag, cases[i].value);
        load_end(&l);
    }
}

static void upstream_base_gets_v1_only_without_a_path(void **state)
{
    static const struct {
        const char *upstream, *base;
    } cases[] = {
        {"http://h:1", "http://h:1/v1"},
        {"http://h:1/", "http://h:1/v1"},
        {"http://h:1/v1", "http://h:1/v1"},
        {"http://h:1/v1/", "http://h:1/v1"},
        {"https://h/api/v3", "https://h/api/v3"},
        {"https://h/api/v3//", "https://h/api/v3"},
        {"http://h:1//v1//", "http://h:1/v1"},
        {"http://h:1//", "http://h:1/v1"},
        {"https://h//api///v3", "https://h/api/v3"},
        {"unix:/run//x.sock:/api//v1/", "unix:/run//x.sock:/api/v1"},
        {"http://[::1]:80", "http://[::1]:80/v1"},
        {"unix:/run/x.sock", "unix:/run/x.sock:/v1"},
        {"unix:/run/x.sock:", "unix:/run/x.sock:/v1"},
        {"unix:/run/x.sock:/", "unix:/run/x.sock:/v1"},
        {"unix:/run/x.sock:/api/", "unix:/run/x.sock:/api"},
    };
    struct arena arena = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_string_equal(config_upstream_base(&arena, str_from_c(cases[i].upstream)).p,
                            cases[i].base);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_table),
        cmocka_unit_test(flags_win_over_variables_over_aliases_over_the_file),
        cmocka_unit_test(flags_may_be_written_in_every_way),
        cmocka_unit_test(later_flag_wins),
        cmocka_unit_test(list_flags_add_to_each_other_and_replace_other_sources),
        cmocka_unit_test(empty_list_removes_that_of_other_sources),
        cmocka_unit_test(file_may_hold_lists_as_arrays_and_pairs_as_objects),
        cmocka_unit_test(many_elements_are_all_there),
        cmocka_unit_test(units_are_understood),
        cmocka_unit_test(names_of_open_responses_server_are_understood),
        cmocka_unit_test(host_and_port_alone_keep_the_other_default),
        cmocka_unit_test(host_alone_replaces_a_socket),
        cmocka_unit_test(empty_variables_count_as_not_set),
        cmocka_unit_test(file_may_hold_comments_trailing_commas_and_plain_values),
        cmocka_unit_test(file_cut_anywhere_is_refused_or_read),
        cmocka_unit_test(only_usable_upstreams_are_taken),
        cmocka_unit_test(only_usable_elements_are_taken),
        cmocka_unit_test(upstream_base_gets_v1_only_without_a_path),
    };

    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
