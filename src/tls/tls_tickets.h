/* tls_tickets.h -- the keys that session tickets are sealed with.
 *
 * A client that comes again shows a ticket instead of doing the whole handshake. All workers
 * share the keys, and so do contexts made by a reload, so that a ticket is good wherever it is
 * shown. A key seals for six hours and opens for six more; then it is overwritten, and what was
 * recorded under it can no longer be read by whoever takes this process apart. Any thread. */
#ifndef ANTIPHON_TLS_TLS_TICKETS_H
#define ANTIPHON_TLS_TLS_TICKETS_H

#include <openssl/ssl.h>
#include <stdint.h>

#include "base/err.h"

enum { TLS_TICKET_LIFE_S = 12 * 3600 };

struct tls_tickets;

/* NULL with *reterr filled. */
struct tls_tickets *tls_tickets_new(struct err *reterr);
void tls_tickets_free(struct tls_tickets *t); /* NULL is fine */

/* Does what OpenSSL asks of SSL_CTX_set_tlsext_ticket_key_evp_cb() at this time: sets up the cipher
 * and the MAC of a ticket that is to be sealed, or of the one with this name, and returns 1; 2 when
 * it is good, but a new one should be given; 0 when there is no such key; -1 when it fails. */
int tls_tickets_at(struct tls_tickets *t, int64_t now_s, unsigned char *name, unsigned char *iv,
                   EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int seals);

#endif
