/* tls_tickets.c -- two keys that take turns. */
#include "tls/tls_tickets.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum {
    NAME_BYTES = 16,
    SECRET_BYTES = 32,
    SEALS_S = TLS_TICKET_LIFE_S / 2,
};

struct ticket_key {
    unsigned char name[NAME_BYTES];
    unsigned char cipher[SECRET_BYTES], mac[SECRET_BYTES];
    int64_t since_s; /* when it was made; 0: never */
};

struct tls_tickets {
    uv_mutex_t lock; /* of the keys; nothing is taken while it is held */
    struct ticket_key newest, former;
};

struct tls_tickets *tls_tickets_new(struct err *reterr)
{
    struct tls_tickets *t = calloc(1, sizeof(*t));

    if (t == NULL || uv_mutex_init(&t->lock) != 0) {
        free(t);
        err_set_no_memory(reterr);
        return NULL;
    }
    return t;
}

void tls_tickets_free(struct tls_tickets *t)
{
    if (t == NULL)
        return;
    OPENSSL_cleanse(&t->newest, sizeof(t->newest));
    OPENSSL_cleanse(&t->former, sizeof(t->former));
    uv_mutex_destroy(&t->lock);
    free(t);
}

/* A clock that was set back makes a key look young for ever: it counts as too old. */
static bool is_older(const struct ticket_key *k, int64_t now_s, int64_t age_s)
{
    return k->since_s == 0 || now_s < k->since_s || now_s - k->since_s >= age_s;
}

static bool make_key(struct ticket_key *k, int64_t now_s)
{
    if (RAND_bytes(k->name, NAME_BYTES) != 1 || RAND_priv_bytes(k->cipher, SECRET_BYTES) != 1 ||
        RAND_priv_bytes(k->mac, SECRET_BYTES) != 1) {
        OPENSSL_cleanse(k, sizeof(*k));
        return false;
    }
    k->since_s = now_s;
    return true;
}

/* Gives the turn to a new key, and forgets those that have lived their time. */
static void turn_keys(struct tls_tickets *t, int64_t now_s)
{
    if (is_older(&t->newest, now_s, SEALS_S)) {
        t->former = t->newest;
        (void)make_key(&t->newest, now_s);
    }
    if (is_older(&t->former, now_s, TLS_TICKET_LIFE_S))
        OPENSSL_cleanse(&t->former, sizeof(t->former));
}

/* The key that seals, or the one with this name. False when there is none. */
static bool find_key(struct tls_tickets *t, int64_t now_s, const unsigned char *name, bool seals,
                     struct ticket_key *ret, bool *ret_is_newest)
{
    const struct ticket_key *found = NULL;

    uv_mutex_lock(&t->lock);
    turn_keys(t, now_s);
    if (seals || CRYPTO_memcmp(t->newest.name, name, NAME_BYTES) == 0)
        found = &t->newest;
    else if (CRYPTO_memcmp(t->former.name, name, NAME_BYTES) == 0)
        found = &t->former;
    if (found != NULL && found->since_s == 0)
        found = NULL;
    if (found != NULL)
        *ret = *found;
    *ret_is_newest = found == &t->newest;
    uv_mutex_unlock(&t->lock);
    return found != NULL;
}

static bool set_mac(EVP_MAC_CTX *mac, struct ticket_key *k)
{
    char digest[] = "sha256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, k->mac, SECRET_BYTES),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };

    return EVP_MAC_CTX_set_params(mac, params) == 1;
}

static bool set_cipher(EVP_CIPHER_CTX *cipher, const struct ticket_key *k, unsigned char *iv,
                       bool seals)
{
    if (seals && RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1)
        return false;
    return EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, k->cipher, iv, seals ? 1 : 0) == 1;
}

int tls_tickets_at(struct tls_tickets *t, int64_t now_s, unsigned char *name, unsigned char *iv,
                   EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int seals)
{
    enum { FAILED = -1, NO_KEY = 0, DONE = 1, RENEW = 2 };
    struct ticket_key k;
    bool is_newest, is_set;

    if (!find_key(t, now_s, name, seals != 0, &k, &is_newest))
        return NO_KEY; /* nothing is sealed, or the whole handshake is done */
    is_set = set_mac(mac, &k) && set_cipher(cipher, &k, iv, seals != 0);
    if (is_set && seals != 0)
        memcpy(name, k.name, NAME_BYTES);
    OPENSSL_cleanse(&k, sizeof(k));
    if (!is_set)
        return FAILED;
    return is_newest ? DONE : RENEW;
}
