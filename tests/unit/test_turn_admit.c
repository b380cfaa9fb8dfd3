/* test_turn_admit.c -- turns of both fronts that wait for a place at an upstream, are asked again elsewhere, and meet
 * another table on their way (OPERATIONS 4, 5.4). */
#include "admission_fixture.h"

#include "flight/flight_admission.h"

static const struct err refused = {.code = ERR_UPSTREAM_UNAVAILABLE, .msg = "It is not there."};

static void open_places(size_t n)
{
    open_turn_stage();
    stage_places(n);
}

static void close_places(void)
{
    assert_null(stage.worker.flights);
    stage_end_places();
    stage_close();
}

static void is_in(const char *stage_wanted)
{
    assert_string_equal(stage_name(), stage_wanted);
}

static void asks(const char *base)
{
    assert_true(stage.has_call);
    if (strstr(buf_cstr(&stage.asked_at), base) == NULL)
        fail_msg("asks %s, not %s", buf_cstr(&stage.asked_at), base);
}

/* The upstream says hello, and that is all. */
static void is_answered(void)
{
    upstream_begins(200);
    upstream_says(SAYS("hello") STOPS("stop"));
    upstream_ends(NULL);
    stage_settle();
    assert_true(stage.x.is_over);
    assert_true(client_was_told("hello"));
}

static void is_refused_with(int status, const char *body)
{
    upstream_begins(status);
    upstream_says(body);
    upstream_ends(NULL);
    stage_settle();
}

/* ---- ADMIT */

static void a_turn_is_asked_when_it_has_its_place(void **state)
{
    (void)state;
    open_turn_stage();
    reach_admit();
    assert_int_equal(stage.n_calls, 0);
    stage_vacate();
    asks("http://upstream/");
    assert_int_equal(n_at(0), 1);
    is_answered();
    close_places();
}

static void a_chat_is_asked_when_it_has_its_place(void **state)
{
    (void)state;
    open_turn_stage();
    reach_chat_admit();
    assert_int_equal(stage.n_calls, 0);
    stage_vacate();
    asks("http://upstream/");
    is_answered();
    close_places();
}

static void a_place_lasts_until_the_last_byte(void **state)
{
    (void)state;
    open_places(1);
    (void)stage_begin(UNKEPT);
    upstream_begins(200);
    upstream_says(SAYS("hello") STOPS("stop"));
    stage_settle();
    assert_true(stage.x.is_over);
    assert_int_equal(n_at(0), 1);
    upstream_ends(NULL);
    assert_int_equal(n_at(0), 0);
    close_places();
}

/* The end of an answer that does not come is not waited for. */
static void a_place_does_not_outlast_the_turn_for_long(void **state)
{
    (void)state;
    open_places(1);
    (void)stage_begin(UNKEPT);
    upstream_begins(200);
    upstream_says(SAYS("hello") STOPS("stop"));
    fake_loop_pass(stage.worker.loop, 2000);
    assert_int_equal(n_at(0), 0);
    assert_int_equal(stage.n_cancelled, 1);
    close_places();
}

static void a_call_that_cannot_be_started_gives_its_place_back(void **state)
{
    (void)state;
    open_places(1);
    stage.no_call = refused;
    (void)stage_begin(UNKEPT);
    stage_settle();
    assert_int_equal(stage.x.status, 502);
    close_places();
}

static void who_waits_too_long_is_told_so(void **state)
{
    (void)state;
    open_turn_stage();
    stage_places(1);
    stage_occupy();
    (void)stage_begin("\"input\":\"x\",\"store\":false");
    is_in("admit");
    fake_loop_pass(stage.worker.loop, 21 * 1000);
    assert_int_equal(stage.x.status, 503);
    assert_true(client_was_told("queue_timeout"));
    close_places();
}

/* Its client heeds these words in a stream, and gives up on others. */
static void who_waits_too_long_in_a_stream_is_told_to_try_again(void **state)
{
    (void)state;
    open_turn_stage();
    reach_admit();
    fake_loop_pass(stage.worker.loop, 15 * 1000);
    assert_int_equal(stage.x.status, 200);
    assert_true(client_was_told("response.created"));
    fake_loop_pass(stage.worker.loop, 6 * 1000);
    stage_settle();
    assert_true(client_was_told("response.failed"));
    assert_true(client_was_told("\"code\":\"rate_limit_exceeded\""));
    assert_true(client_was_told("Please try again in 5s."));
    close_places();
}

static void what_does_not_wait_is_refused_at_once(void **state)
{
    (void)state;
    open_places(1);
    stage.upstreams.other_policy.queue_limit = 0;
    stage_occupy();
    (void)stage_begin(UNKEPT);
    stage_settle();
    assert_int_equal(stage.x.status, 503);
    assert_int_equal(stage.n_calls, 0);
    close_places();
}

/* Another report has it look before the message comes, which then wakes it for nothing. */
static void a_grant_that_was_seen_before_is_told_for_nothing(void **state)
{
    (void)state;
    open_turn_stage();
    reach_admit();
    upstream_pool_leave(stage.worker.pool, &places.occupant);
    turn_wake(stage.worker.flights);
    is_in("round");
    stage_settle();
    is_in("round");
    is_answered();
    close_places();
}

static void a_client_that_leaves_with_the_grant_under_way_leaves_the_place(void **state)
{
    (void)state;
    open_turn_stage();
    reach_admit();
    upstream_pool_leave(stage.worker.pool, &places.occupant);
    client_leaves();
    assert_int_equal(n_at(0), 0);
    stage_settle();
    close_places();
}

/* ---- RETRY and REWRITE */

static void what_fails_is_asked_of_the_other(void **state)
{
    (void)state;
    open_places(2);
    (void)stage_begin(UNKEPT);
    asks("http://upstream/");
    upstream_ends(&refused);
    stage_settle();
    asks("http://other/");
    assert_int_equal(n_at(0), 0);
    is_answered();
    assert_int_equal(stage.n_calls, 2);
    close_places();
}

static void the_other_is_asked_by_its_own_name_of_the_model(void **state)
{
    (void)state;
    open_places(2);
    give_model(1, STR("m"), STR("another"));
    (void)stage_begin(UNKEPT);
    assert_non_null(strstr(buf_cstr(&stage.asked), "\"model\":\"m\""));
    is_refused_with(502, "{}");
    asks("http://other/");
    assert_non_null(strstr(buf_cstr(&stage.asked), "\"model\":\"another\""));
    is_answered();
    assert_true(client_was_told("\"model\":\"m\""));
    close_places();
}

static void a_chat_is_asked_of_the_other_by_its_own_name(void **state)
{
    (void)state;
    open_places(2);
    give_model(1, STR("m"), STR("another"));
    begin_chat(STREAM);
    is_refused_with(503, "{}");
    asks("http://other/");
    assert_non_null(strstr(buf_cstr(&stage.asked), "\"model\":\"another\""));
    is_answered();
    close_places();
}

static void what_was_shown_is_not_asked_again(void **state)
{
    static const struct err broken = {.code = ERR_UPSTREAM_ERROR, .msg = "It broke off."};

    (void)state;
    open_places(2);
    (void)stage_begin(UNKEPT);
    upstream_begins(200);
    upstream_says(SAYS("hello"));
    upstream_ends(&broken);
    stage_settle();
    assert_int_equal(stage.n_calls, 1);
    assert_true(client_was_told("response.failed"));
    close_places();
}

static void the_last_failure_is_the_answer(void **state)
{
    (void)state;
    open_places(2);
    (void)stage_begin(UNKEPT);
    is_refused_with(502, "{\"error\":{\"message\":\"first\"}}");
    is_refused_with(400, "{\"error\":{\"message\":\"second\"}}");
    assert_int_equal(stage.x.status, 400);
    assert_true(client_was_told("second"));
    close_places();
}

/* What a round before had failed with is nothing to one that finds no place. */
static void an_earlier_failure_is_not_told_again(void **state)
{
    (void)state;
    open_places(2);
    (void)stage_begin("\"input\":\"x\",\"store\":false" REMOTE);
    server_lists(0, TOOLS);
    is_refused_with(502, "{\"error\":{\"message\":\"first\"}}");
    upstream_begins(200);
    upstream_says(CALLS("mcp__s__t") STOPS("tool_calls"));
    upstream_ends(NULL);
    assert_true(upstream_pool_drain(stage.worker.pool, STR("default")));
    assert_true(upstream_pool_drain(stage.worker.pool, STR("other")));
    server_answers(1, "result");
    stage_settle();
    assert_true(stage.x.is_over);
    assert_false(client_was_told("first"));
    assert_true(client_was_told("No upstream server is available"));
    close_places();
}

static const char loading[] = "{\"error\":{\"code\":503,\"message\":\"Loading model\"}}";

static void a_model_that_is_loaded_is_waited_for(void **state)
{
    (void)state;
    open_places(1);
    (void)stage_begin(UNKEPT);
    is_refused_with(503, loading);
    is_in("admit");
    assert_int_equal(stage.x.status, 0);
    fake_loop_pass(stage.worker.loop, 1100);
    assert_int_equal(stage.n_calls, 2);
    is_answered();
    close_places();
}

static void a_chat_waits_for_its_model_as_well(void **state)
{
    (void)state;
    open_places(1);
    begin_chat(STREAM);
    is_refused_with(503, loading);
    is_in("admit");
    assert_int_equal(stage.x.status, 0);
    fake_loop_pass(stage.worker.loop, 1100);
    assert_int_equal(stage.n_calls, 2);
    is_answered();
    close_places();
}

/* Passed on as it is, it is a failure of the upstream all the same. */
static void a_refusal_that_is_passed_on_counts(void **state)
{
    (void)state;
    open_places(1);
    begin_chat(STREAM);
    is_refused_with(502, "{\"error\":\"down\"}");
    assert_int_equal(stage.x.status, 502);
    assert_true(client_was_told("{\"error\":\"down\"}"));
    assert_int_equal(places.entries[0].live->health.n_failures, 1);
    close_places();
}

/* ---- other tables */

/* The table with the second upstream alone. */
static void take_other_table(struct upstream_table *t)
{
    *t = stage.upstreams;
    t->entries = &places.entries[1];
    t->n = 1;
    stage.worker.upstreams = t;
}

/* Places in tables are not places in others. */
static void who_waits_while_tables_are_exchanged_goes_where_it_was_granted(void **state)
{
    struct upstream_table other;

    (void)state;
    open_places(2);
    stage_occupy();
    give_model(1, STR("n"), STR_NONE); /* it does not serve this one */
    (void)stage_begin(UNKEPT);
    is_in("admit");
    take_other_table(&other);
    stage_vacate();
    asks("http://upstream/");
    assert_int_equal(n_at(0), 1);
    is_answered();
    close_places();
}

static void a_later_round_goes_by_the_new_table(void **state)
{
    struct upstream_table other;

    (void)state;
    open_places(2);
    give_model(1, STR("m"), STR("another"));
    (void)stage_begin(UNKEPT REMOTE);
    server_lists(0, TOOLS);
    asks("http://upstream/");
    upstream_begins(200);
    upstream_says(CALLS("mcp__s__t") STOPS("tool_calls"));
    upstream_ends(NULL);
    take_other_table(&other);
    server_answers(1, "result");
    stage_settle();
    asks("http://other/");
    assert_non_null(strstr(buf_cstr(&stage.asked), "\"model\":\"another\""));
    assert_int_equal(n_at(1), 1);
    is_answered();
    close_places();
}

static void a_later_round_of_a_model_that_is_gone_ends_as_it_began(void **state)
{
    struct upstream_table other;

    (void)state;
    open_places(2);
    give_model(1, STR("n"), STR_NONE);
    (void)stage_begin(UNKEPT REMOTE);
    server_lists(0, TOOLS);
    upstream_begins(200);
    upstream_says(CALLS("mcp__s__t") STOPS("tool_calls"));
    upstream_ends(NULL);
    take_other_table(&other);
    server_answers(1, "result");
    stage_settle();
    asks("http://upstream/");
    is_answered();
    close_places();
}

/* A place that lasts until the last byte is given back where it was taken. */
static void a_route_that_is_left_takes_its_place_along(void **state)
{
    struct flight_route kept;
    struct err e;
    struct flight *f;

    (void)state;
    open_places(2);
    give_model(1, STR("n"), STR_NONE);
    (void)stage_begin(UNKEPT REMOTE);
    server_lists(0, TOOLS);
    upstream_begins(200);
    upstream_says(CALLS("mcp__s__t") STOPS("tool_calls"));
    is_in("calls");
    assert_int_equal(n_at(0), 1);
    f = stage.worker.flights;
    kept = flight_keep_route(f);
    assert_int_equal(flight_find_route(f, STR("n"), &e), TURN_GO);
    assert_ptr_equal(f->upstream, &places.entries[1]);
    assert_int_equal(n_at(0), 0);
    assert_int_equal(n_at(1), 0);
    flight_return_to_route(f, &kept);
    assert_ptr_equal(f->upstream, &places.entries[0]);
    server_answers(1, "result");
    stage_settle();
    asks("http://upstream/");
    is_answered();
    close_places();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_is_asked_when_it_has_its_place),
        cmocka_unit_test(a_chat_is_asked_when_it_has_its_place),
        cmocka_unit_test(a_place_lasts_until_the_last_byte),
        cmocka_unit_test(a_place_does_not_outlast_the_turn_for_long),
        cmocka_unit_test(a_call_that_cannot_be_started_gives_its_place_back),
        cmocka_unit_test(who_waits_too_long_is_told_so),
        cmocka_unit_test(who_waits_too_long_in_a_stream_is_told_to_try_again),
        cmocka_unit_test(what_does_not_wait_is_refused_at_once),
        cmocka_unit_test(a_grant_that_was_seen_before_is_told_for_nothing),
        cmocka_unit_test(a_client_that_leaves_with_the_grant_under_way_leaves_the_place),
        cmocka_unit_test(what_fails_is_asked_of_the_other),
        cmocka_unit_test(the_other_is_asked_by_its_own_name_of_the_model),
        cmocka_unit_test(a_chat_is_asked_of_the_other_by_its_own_name),
        cmocka_unit_test(what_was_shown_is_not_asked_again),
        cmocka_unit_test(the_last_failure_is_the_answer),
        cmocka_unit_test(an_earlier_failure_is_not_told_again),
        cmocka_unit_test(a_model_that_is_loaded_is_waited_for),
        cmocka_unit_test(a_chat_waits_for_its_model_as_well),
        cmocka_unit_test(a_refusal_that_is_passed_on_counts),
        cmocka_unit_test(who_waits_while_tables_are_exchanged_goes_where_it_was_granted),
        cmocka_unit_test(a_later_round_goes_by_the_new_table),
        cmocka_unit_test(a_later_round_of_a_model_that_is_gone_ends_as_it_began),
        cmocka_unit_test(a_route_that_is_left_takes_its_place_along),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
