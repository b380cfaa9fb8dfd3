/* reach_call.c -- what the calls of a flight have in common. */
#include <stdio.h>

#include "base/secrets.h"
#include "base/utf8.h"
#include "flight/flight.h"
#include "flight/reach.h"
#include "flight/worker.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_table.h"
#include "wire/dialect/upstream_error.h"

struct http_call_conf reach_call_conf(const struct flight *f)
{
    const struct config *c = f->upstream->config;

    return (struct http_call_conf){
        .prefix = UPSTREAM_CONNECTION_ERROR,
        .connect_timeout_ms = c->connect_timeout_ms,
        .first_byte_timeout_ms = c->first_byte_timeout_ms,
        .idle_timeout_ms = c->idle_timeout_ms,
        .total_timeout_ms = c->total_timeout_ms,
        .count = metrics_are_on ? &f->reach->connections : NULL,
    };
}

str reach_authorization(const struct flight *f)
{
    const str own = f->upstream->authorization;

    if (!str_is_none(own) || !f->upstream->pass_client_key || atomic_load(&f->worker->has_keys))
        return own;
    return http_request_header(f->http, STR("authorization"));
}

bool reach_passes_key(const struct flight *f)
{
    return str_is_none(f->upstream->authorization) && !str_is_none(reach_authorization(f));
}

/* Short ones are words that stand in for a key ("unused", "ollama"), and that servers say. */
static void add_key(struct secrets *secrets, str authorization)
{
    enum { MIN_KEY_BYTES = 12 };
    const str scheme = STR("Bearer ");
    str key = authorization;

    if (str_starts_with_nocase(key, scheme))
        key = str_trim(str_skip(key, scheme.len));
    if (key.len >= MIN_KEY_BYTES)
        secrets_add(secrets, key);
}

void reach_hide_keys(const struct flight *f, struct err *e)
{
    struct secrets secrets = {.first = NULL};
    struct buf said = {.limit = 0};

    add_key(&secrets, reach_authorization(f));
    add_key(&secrets, http_request_header(f->http, STR("authorization")));
    secrets_hide(&secrets, str_from_c(e->msg), &said);
    (void)snprintf(e->msg, sizeof(e->msg), "%s", buf_cstr(&said));
    e->msg[utf8_cut(str_from_c(e->msg), sizeof(e->msg) - 1)] = '\0';
    buf_fini(&said);
    secrets_fini(&secrets);
}

static bool list_must_be_known(struct reach *r, bool wants_new)
{
    if (!r->is_list_awaited)
        r->is_list_awaited = upstream_watch_await_list(r->live->watch, wants_new, &r->list_waiter);
    return r->is_list_awaited;
}

bool reach_must_be_known(const struct flight *f)
{
    struct reach *r = f->reach;

    if (f->admission.awaits_list)
        return list_must_be_known(r, f->admission.wants_new_lists);
    if (!r->is_awaited)
        r->is_awaited = upstream_watch_await(r->live->watch, &r->waiter);
    return r->is_awaited;
}
