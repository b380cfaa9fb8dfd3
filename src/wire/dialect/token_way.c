/* token_way.c -- bodies of questions, put together from members of the request. */
#include "wire/dialect/token_way.h"

#include "json/json_walk.h"
#include "json/json_write.h"

#define KIND(name) KIND_##name
enum {
#define UPSTREAM_FIELDS(list, ...)
#define UPSTREAM_KIND(symbol, ...) KIND_##symbol = 1 << UPSTREAM_##symbol,
#include "wire/dialect/upstream_kind.def"
    KIND_ANY = (1 << UPSTREAM_KINDS) - 1,
};

static const struct {
    str word;
    unsigned kinds, traits;
    const char *source;
} ways[TOKEN_WAYS] = {
#define TOKEN_WAY(symbol, word, kinds, traits, source)                                             \
    [TOKEN_WAY_##symbol] = {STR_INIT(word), kinds, traits, source},
#include "wire/dialect/token_way.def"
};
#undef KIND

bool token_way_has(enum token_way way, enum token_way_trait trait)
{
    return (ways[way].traits & trait) != 0;
}

str token_way_word(enum token_way way)
{
    return ways[way].word;
}

const char *token_way_source(enum token_way way)
{
    return ways[way].source;
}

bool token_way_is_of(enum token_way way, enum upstream_kind kind)
{
    return kind == UPSTREAM_GENERIC || (ways[way].kinds & 1U << kind) != 0;
}

/* ---- the request */

/* Members that leave the prompt as it is: how the answer is sent, how long it may be, how its tokens
 * are chosen, and whose it is. What is not listed is sent to be counted. All of them are in
 * affinity/prompt_neutral.def as well, which says what one count is of. */
static const str apart[] = {
    STR_INIT("stream"),
    STR_INIT("stream_options"),
    STR_INIT("max_tokens"),
    STR_INIT("max_completion_tokens"),
    STR_INIT("temperature"),
    STR_INIT("top_p"),
    STR_INIT("top_k"),
    STR_INIT("min_p"),
    STR_INIT("presence_penalty"),
    STR_INIT("frequency_penalty"),
    STR_INIT("repetition_penalty"),
    STR_INIT("logprobs"),
    STR_INIT("top_logprobs"),
    STR_INIT("logit_bias"),
    STR_INIT("seed"),
    STR_INIT("stop"),
    STR_INIT("n"),
    STR_INIT("user"),
    STR_INIT("service_tier"),
    STR_INIT("safety_identifier"),
    STR_INIT("prompt_cache_key"),
    STR_INIT("prompt_cache_retention"),
};

static bool is_apart(str name)
{
    for (size_t i = 0; i < COUNT_OF(apart); i++) {
        if (str_eq(name, apart[i]))
            return true;
    }
    return false;
}

static struct token_member member_of(str name, str value)
{
    const char *const start = name.p - 1; /* its quote */

    return (struct token_member){.name = name,
                                 .text = str_from(start, (size_t)(value.p + value.len - start)),
                                 .value = value};
}

int token_request_read(str body, struct arena *a, struct token_request *ret, struct err *reterr)
{
    struct token_member **end = &ret->first;
    struct json_walk w = json_walk_of(body);
    str name;

    ret->first = NULL;
    (void)json_walk_enter(&w, JR_OBJECT);
    while (json_walk_member(&w, &name)) {
        const str value = json_walk_value(&w);

        if (is_apart(name))
            continue;
        *end = arena_alloc(a, sizeof(**end));
        if (*end == NULL)
            return err_set_no_memory(reterr);
        **end = member_of(name, value);
        end = &(*end)->next;
    }
    return 0;
}

static str find_member(const struct token_request *r, str name)
{
    str value = STR_NONE;

    for (const struct token_member *m = r->first; m != NULL; m = m->next) {
        if (str_eq(m->name, name))
            value = m->value;
    }
    return value;
}

/* ---- ways and requests */

bool token_way_takes(enum token_way way, const struct token_request *r)
{
    if (r->has_media && !token_way_has(way, TOKEN_WAY_COUNTS_MEDIA))
        return false;
    return !r->is_prompt || token_way_has(way, TOKEN_WAY_TAKES_PROMPT);
}

bool token_way_asks_prompt(enum token_way way, const struct token_request *r)
{
    return way == TOKEN_WAY_TEMPLATE && !r->is_prompt;
}

struct token_path token_way_path(enum token_way way, const struct token_request *r, bool has_prompt)
{
    if (way == TOKEN_WAY_INPUT_TOKENS)
        return (struct token_path){STR("/chat/completions/input_tokens"), false};
    if (way == TOKEN_WAY_COMPLETION)
        return (struct token_path){r->is_prompt ? STR("/completions") : STR("/chat/completions"),
                                   false};
    if (token_way_asks_prompt(way, r) && !has_prompt)
        return (struct token_path){STR("/apply-template"), true};
    return (struct token_path){STR("/tokenize"), true};
}

/* ---- bodies */

static void write_all(const struct token_request *r, struct jw *w)
{
    for (const struct token_member *m = r->first; m != NULL; m = m->next)
        jw_raw(w, m->text);
}

static void write_given(const struct token_request *r, str name, struct jw *w)
{
    const str value = find_member(r, name);

    if (!str_is_none(value))
        jw_key_raw(w, name.p, value);
}

/* The models of OpenAI that reason refuse another temperature than their own, and the older field. */
static void write_one_token(const struct token_request *r, struct jw *w)
{
    jw_key_bool(w, "stream", false);
    if (r->token_field != CHAT_MAX_TOKENS)
        jw_key_int(w, "max_completion_tokens", 1);
    if (r->token_field == CHAT_MAX_COMPLETION_TOKENS)
        return;
    jw_key_int(w, "max_tokens", 1);
    jw_key_int(w, "temperature", 0);
}

static void write_content(str prompt, struct jw *w)
{
    jw_key_raw(w, "content", prompt);
    jw_key_bool(w, "add_special", true);
    jw_key_bool(w, "parse_special", true);
}

/* What the chat API of vLLM gives to the template by itself. Its tokenizer only takes what the client
 * would give. */
static const str template_arguments[] = {STR_INIT("reasoning_effort"), STR_INIT("documents")};

static void write_members_of(str object, struct jw *w)
{
    struct json_walk inside = json_walk_of(object);
    str name;

    (void)json_walk_enter(&inside, JR_OBJECT);
    while (json_walk_member(&inside, &name))
        jw_raw(w, member_of(name, json_walk_value(&inside)).text);
}

static void write_template_arguments(const struct token_request *r, struct jw *w)
{
    const str given = find_member(r, STR("chat_template_kwargs"));
    bool is_alone = true;

    for (size_t i = 0; i < COUNT_OF(template_arguments); i++)
        is_alone = is_alone && str_is_none(find_member(r, template_arguments[i]));
    if (is_alone) {
        write_given(r, STR("chat_template_kwargs"), w);
        return;
    }
    jw_key(w, "chat_template_kwargs");
    jw_object(w);
    for (size_t i = 0; i < COUNT_OF(template_arguments); i++)
        write_given(r, template_arguments[i], w);
    if (jr_type_of(given) == JR_OBJECT)
        write_members_of(given, w);
    jw_object_end(w);
}

/* Members that it takes as chat completions do. */
static const str tokenized[] = {
    STR_INIT("model"),           STR_INIT("messages"),
    STR_INIT("tools"),           STR_INIT("continue_final_message"),
    STR_INIT("chat_template"),   STR_INIT("mm_processor_kwargs"),
    STR_INIT("media_io_kwargs"),
};

static void write_tokenized_chat(const struct token_request *r, struct jw *w)
{
    const str generation = find_member(r, STR("add_generation_prompt"));

    for (size_t i = 0; i < COUNT_OF(tokenized); i++)
        write_given(r, tokenized[i], w);
    jw_key_raw(w, "add_generation_prompt", str_is_none(generation) ? STR("true") : generation);
    write_template_arguments(r, w);
}

static void write_tokenized_prompt(const struct token_request *r, struct jw *w)
{
    write_given(r, STR("model"), w);
    write_given(r, STR("prompt"), w);
    write_given(r, STR("add_special_tokens"), w);
}

void token_way_write(enum token_way way, const struct token_request *r, str prompt, struct buf *out)
{
    struct jw writer = jw_to(out), *w = &writer;

    jw_object(w);
    if (way == TOKEN_WAY_TEMPLATE && r->is_prompt)
        write_content(find_member(r, STR("prompt")), w);
    else if (way == TOKEN_WAY_TEMPLATE && !str_is_none(prompt))
        write_content(prompt, w);
    else if (way == TOKEN_WAY_TOKENIZE && r->is_prompt)
        write_tokenized_prompt(r, w);
    else if (way == TOKEN_WAY_TOKENIZE)
        write_tokenized_chat(r, w);
    else
        write_all(r, w);
    if (way == TOKEN_WAY_COMPLETION)
        write_one_token(r, w);
    jw_object_end(w);
}
