/* test_compaction_cases.c -- every case of tests/data/conversion/compaction.json.
 *
 * A case has "do": "read", "ask", "keep" or "refuse". "opened" says what is inside of sealed items;
 * what is not listed there is foreign. "words", "kept" and "extra" are the slots of the question. */
#include "compact_fixture.h"

#define CASES "tests/data/conversion/compaction.json"

struct running {
    const json_t *c;
    const char *name;
    struct text_seal seal;
    struct fixture f;
};

static void parse_case(struct running *r)
{
    json_t *request = json_deep_copy(json_object_get(r->c, "request"));
    char *body;

    json_object_set_new(request, "model", json_string("m"));
    body = json_dumps(request, JSON_INDENT(2));
    r->seal = (struct text_seal){plain_close, opened_find, json_object_get(r->c, "opened")};
    if (fixture_parse_sealed(&r->f, &r->seal, str_from_c(body)) == 0)
        r->f.err.code = ERR_NONE;
    json_decref(request);
    free(body);
}

static void check_dump(const char *name, const json_t *got, const json_t *wanted)
{
    char *text = json_dumps(wanted, JSON_ENCODE_ANY);

    assert_json(name, got, text);
    free(text);
}

static void check_chat(struct running *r, const struct responses_request *request)
{
    const struct chat_request_options options = {0};
    const char *key;
    json_t *chat, *value;
    size_t i;

    r->f.request = *request;
    chat = fixture_chat(&r->f, &options);
    assert_non_null(chat);
    check_dump(r->name, json_object_get(chat, "messages"), json_object_get(r->c, "messages"));
    json_object_foreach(json_object_get(r->c, "chat"), key, value)
        check_dump(r->name, json_object_get(chat, key), value);
    json_array_foreach(json_object_get(r->c, "absent"), i, value)
    {
        if (json_object_get(chat, json_string_value(value)) != NULL)
            fail_msg("%s: '%s' was sent", r->name, json_string_value(value));
    }
    json_decref(chat);
}

static void run_read(struct running *r)
{
    const struct responses_request request = r->f.request;

    check_chat(r, &request);
}

static void run_ask(struct running *r)
{
    const char *kept = json_string_value(json_object_get(r->c, "kept"));
    struct compact_question q = {
        .max_tokens = 2 * json_integer_value(json_object_get(r->c, "words")),
        .keeps_all = kept == NULL,
        .has_earlier = compact_has_summary(&r->f.request.items),
        .note = str_from_c(json_string_value(json_object_get(r->c, "extra"))),
    };
    struct responses_request ask;

    assert_true(r->f.request.has_trigger);
    if (kept != NULL)
        assert_int_equal(sscanf(kept, "the user's last %zu", &q.n_kept), 1);
    const struct request_compact_call call = {.question = fixture_question(&r->f, &q)};

    assert_int_equal(request_compact_ask(&r->f.request, &call, &r->f.arena, &ask, &r->f.err), 0);
    check_chat(r, &ask);
}

static void run_refuse(struct running *r)
{
    const json_t *wanted = json_object_get(r->c, "error");

    assert_int_equal(err_http_status(&r->f.err),
                     json_integer_value(json_object_get(wanted, "status")));
    assert_string_equal(err_wire_code(&r->f.err),
                        json_string_value(json_object_get(wanted, "code")));
    assert_string_equal(r->f.err.param, json_string_value(json_object_get(wanted, "param")));
}

static void run_keep(const json_t *c, const char *name)
{
    json_t *request = json_pack("{s:s,s:O}", "model", "m", "input", json_object_get(c, "items"));
    char *body = json_dumps(request, 0);
    json_t *output = json_array();
    struct compact_kept kept;
    struct fixture f;

    if (fixture_parse_sealed(&f, NULL, str_from_c(body)) == -1)
        fail_msg("%s: %s", name, f.err.msg);
    assert_int_equal(compact_keep_messages(&f.request.items,
                                           json_integer_value(json_object_get(c, "budget")), &f.ids,
                                           &f.arena, &kept, &f.err),
                     0);
    for (size_t i = 0; i < kept.before.n; i++) {
        json_t *item = json_loadb(kept.before.v[i].body.p, kept.before.v[i].body.len, 0, NULL);

        assert_non_null(item);
        assert_non_null(json_string_value(json_object_get(item, "id")));
        json_object_del(item, "id");
        json_array_append_new(output, item);
    }
    assert_int_equal(kept.after.n, 0);
    check_dump(name, output, json_object_get(c, "output"));
    json_decref(output);
    json_decref(request);
    free(body);
    fixture_fini(&f);
}

static void run_case(const json_t *c)
{
    struct running r = {.c = c, .name = json_string_value(json_object_get(c, "name"))};
    const char *what = json_string_value(json_object_get(c, "do"));

    if (strcmp(what, "keep") == 0) {
        run_keep(c, r.name);
        return;
    }
    parse_case(&r);
    if ((strcmp(what, "refuse") == 0) == (r.f.err.code == ERR_NONE))
        fail_msg("%s: %s", r.name, r.f.err.code == ERR_NONE ? "not refused" : r.f.err.msg);
    else if (strcmp(what, "refuse") == 0)
        run_refuse(&r);
    else if (strcmp(what, "read") == 0)
        run_read(&r);
    else
        run_ask(&r);
    fixture_fini(&r.f);
}

static void every_case_is_as_written(void **state)
{
    json_t *cases = load_json_file(CASES);
    const json_t *c;
    size_t i;

    (void)state;
    assert_true(json_array_size(cases) >= 35);
    json_array_foreach(cases, i, c) run_case(c);
    json_decref(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_is_as_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
