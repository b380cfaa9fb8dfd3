/* relay_headers.c -- tables of header fields that pass, or do not. */
#include "front/relay_headers.h"

#include "flight/flight.h"
#include "flight/limit_headers.h"
#include "flight/worker.h"

static bool is_one_of(str name, const str *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq_nocase(name, list[i]))
            return true;
    }
    return false;
}

/* Is name one of the words between the commas? */
static bool is_listed(str list, str name)
{
    while (list.len > 0) {
        size_t n = str_find_char(list, ',');

        if (str_eq_nocase(str_trim(str_from(list.p, n)), name))
            return true;
        list = str_skip(list, n + 1);
    }
    return false;
}

/* Does Connection say that a field concerns one connection only? */
static bool is_nominated(const struct http_header *headers, size_t n_headers, str name)
{
    for (size_t i = 0; i < n_headers; i++) {
        if (str_eq_nocase(headers[i].name, STR("connection")) && is_listed(headers[i].value, name))
            return true;
    }
    return false;
}

/* RFC 9110, 7.6.1, and what this server writes itself. */
static bool passes_back(str name)
{
    static const str own[] = {
        STR_INIT("connection"),
        STR_INIT("keep-alive"),
        STR_INIT("proxy-connection"),
        STR_INIT("proxy-authenticate"),
        STR_INIT("te"),
        STR_INIT("trailer"),
        STR_INIT("transfer-encoding"),
        STR_INIT("upgrade"),
        STR_INIT("content-length"),
        STR_INIT("date"),
        STR_INIT("x-request-id"),
    };

    return !is_one_of(name, own, COUNT_OF(own));
}

/* What the upstream gets of the client's headers: what describes the body, what
 * the answer should be like, and what belongs to the API. Cookies and keys of
 * other kinds are for us or for nobody. Names that end in "-" are beginnings. */
static bool passes_on(str name)
{
    static const str passed[] = {
        STR_INIT("content-type"),  STR_INIT("content-encoding"),
        STR_INIT("accept"),        STR_INIT("accept-language"),
        STR_INIT("range"),         STR_INIT("if-range"),
        STR_INIT("if-none-match"), STR_INIT("if-modified-since"),
        STR_INIT("user-agent"),    STR_INIT("idempotency-key"),
        STR_INIT("openai-"),       STR_INIT("x-stainless-"),
        STR_INIT("traceparent"),   STR_INIT("tracestate"),
    };

    for (size_t i = 0; i < COUNT_OF(passed); i++) {
        bool is_beginning = str_ends_with(passed[i], STR("-"));

        if (is_beginning ? str_starts_with(name, passed[i]) : str_eq(name, passed[i]))
            return true;
    }
    return false;
}

size_t relay_headers_on(const struct http_request *r, enum relay_coding coding,
                        struct http_header *out)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_headers; i++) {
        str name = r->headers[i].name;

        if (coding == RELAY_WITHOUT_CODING && str_eq(name, STR("content-encoding")))
            continue;
        if (passes_on(name) && !is_nominated(r->headers, r->n_headers, name))
            out[n++] = r->headers[i];
    }
    return n;
}

unsigned relay_headers_own(const struct flight *f)
{
    return (f->worker->config->cors_origins.n > 0 ? RELAY_OWN_CORS : 0) |
           (f->taken.is_told ? RELAY_OWN_LIMITS : 0);
}

static bool is_left_to_us(str name, unsigned own)
{
    return ((own & RELAY_OWN_CORS) != 0 && str_starts_with(name, STR("access-control-"))) ||
           ((own & RELAY_OWN_LIMITS) != 0 && limit_headers_have(name));
}

size_t relay_headers_back(const struct http_header *headers, size_t n_headers, unsigned own,
                          struct http_header *out)
{
    size_t n = 0;

    for (size_t i = 0; i < n_headers; i++) {
        str name = headers[i].name;

        if (passes_back(name) && !is_nominated(headers, n_headers, name) &&
            !is_left_to_us(name, own))
            out[n++] = headers[i];
    }
    return n;
}
