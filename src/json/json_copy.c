/* json_copy.c -- compact copies of valid JSON. */
#include "json/json_copy.h"

#include "json/json_text.h"
#include "json/json_walk.h"

void json_copy_text(str escaped, struct buf *out)
{
    struct json_splice s = {0};

    (void)json_text_splice(&s, escaped, out);
    (void)json_text_splice_end(&s, out);
}

/* The content of the string that s starts with. */
static str string_at(str s)
{
    struct json_walk w = json_walk_of(s);

    return json_walk_string(&w);
}

/* What can stay as it is is copied at once, with all that is around it. */
void json_copy_value(str raw, struct buf *out)
{
    static const struct json_splice nothing_held;
    size_t from = 0, i = 0;

    while (i < raw.len) {
        if (raw.p[i] == '"') {
            const str text = string_at(str_skip(raw, i));

            if (!json_text_splices_as_is(&nothing_held, text)) {
                buf_append(out, str_from(raw.p + from, i + 1 - from));
                json_copy_text(text, out);
                from = i + 1 + text.len; /* the closing quote goes with what follows */
            }
            i += text.len + 2;
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
