/* test_response_withheld.c -- text that was kept from the client until it is known to be all there
 * is; whole turns are in tests/scenario/format_after_tools*.turn. */
#include "lib/test.h"

#include "lib/delta_run.h"

static void text_that_was_withheld_is_shown_with_its_logprobs(void **state)
{
    const struct delta said[] = {
        {.kind = DELTA_TEXT, .text = STR_INIT("a"), .logprobs = STR_INIT("{\"token\":\"a\"}")},
        {.kind = DELTA_TEXT, .text = STR_INIT("b"), .logprobs = STR_INIT("{\"token\":\"b\"}")},
    };
    const struct delta_round round = {said, COUNT_OF(said), FINISH_LENGTH, false, true};
    const struct response_conf conf = {.reasoning = REASONING_TEXT};
    struct delta_result r;

    (void)state;
    delta_run(&conf, &round, 1, true, &r);
    assert_true(str_find(buf_str(&r.events), STR("\"delta\":\"ab\",\"logprobs\":"
                                                 "[{\"token\":\"a\"},{\"token\":\"b\"}]")) <
                r.events.len);
    delta_result_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_that_was_withheld_is_shown_with_its_logprobs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
