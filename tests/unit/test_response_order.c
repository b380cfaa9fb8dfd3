/* test_response_order.c -- items that follow one another: what is sent at once, what waits and for
 * how long. That nothing is ever mixed is the business of the random tests. */
#include "lib/test.h"

#include "lib/event_check.h"
#include "lib/legacy_check.h"
#include "lib/round_run.h"
#include "response/response_hosted.h"

static struct tool fetch = {.kind = TOOL_MCP,
                            .name = STR_INIT("fetch"),
                            .upstream_name = STR_INIT("fetch"),
                            .server_label = STR_INIT("docs"),
                            .sent = true};
static struct tool code = {.kind = TOOL_HOSTED,
                           .hosted_kind = HOSTED_CODE_INTERPRETER,
                           .name = STR_INIT("code"),
                           .upstream_name = STR_INIT("code"),
                           .sent = true,
                           .next = &fetch};
static struct tool patch = {.kind = TOOL_CUSTOM,
                            .name = STR_INIT("patch"),
                            .upstream_name = STR_INIT("patch"),
                            .sent = true,
                            .next = &code};
static const struct tool_set tools = {.first = &patch, .last = &fetch, .n = 3, .n_sent = 3};

struct fixture {
    struct test_ids ids;
    struct response response;
    struct buf out;
    size_t n_seen; /* bytes of out that have been looked at */
};

static void begin_as(struct fixture *f, enum response_dialect dialect, bool interleaved)
{
    const struct response_conf conf = {.ids = &f->ids.source,
                                       .tools = &tools,
                                       .echo = str_from_c(round_plain_echo),
                                       .created_at = TEST_CREATED_AT,
                                       .dialect = dialect,
                                       .interleaved_calls = interleaved,
                                       .error_event = true};

    f->out = (struct buf){.limit = 0};
    test_ids_reset(&f->ids);
    response_init(&f->response, &conf);
    response_start(&f->response, &f->out);
    f->n_seen = f->out.len;
}

static void begin(struct fixture *f)
{
    begin_as(f, RESPONSE_DIALECT_OPENAI, false);
}

static void say(struct fixture *f, const struct delta *d)
{
    assert_true(response_delta(&f->response, d, &f->out));
}

static void call(struct fixture *f, unsigned number, const char *name, const char *arguments)
{
    say(f, &(const struct delta){.kind = DELTA_CALL,
                                 .call = number,
                                 .name = str_from_c(name),
                                 .call_id = STR(""),
                                 .text = str_from_c(arguments)});
}

static void text(struct fixture *f, const char *t)
{
    say(f, &(const struct delta){.kind = DELTA_TEXT, .text = str_from_c(t)});
}

static void end_call(struct fixture *f, struct output_item *item, const char *output)
{
    const struct hosted_outcome outcome = {.output = str_from_c(output)};

    assert_true(response_call_ended(&f->response, item, &outcome, &f->out));
}

/* "1.delta" of an event about item 1, and so on, with spaces between them: what has come since the
 * last time. */
static void check_new(struct fixture *f, const char *expected)
{
    json_t *events = event_list(str_skip(buf_str(&f->out), f->n_seen)), *event;
    struct buf got = {.limit = 0};
    size_t i;

    json_array_foreach(events, i, event)
    {
        const char *type = json_string_value(json_object_get(event, "type"));

        buf_c(&got, i == 0 ? "" : " ");
        buf_uint(&got, (uint64_t)json_integer_value(json_object_get(event, "output_index")));
        buf_c(&got, strrchr(type, '.'));
        if (strstr(type, "output_item") != NULL)
            buf_c(&got, "!");
    }
    assert_str_c(buf_str(&got), expected);
    f->n_seen = f->out.len;
    buf_fini(&got);
    json_decref(events);
}

static void end(struct fixture *f)
{
    const char *(*checker)(str) =
        f->response.conf.dialect == RESPONSE_DIALECT_ORS ? legacy_check : event_check;
    const char *what;

    response_finish(&f->response, FINISH_STOP, TEST_NOW, &f->out);
    response_end(&f->response, &f->out);
    what = checker(buf_str(&f->out));
    if (what != NULL)
        fail_msg("%s in\n%.*s", what, STR_ARG(buf_str(&f->out)));
    response_fini(&f->response);
    buf_fini(&f->out);
}

static void end_round(struct fixture *f)
{
    response_end_round(&f->response, FINISH_TOOL_CALLS, &f->out);
}

/* ---- calls of the client */

static void a_call_is_done_as_soon_as_its_arguments_are_complete(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    call(&f, 0, "a", "{\\\"x\\\":");
    check_new(&f, "0.added! 0.delta");
    call(&f, 1, "b", "{\\\"y\\\":");
    call(&f, 1, "b", "{}");
    check_new(&f, "");
    call(&f, 0, "a", "{}");
    check_new(&f, "0.delta");
    call(&f, 0, "a", "}");
    check_new(&f, "0.delta 0.done 0.done! 1.added! 1.delta");
    call(&f, 1, "b", "}");
    check_new(&f, "1.delta");
    end_round(&f);
    check_new(&f, "1.done 1.done!");
    end(&f);
}

/* Servers send "" first and mean it, or send the arguments later: only the end of the round tells. */
static void a_call_without_arguments_holds_up_what_follows(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    call(&f, 0, "a", "");
    check_new(&f, "");
    call(&f, 1, "b", "{}");
    check_new(&f, "0.added!");
    call(&f, 2, "c", "{");
    check_new(&f, "");
    end_round(&f);
    check_new(&f, "0.delta 0.done 0.done! 1.added! 1.delta 1.done 1.done! "
                  "2.added! 2.delta 2.done 2.done!");
    end(&f);
}

static void what_waits_is_closed_in_silence(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    call(&f, 0, "a", "{");
    check_new(&f, "0.added! 0.delta");
    call(&f, 1, "patch", "{\\\"input\\\":\\\"x");
    text(&f, "one");
    text(&f, " two");
    call(&f, 1, "patch", "y\\\"}");
    call(&f, 2, "b", "{}");
    say(&f, &(const struct delta){.kind = DELTA_REFUSAL, .text = STR("no")});
    check_new(&f, "");
    call(&f, 0, "a", "}");
    check_new(&f, "0.delta 0.done 0.done! 1.added! 1.delta 1.done 1.done! "
                  "2.added! 2.added 2.delta 2.done 2.done 2.done! "
                  "3.added! 3.delta 3.done 3.done! 4.added! 4.added 4.delta");
    end_round(&f);
    end(&f);
}

static void interleaved_calls_are_sent_as_they_come(void **state)
{
    struct fixture f;

    (void)state;
    begin_as(&f, RESPONSE_DIALECT_OPENAI, true);
    call(&f, 0, "a", "{");
    call(&f, 1, "b", "{");
    call(&f, 0, "a", "}");
    call(&f, 1, "b", "}");
    check_new(&f, "0.added! 0.delta 1.added! 1.delta 0.delta 1.delta");
    end_round(&f);
    check_new(&f, "0.done 0.done! 1.done 1.done!");
    response_fini(&f.response);
    buf_fini(&f.out);
}

/* ---- calls of the gateway */

static void a_hosted_call_is_open_until_it_has_been_run(void **state)
{
    struct output_item *first, *second;
    struct fixture f;

    (void)state;
    begin(&f);
    call(&f, 0, "fetch", "{}");
    call(&f, 1, "code", "{\\\"code\\\":\\\"1\\\"}");
    call(&f, 2, "a", "{}");
    text(&f, "one");
    check_new(&f, "0.added! 0.in_progress 0.delta 0.done");
    end_round(&f);
    check_new(&f, "");
    first = response_next_call(&f.response, NULL);
    second = response_next_call(&f.response, first);
    assert_null(response_next_call(&f.response, second));
    end_call(&f, second, "ran");
    check_new(&f, "");
    end_call(&f, first, "found");
    check_new(&f, "0.completed 0.done! "
                  "1.added! 1.in_progress 1.delta 1.done 1.interpreting 1.completed 1.done! "
                  "2.added! 2.delta 2.done 2.done! 3.added! 3.added 3.delta 3.done 3.done 3.done!");
    end(&f);
}

static void what_runs_is_said_to_run_when_its_turn_comes(void **state)
{
    struct output_item *first;
    struct fixture f;

    (void)state;
    begin(&f);
    call(&f, 0, "fetch", "{}");
    call(&f, 1, "code", "{\\\"code\\\":\\\"1\\\"}");
    end_round(&f);
    check_new(&f, "0.added! 0.in_progress 0.delta 0.done");
    first = response_next_call(&f.response, NULL);
    end_call(&f, first, "found");
    check_new(&f, "0.completed 0.done! 1.added! 1.in_progress 1.delta 1.done 1.interpreting");
    end_call(&f, response_next_call(&f.response, NULL), "ran");
    check_new(&f, "1.completed 1.done!");
    end(&f);
}

static void approved_calls_run_side_by_side_and_are_shown_in_order(void **state)
{
    struct output_item *first, *second;
    struct fixture f;

    (void)state;
    begin(&f);
    first = response_approved_call(&f.response, &fetch, STR("{}"), STR("mcpr_1"), &f.out);
    second = response_approved_call(&f.response, &fetch, STR("{}"), STR("mcpr_2"), &f.out);
    check_new(&f, "0.added! 0.in_progress");
    end_call(&f, second, "b");
    check_new(&f, "");
    end_call(&f, first, "a");
    check_new(&f, "0.completed 0.done! 1.added! 1.in_progress 1.completed 1.done!");
    text(&f, "So.");
    end_round(&f);
    end(&f);
}

static void listings_are_shown_in_order(void **state)
{
    struct output_item *first, *second;
    struct fixture f;

    (void)state;
    begin(&f);
    first = response_begin_listing(&f.response, STR("a"), &f.out);
    second = response_begin_listing(&f.response, STR("b"), &f.out);
    check_new(&f, "0.added! 0.in_progress");
    assert_true(response_end_listing(&f.response, second, STR(""), &f.out));
    assert_true(response_end_listing(&f.response, first, STR(""), &f.out));
    check_new(&f, "0.completed 0.done! 1.added! 1.in_progress 1.completed 1.done!");
    text(&f, "So.");
    end_round(&f);
    end(&f);
}

static void a_failure_shows_all_that_waited(void **state)
{
    struct fixture f;
    struct err e;

    (void)state;
    begin(&f);
    call(&f, 0, "fetch", "{}");
    call(&f, 1, "a", "{");
    text(&f, "one");
    check_new(&f, "0.added! 0.in_progress 0.delta 0.done");
    err_set(&e, ERR_UPSTREAM_ERROR, "gone");
    response_fail(&f.response, &e, &f.out);
    check_new(&f, "0.done! 1.added! 1.delta 1.done 1.done! "
                  "2.added! 2.added 2.delta 2.done 2.done 2.done!");
    response_end(&f.response, &f.out);
    assert_null(event_check(buf_str(&f.out)));
    response_fini(&f.response);
    buf_fini(&f.out);
}

/* ---- the other dialect */

/* A call is in the snapshot that announces it, empty, and none that waits is. */
static void the_legacy_dialect_shows_one_call_after_the_other(void **state)
{
    static const char two[] = "\"arguments\":\"\",\"call_id\":\"two\"";
    struct fixture f;
    size_t at;

    (void)state;
    begin_as(&f, RESPONSE_DIALECT_ORS, false);
    for (unsigned i = 0; i < 2; i++)
        say(&f, &(const struct delta){.kind = DELTA_CALL,
                                      .call = i,
                                      .name = STR("f"),
                                      .call_id = i == 0 ? STR("one") : STR("two"),
                                      .text = STR("{")});
    assert_int_equal(str_find(buf_str(&f.out), STR("\"two\"")), f.out.len);
    f.n_seen = f.out.len;
    call(&f, 0, "f", "}");
    at = str_find(buf_str(&f.out), str_from_c(two));
    assert_in_range(at, f.n_seen, f.out.len - 1);
    end_round(&f);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_done_as_soon_as_its_arguments_are_complete),
        cmocka_unit_test(a_call_without_arguments_holds_up_what_follows),
        cmocka_unit_test(what_waits_is_closed_in_silence),
        cmocka_unit_test(interleaved_calls_are_sent_as_they_come),
        cmocka_unit_test(a_hosted_call_is_open_until_it_has_been_run),
        cmocka_unit_test(what_runs_is_said_to_run_when_its_turn_comes),
        cmocka_unit_test(approved_calls_run_side_by_side_and_are_shown_in_order),
        cmocka_unit_test(listings_are_shown_in_order),
        cmocka_unit_test(a_failure_shows_all_that_waited),
        cmocka_unit_test(the_legacy_dialect_shows_one_call_after_the_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
