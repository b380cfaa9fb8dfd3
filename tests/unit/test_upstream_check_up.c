/* test_upstream_check_up.c -- what is asked of a server to know that it is well, and what its answers come to
 * (OPERATIONS 4.6). */
#include "upstream_pool_fixture.h"

#define SERVER(name, members)                                                                      \
    "\"" name "\": {\"url\": \"http://" name ":1/v1\", \"models\": [\"m\"]" members "}"
#define FILE_OF(upstreams) "{\"upstreams\": {" upstreams "}}"
#define SAFE_SERVER(members)                                                                       \
    "\"a\": {\"url\": \"https://a:1/v1\", \"models\": [\"m\"], \"health\": \"auto\"" members "}"
#define SAFE_HEALTH "https://a:1/health"
#define HEALTH      "http://a:1/health"
#define MODELS      "http://a:1/v1/models"
#define PROPS       "http://a:1/props"
#define SLOTS(n)    "{\"default_generation_settings\":{},\"total_slots\":" n "}"

enum { FIRST_MS = 600, BAD_CHECKS = 3, LONGEST_PAUSE_MS = 12000 };

static enum upstream_health_state state_of_a(void)
{
    return view_of("a").state;
}

/* The next check of "a" is answered so. */
static void is_checked(int status, const char *body)
{
    for (unsigned waited_ms = 0; !is_asked(HEALTH); waited_ms += 500) {
        assert_true(waited_ms <= LONGEST_PAUSE_MS);
        pass(500);
    }
    server_answers(HEALTH, status, body);
}

static void goes_down(void)
{
    for (int i = 0; i < BAD_CHECKS; i++)
        is_checked(500, "");
    assert_int_equal(state_of_a(), UPSTREAM_STATE_DOWN);
}

static void open_two(const char *members_of_a)
{
    struct buf file = {.limit = 0};

    buf_c(&file, "{\"upstreams\": {\"a\": {\"url\": \"http://a:1/v1\", \"models\": [\"m\"]");
    buf_c(&file, members_of_a);
    buf_c(&file, "}, " SERVER("b", ", \"health\": \"off\"") "}}");
    open_rig(buf_cstr(&file), NULL);
    buf_fini(&file);
    pass(FIRST_MS);
}

static void end_checks(void)
{
    close_rig();
    for (size_t i = 0; i < MOST_CALLS; i++)
        assert_null(rig.calls[i].handler); /* nothing is left behind */
}

static void two_are_checked_and_one_is_not_unless_it_is_wanted(void **state)
{
    static const struct {
        const char *file;
        unsigned n_calls;
    } cases[] = {
        {FILE_OF(SERVER("a", "")), 0},
        {FILE_OF(SERVER("a", ", \"health\": \"auto\"")), 1},
        {FILE_OF(SERVER("a", "") ", " SERVER("b", "")), 2},
        {FILE_OF(SERVER("a", ", \"health\": \"off\"") ", " SERVER("b", "")), 1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        open_rig(cases[i].file, NULL);
        pass(FIRST_MS);
        assert_int_equal(rig.n_calls, cases[i].n_calls);
        end_checks();
    }
}

static void a_check_follows_the_last_after_a_pause(void **state)
{
    (void)state;
    open_two("");
    for (int i = 0; i < 20; i++) {
        server_answers(HEALTH, 200, "");
        pass(7900);
        assert_false(is_asked(HEALTH));
        pass(4200);
        assert_true(is_asked(HEALTH));
    }
    pass(60 * 1000); /* the answer is late: nothing more is asked */
    assert_int_equal(rig.n_calls, 21);
    end_checks();
}

static void three_bad_checks_are_down_and_two_good_ones_up(void **state)
{
    (void)state;
    open_two("");
    is_checked(500, "");
    is_checked(200, "");
    goes_down();
    is_checked(200, "");
    assert_int_equal(state_of_a(), UPSTREAM_STATE_DOWN);
    is_checked(204, "");
    assert_int_equal(state_of_a(), UPSTREAM_STATE_UP);
    end_checks();
}

static void a_server_without_health_is_asked_for_its_models(void **state)
{
    static const int absent[] = {404, 405}, closed[] = {200, 401, 403};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(absent); i++) {
        open_two("");
        goes_down();
        for (size_t k = 0; k < COUNT_OF(closed); k++) {
            is_checked(absent[i], "");
            server_answers(MODELS, closed[k], "");
        }
        assert_int_equal(state_of_a(), UPSTREAM_STATE_UP);
        for (int k = 0; k < BAD_CHECKS; k++) {
            is_checked(absent[i], "");
            server_answers(MODELS, 500, "");
        }
        assert_int_equal(state_of_a(), UPSTREAM_STATE_DOWN);
        end_checks();
    }
}

static void a_path_that_is_given_is_asked_and_no_other(void **state)
{
    (void)state;
    open_two(", \"health\": \"/live\"");
    for (int i = 0; i < BAD_CHECKS; i++) {
        server_answers("http://a:1/live", 404, "");
        assert_false(is_asked(MODELS));
        pass(LONGEST_PAUSE_MS + 100);
    }
    assert_int_equal(state_of_a(), UPSTREAM_STATE_DOWN);
    end_checks();
}

static void a_model_that_is_being_loaded_is_no_failure(void **state)
{
    (void)state;
    open_two("");
    for (int i = 0; i < BAD_CHECKS + 1; i++)
        is_checked(503, "{\"error\":{\"code\":503,\"message\":\"Loading model\"}}");
    assert_int_equal(state_of_a(), UPSTREAM_STATE_LOADING);
    is_checked(200, "");
    assert_int_equal(state_of_a(), UPSTREAM_STATE_UP);
    end_checks();
}

static void who_does_not_answer_fails(void **state)
{
    (void)state;
    open_two("");
    server_fails(HEALTH, ERR_UPSTREAM_UNAVAILABLE);
    for (int i = 1; i < BAD_CHECKS; i++) {
        pass(LONGEST_PAUSE_MS + 100);
        server_fails(HEALTH, ERR_UPSTREAM_TIMEOUT);
    }
    assert_int_equal(state_of_a(), UPSTREAM_STATE_DOWN);
    rig.lacks_calls = true; /* what cannot be asked is asked again later */
    pass(LONGEST_PAUSE_MS + 100);
    rig.lacks_calls = false;
    is_checked(200, "");
    end_checks();
}

/* The status has said all. */
static void a_body_without_an_end_is_not_waited_for(void **state)
{
    struct buf much = {.limit = 0};

    (void)state;
    for (int i = 0; i < 1024 * 1024 + 1; i++)
        buf_char(&much, 'x');
    open_two("");
    goes_down();
    is_checked(200, buf_cstr(&much));
    is_checked(200, buf_cstr(&much));
    assert_int_equal(state_of_a(), UPSTREAM_STATE_UP);
    buf_fini(&much);
    end_checks();
}

static void slots_of_the_server_are_its_limit(void **state)
{
    struct asker one, two, waiter;

    (void)state;
    open_rig(FILE_OF(SERVER("a", ", \"max_concurrency\": \"slots\"")), NULL);
    pass(10); /* at once: until they are known there is no limit */
    server_answers(HEALTH, 200, "");
    server_answers(PROPS, 200, SLOTS("1"));
    assert_int_equal(view_of("a").limit, 1);
    gets(&one);
    waits(&waiter);
    is_checked(200, "");
    server_answers(PROPS, 200, SLOTS("2"));
    has_got(&waiter);
    is_checked(200, "");
    server_answers(PROPS, 500, "{}"); /* what was known stays */
    is_checked(200, "");
    server_answers(PROPS, 200, SLOTS("0"));
    assert_int_equal(view_of("a").limit, 2);
    waits(&two);
    gone(&two);
    done(&one);
    done(&waiter);
    is_checked(200, "");
    server_answers(PROPS, 200, SLOTS("4294967296")); /* which is no limit of 0 */
    assert_int_equal(view_of("a").limit, 100000);
    end_checks();
}

static void what_is_down_is_not_tried_and_those_who_wait_hear_of_it(void **state)
{
    struct asker one, waiter;

    (void)state;
    open_rig(FILE_OF(SERVER("a", ", \"health\": \"auto\", \"max_concurrency\": 1")), NULL);
    pass(FIRST_MS);
    gets(&one);
    waits(&waiter);
    goes_down();
    pass(0);
    is_refused(&waiter, look(&waiter), ERR_UPSTREAM_UNAVAILABLE, "No upstream server");
    gone(&waiter);
    done(&one);
    end_checks();
}

/* Nobody would ever find it up again. */
static void what_is_down_and_not_checked_any_more_is_used(void **state)
{
    struct asker one;

    (void)state;
    open_two("");
    goes_down();
    take_next(FILE_OF(SERVER("a", "")), NULL);
    assert_int_equal(state_of_a(), UPSTREAM_STATE_UP);
    gets(&one);
    done(&one);
    end_checks();
}

static void a_check_may_be_ordered(void **state)
{
    (void)state;
    open_two("");
    is_checked(200, "");
    assert_true(upstream_pool_check(rig.pool, STR("a")));
    pass(0);
    assert_true(is_asked(HEALTH));
    assert_true(upstream_pool_check(rig.pool, STR("a"))); /* while one is under way */
    pass(0);
    assert_int_equal(rig.n_calls, 2);
    end_checks();
}

/* The order is under way while another table ends the check. */
static void an_order_outlives_the_check(void **state)
{
    (void)state;
    open_two("");
    assert_true(upstream_pool_check(rig.pool, STR("a")));
    take_next(
        FILE_OF(SERVER("a", ", \"health\": \"off\"") ", " SERVER("b", ", \"health\": \"off\"")),
        NULL);
    assert_false(is_asked(HEALTH));
    pass(0);
    assert_false(is_asked(HEALTH));
    end_checks();
}

static void a_check_goes_on_under_a_table_that_wants_the_same(void **state)
{
    (void)state;
    open_rig(FILE_OF(SAFE_SERVER(", \"weight\": 2")), NULL);
    pass(FIRST_MS);
    take_next(FILE_OF(SAFE_SERVER(", \"weight\": 3")), NULL);
    assert_int_equal(rig.n_calls, 1);
    assert_true(is_asked(SAFE_HEALTH));
    take_next(FILE_OF(SAFE_SERVER(", \"key\": \"k\"")), NULL);
    assert_false(is_asked(SAFE_HEALTH)); /* with another key it begins anew */
    pass(FIRST_MS);
    assert_true(is_asked(SAFE_HEALTH));
    end_checks();
}

static void without_memory_there_is_no_check_and_all_else_goes_on(void **state)
{
    struct asker one;
    struct err e;
    bool is_checked_at_last = false;

    (void)state;
    for (long i = 0; !is_checked_at_last; i++) {
        open_rig(FILE_OF(SERVER("a", ", \"health\": \"off\"")), NULL);
        (void)load_next(FILE_OF(SERVER("a", ", \"health\": \"auto\"")), NULL);
        failing_malloc_begin(i, FAILS_ONCE);
        assert_int_equal(upstream_pool_take(rig.pool, newest(), &e), 0);
        is_checked_at_last = !failing_malloc_end();
        pass(FIRST_MS);
        gets(&one);
        done(&one);
        end_checks();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_are_checked_and_one_is_not_unless_it_is_wanted),
        cmocka_unit_test(a_check_follows_the_last_after_a_pause),
        cmocka_unit_test(three_bad_checks_are_down_and_two_good_ones_up),
        cmocka_unit_test(a_server_without_health_is_asked_for_its_models),
        cmocka_unit_test(a_path_that_is_given_is_asked_and_no_other),
        cmocka_unit_test(a_model_that_is_being_loaded_is_no_failure),
        cmocka_unit_test(who_does_not_answer_fails),
        cmocka_unit_test(a_body_without_an_end_is_not_waited_for),
        cmocka_unit_test(slots_of_the_server_are_its_limit),
        cmocka_unit_test(what_is_down_is_not_tried_and_those_who_wait_hear_of_it),
        cmocka_unit_test(what_is_down_and_not_checked_any_more_is_used),
        cmocka_unit_test(a_check_may_be_ordered),
        cmocka_unit_test(an_order_outlives_the_check),
        cmocka_unit_test(a_check_goes_on_under_a_table_that_wants_the_same),
        cmocka_unit_test(without_memory_there_is_no_check_and_all_else_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
