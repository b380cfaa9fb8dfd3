/* http_client.c -- the life of a call: start, reports, time, pause, cancel.
 *
 *     start -> on_head -> on_body* -> on_end
 *       \_______\___________\_________ cancel, a limit that passes
 *
 * How a call travels is chosen here, once, by its URL; from then on only its
 * struct call_transport knows. A call is unlinked before its last report and
 * dropped after it, so that the caller may do anything from inside. */
#include "http/http_client.h"

#include <stdlib.h>
#include <string.h>

#include "ev/loop.h"
#include "http/client_curl.h"
#include "http/client_direct.h"
#include "http/http_call.h"
#include "http/http_url.h"

struct http_client {
    struct loop *loop;
    struct curl_client *curl;
    struct direct_client *direct;
    struct http_client_conf conf;
    char *ca_file, *proxy, *client_cert, *client_key; /* what conf points to */
    struct http_call *calls;
};

/* --- time ------------------------------------------------------------------- */

struct limit {
    uint64_t at_ms, limit_ms; /* at_ms is UINT64_MAX when there is none */
    const char *what;
};

static void limit_tighten(struct limit *l, uint64_t since_ms, uint64_t limit_ms, const char *what)
{
    if (limit_ms != 0 && since_ms + limit_ms < l->at_ms)
        *l = (struct limit){since_ms + limit_ms, limit_ms, what};
}

/* The limit that passes first as things stand. */
static struct limit next_limit(const struct http_call *call)
{
    struct limit l = {.at_ms = UINT64_MAX};

    limit_tighten(&l, call->started_ms, call->total_timeout_ms, CALL_NOT_COMPLETE);
    if (call->connecting_ms != 0)
        limit_tighten(&l, call->connecting_ms, call->connect_timeout_ms, CALL_NOT_CONNECTED);
    if (!call->head_done)
        limit_tighten(&l, call->started_ms, call->first_byte_timeout_ms, "no answer within");
    else if (!call->paused)
        limit_tighten(&l, call->last_read_ms, call->idle_timeout_ms, "no data for");
    return l;
}

/* A read moves the limit but not the timer, which looks again when it fires. */
void call_watch_time(struct http_call *call)
{
    struct limit l = next_limit(call);
    uint64_t now = loop_now_ms(call->client->loop);

    if (l.at_ms == UINT64_MAX || (call->timer_ms != 0 && call->timer_ms <= l.at_ms))
        return;
    call->timer_ms = l.at_ms;
    loop_timer_start(call->timer, l.at_ms > now ? l.at_ms - now : 0);
}

static void on_timer(void *arg)
{
    struct http_call *call = arg;
    struct limit l = next_limit(call);
    struct err e;

    call->timer_ms = 0;
    if (l.at_ms > loop_now_ms(call->client->loop)) {
        call_watch_time(call);
        return;
    }
    call_describe_timeout(call, l.what, l.limit_ms, &e);
    call_on_end(call, &e);
}

/* --- reports ---------------------------------------------------------------------- */

/* Takes the call off the list: from now on only the caller of this reports anything. */
static void unlink_call(struct http_call *call)
{
    call->ended = true;
    loop_timer_free(call->timer);
    *call->link = call->next;
    if (call->next != NULL)
        call->next->link = call->link;
}

void call_on_head(struct http_call *call, int status, const struct http_header *headers,
                  size_t n_headers)
{
    call->head_done = true;
    call->last_read_ms = loop_now_ms(call->client->loop);
    call_watch_time(call);
    call->handler.on_head(call->arg, status, headers, n_headers);
}

void call_on_body(struct http_call *call, str bytes)
{
    call->last_read_ms = loop_now_ms(call->client->loop);
    call->handler.on_body(call->arg, bytes);
}

void call_on_end(struct http_call *call, const struct err *failure)
{
    unlink_call(call);
    call->handler.on_end(call->arg, failure);
    call->transport->drop(call);
}

/* --- what callers do ------------------------------------------------------------- */

/* A proxy is asked for everything, so the direct way is closed with one; only
 * libcurl's way is guarded. */
static struct http_call *start_transport(struct http_client *client,
                                         const struct http_call_conf *conf, struct err *reterr)
{
    struct http_url url;

    if (!call_check_headers(conf, reterr))
        return NULL;
    if (client->direct != NULL && http_url_split(conf->url, &url))
        return direct_client_start(client->direct, conf, &url, reterr);
    return curl_client_start(client->curl, conf, reterr);
}

struct http_call *http_client_start(struct http_client *client, const struct http_call_conf *conf,
                                    const struct http_call_handler *handler, void *arg,
                                    struct err *reterr)
{
    struct http_call *call = start_transport(client, conf, reterr);

    if (call == NULL)
        return NULL;
    call->client = client;
    call->handler = *handler;
    call->arg = arg;
    call->peer = conf->peer == NULL ? "upstream server" : conf->peer;
    call->prefix = conf->prefix == NULL ? "" : conf->prefix;
    call->connect_timeout_ms = conf->connect_timeout_ms;
    call->first_byte_timeout_ms = conf->first_byte_timeout_ms;
    call->idle_timeout_ms = conf->idle_timeout_ms;
    call->total_timeout_ms = conf->total_timeout_ms;
    call->started_ms = call->last_read_ms = loop_now_ms(client->loop);
    call->timer = loop_timer_new(client->loop, on_timer, call);
    if (call->timer == NULL) {
        err_set_no_memory(reterr);
        call->transport->drop(call);
        return NULL;
    }
    call->next = client->calls;
    call->link = &client->calls;
    if (call->next != NULL)
        call->next->link = &call->next;
    client->calls = call;
    call_watch_time(call);
    return call;
}

void http_call_cancel(struct http_call *call)
{
    if (call == NULL || call->ended)
        return;
    unlink_call(call);
    call->transport->drop(call);
}

void http_call_pause(struct http_call *call)
{
    if (call->paused || call->ended)
        return;
    call->paused = true;
    call->transport->on_paused(call);
}

void http_call_resume(struct http_call *call)
{
    if (!call->paused || call->ended)
        return;
    call->paused = false;
    call->last_read_ms = loop_now_ms(call->client->loop);
    call_watch_time(call);
    call->transport->on_paused(call);
}

const char *http_call_phase(const struct http_call *call)
{
    if (call->head_done)
        return "answer";
    return call->transport->is_connected(call) ? "first_byte" : "connecting";
}

bool http_call_connect_time(const struct http_call *call, uint64_t *ret_ms)
{
    return call->transport->connect_time(call, ret_ms);
}

/* --- the client --------------------------------------------------------------------- */

static bool copy_text(const char *text, char **own, const char **ret)
{
    *ret = *own = text == NULL ? NULL : strdup(text);
    return (*ret == NULL) == (text == NULL);
}

static bool conf_copy(struct http_client *client, const struct http_client_conf *conf)
{
    struct http_client_conf *own = &client->conf;

    *own = *conf;
    return copy_text(conf->ca_file, &client->ca_file, &own->ca_file) &&
           copy_text(conf->proxy, &client->proxy, &own->proxy) &&
           copy_text(conf->client_cert, &client->client_cert, &own->client_cert) &&
           copy_text(conf->client_key, &client->client_key, &own->client_key);
}

static bool open_transports(struct http_client *client)
{
    bool only_curl =
        client->conf.only_curl || client->proxy != NULL || client->conf.may_connect != NULL;

    client->curl = curl_client_new(client->loop, &client->conf);
    if (!only_curl)
        client->direct = direct_client_new(client->loop, client->conf.max_idle_connections);
    return client->curl != NULL && (only_curl || client->direct != NULL);
}

struct http_client *http_client_new(struct loop *loop, const struct http_client_conf *conf)
{
    struct http_client *client = calloc(1, sizeof(*client));

    if (client == NULL)
        return NULL;
    client->loop = loop;
    if (!conf_copy(client, conf) || !open_transports(client)) {
        http_client_free(client);
        return NULL;
    }
    return client;
}

struct loop *http_client_loop(const struct http_client *client)
{
    return client->loop;
}

bool http_client_is_resolving(const struct http_client *client)
{
    return (client->direct != NULL && direct_client_is_resolving(client->direct)) ||
           curl_client_is_resolving(client->curl);
}

void http_client_free(struct http_client *client)
{
    if (client == NULL)
        return;
    while (client->calls != NULL)
        http_call_cancel(client->calls);
    curl_client_free(client->curl);
    direct_client_free(client->direct);
    free(client->ca_file);
    free(client->proxy);
    free(client->client_cert);
    free(client->client_key);
    free(client);
}
