/* health_command.c -- one question to the gateway of the same configuration, for health checks of
 * containers, which have no other program. */
#include "cli/health_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/listen_spec.h"
#include "cli/ask_once.h"
#include "cli/command_line.h"
#include "config/config_key.h"

enum { EXIT_USAGE = 2, TIMEOUT_MS = 5000 };

/* ---- where */

/* Where a listener of all addresses is reached, too. */
static str reachable_host(str host)
{
    if (host.len == 0 || str_eq(host, STR("0.0.0.0")))
        return STR("127.0.0.1");
    return str_eq(host, STR("[::]")) ? STR("[::1]") : host;
}

bool health_url(const char *listen, struct buf *out)
{
    const struct listen_spec spec = listen_spec_of(listen);
    const bool is_tls = (spec.marks & LISTEN_TLS) != 0;
    str host, port;

    if ((spec.marks & LISTEN_PROXY) != 0 || listen_spec_is_descriptor(&spec))
        return false;
    if (listen_spec_is_unix(&spec)) {
        buf_append(out, is_tls ? STR("") : spec.address);
        buf_c(out, is_tls ? "" : ":/ready");
        return !is_tls; /* no URL says that */
    }
    if (!config_split_address(spec.address, &host, &port) || str_eq(port, STR("0")))
        return false;
    buf_c(out, is_tls ? "https://" : "http://");
    buf_append(out, reachable_host(host));
    buf_char(out, ':');
    buf_append(out, port);
    buf_c(out, "/ready");
    return true;
}

/* ---- asking */

static int print_answer(const char *address, struct asked *answer)
{
    struct buf text = {.limit = 0};

    if (answer->has_failed) {
        (void)fprintf(stderr, "antiphon: %s: %s\n", address, answer->failure.msg);
        return EXIT_FAILURE;
    }
    buf_append(&text, str_trim(buf_str(&answer->body)));
    buf_char(&text, '\n');
    return command_print(&text, answer->status == 200 ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* The certificate is not judged: it is that of the gateway itself, made for the name that its clients
 * use, and nothing secret is sent. */
static int ask_gateway(const char *address, const char *url)
{
    const struct http_client_conf conf = {.max_idle_connections = 1};
    const struct question q = {.method = "GET",
                               .url = url,
                               .authorization = STR_NONE,
                               .body = STR_NONE,
                               .timeout_ms = TIMEOUT_MS};
    struct asked answer;
    struct err e;
    struct asker *a = asker_open(&conf, &e);
    int status;

    if (a == NULL) {
        (void)fprintf(stderr, "antiphon: %s\n", e.msg);
        return EXIT_FAILURE;
    }
    ask_once(a, &q, &answer);
    status = print_answer(address, &answer);
    asked_fini(&answer);
    if (asker_is_resolving(a))
        _exit(status);
    asker_close(a);
    return status;
}

/* The first listener that can be asked, with TLS or without. NULL when there is none. */
static const char *find_listener(const struct config_list *listen, bool is_tls, struct buf *url)
{
    for (size_t i = 0; i < listen->n; i++) {
        const struct listen_spec spec = listen_spec_of(listen->items[i]);

        if (((spec.marks & LISTEN_TLS) != 0) == is_tls && health_url(listen->items[i], url))
            return listen->items[i];
    }
    return NULL;
}

/* A listener with TLS may want a certificate of its clients, so the others come first. */
static int ask_listeners(const struct config *config)
{
    struct buf url = {.limit = 0};
    const char *listen = find_listener(&config->listen, false, &url);
    int status;

    if (listen == NULL)
        listen = find_listener(&config->listen, true, &url);
    if (listen != NULL) {
        status = ask_gateway(listen, buf_cstr(&url));
    } else {
        (void)fputs("antiphon: no address of `listen` can be asked: give one with a port that is "
                    "not 0 and without +proxy, such as 127.0.0.1:9090+metrics\n",
                    stderr);
        status = EXIT_USAGE;
    }
    buf_fini(&url);
    return status;
}

int health_command(int n_args, const char *const *args)
{
    return command_run("health", n_args, args, ask_listeners);
}
