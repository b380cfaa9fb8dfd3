/* browser_action.c -- pages are named by a URL, or by where a list of the browser has them. */
#include "response/browser_action.h"

#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"

struct arguments {
    str query, pattern, page; /* escaped texts; STR_NONE: not given, or no text */
    int64_t cursor;
    bool is_broken;
};

/* Without a cursor the browser takes the page it has opened last: its own default. */
static bool read(str plain, struct arguments *ret)
{
    struct arguments a = {.cursor = -1};
    struct jr j;
    str key;

    jr_init(&j, plain);
    if (!jr_enter(&j, JR_OBJECT))
        return false;
    while (jr_next_member(&j, &key)) {
        if (str_eq(key, STR("query")))
            a.query = jr_string(&j);
        else if (str_eq(key, STR("pattern")))
            a.pattern = jr_string(&j);
        else if (str_eq(key, STR("id")))
            a.page = jr_string(&j);
        else if (str_eq(key, STR("cursor")))
            a.cursor = jr_int(&j, a.cursor);
        else
            jr_skip(&j);
    }
    *ret = a;
    return jr_end(&j);
}

static void write_text(struct jw *w, const char *key, str escaped)
{
    json_copy_key_text(w, key, str_is_none(escaped) ? STR("") : escaped);
}

static void write_page(struct jw *w, str url, int64_t cursor)
{
    if (!str_is_none(url)) {
        write_text(w, "url", url);
        return;
    }
    jw_key(w, "url");
    jw_open_string(w);
    buf_append(w->out, STR("cursor:"));
    buf_int(w->out, cursor);
    jw_close_string(w);
}

static void write_action(enum builtin_tool tool, const struct arguments *a, struct jw *w)
{
    switch (tool) {
    case BUILTIN_BROWSER_OPEN:
        jw_key_string(w, "type", STR("open_page"));
        write_page(w, a->page, a->cursor);
        break;
    case BUILTIN_BROWSER_FIND:
        jw_key_string(w, "type", STR("find_in_page"));
        write_text(w, "pattern", a->pattern);
        write_page(w, a->is_broken ? STR("") : STR_NONE, a->cursor);
        break;
    default:
        jw_key_string(w, "type", STR("search"));
        write_text(w, "query", a->query);
        break;
    }
}

bool browser_action(enum builtin_tool tool, str escaped_arguments, struct buf *out)
{
    struct buf plain = {.limit = 0};
    struct arguments a;
    struct jw w = jw_to(out);

    json_text_decode(escaped_arguments, &plain);
    if (!read(buf_str(&plain), &a))
        a = (struct arguments){.page = STR(""), .is_broken = true};
    jw_object(&w);
    write_action(tool, &a, &w);
    jw_object_end(&w);
    out->failed = out->failed || buf_failed(&plain);
    buf_fini(&plain);
    return !a.is_broken;
}
