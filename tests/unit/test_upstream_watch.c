/* test_upstream_watch.c -- what the answers to turns teach about an upstream that is asked nothing, and
 * how facts with another window are made. */
#include "request_fixture.h"

#include "lib/failing_malloc.h"
#include "upstream/upstream_watch.h"
#include "upstream/upstream_window.h"

static struct upstream_facts *facts_of(const char *models)
{
    struct upstream_facts *f = upstream_facts_new();

    assert_true(upstream_models_read(str_from_c(models), &f->memory, &f->models));
    return f;
}

#define TWO "{\"data\":[{\"id\":\"a\",\"root\":\"r\",\"max_model_len\":4096},{\"id\":\"b\"}]}"

/* Of facts with a window of 1000 for this model, those of the others. */
static void learns(const char *models, const char *model, const char *other, int64_t window)
{
    struct upstream_facts *f = facts_of(models);
    struct upstream_facts *changed = upstream_facts_with_window(f, str_from_c(model), 1000);
    const size_t n_before = f->models.n;

    assert_non_null(changed);
    assert_int_equal(upstream_facts_limits(changed, str_from_c(model)).window, 1000);
    assert_int_equal(upstream_facts_limits(changed, str_from_c(other)).window, window);
    assert_int_equal(f->models.n, n_before); /* facts never change */
    assert_int_not_equal(upstream_facts_limits(f, str_from_c(model)).window, 1000);
    upstream_facts_unref(changed);
    upstream_facts_unref(f);
}

static void one_window_is_another(void **state)
{
    (void)state;
    learns(TWO, "a", "b", 0);
    learns(TWO, "b", "a", 4096);
    learns(TWO, "c", "a", 4096); /* it was not listed */
    /* a server with one model, or with none that it would tell of, takes any name for it */
    learns("{\"data\":[{\"id\":\"a\",\"max_model_len\":4096}]}", "a", "x", 1000);
    learns("{\"data\":[{\"id\":\"a\",\"max_model_len\":4096}]}", "x", "a", 1000);
    learns("{}", "a", "b", 1000);
}

static void names_of_clients_are_bounded(void **state)
{
    struct upstream_facts *f = facts_of(TWO), *next;
    char name[1000] = {0};

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    assert_null(upstream_facts_with_window(f, str_from_c(name), 1000));
    for (int i = 0;; i++) {
        snprintf(name, sizeof(name), "model %d", i);
        next = upstream_facts_with_window(f, str_from_c(name), 1000);
        if (next == NULL)
            break;
        upstream_facts_unref(f);
        f = next;
    }
    assert_int_equal(f->models.n, 2 * UPSTREAM_MAX_MODELS);
    next = upstream_facts_with_window(f, STR("a"), 1000); /* one that is listed */
    assert_non_null(next);
    upstream_facts_unref(next);
    upstream_facts_unref(f);
}

static void without_memory_nothing_is_learned(void **state)
{
    struct upstream_facts *f = facts_of(TWO);

    (void)state;
    for (long i = 0;; i++) {
        struct upstream_facts *changed;
        bool has_failed;

        failing_malloc_begin(i, FAILS_ONCE);
        changed = upstream_facts_with_window(f, STR("c"), 1000);
        has_failed = failing_malloc_end();
        assert_true(has_failed == (changed == NULL));
        upstream_facts_unref(changed);
        if (!has_failed)
            break;
    }
    upstream_facts_unref(f);
}

static void facts_with_another_window_have_the_same_list(void **state)
{
    struct upstream_facts *f = facts_of(TWO), *changed;

    (void)state;
    f->list = upstream_list_new(STR(TWO));
    changed = upstream_facts_with_window(f, STR("b"), 1000);
    upstream_facts_unref(f);
    assert_true(upstream_list_has(changed->list, STR("b")));
    upstream_facts_unref(changed);
}

static int64_t known_window(struct upstream_watch *w, const struct config *c, const char *model)
{
    struct upstream_facts *facts = upstream_watch_facts(w);
    const int64_t window = upstream_window_of(c, facts, str_from_c(model)).tokens;

    upstream_facts_unref(facts);
    return window;
}

static void an_upstream_that_is_asked_nothing_teaches_by_its_answers(void **state)
{
    const char *const args[] = {"--upstream-kind", "generic"};
    struct config_problems problems = {.n_kept = 0};
    const struct config_sources sources = {.args = args, .n_args = 2, .file_text = STR_NONE};
    struct upstream_watch *w;
    struct config c;
    struct loop *loop;
    struct err e;

    (void)state;
    assert_int_equal(config_load(&c, &sources, &problems), 0);
    loop = loop_new(&e);
    w = upstream_watch_new(loop,
                           &(struct upstream_watch_conf){.config = &c,
                                                         .name = STR("default"),
                                                         .base = STR("http://127.0.0.1:9/v1"),
                                                         .authorization = STR_NONE},
                           &e);
    assert_non_null(w);
    assert_int_equal(known_window(w, &c, "m"), 0);
    upstream_watch_learn_window(w, STR("m"), 8192);
    assert_int_equal(known_window(w, &c, "m"), 8192);
    upstream_watch_learn_window(w, STR("m"), 9000); /* more than is known */
    upstream_watch_learn_window(w, STR("m"), 0);
    upstream_watch_learn_window(w, STR("m"), 255); /* whoever says so */
    upstream_watch_learn_window(w, STR_NONE, 4096);
    upstream_watch_learn_window(NULL, STR("m"), 4096);
    assert_int_equal(known_window(w, &c, "m"), 8192);
    upstream_watch_learn_window(w, STR("m"), 4096);
    assert_int_equal(known_window(w, &c, "m"), 4096);
    upstream_watch_free(w);
    loop_free(loop);
    config_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_window_is_another),
        cmocka_unit_test(names_of_clients_are_bounded),
        cmocka_unit_test(without_memory_nothing_is_learned),
        cmocka_unit_test(facts_with_another_window_have_the_same_list),
        cmocka_unit_test(an_upstream_that_is_asked_nothing_teaches_by_its_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
