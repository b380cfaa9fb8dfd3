/* request_id.h -- x-request-id: accepted, made, returned.
 *
 * Every answer carries one, so that a line in the log can be found from the
 * client's side. */
#ifndef ANTIPHON_HTTP_REQUEST_ID_H
#define ANTIPHON_HTTP_REQUEST_ID_H

#include "base/arena.h"
#include "http/http_server.h"

/* The client's own when it is short and plain, else a new one in a. Falls back
 * to "-" when out of memory. r NULL: no request could be read. */
str request_id_choose(const struct http_request *r, struct arena *a);

#endif
