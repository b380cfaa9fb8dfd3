/* chat_usage.c -- token counts, wherever an upstream puts them (CONTRACT 5.2). */
#include "wire/chunk/chat_usage.h"

#include "json/json_read.h"

/* A count in an object, however it is written; 0 when it is none. */
static int64_t token_count(str object, str name)
{
    const int64_t n = jr_member_int(object, name, 0);

    return n < 0 ? 0 : n;
}

static bool is_number(str object, str name)
{
    return jr_type_of(jr_member(object, name)) == JR_NUMBER;
}

static int64_t at_most(int64_t n, int64_t limit)
{
    return n < limit ? n : limit;
}

bool chat_usage(str raw, struct usage *ret)
{
    str prompt = jr_member(raw, STR("prompt_tokens_details"));
    str completion = jr_member(raw, STR("completion_tokens_details"));
    struct usage u = {.known = true,
                      .input = token_count(raw, STR("prompt_tokens")),
                      .cached = token_count(prompt, STR("cached_tokens")),
                      .cache_write = token_count(prompt, STR("cache_write_tokens")),
                      .output = token_count(raw, STR("completion_tokens")),
                      .tells_reasoning = is_number(completion, STR("reasoning_tokens")),
                      .reasoning = token_count(completion, STR("reasoning_tokens"))};

    if (jr_type_of(raw) != JR_OBJECT)
        return false;
    if (u.cached == 0)
        u.cached = token_count(raw, STR("prompt_cache_hit_tokens"));
    u.cached = at_most(u.cached, u.input);
    u.reasoning = at_most(u.reasoning, u.output);
    *ret = u;
    return true;
}
