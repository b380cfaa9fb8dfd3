/* client_share.h -- how many connections each client has, in the whole process.
 *
 * So that one client cannot take every place. A client is an IPv4 address, or the
 * network of an IPv6 address (/64: a single machine may use all of it). Clients of
 * this machine, over the loopback interface or a Unix socket, are not counted:
 * that is where a proxy stands which speaks for many.
 *
 * Shared by all workers, with a lock that is taken twice in the life of a connection. */
#ifndef ANTIPHON_HTTP_CLIENT_SHARE_H
#define ANTIPHON_HTTP_CLIENT_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct client_share;

/* most: connections of one client; max_connections: of all together. NULL with *reterr filled. */
struct client_share *client_share_new(size_t most, size_t max_connections, struct err *reterr);
void client_share_free(struct client_share *s); /* NULL is fine */

/* The client at an address without port, as text: one number for all addresses of a client. 0:
 * nobody who is counted. Pure. */
uint64_t client_share_key(const char *peer);

/* Counts one more connection of the client. False when it has its share, or when more clients
 * are connected than max_connections. Key 0 and s == NULL are always granted. */
bool client_share_take(struct client_share *s, uint64_t key);

/* Gives back one of the connections that were granted: it has ended. */
void client_share_give_back(struct client_share *s, uint64_t key);

/* The number of connections of the client. */
size_t client_share_count(struct client_share *s, uint64_t key);

#endif
