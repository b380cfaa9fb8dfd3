/* config_file.c -- the configuration file: JSON as people write it by hand.
 *
 * What json_relax() leaves must be one strict JSON object, whose values
 * config_json.c reads. */
#include <errno.h>
#include <stdio.h>

#include "base/secrets.h"
#include "config/config_key.h"
#include "config/file_mode.h"
#include "json/json_read.h"
#include "json/json_relax.h"

enum { MAX_FILE_BYTES = 1 << 20 };

/* A file that is being read: the next member's name and value, and where it is. */
struct file {
    struct config *config;
    struct config_problems *problems;
    struct config_place place;
    size_t offset;   /* the line of place is that of this byte */
    str name, value; /* of the member; value is raw */
};

/* What to look at, when a file cannot be opened. */
static const char *open_hint(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return "; check the name of the file";
    case EACCES:
        return "; the gateway's user needs the right to read it, and to enter its folder";
    default:
        return "";
    }
}

bool config_read_file(const char *path, struct buf *out, struct config_problems *problems)
{
    FILE *f = fopen(path, "re");
    char piece[4096];
    size_t n;
    int error = 0;

    buf_init(out, MAX_FILE_BYTES);
    if (f == NULL) {
        config_error(problems, "%s: cannot be opened: %s%s", path, strerror(errno),
                     open_hint(errno));
        return false;
    }
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0 && !buf_failed(out))
        buf_append(out, str_from(piece, n));
    if (ferror(f))
        error = errno == 0 ? EIO : errno;
    (void)fclose(f);
    file_mode_check_writers(path, problems);
    if (error == 0 && !buf_failed(out))
        return true;
    config_error(problems, "%s: cannot be read: %s", path,
                 error != 0 ? strerror(error) : "larger than 1 MiB");
    return false;
}

bool config_read_token(const char *path, struct buf *out)
{
    struct buf text;
    str token;
    bool is_good;

    if (!config_read_file(path, &text, NULL)) {
        buf_fini(&text);
        return false;
    }
    token = str_trim_start(buf_str(&text));
    token = str_trim(str_from(token.p, str_find_char(token, '\n')));
    is_good = token.len > 0 && str_is_visible(token);
    if (is_good)
        buf_append(out, token);
    secret_buf_fini(&text);
    return is_good && !buf_failed(out);
}

/* Moves the place on to the line of a byte. */
static void go_to(struct file *f, str text, size_t offset)
{
    for (; f->offset < offset; f->offset++)
        f->place.line += text.p[f->offset] == '\n';
}

static void unknown_key(const struct file *f)
{
    struct spelling s = spelling_of(f->name, f->name.len / 2);

    config_key_spell(&s);
    if (s.best != NULL)
        config_error(f->problems, "%s: line %zu: unknown key %s; did you mean \"%s\"?",
                     f->place.name, f->place.line, config_quote(f->name).text, s.best);
    else
        config_error(f->problems, "%s: line %zu: unknown key %s; see antiphon serve --help",
                     f->place.name, f->place.line, config_quote(f->name).text);
}

/* A file says max_body; --max-body belongs on the command line. */
static const struct config_key *find_exactly(str name)
{
    return str_find_char(name, '-') < name.len ? NULL : config_key_find(name);
}

static void load_member(const struct file *f)
{
    const struct config_key *k = find_exactly(f->name);

    if (k == NULL) {
        unknown_key(f);
        return;
    }
    if (f->config->places[k->id].source == CONFIG_FROM_FILE)
        config_warning(f->problems, "%s: line %zu: %s is there twice; the last one counts",
                       f->place.name, f->place.line, k->name);
    config_key_set_json(f->config, k, f->value, &f->place, f->problems);
}

/* Members before a mistake in the syntax count; what is behind it cannot be read. */
static void load_members(struct file *f, str text)
{
    struct jr j;
    str name;
    bool is_object;

    jr_init(&j, text);
    is_object = jr_enter(&j, JR_OBJECT);
    while (is_object && jr_next_member(&j, &name)) {
        go_to(f, text, (size_t)(j.raw_key.p - text.p));
        f->name = arena_dup(&f->config->memory, name); /* jr_raw() may overwrite it */
        f->value = jr_raw(&j);
        if (jr_ok(&j))
            load_member(f);
    }
    if (!jr_end(&j)) {
        size_t line, column;

        json_relax_place(text, jr_offset(&j), &line, &column);
        config_error(f->problems, "%s: line %zu, column %zu: %s", f->place.name, line, column,
                     j.error);
    } else if (!is_object) {
        config_error(f->problems, "%s: must hold a JSON object, { ... }", f->place.name);
    }
}

void config_file_parse(struct config *c, const char *path, str text,
                       struct config_problems *problems)
{
    struct file f = {.config = c,
                     .problems = problems,
                     .place = {.source = CONFIG_FROM_FILE,
                               .line = 1,
                               .name = arena_dup(&c->memory, str_from_c(path)).p}};
    struct buf strict;

    buf_init(&strict, MAX_FILE_BYTES);
    buf_append(&strict, text);
    if (f.place.name == NULL || buf_failed(&strict)) {
        config_error(problems, "%s: larger than 1 MiB, or out of memory", path);
    } else {
        json_relax(strict.p, strict.len);
        load_members(&f, buf_str(&strict));
    }
    buf_fini(&strict);
}

void config_file_load(struct config *c, const char *path, struct config_problems *problems)
{
    struct buf text;

    if (config_read_file(path, &text, problems))
        config_file_parse(c, path, buf_str(&text), problems);
    buf_fini(&text);
}
