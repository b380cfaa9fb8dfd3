/* test_trim.c -- what is left of a conversation that was too long. */
#include "request_fixture.h"

#include "conv/trim.h"

#define USER(text)      "{\"role\":\"user\",\"content\":\"" text "\"}"
#define SYSTEM(text)    "{\"role\":\"system\",\"content\":\"" text "\"}"
#define ASSISTANT(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define CALL(id)        "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"f\"}"
#define OUTPUT(id, value)                                                                          \
    "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":" value "}"
#define IMAGE   "[{\"type\":\"input_image\",\"image_url\":\"i\"}]"
#define TURN(n) USER("u" n) "," ASSISTANT("a" n)

/* Messages in short: the first letter of the role, then the text; calls are
 * "c" and their outputs "t". */
static const struct {
    const char *input;
    unsigned percent;
    const char *left; /* NULL: nothing may be dropped */
} cases[] = {
    {USER("u1"), 100, NULL},
    {SYSTEM("s") "," USER("u1") "," ASSISTANT("a1"), 100, NULL},
    {USER("u1") "," CALL("1") "," OUTPUT("1", "\"o\"") "," CALL("2"), 100, NULL},
    {TURN("1") "," USER("u2"), 1, "u2"},
    {TURN("1") "," USER("u2"), 100, "u2"},
    {TURN("1") "," TURN("2") "," TURN("3") "," TURN("4") "," USER("u5"), 50, "u3 a3 u4 a4 u5"},
    {TURN("1") "," TURN("2") "," TURN("3") "," TURN("4") "," USER("u5"), 51, "u4 a4 u5"},
    {TURN("1") "," TURN("2") "," TURN("3") "," TURN("4") "," USER("u5"), 1, "u2 a2 u3 a3 u4 a4 u5"},
    {TURN("1") "," TURN("2") "," USER("u3") "," ASSISTANT("a3"), 100, "u3 a3"},
    {SYSTEM("s") "," TURN("1") "," SYSTEM("late") "," TURN("2") "," USER("u3"), 100,
     "ss\n\nlate u3"},
    {TURN("1") "," SYSTEM("late") "," TURN("2") "," USER("u3"), 40, "slate u2 a2 u3"},
    {TURN("1") "," TURN("2") "," SYSTEM("late") "," USER("u3"), 40, "u2 a2 slate u3"},
    {ASSISTANT("a0") "," TURN("1") "," USER("u2"), 10, "u1 a1 u2"},
    {USER("u1") "," CALL("1") "," OUTPUT("1", "\"o\"") "," TURN("2") "," USER("u3"), 50,
     "u2 a2 u3"},
    {USER("u1") "," CALL("1") "," OUTPUT("1", IMAGE) "," ASSISTANT("a1") "," USER("u2"), 10, "u2"},
    {TURN("1") "," USER("u2") "," CALL("1") "," OUTPUT("1", IMAGE), 100, "u2 c t u"},
};

static void describe(const json_t *messages, struct buf *out)
{
    const json_t *m;
    size_t i;

    json_array_foreach(messages, i, m)
    {
        const char *role = json_string_value(json_object_get(m, "role"));
        const char *text = json_string_value(json_object_get(m, "content"));
        bool has_calls = json_object_get(m, "tool_calls") != NULL;

        if (i > 0)
            buf_char(out, ' ');
        if (strcmp(role, "system") == 0 || text == NULL)
            buf_char(out, has_calls ? 'c' : role[0]);
        buf_c(out, text == NULL ? "" : strcmp(role, "tool") == 0 ? "t" : text);
    }
}

static void check_case(size_t i)
{
    const struct chat_request_options options = {0};
    struct buf body = {0}, chat = {0}, left = {0};
    struct conversation c;
    struct fixture f;
    json_t *tree;

    buf_c(&body, "{\"model\":\"m\",\"input\":[");
    buf_c(&body, cases[i].input);
    buf_c(&body, "]}");
    assert_int_equal(fixture_parse(&f, buf_str(&body), 0), 0);
    assert_int_equal(chat_request_conversation(&f.request, &options, &f.ids, &f.arena, &c, &f.err),
                     0);
    if (conversation_trim(&c, cases[i].percent) != (cases[i].left != NULL))
        fail_msg("case %zu", i);
    assert_int_equal(chat_request_write(&f.request, &c, &options, &chat, &f.err), 0);
    tree = json_loadb(chat.p, chat.len, 0, NULL);
    describe(json_object_get(tree, "messages"), &left);
    if (cases[i].left != NULL && !str_eq(buf_str(&left), str_from_c(cases[i].left)))
        fail_msg("case %zu:\n     got %s\nexpected %s", i, buf_cstr(&left), cases[i].left);
    json_decref(tree);
    buf_fini(&body);
    buf_fini(&chat);
    buf_fini(&left);
    fixture_fini(&f);
}

static void old_turns_go_and_the_last_question_stays(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        check_case(i);
}

/* What the header promises of 50, 50 and 100. */
static void three_times_is_all_there_is(void **state)
{
    const struct conversation_context context = {.is_stateful = false};
    struct conversation c;
    struct fixture f;

    (void)state;
    assert_int_equal(fixture_parse(&f,
                                   STR("{\"model\":\"m\",\"input\":[" TURN("1") "," TURN(
                                       "2") "," TURN("3") "," TURN("4") "," USER("u5") "]}"),
                                   0),
                     0);
    assert_int_equal(
        conversation_build(&f.request.items, STR_NONE, &context, &f.ids, &f.arena, &c, &f.err), 0);
    assert_true(conversation_trim(&c, 50));
    assert_true(conversation_trim(&c, 50));
    assert_true(conversation_trim(&c, 100));
    assert_false(conversation_trim(&c, 100));
    assert_ptr_equal(c.first, c.body);
    assert_null(c.body->next);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_turns_go_and_the_last_question_stays),
        cmocka_unit_test(three_times_is_all_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
