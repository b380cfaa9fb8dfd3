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

/* ---- goals in weight: a message has 16 and its text, so that a turn here has 40 and a question 20 */

#define LONG(text) USER(text "..") "," ASSISTANT(text "..")
#define FOUR_TURNS LONG("t1") "," LONG("t2") "," LONG("t3") "," LONG("t4")

static const struct {
    struct trim_goal goal;
    const char *left;
} goals[] = {
    {{.least = 1, .most = 40, .step = 1}, "t2.. t2.. t3.. t3.. t4.. t4.. u5"},
    {{.least = 1, .most = 79, .step = 1}, "t2.. t2.. t3.. t3.. t4.. t4.. u5"},
    {{.least = 1, .most = 80, .step = 1}, "t3.. t3.. t4.. t4.. u5"},
    {{.least = 1, .most = 1000, .step = 1}, "u5"},
    /* no turn ends between the two: what must go counts */
    {{.least = 41, .most = 79, .step = 1}, "t3.. t3.. t4.. t4.. u5"},
    {{.least = 0, .most = 0, .step = 1}, "t2.. t2.. t3.. t3.. t4.. t4.. u5"},
    {{.least = 1000, .most = 1000, .step = 1}, "u5"},
    /* a place that is a multiple of the step */
    {{.least = 1, .most = 130, .step = 50}, "t3.. t3.. t4.. t4.. u5"},
    {{.least = 1, .most = 149, .step = 50}, "t3.. t3.. t4.. t4.. u5"},
    {{.least = 90, .most = 149, .step = 100}, "t4.. t4.. u5"},
};

#define BODY(items) STR("{\"model\":\"m\",\"input\":[" items "]}")

static void convert_turns(struct fixture *f, str body, struct conversation *ret)
{
    const struct chat_request_options options = {0};

    assert_int_equal(fixture_parse(f, body, 0), 0);
    assert_int_equal(
        chat_request_conversation(&f->request, &options, &f->ids, &f->arena, ret, &f->err), 0);
}

static void check_left(struct fixture *f, const struct conversation *c, const char *left)
{
    const struct chat_request_options options = {0};
    struct buf chat = {0}, text = {0};
    json_t *tree;

    assert_int_equal(chat_request_write(&f->request, c, &options, &chat, &f->err), 0);
    tree = json_loadb(chat.p, chat.len, 0, NULL);
    describe(json_object_get(tree, "messages"), &text);
    assert_string_equal(buf_cstr(&text), left);
    json_decref(tree);
    buf_fini(&chat);
    buf_fini(&text);
}

static void as_much_goes_as_may_and_at_least_what_must(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(goals) / sizeof(*goals); i++) {
        struct conversation c;
        struct fixture f;

        convert_turns(&f, BODY(FOUR_TURNS "," USER("u5")), &c);
        assert_int_equal(conversation_weight(&c), 4 * 40 + 18);
        assert_true(conversation_trim_to(&c, &goals[i].goal));
        check_left(&f, &c, goals[i].left);
        fixture_fini(&f);
    }
}

static void steps_count_from_the_very_beginning(void **state)
{
    const struct trim_goal some = {.least = 1, .most = 45, .step = 40};
    struct conversation c;
    struct fixture f;

    (void)state;
    convert_turns(&f, BODY(FOUR_TURNS "," USER("u5")), &c);
    assert_true(conversation_trim_to(&c, &some));
    assert_int_equal(c.left_out.weight, 40);
    assert_true(conversation_trim_to(&c, &some));
    assert_int_equal(c.left_out.weight, 80);
    assert_int_equal(c.left_out.n, 4);
    fixture_fini(&f);
}

struct known {
    uint64_t mark;
    size_t n_asked;
};

static bool is_mark(void *arg, uint64_t mark)
{
    struct known *k = arg;

    k->n_asked++;
    return mark == k->mark;
}

static void the_place_of_a_cut_is_found_again_in_what_has_grown(void **state)
{
    const struct trim_goal some = {.least = 1, .most = 85, .step = 1};
    struct conversation c, grown, other;
    struct fixture f, g, h;
    struct known known;

    (void)state;
    convert_turns(&f, BODY(SYSTEM("s") "," FOUR_TURNS "," USER("u5")), &c);
    assert_true(conversation_trim_to(&c, &some));
    known = (struct known){.mark = c.left_out.mark};
    convert_turns(
        &g, BODY(SYSTEM("s") "," FOUR_TURNS "," USER("u5") "," ASSISTANT("a5") "," USER("u6")),
        &grown);
    assert_int_equal(conversation_find_mark(&grown, is_mark, &known), 4);
    assert_int_equal(known.n_asked, 5); /* at every turn but the first */
    conversation_leave_out(&grown, 4);
    check_left(&g, &grown, "ss t3.. t3.. t4.. t4.. u5 a5 u6");
    assert_true(grown.left_out.mark == c.left_out.mark);
    conversation_leave_out(&grown, 1000); /* the last question stays */
    check_left(&g, &grown, "ss u6");
    convert_turns(&h, BODY(LONG("t1") "," LONG("tx") "," LONG("t3") "," USER("u4")), &other);
    assert_int_equal(conversation_find_mark(&other, is_mark, &known), 0);
    fixture_fini(&f);
    fixture_fini(&g);
    fixture_fini(&h);
}

#define CALLED_TWICE                                                                               \
    USER("u1") "," CALL("1") "," CALL("2") "," OUTPUT("1", "\"12345\"") "," OUTPUT("2", IMAGE)

static void outputs_weigh_what_their_texts_do_and_an_image_4096(void **state)
{
    struct conversation c;
    struct fixture f;

    (void)state;
    convert_turns(&f, BODY(CALLED_TWICE), &c);
    assert_int_equal(conversation_outputs_weight(&c), 5 + 4096);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_turns_go_and_the_last_question_stays),
        cmocka_unit_test(three_times_is_all_there_is),
        cmocka_unit_test(as_much_goes_as_may_and_at_least_what_must),
        cmocka_unit_test(steps_count_from_the_very_beginning),
        cmocka_unit_test(the_place_of_a_cut_is_found_again_in_what_has_grown),
        cmocka_unit_test(outputs_weigh_what_their_texts_do_and_an_image_4096),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
