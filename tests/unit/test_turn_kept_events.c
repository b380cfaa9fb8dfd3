/* test_turn_kept_events.c -- what is kept of a stream is what its client was sent (CONTRACT 4.8). */
#include "turn_fixture.h"

static size_t count_events(str stream)
{
    const str begin = STR("event: ");
    size_t n = 0, at;

    while ((at = str_find(stream, begin)) < stream.len) {
        stream = str_skip(stream, at + begin.len);
        n++;
    }
    return n;
}

/* A store that takes its time must not make the client wait in silence, nor give it an event that
 * the store has not heard of. */
static void a_stream_that_is_being_saved_has_no_other_events(void **state)
{
    (void)state;
    open_turn_stage();
    reach_save();
    fake_loop_pass(stage.worker.loop, 2 * stage.load.config.keepalive_interval_ms);
    assert_string_equal(stage_name(), "save");
    assert_true(client_was_told(": heartbeat"));
    store_reports(NULL);
    stage_settle();
    assert_true(client_was_told("response.completed"));
    assert_int_equal(stage.n_kept, count_events(buf_str(&stage.x.said)));
    fake_loop_pass(stage.worker.loop, 60 * 1000);
    stage_close();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_that_is_being_saved_has_no_other_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
