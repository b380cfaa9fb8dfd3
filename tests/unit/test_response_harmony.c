/* test_response_harmony.c -- what only models have that say where a message ends, give it a phase
 * and call tools of their own; and reasoning as encrypted_content and with the names of Open
 * Responses. The ordinary ways are those of test_harmony_events.c. */
#include "lib/test.h"

#include <jansson.h>

#include "lib/delta_run.h"
#include "lib/event_check.h"
#include "lib/round_run.h"
#include "response/response_hosted.h"

struct fixture {
    struct test_ids ids;
    struct response response;
    struct buf out;
    struct arena arena;
};

/* conf lacks what is always the same. */
static void begin_with(struct fixture *f, struct response_conf conf)
{
    *f = (struct fixture){.out = {.limit = 0}};
    test_ids_reset(&f->ids);
    conf.ids = &f->ids.source;
    conf.echo = str_from_c(round_plain_echo);
    conf.created_at = TEST_CREATED_AT;
    response_init(&f->response, &conf);
    response_start(&f->response, &f->out);
}

static void begin(struct fixture *f)
{
    begin_with(f, (struct response_conf){.reasoning = REASONING_TEXT});
}

static void take(struct fixture *f, const struct delta d)
{
    assert_true(response_delta(&f->response, &d, &f->out));
}

static void say(struct fixture *f, enum phase phase, const char *text)
{
    take(f, (struct delta){.kind = DELTA_TEXT, .phase = phase, .text = str_from_c(text)});
}

static void think(struct fixture *f, const char *text)
{
    take(f, (struct delta){.kind = DELTA_REASONING, .text = str_from_c(text)});
}

static void call(struct fixture *f, unsigned number, const char *name, const char *arguments)
{
    take(f, (struct delta){.kind = DELTA_CALL,
                           .call = number,
                           .name = str_from_c(name),
                           .text = str_from_c(arguments)});
}

static void call_builtin(struct fixture *f, unsigned number, enum builtin_tool builtin,
                         const char *text)
{
    take(f, (struct delta){
                .kind = DELTA_CALL, .call = number, .builtin = builtin, .text = str_from_c(text)});
}

static void call_unknown(struct fixture *f, unsigned number, const char *label, const char *name)
{
    take(f, (struct delta){.kind = DELTA_CALL,
                           .call = number,
                           .name = str_from_c(name),
                           .server_label = str_from_c(label),
                           .text = STR("{}")});
}

static void end_item(struct fixture *f)
{
    take(f, (struct delta){.kind = DELTA_ITEM_END});
}

static void end_round(struct fixture *f, enum finish finish)
{
    response_end_round(&f->response, finish, &f->out);
}

static struct output_item *next_call(struct fixture *f)
{
    struct output_item *item = response_next_call(&f->response, NULL);

    assert_non_null(item);
    return item;
}

static void end_call(struct fixture *f, struct hosted_outcome outcome)
{
    assert_true(response_call_ended(&f->response, next_call(f), &outcome, &f->out));
}

/* The output of the response, after a faultless stream: a new reference. */
static json_t *output_of(struct fixture *f, enum finish finish)
{
    json_t *response, *output;
    const char *what;
    str raw;

    response_finish(&f->response, finish, TEST_NOW, &f->out);
    response_end(&f->response, &f->out);
    what = event_check(buf_str(&f->out));
    if (what != NULL)
        fail_msg("%s in\n%.*s", what, STR_ARG(buf_str(&f->out)));
    raw = event_response(buf_str(&f->out));
    response = json_loadb(raw.p, raw.len, 0, NULL);
    output = json_incref(json_object_get(response, "output"));
    json_decref(response);
    response_fini(&f->response);
    buf_fini(&f->out);
    arena_fini(&f->arena);
    return output;
}

/* These members, in this order, of each item; "-" where there is none. */
static void check_output(struct fixture *f, enum finish finish, const char *a, const char *b,
                         const char *expected)
{
    json_t *output = output_of(f, finish), *item;
    struct buf got = {.limit = 0};
    size_t i;

    json_array_foreach(output, i, item)
    {
        const char *first = json_string_value(json_object_get(item, a));
        const char *second = json_string_value(json_object_get(item, b));

        buf_c(&got, i == 0 ? "" : ", ");
        buf_c(&got, first == NULL ? "-" : first);
        buf_c(&got, " ");
        buf_c(&got, second == NULL ? "-" : second);
    }
    assert_str_c(buf_str(&got), expected);
    buf_fini(&got);
    json_decref(output);
}

static size_t count(const struct buf *in, const char *what)
{
    str rest = buf_str(in);
    size_t n = 0, at;

    while ((at = str_find(rest, str_from_c(what))) < rest.len) {
        rest = str_skip(rest, at + 1);
        n++;
    }
    return n;
}

/* ---- phases and ends */

static void another_phase_begins_another_message(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    say(&f, PHASE_COMMENTARY, "a");
    say(&f, PHASE_COMMENTARY, "b");
    say(&f, PHASE_FINAL_ANSWER, "c");
    say(&f, PHASE_NONE, "d");
    end_round(&f, FINISH_STOP);
    check_output(&f, FINISH_STOP, "type", "phase",
                 "message commentary, message final_answer, message -");
}

static void a_final_message_may_be_empty(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    think(&f, "Nothing to say.");
    end_item(&f);
    say(&f, PHASE_FINAL_ANSWER, "");
    end_item(&f);
    end_round(&f, FINISH_STOP);
    assert_int_equal(count(&f.out, "event: response.output_text.delta"), 0);
    assert_int_equal(count(&f.out, "event: response.output_text.done"), 1);
    check_output(&f, FINISH_STOP, "type", "phase", "reasoning -, message final_answer");
}

static void an_end_without_an_item_means_nothing(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    end_item(&f);
    say(&f, PHASE_NONE, "a");
    end_item(&f);
    end_item(&f);
    call(&f, 0, "f", "{}");
    end_round(&f, FINISH_STOP);
    end_item(&f);
    check_output(&f, FINISH_STOP, "type", "status", "message completed, function_call completed");
}

static void the_end_of_hidden_reasoning_ends_no_message(void **state)
{
    struct fixture f;

    (void)state;
    begin_with(&f, (struct response_conf){.reasoning = REASONING_NONE});
    say(&f, PHASE_NONE, "a");
    think(&f, "b");
    end_item(&f);
    say(&f, PHASE_NONE, "c");
    think(&f, "d");
    end_round(&f, FINISH_STOP);
    assert_int_equal(f.response.n_items, 1);
    assert_ptr_equal(f.response.first->next->next->next, NULL); /* two thoughts were two items */
    json_decref(output_of(&f, FINISH_STOP));
}

/* ---- arguments */

static void arguments_of_white_space_become_an_empty_object(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    call(&f, 0, "f", " ");
    call(&f, 0, "f", "\\n\\t");
    end_item(&f);
    call(&f, 1, "f", " \\n");
    call(&f, 1, "f", "{ }\\n");
    end_item(&f);
    call(&f, 2, "f", " ");
    end_round(&f, FINISH_LENGTH);
    check_output(&f, FINISH_LENGTH, "arguments", "status",
                 "{} completed,  \n{ }\n completed,  incomplete");
}

static void arguments_of_a_search_that_were_cut_give_no_item(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    think(&f, "t");
    end_item(&f);
    call_builtin(&f, 0, BUILTIN_BROWSER_SEARCH, "{\\\"query\\\":\\\"ha");
    end_round(&f, FINISH_LENGTH);
    check_output(&f, FINISH_LENGTH, "type", "status", "reasoning completed");
}

static void pages_are_named_by_url_or_by_cursor(void **state)
{
    static const struct {
        enum builtin_tool tool;
        const char *arguments, *action;
    } cases[] = {
        {BUILTIN_BROWSER_OPEN, "{\\\"id\\\":\\\"https://example.com/a\\\",\\\"cursor\\\":1}",
         "{\"type\":\"open_page\",\"url\":\"https://example.com/a\"}"},
        {BUILTIN_BROWSER_OPEN, "{\\\"id\\\":7,\\\"cursor\\\":3}",
         "{\"type\":\"open_page\",\"url\":\"cursor:3\"}"},
        {BUILTIN_BROWSER_OPEN, "{}", "{\"type\":\"open_page\",\"url\":\"cursor:-1\"}"},
        {BUILTIN_BROWSER_OPEN, "[]", "{\"type\":\"open_page\",\"url\":\"\"}"},
        {BUILTIN_BROWSER_FIND, "{\\\"pattern\\\":\\\"\\\\u00e4\\\"}",
         "{\"type\":\"find_in_page\",\"pattern\":\"\\u00e4\",\"url\":\"cursor:-1\"}"},
        {BUILTIN_BROWSER_FIND, "", "{\"type\":\"find_in_page\",\"pattern\":\"\",\"url\":\"\"}"},
        {BUILTIN_BROWSER_SEARCH, "{\\\"query\\\":1}", "{\"type\":\"search\",\"query\":\"\"}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f;

        begin(&f);
        call_builtin(&f, 0, cases[i].tool, cases[i].arguments);
        end_item(&f);
        assert_str_c(buf_str(&f.response.first->text), cases[i].action);
        response_fini(&f.response);
        buf_fini(&f.out);
    }
}

/* ---- calls that the gateway runs */

static void code_is_interpreted_when_the_round_has_ended(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    call_builtin(&f, 0, BUILTIN_PYTHON, "1/0");
    end_item(&f);
    say(&f, PHASE_COMMENTARY, "Running it.");
    assert_int_equal(count(&f.out, "event: response.code_interpreter_call.interpreting"), 0);
    end_round(&f, FINISH_STOP);
    assert_int_equal(count(&f.out, "event: response.code_interpreter_call.interpreting"), 1);
    assert_str_c(buf_str(&next_call(&f)->text), "1/0");
    end_call(&f, (struct hosted_outcome){.is_failed = true, .output = STR("timeout")});
    assert_true(response_goes_on(&f.response));
    check_output(&f, FINISH_STOP, "type", "status",
                 "code_interpreter_call failed, message completed");
}

static void calls_of_a_round_that_was_cut_are_not_run(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    call_builtin(&f, 0, BUILTIN_PYTHON, "print(1)");
    end_item(&f);
    call_builtin(&f, 1, BUILTIN_BROWSER_OPEN, "{}");
    end_item(&f);
    call_builtin(&f, 2, BUILTIN_PYTHON, "print(");
    end_round(&f, FINISH_LENGTH);
    assert_null(response_next_call(&f.response, NULL));
    assert_int_equal(count(&f.out, "event: response.code_interpreter_call.interpreting"), 0);
    check_output(&f, FINISH_LENGTH, "code", "status",
                 "print(1) incomplete, - failed, print( incomplete");
}

static void a_search_shows_what_was_found(void **state)
{
    static const char found[] =
        "{\"type\":\"search\",\"query\":\"q\",\"sources\":[{\"type\":\"url\",\"url\":\"u\"}]}";
    json_t *output, *expected = json_loads(found, 0, NULL);
    struct fixture f;

    (void)state;
    begin(&f);
    call_builtin(&f, 0, BUILTIN_BROWSER_SEARCH, "{\\\"query\\\":\\\"q\\\",\\\"topn\\\":3}");
    end_item(&f);
    end_round(&f, FINISH_STOP);
    assert_int_equal(next_call(&f)->builtin, BUILTIN_BROWSER_SEARCH);
    assert_str_c(buf_str(&next_call(&f)->arguments),
                 "{\\\"action\\\":\\\"search\\\",\\\"query\\\":\\\"q\\\",\\\"topn\\\":3}");
    end_call(&f, (struct hosted_outcome){.output = STR("u"), .shown = str_from_c(found)});
    output = output_of(&f, FINISH_STOP);
    assert_true(json_equal(json_object_get(json_array_get(output, 0), "action"), expected));
    json_decref(output);
    json_decref(expected);
}

static void a_tool_that_the_model_made_up_can_only_fail(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    call_unknown(&f, 0, "repo_browser", "list");
    end_item(&f);
    end_round(&f, FINISH_STOP);
    assert_null(next_call(&f)->tool);
    end_call(&f, (struct hosted_outcome){.is_failed = true, .error = STR("\"unknown tool\"")});
    assert_true(response_goes_on(&f.response));
    check_output(&f, FINISH_STOP, "server_label", "status", "repo_browser failed");
}

/* What was not sent is kept from the client, whatever form the model has for it. */
static void tools_that_are_not_allowed_are_not_shown(void **state)
{
    static struct tool search = {
        .kind = TOOL_HOSTED, .hosted_kind = HOSTED_WEB_SEARCH, .name = STR_INIT("web_search")};
    static struct tool code = {.kind = TOOL_HOSTED,
                               .hosted_kind = HOSTED_CODE_INTERPRETER,
                               .name = STR_INIT("code_interpreter"),
                               .sent = true,
                               .next = &search};
    static const struct tool_set tools = {.first = &code, .last = &search, .is_restricted = true};
    struct fixture f;

    (void)state;
    begin_with(&f, (struct response_conf){.tools = &tools});
    call_unknown(&f, 0, "repo_browser", "list");
    end_item(&f);
    call_builtin(&f, 1, BUILTIN_PYTHON, "1");
    end_item(&f);
    call_builtin(&f, 2, BUILTIN_BROWSER_SEARCH, "{\\\"query\\\":\\\"q\\\"}");
    end_item(&f);
    end_round(&f, FINISH_STOP);
    assert_ptr_equal(next_call(&f)->tool, &code);
    end_call(&f, (struct hosted_outcome){.output = STR("")});
    check_output(&f, FINISH_STOP, "type", "status", "code_interpreter_call completed");
}

/* ---- what the model reads again */

static struct item_list replay(struct fixture *f)
{
    static const struct input_options options = {.text_files = false};
    struct item_list items = {.n = 0};
    struct err e;

    assert_int_equal(response_replay(&f->response, &options, &items, &f->arena, &e), 0);
    return items;
}

static void check_told(const struct item *it, const char *name, const char *arguments,
                       const char *told)
{
    assert_int_equal(it->kind, ITEM_HOSTED_CALL);
    assert_str_c(it->name, name);
    assert_str_c(it->arguments, arguments);
    assert_true(it->has_output);
    assert_str_c(it->content.first->text, told);
    assert_null(it->content.first->next);
}

static void the_model_is_told_what_its_tools_returned(void **state)
{
    const struct item *it;
    struct fixture f;

    (void)state;
    begin_with(&f, (struct response_conf){.max_tool_calls = 4, .shows_code_outputs = true});
    call_builtin(&f, 0, BUILTIN_BROWSER_FIND, "{\\\"pattern\\\":\\\"x\\\"}");
    call_builtin(&f, 1, BUILTIN_BROWSER_OPEN, "{");
    end_item(&f);
    call_builtin(&f, 2, BUILTIN_PYTHON, "a");
    end_item(&f);
    call_builtin(&f, 3, BUILTIN_PYTHON, "b");
    end_item(&f);
    call_builtin(&f, 4, BUILTIN_PYTHON, "past the limit");
    end_item(&f);
    end_round(&f, FINISH_STOP);
    end_call(&f, (struct hosted_outcome){.output = STR("line 3")});
    end_call(&f, (struct hosted_outcome){.output = STR("logs")});
    end_call(&f, (struct hosted_outcome){.outputs =
                                             STR("[{\"type\":\"logs\",\"logs\":\"of outputs\"}]")});
    it = replay(&f).first->next; /* the first begins a message */
    check_told(it, "web_search", "{\\\"action\\\":\\\"find_in_page\\\",\\\"pattern\\\":\\\"x\\\"}",
               "line 3");
    it = it->next;
    check_told(it, "web_search", "{\\\"action\\\":\\\"open_page\\\"}",
               "Error: the arguments are no JSON object.");
    it = it->next;
    check_told(it, "code_interpreter", "{\\\"code\\\":\\\"a\\\"}", "logs");
    it = it->next;
    check_told(it, "code_interpreter", "{\\\"code\\\":\\\"b\\\"}", "of outputs");
    it = it->next;
    check_told(it, "code_interpreter", "{\\\"code\\\":\\\"past the limit\\\"}",
               "Tool call limit reached.");
    assert_null(it->next);
    check_output(&f, FINISH_STOP, "type", "status",
                 "web_search_call completed, web_search_call failed, "
                 "code_interpreter_call completed, code_interpreter_call completed");
}

static void a_phase_is_read_again(void **state)
{
    const struct item *it;
    struct fixture f;

    (void)state;
    begin(&f);
    say(&f, PHASE_COMMENTARY, "a");
    end_item(&f);
    say(&f, PHASE_NONE, "b");
    end_round(&f, FINISH_STOP);
    it = replay(&f).first->next;
    assert_int_equal(it->phase, PHASE_COMMENTARY);
    assert_int_equal(it->next->phase, PHASE_NONE);
    json_decref(output_of(&f, FINISH_STOP));
}

/* ---- reasoning */

static const char *sealed(json_t *item)
{
    return json_string_value(json_object_get(item, "encrypted_content"));
}

static void reasoning_is_sealed_when_it_is_done(void **state)
{
    static const enum reasoning_mode modes[] = {REASONING_TEXT, REASONING_SUMMARY,
                                                REASONING_OPEN_RESPONSES};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        json_t *output;
        struct fixture f;

        begin_with(&f, (struct response_conf){.reasoning = modes[i], .seal = &delta_seal});
        think(&f, "a\\n");
        assert_int_equal(count(&f.out, "encrypted_content"), 0);
        end_item(&f);
        assert_int_equal(count(&f.out, "encrypted_content"), 1);
        think(&f, "box");
        end_item(&f);
        think(&f, "cut");
        end_round(&f, FINISH_LENGTH);
        output = output_of(&f, FINISH_LENGTH);
        assert_string_equal(sealed(json_array_get(output, 0)), "gw1.615c6e"); /* a, \, n */
        assert_null(sealed(json_array_get(output, 1)));                       /* that one fails */
        assert_string_equal(sealed(json_array_get(output, 2)), "gw1.637574");
        json_decref(output);
    }
}

static bool count_seal(void *arg, str text, struct buf *out)
{
    (void)text;
    ++*(size_t *)arg;
    buf_c(out, "gw1.");
    return true;
}

static void each_shown_reasoning_item_is_sealed_once(void **state)
{
    size_t n = 0;
    const struct text_seal seal = {.close = count_seal, .arg = &n};
    struct fixture f;

    (void)state;
    begin_with(&f, (struct response_conf){.seal = &seal});
    think(&f, "a");
    say(&f, PHASE_NONE, "b");
    think(&f, "c");
    end_round(&f, FINISH_STOP);
    (void)replay(&f);
    json_decref(output_of(&f, FINISH_STOP));
    assert_int_equal(n, 2);
    begin_with(&f, (struct response_conf){.reasoning = REASONING_NONE, .seal = &seal});
    think(&f, "a");
    end_round(&f, FINISH_STOP);
    json_decref(output_of(&f, FINISH_STOP));
    assert_int_equal(n, 2);
}

static void open_responses_has_other_names_for_the_text_of_reasoning(void **state)
{
    struct fixture f;

    (void)state;
    begin_with(&f, (struct response_conf){.reasoning = REASONING_OPEN_RESPONSES});
    think(&f, "a");
    think(&f, "b");
    end_item(&f);
    end_round(&f, FINISH_STOP);
    assert_int_equal(count(&f.out, "event: response.reasoning.delta"), 2);
    assert_int_equal(count(&f.out, "event: response.reasoning.done"), 1);
    assert_int_equal(count(&f.out, "response.reasoning_text"), 0);
    check_output(&f, FINISH_STOP, "type", "status", "reasoning completed, message completed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_phase_begins_another_message),
        cmocka_unit_test(a_final_message_may_be_empty),
        cmocka_unit_test(an_end_without_an_item_means_nothing),
        cmocka_unit_test(the_end_of_hidden_reasoning_ends_no_message),
        cmocka_unit_test(arguments_of_white_space_become_an_empty_object),
        cmocka_unit_test(arguments_of_a_search_that_were_cut_give_no_item),
        cmocka_unit_test(pages_are_named_by_url_or_by_cursor),
        cmocka_unit_test(code_is_interpreted_when_the_round_has_ended),
        cmocka_unit_test(calls_of_a_round_that_was_cut_are_not_run),
        cmocka_unit_test(a_search_shows_what_was_found),
        cmocka_unit_test(a_tool_that_the_model_made_up_can_only_fail),
        cmocka_unit_test(tools_that_are_not_allowed_are_not_shown),
        cmocka_unit_test(the_model_is_told_what_its_tools_returned),
        cmocka_unit_test(a_phase_is_read_again),
        cmocka_unit_test(reasoning_is_sealed_when_it_is_done),
        cmocka_unit_test(each_shown_reasoning_item_is_sealed_once),
        cmocka_unit_test(open_responses_has_other_names_for_the_text_of_reasoning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
