/* sha256.c -- SHA-256, by OpenSSL. */
#include "ev/sha256.h"

#include <openssl/evp.h>

bool sha256(str bytes, unsigned char hash[SHA256_BYTES])
{
    return EVP_Digest(bytes.p, bytes.len, hash, NULL, EVP_sha256(), NULL) == 1;
}
