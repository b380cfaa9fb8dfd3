/* http_client.c -- the life of a call: start, reports, time, pause, cancel.
 *
 * libcurl reports from inside its own functions, where it must not be entered
 * again. So a call that is started, resumed or cancelled from there is put on
 * the list of changed calls, and client_settle() deals with it when libcurl has
 * been left. Resuming waits for the loop in any case: it reports held back
 * bytes at once, and nobody expects a report from inside http_call_resume(). */
#include "http/http_client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ev/loop.h"
#include "http/client_curl.h"
#include "http/http_call.h"

struct http_client {
    struct loop *loop;
    struct curl_pump *pump;
    struct loop_timer *settle_timer;
    struct http_client_conf conf;
    char *ca_file, *proxy; /* what conf points to */
    struct http_call *calls, *changed;
    size_t n_calls;
    bool settling;
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

    limit_tighten(&l, call->started_ms, call->total_timeout_ms, "not complete after");
    if (!call->head_done)
        limit_tighten(&l, call->started_ms, call->first_byte_timeout_ms, "no answer within");
    else if (!call->paused)
        limit_tighten(&l, call->last_read_ms, call->idle_timeout_ms, "no data for");
    return l;
}

/* A read moves the limit but not the timer, which looks again when it fires. */
static void watch_time(struct http_call *call)
{
    struct limit l = next_limit(call);
    uint64_t now = loop_now_ms(call->client->loop);

    if (l.at_ms == UINT64_MAX || (call->timer_ms != 0 && call->timer_ms <= l.at_ms))
        return;
    call->timer_ms = l.at_ms;
    loop_timer_start(call->timer, l.at_ms > now ? l.at_ms - now : 0);
}

static void call_end(struct http_call *call, const struct err *failure);

static void on_timer(void *arg)
{
    struct http_call *call = arg;
    struct limit l = next_limit(call);
    struct err e;

    call->timer_ms = 0;
    if (l.at_ms > loop_now_ms(call->client->loop)) {
        watch_time(call);
        return;
    }
    call_describe_timeout(call, l.what, l.limit_ms, &e);
    call_end(call, &e);
}

/* --- changes that wait ---------------------------------------------------------- */

static void changed_add(struct http_call *call)
{
    if (call->changed)
        return;
    call->changed = true;
    call->next_changed = call->client->changed;
    call->client->changed = call;
}

static void changed_remove(struct http_call *call)
{
    struct http_call **p = &call->client->changed;

    if (!call->changed)
        return;
    while (*p != call)
        p = &(*p)->next_changed;
    *p = call->next_changed;
    call->changed = false;
}

/* Room for busy connections as well: libcurl counts both, and at its limit it
 * would close each idle one when a call ends. */
static void keep_connections(struct http_client *client)
{
    curl_pump_keep(client->pump, client->n_calls + client->conf.max_idle_connections);
}

static void call_free(struct http_call *call)
{
    struct http_client *client = call->client;

    changed_remove(call);
    if (call->added)
        curl_pump_remove(client->pump, call->easy);
    *call->link = call->next;
    if (call->next != NULL)
        call->next->link = call->link;
    client->n_calls--;
    keep_connections(client);
    loop_timer_free(call->timer);
    call_fini(call);
    free(call);
}

/* Only from outside libcurl. */
static void call_end(struct http_call *call, const struct err *failure)
{
    call->ended = true;
    if (call->added)
        curl_pump_remove(call->client->pump, call->easy);
    call->added = false;
    call->handler.on_end(call->arg, failure);
    call_free(call);
}

static void call_settle(struct http_call *call)
{
    struct err e;

    if (call->cancelled) {
        call_free(call);
    } else if (!call->added) {
        call->added = curl_pump_add(call->client->pump, call->easy);
        if (!call->added) {
            call_describe_failure(call, CURLE_OUT_OF_MEMORY, &e);
            call_end(call, &e);
        }
    } else if (call->held && !call->paused) {
        call->held = false;
        curl_pump_unpause(call->client->pump, call->easy);
    }
}

/* Dealing with one call may report, and that may change others or end them:
 * each is taken off the list before it is dealt with. */
static void client_settle(void *arg)
{
    struct http_client *client = arg;

    if (client->settling || curl_pump_is_inside(client->pump))
        return;
    client->settling = true;
    while (client->changed != NULL) {
        struct http_call *call = client->changed;

        client->changed = call->next_changed;
        call->changed = false;
        call_settle(call);
    }
    client->settling = false;
}

/* --- reports ---------------------------------------------------------------------- */

void call_on_head(struct http_call *call, int status, const struct http_header *headers,
                  size_t n_headers)
{
    call->head_done = true;
    call->last_read_ms = loop_now_ms(call->client->loop);
    watch_time(call);
    call->handler.on_head(call->arg, status, headers, n_headers);
}

void call_on_body(struct http_call *call, str bytes)
{
    call->last_read_ms = loop_now_ms(call->client->loop);
    call->handler.on_body(call->arg, bytes);
}

static void on_done(void *arg, CURL *easy, CURLcode result)
{
    struct http_call *call = NULL;
    struct err e;

    (void)arg;
    (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&call);
    if (result == CURLE_OK && call->head_done) {
        call_end(call, NULL);
        return;
    }
    if (result == CURLE_OK) /* 101: it changed to a protocol that nobody asked for */
        err_set(&e, ERR_UPSTREAM_ERROR, "The upstream server did not answer with HTTP.");
    else
        call_describe_failure(call, result, &e);
    call_end(call, &e);
}

/* --- what callers do ------------------------------------------------------------- */

struct http_call *http_client_start(struct http_client *client, const struct http_call_conf *conf,
                                    const struct http_call_handler *handler, void *arg,
                                    struct err *reterr)
{
    struct http_call *call = calloc(1, sizeof(*call));

    if (call == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    call->client = client;
    call->handler = *handler;
    call->arg = arg;
    call->started_ms = call->last_read_ms = loop_now_ms(client->loop);
    call->timer = loop_timer_new(client->loop, on_timer, call);
    if (call->timer == NULL)
        err_set_no_memory(reterr);
    if (call->timer == NULL || call_setup(call, &client->conf, conf, reterr) == -1) {
        loop_timer_free(call->timer);
        call_fini(call);
        free(call);
        return NULL;
    }
    call->next = client->calls;
    call->link = &client->calls;
    if (call->next != NULL)
        call->next->link = &call->next;
    client->calls = call;
    client->n_calls++;
    keep_connections(client);
    watch_time(call);
    if (!curl_pump_is_inside(client->pump))
        call->added = curl_pump_add(client->pump, call->easy);
    if (!call->added) {
        changed_add(call);
        loop_timer_start(client->settle_timer, 0);
    }
    return call;
}

void http_call_cancel(struct http_call *call)
{
    if (call == NULL || call->ended || call->cancelled)
        return;
    call->cancelled = true;
    loop_timer_stop(call->timer);
    if (curl_pump_is_inside(call->client->pump))
        changed_add(call);
    else
        call_free(call);
}

void http_call_pause(struct http_call *call)
{
    call->paused = true;
}

void http_call_resume(struct http_call *call)
{
    if (!call->paused || call->ended)
        return;
    call->paused = false;
    call->last_read_ms = loop_now_ms(call->client->loop);
    watch_time(call);
    if (call->held) {
        changed_add(call);
        loop_timer_start(call->client->settle_timer, 0);
    }
}

/* --- the client --------------------------------------------------------------------- */

static bool conf_copy(struct http_client *client, const struct http_client_conf *conf)
{
    client->conf = *conf;
    client->ca_file = conf->ca_file == NULL ? NULL : strdup(conf->ca_file);
    client->proxy = conf->proxy == NULL ? NULL : strdup(conf->proxy);
    client->conf.ca_file = client->ca_file;
    client->conf.proxy = client->proxy;
    return (client->ca_file == NULL) == (conf->ca_file == NULL) &&
           (client->proxy == NULL) == (conf->proxy == NULL);
}

struct http_client *http_client_new(struct loop *loop, const struct http_client_conf *conf)
{
    static const struct curl_pump_handler handler = {client_settle, on_done};
    struct http_client *client;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return NULL;
    client = calloc(1, sizeof(*client));
    if (client == NULL) {
        curl_global_cleanup();
        return NULL;
    }
    client->loop = loop;
    client->settle_timer = loop_timer_new(loop, client_settle, client);
    client->pump = curl_pump_new(loop, &handler, client);
    if (client->settle_timer == NULL || client->pump == NULL || !conf_copy(client, conf)) {
        http_client_free(client);
        return NULL;
    }
    return client;
}

void http_client_free(struct http_client *client)
{
    if (client == NULL)
        return;
    assert(client->pump == NULL || !curl_pump_is_inside(client->pump));
    for (struct http_call *call = client->calls, *next; call != NULL; call = next) {
        next = call->next;
        call_free(call);
    }
    curl_pump_free(client->pump);
    loop_timer_free(client->settle_timer);
    free(client->ca_file);
    free(client->proxy);
    free(client);
    curl_global_cleanup();
}
