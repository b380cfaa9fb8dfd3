/* trusted_proxies.h -- whose word counts about the client for whom a request is passed on
 * (OPERATIONS 6.3).
 *
 * Anybody can send X-Forwarded-For. So it is read from the right, where the proxy that is connected with us
 * has written, as long as the proxies are trusted: the first address that is none of them is the client, and
 * what stands left of it is what that client said. Pure. */
#ifndef ANTIPHON_HTTP_TRUSTED_PROXIES_H
#define ANTIPHON_HTTP_TRUSTED_PROXIES_H

#include "base/arena.h"
#include "http/http_server.h"
#include "net/peer_text.h"

struct trusted_network;

/* Unchanging once made, so that all threads may read it. A zeroed one trusts nobody. */
struct trusted_proxies {
    struct trusted_network *networks;
    size_t n;
    bool trusts_unix;
};

/* Fills *ret from texts: "192.0.2.0/24", "2001:db8::1", "unix". What is none of these is left out. In the
 * arena. Returns 0, or -1 when out of memory. */
int trusted_proxies_make(const char *const *texts, size_t n, struct arena *a,
                         struct trusted_proxies *ret);

/* Is the peer, an address without port or "unix", one of them? */
bool trusted_proxies_have(const struct trusted_proxies *t, str peer);

/* The client of a request that a trusted peer has passed on, written as peers are; false when the peer
 * itself is all that is known. */
bool trusted_proxies_client(const struct trusted_proxies *t, const struct http_request *r,
                            char out[PEER_TEXT_BYTES]);

/* True when a trusted peer says that its own client came by https. */
bool trusted_proxies_say_https(const struct http_request *r);

#endif
