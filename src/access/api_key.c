/* api_key.c -- keeps the keys, and recognises them. */
#include <stdlib.h>

#include <openssl/crypto.h>

#include "access/api_key_internal.h"
#include "base/num.h"
#include "ev/loop.h"

enum {
    HASH_CHARS = 2 * SHA256_BYTES,
    MARK_CHARS = 8,   /* of a hash, that stand for a key in the log */
    OWNER_CHARS = 32, /* of a hash, in the owner of a key without a name */
    MAX_NAME_CHARS = 64,
};

/* What owners begin with that certificates name (tls/tls_pair.h). */
static const str of_certificate = STR_INIT("cert:");

/* ---- hashes */

bool api_key_read_hash(str hex, unsigned char hash[SHA256_BYTES])
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

bool api_key_line(str name, str key, str settings, struct buf *out)
{
    unsigned char hash[SHA256_BYTES];

    if (!sha256(key, hash))
        return false;
    buf_append(out, name);
    buf_char(out, ' ');
    buf_hex(out, hash, SHA256_BYTES);
    if (settings.len > 0)
        buf_char(out, ' ');
    buf_append(out, settings);
    buf_char(out, '\n');
    return !buf_failed(out);
}

struct arena *api_keys_memory(struct api_keys *keys)
{
    return keys->owners != NULL ? keys->owners : &keys->memory;
}

/* A text that is to live as long as the owners. STR_NONE when out of memory. */
static str keep_text(struct api_keys *keys, str text)
{
    return arena_dup(api_keys_memory(keys), text);
}

str api_keys_keep_owner(struct api_keys *keys, str owner)
{
    for (size_t i = 0; keys->former != NULL && i < keys->former->n; i++) {
        if (str_eq(keys->former->list[i].caller.owner, owner))
            return keys->former->list[i].caller.owner;
    }
    return keep_text(keys, owner);
}

str api_keys_keep_mark(struct api_keys *keys, const unsigned char hash[SHA256_BYTES])
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
        owner = buf_failed(&text) ? STR_NONE : api_keys_keep_owner(keys, buf_str(&text));
    }
    buf_fini(&text);
    return owner;
}

/* ---- the list */

/* Appends a key; the array grows whenever it holds a power of two. */
bool api_keys_push(struct api_keys *keys, const struct api_key *k)
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
const struct api_key *api_keys_find(const struct api_keys *keys,
                                    const unsigned char hash[SHA256_BYTES])
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
    struct api_key k = {.caller = {.owner = make_owner(keys, str_from_c(key)), .name = STR_NONE},
                        .expires_s = INT64_MAX};

    if (str_is_none(k.caller.owner) || !sha256(str_from_c(key), k.hash))
        return -1;
    k.caller.mark = api_keys_keep_mark(keys, k.hash);
    if (str_is_none(k.caller.mark))
        return -1;
    return api_keys_push(keys, &k) ? 0 : -1;
}

void api_keys_fini(struct api_keys *keys)
{
    free(keys->list);
    arena_fini(&keys->memory);
    *keys = (struct api_keys){.list = NULL};
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

static bool refuse_expired(const struct api_key *k, struct err *reterr)
{
    if (clock_unix_s() < k->expires_s)
        return false;
    err_set(reterr, ERR_API_KEY_EXPIRED, "The API key has expired.");
    return true;
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
    found = api_keys_find(keys, hash);
    if (found == NULL)
        err_set(reterr, ERR_INVALID_API_KEY, "Incorrect API key provided.");
    return found == NULL || refuse_expired(found, reterr) ? NULL : found;
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

/* The line of the certificates of this owner, of several the one that is good for longest; with is_admin only
 * one by which they may administer. NULL when there is none. */
static const struct api_key *find_certificate(const struct api_keys *keys, str owner, bool is_admin)
{
    const struct api_key *found = NULL;

    for (size_t i = 0; i < keys->n; i++) {
        const struct api_key *k = &keys->list[i];

        if (k->is_certificate && (k->is_admin || !is_admin) && str_eq(k->caller.owner, owner) &&
            (found == NULL || k->expires_s > found->expires_s))
            found = k;
    }
    return found;
}

int api_keys_identify_client(const struct api_keys *keys, str certificate, str authorization,
                             struct caller *ret, struct err *reterr)
{
    const struct api_key *line;

    if (str_is_none(certificate))
        return api_keys_identify(keys, authorization, ret, reterr);
    line = find_certificate(keys, certificate, false);
    if (line != NULL && refuse_expired(line, reterr))
        return -1;
    *ret = (struct caller){.owner = certificate,
                           .name = certificate,
                           .mark = STR_NONE,
                           .allowance = line == NULL ? NULL : line->caller.allowance};
    return 0;
}

int api_keys_identify_admin(const struct api_keys *keys, str certificate, str authorization,
                            struct caller *ret, struct err *reterr)
{
    const struct api_key *found = str_is_none(certificate)
                                      ? identify_key(keys, authorization, reterr)
                                      : find_certificate(keys, certificate, true);

    if (found == NULL && str_is_none(certificate))
        return -1;
    if (found != NULL && refuse_expired(found, reterr))
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

const struct allowance *api_keys_allowance(const struct api_keys *keys, str owner)
{
    for (size_t i = 0; i < keys->n; i++) {
        if (str_eq(keys->list[i].caller.owner, owner))
            return keys->list[i].caller.allowance;
    }
    return NULL;
}

bool api_keys_have_admin(const struct api_keys *keys)
{
    for (size_t i = 0; i < keys->n; i++) {
        if (keys->list[i].is_admin)
            return true;
    }
    return false;
}
