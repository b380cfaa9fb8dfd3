/* test_jsonrpc.c -- messages are told apart, whatever their writers thought. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "mcp/proto/jsonrpc.h"

/* Reads a text of one message. */
static struct jsonrpc_message only(struct jsonrpc_reader *r, const char *text)
{
    struct jsonrpc_message m, none;

    jsonrpc_reader_init(r, str_from_c(text));
    (void)jsonrpc_next(r, &m);
    assert_int_equal(jsonrpc_next(r, &none), JSONRPC_END);
    assert_int_equal(jsonrpc_next(r, &none), JSONRPC_END);
    return m;
}

static const struct {
    const char *text;
    enum jsonrpc_kind kind;
    enum jsonrpc_id_kind id;
} kinds[] = {
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", JSONRPC_REQUEST, JSONRPC_ID_INT},
    {"{\"method\":\"ping\",\"id\":\"a\",\"jsonrpc\":\"2.0\"}\r", JSONRPC_REQUEST,
     JSONRPC_ID_STRING},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", JSONRPC_NOTIFICATION, JSONRPC_ID_ABSENT},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"id\":null}", JSONRPC_NOTIFICATION, JSONRPC_ID_NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", JSONRPC_RESULT, JSONRPC_ID_INT},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":null}", JSONRPC_RESULT, JSONRPC_ID_INT},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null,\"error\":{\"code\":1,\"message\":\"m\"}}",
     JSONRPC_ERROR, JSONRPC_ID_INT},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1}}", JSONRPC_ERROR, JSONRPC_ID_NULL},
    {"{\"jsonrpc\":\"2.0\",\"error\":{}}", JSONRPC_ERROR, JSONRPC_ID_ABSENT},
    {"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", JSONRPC_RESULT, JSONRPC_ID_INT},
    {"{\"jsonrpc\":\"2\\u002e0\",\"id\":1,\"result\":{}}", JSONRPC_RESULT, JSONRPC_ID_INT},
    /* not ours to answer or to match */
    {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"result\":{}}", JSONRPC_RESULT, JSONRPC_ID_OTHER},
    {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", JSONRPC_INVALID, JSONRPC_ID_OTHER},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", JSONRPC_INVALID, JSONRPC_ID_INT},
    {"{\"jsonrpc\":\"2.0\",\"id\":1}", JSONRPC_INVALID, JSONRPC_ID_INT},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"no\"}", JSONRPC_INVALID, JSONRPC_ID_INT},
    {"{\"jsonrpc\":2.0,\"id\":1,\"result\":{}}", JSONRPC_INVALID, JSONRPC_ID_INT},
    {"{\"id\":1,\"result\":{}}", JSONRPC_INVALID, JSONRPC_ID_INT},
    {"{\"level\":\"info\",\"method\":\"GET\",\"id\":1}", JSONRPC_INVALID, JSONRPC_ID_INT},
    {"{}", JSONRPC_INVALID, JSONRPC_ID_ABSENT},
    {"7", JSONRPC_INVALID, JSONRPC_ID_ABSENT},
    {"", JSONRPC_INVALID, JSONRPC_ID_ABSENT},
    {"Listening on port 8080", JSONRPC_INVALID, JSONRPC_ID_ABSENT},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}} x", JSONRPC_INVALID, JSONRPC_ID_ABSENT},
};

static void members_tell_what_a_message_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct jsonrpc_reader r;
        struct jsonrpc_message m = only(&r, kinds[i].text);

        if (m.kind != kinds[i].kind || m.id.kind != kinds[i].id)
            fail_msg("%s: kind %d, id %d", kinds[i].text, (int)m.kind, (int)m.id.kind);
        jsonrpc_reader_fini(&r);
    }
}

static void an_array_holds_messages_and_what_is_none_spoils_no_other(void **state)
{
    static const enum jsonrpc_kind expected[] = {JSONRPC_RESULT, JSONRPC_INVALID, JSONRPC_INVALID,
                                                 JSONRPC_NOTIFICATION, JSONRPC_END};
    struct jsonrpc_reader r;
    struct jsonrpc_message m;

    (void)state;
    jsonrpc_reader_init(&r, STR("[{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":[]},5,[],"
                                "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}]"));
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_int_equal(jsonrpc_next(&r, &m), expected[i]);
    jsonrpc_reader_fini(&r);
    jsonrpc_reader_init(&r, STR("[]"));
    assert_int_equal(jsonrpc_next(&r, &m), JSONRPC_END);
    jsonrpc_reader_fini(&r);
}

static void nothing_of_a_broken_array_is_acted_upon(void **state)
{
    struct jsonrpc_reader r;
    struct jsonrpc_message m;

    (void)state;
    jsonrpc_reader_init(&r, STR("[{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":[]},"));
    assert_int_equal(jsonrpc_next(&r, &m), JSONRPC_INVALID);
    assert_int_equal(jsonrpc_next(&r, &m), JSONRPC_END);
    jsonrpc_reader_fini(&r);
}

static void malformed_utf8_does_not_lose_the_message(void **state)
{
    struct jsonrpc_reader r;
    struct jsonrpc_message m =
        only(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"caf\xE9 \xC3\xA9\"}");

    (void)state;
    assert_int_equal(m.kind, JSONRPC_RESULT);
    assert_str_c(m.result, "\"caf\xEF\xBF\xBD \xC3\xA9\"");
    jsonrpc_reader_fini(&r);
}

static const struct {
    const char *raw;
    enum jsonrpc_id_kind kind;
    int64_t number;
} ids[] = {
    {"0", JSONRPC_ID_INT, 0},
    {"-0", JSONRPC_ID_INT, 0},
    {"9223372036854775807", JSONRPC_ID_INT, INT64_MAX},
    {"-9223372036854775808", JSONRPC_ID_INT, INT64_MIN},
    {"9007199254740993", JSONRPC_ID_INT, 9007199254740993},
    {"12.0", JSONRPC_ID_INT, 12},
    {"1e2", JSONRPC_ID_INT, 100},
    {"9223372036854775808", JSONRPC_ID_OTHER, 0},
    {"0.5", JSONRPC_ID_OTHER, 0},
    {"1e400", JSONRPC_ID_OTHER, 0},
    {"true", JSONRPC_ID_OTHER, 0},
    {"[]", JSONRPC_ID_OTHER, 0},
    {"\"1\"", JSONRPC_ID_STRING, 0},
    {"null", JSONRPC_ID_NULL, 0},
};

static void ids_keep_all_their_64_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        struct jsonrpc_id id = jsonrpc_id_of(str_from_c(ids[i].raw));

        if (id.kind != ids[i].kind || id.number != ids[i].number)
            fail_msg("%s: kind %d, %lld", ids[i].raw, (int)id.kind, (long long)id.number);
        assert_int_equal(jsonrpc_id_is(&id, ids[i].number), ids[i].kind == JSONRPC_ID_INT);
    }
}

static void an_error_has_its_parts(void **state)
{
    struct jsonrpc_reader r;
    struct jsonrpc_message m =
        only(&r, "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32022,\"message\":\"a\\\"b\","
                 "\"data\":{\"supported\":[]}}}");

    (void)state;
    assert_int_equal(m.code, MCP_VERSION_UNSUPPORTED);
    assert_str_c(m.message, "a\\\"b");
    assert_str_c(m.error_data, "{\"supported\":[]}");
    jsonrpc_reader_fini(&r);
    m = only(&r, "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":\"x\",\"message\":5}}");
    assert_int_equal(m.code, 0);
    assert_true(str_is_none(m.message));
    jsonrpc_reader_fini(&r);
}

static void a_method_with_an_escaped_slash_is_the_same_method(void **state)
{
    struct jsonrpc_reader r;
    struct jsonrpc_message m =
        only(&r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications\\/progress\"}");

    (void)state;
    assert_true(jsonrpc_is(&m, STR("notifications/progress")));
    assert_false(jsonrpc_is(&m, STR("notifications/message")));
    jsonrpc_reader_fini(&r);
}

static void answers_repeat_the_id_as_it_came(void **state)
{
    struct jsonrpc_id text = jsonrpc_id_of(STR("\"a\\n\\u00e9\"")),
                      number = jsonrpc_id_of(STR("1.0"));
    struct buf out = {0};

    (void)state;
    jsonrpc_write_result(&out, &text, STR("{}"));
    assert_str_c(buf_str(&out), "{\"jsonrpc\":\"2.0\",\"id\":\"a\\n\\u00e9\",\"result\":{}}");
    buf_reset(&out);
    jsonrpc_write_error(&out, &number, JSONRPC_METHOD_NOT_FOUND, "no \"x\"");
    assert_str_c(buf_str(&out), "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"error\":{\"code\":-32601,"
                                "\"message\":\"no \\\"x\\\"\"}}");
    buf_fini(&out);
}

/* Every line that a server of the recordings wrote to its standard output. */
static void recorded_lines_are_messages_and_noise_is_none(void **state)
{
    char **names = fixture_list("mcp", ".jsonl");
    size_t n_messages = 0, n_noise = 0;

    (void)state;
    for (char **name = names; *name != NULL; name++) {
        struct buf file = fixture_read(*name);
        str rest = buf_str(&file);

        while (rest.len > 0) {
            str line = str_from(rest.p, str_find_char(rest, '\n'));
            str message = jr_member(line, STR("msg")), noise = jr_member_string(line, STR("raw"));
            struct jsonrpc_reader r;
            struct jsonrpc_message m;

            jsonrpc_reader_init(&r, str_is_none(message) ? noise : message);
            (void)jsonrpc_next(&r, &m);
            assert_int_equal(m.kind == JSONRPC_INVALID, str_is_none(message));
            n_messages += !str_is_none(message);
            n_noise += !str_is_none(noise);
            jsonrpc_reader_fini(&r);
            rest = str_skip(rest, line.len + 1);
        }
        buf_fini(&file);
    }
    fixture_list_free(names);
    assert_true(n_messages > 100 && n_noise > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_tell_what_a_message_is),
        cmocka_unit_test(an_array_holds_messages_and_what_is_none_spoils_no_other),
        cmocka_unit_test(nothing_of_a_broken_array_is_acted_upon),
        cmocka_unit_test(malformed_utf8_does_not_lose_the_message),
        cmocka_unit_test(ids_keep_all_their_64_bits),
        cmocka_unit_test(an_error_has_its_parts),
        cmocka_unit_test(a_method_with_an_escaped_slash_is_the_same_method),
        cmocka_unit_test(answers_repeat_the_id_as_it_came),
        cmocka_unit_test(recorded_lines_are_messages_and_noise_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
