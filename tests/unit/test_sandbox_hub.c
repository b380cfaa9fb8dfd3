/* test_sandbox_hub.c -- containers and what workers ask of them, with real sandboxes. */
#include "unit/sandbox_fixture.h"

/* ---- code */

static void variables_stay_from_one_call_to_the_next(void **state)
{
    (void)state;
    hub_open();
    assert_run("a", "x = 41\nprint('hello')", "hello\n", NULL);
    assert_run("a", "x + 1", "", "42");
}

static void containers_do_not_share_variables(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    assert_run("a", "x = 1", "", NULL);
    assert_int_equal(run("b", "x", &t), SANDBOX_OK);
    assert_true(t.is_raised);
    assert_true(str_has_nocase(buf_str(&t.logs), STR("NameError")));
    told_fini(&t);
}

static void an_exception_is_an_outcome(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    assert_int_equal(run("a", "print('before')\n1 / 0", &t), SANDBOX_OK);
    assert_true(t.is_raised && t.is_alive);
    assert_true(str_starts_with(buf_str(&t.logs), STR("before\nTraceback")));
    told_fini(&t);
}

/* ---- names and owners */

static void what_does_not_exist_is_not_found(void **state)
{
    static const enum sandbox_op ops[] = {SANDBOX_RUN, SANDBOX_FIND, SANDBOX_DELETE,
                                          SANDBOX_LIST_FILES, SANDBOX_READ_FILE};
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        assert_int_equal(do_to(ops[i], "a", &t), SANDBOX_NOT_FOUND);
        assert_str_c(buf_str(&t.message), "There is no such container, or it has expired.");
    }
    assert_int_equal(do_to(SANDBOX_LIST, "", &t), SANDBOX_OK);
    assert_int_equal(t.n_containers, 0);
    told_fini(&t);
}

static void what_is_someone_elses_is_not_found_in_the_same_words(void **state)
{
    static const enum sandbox_op ops[] = {SANDBOX_RUN, SANDBOX_FIND, SANDBOX_DELETE,
                                          SANDBOX_LIST_FILES, SANDBOX_READ_FILE};
    struct sandbox_request theirs = code_in("a", "open('f', 'w').write('x')");
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    theirs.owner = STR("them");
    assert_int_equal(answer(&theirs, &t), SANDBOX_OK);
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        assert_int_equal(do_to(ops[i], "a", &t), SANDBOX_NOT_FOUND);
        assert_str_c(buf_str(&t.message), "There is no such container, or it has expired.");
    }
    assert_int_equal(run("a", "1", &t), SANDBOX_NOT_FOUND);
    assert_int_equal(do_to(SANDBOX_CREATE, "a", &t), SANDBOX_NOT_FOUND);
    assert_int_equal(do_to(SANDBOX_LIST, "", &t), SANDBOX_OK);
    assert_int_equal(t.n_containers, 0);
    assert_false(sandbox_hub_has(bfx.hub, STR("me"), STR("a")));
    assert_true(sandbox_hub_has(bfx.hub, STR("them"), STR("a")));
    told_fini(&t);
}

static void containers_are_listed_oldest_first(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    assert_int_equal(do_to(SANDBOX_CREATE, "a", &t), SANDBOX_OK);
    assert_str_c(buf_str(&t.ids), "a|");
    assert_int_equal(do_to(SANDBOX_CREATE, "b", &t), SANDBOX_OK);
    assert_int_equal(do_to(SANDBOX_LIST, "", &t), SANDBOX_OK);
    assert_str_c(buf_str(&t.ids), "a|b|");
    assert_int_equal(do_to(SANDBOX_DELETE, "a", &t), SANDBOX_OK);
    assert_str_c(buf_str(&t.ids), "a|");
    assert_int_equal(do_to(SANDBOX_LIST, "", &t), SANDBOX_OK);
    assert_str_c(buf_str(&t.ids), "b|");
    told_fini(&t);
}

static void a_container_may_ask_for_less_and_not_for_more(void **state)
{
    struct sandbox_request r = {.op = SANDBOX_CREATE, .owner = STR("me"), .name = STR("mine")};
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    r.container_id = STR("less");
    r.idle_ms = 1000;
    r.memory_bytes = 100 * MIB;
    assert_int_equal(answer(&r, &t), SANDBOX_OK);
    assert_int_equal(t.container.idle_ms, 1000);
    assert_int_equal(t.container.memory_bytes, 100 * MIB);
    assert_true(t.container.created_at > 0);
    r.container_id = STR("more");
    r.idle_ms = 2 * (uint64_t)LONG_MS;
    r.memory_bytes = 2048 * MIB;
    assert_int_equal(answer(&r, &t), SANDBOX_OK);
    assert_int_equal(t.container.idle_ms, LONG_MS);
    assert_int_equal(t.container.memory_bytes, 512 * MIB);
    told_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SANDBOX_TEST(variables_stay_from_one_call_to_the_next),
        SANDBOX_TEST(containers_do_not_share_variables),
        SANDBOX_TEST(an_exception_is_an_outcome),
        SANDBOX_TEST(what_does_not_exist_is_not_found),
        SANDBOX_TEST(what_is_someone_elses_is_not_found_in_the_same_words),
        SANDBOX_TEST(containers_are_listed_oldest_first),
        SANDBOX_TEST(a_container_may_ask_for_less_and_not_for_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
