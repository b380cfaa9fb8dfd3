/* test_turn_begin.c -- what each stage before the model is asked comes to (turn_stages.h): it goes on,
 * past what is not needed, or fails, as an HTTP error until the client has seen something. */
#include "turn_fixture.h"

static const struct err away = {.code = ERR_STORE, .msg = "The store is away."};

static void assert_refused(enum err_code why)
{
    assert_null(stage_turn());
    assert_true(stage.x.is_over);
    assert_int_equal(stage.x.why, why);
    assert_int_equal(stage.n_calls, 0);
    stage_close();
}

static void assert_state(enum turn_state state)
{
    assert_non_null(stage_turn());
    assert_int_equal(stage_turn()->flight.stage, state);
}

/* The model is asked, once. */
static void assert_asked(void)
{
    assert_state(TURN_ROUND);
    assert_int_equal(stage.n_calls, 1);
    client_leaves();
    stage_close();
}

/* ---- RECOGNISE, PARSE */

static void test_upstream_becomes_known(void **state)
{
    (void)state;
    open_turn_stage();
    reach_recognise();
    flight_upstream_known(&stage.worker, stage.worker.reaches);
    assert_asked();
}

static void test_request_is_refused(void **state)
{
    static const char *const wrong[] = {"\"input\":", "\"input\":7", INPUT ",\"temperature\":9"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        open_turn_stage();
        (void)stage_begin(wrong[i]);
        assert_null(stage_turn());
        assert_int_equal(stage.x.status, 400);
        assert_int_equal(stage.n_calls, 0);
        stage_close();
    }
}

static void test_large_request_is_refused(void **state)
{
    (void)state;
    open_turn_stage();
    begin_large("\"input\":7");
    assert_state(TURN_PARSE);
    stage_settle();
    assert_null(stage_turn());
    assert_int_equal(stage.x.status, 400);
    stage_close();
}

/* PARSE, RESOLVE and ASK each go to the pool. */
static void test_large_request_is_asked(void **state)
{
    (void)state;
    open_turn_stage();
    reach_parse();
    stage_settle();
    assert_asked();
}

/* The model is not asked in vain, unless an answer is worth more than its being stored. */
static void test_store_is_away(void **state)
{
    static const char *const goes_on[] = {"--store-failure", "continue", NULL};

    (void)state;
    open_turn_stage();
    stage.store_away = away;
    (void)stage_begin(INPUT);
    assert_refused(ERR_STORE);

    open_turn_stage();
    stage.store_away = away;
    (void)stage_begin(UNKEPT);
    assert_asked();

    stage_open(goes_on);
    stage.store_away = away;
    (void)stage_begin(INPUT);
    assert_asked();
}

/* ---- LOAD, RESOLVE */

static void test_history_is_loaded(void **state)
{
    (void)state;
    open_turn_stage();
    reach_load();
    store_reports(NULL);
    assert_asked();
}

static void test_history_is_not_found(void **state)
{
    (void)state;
    open_turn_stage();
    stage.not_found = (struct err){.code = ERR_PREVIOUS_NOT_FOUND};
    reach_load();
    store_reports(NULL);
    assert_true(client_was_told("'resp_1' not found"));
    assert_refused(ERR_PREVIOUS_NOT_FOUND);

    open_turn_stage();
    reach_load();
    store_reports(&away);
    assert_refused(ERR_STORE);
}

static void begin_in_conversation(void)
{
    open_turn_stage();
    (void)stage_begin(UNKEPT ",\"conversation\":\"conv_1\"");
    assert_state(TURN_LOAD);
}

static void test_conversation_is_locked(void **state)
{
    (void)state;
    open_turn_stage();
    stage.not_found = (struct err){.code = ERR_CONVERSATION_LOCKED};
    (void)stage_begin(UNKEPT ",\"conversation\":\"conv_1\"");
    store_reports(NULL);
    assert_int_equal(stage.n_released, 0);
    assert_refused(ERR_CONVERSATION_LOCKED);
}

/* It is unlocked whoever leaves first, and however the turn ends. */
static void test_conversation_is_unlocked(void **state)
{
    (void)state;
    begin_in_conversation();
    client_leaves();
    store_reports(NULL);
    assert_int_equal(stage.n_released, 1);
    stage_close();

    begin_in_conversation();
    store_reports(NULL);
    assert_state(TURN_ROUND);
    client_leaves();
    assert_int_equal(stage.n_released, 1);
    stage_close();

    begin_in_conversation();
    store_reports(NULL);
    upstream_begins(200);
    upstream_says(STOPS("stop"));
    assert_state(TURN_SAVE);
    assert_false(stage.x.is_over);
    store_reports(NULL);
    assert_true(stage.x.is_over);
    assert_int_equal(stage.n_unlocked, 1);
    upstream_ends(NULL);
    stage_close();
}

static void test_reference_cannot_be_resolved(void **state)
{
    (void)state;
    open_turn_stage();
    (void)stage_begin("\"input\":[{\"type\":\"mcp_approval_response\",\"approve\":true,"
                      "\"approval_request_id\":\"mcpr_1\"}],\"store\":false");
    stage_settle();
    assert_null(stage_turn());
    assert_int_equal(stage.x.status, 400);
    assert_int_equal(stage.n_calls, 0);
    stage_close();
}

/* ---- TOOLS */

static void test_server_is_unknown(void **state)
{
    (void)state;
    open_turn_stage();
    (void)stage_begin(UNKEPT SERVER(""));
    assert_refused(ERR_INVALID_VALUE);
}

static void server_has_started(void)
{
    stage.view.is_pending = stage.view.is_starting = false;
    stage.view.is_available = true;
    stage.view.tools = mcp_catalogue_from_item(STR("s"), STR(TOOLS));
}

static void test_server_starts(void **state)
{
    (void)state;
    open_turn_stage();
    reach_tools();
    fake_loop_pass(stage.worker.loop, 100);
    assert_state(TURN_TOOLS);
    server_has_started();
    fake_loop_pass(stage.worker.loop, 100);
    assert_non_null(strstr(buf_cstr(&stage.asked), "mcp__s__t"));
    assert_asked();
}

static void test_server_does_not_start(void **state)
{
    (void)state;
    open_turn_stage();
    reach_tools();
    stage.view.error = STR("It exited.");
    fake_loop_pass(stage.worker.loop, stage.load.config.mcp_remote_timeout_ms);
    assert_true(client_was_told("It exited."));
    assert_refused(ERR_MCP_LIST_FAILED);
}

static void test_injected_server_starts(void **state)
{
    (void)state;
    open_turn_stage();
    reach_tools_injected();
    fake_loop_pass(stage.worker.loop, 100);
    assert_state(TURN_TOOLS);
    server_has_started();
    fake_loop_pass(stage.worker.loop, 100);
    assert_non_null(strstr(buf_cstr(&stage.asked), "mcp__s__t"));
    assert_asked();
}

/* Nobody has asked for it: the model is asked without its tools. */
static void test_injected_server_does_not_start(void **state)
{
    (void)state;
    open_turn_stage();
    reach_tools_injected();
    fake_loop_pass(stage.worker.loop, stage.load.config.mcp_inject_wait_ms);
    assert_null(strstr(buf_cstr(&stage.asked), "mcp__s__t"));
    assert_asked();

    open_turn_stage();
    server_starts();
    stage.view.is_starting = false; /* it has crashed, and is tried again */
    (void)stage_begin(UNKEPT);
    assert_asked();
}

/* ---- LIST, OFFER: the client sees what is being done */

static void test_tools_are_listed(void **state)
{
    (void)state;
    open_turn_stage();
    reach_list();
    assert_true(client_was_told("response.mcp_list_tools.in_progress"));
    server_lists(0, TOOLS);
    assert_true(client_was_told("response.mcp_list_tools.completed"));
    assert_non_null(strstr(buf_cstr(&stage.asked), "mcp__s__t"));
    assert_asked();
}

/* What is known is shown, but begins no stream. */
static void test_known_tools_are_listed(void **state)
{
    (void)state;
    open_turn_stage();
    server_starts();
    server_has_started();
    (void)stage_begin(UNKEPT SERVER(""));
    assert_int_equal(stage.n_tasks, 0);
    assert_int_equal(stage.x.status, 0);
    upstream_begins(200);
    assert_true(client_was_told("response.mcp_list_tools.completed"));
    assert_asked();

    open_turn_stage();
    server_starts();
    server_has_started();
    (void)stage_begin(UNKEPT SERVER(""));
    upstream_begins(429);
    upstream_ends(NULL);
    assert_false(client_was_told("response.mcp_list_tools"));
    assert_int_equal(stage.x.status, 429);
    assert_null(stage_turn());
    stage_close();
}

static void test_tools_are_not_listed(void **state)
{
    (void)state;
    open_turn_stage();
    reach_list();
    server_lists(0, NULL);
    assert_null(stage_turn());
    assert_true(client_was_told("response.mcp_list_tools.failed"));
    assert_true(client_was_told("event: response.failed"));
    assert_int_equal(stage.n_calls, 0);
    stage_close();
}

#define TWO_SERVERS                                                                                \
    ",\"tools\":[{\"type\":\"mcp\",\"server_label\":\"s\",\"server_url\":\"https://a.example/\"}," \
    "{\"type\":\"mcp\",\"server_label\":\"r\",\"server_url\":\"https://b.example/\"}]"

/* All are waited for; one that fails ends the wait for the others. */
static void test_two_servers_are_listed(void **state)
{
    (void)state;
    open_turn_stage();
    (void)stage_begin(UNKEPT TWO_SERVERS);
    assert_int_equal(stage.n_tasks, 2);
    server_lists(1, TOOLS);
    assert_state(TURN_LIST);
    server_lists(0, TOOLS);
    assert_asked();

    open_turn_stage();
    (void)stage_begin(UNKEPT TWO_SERVERS);
    server_lists(1, NULL);
    assert_int_equal(stage.n_tasks_cancelled, 1);
    assert_null(stage_turn());
    stage_close();
}

static void test_tools_cannot_be_offered(void **state)
{
    (void)state;
    open_turn_stage();
    (void)stage_begin(
        UNKEPT SERVER(",\"server_url\":\"https://a.example/\",\"allowed_tools\":[\"u\"]"));
    server_lists(0, TOOLS);
    assert_null(stage_turn());
    assert_true(client_was_told("the server has no such tool"));
    assert_int_equal(stage.n_calls, 0);
    stage_close();
}

/* ---- APPROVED: what waited for the client is run before the model is asked */

static void test_approved_call_is_run(void **state)
{
    (void)state;
    open_turn_stage();
    (void)stage_begin("\"stream\":true,\"store\":false,\"input\":["
                      "{\"type\":\"mcp_approval_request\",\"id\":\"mcpr_1\",\"name\":\"t\","
                      "\"arguments\":\"{}\",\"server_label\":\"s\"},"
                      "{\"type\":\"mcp_approval_response\",\"approval_request_id\":\"mcpr_1\","
                      "\"approve\":true}]" REMOTE);
    server_lists(0, TOOLS);
    assert_state(TURN_CALLS);
    assert_int_equal(stage.n_calls, 0);
    server_answers(1, "forty-two");
    assert_non_null(strstr(buf_cstr(&stage.asked), "forty-two"));
    assert_asked();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_upstream_becomes_known),
        cmocka_unit_test(test_request_is_refused),
        cmocka_unit_test(test_large_request_is_refused),
        cmocka_unit_test(test_large_request_is_asked),
        cmocka_unit_test(test_store_is_away),
        cmocka_unit_test(test_history_is_loaded),
        cmocka_unit_test(test_history_is_not_found),
        cmocka_unit_test(test_conversation_is_locked),
        cmocka_unit_test(test_conversation_is_unlocked),
        cmocka_unit_test(test_reference_cannot_be_resolved),
        cmocka_unit_test(test_server_is_unknown),
        cmocka_unit_test(test_server_starts),
        cmocka_unit_test(test_server_does_not_start),
        cmocka_unit_test(test_injected_server_starts),
        cmocka_unit_test(test_injected_server_does_not_start),
        cmocka_unit_test(test_tools_are_listed),
        cmocka_unit_test(test_known_tools_are_listed),
        cmocka_unit_test(test_tools_are_not_listed),
        cmocka_unit_test(test_two_servers_are_listed),
        cmocka_unit_test(test_tools_cannot_be_offered),
        cmocka_unit_test(test_approved_call_is_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
