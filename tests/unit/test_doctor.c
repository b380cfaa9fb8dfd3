/* test_doctor.c -- what is read out of a server's answers, and what follows from them. */
#include "lib/fixture.h"
#include "lib/test.h"

#include "cli/doctor_judge.h"
#include "cli/doctor_question.h"
#include "cli/doctor_write.h"
#include "json/json_read.h"

/* ---- answers */

#define MESSAGE(members)                                                                           \
    "{\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\"," members                      \
    "},\"finish_reason\":\"stop\"}]}"
#define TEXT(text) MESSAGE("\"content\":\"" text "\"")
#define CALLED(name, arguments)                                                                    \
    MESSAGE("\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":{"  \
            "\"name\":\"" name "\",\"arguments\":\"" arguments "\"}}]")
#define WEATHER  CALLED("get_weather", "{}")
#define DELTA(m) "data: {\"choices\":[{\"index\":0,\"delta\":{" m "},\"finish_reason\":null}]}\n\n"
#define END      "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define DONE     "data: [DONE]\n\n"
#define USAGE    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\n"
#define HI       DELTA("\"content\":\"Hi\"")

struct said {
    int status;       /* 0: 200 */
    const char *body; /* NULL: nothing was asked */
    uint64_t ms;
};

static const struct doctor_answer *read_said(const struct said *s, struct doctor_answer *a)
{
    if (s->body == NULL) {
        *a = (struct doctor_answer){.status = 0};
        return NULL;
    }
    doctor_read(s->status == 0 ? 200 : s->status, str_from_c(s->body), a);
    a->total_ms = s->ms;
    return a;
}

static bool is_seen[DOCTOR_FINDINGS]; /* by any of the tests below */

static void check_found(const struct doctor_findings *f, const int *ids, const char *detail)
{
    size_t n = 0;

    for (; ids[n] != -1; n++) {
        assert_true(n < f->n);
        assert_int_equal(f->v[n].id, ids[n]);
        is_seen[ids[n]] = true;
    }
    assert_int_equal(f->n, n);
    if (detail != NULL)
        assert_string_equal(f->v[0].detail, detail);
}

enum judge {
    STREAM,
    USAGES,
    TOKENS,
    ROLES,
    TOOL,
    RESULT,
    PARALLEL,
    CHOICE,
    ARGUMENTS,
    SCHEMA,
    THINKING,
    EFFORT,
    VISION,
    FILES,
    CACHE
};

struct judgement {
    enum judge judge;
    struct said said[4];
    const char *detail; /* of the first finding; NULL: whatever it is */
    int found[3];       /* ended by -1 */
};

static void judge(enum judge which, const struct doctor_answer *const *a, struct doctor_findings *f)
{
    switch (which) {
    case STREAM:
        doctor_judge_stream(a[0], f);
        return;
    case USAGES:
        doctor_judge_usage(a[0], a[1], f);
        return;
    case TOKENS:
        doctor_judge_tokens(a[0], a[1], f);
        return;
    case ROLES:
        doctor_judge_roles(a[0], a[1], a[2], a[3], f);
        return;
    case TOOL:
        doctor_judge_tool(a[0], TEXT_CALLS_NONE, f);
        return;
    case RESULT:
        doctor_judge_result(a[0], a[1], a[2], f);
        return;
    case PARALLEL:
        doctor_judge_parallel(a[0], a[1], f);
        return;
    case CHOICE:
        doctor_judge_choice(a[0], a[1], f);
        return;
    case ARGUMENTS:
        doctor_judge_arguments(a[0], f);
        return;
    case SCHEMA:
        doctor_judge_schema(a[0], f);
        return;
    case THINKING:
        doctor_judge_reasoning(a[0], a[1], f);
        return;
    case EFFORT:
        doctor_judge_effort(a[0], a[1], f);
        return;
    case VISION:
        doctor_judge_vision(a[0], f);
        return;
    case FILES:
        doctor_judge_files(a[0], f);
        return;
    case CACHE:
        doctor_judge_cache(a[0], a[1], f);
        return;
    }
}

static void check_judgement(const struct judgement *j)
{
    struct doctor_answer answers[4];
    const struct doctor_answer *said[4];
    struct doctor_findings f = {.n = 0};

    for (size_t i = 0; i < 4; i++)
        said[i] = read_said(&j->said[i], &answers[i]);
    judge(j->judge, said, &f);
    check_found(&f, j->found, j->detail);
    for (size_t i = 0; i < 4; i++)
        doctor_answer_fini(&answers[i]);
}

#define FOUND(symbol) DOCTOR_FOUND_##symbol
#define REFUSED                                                                                    \
    {                                                                                              \
        400, "{\"error\":{\"message\":\"no\"}}", 0                                                 \
    }
#define FINE                                                                                       \
    {                                                                                              \
        0, TEXT("Hello."), 0                                                                       \
    }

#define CACHED(n)                                                                                                                                                 \
    "{\"choices\":[{\"message\":{\"content\":\"1\"}}],\"usage\":{\"prompt_tokens\":2000,\"completion_tokens\":1,\"prompt_tokens_details\":{\"cached_tokens\":" #n \
    "}}}"
#define THINK(text) "<think>\\nHm.\\n</think>\\n\\n" text
#define LONG                                                                                       \
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"

static void every_answer_leads_to_a_finding(void **state)
{
    static const struct judgement cases[] = {
        {STREAM, {{0, HI HI END DONE, 0}}, "3", {FOUND(STREAM_OK), -1}},
        {STREAM, {{0, HI END, 0}}, NULL, {FOUND(STREAM_NO_DONE), -1}},
        {STREAM, {{0, HI DONE, 0}}, NULL, {FOUND(STREAM_NO_FINISH), -1}},
        {STREAM, {FINE}, NULL, {FOUND(STREAM_WHOLE), -1}},
        {STREAM, {REFUSED}, "no", {FOUND(STREAM_FAILED), -1}},
        {STREAM, {{502, "<html>", 0}}, "status 502", {FOUND(STREAM_FAILED), -1}},
        {STREAM, {{0, "<!doctype html>", 0}}, NULL, {FOUND(STREAM_FOREIGN), -1}},
        {STREAM, {{0, "", 0}}, NULL, {FOUND(STREAM_FOREIGN), -1}},
        {STREAM,
         {{0, "data: {\"error\":\"out of memory\"}\n\n", 0}},
         "out of memory",
         {FOUND(STREAM_FAILED), -1}},
        {STREAM, {{0, END DONE, 0}}, "stop", {FOUND(STREAM_EMPTY), -1}},

        {USAGES, {{0, HI END USAGE DONE, 0}}, NULL, {FOUND(USAGE_OK), -1}},
        {USAGES, {{0, HI END DONE, 0}}, NULL, {FOUND(USAGE_SILENT), -1}},
        {USAGES, {REFUSED, {0, HI END DONE, 0}}, "no", {FOUND(USAGE_REFUSED), -1}},
        {USAGES, {REFUSED, REFUSED}, NULL, {-1}},

        {TOKENS, {FINE, FINE}, NULL, {FOUND(TOKENS_OK), -1}},
        {TOKENS,
         {{0,
           "{\"choices\":[{\"message\":{\"content\":\"" LONG "\"},\"finish_reason\":\"length\"}]}",
           0},
          REFUSED},
         NULL,
         {FOUND(TOKENS_OK), -1}},
        {TOKENS, {REFUSED, FINE}, NULL, {FOUND(TOKENS_OTHER), -1}},
        {TOKENS, {{0, TEXT(LONG), 0}, FINE}, NULL, {FOUND(TOKENS_OTHER), -1}},
        {TOKENS, {{0, TEXT(LONG), 0}, REFUSED}, NULL, {FOUND(TOKENS_NONE), -1}},

        {ROLES, {FINE, {0}, FINE, FINE}, NULL, {FOUND(ROLES_OK), -1}},
        {ROLES, {REFUSED, FINE, REFUSED, FINE}, NULL, {FOUND(ROLES_DEVELOPER), -1}},
        {ROLES, {REFUSED, REFUSED, REFUSED, FINE}, "no", {FOUND(ROLES_USER), -1}},
        {ROLES, {FINE, {0}, REFUSED, REFUSED}, NULL, {FOUND(ROLES_LATE), FOUND(ROLES_ORDER), -1}},

        {TOOL, {{0, WEATHER, 0}}, "get_weather", {FOUND(TOOL_OK), -1}},
        {TOOL, {REFUSED}, "no", {FOUND(TOOL_REFUSED), -1}},
        {TOOL, {FINE}, NULL, {FOUND(TOOL_NOT_CALLED), -1}},
        {TOOL,
         {{0, "{\"choices\":[{\"message\":{\"content\":\"Hm\"},\"finish_reason\":\"length\"}]}",
           0}},
         NULL,
         {FOUND(TOOL_CUT), -1}},
        {TOOL,
         {{0, TEXT("<|channel|>commentary to=functions.get_weather"), 0}},
         NULL,
         {FOUND(TOOL_HARMONY), -1}},
        {TOOL,
         {{0,
           TEXT(
               "<tool_call>\\n{\\\"name\\\": \\\"get_weather\\\", \\\"arguments\\\": {\\\"city\\\": \\\"Paris\\\"}}\\n</tool_call>"),
           0}},
         "hermes",
         {FOUND(TOOL_TEXT), -1}},
        {TOOL,
         {{0,
           TEXT(THINK(
               "<tool_call>\\n{\\\"name\\\": \\\"get_weather\\\", \\\"arguments\\\": {}}\\n</tool_call>")),
           0}},
         "hermes",
         {FOUND(TOOL_TEXT), -1}},
        {TOOL,
         {{0,
           TEXT(
               "<|python_tag|>{\\\"name\\\": \\\"get_weather\\\", \\\"parameters\\\": {\\\"city\\\": \\\"Paris\\\"}}"),
           0}},
         "llama3",
         {FOUND(TOOL_TEXT), -1}},
        {TOOL,
         {{0,
           TEXT(
               "[TOOL_CALLS][{\\\"name\\\": \\\"get_weather\\\", \\\"arguments\\\": {\\\"city\\\": \\\"Paris\\\"}}]"),
           0}},
         "mistral",
         {FOUND(TOOL_TEXT), -1}},
        {TOOL,
         {{0,
           TEXT(
               "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{\\\"city\\\": \\\"Paris\\\"}<|tool_call_end|><|tool_calls_section_end|>"),
           0}},
         "kimi",
         {FOUND(TOOL_TEXT), -1}},
        {TOOL,
         {{0, TEXT("[get_weather(city=\\\"Paris\\\")]"), 0}},
         "pythonic",
         {FOUND(TOOL_TEXT), -1}},

        {RESULT, {{0, TEXT("Hailstones."), 0}}, NULL, {FOUND(RESULT_OK), -1}},
        {RESULT, {{0, WEATHER, 0}}, NULL, {FOUND(RESULT_UNREAD), -1}},
        {RESULT, {REFUSED, FINE}, NULL, {FOUND(RESULT_SHORT_ID), -1}},
        {RESULT, {REFUSED, REFUSED, FINE}, NULL, {FOUND(RESULT_EMPTY), -1}},
        {RESULT, {REFUSED, REFUSED, REFUSED}, "no", {FOUND(RESULT_TEXT), -1}},

        {PARALLEL, {FINE}, NULL, {FOUND(PARALLEL_OK), -1}},
        {PARALLEL, {REFUSED, FINE}, "no", {FOUND(PARALLEL_SINGLE), -1}},
        {PARALLEL, {REFUSED, REFUSED}, NULL, {-1}},

        {CHOICE,
         {{0, WEATHER, 0}, {0, CALLED("get_time", "{}"), 0}},
         NULL,
         {FOUND(CHOICE_FULL), -1}},
        {CHOICE, {{0, WEATHER, 0}, {0, WEATHER, 0}}, NULL, {FOUND(CHOICE_STRINGS), -1}},
        {CHOICE, {{0, WEATHER, 0}, REFUSED}, NULL, {FOUND(CHOICE_STRINGS), -1}},
        {CHOICE, {FINE, REFUSED}, NULL, {FOUND(CHOICE_AUTO), -1}},

        {ARGUMENTS,
         {{0, CALLED("save", "{\\\"path\\\":\\\"a\\\"}"), 0}},
         NULL,
         {FOUND(ARGUMENTS_OK), -1}},
        {ARGUMENTS,
         {{0, CALLED("save", "{\\\"path\\\":\\\"a"), 0}},
         "{\"path\":\"a",
         {FOUND(ARGUMENTS_BROKEN), -1}},
        {ARGUMENTS, {FINE}, NULL, {FOUND(ARGUMENTS_NONE), -1}},

        {SCHEMA,
         {{0, TEXT(THINK("{\\\"city\\\":\\\"Rome\\\",\\\"people\\\":3}")), 0}},
         NULL,
         {FOUND(SCHEMA_OK), -1}},
        {SCHEMA, {FINE}, NULL, {FOUND(SCHEMA_IGNORED), -1}},
        {SCHEMA,
         {{0, TEXT("{\\\"city\\\":3,\\\"people\\\":3}"), 0}},
         NULL,
         {FOUND(SCHEMA_IGNORED), -1}},
        {SCHEMA, {REFUSED}, "no", {FOUND(SCHEMA_REFUSED), -1}},

        {THINKING, {FINE, FINE}, NULL, {FOUND(THINKS_NOT), -1}},
        {THINKING,
         {{0, DELTA("\"reasoning_content\":\"Hm\"") HI END DONE, 0}},
         "reasoning_content",
         {FOUND(THINKS_IN_FIELD), -1}},
        {THINKING,
         {{0, DELTA("\"reasoning\":\"Hm\"") HI END DONE, 0}, REFUSED},
         "reasoning",
         {FOUND(THINKS_IN_FIELD), FOUND(THINKS_REFUSED_BACK), -1}},
        {THINKING,
         {{0, DELTA("\"reasoning\":\"Hm\",\"reasoning_content\":\"Hm\"") HI END DONE, 0}},
         "reasoning_content and reasoning",
         {FOUND(THINKS_IN_FIELD), -1}},
        {THINKING, {{0, TEXT(THINK("9")), 0}}, NULL, {FOUND(THINKS_IN_TAGS), -1}},
        {THINKING, {{0, TEXT("Hm.\\n</think>\\n\\n9"), 0}}, NULL, {FOUND(THINKS_INSIDE), -1}},
        {THINKING,
         {{0, TEXT("<|channel|>analysis<|message|>Hm"), 0}},
         NULL,
         {FOUND(THINKS_HARMONY), -1}},

        {EFFORT, {FINE}, NULL, {FOUND(EFFORT_NOTHING), -1}},
        {EFFORT, {{0, TEXT(THINK("9")), 0}, FINE}, NULL, {FOUND(EFFORT_OFF), -1}},
        {EFFORT,
         {{0, TEXT(THINK("9")), 0}, {0, TEXT(THINK("9")), 0}},
         NULL,
         {FOUND(EFFORT_IGNORED), -1}},
        {EFFORT, {{0, TEXT(THINK("9")), 0}, REFUSED}, "no", {FOUND(EFFORT_REFUSED), -1}},

        {VISION, {{0, TEXT("It is Red."), 0}}, NULL, {FOUND(VISION_SEES), -1}},
        {VISION, {FINE}, NULL, {FOUND(VISION_BLIND), -1}},
        {VISION, {REFUSED}, NULL, {FOUND(VISION_BLIND), -1}},

        {FILES, {{0, TEXT("A zebra."), 0}}, NULL, {FOUND(FILES_READ), -1}},
        {FILES, {REFUSED}, "no", {FOUND(FILES_REFUSED), -1}},
        {FILES, {FINE}, NULL, {FOUND(FILES_IGNORED), -1}},

        {CACHE,
         {{0, CACHED(0), 900}, {0, CACHED(1984), 90}},
         "1984 of 2000",
         {FOUND(CACHE_TOLD), -1}},
        {CACHE,
         {{0, TEXT("Hello."), 900}, {0, TEXT("Hello."), 90}},
         "900 ms, then 90 ms",
         {FOUND(CACHE_FASTER), -1}},
        {CACHE,
         {{0, CACHED(0), 900}, {0, CACHED(0), 880}},
         "900 ms, then 880 ms",
         {FOUND(CACHE_NONE), -1}},
        {CACHE, {{0, CACHED(0), 9}, {0, CACHED(0), 9}}, NULL, {FOUND(CACHE_QUICK), -1}},
        {CACHE, {FINE, REFUSED}, "no", {FOUND(CACHE_FAILED), -1}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_judgement(&cases[i]);
}

static void slots_are_those_of_props(void **state)
{
    static const struct {
        const char *props;
        int found;
    } cases[] = {{"{\"total_slots\":4}", FOUND(SLOTS_TOLD)},
                 {"{\"total_slots\":1}", FOUND(SLOTS_ONE)},
                 {"{}", FOUND(SLOTS_UNKNOWN)},
                 {"nonsense", FOUND(SLOTS_UNKNOWN)},
                 {NULL, FOUND(SLOTS_UNKNOWN)}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const int found[] = {cases[i].found, -1};
        struct doctor_findings f = {.n = 0};

        doctor_judge_slots(str_from_c(cases[i].props), &f);
        check_found(&f, found, NULL);
    }
}

/* What is found by asking alone is in tests/system/doctor.test.mjs. Behind the tests above. */
static void every_finding_is_among_them(void **state)
{
    (void)state;
    for (int i = 0; i < DOCTOR_FINDINGS; i++) {
        const struct doctor_finding_row *row = doctor_finding_row((enum doctor_finding_id)i);

        if (row->check > DOCTOR_CHECK_WINDOW && !is_seen[i])
            fail_msg("nothing leads to \"%s\"", row->says);
        assert_true(row->status != DOCTOR_SET || row->setting[0] != '\0');
        assert_true(row->status != DOCTOR_SET || row->why[0] != '\0');
        assert_true(row->status != DOCTOR_BAD || row->why[0] != '\0');
    }
}

static void the_preferred_form_of_calls_is_taken_if_it_fits(void **state)
{
    struct doctor_answer a;
    struct doctor_findings f = {.n = 0};

    (void)state;
    doctor_read(
        200,
        STR(TEXT(
            "<tool_call>\\n<function=get_weather>\\n<parameter=city>\\nParis\\n</parameter>\\n</function>\\n</tool_call>")),
        &a);
    doctor_judge_tool(&a, TEXT_CALLS_QWEN_CODER, &f);
    doctor_judge_tool(&a, TEXT_CALLS_KIMI, &f);
    assert_string_equal(f.v[0].detail, "qwen-coder");
    assert_string_equal(f.v[1].detail, "hermes");
    doctor_answer_fini(&a);
}

static void a_detail_is_one_short_visible_line(void **state)
{
    struct doctor_findings f = {.n = 0};
    char text[1000];

    (void)state;
    memset(text, '\n', sizeof(text));
    text[3] = 'a';
    text[990] = 'b';
    doctor_find(&f, FOUND(TOOL_OK), str_from(text, sizeof(text)));
    assert_int_equal(strlen(f.v[0].detail), DOCTOR_DETAIL_BYTES - 1);
    assert_int_equal(f.v[0].detail[0], 'a');
    for (size_t i = 0; i < 2 * DOCTOR_MAX_FINDINGS; i++)
        doctor_find(&f, FOUND(TOOL_OK), STR(""));
    assert_int_equal(f.n, DOCTOR_MAX_FINDINGS);
}

/* ---- reading */

static void pieces_of_calls_are_put_together(void **state)
{
    struct doctor_answer a;

    (void)state;
    doctor_read(
        200,
        STR(DELTA(
            "\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\"\"}}]")
                DELTA(
                    "\"tool_calls\":[{\"index\":1,\"function\":{\"name\":\"g\",\"arguments\":{\"b\":1}}}]")
                    DELTA(
                        "\"tool_calls\":[{\"index\":0,\"id\":\"\",\"function\":{\"arguments\":\":1}\"}}]")
                        END DONE),
        &a);
    assert_true(doctor_is_good(&a));
    assert_int_equal(a.n_calls, 2);
    assert_str_c(buf_str(&a.calls[0].arguments), "{\"a\":1}");
    assert_str_c(buf_str(&a.calls[1].arguments), "{\"b\":1}");
    assert_str_c(buf_str(&a.calls[0].id), "c");
    assert_string_equal(a.finish, "stop");
    assert_true(a.is_done);
    doctor_answer_fini(&a);
}

static void errors_are_read_in_every_form(void **state)
{
    static const char *const bodies[] = {"{\"error\":{\"message\":\"no\"}}", "{\"error\":\"no\"}",
                                         "{\"message\":\"no\"}", "{\"detail\":\"no\"}",
                                         "data: {\"error\":{\"message\":\"no\"}}\n\n"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct doctor_answer a;

        doctor_read(400, str_from_c(bodies[i]), &a);
        assert_str_c(buf_str(&a.error), "no");
        assert_true(doctor_is_refused(&a));
        assert_false(doctor_is_good(&a));
        doctor_answer_fini(&a);
    }
}

/* Whatever a server cuts off is read without harm, and says no more than the whole. */
static void answers_cut_anywhere_are_read(void **state)
{
    const char *body = DELTA("\"reasoning_content\":\"Hm\",\"content\":\"\\u00e9\"") DELTA(
        "\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"get_weather\",\"arguments\":\"{}\"}}]")
        END USAGE DONE;

    (void)state;
    for (size_t n = 0; n <= strlen(body); n++) {
        char *copy = exact_copy(str_from(body, n));
        struct doctor_findings f = {.n = 0};
        struct doctor_answer a;

        doctor_read(200, str_from(copy, n), &a);
        doctor_judge_stream(&a, &f);
        doctor_judge_tool(&a, TEXT_CALLS_NONE, &f);
        assert_int_equal(f.n, 2);
        assert_true(a.n_calls <= 1);
        doctor_answer_fini(&a);
        free(copy);
    }
}

/* ---- questions */

static void questions_are_json_with_a_limit(void **state)
{
    (void)state;
    for (int i = 0; i < DOCTOR_QUESTIONS; i++) {
        const enum doctor_question q = (enum doctor_question)i;
        const struct doctor_asking how = {STR("a \"model\""), "max_completion_tokens", i % 2 == 0};
        struct buf body = {.limit = 0};
        const char *field = q == DOCTOR_ASKS_MAX_TOKENS ? "max_tokens" : "max_completion_tokens";
        str text;

        doctor_question_write(q, &how, &body);
        text = buf_str(&body);
        assert_true(jr_is_valid(text));
        assert_str_c(jr_member_string(text, STR("model")), "a \\\"model\\\"");
        assert_in_range(jr_member_int(text, str_from_c(field), 0), 1, 256);
        assert_int_equal(jr_member_int(text, STR("seed"), 0), i % 2 == 0);
        assert_int_equal(jr_type_of(jr_member(text, STR("messages"))), JR_ARRAY);
        buf_fini(&body);
    }
}

/* ---- the file of --write */

static void a_line_is_put_into_a_file_whose_comments_stay(void **state)
{
    static const struct {
        const char *text, *written; /* NULL: refused */
    } cases[] = {
        {"", "{\n  \"model_settings\": [\"m a=\\\"b\"]\n}\n"},
        {"{}\n", "{\n  \"model_settings\": [\"m a=\\\"b\"]\n}\n"},
        {"{ // mine {\n  \"model\": \"x\", /* y */\n}\n",
         "{\n  \"model_settings\": [\"m a=\\\"b\"], // mine {\n  \"model\": \"x\", /* y */\n}\n"},
        {"// {\n{\"model_settings\": [ // all\n \"* c=d\",],}",
         "// {\n{\"model_settings\": [\"m a=\\\"b\",  // all\n \"* c=d\",],}"},
        {"{\"model_settings\": [/* none */]}", "{\"model_settings\": [\"m a=\\\"b\"/* none */]}"},
        {"{\"model_settings\": \"* c=d\"}", NULL},
        {"[]", NULL},
        {"{\"model\": ", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf out = {.limit = 0};

        assert_int_equal(doctor_write_line(str_from_c(cases[i].text), STR("m a=\"b"), &out),
                         cases[i].written != NULL);
        assert_string_equal(buf_cstr(&out), cases[i].written == NULL ? "" : cases[i].written);
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_leads_to_a_finding),
        cmocka_unit_test(slots_are_those_of_props),
        cmocka_unit_test(every_finding_is_among_them),
        cmocka_unit_test(the_preferred_form_of_calls_is_taken_if_it_fits),
        cmocka_unit_test(a_detail_is_one_short_visible_line),
        cmocka_unit_test(pieces_of_calls_are_put_together),
        cmocka_unit_test(errors_are_read_in_every_form),
        cmocka_unit_test(answers_cut_anywhere_are_read),
        cmocka_unit_test(questions_are_json_with_a_limit),
        cmocka_unit_test(a_line_is_put_into_a_file_whose_comments_stay),
    };

    return cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
}
