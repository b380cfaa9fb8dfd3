/* gateway_call.c -- from the key `listen` to an answer. */
#include "cli/gateway_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/listen_spec.h"
#include "config/config_key.h"

enum { TIMEOUT_MS = 5000 };

/* ---- where */

/* Where a listener of all addresses is reached, too. */
static str reachable_host(str host)
{
    if (host.len == 0 || str_eq(host, STR("0.0.0.0")))
        return STR("127.0.0.1");
    return str_eq(host, STR("[::]")) ? STR("[::1]") : host;
}

bool gateway_url(const char *listen, const char *path, struct buf *out)
{
    const struct listen_spec spec = listen_spec_of(listen);
    const bool is_tls = (spec.marks & LISTEN_TLS) != 0;
    str host, port;

    if ((spec.marks & LISTEN_PROXY) != 0 || listen_spec_is_descriptor(&spec))
        return false;
    if (listen_spec_is_unix(&spec)) {
        if (is_tls)
            return false; /* no URL says that */
        buf_append(out, spec.address);
        buf_char(out, ':');
        buf_c(out, path);
        return true;
    }
    if (!config_split_address(spec.address, &host, &port) || str_eq(port, STR("0")))
        return false;
    buf_c(out, is_tls ? "https://" : "http://");
    buf_append(out, reachable_host(host));
    buf_char(out, ':');
    buf_append(out, port);
    buf_c(out, path);
    return true;
}

/* Which listener is asked rather than another: the lower one. -1: not one of those that are meant. */
static int rank_of(const char *listen, unsigned marks)
{
    const struct listen_spec spec = listen_spec_of(listen);

    if (marks != 0 && (spec.marks & marks) == 0)
        return -1;
    return (config_listens_to_others(listen, marks) ? 2 : 0) +
           ((spec.marks & LISTEN_TLS) != 0 ? 1 : 0);
}

const char *gateway_find(const struct config_list *listen, unsigned marks, const char *path,
                         struct buf *url)
{
    enum { RANKS = 4 };

    for (int rank = 0; rank < RANKS; rank++) {
        for (size_t i = 0; i < listen->n; i++) {
            if (rank_of(listen->items[i], marks) == rank &&
                gateway_url(listen->items[i], path, url))
                return listen->items[i];
        }
    }
    return NULL;
}

/* ---- asking */

int gateway_ask(const char *listen, const struct question *q, struct asked *ret)
{
    const struct http_client_conf conf = {.max_idle_connections = 1};
    struct question timed = *q;
    struct err e;
    struct asker *a = asker_open(&conf, &e);

    *ret = (struct asked){.status = 0};
    if (a == NULL) {
        (void)fprintf(stderr, "antiphon: %s\n", e.msg);
        return EXIT_FAILURE;
    }
    timed.body = STR_NONE;
    timed.timeout_ms = TIMEOUT_MS;
    ask_once(a, &timed, ret);
    if (ret->has_failed)
        (void)fprintf(stderr, "antiphon: %s: %s\n", listen, ret->failure.msg);
    if (asker_is_resolving(a))
        _exit(EXIT_FAILURE);
    asker_close(a);
    return ret->has_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
