/* tls_peer.h -- certificates made for a test, and a client that talks to a channel in memory. */
#ifndef ANTIPHON_TESTS_LIB_TLS_PEER_H
#define ANTIPHON_TESTS_LIB_TLS_PEER_H

#include "lib/fixture.h"
#include "tls/tls_channel.h"

/* ---- certificates */

struct made_cert {
    X509 *cert;
    EVP_PKEY *key;
};

struct cert_wish {
    const char *cn, *san;       /* "DNS:a.example,DNS:b.example"; or NULL */
    const struct made_cert *by; /* who signs; NULL: itself */
    long from_s, until_s;       /* from now; both 0: an hour ago until in a year */
    unsigned rsa_bits;          /* 0: an elliptic curve */
    bool is_ca;
};

struct made_cert cert_make(const struct cert_wish *wish);
void cert_free(struct made_cert *c);

/* A folder of the test, which is removed with what is in it by certs_forget(). */
void certs_begin(void);
void certs_forget(void);

/* Writes a file of the folder; the path lives until certs_forget(). */
const char *certs_text(const char *name, const char *text);
const char *certs_write(const char *name, const struct made_cert *cert);
const char *certs_write_key(const char *name, const struct made_cert *cert, const char *password);

/* ---- a client */

struct tls_peer {
    SSL_CTX *ctx;
    SSL *ssl;
    BIO *in, *out;
    bool is_done, has_failed; /* is_done: its handshake */
    struct buf heard;         /* plain bytes */
    bool is_ended;            /* close_notify has come */
    size_t n_sent;            /* bytes given to the channel, of all */
};

/* Zeroed members take what is usual. */
struct tls_peer_wish {
    int min_version, max_version;
    const char *host; /* SNI */
    str protocols;    /* ALPN, in the form of the wire */
    const struct made_cert *own;
    SSL_SESSION *session;
};

void tls_peer_open(struct tls_peer *p, const struct tls_peer_wish *wish);
void tls_peer_close(struct tls_peer *p);

/* Carries bytes to and fro until nobody has any more to say. What the client sends is handed on cut, as
 * fixture.h has it, counted over all that it sends. Plain bytes of the channel are appended to *ret_plain
 * (or NULL). */
void tls_peer_talk(struct tls_peer *p, struct tls_channel *c, struct cutting cutting,
                   struct buf *ret_plain);

void tls_peer_say(struct tls_peer *p, str bytes);

/* The name of the certificate that the channel has shown. */
bool tls_peer_was_shown(const struct tls_peer *p, const struct made_cert *cert);

#endif
