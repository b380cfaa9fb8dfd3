/* doctor_judge.c -- one judgement for each check. */
#include "cli/doctor_judge.h"

#include <stdio.h>

#include "config/config_key.h"
#include "json/json_read.h"
#include "text/harmony_marker.h"
#include "text/think.h"

/* ---- findings */

static const struct doctor_finding_row rows[] = {
#define FINDING(symbol, check, status, setting, says, why)                                         \
    {DOCTOR_CHECK_##check, DOCTOR_##status, setting, says, why},
#include "cli/doctor_finding.def"
};

const struct doctor_finding_row *doctor_finding_row(enum doctor_finding_id id)
{
    return &rows[id];
}

void doctor_find(struct doctor_findings *f, enum doctor_finding_id id, str detail)
{
    struct doctor_finding *found;
    size_t n = 0;

    if (f->n == DOCTOR_MAX_FINDINGS)
        return;
    found = &f->v[f->n++];
    *found = (struct doctor_finding){.id = id};
    detail = str_trim(detail);
    for (size_t i = 0; i < detail.len && n + 1 < sizeof(found->detail); i++)
        found->detail[n++] = (char)(detail.p[i] >= ' ' && detail.p[i] < 0x7f ? detail.p[i] : ' ');
}

static void add_found(struct doctor_findings *f, enum doctor_finding_id id)
{
    doctor_find(f, id, STR(""));
}

static void add_number(struct doctor_findings *f, enum doctor_finding_id id, int64_t n)
{
    struct buf text = {.limit = 0};

    buf_int(&text, n);
    doctor_find(f, id, buf_str(&text));
    buf_fini(&text);
}

/* With what the server says of its refusal. */
static void add_refusal(struct doctor_findings *f, enum doctor_finding_id id,
                        const struct doctor_answer *a)
{
    struct buf text = {.limit = 0};

    if (a->error.len > 0) {
        doctor_find(f, id, buf_str(&a->error));
        return;
    }
    buf_c(&text, "status ");
    buf_int(&text, a->status);
    doctor_find(f, id, buf_str(&text));
    buf_fini(&text);
}

static bool is_refused(const struct doctor_answer *a)
{
    return a != NULL && doctor_is_refused(a);
}

static bool is_good(const struct doctor_answer *a)
{
    return a != NULL && doctor_is_good(a);
}

/* ---- streams */

static bool says_nothing(const struct doctor_answer *a)
{
    return a->text.len == 0 && a->reasoning.len == 0 && a->n_calls == 0;
}

void doctor_judge_stream(const struct doctor_answer *a, struct doctor_findings *f)
{
    if (a->status == 200 && !a->is_completion && a->error.len == 0)
        add_found(f, DOCTOR_FOUND_STREAM_FOREIGN);
    else if (!doctor_is_good(a))
        add_refusal(f, DOCTOR_FOUND_STREAM_FAILED, a);
    else if (says_nothing(a))
        doctor_find(f, DOCTOR_FOUND_STREAM_EMPTY, str_from_c(a->finish));
    else if (!a->is_stream)
        add_found(f, DOCTOR_FOUND_STREAM_WHOLE);
    else if (a->finish[0] == '\0')
        add_found(f, DOCTOR_FOUND_STREAM_NO_FINISH);
    else if (!a->is_done)
        add_found(f, DOCTOR_FOUND_STREAM_NO_DONE);
    else
        add_number(f, DOCTOR_FOUND_STREAM_OK, a->n_chunks);
}

void doctor_judge_usage(const struct doctor_answer *with, const struct doctor_answer *without,
                        struct doctor_findings *f)
{
    if (is_refused(with) && is_good(without))
        add_refusal(f, DOCTOR_FOUND_USAGE_REFUSED, with);
    else if (is_good(with))
        add_found(f, with->has_usage ? DOCTOR_FOUND_USAGE_OK : DOCTOR_FOUND_USAGE_SILENT);
}

/* A limit of 8; servers may count a little otherwise. */
static bool is_short(const struct doctor_answer *a)
{
    enum { A_FEW_TOKENS = 16, A_FEW_BYTES = 96 };

    if (!is_good(a))
        return false;
    return strcmp(a->finish, "length") == 0 ||
           (a->output_tokens >= 0 && a->output_tokens <= A_FEW_TOKENS) ||
           a->text.len + a->reasoning.len <= A_FEW_BYTES;
}

void doctor_judge_tokens(const struct doctor_answer *max_tokens,
                         const struct doctor_answer *max_completion, struct doctor_findings *f)
{
    if (is_short(max_tokens))
        add_found(f, DOCTOR_FOUND_TOKENS_OK);
    else
        add_found(f,
                  is_short(max_completion) ? DOCTOR_FOUND_TOKENS_OTHER : DOCTOR_FOUND_TOKENS_NONE);
}

/* ---- messages */

void doctor_judge_roles(const struct doctor_answer *system, const struct doctor_answer *developer,
                        const struct doctor_answer *late, const struct doctor_answer *two_users,
                        struct doctor_findings *f)
{
    const size_t n_before = f->n;

    if (is_refused(system) && is_good(developer))
        add_found(f, DOCTOR_FOUND_ROLES_DEVELOPER);
    else if (is_refused(system))
        add_refusal(f, DOCTOR_FOUND_ROLES_USER, system);
    else if (is_refused(late))
        add_refusal(f, DOCTOR_FOUND_ROLES_LATE, late);
    if (is_refused(two_users))
        add_refusal(f, DOCTOR_FOUND_ROLES_ORDER, two_users);
    if (f->n == n_before)
        add_found(f, DOCTOR_FOUND_ROLES_OK);
}

/* ---- thinking */

/* The text without the thinking that stands in tags before it. */
static void split_thinking(const struct doctor_answer *a, struct buf *reasoning, struct buf *text)
{
    struct think t = {.start = THINK_FROM_TAG};

    think_feed(&t, buf_str(&a->text), reasoning, text);
    think_end(&t, reasoning, text);
    think_fini(&t);
}

static bool has_closing_tag(str text)
{
    static const str tags[] = {
#define THINK_TAG(opening, closing) STR_INIT(closing),
#include "text/think_tag.def"
    };

    for (size_t i = 0; i < COUNT_OF(tags); i++) {
        if (str_find(text, tags[i]) < text.len)
            return true;
    }
    return false;
}

static bool is_harmony(const struct doctor_answer *a)
{
    const str text = buf_str(&a->text);

    return str_find(text, STR(HARMONY_CHANNEL_MARKER)) < text.len;
}

/* In a row: the finding that says how thinking comes; THINKS_NOT when there is none. */
static enum doctor_finding_id thinking_of(const struct doctor_answer *a)
{
    struct buf reasoning = {.limit = 0}, text = {.limit = 0};
    enum doctor_finding_id id = DOCTOR_FOUND_THINKS_NOT;

    split_thinking(a, &reasoning, &text);
    if (a->reasoning_fields != 0)
        id = DOCTOR_FOUND_THINKS_IN_FIELD;
    else if (is_harmony(a))
        id = DOCTOR_FOUND_THINKS_HARMONY;
    else if (reasoning.len > 0)
        id = DOCTOR_FOUND_THINKS_IN_TAGS;
    else if (has_closing_tag(buf_str(&a->text)))
        id = DOCTOR_FOUND_THINKS_INSIDE;
    buf_fini(&reasoning);
    buf_fini(&text);
    return id;
}

bool doctor_thinks(const struct doctor_answer *a)
{
    return is_good(a) && thinking_of(a) != DOCTOR_FOUND_THINKS_NOT;
}

static str field_names(unsigned fields)
{
    if (fields == (DOCTOR_REASONING_CONTENT | DOCTOR_REASONING))
        return STR("reasoning_content and reasoning");
    return fields == DOCTOR_REASONING ? STR("reasoning") : STR("reasoning_content");
}

void doctor_judge_reasoning(const struct doctor_answer *riddle, const struct doctor_answer *back,
                            struct doctor_findings *f)
{
    const enum doctor_finding_id id =
        is_good(riddle) ? thinking_of(riddle) : DOCTOR_FOUND_THINKS_NOT;

    doctor_find(f, id,
                id == DOCTOR_FOUND_THINKS_IN_FIELD ? field_names(riddle->reasoning_fields)
                                                   : STR(""));
    if (is_refused(back))
        add_refusal(f, DOCTOR_FOUND_THINKS_REFUSED_BACK, back);
}

void doctor_judge_effort(const struct doctor_answer *riddle, const struct doctor_answer *off,
                         struct doctor_findings *f)
{
    if (!doctor_thinks(riddle))
        add_found(f, DOCTOR_FOUND_EFFORT_NOTHING);
    else if (is_refused(off))
        add_refusal(f, DOCTOR_FOUND_EFFORT_REFUSED, off);
    else
        add_found(f, doctor_thinks(off) ? DOCTOR_FOUND_EFFORT_IGNORED : DOCTOR_FOUND_EFFORT_OFF);
}

/* ---- tools */

static void on_text(void *arg, str plain)
{
    (void)arg;
    (void)plain;
}

static void on_call(void *arg, const struct text_call *call)
{
    bool *is_found = arg;

    *is_found = *is_found || str_eq(call->name, STR("get_weather"));
}

static bool is_function(void *arg, str name)
{
    (void)arg;
    return str_eq(name, STR("get_weather"));
}

static str parameter_type(void *arg, str function, str parameter)
{
    (void)arg;
    (void)function;
    (void)parameter;
    return STR("string");
}

static bool has_text_call(str text, enum text_call_format format)
{
    static const struct text_calls_handler handler = {on_text, on_call, is_function,
                                                      parameter_type};
    struct text_calls t;
    bool is_found = false;

    if (format == TEXT_CALLS_NONE)
        return false;
    text_calls_init(&t, format, &handler, &is_found);
    if (text_calls_feed(&t, text))
        (void)text_calls_finish(&t);
    text_calls_fini(&t);
    return is_found;
}

static enum text_call_format form_of_call(str text, enum text_call_format preferred)
{
    if (has_text_call(text, preferred))
        return preferred;
    for (int i = TEXT_CALLS_HERMES; i <= TEXT_CALLS_PYTHONIC; i++) {
        if (has_text_call(text, (enum text_call_format)i))
            return (enum text_call_format)i;
    }
    return TEXT_CALLS_NONE;
}

/* Words of the setting: off|auto|hermes|..., in the order of the enum. */
static str word_of_form(enum text_call_format format)
{
    return config_word_at(model_setting_words(MODEL_TEXT_CALLS), (unsigned)format + 1);
}

static void judge_text(const struct doctor_answer *a, enum text_call_format preferred,
                       struct doctor_findings *f)
{
    struct buf reasoning = {.limit = 0}, text = {.limit = 0};
    enum text_call_format format;

    split_thinking(a, &reasoning, &text);
    format = form_of_call(buf_str(&text), preferred);
    buf_fini(&reasoning);
    buf_fini(&text);
    if (format == TEXT_CALLS_NONE) /* the tag of thinking may not be the first */
        format = form_of_call(buf_str(&a->text), preferred);
    if (format != TEXT_CALLS_NONE)
        doctor_find(f, DOCTOR_FOUND_TOOL_TEXT, word_of_form(format));
    else
        add_found(f, strcmp(a->finish, "length") == 0 ? DOCTOR_FOUND_TOOL_CUT
                                                      : DOCTOR_FOUND_TOOL_NOT_CALLED);
}

void doctor_judge_tool(const struct doctor_answer *a, enum text_call_format preferred,
                       struct doctor_findings *f)
{
    if (!doctor_is_good(a))
        add_refusal(f, DOCTOR_FOUND_TOOL_REFUSED, a);
    else if (a->n_calls > 0)
        doctor_find(f, DOCTOR_FOUND_TOOL_OK, buf_str(&a->calls[0].name));
    else if (is_harmony(a))
        add_found(f, DOCTOR_FOUND_TOOL_HARMONY);
    else
        judge_text(a, preferred, f);
}

/* The output was of hailstones. It calls again instead when it does not see that. */
static bool has_read_output(const struct doctor_answer *a)
{
    return a->n_calls == 0 || str_has_nocase(buf_str(&a->text), STR("hail"));
}

void doctor_judge_result(const struct doctor_answer *a, const struct doctor_answer *short_id,
                         const struct doctor_answer *empty, struct doctor_findings *f)
{
    if (is_good(a))
        add_found(f, has_read_output(a) ? DOCTOR_FOUND_RESULT_OK : DOCTOR_FOUND_RESULT_UNREAD);
    else if (is_good(short_id))
        add_found(f, DOCTOR_FOUND_RESULT_SHORT_ID);
    else if (is_good(empty))
        add_found(f, DOCTOR_FOUND_RESULT_EMPTY);
    else
        add_refusal(f, DOCTOR_FOUND_RESULT_TEXT, a);
}

void doctor_judge_parallel(const struct doctor_answer *merged, const struct doctor_answer *single,
                           struct doctor_findings *f)
{
    if (is_good(merged))
        add_found(f, DOCTOR_FOUND_PARALLEL_OK);
    else if (is_good(single))
        add_refusal(f, DOCTOR_FOUND_PARALLEL_SINGLE, merged);
}

static bool has_called(const struct doctor_answer *a, str name)
{
    return is_good(a) && a->n_calls > 0 && str_eq(buf_str(&a->calls[0].name), name);
}

void doctor_judge_choice(const struct doctor_answer *required, const struct doctor_answer *named,
                         struct doctor_findings *f)
{
    if (!has_called(required, STR("get_weather")))
        add_found(f, DOCTOR_FOUND_CHOICE_AUTO);
    else if (!has_called(named, STR("get_time")))
        add_found(f, DOCTOR_FOUND_CHOICE_STRINGS);
    else
        add_found(f, DOCTOR_FOUND_CHOICE_FULL);
}

void doctor_judge_arguments(const struct doctor_answer *a, struct doctor_findings *f)
{
    const str arguments = str_trim(buf_str(&a->calls[0].arguments));

    if (!doctor_is_good(a) || a->n_calls == 0)
        add_found(f, DOCTOR_FOUND_ARGUMENTS_NONE);
    else if (jr_is_valid(arguments) && jr_type_of(arguments) == JR_OBJECT)
        add_found(f, DOCTOR_FOUND_ARGUMENTS_OK);
    else
        doctor_find(f, DOCTOR_FOUND_ARGUMENTS_BROKEN, arguments);
}

/* ---- answers */

static bool keeps_to_schema(str text)
{
    const str people = jr_member(text, STR("people"));

    return jr_is_valid(text) && !str_is_none(jr_member_string(text, STR("city"))) &&
           jr_type_of(people) == JR_NUMBER;
}

void doctor_judge_schema(const struct doctor_answer *a, struct doctor_findings *f)
{
    struct buf reasoning = {.limit = 0}, text = {.limit = 0};

    if (!doctor_is_good(a)) {
        add_refusal(f, DOCTOR_FOUND_SCHEMA_REFUSED, a);
        return;
    }
    split_thinking(a, &reasoning, &text);
    add_found(f, keeps_to_schema(str_trim(buf_str(&text))) ? DOCTOR_FOUND_SCHEMA_OK
                                                           : DOCTOR_FOUND_SCHEMA_IGNORED);
    buf_fini(&reasoning);
    buf_fini(&text);
}

void doctor_judge_vision(const struct doctor_answer *a, struct doctor_findings *f)
{
    const bool sees = is_good(a) && str_has_nocase(buf_str(&a->text), STR("red"));

    add_found(f, sees ? DOCTOR_FOUND_VISION_SEES : DOCTOR_FOUND_VISION_BLIND);
}

/* The file says "a zebra". */
void doctor_judge_files(const struct doctor_answer *a, struct doctor_findings *f)
{
    if (!doctor_is_good(a))
        add_refusal(f, DOCTOR_FOUND_FILES_REFUSED, a);
    else if (str_has_nocase(buf_str(&a->text), STR("zebra")))
        add_found(f, DOCTOR_FOUND_FILES_READ);
    else
        add_found(f, DOCTOR_FOUND_FILES_IGNORED);
}

/* ---- the cache */

/* "1984 of 2010", "1200 ms, then 90 ms" */
static void add_pair(struct doctor_findings *f, enum doctor_finding_id id, int64_t a,
                     const char *between, int64_t b, const char *behind)
{
    struct buf text = {.limit = 0};

    buf_int(&text, a);
    buf_c(&text, between);
    buf_int(&text, b);
    buf_c(&text, behind);
    doctor_find(f, id, buf_str(&text));
    buf_fini(&text);
}

void doctor_judge_cache(const struct doctor_answer *first, const struct doctor_answer *second,
                        struct doctor_findings *f)
{
    enum { LONG_ENOUGH_MS = 50 };

    if (!is_good(first) || !is_good(second)) {
        add_refusal(f, DOCTOR_FOUND_CACHE_FAILED, is_good(first) ? second : first);
        return;
    }
    if (second->cached_tokens > second->prompt_tokens / 2 && second->prompt_tokens > 0)
        add_pair(f, DOCTOR_FOUND_CACHE_TOLD, second->cached_tokens, " of ", second->prompt_tokens,
                 "");
    else if (first->total_ms < LONG_ENOUGH_MS)
        add_found(f, DOCTOR_FOUND_CACHE_QUICK);
    else
        add_pair(f,
                 second->total_ms * 2 <= first->total_ms ? DOCTOR_FOUND_CACHE_FASTER
                                                         : DOCTOR_FOUND_CACHE_NONE,
                 (int64_t)first->total_ms, " ms, then ", (int64_t)second->total_ms, " ms");
}

void doctor_judge_slots(str props, struct doctor_findings *f)
{
    const int64_t n = str_is_none(props) ? 0 : jr_member_int(props, STR("total_slots"), 0);

    if (n <= 0)
        add_found(f, DOCTOR_FOUND_SLOTS_UNKNOWN);
    else if (n == 1)
        add_found(f, DOCTOR_FOUND_SLOTS_ONE);
    else
        add_number(f, DOCTOR_FOUND_SLOTS_TOLD, n);
}
