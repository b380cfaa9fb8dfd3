/* responses_request.c -- from the body to a checked request, step by step.
 *
 * The steps run in the order of CONTRACT 1.1, so that of several mistakes the
 * client always hears of the same one: syntax, types, required fields, enums
 * and limits, exclusions, lookups. The first step validates the whole body;
 * everything after it reads spans that are known to be JSON. */
#include "wire/request/responses_request.h"

#include "conv/fields.h"
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "wire/request/request_fields.h"

#define PLACE(name, kind, place)                                                                   \
    {                                                                                              \
        STR_INIT(name), kind, offsetof(struct request_fields, place)                               \
    }

static const struct field request_table[] = {
    PLACE("model", FIELD_TEXT, r.model),
    PLACE("input", FIELD_TEXT_OR_ARRAY, r.input),
    PLACE("instructions", FIELD_TEXT, r.instructions),
    PLACE("previous_response_id", FIELD_TEXT, r.previous_response_id),
    PLACE("previous_responses_id", FIELD_TEXT, previous_responses_id),
    PLACE("conversation", FIELD_TEXT_OR_OBJECT, conversation),
    PLACE("stream", FIELD_BOOLEAN, stream),
    PLACE("stream_options", FIELD_OBJECT, stream_options),
    PLACE("store", FIELD_BOOLEAN, store),
    PLACE("background", FIELD_BOOLEAN, background),
    PLACE("max_output_tokens", FIELD_INTEGER, max_output_tokens),
    PLACE("max_tool_calls", FIELD_INTEGER, max_tool_calls),
    PLACE("temperature", FIELD_NUMBER, r.temperature),
    PLACE("top_p", FIELD_NUMBER, r.top_p),
    PLACE("presence_penalty", FIELD_NUMBER, r.presence_penalty),
    PLACE("frequency_penalty", FIELD_NUMBER, r.frequency_penalty),
    PLACE("top_logprobs", FIELD_INTEGER, top_logprobs),
    PLACE("tools", FIELD_ARRAY, r.tools_json),
    PLACE("tool_choice", FIELD_TEXT_OR_OBJECT, r.tool_choice_json),
    PLACE("parallel_tool_calls", FIELD_BOOLEAN, r.parallel_tool_calls),
    PLACE("text", FIELD_OBJECT, text),
    PLACE("reasoning", FIELD_OBJECT, reasoning),
    PLACE("include", FIELD_ARRAY, include),
    PLACE("truncation", FIELD_TEXT, r.truncation),
    PLACE("metadata", FIELD_OBJECT, r.metadata),
    PLACE("service_tier", FIELD_TEXT, r.service_tier),
    PLACE("safety_identifier", FIELD_TEXT, r.safety_identifier),
    PLACE("prompt_cache_key", FIELD_TEXT, r.prompt_cache_key),
    PLACE("prompt_cache_retention", FIELD_TEXT, r.prompt_cache_retention),
    PLACE("user", FIELD_TEXT, r.user),
    PLACE("prompt", FIELD_ANY, prompt),
    PLACE("moderation", FIELD_ANY, without_effect),
    PLACE("context_management", FIELD_ARRAY, context_management),
    PLACE("personality", FIELD_TEXT, personality),
    PLACE("prompt_cache_options", FIELD_ANY, cache_options),
    PLACE("access_programs", FIELD_ANY, without_effect),
    PLACE("image", FIELD_ANY, without_effect),
    /* of messages alone; elsewhere nobody knows them */
    PLACE("type", FIELD_ANY, without_effect),
    PLACE("stream_id", FIELD_ANY, without_effect),
    PLACE("generate", FIELD_BOOLEAN, generate),
};

enum { N_MESSAGE_FIELDS = 3 }; /* the last ones of the table */

/* Of /v1/responses/compact, whose answer is a summary alone (CONTRACT 13.3). */
static const struct field compact_table[] = {
    PLACE("model", FIELD_TEXT, r.model),
    PLACE("input", FIELD_TEXT_OR_ARRAY, r.input),
    PLACE("instructions", FIELD_TEXT, r.instructions),
    PLACE("previous_response_id", FIELD_TEXT, r.previous_response_id),
    PLACE("previous_responses_id", FIELD_TEXT, previous_responses_id),
    PLACE("conversation", FIELD_TEXT_OR_OBJECT, conversation),
    PLACE("tools", FIELD_ARRAY, r.tools_json),
    PLACE("reasoning", FIELD_OBJECT, reasoning),
    PLACE("parallel_tool_calls", FIELD_ANY, without_effect),
    PLACE("text", FIELD_ANY, without_effect),
    PLACE("prompt_cache_key", FIELD_ANY, without_effect),
    PLACE("prompt_cache_options", FIELD_ANY, without_effect),
    PLACE("prompt_cache_retention", FIELD_ANY, without_effect),
    PLACE("service_tier", FIELD_ANY, without_effect),
    PLACE("personality", FIELD_ANY, without_effect),
    PLACE("image", FIELD_ANY, without_effect),
    PLACE("stream", FIELD_ANY, without_effect),
};

/* Fields that make the prompt (CONTRACT 14). */
static const struct field count_table[] = {
    PLACE("model", FIELD_TEXT, r.model),
    PLACE("input", FIELD_TEXT_OR_ARRAY, r.input),
    PLACE("instructions", FIELD_TEXT, r.instructions),
    PLACE("previous_response_id", FIELD_TEXT, r.previous_response_id),
    PLACE("previous_responses_id", FIELD_TEXT, previous_responses_id),
    PLACE("conversation", FIELD_TEXT_OR_OBJECT, conversation),
    PLACE("tools", FIELD_ARRAY, r.tools_json),
    PLACE("tool_choice", FIELD_TEXT_OR_OBJECT, r.tool_choice_json),
    PLACE("parallel_tool_calls", FIELD_BOOLEAN, r.parallel_tool_calls),
    PLACE("text", FIELD_OBJECT, text),
    PLACE("reasoning", FIELD_OBJECT, reasoning),
    PLACE("truncation", FIELD_TEXT, r.truncation),
};

static const struct field text_table[] = {
    PLACE("format", FIELD_OBJECT, format),
    PLACE("verbosity", FIELD_TEXT, r.verbosity),
};

static const struct field format_table[] = {
    PLACE("type", FIELD_TEXT, r.format.type),
    PLACE("name", FIELD_TEXT, r.format.name),
    PLACE("description", FIELD_TEXT, r.format.description),
    PLACE("schema", FIELD_OBJECT, r.format.schema),
    PLACE("strict", FIELD_BOOLEAN, r.format.strict),
};

static const struct field reasoning_table[] = {
    PLACE("effort", FIELD_TEXT, r.reasoning.effort),
    PLACE("summary", FIELD_TEXT, r.reasoning.summary),
    PLACE("generate_summary", FIELD_TEXT, generate_summary),
    PLACE("context", FIELD_TEXT, r.reasoning.context),
    PLACE("mode", FIELD_TEXT, r.reasoning.mode),
};

static const struct field stream_table[] = {
    PLACE("include_obfuscation", FIELD_BOOLEAN, include_obfuscation),
};

static const struct field conversation_table[] = {
    PLACE("id", FIELD_TEXT, r.conversation_id),
};

/* ---- syntax and types */

/* The other fields of the API are not read when the request is counted; those that it does not have
 * may make a part of the prompt, as in any request. */
static int take_uncounted(void *arg, str name, str value, struct err *reterr)
{
    for (size_t i = 0; i < COUNT_OF(request_table) - N_MESSAGE_FIELDS; i++) {
        if (str_eq(name, request_table[i].name))
            return 0;
    }
    return extra_reader_take(arg, name, value, reterr);
}

static struct fields known_fields(const struct responses_request *r, bool is_message)
{
    struct fields known = FIELDS(request_table);

    if (r->is_compact)
        return FIELDS(compact_table);
    if (r->is_count)
        return FIELDS(count_table);
    if (!is_message)
        known.n -= N_MESSAGE_FIELDS;
    return known;
}

static int read_body(struct request_fields *in, str body, bool is_message,
                     struct extra_reader *extra, struct err *reterr)
{
    const struct field_sink others = {in->r.is_count ? take_uncounted : extra_reader_take, extra};
    int rc = fields_read_body(body, known_fields(&in->r, is_message), in, &others, reterr);

    in->r.extra = extra->fields;
    return rc;
}

static int read_object(struct request_fields *in, str raw, struct fields f, const struct path *at,
                       struct err *reterr)
{
    return str_is_none(raw) ? 0 : fields_read_raw(raw, f, at, in, reterr);
}

static int read_conversation(struct request_fields *in, struct err *reterr)
{
    const struct path at = path_member(NULL, STR("conversation"));
    const struct path id_at = path_member(&at, STR("id"));

    if (str_is_none(in->conversation))
        return 0;
    if (jr_type_of(in->conversation) == JR_STRING) {
        in->r.conversation_id = field_text(in->conversation);
        return 0;
    }
    if (read_object(in, in->conversation, FIELDS(conversation_table), &at, reterr) == -1)
        return -1;
    return str_is_none(in->r.conversation_id) ? reject_missing(&id_at, reterr) : 0;
}

int request_read_answer(struct request_fields *in, const struct path *parent, struct err *reterr)
{
    const struct path text_at = path_member(parent, STR("text"));
    const struct path format_at = path_member(&text_at, STR("format"));
    const struct path reasoning_at = path_member(parent, STR("reasoning"));

    if (read_object(in, in->text, FIELDS(text_table), &text_at, reterr) == -1 ||
        read_object(in, in->format, FIELDS(format_table), &format_at, reterr) == -1)
        return -1;
    return read_object(in, in->reasoning, FIELDS(reasoning_table), &reasoning_at, reterr);
}

static int read_nested(struct request_fields *in, struct err *reterr)
{
    const struct path stream_at = path_member(NULL, STR("stream_options"));

    if (request_read_answer(in, NULL, reterr) == -1 ||
        read_object(in, in->stream_options, FIELDS(stream_table), &stream_at, reterr) == -1 ||
        read_conversation(in, reterr) == -1)
        return -1;
    return request_check_types(in, reterr);
}

static bool truth(str raw, bool fallback)
{
    return str_is_none(raw) ? fallback : jr_type_of(raw) == JR_TRUE;
}

static bool is_prewarm(str cache_options)
{
    return !str_is_none(cache_options) && truth(jr_member(cache_options, STR("prewarm")), false);
}

static void note_meanings(struct request_fields *in, bool is_message)
{
    struct responses_request *r = &in->r;

    r->stream = is_message || truth(in->stream, false);
    r->store = truth(in->store, !r->is_compact && !r->is_count);
    r->background = truth(in->background, false);
    r->is_warm_up = !truth(in->generate, true) || is_prewarm(in->cache_options);
    r->include_obfuscation = truth(in->include_obfuscation, false);
    r->compares_cache =
        !str_is_none(jr_member_string(in->cache_options, STR("comparison_response_id")));
    if (str_is_none(r->previous_response_id))
        r->previous_response_id = in->previous_responses_id;
}

/* ---- required fields */

/* A default model comes from the configuration, as plain text. */
static int default_model(struct request_fields *in, const struct responses_request_options *options,
                         struct arena *a, struct err *reterr)
{
    const struct path at = path_member(NULL, STR("model"));
    struct buf escaped = {0};

    if (in->r.model.len > 0)
        return 0;
    if (options->default_model.len == 0)
        return reject_missing(&at, reterr);
    json_text_escape(options->default_model, &escaped);
    if (!buf_failed(&escaped))
        in->r.model = arena_dup(a, buf_str(&escaped));
    buf_fini(&escaped);
    return in->r.model.len == 0 ? err_set_no_memory(reterr) : 0;
}

static bool is_empty_array(str raw)
{
    struct jr j;

    jr_init(&j, raw);
    return jr_type_of(raw) == JR_ARRAY && jr_enter(&j, JR_ARRAY) && !jr_next_element(&j);
}

/* Instructions alone are something to answer; an empty list alone is not. */
static int require_input(const struct responses_request *r, struct err *reterr)
{
    const struct path at = path_member(NULL, STR("input"));

    if (r->is_warm_up || responses_request_continues(r) ||
        (!str_is_none(r->input) && !is_empty_array(r->input)))
        return 0;
    if (!str_is_none(r->input) && !str_is_none(r->instructions) && !r->is_compact)
        return 0;
    return reject_missing(&at, reterr);
}

int request_require_format(const struct request_fields *in, const struct path *parent,
                           struct err *reterr)
{
    const struct path type_at = path_member(parent, STR("text.format.type"));
    const struct path name_at = path_member(parent, STR("text.format.name"));
    const struct path schema_at = path_member(parent, STR("text.format.schema"));
    const struct text_format *f = &in->r.format;

    if (str_is_none(in->format))
        return 0;
    if (str_is_none(f->type))
        return reject_missing(&type_at, reterr);
    if (!json_text_eq(f->type, STR("json_schema")))
        return 0;
    if (f->name.len == 0)
        return reject_missing(&name_at, reterr);
    return str_is_none(f->schema) ? reject_missing(&schema_at, reterr) : 0;
}

static int check_required(struct request_fields *in,
                          const struct responses_request_options *options, struct arena *a,
                          struct err *reterr)
{
    if (default_model(in, options, a, reterr) == -1 ||
        (!in->r.is_count && require_input(&in->r, reterr) == -1))
        return -1;
    return request_require_format(in, NULL, reterr);
}

/* ---- values */

/* What nobody waits for has to be found again (CONTRACT 4.8). */
static int check_background(const struct responses_request *r, bool is_message, struct err *reterr)
{
    if (!r->background || (r->store && !is_message))
        return 0;
    if (is_message)
        err_set_param(reterr, ERR_UNSUPPORTED_PARAMETER, "background",
                      "Background responses cannot be asked for over WebSocket. Use POST "
                      "/v1/responses.");
    else
        err_set_param(reterr, ERR_INVALID_VALUE, "background",
                      "Invalid value: 'background' can only be true when 'store' is true.");
    return -1;
}

static int check_values(struct request_fields *in, bool is_message, struct err *reterr)
{
    const struct path prompt_at = path_member(NULL, STR("prompt"));
    struct reasoning_config *reasoning = &in->r.reasoning;

    if (!str_is_none(in->prompt))
        return reject_unsupported(&prompt_at, reterr);
    if (request_check_values(in, reterr) == -1)
        return -1;
    if (str_is_none(reasoning->summary))
        reasoning->summary = in->generate_summary;
    in->r.reasoning_summary_requested = !str_is_none(reasoning->summary);
    if (in->r.service_tier.len == 0)
        in->r.service_tier = STR_NONE;
    return check_background(&in->r, is_message, reterr);
}

static bool refers_to_stored(const struct item_list *items)
{
    for (const struct item *it = items->first; it != NULL; it = it->next) {
        if (item_is_stored(it))
            return true;
    }
    return false;
}

/* What tells the model nothing, and never will. */
static unsigned count_ignored(const struct item_list *items)
{
    unsigned n = 0;

    for (const struct item *it = items->first; it != NULL; it = it->next)
        n += it->kind == ITEM_IGNORED && !it->is_partial;
    return n;
}

static int read_items_and_tools(struct responses_request *r,
                                const struct responses_request_options *options,
                                const struct id_source *ids, struct arena *a, struct err *reterr)
{
    const struct path input_at = path_member(NULL, STR("input"));

    if (!str_is_none(r->input) &&
        item_list_parse(r->input, &input_at, &options->input, ids, a, &r->items, reterr) == -1)
        return -1;
    if (request_take_trigger(r, reterr) == -1 || request_configure(r, reterr) == -1)
        return -1;
    r->n_ignored_items = count_ignored(&r->items);
    r->needs_store = responses_request_continues(r) || refers_to_stored(&r->items);
    if (!r->needs_store && request_read_back(r, options, ids, a, reterr) == -1)
        return -1;
    return request_read_tools(r, options, ids, a, reterr);
}

/* ---- exclusions */

static bool is_same_text(str a, str b)
{
    struct buf plain = {.limit = 0};
    bool is_same;

    json_text_decode(a, &plain);
    is_same = !buf_failed(&plain) && json_text_eq(b, buf_str(&plain));
    buf_fini(&plain);
    return is_same;
}

/* Two spellings of the previous response's id may be there when they agree. */
static int check_spellings(const struct request_fields *in, struct err *reterr)
{
    str id = in->r.previous_response_id, misspelled = in->previous_responses_id;

    if (str_is_none(misspelled) || is_same_text(id, misspelled))
        return 0;
    err_set_param(reterr, ERR_MUTUALLY_EXCLUSIVE, "previous_response_id",
                  "Mutually exclusive parameters: 'previous_response_id' and "
                  "'previous_responses_id' have different values. Send 'previous_response_id' "
                  "alone.");
    return -1;
}

static int check_exclusions(const struct request_fields *in, struct err *reterr)
{
    const struct responses_request *r = &in->r;

    if (check_spellings(in, reterr) == -1)
        return -1;
    if (str_is_none(r->previous_response_id) || str_is_none(r->conversation_id))
        return 0;
    err_set_param(reterr, ERR_MUTUALLY_EXCLUSIVE, "previous_response_id",
                  "Mutually exclusive parameters: 'previous_response_id' and 'conversation'.");
    return -1;
}

int responses_request_parse(str body, const struct responses_request_options *options,
                            const struct id_source *ids, struct arena *arena,
                            struct responses_request *ret, struct err *reterr)
{
    struct request_fields in = {.r.is_compact = options->is_compact,
                                .r.is_count = options->is_count};
    struct extra_reader extra;

    extra_reader_init(&extra, &options->extra, ids, arena);
    if (read_body(&in, body, options->is_message, &extra, reterr) == -1 ||
        read_nested(&in, reterr) == -1)
        return -1;
    note_meanings(&in, options->is_message);
    if (check_required(&in, options, arena, reterr) == -1 ||
        check_values(&in, options->is_message, reterr) == -1 ||
        read_items_and_tools(&in.r, options, ids, arena, reterr) == -1 ||
        check_exclusions(&in, reterr) == -1)
        return -1;
    in.r.has_trigger = in.r.has_trigger || in.r.is_compact;
    if (!in.r.needs_store && request_look_up(&in.r, ids, arena, reterr) == -1)
        return -1;
    *ret = in.r;
    return 0;
}
