/* chat_read.c -- names and places of everything that upstreams say. */
#include "wire/chunk/chat_read.h"

#include "base/utf8.h"

/* ---- words */

bool chat_read_is_nothing(str raw)
{
    static const str nothing[] = {STR_INIT("null"), STR_INIT("false"), STR_INIT("\"\""),
                                  STR_INIT("0"),    STR_INIT("{}"),    STR_INIT("[]")};

    for (size_t i = 0; raw.len > 0 && i < COUNT_OF(nothing); i++) {
        if (str_eq(raw, nothing[i]))
            return true;
    }
    return raw.len == 0;
}

enum finish chat_read_finish(str word)
{
    static const struct {
        str word;
        enum finish finish;
    } words[] = {
        {STR_INIT("length"), FINISH_LENGTH},
        {STR_INIT("model_length"), FINISH_LENGTH},
        {STR_INIT("max_tokens"), FINISH_LENGTH},
        {STR_INIT("content_filter"), FINISH_CONTENT_FILTER},
        {STR_INIT("tool_calls"), FINISH_TOOL_CALLS},
        {STR_INIT("function_call"), FINISH_TOOL_CALLS},
        {STR_INIT("error"), FINISH_NONE},
        {STR_INIT("insufficient_system_resource"), FINISH_NONE},
    };

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (str_eq(word, words[i].word))
            return words[i].finish;
    }
    return FINISH_STOP;
}

/* ---- chunk */

static str object_or_none(str raw)
{
    return jr_type_of(raw) == JR_OBJECT ? raw : STR_NONE;
}

static bool split_chunk(str json, str event, struct chat_chunk *ret)
{
    str key, usage = STR_NONE, error = STR_NONE, object = STR_NONE, x_groq = STR_NONE;
    struct jr j;

    *ret = (struct chat_chunk){.json = json};
    jr_init(&j, json);
    if (jr_enter(&j, JR_OBJECT)) {
        while (jr_next_member(&j, &key)) {
            if (str_eq(key, STR("choices")))
                ret->choices = jr_raw(&j);
            else if (str_eq(key, STR("usage")))
                usage = jr_raw(&j);
            else if (str_eq(key, STR("error")))
                error = jr_raw(&j);
            else if (str_eq(key, STR("object")))
                object = jr_string(&j);
            else if (str_eq(key, STR("x_groq")))
                x_groq = jr_raw(&j);
            else if (str_eq(key, STR("service_tier")))
                ret->service_tier = jr_string(&j);
            else
                jr_skip(&j);
        }
    }
    usage = object_or_none(usage);
    ret->usage = str_is_none(usage) ? object_or_none(jr_member(x_groq, STR("usage"))) : usage;
    ret->error = chat_read_is_nothing(error) ? STR_NONE : error;
    ret->is_flat_error = str_eq(event, STR("error")) || str_eq(object, STR("error"));
    return jr_end(&j);
}

bool chat_read_chunk(str json, str event, struct buf *repaired, struct chat_chunk *ret)
{
    if (split_chunk(json, event, ret))
        return true;
    if (utf8_is_valid(json))
        return false;
    /* Half a character from a careless tokenizer costs that character, not the chunk. */
    utf8_repair(json, repaired);
    return split_chunk(buf_str(repaired), event, ret);
}

bool chat_read_choice(struct jr *j, struct chat_choice *ret)
{
    int64_t index = 0;
    str key;

    *ret = (struct chat_choice){.delta = STR_NONE};
    if (!jr_enter(j, JR_OBJECT))
        return false;
    while (jr_next_member(j, &key)) {
        if (str_eq(key, STR("delta")))
            ret->delta = object_or_none(jr_raw(j));
        else if (str_eq(key, STR("message")))
            ret->message = object_or_none(jr_raw(j));
        else if (str_eq(key, STR("text")))
            ret->text = jr_raw(j);
        else if (str_eq(key, STR("finish_reason")))
            ret->finish = jr_string(j);
        else if (str_eq(key, STR("index")))
            index = jr_int(j, 0);
        else if (str_eq(key, STR("logprobs")))
            ret->logprobs = jr_raw(j);
        else
            jr_skip(j);
    }
    return index == 0;
}

void chat_read_delta(str raw, struct chat_delta *ret)
{
    struct jr j;
    str key;

    *ret = (struct chat_delta){.content = STR_NONE};
    jr_init(&j, raw);
    if (!jr_enter(&j, JR_OBJECT))
        return;
    while (jr_next_member(&j, &key)) {
        if (str_eq(key, STR("content")))
            ret->content = jr_raw(&j);
        else if (str_eq(key, STR("reasoning_content")))
            ret->reasoning_content = jr_string(&j);
        else if (str_eq(key, STR("reasoning")))
            ret->reasoning = jr_string(&j);
        else if (str_eq(key, STR("reasoning_details")))
            ret->reasoning_details = jr_raw(&j);
        else if (str_eq(key, STR("refusal")))
            ret->refusal = jr_string(&j);
        else if (str_eq(key, STR("annotations")))
            ret->annotations = jr_raw(&j);
        else if (str_eq(key, STR("function_call")))
            ret->function_call = jr_raw(&j);
        else if (str_eq(key, STR("tool_calls")))
            ret->tool_calls = jr_raw(&j);
        else
            jr_skip(&j);
    }
}

/* ---- texts */

/* `thinking` of Mistral: a string or a list of text parts. */
static void read_thinking(str raw, chat_on_text *on_text, void *arg)
{
    struct jr j;

    jr_init(&j, raw);
    if (jr_type_of(raw) == JR_STRING) {
        on_text(arg, DELTA_REASONING, jr_string_of(raw));
    } else if (jr_enter(&j, JR_ARRAY)) {
        while (jr_next_element(&j))
            on_text(arg, DELTA_REASONING, jr_member_string(jr_raw(&j), STR("text")));
    }
}

static void read_part(struct jr *j, chat_on_text *on_text, void *arg)
{
    str key, type = STR_NONE, text = STR_NONE, thinking = STR_NONE;

    if (!jr_enter(j, JR_OBJECT))
        return;
    while (jr_next_member(j, &key)) {
        if (str_eq(key, STR("type")))
            type = jr_string(j);
        else if (str_eq(key, STR("text")))
            text = jr_string(j);
        else if (str_eq(key, STR("thinking")))
            thinking = jr_raw(j);
        else
            jr_skip(j);
    }
    if (str_eq(type, STR("thinking")))
        read_thinking(thinking, on_text, arg);
    else if (str_eq(type, STR("text")) || str_eq(type, STR("output_text")))
        on_text(arg, DELTA_TEXT, text);
}

void chat_read_content(str raw, chat_on_text *on_text, void *arg)
{
    struct jr j;

    if (jr_type_of(raw) == JR_STRING) {
        on_text(arg, DELTA_TEXT, jr_string_of(raw));
    } else if (jr_type_of(raw) == JR_ARRAY) {
        jr_init(&j, raw);
        (void)jr_enter(&j, JR_ARRAY);
        while (jr_next_element(&j))
            read_part(&j, on_text, arg);
    }
}

/* Every detail has a text or a summary. */
void chat_read_reasoning_details(str raw, chat_on_text *on_text, void *arg)
{
    struct jr j;

    if (jr_type_of(raw) != JR_ARRAY)
        return;
    jr_init(&j, raw);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        str detail = jr_raw(&j), text = jr_member_string(detail, STR("text"));

        on_text(arg, DELTA_REASONING,
                text.len > 0 ? text : jr_member_string(detail, STR("summary")));
    }
}

/* ---- calls */

/* The function object of a call; Ollama's adapters put the index in here. */
static void read_function(str raw, struct chat_call_piece *piece)
{
    struct jr j;
    str key;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_OBJECT))
        return;
    while (jr_next_member(&j, &key)) {
        if (str_eq(key, STR("name")))
            piece->name = jr_string(&j);
        else if (str_eq(key, STR("arguments")))
            piece->arguments = jr_raw(&j);
        else if (str_eq(key, STR("index")) && piece->index == CHAT_NO_INDEX)
            piece->index = jr_int(&j, CHAT_NO_INDEX);
        else
            jr_skip(&j);
    }
}

bool chat_read_call(struct jr *j, struct chat_call_piece *ret)
{
    str key, function = STR_NONE;

    *ret = (struct chat_call_piece){.index = CHAT_NO_INDEX};
    if (!jr_enter(j, JR_OBJECT))
        return false;
    while (jr_next_member(j, &key)) {
        if (str_eq(key, STR("index")))
            ret->index = jr_int(j, CHAT_NO_INDEX);
        else if (str_eq(key, STR("id")))
            ret->id = jr_string(j);
        else if (str_eq(key, STR("function")))
            function = jr_raw(j);
        else
            jr_skip(j);
    }
    ret->has_index = ret->index != CHAT_NO_INDEX;
    read_function(function, ret);
    return true;
}

bool chat_read_old_call(str raw, struct chat_call_piece *ret)
{
    *ret = (struct chat_call_piece){.index = CHAT_OLD_FORM};
    if (jr_type_of(raw) != JR_OBJECT)
        return false;
    read_function(raw, ret);
    return true;
}
