/* test_turn_accept.c -- a response for the background is stored before its client gets its id, and what
 * cannot be stored is not promised (CONTRACT 4.8). */
#include "turn_fixture.h"

static const struct err away = {.code = ERR_STORE_AWAY, .msg = "The store is away."};

static const struct err broken = {.code = ERR_STORE, .msg = "The disk is full."};

static void assert_accepting(const char *members)
{
    (void)stage_begin(members);
    assert_string_equal(stage_name(), "accept");
    assert_false(stage.x.is_over);
    assert_int_equal(stage.n_calls, 0);
}

static void assert_refused(enum err_code why)
{
    assert_null(stage_turn());
    assert_true(stage.x.is_over);
    assert_int_equal(stage.x.why, why);
    assert_int_equal(stage.n_accepted, 0);
    assert_int_equal(stage.n_hints, 0);
    assert_int_equal(stage.n_calls, 0);
    stage_close();
}

static void the_client_gets_an_object_that_is_stored(void **state)
{
    (void)state;
    open_turn_stage();
    assert_accepting(BACKGROUND);
    store_reports(NULL);
    assert_null(stage_turn());
    assert_int_equal(stage.n_accepted, 1);
    assert_int_equal(stage.n_hints, 1);
    assert_int_equal(stage.x.status, 200);
    assert_true(client_was_told("\"status\":\"queued\""));
    assert_true(client_was_told("\"background\":true"));
    assert_true(client_was_told("\"output\":[]"));
    assert_true(client_was_told("\"usage\":null"));
    assert_non_null(strstr(buf_cstr(&stage.accepted), BACKGROUND));
    stage_close();
}

static void a_stream_is_left_to_a_reader(void **state)
{
    (void)state;
    open_turn_stage();
    assert_accepting(BACKGROUND ",\"stream\":true");
    store_reports(NULL);
    assert_null(stage_turn());
    assert_int_equal(stage.n_accepted, 1);
    assert_int_equal(stage.n_readers, 1);
    stage_close();
}

static void a_large_request_is_stored_as_well(void **state)
{
    (void)state;
    open_turn_stage();
    begin_large(BACKGROUND);
    stage_settle();
    assert_null(stage_turn());
    assert_int_equal(stage.n_accepted, 1);
    assert_int_equal(stage.x.status, 200);
    assert_true(stage.accepted.len > WORKER_LARGE_BYTES);
    stage_close();
}

/* A turn that the store runs later does not need its client. */
static void a_client_that_leaves_changes_nothing(void **state)
{
    (void)state;
    open_turn_stage();
    assert_accepting(BACKGROUND);
    client_leaves();
    store_reports(NULL);
    assert_null(stage_turn());
    assert_int_equal(stage.n_accepted, 1);
    assert_int_equal(stage.n_hints, 1);
    stage_close();
}

static void what_cannot_be_stored_is_refused(void **state)
{
    static const char *const goes_on[] = {"--store-failure", "continue", NULL};

    (void)state;
    open_turn_stage();
    stage.store_away = away;
    (void)stage_begin(BACKGROUND);
    assert_refused(ERR_STORE_AWAY);

    stage_open(goes_on);
    stage.store_away = away;
    assert_accepting(BACKGROUND);
    store_reports(&away);
    assert_refused(ERR_STORE_AWAY);

    open_turn_stage();
    assert_accepting(BACKGROUND);
    store_reports(&broken);
    assert_refused(ERR_STORE_AWAY);

    open_turn_stage();
    stage.not_accepted = (struct err){.code = ERR_RATE_LIMIT, .retry_after_s = 10};
    assert_accepting(BACKGROUND);
    store_reports(NULL);
    assert_refused(ERR_RATE_LIMIT);
}

static void its_conversation_stays_locked(void **state)
{
    (void)state;
    open_turn_stage();
    (void)stage_begin(BACKGROUND ",\"conversation\":\"conv_1\"");
    assert_string_equal(stage_name(), "load");
    store_reports(NULL);
    assert_string_equal(stage_name(), "accept");
    store_reports(NULL);
    assert_null(stage_turn());
    assert_int_equal(stage.n_accepted, 1);
    assert_int_equal(stage.n_unlocked + stage.n_released, 0);
    stage_close();

    open_turn_stage();
    (void)stage_begin(BACKGROUND ",\"conversation\":\"conv_1\"");
    store_reports(NULL);
    store_reports(&away);
    assert_int_equal(stage.n_released, 1);
    assert_refused(ERR_STORE_AWAY);
}

/* What is wrong with the request is known before it waits, also of its tools. */
static void a_bad_request_is_refused_at_once(void **state)
{
    static const char *const wrong[] = {
        BACKGROUND ",\"store\":false",
        BACKGROUND SERVER(""), /* no server has this label */
        "\"background\":true,\"input\":7",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        open_turn_stage();
        (void)stage_begin(wrong[i]);
        assert_int_equal(stage.x.status, 400);
        assert_null(stage_turn());
        assert_int_equal(stage.n_accepted, 0);
        stage_close();
    }
}

static void credentials_are_not_to_be_read_in_the_store(void **state)
{
    static const char *const given[] = {
        BACKGROUND SERVER(",\"server_url\":\"https://example.com/mcp\","
                          "\"authorization\":\"a-secret-of-mine\""),
        BACKGROUND SERVER(",\"server_url\":\"https://example.com/mcp\","
                          "\"headers\":{\"X-Key\":\"a-secret-of-mine\"}"),
        BACKGROUND SERVER(",\"server_url\":\"https://example.com/mcp?key=a-secret-of-mine\""),
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(given); i++) {
        open_turn_stage();
        assert_accepting(given[i]);
        store_reports(NULL);
        assert_int_equal(stage.n_accepted, 1);
        assert_null(strstr(buf_cstr(&stage.accepted), "a-secret-of-mine"));
        assert_non_null(strstr(buf_cstr(&stage.accepted), "{\"sealed\":\""));
        assert_false(client_was_told("a-secret-of-mine"));
        stage_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_client_gets_an_object_that_is_stored),
        cmocka_unit_test(a_stream_is_left_to_a_reader),
        cmocka_unit_test(a_large_request_is_stored_as_well),
        cmocka_unit_test(a_client_that_leaves_changes_nothing),
        cmocka_unit_test(what_cannot_be_stored_is_refused),
        cmocka_unit_test(its_conversation_stays_locked),
        cmocka_unit_test(a_bad_request_is_refused_at_once),
        cmocka_unit_test(credentials_are_not_to_be_read_in_the_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
