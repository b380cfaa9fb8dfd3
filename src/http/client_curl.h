/* client_curl.h -- the transport over libcurl: any URL, TLS, proxies. */
#ifndef ANTIPHON_HTTP_CLIENT_CURL_H
#define ANTIPHON_HTTP_CLIENT_CURL_H

#include "http/http_call.h"

struct curl_client;

/* Makes a client; NULL when out of memory. conf must outlive it. */
struct curl_client *curl_client_new(struct loop *loop, const struct http_client_conf *conf);

/* True while a lookup of ours is under way; libcurl leaves its own behind. */
bool curl_client_is_resolving(const struct curl_client *client);

/* Frees a client whose calls have all been dropped. NULL is fine. */
void curl_client_free(struct curl_client *client);

/* Starts a call whose common part is zeroed, but for the transport
 * and connecting_ms. */
struct http_call *curl_client_start(struct curl_client *client, const struct http_call_conf *conf,
                                    struct err *reterr);

#endif
