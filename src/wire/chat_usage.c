/* chat_usage.c -- token counts, wherever an upstream puts them (CONTRACT 5.2). */
#include "wire/chat_usage.h"

#include "json/json_read.h"

static int64_t count(struct jr *j)
{
    int64_t n = jr_int(j, 0);

    return n < 0 ? 0 : n;
}

/* One number out of a details object. */
static int64_t detail(struct jr *j, str name, int64_t otherwise)
{
    int64_t n = otherwise;
    str key;

    if (!jr_enter(j, JR_OBJECT))
        return n;
    while (jr_next_member(j, &key)) {
        if (str_eq(key, name))
            n = count(j);
        else
            jr_skip(j);
    }
    return n;
}

static int64_t at_most(int64_t n, int64_t limit)
{
    return n < limit ? n : limit;
}

bool chat_usage(str raw, struct usage *ret)
{
    struct usage u = {.known = true};
    int64_t cache_hit = 0;
    struct jr j;
    str key;

    if (jr_type_of(raw) != JR_OBJECT)
        return false;
    jr_init(&j, raw);
    (void)jr_enter(&j, JR_OBJECT);
    while (jr_next_member(&j, &key)) {
        if (str_eq(key, STR("prompt_tokens")))
            u.input = count(&j);
        else if (str_eq(key, STR("completion_tokens")))
            u.output = count(&j);
        else if (str_eq(key, STR("prompt_cache_hit_tokens")))
            cache_hit = count(&j);
        else if (str_eq(key, STR("prompt_tokens_details")))
            u.cached = detail(&j, STR("cached_tokens"), u.cached);
        else if (str_eq(key, STR("completion_tokens_details")))
            u.reasoning = detail(&j, STR("reasoning_tokens"), u.reasoning);
        else
            jr_skip(&j);
    }
    u.cached = at_most(u.cached != 0 ? u.cached : cache_hit, u.input);
    u.reasoning = at_most(u.reasoning, u.output);
    *ret = u;
    return true;
}
