/* test_response_hosted.c -- tools that the gateway runs, between the rounds of a response: what
 * is open, what the model is told, when the loop ends. The ordinary ways are those of the
 * scenarios. */
#include "lib/test.h"

#include "lib/event_check.h"
#include "lib/round_run.h"
#include "response/response_hosted.h"

static struct tool ask = {.kind = TOOL_MCP,
                          .name = STR_INIT("erase"),
                          .upstream_name = STR_INIT("docs__erase"),
                          .server_label = STR_INIT("docs"),
                          .needs_approval = true,
                          .sent = true};
static struct tool search = {.kind = TOOL_MCP,
                             .name = STR_INIT("search"),
                             .upstream_name = STR_INIT("docs__search"),
                             .server_label = STR_INIT("docs"),
                             .sent = true,
                             .next = &ask};
static const struct tool_set tools = {.first = &search, .last = &ask, .n = 2, .n_sent = 2};

struct fixture {
    struct test_ids ids;
    struct response response;
    struct buf out;
    struct arena arena;
};

static void begin(struct fixture *f, int64_t max_tool_calls)
{
    const struct response_conf conf = {.ids = &f->ids.source,
                                       .tools = &tools,
                                       .echo = str_from_c(round_plain_echo),
                                       .created_at = TEST_CREATED_AT,
                                       .error_event = true,
                                       .max_tool_calls = max_tool_calls};

    f->out = (struct buf){.limit = 0};
    f->arena = (struct arena){.used = 0};
    test_ids_reset(&f->ids);
    response_init(&f->response, &conf);
    response_start(&f->response, &f->out);
}

static void say(struct fixture *f, enum delta_kind kind, const char *text)
{
    const struct delta d = {.kind = kind, .text = str_from_c(text)};

    assert_true(response_delta(&f->response, &d, &f->out));
}

static void call(struct fixture *f, unsigned number, const char *name, const char *arguments)
{
    const struct delta d = {.kind = DELTA_CALL,
                            .call = number,
                            .name = str_from_c(name),
                            .call_id = STR(""),
                            .text = str_from_c(arguments)};

    assert_true(response_delta(&f->response, &d, &f->out));
}

static void end_round(struct fixture *f)
{
    response_end_round(&f->response, FINISH_TOOL_CALLS, &f->out);
}

static void end_call(struct fixture *f, struct output_item *item, const char *output)
{
    const struct hosted_outcome outcome = {.output = str_from_c(output)};

    assert_non_null(item);
    assert_true(response_call_ended(&f->response, item, &outcome, &f->out));
}

static void end_all_calls(struct fixture *f)
{
    struct output_item *item;

    while ((item = response_next_call(&f->response, NULL)) != NULL)
        end_call(f, item, "found");
}

static void finish(struct fixture *f, enum finish how)
{
    response_finish(&f->response, how, TEST_NOW, &f->out);
}

/* What the client has got is faultless; its response: a new reference. */
static json_t *end(struct fixture *f)
{
    const char *what;
    json_t *response;
    str raw;

    response_end(&f->response, &f->out);
    what = event_check(buf_str(&f->out));
    if (what != NULL)
        fail_msg("%s in\n%.*s", what, STR_ARG(buf_str(&f->out)));
    raw = event_response(buf_str(&f->out));
    response = json_loadb(raw.p, raw.len, 0, NULL);
    assert_non_null(response);
    response_fini(&f->response);
    buf_fini(&f->out);
    arena_fini(&f->arena);
    return response;
}

static const char *member_of(json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));

    return text == NULL ? "" : text;
}

/* "type status" of its items, with spaces between them. */
static void check_end(struct fixture *f, const char *status, const char *items)
{
    json_t *response = end(f), *item;
    struct buf got = {.limit = 0};
    size_t i;

    assert_string_equal(member_of(response, "status"), status);
    json_array_foreach(json_object_get(response, "output"), i, item)
    {
        buf_c(&got, i == 0 ? "" : " ");
        buf_c(&got, member_of(item, "type"));
        buf_c(&got, json_object_get(item, "status") == NULL ? "" : " ");
        buf_c(&got, member_of(item, "status"));
    }
    assert_str_c(buf_str(&got), items);
    buf_fini(&got);
    json_decref(response);
}

/* ---- open calls */

static void calls_are_open_in_the_order_in_which_they_were_made(void **state)
{
    struct output_item *first, *second;
    struct fixture f;

    (void)state;
    begin(&f, 0);
    call(&f, 0, "docs__search", "{\\\"q\\\":1}");
    call(&f, 1, "docs__search", "{\\\"q\\\":2}");
    end_round(&f);
    first = response_next_call(&f.response, NULL);
    second = response_next_call(&f.response, first);
    assert_str_c(buf_str(&first->text), "{\\\"q\\\":1}");
    assert_str_c(buf_str(&second->text), "{\\\"q\\\":2}");
    assert_ptr_equal(first->tool, &search);
    assert_null(response_next_call(&f.response, second));
    end_call(&f, second, "b");
    assert_ptr_equal(response_next_call(&f.response, NULL), first);
    end_call(&f, first, "a");
    assert_null(response_next_call(&f.response, NULL));
    finish(&f, FINISH_STOP);
    check_end(&f, "completed", "mcp_call completed mcp_call completed");
}

static void arguments_that_come_after_a_call_was_closed_are_dropped(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 0);
    call(&f, 0, "docs__search", "{}");
    say(&f, DELTA_TEXT, "closes it");
    call(&f, 0, "docs__search", "more");
    end_round(&f);
    assert_str_c(buf_str(&response_next_call(&f.response, NULL)->text), "{}");
    end_all_calls(&f);
    finish(&f, FINISH_STOP);
    check_end(&f, "completed", "mcp_call completed message completed");
}

static void a_call_without_arguments_gets_an_empty_object(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 0);
    call(&f, 0, "docs__search", "");
    call(&f, 1, "docs__erase", "");
    end_round(&f);
    assert_str_c(buf_str(&response_next_call(&f.response, NULL)->text), "{}");
    assert_str_c(buf_str(&f.response.first->next->text), "{}");
    end_all_calls(&f);
    finish(&f, FINISH_STOP);
    check_end(&f, "completed", "mcp_call completed mcp_approval_request");
}

static void a_response_that_fails_while_calls_run_closes_them(void **state)
{
    struct fixture f;
    struct err e;

    (void)state;
    begin(&f, 0);
    call(&f, 0, "docs__search", "{}");
    call(&f, 1, "docs__search", "{}");
    end_round(&f);
    end_call(&f, response_next_call(&f.response, NULL), "a");
    err_set(&e, ERR_UPSTREAM_ERROR, "gone");
    response_fail(&f.response, &e, &f.out);
    check_end(&f, "failed", "mcp_call completed mcp_call incomplete");
}

static void a_response_that_fails_while_the_model_calls_closes_the_calls(void **state)
{
    struct fixture f;
    struct err e;

    (void)state;
    begin(&f, 0);
    call(&f, 0, "docs__search", "{}");
    call(&f, 1, "docs__search", "{\\\"q");
    err_set(&e, ERR_UPSTREAM_ERROR, "gone");
    response_fail(&f.response, &e, &f.out);
    check_end(&f, "failed", "mcp_call incomplete mcp_call incomplete");
}

static void a_response_that_fails_while_a_server_is_listed_closes_the_listing(void **state)
{
    json_t *response, *item;
    struct fixture f;
    struct err e;

    (void)state;
    begin(&f, 0);
    assert_non_null(response_begin_listing(&f.response, STR("docs"), &f.out));
    err_set(&e, ERR_UPSTREAM_ERROR, "a \"timeout\"");
    response_fail(&f.response, &e, &f.out);
    response = end(&f);
    item = json_array_get(json_object_get(response, "output"), 0);
    assert_string_equal(member_of(item, "error"), "a \"timeout\"");
    json_decref(response);
}

/* Wherever the limit is met, the client sees a faultless end. */
static void outcomes_past_the_limit_fail_the_response(void **state)
{
    static const char body[] =
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":"
        "\"docs__search\",\"arguments\":\"{}\"}},{\"index\":1,\"function\":{\"name\":"
        "\"docs__search\",\"arguments\":\"{}\"}}]}}]}\n\ndata: [DONE]\n\n";
    const struct hosted_script script = {
        .tools = STR_NONE,
        .before = STR("{\"list\":\"docs\",\"tools\":[{\"name\":\"search\",\"input_schema\":{}}]}\n"
                      "{\"approved\":\"docs__search\",\"arguments\":\"{}\","
                      "\"approval_request_id\":\"mcpr_1\",\"output\":\"long enough\"}"),
        .rounds = {{.outcomes = STR_NONE}, {.upstream = STR("data: [DONE]\n\n")}},
        .n_rounds = 2};
    size_t failed = 0, completed = 0;

    (void)state;
    for (size_t limit = 1; limit < 6000; limit++) {
        const struct round_conf conf = {
            .tools = &tools, .script = &script, .max_output_bytes = limit};
        struct round_result r;
        json_t *response;
        const char *what;

        round_run(&conf, str_from_c(body), UNCUT, true, &r);
        what = event_check(buf_str(&r.events));
        if (what != NULL)
            fail_msg("limit %zu: %s in\n%.*s", limit, what, STR_ARG(buf_str(&r.events)));
        response = round_response(&r);
        failed += strcmp(member_of(response, "status"), "failed") == 0;
        completed += strcmp(member_of(response, "status"), "completed") == 0;
        json_decref(response);
        round_result_fini(&r);
    }
    assert_true(failed > 100 && completed > 100);
}

/* ---- when the loop ends */

static void the_loop_goes_on_after_calls_of_the_gateway_only(void **state)
{
    static const struct {
        const char *names[3];
        enum finish finish;
        bool goes_on;
    } cases[] = {
        {{"docs__search"}, FINISH_TOOL_CALLS, true},
        {{"docs__search", "docs__search"}, FINISH_STOP, true},
        {{"docs__search", "made_up"}, FINISH_TOOL_CALLS, false},
        {{"made_up"}, FINISH_TOOL_CALLS, false},
        {{"docs__erase"}, FINISH_TOOL_CALLS, false},
        {{"docs__erase", "docs__search"}, FINISH_TOOL_CALLS, false},
        {{NULL}, FINISH_STOP, false},
        {{"docs__search"}, FINISH_LENGTH, false},
        {{"docs__search"}, FINISH_CONTENT_FILTER, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f;

        begin(&f, 0);
        for (unsigned n = 0; cases[i].names[n] != NULL; n++)
            call(&f, n, cases[i].names[n], "{}");
        response_end_round(&f.response, cases[i].finish, &f.out);
        if (cases[i].finish == FINISH_LENGTH)
            assert_null(response_next_call(&f.response, NULL));
        end_all_calls(&f);
        assert_int_equal(response_goes_on(&f.response), cases[i].goes_on);
        finish(&f, cases[i].finish);
        json_decref(end(&f));
    }
}

static void a_last_round_without_words_gets_an_empty_message(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 0);
    call(&f, 0, "docs__search", "{}");
    end_round(&f);
    end_all_calls(&f);
    say(&f, DELTA_REASONING, "hm");
    end_round(&f);
    finish(&f, FINISH_STOP);
    check_end(&f, "completed", "mcp_call completed reasoning completed message completed");
}

/* A listing and what the client had approved are not what the model has said. */
static void a_first_round_without_words_gets_an_empty_message(void **state)
{
    struct output_item *item;
    struct fixture f;

    (void)state;
    begin(&f, 0);
    item = response_begin_listing(&f.response, STR("docs"), &f.out);
    assert_true(response_end_listing(&f.response, item, STR(""), &f.out));
    item = response_approved_call(&f.response, &search, STR("{}"), STR("mcpr_1"), &f.out);
    assert_ptr_equal(response_next_call(&f.response, NULL), item);
    end_call(&f, item, "");
    end_round(&f);
    assert_false(response_goes_on(&f.response));
    finish(&f, FINISH_STOP);
    check_end(&f, "completed", "mcp_list_tools mcp_call completed message completed");
}

static void without_tokens_for_another_round_the_response_is_incomplete(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 0);
    call(&f, 0, "docs__search", "{}");
    end_round(&f);
    end_all_calls(&f);
    assert_true(response_goes_on(&f.response));
    finish(&f, FINISH_LENGTH);
    check_end(&f, "incomplete", "mcp_call completed");
}

/* ---- limits */

static void calls_past_the_limit_are_hidden_and_the_model_is_told(void **state)
{
    static const struct input_options options = {.text_files = false};
    struct item_list items = {.n = 0};
    struct fixture f;
    struct err e;

    (void)state;
    begin(&f, 1);
    call(&f, 0, "docs__search", "{}");
    assert_true(response_has_used_up(&f.response));
    call(&f, 1, "docs__search", "{\\\"q\\\":");
    say(&f, DELTA_TEXT, "and a word");
    call(&f, 1, "docs__search", "2}");
    end_round(&f);
    end_call(&f, response_next_call(&f.response, NULL), "found");
    assert_null(response_next_call(&f.response, NULL));
    assert_true(response_goes_on(&f.response));
    assert_int_equal(response_replay(&f.response, &options, &items, &f.arena, &e), 0);
    assert_int_equal(items.n, 4); /* a boundary and three */
    assert_str_c(items.first->next->next->arguments, "{\\\"q\\\":2}");
    assert_str_c(items.first->next->next->content.first->text, "Tool call limit reached.");
    finish(&f, FINISH_STOP);
    check_end(&f, "completed", "mcp_call completed message completed");
}

static void calls_of_the_last_round_are_dropped(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 0);
    call(&f, 0, "docs__search", "{}");
    end_round(&f);
    end_all_calls(&f);
    response_begin_last_round(&f.response);
    say(&f, DELTA_TEXT, "so far");
    call(&f, 0, "docs__search", "{}");
    call(&f, 1, "made_up", "{}");
    end_round(&f);
    assert_false(response_goes_on(&f.response));
    finish(&f, FINISH_STOP);
    check_end(&f, "completed", "mcp_call completed message completed");
}

static void a_last_round_of_calls_and_reasoning_is_incomplete(void **state)
{
    json_t *response;
    struct fixture f;

    (void)state;
    begin(&f, 0);
    call(&f, 0, "docs__search", "{}");
    end_round(&f);
    end_all_calls(&f);
    response_begin_last_round(&f.response);
    say(&f, DELTA_REASONING, "once more");
    call(&f, 0, "docs__search", "{}");
    end_round(&f);
    finish(&f, FINISH_TOOL_CALLS);
    response = end(&f);
    assert_string_equal(member_of(json_object_get(response, "incomplete_details"), "reason"),
                        "max_tool_calls");
    assert_int_equal(json_array_size(json_object_get(response, "output")), 2);
    json_decref(response);
}

/* ---- what the model is told */

static void a_round_is_replayed_as_the_items_it_would_be_in_a_request(void **state)
{
    static const struct input_options options = {.text_files = false};
    struct hosted_outcome failure = {.is_failed = true, .error = STR("\"no such page\"")};
    struct item_list items = {.n = 0};
    const struct item *it;
    struct output_item *first;
    struct fixture f;
    struct err e;

    (void)state;
    begin(&f, 0);
    first = response_begin_listing(&f.response, STR("docs"), &f.out);
    assert_true(response_end_listing(&f.response, first, STR(""), &f.out));
    say(&f, DELTA_REASONING, "why");
    call(&f, 0, "docs__search", "{\\\"q\\\":1}");
    call(&f, 1, "docs__search", "{}");
    end_round(&f);
    first = response_next_call(&f.response, NULL);
    assert_true(
        response_call_ended(&f.response, response_next_call(&f.response, first), &failure, &f.out));
    end_call(&f, first, "a \\\"page\\\"");
    assert_int_equal(response_replay(&f.response, &options, &items, &f.arena, &e), 0);

    it = items.first;
    assert_true(it->kind == ITEM_REASONING && it->content.first == NULL);
    it = it->next;
    assert_true(it->kind == ITEM_REASONING);
    assert_str_c(it->content.first->text, "why");
    it = it->next;
    assert_true(it->kind == ITEM_HOSTED_CALL && it->has_output);
    assert_str_c(it->name, "docs__search");
    assert_str_eq(it->call_id, id_str(&first->id));
    assert_str_c(it->arguments, "{\\\"q\\\":1}");
    assert_str_c(it->content.first->text, "a \\\"page\\\"");
    it = it->next;
    assert_true(it->kind == ITEM_HOSTED_CALL && it->has_output);
    assert_str_c(it->content.first->text, "Error: no such page");
    assert_null(it->next);

    call(&f, 0, "docs__search", "{}");
    end_round(&f);
    end_all_calls(&f);
    items = (struct item_list){.n = 0};
    assert_int_equal(response_replay(&f.response, &options, &items, &f.arena, &e), 0);
    assert_int_equal(items.n, 2); /* what was replayed is not replayed again */
    finish(&f, FINISH_STOP);
    json_decref(end(&f));
}

/* The next round gets what the round after a stored response gets. */
static void a_summary_is_replayed_as_the_reasoning_that_it_is(void **state)
{
    static const struct input_options options = {.reasoning_from_summary = false};
    struct item_list items = {.n = 0};
    const struct item *it;
    struct fixture f;
    struct err e;

    (void)state;
    begin(&f, 0);
    f.response.conf.reasoning = REASONING_SUMMARY;
    say(&f, DELTA_REASONING, "why");
    call(&f, 0, "docs__search", "{}");
    end_round(&f);
    end_all_calls(&f);
    assert_int_equal(response_replay(&f.response, &options, &items, &f.arena, &e), 0);
    it = items.first->next;
    assert_true(it->kind == ITEM_REASONING);
    assert_non_null(it->content.first);
    assert_str_c(it->content.first->text, "why");
    finish(&f, FINISH_STOP);
    json_decref(end(&f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_open_in_the_order_in_which_they_were_made),
        cmocka_unit_test(arguments_that_come_after_a_call_was_closed_are_dropped),
        cmocka_unit_test(a_call_without_arguments_gets_an_empty_object),
        cmocka_unit_test(a_response_that_fails_while_calls_run_closes_them),
        cmocka_unit_test(a_response_that_fails_while_the_model_calls_closes_the_calls),
        cmocka_unit_test(a_response_that_fails_while_a_server_is_listed_closes_the_listing),
        cmocka_unit_test(outcomes_past_the_limit_fail_the_response),
        cmocka_unit_test(the_loop_goes_on_after_calls_of_the_gateway_only),
        cmocka_unit_test(a_last_round_without_words_gets_an_empty_message),
        cmocka_unit_test(a_first_round_without_words_gets_an_empty_message),
        cmocka_unit_test(without_tokens_for_another_round_the_response_is_incomplete),
        cmocka_unit_test(calls_past_the_limit_are_hidden_and_the_model_is_told),
        cmocka_unit_test(calls_of_the_last_round_are_dropped),
        cmocka_unit_test(a_last_round_of_calls_and_reasoning_is_incomplete),
        cmocka_unit_test(a_round_is_replayed_as_the_items_it_would_be_in_a_request),
        cmocka_unit_test(a_summary_is_replayed_as_the_reasoning_that_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
