/* client_curl.c -- the transport over libcurl: what happens to its calls, and when.
 *
 * libcurl reports from inside its own functions, where it must not be entered
 * again. So a call that is started, resumed or dropped from there is put on the
 * list of changed calls, and settle_calls() deals with it when libcurl has been left.
 * Resuming waits for the loop in any case: it reports held back bytes at once,
 * and nobody expects a report from inside http_call_resume(). */
#include "http/client_curl.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/budget.h"
#include "ev/loop.h"
#include "http/curl_call.h"
#include "http/curl_guard.h"
#include "http/curl_pump.h"
#include "net/resolve.h"

/* Budget of a call: libcurl's handle with its buffers, and TLS. */
enum { CALL_BYTES = 96 * 1024 };

struct curl_client {
    struct curl_pump *pump;
    struct loop *loop;
    struct resolver *resolver; /* of a guarded client, else NULL */
    struct loop_timer *settle_timer;
    const struct http_client_conf *conf;
    struct curl_call *changed;
    size_t n_calls;
    bool settling;

    const struct http_connection_count *count; /* of the last call that wants to be counted */
    size_t n_sockets, n_counted_calls;         /* of such calls */
    size_t n_idle, n_active;                   /* as counted */
};

static struct curl_call *curl_call_of(struct http_call *call)
{
    return (struct curl_call *)call;
}

/* --- counting ------------------------------------------------------------------- */

/* libcurl does not say which of its connections a call uses: there are as many idle ones as there are more
 * sockets than calls. */
static void count_connections(struct curl_client *client)
{
    const struct http_connection_count *count = client->count;
    const size_t n = client->n_sockets, n_calls = client->n_counted_calls;
    const size_t n_active = n < n_calls ? n : n_calls, n_idle = n - n_active;

    if (count == NULL)
        return;
    count->move(count->arg, true, (int)n_idle - (int)client->n_idle);
    count->move(count->arg, false, (int)n_active - (int)client->n_active);
    client->n_idle = n_idle;
    client->n_active = n_active;
}

static curl_socket_t on_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct curl_client *client = arg;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);

    (void)purpose;
    if (fd == -1)
        return CURL_SOCKET_BAD;
    client->n_sockets++;
    count_connections(client);
    return fd;
}

static int on_close_socket(void *arg, curl_socket_t fd)
{
    struct curl_client *client = arg;

    client->n_sockets--;
    count_connections(client);
    return close(fd);
}

/* A guarded client opens sockets in its own way, and is not counted. */
static void count_call(struct curl_call *call, const struct http_connection_count *count)
{
    struct curl_client *client = call->client;

    if (count == NULL || client->conf->may_connect != NULL)
        return;
    call->is_counted = true;
    client->count = count;
    client->n_counted_calls++;
    (void)curl_easy_setopt(call->easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    (void)curl_easy_setopt(call->easy, CURLOPT_OPENSOCKETDATA, client);
    (void)curl_easy_setopt(call->easy, CURLOPT_CLOSESOCKETFUNCTION, on_close_socket);
    (void)curl_easy_setopt(call->easy, CURLOPT_CLOSESOCKETDATA, client);
    count_connections(client);
}

/* --- changes that wait ---------------------------------------------------------- */

static void changed_add(struct curl_call *call)
{
    if (call->changed)
        return;
    call->changed = true;
    call->next_changed = call->client->changed;
    call->client->changed = call;
}

static void changed_remove(struct curl_call *call)
{
    struct curl_call **p = &call->client->changed;

    if (!call->changed)
        return;
    while (*p != call)
        p = &(*p)->next_changed;
    *p = call->next_changed;
    call->changed = false;
}

/* Room for busy connections as well: libcurl counts both, and at its limit it
 * would close each idle one when a call ends. */
static void keep_connections(struct curl_client *client)
{
    curl_pump_keep(client->pump, client->n_calls + client->conf->max_idle_connections);
}

/* Takes the call from libcurl; only from outside libcurl. */
static void leave_libcurl(struct curl_call *call)
{
    if (call->added)
        curl_pump_remove(call->client->pump, call->easy);
    call->added = false;
}

static void call_free(struct curl_call *call)
{
    struct curl_client *client = call->client;

    changed_remove(call);
    resolve_cancel(&call->wait);
    leave_libcurl(call);
    client->n_calls--;
    client->n_counted_calls -= call->is_counted;
    count_connections(client);
    keep_connections(client);
    curl_call_fini(call);
    budget_free(call, CALL_BYTES);
}

/* Reports the end of a call; only from outside libcurl. */
static void call_end(struct curl_call *call, CURLcode result)
{
    struct err e;

    leave_libcurl(call);
    if (result == CURLE_OK && call->call.head_done) {
        call_on_end(&call->call, NULL);
        return;
    }
    if (result == CURLE_OK) /* 101: it changed to a protocol that nobody asked for */
        err_set(&e, ERR_UPSTREAM_ERROR, "%sThe %s did not answer with HTTP.", call->call.prefix,
                call->call.peer);
    else
        curl_call_describe(call, result, &e);
    call_on_end(&call->call, &e);
}

static void call_refuse(struct curl_call *call)
{
    struct err e;

    call_describe(&call->call, call->refusal, &e);
    call_on_end(&call->call, &e);
}

static void call_settle(struct curl_call *call)
{
    if (call->cancelled) {
        call_free(call);
    } else if (call->refusal != NULL) {
        call_refuse(call);
    } else if (!call->added) {
        call->added = curl_pump_add(call->client->pump, call->easy);
        if (!call->added)
            call_end(call, CURLE_OUT_OF_MEMORY);
    } else if (call->held && !call->call.paused) {
        call->held = false;
        curl_pump_unpause(call->client->pump, call->easy);
    }
}

/* Settles all changed calls. That may report, and a report may change others or end them: each call
 * is taken off the list before it is dealt with. */
static void settle_calls(void *arg)
{
    struct curl_client *client = arg;

    if (client->settling || curl_pump_is_inside(client->pump))
        return;
    client->settling = true;
    while (client->changed != NULL) {
        struct curl_call *call = client->changed;

        client->changed = call->next_changed;
        call->changed = false;
        call_settle(call);
    }
    client->settling = false;
}

static void on_transfer_done(void *arg, CURL *easy, CURLcode result)
{
    struct curl_call *call = NULL;

    (void)arg;
    (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&call);
    call_end(call, result);
}

/* --- what callers do ------------------------------------------------------------- */

static void settle_soon(struct curl_call *call)
{
    changed_add(call);
    loop_timer_start(call->client->settle_timer, 0);
}

static void on_paused(struct http_call *call)
{
    if (!call->paused && curl_call_of(call)->held)
        settle_soon(curl_call_of(call));
}

static void drop_call(struct http_call *call)
{
    curl_call_of(call)->cancelled = true;
    if (curl_pump_is_inside(curl_call_of(call)->client->pump))
        changed_add(curl_call_of(call));
    else
        call_free(curl_call_of(call));
}

static void on_resolved(void *arg, const struct address_list *list)
{
    struct curl_call *call = arg;

    call->call.connecting_ms = 0;
    call->refusal = curl_guard_pin(call, list);
    settle_soon(call);
}

/* libcurl gets the call when its name has been looked up. */
static void look_up(struct curl_call *call)
{
    struct address_list list;

    call->call.connecting_ms = loop_now_ms(call->client->loop);
    call->wait.on_resolved = on_resolved;
    call->wait.arg = call;
    if (resolver_get(call->client->resolver, call->host, &call->wait, &list))
        on_resolved(call, &list);
    else if (call->wait.link == NULL)
        on_resolved(call, NULL);
}

/* libcurl's clock runs from when the request goes out, also on a connection that was kept. */
static bool is_connected(const struct http_call *call)
{
    curl_off_t sent_us = 0;

    (void)curl_easy_getinfo(((const struct curl_call *)call)->easy, CURLINFO_PRETRANSFER_TIME_T,
                            &sent_us);
    return sent_us > 0;
}

static bool connect_time(const struct http_call *call, uint64_t *ret_ms)
{
    CURL *easy = ((const struct curl_call *)call)->easy;
    curl_off_t connected_us = 0, shaken_us = 0;
    long n_made = 0;

    (void)curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &n_made);
    (void)curl_easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &connected_us);
    (void)curl_easy_getinfo(easy, CURLINFO_APPCONNECT_TIME_T, &shaken_us); /* of TLS, else 0 */
    if (shaken_us < connected_us)
        shaken_us = connected_us;
    *ret_ms = (uint64_t)shaken_us / 1000;
    return n_made > 0 && shaken_us > 0;
}

static void write_where(const struct http_call *call, char out[CALL_WHERE_BYTES])
{
    curl_call_where((const struct curl_call *)call, out);
}

struct http_call *curl_client_start(struct curl_client *client, const struct http_call_conf *conf,
                                    struct err *reterr)
{
    static const struct call_transport transport = {on_paused, drop_call, is_connected,
                                                    connect_time, write_where};
    struct curl_call *call = budget_alloc(sizeof(*call), CALL_BYTES);

    if (call == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    call->call.transport = &transport;
    call->client = client;
    if (curl_call_setup(call, client->conf, conf, reterr) == -1) {
        curl_call_fini(call);
        budget_free(call, CALL_BYTES);
        return NULL;
    }
    client->n_calls++;
    keep_connections(client);
    count_call(call, conf->count);
    if (client->resolver != NULL) {
        look_up(call);
        return &call->call;
    }
    if (!curl_pump_is_inside(client->pump))
        call->added = curl_pump_add(client->pump, call->easy);
    if (!call->added)
        settle_soon(call);
    return &call->call;
}

/* --- the client --------------------------------------------------------------------- */

struct curl_client *curl_client_new(struct loop *loop, const struct http_client_conf *conf)
{
    static const struct curl_pump_handler handler = {settle_calls, on_transfer_done};
    struct curl_client *client;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return NULL;
    client = calloc(1, sizeof(*client));
    if (client == NULL) {
        curl_global_cleanup();
        return NULL;
    }
    client->loop = loop;
    client->conf = conf;
    client->settle_timer = loop_timer_new(loop, settle_calls, client);
    client->pump = curl_pump_new(loop, &handler, client);
    if (conf->may_connect != NULL)
        client->resolver = resolver_new(loop);
    if (client->settle_timer == NULL || client->pump == NULL ||
        (conf->may_connect != NULL && client->resolver == NULL)) {
        curl_client_free(client);
        return NULL;
    }
    return client;
}

bool curl_client_is_resolving(const struct curl_client *client)
{
    return client->resolver != NULL && resolver_is_busy(client->resolver);
}

void curl_client_free(struct curl_client *client)
{
    if (client == NULL)
        return;
    assert(client->pump == NULL || !curl_pump_is_inside(client->pump));
    curl_pump_free(client->pump);
    resolver_free(client->resolver);
    loop_timer_free(client->settle_timer);
    free(client);
    curl_global_cleanup();
}
