/* request_log.h -- the line `request`, for each exchange of which no other line says as much, and what the
 * audit says of it. */
#ifndef ANTIPHON_FRONT_REQUEST_LOG_H
#define ANTIPHON_FRONT_REQUEST_LOG_H

#include "access/api_key.h"
#include "http/http_server.h"

struct request_route {
    str label; /* a template of endpoints.def, `relay` or `_other`; never a path as it was sent */
    struct caller caller; /* zeroed: nobody was recognised */
    str id;               /* in the path, as it was sent; or STR_NONE */
    bool is_quiet;        /* probes, of which there are many: at debug */
    bool needs_no_right;  /* it is open to everybody */
};

/* The http_server_on_end of every worker; arg is the worker. Who takes a request notes what is known of it
 * (http_exchange_note(): a struct request_route, in the exchange's memory); without that it is `_other`. */
void request_log_on_end(void *arg, struct http_exchange *x);

#endif
