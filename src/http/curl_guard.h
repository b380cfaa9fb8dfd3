/* curl_guard.h -- calls of libcurl that may go to certain addresses only.
 *
 * For a client with http_client_conf.may_connect (MCP 16.3). We look the name
 * up, judge every address it has, and libcurl gets those and no others: it is
 * kept from looking up names, and each address it is about to connect to is
 * judged once more. The name stays what Host, SNI and the certificate are about. */
#ifndef ANTIPHON_HTTP_CURL_GUARD_H
#define ANTIPHON_HTTP_CURL_GUARD_H

#include "http/curl_call.h"

/* Prepares a call that has its URL and easy handle; fills host. Refuses unix: URLs and IPv6
 * literals, which cannot be pinned. */
CURLcode curl_guard_setup(struct curl_call *call, bool (*may_connect)(const struct sockaddr *to));

/* Takes the answer of the lookup, NULL when there is none. Returns NULL when the call can be given
 * to libcurl, else why it has failed. */
const char *curl_guard_pin(struct curl_call *call, const struct address_list *list);

#endif
