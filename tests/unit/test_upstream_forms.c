/* test_upstream_forms.c -- every form of answer that upstreams are known to send
 * is read as EXPECT.json says, and the events that come of it keep all promises.
 *
 * The events depend on the bytes only, not on the pieces in which they arrive:
 * so what is checked of the uncut body holds for every cutting that gives the
 * same bytes out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/event_check.h"
#include "lib/round_run.h"

struct form {
    const char *file;
    json_t *expect; /* its entry in EXPECT.json */
};

static bool is_tool_call_without_id(json_t *expected)
{
    return json_is_null(json_object_get(expected, "id"));
}

/* ---- the reading */

static const char *member(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

static void check_text(const struct form *f, json_t *response, const char *key,
                       const char *part_type)
{
    char *text = response_text(response, part_type);

    assert_string_equal(text, member(f->expect, key));
    free(text);
}

static void check_calls(const struct form *f, json_t *response)
{
    json_t *calls = response_calls(response), *expected = json_object_get(f->expect, "tool_calls");

    assert_int_equal(json_array_size(calls), json_array_size(expected));
    for (size_t i = 0; i < json_array_size(calls); i++) {
        json_t *call = json_array_get(calls, i), *want = json_array_get(expected, i);

        assert_string_equal(member(call, "name"), member(want, "name"));
        assert_string_equal(member(call, "arguments"), member(want, "arguments"));
        if (is_tool_call_without_id(want))
            assert_int_equal(strlen(member(call, "call_id")), strlen("call_") + ID_CALL_CHARS);
        else
            assert_string_equal(member(call, "call_id"), member(want, "id"));
    }
    json_decref(calls);
}

static json_int_t number(json_t *object, const char *details, const char *key)
{
    if (details != NULL)
        object = json_object_get(object, details);
    return json_integer_value(json_object_get(object, key));
}

static void check_usage(const struct form *f, json_t *response)
{
    json_t *got = json_object_get(response, "usage"), *want = json_object_get(f->expect, "usage");

    assert_true(json_is_object(got)); /* of zeros when the upstream counted nothing */
    assert_int_equal(number(got, NULL, "input_tokens"), number(want, NULL, "input"));
    assert_int_equal(number(got, NULL, "output_tokens"), number(want, NULL, "output"));
    assert_int_equal(number(got, "input_tokens_details", "cached_tokens"),
                     number(want, NULL, "cached"));
    if (number(want, NULL, "reasoning") == 0) /* the deltas are counted */
        assert_in_range(number(got, "output_tokens_details", "reasoning_tokens"), 0,
                        number(want, NULL, "output"));
    else
        assert_int_equal(number(got, "output_tokens_details", "reasoning_tokens"),
                         number(want, NULL, "reasoning"));
}

static void check_reading(const struct form *f, json_t *response, const char *reasoning_part)
{
    assert_string_equal(member(response, "status"), member(f->expect, "terminal"));
    check_text(f, response, "text", "output_text");
    check_text(f, response, "refusal", "refusal");
    if (reasoning_part != NULL)
        check_text(f, response, "reasoning", reasoning_part);
    check_calls(f, response);
    check_usage(f, response);
    assert_non_null(
        strstr(member(json_object_get(response, "error"), "message"), member(f->expect, "error")));
}

/* ---- the runs */

static struct round_conf conf_of(const struct form *f)
{
    json_t *option = json_object_get(f->expect, "option");

    bool think_tags = json_is_true(json_object_get(option, "think_tags"));

    return (struct round_conf){.text = {.think = think_tags ? MODEL_THINK_ON : MODEL_THINK_OFF}};
}

static void assert_same_bytes(str got, str expected)
{
    assert_int_equal(got.len, expected.len);
    assert_memory_equal(got.p, expected.p, expected.len);
}

static void assert_good_stream(const struct round_result *r)
{
    const char *what = event_check(buf_str(&r->events));

    if (what != NULL)
        fail_msg("%s in\n%.*s", what, STR_ARG(buf_str(&r->events)));
}

/* Cut anywhere, the same events come out. */
static void check_cuttings(const struct round_conf *conf, str body, str expected)
{
    struct round_result r;

    for (size_t at = 0; at <= body.len; at++) {
        round_run(conf, body, at == 0 ? BYTE_BY_BYTE : CUT_AT(at), true, &r);
        assert_same_bytes(buf_str(&r.events), expected);
        round_result_fini(&r);
    }
}

/* Knowing a chunk by the one before changes nothing. */
static void check_without_memo(struct round_conf conf, str body, str expected)
{
    struct round_result r;

    conf.forgetful = true;
    round_run(&conf, body, BYTE_BY_BYTE, true, &r);
    assert_same_bytes(buf_str(&r.events), expected);
    round_result_fini(&r);
}

/* Not streamed, the answer is the response of the last event. */
static void check_not_streamed(const struct round_conf *conf, str body, str events)
{
    struct round_result r;

    round_run(conf, body, UNCUT, false, &r);
    assert_int_equal(r.events.len, 0);
    assert_same_bytes(buf_str(&r.object), event_response(events));
    round_result_fini(&r);
}

static void check_reasoning_mode(const struct form *f, str body, enum reasoning_mode mode,
                                 const char *part_type)
{
    struct round_conf conf = conf_of(f);
    struct round_result r;
    json_t *response;

    conf.reasoning = mode;
    round_run(&conf, body, UNCUT, true, &r);
    assert_good_stream(&r);
    response = round_response(&r);
    check_reading(f, response, part_type);
    json_decref(response);
    check_not_streamed(&conf, body, buf_str(&r.events));
    round_result_fini(&r);
}

static const char *upstream_file(const char *file)
{
    static char name[256];

    snprintf(name, sizeof(name), "upstream/%s", file);
    return name;
}

static void check_form(void **state)
{
    const struct form *f = *state;
    struct buf body = fixture_read(upstream_file(f->file));
    str bytes = buf_str(&body);
    struct round_conf conf = conf_of(f);
    struct round_result r;

    check_reasoning_mode(f, bytes, REASONING_TEXT, "reasoning_text");
    check_reasoning_mode(f, bytes, REASONING_SUMMARY, "summary_text");
    check_reasoning_mode(f, bytes, REASONING_NONE, NULL);
    round_run(&conf, bytes, UNCUT, true, &r);
    check_cuttings(&conf, bytes, buf_str(&r.events));
    check_without_memo(conf, bytes, buf_str(&r.events));
    round_result_fini(&r);
    buf_fini(&body);
}

static size_t count_files(const char *suffix)
{
    char **names = fixture_list("upstream", suffix);
    size_t n = 0;

    while (names[n] != NULL)
        n++;
    fixture_list_free(names);
    return n;
}

static void every_file_has_its_reading(void **state)
{
    /* EXPECT.json itself is one of them */
    assert_int_equal(count_files(".sse") + count_files(".json") - 1,
                     json_object_size(*(json_t *const *)*state));
}

int main(void)
{
    json_t *expect = json_load_file(fixture_path("upstream/EXPECT.json"), 0, NULL), *entry;
    size_t n = json_object_size(expect), i = 0;
    struct CMUnitTest *tests = calloc(n + 1, sizeof(*tests));
    struct form *forms = calloc(n + 1, sizeof(*forms));
    const char *file;
    int failed = 1;

    if (tests != NULL && forms != NULL) {
        json_object_foreach(expect, file, entry)
        {
            forms[i] = (struct form){file, entry};
            tests[i] = (struct CMUnitTest){file, check_form, NULL, NULL, &forms[i]};
            i++;
        }
        tests[i] = (struct CMUnitTest){"every_file_has_its_reading", every_file_has_its_reading,
                                       NULL, NULL, &expect};
        failed = _cmocka_run_group_tests("upstream forms", tests, n + 1, NULL, NULL);
    }
    json_decref(expect);
    free(forms);
    free(tests);
    return failed;
}
