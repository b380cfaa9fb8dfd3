/* test_mcp_hub.c -- configured servers: start, snapshots, calls, a new file, the end. */
#include "unit/mcp_hub_stage.h"

#define SERVER(label, command) "\"" label "\":{\"command\":\"" command "\"}"
#define REQUIRED(label, command, ms)                                                               \
    "\"" label "\":{\"command\":\"" command "\",\"required\":true,\"startupTimeoutMs\":" ms "}"

static struct mcp_snapshot *snapshot;

/* The server as it is seen now; the view is good until the next call. */
static const struct mcp_server_view *view_of(const char *label)
{
    const struct mcp_server_view *view;

    mcp_snapshot_unref(snapshot);
    snapshot = mcp_hub_snapshot(hfx.hub);
    view = mcp_snapshot_find(snapshot, str_from_c(label));
    assert_non_null(view);
    return view;
}

static int teardown(void **state)
{
    mcp_snapshot_unref(snapshot);
    snapshot = NULL;
    return stage_teardown(state);
}

/* ---- what is seen */

static void servers_are_seen_in_the_order_of_the_file_at_once(void **state)
{
    (void)state;
    hub_open(SERVER("z", "silent") ",\"off\":{\"command\":\"x\",\"disabled\":true},\"bad\":{}");
    snapshot = mcp_hub_snapshot(hfx.hub);
    assert_int_equal(snapshot->n, 3);
    assert_str_c(snapshot->servers[0].conf->label, "z");
    assert_str_c(snapshot->servers[1].conf->label, "off");
    assert_str_c(snapshot->servers[2].conf->label, "bad");
    assert_true(snapshot->servers[0].is_pending);
    assert_int_equal(snapshot->servers[0].state, MCP_STARTING);
    assert_false(snapshot->servers[1].is_pending);
    assert_str_c(snapshot->servers[1].error, "");
    assert_true(str_find(snapshot->servers[2].error, STR("needs a \"command\"")) <
                snapshot->servers[2].error.len);
    assert_null(mcp_snapshot_find(snapshot, STR("other")));
    assert_int_equal(play_count().n_made, 1);
}

static void hub_without_servers_has_none(void **state)
{
    struct err e;

    (void)state;
    hfx.hub = mcp_hub_new(&hfx.conf, &e);
    snapshot = mcp_hub_snapshot(hfx.hub);
    assert_int_equal(snapshot->n, 0);
}

static void tools_are_seen_while_they_may_be_offered(void **state)
{
    (void)state;
    hub_open(SERVER("s", "silent"));
    play_state("s", MCP_BACKOFF, "exited");
    assert_false(view_of("s")->is_pending);
    assert_false(view_of("s")->is_available);
    assert_str_c(view_of("s")->error, "exited");
    play_ready("s", TOOL_A);
    assert_true(view_of("s")->is_available);
    assert_non_null(mcp_catalogue_find(view_of("s")->tools, STR("a")));
    play_state("s", MCP_DEGRADED, "listing failed");
    assert_true(view_of("s")->is_available);
    assert_str_c(view_of("s")->error, "listing failed");
    play_state("s", MCP_BACKOFF, "gone");
    assert_false(view_of("s")->is_available);
    assert_null(view_of("s")->tools);
    play_state("s", MCP_READY, ""); /* with the same tools, which it does not report again */
    assert_true(view_of("s")->is_available);
    assert_int_equal(view_of("s")->tools->n, 1);
}

static void snapshot_keeps_what_it_showed(void **state)
{
    struct mcp_snapshot *old;

    (void)state;
    hub_open(SERVER("s", "silent"));
    play_ready("s", TOOL_A);
    old = mcp_hub_snapshot(hfx.hub);
    play_ready("s", TOOL_B);
    assert_null(mcp_catalogue_find(view_of("s")->tools, STR("a")));
    hub_reload(SERVER("other", "silent"));
    play_settle();
    assert_str_c(old->servers[0].conf->label, "s");
    assert_str_c(str_from_c(old->servers[0].conf->argv[0]), "silent");
    assert_non_null(mcp_catalogue_find(old->servers[0].tools, STR("a")));
    mcp_snapshot_unref(old);
}

static void operator_hides_tools(void **state)
{
    (void)state;
    hub_open("\"s\":{\"command\":\"silent\",\"excludeTools\":[\"a\"]}");
    play_ready("s", TOOL_A "," TOOL_B);
    assert_int_equal(view_of("s")->tools->n, 1);
    assert_str_c(view_of("s")->tools->tools[0].name, "b");
}

static bool injects(bool by_default)
{
    struct mcp_snapshot *s = mcp_hub_snapshot(hfx.hub);
    bool has_one = mcp_snapshot_injects(s, by_default);

    mcp_snapshot_unref(s);
    return has_one;
}

static void tools_that_join_every_request_are_those_that_are_there_or_will_be(void **state)
{
    (void)state;
    hub_open("\"b\":{\"command\":\"silent\",\"inject\":\"always\"},"
             "\"c\":{\"command\":\"silent\",\"inject\":\"declared\"}");
    assert_true(view_of("b")->is_starting);
    assert_true(injects(false));
    play_ready("b", TOOL_A);
    assert_false(view_of("b")->is_starting);
    assert_true(injects(false));
}

static void tools_of_a_server_that_has_failed_join_no_request(void **state)
{
    (void)state;
    hub_open("\"b\":{\"command\":\"silent\",\"inject\":\"always\"},"
             "\"c\":{\"command\":\"silent\",\"inject\":\"declared\"}");
    play_ready("c", TOOL_A);
    play_state("b", MCP_BACKOFF, "exited");
    assert_false(injects(false));
}

/* ---- required servers */

static void start_waits_for_required_servers(void **state)
{
    (void)state;
    hub_open(SERVER("a", "silent") "," REQUIRED("b", "ready", "60000"));
    assert_true(view_of("b")->is_available);
    assert_false(view_of("a")->is_available);
}

static void refuses_to_start(const char *servers, const char *message)
{
    struct err e = {.code = ERR_NONE};

    hfx.conf.servers = hub_file(servers);
    hfx.hub = mcp_hub_new(&hfx.conf, &e);
    assert_null(hfx.hub);
    assert_int_equal(e.code, ERR_UPSTREAM_UNAVAILABLE);
    assert_str_c(str_from_c(e.msg), message);
    assert_int_equal(stage.n_live, 0);
}

static void required_server_that_fails_ends_the_start(void **state)
{
    (void)state;
    refuses_to_start(SERVER("a", "ready") "," REQUIRED("b", "fails", "60000"),
                     "MCP server b is required and not available: it is broken");
}

static void required_server_that_is_late_ends_the_start(void **state)
{
    (void)state;
    refuses_to_start(REQUIRED("b", "silent", "1") "," REQUIRED("c", "silent", "60000"),
                     "MCP server b is required and not available: it did not answer in time");
}

/* ---- calls */

static void result_comes_back_as_text(void **state)
{
    struct told t = {0};

    (void)state;
    hub_open(SERVER("s", "ready"));
    (void)call_server("s", "{\"x\":1}", &t);
    assert_int_equal(loop_n_expected(hfx.loop), 1);
    play_answer("s", "[{\"type\":\"text\",\"text\":\"one\"},{\"type\":\"text\",\"text\":\"two\"}]");
    assert_int_equal(t.n, 0); /* on our loop only */
    until_output(&t, "one\ntwo");
    assert_int_equal(loop_n_expected(hfx.loop), 0);
    told_fini(&t);
}

static void result_has_the_form_that_was_asked_for(void **state)
{
    const struct mcp_hub_call call = {.label = STR("s"), .form = MCP_RESULT_JSON_ARRAY};
    struct told t = {0};

    (void)state;
    hub_open(SERVER("s", "ready"));
    (void)call_tool(&call, "{}", &t);
    play_answer("s", "[{\"type\":\"text\",\"text\":\"one\"}]");
    until_output(&t, "[\"one\"]");
    told_fini(&t);
}

static void answer_with(const char *label, size_t n)
{
    struct buf content = {0};

    buf_c(&content, "[{\"type\":\"text\",\"text\":\"");
    for (size_t i = 0; i < n; i++)
        buf_char(&content, 'x');
    buf_c(&content, "\"}]");
    play_answer(label, buf_cstr(&content));
    buf_fini(&content);
}

static void result_is_as_long_as_the_entry_lets_it(void **state)
{
    struct told entry = {0};

    (void)state;
    hub_open("\"s\":{\"command\":\"ready\",\"maxResultBytes\":1024}");
    (void)call_server("s", "{}", &entry);
    answer_with("s", 2000);
    HUB_UNTIL(entry.n > 0);
    assert_int_equal(strspn(buf_cstr(&entry.output), "x"), 1024);
    told_fini(&entry);
}

static void failure_has_a_text_and_an_object_without_secrets(void **state)
{
    static const struct mcp_failure failure = {
        .cause = MCP_FAILED_RPC, .code = -32602, .message = STR_INIT("no t0ken please")};
    struct told t = {0};

    (void)state;
    hub_open("\"s\":{\"command\":\"ready\",\"env\":{\"KEY\":\"t0ken\"}}");
    (void)call_server("s", "{}", &t);
    play_failure("s", &failure);
    until_failed(&t, "no [redacted] please (-32602)");
    assert_str_c(buf_str(&t.error_object), "{\"type\":\"mcp_protocol_error\",\"code\":-32602,"
                                           "\"message\":\"no [redacted] please\"}");
    told_fini(&t);
}

/* Escaped in the server's JSON, and such that JSON would break if it were cut out there. */
static void secret_is_found_in_the_content_of_a_failed_tool(void **state)
{
    const struct mcp_call_result result = {
        .is_error = true,
        .content = STR("[{\"type\":\"text\",\"text\":\"key=\\u0061\\\"b\\\\c, \\u00e9\"}]")};
    const struct mcp_failure failure = {.cause = MCP_FAILED_TOOL, .result = &result};
    struct told t = {0};

    (void)state;
    hub_open("\"s\":{\"command\":\"ready\",\"env\":{\"KEY\":\"a\\\"b\\\\c\"}}");
    (void)call_server("s", "{}", &t);
    play_failure("s", &failure);
    until_failed(&t, "key=[redacted], \xC3\xA9");
    assert_str_c(buf_str(&t.error_object),
                 "{\"type\":\"mcp_tool_execution_error\",\"content\":[{\"type\":\"text\","
                 "\"text\":\"key=[redacted], \xC3\xA9\"}]}");
    told_fini(&t);
}

static void call_of_a_server_that_is_not_there_fails(void **state)
{
    struct told unknown = {0}, off = {0};

    (void)state;
    hub_open("\"off\":{\"command\":\"x\",\"disabled\":true}");
    (void)call_server("unknown", "{}", &unknown);
    (void)call_server("off", "{}", &off);
    until_failed(&unknown, "The MCP server of this tool is not there any more.");
    until_failed(&off, "The MCP server of this tool is not there any more.");
    assert_str_c(buf_str(&off.error_object),
                 "{\"type\":\"mcp_protocol_error\",\"code\":-32000,"
                 "\"message\":\"The MCP server of this tool is not there any more.\"}");
    told_fini(&unknown);
    told_fini(&off);
}

/* ---- cancelling */

static void cancelled_call_is_not_reported_but_counted(void **state)
{
    struct told t = {0};

    (void)state;
    hub_open(SERVER("s", "ready"));
    mcp_task_cancel(call_server("s", "{}", &t));
    assert_int_equal(loop_n_expected(hfx.loop), 1);
    HUB_UNTIL(loop_n_expected(hfx.loop) == 0);
    assert_int_equal(t.n, 0);
    assert_int_equal(play_count().n_cancelled, 1);
}

/* The report is on its way to us, and the abort on its way to the hub. */
static void cancelling_crosses_the_report(void **state)
{
    struct told t = {0};
    struct mcp_task *task;

    (void)state;
    hub_open(SERVER("s", "ready"));
    task = call_server("s", "{}", &t);
    play_answer("s", "[]");
    mcp_task_cancel(task);
    HUB_UNTIL(loop_n_expected(hfx.loop) == 0);
    assert_int_equal(t.n, 0);
    assert_int_equal(play_count().n_cancelled, 0);
}

/* ---- a new file */

static void unchanged_server_keeps_its_session(void **state)
{
    struct told t = {0};

    (void)state;
    hub_open(SERVER("a", "ready") "," SERVER("b", "ready"));
    play_settle();
    (void)call_server("a", "{}", &t);
    hub_reload(SERVER("b", "ready") "," SERVER("a", "ready"));
    play_settle();
    assert_int_equal(play_count().n_made, 2);
    assert_true(view_of("a")->is_available);
    assert_str_c(snapshot->servers[0].conf->label, "b");
    play_answer("a", "[{\"type\":\"text\",\"text\":\"still\"}]");
    until_output(&t, "still");
    told_fini(&t);
}

static void call_finishes_on_the_server_as_it_was(void **state)
{
    struct told before = {0}, after = {0};

    (void)state;
    hub_open("\"s\":{\"command\":\"ready\",\"args\":[\"1\"]}");
    (void)call_server("s", "{}", &before);
    hub_reload("\"s\":{\"command\":\"ready\",\"args\":[\"2\"]}");
    (void)call_server("s", "{}", &after);
    play_settle();
    assert_int_equal(play_count().n_live, 2);
    play_answer("s", "[{\"type\":\"text\",\"text\":\"old\"}]");
    until_output(&before, "old");
    play_settle();
    assert_int_equal(play_count().n_live, 1);
    play_answer("s", "[{\"type\":\"text\",\"text\":\"new\"}]");
    until_output(&after, "new");
    told_fini(&before);
    told_fini(&after);
}

static void removed_server_finishes_what_it_has_begun(void **state)
{
    struct told before = {0}, after = {0};

    (void)state;
    hub_open(SERVER("s", "ready"));
    (void)call_server("s", "{}", &before);
    hub_reload("");
    (void)call_server("s", "{}", &after);
    until_failed(&after, "The MCP server of this tool is not there any more.");
    snapshot = mcp_hub_snapshot(hfx.hub);
    assert_int_equal(snapshot->n, 0);
    play_answer("s", "[{\"type\":\"text\",\"text\":\"done\"}]");
    until_output(&before, "done");
    play_settle();
    assert_int_equal(play_count().n_live, 0);
    told_fini(&before);
    told_fini(&after);
}

static void cancelling_the_last_call_ends_a_server_that_leaves(void **state)
{
    struct told t = {0};
    struct mcp_task *task;

    (void)state;
    hub_open(SERVER("s", "ready"));
    task = call_server("s", "{}", &t);
    hub_reload("");
    play_settle();
    assert_int_equal(play_count().n_live, 1);
    mcp_task_cancel(task);
    HUB_UNTIL(loop_n_expected(hfx.loop) == 0);
    play_settle();
    assert_int_equal(play_count().n_live, 0);
}

static void server_changes_from_broken_to_good_and_back(void **state)
{
    (void)state;
    hub_open("\"s\":{}");
    hub_reload(SERVER("s", "ready"));
    play_settle();
    assert_true(view_of("s")->is_available);
    hub_reload("\"s\":{}");
    play_settle();
    assert_false(view_of("s")->is_available);
    assert_true(view_of("s")->error.len > 0);
    assert_int_equal(play_count().n_live, 0);
}

/* ---- many threads */

enum { THREADS = 4, ROUNDS = 50, AT_ONCE = 8 };

struct crowd {
    uv_thread_t thread;
    struct loop *loop;
    unsigned number, n_told;
};

struct one {
    struct crowd *crowd;
    struct mcp_task *task;
    bool is_told;
    char arguments[32];
};

static void on_echo(void *arg, const struct mcp_outcome *outcome)
{
    struct one *one = arg;

    MUST(!outcome->is_failed && str_eq(outcome->output, str_from_c(one->arguments)));
    one->is_told = true;
    one->crowd->n_told++;
}

static void one_begin(struct one *one, struct mcp_catalogue *tools, unsigned number)
{
    static const struct mcp_done_handler handler = {on_echo};
    struct crowd *c = one->crowd;
    struct mcp_hub_call call = {.label = STR("s"), .catalogue = tools, .tool = &tools->tools[0]};
    struct err e;

    (void)snprintf(one->arguments, sizeof(one->arguments), "{\"n\":%u}", number);
    call.arguments = str_from_c(one->arguments);
    one->task = mcp_hub_call(hfx.hub, c->loop, &call, &handler, one, &e);
    MUST(one->task != NULL);
}

/* Some are cancelled, if they are not told before. */
static void crowd_round(struct crowd *c, struct mcp_catalogue *tools, unsigned round)
{
    struct one ones[AT_ONCE];

    for (unsigned i = 0; i < AT_ONCE; i++) {
        ones[i] = (struct one){.crowd = c};
        one_begin(&ones[i], tools, (c->number * ROUNDS + round) * AT_ONCE + i);
    }
    (void)uv_run(loop_uv(c->loop), UV_RUN_NOWAIT);
    for (unsigned i = 0; i < AT_ONCE; i += 3) {
        if (!ones[i].is_told)
            mcp_task_cancel(ones[i].task);
    }
    while (loop_n_expected(c->loop) > 0)
        (void)uv_run(loop_uv(c->loop), UV_RUN_ONCE);
}

/* While it restarts there is nothing to call. */
static struct mcp_snapshot *available_snapshot(void)
{
    for (;;) {
        struct mcp_snapshot *s = mcp_hub_snapshot(hfx.hub);

        if (s->servers[0].is_available)
            return s;
        mcp_snapshot_unref(s);
        (void)sched_yield();
    }
}

static void crowd_run(void *arg)
{
    struct crowd *c = arg;

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct mcp_snapshot *s = available_snapshot();

        crowd_round(c, s->servers[0].tools, round);
        mcp_snapshot_unref(s);
    }
}

static void everybody_gets_his_own_result_while_files_change(void **state)
{
    struct crowd crowds[THREADS] = {{.n_told = 0}};
    unsigned n_told = 0;
    struct err e;

    (void)state;
    hub_open(REQUIRED("s", "echo", "60000"));
    for (unsigned i = 0; i < THREADS; i++) {
        crowds[i].number = i;
        crowds[i].loop = loop_new(&e);
        assert_int_equal(uv_thread_create(&crowds[i].thread, crowd_run, &crowds[i]), 0);
    }
    for (unsigned i = 0; i < 20; i++) {
        hub_reload(i % 2 == 0 ? SERVER("s", "echo") : REQUIRED("s", "echo", "60000"));
        play_settle();
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(uv_thread_join(&crowds[i].thread), 0);
        n_told += crowds[i].n_told;
        loop_free(crowds[i].loop);
    }
    assert_true(n_told > 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, stage_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(servers_are_seen_in_the_order_of_the_file_at_once),
        TEST(hub_without_servers_has_none),
        TEST(tools_are_seen_while_they_may_be_offered),
        TEST(snapshot_keeps_what_it_showed),
        TEST(operator_hides_tools),
        TEST(tools_that_join_every_request_are_those_that_are_there_or_will_be),
        TEST(tools_of_a_server_that_has_failed_join_no_request),
        TEST(start_waits_for_required_servers),
        TEST(required_server_that_fails_ends_the_start),
        TEST(required_server_that_is_late_ends_the_start),
        TEST(result_comes_back_as_text),
        TEST(result_has_the_form_that_was_asked_for),
        TEST(result_is_as_long_as_the_entry_lets_it),
        TEST(failure_has_a_text_and_an_object_without_secrets),
        TEST(secret_is_found_in_the_content_of_a_failed_tool),
        TEST(call_of_a_server_that_is_not_there_fails),
        TEST(cancelled_call_is_not_reported_but_counted),
        TEST(cancelling_crosses_the_report),
        TEST(unchanged_server_keeps_its_session),
        TEST(call_finishes_on_the_server_as_it_was),
        TEST(removed_server_finishes_what_it_has_begun),
        TEST(cancelling_the_last_call_ends_a_server_that_leaves),
        TEST(server_changes_from_broken_to_good_and_back),
        TEST(everybody_gets_his_own_result_while_files_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
