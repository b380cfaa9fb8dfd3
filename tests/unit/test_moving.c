/* test_moving.c -- the environment of programs that this one takes the place of, and their .env. */
#include "unit/config_fixture.h"

#include "config/config_key.h"
#include "config/dotenv.h"
#include "lib/fixture.h"

/* Without one, a listener on all addresses is warned about. */
#define KEY_OF_CLIENT "ANTIPHON_API_KEY=k"

/* ---- presets */

/* A load with the file .env. */
static int load_with(struct load *l, const char *dotenv)
{
    struct config_sources sources = {.args = l->args,
                                     .env = l->env,
                                     .file_text = str_from_c(l->file),
                                     .dotenv_text = str_from_c(dotenv)};

    while (sources.n_args < MAX_WORDS && l->args[sources.n_args] != NULL)
        sources.n_args++;
    return config_load(&l->config, &sources, &l->problems);
}

static void a_preset_is_chosen_by_flag_variable_or_file(void **state)
{
    struct load loads[] = {
        {.args = {"--preset", "ors"}, .env = {"ANTIPHON_PRESET=none", KEY_OF_CLIENT}},
        {.env = {"ANTIPHON_PRESET=ors", KEY_OF_CLIENT}, .file = "{\"preset\": \"none\"}"},
        {.env = {KEY_OF_CLIENT}, .file = "{\"preset\": \"ORS\"}"}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(loads); i++) {
        load_fine(&loads[i]);
        assert_int_equal(loads[i].config.preset, CONFIG_PRESET_ORS);
        assert_int_equal(loads[i].config.dialect, CONFIG_DIALECT_ORS);
        assert_string_equal(loads[i].config.listen.items[0], "0.0.0.0:8080");
        assert_string_equal(loads[i].config.upstream, "http://localhost:8000");
        assert_int_equal(loads[i].problems.n_kept, 0);
        load_end(&loads[i]);
    }
}

static void a_preset_gives_way_to_whatever_is_said(void **state)
{
    struct load l = {.args = {"--preset", "ors", "--mcp-inject", "declared"},
                     .env = {"ANTIPHON_RELAY=off", "API_ADAPTER_PORT=9000"},
                     .file = "{\"dialect\": \"responses\"}"};

    (void)state;
    load_fine(&l);
    assert_int_equal(l.config.dialect, CONFIG_DIALECT_RESPONSES);
    assert_int_equal(l.config.relay, CONFIG_RELAY_OFF);
    assert_int_equal(l.config.mcp_inject, CONFIG_MCP_INJECT_DECLARED);
    assert_int_equal(l.config.mcp_tool_names, CONFIG_MCP_TOOL_NAMES_BARE);
    assert_int_equal(l.config.listen.n, 1);
    assert_string_equal(l.config.listen.items[0], "0.0.0.0:9000");
    load_end(&l);
}

static void every_value_of_a_preset_is_valid_and_shown(void **state)
{
    static const char *const words[] = {"ors", "vllm-responses"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        struct load l = {.args = {"--preset", words[i]}};
        struct buf shown = {.limit = 0};

        load_fine(&l);
        config_show(&l.config, &shown);
        for (const struct config_preset_value *v = config_preset_values; v->key != NULL; v++) {
            const struct config_key *k = config_key_find(str_from_c(v->key));
            const bool is_given = l.config.places[k->id].source == CONFIG_FROM_PRESET;

            if (v->program == l.config.preset)
                assert_true(is_given);
        }
        assert_non_null(strstr(buf_cstr(&shown),
                               i == 0 ? ", // preset ors\n" : ", // preset vllm-responses\n"));
        buf_fini(&shown);
        load_end(&l);
    }
}

static void a_variable_that_nobody_else_has_chooses_the_program(void **state)
{
    struct load ors = {.env = {"OPENAI_BASE_URL_INTERNAL=http://gpu:8000", KEY_OF_CLIENT}};
    struct load vr = {.env = {"VR_LLM_API_BASE=http://gpu:1/v1", "VR_PORT=7000", KEY_OF_CLIENT}};
    struct load none = {.env = {"ANTIPHON_PRESET=none", "OPENAI_BASE_URL_INTERNAL=http://gpu:8000",
                                "LOG_LEVEL=DEBUG", "VR_NEW=1", "MAX_CONVERSATION_HISTORY=1"}};
    struct load neither = {.env = {"LOG_LEVEL=DEBUG", "OPENAI_API_KEY=k", "API_ADAPTER_NEW=1"}};

    (void)state;
    load_fine(&ors);
    assert_int_equal(ors.config.dialect, CONFIG_DIALECT_ORS);
    assert_string_equal(ors.config.upstream, "http://gpu:8000/v1");
    problems_say(&ors, (const char *const[]){"OPENAI_BASE_URL_INTERNAL is set",
                                             "as open-responses-server has it",
                                             "ANTIPHON_PRESET=ors", NULL});
    assert_int_equal(ors.problems.n_warnings, 1);
    load_end(&ors);

    load_fine(&vr);
    assert_string_equal(vr.config.listen.items[0], "0.0.0.0:7000");
    assert_int_equal(vr.config.dialect, CONFIG_DIALECT_RESPONSES);
    assert_int_equal(vr.config.workers, 1);
    assert_int_equal(vr.problems.n_warnings, 1);
    load_end(&vr);

    load_fine(&none);
    assert_null(none.config.upstream);
    assert_int_equal(none.config.log_level, CONFIG_LOG_LEVEL_INFO);
    assert_int_equal(none.problems.n_kept, 0);
    load_end(&none);

    load_fine(&neither);
    assert_int_equal(neither.config.log_level, CONFIG_LOG_LEVEL_DEBUG);
    assert_string_equal(neither.config.listen.items[0], "127.0.0.1:8080");
    assert_int_equal(neither.problems.n_kept, 0);
    load_end(&neither);
}

static void the_preset_of_one_program_leaves_the_other_alone(void **state)
{
    struct load l = {.env = {"ANTIPHON_PRESET=vllm-responses", "LOG_LEVEL=DEBUG",
                             "OPENAI_BASE_URL_INTERNAL=http://gpu:8000", "VR_HOST=::1",
                             "MAX_CONVERSATION_HISTORY=1"}};

    (void)state;
    load_fine(&l);
    assert_string_equal(l.config.upstream, "http://localhost:8080/v1");
    assert_string_equal(l.config.listen.items[0], "[::1]:5969");
    assert_int_equal(l.config.log_level, CONFIG_LOG_LEVEL_INFO);
    assert_int_equal(l.problems.n_kept, 0);
    load_end(&l);
}

/* ---- variables */

static void values_of_vllm_responses_mean_what_they_meant_there(void **state)
{
    static const struct {
        const char *variable, *key, *shown;
    } cases[] = {
        {"VR_DB_PATH=sqlite+aiosqlite:///vllm_responses.db", "store",
         "sqlite:vllm_responses.db.antiphon"},
        {"VR_DB_PATH=sqlite+aiosqlite:////var/lib/r.db", "store", "sqlite:/var/lib/r.db.antiphon"},
        {"VR_DB_PATH=postgresql+asyncpg://db:5432/r", "store", "postgres://db:5432/r"},
        {"VR_DB_PATH=postgresql://db/r", "store", "postgres://db/r"},
        {"VR_CODE_INTERPRETER_MODE=spawn", "code_interpreter", "auto"},
        {"VR_CODE_INTERPRETER_MODE=disabled", "code_interpreter", "off"},
        {"VR_MCP_REQUEST_REMOTE_ENABLED=False", "mcp_remote", "off"},
        {"VR_MCP_REQUEST_REMOTE_ENABLED=yes", "mcp_remote", "public"},
        {"VR_MCP_REQUEST_REMOTE_URL_CHECKS=0", "mcp_remote", "any"},
        {"VR_MCP_CONFIG_PATH=/m.json", "mcp_config", "/m.json"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct load l = {.env = {cases[i].variable, "ANTIPHON_PRESET=vllm-responses"}};
        struct buf shown = {.limit = 0}, wanted = {.limit = 0};

        load_fine(&l);
        config_show(&l.config, &shown);
        buf_c(&wanted, "\"");
        buf_c(&wanted, cases[i].key);
        buf_c(&wanted, "\": \"");
        buf_c(&wanted, cases[i].shown);
        buf_c(&wanted, "\", // variable ");
        if (strstr(buf_cstr(&shown), buf_cstr(&wanted)) == NULL)
            fail_msg("%s\nis not in\n%s", buf_cstr(&wanted), buf_cstr(&shown));
        buf_fini(&shown);
        buf_fini(&wanted);
        load_end(&l);
    }
}

static void servers_of_requests_stay_off_whatever_is_said_of_checks(void **state)
{
    struct load l = {.env = {"VR_MCP_REQUEST_REMOTE_URL_CHECKS=false",
                             "VR_MCP_REQUEST_REMOTE_ENABLED=false",
                             "ANTIPHON_PRESET=vllm-responses", "VR_MCP_HOSTED_TOOL_TIMEOUT_SEC=7.5",
                             "VR_MCP_HOSTED_STARTUP_TIMEOUT_SEC=3"}};

    (void)state;
    load_fine(&l);
    assert_int_equal(l.config.mcp_remote, CONFIG_MCP_REMOTE_OFF);
    assert_int_equal(l.config.mcp_call_timeout_ms, 7500);
    assert_int_equal(l.config.mcp_remote_timeout_ms, 3 * S);
    load_end(&l);
}

static void wrong_values_are_refused_by_the_name_of_the_variable(void **state)
{
    struct load mode = {.env = {"VR_CODE_INTERPRETER_MODE=wasm"}};
    struct load truth = {.env = {"VR_MCP_REQUEST_REMOTE_ENABLED=maybe"}};
    struct load checks = {.env = {"VR_MCP_REQUEST_REMOTE_URL_CHECKS=maybe"}};
    struct load db = {.env = {"ANTIPHON_PRESET=vllm-responses", "VR_DB_PATH=mysql://u:p@h/d"}};
    struct load preset = {.env = {"ANTIPHON_PRESET=orss"}};

    (void)state;
    FAILS(&mode, "VR_CODE_INTERPRETER_MODE: \"wasm\"");
    FAILS(&truth, "VR_MCP_REQUEST_REMOTE_ENABLED: \"maybe\"");
    FAILS(&checks, "VR_MCP_REQUEST_REMOTE_URL_CHECKS: \"maybe\"");
    FAILS(&db, "VR_DB_PATH");
    FAILS(&preset, "ANTIPHON_PRESET: \"orss\"", "none, ors");
}

/* Every variable is a key or told, by a line that names it. */
static void every_variable_has_an_effect_or_is_told(void **state)
{
    (void)state;
    for (const struct config_told *t = config_told; t->why != NULL; t++) {
        const bool is_ors = t->program == CONFIG_PRESET_ORS;
        struct buf variable = {.limit = 0};
        struct load l = {.args = {"--preset", is_ors ? "ors" : "vllm-responses"}};

        buf_append(&variable, t->variable);
        buf_c(&variable, "=x");
        l.env[0] = buf_cstr(&variable);
        l.env[1] = KEY_OF_CLIENT;
        WARNS(&l, t->variable.p, " has no effect: ", t->why);
        buf_fini(&variable);
    }
    for (const struct config_alias *a = config_aliases; a->key != NULL; a++)
        assert_non_null(config_key_find(str_from_c(a->key)));
}

static void what_looks_like_one_is_told(void **state)
{
    struct load vr = {.env = {"ANTIPHON_PRESET=vllm-responses", "VR_WORKER=2", KEY_OF_CLIENT}};
    struct load ors = {.env = {"ANTIPHON_PRESET=ors", "API_ADAPTER_TLS_FILE=1", KEY_OF_CLIENT}};

    (void)state;
    WARNS(&vr, "\"VR_WORKER\" has no effect: it is not known; did you mean VR_WORKERS?");
    WARNS(&ors, "\"API_ADAPTER_TLS_FILE\" has no effect: it is not known");
}

/* ---- .env */

static void a_dotenv_adds_what_the_environment_does_not_have(void **state)
{
    struct load l = {
        .env = {"ANTIPHON_PRESET=ors", "API_ADAPTER_PORT=9000", "GPU=[::1]", KEY_OF_CLIENT}};

    (void)state;
    assert_int_equal(load_with(&l, "# mine\n"
                                   "API_ADAPTER_PORT=1\n"
                                   "API_ADAPTER_HOST=::1\n"
                                   "PORT=8001\n"
                                   "OPENAI_BASE_URL_INTERNAL=http://${GPU}:${PORT}\n"
                                   "LOG_LEVEL=ERROR\nLOG_LEVEL=WARNING # the last one\n"
                                   "ANTIPHON_WORKERS=7\nVR_PORT=3\n"
                                   "OPENAI_API_KEY='k'\n"),
                     0);
    assert_string_equal(l.config.listen.items[0], "[::1]:9000");
    assert_string_equal(l.config.upstream, "http://[::1]:8001/v1");
    assert_string_equal(l.config.upstream_key, "k");
    assert_int_equal(l.config.log_level, CONFIG_LOG_LEVEL_WARN);
    assert_int_equal(l.config.workers, 0);
    assert_int_equal(l.problems.n_kept, 0);
    load_end(&l);
}

static void a_dotenv_is_that_of_one_program_only(void **state)
{
    struct load none = {.env = {"LOG_LEVEL=INFO"}}, vr = {.args = {"--preset", "vllm-responses"}};

    (void)state;
    assert_int_equal(load_with(&none, "API_ADAPTER_PORT=1\n"), 0);
    assert_string_equal(none.config.listen.items[0], "127.0.0.1:8080");
    load_end(&none);
    assert_int_equal(load_with(&vr, "VR_PORT=1\n"), 0);
    assert_string_equal(vr.config.listen.items[0], "0.0.0.0:5969");
    load_end(&vr);
}

static void what_is_wrong_in_a_dotenv_is_told(void **state)
{
    struct load bad = {.args = {"--preset", "ors"}, .env = {KEY_OF_CLIENT}};
    struct load unknown = bad, large = bad;

    (void)state;
    assert_int_equal(load_with(&bad, "A=1\nnonsense\nB='open\n"), 0);
    problems_say(&bad, (const char *const[]){".env: line 2 is no NAME=VALUE", NULL});
    assert_int_equal(bad.problems.n_warnings, 1);
    load_end(&bad);
    assert_int_equal(load_with(&unknown, "API_ADAPTER_PROT=1\n"), 0);
    problems_say(&unknown, (const char *const[]){"did you mean API_ADAPTER_PORT?", NULL});
    load_end(&unknown);
    assert_int_equal(load_with(&large, "A=0123456789abcdef\nA=${A}${A}${A}${A}${A}${A}${A}${A}\n"
                                       "A=${A}${A}${A}${A}${A}${A}${A}${A}\n"
                                       "A=${A}${A}${A}${A}${A}${A}${A}${A}\n"
                                       "A=${A}${A}${A}${A}${A}${A}${A}${A}\nLOG_LEVEL=ERROR\n"),
                     0);
    problems_say(&large, (const char *const[]){".env: \"A\" is longer than 8 KiB", NULL});
    assert_int_equal(large.config.log_level, CONFIG_LOG_LEVEL_ERROR);
    load_end(&large);
}

static str look_nowhere(void *arg, str name)
{
    (void)arg;
    return str_eq(name, STR("HOME")) ? STR("/here") : STR_NONE;
}

/* "NAME=value|NAME=value|", with what was passed over behind it. */
static void write_dotenv(str text, struct buf *out)
{
    struct dotenv d = dotenv_of(text);
    str name;

    while (d.rest.len > 0) {
        struct buf value = {.limit = 0};

        if (dotenv_next(&d, look_nowhere, NULL, &name, &value)) {
            buf_append(out, name);
            buf_char(out, '=');
            buf_append(out, buf_str(&value));
            buf_char(out, '|');
        }
        buf_fini(&value);
    }
    for (size_t i = 0; i < d.n_bad; i++)
        buf_char(out, '!');
}

static void lines_of_a_dotenv_are_read_as_libraries_do(void **state)
{
    static const struct {
        const char *text, *read;
    } cases[] = {
        {"A=1", "A=1|"},
        {"A=1\nB=2\n", "A=1|B=2|"},
        {"A=1\r\nB=2\r\n", "A=1|B=2|"},
        {" export A = 1 2 \nexport=3", "A=1 2|export=3|"},
        {"A=1 # c\nB=1#2\nC=# c\nD= #c", "A=1|B=1#2|C=|D=|"},
        {"# c\n\n  # d\nA=", "A=|"},
        {"A='1 # \\' \\\\ \\n'\nB=\"1\\n\\t\\\"\\\\\\q\" # c", "A=1 # ' \\ \\n|B=1\n\t\"\\\\q|"},
        {"A=\"1\n2\"\nB=3", "A=1\n2|B=3|"},
        {"A=${HOME}/x\nB=${NO:-d}/${NO}\nC=$HOME ${\nD='${HOME}'",
         "A=/here/x|B=d/|C=$HOME ${|D=/here|"},
        {"A=${A:?x}", "A=${A:?x}|"},
        {"A\n=1\nB='open\nC=3", "C=3|!!!"},
        {"A='1' 2\nB=3", "B=3|!"},
        {"", ""},
        {"\n\n", ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf read = {.limit = 0};

        write_dotenv(str_from_c(cases[i].text), &read);
        assert_string_equal(buf_cstr(&read), cases[i].read);
        buf_fini(&read);
    }
}

static void a_dotenv_cut_anywhere_is_read_to_its_end(void **state)
{
    const char *text = "export A='1\n2'\r\nB=\"\\n${A:-x}\" # c\nC\n=D\nE=${";

    (void)state;
    for (size_t n = 0; n <= strlen(text); n++) {
        char *copy = exact_copy(str_from(text, n));
        struct buf read = {.limit = 0};

        write_dotenv(str_from(copy, n), &read);
        assert_false(buf_failed(&read));
        buf_fini(&read);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_preset_is_chosen_by_flag_variable_or_file),
        cmocka_unit_test(a_preset_gives_way_to_whatever_is_said),
        cmocka_unit_test(every_value_of_a_preset_is_valid_and_shown),
        cmocka_unit_test(a_variable_that_nobody_else_has_chooses_the_program),
        cmocka_unit_test(the_preset_of_one_program_leaves_the_other_alone),
        cmocka_unit_test(values_of_vllm_responses_mean_what_they_meant_there),
        cmocka_unit_test(servers_of_requests_stay_off_whatever_is_said_of_checks),
        cmocka_unit_test(wrong_values_are_refused_by_the_name_of_the_variable),
        cmocka_unit_test(every_variable_has_an_effect_or_is_told),
        cmocka_unit_test(what_looks_like_one_is_told),
        cmocka_unit_test(a_dotenv_adds_what_the_environment_does_not_have),
        cmocka_unit_test(a_dotenv_is_that_of_one_program_only),
        cmocka_unit_test(what_is_wrong_in_a_dotenv_is_told),
        cmocka_unit_test(lines_of_a_dotenv_are_read_as_libraries_do),
        cmocka_unit_test(a_dotenv_cut_anywhere_is_read_to_its_end),
    };

    return cmocka_run_group_tests_name("moving", tests, NULL, NULL);
}
