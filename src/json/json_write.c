/* json_write.c -- commas and quotes. */
#include "json/json_write.h"

#include <string.h>

#include "json/json_text.h"

static void put_comma(struct jw *w)
{
    if (w->comma)
        buf_char(w->out, ',');
    w->comma = true;
}

void jw_object(struct jw *w)
{
    put_comma(w);
    buf_char(w->out, '{');
    w->comma = false;
}

void jw_object_end(struct jw *w)
{
    buf_char(w->out, '}');
    w->comma = true;
}

void jw_array(struct jw *w)
{
    put_comma(w);
    buf_char(w->out, '[');
    w->comma = false;
}

void jw_array_end(struct jw *w)
{
    buf_char(w->out, ']');
    w->comma = true;
}

void jw_key(struct jw *w, const char *key)
{
    const size_t n_key = strlen(key), n = (size_t)w->comma + 1 + n_key + 2;
    char *p = buf_reserve(w->out, n);

    if (p == NULL)
        return;
    if (w->comma)
        *p++ = ',';
    *p++ = '"';
    memcpy(p, key, n_key); // NOLINT(bugprone-not-null-terminated-result): it goes on
    p[n_key] = '"';
    p[n_key + 1] = ':';
    w->out->len += n;
    w->comma = false;
}

void jw_open_string(struct jw *w)
{
    put_comma(w);
    buf_char(w->out, '"');
}

void jw_close_string(struct jw *w)
{
    buf_char(w->out, '"');
}

void jw_string(struct jw *w, str text)
{
    if (str_is_none(text)) {
        jw_null(w);
        return;
    }
    jw_open_string(w);
    json_text_escape(text, w->out);
    jw_close_string(w);
}

void jw_escaped(struct jw *w, str escaped)
{
    if (str_is_none(escaped)) {
        jw_null(w);
        return;
    }
    jw_open_string(w);
    buf_append(w->out, escaped);
    jw_close_string(w);
}

void jw_raw(struct jw *w, str json)
{
    put_comma(w);
    buf_append(w->out, str_is_none(json) ? STR("null") : json);
}

void jw_int(struct jw *w, int64_t n)
{
    put_comma(w);
    buf_int(w->out, n);
}

void jw_bool(struct jw *w, bool b)
{
    jw_raw(w, b ? STR("true") : STR("false"));
}

void jw_null(struct jw *w)
{
    jw_raw(w, STR("null"));
}

void jw_key_string(struct jw *w, const char *key, str text)
{
    jw_key(w, key);
    jw_string(w, text);
}

void jw_key_escaped(struct jw *w, const char *key, str escaped)
{
    jw_key(w, key);
    jw_escaped(w, escaped);
}

void jw_key_raw(struct jw *w, const char *key, str json)
{
    jw_key(w, key);
    jw_raw(w, json);
}

void jw_key_int(struct jw *w, const char *key, int64_t n)
{
    jw_key(w, key);
    jw_int(w, n);
}

void jw_key_bool(struct jw *w, const char *key, bool b)
{
    jw_key(w, key);
    jw_bool(w, b);
}
