/* request_log.c -- what was asked for, and what became of it; nothing of what was said. */
#include "front/request_log.h"

#include "ev/log.h"
#include "flight/worker.h"

/* ---- the line */

/* A client that left before the answer began has seen no status. */
static void log_request(const struct worker *w, struct http_exchange *x,
                        const struct request_route *route)
{
    const struct http_request *r = http_exchange_request(x);
    const struct http_traffic *traffic = http_exchange_traffic(x);
    const bool has_head = r->method.len > 0; /* else what came was no request */

    log_line(route->is_quiet ? LOG_DEBUG : LOG_INFO, "request",
             (struct log_field[]){
                 LOG_NAME("method", has_head ? r->method : STR_NONE),
                 LOG_STR("route", route->label), LOG_COUNT("http_status", traffic->status),
                 LOG_INT("total_ms", loop_now_ms(w->loop) - http_exchange_start_ms(x)),
                 LOG_INT("bytes_in", traffic->bytes_in), LOG_INT("bytes_out", traffic->bytes_out),
                 LOG_STR("client", has_head ? r->peer : STR_NONE),
                 LOG_STR("owner", route->caller.name), LOG_STR("key", route->caller.mark),
                 LOG_STR("request_id", http_exchange_request_id(x)), LOG_END});
}

/* ---- the audit */

static const struct {
    str method, route, what;
} whats[] = {
#define AUDIT_WHAT(method, route, what) {STR_INIT(method), STR_INIT(route), STR_INIT(what)},
#include "front/audit_what.def"
};

static bool is_refused(int status)
{
    return status == 401 || status == 403;
}

static str what_of(str method, str label, int status)
{
    if (is_refused(status))
        return STR("key.refused");
    for (size_t i = 0; i < COUNT_OF(whats); i++) {
        if (str_eq(whats[i].method, method) && str_eq(whats[i].route, label))
            return whats[i].what;
    }
    return STR("key.accepted");
}

static str outcome_of(int status)
{
    if (status == 0)
        return STR("client_gone");
    if (is_refused(status))
        return STR("refused");
    return status < 400 ? STR("ok") : STR("failed");
}

static void audit_request(struct http_exchange *x, const struct request_route *route)
{
    const struct http_request *r = http_exchange_request(x);
    const int status = http_exchange_traffic(x)->status;

    log_audit((struct log_field[]){
        LOG_STR("what", what_of(r->method, route->label, status)),
        LOG_STR("outcome", outcome_of(status)), LOG_STR("owner", route->caller.name),
        LOG_STR("key", route->caller.mark), LOG_STR("client", r->peer), LOG_NAME("id", route->id),
        LOG_STR("request_id", http_exchange_request_id(x)), LOG_END});
}

/* Of what needs a right: where no keys are asked for, only what changes or shows something of ours. */
static bool is_audited(const struct worker *w, const struct http_exchange *x,
                       const struct request_route *route, int status)
{
    const struct http_request *r = http_exchange_request(x);

    if (route->needs_no_right || r->method.len == 0 || str_eq(r->method, STR("OPTIONS")))
        return false;
    return atomic_load(&w->has_keys) ||
           !str_eq(what_of(r->method, route->label, status), STR("key.accepted"));
}

void request_log_on_end(void *arg, struct http_exchange *x)
{
    static const struct request_route unknown = {.label = STR_INIT("_other")};
    const struct http_traffic *traffic = http_exchange_traffic(x);
    const struct worker *w = arg;
    const struct request_route *route = http_exchange_noted(x);

    if (traffic->has_line)
        return;
    if (route == NULL)
        route = &unknown;
    log_request(w, x, route);
    if (log_audit_is_on() && is_audited(w, x, route, traffic->status))
        audit_request(x, route);
}
