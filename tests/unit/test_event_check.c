/* test_event_check.c -- the checker that other tests rely on: it accepts the
 * reference streams of the contract and rejects each of those with one fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/event_check.h"
#include "lib/fixture.h"

static void accepts_every_reference_stream(void **state)
{
    char **names = fixture_list("streams", ".sse");

    (void)state;
    assert_non_null(names[0]);
    for (char **name = names; *name != NULL; name++) {
        struct buf stream = fixture_read(*name);
        const char *what = event_check_interleaved(buf_str(&stream));

        if (what != NULL)
            fail_msg("%s: %s", *name, what);
        buf_fini(&stream);
    }
    fixture_list_free(names);
}

static void rejects_every_stream_in(const char *folder)
{
    char **names = fixture_list(folder, ".sse");

    assert_non_null(names[0]);
    for (char **name = names; *name != NULL; name++) {
        struct buf stream = fixture_read(*name);

        if (event_check(buf_str(&stream)) == NULL)
            fail_msg("%s was accepted", *name);
        buf_fini(&stream);
    }
    fixture_list_free(names);
}

static void rejects_every_broken_stream(void **state)
{
    (void)state;
    rejects_every_stream_in("streams/broken");
}

/* Faults that only show to a reader who looks into every member. */
static void rejects_streams_that_are_wrong_in_detail(void **state)
{
    (void)state;
    rejects_every_stream_in("streams/broken_detail");
}

/* Items one after the other, unless calls may be open side by side. */
static void rejects_items_side_by_side(void **state)
{
    static const char *const names[] = {"function_calls_interleaved", "function_call_late_name",
                                        "mcp_parallel_then_text", "mcp_and_function_call"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char name[64];
        struct buf stream;

        snprintf(name, sizeof(name), "streams/%s.sse", names[i]);
        stream = fixture_read(name);
        assert_non_null(event_check(buf_str(&stream)));
        assert_null(event_check_interleaved(buf_str(&stream)));
        buf_fini(&stream);
    }
}

/* Cut between frames a stream is a good beginning, but no whole stream. */
static void a_stream_without_its_end_is_only_a_beginning(void **state)
{
    struct buf stream = fixture_read("streams/function_calls_parallel.sse");
    size_t at = 0;

    (void)state;
    while (at < stream.len) {
        str start = str_from(stream.p, at);

        assert_non_null(event_check(start));
        assert_null(event_check_cut(start));
        at += str_find(str_skip(buf_str(&stream), at), STR("\n\n")) + 2;
    }
    assert_null(event_check(buf_str(&stream)));
    buf_fini(&stream);
}

static void finds_the_response_of_the_last_event(void **state)
{
    struct buf stream = fixture_read("streams/text.sse");
    str raw = event_response(buf_str(&stream));
    json_t *events = event_list(buf_str(&stream));
    json_t *last = json_array_get(events, json_array_size(events) - 1);
    json_t *response = json_loadb(raw.p, raw.len, 0, NULL);

    (void)state;
    assert_true(json_equal(response, json_object_get(last, "response")));
    json_decref(response);
    json_decref(events);
    buf_fini(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_every_reference_stream),
        cmocka_unit_test(rejects_every_broken_stream),
        cmocka_unit_test(rejects_items_side_by_side),
        cmocka_unit_test(rejects_streams_that_are_wrong_in_detail),
        cmocka_unit_test(a_stream_without_its_end_is_only_a_beginning),
        cmocka_unit_test(finds_the_response_of_the_last_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
