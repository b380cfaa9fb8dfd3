/* refuse.c -- what all refusals at the head of a request have in common. */
#include "front/refuse.h"

#include "base/budget.h"
#include "base/num.h"
#include "metrics/metrics.h"

static void log_refusal(enum reject_reason reason, struct http_exchange *x,
                        const struct http_request *r, const struct err *e)
{
    const str param = e->param[0] == '\0' ? STR_NONE : str_from_c(e->param);

    log_rejected(reason, (struct log_field[]){LOG_STR("method", r->method),
                                              LOG_PATH("path", r->path), LOG_STR("client", r->peer),
                                              LOG_STR("request_id", http_exchange_request_id(x)),
                                              LOG_STR("error", str_from_c(err_wire_code(e))),
                                              LOG_STR("param", param), LOG_END});
}

static void count_refusal(const struct err *e)
{
    switch (e->code) {
    case ERR_INVALID_API_KEY:
        metrics_count(METRIC_REJECTED, METRIC_REJECTION_KEY);
        break;
    case ERR_API_KEY_EXPIRED:
        metrics_count(METRIC_REJECTED, METRIC_REJECTION_EXPIRED);
        break;
    case ERR_PERMISSION_DENIED:
        metrics_count(METRIC_REJECTED, METRIC_REJECTION_ADMIN);
        break;
    case ERR_UNSUPPORTED_MEDIA_TYPE:
        metrics_count(METRIC_REJECTED, METRIC_REJECTION_MEDIA_TYPE);
        break;
    default:
        metrics_count(METRIC_REJECTED, METRIC_REJECTION_BAD_REQUEST);
        break;
    }
}

void refuse_request(struct http_exchange *x, const struct http_request *r,
                    enum reject_reason reason, const struct err *e)
{
    log_refusal(reason, x, r, e);
    count_refusal(e);
    http_exchange_respond_error(x, e, NULL, 0);
}

void refuse_caller(struct http_exchange *x, const struct http_request *r, const struct err *e)
{
    const struct http_header scheme = {STR("www-authenticate"), STR("Bearer")};

    log_refusal(e->code == ERR_API_KEY_EXPIRED ? REJECT_EXPIRED : REJECT_KEY, x, r, e);
    count_refusal(e);
    http_exchange_respond_error(x, e, &scheme, 1);
}

void refuse_for_admin(struct http_exchange *x, const struct http_request *r, const struct err *e)
{
    if (e->code == ERR_INVALID_API_KEY || e->code == ERR_API_KEY_EXPIRED)
        refuse_caller(x, r, e);
    else
        refuse_request(x, r, REJECT_ADMIN, e);
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
    metrics_count(METRIC_REJECTED, METRIC_REJECTION_MEMORY);
    err_set_short_of_memory(&e);
    log_refusal(REJECT_MEMORY, x, r, &e);
    http_exchange_respond_error(x, &e, NULL, 0);
    return true;
}
