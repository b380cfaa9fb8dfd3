/* tls_context.h -- what all connections of TLS listeners share: certificates and rules.
 *
 * A context never changes; a reload makes another. It is counted: each connection keeps the one it
 * began with until it ends, and the last of them frees it. Any thread.
 *
 * The server name that a client asks for chooses the certificate: the first that is for it, else the
 * first of all. HTTP/1.1 is the only protocol offered; TLS 1.2 is the oldest version ever spoken;
 * there is no renegotiation, no compression and no data before the handshake is over. */
#ifndef ANTIPHON_TLS_TLS_CONTEXT_H
#define ANTIPHON_TLS_TLS_CONTEXT_H

#include <stdbool.h>

#include "tls/tls_pair.h"
#include "tls/tls_tickets.h"

enum tls_auth { TLS_AUTH_OFF, TLS_AUTH_OPTIONAL, TLS_AUTH_REQUIRE };

/* The paths are those of the configuration, which outlives what is made of it. */
struct tls_conf {
    const char *const *certs, *const *keys; /* n_pairs of each */
    size_t n_pairs;
    bool only_1_3;         /* and no TLS 1.2 */
    const char *client_ca; /* who may have signed certificates of clients; or NULL */
    enum tls_auth auth;    /* of clients, by certificate */
    enum tls_owner owner;
};

struct tls_context;

/* Reads the files. Tickets outlive the context. Returns a reference, or NULL with *reterr filled,
 * which names the file and what to do. Whether the certificates are valid today is not looked at.
 * Blocks. */
struct tls_context *tls_context_new(const struct tls_conf *conf, struct tls_tickets *tickets,
                                    struct err *reterr);

struct tls_context *tls_context_ref(struct tls_context *c);
void tls_context_unref(struct tls_context *c); /* NULL is fine */

/* The certificates, in the order of the configuration. */
size_t tls_context_pairs(const struct tls_context *c);
const struct tls_pair *tls_context_pair(const struct tls_context *c, size_t i);

/* What names the owner of a client's certificate. */
enum tls_owner tls_context_owner(const struct tls_context *c);

/* For connections, which are SSL objects of it. */
SSL_CTX *tls_context_ssl(const struct tls_context *c);

#endif
