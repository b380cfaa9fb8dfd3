/* seal.c -- sealed texts, by OpenSSL.
 *
 * A text is opened where its letters are decoded to, so that it needs no memory twice. Until the
 * tag has been checked nobody sees what is there; if it is wrong, that is wiped. */
#include "ev/seal.h"

#include <stdint.h>
#include <stdlib.h>

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include "base/base64.h"
#include "ev/loop.h"

static const str prefix = STR_INIT("gw1.");

enum {
    KEY_BYTES = 32,
    NONCE_BYTES = 12,
    TEXT_KEY_BYTES = KEY_BYTES + NONCE_BYTES,
    ID_PART = 6,
    ID_LETTERS = 8, /* exactly */
    SALT_PART = 16,
    HEAD_PARTS = ID_PART + SALT_PART,
    TAG_PART = 16,
    NON_TEXT_PARTS = HEAD_PARTS + TAG_PART,
};

struct key {
    unsigned char id[ID_PART], secret[KEY_BYTES];
};

struct seal_keys {
    EVP_KDF *hkdf;
    EVP_CIPHER *cipher;
    size_t n;
    struct key list[];
};

/* ---- keys */

static OSSL_PARAM bytes_param(const char *name, str bytes)
{
    /* OpenSSL does not write to it. */
    return OSSL_PARAM_construct_octet_string(name, (void *)(uintptr_t)bytes.p, bytes.len);
}

/* HKDF (RFC 5869) of `from`; purpose is its info. */
static bool derive_bytes(const struct seal_keys *keys, str from, str salt, str purpose,
                         unsigned char *to, size_t n)
{
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        bytes_param(OSSL_KDF_PARAM_KEY, from),
        bytes_param(OSSL_KDF_PARAM_SALT, salt),
        bytes_param(OSSL_KDF_PARAM_INFO, purpose),
        OSSL_PARAM_construct_end(),
    };
    EVP_KDF_CTX *ctx = EVP_KDF_CTX_new(keys->hkdf);
    bool ok = ctx != NULL && EVP_KDF_derive(ctx, to, n, params) == 1;

    EVP_KDF_CTX_free(ctx);
    return ok;
}

static str view_of(const unsigned char *bytes, size_t n)
{
    return str_from((const char *)bytes, n);
}

static bool make_key(const struct seal_keys *keys, str secret, str purpose, struct key *ret)
{
    return derive_bytes(keys, secret, STR(""), purpose, ret->secret, KEY_BYTES) &&
           derive_bytes(keys, view_of(ret->secret, KEY_BYTES), STR(""), STR("id"), ret->id,
                        ID_PART);
}

/* The key of one text, with its nonce behind it. */
static bool make_text_key(const struct seal_keys *keys, const struct key *k, const char *salt,
                          unsigned char ret[TEXT_KEY_BYTES])
{
    return derive_bytes(keys, view_of(k->secret, KEY_BYTES), str_from(salt, SALT_PART), STR("text"),
                        ret, TEXT_KEY_BYTES);
}

static bool make_random_key(struct seal_keys *keys, str purpose)
{
    unsigned char secret[KEY_BYTES];
    bool ok;

    random_fill(NULL, secret, sizeof(secret));
    ok = make_key(keys, view_of(secret, sizeof(secret)), purpose, &keys->list[0]);
    explicit_bzero(secret, sizeof(secret));
    return ok;
}

static bool make_keys(struct seal_keys *keys, const char *const *secrets, size_t n, str purpose)
{
    keys->hkdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    keys->cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    if (keys->hkdf == NULL || keys->cipher == NULL)
        return false;
    if (n == 0)
        return make_random_key(keys, purpose);
    for (size_t i = 0; i < n; i++) {
        if (!make_key(keys, str_from_c(secrets[i]), purpose, &keys->list[i]))
            return false;
    }
    return true;
}

struct seal_keys *seal_keys_new(const char *const *secrets, size_t n, const char *purpose,
                                struct err *reterr)
{
    const size_t n_keys = n == 0 ? 1 : n;
    struct seal_keys *keys = calloc(1, sizeof(*keys) + n_keys * sizeof(*keys->list));

    if (keys == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    keys->n = n_keys;
    if (!make_keys(keys, secrets, n, str_from_c(purpose))) {
        seal_keys_free(keys);
        err_set(reterr, ERR_INTERNAL,
                "no keys for encrypted_content: OpenSSL has to offer HKDF and AES-256-GCM");
        return NULL;
    }
    return keys;
}

void seal_keys_free(struct seal_keys *keys)
{
    if (keys == NULL)
        return;
    explicit_bzero(keys->list, keys->n * sizeof(*keys->list));
    EVP_KDF_free(keys->hkdf);
    EVP_CIPHER_free(keys->cipher);
    free(keys);
}

/* ---- texts */

/* Encrypts or decrypts n bytes into themselves. tag is written, or compared with. */
static bool run_cipher(EVP_CIPHER_CTX *ctx, bool encrypts, str owner, unsigned char *text, size_t n,
                       unsigned char *tag)
{
    int ignored;

    if (EVP_CipherUpdate(ctx, NULL, &ignored, (const unsigned char *)owner.p, (int)owner.len) !=
            1 ||
        EVP_CipherUpdate(ctx, text, &ignored, text, (int)n) != 1)
        return false;
    if (!encrypts && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG_PART, tag) != 1)
        return false;
    if (EVP_CipherFinal_ex(ctx, text + n, &ignored) != 1) /* writes nothing */
        return false;
    return !encrypts || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG_PART, tag) == 1;
}

/* Encrypts or decrypts the text inside parts, a whole sealed text whose salt is set. */
static bool crypt_text(const struct seal_keys *keys, const struct key *k, bool encrypts, str owner,
                       char *parts, size_t n_text)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    unsigned char *text = (unsigned char *)parts + HEAD_PARTS;
    unsigned char key[TEXT_KEY_BYTES];
    bool ok = ctx != NULL && make_text_key(keys, k, parts + ID_PART, key) &&
              EVP_CipherInit_ex2(ctx, keys->cipher, key, key + KEY_BYTES, encrypts, NULL) == 1 &&
              run_cipher(ctx, encrypts, owner, text, n_text, text + n_text);

    EVP_CIPHER_CTX_free(ctx);
    explicit_bzero(key, sizeof(key));
    return ok;
}

/* Appends prefix and letters, all or nothing. */
static bool write_letters(str parts, struct buf *out)
{
    if (buf_reserve(out, prefix.len + base64url_letters(parts.len)) == NULL)
        return false;
    buf_append(out, prefix);
    base64url_write(parts, out);
    return true;
}

bool seal_close(const struct seal_keys *keys, str text, str owner, struct buf *out)
{
    const struct key *k = &keys->list[0];
    const size_t n = text.len + NON_TEXT_PARTS;
    char *parts = text.len > SEAL_MAX_TEXT_BYTES ? NULL : malloc(n);
    bool ok;

    if (parts == NULL)
        return false;
    memcpy(parts, k->id, ID_PART);
    random_fill(NULL, parts + ID_PART, SALT_PART);
    memcpy(parts + HEAD_PARTS, text.p, text.len);
    ok =
        crypt_text(keys, k, true, owner, parts, text.len) && write_letters(str_from(parts, n), out);
    free(parts);
    return ok;
}

/* Finds a key by its id, before any memory is taken for texts that others have sealed. */
static const struct key *find_key(const struct seal_keys *keys, str letters)
{
    char id[ID_PART];

    if (letters.len < ID_LETTERS || !base64url_read(str_from(letters.p, ID_LETTERS), id))
        return NULL;
    for (size_t i = 0; i < keys->n; i++) {
        if (memcmp(keys->list[i].id, id, ID_PART) == 0)
            return &keys->list[i];
    }
    return NULL;
}

bool seal_open(const struct seal_keys *keys, str sealed, str owner, struct arena *a, str *ret)
{
    const str letters = str_skip(sealed, prefix.len);
    const size_t n = base64url_bytes(letters.len);
    const struct key *k = str_starts_with(sealed, prefix) ? find_key(keys, letters) : NULL;
    char *parts;

    if (k == NULL || n < NON_TEXT_PARTS || n - NON_TEXT_PARTS > SEAL_MAX_TEXT_BYTES)
        return false;
    parts = arena_alloc(a, n);
    if (parts == NULL || !base64url_read(letters, parts))
        return false;
    if (!crypt_text(keys, k, false, owner, parts, n - NON_TEXT_PARTS)) {
        explicit_bzero(parts, n);
        return false;
    }
    *ret = str_from(parts + HEAD_PARTS, n - NON_TEXT_PARTS);
    return true;
}
