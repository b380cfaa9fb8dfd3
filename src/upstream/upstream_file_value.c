/* upstream_file_value.c -- values of the file of upstreams, and what is said of them. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "config/config_override.h"
#include "config/spelling.h"
#include "json/json_text.h"
#include "upstream/upstream_file_internal.h"

/* ---- problems */

/* Paths are no longer than what is written in the file, and names may be anything there. */
static void append_name(str name, struct buf *out)
{
    const bool is_plain = str_is_visible(name) && name.len > 0 && name.len <= CONFIG_QUOTE_BYTES;

    if (is_plain)
        buf_append(out, name);
    else
        buf_c(out, config_quote(name).text);
}

void upstream_value_path(const struct upstream_value *v, struct buf *out)
{
    if (v->in == NULL)
        return;
    upstream_value_path(v->in, out);
    if (str_is_none(v->name)) {
        buf_char(out, '[');
        buf_uint(out, v->index);
        buf_char(out, ']');
        return;
    }
    buf_c(out, v->in->in == NULL ? "" : ".");
    append_name(v->name, out);
}

/* Values are mostly asked for in their order, so that the lines of the text are counted once. */
size_t upstream_value_line(struct upstream_reader *r, const struct upstream_value *v)
{
    const size_t offset = str_is_none(v->raw) ? 0 : (size_t)(v->raw.p - r->text.p);

    if (offset < r->at) {
        r->at = 0;
        r->line = 1;
    }
    for (; r->at < offset; r->at++)
        r->line += r->text.p[r->at] == '\n';
    return r->line;
}

/* Appends "upstreams.json: line 3: upstreams.gpu1.url: ". */
static void append_where(struct upstream_reader *r, const struct upstream_value *v, struct buf *out)
{
    buf_c(out, r->name);
    buf_c(out, ": line ");
    buf_uint(out, upstream_value_line(r, v));
    buf_c(out, ": ");
    if (v->in != NULL) {
        upstream_value_path(v, out);
        buf_c(out, ": ");
    }
}

void upstream_value_refuse(struct upstream_reader *r, const struct upstream_value *v,
                           const char *format, ...)
{
    enum { MAX_MESSAGE_BYTES = 512 };
    char message[MAX_MESSAGE_BYTES];
    struct buf where = {.limit = 0};
    va_list args;

    append_where(r, v, &where);
    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    config_error(r->problems, "%s%s", buf_cstr(&where), message);
    buf_fini(&where);
}

void upstream_value_warn(struct upstream_reader *r, const struct upstream_value *v,
                         const char *message)
{
    struct buf where = {.limit = 0};

    append_where(r, v, &where);
    config_warning(r->problems, "%s%s", buf_cstr(&where), message);
    buf_fini(&where);
}

void upstream_value_refuse_unknown(struct upstream_reader *r, const struct upstream_value *v,
                                   const char *const *names, size_t n)
{
    struct spelling s = spelling_of(v->name, v->name.len / 2);

    for (size_t i = 0; i < n; i++)
        (void)spelling_try(&s, names[i]);
    if (s.best != NULL)
        upstream_value_refuse(r, v, "is no member of this; did you mean \"%s\"?", s.best);
    else
        upstream_value_refuse(r, v, "is no member of this; see docs/upstreams.md");
}

/* ---- containers */

bool upstream_value_enter(struct upstream_reader *r, const struct upstream_value *v,
                          enum jr_type type, const char *what, struct jr *ret)
{
    jr_init(ret, v->raw);
    if (jr_enter(ret, type))
        return true;
    upstream_value_refuse(r, v, "must be %s", what);
    return false;
}

bool upstream_value_next(struct upstream_reader *r, const struct upstream_value *in, struct jr *j,
                         struct upstream_value *ret)
{
    const bool is_object = jr_type_of(in->raw) == JR_OBJECT;
    const size_t index = ret->in == in ? ret->index + 1 : 0;
    str name = STR_NONE;

    if (!(is_object ? jr_next_member(j, &name) : jr_next_element(j)))
        return false;
    if (is_object) {
        name = json_text_copy(&r->shared->memory, j->raw_key);
        r->no_memory |= str_is_none(name);
    }
    *ret = (struct upstream_value){.in = in, .name = name, .index = index};
    ret->raw = jr_raw(j);
    return !r->no_memory;
}

/* ---- fields */

bool upstream_value_text(struct upstream_reader *r, const struct upstream_value *v, str *field)
{
    str text;

    if (jr_type_of(v->raw) != JR_STRING) {
        upstream_value_refuse(r, v, "must be a string");
        return false;
    }
    text = json_text_copy(&r->shared->memory, jr_string_of(v->raw));
    if (str_is_none(text)) {
        r->no_memory = true;
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == 127) {
            upstream_value_refuse(r, v, "must not contain control characters");
            return false;
        }
    }
    if (text.len > 0)
        *field = text;
    else
        upstream_value_refuse(r, v, "must not be empty");
    return text.len > 0;
}

bool upstream_value_file(struct upstream_reader *r, const struct upstream_value *v,
                         const char **field)
{
    const char *path, *why = NULL;
    str text;

    if (!upstream_value_text(r, v, &text))
        return false;
    path = config_file_path(&r->shared->memory, text, r->source->env, &why);
    if (path == NULL) {
        upstream_value_refuse(r, v, "%s", why);
        return false;
    }
    if (access(path, R_OK) == -1) {
        upstream_value_refuse(r, v, "cannot be read: %s", strerror(errno));
        return false;
    }
    *field = path;
    return true;
}

void upstream_value_flag(struct upstream_reader *r, const struct upstream_value *v, bool *field)
{
    const enum jr_type type = jr_type_of(v->raw);

    if (type == JR_TRUE || type == JR_FALSE)
        *field = type == JR_TRUE;
    else
        upstream_value_refuse(r, v, "must be true or false");
}

void upstream_value_count(struct upstream_reader *r, const struct upstream_value *v, unsigned least,
                          unsigned most, unsigned *field)
{
    struct jr j;
    int64_t n;

    jr_init(&j, v->raw);
    n = jr_int(&j, -1);
    if (n < 0 || n < least || n > most)
        upstream_value_refuse(r, v, "must be a whole number from %u to %u", least, most);
    else
        *field = (unsigned)n;
}

void upstream_value_override(struct upstream_reader *r, const struct upstream_value *v,
                             enum config_id key, struct config *c)
{
    struct buf path = {.limit = 0};
    struct config_override o = {
        .key = key, .raw = v->raw, .file = r->name, .line = upstream_value_line(r, v)};

    upstream_value_path(v, &path);
    o.member = buf_failed(&path) ? NULL : arena_dup(&r->shared->memory, buf_str(&path)).p;
    buf_fini(&path);
    if (o.member == NULL) {
        r->no_memory = true;
        return;
    }
    config_override(c, &o, r->problems);
}
