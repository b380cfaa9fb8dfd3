/* test_chat_answer.c -- an answer by itself is written as the request that goes on behind it writes it. */
#include "request_fixture.h"

#include "lib/test.h"

#include "json/json_walk.h"
#include "wire/chat/chat_answer.h"

#define QUESTION    "{\"role\":\"user\",\"content\":\"Why?\"}"
#define BODY(items) "{\"model\":\"m\",\"input\":[" items "]}"
#define TEXT(text)                                                                                 \
    "{\"type\":\"message\",\"role\":\"assistant\",\"status\":\"completed\",\"id\":\"msg_1\","      \
    "\"content\":[{\"type\":\"output_text\",\"text\":\"" text "\",\"annotations\":[]}]}"
#define REASONING                                                                                  \
    "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"content\":[{\"type\":"               \
    "\"reasoning_text\",\"text\":\"Well.\"}]}"

static const struct chat_request_options options[] = {
    {.reasoning_field = CHAT_REASONING_CONTENT},
    {.reasoning_field = CHAT_BOTH_REASONING_FIELDS},
    {.reasoning_field = CHAT_REASONING_CONTENT, .reasoning_history = CHAT_OPEN_REASONING},
    {.reasoning_field = CHAT_REASONING_IN_TAGS,
     .think_open = STR_INIT("<think>"),
     .think_close = STR_INIT("</think>")},
    {.reasoning_field = CHAT_NO_REASONING},
    {.role_order = CHAT_USER_FIRST},
    {.role_order = CHAT_ALTERNATE},
    {.system_role = CHAT_USER_ROLE},
};

/* The message of the assistant in the request that goes on. */
static str written_in_request(struct fixture *f, const char *body,
                              const struct chat_request_options *o, struct buf *out)
{
    struct json_walk w;
    str name, message = STR_NONE;

    assert_int_equal(fixture_parse(f, str_from_c(body), 0), 0);
    assert_int_equal(chat_request_build(&f->request, o, &f->ids, &f->arena, out, &f->err), 0);
    w = json_walk_of(buf_str(out));
    (void)json_walk_enter(&w, JR_OBJECT);
    while (json_walk_member(&w, &name) && !str_eq(name, STR("messages")))
        (void)json_walk_value(&w);
    assert_true(json_walk_enter(&w, JR_ARRAY));
    while (json_walk_element(&w)) {
        const str element = json_walk_value(&w);

        if (str_eq(jr_member_string(element, STR("role")), STR("assistant")))
            message = element;
    }
    assert_false(str_is_none(message));
    return message;
}

static void check(const char *whole, const char *alone)
{
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        struct buf request = {0}, answer = {0};
        struct fixture f, g;
        const str expected = written_in_request(&f, whole, &options[i], &request);

        assert_int_equal(fixture_parse(&g, str_from_c(alone), 0), 0);
        assert_int_equal(
            chat_answer_write(&g.request.items, &options[i], &g.ids, &g.arena, &answer, &g.err), 0);
        assert_str_eq(buf_str(&answer), expected);
        buf_fini(&request);
        buf_fini(&answer);
        fixture_fini(&f);
        fixture_fini(&g);
    }
}

#define CHECK(items)                                                                               \
    check(BODY("{\"role\":\"system\",\"content\":\"Be brief.\"}," QUESTION "," items               \
               ",{\"role\":\"user\",\"content\":\"And?\"}"),                                       \
          BODY(items))

static void it_is_the_message_of_the_next_request(void **state)
{
    (void)state;
    CHECK(TEXT("Because."));
    CHECK(TEXT("\\\"So\\\"\\n\\u00e4 \\u2028") "," TEXT("and so"));
    CHECK(REASONING "," TEXT("Because."));
    CHECK("{\"role\":\"assistant\",\"content\":\"Because.\"}");
}

static void what_says_nothing_is_no_message(void **state)
{
    struct buf answer = {0};
    struct fixture f;

    (void)state;
    assert_int_equal(fixture_parse(&f, STR(BODY(QUESTION)), 0), 0);
    f.request.items = (struct item_list){.n = 0};
    assert_int_equal(
        chat_answer_write(&f.request.items, &options[0], &f.ids, &f.arena, &answer, &f.err), 0);
    assert_int_equal(answer.len, 0);
    fixture_fini(&f);
    buf_fini(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_message_of_the_next_request),
        cmocka_unit_test(what_says_nothing_is_no_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
