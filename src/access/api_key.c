/* api_key.c -- reads the keys, and recognises them.
 *
 * A file has a line for each key,
 *
 *     alice 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
 *
 * comments, and blank lines. Behind the hash there may be settings: `admin`, of a key that may
 * administer the gateway (OPERATIONS 6.4). Nothing of a line that is wrong is ever shown: it
 * may be a key that somebody wrote there by mistake. */
#include "access/api_key.h"

#include <stdlib.h>

#include <openssl/crypto.h>

#include "base/listen_spec.h"
#include "base/num.h"
#include "config/file_mode.h"
#include "ev/sha256.h"

enum {
    HASH_CHARS = 2 * SHA256_BYTES,
    MARK_CHARS = 8,   /* of a hash, that stand for a key in the log */
    OWNER_CHARS = 32, /* of a hash, in the owner of a key without a name */
    MAX_NAME_CHARS = 64,
    MAX_OWNER_CHARS = 320, /* of a certificate */
    MAX_KEYS = 4096,       /* each request is compared with all */
};

struct api_key {
    unsigned char hash[SHA256_BYTES];
    struct caller caller;
    size_t line; /* of the file; 0: given as api_key */
    bool is_admin;
    bool is_certificate; /* it has no hash: the certificates of the owner are the key */
};

/* What owners begin with that certificates name (tls/tls_pair.h). */
static const str of_certificate = STR_INIT("cert:");

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
           name.p[0] != '-' && !api_key_is_of_certificate(name);
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

/* A text that is to live as long as the owners. STR_NONE when out of memory. */
static str keep_text(struct api_keys *keys, str text)
{
    return arena_dup(keys->owners != NULL ? keys->owners : &keys->memory, text);
}

static str keep_owner(struct api_keys *keys, str owner)
{
    for (size_t i = 0; keys->former != NULL && i < keys->former->n; i++) {
        if (str_eq(keys->former->list[i].caller.owner, owner))
            return keys->former->list[i].caller.owner;
    }
    return keep_text(keys, owner);
}

static str keep_mark(struct api_keys *keys, const unsigned char hash[SHA256_BYTES])
{
    struct buf text = {.limit = 0};
    str mark = STR_NONE;

    for (size_t i = 0; keys->former != NULL && i < keys->former->n; i++) {
        if (memcmp(keys->former->list[i].hash, hash, SHA256_BYTES) == 0)
            return keys->former->list[i].caller.mark;
    }
    buf_hex(&text, hash, MARK_CHARS / 2);
    if (!buf_failed(&text))
        mark = keep_text(keys, buf_str(&text));
    buf_fini(&text);
    return mark;
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
        if (CRYPTO_memcmp(keys->list[i].hash, hash, SHA256_BYTES) == 0 &&
            !keys->list[i].is_certificate)
            found = &keys->list[i];
    }
    return found;
}

int api_keys_add(struct api_keys *keys, const char *key)
{
    struct api_key k = {.caller = {.owner = make_owner(keys, str_from_c(key)), .name = STR_NONE}};

    if (str_is_none(k.caller.owner) || !sha256(str_from_c(key), k.hash))
        return -1;
    k.caller.mark = keep_mark(keys, k.hash);
    if (str_is_none(k.caller.mark))
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

static void add_line(const struct file *f, str name, const unsigned char *hash, bool is_admin)
{
    struct api_key k = {.line = f->line, .is_admin = is_admin};
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
    k.caller.mark = keep_mark(f->keys, k.hash);
    if (str_is_none(k.caller.owner) || str_is_none(k.caller.mark) || !push_key(f->keys, &k))
        config_error(f->problems, "%s: line %zu: out of memory", f->path, f->line);
}

/* Takes the next word off, with the spaces around it; "" at the end. */
static str next_word(str *rest)
{
    str line = str_trim(*rest), word = line;

    word.len = 0;
    while (word.len < line.len && !str_is_space(line.p[word.len]))
        word.len++;
    *rest = str_skip(line, word.len);
    return word;
}

/* Reads what stands behind the hash. False when a word is no setting. */
static bool read_settings(str rest, bool *ret_is_admin)
{
    str word;

    *ret_is_admin = false;
    while ((word = next_word(&rest)).len > 0) {
        if (!str_eq(word, STR("admin")))
            return false;
        *ret_is_admin = true;
    }
    return true;
}

/* "cert:VALUE - admin": what the owner may whom certificates name so. */
static void parse_certificate_line(const struct file *f, str owner, str line)
{
    struct api_key k = {.line = f->line, .is_certificate = true};

    if (owner.len <= of_certificate.len || owner.len > MAX_OWNER_CHARS || !str_is_visible(owner) ||
        !str_eq(next_word(&line), STR("-")) || !read_settings(line, &k.is_admin)) {
        config_error(f->problems,
                     "%s: line %zu: a name that begins with cert: is of certificates (tls_owner); "
                     "behind it must be - in place of a hash, and then admin or nothing",
                     f->path, f->line);
        return;
    }
    k.caller.owner = k.caller.name = keep_owner(f->keys, owner);
    if (f->keys->n == MAX_KEYS || str_is_none(k.caller.owner) || !push_key(f->keys, &k))
        config_error(f->problems, "%s: line %zu: more than %d keys, or out of memory", f->path,
                     f->line, (int)MAX_KEYS);
}

static void parse_line(const struct file *f, str line)
{
    unsigned char hash[SHA256_BYTES];
    bool is_admin;
    str name;

    if (line.len == 0 || line.p[0] == '#')
        return;
    name = next_word(&line);
    if (api_key_is_of_certificate(name))
        parse_certificate_line(f, name, line);
    else if (!api_key_is_name(name) || !read_hash(next_word(&line), hash))
        config_error(f->problems,
                     "%s: line %zu: must be a name and the SHA-256 of a key, 64 hexadecimal "
                     "digits; `antiphon key NAME` makes such lines",
                     f->path, f->line);
    else if (!read_settings(line, &is_admin))
        config_error(f->problems,
                     "%s: line %zu: behind the SHA-256 of a key only the setting admin is known; "
                     "remove what else stands there",
                     f->path, f->line);
    else
        add_line(f, name, hash, is_admin);
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

/* The key that a request brings; NULL with *reterr filled: 401, 500. */
static const struct api_key *identify_key(const struct api_keys *keys, str authorization,
                                          struct err *reterr)
{
    str token = bearer_token(authorization);
    const struct api_key *found;
    unsigned char hash[SHA256_BYTES];

    if (token.len == 0) {
        err_set(reterr, ERR_INVALID_API_KEY,
                "An API key is needed: send it as 'Authorization: Bearer KEY'.");
        return NULL;
    }
    if (!sha256(token, hash)) {
        err_set_no_memory(reterr);
        return NULL;
    }
    found = find_key(keys, hash);
    if (found == NULL)
        err_set(reterr, ERR_INVALID_API_KEY, "Incorrect API key provided.");
    return found;
}

int api_keys_identify(const struct api_keys *keys, str authorization, struct caller *ret,
                      struct err *reterr)
{
    const struct api_key *found;

    if (keys->n == 0) {
        *ret = (struct caller){.owner = STR(""), .name = STR_NONE, .mark = STR_NONE};
        return 0;
    }
    found = identify_key(keys, authorization, reterr);
    if (found == NULL)
        return -1;
    *ret = found->caller;
    return 0;
}

bool api_key_is_of_certificate(str owner)
{
    return str_starts_with(owner, of_certificate);
}

int api_keys_identify_client(const struct api_keys *keys, str certificate, str authorization,
                             struct caller *ret, struct err *reterr)
{
    if (str_is_none(certificate))
        return api_keys_identify(keys, authorization, ret, reterr);
    *ret = (struct caller){certificate, certificate, STR_NONE};
    return 0;
}

/* The line by which certificates of this owner may administer; NULL when there is none. */
static const struct api_key *find_certificate(const struct api_keys *keys, str owner)
{
    for (size_t i = 0; i < keys->n; i++) {
        const struct api_key *k = &keys->list[i];

        if (k->is_certificate && k->is_admin && str_eq(k->caller.owner, owner))
            return k;
    }
    return NULL;
}

int api_keys_identify_admin(const struct api_keys *keys, str certificate, str authorization,
                            struct caller *ret, struct err *reterr)
{
    const struct api_key *found = str_is_none(certificate)
                                      ? identify_key(keys, authorization, reterr)
                                      : find_certificate(keys, certificate);

    if (found == NULL && str_is_none(certificate))
        return -1;
    if (found == NULL || !found->is_admin) {
        err_set(reterr, ERR_PERMISSION_DENIED,
                "This %s may not administer the gateway: its line in the file of keys has no "
                "'admin'.",
                str_is_none(certificate) ? "API key" : "certificate");
        return -1;
    }
    *ret = found->caller;
    return 0;
}

bool api_keys_have_admin(const struct api_keys *keys)
{
    for (size_t i = 0; i < keys->n; i++) {
        if (keys->list[i].is_admin)
            return true;
    }
    return false;
}
