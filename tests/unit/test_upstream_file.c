/* test_upstream_file.c -- the file of upstreams: what it says, and every mistake in it. */
#include "unit/upstream_table_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

#include "config/config_override.h"
#include "lib/failing_malloc.h"

/* That of OPERATIONS 4.1, with comments and a comma too many. */
static const char whole[] =
    "{\n"
    "  // what all have\n"
    "  \"defaults\": { \"max_concurrency\": 8, \"first_byte_timeout\": \"10m\" },\n"
    "  \"upstreams\": {\n"
    "    \"gpu1\":  { \"url\": \"http://10.0.0.5:8000/v1\", \"key_env\": \"GPU1_KEY\",\n"
    "               \"models\": [\"qwen3-coder\", \"gpt-oss-*\"], \"weight\": 2 },\n"
    "    \"gpu2\":  { \"url\": \"http://10.0.0.6:8000/v1\", \"models\": [\"qwen3-coder\"] },\n"
    "    \"small\": { \"url\": \"unix:/run/llama.sock\", \"models\": [{\"name\": \"fast\", "
    "\"model\": \"qwen3-4b\"}],\n"
    "               \"max_concurrency\": 1 },\n"
    "    \"cloud\": { \"url\": \"https://api.example.com/v1\", \"key\": \"sk-cloud\",\n"
    "               \"kind\": \"openai\", \"models\": [\"gpt-*\", {\"name\": \"qwen3-coder\", "
    "\"model\": \"big\", \"tier\": 1}] }, /* the last */\n"
    "  },\n"
    "  \"default\": [\"gpu1\"],\n"
    "  \"policies\": { \"qwen3-coder\": { \"policy\": \"affinity\", \"queue_limit\": 50 } }\n"
    "}\n";

static void the_example_of_the_documentation_is_a_table(void **state)
{
    struct tabled t = {.file = whole, .env = {"OTHER=x", "GPU1_KEY=sk-gpu1"}};
    const struct upstream_entry *gpu1, *small, *cloud;

    (void)state;
    tabled_load(&t);
    assert_int_equal(t.problems.n_errors, 0);
    tabled_says(&t, "upstreams.gpu1.key_env: is sent unencrypted to another machine");
    assert_int_equal(t.problems.n_warnings, 1);
    assert_true(t.table->is_from_file);
    assert_int_equal(t.table->n, 4);
    gpu1 = &t.table->entries[0];
    assert_str_c(gpu1->name, "gpu1");
    assert_str_c(gpu1->base, "http://10.0.0.5:8000/v1");
    assert_str_c(gpu1->authorization, "Bearer sk-gpu1");
    assert_int_equal(gpu1->weight, 2);
    assert_int_equal(gpu1->max_concurrency, 8);
    assert_int_equal(gpu1->config->first_byte_timeout_ms, 600 * S);
    assert_int_equal(gpu1->n_models, 2);
    assert_true(gpu1->models[1].is_glob);
    assert_int_equal(gpu1->models[1].weight, 2);
    assert_false(gpu1->serves_listed);
    small = tabled_entry(&t, "small");
    assert_str_c(small->base, "unix:/run/llama.sock:/v1");
    assert_str_c(small->models[0].model, "qwen3-4b");
    assert_int_equal(small->max_concurrency, 1);
    assert_false(small->pass_client_key);
    cloud = tabled_entry(&t, "cloud");
    assert_string_equal(cloud->config->upstream_kind, "openai");
    assert_string_equal(gpu1->config->upstream_kind, "auto");
    assert_int_equal(cloud->models[1].tier, 1);
    assert_int_equal(t.table->n_defaults, 1);
    assert_int_equal(t.table->policies[0].queue_limit, 50);
    assert_int_equal(t.table->policies[0].queue_owner, 20);
    tabled_end(&t);
}

static void what_is_not_said_has_its_usual_value(void **state)
{
    struct tabled t = {.file = "{\"upstreams\": {\"a\": {\"url\": \"http://127.0.0.1:1\"}}}"};
    const struct upstream_entry *a;

    (void)state;
    tabled_fine(&t);
    a = tabled_entry(&t, "a");
    assert_str_c(a->base, "http://127.0.0.1:1/v1");
    assert_true(str_is_none(a->authorization));
    assert_null(a->key_file);
    assert_false(a->pass_client_key);
    assert_true(a->serves_listed);
    assert_int_equal(a->n_models, 0);
    assert_int_equal(a->weight, 1);
    assert_int_equal(a->tier, 0);
    assert_int_equal(a->max_concurrency, 0);
    assert_false(a->wants_slots);
    assert_int_equal(a->health, UPSTREAM_HEALTH_AUTO);
    assert_false(a->health_is_given);
    assert_int_equal(a->retry_attempts, 1);
    assert_true((a->retry_on & 1U << CONFIG_RETRY_503) != 0);
    assert_true((a->retry_on & 1U << CONFIG_RETRY_500) == 0);
    assert_true(a->is_traced);
    assert_str_c(a->provider, "openai_compatible");
    assert_null(a->client_cert);
    assert_int_equal(t.table->n_defaults, 0);
    assert_int_equal(t.table->other_policy.kind, ROUTING_AFFINITY);
    assert_int_equal(t.table->other_policy.queue_limit, 100);
    tabled_end(&t);
}

static void every_member_reaches_its_field(void **state)
{
    struct tabled t = {
        .file = ONE(
            ", \"models\": [\"auto\", \"m\"], \"weight\": 1000, \"tier\": 9, "
            "\"max_concurrency\": \"slots\", \"health\": \"/up\", \"retry\": 5, "
            "\"retry_on\": [\"500\", \"timeout\"], \"eject_after\": 0, \"eject_time\": \"1m\", "
            "\"trace\": false, \"provider\": \"acme\", \"pass_client_key\": true, "
            "\"kind\": \"vllm\", \"idle_timeout\": 5, \"tls_verify\": false, "
            "\"pass_fields\": [\"top_k\"], \"relay\": \"all\", \"harmony_max_tokens\": 7, "
            "\"model_settings\": [\"* think_tags=on\"], \"reasoning_field\": \"none\", \"slot_pinning\": true")};
    const struct upstream_entry *a;

    (void)state;
    tabled_fine(&t);
    a = tabled_entry(&t, "a");
    assert_true(a->serves_listed);
    assert_int_equal(a->n_models, 1);
    assert_int_equal(a->models[0].tier, 9);
    assert_int_equal(a->weight, 1000);
    assert_true(a->wants_slots);
    assert_int_equal(a->health, UPSTREAM_HEALTH_PATH);
    assert_true(a->health_is_given);
    assert_str_c(a->health_path, "/up");
    assert_int_equal(a->retry_attempts, 5);
    assert_int_equal(a->retry_on, 1U << CONFIG_RETRY_500 | 1U << CONFIG_RETRY_TIMEOUT);
    assert_int_equal(a->config->eject_after, 0);
    assert_int_equal(a->config->eject_time_ms, 60 * S);
    assert_false(a->is_traced);
    assert_str_c(a->provider, "acme");
    assert_true(a->pass_client_key);
    assert_string_equal(a->config->upstream_kind, "vllm");
    assert_int_equal(a->config->idle_timeout_ms, 5 * S);
    assert_false(a->config->tls_verify);
    assert_string_equal(a->config->pass_fields.items[0], "top_k");
    assert_int_equal(a->config->relay, CONFIG_RELAY_ALL);
    assert_int_equal(a->config->harmony_max_tokens, 7);
    assert_string_equal(a->config->model_settings.items[0], "* think_tags=on");
    assert_true(a->config->slot_pinning);
    assert_string_equal(a->config->of_all_models[MODEL_REASONING_FIELD], "none");
    tabled_end(&t);
}

static void an_upstream_comes_before_defaults_and_these_before_the_configuration(void **state)
{
    struct tabled t = {
        .config = {.args = {"--idle-timeout", "1s", "--total-timeout", "1s", "--connect-timeout",
                            "1s"}},
        .file = "{\"upstreams\": {\"a\": {\"url\": \"http://h\", \"idle_timeout\": \"3s\", "
                "\"weight\": 3}, \"b\": {\"url\": \"http://i\"}}, \"defaults\": {\"idle_timeout\": "
                "\"2s\", \"total_timeout\": \"2s\", \"weight\": 2, \"retry\": 2}}"};
    const struct upstream_entry *a, *b;

    (void)state;
    tabled_fine(&t);
    a = tabled_entry(&t, "a");
    b = tabled_entry(&t, "b");
    assert_int_equal(a->config->idle_timeout_ms, 3 * S);
    assert_int_equal(a->config->total_timeout_ms, 2 * S);
    assert_int_equal(a->config->connect_timeout_ms, 1 * S);
    assert_int_equal(b->config->idle_timeout_ms, 2 * S);
    assert_int_equal(t.config.config.idle_timeout_ms, 1 * S);
    assert_int_equal(a->weight, 3);
    assert_int_equal(b->weight, 2);
    assert_int_equal(b->retry_attempts, 2);
    tabled_end(&t);
}

static void several_upstreams_are_tried_three_times(void **state)
{
    struct tabled t = {.file = "{\"upstreams\": {\"a\": {\"url\": \"http://h\", \"retry\": 1}, "
                               "\"b\": {\"url\": \"http://i\"}}}"};

    (void)state;
    tabled_fine(&t);
    assert_int_equal(tabled_entry(&t, "a")->retry_attempts, 1);
    assert_int_equal(tabled_entry(&t, "b")->retry_attempts, 3);
    tabled_end(&t);
}

/* ---- mistakes */

static void syntax_is_told_with_its_place(void **state)
{
    (void)state;
    TABLE_FAILS("{\n\"upstreams\" {}}", "the file: line 2, column 13: ");
    TABLE_FAILS("[]", "the file: line 1: must be a JSON object");
    TABLE_FAILS("", "the file: line 1, column 1: ");
    TABLE_FAILS("{}", "line 1: has no \"upstreams\"");
    TABLE_FAILS("{\"upstreams\": []}", "upstreams: must be an object of upstreams");
    TABLE_FAILS("{\"upstreams\": {}}", "upstreams: must have an upstream");
}

static void unknown_members_are_told_with_what_was_probably_meant(void **state)
{
    (void)state;
    TABLE_FAILS(ONE(",\n\"wieght\": 1"),
                "line 2: upstreams.a.wieght: is no member of this; did you mean \"weight\"?");
    TABLE_FAILS(ONE(", \"listen\": 1"), "upstreams.a.listen: is no member of this");
    TABLE_FAILS(ONE(", \"models\": [{\"name\": \"m\", \"modle\": \"x\"}]"),
                "upstreams.a.models[0].modle: ", "\"model\"?");
    TABLE_FAILS("{\"upstream\": {}, \"upstreams\": {\"a\": {\"url\": \"http://h\"}}}",
                "upstream: is no member of this; did you mean \"upstreams\"?");
    TABLE_FAILS("{\"upstreams\": {\"a\": {\"url\": \"http://h\"}}, \"policies\": {\"m\": "
                "{\"que_limit\": 1}}}",
                "policies.m.que_limit: ", "\"queue_limit\"?");
    TABLE_FAILS("{\"defaults\": {\"idle_timeuot\": 1}, \"upstreams\": {\"a\": {\"url\": "
                "\"http://h\"}}}",
                "defaults.idle_timeuot: ", "\"idle_timeout\"?");
}

static void wrong_values_are_told_with_what_would_be_right(void **state)
{
    (void)state;
    TABLE_FAILS(ONE(", \"weight\": 0"),
                "upstreams.a.weight: must be a whole number from 1 to 1000");
    TABLE_FAILS(ONE(", \"weight\": 1001"), "from 1 to 1000");
    TABLE_FAILS(ONE(", \"weight\": \"2\""), "from 1 to 1000");
    TABLE_FAILS(ONE(", \"tier\": 10"), "upstreams.a.tier: must be a whole number from 0 to 9");
    TABLE_FAILS(ONE(", \"tier\": 0.5"), "from 0 to 9");
    TABLE_FAILS(ONE(", \"max_concurrency\": 100001"), "from 0 to 100000");
    TABLE_FAILS(ONE(", \"max_concurrency\": \"slot\""), "or \"slots\"");
    TABLE_FAILS(ONE(", \"health\": \"maybe\""), "must be auto, off, or a path such as /health");
    TABLE_FAILS(ONE(", \"health\": false"), "upstreams.a.health: must be a string");
    TABLE_FAILS(ONE(", \"trace\": \"no\""), "must be true or false");
    TABLE_FAILS(ONE(", \"provider\": \"\""), "must not be empty");
    TABLE_FAILS(ONE(", \"provider\": \"a\\u0000b\""), "control characters");
    TABLE_FAILS(
        ONE(", \"retry\": 11"),
        "upstreams.a.retry: \"11\" is not valid; give auto, or a whole number from 1 to 10");
    TABLE_FAILS(ONE(", \"retry_on\": [\"418\"]"),
                "upstreams.a.retry_on: \"418\" is not valid; give connect, reset, 429");
    TABLE_FAILS(ONE(",\n\n\"idle_timeout\": \"soon\""),
                "line 3: upstreams.a.idle_timeout: \"soon\" is not valid; give a duration");
    TABLE_FAILS(ONE(", \"kind\": \"llama\""),
                "upstreams.a.kind: \"llama\" is not valid; give auto, generic");
    TABLE_FAILS(ONE(", \"kind\": {}"), "upstreams.a.kind: must be a string");
    TABLE_FAILS(ONE(", \"ca_file\": \"/nowhere/ca.pem\""),
                "upstreams.a.ca_file: there is no such file");
    TABLE_FAILS(ONE(", \"weight\": 1, \"weight\": 2"), "upstreams.a.weight: is there twice");
    TABLE_FAILS("{\"upstreams\": {\"a\": 7}}", "upstreams.a: must be an object");
}

static void names_of_upstreams_are_checked(void **state)
{
    (void)state;
    TABLE_FAILS("{\"upstreams\": {\"GPU\": {\"url\": \"http://h\"}}}",
                "upstreams.GPU: a name has 1 to 32 of");
    TABLE_FAILS("{\"upstreams\": {\"\": {\"url\": \"http://h\"}}}", "upstreams.\"\": a name has");
    TABLE_FAILS("{\"upstreams\": {\"a23456789012345678901234567890123\": {\"url\": \"http://h\"}}}",
                "a name has");
    TABLE_FAILS("{\"upstreams\": {\"a\": {\"url\": \"http://h\"}, \"a\": {\"url\": \"http://i\"}}}",
                "upstreams.a: there is another upstream of this name");
    TABLE_FAILS("{\"upstreams\": {\"a\": {\"url\": \"http://h\"}}, \"upstreams\": {}}",
                "upstreams: is there twice");
}

static void a_url_is_needed_and_checked(void **state)
{
    (void)state;
    TABLE_FAILS("{\"upstreams\": {\"a\": {}}}", "upstreams.a: has no url");
    TABLE_FAILS("{\"upstreams\": {\"a\": {\"url\": \"\"}}}", "upstreams.a: has no url");
    TABLE_FAILS("{\"upstreams\": {\"a\": {\"url\": \"gpu:8000\"}}}",
                "upstreams.a.url: ", "give http://HOST");
    TABLE_FAILS("{\"upstreams\": {\"a\": {\"url\": \"http://127.0.0.1:8080\"}}}",
                "upstreams.a.url: this gateway listens there itself");
    TABLE_FAILS(
        "{\"defaults\": {\"url\": \"http://h\"}, \"upstreams\": {\"a\": {\"url\": \"http://h\"}}}",
        "defaults.url: belongs to one upstream");
}

static void models_are_checked(void **state)
{
    (void)state;
    TABLE_FAILS(ONE(", \"models\": \"gpt\""),
                "upstreams.a.models: must be a list of models, or \"auto\"");
    TABLE_FAILS(ONE(", \"models\": [7]"), "upstreams.a.models[0]: must be a name");
    TABLE_FAILS(ONE(", \"models\": [\"m\", \"m\"]"),
                "upstreams.a.models[1]: the model \"m\" is there twice");
    TABLE_FAILS(ONE(", \"models\": [\"auto\", \"auto\"]"), "models[1]: is there twice");
    TABLE_FAILS(ONE(", \"models\": [{\"model\": \"m\"}]"), "models[0]: has no name");
    TABLE_FAILS(ONE(", \"models\": [{\"name\": \"m*\", \"model\": \"x\"}]"),
                "models[0]: a name with * stands for many models, which cannot all be \"x\"");
    TABLE_FAILS(ONE(", \"models\": [{\"name\": \"m\", \"tier\": 10}]"), "models[0].tier: must be");
    TABLE_FAILS(ONE(", \"models\": [{\"name\": \"m\", \"weight\": 0}]"),
                "models[0].weight: must be");
}

static void names_that_do_not_exist_are_told(void **state)
{
    (void)state;
    TABLE_FAILS("{\"upstreams\": {\"a\": {\"url\": \"http://h\"}}, \"default\": [\"a\", \"b\"]}",
                "default[1]: there is no upstream \"b\"");
    TABLE_FAILS("{\"upstreams\": {\"a\": {\"url\": \"http://h\"}}, \"default\": [\"a\", \"a\"]}",
                "default[1]: \"a\" is there twice");
    TABLE_FAILS("{\"upstreams\": {\"a\": {\"url\": \"http://h\"}}, \"default\": \"a\"}",
                "default: must be a list of names");
    TABLE_FAILS("{\"upstreams\": {\"a\": {\"url\": \"http://h\", \"models\": [\"m\"]}}, "
                "\"policies\": {\"n\": {}}}",
                "policies.n: no upstream serves such a model");
    TABLE_FAILS("{\"upstreams\": {\"a\": {\"url\": \"http://h\", \"models\": [\"m\"]}}, "
                "\"policies\": {\"n*\": {}}}",
                "policies.n*: no upstream serves such a model");
    TABLE_FAILS("{\"upstreams\": {\"a\": {\"url\": \"http://h\"}}, \"policies\": {\"n\": "
                "{\"policy\": \"best\"}}}",
                "policies.n.policy: must be affinity, least, round_robin or first");
    TABLE_FAILS("{\"upstreams\": {\"a\": {\"url\": \"http://h\"}}, \"policies\": {\"n\": "
                "{\"queue_owner\": 0}}}",
                "policies.n.queue_owner: \"0\" is not valid");
}

static void all_mistakes_are_named_together(void **state)
{
    struct tabled t = {
        .file = "{\"defaults\": {\"x\": 1},\n\"upstreams\": {\"a\": {\"weight\": 0},\n"
                "\"b\": {\"url\": \"http://h\", \"kind\": \"x\"}},\n\"default\": [\"c\"]}"};

    (void)state;
    tabled_load(&t);
    tabled_says(&t, "line 1: defaults.x: ");
    tabled_says(&t, "line 2: upstreams.a.weight: ");
    tabled_says(&t, "line 2: upstreams.a: has no url");
    tabled_says(&t, "line 3: upstreams.b.kind: ");
    tabled_says(&t, "line 4: default[0]: ");
    assert_int_equal(t.problems.n_errors, 5);
    tabled_end(&t);
}

static void an_upstream_that_nobody_reaches_is_a_warning(void **state)
{
    struct tabled t = {.file = "{\"upstreams\": {\"a\": {\"url\": \"http://h\"},\n\"b\": {\"url\": "
                               "\"http://i\", \"models\": []}, \"c\": {\"url\": \"http://j\", "
                               "\"models\": []}}, \"default\": [\"c\"]}"};

    (void)state;
    tabled_load(&t);
    assert_non_null(t.table);
    tabled_says(&t, "line 2: upstreams.b: serves no model");
    assert_int_equal(t.problems.n_warnings, 1);
    tabled_end(&t);
}

/* ---- keys */

static char *write_file(char *path, const char *text)
{
    int fd = mkstemp(path);

    assert_int_not_equal(fd, -1);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, 0600) + close(fd), 0);
    return path;
}

static void one_key_is_enough(void **state)
{
    (void)state;
    TABLE_FAILS(ONE(", \"key\": \"k\", \"key_env\": \"K\""),
                "upstreams.a.key_env: is one key too many: key is given as well");
    TABLE_FAILS(ONE(", \"key_env\": \"K\""), "upstreams.a.key_env: the variable \"K\" is not set");
    TABLE_FAILS(ONE(", \"key_file\": \"/nowhere/key\""),
                "upstreams.a.key_file: cannot be read: No such file");
    TABLE_FAILS(ONE(", \"key_file\": \"credential:k\""),
                "upstreams.a.key_file: credential:NAME is a file in CREDENTIALS_DIRECTORY");
    TABLE_FAILS(ONE(", \"key\": \"k\", \"pass_client_key\": true"),
                "upstreams.a.pass_client_key: has no use beside key");
    TABLE_FAILS("{\"defaults\": {\"key\": \"k\"}, \"upstreams\": {\"a\": {\"url\": \"http://h\"}}}",
                "defaults.key: belongs to one upstream");
}

static void defaults_may_pass_keys_on_for_those_without_one(void **state)
{
    struct tabled t = {.file = "{\"defaults\": {\"pass_client_key\": true}, \"upstreams\": {\"a\": "
                               "{\"url\": \"https://h\", \"key\": \"k\"}, \"b\": {\"url\": "
                               "\"https://i\"}}}"};

    (void)state;
    tabled_fine(&t);
    assert_false(tabled_entry(&t, "a")->pass_client_key);
    assert_true(tabled_entry(&t, "b")->pass_client_key);
    tabled_end(&t);
}

static void no_message_shows_a_key(void **state)
{
    struct tabled t = {.file =
                           "{\"upstreams\": {\"a\": {\"url\": \"http://h\", \"key\": "
                           "\"sk-Hidden 1\"}, \"b\": {\"url\": \"http://i\", \"key_env\": \"K\"}, "
                           "\"c\": {\"url\": \"http://sk-Hidden@i\"}}}",
                       .env = {"K=sk-Hidden 2"}};

    (void)state;
    tabled_load(&t);
    assert_int_equal(t.problems.n_errors, 3);
    tabled_says(&t, "upstreams.a.key: the value must be visible ASCII");
    tabled_says(&t, "upstreams.b.key_env: the value of the variable must be visible ASCII");
    assert_null(strstr(buf_cstr(&t.lines), "Hidden"));
    tabled_end(&t);
}

static void a_key_in_a_file_is_its_first_line(void **state)
{
    char path[] = "/tmp/antiphon-key-XXXXXX";
    struct buf file = {0};
    struct tabled t = {.file = NULL};

    (void)state;
    buf_c(&file, "{\"upstreams\": {\"a\": {\"url\": \"https://h\", \"key_file\": \"");
    buf_c(&file, write_file(path, "sk-first \nsecond\n"));
    buf_c(&file, "\"}}}");
    t.file = buf_cstr(&file);
    tabled_fine(&t);
    assert_str_c(tabled_entry(&t, "a")->authorization, "Bearer sk-first");
    assert_string_equal(tabled_entry(&t, "a")->key_file, path);
    tabled_end(&t);
    buf_fini(&file);
    assert_int_equal(unlink(path), 0);
}

static void a_key_file_that_changes_makes_a_table_with_the_new_key(void **state)
{
    char path[] = "/tmp/antiphon-key-XXXXXX";
    struct upstream_table *second, *third;
    struct buf file = {0};
    struct tabled t = {.file = NULL};
    FILE *f;

    (void)state;
    buf_c(&file, "{\"upstreams\": {\"a\": {\"url\": \"https://h\", \"key_file\": \"");
    buf_c(&file, write_file(path, "sk-first\n"));
    buf_c(&file, "\"}, \"b\": {\"url\": \"https://i\", \"key\": \"sk-b\"}}}");
    t.file = buf_cstr(&file);
    tabled_fine(&t);
    assert_null(upstream_table_renew_keys(t.table, &t.problems));
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs("sk-the-second\n", f) >= 0 && fclose(f) == 0);
    second = upstream_table_renew_keys(t.table, &t.problems);
    assert_non_null(second);
    assert_str_c(tabled_entry(&t, "a")->authorization, "Bearer sk-first");
    upstream_table_unref(t.table); /* its texts stay as long as the second table */
    t.table = second;
    assert_str_c(tabled_entry(&t, "a")->authorization, "Bearer sk-the-second");
    assert_str_c(tabled_entry(&t, "b")->authorization, "Bearer sk-b");
    assert_null(upstream_table_renew_keys(second, &t.problems));
    assert_int_equal(t.problems.n_kept, 0);

    assert_int_equal(unlink(path), 0);
    third = upstream_table_renew_keys(second, &t.problems);
    assert_non_null(third);
    assert_int_equal(t.problems.n_warnings, 1);
    upstream_table_unref(second);
    t.table = third;
    assert_str_c(tabled_entry(&t, "a")->authorization, "Bearer sk-the-second");
    assert_null(upstream_table_renew_keys(third, &t.problems)); /* told once */
    tabled_end(&t);
    buf_fini(&file);
}

static void certificate_and_key_belong_together(void **state)
{
    (void)state;
    TABLE_FAILS(ONE(", \"client_cert\": \"/dev/null\""),
                "upstreams.a: client_cert and client_key belong together");
    TABLE_FAILS(ONE(", \"client_key\": \"/nowhere\", \"client_cert\": \"/dev/null\""),
                "upstreams.a.client_key: cannot be read");
}

/* ---- memory */

static void any_allocation_may_fail(void **state)
{
    const char *const env[] = {"GPU1_KEY=sk-gpu1", NULL};
    struct load config = {.args = {"--model-alias", "a=b"}};
    struct upstream_table_source source = {
        .config = &config.config, .env = env, .file_text = str_from_c(whole)};
    bool has_failed = true;

    (void)state;
    load_fine(&config);
    for (long n = 0; has_failed; n++) {
        struct config_problems problems = {.n_kept = 0};
        struct upstream_table *table;

        failing_malloc_begin(n, n % 2 == 0 ? FAILS_ONCE : FAILS_FOR_GOOD);
        table = upstream_table_load(&source, &problems);
        has_failed = failing_malloc_end();
        assert_true(table != NULL || problems.n_errors > 0);
        assert_true(has_failed || table != NULL);
        upstream_table_unref(table);
        config_problems_fini(&problems);
    }
    load_end(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_documentation_is_a_table),
        cmocka_unit_test(what_is_not_said_has_its_usual_value),
        cmocka_unit_test(every_member_reaches_its_field),
        cmocka_unit_test(an_upstream_comes_before_defaults_and_these_before_the_configuration),
        cmocka_unit_test(several_upstreams_are_tried_three_times),
        cmocka_unit_test(syntax_is_told_with_its_place),
        cmocka_unit_test(unknown_members_are_told_with_what_was_probably_meant),
        cmocka_unit_test(wrong_values_are_told_with_what_would_be_right),
        cmocka_unit_test(names_of_upstreams_are_checked),
        cmocka_unit_test(a_url_is_needed_and_checked),
        cmocka_unit_test(models_are_checked),
        cmocka_unit_test(names_that_do_not_exist_are_told),
        cmocka_unit_test(all_mistakes_are_named_together),
        cmocka_unit_test(an_upstream_that_nobody_reaches_is_a_warning),
        cmocka_unit_test(one_key_is_enough),
        cmocka_unit_test(defaults_may_pass_keys_on_for_those_without_one),
        cmocka_unit_test(no_message_shows_a_key),
        cmocka_unit_test(a_key_in_a_file_is_its_first_line),
        cmocka_unit_test(a_key_file_that_changes_makes_a_table_with_the_new_key),
        cmocka_unit_test(certificate_and_key_belong_together),
        cmocka_unit_test(any_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
