/* test_compact_shrink.c -- what is left of a conversation whose summary is asked for again
 * (CONTRACT 13.5). */
#include "compact_fixture.h"

#include "compact/compact_shrink.h"
#include "compact/compact_text.h"
#include "conv/trim.h"
#include "resolve_fixture.h"

#define CALL_OF(id) "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"f\"}"
#define SUMMARY                                                                                    \
    "{\"type\":\"compaction\",\"encrypted_content\":\"open:"                                       \
    "7b2276223a312c226b223a2273222c2274223a2278227d\"}"
#define TURN(n) USER("u" n) "," ASSISTANT("a" n)

enum { LONG = 3000 };

/* An output of LONG characters, all of them c. */
static void add_long_output(struct buf *body, const char *id, char c)
{
    buf_c(body, ",{\"type\":\"function_call_output\",\"call_id\":\"");
    buf_c(body, id);
    buf_c(body, "\",\"output\":\"");
    for (int i = 0; i < LONG; i++)
        buf_char(body, c);
    buf_c(body, "\"}");
}

struct shrinking {
    struct fixture f;
    struct responses_request ask;
    struct conversation conversation;
};

static void open_conversation(struct shrinking *s, const char *items, bool has_outputs)
{
    const struct request_compact_call call = {.question = STR("Q?"), .max_tokens = 100};
    const struct chat_request_options options = {0};
    struct buf body = {0};

    buf_c(&body, "{\"model\":\"m\",\"input\":[");
    buf_c(&body, items);
    if (has_outputs) {
        add_long_output(&body, "1", 'x');
        add_long_output(&body, "2", 'y');
    }
    buf_c(&body, "]}");
    if (fixture_parse_sealed(&s->f, &plain_seal, buf_str(&body)) == -1)
        fail_msg("%s", s->f.err.msg);
    assert_int_equal(request_compact_ask(&s->f.request, &call, &s->f.arena, &s->ask, &s->f.err), 0);
    assert_int_equal(chat_request_conversation(&s->ask, &options, &s->f.ids, &s->f.arena,
                                               &s->conversation, &s->f.err),
                     0);
    buf_fini(&body);
}

/* The texts of what is left; a long one by its first letter and its length. */
static void describe_left(const struct shrinking *s, struct buf *out)
{
    const struct chat_request_options options = {0};
    struct buf body = {0};
    json_t *chat;
    const json_t *m;
    size_t i;

    assert_int_equal(chat_request_write(&s->ask, &s->conversation, &options, &body, NULL), 0);
    chat = json_loadb(body.p, body.len, 0, NULL);
    assert_non_null(chat);
    json_array_foreach(json_object_get(chat, "messages"), i, m)
    {
        const json_t *content = json_object_get(m, "content");
        const char *text = json_string_value(content);

        buf_c(out, i > 0 ? " " : "");
        if (text == NULL) {
            buf_c(out, "call");
        } else if (json_string_length(content) < 20) {
            buf_c(out, text);
        } else if (text[0] == '[') {
            buf_c(out, "[summary]");
        } else {
            buf_char(out, text[0]);
            buf_uint(out, json_string_length(content) / 100);
        }
    }
    json_decref(chat);
    buf_fini(&body);
}

static void check_left(const struct shrinking *s, const char *claim, const char *expected)
{
    struct buf left = {0};

    describe_left(s, &left);
    if (strcmp(buf_cstr(&left), expected) != 0)
        fail_msg("%s: %s", claim, buf_cstr(&left));
    buf_fini(&left);
}

static const struct {
    const char *claim, *items;
    bool has_outputs;
    unsigned n_calls;
    size_t goal;
    const char *left; /* NULL: nothing more can be done */
} cases[] = {
    {"outputs are cut first", TURN("1") "," USER("u2") "," CALL_OF("1") "," CALL_OF("2"), true, 1,
     0, "u1 a1 u2 call x10 y10 Q?"},
    {"the oldest first", USER("u2") "," CALL_OF("1") "," CALL_OF("2"), true, 1, 1000,
     "u2 call x10 y30 Q?"},
    {"as many as it takes", USER("u2") "," CALL_OF("1") "," CALL_OF("2"), true, 1, 3000,
     "u2 call x10 y10 Q?"},
    {"then turns go", TURN("1") "," USER("u2") "," CALL_OF("1") "," CALL_OF("2"), true, 1, 5000,
     "u2 call x10 y10 Q?"},
    {"and after the second call all that may",
     TURN("1") "," TURN("2") "," USER("u3") "," CALL_OF("1") "," CALL_OF("2"), true, 2, 0,
     "u3 call x10 y10 Q?"},
    {"without long outputs half of the turns go",
     TURN("1") "," TURN("2") "," TURN("3") "," TURN("4") "," USER("u5"), false, 1, 0,
     "u3 a3 u4 a4 u5 Q?"},
    {"what the system said and summaries stay",
     SYSTEM("s") "," TURN("1") "," SUMMARY "," TURN("2") "," SYSTEM("late") "," USER("u3"), false,
     2, 0, "s [summary] late u3 Q?"},
    {"the last turn stays", USER("u1") "," ASSISTANT("a1"), false, 2, 0, NULL},
    {"a system message alone stays", SYSTEM("s"), false, 2, 0, NULL},
    {"there is no fourth call", TURN("1") "," USER("u2") "," CALL_OF("1") "," CALL_OF("2"), true, 3,
     0, NULL},
};

static void a_conversation_is_made_shorter_step_by_step(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct shrinking s;
        size_t before;
        bool is_shorter;

        open_conversation(&s, cases[i].items, cases[i].has_outputs);
        before = conversation_weight(&s.conversation);
        is_shorter = compact_shrink(&s.conversation, cases[i].n_calls, cases[i].goal, &s.f.arena);
        if (is_shorter != (cases[i].left != NULL))
            fail_msg("%s: %d", cases[i].claim, is_shorter);
        assert_int_equal(is_shorter, conversation_weight(&s.conversation) < before);
        if (cases[i].left != NULL)
            check_left(&s, cases[i].claim, cases[i].left);
        fixture_fini(&s.f);
    }
}

static void an_output_is_cut_to_its_ends(void **state)
{
    struct buf text = {0}, cut = {0};

    (void)state;
    for (int i = 0; i < 1100; i++)
        buf_c(&text, i < 500 ? "\xC3\xA9" : i < 600 ? "x" : "\xE2\x82\xAC");
    compact_cut_chars(buf_str(&text), 500, &cut);
    assert_int_equal(cut.len, 500 * 2 + strlen("\n[… 100 characters left out …]\n") + 500 * 3);
    assert_non_null(
        strstr(buf_cstr(&cut), "\xC3\xA9\n[… 100 characters left out …]\n\xE2\x82\xAC"));
    buf_reset(&cut);
    text.len -= 90 * strlen("\xE2\x82\xAC"); /* so little more that the mark would be longer */
    compact_cut_chars(buf_str(&text), 500, &cut);
    assert_true(str_eq(buf_str(&cut), buf_str(&text)));
    buf_fini(&text);
    buf_fini(&cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_conversation_is_made_shorter_step_by_step),
        cmocka_unit_test(an_output_is_cut_to_its_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
