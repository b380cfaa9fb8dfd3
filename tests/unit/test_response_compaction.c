/* test_response_compaction.c -- a summary as an item: what the client sees of it, and what the response
 * makes of the call that it took. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/event_check.h"
#include "lib/event_difference.h"
#include "lib/fixture.h"
#include "lib/json_subset.h"
#include "lib/round_run.h"
#include "response/response_compaction.h"
#include "response/response_hosted.h"

#define SEALED                                                                                     \
    "gw1.QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVoQUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo"                   \
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo"

static const struct usage spent = {
    .known = true, .tells_reasoning = true, .input = 5210, .cached = 5100, .output = 480};

struct answer {
    struct test_ids ids;
    struct response r;
    struct buf out;
};

static struct answer answer;

static void begin(void)
{
    struct response_conf conf = {.ids = &answer.ids.source,
                                 .echo = str_from_c(round_plain_echo),
                                 .created_at = TEST_CREATED_AT,
                                 .error_event = true};

    test_ids_reset(&answer.ids);
    response_init(&answer.r, &conf);
    response_start(&answer.r, &answer.out);
}

static void compact(void)
{
    struct buf sealed = {.limit = 0};

    buf_c(&sealed, SEALED);
    response_add_summary_usage(&answer.r, &spent, 0);
    assert_true(response_compacted(&answer.r, &sealed, &answer.out));
    assert_null(sealed.p);
}

static void assert_stream(const char *name)
{
    struct buf expected = fixture_read(name);
    const char *fault;
    char *difference;

    response_end(&answer.r, &answer.out);
    fault = event_check(buf_str(&answer.out));
    if (fault != NULL)
        fail_msg("%s in %s", fault, buf_cstr(&answer.out));
    difference = event_difference(buf_str(&answer.out), buf_str(&expected));
    if (difference != NULL)
        fail_msg("%s", difference);
    free(difference);
    buf_fini(&expected);
}

static void end(void)
{
    response_fini(&answer.r);
    buf_fini(&answer.out);
}

static void the_item_is_all_there_is_of_a_response_made_for_it(void **state)
{
    (void)state;
    begin();
    compact();
    response_finish_compacted(&answer.r, TEST_NOW);
    assert_stream("streams/compaction_trigger.sse");
    end();
}

static void nothing_is_announced_of_a_summary_that_fails(void **state)
{
    struct err e;

    (void)state;
    begin();
    err_set(&e, ERR_UPSTREAM_ERROR, "The model wrote no summary.");
    response_fail(&answer.r, &e, &answer.out);
    assert_stream("streams/compaction_trigger_failed.sse");
    end();
}

static void assert_object(const char *name, str kept)
{
    struct buf expected = fixture_read(name), got = {.limit = 0};
    json_t *wanted = json_loadb(expected.p, expected.len, 0, NULL), *object;

    response_compaction_object(&answer.r, kept, &got);
    object = json_loadb(got.p, got.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(object);
    assert_int_equal(json_object_size(object), json_object_size(wanted));
    assert_int_equal(json_array_size(json_object_get(object, "output")),
                     json_array_size(json_object_get(wanted, "output")));
    json_object_del(wanted, "id");
    json_object_del(wanted, "usage");
    json_object_del(json_array_get(json_object_get(wanted, "output"), 1), "id");
    json_object_del(json_array_get(json_object_get(wanted, "output"), 1), "encrypted_content");
    if (!json_holds(object, wanted))
        fail_msg("%s", buf_cstr(&got));
    json_decref(object);
    json_decref(wanted);
    buf_fini(&expected);
    buf_fini(&got);
}

static void the_endpoint_answers_with_what_is_kept_before_the_item(void **state)
{
    (void)state;
    begin();
    compact();
    response_finish_compacted(&answer.r, TEST_NOW);
    assert_object("responses/compaction.json",
                  STR("{\"id\":\"msg_000000000000000000000002\",\"type\":\"message\",\"role\":"
                      "\"user\",\"status\":\"completed\",\"content\":[{\"type\":\"input_text\","
                      "\"text\":\"What is this?\"},{\"type\":\"input_image\",\"image_url\":"
                      "\"data:image/png;base64,AA==\",\"detail\":\"auto\"}]}"));
    end();
}

static int64_t usage_number(const char *member)
{
    struct buf object = {.limit = 0};
    json_t *tree;
    int64_t n;

    response_object(&answer.r, &object);
    tree = json_loadb(object.p, object.len, 0, NULL);
    n = json_integer_value(json_object_get(json_object_get(tree, "usage"), member));
    json_decref(tree);
    buf_fini(&object);
    return n;
}

/* It is no round, and what it cost stands in the usage although the response has failed. */
static void a_summary_is_no_round_and_is_paid_for(void **state)
{
    struct err e;

    (void)state;
    begin();
    response_add_summary_usage(&answer.r, &spent, 0);
    response_add_summary_usage(&answer.r, &spent, 0);
    err_set(&e, ERR_UPSTREAM_ERROR, "The model wrote no summary.");
    response_fail(&answer.r, &e, &answer.out);
    assert_int_equal(answer.r.n_rounds, 0);
    assert_int_equal(answer.r.n_summaries, 2);
    assert_int_equal(usage_number("input_tokens"), 2 * spent.input);
    assert_int_equal(usage_number("output_tokens"), 2 * spent.output);
    end();
}

static void the_next_round_replays_nothing_that_is_in_the_summary(void **state)
{
    static const struct input_options options = {.text_files = false};
    struct item_list items = {.n = 0};
    struct arena a = {.limit = 0};
    struct err e;

    (void)state;
    begin();
    compact();
    assert_int_equal(response_replay(&answer.r, &options, &items, &a, &e), 0);
    assert_int_equal(items.n, 0);
    arena_fini(&a);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_item_is_all_there_is_of_a_response_made_for_it),
        cmocka_unit_test(nothing_is_announced_of_a_summary_that_fails),
        cmocka_unit_test(the_endpoint_answers_with_what_is_kept_before_the_item),
        cmocka_unit_test(a_summary_is_no_round_and_is_paid_for),
        cmocka_unit_test(the_next_round_replays_nothing_that_is_in_the_summary),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
