/* sha256.c -- SHA-256, by OpenSSL. */
#include "ev/sha256.h"

#include <openssl/evp.h>
#include <stdlib.h>

bool sha256(str bytes, unsigned char hash[SHA256_BYTES])
{
    return EVP_Digest(bytes.p, bytes.len, hash, NULL, EVP_sha256(), NULL) == 1;
}

struct sha256_run {
    EVP_MD_CTX *context;
    bool has_failed;
};

struct sha256_run *sha256_begin(void)
{
    struct sha256_run *run = calloc(1, sizeof(*run));

    if (run == NULL)
        return NULL;
    run->context = EVP_MD_CTX_new();
    run->has_failed =
        run->context == NULL || EVP_DigestInit_ex(run->context, EVP_sha256(), NULL) != 1;
    return run;
}

void sha256_add(struct sha256_run *run, str bytes)
{
    if (run != NULL && !run->has_failed)
        run->has_failed = EVP_DigestUpdate(run->context, bytes.p, bytes.len) != 1;
}

bool sha256_end(struct sha256_run *run, unsigned char hash[SHA256_BYTES])
{
    bool ok;

    if (run == NULL)
        return false;
    ok = !run->has_failed && EVP_DigestFinal_ex(run->context, hash, NULL) == 1;
    EVP_MD_CTX_free(run->context);
    free(run);
    return ok;
}
