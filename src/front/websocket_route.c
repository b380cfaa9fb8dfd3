/* websocket_route.c -- who may open a WebSocket.
 *
 * No page asks before it connects, so the page is judged first, by rules of its own; then the key, then
 * the handshake itself: whoever may not come in does not learn what was wrong with it. */
#include "front/websocket_route.h"

#include "access/api_key.h"
#include "flight/worker.h"
#include "front/refuse.h"
#include "http/websocket.h"
#include "http/ws_handshake.h"

/* What is spoken here stands in the answer to another version (RFC 6455, 4.4; RFC 9110, 15.5.22). */
static void refuse_handshake(struct http_exchange *x, const struct err *e)
{
    const struct http_header spoken[] = {{STR("Upgrade"), STR("websocket")},
                                         {STR("Sec-WebSocket-Version"), STR("13")}};
    bool is_version = e->code == ERR_UPGRADE_REQUIRED;

    http_exchange_respond_error(x, e, spoken, is_version ? COUNT_OF(spoken) : 0);
}

static void open_websocket(struct worker *w, struct http_exchange *x, struct caller caller,
                           websocket_open_fn *open)
{
    const struct websocket_conf conf = {
        .max_pending_bytes = w->config->websocket_max_pending_bytes,
        .ping_interval_ms = w->config->websocket_ping_interval_ms,
    };
    struct websocket *ws = http_exchange_upgrade(x, &conf);

    if (ws != NULL)
        open(w, ws, &caller);
}

void websocket_route_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                           websocket_open_fn *open, struct caller *ret_caller)
{
    str authorization = ws_handshake_authorization(r, http_exchange_arena(x));
    struct err e;

    if (ws_handshake_check_origin(w->origins, r, &e) == -1)
        refuse_request(x, r, REJECT_ORIGIN, &e);
    else if (api_keys_identify_client(w->keys, r->certificate, authorization, ret_caller, &e) == -1)
        refuse_caller(x, r, &e);
    else if (ws_handshake_check(r, &e) == -1)
        refuse_handshake(x, &e);
    else if (!refuse_without_memory(x, r))
        open_websocket(w, x, *ret_caller, open);
}
