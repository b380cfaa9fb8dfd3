/* json_walk.c -- quotes, braces and brackets are all that is looked for. */
#include "json/json_walk.h"

#include "base/block.h"

struct json_walk json_walk_of(str text)
{
    if (text.len == 0)
        text = STR(""); /* arithmetic on NULL is undefined */
    return (struct json_walk){text.p, text.p + text.len};
}

static void skip_space(struct json_walk *w)
{
    while (w->p < w->end && (*w->p == ' ' || *w->p == '\n' || *w->p == '\t' || *w->p == '\r'))
        w->p++;
}

enum jr_type json_walk_peek(struct json_walk *w)
{
    skip_space(w);
    return jr_type_of(str_from(w->p, (size_t)(w->end - w->p)));
}

/* ---- the ends of values */

static inline block mark_end(block b)
{
    return (b == '"') | (b == '\\');
}

/* Stops at a quote. */
static inline const char *see_end(const char *p, const char *end, void *arg)
{
    (void)arg;
    if (*p == '"')
        return NULL;
    return end - p < 2 ? end : p + 2;
}

/* Behind the string whose opening quote p is at. */
static const char *string_end(const char *p, const char *end)
{
    p = block_walk(p + 1, end, mark_end, see_end, NULL);
    return p == end ? end : p + 1;
}

str json_walk_string(struct json_walk *w)
{
    const char *start;

    if (json_walk_peek(w) != JR_STRING)
        return STR("");
    start = w->p + 1;
    w->p = string_end(w->p, w->end);
    return str_from(start, (size_t)(w->p - start) - (w->p > start));
}

/* Behind the container that p is at. */
static const char *container_end(const char *p, const char *end)
{
    size_t depth = 0;

    do {
        if (*p == '"') {
            p = string_end(p, end);
            continue;
        }
        if (*p == '{' || *p == '[')
            depth++;
        else if (*p == '}' || *p == ']')
            depth--;
        p++;
    } while (p < end && depth > 0);
    return p;
}

/* Behind the number or word that p is at. */
static const char *word_end(const char *p, const char *end)
{
    p++;
    while (p < end && *p != ',' && *p != '}' && *p != ']' && *p > ' ')
        p++;
    return p;
}

str json_walk_value(struct json_walk *w)
{
    const char *start;

    skip_space(w);
    start = w->p;
    if (start == w->end)
        return STR("");
    if (*start == '"')
        w->p = string_end(start, w->end);
    else if (*start == '{' || *start == '[')
        w->p = container_end(start, w->end);
    else
        w->p = word_end(start, w->end);
    return str_from(start, (size_t)(w->p - start));
}

/* ---- containers */

bool json_walk_enter(struct json_walk *w, enum jr_type type)
{
    if (json_walk_peek(w) != type)
        return false;
    w->p++;
    return true;
}

/* Moves before the next entry; false behind the container's end, or at that of the text. */
static bool next_entry(struct json_walk *w, char close)
{
    skip_space(w);
    if (w->p < w->end && *w->p == ',') {
        w->p++;
        skip_space(w);
    }
    if (w->p < w->end && *w->p == close) {
        w->p++;
        return false;
    }
    return w->p < w->end;
}

bool json_walk_member(struct json_walk *w, str *ret_raw_name)
{
    if (!next_entry(w, '}') || *w->p != '"')
        return false;
    *ret_raw_name = json_walk_string(w);
    skip_space(w);
    if (w->p < w->end && *w->p == ':')
        w->p++;
    return true;
}

bool json_walk_element(struct json_walk *w)
{
    return next_entry(w, ']');
}
