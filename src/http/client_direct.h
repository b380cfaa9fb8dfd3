/* client_direct.h -- the transport for plain http:// and unix: URLs.
 *
 * HTTP/1.1 on our own sockets, for the upstreams that run next to us. */
#ifndef ANTIPHON_HTTP_CLIENT_DIRECT_H
#define ANTIPHON_HTTP_CLIENT_DIRECT_H

#include "http/http_call.h"
#include "http/http_url.h"

struct direct_client;

/* Makes a client; NULL when out of memory. */
struct direct_client *direct_client_new(struct loop *loop, size_t max_idle_connections);

bool direct_client_is_resolving(const struct direct_client *client);

/* Frees a client whose calls have all been dropped. NULL is fine. */
void direct_client_free(struct direct_client *client);

/* Starts a call whose common part is zeroed, but for the transport and
 * connecting_ms; url is conf->url. NULL with *reterr filled. */
struct http_call *direct_client_start(struct direct_client *client,
                                      const struct http_call_conf *conf, const struct http_url *url,
                                      struct err *reterr);

#endif
