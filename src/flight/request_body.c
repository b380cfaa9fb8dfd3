/* request_body.c -- what the head says of the size of a body. */
#include "flight/request_body.h"

#include "http/body_decode.h"

size_t request_body_weight(const struct http_request *r)
{
    return body_is_plain(http_request_header(r, STR("content-encoding"))) ? r->body.len : SIZE_MAX;
}
