/* test_conversion_cases.c -- every case of tests/data/conversion/cases.json.
 *
 * A case has a request, to which a model is added, and what must come out:
 * "messages", "chat" (members with these values), "absent" (members that must
 * not be there) or "error". "stateful": it continues a response that the gateway
 * holds, which has no items. */
#include "request_fixture.h"

#define CASES "tests/data/conversion/cases.json"

static void check_error(const char *name, const json_t *wanted, const struct err *e)
{
    const char *status = json_string_value(json_object_get(wanted, "param"));

    if (wanted == NULL)
        fail_msg("%s: rejected: %s", name, e->msg);
    assert_int_equal(err_http_status(e), json_integer_value(json_object_get(wanted, "status")));
    assert_string_equal(err_wire_code(e), json_string_value(json_object_get(wanted, "code")));
    assert_string_equal(e->param, status);
}

static void check_chat(const char *name, const json_t *wanted, const json_t *chat)
{
    const char *key;
    const json_t *value;
    size_t i;

    if (json_object_get(wanted, "error") != NULL)
        fail_msg("%s: not rejected", name);
    if (json_object_get(wanted, "messages") != NULL) {
        char *text = json_dumps(json_object_get(wanted, "messages"), 0);

        assert_json(name, json_object_get(chat, "messages"), text);
        free(text);
    }
    for (void *at = json_object_iter(json_object_get(wanted, "chat")); at != NULL;
         at = json_object_iter_next(json_object_get(wanted, "chat"), at)) {
        char *text = json_dumps(json_object_iter_value(at), JSON_ENCODE_ANY);

        key = json_object_iter_key(at);
        assert_json(name, json_object_get(chat, key), text);
        free(text);
    }
    json_array_foreach(json_object_get(wanted, "absent"), i, value)
    {
        if (json_object_get(chat, json_string_value(value)) != NULL)
            fail_msg("%s: '%s' was sent", name, json_string_value(value));
    }
}

static void run_case(const json_t *c)
{
    const char *name = json_string_value(json_object_get(c, "name"));
    const struct chat_request_options options = {0};
    json_t *request = json_deep_copy(json_object_get(c, "request"));
    struct fixture f;
    json_t *chat = NULL;
    char *body;

    json_object_set_new(request, "model", json_string("m"));
    if (json_is_true(json_object_get(c, "stateful")))
        json_object_set_new(request, "previous_response_id", json_string("resp_1"));
    body = json_dumps(request, JSON_INDENT(2));
    if (fixture_parse(&f, str_from_c(body), 0) == 0)
        chat = fixture_chat(&f, &options);
    if (chat == NULL)
        check_error(name, json_object_get(c, "error"), &f.err);
    else
        check_chat(name, c, chat);
    json_decref(chat);
    json_decref(request);
    free(body);
    fixture_fini(&f);
}

static void every_case_converts_as_written(void **state)
{
    json_t *cases = load_json_file(CASES);
    const json_t *c;
    size_t i;

    (void)state;
    assert_true(json_array_size(cases) >= 40);
    json_array_foreach(cases, i, c) run_case(c);
    json_decref(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_converts_as_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
