/* context_size.c -- numbers are found by the words around them. */
#include "wire/dialect/context_size.h"

enum { MAX_DIGITS = 12 };

enum what { LIMIT, PROMPT, ANSWER, TOTAL, WHATS };
enum place { BEFORE, AFTER };

static const struct {
    enum what what;
    enum place place;
    str words;
} rows[] = {
#define CONTEXT_SIZE(what, place, words) {what, place, STR_INIT(words)},
#include "wire/dialect/context_size.def"
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number that begins or ends there; 0 when there is none, or too long a one. */
static int64_t read_number(str text, size_t at, enum place place)
{
    size_t from = at, to = at;
    int64_t n = 0;

    while (place == AFTER && to < text.len && is_digit(text.p[to]))
        to++;
    while (place == BEFORE && from > 0 && is_digit(text.p[from - 1]))
        from--;
    if (to - from > MAX_DIGITS)
        return 0;
    for (size_t i = from; i < to; i++)
        n = n * 10 + (text.p[i] - '0');
    return n;
}

/* The first number with these words beside it. */
static int64_t find_number(str text, str words, enum place place)
{
    for (size_t i = 0; i + words.len <= text.len; i++) {
        if (memcmp(text.p + i, words.p, words.len) == 0) {
            int64_t n = read_number(text, place == AFTER ? i + words.len : i, place);

            if (n > 0)
                return n;
        }
    }
    return 0;
}

struct err_tokens context_size_check(struct err_tokens t)
{
    const struct err_tokens unknown = {.limit = 0};
    bool is_explained = t.prompt == 0 || t.prompt + t.answer >= t.limit;

    if (t.limit <= 0 || t.prompt < 0 || t.answer < 0 || !is_explained)
        return unknown;
    if (t.answer >= t.limit)
        t.answer = 0; /* it alone is too much: leaving out turns cannot make room for it */
    return t;
}

struct err_tokens context_size_read(str message)
{
    /* A server that stops counting at its limit says so; the number is no measure then. */
    const bool is_bound = str_has_nocase(message, STR(" at least "));
    int64_t found[WHATS] = {0};
    struct err_tokens t;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (found[rows[i].what] == 0)
            found[rows[i].what] = find_number(message, rows[i].words, rows[i].place);
    }
    t = (struct err_tokens){
        .limit = found[LIMIT], .prompt = found[PROMPT], .answer = found[ANSWER]};
    if (t.prompt == 0 && found[TOTAL] > t.answer)
        t.prompt = found[TOTAL] - t.answer;
    if (is_bound)
        t.prompt = 0;
    return context_size_check(t);
}

void context_size_error(struct err *e, int64_t limit, int64_t request)
{
    err_set(e, ERR_CONTEXT_LENGTH,
            "This model's maximum context length is %lld tokens, but the request has %lld.",
            (long long)limit, (long long)request);
    e->tokens = (struct err_tokens){.limit = limit, .prompt = request};
}
