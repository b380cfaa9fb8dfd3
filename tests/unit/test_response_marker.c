/* test_response_marker.c -- markers in an answer become links, with citations that point at them. */
#include "lib/test.h"

#include <jansson.h>

#include "base/utf8.h"
#include "json/json_text.h"
#include "lib/delta_run.h"
#include "lib/event_check.h"
#include "lib/legacy_check.h"

#define M(what) "\xE3\x80\x90" what "\xE3\x80\x91"
#define DAGGER  "\xE2\x80\xA0"

/* Page 1 and 2; 1 has lines up to 9. */
static bool find(void *arg, const struct cite_marker *marker, struct citation *ret)
{
    (void)arg;
    if (marker->cursor == 1 && marker->last_line < 10)
        *ret =
            (struct citation){.url = STR("https://www.a.org/x_(y)"), .title = STR("A \\\"a\\\"")};
    else if (marker->cursor == 2)
        *ret = (struct citation){.url = STR("https://b.org/\\u00e9"), .title = STR("B")};
    else
        return false;
    return true;
}

static const struct response_sources sources = {find, NULL};

#define LINK_A "([a.org](https://www.a.org/x_%28y%29))"
#define LINK_B "([b.org](https://b.org/%c3%a9))"

static const struct {
    const char *said, *shown; /* escaped */
    const char *cited;        /* the hosts, each followed by a space */
} cases[] = {
    {"It is 3" M("1" DAGGER "L5-L9") ".", "It is 3 " LINK_A ".", "a.org "},
    {"It is 3 " M("1" DAGGER "L5") ".", "It is 3 " LINK_A ".", "a.org "},
    {M("2"), LINK_B, "b.org "},
    {"a" M("1") M("2") M("1"), "a " LINK_A " " LINK_B " " LINK_A, "a.org b.org a.org "},
    {"\\n" M("1") "\\n\\t" M("2"), "\\n" LINK_A "\\n\\t" LINK_B, "a.org b.org "},
    {"\\\\n" M("1"), "\\\\n " LINK_A, "a.org "},
    {"\xC3\xA9\\ud83d\\ude00\xF0\x9F\x98\x80" M("1") "\xC3\xA9" M("2") "\xC3\xA9",
     "\xC3\xA9\\ud83d\\ude00\xF0\x9F\x98\x80 " LINK_A "\xC3\xA9 " LINK_B "\xC3\xA9",
     "a.org b.org "},
    {"\\u30101\\u2020source\\u3011", LINK_A, "a.org "},
    /* what means nothing is text */
    {"a" M("3") M("1" DAGGER "L10") ".", "a" M("3") M("1" DAGGER "L10") ".", ""},
    {"a" M("3") M("2"), "a" M("3") " " LINK_B, "b.org "},
    {"\xE3\x80\x90"
     "1" DAGGER "L5",
     "\xE3\x80\x90"
     "1" DAGGER "L5",
     ""},
    {"a \xE3\x80\x90", "a \xE3\x80\x90", ""},
    {"\xE3\x80\x90" M("1"), "\xE3\x80\x90 " LINK_A, "a.org "},
    {"none", "none", ""},
};

/* The text of the characters from start to end. */
static str characters(str text, json_int_t start, json_int_t end)
{
    for (; start > 0; start--, end--)
        text = str_skip(text, utf8_char(text));
    for (size_t len = 0;; len += utf8_char(str_skip(text, len))) {
        if (end-- == 0)
            return str_from(text.p, len);
    }
}

/* The link each citation spans is named by the host of its URL. */
static void check_citations(json_t *part, const char *cited)
{
    str text = str_from_c(json_string_value(json_object_get(part, "text")));
    struct buf hosts = {.limit = 0};
    json_t *citation;
    size_t i;

    json_array_foreach(json_object_get(part, "annotations"), i, citation)
    {
        str link = characters(text, json_integer_value(json_object_get(citation, "start_index")),
                              json_integer_value(json_object_get(citation, "end_index")));
        str url = str_from_c(json_string_value(json_object_get(citation, "url")));
        str host = str_from(link.p + 2, str_find(link, STR("](")) - 2);

        assert_true(str_starts_with(link, STR("([")) && str_ends_with(link, STR("))")));
        assert_true(str_find(url, host) < url.len);
        buf_append(&hosts, host);
        buf_char(&hosts, ' ');
    }
    assert_str_c(buf_str(&hosts), cited);
    buf_fini(&hosts);
}

static json_t *first_part(const struct delta_result *r)
{
    json_t *response = json_loadb(r->object.p, r->object.len, 0, NULL);
    json_t *item = json_array_get(json_object_get(response, "output"), 0);
    json_t *part = json_incref(json_array_get(json_object_get(item, "content"), 0));

    json_decref(response);
    return part;
}

static void check_text(const struct delta_result *r, const char *shown, const char *cited)
{
    json_t *part = first_part(r);
    struct buf plain = {.limit = 0};

    json_text_decode(str_from_c(shown), &plain);
    assert_str_c(buf_str(&plain), json_string_value(json_object_get(part, "text")));
    check_citations(part, cited);
    buf_fini(&plain);
    json_decref(part);
}

/* With and without a stream; the stream is faultless. */
static void run(const struct response_conf *conf, const struct delta *deltas, size_t n,
                struct delta_result *ret)
{
    const struct delta_round round = {deltas, n, FINISH_STOP, false, false};
    bool is_legacy = conf->dialect == RESPONSE_DIALECT_ORS;
    struct response_conf kept = *conf;
    struct delta_result plain;
    const char *what;

    kept.keeps_cuts = true;
    delta_run(&kept, &round, 1, true, ret);
    delta_run(conf, &round, 1, false, &plain);
    what = (is_legacy ? legacy_check : event_check)(buf_str(&ret->events));
    if (what != NULL)
        fail_msg("%s in\n%.*s", what, STR_ARG(buf_str(&ret->events)));
    if (ret->replay_fault != NULL)
        fail_msg("%s: %.*s", ret->replay_fault, STR_ARG(buf_str(&ret->events)));
    assert_str_eq(buf_str(&plain.object), buf_str(&ret->object));
    delta_result_fini(&plain);
}

static const struct response_conf with_sources = {.sources = &sources};

/* Deltas end between characters, and between escapes. */
static bool is_inside(const char *text, size_t at)
{
    if (((unsigned char)text[at] & 0xC0) == 0x80)
        return true;
    for (size_t i = at < 12 ? 0 : at - 12; i < at; i++) {
        if (text[i] == '\\')
            return true;
    }
    return false;
}

static void markers_become_links_in_any_cutting(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        str said = str_from_c(cases[i].said);

        for (size_t at = 0; at < said.len; at++) {
            const struct delta deltas[] = {
                {.kind = DELTA_TEXT, .text = str_from(said.p, at)},
                {.kind = DELTA_TEXT, .text = str_skip(said, at)},
            };
            struct delta_result r;

            if (is_inside(said.p, at))
                continue;
            run(&with_sources, at == 0 ? deltas + 1 : deltas, at == 0 ? 1 : 2, &r);
            check_text(&r, cases[i].shown, cases[i].cited);
            delta_result_fini(&r);
        }
    }
}

static void markers_become_links_character_by_character(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct delta deltas[64];
        struct delta_result r;
        str rest = str_from_c(cases[i].said);
        size_t n = 0;

        while (rest.len > 0) {
            size_t len = 1;

            while (len < rest.len && is_inside(rest.p, len))
                len++;
            deltas[n++] = (struct delta){.kind = DELTA_TEXT, .text = str_from(rest.p, len)};
            rest = str_skip(rest, len);
        }
        run(&with_sources, deltas, n, &r);
        check_text(&r, cases[i].shown, cases[i].cited);
        delta_result_fini(&r);
    }
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

static void without_sources_markers_are_text(void **state)
{
    const struct response_conf none = {.sources = NULL};
    const struct delta d = {.kind = DELTA_TEXT, .text = STR("a" M("1"))};
    struct delta_result r;

    (void)state;
    run(&none, &d, 1, &r);
    check_text(&r, "a" M("1"), "");
    delta_result_fini(&r);
}

static void only_what_may_become_a_marker_waits(void **state)
{
    const struct delta deltas[] = {
        {.kind = DELTA_TEXT, .text = STR("a \xE3\x80\x90")},
        {.kind = DELTA_TEXT, .text = STR("1")},
        {.kind = DELTA_TEXT, .text = STR("x")},
    };
    struct delta_result r;

    (void)state;
    run(&with_sources, deltas, COUNT_OF(deltas), &r);
    assert_int_equal(count(&r.events, "event: response.output_text.delta"), 2);
    assert_int_equal(count(&r.events, "\"delta\":\"a \""), 1);
    assert_int_equal(count(&r.events, "\"delta\":\"\xE3\x80\x90"
                                      "1x\""),
                     1);
    delta_result_fini(&r);
}

static void other_texts_are_left_alone(void **state)
{
    const struct delta deltas[] = {
        {.kind = DELTA_REASONING, .text = STR("why" M("1"))},
        {.kind = DELTA_TEXT,
         .text = STR("t\xE3\x80\x90"
                     "1")},
        {.kind = DELTA_REFUSAL, .text = STR("\xE3\x80\x91 no" M("1"))},
        {.kind = DELTA_CALL, .name = STR("f"), .text = STR(M("1"))},
    };
    struct delta_result r;

    (void)state;
    run(&with_sources, deltas, COUNT_OF(deltas), &r);
    assert_int_equal(count(&r.events, "annotation.added"), 0);
    assert_int_equal(count(&r.events, "\"delta\":\"why" M("1")), 1);
    assert_int_equal(count(&r.events, "\"delta\":\"t\""), 1);
    assert_int_equal(count(&r.events, "\"delta\":\"\xE3\x80\x90"
                                      "1\""),
                     1);
    assert_int_equal(count(&r.events, "\"delta\":\"\xE3\x80\x91 no" M("1")), 1);
    assert_int_equal(count(&r.events, "\"delta\":\"" M("1")), 1);
    delta_result_fini(&r);
}

/* Reasoning that nobody sees does not end the text. */
static void hidden_reasoning_may_stand_inside_a_marker(void **state)
{
    const struct response_conf conf = {.sources = &sources, .reasoning = REASONING_NONE};
    const struct delta deltas[] = {
        {.kind = DELTA_TEXT, .text = STR("\xE3\x80\x90")},
        {.kind = DELTA_REASONING, .text = STR("why")},
        {.kind = DELTA_TEXT, .text = STR("1\xE3\x80\x91")},
    };
    struct delta_result r;

    (void)state;
    run(&conf, deltas, COUNT_OF(deltas), &r);
    check_text(&r, LINK_A, "a.org ");
    delta_result_fini(&r);
}

#define PROBABLE(token) "{\"token\":\"" token "\",\"logprob\":-1,\"bytes\":[],\"top_logprobs\":[]}"

static void no_logprob_is_lost(void **state)
{
    const struct delta deltas[] = {
        {.kind = DELTA_TEXT, .text = STR("\xE3\x80\x90"), .logprobs = STR(PROBABLE("a"))},
        {.kind = DELTA_TEXT, .text = STR("1"), .logprobs = STR(PROBABLE("b"))},
        {.kind = DELTA_TEXT, .text = STR("\xE3\x80\x91."), .logprobs = STR(PROBABLE("c"))},
        {.kind = DELTA_TEXT, .text = STR(" \xE3\x80\x90"), .logprobs = STR(PROBABLE("d"))},
        {.kind = DELTA_TEXT, .text = STR("2"), .logprobs = STR(PROBABLE("e"))},
    };
    struct delta_result r;
    json_t *part, *logprobs;

    (void)state;
    run(&with_sources, deltas, COUNT_OF(deltas), &r);
    part = first_part(&r);
    logprobs = json_object_get(part, "logprobs");
    assert_int_equal(json_array_size(logprobs), COUNT_OF(deltas));
    assert_string_equal(json_string_value(json_object_get(json_array_get(logprobs, 4), "token")),
                        "e");
    json_decref(part);
    delta_result_fini(&r);
}

/* What the limit does not allow is neither shown nor cited outside the text. */
static void links_count_for_the_limit_of_the_output(void **state)
{
    const struct delta deltas[] = {
        {.kind = DELTA_TEXT, .text = STR("a" M("1"))},
        {.kind = DELTA_TEXT, .text = STR(M("2") "\xE3\x80\x90")},
        {.kind = DELTA_TEXT, .text = STR("b")},
    };
    size_t n_failed = 0;

    (void)state;
    for (size_t limit = 1; limit < 4000; limit += 7) {
        const struct response_conf conf = {.sources = &sources, .max_output_bytes = limit};
        struct delta_result r;

        run(&conf, deltas, COUNT_OF(deltas), &r);
        n_failed += count(&r.events, "event: response.failed") > 0;
        delta_result_fini(&r);
    }
    assert_in_range(n_failed, 10, 500);
}

static void the_legacy_dialect_has_the_links_in_its_text(void **state)
{
    const struct response_conf conf = {.sources = &sources, .dialect = RESPONSE_DIALECT_ORS};
    const struct delta deltas[] = {
        {.kind = DELTA_TEXT, .text = STR("a \xE3\x80\x90")},
        {.kind = DELTA_TEXT, .text = STR("1\xE3\x80\x91\xE3\x80\x90")},
    };
    struct delta_result r;

    (void)state;
    run(&conf, deltas, COUNT_OF(deltas), &r);
    assert_int_equal(count(&r.events, LINK_A), 2); /* its delta, and the whole text */
    assert_int_equal(count(&r.events, "\"delta\":\"\xE3\x80\x90\""), 1);
    delta_result_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markers_become_links_in_any_cutting),
        cmocka_unit_test(markers_become_links_character_by_character),
        cmocka_unit_test(without_sources_markers_are_text),
        cmocka_unit_test(only_what_may_become_a_marker_waits),
        cmocka_unit_test(other_texts_are_left_alone),
        cmocka_unit_test(hidden_reasoning_may_stand_inside_a_marker),
        cmocka_unit_test(no_logprob_is_lost),
        cmocka_unit_test(links_count_for_the_limit_of_the_output),
        cmocka_unit_test(the_legacy_dialect_has_the_links_in_its_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
