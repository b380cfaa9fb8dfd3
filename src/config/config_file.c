/* config_file.c -- the configuration file: JSON as people write it by hand.
 *
 * Comments (// and the block kind) and commas before a closing bracket are
 * overwritten with spaces; what remains must be one strict JSON object. Line
 * ends stay where they are, so line numbers in messages are right. Values may
 * be written as in a flag ("32MiB") or as JSON numbers and truths. */
#include <errno.h>
#include <stdio.h>

#include "config/config_key.h"
#include "json/json_read.h"
#include "json/json_text.h"

enum { MAX_FILE_BYTES = 1 << 20 };

static int read_file(const char *path, struct buf *out, struct err *reterr)
{
    FILE *f = fopen(path, "re");
    char piece[4096];
    size_t n;
    int error = 0;

    if (f == NULL) {
        err_set(reterr, ERR_INVALID_VALUE, "%s: cannot be opened: %s", path, strerror(errno));
        return -1;
    }
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0 && !buf_failed(out))
        buf_append(out, str_from(piece, n));
    if (ferror(f))
        error = errno == 0 ? EIO : errno;
    (void)fclose(f);
    if (error == 0 && !buf_failed(out))
        return 0;
    err_set(reterr, ERR_INVALID_VALUE, "%s: cannot be read: %s", path,
            error != 0 ? strerror(error) : "larger than 1 MiB");
    return -1;
}

static size_t string_end(str text, size_t i)
{
    for (i++; i < text.len && text.p[i] != '"'; i++) {
        if (text.p[i] == '\\')
            i++;
    }
    return i < text.len ? i : text.len - 1;
}

/* Last byte of the comment that starts at i. */
static size_t comment_end(str text, size_t i)
{
    str rest = str_skip(text, i + 2);
    size_t n;

    if (text.p[i + 1] == '/')
        n = str_find_char(rest, '\n');
    else
        n = str_find(rest, STR("*/")) + 2;
    n += i + 1;
    return n < text.len ? n : text.len - 1;
}

static void blank(char *p, size_t from, size_t to)
{
    for (size_t i = from; i <= to; i++) {
        if (p[i] != '\n')
            p[i] = ' ';
    }
}

/* Outside of strings: comments become spaces, and so does a comma when the
 * next byte that is not a space closes something. */
static void blank_extras(char *p, size_t len)
{
    str text = str_from(p, len);
    size_t comma = len;

    for (size_t i = 0; i < len; i++) {
        if (p[i] == '/' && i + 1 < len && (p[i + 1] == '/' || p[i + 1] == '*')) {
            size_t end = comment_end(text, i);

            blank(p, i, end);
            i = end;
            continue;
        }
        if (str_is_space(p[i]))
            continue;
        if ((p[i] == '}' || p[i] == ']') && comma < len)
            p[comma] = ' ';
        comma = p[i] == ',' ? i : len;
        if (p[i] == '"')
            i = string_end(text, i);
    }
}

static size_t line_number(str text, size_t offset)
{
    size_t line = 1;

    for (size_t i = 0; i < offset && i < text.len; i++)
        line += text.p[i] == '\n';
    return line;
}

static int unknown_key(const char *path, str name, struct err *reterr)
{
    const struct config_key *near = config_key_nearest(name);

    if (near == NULL)
        err_set(reterr, ERR_INVALID_VALUE, "%s: unknown key \"%.*s\"", path, STR_ARG(name));
    else
        err_set(reterr, ERR_INVALID_VALUE, "%s: unknown key \"%.*s\"; did you mean \"%s\"?", path,
                STR_ARG(name), near->name);
    return -1;
}

/* A file says max_body; --max-body belongs on the command line. */
static const struct config_key *find_exactly(str name)
{
    return str_find_char(name, '-') < name.len ? NULL : config_key_find(name);
}

static int load_member(struct config *c, const char *path, str name, str raw, struct err *reterr)
{
    const struct config_key *k = find_exactly(name);
    struct buf source = {0};
    enum jr_type type = jr_type_of(raw);
    str value = raw;
    int rc;

    if (k == NULL)
        return unknown_key(path, name, reterr);
    if (type == JR_OBJECT || type == JR_ARRAY || type == JR_NULL) {
        err_set(reterr, ERR_INVALID_TYPE, "%s: %s: must be a string, a number or true or false",
                path, k->name);
        return -1;
    }
    if (type == JR_STRING) {
        value = json_text_dup(&c->memory, str_from(raw.p + 1, raw.len - 2));
        if (str_is_none(value)) {
            err_set(reterr, ERR_INTERNAL, "%s: out of memory", path);
            return -1;
        }
    }
    buf_c(&source, path);
    buf_c(&source, ": ");
    buf_c(&source, k->name);
    rc = config_key_set(c, k, value, buf_cstr(&source), reterr);
    buf_fini(&source);
    return rc;
}

static int load_members(struct config *c, const char *path, str text, struct err *reterr)
{
    struct jr j;
    str name;
    bool is_object;

    jr_init(&j, text);
    is_object = jr_enter(&j, JR_OBJECT);
    while (is_object && jr_next_member(&j, &name)) {
        str key = arena_dup(&c->memory, name); /* jr_raw() may overwrite it */
        str raw = jr_raw(&j);

        if (!jr_ok(&j))
            break;
        if (load_member(c, path, key, raw, reterr) == -1)
            return -1;
    }
    if (!jr_end(&j)) {
        err_set(reterr, ERR_INVALID_JSON, "%s: line %zu: %s", path,
                line_number(text, jr_offset(&j)), j.error);
        return -1;
    }
    if (!is_object) {
        err_set(reterr, ERR_INVALID_JSON, "%s: must hold a JSON object, { ... }", path);
        return -1;
    }
    return 0;
}

int config_file_load(struct config *c, const char *path, struct err *reterr)
{
    struct buf text;
    int rc = -1;

    buf_init(&text, MAX_FILE_BYTES);
    if (read_file(path, &text, reterr) == 0) {
        blank_extras(text.p, text.len);
        rc = load_members(c, path, buf_str(&text), reterr);
    }
    buf_fini(&text);
    return rc;
}
