/* test_response_restore.c -- responses from the rows of their journals: as the streams of the contract end
 * that somebody else ends, and what no scenario leaves open. */
#include "restore_fixture.h"

#include <jansson.h>

#include "lib/event_check.h"
#include "lib/event_difference.h"

/* The events that clients had, then those of an end that somebody else makes. */
static inline struct buf end_of(struct response *r, bool is_cancelled)
{
    const struct err e = crash();
    struct buf stream = {.limit = 0};
    const char *what;

    write_events(r, &stream);
    if (is_cancelled)
        response_cancel(r, &stream);
    else
        response_fail(r, &e, &stream);
    response_end(r, &stream);
    what = event_check_interleaved(buf_str(&stream));
    if (what != NULL)
        fail_msg("%s in\n%.*s", what, STR_ARG(buf_str(&stream)));
    return stream;
}

/* ---- streams of the contract */

static void check_stream(struct response *r, bool is_cancelled, const char *name)
{
    struct buf got = end_of(r, is_cancelled), expected = fixture_read(name);
    char *difference = event_difference(buf_str(&got), buf_str(&expected));

    if (difference != NULL)
        fail_msg("%s: %s", name, difference);
    buf_fini(&got);
    buf_fini(&expected);
}

/* But for what repeats the request: its order, ids and times. */
static void check_object(const struct response *r, const char *name)
{
    static const char *const same[] = {"object", "status",       "error",
                                       "usage",  "completed_at", "incomplete_details"};
    struct buf got = {.limit = 0}, expected = fixture_read(name);
    json_t *a, *b;

    response_object(r, &got);
    a = json_loadb(got.p, got.len, 0, NULL);
    b = json_loadb(expected.p, expected.len, 0, NULL);
    assert_non_null(a);
    for (size_t i = 0; i < COUNT_OF(same); i++)
        assert_true(json_equal(json_object_get(a, same[i]), json_object_get(b, same[i])));
    assert_int_equal(json_array_size(json_object_get(a, "output")),
                     json_array_size(json_object_get(b, "output")));
    json_decref(a);
    json_decref(b);
    buf_fini(&got);
    buf_fini(&expected);
}

/* A response of which half is said, ended as the stream has it; object: NULL: not looked at. */
static void check_half(bool is_cancelled, const char *stream, const char *object)
{
    struct response_restore to;
    struct live_response l;

    live_begin(&l, &restore_conf);
    begin_restore(&l, &to);
    response_start(&l.r, NULL);
    say(&l, DELTA_TEXT, "Half of");
    restore(&l, &to);
    check_stream(&to.response, is_cancelled, stream);
    if (object != NULL)
        check_object(&to.response, object);
    response_fini(&to.response);
    live_fini(&l);
}

static void what_a_crash_has_left_is_closed(void **state)
{
    (void)state;
    check_half(false, "streams/background_after_crash.sse",
               "responses/response_failed_after_crash.json");
}

static void what_was_cancelled_is_closed(void **state)
{
    (void)state;
    check_half(true, "streams/background_cancelled.sse", NULL);
}

/* Work that nobody had taken up: there is one row, or none. */
static void what_waits_can_be_cancelled(void **state)
{
    struct response_restore to;
    struct live_response l;

    (void)state;
    live_begin(&l, &restore_conf);
    begin_restore(&l, &to);
    assert_int_equal(to.response.status, RESPONSE_QUEUED);
    restore(&l, &to);
    check_stream(&to.response, true, "streams/background_cancelled_in_queue.sse");
    response_fini(&to.response);
    begin_restore(&l, &to);
    response_queue(&to.response, NULL);
    check_stream(&to.response, true, "streams/background_cancelled_in_queue.sse");
    check_object(&to.response, "responses/response_cancelled.json");
    response_fini(&to.response);
    live_fini(&l);
}

/* ---- what no scenario leaves open */

/* Every step is a row; each of them may be the last one. */
static void check_steps(const struct response_conf *conf,
                        void (*const *steps)(struct live_response *l), size_t n_steps,
                        const char *last_event)
{
    for (size_t n = 1; n <= n_steps; n++) {
        struct response_restore to;
        struct buf stream;
        struct live_response l;

        live_begin(&l, conf);
        begin_restore(&l, &to);
        response_start(&l.r, NULL);
        for (size_t i = 0; i < n; i++) {
            steps[i](&l);
            restore(&l, &to);
        }
        stream = end_of(&to.response, false);
        if (n == n_steps && str_find(buf_str(&stream), str_from_c(last_event)) == stream.len)
            fail_msg("no %s in\n%.*s", last_event, STR_ARG(buf_str(&stream)));
        response_fini(&to.response);
        live_fini(&l);
        buf_fini(&stream);
    }
}

static void list(struct live_response *l)
{
    (void)response_begin_listing(&l->r, STR("docs"), NULL);
}

static void a_listing_under_way_fails(void **state)
{
    static void (*const steps[])(struct live_response * l) = {list};

    (void)state;
    check_steps(&restore_conf, steps, COUNT_OF(steps), "response.mcp_list_tools.failed");
}

static void reasoning_ends_with_the_events_that_it_had(void **state)
{
    static void (*const steps[])(struct live_response * l) = {think, think};
    const struct response_conf conf = {.reasoning = REASONING_OPEN_RESPONSES};

    (void)state;
    check_steps(&conf, steps, COUNT_OF(steps), "event: response.reasoning.done");
}

static void calls_that_are_open_side_by_side_are_closed(void **state)
{
    static void (*const steps[])(struct live_response * l) = {
        think, answer, refuse, answer, call_first, call_second, call_first, call_second};
    const struct response_conf conf = {.interleaved_calls = true};

    (void)state;
    check_steps(&conf, steps, COUNT_OF(steps), "response.function_call_arguments.done");
    check_steps(&restore_conf, steps, COUNT_OF(steps), "response.function_call_arguments.done");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_crash_has_left_is_closed),
        cmocka_unit_test(what_was_cancelled_is_closed),
        cmocka_unit_test(what_waits_can_be_cancelled),
        cmocka_unit_test(a_listing_under_way_fails),
        cmocka_unit_test(reasoning_ends_with_the_events_that_it_had),
        cmocka_unit_test(calls_that_are_open_side_by_side_are_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
