/* test_mcp_config.c -- files of MCP servers: samples, mistakes, the table, changes. */
#include "unit/mcp_config_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

static const char *const samples[] = {
    "mcp/config/claude_desktop.json", "mcp/config/vscode.json",
    "mcp/config/cursor.json",         "mcp/config/open_responses_server.json",
    "mcp/config/vllm_responses.json",
};

static struct buf parse_sample(struct listing *l, const char *name)
{
    struct buf text = fixture_read(name);

    *l = (struct listing){
        .env = {"NPX=npx", "FILES_KEY=files-key-0001", "DOCS_TOKEN=docs-token-0001"}};
    l->file = buf_cstr(&text);
    listing_parse(l);
    return text;
}

static void count_change(void *arg, enum mcp_change change, const struct mcp_server_conf *old,
                         const struct mcp_server_conf *now)
{
    size_t *counts = arg;

    assert_true((old == NULL) == (change == MCP_NEW));
    assert_true((now == NULL) == (change == MCP_GONE));
    counts[change]++;
}

static void samples_of_all_programs_become_the_same_servers(void **state)
{
    struct listing first;
    struct buf first_text = parse_sample(&first, samples[0]);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        size_t counts[4] = {0};
        struct listing l;
        struct buf text = parse_sample(&l, samples[i]);

        if (l.table == NULL || l.problems.n_kept > 0)
            fail_msg("%s: %s", samples[i], buf_cstr(&l.lines));
        mcp_config_compare(first.table, l.table, count_change, counts);
        if (counts[MCP_UNCHANGED] != 2 || l.table->n != 2)
            fail_msg("%s is not what %s is", samples[i], samples[0]);
        listing_end(&l);
        buf_fini(&text);
    }
    listing_end(&first);
    buf_fini(&first_text);
}

static void sample_has_every_word_of_the_command_and_every_header(void **state)
{
    struct listing l;
    struct buf text = parse_sample(&l, samples[1]);
    const struct mcp_server_conf *files = listing_server(&l, "files");
    const struct mcp_server_conf *docs = listing_server(&l, "docs");

    (void)state;
    assert_int_equal(files->transport, MCP_TRANSPORT_STDIO);
    assert_string_equal(files->argv[0], "npx");
    assert_string_equal(files->argv[3], "/srv/shared");
    assert_null(files->argv[4]);
    assert_int_equal(files->env.n, 1);
    assert_str_c(files->env.items[0].name, "API_KEY");
    assert_str_c(files->env.items[0].value.hidden, "files-key-0001");
    assert_null(files->cwd);
    assert_int_equal(docs->transport, MCP_TRANSPORT_HTTP);
    assert_str_c(docs->url.hidden, "https://docs.example.com/mcp");
    assert_int_equal(docs->headers.n, 1);
    assert_str_c(docs->headers.items[0].value.hidden, "Bearer docs-token-0001");
    listing_end(&l);
    buf_fini(&text);
}

static void each_mistake_disables_its_entry_and_says_why(void **state)
{
    static const struct {
        const char *label, *line, *problem;
    } expected[] = {
        {"mixed", "line 4", "url: an entry with a \"command\" has no \"url\""},
        {"mixed-headers", "line 5", "headers: an entry with a \"command\" has no \"url\""},
        {"nested", "line 6", "transport: must be a word; write the members of this object"},
        {"no-command", "line 7", "type: a stdio server needs a \"command\""},
        {"no-url", "line 8", "type: an HTTP server needs a \"url\""},
        {"nothing", "line 9", "needs a \"command\" to start, or a \"url\""},
        {"unset", "line 10", "env.TOKEN: ${UNSET}: the environment variable UNSET is not set"},
        {"asks", "line 11", "args[1]: ${input:x} asks a person"},
        {"bad label", "line 12", "the label must be 1 to 64 letters"},
        {"no-entry", "line 13", "must be an object"},
    };
    struct listing l;
    struct buf text = parse_sample(&l, "mcp/config/mistakes.json");

    (void)state;
    assert_non_null(l.table);
    assert_int_equal(l.problems.n_errors, 0);
    assert_int_equal(l.problems.n_warnings, COUNT_OF(expected));
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        const struct mcp_server_conf *s = listing_server(&l, expected[i].label);
        const char *line = l.problems.kept[i].text;

        assert_false(mcp_server_conf_is_usable(s));
        assert_true(s->is_enabled);
        assert_ptr_equal(strstr(s->problem, expected[i].problem), s->problem);
        if (strstr(line, expected[i].line) == NULL || strstr(line, expected[i].label) == NULL ||
            strstr(line, s->problem) == NULL)
            fail_msg("\"%s\" should name %s and %s", line, expected[i].line, expected[i].label);
    }
    assert_true(mcp_server_conf_is_usable(listing_server(&l, "good")));
    assert_true(mcp_server_conf_is_usable(listing_server(&l, "also-good")));
    listing_end(&l);
    buf_fini(&text);
}

static void required_makes_a_mistake_an_error(void **state)
{
    struct listing l = {.file = ONE("\"command\": \"${UNSET}\", \"required\": true")};

    (void)state;
    (void)listing_one(&l, false);
    assert_int_equal(l.problems.n_errors, 1);
    listing_says(&l, "line 1: MCP server \"s\" is required: command: ${UNSET}");
    listing_end(&l);
}

static void disabled_server_is_listed_and_not_required(void **state)
{
    static const char *const files[] = {
        ONE("\"command\": \"x\", \"disabled\": true"),
        ONE("\"command\": \"x\", \"enabled\": false"),
        ONE("\"command\": \"x\", \"enabled\": true, \"disabled\": true"),
        ONE("\"command\": \"x\", \"disabled\": true, \"required\": true"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct listing l = {.file = files[i]};
        const struct mcp_server_conf *s = listing_one(&l, false);

        assert_false(s->is_enabled);
        assert_false(s->is_required);
        assert_null(s->problem);
        listing_end(&l);
    }
}

static void file_that_cannot_be_used_has_no_table(void **state)
{
    static const struct {
        const char *file, *says;
    } cases[] = {
        {"", "mcp.json: line 1, column 1: "},
        {"[]", "mcp.json: must hold a JSON object"},
        {"{\"mcpServers\": {\n  \"a\": {\"command\" \"x\"}}}", "mcp.json: line 2, column 19: "},
        {"{} {}", "mcp.json: line 1, column 4: "},
        {"{\"mcpServers\": []}", "mcp.json: \"mcpServers\" must be an object of servers"},
        {"{\"servers\": null}", "mcp.json: \"servers\" must be an object of servers"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct listing l = {.file = cases[i].file};

        listing_parse(&l);
        assert_null(l.table);
        assert_int_equal(l.problems.n_errors, 1);
        listing_says(&l, cases[i].says);
        listing_end(&l);
    }
}

static void file_without_servers_is_an_empty_table_and_a_warning(void **state)
{
    static const struct {
        const char *file, *says;
    } cases[] = {
        {"{}", "they stand in an object \"mcpServers\""},
        {"{\"mcpServer\": {}}", "did you mean \"mcpServers\" by \"mcpServer\"?"},
        {"{\"mcp\": {\"servers\": {}}}", "they stand in an object \"mcpServers\""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct listing l = {.file = cases[i].file};

        listing_parse(&l);
        assert_non_null(l.table);
        assert_int_equal(l.table->n, 0);
        assert_int_equal(l.problems.n_warnings, 1);
        listing_says(&l, cases[i].says);
        listing_end(&l);
    }
}

static void too_many_servers_are_an_error(void **state)
{
    struct buf text = {0};
    struct listing l = {0};

    (void)state;
    buf_c(&text, "{\"servers\": {");
    for (size_t i = 0; i <= MCP_CONFIG_MAX_SERVERS; i++) {
        buf_c(&text, i == 0 ? "\"s" : ", \"s");
        buf_uint(&text, i);
        buf_c(&text, "\": {\"command\": \"x\"}");
    }
    buf_c(&text, "}}");
    l.file = buf_cstr(&text);
    listing_parse(&l);
    assert_null(l.table);
    listing_says(&l, "has more than 256 MCP servers");
    listing_end(&l);
    buf_fini(&text);
}

static void last_of_two_entries_counts_in_the_place_of_the_first(void **state)
{
    struct listing l = {.file = "{\"mcpServers\": {\"a\": {\"command\": \"one\"}, "
                                "\"b\": {\"command\": \"b\"}}, "
                                "\"servers\": {\"a\": {\"command\": \"two\"}}}"};

    (void)state;
    listing_parse(&l);
    assert_int_equal(l.table->n, 2);
    assert_str_c(l.table->servers[0].label, "a");
    assert_string_equal(l.table->servers[0].argv[0], "two");
    listing_says(&l, "MCP server \"a\" is there twice; the last one counts");
    listing_end(&l);
}

static void loose_mode_is_noticed_only_when_there_are_secrets(void **state)
{
    static const struct {
        const char *file;
        bool others_may_read;
        size_t n_warnings;
    } cases[] = {
        {ONE("\"command\": \"x\", \"env\": {\"A\": \"b\"}"), true, 1},
        {ONE("\"url\": \"http://h/\", \"headers\": {\"A\": \"b\"}"), true, 1},
        {ONE("\"url\": \"http://h/\", \"bearerToken\": \"b\""), true, 1},
        {ONE("\"url\": \"http://h/\", \"bearerToken\": \"b\""), false, 0},
        {ONE("\"command\": \"x\", \"env\": {}"), true, 0},
        {ONE("\"url\": \"http://h/\", \"bearerTokenEnv\": \"T\""), true, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct listing l = {
            .file = cases[i].file, .others_may_read = cases[i].others_may_read, .env = {"T=token"}};

        (void)listing_one(&l, true);
        assert_int_equal(l.problems.n_warnings, cases[i].n_warnings);
        listing_end(&l);
    }
}

/* ---- changes */

static void changes_are(const char *old_file, const char *new_file, const size_t *expected)
{
    struct listing old = {.file = old_file}, now = {.file = new_file};
    size_t counts[4] = {0};

    listing_parse(&old);
    listing_parse(&now);
    mcp_config_compare(old.table, now.table, count_change, counts);
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        assert_int_equal(counts[i], expected[i]);
    listing_end(&old);
    listing_end(&now);
}

static void comparison_tells_unchanged_changed_new_and_gone(void **state)
{
    (void)state;
    changes_are("{\"servers\": {\"a\": {\"command\": \"a\"}, \"b\": {\"command\": \"b\"},"
                " \"c\": {\"command\": \"c\"}}}",
                "{\"servers\": {\"b\": {\"command\": \"b\", \"args\": [\"x\"]},"
                " \"a\": {\"command\": \"a\"}, \"d\": {\"command\": \"c\"}}}",
                (const size_t[]){1, 1, 1, 1});
}

static void other_spelling_of_the_same_is_no_change(void **state)
{
    (void)state;
    changes_are(ONE("\"command\": \"a\", \"env\": {\"A\": \"1\", \"B\": \"2\"}, \"timeout\": 60"),
                ONE("/* same */ \"type\": \"stdio\", \"maxConcurrency\": 8, \"args\": [], "
                    "\"env\": {\"B\": 2, \"A\": \"${NONE:-1}\"}, \"command\": \"\\u0061\","),
                (const size_t[]){[MCP_UNCHANGED] = 1, 0, 0, 0});
}

static void every_key_makes_a_change(void **state)
{
    static const char *const stdio[] = {
        "\"args\": [\"x\"]",
        "\"env\": {\"A\": \"b\"}",
        "\"cwd\": \"/\"",
        "\"envFile\": \"/e\"",
        "\"inheritEnv\": \"all\"",
        "\"disabled\": true",
        "\"required\": true",
        "\"startupTimeoutMs\": 1",
        "\"callTimeoutMs\": 1",
        "\"maxCallMs\": 1",
        "\"allowedTools\": []",
        "\"excludeTools\": [\"a\"]",
        "\"requireApproval\": \"always\"",
        "\"requireApproval\": {\"never\": {\"read_only\": true}}",
        "\"alwaysAllow\": [\"a\"]",
        "\"inject\": \"always\"",
        "\"refreshIntervalMs\": 1",
        "\"maxConcurrency\": 1",
        "\"maxMessageBytes\": 1024",
        "\"maxResultBytes\": 1024",
        "\"protocol\": \"legacy\"",
        "\"args\": [\"${UNSET}\"]",
    };
    static const char *const http[] = {
        "\"headers\": {\"A\": \"b\"}",
        "\"bearerToken\": \"b\"",
        "\"bearerTokenFile\": \"/f\"",
        "\"type\": \"sse\"",
    };
    const size_t changed[4] = {[MCP_CHANGED] = 1};
    struct buf file = {0};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(stdio) + COUNT_OF(http); i++) {
        bool is_stdio = i < COUNT_OF(stdio);

        buf_reset(&file);
        buf_c(&file, is_stdio ? "{\"servers\": {\"s\": {\"command\": \"a\", "
                              : "{\"servers\": {\"s\": {\"url\": \"http://h/\", ");
        buf_c(&file, is_stdio ? stdio[i] : http[i - COUNT_OF(stdio)]);
        buf_c(&file, "}}}");
        changes_are(is_stdio ? ONE("\"command\": \"a\"") : ONE("\"url\": \"http://h/\""),
                    buf_cstr(&file), changed);
    }
    buf_fini(&file);
}

static void missing_table_compares_as_an_empty_one(void **state)
{
    struct listing l = {.file = ONE("\"command\": \"a\"")};
    size_t counts[4] = {0};

    (void)state;
    listing_fine(&l);
    mcp_config_compare(NULL, l.table, count_change, counts);
    mcp_config_compare(l.table, NULL, count_change, counts);
    assert_int_equal(counts[MCP_NEW], 1);
    assert_int_equal(counts[MCP_GONE], 1);
    listing_end(&l);
}

static void table_lives_until_the_last_reference(void **state)
{
    struct listing l = {.file = ONE("\"command\": \"a\"")};
    struct mcp_config *kept;

    (void)state;
    listing_fine(&l);
    kept = mcp_config_ref(l.table);
    listing_end(&l);
    assert_string_equal(kept->servers[0].argv[0], "a");
    mcp_config_unref(kept);
    mcp_config_unref(mcp_config_ref(NULL));
}

static void broken_entry_gives_way_to_the_one_before(void **state)
{
    static const char broken[] =
        "{\"servers\": {\"a\": {\"url\": \"http://now/?k=secret-2\", \"command\": \"x\"},"
        "\"b\": {\"command\": \"new\"}, \"c\": {}}}";
    struct listing old = {
        .file = "{\"servers\": {\"a\": {\"url\": \"http://h/?k=secret-1\"}, \"b\": {\"command\": "
                "\"old\"}, \"c\": 1}}"};
    struct listing first = {.file = broken}, second = {.file = broken};

    (void)state;
    listing_parse(&old);
    listing_parse(&first);
    listing_parse(&second);
    mcp_config_keep_usable(first.table, old.table);
    listing_end(&old);
    mcp_config_keep_usable(second.table, first.table);
    mcp_config_keep_usable(NULL, first.table);
    mcp_config_keep_usable(first.table, NULL);
    listing_end(&first);
    assert_str_c(listing_server(&second, "a")->url.hidden, "http://h/?k=secret-1");
    assert_string_equal(listing_server(&second, "b")->argv[0], "new");
    assert_non_null(listing_server(&second, "c")->problem);
    listing_end(&second);
}

/* ---- files */

static const char *write_file(char path[], const char *text, mode_t mode)
{
    int fd = mkstemp(path);

    assert_true(fd != -1);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
    return path;
}

static void file_is_read_with_its_mode(void **state)
{
    static const char text[] = ONE("\"url\": \"http://h/\", \"bearerToken\": \"token\"");
    char tight[] = "/tmp/antiphon-mcp-XXXXXX", loose[] = "/tmp/antiphon-mcp-XXXXXX";
    struct config_problems problems = {0};
    struct mcp_config *c =
        mcp_config_load(write_file(tight, text, 0600), true, NULL, NULL, &problems);

    (void)state;
    assert_int_equal(c->n, 1);
    assert_int_equal(problems.n_kept, 0);
    mcp_config_unref(c);
    c = mcp_config_load(write_file(loose, text, 0640), true, NULL, NULL, &problems);
    assert_int_equal(c->n, 1);
    assert_int_equal(problems.n_warnings, 1);
    mcp_config_unref(c);
    config_problems_fini(&problems);
    assert_int_equal(unlink(tight) + unlink(loose), 0);
}

static void entry_that_does_not_say_takes_the_operators_defaults(void **state)
{
    static const struct mcp_config_defaults defaults = {.call_timeout_ms = 5000,
                                                        .result_bytes = 4096};
    static const char text[] = "{\"mcpServers\": {\"a\": {\"url\": \"http://h/\"}, \"b\": "
                               "{\"url\": \"http://h/\", \"callTimeoutMs\": 7000, "
                               "\"maxCallMs\": 8000, \"maxResultBytes\": 2048}}}";
    char path[] = "/tmp/antiphon-mcp-XXXXXX";
    struct mcp_config *c =
        mcp_config_load(write_file(path, text, 0600), true, NULL, &defaults, NULL);

    (void)state;
    assert_int_equal(c->servers[0].call_timeout_ms, 5000);
    assert_int_equal(c->servers[0].max_call_ms, 50000);
    assert_int_equal(c->servers[0].max_result_bytes, 4096);
    assert_int_equal(c->servers[1].call_timeout_ms, 7000);
    assert_int_equal(c->servers[1].max_call_ms, 8000);
    assert_int_equal(c->servers[1].max_result_bytes, 2048);
    mcp_config_unref(c);
    assert_int_equal(unlink(path), 0);
}

static void missing_file_is_an_error_only_when_named(void **state)
{
    struct config_problems problems = {0};
    struct mcp_config *c = mcp_config_load("/nowhere/mcp.json", false, NULL, NULL, &problems);

    (void)state;
    assert_non_null(c);
    assert_int_equal(c->n, 0);
    assert_int_equal(problems.n_warnings, 1);
    mcp_config_unref(c);
    assert_null(mcp_config_load("/nowhere/mcp.json", true, NULL, NULL, &problems));
    assert_int_equal(problems.n_errors, 1);
    config_problems_fini(&problems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_of_all_programs_become_the_same_servers),
        cmocka_unit_test(sample_has_every_word_of_the_command_and_every_header),
        cmocka_unit_test(each_mistake_disables_its_entry_and_says_why),
        cmocka_unit_test(required_makes_a_mistake_an_error),
        cmocka_unit_test(disabled_server_is_listed_and_not_required),
        cmocka_unit_test(file_that_cannot_be_used_has_no_table),
        cmocka_unit_test(file_without_servers_is_an_empty_table_and_a_warning),
        cmocka_unit_test(too_many_servers_are_an_error),
        cmocka_unit_test(last_of_two_entries_counts_in_the_place_of_the_first),
        cmocka_unit_test(loose_mode_is_noticed_only_when_there_are_secrets),
        cmocka_unit_test(comparison_tells_unchanged_changed_new_and_gone),
        cmocka_unit_test(other_spelling_of_the_same_is_no_change),
        cmocka_unit_test(every_key_makes_a_change),
        cmocka_unit_test(missing_table_compares_as_an_empty_one),
        cmocka_unit_test(table_lives_until_the_last_reference),
        cmocka_unit_test(broken_entry_gives_way_to_the_one_before),
        cmocka_unit_test(file_is_read_with_its_mode),
        cmocka_unit_test(entry_that_does_not_say_takes_the_operators_defaults),
        cmocka_unit_test(missing_file_is_an_error_only_when_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
