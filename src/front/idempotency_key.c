/* idempotency_key.c -- one header of a request, one error and one header of an answer. */
#include "front/idempotency_key.h"

enum { MAX_KEY_BYTES = 255 };

static const char header_name[] = "Idempotency-Key";

static bool is_visible(str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] <= ' ' || text.p[i] > '~')
            return false;
    }
    return true;
}

int idempotency_key_read(const struct http_request *r, str *ret, struct err *reterr)
{
    *ret = http_request_header(r, STR("idempotency-key"));
    if (str_is_none(*ret) || (ret->len > 0 && ret->len <= MAX_KEY_BYTES && is_visible(*ret)))
        return 0;
    err_set_param(reterr, ERR_INVALID_VALUE, header_name,
                  "Invalid header 'Idempotency-Key': expected 1 to %d visible ASCII characters.",
                  MAX_KEY_BYTES);
    return -1;
}

int idempotency_key_reject(struct err *reterr)
{
    err_set_param(reterr, ERR_IDEMPOTENCY_KEY_REUSED, header_name,
                  "The Idempotency-Key was used with another request. Send the body that came with "
                  "it first, or another key.");
    return -1;
}

struct http_header idempotency_key_replayed(void)
{
    return (struct http_header){STR("idempotent-replayed"), STR("true")};
}
