/* token_answer.c -- one member of an answer, checked. */
#include "wire/chunk/token_answer.h"

#include "json/json_read.h"
#include "wire/chunk/chat_usage.h"

/* Above that no number of tokens is believed. */
static const int64_t max_tokens = INT32_MAX;

static int64_t read_count(struct jr *j)
{
    const int64_t n = jr_int(j, 0);

    return n > 0 && n <= max_tokens ? n : 0;
}

/* The tokens are numbers, or objects that have one and its text. */
static int64_t count_listed(struct jr *j)
{
    int64_t n = 0;

    if (!jr_enter(j, JR_ARRAY))
        return 0;
    for (; jr_next_element(j); n++)
        jr_skip(j);
    return n <= max_tokens ? n : 0;
}

static int64_t read_usage(struct jr *j)
{
    struct usage u;

    return chat_usage(jr_raw(j), &u) && u.input <= max_tokens ? u.input : 0;
}

/* Where each way has the number. */
static const struct {
    str name;
    int64_t (*read)(struct jr *j);
} members[TOKEN_WAYS] = {
    [TOKEN_WAY_INPUT_TOKENS] = {STR_INIT("input_tokens"), read_count},
    [TOKEN_WAY_TEMPLATE] = {STR_INIT("tokens"), count_listed},
    [TOKEN_WAY_TOKENIZE] = {STR_INIT("count"), read_count},
    [TOKEN_WAY_COMPLETION] = {STR_INIT("usage"), read_usage},
};

bool token_answer_read(enum token_way way, bool wants_prompt, str body, struct token_answer *ret)
{
    struct token_answer found = {.prompt = STR_NONE};
    struct jr j;
    str name;

    jr_init(&j, body);
    if (!jr_enter(&j, JR_OBJECT))
        return false;
    while (jr_next_member(&j, &name)) {
        if (wants_prompt && str_eq(name, STR("prompt")) && jr_peek(&j) == JR_STRING)
            found.prompt = jr_raw(&j);
        else if (!wants_prompt && str_eq(name, members[way].name))
            found.tokens = members[way].read(&j);
        else if (!wants_prompt && str_eq(name, STR("max_model_len")))
            found.window = read_count(&j);
        else
            jr_skip(&j);
    }
    if (!jr_end(&j) || (found.tokens == 0 && str_is_none(found.prompt)))
        return false;
    *ret = found;
    return true;
}
