/* test_config.c -- where values come from, what they may be, and what the operator reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/config.h"

enum { MAX_WORDS = 8, S = 1000 };

/* A load with everything it needs; zeroed members are "not given". */
struct load {
    const char *args[MAX_WORDS];
    const char *env[MAX_WORDS + 1];
    const char *file; /* its text */
    struct config config;
    struct err err;
    char path[64];
};

static int count(const char *const *words)
{
    int n = 0;

    while (n < MAX_WORDS && words[n] != NULL)
        n++;
    return n;
}

/* Writes the file, if there is one, and makes --config the first flag. */
static void add_file(struct load *l)
{
    int fd;

    (void)snprintf(l->path, sizeof(l->path), "/tmp/antiphon-config-XXXXXX");
    fd = mkstemp(l->path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, l->file, strlen(l->file)), (ssize_t)strlen(l->file));
    (void)close(fd);
    memmove(l->args + 2, l->args, sizeof(l->args) - 2 * sizeof(*l->args));
    l->args[0] = "--config";
    l->args[1] = l->path;
}

static int load(struct load *l)
{
    int rc;

    if (l->file != NULL)
        add_file(l);
    rc = config_load(&l->config, count(l->args), l->args, l->env, &l->err);
    if (l->file != NULL)
        (void)unlink(l->path);
    return rc;
}

static void load_fine(struct load *l)
{
    if (load(l) == -1)
        fail_msg("%s", l->err.msg);
}

/* Fails with a message that holds every one of the given pieces. */
static void load_fails(struct load *l, const char *const *pieces)
{
    assert_int_equal(load(l), -1);
    for (; *pieces != NULL; pieces++) {
        if (strstr(l->err.msg, *pieces) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", l->err.msg, *pieces);
    }
    config_fini(&l->config);
}

#define FAILS(load, ...) load_fails((load), (const char *const[]){__VA_ARGS__, NULL})

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
    assert_int_equal(l.config.think_tags, CONFIG_THINK_TAGS_OFF);
    assert_int_equal(l.config.log_level, CONFIG_LOG_LEVEL_INFO);
    assert_null(l.config.warning);
    config_fini(&l.config);
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
    config_fini(&l.config);
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
    config_fini(&l.config);
}

static void later_flag_wins(void **state)
{
    struct load l = {.args = {"--workers", "1", "--workers", "2"}};

    (void)state;
    load_fine(&l);
    assert_int_equal(l.config.workers, 2);
    config_fini(&l.config);
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
        config_fini(&l.config);
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
    config_fini(&l.config);
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
        config_fini(&l.config);
    }
}

static void variables_without_effect_are_named_in_one_warning(void **state)
{
    struct load l = {.env = {"MCP_SERVERS_CONFIG_PATH=x.json", "LOG_FILE_PATH=y.log"}};

    (void)state;
    load_fine(&l);
    assert_non_null(strstr(l.config.warning, "MCP_SERVERS_CONFIG_PATH, LOG_FILE_PATH"));
    config_fini(&l.config);
}

static void empty_variables_count_as_not_set(void **state)
{
    struct load l = {.env = {"ANTIPHON_MAX_BODY=", "ANTIPHON_CONFIG=", "STREAM_TIMEOUT="}};

    (void)state;
    load_fine(&l);
    assert_int_equal(l.config.max_body_bytes, 32 << 20);
    config_fini(&l.config);
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
    config_fini(&l.config);
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
        config_fini(&l.config);
        free(text);
    }
}

static void errors_in_the_file_name_file_line_and_key(void **state)
{
    struct load syntax = {.file = "{\n  \"workers\": 1\n  \"model\": \"m\"\n}"};
    struct load unknown = {.file = "{\"heartbeat_intervall\": 1}"};
    struct load dashes = {.file = "{\"max-body\": 1}"};
    struct load range = {.file = "{\"workers\": -1}"};
    struct load list = {.file = "[1]"};
    struct load object = {.file = "{\"model\": {}}"};
    struct load missing = {.args = {"--config", "/nonexistent/antiphon.json"}};

    (void)state;
    FAILS(&syntax, "/tmp/antiphon-config-", "line 3");
    FAILS(&unknown, "unknown key \"heartbeat_intervall\"", "did you mean \"heartbeat_interval\"?");
    FAILS(&dashes, "unknown key \"max-body\"", "did you mean \"max_body\"?");
    FAILS(&range, ": workers: \"-1\" is not valid", "from 0 to 1024");
    FAILS(&list, "must hold a JSON object");
    FAILS(&object, "model: must be");
    FAILS(&missing, "/nonexistent/antiphon.json: cannot be opened");
}

static void errors_name_the_source_the_value_and_the_valid_form(void **state)
{
    struct load duration = {.args = {"--idle-timeout", "5 parsecs"}};
    struct load size = {.env = {"ANTIPHON_MAX_BODY=lots"}};
    struct load small = {.args = {"--max-head", "12"}};
    struct load choice = {.args = {"--reasoning=all"}};
    struct load flag = {.args = {"--error-event=maybe"}};
    struct load alias = {.env = {"API_ADAPTER_PORT=http"}};
    struct load listen = {.args = {"--listen", "8080"}};

    (void)state;
    FAILS(&duration, "--idle-timeout: \"5 parsecs\"", "a duration");
    FAILS(&size, "ANTIPHON_MAX_BODY: \"lots\"", "a size from 1 to 4GiB");
    FAILS(&small, "--max-head: \"12\"", "from 1KiB");
    FAILS(&choice, "--reasoning: \"all\"", "text, summary or none");
    FAILS(&flag, "--error-event: \"maybe\"", "true or false");
    FAILS(&alias, "API_ADAPTER_PORT: \"127.0.0.1:http\"", "an address");
    FAILS(&listen, "--listen: \"8080\"", "127.0.0.1:8080");
}

static void wrong_command_lines_are_explained(void **state)
{
    struct load unknown = {.args = {"--upsteam", "x"}};
    struct load negated = {.args = {"--no-max-body"}};
    struct load word = {.args = {"http://h"}};
    struct load bare = {.args = {"--model"}};
    struct load swallowed = {.args = {"--model", "--upstream", "http://h"}};
    struct load valued = {.args = {"--no-error-event=true"}};
    struct load far = {.args = {"--zzzzzzzzzzzz"}};

    (void)state;
    FAILS(&unknown, "unknown flag --upsteam; did you mean --upstream?");
    FAILS(&negated, "unknown flag --no-max-body");
    FAILS(&word, "unexpected word \"http://h\"");
    FAILS(&bare, "--model needs a value");
    FAILS(&swallowed, "--model needs a value");
    FAILS(&valued, "--no-error-event takes no value");
    FAILS(&far, "unknown flag --zzzzzzzzzzzz; see");
}

static void secrets_stay_out_of_messages(void **state)
{
    struct load key = {.args = {"--upstream-key", "se cret"}};
    struct load url = {.args = {"--upstream", "http://me:secret@host"}};

    (void)state;
    FAILS(&key, "--upstream-key: the value is not valid");
    assert_null(strstr(key.err.msg, "cret"));
    FAILS(&url, "--upstream: the value is not valid", "without credentials");
    assert_null(strstr(url.err.msg, "secret"));
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
        config_fini(&l.config);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct load l = {.args = {"--upstream", bad[i]}};

        FAILS(&l, "--upstream: \"", bad[i], "http://HOST[:PORT][/PATH]");
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

static void help_names_every_key_within_80_columns(void **state)
{
    struct buf help = {0};
    str rest;

    (void)state;
    config_help(&help);
    rest = buf_str(&help);
    assert_true(str_find(rest, STR("--no-error-event\n")) < rest.len);
    assert_true(str_find(rest, STR("--reasoning text|summary|none\n")) < rest.len);
    while (rest.len > 0) {
        size_t n = str_find_char(rest, '\n');

        assert_true(n <= 80);
        rest = str_skip(rest, n + 1);
    }
    buf_fini(&help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_table),
        cmocka_unit_test(flags_win_over_variables_over_aliases_over_the_file),
        cmocka_unit_test(flags_may_be_written_in_every_way),
        cmocka_unit_test(later_flag_wins),
        cmocka_unit_test(units_are_understood),
        cmocka_unit_test(names_of_open_responses_server_are_understood),
        cmocka_unit_test(host_and_port_alone_keep_the_other_default),
        cmocka_unit_test(variables_without_effect_are_named_in_one_warning),
        cmocka_unit_test(empty_variables_count_as_not_set),
        cmocka_unit_test(file_may_hold_comments_trailing_commas_and_plain_values),
        cmocka_unit_test(file_cut_anywhere_is_refused_or_read),
        cmocka_unit_test(errors_in_the_file_name_file_line_and_key),
        cmocka_unit_test(errors_name_the_source_the_value_and_the_valid_form),
        cmocka_unit_test(wrong_command_lines_are_explained),
        cmocka_unit_test(secrets_stay_out_of_messages),
        cmocka_unit_test(only_usable_upstreams_are_taken),
        cmocka_unit_test(upstream_base_gets_v1_only_without_a_path),
        cmocka_unit_test(help_names_every_key_within_80_columns),
    };

    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
