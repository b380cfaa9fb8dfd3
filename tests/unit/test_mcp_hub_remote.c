/* test_mcp_hub_remote.c -- servers of requests: shared, kept apart, limited, closed. */
#include "unit/mcp_hub_stage.h"

/* What a request declares. */
struct declared {
    const char *owner, *url, *query;
    struct http_header fields[2];
    size_t n_fields;
};

static struct mcp_remote remote_of(const char *label, struct declared *d)
{
    return (struct mcp_remote){
        .owner = str_from_c(d->owner),
        .label = str_from_c(label),
        .url = {.text = d->url,
                .shown = str_from(d->url, str_find_char(str_from_c(d->url), '?')),
                .query = str_from_c(d->query)},
        .headers = {d->fields, d->n_fields}};
}

/* With a token of its own. */
static struct declared with_token(const char *url, const char *token)
{
    return (struct declared){
        .url = url, .fields = {{STR("Authorization"), str_from_c(token)}}, .n_fields = 1};
}

static struct mcp_task *list(const char *label, struct declared d, struct told *t)
{
    static const struct mcp_listed_handler handler = {on_tools_told};
    const struct mcp_remote remote = remote_of(label, &d);
    struct mcp_task *task;
    struct err e;

    task = mcp_hub_list(hfx.hub, hfx.loop, &remote, &handler, t, &e);
    assert_non_null(task);
    return task;
}

static struct mcp_task *call(const char *label, struct declared d, struct told *t)
{
    const struct mcp_remote remote = remote_of(label, &d);

    return call_tool(&(struct mcp_hub_call){.remote = &remote}, "{}", t);
}

static void until_tools(struct told *t, const char *label, const char *tool)
{
    HUB_UNTIL(t->n > 0);
    assert_int_equal(t->n, 1);
    assert_non_null(t->tools);
    assert_str_c(t->tools->label, label);
    assert_int_equal(t->tools->n, 1);
    assert_str_c(t->tools->tools[0].name, tool);
}

static const char ready_url[] = "https://ready.example/mcp";
static const char silent_url[] = "https://silent.example/mcp";

static int setup(void **state)
{
    if (stage_setup(state) == -1)
        return -1;
    hub_open(NULL);
    return 0;
}

/* With other limits than setup's. */
static void open_again(void)
{
    assert_true(mcp_hub_free(hfx.hub));
    hub_open(NULL);
}

/* ---- the start */

static void hub_without_a_file_starts_with_its_first_task(void **state)
{
    struct mcp_snapshot *empty = mcp_hub_snapshot(hfx.hub);
    struct told t = {0};

    (void)state;
    assert_int_equal(empty->n, 0);
    mcp_snapshot_unref(empty);
    assert_null(hfx.hub->loop);
    (void)list("a", (struct declared){.url = ready_url}, &t);
    assert_non_null(hfx.hub->loop);
    until_tools(&t, "a", "a");
    told_fini(&t);
}

static void hub_that_was_never_asked_ends_at_once(void **state)
{
    (void)state;
    assert_true(mcp_hub_free(hfx.hub));
    hfx.hub = NULL;
}

static void file_may_come_later(void **state)
{
    struct mcp_snapshot *now;

    (void)state;
    hub_reload("\"s\":{\"command\":\"ready\"}");
    (void)play_count(); /* behind the reload on the hub's thread */
    now = mcp_hub_snapshot(hfx.hub);
    assert_int_equal(now->n, 1);
    mcp_snapshot_unref(now);
}

/* ---- sharing */

static void tools_are_listed_under_the_label_of_each_request(void **state)
{
    struct told a = {0}, b = {0};

    (void)state;
    (void)list("a", (struct declared){.url = ready_url}, &a);
    until_tools(&a, "a", "a");
    (void)list("b", (struct declared){.url = ready_url}, &b);
    until_tools(&b, "b", "a");
    assert_int_equal(play_count().n_made, 1);
    assert_int_equal(loop_n_expected(hfx.loop), 0);
    told_fini(&a);
    told_fini(&b);
}

static void those_who_wait_are_told_together(void **state)
{
    struct told a = {0}, b = {0};

    (void)state;
    (void)list("s", (struct declared){.url = silent_url}, &a);
    (void)list("s", (struct declared){.url = silent_url}, &b);
    play_ready("s", TOOL_B);
    until_tools(&a, "s", "b");
    until_tools(&b, "s", "b");
    assert_int_equal(play_count().n_made, 1);
    told_fini(&a);
    told_fini(&b);
}

static void credentials_have_their_own_connection_and_tools(void **state)
{
    struct told a = {0}, b = {0};

    (void)state;
    (void)list("a", with_token(silent_url, "Bearer one"), &a);
    play_ready("a", TOOL_A);
    (void)list("b", with_token(silent_url, "Bearer two"), &b);
    play_ready("b", TOOL_B);
    until_tools(&a, "a", "a");
    until_tools(&b, "b", "b");
    assert_int_equal(play_count().n_made, 2);
    told_fini(&a);
    told_fini(&b);
}

/* Two clients of ours with the same credentials, or none. */
static void owners_have_their_own_connection(void **state)
{
    struct told a = {0}, b = {0}, again = {0};

    (void)state;
    (void)list("a", (struct declared){.owner = "one", .url = silent_url}, &a);
    play_ready("a", TOOL_A);
    (void)list("b", (struct declared){.owner = "two", .url = silent_url}, &b);
    play_ready("b", TOOL_B);
    until_tools(&a, "a", "a");
    until_tools(&b, "b", "b");
    (void)list("c", (struct declared){.owner = "one", .url = silent_url}, &again);
    until_tools(&again, "c", "a");
    assert_int_equal(play_count().n_made, 2);
    told_fini(&a);
    told_fini(&b);
    told_fini(&again);
}

static void names_of_fields_differ_in_case_only(void **state)
{
    struct declared d = with_token(ready_url, "Bearer one");
    struct told a = {0}, b = {0};

    (void)state;
    (void)list("s", d, &a);
    d.fields[0].name = STR("authorization");
    (void)list("s", d, &b);
    until_tools(&a, "s", "a");
    until_tools(&b, "s", "a");
    assert_int_equal(play_count().n_made, 1);
    told_fini(&a);
    told_fini(&b);
}

/* "a" + "bc" is not "ab" + "c". */
static void fields_are_told_apart_by_where_they_end(void **state)
{
    struct declared one = {
        .url = ready_url, .fields = {{STR("x"), STR("a")}, {STR("y"), STR("")}}, .n_fields = 2};
    struct declared other = {
        .url = ready_url, .fields = {{STR("x"), STR("")}, {STR("ay"), STR("")}}, .n_fields = 2};
    struct told a = {0}, b = {0};

    (void)state;
    (void)list("s", one, &a);
    (void)list("s", other, &b);
    until_tools(&a, "s", "a");
    until_tools(&b, "s", "a");
    assert_int_equal(play_count().n_made, 2);
    told_fini(&a);
    told_fini(&b);
}

static void public_tools_serve_all_credentials_but_calls_do_not(void **state)
{
    static const char url[] = "https://public.example/mcp";
    struct told a = {0}, b = {0}, called = {0};

    (void)state;
    (void)list("a", with_token(url, "Bearer one"), &a);
    until_tools(&a, "a", "a");
    (void)list("b", with_token(url, "Bearer two"), &b);
    until_tools(&b, "b", "a");
    assert_int_equal(play_count().n_made, 1);
    (void)call("b", with_token(url, "Bearer two"), &called);
    play_answer("b", "[{\"type\":\"text\",\"text\":\"two\"}]");
    until_output(&called, "two");
    assert_int_equal(play_count().n_made, 2);
    told_fini(&a);
    told_fini(&b);
    told_fini(&called);
}

/* ---- failing */

static void failure_says_why_and_the_next_request_tries_again(void **state)
{
    static const char url[] = "https://fails.example/mcp";
    struct told first = {0}, second = {0};

    (void)state;
    (void)list("s", (struct declared){.url = url}, &first);
    until_failed(&first, "it is broken");
    (void)list("s", (struct declared){.url = url}, &second);
    until_failed(&second, "it is broken");
    assert_int_equal(play_count().n_made, 2);
    told_fini(&first);
    told_fini(&second);
}

static void silent_server_is_given_up(void **state)
{
    struct told t = {0};

    (void)state;
    hfx.conf.remote_timeout_ms = 1;
    open_again();
    (void)list("s", (struct declared){.url = silent_url}, &t);
    until_failed(&t, "The MCP server did not list its tools in time.");
    play_settle();
    assert_int_equal(play_count().n_live, 0);
    told_fini(&t);
}

/* Connected, but the list cannot be had: the next request asks at once, and the session it
 * would have to wait for is closed. */
static void failed_listing_is_the_end_of_a_connection(void **state)
{
    struct told first = {0}, second = {0};

    (void)state;
    (void)list("s", (struct declared){.url = silent_url}, &first);
    play_state("s", MCP_DEGRADED, "no list");
    until_failed(&first, "no list");
    (void)list("s", (struct declared){.url = silent_url}, &second);
    play_ready("s", TOOL_A);
    until_tools(&second, "s", "a");
    play_settle();
    assert_int_equal(play_count().n_made, 2);
    assert_int_equal(play_count().n_live, 1);
    told_fini(&first);
    told_fini(&second);
}

static void lost_connection_is_opened_again_by_the_next_request(void **state)
{
    static const struct mcp_failure closed = {.cause = MCP_FAILED_CLOSED};
    struct told listed = {0}, called = {0}, again = {0};

    (void)state;
    (void)list("s", (struct declared){.url = ready_url}, &listed);
    until_tools(&listed, "s", "a");
    (void)call("t", (struct declared){.url = ready_url}, &called);
    play_state("s", MCP_FAILED, "reset");
    play_failure("s", &closed);
    until_failed(&called, "MCP server t closed the connection");
    (void)list("s", (struct declared){.url = ready_url}, &again);
    until_tools(&again, "s", "a");
    assert_int_equal(play_count().n_made, 2);
    assert_int_equal(play_count().n_live, 1);
    told_fini(&listed);
    told_fini(&called);
    told_fini(&again);
}

static void cancelled_listing_is_not_reported(void **state)
{
    struct told a = {0}, b = {0}, late = {0};
    struct mcp_task *task;

    (void)state;
    task = list("s", (struct declared){.url = silent_url}, &a);
    (void)list("s", (struct declared){.url = silent_url}, &b);
    mcp_task_cancel(task);
    HUB_UNTIL(loop_n_expected(hfx.loop) == 1);
    play_ready("s", TOOL_A);
    until_tools(&b, "s", "a");
    assert_int_equal(a.n, 0);
    task = list("s", (struct declared){.url = silent_url}, &late);
    play_settle(); /* its report is on the way, with a reference to the tools */
    mcp_task_cancel(task);
    HUB_UNTIL(loop_n_expected(hfx.loop) == 0);
    assert_int_equal(late.n, 0);
    told_fini(&b);
}

/* ---- calling */

static void call_opens_a_connection_of_its_own(void **state)
{
    struct told t = {0};

    (void)state;
    (void)call("s", (struct declared){.url = silent_url}, &t);
    play_answer("s", "[{\"type\":\"text\",\"text\":\"done\"}]");
    until_output(&t, "done");
    assert_int_equal(play_count().n_made, 1);
    told_fini(&t);
}

static void all_that_the_request_kept_secret_is_removed(void **state)
{
    static const struct mcp_failure failure = {
        .cause = MCP_FAILED_RPC,
        .code = 1,
        .message = STR_INIT("Bearer t0ken, t0ken, s3cret, key=v4lue&x=w0rd, v4lue, w0rd")};
    struct declared d = {
        .url = "https://ready.example/mcp?key=v4lue&x=w0rd",
        .query = "key=v4lue&x=w0rd",
        .fields = {{STR("Authorization"), STR("Bearer t0ken")}, {STR("X-Key"), STR("s3cret")}},
        .n_fields = 2};
    struct told t = {0};

    (void)state;
    (void)call("s", d, &t);
    play_failure("s", &failure);
    until_failed(&t, "[redacted], [redacted], [redacted], [redacted], [redacted], [redacted] (1)");
    told_fini(&t);
}

static void look_at_entry(void *arg)
{
    const struct mcp_session *s = stage_find(arg);
    const struct mcp_server_conf *conf = s->conf.server;

    MUST(s->conf.is_remote && s->conf.starts_once && s->conf.client == hfx.hub->remote_client);
    MUST(str_eq(str_from_c(conf->shown), STR("https://silent.example/sse")));
    MUST(str_eq(conf->url.hidden, STR("https://silent.example/sse?k=v")));
    MUST(conf->transport == MCP_TRANSPORT_SSE && conf->is_sse_guess);
    MUST(conf->headers.n == 1 && str_eq(conf->headers.items[0].name, STR("Authorization")));
    MUST(str_eq(conf->headers.items[0].value.hidden, STR("Bearer t0ken")));
    MUST(conf->startup_timeout_ms == 60000 && conf->max_message_bytes == 1 << 20);
    MUST(s->calls->conf.idle_timeout_ms == 5000 && s->calls->conf.total_timeout_ms == 50000);
}

static void connection_is_made_from_what_the_request_says(void **state)
{
    struct declared d = with_token("https://silent.example/sse?k=v", "Bearer t0ken");
    struct told t = {0};
    char label[] = "s";

    (void)state;
    (void)call("s", d, &t);
    play(look_at_entry, label);
    play_answer("s", "[]");
    until_output(&t, "");
    told_fini(&t);
}

/* ---- limits */

static void until_none_is_live(void)
{
    while (play_count().n_live > 0)
        (void)sched_yield();
}

static void unused_connection_is_closed(void **state)
{
    struct told t = {0}, called = {0};

    (void)state;
    hfx.conf.remote_idle_ms = 1;
    open_again();
    (void)list("s", (struct declared){.url = ready_url}, &t);
    until_tools(&t, "s", "a");
    until_none_is_live();
    (void)call("s", (struct declared){.url = ready_url}, &called);
    play_settle();
    assert_int_equal(play_count().n_live, 1); /* however long the call takes */
    play_answer("s", "[]");
    until_output(&called, "");
    until_none_is_live();
    told_fini(&t);
    told_fini(&called);
}

/* The call outlasts the time in which the tools should have been listed. */
static void connection_that_never_lists_is_closed_after_its_calls(void **state)
{
    struct told listed = {0}, called = {0};

    (void)state;
    hfx.conf.remote_idle_ms = hfx.conf.remote_timeout_ms = 1;
    open_again();
    (void)call("s", (struct declared){.url = silent_url}, &called);
    (void)list("s", (struct declared){.url = silent_url}, &listed);
    until_failed(&listed, "The MCP server did not list its tools in time.");
    play_answer("s", "[]");
    until_output(&called, "");
    until_none_is_live();
    told_fini(&listed);
    told_fini(&called);
}

static void one_too_many_takes_the_place_of_an_unused_one(void **state)
{
    struct told a = {0}, b = {0};

    (void)state;
    hfx.conf.max_remote = 1;
    open_again();
    (void)list("a", with_token(ready_url, "one"), &a);
    until_tools(&a, "a", "a");
    (void)list("b", with_token(ready_url, "two"), &b);
    until_tools(&b, "b", "a");
    play_settle();
    assert_int_equal(play_count().n_live, 1);
    told_fini(&a);
    told_fini(&b);
}

static void one_too_many_takes_the_place_of_one_whose_clients_have_left(void **state)
{
    struct told a = {0}, b = {0};
    struct mcp_task *task;

    (void)state;
    hfx.conf.max_remote = 1;
    open_again();
    task = list("a", with_token(silent_url, "one"), &a);
    play_settle();
    mcp_task_cancel(task);
    HUB_UNTIL(loop_n_expected(hfx.loop) == 0);
    (void)list("b", with_token(ready_url, "two"), &b);
    until_tools(&b, "b", "a");
    play_settle();
    assert_int_equal(play_count().n_live, 1);
    told_fini(&b);
}

static void one_too_many_fails_while_all_are_in_use(void **state)
{
    struct told called = {0}, listed = {0}, refused = {0};

    (void)state;
    hfx.conf.max_remote = 2;
    open_again();
    (void)call("a", with_token(ready_url, "one"), &called);
    (void)list("b", with_token(silent_url, "two"), &listed);
    (void)list("c", with_token(ready_url, "three"), &refused);
    until_failed(&refused, "The gateway is connected to as many MCP servers as it may be.");
    play_answer("a", "[]");
    until_output(&called, "");
    play_ready("b", TOOL_A);
    until_tools(&listed, "b", "a");
    told_fini(&called);
    told_fini(&listed);
    told_fini(&refused);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, stage_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(hub_without_a_file_starts_with_its_first_task),
        TEST(hub_that_was_never_asked_ends_at_once),
        TEST(file_may_come_later),
        TEST(tools_are_listed_under_the_label_of_each_request),
        TEST(those_who_wait_are_told_together),
        TEST(credentials_have_their_own_connection_and_tools),
        TEST(owners_have_their_own_connection),
        TEST(names_of_fields_differ_in_case_only),
        TEST(fields_are_told_apart_by_where_they_end),
        TEST(public_tools_serve_all_credentials_but_calls_do_not),
        TEST(failure_says_why_and_the_next_request_tries_again),
        TEST(silent_server_is_given_up),
        TEST(failed_listing_is_the_end_of_a_connection),
        TEST(lost_connection_is_opened_again_by_the_next_request),
        TEST(cancelled_listing_is_not_reported),
        TEST(call_opens_a_connection_of_its_own),
        TEST(all_that_the_request_kept_secret_is_removed),
        TEST(connection_is_made_from_what_the_request_says),
        TEST(unused_connection_is_closed),
        TEST(connection_that_never_lists_is_closed_after_its_calls),
        TEST(one_too_many_takes_the_place_of_an_unused_one),
        TEST(one_too_many_takes_the_place_of_one_whose_clients_have_left),
        TEST(one_too_many_fails_while_all_are_in_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
