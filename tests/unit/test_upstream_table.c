/* test_upstream_table.c -- the single upstream as a table, and from names to upstreams. */
#include "unit/upstream_table_fixture.h"

#include "lib/failing_malloc.h"
#include "upstream/upstream_route_memo.h"

/* ---- the single upstream */

static void an_upstream_of_the_configuration_is_the_one_row_default(void **state)
{
    struct tabled t = {.config = {.args = {"--upstream", "http://h:1", "--upstream-key", "sk-1",
                                           "--upstream-kind", "vllm"}}};
    const struct upstream_entry *e;

    (void)state;
    tabled_fine(&t);
    assert_int_equal(t.table->n, 1);
    assert_false(t.table->is_from_file);
    e = tabled_entry(&t, "default");
    assert_str_c(e->base, "http://h:1/v1");
    assert_str_c(e->authorization, "Bearer sk-1");
    assert_false(e->pass_client_key);
    assert_string_equal(e->config->upstream, "http://h:1");
    assert_string_equal(e->config->upstream_kind, "vllm");
    assert_null(e->config->upstream_key);
    assert_null(t.table->config->upstream_key);
    assert_int_equal(e->retry_attempts, 1);
    assert_false(e->health_is_given);
    tabled_end(&t);
}

static void without_a_key_that_of_the_client_is_passed_on(void **state)
{
    struct tabled t = {.config = {.args = {"--upstream", "http://h:1", "--retry-attempts", "4"}}};

    (void)state;
    tabled_fine(&t);
    assert_true(t.table->entries[0].pass_client_key);
    assert_true(str_is_none(t.table->entries[0].authorization));
    assert_int_equal(t.table->entries[0].retry_attempts, 4);
    tabled_end(&t);
}

static void without_an_upstream_it_is_the_demo(void **state)
{
    struct load config = {.file = NULL};
    struct upstream_table_source source = {.config = &config.config,
                                           .demo_base = STR("http://127.0.0.1:9/v1")};
    struct config_problems problems = {.n_kept = 0};
    struct upstream_table *table;

    (void)state;
    load_fine(&config);
    table = upstream_table_load(&source, &problems);
    load_end(&config);
    assert_non_null(table); /* which has copied everything */
    assert_str_c(table->entries[0].name, "demo");
    assert_str_c(table->entries[0].base, "http://127.0.0.1:9/v1");
    upstream_table_unref(table);
    config_problems_fini(&problems);
}

static void a_table_lives_as_long_as_its_last_reference(void **state)
{
    struct tabled t = {.config = {.args = {"--upstream", "http://h:1"}}};

    (void)state;
    tabled_fine(&t);
    assert_ptr_equal(upstream_table_ref(t.table), t.table);
    upstream_table_unref(t.table);
    assert_str_c(t.table->entries[0].name, "default");
    assert_null(upstream_table_ref(NULL));
    upstream_table_unref(NULL);
    tabled_end(&t);
}

static void a_file_that_is_not_there_is_told(void **state)
{
    struct tabled t = {.config = {.args = {"--upstreams-file", "/nowhere/upstreams.json"}}};

    (void)state;
    tabled_load(&t);
    assert_null(t.table);
    tabled_says(&t, "/nowhere/upstreams.json: cannot be opened");
    tabled_end(&t);
}

/* ---- routes */

/* a and b have models, c has what it lists: "listed", "both"; d is there for all others. */
static const char file[] =
    "{\"upstreams\": {"
    "\"a\": {\"url\": \"http://a\", \"models\": [\"m\", \"gpt-*\", {\"name\": \"n\", \"model\": "
    "\"N-7B\", \"weight\": 5}, \"*\"], \"weight\": 2},"
    "\"b\": {\"url\": \"http://b\", \"models\": [{\"name\": \"m\", \"model\": \"big\", \"tier\": 1}, "
    "\"gpt-oss-*\"], \"tier\": 2},"
    "\"c\": {\"url\": \"http://c\", \"models\": \"auto\"}},"
    "\"policies\": {\"m\": {\"policy\": \"first\"}, \"gpt-*\": {\"policy\": \"least\"}}}";

static bool lists(void *arg, size_t entry, str name)
{
    const size_t *only = arg;

    return (only == NULL || *only == entry) &&
           (str_eq(name, STR("listed")) || str_eq(name, STR("both")));
}

/* "match group policy: entry=model/tier/weight ..." */
static void describe_route(const struct tabled *t, const struct upstream_route *r, struct buf *out)
{
    static const char *const matches[] = {"name", "glob", "listed", "default"};

    buf_c(out, matches[r->match]);
    buf_c(out, " ");
    buf_append(out, r->group);
    buf_c(out, " ");
    buf_append(out, routing_policy_text(r->policy->kind));
    if (!str_eq(r->name, r->candidates[0].model)) {
        buf_c(out, " of ");
        buf_append(out, r->name);
    }
    buf_c(out, ":");
    for (size_t i = 0; i < r->n; i++) {
        const struct upstream_candidate *c = &r->candidates[i];

        buf_c(out, " ");
        buf_append(out, t->table->entries[c->entry].name);
        buf_c(out, "=");
        buf_append(out, c->model);
        buf_c(out, "/");
        buf_uint(out, c->tier);
        buf_c(out, "/");
        buf_uint(out, c->weight);
    }
}

/* As describe_route(), or the error. */
static struct buf route(struct tabled *t, const char *name, size_t *only)
{
    const struct upstream_lists l = {lists, only};
    struct upstream_route r;
    struct buf out = {0};
    struct err e;

    if (upstream_table_route(t->table, str_from_c(name), &l, &t->memory, &r, &e) == -1) {
        assert_int_equal(e.code, ERR_MODEL_NOT_FOUND);
        assert_string_equal(e.param, "model");
        buf_c(&out, e.msg);
    } else {
        describe_route(t, &r, &out);
    }
    return out;
}

static void check_route(struct tabled *t, const char *name, const char *expected)
{
    struct buf got = route(t, name, NULL);

    assert_str_c(buf_str(&got), expected);
    buf_fini(&got);
}

static void an_exact_name_comes_first_and_sends_its_model(void **state)
{
    struct tabled t = {.file = file};

    (void)state;
    tabled_fine(&t);
    check_route(&t, "m", "name m first: a=m/0/2 b=big/1/1");
    check_route(&t, "n", "name n affinity of n: a=N-7B/0/5");
    tabled_end(&t);
}

static void of_globs_those_with_the_longest_literal_part_count(void **state)
{
    struct tabled t = {.file = file};

    (void)state;
    tabled_fine(&t);
    check_route(&t, "gpt-oss-20b", "glob gpt-* least: b=gpt-oss-20b/2/1");
    check_route(&t, "gpt-4", "glob gpt-* least: a=gpt-4/0/2");
    check_route(&t, "listed", "glob * affinity: a=listed/0/2");
    check_route(&t, "", "glob * affinity: a=/0/2");
    tabled_end(&t);
}

static const char two[] = "{\"upstreams\": {"
                          "\"a\": {\"url\": \"http://a\", \"models\": [\"m\"]},"
                          "\"b\": {\"url\": \"http://b\", \"models\": [\"auto\", \"x-*\"]},"
                          "\"c\": {\"url\": \"http://c\", \"weight\": 3},"
                          "\"d\": {\"url\": \"http://d\", \"models\": [\"x*\"]}},"
                          "\"default\": [\"d\", \"a\"],"
                          "\"policies\": {\"listed\": {\"policy\": \"round_robin\"}}}";

static void then_come_those_that_list_the_name_and_then_default(void **state)
{
    struct tabled t = {.file = two};
    size_t only = 2;
    struct buf got;

    (void)state;
    tabled_fine(&t);
    check_route(&t, "listed", "listed listed round_robin: b=listed/0/1 c=listed/0/3");
    check_route(&t, "both", "listed default affinity: b=both/0/1 c=both/0/3");
    check_route(&t, "else", "default default affinity: d=else/0/1 a=else/0/1");
    check_route(&t, "x-1", "glob x-* affinity: b=x-1/0/1");
    check_route(&t, "x1", "glob x* affinity: d=x1/0/1");
    got = route(&t, "both", &only);
    assert_str_c(buf_str(&got), "listed default affinity: c=both/0/3");
    buf_fini(&got);
    tabled_end(&t);
}

static void a_name_that_nobody_has_does_not_exist(void **state)
{
    struct tabled t = {.config = {.args = {"--model-alias", "old=gone"}},
                       .file = "{\"upstreams\": {\"a\": {\"url\": \"http://a\"}}}"};
    struct upstream_route r;
    struct err e;

    (void)state;
    tabled_fine(&t);
    check_route(&t, "nothing", "The model 'nothing' does not exist.");
    check_route(&t, "old", "The model 'gone' does not exist.");
    assert_int_equal(upstream_table_route(t.table, STR("listed"), NULL, &t.memory, &r, &e), -1);
    tabled_end(&t);
}

/* What is kept when the name and the route's arena are gone. */
static void note_route(struct upstream_route_memo *m, const struct tabled *t, const char *name)
{
    const struct upstream_lists l = {lists, NULL};
    char *copy = exact_copy(str_from_c(name));
    const str requested = str_from(copy, strlen(name));
    struct arena memory = {0};
    struct upstream_route r;
    struct err e;

    assert_int_equal(upstream_table_route(t->table, requested, &l, &memory, &r, &e), 0);
    upstream_route_memo_note(m, t->table, requested, &r);
    arena_fini(&memory);
    free(copy);
}

static void a_route_that_is_kept_is_that_of_the_table(void **state)
{
    static const char *const names[] = {"m", "n", "gpt-oss-20b", "gpt-4", "listed", "", "fast"};
    struct tabled t = {.config = {.args = {"--model-alias", "fast=m"}}, .file = file};
    struct upstream_route_memo m = {.table = NULL};
    struct upstream_route r;

    (void)state;
    tabled_fine(&t);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *copy = exact_copy(str_from_c(names[i]));
        const str requested = str_from(copy, strlen(names[i]));
        struct buf expected = route(&t, names[i], NULL), got = {0};

        assert_false(upstream_route_memo_find(&m, t.table, requested, &t.memory, &r));
        note_route(&m, &t, names[i]);
        assert_true(upstream_route_memo_find(&m, t.table, requested, &t.memory, &r));
        assert_false(upstream_route_memo_find(&m, NULL, requested, &t.memory, &r));
        describe_route(&t, &r, &got);
        assert_str_eq(buf_str(&got), buf_str(&expected));
        assert_true(r.name.p != m.requested.p); /* no view of what is kept */
        for (size_t k = 0; k < r.n; k++)
            assert_true(r.candidates[k].model.p == copy ||
                        r.candidates[k].model.p != m.requested.p);
        buf_fini(&expected);
        buf_fini(&got);
        free(copy);
    }
    upstream_route_memo_clear(&m);
    assert_false(upstream_route_memo_find(&m, t.table, STR("fast"), &t.memory, &r));
    tabled_end(&t);
}

static void what_a_list_decides_is_not_kept_nor_a_very_long_name(void **state)
{
    struct tabled t = {.file = two};
    struct upstream_route_memo m = {.table = NULL};
    struct upstream_route r;
    char name[300];

    (void)state;
    tabled_fine(&t);
    note_route(&m, &t, "listed");
    assert_false(upstream_route_memo_find(&m, t.table, STR("listed"), &t.memory, &r));
    tabled_end(&t);
    t = (struct tabled){.file = file};
    tabled_fine(&t);
    memset(name, 'a', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    note_route(&m, &t, name);
    assert_false(upstream_route_memo_find(&m, t.table, str_from_c(name), &t.memory, &r));
    upstream_route_memo_clear(&m);
    tabled_end(&t);
}

static void aliases_are_looked_up_first(void **state)
{
    struct tabled t = {.config = {.args = {"--model-alias", "fast=m", "--model-alias", "*=n"}},
                       .file = file};

    (void)state;
    tabled_fine(&t);
    check_route(&t, "fast", "name m first: a=m/0/2 b=big/1/1");
    check_route(&t, "whatever", "name n affinity of n: a=N-7B/0/5");
    check_route(&t, "m", "name n affinity of n: a=N-7B/0/5"); /* * is for all without a line */
    tabled_end(&t);
}

static void the_single_upstream_serves_every_name(void **state)
{
    struct tabled t = {
        .config = {.args = {"--upstream", "http://h", "--model-alias", "gpt-4=qwen"}}};

    (void)state;
    tabled_fine(&t);
    check_route(&t, "any", "glob default affinity: default=any/0/1");
    check_route(&t, "gpt-4", "glob default affinity: default=qwen/0/1");
    tabled_end(&t);
}

/* ---- names */

static void check_names(struct tabled *t, const struct upstream_listing *listed,
                        const char *expected)
{
    struct buf got = {0};
    const str *names;
    size_t n;

    assert_int_equal(upstream_table_names(t->table, listed, &t->memory, &names, &n), 0);
    for (size_t i = 0; i < n; i++) {
        buf_append(&got, names[i]);
        buf_char(&got, ' ');
    }
    assert_str_c(buf_str(&got), expected);
    buf_fini(&got);
}

static void names_stand_in_the_order_of_the_file_and_then_of_lists(void **state)
{
    static const str of_a[] = {STR_INIT("gpt-4"), STR_INIT("m")},
                     of_b[] = {STR_INIT("y"), STR_INIT("x-2"), STR_INIT("x-1")},
                     of_d[] = {STR_INIT("x-1"), STR_INIT("other"), STR_INIT("x3")};
    static const struct upstream_listing listed[] = {
        {LIST_OF(of_a)}, {LIST_OF(of_b)}, {NULL, 0}, {LIST_OF(of_d)}};
    struct tabled t = {.config = {.args = {"--model-alias", "z=m", "--model-alias", "*=m"}},
                       .file = two};
    struct tabled closed = {
        .config = {.args = {"--model-alias", "z=m", "--model-alias", "u=unknown"}},
        .file = "{\"upstreams\": {\"a\": {\"url\": \"http://a\", \"models\": [\"k\", \"m\"]}}}"};

    (void)state;
    tabled_fine(&t);
    check_names(&t, NULL, "m z ");
    check_names(&t, listed, "m y x-2 x-1 x3 z "); /* a lets none of its list through, d only x* */
    tabled_end(&t);
    tabled_fine(&closed);
    check_names(&closed, NULL, "k m z ");
    tabled_end(&closed);
}

static void aliases_of_the_single_upstream_are_there_when_it_lists_the_model(void **state)
{
    static const str of_upstream[] = {STR_INIT("qwen"), STR_INIT("big:latest")};
    static const struct upstream_listing listed = {LIST_OF(of_upstream)};
    struct tabled t = {.config = {.args = {"--upstream", "http://h", "--model-alias",
                                           "gpt-4=qwen,gpt-3=big", "--model-alias", "gpt-5=gone"}}};

    (void)state;
    tabled_fine(&t);
    check_names(&t, &listed, "qwen big:latest gpt-4 gpt-3 ");
    check_names(&t, NULL, "");
    tabled_end(&t);
}

/* ---- memory */

static void any_allocation_may_fail(void **state)
{
    struct load config = {
        .args = {"--upstream", "http://h", "--upstream-key", "k", "--model-alias", "a=b"}};
    const struct upstream_table_source source = {.config = &config.config};
    bool has_failed = true;

    (void)state;
    load_fine(&config);
    for (long n = 0; has_failed; n++) {
        struct config_problems problems = {.n_kept = 0};
        struct upstream_route r;
        struct upstream_table *table;
        struct upstream_route_memo m = {.table = NULL};
        struct arena a = {0};
        const str *names;
        size_t n_names;
        struct err e;

        failing_malloc_begin(n, FAILS_ONCE);
        table = upstream_table_load(&source, &problems);
        if (table != NULL) {
            if (upstream_table_route(table, STR("m"), NULL, &a, &r, &e) == 0)
                upstream_route_memo_note(&m, table, STR("m"), &r);
            (void)upstream_route_memo_find(&m, table, STR("m"), &a, &r);
            upstream_route_memo_clear(&m);
            (void)upstream_table_names(table, NULL, &a, &names, &n_names);
        }
        has_failed = failing_malloc_end();
        assert_true(table != NULL || problems.n_errors > 0);
        upstream_table_unref(table);
        arena_fini(&a);
        config_problems_fini(&problems);
    }
    load_end(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_upstream_of_the_configuration_is_the_one_row_default),
        cmocka_unit_test(without_a_key_that_of_the_client_is_passed_on),
        cmocka_unit_test(without_an_upstream_it_is_the_demo),
        cmocka_unit_test(a_table_lives_as_long_as_its_last_reference),
        cmocka_unit_test(a_file_that_is_not_there_is_told),
        cmocka_unit_test(an_exact_name_comes_first_and_sends_its_model),
        cmocka_unit_test(of_globs_those_with_the_longest_literal_part_count),
        cmocka_unit_test(then_come_those_that_list_the_name_and_then_default),
        cmocka_unit_test(a_name_that_nobody_has_does_not_exist),
        cmocka_unit_test(a_route_that_is_kept_is_that_of_the_table),
        cmocka_unit_test(what_a_list_decides_is_not_kept_nor_a_very_long_name),
        cmocka_unit_test(aliases_are_looked_up_first),
        cmocka_unit_test(the_single_upstream_serves_every_name),
        cmocka_unit_test(names_stand_in_the_order_of_the_file_and_then_of_lists),
        cmocka_unit_test(aliases_of_the_single_upstream_are_there_when_it_lists_the_model),
        cmocka_unit_test(any_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
