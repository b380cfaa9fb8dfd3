/* test_think.c -- reasoning in tags, in any cutting. */
#include "lib/test.h"

#include <jansson.h>

#include "lib/fixture.h"
#include "text/think.h"

struct split {
    struct think think;
    struct buf reasoning, text;
};

struct expected {
    enum think_start start;
    const char *plain, *reasoning, *text;
};

static void feed(void *arg, str piece)
{
    struct split *s = arg;

    think_feed(&s->think, piece, &s->reasoning, &s->text);
}

static void fini(struct split *s)
{
    think_fini(&s->think);
    buf_fini(&s->reasoning);
    buf_fini(&s->text);
}

static void check_cut(const struct expected *e, struct cutting cutting)
{
    struct split s = {.think = {.start = e->start}};

    feed_pieces(str_from_c(e->plain), cutting, feed, &s);
    think_end(&s.think, &s.reasoning, &s.text);
    assert_string_equal(buf_cstr(&s.reasoning), e->reasoning);
    assert_string_equal(buf_cstr(&s.text), e->text);
    fini(&s);
}

static void check(const struct expected *e)
{
    check_cut(e, UNCUT);
    for (size_t piece = 1; piece < 5; piece++)
        check_cut(e, (struct cutting){piece, piece});
    for (size_t at = 1; at < strlen(e->plain); at++)
        check_cut(e, CUT_AT(at));
}

static void check_all(const struct expected *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check(&cases[i]);
}

static void vectors_hold_in_any_cutting(void **state)
{
    json_t *all = json_load_file(fixture_path("harmony/text_formats.json"), 0, NULL);
    json_t *vectors = json_object_get(all, "think"), *v;
    size_t i;

    (void)state;
    assert_int_equal(json_array_size(vectors), 18);
    json_array_foreach(vectors, i, v)
    {
        bool inside = json_is_true(json_object_get(v, "start_in_reasoning"));
        struct expected e = {inside ? THINK_FROM_HERE : THINK_FROM_TAG,
                             json_string_value(json_object_get(v, "input")),
                             json_string_value(json_object_get(v, "reasoning")),
                             json_string_value(json_object_get(v, "content"))};

        check(&e);
    }
    json_decref(all);
}

static void reasoning_and_answer_are_told_apart_in_any_cutting(void **state)
{
    static const struct expected cases[] = {
        {0, "Hello", "", "Hello"},
        {0, "", "", ""},
        {0, "  Hello ", "", "  Hello "},
        {0, "<think>why</think>because", "why", "because"},
        {0, "\n <think>\n why so \n</think>\n\n because \n", "why so", "because \n"},
        {0, "<think></think>because", "", "because"},
        {0, "<think>a < b </ c </thin d</think>e", "a < b </ c </thin d", "e"},
        {0, "<think>a<<</think>b", "a<<", "b"},
        {0, "<think>a </thin</think>b", "a </thin", "b"},
        {0, "<think>a </think>b <think>c</think>", "a", "b <think>c</think>"},
        {0, "a <think>b</think>", "", "a <think>b</think>"},
        {0, "<thin", "", "<thin"},
        {0, " <thinks>a", "", " <thinks>a"},
        {0, "<think>never closed </thi", "never closed </thi", ""},
        {0, "<think>only \n", "only", ""},
        {0, " \n", "", " \n"},
        {0, "<think>\xC3\xA9\xE2\x82\xAC</think>\xF0\x9F\x98\x80", "\xC3\xA9\xE2\x82\xAC",
         "\xF0\x9F\x98\x80"},
    };

    (void)state;
    check_all(cases, COUNT_OF(cases));
}

static void only_the_tag_of_the_one_that_opened_closes(void **state)
{
    static const struct expected cases[] = {
        {0, "<thinking>a</think>b</thinking>c", "a</think>b", "c"},
        {0, "<think>a</thinking>b</think>c", "a</thinking>b", "c"},
        {0, "<thought>a</thought>b", "a", "b"},
        {0, "[THINK]a </think> [/THIN[/THINK]b", "a </think> [/THIN", "b"},
        {0, "◁think▷a◁/think◁/think▷b", "a◁/think", "b"},
    };

    (void)state;
    check_all(cases, COUNT_OF(cases));
}

static void begun_by_the_template_any_tag_closes(void **state)
{
    static const struct expected cases[] = {
        {THINK_FROM_HERE, "", "", ""},
        {THINK_FROM_HERE, " \n", "", ""},
        {THINK_FROM_HERE, "\n a [THINK] b \n[/THINK] c", "a [THINK] b", "c"},
        {THINK_FROM_HERE, "a</thinking>b</think>", "a", "b</think>"},
        {THINK_FROM_HERE, "</think>\n\nb", "", "b"},
        {THINK_FROM_HERE, "\n<thought>a</think>b</thought>c", "a</think>b", "c"},
        {THINK_FROM_HERE, "<think><think>a</think>b", "<think>a", "b"},
        {THINK_FROM_HERE, "<thin", "<thin", ""},
        {THINK_FROM_HERE, "a \xE2\x80\x94 b◁/think▷c", "a \xE2\x80\x94 b", "c"},
    };

    (void)state;
    check_all(cases, COUNT_OF(cases));
}

static void a_closing_tag_that_nothing_opened_is_dropped_if_alone_in_its_line(void **state)
{
    static const struct expected cases[] = {
        {0, "why\n</think>\n\nbecause", "", "why\nbecause"},
        {0, "why\r\n</think>\r\nbecause", "", "why\r\nbecause"},
        {0, "why\n</think>", "", "why\n"},
        {0, "</think>\n\nbecause", "", "because"},
        {0, "\n\n[/THINK]\nbecause", "", "because"},
        {0, " </think>", "", ""},
        {0, "a\n</think>\nb\n</think>\nc", "", "a\nb\n</think>\nc"},
        {0, "a\n</think> b", "", "a\n</think> b"},
        {0, "a </think>\nb", "", "a </think>\nb"},
        {0, " </think> b\n</think>\nc", "", " </think> b\nc"},
        {0, "a\n</think", "", "a\n</think"},
        {0, "a\n\n</\n</think>\n", "", "a\n\n</\n"},
        {0, "<think>a</think>b\n</think>\nc", "a", "b\n</think>\nc"},
    };

    (void)state;
    check_all(cases, COUNT_OF(cases));
}

/* A client that reads along does not wait for more than may be a tag. */
static void only_a_possible_tag_is_held_back(void **state)
{
    struct split s = {.reasoning = {.limit = 0}};

    (void)state;
    feed(&s, STR("<think>one </"));
    assert_string_equal(buf_cstr(&s.reasoning), "one");
    feed(&s, STR("two"));
    assert_string_equal(buf_cstr(&s.reasoning), "one </two");
    feed(&s, STR("</think>three"));
    assert_string_equal(buf_cstr(&s.text), "three");
    assert_int_equal(s.think.state, THINK_OFF);
    fini(&s);
}

static void text_without_tags_is_not_held_back(void **state)
{
    struct split s = {.reasoning = {.limit = 0}};

    (void)state;
    feed(&s, STR("one <think> \n"));
    assert_string_equal(buf_cstr(&s.text), "one <think> \n");
    feed(&s, STR("</th"));
    assert_string_equal(buf_cstr(&s.text), "one <think> \n");
    feed(&s, STR("ree"));
    assert_string_equal(buf_cstr(&s.text), "one <think> \n</three");
    fini(&s);
}

/* Each would take hours if a byte were looked at again with every one that follows. */
static void megabytes_of_almost_tags_take_one_look(void **state)
{
    static const char *const pieces[] = {"<",       "</thin",  " ",        "\n",
                                         "[/THINK", "◁/think", "</think> "};
    enum { BYTES = 1 << 21 };

    (void)state;
    for (size_t i = 0; i < 2 * COUNT_OF(pieces); i++) {
        struct split s = {.think = {.start = i % 2 == 0 ? THINK_FROM_TAG : THINK_FROM_HERE}};
        struct buf all = {.limit = 0};

        buf_c(&all, i % 2 == 0 ? "" : "x");
        while (all.len < BYTES)
            buf_c(&all, pieces[i / 2]);
        for (size_t at = 0; at < all.len; at++)
            think_feed(&s.think, str_from(all.p + at, 1), &s.reasoning, &s.text);
        think_end(&s.think, &s.reasoning, &s.text);
        assert_true(s.reasoning.len + s.text.len <= all.len);
        buf_fini(&all);
        fini(&s);
    }
}

static void every_row_of_the_table_opens_and_closes(void **state)
{
    static const struct think_tag rows[] = {
#define THINK_TAG(open, close) {STR_INIT(open), STR_INIT(close)},
#include "text/think_tag.def"
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf plain = {.limit = 0};
        struct expected e = {THINK_FROM_TAG, NULL, "a", "b"};

        buf_append(&plain, rows[i].open);
        buf_c(&plain, " a ");
        buf_append(&plain, rows[i].close);
        buf_c(&plain, "\nb");
        e.plain = buf_cstr(&plain);
        check(&e);
        e.start = THINK_FROM_HERE;
        check(&e);
        e.plain += rows[i].open.len;
        check(&e);
        buf_fini(&plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_hold_in_any_cutting),
        cmocka_unit_test(reasoning_and_answer_are_told_apart_in_any_cutting),
        cmocka_unit_test(only_the_tag_of_the_one_that_opened_closes),
        cmocka_unit_test(begun_by_the_template_any_tag_closes),
        cmocka_unit_test(a_closing_tag_that_nothing_opened_is_dropped_if_alone_in_its_line),
        cmocka_unit_test(only_a_possible_tag_is_held_back),
        cmocka_unit_test(text_without_tags_is_not_held_back),
        cmocka_unit_test(megabytes_of_almost_tags_take_one_look),
        cmocka_unit_test(every_row_of_the_table_opens_and_closes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
