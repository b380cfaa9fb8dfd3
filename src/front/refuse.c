/* refuse.c -- what all refusals at the head of a request have in common. */
#include "front/refuse.h"

#include "base/budget.h"
#include "base/num.h"
#include "ev/log.h"

static void log_refusal(const char *event, struct http_exchange *x, const struct http_request *r)
{
    log_line(LOG_INFO, event,
             (struct log_field[]){LOG_STR("method", r->method), LOG_PATH("path", r->path),
                                  LOG_STR("client", r->peer),
                                  LOG_STR("request_id", http_exchange_request_id(x)), LOG_END});
}

void refuse_request(struct http_exchange *x, const struct http_request *r, const char *event,
                    const struct err *e)
{
    log_refusal(event, x, r);
    http_exchange_respond_error(x, e, NULL, 0);
}

void refuse_caller(struct http_exchange *x, const struct http_request *r, const struct err *e)
{
    const struct http_header scheme = {STR("www-authenticate"), STR("Bearer")};

    log_refusal("unauthorized", x, r);
    http_exchange_respond_error(x, e, &scheme, 1);
}

static bool has_room(const struct http_request *r)
{
    uint64_t length;

    if (!num_uint(http_request_header(r, STR("content-length")), &length))
        length = 0;
    return !budget_is_short() && length <= SIZE_MAX && budget_has_room((size_t)length);
}

bool refuse_without_memory(struct http_exchange *x, const struct http_request *r)
{
    struct err e;

    if (has_room(r))
        return false;
    err_set_short_of_memory(&e);
    http_exchange_respond_error(x, &e, NULL, 0);
    return true;
}
