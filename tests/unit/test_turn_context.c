/* test_turn_context.c -- turns whose client keeps contexts: what they leave there, and go on from. */
#include "lib/failing_malloc.h"
#include "turn_fixture.h"

#include "flight/peer_context.h"

/* What the client keeps: the response that ended well last, or its name alone. */
static struct {
    struct peer_ops ops;
    struct peer_context *context;
    char id[80];
    unsigned n_kept;
} client;

static struct peer_context *find_kept(void *of, str response_id)
{
    (void)of;
    return client.context != NULL && str_eq(response_id, str_from_c(client.id))
               ? peer_context_ref(client.context)
               : NULL;
}

static void keep(void *of, str response_id, struct peer_context *context)
{
    (void)of;
    peer_context_unref(client.context);
    client.context = context == NULL ? NULL : peer_context_ref(context);
    (void)snprintf(client.id, sizeof(client.id), "%.*s", STR_ARG(response_id));
    client.n_kept++;
}

static void start_turn(struct worker *w, struct http_exchange *x, const struct http_request *r,
                       const struct caller *caller)
{
    struct peer peer = peer_of_exchange(x);

    client.ops = *peer.ops;
    client.ops.manners = (struct peer_manners){.sends_messages = true};
    client.ops.find_context = find_kept;
    client.ops.keep_context = keep;
    peer.ops = &client.ops;
    turn_begin(w, peer, r, caller);
}

/* Another request of the same client, which continues what that keeps. */
static void begin(const char *members)
{
    struct buf all = {.limit = 0};

    buf_fini(&stage.x.said);
    stage.x = (struct http_exchange){.handler = NULL};
    buf_reset(&stage.body);
    buf_c(&all, members);
    if (client.id[0] != '\0') {
        buf_c(&all, ",\"previous_response_id\":\"");
        buf_c(&all, client.id);
        buf_char(&all, '"');
    }
    stage_begin_at(start_turn, buf_cstr(&all));
    buf_fini(&all);
}

/* The model answers, as far as it is asked. */
static void answer(const char *end)
{
    if (stage.has_call)
        upstream_begins(200);
    if (stage.has_call)
        upstream_says(SAYS("hello"));
    if (stage.has_call)
        upstream_says(end);
    if (stage.has_call)
        upstream_ends(NULL);
    stage_settle();
}

static void open_stage(void)
{
    memset(&client, 0, sizeof(client));
    open_turn_stage();
}

static void close_stage(void)
{
    peer_context_unref(client.context);
    fake_loop_pass(stage.worker.loop, 60 * 1000);
    stage_close();
}

static const struct err away = {.code = ERR_UPSTREAM_UNAVAILABLE, .msg = "It is gone."};

#define UNSTORED "\"input\":\"question\",\"store\":false"

static void test_unstored_response_is_left_and_continued(void **state)
{
    (void)state;
    open_stage();
    begin(UNSTORED ",\"tools\":[{\"type\":\"function\",\"name\":\"f\"}]");
    answer(STOPS("stop"));
    assert_true(client_was_told("response.completed"));
    assert_non_null(client.context);
    assert_int_equal(peer_context_items(client.context), 2);

    begin(UNSTORED);
    assert_null(stage.store_task);
    assert_non_null(strstr(buf_cstr(&stage.asked), "\"hello\""));
    assert_non_null(strstr(buf_cstr(&stage.asked), "\"f\""));
    answer(STOPS("length"));
    assert_true(client_was_told("response.incomplete"));
    assert_int_equal(peer_context_items(client.context), 4);
    assert_int_equal(client.n_kept, 2);
    close_stage();
}

static void test_stored_response_leaves_its_name(void **state)
{
    (void)state;
    open_stage();
    begin(UNSTORED);
    answer(STOPS("stop"));
    begin("\"input\":\"question\"");
    assert_null(stage.store_task);
    answer(STOPS("stop"));
    assert_int_equal(stage.n_saved, 1);
    assert_int_equal(client.n_kept, 2);
    assert_null(client.context);
    close_stage();
}

static void test_failed_response_leaves_nothing(void **state)
{
    (void)state;
    open_stage();
    begin(UNSTORED);
    upstream_begins(200);
    upstream_says(SAYS("hello"));
    upstream_ends(&away);
    stage_settle();
    assert_true(client_was_told("response.failed"));
    assert_int_equal(client.n_kept, 0);
    close_stage();
}

static void test_warm_up_asks_nobody(void **state)
{
    (void)state;
    open_stage();
    begin("\"input\":[],\"store\":false,\"generate\":false");
    stage_settle();
    assert_int_equal(stage.n_calls, 0);
    assert_true(client_was_told("response.completed"));
    assert_true(client_was_told("\"output\":[]"));
    assert_int_equal(peer_context_items(client.context), 0);
    begin(UNSTORED);
    answer(STOPS("stop"));
    assert_int_equal(peer_context_items(client.context), 2);
    close_stage();
}

/* What it continues is held by the turn alone then. */
static void test_client_leaves(void **state)
{
    (void)state;
    open_stage();
    begin(UNSTORED);
    answer(STOPS("stop"));
    begin(UNSTORED);
    client_leaves();
    close_stage();
}

/* Whatever cannot be kept, the turn ends, and nothing is left. */
static void test_each_allocation_fails(void **state)
{
    (void)state;
    for (long n = 0, has_failed = 1; has_failed; n += 3) {
        open_stage();
        begin(UNSTORED);
        answer(STOPS("stop"));
        failing_malloc_begin(n, FAILS_ONCE);
        begin(UNSTORED);
        answer(STOPS("stop"));
        has_failed = failing_malloc_end();
        stage_settle();
        if (!stage.x.is_over)
            client_leaves();
        close_stage();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unstored_response_is_left_and_continued),
        cmocka_unit_test(test_stored_response_leaves_its_name),
        cmocka_unit_test(test_failed_response_leaves_nothing),
        cmocka_unit_test(test_warm_up_asks_nobody),
        cmocka_unit_test(test_client_leaves),
        cmocka_unit_test(test_each_allocation_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
