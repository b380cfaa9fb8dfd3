/* json_copy.c -- compact copies of valid JSON. */
#include "json/json_copy.h"

#include "json/json_text.h"

void json_copy_text(str escaped, struct buf *out)
{
    struct json_splice s = {0};

    (void)json_text_splice(&s, escaped, out);
    (void)json_text_splice_end(&s, out);
}

/* Length of the string content that s starts with, up to its closing quote. */
static size_t string_len(str s)
{
    size_t n = 0;

    while (n < s.len && s.p[n] != '"')
        n += s.p[n] == '\\' ? 2 : 1;
    return n < s.len ? n : s.len;
}

void json_copy_value(str raw, struct buf *out)
{
    size_t from = 0, i = 0;

    while (i < raw.len) {
        if (raw.p[i] == '"') {
            str text = str_skip(raw, i + 1);

            text.len = string_len(text);
            buf_append(out, str_from(raw.p + from, i + 1 - from));
            json_copy_text(text, out);
            from = i + 1 + text.len; /* the closing quote goes with what follows */
            i = from + 1;
        } else if (str_is_space(raw.p[i])) {
            buf_append(out, str_from(raw.p + from, i - from));
            from = ++i;
        } else {
            i++;
        }
    }
    if (from < raw.len)
        buf_append(out, str_skip(raw, from));
}

void json_copy_element(struct jw *w, str raw)
{
    jw_raw(w, STR("")); /* for its comma */
    json_copy_value(raw, w->out);
}

void json_copy_key(struct jw *w, str raw_key)
{
    jw_open_string(w);
    json_copy_text(raw_key, w->out);
    jw_close_string(w);
    buf_char(w->out, ':');
    w->comma = false;
}

void json_copy_key_value(struct jw *w, const char *key, str raw)
{
    jw_key(w, key);
    if (str_is_none(raw))
        jw_null(w);
    else
        json_copy_element(w, raw);
}

void json_copy_key_text(struct jw *w, const char *key, str escaped)
{
    jw_key(w, key);
    if (str_is_none(escaped)) {
        jw_null(w);
        return;
    }
    jw_open_string(w);
    json_copy_text(escaped, w->out);
    jw_close_string(w);
}

void json_copy_given_value(struct jw *w, const char *key, str raw)
{
    if (!str_is_none(raw))
        json_copy_key_value(w, key, raw);
}

void json_copy_given_text(struct jw *w, const char *key, str escaped)
{
    if (!str_is_none(escaped))
        json_copy_key_text(w, key, escaped);
}

str json_copy_quote_take(struct arena *a, struct buf *json)
{
    struct buf quoted = {0};
    str result = STR_NONE;

    json_text_escape(buf_str(json), &quoted);
    if (!buf_failed(json) && !buf_failed(&quoted))
        result = arena_dup(a, buf_str(&quoted));
    buf_fini(&quoted);
    buf_fini(json);
    return result;
}
