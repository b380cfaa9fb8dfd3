/* test_config_problems.c -- what the operator reads when something is wrong. */
#include "unit/config_fixture.h"

#include "base/utf8.h"

static void errors_in_the_file_name_file_line_and_key(void **state)
{
    struct load syntax = {.args = {"--config", "a.json"},
                          .file = "{\n  \"workers\": 1,\n  \"mod\u00E9l\" \"m\"\n}"};
    struct load unknown = {.env = {"ANTIPHON_CONFIG=b.json"},
                           .file = "{\"model\":\n\n1,\n\"heartbeat_intervall\": 1}"};
    struct load dashes = {.file = "{\"max-body\": 1}"};
    struct load range = {.file = "{\"workers\": -1}"};
    struct load list = {.file = "[1]"};
    struct load object = {.file = "\n{\n\"model\": {}}"};
    struct load missing = {.args = {"--config", "/nonexistent/antiphon.json"}};

    (void)state;
    FAILS(&syntax, "a.json: line 3, column 11: ");
    FAILS(&unknown, "b.json: line 4: unknown key \"heartbeat_intervall\"",
          "did you mean \"heartbeat_interval\"?");
    FAILS(&dashes, "unknown key \"max-body\"", "did you mean \"max_body\"?");
    FAILS(&range, "line 1: workers: \"-1\" is not valid", "from 0 to 1024");
    FAILS(&list, "must hold a JSON object");
    FAILS(&object, "line 3: model: must be");
    FAILS(&missing, "/nonexistent/antiphon.json: cannot be opened", "check the name");
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
    FAILS(&choice, "--reasoning: \"all\"", "text, summary, openresponses or none");
    FAILS(&flag, "--error-event: \"maybe\"", "true or false");
    FAILS(&alias, "API_ADAPTER_PORT: \"127.0.0.1:http\"", "HOST:PORT");
    FAILS(&listen, "--listen: \"8080\"", "HOST:PORT");
}

static void tls_needs_all_that_belongs_to_it(void **state)
{
    struct load bare = {.args = {"--listen", ":1+tls"}};
    struct load keyless = {
        .args = {"--listen", ":1+tls", "--tls-cert", "a", "--tls-cert", "b", "--tls-key", "c"}};
    struct load unsigned_clients = {.args = {"--tls-client-auth", "require"}};
    struct load unasked = {.args = {"--tls-owner", "cn"}};
    struct load old = {.args = {"--tls-min-version", "1.1"}};

    (void)state;
    FAILS(&bare, "--listen: +tls needs a certificate");
    FAILS(&keyless, "--tls-key: there must be one key for each certificate");
    FAILS(&unsigned_clients, "--tls-client-auth: nobody is known who may sign");
    FAILS(&unasked, "--tls-owner: clients are not asked for certificates");
    FAILS(&old, "--tls-min-version: \"1.1\" is not valid");
}

static void upstreams_stand_in_one_place(void **state)
{
    struct load url = {.args = {"--upstreams-file", "u.json", "--upstream", "http://h:1"}};
    struct load key = {.args = {"--upstreams-file", "u.json"},
                       .env = {"ANTIPHON_UPSTREAM_KEY=sk-1"}};
    struct load proxy = {.args = {"--upstreams-file", "u.json", "--proxy", "http://p:1"}};

    (void)state;
    FAILS(&url, "--upstream: upstreams stand in upstreams_file; leave one of the two out");
    FAILS(&key, "ANTIPHON_UPSTREAM_KEY: keys of upstreams stand in upstreams_file");
    load_fine(&proxy);
    load_end(&proxy);
}

static void keys_of_several_upstreams_have_ranges_and_words(void **state)
{
    struct load attempts = {.args = {"--retry-attempts", "0"}};
    struct load retry = {.args = {"--retry-on", "connect,404"}};
    struct load share = {.args = {"--affinity-min", "1.5"}};

    (void)state;
    FAILS(&attempts,
          "--retry-attempts: \"0\" is not valid; give auto, or a whole number from 1 to 10");
    FAILS(&retry, "--retry-on: \"404\" is not valid; give connect, reset, 429, 500");
    FAILS(&share, "--affinity-min: \"1.5\" is not valid; give a number from 0 to 1");
}

static void a_wrong_mark_of_a_listener_is_named(void **state)
{
    struct load unknown = {.args = {"--listen", ":1,:2+admn"}};
    struct load twice = {.env = {"ANTIPHON_LISTEN=unix:/a+admin+admin"}};
    struct load same = {.args = {"--listen", ":1,:1+admin"}};

    (void)state;
    FAILS(&unknown, "--listen: \":2+admn\": the mark +admn is unknown",
          "marks are +tls, +proxy, +metrics and +admin");
    FAILS(&twice, "ANTIPHON_LISTEN: \"unix:/a+admin+admin\": the mark +admin");
    FAILS(&same, "--listen: \":1\" is there twice");
}

static void wrong_elements_of_lists_are_named(void **state)
{
    struct load address = {.args = {"--listen", "a:1,b"}};
    struct load twice = {.args = {"--listen", "a:1", "--listen", "a:1"}};
    struct load alias = {.env = {"ANTIPHON_MODEL_ALIAS=a=b, a=c"}};
    struct load empty = {.file = "{\"model_alias\": {\"a\": \"\"}}"};
    struct load equals = {.file = "{\"model_alias\": {\"a=b\": \"c\"}}"};
    struct load number = {.file = "{\"pass_fields\": [\"a\", 1]}"};
    struct load pairs = {.file = "{\"pass_fields\": {\"a\": \"b\"}}"};
    struct load gap = {.args = {"--pass-fields", "a,,b"}};
    struct load bare = {.args = {"--model-settings", "qwen3*"}};
    struct load pair = {.env = {"ANTIPHON_MODEL_SETTINGS=m think_tags=on, m think_tags"}};
    struct load name = {.file = "{\n\"model_settings\": [\"m think=on\"]}"};
    struct load date = {.args = {"--model-settings", "m harmony_date=today"}};
    struct load swapped = {.args = {"--harmony-date", "2026-31-01"}};
    struct load half = {.args = {"--max-connections-per-client", "half"}};
    struct load zero = {.args = {"--harmony-date", "2026-01-00"}};
    struct load word = {.args = {"--model-settings", "m text_calls=off reasoning_history=some"}};
    struct load said = {.args = {"--model-settings", "m text_calls=off  text_calls=glm"}};

    (void)state;
    FAILS(&address, "--listen: \"b\" is not valid");
    FAILS(&twice, "--listen: \"a:1\" is there twice");
    FAILS(&alias, "ANTIPHON_MODEL_ALIAS: \"a\" is there twice");
    FAILS(&empty, "model_alias: \"a=\" is not valid; give NAME=MODEL");
    FAILS(&equals, "model_alias: names must not contain");
    FAILS(&number, "pass_fields: every element must be a string");
    FAILS(&pairs, "pass_fields: must be an array of strings, or a string");
    FAILS(&gap, "--pass-fields: \"\" is not valid");
    FAILS(&bare, "--model-settings: \"qwen3*\" is not valid; give the name of a model");
    FAILS(&pair, "ANTIPHON_MODEL_SETTINGS: \"m think_tags\": \"think_tags\" is no setting",
          "give NAME=WORD");
    FAILS(&name, "line 2: model_settings: \"m think=on\": \"think\" is no setting",
          "give one of harmony, harmony_content_type, think_tags, text_calls, reasoning_field, ");
    FAILS(&date, "\"harmony_date\" is no setting");
    FAILS(&swapped, "--harmony-date: \"2026-31-01\" is not valid; give today, none, or a date");
    FAILS(&half, "--max-connections-per-client: \"half\" is not valid; give auto, or a number");
    FAILS(&zero, "--harmony-date: \"2026-01-00\" is not valid");
    FAILS(&word, "\"some\" is not valid for reasoning_history; give auto, all or open");
    FAILS(&said, "\"text_calls\" is there twice");
}

static void wrong_command_lines_are_explained(void **state)
{
    struct load unknown = {.args = {"--upsteam", "x"}};
    struct load check = {.args = {"--check-confg"}};
    struct load negated = {.args = {"--no-max-body"}};
    struct load word = {.args = {"http://h"}};
    struct load bare = {.args = {"--model"}};
    struct load swallowed = {.args = {"--model", "--upstream", "http://h"}};
    struct load valued = {.args = {"--no-error-event=true"}};
    struct load far = {.args = {"--zzzzzzzzzzzz"}};

    (void)state;
    FAILS(&unknown, "unknown flag --upsteam; did you mean --upstream?");
    FAILS(&check, "unknown flag --check-confg; did you mean --check-config?");
    FAILS(&negated, "unknown flag --no-max-body");
    FAILS(&word, "unexpected word \"http://h\"");
    FAILS(&bare, "--model needs a value");
    FAILS(&swallowed, "--model needs a value");
    FAILS(&valued, "--no-error-event takes no value");
    FAILS(&far, "unknown flag --zzzzzzzzzzzz; see");
}

static void secrets_stay_out_of_messages(void **state)
{
    struct load loads[] = {
        {.args = {"--upstream-key", "hush\t"}},
        {.env = {"OPENAI_API_KEY=hu hush"}},
        {.file = "{\"upstream_key\": \"hush \\n\"}"},
        {.file = "{\"upstream_key\": \"hush\" : 1}"},
        {.args = {"--upstream-key", "hu", "hush", "--upstream-kye", "hush"}},
        {.args = {"--upstream", "http://me:hush@host"}},
        {.args = {"--proxy", "socks9://me:hush@host"}},
        {.args = {"--proxy", "http://me:@hush@host"}},
        {.args = {"--api-key", "hush,hush"}},
        {.args = {"--api-key", "hu", "hush", "--api-kye", "hush"}},
        {.env = {"ANTIPHON_API_KEY=hu hush"}},
        {.file = "{\"api_key\": [\"hu\", \"hush \"]}"},
        {.file = "{\"api_key\": {\"hush\": \"hush\"}}"},
        {.args = {"--encryption-keys", "hush"}},
        {.env = {"ANTIPHON_ENCRYPTION_KEYS=hush-hush-hush-hush,hush-hush-hush-hush"}},
        {.file = "{\"encryption_keys\": [\"hush-hush-hush-hush\"], "
                 "\"api_key\": \"hush-hush-hush-hush\"}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(loads); i++) {
        struct buf lines;

        assert_int_equal(load(&loads[i]), -1);
        lines = problem_lines(&loads[i]);
        assert_null(strstr(buf_cstr(&lines), "hush"));
        buf_fini(&lines);
        load_end(&loads[i]);
    }
}

static void all_problems_are_told_in_the_order_of_the_sources(void **state)
{
    struct load l = {
        .args = {"--config", "c.json", "--workers", "many", "--listen", "a:1,b,c", "stray"},
        .env = {"STREAM_TIMEOUT=soon", "ANTIPHON_LOG_LEVEL=loud", "ANTIPHON_MODLE=m"},
        .file = "{ \"model\": \"m\",\n \"max_bdy\": 1,\n \"model\": \"n\", \"relay\": \"x\", ]",
    };
    static const char *const order[] = {
        "c.json: line 2: unknown key \"max_bdy\"",
        "warning: c.json: line 3: model is there twice",
        "c.json: line 3: relay: \"x\" is not valid",
        "c.json: line 3, column 30: ",
        "STREAM_TIMEOUT: \"soon\"",
        "STREAM_TIMEOUT: \"soon\"",
        "ANTIPHON_LOG_LEVEL: \"loud\"",
        "warning: ANTIPHON_MODLE is not known; did you mean ANTIPHON_MODEL?",
        "--workers: \"many\"",
        "--listen: \"b\"",
        "--listen: \"c\"",
        "unexpected word \"stray\"",
        "10 errors, 2 warnings\n",
    };
    struct buf lines;
    const char *at;

    (void)state;
    assert_int_equal(load(&l), -1);
    lines = problem_lines(&l);
    at = buf_cstr(&lines);
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        assert_true(str_starts_with(str_from_c(at), STR("antiphon: ")));
        at += strlen("antiphon: ");
        if (!str_starts_with(str_from_c(at), str_from_c(order[i])))
            fail_msg("expected \"%s\" at \"%s\"", order[i], at);
        at += strcspn(at, "\n") + 1;
    }
    assert_int_equal(*at, '\0');
    buf_fini(&lines);
    load_end(&l);
}

static void problems_are_single_lines_of_visible_characters(void **state)
{
    struct load l = {.args = {"--reasoning", "a\nb\x1b[2J\xff\xc2\x85\xe2\x80\xa8", "--x\ny",
                              "--config", "/nonexistent\r"},
                     .env = {"ANTIPHON_MODEL=\xc3("}};

    (void)state;
    assert_int_equal(load(&l), -1);
    problems_say(&l, (const char *const[]){"\"a\\x0ab\\x1b[2J\\xff\\xc2\\x85\\xe2\\x80\\xa8\"",
                                           "--x\\x0ay",
                                           "/nonexistent\\x0d: ", "\"\\xc3(\" is not valid", NULL});
    for (size_t i = 0; i < l.problems.n_kept; i++) {
        assert_true(str_is_one_line(str_from_c(l.problems.kept[i].text)));
        assert_true(utf8_is_valid(str_from_c(l.problems.kept[i].text)));
    }
    load_end(&l);
}

static void long_values_are_cut(void **state)
{
    char value[600], text[120];
    struct load l = {.args = {"--reasoning", value}};

    (void)state;
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    (void)snprintf(text, sizeof(text), "\"%.100s...\" is not", value);
    FAILS(&l, text, "; give text, summary, openresponses or none");
}

static void problems_beyond_the_limit_are_counted(void **state)
{
    struct load l = {.args = {NULL}};
    struct buf file = {0};

    (void)state;
    buf_c(&file, "{");
    for (int i = 0; i < CONFIG_MAX_PROBLEMS + 5; i++)
        buf_c(&file, "\"unknown_key_of_mine\": 1,");
    buf_c(&file, "}");
    l.file = buf_cstr(&file);
    assert_int_equal(load(&l), -1);
    assert_int_equal(l.problems.n_kept, CONFIG_MAX_PROBLEMS);
    problems_say(&l, (const char *const[]){"105 errors, 0 warnings; only the first", NULL});
    load_end(&l);
    buf_fini(&file);
}

static void keys_that_contradict_each_other_are_refused(void **state)
{
    struct load nowhere = {.args = {"--listen", ""}};
    struct load everywhere = {.args = {"--listen", ":1,:2,:3,:4,:5,:6,:7,:8,:9,:10,:11,:12,:13,:14,"
                                                   ":15,:16,:17"}};
    struct load file = {.args = {"--ca-file", "/nonexistent/ca.pem"}};
    struct load folder = {.env = {"ANTIPHON_CA_FILE=/"}};
    struct load proxy = {.args = {"--proxy", "http://p:1"}};

    (void)state;
    FAILS(&nowhere, "--listen: give at least one address");
    FAILS(&everywhere, "--listen: more than 16 addresses");
    FAILS(&file, "--ca-file: there is no such file");
    FAILS(&folder, "ANTIPHON_CA_FILE: this is a directory");
    FAILS(&proxy, "--proxy: there is no upstream");
}

static void upstream_must_not_be_the_gateway_itself(void **state)
{
    static const struct {
        const char *listen, *upstream;
        bool is_itself;
    } cases[] = {
        {"127.0.0.1:8080", "http://127.0.0.1:8080/v1", true},
        {"127.0.0.1:8080", "http://LOCALHOST:8080", true},
        {"localhost:8080", "http://127.0.0.1:8080", true},
        {":80", "http://localhost", true},
        {"0.0.0.0:443", "https://127.0.0.2/api", true},
        {"x:1,[::]:8080", "http://[::1]:8080", true},
        {"unix:/run/a", "unix:/run/a", true},
        {"unix:/run/a", "unix:/run/a:/v1", true},
        {"127.0.0.1:8080", "http://127.0.0.1:8081", false},
        {"127.0.0.1:8080", "http://gpu:8080", false},
        {"127.0.0.1:8080", "http://[::1]:8080", false},
        {"0.0.0.0:8080", "http://[::1]:8080", false},
        {"127.0.0.1:0", "http://127.0.0.1:0", false},
        {"unix:/run/a", "unix:/run/ab", false},
        {"unix:/run/ab", "unix:/run/a", false},
        {"unix:/run/a", "http://localhost:80", false},
        {"localhost:80", "unix:/run/a", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct load l = {.args = {"--listen", cases[i].listen, "--upstream", cases[i].upstream},
                         .env = {"ANTIPHON_API_KEY=k"}};

        if (cases[i].is_itself) {
            FAILS(&l, "--upstream: this gateway listens there itself");
            continue;
        }
        load_fine(&l);
        assert_int_equal(l.problems.n_kept, 0);
        load_end(&l);
    }
}

/* Without a word. */
static void load_quietly(struct load *l)
{
    load_fine(l);
    assert_int_equal(l->problems.n_kept, 0);
    load_end(l);
}

static void listening_for_other_machines_without_a_key_is_a_warning(void **state)
{
    static const char *const open[] = {":1",     "0.0.0.0:1",      "192.0.2.1:1", "[::]:1",
                                       "host:1", "localhost:1,:2", ":1+admin,:2"};
    static const char *const local[] = {"localhost:1", "127.0.0.9:1", "[::1]:1", "unix:/run/a",
                                        ":1+metrics",  ":1+admin",    "fd:a"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(open); i++) {
        struct load none = {.args = {"--listen", open[i]}};
        struct load key = {.args = {"--listen", open[i], "--api-key", "k"}};
        struct load file = {.args = {"--listen", open[i], "--api-keys-file", "f"}};

        WARNS(&none, "--listen: other machines may connect and no key is asked for");
        load_quietly(&key);
        load_quietly(&file);
    }
    for (size_t i = 0; i < COUNT_OF(local); i++) {
        struct load none = {.args = {"--listen", local[i]}};

        load_quietly(&none);
    }
}

static void a_flag_for_keys_without_a_value_is_refused(void **state)
{
    struct load key = {.args = {"--api-key="}, .env = {"ANTIPHON_API_KEY=k"}};
    struct load file = {.args = {"--api-keys-file", ""}};
    struct load secret = {.args = {"--encryption-keys", ""}};
    struct load text = {.args = {"--code-python="}};

    (void)state;
    FAILS(&key, "--api-key: the value is empty");
    FAILS(&text, "--code-python: \"\" is not valid");
    FAILS(&secret, "--encryption-keys: the value is empty");
    FAILS(&file, "--api-keys-file: the value is empty");
}

static void secrets_that_can_be_guessed_are_refused(void **state)
{
    struct load shortest = {.args = {"--encryption-keys", "0123456789abcdef"}};
    struct load file = {.file =
                            "{\"encryption_keys\": [\"0123456789abcdef\", \"fedcba9876543210\"]}"};
    struct load shorter = {.args = {"--encryption-keys", "0123456789abcde"}};
    struct load second = {.env = {"ANTIPHON_ENCRYPTION_KEYS=0123456789abcdef,secret"}};
    struct load spaces = {.args = {"--encryption-keys", "0123456789 abcdef"}};
    struct load known = {
        .args = {"--encryption-keys", "0123456789abcdef", "--api-key", "k,0123456789abcdef"}};

    (void)state;
    load_quietly(&shortest);
    load_quietly(&file);
    FAILS(&shorter, "--encryption-keys: the value is not valid", "at least 16 visible");
    FAILS(&second, "ANTIPHON_ENCRYPTION_KEYS: the value is not valid", "at least 16 visible");
    FAILS(&spaces, "--encryption-keys: the value is not valid", "without spaces");
    FAILS(&known, "--encryption-keys: a value is also an api_key", "give another");
}

static void risks_are_warnings(void **state)
{
    struct load key = {.args = {"--upstream", "http://gpu:1"}, .env = {"OPENAI_API_KEY=k"}};
    struct load local = {.args = {"--upstream", "http://localhost:1", "--upstream-key", "k"}};
    struct load safe = {.args = {"--upstream", "https://gpu", "--upstream-key", "k"}};
    struct load unix_proxy = {.args = {"--upstream", "unix:/a", "--proxy", "http://p:1"}};
    struct load unchecked = {.args = {"--upstream", "https://h", "--no-tls-verify"}};
    struct load idle = {.args = {"--keep-alive", "5s"}};

    (void)state;
    WARNS(&key, "warning: OPENAI_API_KEY: is sent unencrypted");
    WARNS(&unix_proxy, "--proxy: has no effect");
    WARNS(&unchecked, "--tls-verify: anyone on the way");
    WARNS(&idle, "--keep-alive: common clients keep");
    load_quietly(&local);
    load_quietly(&safe);
}

static void only_variables_that_are_nearly_ours_are_worth_a_warning(void **state)
{
    struct load lower = {.env = {"ANTIPHON_max_body=1"}};
    struct load file = {.env = {"ANTIPHON_CONFG=a.json"}};
    struct load others = {.env = {"ANTIPHON_SERVICE_HOST=10.0.0.1", "ANTIPHON_PORT=tcp://10.0.0.1",
                                  "ANTIPHON_BIN=x", "ANTIPHON_MAX_BODY", "ANTIPHON_"}};

    (void)state;
    WARNS(&lower, "ANTIPHON_max_body is not known; did you mean ANTIPHON_MAX_BODY?");
    WARNS(&file, "did you mean ANTIPHON_CONFIG?");
    load_fine(&others);
    assert_int_equal(others.problems.n_kept, 0);
    load_end(&others);
}

static void old_keys_cause_one_warning_that_says_which_line_does_the_same(void **state)
{
    struct load all = {.args = {"--no-thinking-switch", "--harmony", "chat"},
                       .env = {"ANTIPHON_TEXT_CALLS=GLM", "ANTIPHON_HARMONY=auto"},
                       .file = "{\n\"think_tags\": \"on\", \"include_usage\": true}"};
    struct load wrong = {.args = {"--text-calls", "some"}};
    struct load neither = {.args = {"--hold-leading-space=perhaps"}};

    (void)state;
    WARNS(&all,
          "--harmony, the file: line 2: think_tags, ANTIPHON_TEXT_CALLS, --thinking-switch, the "
          "file: line 2: include_usage: ",
          "\"* harmony=chat think_tags=on text_calls=glm thinking_switch=off include_usage=on\"");
    FAILS(&wrong, "--text-calls: \"some\" is not valid; give off, auto, hermes,");
    FAILS(&neither, "--hold-leading-space: \"perhaps\" is not valid; give true, false or auto");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_in_the_file_name_file_line_and_key),
        cmocka_unit_test(errors_name_the_source_the_value_and_the_valid_form),
        cmocka_unit_test(tls_needs_all_that_belongs_to_it),
        cmocka_unit_test(upstreams_stand_in_one_place),
        cmocka_unit_test(keys_of_several_upstreams_have_ranges_and_words),
        cmocka_unit_test(a_wrong_mark_of_a_listener_is_named),
        cmocka_unit_test(wrong_elements_of_lists_are_named),
        cmocka_unit_test(wrong_command_lines_are_explained),
        cmocka_unit_test(secrets_stay_out_of_messages),
        cmocka_unit_test(all_problems_are_told_in_the_order_of_the_sources),
        cmocka_unit_test(problems_are_single_lines_of_visible_characters),
        cmocka_unit_test(long_values_are_cut),
        cmocka_unit_test(problems_beyond_the_limit_are_counted),
        cmocka_unit_test(keys_that_contradict_each_other_are_refused),
        cmocka_unit_test(upstream_must_not_be_the_gateway_itself),
        cmocka_unit_test(listening_for_other_machines_without_a_key_is_a_warning),
        cmocka_unit_test(a_flag_for_keys_without_a_value_is_refused),
        cmocka_unit_test(secrets_that_can_be_guessed_are_refused),
        cmocka_unit_test(risks_are_warnings),
        cmocka_unit_test(only_variables_that_are_nearly_ours_are_worth_a_warning),
        cmocka_unit_test(old_keys_cause_one_warning_that_says_which_line_does_the_same),
    };

    return cmocka_run_group_tests_name("config problems", tests, NULL, NULL);
}
