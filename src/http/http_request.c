/* http_request.c -- what the owner of an exchange asks about its request. */
#include "http/body_decode.h"
#include "http/http_conn.h"

str http_request_header(const struct http_request *r, str name)
{
    for (size_t i = 0; i < r->n_headers; i++) {
        if (str_eq(r->headers[i].name, name))
            return r->headers[i].value;
    }
    return STR_NONE;
}

/* RFC 9110, 5.3: two lines are one list, and a list is more than one coding. */
static bool is_repeated(const struct http_request *r, str name)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_headers; i++)
        n += str_eq(r->headers[i].name, name);
    return n > 1;
}

int http_exchange_body(struct http_exchange *x, str *ret, struct err *reterr)
{
    const struct http_request *r = &x->request;
    str coding = http_request_header(r, STR("content-encoding"));

    if (is_repeated(r, STR("content-encoding")))
        coding = STR(","); /* a list, which is no coding */
    if (body_is_plain(coding)) {
        *ret = r->body;
        return 0;
    }
    buf_fini(&x->decoded);
    buf_init(&x->decoded, x->conn->server->conf.max_body_bytes);
    if (body_decode(coding, r->body, &x->decoded, reterr) == -1)
        return -1;
    *ret = buf_str(&x->decoded);
    return 0;
}
