/* api_key.c -- reads the keys, and recognises them.
 *
 * A file has a line for each key,
 *
 *     alice 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
 *
 * comments, and blank lines. Nothing of a line that is wrong is ever shown: it
 * may be a key that somebody wrote there by mistake. */
#include "access/api_key.h"

#include <stdlib.h>

#include <openssl/crypto.h>

#include "base/num.h"
#include "config/file_mode.h"
#include "ev/sha256.h"

enum {
    HASH_CHARS = 2 * SHA256_BYTES,
    OWNER_CHARS = 32, /* of a hash, in the owner of a key without a name */
    MAX_NAME_CHARS = 64,
    MAX_KEYS = 4096, /* each request is compared with all */
};

struct api_key {
    unsigned char hash[SHA256_BYTES];
    struct caller caller;
    size_t line; /* of the file; 0: given as api_key */
};

/* ---- hashes */

static bool read_hash(str hex, unsigned char hash[SHA256_BYTES])
{
    if (hex.len != HASH_CHARS)
        return false;
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        int high = num_hex_digit(hex.p[2 * i]), low = num_hex_digit(hex.p[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        hash[i] = (unsigned char)(high * 16 + low);
    }
    return true;
}

/* ---- texts */

bool api_key_is_key(str key)
{
    return key.len > 0 && str_is_visible(key);
}

bool api_key_is_name(str name)
{
    return api_key_is_key(name) && name.len <= MAX_NAME_CHARS && name.p[0] != '#' &&
           name.p[0] != '-';
}

bool api_key_line(str name, str key, struct buf *out)
{
    unsigned char hash[SHA256_BYTES];

    if (!sha256(key, hash))
        return false;
    buf_append(out, name);
    buf_char(out, ' ');
    buf_hex(out, hash, SHA256_BYTES);
    buf_char(out, '\n');
    return !buf_failed(out);
}

/* The text of an owner, where it is to live. STR_NONE when out of memory. */
static str keep_owner(struct api_keys *keys, str owner)
{
    for (size_t i = 0; keys->former != NULL && i < keys->former->n; i++) {
        if (str_eq(keys->former->list[i].caller.owner, owner))
            return keys->former->list[i].caller.owner;
    }
    return arena_dup(keys->owners != NULL ? keys->owners : &keys->memory, owner);
}

/* An owner is another hash than the one that the key is recognised by, since owners are written
 * into the store. */
static str make_owner(struct api_keys *keys, str key)
{
    struct buf text = {.limit = 0};
    unsigned char hash[SHA256_BYTES];
    str owner = STR_NONE;

    buf_c(&text, "antiphon owner ");
    buf_append(&text, key);
    if (!buf_failed(&text) && sha256(buf_str(&text), hash)) {
        buf_reset(&text);
        buf_c(&text, "key-");
        buf_hex(&text, hash, OWNER_CHARS / 2);
        owner = buf_failed(&text) ? STR_NONE : keep_owner(keys, buf_str(&text));
    }
    buf_fini(&text);
    return owner;
}

/* ---- the list */

/* Appends a key; the array grows whenever it holds a power of two. */
static bool push_key(struct api_keys *keys, const struct api_key *k)
{
    if ((keys->n & (keys->n - 1)) == 0) {
        size_t room = keys->n == 0 ? 1 : 2 * keys->n;
        struct api_key *more = realloc(keys->list, room * sizeof(*more));

        if (more == NULL)
            return false;
        keys->list = more;
    }
    keys->list[keys->n++] = *k;
    return true;
}

/* Compares with all keys, however early one is found: the time taken tells nothing. */
static const struct api_key *find_key(const struct api_keys *keys, const unsigned char *hash)
{
    const struct api_key *found = NULL;

    for (size_t i = 0; i < keys->n; i++) {
        if (CRYPTO_memcmp(keys->list[i].hash, hash, SHA256_BYTES) == 0)
            found = &keys->list[i];
    }
    return found;
}

int api_keys_add(struct api_keys *keys, const char *key)
{
    struct api_key k = {.caller = {make_owner(keys, str_from_c(key)), STR_NONE}};

    if (str_is_none(k.caller.owner) || !sha256(str_from_c(key), k.hash))
        return -1;
    return push_key(keys, &k) ? 0 : -1;
}

void api_keys_fini(struct api_keys *keys)
{
    free(keys->list);
    arena_fini(&keys->memory);
    *keys = (struct api_keys){.list = NULL};
}

/* ---- the file */

struct file {
    struct api_keys *keys;
    const char *path;
    size_t line; /* at hand, from 1 */
    struct config_problems *problems;
};

static void refuse_repeated(const struct file *f, const struct api_key *first)
{
    if (first->line == 0)
        config_error(f->problems, "%s: line %zu: this key is also given as api_key; remove one",
                     f->path, f->line);
    else
        config_error(f->problems, "%s: line %zu: the same key is in line %zu; remove one", f->path,
                     f->line, first->line);
}

static void add_line(const struct file *f, str name, const unsigned char *hash)
{
    struct api_key k = {.line = f->line};
    const struct api_key *first = find_key(f->keys, hash);

    if (first != NULL) {
        refuse_repeated(f, first);
        return;
    }
    if (f->keys->n == MAX_KEYS) {
        config_error(f->problems, "%s: line %zu: more than %d keys; remove some", f->path, f->line,
                     (int)MAX_KEYS);
        return;
    }
    memcpy(k.hash, hash, SHA256_BYTES);
    k.caller.owner = k.caller.name = keep_owner(f->keys, name);
    if (str_is_none(k.caller.owner) || !push_key(f->keys, &k))
        config_error(f->problems, "%s: line %zu: out of memory", f->path, f->line);
}

static void parse_line(const struct file *f, str line)
{
    size_t name_end = 0;
    unsigned char hash[SHA256_BYTES];
    str name;

    if (line.len == 0 || line.p[0] == '#')
        return;
    while (name_end < line.len && !str_is_space(line.p[name_end]))
        name_end++;
    name = str_from(line.p, name_end);
    if (api_key_is_name(name) && read_hash(str_trim(str_skip(line, name_end)), hash))
        add_line(f, name, hash);
    else
        config_error(f->problems,
                     "%s: line %zu: must be a name and the SHA-256 of a key, 64 hexadecimal "
                     "digits; `antiphon key NAME` makes such lines",
                     f->path, f->line);
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
}

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

int api_keys_load(struct api_keys *keys, const struct config *c, struct config_problems *problems)
{
    size_t n_errors = problems->n_errors;

    for (size_t i = 0; i < c->api_key.n; i++) {
        if (api_keys_add(keys, c->api_key.items[i]) == -1)
            config_error(problems, "api_key: out of memory");
    }
    if (c->api_keys_file != NULL)
        load_keys_file(keys, c->api_keys_file, problems);
    return problems->n_errors == n_errors ? 0 : -1;
}

/* ---- requests */

/* The token behind "Bearer", or "". */
static str bearer_token(str authorization)
{
    const str scheme = STR("bearer ");
    str value = str_trim(authorization);

    if (!str_starts_with_nocase(value, scheme))
        return STR("");
    return str_trim(str_skip(value, scheme.len));
}

int api_keys_identify(const struct api_keys *keys, str authorization, struct caller *ret,
                      struct err *reterr)
{
    str token = bearer_token(authorization);
    const struct api_key *found;
    unsigned char hash[SHA256_BYTES];

    if (keys->n == 0) {
        *ret = (struct caller){STR(""), STR_NONE};
        return 0;
    }
    if (token.len == 0) {
        err_set(reterr, ERR_INVALID_API_KEY,
                "An API key is needed: send it as 'Authorization: Bearer KEY'.");
        return -1;
    }
    if (!sha256(token, hash))
        return err_set_no_memory(reterr);
    found = find_key(keys, hash);
    if (found == NULL) {
        err_set(reterr, ERR_INVALID_API_KEY, "Incorrect API key provided.");
        return -1;
    }
    *ret = found->caller;
    return 0;
}
