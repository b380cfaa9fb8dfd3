/* tls_pair.h -- a certificate, the chain above it, and its key.
 *
 * The files are PEM; the chain follows the certificate, from it up to the root, which may be
 * left out. The key belongs to the first certificate and is not encrypted, since nobody is
 * there to type a password. */
#ifndef ANTIPHON_TLS_TLS_PAIR_H
#define ANTIPHON_TLS_TLS_PAIR_H

#include <openssl/ssl.h>
#include <stdint.h>

#include "base/err.h"

enum {
    TLS_NAME_BYTES = 256,  /* longer names are cut, for logs and metrics */
    TLS_OWNER_BYTES = 320, /* "cert:" and a value; longer values are none */
};

struct tls_pair {
    X509 *leaf;
    EVP_PKEY *key;
    STACK_OF(X509) * chain;    /* without the leaf */
    char name[TLS_NAME_BYTES]; /* the first name in it */
    int64_t from_s, until_s;   /* when it is valid, in Unix time */
};

/* Reads both files. Returns 0, or -1 with *reterr filled, which names the file and what to do; then
 * there is nothing to finish. Blocks. */
int tls_pair_load(struct tls_pair *ret, const char *cert_path, const char *key_path,
                  struct err *reterr);

/* Zeroed memory is fine. */
void tls_pair_fini(struct tls_pair *p);

/* True when the certificate is for this host name, which may be covered by a wildcard. */
bool tls_pair_is_for(const struct tls_pair *p, const char *host);

/* What of a client's certificate names its owner. */
enum tls_owner { TLS_OWNER_NONE, TLS_OWNER_CN, TLS_OWNER_SAN, TLS_OWNER_FINGERPRINT };

/* Writes "cert:VALUE". What is no visible ASCII in VALUE, and the percent sign, is written as %XX,
 * so that two values never look the same, and none looks like two. False when the certificate has no
 * such value, or one that is too long. */
bool tls_pair_owner(const X509 *cert, enum tls_owner kind, char out[TLS_OWNER_BYTES]);

#endif
