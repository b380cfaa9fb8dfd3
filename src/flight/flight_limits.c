/* flight_limits.c -- whose limits they are, what is taken of them, and the words of a refusal. */
#include "flight/flight_limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "access/api_key.h"
#include "access/rate_limit.h"
#include "access/rate_table.h"
#include "ev/log_reject.h"
#include "flight/flight.h"
#include "flight/limit_headers.h"
#include "flight/worker.h"
#include "http/client_share.h"
#include "metrics/metrics.h"
#include "wire/chunk/delta.h"

enum { ADDRESS_BYTES = 96, BYTES_PER_TOKEN = 4 };

/* ---- whose limits */

struct rate_limits flight_limits_of(const struct worker *w, const struct caller *c)
{
    const struct rate_limits defaults = {.rpm = w->config->limit_rpm,
                                         .tpm = w->config->limit_tpm,
                                         .concurrency = w->config->limit_concurrency};

    return allowance_limits(c->allowance, &defaults);
}

/* The name of an address has a space in it, which no key's has. A machine has a whole network of IPv6
 * addresses; clients of this machine are told apart by nothing. */
static str name_address(str client, char room[ADDRESS_BYTES])
{
    enum { PREFIX_BYTES = sizeof("address ") - 1 };
    char *name = room + PREFIX_BYTES;
    const size_t most = ADDRESS_BYTES - PREFIX_BYTES - 1;
    size_t n = client.len < most ? client.len : most;
    uint64_t network;

    memcpy(room, "address ", PREFIX_BYTES);
    memcpy(name, client.p, n);
    name[n] = '\0';
    network = client_share_key(name);
    if (network != 0)
        n = (size_t)snprintf(name, most, "%" PRIx64, network);
    return str_from(room, PREFIX_BYTES + n);
}

static str name_user(const struct caller *c, str client, char room[ADDRESS_BYTES])
{
    return c->owner.len > 0 ? c->owner : name_address(client, room);
}

str flight_limits_user(struct flight *f)
{
    char room[ADDRESS_BYTES];
    str copy;

    if (f->caller.owner.len > 0)
        return f->caller.owner;
    copy = arena_dup(&f->arena, name_address(f->client, room));
    return str_is_none(copy) ? f->client : copy;
}

/* ---- refusals */

static void count_refusal(struct flight *f, enum reject_reason reason, unsigned word,
                          const struct err *e)
{
    f->taken.is_refused = true;
    metrics_count(METRIC_REJECTED, word);
    log_rejected(reason, (struct log_field[]){
                             LOG_STR("method", f->http->method), LOG_PATH("path", f->http->path),
                             LOG_STR("client", f->client), LOG_STR("request_id", f->request_id),
                             LOG_STR("error", str_from_c(err_wire_code(e))),
                             LOG_STR("owner", f->caller.name), LOG_END});
}

static void set_refusal(struct err *e, const char *what, uint64_t limit, const char *per,
                        uint64_t wait_ms)
{
    struct buf wait = {.limit = 0};

    rate_wait_write(wait_ms, &wait);
    err_set(e, ERR_RATE_LIMIT,
            "Rate limit reached for %s: limit %" PRIu64 "%s. Please try again in %s.", what, limit,
            per, buf_cstr(&wait));
    e->retry_after_s = rate_retry_after_s(wait_ms);
    buf_fini(&wait);
}

static void refuse_flight(struct flight *f, const struct rate_answer *a,
                          const struct rate_limits *limits, struct err *reterr)
{
    const char *const per = " per minute";

    switch (a->verdict) {
    case RATE_OUT_OF_REQUESTS:
        set_refusal(reterr, "requests", limits->rpm, per, a->wait_ms);
        count_refusal(f, REJECT_RPM, METRIC_REJECTION_RPM, reterr);
        break;
    case RATE_OUT_OF_TOKENS:
        set_refusal(reterr, "tokens", limits->tpm, per, a->wait_ms);
        count_refusal(f, REJECT_TPM, METRIC_REJECTION_TPM, reterr);
        break;
    case RATE_TOO_MANY_AT_ONCE:
        set_refusal(reterr, "concurrent requests", limits->concurrency, "", a->wait_ms);
        count_refusal(f, REJECT_CONCURRENCY, METRIC_REJECTION_CONCURRENCY, reterr);
        break;
    case RATE_NO_MEMORY:
    case RATE_TAKEN:
        err_set_no_memory(reterr);
        break;
    }
}

int flight_limits_check_model(struct flight *f, str model, struct err *reterr)
{
    if (allowance_has_model(f->caller.allowance, model))
        return 0;
    err_set_param(reterr, ERR_MODEL_NOT_FOUND, "model", "The model '%.*s' does not exist.",
                  STR_ARG(model));
    count_refusal(f, REJECT_MODEL, METRIC_REJECTION_MODEL, reterr);
    return -1;
}

/* ---- begin */

static int64_t estimate_tokens(const struct flight *f)
{
    const size_t n = f->body_bytes / BYTES_PER_TOKEN + (f->body_bytes % BYTES_PER_TOKEN != 0);

    return n < RATE_MOST ? (int64_t)n : RATE_MOST;
}

static void tell_client(struct flight *f, const struct rate_answer *a)
{
    struct http_header headers[LIMIT_HEADERS];

    if (!limit_headers_belong_to(f->http->method, f->http->path))
        return;
    f->taken.is_told = a->requests.limit != 0 || a->tokens.limit != 0;
    peer_tell_headers(f->peer, headers, limit_headers_write(a, &f->arena, headers));
}

int flight_limits_admit(struct flight *f, struct err *reterr)
{
    const struct worker *w = f->worker;
    const struct rate_limits limits = flight_limits_of(w, &f->caller);
    const int64_t tokens = estimate_tokens(f);
    struct rate_answer a;
    char room[ADDRESS_BYTES];

    if (w->rates == NULL || !rate_limits_are_any(&limits))
        return 0; /* without a look at who it is: that would be work in every request */
    a = rate_table_take(w->rates, name_user(&f->caller, f->client, room), &limits, (uint64_t)tokens,
                        loop_now_ms(w->loop));
    tell_client(f, &a);
    if (a.verdict != RATE_TAKEN) {
        refuse_flight(f, &a, &limits, reterr);
        return -1;
    }
    f->taken.user = a.user;
    f->taken.estimate = tokens;
    return 0;
}

void flight_limits_join(struct flight *f)
{
    const struct worker *w = f->worker;
    const struct rate_limits limits = flight_limits_of(w, &f->caller);
    char room[ADDRESS_BYTES];

    if (w->rates == NULL)
        return;
    f->taken.user = rate_table_join(w->rates, name_user(&f->caller, f->client, room), &limits,
                                    loop_now_ms(w->loop));
    f->taken.estimate = estimate_tokens(f);
}

/* ---- end */

void flight_limits_hand_over(struct flight *f)
{
    f->taken.is_handed_over = true;
}

void flight_limits_note_usage(struct flight *f, const struct usage *usage)
{
    if (!usage->known)
        return;
    f->taken.is_known = true;
    f->taken.used = usage->input + usage->output;
}

bool flight_limits_count_tokens(const struct flight *f)
{
    return f->worker->rates != NULL && flight_limits_of(f->worker, &f->caller).tpm > 0;
}

/* ---- without a flight */

void flight_limits_tell(const struct worker *w, struct http_exchange *x,
                        const struct http_request *r, const struct caller *caller)
{
    struct http_header headers[LIMIT_HEADERS];
    struct arena memory = {.limit = 0};
    struct rate_limits limits;
    struct rate_answer a;
    char room[ADDRESS_BYTES];

    if (w->rates == NULL || !limit_headers_belong_to(r->method, r->path))
        return;
    limits = flight_limits_of(w, caller);
    if (limits.rpm == 0 && limits.tpm == 0)
        return;
    a = rate_table_look(w->rates, name_user(caller, r->peer, room), &limits, loop_now_ms(w->loop));
    http_exchange_tell(x, headers, limit_headers_write(&a, &memory, headers));
    arena_fini(&memory);
}
