/* tls_server.h -- an HTTPS server for tests of our client, on a thread of its own.
 *
 * It makes itself a certificate and gives every request the same answer; it
 * serves one connection after the other. What goes wrong ends the test. */
#ifndef ANTIPHON_TESTS_LIB_TLS_SERVER_H
#define ANTIPHON_TESTS_LIB_TLS_SERVER_H

#include <stdbool.h>

struct tls_server;

/* At a free port of this IPv4 address, with a certificate for name only. answer
 * must outlive the server. */
struct tls_server *tls_server_open(const char *ip, const char *name, const char *answer);

/* NULL is fine. */
void tls_server_close(struct tls_server *server);

int tls_server_port(const struct tls_server *server);

/* What a client has to trust: a PEM file, removed with the server. */
const char *tls_server_ca_file(const struct tls_server *server);

/* TCP connections it has accepted so far. */
unsigned tls_server_connections(struct tls_server *server);

/* Is text in what it has heard so far? For each connection "SNI name\n", then
 * the bytes of its requests. */
bool tls_server_heard(struct tls_server *server, const char *text);

#endif
