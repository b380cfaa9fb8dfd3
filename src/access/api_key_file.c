/* api_key_file.c -- reads the keys.
 *
 * A file has a line for each key,
 *
 *     alice 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 rpm=60 admin
 *
 * comments, and blank lines. Behind the hash there may be settings (key_setting.def). `admin` and `expires=`
 * are the key's; all others are its name's, whichever of its lines they stand in (OPERATIONS 5.2). Nothing of a
 * line that is wrong is ever shown: it may be a key that somebody wrote there by mistake. */
#include <stdlib.h>

#include "access/api_key_internal.h"
#include "access/key_setting.h"
#include "base/listen_spec.h"
#include "config/file_mode.h"

enum {
    MAX_OWNER_CHARS = 320, /* of a certificate */
    MAX_KEYS = 4096,       /* each request is compared with all */
};

/* What the lines of one name have said so far, in views of the file. */
struct named {
    str owner; /* as the keys have it */
    struct allowance allowance;
    size_t line; /* the last that said any of it */
};

struct file {
    struct api_keys *keys;
    const char *path;
    size_t line; /* at hand, from 1 */
    struct named *names;
    size_t n_names;
    struct config_problems *problems;
};

static void refuse_for_memory(const struct file *f)
{
    config_error(f->problems, "%s: line %zu: out of memory", f->path, f->line);
}

/* ---- what names may */

static struct named *find_name(const struct file *f, str owner)
{
    for (size_t i = 0; i < f->n_names; i++) {
        if (str_eq(f->names[i].owner, owner))
            return &f->names[i];
    }
    return NULL;
}

/* The array grows whenever it holds a power of two. NULL when out of memory. */
static struct named *add_name(struct file *f, str owner)
{
    if ((f->n_names & (f->n_names - 1)) == 0) {
        const size_t room = f->n_names == 0 ? 1 : 2 * f->n_names;
        struct named *more = realloc(f->names, room * sizeof(*more));

        if (more == NULL)
            return NULL;
        f->names = more;
    }
    f->names[f->n_names] = (struct named){.owner = owner};
    return &f->names[f->n_names++];
}

static void add_settings(struct file *f, str owner, const struct allowance *settings)
{
    struct named *name = find_name(f, owner);
    enum key_setting which;

    if (settings->given == 0)
        return;
    if (name == NULL)
        name = add_name(f, owner);
    if (name == NULL)
        refuse_for_memory(f);
    else if (!allowance_add(&name->allowance, settings, &which))
        config_error(
            f->problems,
            "%s: line %zu: %s= is another than in line %zu or above it, for the same name; "
            "what a name may is said once for all of its keys",
            f->path, f->line, key_setting_word(which).p, name->line);
    else
        name->line = f->line;
}

/* What was there before is used again, so that a file that is read again and again takes no more memory. NULL
 * when out of memory. */
static const struct allowance *keep_allowance(const struct file *f, const struct named *name)
{
    const struct api_keys *former = f->keys->former;
    const struct allowance *before =
        former == NULL ? NULL : api_keys_allowance(former, name->owner);

    if (before != NULL && allowance_is_same(before, &name->allowance))
        return before;
    return allowance_dup(api_keys_memory(f->keys), &name->allowance);
}

static void give_allowance(const struct file *f, const struct named *name)
{
    const struct allowance *a = keep_allowance(f, name);

    if (a == NULL)
        config_error(f->problems, "%s: out of memory", f->path);
    for (size_t i = 0; i < f->keys->n; i++) {
        struct api_key *k = &f->keys->list[i];

        if (k->line != 0 && str_eq(k->caller.owner, name->owner))
            k->caller.allowance = a;
    }
}

/* ---- lines */

static void refuse_repeated(const struct file *f, const struct api_key *first)
{
    if (first->line == 0)
        config_error(f->problems, "%s: line %zu: this key is also given as api_key; remove one",
                     f->path, f->line);
    else
        config_error(f->problems, "%s: line %zu: the same key is in line %zu; remove one", f->path,
                     f->line, first->line);
}

/* Adds a key, or a line of certificates, with its settings. */
static void add_key(struct file *f, struct api_key *k, const struct key_settings *settings)
{
    k->line = f->line;
    k->is_admin = settings->is_admin;
    k->expires_s = settings->expires_s;
    if (f->keys->n == MAX_KEYS)
        config_error(f->problems, "%s: line %zu: more than %d keys; remove some", f->path, f->line,
                     (int)MAX_KEYS);
    else if (str_is_none(k->caller.owner) || !api_keys_push(f->keys, k))
        refuse_for_memory(f);
    else
        add_settings(f, k->caller.owner, &settings->name);
}

/* Reads what stands behind the hash. */
static bool read_settings(const struct file *f, str text, struct key_settings *ret)
{
    struct buf why = {.limit = 0};
    const bool is_good = key_settings_read(text, ret, &why);

    if (!is_good)
        config_error(f->problems, "%s: line %zu: %s", f->path, f->line, buf_cstr(&why));
    buf_fini(&why);
    return is_good;
}

/* "cert:VALUE - admin": what the owner may whom certificates name so. */
static void parse_certificate_line(struct file *f, str owner, str line)
{
    struct api_key k = {.is_certificate = true};
    struct key_settings settings;

    if (owner.len <= STR("cert:").len || owner.len > MAX_OWNER_CHARS || !str_is_visible(owner) ||
        !str_eq(key_setting_next_word(&line), STR("-"))) {
        config_error(f->problems,
                     "%s: line %zu: a name that begins with cert: is of certificates (tls_owner); "
                     "behind it must be - in place of a hash, and then settings or nothing",
                     f->path, f->line);
        return;
    }
    if (!read_settings(f, line, &settings))
        return;
    k.caller.owner = k.caller.name = api_keys_keep_owner(f->keys, owner);
    add_key(f, &k, &settings);
}

static void parse_key_line(struct file *f, str name, str line)
{
    struct api_key k = {.is_certificate = false};
    struct key_settings settings;
    const struct api_key *first;

    if (!api_key_is_name(name) || !api_key_read_hash(key_setting_next_word(&line), k.hash)) {
        config_error(f->problems,
                     "%s: line %zu: must be a name and the SHA-256 of a key, 64 hexadecimal "
                     "digits; `antiphon key NAME` makes such lines",
                     f->path, f->line);
        return;
    }
    if (!read_settings(f, line, &settings))
        return;
    first = api_keys_find(f->keys, k.hash);
    if (first != NULL) {
        refuse_repeated(f, first);
        return;
    }
    k.caller.owner = k.caller.name = api_keys_keep_owner(f->keys, name);
    k.caller.mark = api_keys_keep_mark(f->keys, k.hash);
    if (str_is_none(k.caller.mark))
        refuse_for_memory(f);
    else
        add_key(f, &k, &settings);
}

static void parse_line(struct file *f, str line)
{
    str name;

    if (line.len == 0 || line.p[0] == '#')
        return;
    name = key_setting_next_word(&line);
    if (api_key_is_of_certificate(name))
        parse_certificate_line(f, name, line);
    else
        parse_key_line(f, name, line);
}

void api_keys_parse(struct api_keys *keys, const char *path, str text,
                    struct config_problems *problems)
{
    struct file f = {.keys = keys, .path = path, .problems = problems};

    while (text.len > 0) {
        size_t n = str_find_char(text, '\n');

        f.line++;
        parse_line(&f, str_trim(str_from(text.p, n)));
        text = str_skip(text, n + 1);
    }
    for (size_t i = 0; i < f.n_names; i++)
        give_allowance(&f, &f.names[i]);
    free(f.names);
}

/* ---- the configuration */

/* A file without keys would lock everybody out, or let everybody in. */
static void load_keys_file(struct api_keys *keys, const char *path,
                           struct config_problems *problems)
{
    size_t n_keys = keys->n, n_errors = problems->n_errors;
    struct buf text;

    if (config_read_file(path, &text, problems))
        api_keys_parse(keys, path, buf_str(&text), problems);
    file_mode_check_readers(path, problems);
    if (keys->n == n_keys && problems->n_errors == n_errors)
        config_error(problems, "%s: holds no key; `antiphon key NAME` makes one", path);
    buf_fini(&text);
}

/* A client that reaches a listener for administration from another machine needs a key that may. */
static void check_admin_listeners(const struct api_keys *keys, const struct config *c,
                                  struct config_problems *problems)
{
    for (size_t i = 0; i < c->listen.n && !api_keys_have_admin(keys); i++) {
        if (config_listens_to_others(c->listen.items[i], LISTEN_ADMIN))
            config_error(problems,
                         "listen: %s: other machines may connect, and no key may administer; add "
                         "`admin` to a line of api_keys_file, or take 127.0.0.1 or a unix: socket",
                         c->listen.items[i]);
    }
}

/* Where the configuration names keys, their file has some, or is refused for having none. */
static void check_open_listeners(const struct config *c, struct config_problems *problems)
{
    if (c->allow_open || c->api_key.n > 0 || c->api_keys_file != NULL)
        return;
    for (size_t i = 0; i < c->listen.n; i++) {
        if (config_answers_strangers(c, c->listen.items[i]))
            config_error(
                problems,
                "listen: %s: other machines may connect, no key is asked for, and allow_open "
                "is off; give api_key or api_keys_file, or set ANTIPHON_ALLOW_OPEN=1",
                c->listen.items[i]);
    }
}

int api_keys_load(struct api_keys *keys, const struct config *c, struct config_problems *problems)
{
    size_t n_errors = problems->n_errors;

    for (size_t i = 0; i < c->api_key.n; i++) {
        if (api_keys_add(keys, c->api_key.items[i]) == -1)
            config_error(problems, "api_key: out of memory");
    }
    if (c->api_keys_file != NULL)
        load_keys_file(keys, c->api_keys_file, problems);
    check_admin_listeners(keys, c, problems);
    check_open_listeners(c, problems);
    return problems->n_errors == n_errors ? 0 : -1;
}
