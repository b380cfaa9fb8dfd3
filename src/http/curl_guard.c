/* curl_guard.c -- addresses are pinned in libcurl's cache of names.
 *
 * libcurl looks into that cache first, under host and port, when it makes a new
 * connection. Every call puts its addresses there anew. Entries age like others,
 * and a call whose entry has gone (it repeats itself, after a kept connection
 * has died under it) fails for want of a resolver.
 *
 * A connection is kept under host and port as well, so the pool of a guarded
 * client must not know connections of others: each client has its own. */
#include "http/curl_guard.h"

#include <arpa/inet.h>
#include <sys/socket.h>

/* Keeps libcurl from looking a name up itself. */
static int on_resolver_start(void *resolver, void *reserved, void *arg)
{
    (void)resolver;
    (void)reserved;
    (void)arg;
    return 1;
}

static curl_socket_t on_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
    const struct curl_call *call = arg;

    (void)purpose;
    if (!call->may_connect(&to->addr))
        return CURL_SOCKET_BAD;
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

CURLcode curl_guard_setup(struct curl_call *call, bool (*may_connect)(const struct sockaddr *to))
{
    CURLcode rc;

    if (call->socket_path != NULL ||
        curl_url_get(call->url, CURLUPART_HOST, &call->host, 0) != CURLUE_OK ||
        call->host[0] == '[') /* libcurl cannot pin such a host */
        return CURLE_URL_MALFORMAT;
    call->may_connect = may_connect;
    rc = curl_easy_setopt(call->easy, CURLOPT_RESOLVER_START_FUNCTION, on_resolver_start);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(call->easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(call->easy, CURLOPT_OPENSOCKETDATA, call);
    return rc;
}

static void write_address(const struct address *a, struct buf *out)
{
    char text[INET6_ADDRSTRLEN];
    bool is_ipv6 = a->to.any.sa_family == AF_INET6;
    const void *bytes = is_ipv6 ? (const void *)&a->to.in6.sin6_addr : &a->to.in4.sin_addr;

    (void)inet_ntop(a->to.any.sa_family, bytes, text, sizeof(text));
    buf_c(out, is_ipv6 ? "[" : "");
    buf_c(out, text);
    buf_c(out, is_ipv6 ? "]" : "");
}

/* "+host:port:address,address"; without the "+" it would stay for good. */
static void write_pin(const char *host, const char *port, const struct address_list *list,
                      struct buf *out)
{
    buf_char(out, '+');
    buf_c(out, host);
    buf_char(out, ':');
    buf_c(out, port);
    for (size_t i = 0; i < list->n; i++) {
        buf_char(out, i == 0 ? ':' : ',');
        write_address(&list->at[i], out);
    }
}

static bool pin_addresses(struct curl_call *call, const struct address_list *list)
{
    struct buf text = {0};
    char *port = NULL;

    if (curl_url_get(call->url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK) {
        write_pin(call->host, port, list, &text);
        call->pins = curl_slist_append(NULL, buf_cstr(&text));
    }
    curl_free(port);
    if (buf_failed(&text)) {
        curl_slist_free_all(call->pins);
        call->pins = NULL;
    }
    buf_fini(&text);
    return call->pins != NULL &&
           curl_easy_setopt(call->easy, CURLOPT_RESOLVE, call->pins) == CURLE_OK;
}

/* One address that is not allowed speaks against the name as a whole: a name
 * that leads here and there is a trap, or a mistake. */
const char *curl_guard_pin(struct curl_call *call, const struct address_list *list)
{
    if (list == NULL)
        return CAUSE_NO_NAME;
    for (size_t i = 0; i < list->n; i++) {
        if (!call->may_connect(&list->at[i].to.any))
            return CAUSE_NOT_ALLOWED;
    }
    return pin_addresses(call, list) ? NULL : curl_easy_strerror(CURLE_OUT_OF_MEMORY);
}
