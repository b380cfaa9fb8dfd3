/* request_check.c -- enums and limits of the request's fields (CONTRACT 1.1). */
#include "wire/request/request_check.h"
#include "conv/fields.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "wire/request/request_fields.h"

enum {
    MAX_METADATA_KEYS = 16,
    MAX_METADATA_KEY_CHARS = 64,
    MAX_METADATA_VALUE_CHARS = 512,
    MAX_SAFETY_IDENTIFIER_CHARS = 64,
    MAX_PERSONALITY_CHARS = 64,
};

/* ---- numbers */

static const struct limit {
    str name;
    size_t offset;
    bool integer;
    double min, max;
} limits[] = {
#define LIMIT(place, name, integer, min, max)                                                      \
    {                                                                                              \
        STR_INIT(name), offsetof(struct request_fields, place), integer, min, max                  \
    }
    LIMIT(max_output_tokens, "max_output_tokens", true, 1, 9e15),
    LIMIT(max_tool_calls, "max_tool_calls", true, 1, 9e15),
    LIMIT(top_logprobs, "top_logprobs", true, 0, 20),
    LIMIT(r.temperature, "temperature", false, 0, 2),
    LIMIT(r.top_p, "top_p", false, 0, 1),
    LIMIT(r.presence_penalty, "presence_penalty", false, -2, 2),
    LIMIT(r.frequency_penalty, "frequency_penalty", false, -2, 2),
#undef LIMIT
};

static int reject_number(const struct limit *l, str raw, bool below, struct err *reterr)
{
    static const enum err_code codes[2][2] = {
        {ERR_DECIMAL_ABOVE_MAX, ERR_DECIMAL_BELOW_MIN},
        {ERR_INTEGER_ABOVE_MAX, ERR_INTEGER_BELOW_MIN},
    };

    err_set_param(reterr, codes[l->integer][below], l->name.p,
                  "Invalid '%s': %s %s value. Expected a value %s %g, but got %s instead.",
                  l->name.p, l->integer ? "integer" : "decimal",
                  below ? "below minimum" : "above maximum",
                  below ? ">=" : "<=", below ? l->min : l->max, shown(raw).text);
    return -1;
}

static int check_numbers(const struct request_fields *in, struct err *reterr)
{
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        const struct limit *l = &limits[i];
        const str *raw = (const str *)(const void *)((const char *)in + l->offset);
        double value;

        if (str_is_none(*raw))
            continue;
        value = jr_number_value(*raw);
        if (value < l->min || value > l->max)
            return reject_number(l, *raw, value < l->min, reterr);
    }
    return 0;
}

static int64_t integer(str raw)
{
    return str_is_none(raw) ? 0 : (int64_t)jr_number_value(raw);
}

/* ---- strings */

static const str efforts[] = {STR_INIT("none"),   STR_INIT("minimal"), STR_INIT("low"),
                              STR_INIT("medium"), STR_INIT("high"),    STR_INIT("xhigh"),
                              STR_INIT("max")};
static const str summaries[] = {STR_INIT("auto"), STR_INIT("concise"), STR_INIT("detailed")};
static const str formats[] = {STR_INIT("text"), STR_INIT("json_object"), STR_INIT("json_schema")};
static const str verbosities[] = {STR_INIT("low"), STR_INIT("medium"), STR_INIT("high")};
static const str truncations[] = {STR_INIT("auto"), STR_INIT("disabled")};
static const str retentions[] = {STR_INIT("in_memory"), STR_INIT("24h")};

static const struct choice {
    str name;
    size_t offset;
    const str *values;
    size_t n_values;
} answer_choices[] = {
#define CHOICE(place, name, values)                                                                \
    {                                                                                              \
        STR_INIT(name), offsetof(struct request_fields, place), LIST_OF(values)                    \
    }
    CHOICE(r.format.type, "text.format.type", formats),
    CHOICE(r.verbosity, "text.verbosity", verbosities),
    CHOICE(r.reasoning.effort, "reasoning.effort", efforts),
    CHOICE(r.reasoning.summary, "reasoning.summary", summaries),
    CHOICE(generate_summary, "reasoning.generate_summary", summaries),
};

static const struct choice other_choices[] = {
    CHOICE(r.truncation, "truncation", truncations),
    CHOICE(r.prompt_cache_retention, "prompt_cache_retention", retentions),
#undef CHOICE
};

static int check_choices(const struct request_fields *in, const struct choice *list, size_t n,
                         const struct path *parent, struct err *reterr)
{
    for (size_t i = 0; i < n; i++) {
        const struct choice *c = &list[i];
        const str *value = (const str *)(const void *)((const char *)in + c->offset);
        const struct path at = path_member(parent, c->name);

        if (check_value(&at, *value, c->values, c->n_values, reterr) == -1)
            return -1;
    }
    return 0;
}

int request_check_answer(const struct request_fields *in, const struct path *parent,
                         struct err *reterr)
{
    return check_choices(in, LIST_OF(answer_choices), parent, reterr);
}

static int check_length(const struct path *at, str value, size_t max, struct err *reterr)
{
    size_t count = str_is_none(value) ? 0 : json_text_count(value);

    if (count <= max)
        return 0;
    err_set_param(reterr, ERR_STRING_TOO_LONG, path_name(at).text,
                  "Invalid '%s': string too long. Expected a string with maximum length %zu, but "
                  "got a string with length %zu instead.",
                  path_name(at).text, max, count);
    return -1;
}

/* ---- include */

static const struct include {
    str name;
    size_t offset; /* of the bool in responses_request it sets; 0: accepted without effect */
} includes[] = {
#define INCLUDE(name, flag)                                                                        \
    {                                                                                              \
        STR_INIT(name), offsetof(struct responses_request, flag)                                   \
    }
    INCLUDE("reasoning.encrypted_content", include_encrypted_reasoning),
    INCLUDE("message.output_text.logprobs", include_logprobs),
    INCLUDE("code_interpreter_call.outputs", include_code_outputs),
    INCLUDE("web_search_call.action.sources", include_search_sources),
    {STR_INIT("file_search_call.results"), 0},
    {STR_INIT("web_search_call.results"), 0},
    {STR_INIT("message.input_image.image_url"), 0},
    {STR_INIT("computer_call_output.output.image_url"), 0},
#undef INCLUDE
};

int request_check_include(const struct path *at, str value, struct err *reterr)
{
    str names[COUNT_OF(includes)];

    for (size_t i = 0; i < COUNT_OF(includes); i++)
        names[i] = includes[i].name;
    return check_value(at, value, names, COUNT_OF(includes), reterr);
}

static int read_include(struct responses_request *r, str value, const struct path *at,
                        struct err *reterr)
{
    if (request_check_include(at, value, reterr) == -1)
        return -1;
    for (size_t i = 0; i < COUNT_OF(includes); i++) {
        if (includes[i].offset != 0 && json_text_eq(value, includes[i].name))
            *(bool *)((char *)r + includes[i].offset) = true;
    }
    return 0;
}

static int read_includes(struct request_fields *in, struct err *reterr)
{
    const struct path include_at = path_member(NULL, STR("include"));
    struct jr j;

    if (str_is_none(in->include))
        return 0;
    jr_init(&j, in->include);
    (void)jr_enter(&j, JR_ARRAY);
    for (size_t i = 0; jr_next_element(&j); i++) {
        struct path at = path_index(&include_at, i);

        if (read_include(&in->r, jr_string(&j), &at, reterr) == -1)
            return -1;
    }
    return 0;
}

/* ---- metadata */

/* A name too long for the reader's key is still escaped, so count what it means. */
static size_t key_chars(str name)
{
    return name.len <= JR_KEY_BYTES ? name.len : json_text_count(name);
}

static int reject_metadata_count(size_t n, struct err *reterr)
{
    err_set_param(reterr, ERR_OBJECT_TOO_LARGE, "metadata",
                  "Invalid 'metadata': too many properties. Expected an object with at most %d "
                  "properties, but got an object with %zu properties instead.",
                  MAX_METADATA_KEYS, n);
    return -1;
}

static int check_metadata_key(size_t n_chars, struct err *reterr)
{
    if (n_chars <= MAX_METADATA_KEY_CHARS)
        return 0;
    err_set_param(reterr, ERR_STRING_TOO_LONG, "metadata",
                  "Invalid 'metadata': key too long. Expected a key with maximum length %d, but "
                  "got a key with length %zu instead.",
                  MAX_METADATA_KEY_CHARS, n_chars);
    return -1;
}

static int check_metadata(str metadata, struct err *reterr)
{
    const struct path metadata_at = path_member(NULL, STR("metadata"));
    struct jr j;
    size_t n = 0;
    str name;

    if (str_is_none(metadata))
        return 0;
    jr_init(&j, metadata);
    (void)jr_enter(&j, JR_OBJECT);
    for (; jr_next_member(&j, &name); n++) {
        const struct path at = path_member(&metadata_at, name);

        if (check_metadata_key(key_chars(name), reterr) == -1 ||
            check_length(&at, jr_string(&j), MAX_METADATA_VALUE_CHARS, reterr) == -1)
            return -1;
    }
    return n > MAX_METADATA_KEYS ? reject_metadata_count(n, reterr) : 0;
}

/* ---- the two steps */

static int check_metadata_types(str metadata, struct err *reterr)
{
    const struct path metadata_at = path_member(NULL, STR("metadata"));
    struct jr j;
    str name;

    if (str_is_none(metadata))
        return 0;
    jr_init(&j, metadata);
    (void)jr_enter(&j, JR_OBJECT);
    while (jr_next_member(&j, &name)) {
        const struct path at = path_member(&metadata_at, name);

        if (jr_peek(&j) != JR_STRING)
            return reject_type(&at, "a string", jr_type_name(jr_peek(&j)), reterr);
        jr_skip(&j);
    }
    return 0;
}

int request_check_metadata(str metadata, struct err *reterr)
{
    return check_metadata_types(metadata, reterr) == -1 ? -1 : check_metadata(metadata, reterr);
}

int request_check_types(const struct request_fields *in, struct err *reterr)
{
    const struct path include_at = path_member(NULL, STR("include"));
    struct jr j;

    if (check_metadata_types(in->r.metadata, reterr) == -1 ||
        request_check_management_types(in->context_management, reterr) == -1)
        return -1;
    if (str_is_none(in->include))
        return 0;
    jr_init(&j, in->include);
    (void)jr_enter(&j, JR_ARRAY);
    for (size_t i = 0; jr_next_element(&j); i++) {
        struct path at = path_index(&include_at, i);

        if (field_check(jr_raw(&j), FIELD_TEXT, &at, reterr) == -1)
            return -1;
    }
    return 0;
}

int request_check_values(struct request_fields *in, struct err *reterr)
{
    const struct path safety_at = path_member(NULL, STR("safety_identifier"));
    const struct path personality_at = path_member(NULL, STR("personality"));

    if (check_numbers(in, reterr) == -1 || request_check_answer(in, NULL, reterr) == -1 ||
        check_choices(in, LIST_OF(other_choices), NULL, reterr) == -1 ||
        check_metadata(in->r.metadata, reterr) == -1 || read_includes(in, reterr) == -1 ||
        request_read_management(in->context_management, &in->r.context_management, reterr) == -1)
        return -1;
    in->r.max_output_tokens = integer(in->max_output_tokens);
    in->r.max_tool_calls = integer(in->max_tool_calls);
    in->r.top_logprobs = integer(in->top_logprobs);
    if (check_length(&personality_at, in->personality, MAX_PERSONALITY_CHARS, reterr) == -1)
        return -1;
    return check_length(&safety_at, in->r.safety_identifier, MAX_SAFETY_IDENTIFIER_CHARS, reterr);
}
