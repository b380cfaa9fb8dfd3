/* http_call.c -- what goes wrong with a call, in words that are the same for every
 * transport, and what they check alike. */
#include "http/http_call.h"

#include <stdio.h>
#include <string.h>

bool call_sends_body(const struct http_call_conf *conf)
{
    return conf->body.len > 0 || strcmp(conf->method, "POST") == 0 ||
           strcmp(conf->method, "PUT") == 0 || strcmp(conf->method, "PATCH") == 0;
}

bool call_check_headers(const struct http_call_conf *conf, struct err *reterr)
{
    for (size_t i = 0; i < conf->n_headers; i++) {
        const struct http_header *h = &conf->headers[i];

        if (!str_is_one_line(h->name) || !str_is_one_line(h->value)) {
            err_set(reterr, ERR_INTERNAL, "A header for the upstream server holds a line break.");
            return false;
        }
    }
    return true;
}

const char *call_cause_of_errno(int error, char out[CALL_CAUSE_BYTES])
{
    (void)snprintf(out, CALL_CAUSE_BYTES, "%s", strerror(error));
    str_lower(out, 1); /* it goes on a sentence */
    return out;
}

void call_describe(const struct http_call *call, const char *cause, struct err *ret)
{
    char at[CALL_WHERE_BYTES];

    call->transport->where(call, at);
    if (call->head_done)
        err_set(ret, ERR_UPSTREAM_ERROR, "%sThe answer of the %s at %s " CALL_BROKE_OFF "%s.",
                call->prefix, call->peer, at, cause);
    else
        err_set(ret, ERR_UPSTREAM_UNAVAILABLE, "%sThe %s at %s is not reachable: %s.", call->prefix,
                call->peer, at, cause);
}

void call_describe_timeout(const struct http_call *call, const char *what, uint64_t limit_ms,
                           struct err *ret)
{
    char at[CALL_WHERE_BYTES];

    call->transport->where(call, at);
    err_set(ret, ERR_UPSTREAM_TIMEOUT, "%sThe %s did not answer in time (%s: %s %llu ms).",
            call->prefix, call->peer, at, what, (unsigned long long)limit_ms);
}
