/* search_action.c -- pages are named by a URL, or by where the browser has them. */
#include "wire/tools/search_action.h"

#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"

enum op { OP_NONE, OP_SEARCH, OP_OPEN, OP_FIND };

/* What items and arguments call an operation. */
static const char *const op_words[] = {
    [OP_NONE] = "search",
    [OP_SEARCH] = "search",
    [OP_OPEN] = "open_page",
    [OP_FIND] = "find_in_page",
};

static const enum op builtin_ops[BUILTIN_TOOL_COUNT] = {
    [BUILTIN_BROWSER_SEARCH] = OP_SEARCH,
    [BUILTIN_BROWSER_OPEN] = OP_OPEN,
    [BUILTIN_BROWSER_FIND] = OP_FIND,
};

/* What the model is told of arguments that cannot be used. */
static const str no_object = STR_INIT("Error: the arguments are no JSON object.");
static const str nothing_to_do =
    STR_INIT("Error: the arguments have no query to search for, no url to open, and no pattern to "
             "find.");

struct arguments {
    str action, query, pattern, url; /* escaped texts; empty: not given, or no text */
    int64_t cursor;                  /* of the page; -1: the last */
    bool has_link;                   /* a page is named by a number */
    bool is_broken;                  /* no object: nothing is given */
};

/* ---- reading */

static void read_id(struct jr *j, struct arguments *a)
{
    a->has_link = jr_peek(j) == JR_NUMBER;
    if (a->url.len == 0)
        a->url = jr_string(j);
    else
        jr_skip(j);
}

static bool read_arguments(str plain, struct arguments *ret)
{
    struct arguments a = {.cursor = -1};
    struct jr j;
    str key;

    jr_init(&j, plain);
    if (!jr_enter(&j, JR_OBJECT))
        return false;
    while (jr_next_member(&j, &key)) {
        if (str_eq(key, STR("action")))
            a.action = jr_string(&j);
        else if (str_eq(key, STR("query")))
            a.query = jr_string(&j);
        else if (str_eq(key, STR("pattern")))
            a.pattern = jr_string(&j);
        else if (str_eq(key, STR("url")))
            a.url = jr_string(&j);
        else if (str_eq(key, STR("id")))
            read_id(&j, &a);
        else if (str_eq(key, STR("cursor")))
            a.cursor = jr_int(&j, a.cursor);
        else
            jr_skip(&j);
    }
    *ret = a;
    return jr_end(&j);
}

/* ---- which action */

static bool has_what_it_needs(enum op op, const struct arguments *a)
{
    switch (op) {
    case OP_SEARCH:
        return a->query.len > 0;
    case OP_OPEN:
        return a->url.len > 0 || a->has_link || a->cursor >= 0;
    case OP_FIND:
        return a->pattern.len > 0;
    case OP_NONE:
        break;
    }
    return false;
}

static enum op op_of_word(str word)
{
    if (str_eq(word, STR("open")))
        return OP_OPEN;
    if (str_eq(word, STR("find")))
        return OP_FIND;
    for (int op = OP_SEARCH; op <= OP_FIND; op++) {
        if (str_eq(word, str_from_c(op_words[op])))
            return (enum op)op;
    }
    return OP_NONE;
}

/* The operation that the arguments allow. */
static enum op guess_op(const struct arguments *a)
{
    enum op op = OP_FIND;

    while (op != OP_NONE && !has_what_it_needs(op, a))
        op--;
    return op;
}

static enum op choose_op(const struct arguments *a)
{
    enum op op = op_of_word(a->action);

    return has_what_it_needs(op, a) ? op : guess_op(a);
}

/* ---- writing */

static void write_text(struct jw *w, const char *key, str escaped)
{
    json_copy_key_text(w, key, str_is_none(escaped) ? STR("") : escaped);
}

static void write_page(struct jw *w, const struct arguments *a)
{
    if (a->url.len > 0 || a->is_broken) {
        write_text(w, "url", a->url);
        return;
    }
    jw_key(w, "url");
    jw_open_string(w);
    buf_append(w->out, STR("cursor:"));
    buf_int(w->out, a->cursor);
    jw_close_string(w);
}

static void write_action(enum op op, const struct arguments *a, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    jw_key_string(&w, "type", str_from_c(op_words[op]));
    if (op == OP_FIND)
        write_text(&w, "pattern", a->pattern);
    if (op == OP_FIND || op == OP_OPEN)
        write_page(&w, a);
    else
        write_text(&w, "query", a->query);
    jw_object_end(&w);
}

static bool is_given(str raw)
{
    return !str_eq(raw, STR("\"\"")) && !str_eq(raw, STR("null"));
}

/* plain: the arguments, or "{}" when they are no object. */
static void write_arguments(enum op op, str plain, struct buf *out)
{
    struct jw w = jw_to(out);
    struct jr j;
    str key;

    jw_object(&w);
    jw_key_string(&w, "action", str_from_c(op_words[op]));
    jr_init(&j, plain);
    (void)jr_enter(&j, JR_OBJECT);
    while (jr_next_member(&j, &key)) {
        bool is_action = str_eq(key, STR("action"));
        str name = j.raw_key, value = jr_raw(&j);

        if (is_action || !is_given(value))
            continue;
        json_copy_key(&w, name);
        json_copy_value(value, out);
        w.comma = true;
    }
    jw_object_end(&w);
}

/* The browser opens the last page again when it is told nothing. */
static str why_useless(enum builtin_tool tool, enum op op, const struct arguments *a)
{
    if (a->is_broken)
        return no_object;
    if (tool == BUILTIN_BROWSER_OPEN || has_what_it_needs(op, a))
        return STR_NONE;
    return nothing_to_do;
}

str search_action(enum builtin_tool tool, str escaped_arguments, struct buf *action,
                  struct buf *arguments)
{
    struct buf plain = {.limit = 0}, canonical = {.limit = 0};
    struct arguments a;
    enum op op;

    json_text_decode(escaped_arguments, &plain);
    if (!read_arguments(buf_str(&plain), &a))
        a = (struct arguments){.cursor = -1, .is_broken = true};
    op = tool == BUILTIN_NONE ? choose_op(&a) : builtin_ops[tool];
    write_action(op, &a, action);
    write_arguments(op, a.is_broken ? STR("{}") : buf_str(&plain), &canonical);
    json_text_escape(buf_str(&canonical), arguments);
    action->failed = action->failed || buf_failed(&plain) || buf_failed(&canonical);
    buf_fini(&plain);
    buf_fini(&canonical);
    return why_useless(tool, op, &a);
}
