/* test_worker_reach.c -- what a worker keeps of an upstream: the profile that was found last. */
#include "flight_fixture.h"

#include "upstream/upstream_options.h"

static struct flight flight;

static void open_flight(void)
{
    static const char *const flags[] = {NULL};

    stage_open(flags);
    flight = (struct flight){.worker = &stage.worker};
    assert_true(flight_take_upstream(&flight, &stage.upstream));
}

/* As it would be found without anything being kept. */
static void profile_is_right(struct upstream_facts *facts, str model)
{
    const struct model_profile kept = reach_profile(&flight, facts, model);
    const struct model_profile found = upstream_named_profile(&stage.load.config, facts, model);

    assert_true(model_profile_is_same(&kept, &found));
    assert_true(str_eq(kept.efforts, found.efforts));
}

static void each_model_has_its_own_profile(void **state)
{
    static const char *const models[] = {"gpt-oss-20b", "gpt-oss-20", "qwen3-coder", "qwen3-coder",
                                         ""};
    char name[200];

    (void)state;
    open_flight();
    memset(name, 'n', sizeof(name));
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT_OF(models); i++)
            profile_is_right(NULL, str_from_c(models[i]));
        profile_is_right(NULL, str_from(name, sizeof(name))); /* longer than what is kept */
        profile_is_right(NULL, STR_NONE);
    }
    stage_close();
}

static void other_facts_and_other_settings_make_another_profile(void **state)
{
    struct upstream_facts *facts = upstream_facts_new();

    (void)state;
    open_flight();
    profile_is_right(NULL, STR("m"));
    profile_is_right(facts, STR("m"));
    upstream_facts_unref(facts); /* what is kept has its own reference */
    profile_is_right(NULL, STR("m"));
    stage.load.config.of_all_models[MODEL_THINK_TAGS] = "off";
    reach_forget_profiles(&stage.worker);
    profile_is_right(NULL, STR("m"));
    stage_close();
}

/* On the pool of threads nothing that is the worker's is touched. */
static void on_the_pool_nothing_is_kept(void **state)
{
    (void)state;
    open_flight();
    flight.is_on_pool = true;
    profile_is_right(NULL, STR("qwen3-coder"));
    assert_null(flight.reach->last.config);
    stage_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_model_has_its_own_profile),
        cmocka_unit_test(other_facts_and_other_settings_make_another_profile),
        cmocka_unit_test(on_the_pool_nothing_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
