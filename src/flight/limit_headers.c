/* limit_headers.c -- three headers for each kind of limit. */
#include "flight/limit_headers.h"

#include "access/rate_limit.h"
#include "base/buf.h"

/* Names of the headers of one kind, in lower case. */
struct names {
    str limit, left, full;
};

static const struct names of_requests = {STR_INIT("x-ratelimit-limit-requests"),
                                         STR_INIT("x-ratelimit-remaining-requests"),
                                         STR_INIT("x-ratelimit-reset-requests")};
static const struct names of_tokens = {STR_INIT("x-ratelimit-limit-tokens"),
                                       STR_INIT("x-ratelimit-remaining-tokens"),
                                       STR_INIT("x-ratelimit-reset-tokens")};

bool limit_headers_belong_to(str method, str path)
{
    static const str paths[] = {STR_INIT("/v1/responses"), STR_INIT("/v1/chat/completions"),
                                STR_INIT("/v1/completions"), STR_INIT("/v1/embeddings")};

    return str_eq(method, STR("POST")) && str_is_one_of(path, LIST_OF(paths));
}

/* Upstreams tell of further kinds, which are no more ours than the two. */
bool limit_headers_have(str name)
{
    return str_starts_with_nocase(name, STR("x-ratelimit-"));
}

static str keep_text(struct arena *memory, struct buf *text)
{
    const str kept = buf_failed(text) ? STR_NONE : arena_dup(memory, buf_str(text));

    buf_fini(text);
    return kept;
}

static str keep_number(struct arena *memory, uint64_t n)
{
    struct buf text = {.limit = 0};

    buf_uint(&text, n);
    return keep_text(memory, &text);
}

static str keep_time(struct arena *memory, uint64_t ms)
{
    struct buf text = {.limit = 0};

    rate_time_write(ms, &text);
    return keep_text(memory, &text);
}

static size_t write_kind(const struct names *names, const struct rate_view *v, struct arena *memory,
                         struct http_header *out)
{
    enum { EACH = 3 };

    if (v->limit == 0)
        return 0;
    out[0] = (struct http_header){names->limit, keep_number(memory, v->limit)};
    out[1] = (struct http_header){names->left, keep_number(memory, v->left)};
    out[2] = (struct http_header){names->full, keep_time(memory, v->full_ms)};
    for (size_t i = 0; i < EACH; i++) {
        if (str_is_none(out[i].value))
            return 0;
    }
    return EACH;
}

size_t limit_headers_write(const struct rate_answer *a, struct arena *memory,
                           struct http_header out[LIMIT_HEADERS])
{
    const size_t n = write_kind(&of_requests, &a->requests, memory, out);

    return n + write_kind(&of_tokens, &a->tokens, memory, out + n);
}
