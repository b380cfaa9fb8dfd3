/* test_harmony.c -- what the vectors of the contract leave open about reading Harmony: repairs in
 * odd places, limits, and how soon and how cheaply content is passed on. */
#include "unit/harmony_fixture.h"

#define CALL(text)  "<|channel|>commentary to=functions.f json<|message|>" text "<|call|>"
#define FINAL(text) "<|channel|>final<|message|>" text
#define ANALYSIS    "<|channel|>analysis<|message|>t<|end|>"
#define SAID        "analysis [end] t\n"

static const char *const functions[] = {"f", "get_weather", NULL};

static const struct {
    const char *text, *messages, *warnings;
} cases[] = {
    /* Headers. */
    {"<|channel|> analysis<|message|>t<|end|>", SAID, ""},
    {"<|channel|>to=functions.f<|message|>{}", "no channel to=functions.f [eos] {}\n", ""},
    {"<|channel|>final <|constrain|> json<|message|>1", "final json [eos] 1\n", ""},
    {"assistant:bot<|channel|>final<|message|>1", "final [eos] 1\n", ""},
    {"<|start|><|channel|>final<|message|>1", "final [eos] 1\n", ""},
    {"<|channel|>analysis functions.f<|message|>{}", "analysis to=functions.f [eos] {}\n", ""},
    {"<|channel|>commentary to=all<|message|>1", "commentary [eos] 1\n", ""},
    {"<|channel|>commentary to=fjson<|message|>{}", "commentary to=f json [eos] {}\n", ""},
    {"<|channel|>commentary to=gjson<|message|>{}", "commentary to=gjson [eos] {}\n", ""},
    {"<|channel|>final_answer<|message|>1", "final [eos] 1\n", "channel repaired\n"},
    {"<|channel|>finally<|message|>1", "other [eos] 1\n", ""},
    {"<|channel|>\xFF to=a\xFE<|message|>1", "other to=a\xEF\xBF\xBD [eos] 1\n", ""},

    /* The end of the turn. */
    {"<|message|>1<|return|>" FINAL("2"), "no channel [return] 1\n", ""},
    {CALL("{}") "<|endoftext|>" FINAL("2"), "commentary to=functions.f json [call] {}\n", ""},
    {FINAL("1<|end|>") "<|start|>user<|end|>" FINAL("2"), "final [end] 1\n",
     "non-assistant author: rest ignored\n"},
    {FINAL("1<|end|>") "<|start|>assis", "final [end] 1\n", "header without <|message|>\n"},

    /* Content: what is no marker there, and what stays when the text ends. */
    {FINAL("a<|start|>assist"), "final [eos] a<|start|>assist\n", ""},
    {FINAL("<|channel|>fin<|channel|><|start|><|end|>"),
     "final [end] <|channel|>fin<|channel|><|start|>\n", ""},
    {FINAL("<<|<|en<<|end|>"), "final [end] <<|<|en<\n", ""},
    {FINAL("\xE2\x82<|end|>") ANALYSIS, "final [end] \xEF\xBF\xBD\n" SAID, "missing start\n"},
    {FINAL("\xE2\x82<b>\xAC"), "final [eos] \xEF\xBF\xBD<b>\xEF\xBF\xBD\n", ""},

    /* Between messages. */
    {ANALYSIS "<|message|>lost<|end|>" ANALYSIS, SAID SAID,
     "stray text dropped: lost\nmissing start\n"},
    {ANALYSIS "assistant<|message|>1", SAID "no channel [eos] 1\n", "missing start\n"},
    {ANALYSIS "assistant final<|message|>1", SAID "final [eos] 1\n", "missing start+channel\n"},
    {ANALYSIS " to=functions.f<|channel|>commentary<|message|>{}",
     SAID "commentary to=functions.f [eos] {}\n", "missing start\n"},
    {ANALYSIS "so assistant to=f<|constrain|>json<|message|>{}",
     SAID "no channel to=f json [eos] {}\n", "stray text dropped: so\nmissing start\n"},
    {ANALYSIS "end\xFF", SAID, "stray text dropped: end\xEF\xBF\xBD\n"},
    {ANALYSIS "<|sta", SAID, ""},

    /* Headers without <|message|>. */
    {"<|start|><|end|>" ANALYSIS, SAID, "missing start\n"},
    {"<|channel|>analysis we use python<|end|>", "analysis [end] we use python\n",
     "header without <|message|>\n"},
    {"<|channel|>final json<|end|>", "final [end] json\n", "header without <|message|>\n"},
    {"<|channel|>final json", "", "header without <|message|>\n"},
    {"<|channel|>final {\"a\":1}", "final [eos] {\"a\":1}\n", "header without <|message|>\n"},
    {"<|channel|>final <|constrain|>json {\"a\":1<|end|>", "", "header without <|message|>\n"},
    {"<|channel|>final to=user <|constrain|>json[1] <|end|>", "final [end] [1]\n",
     "header without <|message|>\n"},
    {"<|channel|>commentary to=functions.g {}<|call|>", "", "header without <|message|>\n"},
    {"<|channel|>commentary to=functions.f []<|call|>", "", "header without <|message|>\n"},
    {"<|channel|>commentary to=functions.f I call {}<|call|>", "", "header without <|message|>\n"},
    {"<|channel|>commentary json to=functions.f<|constrain|>json{\"to\":\"a to=b\"}\n",
     "commentary to=functions.f json [eos] {\"to\":\"a to=b\"}\n", "header without <|message|>\n"},
    {" to=f<|channel|>commentary json {}", "commentary to=f json [eos] {}\n",
     "header without <|message|>\n"},
    {"<|channel|>commentary functions.f {}", "commentary to=functions.f json [eos] {}\n",
     "header without <|message|>\n"},
    {"assistant Hello you<|end|>", "no channel [end] Hello you\n", "header without <|message|>\n"},

    /* What a text opens with. */
    {"assistants help", "no channel [eos] assistants help\n", "bare text\n"},
    {"assist", "no channel [eos] assist\n", "bare text\n"},
    {"assistant", "", "header without <|message|>\n"},
    {" <", "no channel [eos]  <\n", "bare text\n"},
    {"<|", "", ""},
    {"\n <|start|>assistant<|channel|>final<|message|>1", "final [eos] 1\n", ""},
    {"no<|end|>" ANALYSIS, "no channel [end] no\n" SAID, "bare text\nmissing start\n"},
    {"no<|channel|>final<|message|>1", "no channel [implicit] no\nfinal [eos] 1\n",
     "bare text\nmissing start\n"},
};

static void check_case(size_t i, struct cutting cutting)
{
    struct heard t;

    heard_init(&t);
    t.functions = functions;
    feed_pieces(str_from_c(cases[i].text), cutting, heard_feed, &t);
    heard_finish(&t);
    assert_str_c(buf_str(&t.messages), cases[i].messages);
    assert_str_c(buf_str(&t.warnings), cases[i].warnings);
    heard_fini(&t);
}

static void what_models_do_to_the_format_is_repaired_in_any_cutting(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_case(i, UNCUT);
        check_case(i, BYTE_BY_BYTE);
        for (size_t at = 1; at < strlen(cases[i].text); at++)
            check_case(i, CUT_AT(at));
    }
}

static void a_prompt_with_a_header_is_followed_by_content(void **state)
{
    const struct harmony_header header = {.is_assistant = true,
                                          .role = STR_INIT("assistant"),
                                          .channel = HARMONY_COMMENTARY,
                                          .recipient = STR_INIT("functions.f"),
                                          .content_type = STR_INIT("json")};
    struct heard t;

    (void)state;
    heard_init(&t);
    harmony_begin_content(&t.parser, &header);
    assert_true(t.is_open);
    heard_feed(&t, STR("assistant {}<|return|>more"));
    assert_true(harmony_is_done(&t.parser));
    heard_finish(&t);
    assert_str_c(buf_str(&t.messages), "commentary to=functions.f json [return] assistant {}\n");
    heard_fini(&t);
}

static void nothing_is_reported_when_the_turn_is_over(void **state)
{
    struct heard t;

    (void)state;
    heard_init(&t);
    heard_feed(&t, STR(CALL("{}") "<|start|>functions.f to=assistant<|channel|>commentary"));
    assert_false(t.parser.is_cut_off);
    heard_feed(&t, STR("<|message|>"));
    assert_true(t.parser.is_cut_off);
    assert_true(harmony_is_done(&t.parser));
    buf_reset(&t.warnings);
    heard_feed(&t, STR("invented<|end|>" ANALYSIS FINAL("so")));
    heard_finish(&t);
    assert_true(harmony_finish(&t.parser));
    assert_str_c(buf_str(&t.messages), "commentary to=functions.f json [call] {}\n");
    assert_str_c(buf_str(&t.warnings), "");
    heard_fini(&t);
}

/* ---- how content is passed on */

static void a_piece_of_content_is_passed_on_where_it_stands(void **state)
{
    static const char *const pieces[] = {"if (a < b) <p> <|x|> ", "\xE2\x82\xAC and more of it"};
    struct heard t;

    (void)state;
    heard_init(&t);
    heard_feed(&t, STR(FINAL("")));
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        t.content.len = 0;
        heard_feed(&t, str_from_c(pieces[i]));
        assert_int_equal(t.n_pieces, i + 1);
        assert_ptr_equal(t.last_piece.p, pieces[i]);
        assert_str_c(t.last_piece, pieces[i]);
    }
    heard_finish(&t);
    heard_fini(&t);
}

static void only_what_may_be_a_marker_or_half_a_character_waits(void **state)
{
    static const struct {
        const char *piece, *content;
    } steps[] = {{"a<|e", "a"},
                 {"nd", "a"},
                 {"!\xE2\x82", "a<|end!"},
                 {"\xAC", "a<|end!\xE2\x82\xAC"},
                 {"<", "a<|end!\xE2\x82\xAC"},
                 {"b", "a<|end!\xE2\x82\xAC<b"}};
    struct heard t;

    (void)state;
    heard_init(&t);
    heard_feed(&t, STR(FINAL("")));
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        heard_feed(&t, str_from_c(steps[i].piece));
        assert_str_c(buf_str(&t.content), steps[i].content);
    }
    heard_finish(&t);
    heard_fini(&t);
}

static void bare_text_streams_from_its_first_letter(void **state)
{
    struct heard t;

    (void)state;
    heard_init(&t);
    heard_feed(&t, STR("\n T"));
    assert_str_c(buf_str(&t.content), "\n T");
    heard_finish(&t);
    heard_fini(&t);
}

/* ---- limits */

static struct buf repeated(const char *before, const char *one, size_t n)
{
    struct buf text = {.limit = 0};

    buf_c(&text, before);
    while (n-- > 0)
        buf_c(&text, one);
    assert_false(buf_failed(&text));
    return text;
}

static void a_header_of_more_than_4096_bytes_is_given_up(void **state)
{
    static const struct {
        size_t n;
        const char *messages, *warnings;
    } sizes[] = {
        {4096 - 16, "final [end] 1\n", ""}, /* "<|channel|>final" */
        {4096 - 15, SAID, "header too long\nstray text dropped: 1\nmissing start\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct buf text = repeated("<|channel|>final", " ", sizes[i].n);

        buf_c(&text, "<|message|>1<|end|>");
        if (i > 0)
            buf_c(&text, ANALYSIS);
        for (size_t piece = 0; piece < 3; piece++) {
            struct heard t;

            heard_init(&t);
            feed_pieces(buf_str(&text), (struct cutting){piece, piece}, heard_feed, &t);
            heard_finish(&t);
            assert_str_c(buf_str(&t.messages), sizes[i].messages);
            assert_str_c(buf_str(&t.warnings), sizes[i].warnings);
            heard_fini(&t);
        }
        buf_fini(&text);
    }
}

static const struct {
    const char *before, *one;
    bool is_content;
} floods[] = {
    {FINAL(""), "<", true},
    {FINAL(""), "<|", true},
    {FINAL(""), "<|channel|>", true},
    {FINAL(""), "<|start|>assistan", true},
    {FINAL(""), "<|channel|>commentar", true},
    {FINAL(""), "\xE2\x82\xAC", true},
    {FINAL(""), "\xF0\x9F", false},
    {"", "<", true},
    {"", " ", false},
    {"", "<|channel|>", false},
    {"", "<|channel|>final ", false},
    {"", "<|start|>assistant ", false},
    {"", "<|constrain|>", false},
    {"", "<|message|>", false},
    {"to=", "a", false},
    {ANALYSIS, "stray ", false},
    {ANALYSIS, " ", false},
    {ANALYSIS, "assistant ", false},
    {ANALYSIS, "<|message|>", false},
    {ANALYSIS, "x<|constrain|>", false},
};

/* What is kept between two pieces is limited, and no piece is looked at again: so the work is. */
static void a_flood_of_anything_holds_back_little(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(floods); i++) {
        struct buf text =
            repeated(floods[i].before, floods[i].one, 1000000 / strlen(floods[i].one));
        size_t n_markup = strlen(floods[i].before);

        for (size_t piece = 0; piece < 8; piece += 7) {
            struct heard t;

            heard_init(&t);
            t.functions = functions;
            feed_pieces(buf_str(&text), (struct cutting){piece, piece}, heard_feed, &t);
            assert_true(t.max_held <= 4096 + 32);
            assert_true(t.parser.held.cap <= 3 * 4096);
            heard_finish(&t);
            if (floods[i].is_content)
                assert_str_eq(buf_str(&t.content), str_skip(buf_str(&text), n_markup));
            heard_fini(&t);
        }
        buf_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_models_do_to_the_format_is_repaired_in_any_cutting),
        cmocka_unit_test(a_prompt_with_a_header_is_followed_by_content),
        cmocka_unit_test(nothing_is_reported_when_the_turn_is_over),
        cmocka_unit_test(a_piece_of_content_is_passed_on_where_it_stands),
        cmocka_unit_test(only_what_may_be_a_marker_or_half_a_character_waits),
        cmocka_unit_test(bare_text_streams_from_its_first_letter),
        cmocka_unit_test(a_header_of_more_than_4096_bytes_is_given_up),
        cmocka_unit_test(a_flood_of_anything_holds_back_little),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
