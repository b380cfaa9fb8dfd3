/* web_action.c -- what models write when they call web_search: numbers as texts and texts as
 * numbers, members left out or empty, other names for the same thing. */
#include "base/num.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "search/web_session.h"

enum { NO_NUMBER = -1 };

/* Texts are raw, escaped. */
struct arguments {
    str op, query, url, pattern;
    int64_t cursor, first_line, n_lines, max_results;
};

/* ---- members */

/* A whole number, also in quotes; fallback for anything else. */
static int64_t read_number(struct jr *j, int64_t fallback)
{
    struct jr inner;
    int64_t n;

    if (jr_peek(j) != JR_STRING)
        return jr_int(j, fallback);
    jr_init(&inner, str_trim(jr_string(j)));
    n = jr_int(&inner, fallback);
    return jr_end(&inner) ? n : fallback;
}

/* A text; of a list the first one, of a number its digits. */
static str read_text(struct jr *j)
{
    str text = STR_NONE;

    if (jr_peek(j) == JR_NUMBER)
        return jr_raw(j);
    if (jr_peek(j) != JR_ARRAY)
        return jr_string(j);
    (void)jr_enter(j, JR_ARRAY);
    while (jr_next_element(j)) {
        str element = jr_string(j);

        text = str_is_none(text) ? element : text;
    }
    return text;
}

static const struct {
    str name;
    size_t at; /* in struct arguments */
    bool is_text;
} members[] = {
#define TEXT(name, field)   {STR_INIT(name), offsetof(struct arguments, field), true},
#define NUMBER(name, field) {STR_INIT(name), offsetof(struct arguments, field), false},
    TEXT("action", op) /* the function's */
    TEXT("type", op)   /* that of the item */
    TEXT("query", query) TEXT("q", query) TEXT("queries", query) TEXT("url", url)
        TEXT("id", url) /* Harmony's: a URL, or the number of a link */
    TEXT("link", url) TEXT("pattern", pattern) TEXT("text", pattern) NUMBER("cursor", cursor)
        NUMBER("loc", first_line) NUMBER("num_lines", n_lines) NUMBER("topn", max_results)
            NUMBER("top_n", max_results)
#undef TEXT
#undef NUMBER
};

static void read_value(struct jr *j, str key, struct arguments *ret)
{
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        char *field = (char *)ret + members[i].at;

        if (!str_eq(key, members[i].name))
            continue;
        if (members[i].is_text)
            *(str *)(void *)field = read_text(j);
        else
            *(int64_t *)(void *)field = read_number(j, NO_NUMBER);
        return;
    }
    jr_skip(j);
}

/* An action may be an object as in the item: {"action":{"type":"search","query":...}}. */
static bool read_arguments(str text, struct arguments *ret)
{
    struct jr j;
    str key;

    jr_init(&j, text);
    if (!jr_enter(&j, JR_OBJECT))
        return false;
    while (jr_next_member(&j, &key)) {
        if (!str_eq(key, STR("action")) || jr_peek(&j) != JR_OBJECT) {
            read_value(&j, key, ret);
            continue;
        }
        (void)jr_enter(&j, JR_OBJECT);
        while (jr_next_member(&j, &key))
            read_value(&j, key, ret);
    }
    return jr_end(&j);
}

/* ---- what they mean */

static const struct {
    str name;
    enum web_op op;
} ops[] = {
    {STR_INIT("search"), WEB_SEARCH}, {STR_INIT("open_page"), WEB_OPEN},
    {STR_INIT("open"), WEB_OPEN},     {STR_INIT("find_in_page"), WEB_FIND},
    {STR_INIT("find"), WEB_FIND},
};

/* The operation that is named, or that the other members belong to. */
static enum web_op op_of(const struct arguments *r)
{
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        if (!str_is_none(r->op) && str_eq_nocase(r->op, ops[i].name))
            return ops[i].op;
    }
    if (r->pattern.len > 0)
        return WEB_FIND;
    return r->query.len > 0 ? WEB_SEARCH : WEB_OPEN;
}

/* The text, plain, without white space around it; STR_NONE when nothing is left. */
static str plain_text(str raw, struct arena *a)
{
    str text = str_trim(json_text_dup(a, raw));

    return text.len > 0 ? text : STR_NONE;
}

/* Where a URL is asked for, models also give the number of a link, or "cursor:2", as the item
 * shows a page without a URL. */
static void read_place(struct web_action *a)
{
    static const str cursor = STR_INIT("cursor:");
    uint64_t n;

    if (str_is_none(a->url))
        return;
    if (str_starts_with(a->url, cursor) && num_uint(str_skip(a->url, cursor.len), &n) &&
        n < INT64_MAX)
        a->cursor = (int64_t)n;
    else if (num_uint(a->url, &n) && n < INT64_MAX)
        a->link = (int64_t)n;
    else if (!str_eq(a->url, STR("-1"))) /* Harmony's default: none */
        return;
    a->url = STR_NONE;
}

static int check_action(const struct web_action *a, struct err *reterr)
{
    if (a->op == WEB_SEARCH && str_is_none(a->query)) {
        err_set(reterr, ERR_MISSING_PARAMETER, "a search needs a query");
        return -1;
    }
    if (a->op == WEB_FIND && str_is_none(a->pattern)) {
        err_set(reterr, ERR_MISSING_PARAMETER, "find_in_page needs a pattern");
        return -1;
    }
    return 0;
}

static int64_t at_least(int64_t n, int64_t least)
{
    return n < least ? NO_NUMBER : n;
}

int web_action_read(str arguments, struct arena *a, struct web_action *ret, struct err *reterr)
{
    struct arguments r = {.cursor = NO_NUMBER,
                          .first_line = NO_NUMBER,
                          .n_lines = NO_NUMBER,
                          .max_results = NO_NUMBER};
    struct web_action action;

    if (!read_arguments(arguments, &r)) {
        err_set(reterr, ERR_INVALID_JSON, "the arguments are not a JSON object");
        return -1;
    }
    action = (struct web_action){.op = op_of(&r),
                                 .query = plain_text(r.query, a),
                                 .url = plain_text(r.url, a),
                                 .pattern = plain_text(r.pattern, a),
                                 .link = NO_NUMBER,
                                 .cursor = at_least(r.cursor, 0),
                                 .first_line = at_least(r.first_line, 0),
                                 .n_lines = at_least(r.n_lines, 1),
                                 .max_results = at_least(r.max_results, 1)};
    read_place(&action);
    if (check_action(&action, reterr) == -1)
        return -1;
    *ret = action;
    return 0;
}
